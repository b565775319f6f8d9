#!/usr/bin/env python3
"""Measure the built site, and the same figures through `panel convert`, in one run.

Each number is the median of some visits in a real browser, each with a new profile on disk. The host is on this
machine; for the slow line there is a relay before it, which also slows what workers fetch, as the throttling of
a browser's developer tools does not. For the slow processor the browser's processes rest three quarters of the
time; there too the developer tools would not reach the worker that Python runs in. Nothing is judged here: what
must hold is tested elsewhere.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmark import neighbour
from benchmark.line import Host, hosting
from benchmark.visit import (
    PATIENCE,
    Control,
    Visited,
    browser,
    latencies,
    memory,
    opened,
    profile,
    slowed,
    visit,
    wait_until_calm,
)
from playwright.sync_api import Error, Page, Playwright, sync_playwright

from panel_freeze.__main__ import build
from panel_freeze.project import load_project

ROOT = Path(__file__).resolve().parents[1]
CONFIGURATION = ROOT / "site" / "site.toml"

# For each figure a control that changes much of it, and a readout that follows.
CONTROLS: Mapping[str, Control] = {
    "asymmetry": {"control": "Mode", "readout": "weight_error"},
    "scaling": {"control": "d_k", "readout": "score_sd"},
    "masking": {"control": "Mask", "readout": "leak_by_row"},
    "dropout": {"control": "p", "readout": "factor"},
    "heads": {"control": "Preset", "readout": "head_dim"},
    "cost": {"control": "Context length", "readout": "score_bytes"},
}
SLOWER = 4  # how many times the slow processor is slower
OTHER = "the other site"
EVENTS = (100, 500)  # changes of controls, after which memory is looked at


@dataclass(frozen=True)
class Target:
    """One way to have the figures, as it is served."""

    name: str
    host: Host
    near: str
    far: str


def say(text: str) -> None:
    """Tell what is being done; the tables go elsewhere."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def tell(*lines: str) -> None:
    """Write a part of the result."""
    sys.stdout.write("\n".join(lines) + "\n\n")
    sys.stdout.flush()


@contextmanager
def targets(site: Path, figures: Sequence[str], *, compare: bool, against: Path | None) -> Iterator[list[Target]]:
    """Serve the site, with and without its saved memory, the converted figures, and another site."""
    with ExitStack() as stack:
        host = Host(site, r"/assets/")
        near, far = stack.enter_context(hosting(host))
        found = [
            Target("this site", host, f"{near}/", f"{far}/"),
            Target("without the saved memory", host, f"{near}/?boot=cold", f"{far}/?boot=cold"),
        ]
        if compare:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
            differences = neighbour.converted(figures, ROOT, folder, say)
            say(f"Different in the converted page: {'; '.join(differences)}.")
            other = Host(folder, neighbour.LASTING)
            near, far = (f"{address}/{neighbour.PAGE}" for address in stack.enter_context(hosting(other)))
            found.append(Target("panel convert", other, near, far))
        if against:
            other = Host(against, r"/assets/")
            near, far = stack.enter_context(hosting(other))
            # Beside this site, so that what else the machine does meets both alike.
            found.insert(1, Target(OTHER, other, f"{near}/", f"{far}/"))
        yield found


# Visits


def visits(
    playwright: Playwright, found: Sequence[Target], controls: Sequence[Control], repeats: int, *, slow: bool
) -> Iterator[tuple[Target, str, Visited]]:
    """Visit every target in turn, so that what else the machine does meets all alike; yield each visit."""
    for target in found:  # so that no file is read or compressed for the first time
        with profile() as folder:
            visit(playwright, folder, target.host, target.near, controls)
    for _ in range(repeats):
        for target in found:
            with profile() as folder:
                for kind in ("first", "second"):
                    yield target, kind, visit(playwright, folder, target.host, target.near, controls)
            with profile() as folder:
                with slowed(folder, SLOWER):
                    visited = visit(playwright, folder, target.host, target.near, controls)
                yield target, "weak", visited
            with profile() as folder:
                yield target, "read", visit(playwright, folder, target.host, target.near, (), draws_all=False)
            if slow:
                with profile() as folder:
                    yield target, "slow", visit(playwright, folder, target.host, target.far, controls)


def visits_told(
    made: Iterable[tuple[Target, str, Visited]], names: Sequence[str]
) -> dict[str, dict[str, list[Visited]]]:
    """Tell of each visit as it is made and, when all are made or something stops them, the table."""
    seen: dict[str, dict[str, list[Visited]]] = {name: {} for name in names}
    try:
        for target, kind, visited in made:
            seen[target.name].setdefault(kind, []).append(visited)
            marks = [f"{mark} {visited.seconds[mark]:.2f} s" for mark in MARKS if mark in visited.seconds]
            told = ", ".join([*marks, *filter(None, [visited.missing])])
            say(f"{target.name}, {kind}: {told} (load {os.getloadavg()[0]:.1f})")
    finally:
        tell(*visits_table(seen))
    return seen


Kinds = Mapping[str, Sequence[Visited]]

MARKS = ("picture", "painted", "near", "live", "answered")
MEASURES: Mapping[str, Callable[[Kinds], str]] = {
    "first picture": lambda kinds: _seconds(kinds, "first", "picture"),
    "all painted": lambda kinds: _seconds(kinds, "first", "painted"),
    "all live": lambda kinds: _seconds(kinds, "first", "live"),
    "all have answered a change": lambda kinds: _seconds(kinds, "first", "answered"),
    "as read: the nearest figure is live": lambda kinds: _seconds(kinds, "read", "near"),
    "second visit: all live": lambda kinds: _seconds(kinds, "second", "live"),
    "second visit: all have answered": lambda kinds: _seconds(kinds, "second", "answered"),
    f"{SLOWER} times slower processor: all live": lambda kinds: _seconds(kinds, "weak", "live"),
    f"{SLOWER} times slower processor: all have answered": lambda kinds: _seconds(kinds, "weak", "answered"),
    "20 Mbit/s, 40 ms: all live": lambda kinds: _seconds(kinds, "slow", "live"),
    "20 Mbit/s, 40 ms: all have answered": lambda kinds: _seconds(kinds, "slow", "answered"),
    "page's thread until all are live": lambda kinds: _thread(kinds, "first"),
    "page's thread until those near are": lambda kinds: _thread(kinds, "read"),
    "layouts and stylings until all are live": lambda kinds: (
        f"{_middle(kinds, 'first', _metric('LayoutCount'), '{:.0f}')} · "
        f"{_middle(kinds, 'first', _metric('RecalcStyleCount'), '{:.0f}')}"
    ),
    "nodes": lambda kinds: _middle(kinds, "first", _census("nodes"), "{:,.0f}"),
    "style elements": lambda kinds: _middle(kinds, "first", _census("styles"), "{:,.0f}"),
    "style sheets": lambda kinds: _middle(kinds, "first", _census("sheets"), "{:,.0f}"),
    "processor time until all are live": lambda kinds: _middle(kinds, "first", lambda v: v.live_work, "{:.1f} s"),
    "processor time until all have answered": lambda kinds: _middle(kinds, "first", lambda v: v.work, "{:.1f} s"),
    "sent until live": lambda kinds: _middle(kinds, "first", lambda v: v.until_live, _bytes),
    "sent in all": lambda kinds: _middle(kinds, "first", lambda v: v.all, _bytes),
    "sent at the second visit": lambda kinds: _middle(kinds, "second", lambda v: v.all, _bytes),
    "requests": lambda kinds: _middle(kinds, "first", lambda v: v.requests, "{:.0f}"),
    "layout shift": lambda kinds: _middle(kinds, "first", lambda v: v.shift, "{:.3f}"),
}


def _metric(name: str) -> Callable[[Visited], float]:
    return lambda visited: visited.thread.get(name, math.nan)


def _census(name: str) -> Callable[[Visited], float]:
    return lambda visited: visited.census.get(name, math.nan)


def _thread(kinds: Kinds, kind: str) -> str:
    """Return a cell: seconds of all tasks of the page's thread, and of three kinds of them."""
    names = ("TaskDuration", "ScriptDuration", "RecalcStyleDuration", "LayoutDuration")
    cells = [_middle(kinds, kind, _metric(name), "{:.2f}") for name in names]
    return "{} s (scripts {}, styles {}, layout {})".format(*cells) if "–" not in cells else "–"


# What is to become less, and where to read it.
GOALS: Mapping[str, tuple[str, Callable[[Visited], float]]] = {
    "nodes": ("first", _census("nodes")),
    "style sheets": ("first", _census("sheets")),
    "page's thread until all are live": ("first", _metric("TaskDuration")),
    "page's thread until those near are": ("read", _metric("TaskDuration")),
    "processor time until all are live": ("first", lambda visited: visited.live_work),
    f"all live on {os.cpu_count()} processors": ("first", lambda visited: visited.seconds.get("live", math.inf)),
    f"all live on a {SLOWER} times slower processor": (
        "weak",
        lambda visited: visited.seconds.get("live", math.inf),
    ),
    "as read: the nearest figure is live": ("read", lambda visited: visited.seconds.get("near", math.inf)),
}


def goals_table(seen: Mapping[str, Kinds]) -> Iterator[str]:
    """Yield the lines of the table of goals: this site as a share of the other."""
    yield f"| goal | this site | {OTHER} | ratio |"
    yield "|---|---|---|---|"
    for goal, (kind, read) in GOALS.items():
        ours, theirs = (_finite_median(map(read, seen[name].get(kind, ()))) for name in ("this site", OTHER))
        known = math.isfinite(ours) and math.isfinite(theirs) and theirs
        cells = [f"{value:,.6g}" if math.isfinite(value) else "–" for value in (ours, theirs)]
        yield f"| {goal} | {' | '.join(cells)} | {f'{ours / theirs:.2f}' if known else '–'} |"


def _finite_median(values: Iterable[float]) -> float:
    return statistics.median([value for value in values if not math.isnan(value)] or [math.inf])


def visits_table(seen: Mapping[str, Kinds]) -> Iterator[str]:
    """Yield the lines of the table of visits: medians, with the smallest and the largest."""
    yield f"| | {' | '.join(seen)} |"
    yield "|---" * (len(seen) + 1) + "|"
    for name, read in MEASURES.items():
        yield f"| {name} | {' | '.join(map(read, seen.values()))} |"


def ratio(seen: Mapping[str, Kinds]) -> str:
    """Return in one sentence how much sooner this site is than the converted page."""
    ours, theirs = seen["this site"], seen["panel convert"]

    def sooner(kind: str, mark: str) -> str:
        one, other = (_median(kinds.get(kind, ()), mark) for kinds in (ours, theirs))
        if math.isinf(one):
            return "not told"
        return f"{'over ' if math.isinf(other) else ''}{min(other, PATIENCE / 1000) / one:.1f} times sooner"

    return (
        f"All live {sooner('first', 'live')}, {sooner('second', 'live')} at the second visit; "
        f"all have answered {sooner('first', 'answered')} and {sooner('second', 'answered')}."
    )


def _median(given: Sequence[Visited], mark: str) -> float:
    """Return the median of some seconds; a mark that was not reached comes after all others."""
    return statistics.median([visited.seconds.get(mark, math.inf) for visited in given] or [math.inf])


def _seconds(kinds: Kinds, kind: str, mark: str) -> str:
    """Return a cell: the median, with the smallest and the largest, or what is said of a mark that was not reached."""
    given = kinds.get(kind, ())
    found = [visited.seconds.get(mark, math.inf) for visited in given]
    missing = next((visited.missing for visited in given if mark not in visited.seconds), "") or "–"
    if not found or math.isinf(min(found)):
        return missing
    middle = _median(given, mark)
    largest = missing if math.isinf(max(found)) else f"{max(found):.2f}"
    return f"{missing if math.isinf(middle) else f'{middle:.2f} s'} ({min(found):.2f}–{largest})"


def _middle(kinds: Kinds, kind: str, read: Callable[[Visited], float], write: str | Callable[[float], str]) -> str:
    """Return a cell: the median of a quantity."""
    found = [value for value in map(read, kinds.get(kind, ())) if not math.isnan(value)]
    if not found:
        return "–"
    middle = statistics.median(found)
    return write.format(middle) if isinstance(write, str) else write(middle)


def _bytes(size: float) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"


# Changes


def changes_table(
    playwright: Playwright, found: Sequence[Target], controls: Mapping[str, Control], times: int
) -> Iterator[str]:
    """Yield the lines of the table of latencies: milliseconds, p50 and p95."""
    measured: dict[str, dict[str, str]] = {name: {} for name in controls}
    for target in found:
        with profile() as folder, browser(playwright, folder) as context:
            page = context.pages[0]
            trouble = opened(page, target.near, list(controls.values()))
            wait_until_calm(target.host)
            for name, control in controls.items():
                say(f"{target.name}: changing {control['control']} of {name} …")
                measured[name][target.name] = f"{trouble} | –" if trouble else changes_cells(page, control, times)
    names = [target.name for target in found]
    yield "| change → | " + " | ".join(f"{name}: readout | repainted" for name in names) + " |"
    yield "|---" * (2 * len(names) + 1) + "|"
    for figure, cells in measured.items():
        yield f"| {figure}, {controls[figure]['control']} | {' | '.join(cells[name] for name in names)} |"


def changes_cells(page: Page, control: Control, times: int) -> str:
    """Return the two cells of one control: latencies of the readout and of the repainted figure."""
    try:
        samples = latencies(page, control, times)
    except Error as error:
        say(error.message.splitlines()[0])
        return "no answer | –"
    return " | ".join(_quantiles([sample[what] for sample in samples]) for what in ("readout", "repainted"))


def _quantiles(values: Sequence[float]) -> str:
    twentieths = statistics.quantiles(values, n=20, method="inclusive")
    return f"{twentieths[9]:.0f} · {twentieths[18]:.0f}"


def memory_lines(playwright: Playwright, found: Sequence[Target], controls: Sequence[Control]) -> Iterator[str]:
    """Yield, for each target, a line on the memory after many changes."""
    for target in found:
        with profile() as folder, browser(playwright, folder) as context:
            page = context.pages[0]
            trouble = opened(page, target.near, controls)
            wait_until_calm(target.host)
            parts = []
            done = 0
            for events in EVENTS if not trouble else ():
                say(f"{target.name}: {events} changes …")
                page.evaluate("([all, times]) => probe.changes(all, times)", [list(controls), events - done])
                done = events
                held = memory(page, folder)
                parts.append(
                    f"{held['heap']:.1f} MB JavaScript and {held['processes']:.0f} MB in all after {events} changes"
                )
            yield f"- {target.name}: {trouble or ', '.join(parts)}"


def main(arguments: Sequence[str]) -> None:
    """Measure what is asked for, and write the tables."""
    parser = argparse.ArgumentParser("bench.py", description=__doc__)
    parser.add_argument("--site", type=Path, help="a built site; without it, one is built")
    parser.add_argument("--against", type=Path, help="another built site, to compare with")
    parser.add_argument("--figures", nargs="+", help="figures to look at; by default all of the site")
    parser.add_argument("--repeats", type=int, default=5, help="visits of each kind (5)")
    parser.add_argument(
        "--changes", type=int, default=40, help="changes of each figure (40); 0 leaves them and memory out"
    )
    parser.add_argument("--no-slow", action="store_true", help="leave the slow line out")
    parser.add_argument("--no-convert", action="store_true", help="leave `panel convert` out")
    given = parser.parse_args(arguments)
    figures = given.figures or load_project(CONFIGURATION).figures
    controls = {name: CONTROLS[name] for name in figures}
    with ExitStack() as stack:
        site = given.site
        if site is None:
            site = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-"))) / "dist"
            build(CONFIGURATION, site, cache=None, mirror=None)
        found = stack.enter_context(targets(site, figures, compare=not given.no_convert, against=given.against))
        playwright = stack.enter_context(sync_playwright())
        tell(f"{os.cpu_count()} processors, load {os.getloadavg()[1]:.1f}; medians of {given.repeats} visits.")
        if given.repeats:
            made = visits(playwright, found, list(controls.values()), given.repeats, slow=not given.no_slow)
            seen = visits_told(made, [target.name for target in found])
            if given.against:
                tell(*goals_table(seen))
            if not given.no_convert:
                tell(ratio(seen))
        if given.changes:
            pages = [target for target in found if target.name != "without the saved memory"]
            tell(*changes_table(playwright, pages, controls, given.changes))
            tell(*memory_lines(playwright, pages, list(controls.values())))
        tell(f"Load at the end: {os.getloadavg()[1]:.1f}.")


if __name__ == "__main__":
    main(sys.argv[1:])
