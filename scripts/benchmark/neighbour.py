"""The same figures through `panel convert`, from local copies of all that the result asks its networks for.

The copies come from npm (Pyodide's own files) and from the package index of pip (wheels); they are kept in a
folder of the user's cache. Where Pyodide's lock file names a compiled wheel that no package index has, the
nearest thing stands in, and is told of.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import bokeh
import panel
from panel.io.convert import PYODIDE_VERSION

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "panel-freeze" / "bench"
LASTING = r"/(panel|bokeh|pyodide|files)/"
PAGE = "app.html"

# A package that carries a copy of the Pyodide distribution of the same binary interface.
CARRIER = "open-webui==0.8.12"
CARRIED = ("numpy", "pandas", "contourpy", "pillow")
# Compiled, but works without: the wheel for another system, without what is compiled.
PURE = ("markupsafe", "pyyaml", "charset-normalizer")
# Compiled, had nowhere, and asked for but never imported by these figures.
EMPTY = ("nh3",)
# Pure packages under the very version that the lock file names.
LOCKED = (
    *("micropip", "packaging", "pyodide-http", "jinja2", "narwhals", "xyzservices", "tqdm", "typing-extensions"),
    *("python-dateutil", "pytz", "six", "requests", "idna", "urllib3", "certifi"),
)
# What Panel requires and the lock file does not know: in the versions of this project's environment.
INDEXED = (
    *("param", "pyviz-comms", "markdown", "markdown-it-py", "mdurl", "mdit-py-plugins", "linkify-it-py"),
    *("uc-micro-py", "panel-material-ui"),
)

APP = """
import asyncio
import sys

from bokeh.document import Document

from figures import {figures}

if sys.platform == "emscripten":
    # Bokeh's callbacks want Tornado, which a browser lacks.
    def later(document, callback, milliseconds=0):
        return asyncio.get_event_loop().call_later(milliseconds / 1000, callback)

    def withdraw(document, handle):
        handle.cancel()

    Document.add_next_tick_callback = Document.add_timeout_callback = later
    Document.remove_next_tick_callback = Document.remove_timeout_callback = withdraw

for figure in ({figures},):
    figure.app().servable()
"""

Say = Callable[[str], None]


def converted(figures: Sequence[str], root: Path, folder: Path, say: Say) -> list[str]:
    """Make `folder` a site with the figures, converted, in one page; return what had to differ.

    Parameters
    ----------
    figures : sequence of str
        Modules of the package `figures`, in order.
    root : Path
        The project.
    folder : Path
        An empty folder.
    say : callable
        Takes a line of text for each step.
    """
    copies = Copies(CACHE / PYODIDE_VERSION.removeprefix("v"), say)
    copies.fetch()
    wheel = copies.project(root)
    app = folder / "app.py"
    app.write_text(APP.format(figures=", ".join(figures)), encoding="utf-8")
    say("Converting …")
    _run(
        *(sys.executable, "-m", "panel", "convert", app.name, "--to", "pyodide-worker"),
        *("--out", ".", "--requirements", "numpy", str(wheel)),
        folder=folder,
        environment={"PANEL_CDN_ROOT": "/panel/"},
    )
    _localise(folder, copies)
    return copies.differences


def _localise(folder: Path, copies: Copies) -> None:
    """Lead what the converted page asks other hosts for to the copies."""
    here = "${self.location.origin}"
    page, worker = folder / PAGE, folder / PAGE.replace(".html", ".js")
    html = re.sub(r"https://[^\"']+/bokeh/release/", "/bokeh/", page.read_text(encoding="utf-8"))
    page.write_text(html, encoding="utf-8")
    script = re.sub(r"https://[^\"']+/pyodide/v[\d.]+/full/", "/pyodide/", worker.read_text(encoding="utf-8"))
    script = script.replace("'/panel/", f"'{here}/panel/")
    # Given first as what is there by default, since micropip goes by the lock file first only then.
    index = f"['{here}/index/{{package_name}}.html']"
    script = script.replace(
        "import micropip\n",
        f"import micropip, micropip.package_index, os; micropip.package_index.DEFAULT_INDEX_URLS[:] = {index}; "
        f"micropip.set_index_urls({index}); os.environ['PANEL_CDN_ROOT'] = '{here}/panel/'\n",
    )
    worker.write_text(script, encoding="utf-8")
    dist = folder / "panel" / version("panel") / "dist"
    dist.mkdir(parents=True)
    for part in (Path(panel.__file__).parent / "dist").iterdir():
        (dist / part.name).symlink_to(part)
    for place, target in {
        dist / "wheels": copies.lite,
        folder / "panel" / "wheels": copies.lite,
        folder / "pyodide": copies.pyodide,
        folder / "files": copies.files,
        folder / "index": copies.index,
    }.items():
        place.symlink_to(target, target_is_directory=True)
    (folder / "bokeh").mkdir()
    for bundle in (Path(bokeh.__file__).parent / "server" / "static" / "js").glob("*.min.js"):
        # On Bokeh's network the names carry the version.
        (folder / "bokeh" / bundle.name.replace(".min.js", f"-{bokeh.__version__}.min.js")).symlink_to(bundle)


class Copies:
    """Local copies of Pyodide, of its packages, and of an index with the others.

    Parameters
    ----------
    folder : Path
        Where they are kept, for one version of Pyodide.
    say : callable
        Takes a line of text for each step.
    """

    def __init__(self, folder: Path, say: Say) -> None:
        self.folder = folder
        self.pyodide = folder / "pyodide"
        self.files = folder / "files"
        self.index = folder / "index"
        self.lite = folder / "lite"
        self.differences: list[str] = []
        self._wheels = folder / "wheels"
        self._say = say

    def fetch(self) -> None:
        """Fetch what is not there yet."""
        for place in (self.files, self.index, self.lite, self._wheels):
            place.mkdir(parents=True, exist_ok=True)
        self._core()
        lock_file = self.pyodide / "pyodide-lock.json"
        lock = json.loads((self.pyodide / "pyodide-lock.original.json").read_text(encoding="utf-8"))
        packages = lock["packages"]
        for name, wheel in self._compiled(packages):
            self._place(packages[name], wheel)
        for name in LOCKED:
            self._place(packages[name], self._wheel(f"{name}=={packages[name]['version']}"))
        lock_file.write_text(json.dumps(lock), encoding="utf-8")
        for name in INDEXED:
            self._list(name, self._wheel(f"{name}=={version(name)}"))
        for name in ("panel", "bokeh"):
            self._lighten(self._wheel(f"{name}=={version(name)}"))

    def _core(self) -> None:
        if (self.pyodide / "pyodide-lock.original.json").exists():
            return
        self._say(f"Fetching Pyodide {PYODIDE_VERSION} with npm …")
        with tempfile.TemporaryDirectory() as temporary:
            place = Path(temporary)
            _run("npm", "pack", f"pyodide@{PYODIDE_VERSION.removeprefix('v')}", folder=place)
            with tarfile.open(next(place.glob("*.tgz"))) as archive:
                archive.extractall(place, filter="data")
            shutil.copytree(place / "package", self.pyodide, dirs_exist_ok=True)
        (self.pyodide / "pyodide-lock.json").rename(self.pyodide / "pyodide-lock.original.json")

    def _compiled(self, packages: Mapping[str, Any]) -> Iterator[tuple[str, Path]]:
        carried = self._carried()
        for name in CARRIED:
            yield name, carried[name]
        for name in PURE:
            wheel = self._wheel(f"{name}=={packages[name]['version']}", system="manylinux2014_x86_64")
            yield name, _repacked(wheel, self._wheels / "pure", lambda path: not path.endswith(".so"))
            self.differences.append(f"{name} without its compiled part")
        for name in EMPTY:
            yield name, _new_wheel(self._wheels / "pure", name, packages[name]["version"], {})
            self.differences.append(f"{name} empty")

    def _carried(self) -> dict[str, Path]:
        """Return the wheels of the distribution that another package carries, by package."""
        place = self._wheels / "carried"
        if not place.exists():
            self._say(f"Fetching compiled packages, which {CARRIER} carries (150 MB) …")
            with tempfile.TemporaryDirectory() as temporary:
                _pip_download(CARRIER, Path(temporary), python="3.12")  # which is what it says it runs on
                part = place.with_suffix(".part")
                with zipfile.ZipFile(next(Path(temporary).glob("*.whl"))) as archive:
                    for entry in archive.infolist():
                        name = Path(entry.filename).name
                        if "/pyodide/" in entry.filename and name.split("-")[0] in CARRIED:
                            entry.filename = name
                            archive.extract(entry, part)
                part.rename(place)
        return {wheel.name.split("-")[0]: wheel for wheel in sorted(place.glob("*.whl"))}

    def _wheel(self, requirement: str, system: str = "") -> Path:
        """Return a wheel, fetched with pip if it is not there."""
        place = self._wheels / (requirement.replace("==", "-") + system)
        if not place.exists():
            self._say(f"Fetching {requirement} …")
            part = place.with_name(place.name + ".part")
            _pip_download(requirement, part, *(("--platform", system) if system else ()))
            part.rename(place)
        return next(place.glob("*.whl"))

    def _place(self, entry: dict[str, Any], wheel: Path) -> None:
        """Put a wheel into the distribution, where its lock file says."""
        found = wheel.name.split("-")[1]
        if found != entry["version"]:
            self.differences.append(f"{entry['name']} {found} instead of {entry['version']}")
        entry["file_name"] = wheel.name
        entry["version"] = found
        entry["sha256"] = _sha256(wheel)
        _link(self.pyodide / wheel.name, wheel)

    def _list(self, name: str, wheel: Path) -> None:
        """Put a wheel into the index, as a package index lists it; its metadata can be asked for alone."""
        with zipfile.ZipFile(wheel) as archive:
            metadata = archive.read(next(path for path in archive.namelist() if path.endswith("dist-info/METADATA")))
        (self.files / f"{wheel.name}.metadata").write_bytes(metadata)
        _link(self.files / wheel.name, wheel)
        hashes = f"#sha256={_sha256(wheel)}", f"sha256={hashlib.sha256(metadata).hexdigest()}"
        (self.index / f"{name}.html").write_text(
            f'<a href="../files/{wheel.name}{hashes[0]}" data-core-metadata="{hashes[1]}">{wheel.name}</a>',
            encoding="utf-8",
        )

    def _lighten(self, wheel: Path) -> None:
        """Leave out what the wheels on Panel's network leave out: what only a server or a browser uses."""
        heavy = re.compile(r"panel/(dist/(?!css/|bundled/theme/)|tests/)|bokeh/server/static/|.*\.(js|ts|map)$")
        kept = re.compile(r"bokeh/core/_templates/|panel/_templates/")
        _repacked(wheel, self.lite, lambda path: bool(kept.match(path)) or not heavy.match(path))

    def project(self, root: Path) -> Path:
        """Return a wheel of the figures and the core as they are now, which asks for nothing."""
        packages = {"figures": root / "figures", "attention_core": root / "src" / "attention_core"}
        files = {
            f"{name}/{file.relative_to(place).as_posix()}": file.read_bytes()
            for name, place in packages.items()
            for file in sorted(place.rglob("*.py"))
        }
        return _new_wheel(self.folder / "project", "attention-figures", "0.1.0", files)


def _repacked(wheel: Path, folder: Path, keep: Callable[[str], bool]) -> Path:
    """Return a copy of a wheel with only some of its files, named as one for any system."""
    name, number = wheel.name.split("-")[:2]
    with zipfile.ZipFile(wheel) as archive:
        return _write_wheel(
            folder, name, number, {path: archive.read(path) for path in filter(keep, archive.namelist())}
        )


def _new_wheel(folder: Path, name: str, number: str, files: Mapping[str, bytes]) -> Path:
    """Return a wheel with these files, which requires nothing."""
    name = name.replace("-", "_")
    info = {
        "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n",
        "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "",
    }
    described = {f"{name}-{number}.dist-info/{part}": text.encode() for part, text in info.items()}
    return _write_wheel(folder, name, number, {**files, **described})


def _write_wheel(folder: Path, name: str, number: str, files: Mapping[str, bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{name}-{number}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return wheel


def _link(place: Path, target: Path) -> None:
    place.unlink(missing_ok=True)
    place.symlink_to(target.resolve())


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _pip_download(requirement: str, folder: Path, *options: str, python: str = "3.13") -> None:
    _run(
        *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"),
        *("--python-version", python, "--dest", folder, requirement, *options),
    )


def _run(*command: object, folder: Path | None = None, environment: Mapping[str, str] | None = None) -> None:
    """Run a program; its output is told only if it fails."""
    given = [str(part) for part in command]
    ran = subprocess.run(
        given, cwd=folder, env={**os.environ, **(environment or {})}, capture_output=True, text=True, check=False
    )
    if ran.returncode:
        last = (ran.stderr or ran.stdout).strip().splitlines()[-1:]
        raise RuntimeError(f"{' '.join(given[:4])} … failed: {' '.join(last)}")
