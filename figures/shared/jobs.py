"""Long work in slices, so that other figures are answered and a newer input is never waited for.

A figure has one job. Its work is an iterator: each step does a little (a few milliseconds). Where there is a
document, slices of some steps run as callbacks of the document, and the event loop gets a turn in between; no
threads and no interruption are needed. Work that begins while a figure is built waits until the figure is on show,
so that a figure is there before its work is done; who keeps the figure asks for the rest with `finish`. Without a
document (in a test) nobody waits, and the work is done at once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import panel as pn

SLICE = 0.020  # seconds of work between two turns of the event loop
PAUSE = 0.100  # seconds between two showings of what was found: drawing takes its time, too


class Job:
    """At most one piece of long work, which newer work supersedes.

    Parameters
    ----------
    show : callable
        Brings what the work has found so far to the reader: now and then, and when the work ends. Not
        after the first slice, since a job is started by a change of state, which is followed by a drawing
        anyway; and never for work that was cancelled or superseded.
    slice, pause : float
        Seconds of work in a slice, and between two showings. With 0 a slice is one step of the work, and
        all of them are shown.
    clock : callable
        Returns the time in seconds.
    """

    def __init__(
        self,
        show: Callable[[], object],
        *,
        slice: float = SLICE,
        pause: float = PAUSE,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._show = show
        self._slice = slice
        self._pause = pause
        self._next_showing = 0.0
        self._clock = clock
        self._work: Iterator[object] | None = None
        self._withdraw: Callable[[], object] = _nothing
        self._quiet = False

    @property
    def running(self) -> bool:
        """Whether there is work left to do."""
        return self._work is not None

    def start(self, work: Iterator[object]) -> None:
        """Begin new work and give up the old. Without a document it is done when this returns."""
        self.cancel()
        self._work = work
        document = pn.state.curdoc
        if document is None:
            self._advance(work)
            return
        # Work of a figure that is just being built is shown when it ends: the page has its end already, from the bake.
        self._quiet = not document.roots
        # On the next tick, ahead of the drawing that the change of state asks for: it has something to show.
        callback = document.add_next_tick_callback(lambda: self._turn(work, document, first=True))
        self._withdraw = lambda: document.remove_next_tick_callback(callback)

    def finish(self) -> None:
        """Do all that is left at once, without showing it."""
        if self._work is not None:
            self._withdraw()
            self._withdraw = _nothing
            self._advance(self._work)

    def cancel(self) -> None:
        """Give up the work; nothing of it is shown from now on."""
        self._work = None
        self._withdraw()
        self._withdraw = _nothing

    def _turn(self, work: Iterator[object], document: Any, *, first: bool = False) -> None:
        if self._work is not work:
            return
        self._withdraw = _nothing
        self._advance(work, self._clock() + self._slice)
        if self.running:
            # A timer, not a next tick: messages that have arrived meanwhile go first.
            callback = document.add_timeout_callback(lambda: self._turn(work, document), 0)
            self._withdraw = lambda: document.remove_timeout_callback(callback)
        if not self.running or (not first and not self._quiet and self._clock() >= self._next_showing):
            self._show()
        if first or self._clock() >= self._next_showing:
            self._next_showing = self._clock() + self._pause

    def _advance(self, work: Iterator[object], deadline: float = math.inf) -> None:
        self._work = None  # also where a step fails
        for _ in work:
            if self._clock() >= deadline:
                self._work = work
                return


def _nothing() -> None:
    """Withdraw nothing."""
