"""Divides by what the reader chooses, without looking."""

from __future__ import annotations

import panel as pn

from second.readout import readout


def app() -> pn.Column:
    """Return the app."""
    choice = pn.widgets.Select(name="Divide by", options=[1, 2, 0])
    result = pn.pane.HTML(readout("quotient", 12.0))

    def divide(_: object) -> None:
        result.object = readout("quotient", 12 / choice.value)

    choice.param.watch(divide, "value")
    return pn.Column(choice, result)
