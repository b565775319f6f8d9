"""Stripes: a projection and its product, cut into columns by head, in the same colours one above the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import panel as pn
from bokeh.core.properties import value
from bokeh.models import ColumnDataSource, HoverTool, Label, Range1d
from bokeh.plotting import figure

from figures.shared.heatmap import FONT, TOOLTIP, marks
from figures.shared.palette import PAPER
from figures.shared.readouts import fixed
from figures.shared.styles import PLOT

# Neighbouring heads differ in colour; with more heads than colours they come round again. All are light
# enough for black numbers, and none is the blue, vermilion or green of query, key and value.
HEADS = ("#77aadd", "#ee8866", "#44bb99", "#eedd88", "#ffaabb", "#aaaa00")

_ASPECT = 1.32  # height of the canvas divided by its width, which is the unit below
_TITLE, _SPACE = 0.075, 0.03
_APART = 0.2  # space between matrices that stand on their own, as a share of their width
_LETTER = 100.0  # pixels of a letter in a cell as wide as the canvas


class Block(NamedTuple):
    """A matrix of as many rows, its name, and its numbers if there are any."""

    name: str
    rows: int
    numbers: np.ndarray | None = None


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
    """

    def __init__(self, label: str, ink: str) -> None:
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
        ).level = "overlay"  # fmt: skip
        self.plot.add_tools(HoverTool(renderers=[squares], tooltips=TOOLTIP, point_policy="follow_mouse"))
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

    def draw(self, blocks: tuple[Block, Block], columns: int, num_heads: int, shown: int, *, apart: bool) -> None:
        """Show both matrices cut into stripes, and outline those of one head, counted from 0."""
        head_dim = columns // num_heads
        step = 1 + _APART if apart else 1.0  # from stripe to stripe, in stripes
        across = head_dim * (1 + step * (num_heads - 1))
        room = _ASPECT - 2 * _TITLE - _SPACE
        cell = min(1 / across, room / sum(block.rows for block in blocks))
        left, y = (1 - cell * across) / 2, 0.0
        data: dict[str, list] = {key: [] for key in self._cells.data}
        outlines = []
        for block, label in zip(blocks, self._labels, strict=True):
            y += _TITLE
            label.update(x=left, y=y - 0.01, text=f"{block.name}, {block.rows:,} × {columns:,}")
            for head in range(num_heads):
                x = left + cell * head_dim * step * head
                _add_stripe(data, block, head, head_dim, x, y, cell)
                if head == shown:
                    outlines.append((y, x, cell * block.rows, cell * head_dim))
            y += cell * block.rows + _SPACE
        self._cells.data = data
        self._marks.data = marks(outlines, [])


def _add_stripe(data: dict[str, list], block: Block, head: int, head_dim: int, x: float, y: float, cell: float) -> None:
    """Add the columns of one head: cell by cell if there are numbers, in one piece otherwise."""
    first = head * head_dim
    if block.numbers is None:
        last = f" … {first + head_dim:,}" if head_dim > 1 else ""
        pieces = [(0.0, 0.0, block.rows, head_dim, "", f"{block.name}, head {head + 1}: columns {first + 1:,}{last}")]
    else:
        pieces = [
            (row, column, 0.94, 0.94, f"{number:.2f}".replace("-", "−"),
             f"{block.name}[{row + 1}, {first + column + 1}] = {fixed(float(number))}, head {head + 1}")
            for row, numbers in enumerate(block.numbers[:, first : first + head_dim])
            for column, number in enumerate(numbers)
        ]  # fmt: skip
    for row, column, height, width, text, how in pieces:
        data["x"].append(x + cell * (column + width / 2))
        data["y"].append(y + cell * (row + height / 2))
        data["width"].append(cell * width)
        data["height"].append(cell * height)
        data["colour"].append(head_colour(head))
        data["text"].append(text)
        data["size"].append(f"{min(11.0, _LETTER * cell):.1f}px")
        data["how"].append(how)
