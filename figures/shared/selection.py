"""The selected cell of a heatmap, as two controls see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import param

from figures.shared.controls import Choice, choice
from figures.shared.state import FigureState


class _Selection(param.Parameterized):
    """Row and column of a state's `cell`, counted from 1."""

    row = param.Integer(default=1)
    column = param.Integer(default=1)

    def __init__(self, state: FigureState) -> None:
        super().__init__(row=state.cell[0], column=state.cell[1])
        state.param.watch(lambda event: self.param.update(row=event.new[0], column=event.new[1]), "cell")
        self.param.watch(lambda *_: state.param.update(cell=(self.row, self.column)), ["row", "column"])


def row_and_column(state: FigureState, rows: Sequence[str], columns: Sequence[str]) -> list[Choice]:
    """Return the controls "Row" and "Column" for the `cell` of a state, by the names along the sides."""
    selection: Any = _Selection(state).param
    return [
        choice(parameter, name, {f"{i} {text}": i for i, text in enumerate(names, 1)})
        for parameter, name, names in ((selection.row, "Row", rows), (selection.column, "Column", columns))
    ]
