"""What the tests of the built site share: the site, one browser, and readers who report every fault they meet.

Set ``SITE_DIST`` (and ``SECOND_SITE_DIST``) to the folder of a site that is built already, to test that one.
"""

from __future__ import annotations

import http.server
import itertools
import json
import os
import re
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright

from panel_freeze.__main__ import build
from panel_freeze.bake import BROWSER_ARGUMENTS
from panel_freeze.serve import TYPES, SiteHandler, serving

collect_ignore = ["data"]
ROOT = Path(__file__).resolve().parents[1]
CONFIGURATION = ROOT / "site" / "site.toml"
SECOND = ROOT / "tests" / "data" / "second_site"
FIGURES: list[str] = tomllib.loads(CONFIGURATION.read_text(encoding="utf-8"))["site"]["figures"]
if ready := os.environ.get("SITE_DIST"):  # which may hold a few of them
    FIGURES = [name for name in FIGURES if (Path(ready) / "figures" / name).is_dir()]
PATIENCE = 15.0  # seconds until something that should happen counts as not happening
START_PATIENCE = 30.0  # the same for a start of Python, on a machine that has other work

# The keys of each figure's state in the address: a contract with the links that readers keep.
STATE_KEYS = {
    "asymmetry": ("mode", "divisor", "seed", "show", "cell", "relation", "fold"),
    "scaling": ("d_k", "divisor", "keys", "draws", "seed", "draw", "exact", "fold"),
    "masking": ("step", "mask", "seed", "gain", "cell", "vector", "fold"),
    "dropout": ("p", "rescale", "seed", "draws", "fold"),
    "heads": ("preset", "heads", "kind", "head", "line", "cell", "fold"),
    "cost": ("n", "bytes", "heads", "layers", "d", "k", "card", "fold"),
}

# What Chromium asks for itself, whatever the page.
OWN_BUSINESS = re.compile(
    r"^(http://)?(update|content-autofill|optimizationguide-pa)\.googleapis\.com|^accounts\.google\.com"
)

# Notes every change of state, every violation of the policy and every shift of the layout, from the start.
WITNESS = """
window.witness = { states: [], violations: [], shift: 0 };
document.addEventListener('figurestate', ({ detail }) => witness.states.push([detail.figure, detail.state]));
document.addEventListener('securitypolicyviolation', (event) =>
  witness.violations.push(`${event.violatedDirective}: ${event.blockedURI}`));
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) witness.shift += entry.value;
}).observe({ type: 'layout-shift', buffered: true });
"""


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker of tests that provoke faults."""
    config.addinivalue_line("markers", "provokes(pattern): faults the reader meets that match are meant")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what starts a browser."""
    for item in items:
        if {"site", "second_site", "chromium"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("browser")


# Sites


def run_in_thread(work: Callable[[], Any]) -> Any:
    """Run something that starts a browser of its own: Playwright wants a thread for each."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


@pytest.fixture(scope="session")
def in_thread() -> Callable[[Callable[[], Any]], Any]:
    """Run something that starts a browser of its own."""
    return run_in_thread


def built(configuration: Path, variable: str, temporary: pytest.TempPathFactory) -> Path:
    """Build a site, unless the environment names one that is built."""
    if ready := os.environ.get(variable):
        return Path(ready).resolve()
    out = temporary.mktemp("site") / "dist"
    run_in_thread(lambda: build(configuration, out, cache=None, mirror=None))
    return out


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real site, built once."""
    return built(CONFIGURATION, "SITE_DIST", tmp_path_factory)


@pytest.fixture(scope="session")
def second_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small site of other apps, with a title full of markup, built once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SECOND))
        return built(SECOND / "site.toml", "SECOND_SITE_DIST", tmp_path_factory)


@pytest.fixture(params=FIGURES)
def figure(request: pytest.FixtureRequest) -> str:
    """The name of each figure in turn."""
    return str(request.param)


@pytest.fixture
def state_keys(figure: str) -> tuple[str, ...]:
    """The keys of a figure's state."""
    return STATE_KEYS[figure]


@pytest.fixture
def all_state_keys(figures: list[str]) -> dict[str, tuple[str, ...]]:
    """The keys of every figure's state."""
    return {name: STATE_KEYS[name] for name in figures}


@pytest.fixture(scope="session")
def numbers() -> Any:
    """Every expected number, by name: ``{"value": …, "tolerance": …}``."""
    return json.loads((ROOT / "tests" / "data" / "numbers.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """The address of the real site."""
    with serving(site) as url:
        yield url


@pytest.fixture
def serve(site: Path) -> Iterator[Callable[..., str]]:
    """Serve the real site, or another folder, in some other way; returns its address."""
    with ExitStack() as stack:
        yield lambda folder=None, **options: stack.enter_context(serving(folder or site, **options))


class Faults(dict[str, str]):
    """What a server does wrong, by the start of a file's name.

    ``missing``: 404; ``page``: an HTML page with status 200; ``text``: sent as plain text that must not be
    taken for anything else; ``cut``: half of it, then the line breaks; ``damaged``: whole, with a few bytes
    changed; ``held``: nothing until it is mended.
    """

    def __init__(self) -> None:
        super().__init__()
        self._mended = threading.Condition()

    def mend(self, *starts: str) -> None:
        """Do right from now on, for these files or for all."""
        with self._mended:
            for start in starts or list(self):
                del self[start]
            self._mended.notify_all()

    def hold(self, start: str) -> None:
        """Wait until a file is no longer held back."""
        with self._mended:
            self._mended.wait_for(lambda: self.get(start) != "held", PATIENCE)

    @property
    def handler(self) -> type[SiteHandler]:
        """What answers so."""
        faults = self

        class Faulty(SiteHandler):
            def do_GET(self) -> None:
                name = Path(self.path.split("?")[0]).name
                start = next((start for start in list(faults) if name.startswith(start)), "")
                fault = faults.get(start)
                if fault == "held":
                    faults.hold(start)
                if fault == "missing":
                    self.send_error(404)
                elif fault == "page":
                    self.reply(b"<!doctype html><title>Not here</title>", "text/html; charset=utf-8")
                elif fault in ("text", "cut", "damaged") and (file := self.find()):
                    data = file.read_bytes()
                    kind = "text/plain" if fault == "text" else TYPES.get(file.suffix, "application/octet-stream")
                    if fault == "damaged":
                        data = data[:-9] + bytes(5) + data[-4:]
                    self.reply(data, kind, sent=len(data) // 2 if fault == "cut" else len(data))
                else:
                    super().do_GET()

            def reply(self, data: bytes, kind: str, sent: int | None = None) -> None:
                headers = {"Content-Type": kind, "Content-Length": str(len(data)), "Cache-Control": "no-store"}
                self.send_response(200)
                for header, value in {**headers, "X-Content-Type-Options": "nosniff"}.items():
                    self.send_header(header, value)
                self.end_headers()
                self.wfile.write(data[:sent])
                self.close_connection = sent is not None and sent < len(data)

        return Faulty


@pytest.fixture
def faults() -> Iterator[Faults]:
    """A server's faults, all of them mended in the end."""
    faults = Faults()
    yield faults
    faults.mend()


# Readers


@pytest.fixture(scope="session")
def outside() -> Iterator[list[str]]:
    """Requests to other hosts, from pages and workers alike: a proxy that notes them and refuses."""
    seen: list[str] = []

    class Refuse(http.server.BaseHTTPRequestHandler):
        def refuse(self) -> None:
            if not OWN_BUSINESS.match(self.path):
                seen.append(self.path)
            self.send_error(502)

        do_GET = do_HEAD = do_POST = do_CONNECT = refuse

        def log_message(self, format: str, *args: Any) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refuse) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        seen.append(f"127.0.0.1:{server.server_address[1]}")
        yield seen
        server.shutdown()


@pytest.fixture(scope="session")
def chromium(outside: list[str]) -> Iterator[Browser]:
    """One browser for all tests. Its requests to other hosts go to `outside`."""
    expect.set_options(timeout=1000 * PATIENCE)
    arguments = [*BROWSER_ARGUMENTS, f"--proxy-server={outside.pop()}"]
    with sync_playwright() as playwright:
        executable = os.environ.get("CHROMIUM_PATH") or None
        browser = playwright.chromium.launch(executable_path=executable, args=arguments)
        yield browser
        browser.close()


class FigureOnPage:
    """One figure as a reader finds it: by roles, names and readouts."""

    def __init__(self, page: Page, name: str) -> None:
        self.page = page
        self.name = name
        self.element: Locator = page.locator(f"figure[data-figure={name}]")
        self.stage = self.element.locator(".stage")
        self.trouble = self.element.locator(".trouble")

    def follow(self, query: str) -> None:
        """Follow a link of the text that sets a state."""
        self.page.evaluate(
            """(query) => {
                const link = Object.assign(document.createElement('a'), { href: query, textContent: 'link' });
                document.querySelector('main').append(link);
                link.click();
                link.remove();
            }""",
            query,
        )

    def settle(self) -> None:
        """Go back to the default state, and wait until Python has answered everything."""
        key, mark = STATE_KEYS[self.name][0], f"mark{next(_marks)}"
        self.follow(f"?{self.name}.{key}={mark}")
        expect(self.notice).to_contain_text(mark)
        self.operate("button", "Reset")
        expect(self.notice).to_have_count(0)

    @property
    def notice(self) -> Locator:
        """What the figure says of a link that could not be used."""
        return self.element.locator(".notice").filter(has_text="From the link")

    def reaches(self, state: str) -> None:
        """Wait for a state."""
        expect(self.element).to_have_attribute("data-state", state)

    def readout(self, name: str) -> Locator:
        """The element of a readout; there must be one."""
        return self.element.locator(f'[data-readout="{name}"]')

    def texts(self) -> list[list[str]]:
        """Name, value and text of every readout, in order."""
        read = "all => all.map((e) => [e.dataset.readout, e.dataset.value, e.textContent])"
        return self.element.locator("[data-readout]").evaluate_all(read)

    def values(self) -> dict[str, Any]:
        """Every readout's value, read as strict JSON."""
        found = self.texts()
        names = [name for name, _, _ in found]
        assert len(set(names)) == len(names), f"a readout stands twice: {names}"
        return {name: json.loads(value, parse_constant=_no_json) for name, value, _ in found}

    def shows(self, name: str, expected: Any, tolerance: float = 0.0) -> None:
        """Wait until a readout has its value."""
        self.until(
            lambda: self.values().get(name), lambda value: close(value, expected, tolerance), f"{name}: {expected}"
        )

    def until(self, read: Callable[[], Any], right: Callable[[Any], bool], what: str) -> Any:
        """Look at every frame until something is right."""
        deadline = time.monotonic() + PATIENCE
        while not right(found := read()):
            assert time.monotonic() < deadline, f"{self.name} never came to {what}; it has {found}"
            self.page.evaluate("() => new Promise((go) => requestAnimationFrame(go))")
        return found

    def control(self, role: Any, name: str) -> Locator:
        """A control by its role and its exact name."""
        return self.element.get_by_role(role, name=name, exact=True)

    def open(self, fold: str) -> None:
        """Open a fold by its button, unless it is open."""
        button = self.element.locator(f'button[data-fold="{fold}"]')
        if button.get_attribute("aria-expanded") != "true":
            button.click()
        expect(button).to_have_attribute("aria-expanded", "true")

    def find(self, role: str, name: str) -> Locator:
        """A control, for which the fold is opened that it lies in."""
        control = self.control(role, name)
        for fold in ("settings", "numbers"):
            if not control.count():
                self.open(fold)
        return control

    def operate(self, role: str, name: str, value: str = "") -> None:
        """Use a control as a reader would, in its fold if it is there; `value` is what to choose, type or press."""
        control = self.find("button" if role == "key" else role, name)
        if role == "radiogroup":
            control.get_by_role("radio", name=value, exact=True).check()
        elif role == "combobox":
            control.select_option(label=value)
        elif role in ("spinbutton", "textbox"):
            control.fill(value)
            control.press("Enter")
        elif role == "switch":
            control.press("Space")
        elif role == "key":
            control.press("Enter")
        elif role == "slider":
            for key in value.split():
                control.press(key)
        else:
            control.click()


_marks = itertools.count(1)


def close(value: Any, expected: Any, tolerance: float) -> bool:
    """Tell whether a value, a list or a list of lists is as expected."""
    if isinstance(expected, list):
        return (
            isinstance(value, list)
            and len(value) == len(expected)
            and all(close(a, b, tolerance) for a, b in zip(value, expected, strict=True))
        )
    if isinstance(expected, float) and isinstance(value, float | int):
        return abs(value - expected) <= tolerance
    return value == expected


def _no_json(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


class Visit:
    """A page in a browser of its own."""

    def __init__(self, context: BrowserContext, troubles: list[str]) -> None:
        self.context = context
        self.troubles = troubles
        self.page = context.new_page()

    def open(self, url: str, *, wait: str = "live", near: bool = False) -> None:
        """Open an address, and wait until all figures are in a state; or, if asked, those near the screen."""
        self.page.goto(url, wait_until="commit")
        if wait and not near:
            self.page.wait_for_load_state("domcontentloaded")
            self.page.evaluate("() => document.dispatchEvent(new Event('drawfigures'))")
        if wait in ("live", "failed"):
            expect(self.page.locator("html")).to_have_attribute(
                "data-figures", re.compile("live|failed"), timeout=1000 * START_PATIENCE
            )
            said = self.page.locator(".trouble").all_text_contents()
            expect(self.page.locator("html"), f"the page says {said}").to_have_attribute("data-figures", wait)
        elif wait:
            self.page.wait_for_load_state("domcontentloaded")  # until then not all figures are there
            for element in self.page.locator("figure[data-figure]").all():
                expect(element).to_have_attribute("data-state", wait)

    def figure(self, name: str) -> FigureOnPage:
        """One of the page's figures."""
        return FigureOnPage(self.page, name)

    def witness(self, what: str) -> Any:
        """What the page's witness has noted: ``states``, ``violations`` or ``shift``."""
        return self.page.evaluate(f"() => witness.{what}")


class Reader:
    """Opens pages, each in a browser of its own, and notes what goes wrong on them."""

    def __init__(self, browser: Browser, outside: list[str]) -> None:
        self._browser = browser
        self._outside = outside
        self._contexts: list[BrowserContext] = []
        self.troubles: list[str] = []

    def __call__(self, url: str = "", *, wait: str = "live", init: str = "", **options: Any) -> Visit:
        """Open an address; `init` runs before anything of the page, `options` are the context's."""
        context = self._browser.new_context(**options)
        self._contexts.append(context)
        context.add_init_script(WITNESS + init)
        note = self.troubles.append
        context.on("console", lambda m: note(f"console: {m.text}") if m.type in ("error", "warning") else None)
        context.on("weberror", lambda e: note(f"uncaught: {e.error}"))
        context.on("requestfailed", lambda r: note(f"failed: {r.url} {r.failure}"))
        context.on("response", lambda r: note(f"answer {r.status}: {r.url}") if r.status >= 400 else None)
        visit = Visit(context, self.troubles)
        if url:
            visit.open(url, wait=wait)
        return visit

    def complain(self, meant: str = "(?!)") -> None:
        """Fail if anything went wrong that was not meant to."""
        found = [line for line in self.troubles if not re.search(meant, line)]
        found += [f"asked another host: {path}" for path in self._outside]
        self.troubles.clear()
        self._outside.clear()
        assert not found, "\n".join(found)

    def leave(self) -> None:
        """Close all pages."""
        for context in self._contexts:
            context.close()


@pytest.fixture(scope="session")
def new_reader(chromium: Browser, outside: list[str]) -> Iterator[Callable[[], Reader]]:
    """Make readers whose pages stay open over several tests; each test calls `complain` at its end."""
    readers: list[Reader] = []

    def new() -> Reader:
        readers.append(Reader(chromium, outside))
        return readers[-1]

    yield new
    for reader in readers:
        reader.leave()


@pytest.fixture
def visit(chromium: Browser, outside: list[str], request: pytest.FixtureRequest) -> Iterator[Reader]:
    """A reader; the test fails if anything goes wrong on the pages, but for what its marker `provokes`."""
    reader = Reader(chromium, outside)
    yield reader
    reader.leave()
    marker = request.node.get_closest_marker("provokes")
    reader.complain(marker.args[0] if marker else "(?!)")


@pytest.fixture(scope="session")
def figures() -> list[str]:
    """The names of all figures of the site, in order."""
    return FIGURES
