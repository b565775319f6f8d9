"""A table that the reader sorts and edits; Python adds up what it holds, and changes it.

Panel's own widget for it needs pandas; its model, which draws the same table, does not.
"""

from __future__ import annotations

import panel as pn
from bokeh.models import ColumnDataSource, ImportedStyleSheet
from bokeh.models.widgets.tables import CellEditor, IntEditor, TableColumn
from panel.io.resources import CDN_DIST
from panel.models.tabulator import THEME_PATH, DataTabulator

from second.readout import readout

FRUIT = {"fruit": ["pear", "apple", "fig"], "amount": [3, 12, 40]}


def app() -> pn.Column:
    """Return the app."""
    source = ColumnDataSource({name: list(values) for name, values in FRUIT.items()})
    table = DataTabulator(
        source=source,
        columns=[
            TableColumn(field="fruit", title="Fruit", editor=CellEditor()),
            TableColumn(field="amount", title="Amount", editor=IntEditor()),
        ],
        configuration={
            "columns": [{"field": "fruit"}, {"field": "amount", "sorter": "number"}],
            "selectable": False,
        },
        layout="fit_columns",
        stylesheets=[ImportedStyleSheet(url=f"{CDN_DIST}bundled/datatabulator/{THEME_PATH}tabulator_simple.min.css")],
        height=160,
        sizing_mode="stretch_width",
    )
    total = pn.pane.HTML(readout("total", sum(FRUIT["amount"])))
    order = pn.pane.HTML(readout("order", []))
    edited = pn.pane.HTML(readout("edited", []))
    double = pn.widgets.Button(name="Double")
    more = pn.widgets.Button(name="More")

    def add_up(attr: str, old: object, new: object) -> None:
        total.object = readout("total", sum(source.data["amount"]))

    def sort(attr: str, old: object, new: object) -> None:
        order.object = readout("order", [[sorter["field"], sorter["dir"]] for sorter in table.sorters])

    def edit(event: object) -> None:
        if not event.pre:
            edited.object = readout("edited", [event.column, event.row])

    def doubled(_: object) -> None:
        source.patch({"amount": [(row, 2 * amount) for row, amount in enumerate(source.data["amount"])]})

    source.on_change("data", add_up)
    table.on_change("sorters", sort)
    table.on_event("table-edit", edit)
    double.on_click(doubled)
    more.on_click(lambda _: source.stream({"fruit": ["plum"], "amount": [1]}))
    return pn.Column(table, double, more, total, order, edited)
