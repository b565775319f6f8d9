"""Visits to a page: a browser, a profile on disk, and what the page's probe has noted."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import re
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, CDPSession, Error, Page, Playwright, TimeoutError

from benchmark.line import Host
from panel_freeze.bake import BROWSER_ARGUMENTS

PROBE = Path(__file__).with_name("probe.js").read_text(encoding="utf-8")
PATIENCE = 60_000  # milliseconds until a page must have answered
LATE = f"over {PATIENCE // 1000} s"
PAUSE = 100  # milliseconds without a patch, after which a figure has drawn what a change brought
WORKS = 0.005  # seconds for which a slowed browser works at a time
LOOK_AGAIN = 10  # turns of work and rest, after which new processes are looked for
CALM = 1.5  # seconds without a request, after which a page has all it wants

# Of the page's own thread: seconds of all its tasks and of three kinds, and how often it laid out and styled anew.
METRICS = (
    *("TaskDuration", "ScriptDuration", "LayoutDuration", "RecalcStyleDuration"),
    *("LayoutCount", "RecalcStyleCount"),
)

#: A control by its label, and a readout that follows it; by figure.
Control = Mapping[str, str]


@dataclass(frozen=True)
class Visited:
    """What one visit took."""

    seconds: Mapping[str, float]  # since the page was asked for, by mark
    until_live: int  # bytes that were asked for until all figures were live
    all: int  # bytes, with what the page fetches in the background
    requests: int
    shift: float  # of the layout
    work: float  # seconds of all processors until every figure has answered
    live_work: float = math.nan  # seconds of all processors until all figures are live
    thread: Mapping[str, float] = field(default_factory=dict)  # `METRICS` of the page's thread until then
    census: Mapping[str, int] = field(default_factory=dict)  # nodes, style elements, style sheets
    missing: str = ""  # what to say of marks that were not reached


@contextmanager
def profile() -> Iterator[Path]:
    """Yield a folder for a browser's profile, new and gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@contextmanager
def browser(playwright: Playwright, folder: Path, *, draws_all: bool = True) -> Iterator[BrowserContext]:
    """Start a browser with the profile in a folder; pages draw all figures, or those near the screen."""
    context = playwright.chromium.launch_persistent_context(
        str(folder),
        executable_path=os.environ.get("CHROMIUM_PATH") or None,
        args=BROWSER_ARGUMENTS,
        viewport={"width": 1280, "height": 900},
    )
    context.set_default_timeout(PATIENCE)
    context.add_init_script(f"window.drawsAll = {json.dumps(draws_all)};\n{PROBE}")
    try:
        yield context
    finally:
        context.close()


def opened(page: Page, address: str, controls: Sequence[Control], at_live: Callable[[], object] = lambda: None) -> str:
    """Open a page, and wait until every figure has answered a change; return what kept them from it, if anything.

    `at_live` is called when all are live, while the first changes are made.
    """
    try:
        page.goto(address, wait_until="commit")
        begin = "given => { probe.run = probe.answers(...given); probe.run.catch(() => {}); }"
        page.evaluate(begin, [list(controls), PATIENCE])
        page.evaluate("() => Promise.race([probe.live, probe.run])")
        at_live()
        marks = page.evaluate("() => probe.run")
    except TimeoutError:
        marks = {}
    except Error as error:
        return f"failed ({error.message.splitlines()[0]})"
    return "" if "answered" in marks else LATE


def visit(
    playwright: Playwright,
    folder: Path,
    host: Host,
    address: str,
    controls: Sequence[Control],
    *,
    draws_all: bool = True,
) -> Visited:
    """Visit a page, and leave it when it has loaded all it wants, or has not answered in time."""
    host.log.clear()
    live: dict[str, Any] = {}
    with browser(playwright, folder, draws_all=draws_all) as context:
        page = context.pages[0]
        session = context.new_cdp_session(page)
        session.send("Performance.enable")
        before = _work(folder)

        def at_live() -> None:
            live.update(live_work=_work(folder) - before, thread=_metrics(session))

        missing = opened(page, address, controls, at_live)
        work = _work(folder) - before
        wait_until_calm(host)
        noted = _noted(page)
    seconds = {name: value / 1000 for name, value in noted["marks"].items()}
    sent = host.sent(noted["origin"] / 1000 + seconds.get("live", math.inf)), host.sent(), len(host.log)
    reached = {**live, "census": noted["census"]} if "live" in seconds else {}
    return Visited(seconds, *sent, noted["shift"], work, missing=missing, **reached)


def _metrics(session: CDPSession) -> dict[str, float]:
    found = {metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]}
    return {name: found[name] for name in METRICS}


def _noted(page: Page) -> Mapping[str, Any]:
    """Return what the page's probe has noted so far; nothing if the page has not even come."""
    if page.url == "about:blank":
        return {"marks": {}, "shift": 0.0, "origin": 0.0, "census": {}}
    noted: Mapping[str, Any] = page.evaluate(
        "() => ({ marks: probe.marks, shift: probe.shift, origin: performance.timeOrigin, census: probe.census() })"
    )
    return noted


def wait_until_calm(host: Host) -> None:
    """Return when nothing has been asked for a while."""
    before = -1
    while before != len(host.log):
        before = len(host.log)
        time.sleep(CALM)


def latencies(page: Page, control: Control, times: int) -> list[dict[str, Any]]:
    """Return milliseconds until the readout has changed and until the figure is repainted, for each change."""
    script = "([control, times, pause]) => probe.latency(control, times, pause)"
    found: list[dict[str, Any]] = page.evaluate(script, [dict(control), times, PAUSE])
    return found


def memory(page: Page, folder: Path) -> dict[str, float]:
    """Return megabytes in use after tidying up: the page's JavaScript, and all that its processes hold."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    used = session.send("Runtime.getHeapUsage")["usedSize"]
    session.detach()
    return {"heap": used / 1e6, "processes": _renderers(folder) / 1e6}


def family(folder: Path) -> dict[int, str]:
    """Return the browser's processes, those that name its profile and all below them, with their command lines."""
    lines: dict[int, str] = {}
    parents: dict[int, int] = {}
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            lines[int(place.name)] = (place / "cmdline").read_text(errors="replace").replace("\0", " ")
            parents[int(place.name)] = int((place / "stat").read_text().rpartition(")")[2].split()[1])
    members = {number for number, line in lines.items() if str(folder) in line}
    for _ in range(len(parents)):
        grown = members | {number for number, parent in parents.items() if parent in members}
        if grown == members:
            break
        members = grown
    return {number: lines.get(number, "") for number in members}


def _work(folder: Path) -> float:
    """Return the processor time, in seconds, that the browser's processes have taken so far; 0 where Linux is not."""
    ticks = 0
    for number in family(folder):
        with contextlib.suppress(OSError):
            # After the name in brackets, in clock ticks: time in the program and, for it, in the system.
            fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _renderers(folder: Path) -> int:
    """Return the bytes held by the processes that draw pages, each shared page in parts; 0 where Linux is not."""
    if not Path("/proc/self/smaps_rollup").exists():
        return 0
    total = 0
    for number, line in family(folder).items():
        if "--type=renderer" in line:
            rollup = Path(f"/proc/{number}/smaps_rollup").read_text()
            total += 1024 * int(re.search(r"^Pss:\s+(\d+)", rollup, re.MULTILINE)[1])  # type: ignore[index]
    return total


@contextmanager
def slowed(folder: Path, times: int) -> Iterator[None]:
    """Let the browser with a profile work only so many times more slowly: all its processes rest most of the time.

    Unlike the throttling of a browser's developer tools, this meets workers too.
    """
    over = threading.Event()

    def turns() -> None:
        members: dict[int, str] = {}
        for turn in itertools.count():
            if turn % LOOK_AGAIN == 0:
                members = family(folder)
            _send(members, signal.SIGCONT)
            if over.wait(WORKS):
                return
            _send(members, signal.SIGSTOP)
            over.wait(WORKS * (times - 1))

    thread = threading.Thread(target=turns)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        _send(family(folder), signal.SIGCONT)


def _send(members: Mapping[int, str], what: signal.Signals) -> None:
    for number in members:
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, what)
