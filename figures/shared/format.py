"""Numbers as people read them: decimals, powers of ten, bytes, plurals, and symbols with an index."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from html import escape, unescape

import numpy as np

BINARY_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_INDEXED = re.compile(r"\b([dWQKV])_([a-z]+)\b")


def fixed(value: float, digits: int = 4) -> str:
    """Return a number with a fixed count of decimals and a true minus sign; an exact zero is ``0``.

    >>> fixed(-0.25), fixed(0.0), fixed(1e-16)
    ('−0.2500', '0', '1.0 × 10⁻¹⁶')
    """
    if value == -math.inf:
        return "−∞"
    if value == 0:
        return "0"
    if 0 < abs(value) < 10.0**-digits:
        return scientific(value)
    return f"{value:.{digits}f}".replace("-", "−")


def brief(value: float, digits: int = 2) -> str:
    """Return a number with at most so many decimals.

    >>> brief(2.0), brief(0.9846), brief(0.001)
    ('2', '0.98', '0')
    """
    text = f"{value:.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text.replace("-", "−")


def raised(exponent: int) -> str:
    """Return an exponent in raised digits.

    >>> raised(-16)
    '⁻¹⁶'
    """
    return str(exponent).translate(_RAISED)


def scientific(value: float, digits: int = 1) -> str:
    """Return a number as a mantissa and a power of ten.

    >>> scientific(1.4e-6)
    '1.4 × 10⁻⁶'
    """
    mantissa, exponent = f"{value:.{digits}e}".split("e")
    return f"{mantissa} × 10{raised(int(exponent))}".replace("-", "−")


def power_of_ten(exponent: int) -> str:
    """Return a power of ten as people write it.

    >>> power_of_ten(2), power_of_ten(-3)
    ('100', '10⁻³')
    """
    return str(10**exponent) if 0 <= exponent <= 2 else f"10{raised(exponent)}"


def binary(count: int, digits: int = 3) -> str:
    """Return bytes in the largest binary unit that leaves at least 1; a whole number stays whole.

    >>> binary(2**21), binary(2_194_830_951_552)
    ('2 MiB', '1.996 TiB')
    """
    power = min((count.bit_length() - 1) // 10, len(BINARY_UNITS) - 1)
    unit = 2 ** (10 * power)
    return f"{f'{count // unit:,}' if count % unit == 0 else f'{count / unit:.{digits}f}'} {BINARY_UNITS[power]}"


def compact(value: float) -> str:
    """Return a number for a cell, which holds about six characters.

    >>> compact(0.25), compact(-512.07), compact(1e-5)
    ('0.250', '−512.1', '1e-5')
    """
    size = abs(value)
    if size == 0 or math.isinf(size):
        return fixed(value)
    if size < 1e-99:
        return "≈ 0"
    if not 1e-3 <= size < 1e5:
        mantissa, exponent = f"{value:.0e}".split("e")
        return f"{mantissa.replace('-', '−')}e{int(exponent)}"
    return fixed(value, 3 if size < 10 else 2 if size < 100 else 1 if size < 1000 else 0)


def percent(share: float, digits: int = 1) -> str:
    """Return a share of one.

    >>> percent(0.0733)
    '7.3 %'
    """
    return f"{100 * share:.{digits}f} %"


def many(count: int, noun: str) -> str:
    """Return a count and its noun.

    >>> many(1, "head"), many(1600, "head")
    ('1 head', '1,600 heads')
    """
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def listed(values: Sequence[float], digits: int = 4) -> str:
    """Return numbers beside each other, each with a fixed count of decimals."""
    return "  ".join(fixed(float(value), digits) for value in values)


def entries(matrix: np.ndarray, digits: int = 4) -> list[list[str]]:
    """Return each entry of a matrix, shape (n, m), with a fixed count of decimals."""
    return [[fixed(float(value), digits) for value in row] for row in matrix]


def product(left: Sequence[float], right: Sequence[float], digits: int = 3) -> str:
    """Return the sum of products behind one dot product; negative factors stand in brackets.

    >>> product([0.43, 1.455], [0.436, -1.116])
    '0.430·0.436 + 1.455·(−1.116)'
    """
    written = ([fixed(float(value), digits) for value in factor] for factor in (left, right))
    ones, others = ([f"({text})" if text.startswith("−") else text for text in factor] for factor in written)
    return " + ".join(f"{a}·{b}" for a, b in zip(ones, others, strict=True))


def symbols(text: str) -> str:
    """Return a text as HTML, in which the index of a symbol is lowered: ``d_k`` as d with a small k.

    >>> symbols("√d_k > 1")
    '√d<sub>k</sub> &gt; 1'
    """
    return _INDEXED.sub(r"\1<sub>\2</sub>", escape(text))


def said(html: str) -> str:
    """Return HTML as the text that is spoken: without tags, with plain spaces.

    >>> said("d<sub>k</sub> is <b>768</b>")
    'dk is 768'
    """
    text = re.sub(r"<[^>]+>", "", re.sub(r'<input[^>]*value="([^"]*)"[^>]*>', r"\1", html))
    return " ".join(unescape(text).split())


def magnitude(value: float) -> str:
    """Return the nearest power of ten, for a number whose digits mean nothing.

    >>> magnitude(1.1e-16)
    '10⁻¹⁶'
    """
    return power_of_ten(round(math.log10(value)))


def _unbroken(write: Callable[..., str], space: str = "\u00a0") -> Callable[..., str]:
    return lambda *given: write(*given).replace(" ", space)


#: For the article, where a number and its unit stay on one line.
FILTERS: dict[str, Callable[..., str]] = {
    "percent": _unbroken(percent, "\u202f"),
    "sci": _unbroken(scientific),
    "binary": _unbroken(binary),
    "magnitude": magnitude,
}
