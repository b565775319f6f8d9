"""The state of a figure: typed, bounded parameters, each with its label and its control.

A state arrives as texts, from a link or from a control on the page. Nothing of them is evaluated: a text becomes
a number or a name from a fixed list. What cannot be used changes nothing, what lies outside its bounds is moved to
the nearest bound, and both are told in a sentence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import param

_WHOLE = re.compile(r"-?[0-9]{1,40}")
_DECIMAL = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,4})?")
_SHOWN = 24  # characters of a refused text that a notice repeats
SEEDS = 2**32


class Unusable(ValueError):
    """A text that is no value of its parameter."""


@dataclass(frozen=True)
class Control:
    """How the reader meets a parameter.

    Attributes
    ----------
    kind : str
        ``radios``, ``list``, ``slider``, ``number``, ``switch``, ``cell``, ``text``, ``run``, or ``none``.
    label : str
        The accessible name; ``d_k`` in it is shown as d with a small k.
    place : str
        ``settings`` for the fold, ``primary`` for under the stage, ``drawn`` where the drawing is the control,
        ``numbers`` where a drawing in that fold holds it.
    view : bool
        Whether it says what is looked at, not what is computed: a scene stays the same scene without it.
    linked : bool
        Whether it is a key of the address.
    options : mapping
        What each value is shown as, for a choice.
    steps : tuple
        The values that a slider stops at; empty for every whole number within the bounds.
    places : tuple of float
        Where the steps lie on the slider, from 0 to 1; empty for even distances.
    text : callable
        Writes a value for people.
    marks : mapping of value to str
        Texts below the slider.
    stepper : bool
        Whether "Back" and "Next" stand beside it.
    resample : str
        The name of a button that adds 1; empty for none.
    """

    kind: str
    label: str
    place: str = "settings"
    view: bool = False
    linked: bool = True
    options: Mapping[Any, str] | None = None
    steps: tuple[Any, ...] = ()
    places: tuple[float, ...] = ()
    text: Callable[[Any], str] = str
    marks: Mapping[Any, str] | None = None
    stepper: bool = False
    resample: str = ""


class Choice(param.Selector):
    """One of a few, as radio buttons; ``kind="list"`` for a list that opens. `options` maps a value to its text."""

    __slots__ = ["control"]

    def __init__(self, default: Any, options: Mapping[Any, str], *, label: str, kind: str = "radios", **more: Any):
        super().__init__(default=default, objects=list(options))
        self.control = Control(kind, label, options=options, **more)

    def read(self, text: str) -> tuple[Any, bool]:
        """Return the value a text stands for, and whether it was moved."""
        named = {str(option): option for option in self.objects}
        if text not in named:
            raise Unusable(f"it is one of {', '.join(named)}")
        return named[text], False


class Flag(param.Boolean):
    """On or off, as a switch."""

    __slots__ = ["control"]

    def __init__(self, default: bool, *, label: str, **more: Any):
        super().__init__(default=default)
        self.control = Control("switch", label, **more)

    def read(self, text: str) -> tuple[bool, bool]:
        """Return the value a text stands for, and whether it was moved."""
        if text not in ("on", "off"):
            raise Unusable("it is one of on, off")
        return text == "on", False


class Steps(param.Selector):
    """One of some numbers, as a slider with a field beside it; between them there is nothing."""

    __slots__ = ["control"]

    def __init__(self, default: Any, values: Sequence[Any], *, label: str, **more: Any):
        super().__init__(default=default, objects=list(values))
        self.control = Control("slider", label, steps=tuple(values), **more)

    def read(self, text: str) -> tuple[Any, bool]:
        """Return the value a text stands for, and whether it was moved."""
        number = _number(text, whole=all(isinstance(value, int) for value in self.objects))
        moved = _clamp(number, (min(self.objects), max(self.objects)))
        exact = next((value for value in self.objects if value == moved), None)
        if exact is None:
            raise Unusable(f"it is one of {', '.join(f'{value:g}' for value in self.objects)}")
        return exact, number != moved


class Whole(param.Integer):
    """A whole number within bounds, as a field, or with ``kind="slider"`` as a slider with a field beside it."""

    __slots__ = ["control"]

    def __init__(self, default: int | None, bounds: tuple[int, int], *, label: str, kind: str = "number", **more: Any):
        super().__init__(default=default, bounds=bounds, allow_None=default is None)
        self.control = Control(kind, label, **more)

    def read(self, text: str) -> tuple[int, bool]:
        """Return the value a text stands for, and whether it was moved."""
        number = _number(text, whole=True)
        moved = _clamp(number, self.bounds)
        return moved, number != moved


class Decimal(param.Number):
    """A number within bounds, as a slider over `steps` with a field beside it that takes any."""

    __slots__ = ["control"]

    def __init__(self, default: float, bounds: tuple[float, float], *, label: str, kind: str = "slider", **more: Any):
        super().__init__(default=default, bounds=bounds)
        self.control = Control(kind, label, **more)

    def read(self, text: str) -> tuple[float, bool]:
        """Return the value a text stands for, and whether it was moved."""
        number = _number(text, whole=False)
        moved = _clamp(number, self.bounds)
        return moved, number != moved


class Seed(Whole):
    """The seed of random draws, with a button that takes the next one."""

    def __init__(self, default: int, *, label: str = "Seed", resample: str = "Resample", **more: Any):
        super().__init__(default, (0, SEEDS - 1), label=label, resample=resample, **more)


class Cell(param.NumericTuple):
    """The selected cell, row and column from 1, as two lists; the drawing sets it too."""

    __slots__ = ["control", "sides"]

    def __init__(self, default: tuple[int, int], rows: Sequence[str], columns: Sequence[str], **more: Any):
        super().__init__(default=default, length=2)
        self.sides = (tuple(rows), tuple(columns))
        self.control = Control("cell", "Cell", view=True, **more)

    def read(self, text: str) -> tuple[tuple[int, ...], bool]:
        """Return the value a text stands for, and whether it was moved."""
        numbers = [_number(part, whole=True) for part in text.split(",")]
        if len(numbers) != 2:
            raise Unusable("it takes 2 numbers")
        moved = tuple(_clamp(number, (1, len(side))) for number, side in zip(numbers, self.sides, strict=True))
        return moved, tuple(numbers) != moved


class Numbers(param.List):
    """A few numbers, as a field of text."""

    __slots__ = ["control", "limits"]

    def __init__(
        self,
        default: Sequence[float],
        lengths: tuple[int, int],
        limits: tuple[float, float],
        *,
        label: str,
        **more: Any,
    ):
        super().__init__(default=list(default), item_type=(float, int), bounds=lengths)
        self.limits = limits
        self.control = Control("text", label, **more)

    def read(self, text: str) -> tuple[list[float], bool]:
        """Return the value a text stands for, and whether it was moved."""
        parts = text.split(",")
        fewest, most = self.bounds
        if not fewest <= len(parts) <= most:
            raise Unusable(f"it takes {fewest} to {most} numbers")
        numbers = [_number(part, whole=False, named=True) for part in parts]
        moved = [_clamp(number, self.limits) for number in numbers]
        return moved, moved != numbers


class LongRun(Choice):
    """So many draws, or none: buttons to run and to cancel, with progress."""

    __slots__: list[str] = []

    def __init__(self, default: int, most: int, **more: Any):
        super().__init__(default, {most: f"{most:,}", 0: "0"}, label=f"Run {most:,} draws", kind="run", **more)


HALVES = ("row", "column")  # of a cell: a control may set one alone, as `cell.row`
FOLDS = {"none": "", "numbers": "numbers", "settings": "Settings", "code": "Code"}


class FigureState(param.Parameterized):
    """Base of the figures' states: its parameters, in their order, are the controls and the keys of the address."""

    fold = Choice("none", FOLDS, label="Fold", kind="none", place="drawn", view=True)
    # By key, why what was typed last was not used as it is: for drawings that hold a control.
    notes: Mapping[str, str] = MappingProxyType({})

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of all parameters, in the order in which they are written; the fold comes last."""
        parts = (vars(part).items() for part in reversed(cls.__mro__))
        own = [name for part in parts for name, value in part if hasattr(value, "control")]
        return sorted(dict.fromkeys(own), key=lambda name: name == "fold")

    @classmethod
    def query_keys(cls) -> list[str]:
        """Return the keys of the address."""
        return [name for name in cls.names() if cls.param[name].control.linked]

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return the default of every parameter."""
        return {name: cls.param[name].default for name in cls.names()}

    @classmethod
    def fit(cls, values: dict[str, Any], changed: set[str]) -> dict[str, Any]:  # noqa: ARG003
        """Return a state in which what depends on each other agrees; `changed` names what was just set.

        What a link says, and what a control sets, passes through here, so that one text means one state.
        """
        return values

    def set(self, **values: Any) -> None:
        """Set some values, and what depends on them, in one change."""
        current = {name: getattr(self, name) for name in self.names()}
        self.param.update(**self.fit({**current, **values}, set(values)))

    def query(self) -> dict[str, str]:
        """Return the values that differ from their default, as texts."""
        pairs = ((key, getattr(self, key)) for key in self.query_keys())
        return {key: to_text(value) for key, value in pairs if value != self.param[key].default}

    def load_query(self, pairs: Iterable[tuple[str, str]]) -> str:
        """Set the state from a link; keys that are missing take their default.

        Parameters
        ----------
        pairs : iterable of (str, str)
            Keys without the figure's name, and texts, in the order of the address. Unknown keys are left alone.

        Returns
        -------
        str
            One notice that names what was ignored or moved, or an empty text.
        """
        texts: dict[str, list[str]] = {}
        for key, text in pairs:
            texts.setdefault(key, []).append(text)
        values, notes, given = self.defaults(), [], set()
        for key in (key for key in self.query_keys() if key in texts):
            text = texts[key][0]
            try:
                if len(texts[key]) > 1:
                    raise Unusable("given more than once")
                values[key], moved = self.read(key, text, values)
                given.add(key)
                if moved:
                    notes.append(f"{key}={_shorten(text)} was moved to {to_text(values[key])}")
            except Unusable as reason:
                notes.append(f"{key}={_shorten(text)} was ignored ({reason})")
        self.param.update(**self.fit(values, given))
        return "; ".join(notes) + "." if notes else ""

    def take(self, pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
        """Set some values from the page's controls; the others stay.

        Returns
        -------
        dict of str to str
            For each key whose text was not used as it is, a sentence that says why.
        """
        values = {name: getattr(self, name) for name in self.names()}
        notes, given = {}, set()
        for whole, given_text in pairs:
            key, _, half = whole.partition(".")
            if key not in values:
                continue
            text = given_text
            if half in HALVES and isinstance(values[key], tuple):
                text = ",".join(
                    given_text if name == half else str(v) for name, v in zip(HALVES, values[key], strict=True)
                )
            label = self.param[key].control.label
            try:
                values[key], moved = self.read(key, _unpadded(text), values)
                given.add(key)
                if moved:
                    notes[key] = f"{label} was moved to {to_text(values[key])}: {_shorten(text)} is out of its bounds."
            except Unusable as reason:
                notes[key] = f"{label} keeps {to_text(values[key])}: {reason}."
        self.param.update(**self.fit(values, given))
        return notes

    def read(self, key: str, text: str, _before: dict[str, Any]) -> tuple[Any, bool]:
        """Return the value a text stands for, and whether it was moved into its bounds."""
        return self.param[key].read(text)


def to_text(value: Any) -> str:
    """Return a value as it stands in an address; a number that is read again is the same."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple | list):
        return ",".join(to_text(item) for item in value)
    if isinstance(value, float):
        return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)


def _number(text: str, *, whole: bool, named: bool = False) -> Any:
    if not (_WHOLE if whole else _DECIMAL).fullmatch(text):
        subject = f"“{_shorten(text)}” is " if named else ""
        raise Unusable(f"{subject}not a {'whole ' if whole else ''}number")
    return int(text) if whole else float(text)


def _clamp(number: Any, bounds: tuple[Any, Any]) -> Any:
    low, high = bounds
    return type(number)(min(max(number, low), high)) if math.isfinite(number) else (high if number > 0 else low)


def _unpadded(text: str) -> str:
    """Return a text as it would stand in an address: who types may put spaces around a number."""
    return ",".join(part.strip(" ") for part in text.split(","))


def _shorten(text: str) -> str:
    printable = "".join(c if c.isprintable() else "?" for c in text)
    return printable if len(printable) <= _SHOWN else printable[: _SHOWN - 1] + "…"
