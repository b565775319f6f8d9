"""A field for a list of numbers, written as text. What cannot be used changes nothing but the notice below it."""

from __future__ import annotations

from html import escape

import panel as pn
import param

from figures.shared.card import html
from figures.shared.state import FigureState, Unusable, to_text
from figures.shared.styles import CONTROL, FIELD

WIDE_FIELD = """
:host { width: 100%; }
input.bk-input { width: 100%; }
"""
STACK = """
:host { display: flex; flex-direction: column; gap: 4px; width: 100%; }
"""


class TextField(pn.widgets.TextInput):
    """A field for a line of text."""

    html_attributes = param.Dict(default={})


class Entry:
    """A text field for one list of a state, read as the query string is.

    Attributes
    ----------
    view : panel.Column
        The field, and the notice that says why a text was not used.
    """

    def __init__(self, state: FigureState, key: str, name: str) -> None:
        self._state, self._key, self._name = state, key, name
        self._moved: list[float] | None = None
        self._showing = False
        self._field = TextField(stylesheets=[CONTROL, FIELD, WIDE_FIELD], margin=0, sizing_mode="stretch_width")
        self._notice = html("")
        self._notice.html_attributes = {"role": "alert"}
        self.view = pn.Column(self._field, self._notice, stylesheets=[STACK], margin=0)
        self.show()
        self._field.param.watch(self._take, "value")

    def show(self) -> None:
        """Show the state's list. A notice goes, unless it says how this very list came about."""
        numbers = getattr(self._state, self._key)
        self._showing = True
        self._field.value = to_text(numbers)
        self._showing = False
        if numbers != self._moved:
            self._say("")

    def _take(self, event: param.parameterized.Event) -> None:
        if self._showing:
            return
        self._moved = None
        try:
            # Who types may put spaces between the numbers; an address has none.
            typed = ",".join(part.strip(" ") for part in event.new.split(","))
            numbers, moved = self._state.read(self._key, typed, {})
        except Unusable as reason:
            self._say(f"{self._name} keeps its numbers: {reason}.", invalid=True)
            return
        self._moved = numbers if moved else None
        self._say(f"{moved}." if moved else "")
        setattr(self._state, self._key, numbers)

    def _say(self, notice: str, *, invalid: bool = False) -> None:
        self._notice.object = f'<p class="line notice">{escape(notice)}</p>' if notice else ""
        self._field.html_attributes = {
            "data-label": self._name,
            "data-aria-label": self._name,
            "data-aria-invalid": "true" if invalid else "false",
        }
