"""The part of the bake that runs in the browser's own Python. Readers do not get it.

Compiled files must come from the interpreter that will read them, and the article's numbers from the
NumPy that will compute them again.
"""

from __future__ import annotations

import importlib
import json
import marshal
import os
import sys
from collections.abc import Iterable
from importlib.metadata import version
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from typing import Any

from panel_freeze_slim import compile_slim  # type: ignore[import-not-found]

SITE_PACKAGES = Path("/lib/python3.14/site-packages")
STANDARD_LIBRARY = "/lib/python314.zip/"
COMPILED = Path("/tmp/compiled.pack")
_UNCHECKED_HASH = (1).to_bytes(4, "little")
# Where a model says what it needs on the page.
RESOURCES = {"__javascript__": "script", "__javascript_modules__": "module", "__css__": "style"}
# Models that run text as a script, besides those called CustomJS….
EVALUATING = {"HTMLTemplateFormatter", "ReactiveHTML", "ReactiveESM"}


def compile_files(paths: list[str], keep: list[str]) -> str:
    """Compile sources below site-packages into the pack `COMPILED`.

    Packages in `keep` keep everything; of the others see `compile_slim`. Returns the errors as JSON,
    ``[[path, line, text], …]``.
    """
    errors = []
    index = []
    compiled = bytearray()
    for path in paths:
        source = (SITE_PACKAGES / path).read_bytes()
        whole = path.removesuffix(".py").split("/")[0] in keep
        try:
            code = compile(source, path, "exec", dont_inherit=True) if whole else compile_slim(source, path)
        except SyntaxError as error:
            errors.append([path, error.lineno, error.msg])
            continue
        # A file of this kind is never compared with its source, which readers do not get.
        data = MAGIC_NUMBER + _UNCHECKED_HASH + bytes(8) + marshal.dumps(code)
        index.append([f"{path}c", len(compiled), len(data)])
        compiled += data
    header = json.dumps(index).encode()
    COMPILED.write_bytes(len(header).to_bytes(4, "little") + header + compiled)
    return json.dumps(errors)


def evaluate_numbers(modules: dict[str, str | None]) -> str:
    """Return what the article is given, as JSON, or why a module failed.

    That is ``values()`` of the module of the numbers, and ``drawings()`` of that of the drawings: HTML by name.
    """
    given: dict[str, Any] = {"values": "{}", "drawings": {}}
    name = ""
    try:
        if name := modules["numbers"] or "":
            # Text in text: the worker between here and the builder would round integers above 53 bits.
            given["values"] = json.dumps(importlib.import_module(name).values(), allow_nan=False)
        if name := modules["drawings"] or "":
            given["drawings"] = _drawings(importlib.import_module(name).drawings())
        return json.dumps(given)
    except Exception as error:
        from panel_freeze_resident import describe  # type: ignore[import-not-found]

        return json.dumps({"module": name, **describe(error)})


def _drawings(found: Any) -> dict[str, str]:
    if not isinstance(found, dict) or not all(isinstance(each, str) for pair in found.items() for each in pair):
        raise TypeError(f"drawings() must return a dict of HTML texts by name, not {found!r:.80}")
    return found


def opened_files(figures: list[dict[str, Any]], paths: list[str]) -> str:
    """Build figures; return which of some files below site-packages they opened for reading, as JSON.

    That is ``{"opened": [path, …], "built": {figure: …}}``; what was built is left out, unless it failed. Whatever
    opens a file (`open`, `pathlib`, `importlib.resources`, `pkgutil`) tells Python's audit hooks. A hook cannot be
    removed, so this is for a Python that is not saved.
    """
    from panel_freeze_resident import resident

    opened = set()

    def note(event: str, given: tuple[Any, ...]) -> None:
        if event == "open" and not isinstance(given[0], int) and given[2] & os.O_ACCMODE != os.O_WRONLY:
            opened.add(os.path.abspath(os.fsdecode(given[0])))  # noqa: PTH100 (a hook must not do much)

    sys.addaudithook(note)
    built = {figure["name"]: json.loads(resident.build(**figure)) for figure in figures}
    failed = {name: result if "reason" in result else {} for name, result in built.items()}
    return json.dumps({"opened": [path for path in paths if str(SITE_PACKAGES / path) in opened], "built": failed})


def imported_files() -> str:
    """Return the files that imports have read so far, as JSON: paths in site-packages, or behind the zip's name."""
    files = {getattr(module, "__file__", None) or "" for module in list(sys.modules.values())}
    here = f"{SITE_PACKAGES}/"
    packages = {file.removeprefix(here) for file in files if file.startswith(here)}
    library = {file.removeprefix("/lib/") for file in files if file.startswith(STANDARD_LIBRARY)}
    return json.dumps(sorted(packages | library))


def extras() -> str:
    """Return what the models of each figure need besides BokehJS and Panel's script, as JSON.

    That is ``{figure: [[model, kind, address], …]}``; a kind is ``script``, ``module`` or ``style``, or
    ``evaluates`` for a model that runs text as a script.
    """
    from panel_freeze_resident import resident

    return json.dumps({name: _extras(document.models) for name, document in resident.documents.items()})


def _extras(models: Iterable[object]) -> list[tuple[str, str, str]]:
    found = []
    for kind in sorted({type(model) for model in models}, key=lambda kind: f"{kind.__module__}.{kind.__name__}"):
        name = f"{kind.__module__}.{kind.__name__}"
        bases = {base.__name__ for base in kind.__mro__}
        if bases & EVALUATING or kind.__name__.startswith("CustomJS"):
            found.append((name, "evaluates", ""))
        for attribute, what in RESOURCES.items():
            found += [(name, what, address) for address in getattr(kind, attribute, None) or ()]
    return found


def versions() -> str:
    """Return the versions of what runs here, as JSON."""
    installed = {name: version(name) for name in ("numpy", "bokeh", "panel")}
    return json.dumps({"python": sys.version.split()[0], **installed})
