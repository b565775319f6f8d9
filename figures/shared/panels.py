"""Panels: what a figure shows. Each owns its title, its drawing, its explanation and its data table.

They are declared once, in a figure's module. What they show follows from state and result, ``(s, r)``: wherever a
parameter may be *of state and result*, it is a value or a function that returns one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np

from figures.shared.format import fixed, symbols
from figures.shared.palette import inks

Of = Callable[[Any, Any], Any]  # of state and result


class Table(NamedTuple):
    """A matrix under its name, shape (rows, columns): the data behind a drawing."""

    name: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Any


def of(value: Any, state: Any, result: Any) -> Any:
    """Return what a parameter is in a state: itself, or what it returns."""
    return value(state, result) if callable(value) else value


@dataclass
class Drawing:
    """Any HTML, under a title.

    Parameters
    ----------
    title : str
        What it shows; of state and result. With ``d_k`` for d with a small k.
    html : callable
        Returns the drawing from state and result.
    note : str
        A few muted words beside the title; of state and result.
    tables : callable, optional
        Returns its data, a list of `Table`.
    area : str
        Where it stands: ``main`` or ``side`` of the stage, or ``numbers``, the fold.
    """

    title: str | Of
    html: Of
    note: str | Of = ""
    tables: Of | None = None
    area: str = "main"

    def render(self, state: Any, result: Any) -> str:
        """Return the panel as HTML."""
        return caption(of(self.title, state, result), of(self.note, state, result)) + self.html(state, result)

    def data(self, state: Any, result: Any) -> list[Table]:
        """Return the data behind the drawing."""
        return self.tables(state, result) if self.tables else []


def caption(title: str, note: str = "", *, hue: str = "") -> str:
    """Return a title with muted words beside it."""
    if not title:
        return ""
    coloured = f' style="color:var(--{hue})"' if hue else ""
    return f'<p class="caption"><b{coloured}>{symbols(title)}</b> <span>{symbols(note)}</span></p>'


@dataclass
class Bars:
    """Bars beside the rows of a grid: one length for each row, on a scale that starts at 0.

    Parameters
    ----------
    title : str
        What the lengths are.
    values : callable
        Returns them from state and result, shape (rows,).
    most : float
        The length that fills the room; of state and result.
    ticks : sequence of float
        Marked lengths; the one in `rule` as a dashed line.
    text : callable
        Writes a length.
    hue : str
        The name of a colour.
    """

    title: str
    values: Of
    most: Any
    ticks: Sequence[float] = ()
    rule: float | Of | None = None
    text: Callable[[float], str] = fixed
    hue: str = "weight"


@dataclass
class Grid:
    """A matrix as a table of cells whose strength is their size: hue says the kind, zero is paper.

    Parameters
    ----------
    title : str
        What the matrix is; of state and result.
    matrix : callable
        Returns it from state and result, shape (rows, columns).
    rows, columns : sequence of str
        Names along the sides; of state and result.
    hue : str
        The name of the colour of positive numbers; of state and result. Negative ones are ochre.
    scale : float
        The size that has the full colour, fixed so that two states compare; of state and result.
    hidden, struck : ndarray of bool
        Cells that are hatched, with `hidden_text` in them, and cells whose number is struck out; of state and result.
    select : str
        The key of the state that a press on a cell sets, a `Cell`; empty for none.
    mirror : bool
        Whether the mirror image of the selected cell is outlined too.
    digits : int
        Decimals of each number.
    texts : callable, optional
        Returns texts in place of the numbers, shape (rows, columns).
    beside : Bars, optional
        Bars at the rows.
    """

    title: str | Of
    matrix: Of
    rows: Any
    columns: Any
    hue: str | Of
    scale: float | Of
    note: str | Of = ""
    hidden: Any = None
    hidden_text: str | Of = "−∞"
    struck: Any = None
    select: str = "cell"
    mirror: bool = False
    digits: int = 3
    texts: Of | None = None
    beside: Bars | None = None
    area: str = "main"

    def render(self, s: Any, r: Any) -> str:
        """Return the panel as HTML."""
        matrix = np.asarray(self.matrix(s, r))
        rows, columns = of(self.rows, s, r), of(self.columns, s, r)
        bars = _BarColumn(self.beside, s, r) if self.beside else None
        body = "".join(
            f'<tr><th scope="row">{escape(name)}</th>{cells}{bars.cell(i) if bars else ""}</tr>'
            for i, (name, cells) in enumerate(zip(rows, self._cells(s, r, matrix), strict=True))
        )
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
        title = of(self.title, s, r)
        role = ' role="grid"' if self.select else ""
        return (
            f"{caption(title, of(self.note, s, r))}"
            f'<table class="grid" style="--n:{len(columns)};--hue:var(--{of(self.hue, s, r)})"{role} '
            f'aria-label="{escape(title)}, {len(rows)} by {len(columns)}"><thead><tr><td></td>{head}'
            f"{bars.head() if bars else ''}</tr></thead><tbody>{body}</tbody></table>"
        )

    def _cells(self, s: Any, r: Any, matrix: np.ndarray) -> list[str]:
        hue, scale = of(self.hue, s, r), of(self.scale, s, r)
        hidden, struck = (_flags(of(which, s, r), matrix.shape) for which in (self.hidden, self.struck))
        texts = self.texts(s, r) if self.texts else None
        hidden_text = of(self.hidden_text, s, r)
        chosen = tuple(place - 1 for place in getattr(s, self.select)) if self.select else None
        mirrored = chosen[::-1] if chosen and self.mirror and chosen[0] != chosen[1] else None
        lines = []
        for i, row in enumerate(matrix):
            line = []
            for j, value in enumerate(row):
                text = hidden_text if hidden[i, j] else texts[i][j] if texts else fixed(float(value), self.digits)
                classes, style = look(float(value), hue, scale, hidden=hidden[i, j], struck=struck[i, j])
                attributes = ""
                if self.select:
                    if (i, j) == chosen:
                        classes += " selected"
                    elif (i, j) == mirrored:
                        classes += " mirror"
                    attributes = (
                        f' role="gridcell" data-set="{self.select}={i + 1},{j + 1}" '
                        f'tabindex="{0 if (i, j) == chosen else -1}" aria-selected="{str((i, j) == chosen).lower()}"'
                    )
                inner = f"<s>{text}</s>" if struck[i, j] else text
                line.append(f'<td class="{classes}"{style}{attributes}>{inner}</td>')
            lines.append("".join(line))
        return lines

    def data(self, s: Any, r: Any) -> list[Table]:
        """Return the data behind the drawing."""
        tables = [Table(of(self.title, s, r), of(self.rows, s, r), of(self.columns, s, r), self.matrix(s, r))]
        if self.beside:
            values = np.asarray(self.beside.values(s, r))[:, None]
            tables.append(Table(self.beside.title, of(self.rows, s, r), [self.beside.title], values))
        return tables


@dataclass
class Row:
    """Panels beside each other where there is room, else below each other."""

    panels: Sequence[Drawing | Grid]
    area: str = "numbers"

    def render(self, s: Any, r: Any) -> str:
        """Return the panels as HTML."""
        return f'<div class="row">{"".join(f"<div>{panel.render(s, r)}</div>" for panel in self.panels)}</div>'

    def data(self, s: Any, r: Any) -> list[Table]:
        """Return the data behind all of them."""
        return [table for panel in self.panels for table in panel.data(s, r)]


def _flags(given: Any, shape: tuple[int, ...]) -> np.ndarray:
    return np.zeros(shape, dtype=bool) if given is None else np.broadcast_to(np.asarray(given, dtype=bool), shape)


def look(value: float, hue: str, scale: float, *, hidden: bool = False, struck: bool = False) -> tuple[str, str]:
    """Return the classes and the style attribute of a cell: how strong its colour is, and what is legible on it."""
    if hidden:
        return "hidden", ""
    if struck:
        return "struck", ""
    share = round(100 * min(1.0, abs(value) / scale)) if np.isfinite(value) else 100
    if share == 0:
        return "", ""
    classes = "negative" if value < 0 else ""
    light, dark = inks("negative" if value < 0 else hue, share / 100)
    classes += (" on-light" if light else "") + (" on-dark" if dark else "")
    return classes, f' style="--a:{share}%"'


def mini(
    matrix: Any, hue: str, scale: float, *, hidden: Any = None, marked: Any = None, cut: int = 0, diagonal: bool = False
) -> str:
    """Return a matrix as a small drawing without numbers; what it holds is told by text and by the data tables.

    Parameters
    ----------
    matrix : array_like
        Shape (rows, columns).
    hue, scale : str, float
        As in `Grid`.
    hidden, marked : array_like of bool, optional
        Cells that are hatched, and cells with a frame.
    cut : int
        A gap after every so many columns; 0 for none.
    diagonal : bool
        Whether the main diagonal is drawn as a dashed line.
    """
    matrix = np.asarray(matrix, dtype=float)
    hatched, framed = _flags(hidden, matrix.shape), _flags(marked, matrix.shape)
    cells = []
    for i, j in np.ndindex(*matrix.shape):
        classes, style = look(float(matrix[i, j]), hue, scale, hidden=hatched[i, j])
        named = "negative" if "negative" in classes else "hidden" if hatched[i, j] else ""
        if cut and j and j % cut == 0:
            named += " cut"
        if framed[i, j]:
            named += " marked"
        cells.append(f"<i{f' class={chr(34)}{named.strip()}{chr(34)}' if named else ''}{style}></i>")
    return (
        f'<span class="mini{" diagonal" if diagonal else ""}" aria-hidden="true" '
        f'style="--n:{matrix.shape[1]};--gaps:{(matrix.shape[1] - 1) // cut if cut else 0};--hue:var(--{hue})">'
        f"{''.join(cells)}</span>"
    )


class _BarColumn:
    """The bars of one drawing of a grid."""

    def __init__(self, bars: Bars, s: Any, r: Any) -> None:
        self._bars = bars
        self._values = [float(value) for value in bars.values(s, r)]
        self._most = float(of(bars.most, s, r))
        self._rule = of(bars.rule, s, r)

    def head(self) -> str:
        ticks = "".join(f'<i style="left:{100 * tick / self._most:.4g}%">{tick:g}</i>' for tick in self._bars.ticks)
        return f'<th scope="col" class="bars"><b>{escape(self._bars.title)}</b><span>{ticks}</span></th>'

    def cell(self, row: int) -> str:
        value = self._values[row]
        long = 100 * min(1.0, value / self._most)
        rule = "" if self._rule is None else f'<u style="left:{100 * self._rule / self._most:.4g}%"></u>'
        return (
            f'<td class="bars" style="--hue:var(--{self._bars.hue})"><span><i style="width:{long:.4g}%"></i>{rule}'
            f'<b style="left:{long:.4g}%">{self._bars.text(value)}</b></span></td>'
        )


def columns(
    values: Sequence[float], names: Sequence[str], hue: str, texts: Sequence[str], *, label: str, kind: str = ""
) -> str:
    """Return upright bars on a scale from 0 to 1, one for each name, as a list; `kind` is left out on narrow cards."""
    before = f"<em>{escape(kind)} </em>" if kind else ""
    items = "".join(
        f'<li><b>{text}</b><i style="height:{100 * float(value):.4g}%"></i><span>{before}{escape(name)}</span></li>'
        for value, name, text in zip(values, names, texts, strict=True)
    )
    return f'<ul class="columns" aria-label="{escape(label)}" style="--hue:var(--{hue})">{items}</ul>'


def data_table(table: Table, *, whole: bool = True) -> str:
    """Return data as an HTML table, every number at full precision; or, if not `whole`, its caption alone."""
    if not whole:
        return f"<table><caption>{symbols(table.name)}</caption></table>"
    head = "".join(f'<th scope="col">{symbols(name)}</th>' for name in table.columns)
    body = "".join(
        f'<tr><th scope="row">{symbols(name)}</th>{"".join(f"<td>{_exact(value)}</td>" for value in row)}</tr>'
        for name, row in zip(table.rows, table.values, strict=True)
    )
    return (
        f"<table><caption>{symbols(table.name)}</caption><thead><tr><td></td>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )


def _exact(value: Any) -> str:
    if isinstance(value, str):
        return escape(value)
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return str(value)
    return repr(float(value)) if np.isfinite(value) else "−∞" if value < 0 else "—"
