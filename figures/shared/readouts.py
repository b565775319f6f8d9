"""Readouts: numbers as text for people, with the full value beside it for programs.

Each is an element with ``data-readout`` and ``data-value``, strict JSON.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np


class Readout(NamedTuple):
    """One number, or one list, that a figure shows."""

    name: str
    label: str
    value: Any
    text: str
    beside: str = ""
    wide: bool = False
    broad: bool = False  # a large one that takes the room of two
    partial: bool = False  # not final yet: `beside` says how far, and is not replaced by the former value


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


def fixed(value: float, digits: int = 4) -> str:
    """Return a number with a fixed count of decimals and a true minus sign; an exact zero is ``0``."""
    if value == -math.inf:
        return "−∞"
    if value == 0:
        return "0"
    if 0 < abs(value) < 10.0**-digits:
        return scientific(value)
    return f"{value:.{digits}f}".replace("-", "−")


def scientific(value: float) -> str:
    """Return a small number as ``1.1 × 10⁻¹⁶``."""
    mantissa, exponent = f"{value:.1e}".split("e")
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{mantissa} × 10{raised}".replace("-", "−")


def entries(matrix: np.ndarray, digits: int = 4) -> list[list[str]]:
    """Return each entry of a matrix, shape (n, m), with a fixed count of decimals."""
    return [[fixed(float(value), digits) for value in row] for row in matrix]


def results(texts: list[list[str]], matrix: np.ndarray) -> list[list[str]]:
    """Return each text followed by the entry of a matrix, shape (n, m), that it results in."""
    return [
        [f"{text} = {value}" for text, value in zip(*rows, strict=True)]
        for rows in zip(texts, entries(matrix), strict=True)
    ]


def products(left: np.ndarray, right: np.ndarray, digits: int = 3) -> list[list[str]]:
    """Return, for each entry of a matrix product, the sum it comes from, as ``0.430·0.296 + 0.150·(−0.517)``.

    Parameters
    ----------
    left, right : ndarray
        Factors of shapes (n, d) and (d, m).
    digits : int
        Decimals of each number.
    """
    rows, columns = (entries(factor, digits) for factor in (left, right.T))
    columns = [[f"({text})" if text.startswith("−") else text for text in column] for column in columns]
    return [[" + ".join(map("·".join, zip(row, column, strict=True))) for column in columns] for row in rows]


def numbers(values: Sequence[float], digits: int = 4) -> str:
    """Return a list of numbers, with a fixed count of decimals."""
    return "  ".join(fixed(float(value), digits) for value in values)


def strip(readouts: Sequence[Readout], former: Sequence[Readout] = ()) -> str:
    """Return the readouts as HTML: the large ones, then the rest. What differs from `former` is marked."""
    before = {readout.name: readout for readout in former}
    large = "".join(_item(readout, before.get(readout.name)) for readout in readouts if not readout.wide)
    small = "".join(_item(readout, before.get(readout.name)) for readout in readouts if readout.wide)
    return f"<dl>{large}</dl>" + (f'<dl class="more">{small}</dl>' if small else "")


def _item(readout: Readout, former: Readout | None) -> str:
    value = json.dumps(plain(readout.value), allow_nan=False, ensure_ascii=False)
    changed = former is not None and former.text != readout.text
    beside = f"was {former.text}" if changed and former and not readout.partial else readout.beside
    return (
        f"<div{' class=broad' if readout.broad else ''}><dt>{escape(readout.label)}</dt>"
        f'<dd><span class="value{" changed" if changed else ""}" data-readout="{escape(readout.name)}" '
        f'data-value="{escape(value)}">{escape(readout.text)}</span>'
        + ("" if readout.wide else f'<span class="beside">{escape(beside)}</span>')
        + "</dd></div>"
    )
