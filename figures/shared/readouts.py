"""Readouts: numbers as text for people, with the full value beside it for programs.

Each is an element with ``data-readout`` and ``data-value``, strict JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np

from figures.shared.format import fixed, listed, symbols


@dataclass(frozen=True)
class Readout:
    """One number, or one list of numbers or words, that a figure shows.

    Parameters
    ----------
    name : str
        The name that tests and bound prose know it by.
    label : str
        What it is, for people.
    value : callable
        Returns the value from state and result: a number, a text, a sequence of them, or None.
    text : str or callable, optional
        A format of the value (``"{:,}"``), or writes it; without it a number has four decimals.
    beside : str or callable
        A few words to it, or what returns them from state and result.
    partial : callable, optional
        Tells from state and result whether the value is not final yet: it then is not marked as changed.
    """

    name: str
    label: str
    value: Callable[[Any, Any], Any]
    text: str | Callable[[Any], str] | None = None
    beside: str | Callable[[Any, Any], str] = ""
    partial: Callable[[Any, Any], bool] | None = None

    def read(self, state: Any, result: Any) -> Reading:
        """Return what it shows in a state."""
        value = plain(self.value(state, result))
        beside = self.beside if isinstance(self.beside, str) else self.beside(state, result)
        return Reading(self, value, self._written(value), beside, bool(self.partial and self.partial(state, result)))

    def _written(self, value: Any) -> str:
        if value is None and not callable(self.text):
            return "—"
        if isinstance(self.text, str):
            return self.text.format(value)
        if self.text:
            return self.text(value)
        if isinstance(value, list):
            return "  ".join(value) if value and isinstance(value[0], str) else listed(value)
        return fixed(value)


class Reading(NamedTuple):
    """What a readout shows in one state."""

    readout: Readout
    value: Any
    text: str
    beside: str
    partial: bool


def plain(value: Any) -> Any:
    """Return a value in Python's own types, so that it is strict JSON; what is not finite becomes None."""
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.bool_ | bool):
        return bool(value)
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.floating | float):
        return float(value) if np.isfinite(value) else None
    return value


def write(readings: Sequence[Reading], former: Sequence[Reading] = (), turn: int = 0) -> str:
    """Return readouts as HTML. What differs from `former` is marked, by another class each `turn`."""
    before = {reading.readout.name: reading for reading in former}
    return f'<dl class="readouts">{"".join(_item(r, before.get(r.readout.name), turn) for r in readings)}</dl>'


def _item(reading: Reading, former: Reading | None, turn: int) -> str:
    value = json.dumps(reading.value, allow_nan=False, ensure_ascii=False)
    changed = former is not None and former.text != reading.text and not reading.partial
    mark = f" changed turn-{turn % 2}" if changed else ""
    beside = f"was {former.text}" if changed and former else reading.beside
    wide = ' class="wide"' if len(reading.text) > 14 else ""
    return (
        f'<div{wide}><dt>{symbols(reading.readout.label)}</dt><dd><span class="value{mark}" '
        f'data-readout="{escape(reading.readout.name)}" data-value="{escape(value)}">{symbols(reading.text)}</span> '
        f'<span class="beside">{symbols(beside)}</span></dd></div>'
    )
