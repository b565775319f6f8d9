"""The selected cell of a heatmap, as two controls see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import panel as pn
import param

from figures.shared.controls import choice
from figures.shared.state import FigureState
from figures.shared.styles import STEPPER


class _Selection(param.Parameterized):
    """Row and column of a state's `cell`, counted from 1."""

    row = param.Integer(default=1)
    column = param.Integer(default=1)

    def __init__(self, state: FigureState) -> None:
        super().__init__(row=state.cell[0], column=state.cell[1])
        state.param.watch(lambda event: self.param.update(row=event.new[0], column=event.new[1]), "cell")
        self.param.watch(lambda *_: state.param.update(cell=(self.row, self.column)), ["row", "column"])


def row_and_column(state: FigureState, rows: Sequence[str], columns: Sequence[str]) -> pn.Row:
    """Return the controls "Row" and "Column" for the `cell` of a state, by the names along the sides."""
    selection: Any = _Selection(state).param
    controls = [
        choice(parameter, name, _labels(names))
        for parameter, name, names in ((selection.row, "Row", rows), (selection.column, "Column", columns))
    ]
    return pn.Row(*controls, stylesheets=[STEPPER], margin=0)


def offer(controls: pn.Row, cell: tuple[int, int], rows: Sequence[str], columns: Sequence[str]) -> None:
    """Let the two controls offer other names along the sides, of which `cell` is one each."""
    # Options and value in one change, since a list refuses a value that it does not offer.
    for control, place, names in zip(controls, cell, (rows, columns), strict=True):
        control.param.update(options=_labels(names), value=place, disabled=False)


def withhold(controls: pn.Row) -> None:
    """Let the two controls offer nothing: there are no cells."""
    for control in controls:
        control.param.update(options={"—": control.value}, disabled=True)


def _labels(names: Sequence[str]) -> dict[str, int]:
    """Return what is offered: the number and the name, or the number alone where it is the name."""
    return {text if text == str(i) else f"{i} {text}": i for i, text in enumerate(names, 1)}
