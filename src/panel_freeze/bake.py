"""The bake: the apps run once in a headless browser, in the Python that readers will run.

What comes out is each figure's document as BokehJS draws it, the article's numbers, the list of files
that imports read, and, from pages that are drawn but have no Python yet, pictures and heights.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from panel_freeze import bundle
from panel_freeze._errors import FreezeError
from panel_freeze.bundle import Files
from panel_freeze.project import Project
from panel_freeze.serve import SiteHandler, serving

RUNTIME = Path(__file__).parent / "runtime"
# Documents name Panel's files below this address, which no request ever reaches: the page puts its own in place.
ENVIRONMENT = {"PANEL_CDN_ROOT": "https://freeze.invalid/", "PANEL_NPM_CDN": "https://freeze.invalid/npm"}
PANEL_FILES = r"https://freeze\.invalid/(?:[\w.-]+/dist/)?([\w./@^~+-]+)"
# Pictures by their nominal width, and the window each is taken in: a phone's, a tablet's, and one in which a figure
# is as wide as it gets.
PICTURE_WINDOWS = {360: 360, 768: 768, 1080: 1280}
# Higher than any figure: what lies outside the window is not drawn as it is inside.
PICTURE_HEIGHT = 4000
SCHEMES = ("light", "dark")
SCALES = (1, 2)  # dots of the screen in a CSS pixel, at which heights are measured
# A figure's height is measured at these widths of the window, and held from each to the next; the usual phones are
# met exactly.
HEIGHT_WIDTHS = tuple(sorted({*range(320, 1280, 48), 360, 375, 390, 393, 402, 412, 430, 768}))
BROWSER_ARGUMENTS = ["--no-sandbox", "--disable-quic", "--disable-background-networking"]

# Pyodide calls C in another way where the browser says that it runs on iOS, so there are two memories.
USER_AGENTS = (None, "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)")

Report = Callable[[str], None]


@dataclass(frozen=True)
class Snapshot:
    """A saved memory: Pyodide's header, the bytes, and what its instance was before Python started.

    That is the lengths of its function table, and what its memory held then.
    """

    head: bytes
    memory: bytes
    table: tuple[int, ...]
    fresh: bytes


@dataclass(frozen=True)
class Extra:
    """Something that a figure's model needs on the page besides BokehJS and Panel's script: a file of Panel."""

    kind: str  # 'script' or 'style'
    path: str  # as `bundle.panel_file` takes it


@dataclass(frozen=True)
class Documents:
    """What the apps gave in the browser's Python."""

    figures: dict[str, dict[str, Any]]
    numbers: dict[str, Any]
    imported: frozenset[str]
    versions: dict[str, str]
    snapshots: dict[str, Snapshot]
    fresh: bytes  # what a fresh memory holds when neither clock nor chance stand still
    extras: dict[str, tuple[Extra, ...]] = field(default_factory=dict)
    drawings: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Pictures:
    """What the drawn figures look like: PNG by (figure, width, scheme), and pixel heights by (figure, width)."""

    images: dict[tuple[str, int, str], bytes]
    heights: dict[tuple[str, int], int]


@contextmanager
def browser_page(executable: str | None, **options: Any) -> Iterator[Any]:
    """Start a headless Chromium and yield a page of it."""
    from playwright.sync_api import Error, sync_playwright

    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=executable, args=BROWSER_ARGUMENTS)
        except Error as error:
            raise FreezeError(
                "No Chromium could be started; install one, or name it in the variable CHROMIUM_PATH. "
                f"({str(error).splitlines()[0]})"
            ) from error
        try:
            yield browser.new_page(**options)
        finally:
            browser.close()


class Workbench:
    """A browser's Python with some files in it, to which the bake gives its tasks.

    Parameters
    ----------
    work : Path
        An empty folder for what the browser fetches.
    assets : mapping of str to Path
        Pyodide's files.
    python, libraries : dict of str to bytes
        What lies in site-packages, and the shared libraries loaded before Python.
    executable : str, optional
        The browser.
    standard_library : bytes, optional
        A zip; without one, Pyodide's own is used.
    """

    def __init__(
        self,
        work: Path,
        assets: Mapping[str, Path],
        python: Files,
        libraries: Files,
        executable: str | None,
        standard_library: bytes | None = None,
    ) -> None:
        self._work = work
        self._executable = executable
        work.mkdir(parents=True, exist_ok=True)
        for name in ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip"):
            (work / name).write_bytes(assets[name].read_bytes())
        if standard_library:
            (work / "python_stdlib.zip").write_bytes(standard_library)
        for file in RUNTIME.iterdir():
            if file.suffix in (".js", ".html"):
                (work / file.name).write_bytes(file.read_bytes())
        (work / "bundle.pack").write_bytes(bundle.pack(_baker() | python))
        (work / "data.pack").write_bytes(bundle.pack({}))
        names = {path: f"library{number}.wasm" for number, path in enumerate(libraries)}
        for path, name in names.items():
            (work / name).write_bytes(libraries[path])
        parts = {
            "loader": "pyodide.mjs",
            "module": "pyodide.asm.mjs",
            "wasm": "pyodide.asm.wasm",
            "stdlib": "python_stdlib.zip",
            "bundle": "bundle.pack",
            "data": "data.pack",
            "libraries": names,
        }
        (work / "parts.json").write_text(json.dumps({"parts": parts, "environment": ENVIRONMENT}))

    def run(self, task: str, user_agent: str | None = None, **given: Any) -> Any:
        """Run one task in a browser started for it, and return its result."""
        from playwright.sync_api import Error

        with (
            serving(self._work, handler=_SavingHandler) as address,
            browser_page(self._executable, user_agent=user_agent) as page,
        ):
            page.goto(f"{address}bake.html")
            page.locator("html[data-bench=ready]").wait_for(state="attached")
            try:
                return page.evaluate("([task, given]) => window.bake(task, given)", [task, given])
            except Error as error:
                raise FreezeError(f"The browser's Python failed in the bake: {error.message.strip()}") from error

    def saved(self, name: str) -> bytes:
        """Return what a task has saved."""
        return (self._work / name).read_bytes()


class _SavingHandler(SiteHandler):
    """Also takes what the bake's worker sends back."""

    def do_POST(self) -> None:  # noqa: N802
        name = Path(self.path).name
        (self.directory / name).write_bytes(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()


def _baker() -> Files:
    """Return the bake's own part in the browser's Python."""
    return {f"panel_freeze_{name}.py": (RUNTIME / f"{name}.py").read_bytes() for name in ("baker", "slim")}


def compile_python(
    sources: Files, own: tuple[str, ...], folder: Path, bench: Callable[[Files], Workbench], report: Report
) -> Files:
    """Compile sources with the browser's own Python; what was compiled before is taken from the cache.

    Parameters
    ----------
    sources : dict of str to bytes
        Sources and data files, by path in site-packages.
    own : tuple of str
        Packages that keep what `slim.py` leaves out of the others.
    folder : Path
        A folder for compiled files, named by the hash of what went in.
    bench : callable
        Makes the bench for some files.
    report : callable
        Told of each step.

    Returns
    -------
    dict of str to bytes
        The same with ``.pyc`` in place of ``.py``.

    Raises
    ------
    FreezeError
        If a file has a syntax error; it names file and line.
    """
    python = {path: data for path, data in sources.items() if path.endswith(".py")}
    keys = {path: _key(path, data, own) for path, data in python.items()}
    missing = [path for path in sorted(python) if not (folder / keys[path]).is_file()]
    if missing:
        report(f"Compiling {len(missing)} Python files with the browser's Python …")
        workbench = bench(python)
        errors = workbench.run("compile", paths=missing, keep=list(own), save="compiled.pack")["errors"]
        if errors:
            path, line, text = errors[0]
            raise FreezeError(f"{path}, line {line}: {text}. The site was not built.")
        folder.mkdir(parents=True, exist_ok=True)
        for path, data in bundle.unpack(workbench.saved("compiled.pack")).items():
            part = folder / f"{keys[path[:-1]]}.{os.getpid()}.part"
            part.write_bytes(data)
            part.replace(folder / keys[path[:-1]])
    data_files = {path: data for path, data in sources.items() if not path.endswith(".py")}
    return data_files | {f"{path}c": (folder / keys[path]).read_bytes() for path in python}


def _key(path: str, data: bytes, own: tuple[str, ...]) -> str:
    how = b"whole" if path.removesuffix(".py").split("/")[0] in own else _slimmer()
    return hashlib.sha256(b"\0".join((path.encode(), how, data))).hexdigest() + ".pyc"


@cache
def _slimmer() -> bytes:
    return (RUNTIME / "slim.py").read_bytes()


@dataclass(frozen=True)
class Prepared:
    """What is known of a site before its figures are built for good."""

    numbers: dict[str, Any]
    drawings: dict[str, str]
    imported: frozenset[str]
    fresh: bytes
    opened: frozenset[str]  # data files


def prepare(project: Project, bench: Workbench, data: Collection[str]) -> Prepared:
    """Work out the article's numbers and drawings, and see which data files the apps open while they are built.

    Each has a Python of its own: the saved memory is not to carry their traces.

    Parameters
    ----------
    project : Project
        The site's configuration.
    bench : Workbench
        A browser's Python with all files of the site's packages.
    data : collection of str
        The files in question, by path in site-packages; if there are none, no app is built.

    Raises
    ------
    FreezeError
        If the module of the numbers or of the drawings fails, or an app that was built for its files.
    """
    figures = json.dumps([_figures(project), sorted(data)])
    look = f"import json, panel_freeze_baker; panel_freeze_baker.opened_files(*json.loads({json.dumps(figures)}))"
    modules = {"numbers": project.numbers, "drawings": project.drawings}
    tasks = [partial(bench.run, "numbers", module=modules if any(modules.values()) else None, fresh="fresh.bin")]
    tasks += [partial(bench.run, "run", code=look)] if data else []
    numbers, *looked = together(tasks)
    if "reason" in numbers["numbers"]:
        failure = numbers["numbers"]
        raise FreezeError(f"The module {failure['module']} failed: {failure['reason']}\n{failure['details']}")
    opened: set[str] = set()
    for answer in map(json.loads, looked):
        _check_build(answer["built"])
        opened |= set(answer["opened"])
    return Prepared(
        numbers=json.loads(numbers["numbers"]["values"]),
        drawings=numbers["numbers"].get("drawings", {}),
        imported=frozenset(numbers["imported"]),
        fresh=bench.saved("fresh.bin"),
        opened=frozenset(opened),
    )


def _figures(project: Project) -> list[dict[str, Any]]:
    return [
        {"name": name, "module": project.module(name), "number": number} for number, name in enumerate(project.figures)
    ]


def build_documents(project: Project, bench: Workbench, prepared: Prepared) -> Documents:
    """Run every app in the browser's Python.

    Raises
    ------
    FreezeError
        If an app cannot be imported or built; it names the figure.
    """
    figures = _figures(project)
    builds = together([partial(_build_in, bench, agent, figures) for agent in USER_AGENTS])
    results = {result["kind"]: result for result, _ in builds}
    extras = {name: _check_extras(name, needs) for name, needs in results["other"]["extras"].items()}
    for name in project.figures:
        if len({json.dumps(result["built"][name], sort_keys=True) for result in results.values()}) > 1:
            raise FreezeError(
                f"Figure '{name}' differs by the browser it was built in; one document must fit all. "
                "Is something in it random, or the time?"
            )
    built = results["other"]
    return Documents(
        figures=built["built"],
        numbers=prepared.numbers,
        imported=frozenset(built["imported"]) | prepared.imported,
        versions=built["versions"],
        snapshots={result["kind"]: snapshot for result, snapshot in builds},
        fresh=prepared.fresh,
        extras=extras,
        drawings=prepared.drawings,
    )


def _build_in(bench: Workbench, agent: str | None, figures: list[dict[str, Any]]) -> tuple[dict[str, Any], Snapshot]:
    """Build all figures in a browser of one kind, and save its Python's memory."""
    name, fresh = (f"{what}-{USER_AGENTS.index(agent)}.bin" for what in ("memory", "fresh"))
    result = bench.run("build", user_agent=agent, figures=figures, snapshot=name, fresh=fresh)
    _check_build(result["built"])
    saved = bench.saved(name)
    # Its second word is the length of the header, before the memory.
    length = int.from_bytes(saved[4:8], "little")
    return result, Snapshot(saved[:length], saved[length:], tuple(result["table"]), bench.saved(fresh))


def together(tasks: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run tasks two at a time, each with a browser of its own, and return their results in order."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda task: task(), tasks))


def _check_build(figures: dict[str, dict[str, Any]]) -> None:
    """Raise FreezeError, naming the figure, unless every figure was built."""
    for name, built in figures.items():
        if built.get("missing"):
            where = f" (in {built['where']})" if built.get("where") else ""
            raise FreezeError(
                f"Figure '{name}' imports '{built['missing']}'{where}, which is not in the bundle for the browser. "
                "Name it in 'python' of site.toml's [bundle] if it is a package of yours; a package with "
                f"compiled parts has no browser build here.\n{built['details']}"
            )
        if "reason" in built:
            raise FreezeError(f"Figure '{name}' could not be built: {built['reason']}\n{built['details']}")


def _check_extras(name: str, needs: Sequence[tuple[str, str, str]]) -> tuple[Extra, ...]:
    """Return what a figure's models need on the page.

    Raises
    ------
    FreezeError
        If the page cannot give it; it names the figure and the model.
    """
    extras = []
    for model, kind, address in needs:
        uses = f"Figure '{name}' uses {model}"
        if kind == "evaluates":
            raise FreezeError(f"{uses}, which runs text as a script; the page's policy forbids that. Do it in Python.")
        if kind == "module":
            raise FreezeError(f"{uses}, which loads {address} as a module; pages can have plain scripts only.")
        found = re.fullmatch(PANEL_FILES, address)
        if not found or not bundle.panel_file(found[1]):
            raise FreezeError(f"{uses}, which needs {address}; Panel brings no copy, and the page asks no other host.")
        extras.append(Extra(kind, found[1]))
    return tuple(extras)


def take_pictures(project: Project, draft: Path, executable: str | None) -> Pictures:
    """Draw every figure of a draft site, without Python, and record what it looks like.

    Heights are in CSS pixels of the figure's stage, by width of the window.
    """
    with serving(draft) as address:
        photograph = partial(_photograph, project, address, executable)
        measure = partial(_measure, project, address, executable)
        tasks = [partial(photograph, scheme) for scheme in SCHEMES] + [partial(measure, scale) for scale in SCALES]
        light, dark, *measured = together(tasks)
    return Pictures(light | dark, {key: max(heights[key] for heights in measured) for key in measured[0]})


def _photograph(
    project: Project, address: str, executable: str | None, scheme: str
) -> dict[tuple[str, int, str], bytes]:
    """Take the pictures of one scheme."""
    images: dict[tuple[str, int, str], bytes] = {}
    with browser_page(executable, color_scheme=scheme, device_scale_factor=2, reduced_motion="reduce") as page:
        _open_painted(page, address, project)
        for width, window in PICTURE_WINDOWS.items():
            _resize(page, window, PICTURE_HEIGHT)
            images |= {(name, width, scheme): _stage(page, name).screenshot() for name in project.figures}
    return images


def _measure(project: Project, address: str, executable: str | None, scale: int) -> dict[tuple[str, int], int]:
    """Measure the figures' heights on a screen of one density: a line is a whole number of its dots."""
    heights: dict[tuple[str, int], int] = {}
    with browser_page(executable, device_scale_factor=scale, reduced_motion="reduce") as page:
        _open_painted(page, address, project)
        for width in HEIGHT_WIDTHS:
            _resize(page, width)
            boxes = {name: _stage(page, name).bounding_box() for name in project.figures}
            heights |= {(name, width): math.ceil(box["height"]) for name, box in boxes.items() if box}
    return heights


def _stage(page: Any, figure: str) -> Any:
    return page.locator(f"figure[data-figure={figure}] .stage")


def _open_painted(page: Any, address: str, project: Project) -> None:
    """Open a page and wait until all its figures are drawn; say what the browser said if one is not."""
    from playwright.sync_api import Error

    said: list[str] = []
    errors: list[str] = []
    page.on("console", lambda message: (errors if message.type == "error" else said).append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address)
    for name in project.figures:
        try:
            page.locator(f"figure[data-figure={name}]:is([data-state=painted], [data-state=failed])").wait_for()
        except Error as error:
            raise FreezeError(f"Figure '{name}' was not drawn in time. The browser said: {errors + said}") from error
        if trouble := page.locator(f"figure[data-figure={name}] .trouble").all_text_contents():
            raise FreezeError(f"Figure '{name}' could not be drawn. {' '.join(trouble)}")
    if errors:
        raise FreezeError(f"The figures were drawn, but the browser complained: {' '.join(errors)}")


def _resize(page: Any, width: int, height: int = 900) -> None:
    """Give the window a width, and wait until the drawings have taken their size."""
    page.set_viewport_size({"width": width, "height": height})
    page.evaluate(
        """async () => {
            const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
            let before = -1;
            for (let i = 0, same = 0; same < 3 && i < 200; i += 1) {
                await frame();
                const now = document.documentElement.scrollHeight;
                same = now === before ? same + 1 : 0;
                before = now;
            }
        }"""
    )


def to_webp(png: bytes, *, patient: bool = False) -> tuple[bytes, tuple[int, int]]:
    """Return a picture as lossless WebP, and its size in pixels; `patient` tries every way to store it."""
    from PIL import Image

    image = Image.open(io.BytesIO(png)).convert("RGB")
    out = io.BytesIO()
    image.save(out, "WEBP", lossless=True, quality=100 if patient else 90, method=6)
    return out.getvalue(), image.size
