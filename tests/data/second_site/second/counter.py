"""Counts presses, runs a callback when it is loaded, prints, and imports something late."""

from __future__ import annotations

import panel as pn

from second.readout import readout


def app() -> pn.Column:
    """Return the app."""
    presses = pn.pane.HTML(readout("presses", 0))
    loads = pn.pane.HTML(readout("loads", 0))
    words = pn.pane.HTML(readout("words", ""))
    button = pn.widgets.Button(name="Count")
    spell = pn.widgets.Button(name="Spell")
    counted = {"presses": 0, "loads": 0}

    def count(_: object) -> None:
        counted["presses"] += 1
        print("counted", counted["presses"])  # noqa: T201
        presses.object = readout("presses", counted["presses"])

    def say(_: object) -> None:
        from second.words import spelled

        words.object = readout("words", spelled(counted["presses"]))

    def loaded() -> None:
        counted["loads"] += 1
        loads.object = readout("loads", counted["loads"])

    button.on_click(count)
    spell.on_click(say)
    pn.state.onload(loaded)
    return pn.Column(button, presses, loads, spell, words)
