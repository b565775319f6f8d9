"""Refuse bad input in one sentence that names the argument, what was expected and what came."""

import math
import operator
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def refusal(name: str, expected: str, got: object) -> ValueError:
    """Make the error; the caller raises it."""
    return ValueError(f"{name}: expected {expected}, got {got}.")


def described(value: object) -> str:
    """A value short enough for a sentence, with its type."""
    if isinstance(value, int) and value.bit_length() > 200:
        return f"an integer of {value.bit_length()} bits"  # Python refuses to print very long ones
    text = " ".join(repr(value).split())
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"


def as_count(name: str, value: object, *, minimum: int = 1, maximum: int | None = None) -> int:
    """Return an integer as Python's own, which has no width; a bool is not a count."""
    bounds = f"an integer of at least {minimum}" if maximum is None else f"an integer {minimum} to {maximum}"
    if isinstance(value, bool | np.bool_):
        raise refusal(name, bounds, described(value))
    try:
        count = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise refusal(name, bounds, described(value)) from None
    if count < minimum or (maximum is not None and count > maximum):
        raise refusal(name, bounds, described(value))
    return count


def as_real(name: str, value: object, expected: str) -> float:
    """Return a real number that is not NaN; `expected` words the caller's full condition."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise refusal(name, expected, described(value))
    try:
        number = float(value)
    except OverflowError:
        raise refusal(name, expected, described(value)) from None
    if math.isnan(number):
        raise refusal(name, expected, described(value))
    return number


def as_positive(name: str, value: object) -> float:
    """Return a finite number above 0."""
    expected = "a finite number above 0"
    number = as_real(name, value, expected)
    if not 0.0 < number < math.inf:
        raise refusal(name, expected, described(value))
    return number


def as_probability(name: str, value: object) -> float:
    """Return a number from 0 to 1."""
    expected = "a number from 0 to 1"
    number = as_real(name, value, expected)
    if not 0.0 <= number <= 1.0:
        raise refusal(name, expected, described(value))
    return number


def as_flag(name: str, value: object) -> bool:
    """Return a bool. Anything else is refused: the text 'off' would count as true."""
    if not isinstance(value, bool | np.bool_):
        raise refusal(name, "True or False", described(value))
    return bool(value)


def as_choice(name: str, value: object, choices: tuple[str, ...]) -> str:
    """Return one of a few words."""
    if not isinstance(value, str) or value not in choices:
        raise refusal(name, " or ".join(map(repr, choices)), described(value))
    return value


def _as_array(name: str, value: object, expected: str) -> NDArray[Any]:
    try:
        return np.asarray(value)
    except ValueError:
        raise refusal(name, expected, "rows of unequal length") from None


def as_floats(name: str, value: object, *, ndim: int, minus_inf: bool = False) -> Floats:
    """Return a float64 array, C-contiguous, with at least `ndim` axes and no NaN or +inf."""
    expected = f"an array of real numbers with at least {ndim} axes"
    array = _as_array(name, value, expected)
    if array.dtype.kind not in "fiu":
        raise refusal(name, expected, f"dtype {array.dtype}")
    if array.ndim < ndim:
        raise refusal(name, expected, f"shape {array.shape}")
    floats = np.asarray(array, dtype=np.float64, order="C")
    allowed = np.isfinite(floats)
    if minus_inf:
        allowed |= np.isneginf(floats)
    if not allowed.all():
        kind = "finite numbers or -inf" if minus_inf else "finite numbers"
        raise refusal(name, kind, f"{floats[~allowed][0]} in {np.count_nonzero(~allowed)} places")
    return floats


def as_mask(name: str, value: object, meaning: str) -> Bools:
    """Return a bool array. Numbers are refused: 0 and 1 do not say which of them hides."""
    expected = f"a bool array ({meaning})"
    mask = _as_array(name, value, expected)
    if mask.dtype.kind != "b":
        raise refusal(name, expected, f"dtype {mask.dtype}")
    return mask


def spread_to(name: str, mask: Bools, shape: tuple[int, ...]) -> Bools:
    """Repeat a mask over the leading axes of `shape`."""
    try:
        return np.broadcast_to(mask, shape)
    except ValueError:
        raise refusal(name, f"a shape that broadcasts to {shape}", f"shape {mask.shape}") from None


def without_overflow(names: str, result: Floats) -> Floats:
    """Return a result if all of it fits a float64.

    The browser's Python has no floating-point flags, so the result is looked at, not the flags.
    """
    if not np.isfinite(result).all():
        raise refusal(names, "numbers small enough for a float64 result", "a result above 1.8e308")
    return result
