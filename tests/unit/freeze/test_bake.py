"""What the bake makes of what the browser answers."""

from __future__ import annotations

import pytest

from panel_freeze import bake
from panel_freeze._errors import FreezeError
from panel_freeze.bake import Extra, _check_build, _check_extras, compile_python

GOOD = {"doc": {}, "roots": ["1"], "html": "", "title": ""}


def test_good_figures_pass():
    _check_build({"one": GOOD, "two": GOOD})


def test_missing_module_is_named_with_its_figure():
    failed = {"missing": "pandas", "reason": "ModuleNotFoundError: No module named 'pandas'", "details": "Traceback …"}
    with pytest.raises(FreezeError, match=r"Figure 'two' imports 'pandas'.*\[bundle\]"):
        _check_build({"one": GOOD, "two": failed})


def test_exception_is_named_with_its_figure():
    failed = {"missing": None, "reason": "LookupError: no luck", "details": "Traceback …"}
    with pytest.raises(FreezeError, match="Figure 'two' could not be built: LookupError: no luck") as error:
        _check_build({"one": GOOD, "two": failed})
    assert "Traceback" not in str(error.value).splitlines()[0]


def test_place_of_a_missing_import_is_told():
    failed = {"missing": "pandas", "where": "panel/widgets/tables.py", "reason": "", "details": ""}
    with pytest.raises(FreezeError, match=r"Figure 'two' imports 'pandas' \(in panel/widgets/tables\.py\)"):
        _check_build({"two": failed})


TABLE = "panel.models.tabulator.DataTabulator"


def test_what_panel_has_a_copy_of_is_taken_from_it():
    script, style = "npm/filepond@^4/dist/filepond.min.js", "css/button.css"
    needs = [
        (TABLE, "script", f"https://freeze.invalid/{script}"),
        (TABLE, "style", f"https://freeze.invalid/1.9.4/dist/{style}"),
    ]
    assert _check_extras("one", needs) == (Extra("script", script), Extra("style", style))


@pytest.mark.parametrize(
    ("kind", "address", "why"),
    [
        ("evaluates", "", "runs text as a script"),
        ("module", "https://cdn.example/a.js", "https://cdn.example/a.js as a module"),
        ("script", "https://cdn.example/a.js", "needs https://cdn.example/a.js; Panel brings no copy"),
        ("script", "https://freeze.invalid/npm/absent@1/a.js", "npm/absent@1/a.js; Panel brings no copy"),
    ],
)
def test_what_a_page_cannot_have_is_named_with_figure_and_model(kind, address, why):
    with pytest.raises(FreezeError, match=f"Figure 'one' uses {TABLE}.*{why}"):
        _check_extras("one", [(TABLE, kind, address)])


class Bench:
    """Compiles in an obvious way, and counts."""

    def __init__(self, errors=()):
        self.errors = list(errors)
        self.compiled = []

    def __call__(self, _):
        return self

    def run(self, _, *, paths, **__):
        self.compiled += paths
        return {"errors": self.errors}

    def saved(self, _):
        return bake.bundle.pack({f"{path}c": f"compiled {path}".encode() for path in self.compiled})


SOURCES = {"a/__init__.py": b"x = 1", "b/c.py": b"y = 2", "b/data.csv": b"1,2"}


def test_sources_are_replaced_and_data_is_kept(tmp_path):
    files = compile_python(SOURCES, ("a",), tmp_path, Bench(), lambda _: None)
    assert files == {
        "a/__init__.pyc": b"compiled a/__init__.py",
        "b/c.pyc": b"compiled b/c.py",
        "b/data.csv": b"1,2",
    }


def test_only_what_changed_is_compiled_again(tmp_path):
    compile_python(SOURCES, ("a",), tmp_path, Bench(), lambda _: None)
    again = Bench()
    compile_python(SOURCES, ("a",), tmp_path, again, lambda _: None)
    assert again.compiled == []
    compile_python(SOURCES | {"b/c.py": b"y = 3"}, ("a",), tmp_path, again, lambda _: None)
    assert again.compiled == ["b/c.py"]
    compile_python(SOURCES, ("a", "b"), tmp_path, again, lambda _: None)
    assert again.compiled == ["b/c.py", "b/c.py"], "b keeps its docstrings now"


def test_syntax_error_is_named_with_its_line_and_nothing_is_kept(tmp_path):
    with pytest.raises(FreezeError, match=r"b/c\.py, line 3: invalid syntax"):
        compile_python(SOURCES, (), tmp_path / "cache", Bench([["b/c.py", 3, "invalid syntax"]]), lambda _: None)
    assert not (tmp_path / "cache").exists()
