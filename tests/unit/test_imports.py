"""Who imports whom: read from the sources, so that a wrong arrow is found before it runs."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STDLIB = sys.stdlib_module_names
# The Python side of the runtime, which runs in the browser beside the apps.
IN_THE_BROWSER = {"resident.py", "baker.py", "slim.py"}

ARROWS = {
    "src/attention_core": STDLIB | {"attention_core", "numpy"},
    "figures": STDLIB | {"figures", "attention_core", "panel", "bokeh", "param", "numpy"},
}


def imported(file: Path) -> dict[str, int]:
    """Return the top-level packages that a file imports anywhere, with the line."""
    found = {}
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0]: node.lineno for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno} imports relatively"
            found[str(node.module).split(".")[0]] = node.lineno
    return found


def sources(folder: str) -> list[Path]:
    """Return the Python files of a room; it has some."""
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    return files


@pytest.mark.parametrize(("folder", "allowed"), ARROWS.items(), ids=ARROWS.keys())
def test_room_imports_only_what_it_may(folder, allowed):
    wrong = [
        f"{file.relative_to(ROOT)}:{line} imports {name}"
        for file in sources(folder)
        for name, line in imported(file).items()
        if name not in allowed
    ]
    assert not wrong, "\n".join(wrong)


def test_builder_knows_no_figure_and_only_its_runtime_knows_panel():
    for file in sources("src/panel_freeze"):
        names = set(imported(file))
        assert not names & {"figures", "attention_core"}, file
        if file.name not in IN_THE_BROWSER:
            assert not names & {"panel", "bokeh", "param"}, file


def test_figures_use_no_part_that_evaluates_text():
    words = {
        "FlexBox",
        "ReactiveHTML",
        "JSComponent",
        "ReactComponent",
        "AnyWidgetComponent",
        "CustomJS",
        "CustomJSHover",
    }
    words |= {"CustomJSTickFormatter", "CustomJSTransform", "jslink", "jscallback", "eval", "exec", "literal_eval"}
    # The bridge stands in for the page's scripts under `panel serve`; pages of the site do not load it.
    for file in (file for file in sources("figures") if file.name != "bridge.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            name = getattr(node, "id", None) or getattr(node, "attr", None)
            assert name not in words, f"{file.relative_to(ROOT)}:{node.lineno} uses {name}"


def test_nothing_evaluates_text_in_the_page_or_the_worker():
    for file in (ROOT / "src" / "panel_freeze" / "runtime").glob("*.js"):
        text = file.read_text(encoding="utf-8")
        for word in ("eval(", "new Function", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write"):
            assert word not in text, f"{file.name} uses {word}"
        if not file.name.startswith("bake-"):
            assert "runPython" not in text, f"{file.name} runs text as Python"


def test_site_holds_no_code():
    kinds = {file.suffix for file in (ROOT / "site").rglob("*") if file.is_file()}
    assert kinds <= {".toml", ".md", ".html", ".css", ".svg", ".png", ".webp", ".bib", ".txt", ".woff2"}
