"""Check what came in: return it in the type the mathematics needs, or refuse it in one sentence."""

import math
import operator
from collections.abc import Callable
from contextlib import suppress
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_core._arrays import Bools, Floats


def refusal(name: str, expected: str, got: object) -> ValueError:
    """Make the error; the caller raises it."""
    return ValueError(f"{name}: expected {expected}, got {got}.")


def described(value: object) -> str:
    """A value short enough for a sentence, with its type."""
    if isinstance(value, int) and value.bit_length() > 200:
        return f"an integer of {value.bit_length()} bits"  # Python refuses to print very long ones
    text = " ".join(repr(value).split())
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"


def count(name: str, value: object, *, minimum: int = 1, maximum: int | None = None) -> int:
    """Return an integer as Python's own, which has no width; a bool is not a count."""
    with suppress(TypeError):
        whole = operator.index(value)  # type: ignore[arg-type]
        if not isinstance(value, bool) and minimum <= whole and (maximum is None or whole <= maximum):
            return whole
    bounds = f"of at least {minimum}" if maximum is None else f"{minimum} to {maximum}"
    raise refusal(name, f"an integer {bounds}", described(value))


def real(name: str, value: object, expected: str, fits: Callable[[float], bool]) -> float:
    """Return a real number that `fits`, a condition that `expected` says in words and NaN never meets."""
    if isinstance(value, Real) and not isinstance(value, bool):
        with suppress(OverflowError):
            number = float(value)
            if fits(number):
                return number
    raise refusal(name, expected, described(value))


def positive(name: str, value: object) -> float:
    """Return a finite number above 0."""
    return real(name, value, "a finite number above 0", lambda number: 0.0 < number < math.inf)


def probability(name: str, value: object) -> float:
    """Return a number from 0 to 1."""
    return real(name, value, "a number from 0 to 1", lambda number: 0.0 <= number <= 1.0)


def flag(name: str, value: object) -> bool:
    """Return a bool. Anything else is refused: the text 'off' would count as true."""
    if not isinstance(value, bool | np.bool_):
        raise refusal(name, "True or False", described(value))
    return bool(value)


def choice(name: str, value: object, words: tuple[str, ...]) -> str:
    """Return one of a few words."""
    if not isinstance(value, str) or value not in words:
        raise refusal(name, " or ".join(map(repr, words)), described(value))
    return value


def floats(name: str, value: object, *, ndim: int, minus_inf: bool = False) -> Floats:
    """Return a float64 array, C-contiguous, with at least `ndim` axes and no NaN or +inf."""
    expected = f"an array of real numbers with at least {ndim} axes"
    array = _array(name, value, expected)
    if array.dtype.kind not in "fiu":
        raise refusal(name, expected, f"dtype {array.dtype}")
    if array.ndim < ndim:
        raise refusal(name, expected, f"shape {array.shape}")
    numbers = np.asarray(array, dtype=np.float64, order="C")
    allowed = np.isfinite(numbers) | (np.isneginf(numbers) & minus_inf)
    if not allowed.all():
        kind = "finite numbers or -inf" if minus_inf else "finite numbers"
        raise refusal(name, kind, f"{numbers[~allowed][0]} in {np.count_nonzero(~allowed)} places")
    return numbers


def mask(name: str, value: object, meaning: str, *, shape: tuple[int, ...] | None = None) -> Bools:
    """Return a bool array, repeated to `shape`. Numbers are refused: 0 and 1 do not say which of them hides."""
    expected = f"a bool array ({meaning})"
    array = _array(name, value, expected)
    if array.dtype.kind != "b":
        raise refusal(name, expected, f"dtype {array.dtype}")
    try:
        return array if shape is None else np.broadcast_to(array, shape)
    except ValueError:
        raise refusal(name, f"a shape that broadcasts to {shape}", f"shape {array.shape}") from None


def no_overflow(names: str, result: Floats) -> Floats:
    """Return a result if all of it fits a float64.

    The browser's Python has no floating-point flags, so the result is looked at, not the flags.
    """
    if not np.isfinite(result).all():
        raise refusal(names, "numbers small enough for a float64 result", "a result above 1.8e308")
    return result


def _array(name: str, value: object, expected: str) -> NDArray[Any]:
    try:
        return np.asarray(value)
    except ValueError:
        raise refusal(name, expected, "rows of unequal length") from None
