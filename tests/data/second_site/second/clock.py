"""Ticks by itself; the reader stops it, starts it again, or breaks it."""

from __future__ import annotations

import panel as pn
from bokeh.io import curdoc

from second.readout import readout

HOUR = 3_600_000  # milliseconds


def app() -> pn.Column:
    """Return the app."""
    shown = {name: pn.pane.HTML(readout(name, 0)) for name in ("ticks", "beats")}
    counted = {"ticks": 0, "beats": 0}
    runs = pn.widgets.Checkbox(name="Runs", value=True)
    state = pn.pane.HTML(readout("runs", True))
    broken = pn.widgets.Button(name="Break")

    def count(name: str) -> None:
        counted[name] += 1
        shown[name].object = readout(name, counted[name])

    def tick() -> None:
        if broken.name == "Mend":
            raise RuntimeError("the spring broke")
        count("ticks")

    def change(_: object) -> None:
        broken.name = "Mend" if broken.name == "Break" else "Break"

    def run(_: object) -> None:
        clock.running = runs.value
        state.object = readout("runs", runs.value)

    # An end that is far away, but not from the time at which the bake's clock stands still.
    clock = pn.state.add_periodic_callback(tick, period=40, timeout=HOUR)
    # Bokeh's own way, which nothing here stops.
    curdoc().add_periodic_callback(lambda: count("beats"), 40)
    runs.param.watch(run, "value")
    broken.on_click(change)
    return pn.Column(runs, broken, state, *shown.values())
