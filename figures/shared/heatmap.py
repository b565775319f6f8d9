"""Heatmaps: matrices as squares, with a number in each cell and a mark on the selected one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import compress

import numpy as np
import panel as pn
from bokeh.core.properties import value
from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, Label, Range1d, TapTool
from bokeh.plotting import figure

from figures.shared.palette import FRAME, MASKED, PAPER, SELECTED, text_on
from figures.shared.readouts import fixed
from figures.shared.source import show
from figures.shared.styles import PLOT

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"
TOOLTIP = (
    '<div style="font:13px/1.4 system-ui,sans-serif;color:#1c1b19;max-width:260px;white-space:normal">@{how}</div>'
)

LEFT, TOP = 60, 56  # pixels for the row and column names: more than they need, for else the plot takes more
#: The squares stay square: a canvas is as high as it is wide, but for the names along the sides.
HEIGHT = f"calc(100cqi - {LEFT - TOP}px)"

Outline = tuple[float, float, float, float]  # around a block of cells: row, column, rows, columns


@dataclass
class Cells:
    """One matrix as a heatmap shows it: all lists are flattened row by row."""

    matrix: np.ndarray
    colours: list[str]
    how: list[str]
    masked: np.ndarray | None = None
    texts: list[str] = field(default_factory=list)
    masked_text: str = "−∞"


class Heatmap:
    """A square heatmap with a number in every cell.

    Parameters
    ----------
    rows, columns : sequence of str
        The names along the sides.
    label : str
        What is shown, for those who cannot see it.
    select : callable, optional
        Called with row and column, counted from 0, when the reader points at a cell and presses.
    """

    def __init__(
        self,
        rows: Sequence[str],
        columns: Sequence[str],
        label: str,
        select: Callable[[int, int], None] | None = None,
        digits: int = 3,
    ) -> None:
        self._select = select
        self._digits = digits
        self._cells = ColumnDataSource({key: [] for key in ("x", "y", "colour", "text", "ink", "how")})
        self._marks = ColumnDataSource({key: [] for key in ("x", "y", "width", "height", "line", "dash")})
        self.plot = figure(
            x_range=Range1d(0, 1),
            y_range=Range1d(1, 0),
            min_border_left=LEFT,
            min_border_top=TOP,
            min_border_right=2,
            min_border_bottom=2,
            x_axis_location="above",
            toolbar_location=None,
            tools="",
            background_fill_color=PAPER,
            border_fill_color=PAPER,
            sizing_mode="stretch_width",
            html_attributes={"role": "img", "aria-label": label},
        )
        self.plot.grid.visible = False
        squares = self.plot.rect("x", "y", 0.95, 0.95, source=self._cells, fill_color="colour", line_color=None)
        # One pattern for all: BokehJS makes a canvas for each one that stands in a column.
        self._hatching = ColumnDataSource({"x": [], "y": []})
        self.plot.rect(
            "x", "y", 0.95, 0.95, source=self._hatching, fill_color=None, line_color=None,
            hatch_pattern="right_diagonal_line", hatch_color="#5f5d58", hatch_alpha=0.7, hatch_scale=7, hatch_weight=1,
        )  # fmt: skip
        self.plot.text(
            "x", "y", "text", source=self._cells, text_color="ink", text_align="center", text_baseline="middle",
            text_font_size="11.5px", text_font=value(FONT),
        )  # fmt: skip
        outline = self.plot.rect(
            "x", "y", "width", "height", source=self._marks, fill_color=None, line_color="line",
            line_width=2.5, line_dash="dash",
        )  # fmt: skip
        outline.level = "overlay"
        self.plot.add_tools(HoverTool(renderers=[squares], tooltips=TOOLTIP, point_policy="follow_mouse"))
        if select:
            self.plot.add_tools(TapTool(renderers=[squares]))
            self._cells.selected.on_change("indices", self._tapped)
        for axis in (*self.plot.xaxis, *self.plot.yaxis):
            axis.ticker = FixedTicker(ticks=[])
            axis.major_tick_line_color = None
            axis.minor_tick_line_color = None
            axis.major_label_text_font = FONT
            axis.major_label_text_font_size = "12px"
            axis.major_label_standoff = 3
        self.plot.xaxis.major_label_orientation = 0.75
        self.pane = _pane(self.plot, HEIGHT)
        self._shape = (0, 0)
        self.rename(rows, columns)

    def rename(self, rows: Sequence[str], columns: Sequence[str]) -> None:
        """Give the sides other names, and the plot another shape."""
        self._shape = (len(rows), len(columns))
        self.plot.x_range.update(start=0, end=len(columns))
        self.plot.y_range.update(start=len(rows), end=0)
        for axis, names in ((self.plot.xaxis[0], columns), (self.plot.yaxis[0], rows)):
            axis.ticker.ticks = [i + 0.5 for i in range(len(names))]
            axis.major_label_overrides = {i + 0.5: name for i, name in enumerate(names)}

    def draw(
        self,
        cells: Cells,
        selected: tuple[int, int] | None = None,
        mirror: bool = False,
        sources: Sequence[Outline] = (),
    ) -> None:
        """Show a matrix; outline the selected cell and, if wanted, its mirror image and the blocks it comes from."""
        rows, columns = self._shape
        hidden = np.zeros(rows * columns, dtype=bool) if cells.masked is None else cells.masked.ravel()
        colours = [MASKED if off else colour for off, colour in zip(hidden, cells.colours, strict=True)]
        texts = cells.texts or [fixed(float(number), self._digits) for number in cells.matrix.ravel()]
        x = [column + 0.5 for _ in range(rows) for column in range(columns)]
        y = [row + 0.5 for row in range(rows) for _ in range(columns)]
        text = [cells.masked_text if off else text for off, text in zip(hidden, texts, strict=True)]
        show(self._cells, {"x": x, "y": y, "colour": colours, "text": text, "ink": text_on(colours), "how": cells.how})
        show(self._hatching, {"x": list(compress(x, hidden)), "y": list(compress(y, hidden))})
        outlined = [] if selected is None else [(*selected, 1, 1)]
        show(self._marks, marks(outlined, [*self._mirror(selected, mirror), *sources]))

    def _mirror(self, selected: tuple[int, int] | None, mirror: bool) -> list[Outline]:
        return [(selected[1], selected[0], 1, 1)] if mirror and selected and selected[0] != selected[1] else []

    def _tapped(self, _attr: str, _old: list[int], new: list[int]) -> None:
        if new and self._select:
            self._cells.selected.indices = []
            self._select(*divmod(new[0], self._shape[1]))


def _pane(plot: figure, height: str) -> pn.pane.Bokeh:
    """Return a plot as wide as its place, with a height given in CSS; ``cqi`` is a hundredth of the place's width."""
    plot.stylesheets = [PLOT, f":host {{ height: {height} !important; }}"]
    return pn.pane.Bokeh(plot, sizing_mode="stretch_width", margin=0)


def marks(selected: Sequence[Outline], sources: Sequence[Outline], frames: Sequence[Outline] = ()) -> dict[str, list]:
    """Return the outlines of what is selected, of what it comes from, and of what stands out otherwise."""
    looks = ((frames, FRAME, "solid"), (selected, SELECTED, "solid"), (sources, SELECTED, "dashed"))
    blocks = [(*block, line, dash) for outlines, line, dash in looks for block in outlines]
    return {
        "x": [column + width / 2 for _, column, _, width, _, _ in blocks],
        "y": [row + height / 2 for row, _, height, _, _, _ in blocks],
        "width": [width for _, _, _, width, _, _ in blocks],
        "height": [height for _, _, height, _, _, _ in blocks],
        "line": [line for _, _, _, _, line, _ in blocks],
        "dash": [dash for _, _, _, _, _, dash in blocks],
    }


@dataclass
class Block:
    """One matrix of a strip: its name, its colours row by row, and the explanation of each cell."""

    name: str
    shape: tuple[int, int]
    colours: list[str]
    how: list[str]


class Strip:
    """Several small matrices on one canvas, laid out in columns from left to right.

    Parameters
    ----------
    columns : sequence of sequences of str
        The names of the matrices, column by column, each from top to bottom.
    label : str
        What is shown, for those who cannot see it.
    aspect : float
        Height of the canvas divided by its width.
    inks : dict of str to str
        CSS colours of the names that are not written in ink.
    """

    def __init__(self, columns: Sequence[Sequence[str]], label: str, aspect: float, inks: dict[str, str]) -> None:
        self._columns = columns
        self._aspect = aspect
        self._origin: dict[str, tuple[float, float]] = {}
        self._cells = ColumnDataSource({key: [] for key in ("x", "y", "colour", "how")})
        self._marks = ColumnDataSource({key: [] for key in ("x", "y", "width", "height", "line", "dash")})
        self.plot = figure(
            x_range=Range1d(0, 1), y_range=Range1d(1, 0), min_border=0, toolbar_location=None, tools="",
            background_fill_color=PAPER, border_fill_color=PAPER, sizing_mode="stretch_width",
            html_attributes={"role": "img", "aria-label": label},
        )  # fmt: skip
        self.plot.grid.visible = False
        self.plot.axis.visible = False
        squares = self.plot.rect("x", "y", 0.92, 0.92, source=self._cells, fill_color="colour", line_color=None)
        self.plot.rect(
            "x", "y", "width", "height", source=self._marks, fill_color=None, line_color="line",
            line_width=2, line_dash="dash",
        ).level = "overlay"  # fmt: skip
        self.plot.add_tools(HoverTool(renderers=[squares], tooltips=TOOLTIP, point_policy="follow_mouse"))
        self._labels = {
            name: Label(
                x=0, y=0, text=name, text_font=FONT, text_font_size="11px", text_align="left", text_baseline="bottom",
                stylesheets=[f":host {{ --bk-text-color: {inks[name]}; }}"] if name in inks else [],
            )
            for column in columns
            for name in column
        }  # fmt: skip
        for text in self._labels.values():
            self.plot.add_layout(text)
        self.pane = _pane(self.plot, f"calc({aspect} * 100cqi)")

    def draw(self, blocks: dict[str, Block], outlined: Sequence[tuple[str, int, int, int, int]] = ()) -> None:
        """Show the matrices that are given; outline blocks of cells (name, row, column, rows, columns)."""
        gap, title = 1.8, 1.9
        columns = [[blocks[name] for name in column if name in blocks] for column in self._columns]
        columns = [column for column in columns if column]
        widths = [max(block.shape[1] for block in column) for column in columns]
        heights = [sum(block.shape[0] + title for block in column) for column in columns]
        width = max(sum(widths) + gap * len(columns), max(heights) / self._aspect)
        height = width * self._aspect
        x = (width - sum(widths) - gap * (len(columns) - 1)) / 2
        self._origin = {}
        for column, extent, tall in zip(columns, widths, heights, strict=True):
            y = (height - tall) / 2
            for block in column:
                y += title
                self._origin[block.name] = (y, x + (extent - block.shape[1]) / 2)
                y += block.shape[0]
            x += extent + gap
        self.plot.x_range.update(start=0, end=width)
        self.plot.y_range.update(start=height, end=0)
        cells: dict[str, list] = {"x": [], "y": [], "colour": [], "how": []}
        for name, (top, left) in self._origin.items():
            rows, across = blocks[name].shape
            cells["x"] += [left + column + 0.5 for _ in range(rows) for column in range(across)]
            cells["y"] += [top + row + 0.5 for row in range(rows) for _ in range(across)]
            cells["colour"] += blocks[name].colours
            cells["how"] += blocks[name].how
        show(self._cells, cells)
        for name, text in self._labels.items():
            text.visible = name in self._origin
            if name in self._origin:
                top, left = self._origin[name]
                rows, across = blocks[name].shape
                text.update(x=left, y=top - 0.1, text=f"{name} {rows}×{across}")
        placed = [
            (self._origin[n][0] + r, self._origin[n][1] + c, h, w) for n, r, c, h, w in outlined if n in self._origin
        ]
        show(self._marks, marks(placed, []))
