"""A stepper: a slider over the steps of something, with "Back" and "Next" as named buttons."""

from __future__ import annotations

import panel as pn
import param

from figures.shared.controls import button, slider
from figures.shared.styles import CHIP, CONTROL

# The buttons stand beside the slider, or below it where there is no room.
WRAP = """
:host { display: flex !important; flex-flow: row wrap !important; gap: 8px; }
div { align-self: flex-end !important; }
"""


class Stepper:
    """Walks a whole number from the first of its bounds to the last, one by one or by the slider.

    Parameters
    ----------
    parameter : param.Integer
        Which step is shown.
    name : str
        The accessible name of the slider.

    Attributes
    ----------
    view : panel.Row
        What stands in the card.
    """

    def __init__(self, parameter: param.Integer, name: str) -> None:
        self._owner, self._key = parameter.owner, parameter.name
        self._first, self._last = parameter.bounds
        scale = slider(parameter, name, text=self._said)
        self._slider, self._field = scale
        self.view = pn.Row(
            scale,
            pn.Row(
                button("Back", lambda: self._move(-1), stylesheets=[CONTROL, CHIP]),
                button("Next", lambda: self._move(1), stylesheets=[CONTROL, CHIP]),
                stylesheets=[WRAP],
                margin=0,
            ),
            stylesheets=[WRAP],
            margin=0,
        )

    def end_at(self, last: int) -> None:
        """Let the steps end earlier than the parameter's bounds do."""
        self._last = last
        self._field.high = last
        self._slider.end = last - self._first

    def _move(self, by: int) -> None:
        step = getattr(self._owner, self._key) + by
        setattr(self._owner, self._key, min(max(step, self._first), self._last))

    def _said(self, step: int) -> str:
        return f"{step} of {self._last}"
