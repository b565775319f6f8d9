"""Charts: lines for what theory says, dots and bars for what was measured, bands for what chance allows.

All layers are made once; a change sets their data. Ticks are given, so that logarithmic axes read as well
as plain ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import panel as pn
from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, Range1d, Span
from bokeh.plotting import figure

from figures.shared.card import Html
from figures.shared.heatmap import FONT, TOOLTIP
from figures.shared.palette import NEUTRAL, PAPER, SELECTED
from figures.shared.source import show
from figures.shared.styles import PANEL, PLOT

# The axes are in the page's ink. A line drawn through data cannot follow the page from light to dark, so
# it has a grey that stands out from both.
THEORY = "#7c7972"
INK = """
:host { --bk-axis-line-color: var(--muted); --bk-major-tick-line-color: var(--muted); --bk-line-color: var(--ink); }
"""
WIDE = """
:host { flex: 1 1 100%; max-width: 100%; }
"""
BESIDE = """
:host { flex: 2 1 480px; max-width: 704px; }
"""

Ticks = Mapping[float, str]


class Layer:
    """One set of glyphs, and the data they show."""

    def __init__(self, *columns: str) -> None:
        self.source = ColumnDataSource({column: [] for column in columns})

    def show(self, **columns: Any) -> None:
        """Show these data instead; a single text or number holds for all."""
        length = max((len(c) for c in columns.values() if not _single(c)), default=0)
        lists = {
            name: [column] * length if _single(column) else np.asarray(column).tolist()
            for name, column in columns.items()
        }
        show(self.source, lists)

    def clear(self) -> None:
        """Show nothing."""
        show(self.source, {name: [] for name in self.source.data})


class Chart:
    """Axes for layers of lines, dots, bars and bands; those added first lie below.

    Parameters
    ----------
    label : str
        What is shown, for those who cannot see it.
    x, y : (float, float)
        The ends of the axes; `y` may run downwards.
    x_ticks, y_ticks : mapping of float to str
        Where the ticks are, and what stands there.
    x_label, y_label : str
        What the axes measure.
    log : str
        The axes that are logarithmic: ``""``, ``"x"`` or ``"xy"``.
    height : str
        CSS; ``cqi`` is a hundredth of the width.
    """

    def __init__(
        self,
        label: str,
        *,
        x: tuple[float, float],
        y: tuple[float, float],
        x_ticks: Ticks,
        y_ticks: Ticks,
        x_label: str,
        y_label: str = "",
        log: str = "",
        height: str = "88cqi",
        **options: Any,
    ) -> None:
        self.plot = figure(
            x_range=Range1d(*x), y_range=Range1d(*y),
            x_axis_type="log" if "x" in log else "linear", y_axis_type="log" if "y" in log else "linear",
            x_axis_label=x_label, y_axis_label=y_label, min_border=4, toolbar_location=None, tools="",
            background_fill_color=PAPER, border_fill_color=PAPER, sizing_mode="stretch_width",
            html_attributes={"role": "img", "aria-label": label}, **options,
        )  # fmt: skip
        for axis, ticks in ((self.plot.xaxis[0], x_ticks), (self.plot.yaxis[0], y_ticks)):
            axis.ticker = FixedTicker(ticks=list(ticks))
            axis.major_label_overrides = dict(ticks)
            axis.minor_tick_line_color = None
            axis.major_tick_in = 0
            axis.major_tick_out = 4
            axis.major_label_text_font = axis.axis_label_text_font = FONT
            axis.major_label_text_font_size = axis.axis_label_text_font_size = "12px"
            axis.axis_label_text_font_style = "normal"
            axis.axis_label_standoff = 4
            axis.major_label_standoff = 4
        self.plot.stylesheets = [PLOT, INK, f":host {{ height: {height} !important; }}"]
        self.pane = pn.pane.Bokeh(self.plot, sizing_mode="stretch_width", margin=0)

    def band(self, colour: str = NEUTRAL) -> Layer:
        """Add a band between `low` and `high`."""
        layer = Layer("x", "low", "high")
        self.plot.varea("x", "low", "high", source=layer.source, fill_color=colour, fill_alpha=0.22)
        return layer

    def line(self, colour: str = THEORY, *, width: float = 1.4, dash: str = "solid") -> Layer:
        """Add a line."""
        layer = Layer("x", "y")
        self.plot.line("x", "y", source=layer.source, line_color=colour, line_width=width, line_dash=dash)
        return layer

    def whiskers(self, colour: str) -> Layer:
        """Add vertical strokes between `low` and `high`."""
        layer = Layer("x", "low", "high")
        self.plot.segment("x", "low", "x", "high", source=layer.source, line_color=colour, line_width=2)
        return layer

    def dots(self, colour: str, *, marker: str = "circle", size: float = 7, hollow: bool = False) -> Layer:
        """Add dots, with an explanation `how` of each."""
        layer = Layer("x", "y", "how")
        dots = self.plot.scatter(
            "x", "y", source=layer.source, marker=marker, size=size, line_color=colour, line_width=1.8,
            fill_color=None if hollow else colour,
        )  # fmt: skip
        self._explain(dots)
        return layer

    def bars(self, *, along: str = "x", thickness: float = 0.7) -> Layer:
        """Add bars at `at` of length `end`, each with its `colour` and its explanation `how`."""
        layer = Layer("at", "end", "colour", "how")
        ends = {"x": "at", "top": "end", "width": thickness, "bottom": 0}
        if along == "y":
            ends = {"y": "at", "right": "end", "height": thickness, "left": 0}
        draw = self.plot.hbar if along == "y" else self.plot.vbar
        # The outline keeps dark bars visible on a dark page.
        self._explain(draw(**ends, source=layer.source, fill_color="colour", line_color=NEUTRAL, line_width=0.8))
        return layer

    def frames(self, *, thickness: float = 0.7) -> Layer:
        """Add dashed outlines around bars at `at` of length `end`: what a selected cell comes from."""
        layer = Layer("at", "end")
        self.plot.vbar(
            x="at", top="end", width=thickness, bottom=0, source=layer.source,
            fill_color=None, line_color=SELECTED, line_width=2.5, line_dash="dashed",
        )  # fmt: skip
        return layer

    def rule(self, at: float, *, across: str = "width", dash: str = "solid") -> Span:
        """Add a thin straight line in ink from edge to edge."""
        span = Span(location=at, dimension=across, line_width=1.2, line_dash=dash, level="glyph")
        self.plot.add_layout(span)
        return span

    def _explain(self, glyphs: Any) -> None:
        self.plot.add_tools(HoverTool(renderers=[glyphs], tooltips=TOOLTIP, point_policy="follow_mouse"))


def wide(plot: pn.viewable.Viewable, caption: Html, *, beside: bool = False) -> pn.Column:
    """Return a chart with its caption, as wide as the figure or, `beside` a small one, as two small ones."""
    return pn.Column(plot, caption, stylesheets=[PANEL, BESIDE if beside else WIDE], margin=0)


def mark(colour: str, shape: str, name: str) -> str:
    """Return one entry of a chart's key as HTML: a mark in the colour of its layer, and its name."""
    return (
        f'<span style="white-space:nowrap"><span aria-hidden="true" style="color:{colour}">{shape}</span> {name}</span>'
    )


def power_of_ten(exponent: int) -> str:
    """Return a power of ten as people write it: 1, 10, 100, then 10³ and 10⁻³."""
    if 0 <= exponent <= 2:
        return str(10**exponent)
    return "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _single(column: Any) -> bool:
    return isinstance(column, str | int | float)
