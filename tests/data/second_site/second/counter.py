"""Counts presses, runs a callback when it is loaded, and prints."""

from __future__ import annotations

import panel as pn

from second.readout import readout


def app() -> pn.Column:
    """Return the app."""
    presses = pn.pane.HTML(readout("presses", 0))
    loads = pn.pane.HTML(readout("loads", 0))
    button = pn.widgets.Button(name="Count")
    counted = {"presses": 0, "loads": 0}

    def count(_: object) -> None:
        counted["presses"] += 1
        print("counted", counted["presses"])  # noqa: T201
        presses.object = readout("presses", counted["presses"])

    def loaded() -> None:
        counted["loads"] += 1
        loads.object = readout("loads", counted["loads"])

    button.on_click(count)
    pn.state.onload(loaded)
    return pn.Column(button, presses, loads)
