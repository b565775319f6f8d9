"""Charts: axes with lines, bands and dots, drawn by Bokeh.

A chart is declared with its layers; a change of state sets their data, and nothing is rebuilt. Lines are labelled
where they are, so that no key and no tooltip is needed. A canvas cannot follow the page from light to dark, so its
lines have colours half way; its text is in the page's ink.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, FixedTicker, Label, Range1d, Span
from bokeh.plotting import figure

from figures.shared.palette import both
from figures.shared.panels import Of, Table, caption, of

FONT = "Page Sans, Page Math, system-ui, sans-serif"
PLOT = """
:host { width: 100%; flex: 0 0 auto !important; touch-action: pan-x pan-y pinch-zoom;
  --bk-axis-line-color: transparent; --bk-major-tick-line-color: var(--line); --bk-major-label-text-color: var(--muted);
  --bk-grid-line-color: var(--line); --bk-outline-line-color: transparent; --bk-text-color: var(--ink);
  --bk-border-fill-color: var(--paper); --bk-background-fill-color: var(--paper); --bk-line-color: var(--muted); }
.bk-Canvas { clip-path: inset(2px 0 0 2px); }
"""


@dataclass(frozen=True)
class Axis:
    """One axis: its ends, its ticks by place, and whether it is logarithmic."""

    low: float
    high: float
    ticks: Mapping[float, str]
    log: bool = False


def log(low: float, high: float, ticks: Mapping[float, str]) -> Axis:
    """Return a logarithmic axis."""
    return Axis(low, high, ticks, log=True)


def linear(low: float, high: float, ticks: Mapping[float, str]) -> Axis:
    """Return an axis with even distances."""
    return Axis(low, high, ticks)


@dataclass(frozen=True)
class Layer:
    """One set of marks.

    Parameters
    ----------
    kind : str
        ``line``, ``band`` (between `low` and `high`), ``dots``, ``whiskers`` or ``rule`` (from edge to edge).
    name : str
        What it is, in the data table.
    data : callable
        Returns from state and result a dict of columns: ``x`` and ``y``, or ``x``, ``low`` and ``high``; for a rule
        the place alone, on the x axis.
    hue : str
        The name of a colour.
    label : str
        Stands at its last point; of state and result.
    shift : pair of float
        By how many pixels the label stands right of that point and above it.
    align : str
        ``left`` or ``right``: the side of the label that is there.
    """

    kind: str
    name: str
    data: Of
    hue: str = "muted"
    label: str | Of = ""
    shift: tuple[float, float] = (8, 0)
    align: str = "left"
    width: float = 2.2
    dash: str = "solid"
    size: float = 6


@dataclass
class Chart:
    """Axes with layers; those named first lie below.

    Parameters
    ----------
    title, note : str
        What it shows, and muted words beside it; of state and result.
    label : str
        What it shows, for those who cannot see it.
    x, y : Axis
        The axes.
    layers : sequence of Layer
        What is drawn.
    height : str
        In CSS.
    left, right : int
        Pixels that are kept for the ticks of the y axis, and for labels at the end of lines.
    ends : callable, optional
        Returns the ends of the y axis from state and result, where they depend on them.
    tables : callable, optional
        Returns its data, a list of `Table`, in the place of those of its layers.
    """

    title: str | Of
    label: str
    x: Axis
    y: Axis
    layers: Sequence[Layer]
    note: str | Of = ""
    height: str = "18rem"
    left: int = 48
    right: int = 16
    area: str = "main"
    ends: Of | None = None
    tables: Of | None = None
    _plot: Any = field(default=None, repr=False)
    _sources: list[Any] = field(default_factory=list, repr=False)
    _labels: dict[int, Label] = field(default_factory=dict, repr=False)

    def plot(self) -> figure:
        """Make the plot, once; `draw` fills it."""
        self._sources, self._labels = [], {}
        plot = figure(
            x_range=Range1d(self.x.low, self.x.high), y_range=Range1d(self.y.low, self.y.high),
            x_axis_type="log" if self.x.log else "linear", y_axis_type="log" if self.y.log else "linear",
            min_border_left=self.left, min_border_right=self.right, min_border_top=10, min_border_bottom=26,
            toolbar_location=None, tools="", sizing_mode="stretch_width",
            html_attributes={"role": "img", "aria-label": self.label},
        )  # fmt: skip
        plot.stylesheets = [PLOT, f":host {{ height: {self.height} !important; }}"]
        plot.xgrid.visible = False
        for axis, its in ((plot.xaxis[0], self.x), (plot.yaxis[0], self.y)):
            axis.ticker = FixedTicker(ticks=list(its.ticks))
            axis.major_label_overrides = dict(its.ticks)
            axis.update(minor_tick_line_color=None, major_tick_line_color=None, major_label_standoff=6)
            axis.update(major_label_text_font=FONT, major_label_text_font_size="0.75rem")
        plot.ygrid[0].ticker = plot.yaxis[0].ticker
        for index, layer in enumerate(self.layers):
            self._sources.append(_KINDS[layer.kind](plot, layer))
            if layer.label:
                self._labels[index] = _end_label(plot, layer)
        for renderer in plot.renderers:  # one look, selected or not: each other look is prepared with every change
            renderer.update(selection_glyph=None, nonselection_glyph=None, muted_glyph=None)
        self._plot = plot
        return plot

    def draw(self, s: Any, r: Any) -> None:
        """Show a state; only what differs is sent."""
        if self.ends:
            low, high = self.ends(s, r)
            self._plot.y_range.update(start=float(low), end=float(high))
        for index, (layer, source) in enumerate(zip(self.layers, self._sources, strict=True)):
            data = layer.data(s, r)
            if isinstance(source, Span):
                source.location = float(data)
                end = (float(data), self.y.high)
            else:
                columns = {name: np.asarray(column, dtype=float).tolist() for name, column in data.items()}
                changed = {name: column for name, column in columns.items() if source.data.get(name) != column}
                if changed:
                    source.data.update(changed)
                ys = columns.get("y") or columns.get("high")
                end = (columns["x"][-1], ys[-1]) if columns["x"] else None
            if index in self._labels:
                text = of(layer.label, s, r) if end else ""
                place = {"x": end[0], "y": end[1]} if end else {}
                self._labels[index].update(text=text, **place)

    def render(self, s: Any, r: Any) -> str:
        """Return what stands above the plot as HTML."""
        return caption(of(self.title, s, r), of(self.note, s, r))

    def data(self, s: Any, r: Any) -> list[Table]:
        """Return the data of all layers."""
        if self.tables:
            return self.tables(s, r)
        title = of(self.title, s, r) or self.label
        tables = []
        for layer in self.layers:
            if layer.kind != "rule" and len((data := layer.data(s, r))["x"]):
                names = [name for name in data if name != "x"]
                values = np.column_stack([np.asarray(data[name], dtype=float) for name in names])
                tables.append(Table(f"{title}: {layer.name}", [f"{x:,.6g}" for x in data["x"]], names, values))
        return tables


def _end_label(plot: figure, layer: Layer) -> Label:
    label = Label(
        x=1, y=1, text="", x_offset=layer.shift[0], y_offset=layer.shift[1], text_align=layer.align,
        text_baseline="middle", text_font=FONT, text_font_size="0.8125rem", text_font_style="bold",
        background_fill_color=both("paper"), background_fill_alpha=0.85, level="underlay",
        stylesheets=[f":host {{ --bk-text-color: var(--{layer.hue}); --bk-background-fill-color: var(--paper); }}"],
    )  # fmt: skip
    plot.add_layout(label)
    return label


def _line(plot: figure, layer: Layer) -> ColumnDataSource:
    source = ColumnDataSource({"x": [], "y": []})
    plot.line("x", "y", source=source, line_color=both(layer.hue), line_width=layer.width, line_dash=layer.dash)
    return source


def _band(plot: figure, layer: Layer) -> ColumnDataSource:
    source = ColumnDataSource({"x": [], "low": [], "high": []})
    plot.varea("x", "low", "high", source=source, fill_color=both(layer.hue), fill_alpha=0.2)
    return source


def _dots(plot: figure, layer: Layer) -> ColumnDataSource:
    source = ColumnDataSource({"x": [], "y": []})
    colour = both(layer.hue)
    plot.scatter("x", "y", source=source, size=layer.size, line_color=colour, fill_color=colour)
    return source


def _whiskers(plot: figure, layer: Layer) -> ColumnDataSource:
    source = ColumnDataSource({"x": [], "low": [], "high": []})
    plot.segment("x", "low", "x", "high", source=source, line_color=both(layer.hue), line_width=layer.width)
    return source


def _rule(plot: figure, layer: Layer) -> Span:
    span = Span(location=1, dimension="height", line_width=1.5, line_dash=layer.dash, level="underlay")
    span.stylesheets = [f":host {{ --bk-line-color: var(--{layer.hue}); }}"]
    plot.add_layout(span)
    return span


_KINDS: dict[str, Callable[[figure, Layer], Any]] = {
    "line": _line,
    "band": _band,
    "dots": _dots,
    "whiskers": _whiskers,
    "rule": _rule,
}
