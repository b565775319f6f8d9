"""Data of plots: what a change sends to the page."""

from __future__ import annotations

from bokeh.models import ColumnDataSource


def show(source: ColumnDataSource, columns: dict[str, list]) -> None:
    """Give a source other data; only the columns that differ are sent, since places mostly stay."""
    changed = {name: column for name, column in columns.items() if source.data.get(name) != column}
    if changed:
        source.data.update(changed)
