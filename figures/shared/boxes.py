"""Nested boxes: the shape of an array, drawn as boxes in boxes around matrices of cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

CELLS = 12  # an axis up to this long is drawn cell by cell
BOXES = 12  # the most boxes drawn side by side; of more, the first ones and the last
STRIPES = 64  # the most stripes drawn in one matrix; of more, none
_CELL, _GAP, _PAD, _TITLE = 15.0, 8.0, 7.0, 15.0
_ROOM = 330.0  # width of a drawing before its boxes wrap
_DOUBLING, _DOUBLING_IF_MANY = 10.0, 5.6  # what a long side gains when its size doubles

#: Returns the colour of the cell at these indices, counted from 0.
Colour = Callable[[tuple[int, ...]], str]


class _Drawing(NamedTuple):
    """A piece of a drawing, from its upper left corner on."""

    width: float
    height: float
    svg: str


def nested_boxes(sizes: Sequence[int], names: Sequence[str], stripes: Sequence[int], colour: Colour) -> str:
    """Draw the shape of an array as SVG: the last two axes as a matrix, those before as boxes around it.

    Parameters
    ----------
    sizes, names : sequence
        Sizes of the axes, and their names; at least two.
    stripes : sequence of int
        Into how many differently coloured parts each axis is cut; 1 for an axis without colours of its own.
    colour : callable
        Colour of a part, by its index along each axis.

    Returns
    -------
    str
        An ``<svg>`` that is as wide as it needs to be, and no wider than its place. Short axes are drawn
        cell by cell; the sides of longer ones grow with the logarithm of their size.
    """
    drawn = _level(tuple(sizes), tuple(names), tuple(stripes), colour, ())
    spoken = " by ".join(f"{name} {size:,}" for name, size in zip(names, sizes, strict=True))
    return (
        f'<svg class="boxes" role="img" aria-label="{escape(spoken)}" viewBox="-1 -1 {drawn.width + 2:.1f} '
        f'{drawn.height + 2:.1f}" style="max-width:{drawn.width + 2:.0f}px">{drawn.svg}</svg>'
    )


def _level(
    sizes: tuple[int, ...], names: tuple[str, ...], stripes: tuple[int, ...], colour: Colour, index: tuple[int, ...]
) -> _Drawing:
    depth = len(index)
    if depth == len(sizes) - 2:
        doubling = _DOUBLING if max(sizes[:depth], default=1) <= 4 else _DOUBLING_IF_MANY
        return _matrix(sizes[depth:], stripes[depth:], colour, index, doubling)
    size, name = sizes[depth], names[depth]
    shown = range(size) if size <= BOXES else [*range(BOXES - 2), size - 1]
    children = []
    for i in shown:
        last = f" of {size:,}" if i == size - 1 > 0 else ""
        children.append(_boxed(f"{name} {i + 1:,}{last}", _level(sizes, names, stripes, colour, (*index, i))))
    if size > BOXES:
        children.insert(-1, _Drawing(22, children[0].height, _text(4, children[0].height / 2, "…")))
    return _rows(children, _ROOM - 2 * _PAD * depth)


def _rows(children: list[_Drawing], room: float) -> _Drawing:
    """Put drawings side by side, and below each other where there is no room."""
    x = y = width = height = 0.0
    parts = []
    for child in children:
        if x and x + child.width > room:
            x, y = 0.0, height + _GAP
        parts.append(f'<g transform="translate({x:.1f} {y:.1f})">{child.svg}</g>')
        width, height = max(width, x + child.width), max(height, y + child.height)
        x += child.width + _GAP
    return _Drawing(width, height, "".join(parts))


def _boxed(title: str, inner: _Drawing) -> _Drawing:
    width = max(inner.width, 5.6 * len(title)) + 2 * _PAD
    height = inner.height + _TITLE + 2 * _PAD
    return _Drawing(
        width,
        height,
        f'<rect width="{width:.1f}" height="{height:.1f}" rx="4"/>{_text(_PAD, _PAD + 8, title)}'
        f'<g transform="translate({_PAD} {_PAD + _TITLE})">{inner.svg}</g>',
    )


def _matrix(
    sizes: tuple[int, ...], stripes: tuple[int, ...], colour: Colour, index: tuple[int, ...], doubling: float
) -> _Drawing:
    cellular = max(sizes) <= CELLS
    height, width = (_CELL * size if cellular else doubling * math.log2(size + 1) for size in sizes)
    rows, columns = sizes if cellular else (n if n <= STRIPES else 1 for n in stripes)
    tall, wide, gap = height / rows, width / columns, 1.2 if cellular else 0.0
    scale = [size / parts for size, parts in zip(sizes, (rows, columns), strict=True)]
    return _Drawing(
        width,
        height,
        "".join(
            f'<rect class="cell" x="{column * wide:.1f}" y="{row * tall:.1f}" width="{wide - gap:.1f}" '
            f'height="{tall - gap:.1f}" fill="{colour((*index, int(row * scale[0]), int(column * scale[1])))}"/>'
            for row in range(rows)
            for column in range(columns)
        ),
    )


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'
