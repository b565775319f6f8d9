"""Stripes: a projection and its product, cut into columns by head, in the same colours one above the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import panel as pn
from bokeh.core.properties import value
from bokeh.models import ColumnDataSource, HoverTool, Label, Range1d, TapTool
from bokeh.plotting import figure

from figures.shared.heatmap import FONT, TOOLTIP, marks
from figures.shared.palette import PAPER
from figures.shared.source import show
from figures.shared.styles import PLOT

# Neighbouring heads differ in colour; with more heads than colours they come round again. All are light
# enough for black numbers, and none is the blue, vermilion or green of query, key and value.
HEADS = ("#77aadd", "#ee8866", "#44bb99", "#eedd88", "#ffaabb", "#aaaa00")

_ASPECT = 1.32  # height of the canvas divided by its width, which is the unit below
_TITLE, _SPACE = 0.075, 0.03
_APART = 0.2  # space between matrices that stand on their own, as a share of their width
_LETTER = 100.0  # pixels of a letter in a cell as wide as the canvas


class Block(NamedTuple):
    """A matrix of as many rows and its name; if it has numbers, these, and how each is computed."""

    name: str
    rows: int
    numbers: np.ndarray | None = None
    hows: Sequence[Sequence[str]] = ()


def head_colour(head: int) -> str:
    """Return the colour of a head, counted from 0."""
    return HEADS[head % len(HEADS)]


class Stripes:
    """Two matrices of the same columns on one canvas, to scale, the first above the second.

    Parameters
    ----------
    label : str
        What is shown, for those who cannot see it.
    ink : str
        CSS colour of the matrices' names.
    select : callable
        Called with the matrix, 0 or 1, and row and column, counted from 0, when the reader points at a number
        and presses.
    """

    def __init__(self, label: str, ink: str, select: Callable[[int, int, int], None]) -> None:
        self._select = select
        self._places: list[tuple[int, int, int]] = []  # matrix, row and column of each number
        columns = ("x", "y", "width", "height", "colour", "text", "size", "how")
        self._cells = ColumnDataSource({key: [] for key in columns})
        self._marks = ColumnDataSource({key: [] for key in ("x", "y", "width", "height", "line", "dash")})
        self.plot = figure(
            x_range=Range1d(0, 1), y_range=Range1d(_ASPECT, 0), min_border=2, toolbar_location=None, tools="",
            background_fill_color=PAPER, border_fill_color=PAPER, sizing_mode="stretch_width",
            html_attributes={"role": "img", "aria-label": label},
        )  # fmt: skip
        self.plot.grid.visible = False
        self.plot.axis.visible = False
        squares = self.plot.rect("x", "y", "width", "height", source=self._cells, fill_color="colour", line_color=None)
        self.plot.text(
            "x", "y", "text", source=self._cells, text_color="#000000", text_align="center",
            text_baseline="middle", text_font_size="size", text_font=value(FONT),
        )  # fmt: skip
        self.plot.rect(
            "x", "y", "width", "height", source=self._marks, fill_color=None, line_color="line", line_width=2.5,
            line_dash="dash",
        ).level = "overlay"  # fmt: skip
        self.plot.add_tools(HoverTool(renderers=[squares], tooltips=TOOLTIP, point_policy="follow_mouse"))
        self.plot.add_tools(TapTool(renderers=[squares]))
        self._cells.selected.on_change("indices", self._tapped)
        self._labels = [
            Label(
                x=0, y=0, text="", text_font=FONT, text_font_size="12px", text_baseline="bottom",
                stylesheets=[f":host {{ --bk-text-color: {ink}; }}"],
            )
            for _ in range(2)
        ]  # fmt: skip
        for text in self._labels:
            self.plot.add_layout(text)
        self.plot.stylesheets = [PLOT, f":host {{ height: {100 * _ASPECT}cqi !important; }}"]
        self.pane = pn.pane.Bokeh(self.plot, sizing_mode="stretch_width", margin=0)

    def draw(
        self,
        blocks: tuple[Block, Block],
        columns: int,
        num_heads: int,
        shown: int,
        cell: tuple[int, int],
        *,
        apart: bool,
    ) -> None:
        """Show both matrices cut into stripes, with outlines.

        Parameters
        ----------
        blocks : tuple of Block
            The projection and its product.
        columns, num_heads : int
            How many columns each has, and into how many stripes they are cut.
        shown : int
            The head whose stripes are framed, counted from 0.
        cell : tuple of int
            Row and column of the number of the product that is selected, counted from 0; the column of the
            projection that it comes from is outlined too. Without numbers there is none.
        apart : bool
            Whether each stripe is a matrix of its own.
        """
        head_dim = columns // num_heads
        gap = _APART * head_dim if apart else 0.0  # between stripes, in columns
        across = columns + gap * (num_heads - 1)
        room = _ASPECT - 2 * _TITLE - _SPACE
        size = min(1 / across, room / sum(block.rows for block in blocks))
        left = (1 - size * across) / 2
        at = [left + size * (column + gap * (column // head_dim)) for column in range(columns)]
        data: dict[str, list] = {key: [] for key in self._cells.data}
        tops: list[float] = []
        y = 0.0
        for block, label in zip(blocks, self._labels, strict=True):
            y += _TITLE
            tops.append(y)
            label.update(x=left, y=y - 0.01, text=f"{block.name}, {block.rows:,} × {columns:,}")
            for head in range(num_heads):
                _add_stripe(data, block, head, head_dim, at[head * head_dim], y, size)
            y += size * block.rows + _SPACE
        show(self._cells, data)
        self._places = [
            (matrix, row, head * head_dim + column)
            for matrix, block in enumerate(blocks)
            if block.numbers is not None
            for head, row, column in np.ndindex(num_heads, block.rows, head_dim)
        ]
        heights = [size * block.rows for block in blocks]
        left, width = at[shown * head_dim], size * head_dim
        framed = [(top, left, height, width) for top, height in zip(tops, heights, strict=True)]
        row, column = cell
        selected = [(tops[1] + size * row, at[column], size, size)] if self._places else []
        sources = [(tops[0], at[column], heights[0], size)] if self._places else []
        show(self._marks, marks(selected, sources, framed))

    def _tapped(self, _attr: str, _old: list[int], new: list[int]) -> None:
        if new and self._places:
            self._cells.selected.indices = []
            self._select(*self._places[new[0]])


def _add_stripe(data: dict[str, list], block: Block, head: int, head_dim: int, x: float, y: float, size: float) -> None:
    """Add the columns of one head: cell by cell if there are numbers, in one piece otherwise."""
    first = head * head_dim
    if block.numbers is None:
        last = f" … {first + head_dim:,}" if head_dim > 1 else ""
        pieces = [(0.0, 0.0, block.rows, head_dim, "", f"{block.name}, head {head + 1}: columns {first + 1:,}{last}")]
    else:
        pieces = [
            (row, column, 0.94, 0.94, f"{number:.2f}".replace("-", "−"),
             f"{block.name}[{row + 1}, {first + column + 1}] = {block.hows[row][first + column]}, head {head + 1}")
            for row, numbers in enumerate(block.numbers[:, first : first + head_dim])
            for column, number in enumerate(numbers)
        ]  # fmt: skip
    for row, column, height, width, text, how in pieces:
        data["x"].append(x + size * (column + width / 2))
        data["y"].append(y + size * (row + height / 2))
        data["width"].append(size * width)
        data["height"].append(size * height)
        data["colour"].append(head_colour(head))
        data["text"].append(text)
        data["size"].append(f"{min(11.0, _LETTER * size):.1f}px")
        data["how"].append(how)
