"""Checks of a finished site: its references, the size and hash of every file, its budgets."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from panel_freeze._errors import FreezeError
from panel_freeze.project import Project

# Stored compressed already; a host has nothing to gain from them.
_COMPRESSED = (".bin", ".zip", ".webp", ".woff", ".woff2")


def check_references(folder: Path) -> None:
    """Raise FreezeError unless every reference of the pages leads to a file of the site."""
    for page in sorted(folder.rglob("*.html")):
        text = page.read_text(encoding="utf-8")
        for reference in re.findall(r'(?:src|href)="([^"#?]*)[^"]*"|srcset="([^" ]+)', text):
            target = next(filter(None, reference), "")
            if not target or re.match(r"[a-z]+:", target):
                continue
            file = page.parent / target
            if not (file / "index.html" if target.endswith("/") else file).is_file():
                raise FreezeError(
                    f"{page.relative_to(folder).as_posix()} refers to {target}, which is not in the site."
                )


def write_report(project: Project, folder: Path, settings: Mapping[str, Any], versions: Mapping[str, str]) -> None:
    """Write ``build.json``: versions, every file's sizes and hash, and how the budgets were met.

    Parameters
    ----------
    project : Project
        The site's configuration.
    folder : Path
        The finished site.
    settings : mapping
        What the page's script knows: the paths of everything it fetches.
    versions : mapping of str to str
        Versions of what runs in the browser.

    Raises
    ------
    FreezeError
        If a budget is exceeded, or has a name that is not measured.
    """
    files = {
        file.relative_to(folder).as_posix(): _describe(file) for file in sorted(folder.rglob("*")) if file.is_file()
    }
    page = (folder / "index.html").read_text(encoding="utf-8")
    preloaded = re.findall(r'<link rel="preload"[^>]* href="\./([^"]+)"', page)
    measured = _measure(project, files, settings, preloaded)
    for name in project.budgets:
        if name not in measured:
            raise FreezeError(f"site.toml sets a budget '{name}'; there are {', '.join(measured)}.")
    report = {
        "title": project.title,
        "versions": {**versions, "panel_freeze": version("attention-figures")},
        "budgets": {name: {"measured": size, "allowed": project.budgets.get(name)} for name, size in measured.items()},
        "files": files,
    }
    text = json.dumps(report, indent=1, sort_keys=True)
    (folder / "build.json").write_text(text, encoding="utf-8", newline="\n")
    for name, allowed in project.budgets.items():
        if measured[name] > allowed:
            raise FreezeError(f"Over budget: '{name}' is {measured[name]:,} bytes, {allowed:,} are allowed.")


def _describe(file: Path) -> dict[str, Any]:
    data = file.read_bytes()
    travels = len(data) if file.suffix in _COMPRESSED else len(gzip.compress(data, 9, mtime=0))
    return {"bytes": len(data), "gzip": travels, "sha256": hashlib.sha256(data).hexdigest()}


def _measure(
    project: Project, files: Mapping[str, Any], settings: Mapping[str, Any], preloaded: Sequence[str]
) -> dict[str, int]:
    """Return bytes as they travel: before the runtime starts, and until all figures are live, both ways."""
    fold = [name for name in files if re.match(rf"assets/{re.escape(project.figures[0])}-1080-light\.", name)]
    before = {"index.html", *(name for name in files if name.endswith(".css")), *fold, *preloaded}
    scripts = {name for name in files if re.fullmatch(r"assets/[\w-]+\.\w{12}\.js", name)}
    parts = settings["parts"]
    both = {
        *before,
        *scripts,
        *(figure["document"] for figure in settings["figures"]),
        *parts["libraries"].values(),
        *(parts[name] for name in ("loader", "module", "wasm", "data")),
    }
    ways = {
        "before_runtime": before,
        "until_live": both | {settings["snapshots"]["other"]["url"]},
        "until_live_cold": both | {parts["stdlib"], parts["bundle"]},
    }
    return {name: sum(files[path]["gzip"] for path in paths) for name, paths in ways.items()}
