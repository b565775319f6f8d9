"""The state of a figure: typed, bounded parameters, and their texts in the page's query string.

Nothing from an address is evaluated. A text becomes a number or a name from a fixed list; what cannot
be used is left at its default, what lies outside its bounds is moved to the nearest bound, and both
are told in one short notice.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import param

_WHOLE = re.compile(r"-?[0-9]{1,40}")
_DECIMAL = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,4})?")
_SHOWN = 24  # characters of a refused text that a notice repeats


class Unusable(ValueError):
    """A text that is no value of its parameter."""


class FigureState(param.Parameterized):
    """Base of the figures' states.

    Every parameter of a subclass is a key of the query string, but for those of negative precedence: they say
    what is pointed at, and a link neither carries nor sets them.
    """

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of all parameters, in the order in which they are applied."""
        own = [name for name in cls.param if name != "name"]
        return sorted(own, key=cls._precedence)

    @classmethod
    def query_keys(cls) -> list[str]:
        """Return the query keys, in the order in which they are applied."""
        return [name for name in cls.names() if cls._precedence(name) >= 0]

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return the default of every parameter."""
        return {key: cls.param[key].default for key in cls.names()}

    @classmethod
    def _precedence(cls, name: str) -> float:
        return cls.param[name].precedence or 0

    def query(self) -> dict[str, str]:
        """Return the values that differ from their default, as texts."""
        pairs = ((key, getattr(self, key)) for key in self.query_keys())
        return {key: to_text(value) for key, value in pairs if value != self.param[key].default}

    def load_query(self, pairs: Iterable[tuple[str, str]]) -> str:
        """Set the state from a link; keys that are missing take their default.

        Parameters
        ----------
        pairs : iterable of (str, str)
            Keys without the figure's name, and texts, in the order of the address. Unknown keys are
            left alone.

        Returns
        -------
        str
            One notice that names what was ignored or moved, or an empty text.
        """
        texts: dict[str, list[str]] = {}
        for key, text in pairs:
            texts.setdefault(key, []).append(text)
        values = self.defaults()
        notes = []
        for key in self.query_keys():
            given = texts.get(key, [])
            if not given:
                continue
            try:
                if len(given) > 1:
                    raise Unusable("given more than once")
                values[key], note = self.read(key, given[0], values)
            except Unusable as reason:
                note = f"{key}={_shorten(given[0])} was ignored ({reason})"
            if note:
                notes.append(note)
        self.param.update(**values)
        return "; ".join(notes) + "." if notes else ""

    def read(self, key: str, text: str, _before: dict[str, Any]) -> tuple[Any, str]:
        """Return the value a text stands for, and a note if it was moved into its bounds."""
        parameter = self.param[key]
        if isinstance(parameter, param.Boolean):
            return _choose(text, {"on": True, "off": False}), ""
        if isinstance(parameter, param.NumericTuple):
            numbers = [_whole(part) for part in text.split(",")]
            if len(numbers) != len(parameter.default):
                raise Unusable(f"it takes {len(parameter.default)} numbers")
            moved = tuple(_clamp(number, self.bounds(key)) for number in numbers)
            return moved, _moved(key, text, to_text(moved), tuple(numbers) == moved)
        if isinstance(parameter, param.List):
            numbers = _decimals(text, parameter.bounds)
            moved = [_clamp(number, self.bounds(key)) for number in numbers]
            return moved, _moved(key, text, to_text(moved), numbers == moved)
        if isinstance(parameter, param.Selector) and isinstance(parameter.default, str):
            return _choose(text, {option: option for option in parameter.objects}), ""
        if isinstance(parameter, param.Selector):
            number = _whole(text)
            moved = _clamp(number, (min(parameter.objects), max(parameter.objects)))
            if moved not in parameter.objects:
                raise Unusable("not one of its values")
            return moved, _moved(key, text, to_text(moved), number == moved)
        number = _whole(text) if isinstance(parameter, param.Integer) else _decimal(text)
        moved = _clamp(number, self.bounds(key))
        return moved, _moved(key, text, to_text(moved), number == moved)

    def bounds(self, key: str) -> tuple[float, float]:
        """Return the smallest and largest value of a numeric parameter, or of each number of a list."""
        return self.param[key].bounds


def to_text(value: Any) -> str:
    """Return a value as it stands in an address."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple | list):
        return ",".join(to_text(item) for item in value)
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _choose(text: str, options: dict[str, Any]) -> Any:
    if text not in options:
        raise Unusable(f"it is one of {', '.join(options)}")
    return options[text]


def _whole(text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise Unusable("not a whole number")
    return int(text)


def _decimal(text: str) -> float:
    if not _DECIMAL.fullmatch(text):
        raise Unusable("not a number")
    return float(text)


def _decimals(text: str, lengths: tuple[int, int]) -> list[float]:
    parts = text.split(",")
    fewest, most = lengths
    if not fewest <= len(parts) <= most:
        raise Unusable(f"it takes {fewest} to {most} numbers")
    for part in parts:
        if not _DECIMAL.fullmatch(part):
            raise Unusable(f"“{_shorten(part)}” is not a number")
    return [float(part) for part in parts]


def _clamp(number: Any, bounds: tuple[Any, Any]) -> Any:
    low, high = bounds
    return type(number)(min(max(number, low), high)) if math.isfinite(number) else (high if number > 0 else low)


def _moved(key: str, text: str, value: str, same: bool) -> str:
    return "" if same else f"{key}={_shorten(text)} was moved to {value}"


def _shorten(text: str) -> str:
    printable = "".join(c if c.isprintable() else "?" for c in text)
    return printable if len(printable) <= _SHOWN else printable[: _SHOWN - 1] + "…"
