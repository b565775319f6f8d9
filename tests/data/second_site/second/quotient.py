"""Divides by what the reader chooses, without looking, and writes the result as Markdown."""

from __future__ import annotations

import panel as pn

from second.readout import readout


def text(divisor: int) -> str:
    """Return twelve divided by a number, as Markdown."""
    return f"**12** divided by *{divisor}*:\n\n- {readout('quotient', 12 / divisor)}"


def app() -> pn.Column:
    """Return the app."""
    choice = pn.widgets.Select(name="Divide by", options=[1, 2, 0])
    result = pn.pane.Markdown(text(1))

    def divide(_: object) -> None:
        result.object = text(choice.value)

    choice.param.watch(divide, "value")
    return pn.Column(choice, result)
