"""What the bake makes of what the browser answers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from panel_freeze import bake
from panel_freeze.__main__ import leave_out
from panel_freeze._errors import FreezeError
from panel_freeze.bake import Extra, Prepared, _check_build, _check_extras, compile_python, prepare

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


class Workbench:
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
    files = compile_python(SOURCES, ("a",), tmp_path, Workbench(), lambda _: None)
    assert files == {
        "a/__init__.pyc": b"compiled a/__init__.py",
        "b/c.pyc": b"compiled b/c.py",
        "b/data.csv": b"1,2",
    }


def test_only_what_changed_is_compiled_again(tmp_path):
    compile_python(SOURCES, ("a",), tmp_path, Workbench(), lambda _: None)
    again = Workbench()
    compile_python(SOURCES, ("a",), tmp_path, again, lambda _: None)
    assert again.compiled == []
    compile_python(SOURCES | {"b/c.py": b"y = 3"}, ("a",), tmp_path, again, lambda _: None)
    assert again.compiled == ["b/c.py"]
    compile_python(SOURCES, ("a", "b"), tmp_path, again, lambda _: None)
    assert again.compiled == ["b/c.py", "b/c.py"], "b keeps its docstrings now"


def test_syntax_error_is_named_with_its_line_and_nothing_is_kept(tmp_path):
    with pytest.raises(FreezeError, match=r"b/c\.py, line 3: invalid syntax"):
        compile_python(SOURCES, (), tmp_path / "cache", Workbench([["b/c.py", 3, "invalid syntax"]]), lambda _: None)
    assert not (tmp_path / "cache").exists()


# Which data files go along


class Python:
    """Answers as the browser's Python does when it looks which files are opened."""

    numbers = {"values": '{"a": 1}', "drawings": {"plan": "<svg/>"}}  # noqa: RUF012

    def __init__(self, opened=(), failed=None):
        self.opened, self.failed, self.tasks = list(opened), failed or {}, []

    def run(self, task, **given):
        self.tasks.append(task)
        self.modules = given.get("module", "")
        if task == "run":
            return json.dumps({"opened": self.opened, "built": {"one": self.failed}})
        return {"numbers": self.numbers, "imported": ["a.pyc"]}

    def saved(self, name):
        return name.encode()


PROJECT = SimpleNamespace(figures=("one",), numbers="apps.numbers", drawings=None, module="apps.{}".format)


def test_without_data_files_no_app_is_built_to_look():
    python = Python()
    assert prepare(PROJECT, python, set()) == Prepared(
        numbers={"a": 1},
        drawings={"plan": "<svg/>"},
        imported=frozenset({"a.pyc"}),
        fresh=b"fresh.bin",
        opened=frozenset(),
    )
    assert python.tasks == ["numbers"]


@pytest.mark.parametrize(
    ("numbers", "drawings", "asked"),
    [
        (None, None, None),
        ("a", None, {"numbers": "a", "drawings": None}),
        (None, "b", {"numbers": None, "drawings": "b"}),
    ],
)
def test_modules_that_are_named_are_asked(numbers, drawings, asked):
    python = Python()
    prepare(SimpleNamespace(**vars(PROJECT) | {"numbers": numbers, "drawings": drawings}), python, set())
    assert python.modules == asked


def test_module_that_fails_is_named():
    python = Python()
    python.numbers = {"module": "apps.drawings", "reason": "KeyError: 'x'", "details": "Traceback …"}
    with pytest.raises(FreezeError, match=r"The module apps\.drawings failed: KeyError: 'x'"):
        prepare(PROJECT, python, set())


def test_opened_files_are_known():
    assert prepare(PROJECT, Python(["apps/a.csv"]), {"apps/a.csv", "apps/b.csv"}).opened == {"apps/a.csv"}


def test_app_that_fails_while_it_is_looked_at_is_named():
    with pytest.raises(FreezeError, match="Figure 'one' could not be built: KeyError: 'x'"):
        prepare(PROJECT, Python(failed={"reason": "KeyError: 'x'", "details": ""}), {"apps/a.csv"})


@pytest.mark.parametrize(
    ("unused", "said"),
    [
        ([], []),
        (["a/b"], ["Left out: a/b, which no app opened; list it under [bundle] files if readers need it"]),
        (["a/b", "a/c"], ["Left out: a/b, a/c, which no app opened; list them under [bundle] files if readers need them"]),
        ([f"a/{n}" for n in range(12)], [f"Left out: {', '.join(f'a/{n}' for n in range(10))}, 2 more, which no app opened; list them under [bundle] files if readers need them"]),
    ],
)  # fmt: skip
def test_what_is_left_out_is_told_in_one_line(unused, said):
    told = []
    assert leave_out({"a/used": b"1"} | dict.fromkeys(unused, b"2"), unused, told.append) == {"a/used": b"1"}
    assert told == said


OPENERS = """
import importlib.resources, io, os, pathlib, pkgutil, sys
here = pathlib.Path(sys.argv[2]) / "sample"
open(here / "a").close()
io.open(str(here / ".." / "sample" / "b")).close()
os.close(os.open(os.fsencode(here / "c"), os.O_RDONLY))
(here / "d").read_bytes()
pkgutil.get_data("sample", "e")
importlib.resources.files("sample").joinpath("f").read_text()
open(here / "g", "r+").close()
os.chdir(here); open("h").close()
open(here / "not1", "w").close()
(here / "not2").stat()
"""


@pytest.fixture
def in_python(tmp_path):
    """Evaluate an expression of the bake's part of Python, in a Python of its own."""

    def run(expression, resident="def describe(error):\n    return {'reason': repr(error)}"):
        (tmp_path / "panel_freeze_slim.py").write_text("def compile_slim(source, path): ...")
        (tmp_path / "panel_freeze_resident.py").write_text(resident)
        code = (
            "import pathlib, sys; sys.path[:0] = sys.argv[1:]; import baker; baker.SITE_PACKAGES = pathlib.Path(sys.argv[2])\n"
            f"print(baker.{expression})"
        )
        arguments = [sys.executable, "-c", code, str(bake.RUNTIME), str(tmp_path)]
        done = subprocess.run(arguments, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    return run


def test_every_way_to_read_a_file_is_noticed(tmp_path, in_python):
    (tmp_path / "sample").mkdir()
    names = [*"abcdefgh", "not1", "not2"]
    for name in (*names, "__init__.py"):
        (tmp_path / "sample" / name).touch()
    resident = f"class resident:\n    def build(name):\n        exec({OPENERS!r})\n        return '{{}}'\n"
    answer = in_python(f"opened_files([{{'name': 'one'}}], ['sample/' + name for name in {names}])", resident)
    assert answer == {"opened": [f"sample/{name}" for name in "abcdefgh"], "built": {"one": {}}}


# What the article is given


def test_numbers_and_drawings_are_evaluated(tmp_path, in_python):
    (tmp_path / "given.py").write_text(
        "values = lambda: {'n': 2**60}\ndrawings = lambda: {'plan': '<svg>\\n\\n</svg>'}"
    )
    both = in_python("evaluate_numbers({'numbers': 'given', 'drawings': 'given'})")
    assert both == {"values": json.dumps({"n": 2**60}), "drawings": {"plan": "<svg>\n\n</svg>"}}
    assert in_python("evaluate_numbers({'numbers': None, 'drawings': 'given'})")["values"] == "{}"
    assert in_python("evaluate_numbers({'numbers': 'given', 'drawings': None})")["drawings"] == {}


@pytest.mark.parametrize(
    ("text", "module", "reason"),
    [
        ("values = lambda: 1 / 0", "one", "ZeroDivisionError"),
        ("drawings = lambda: 1 / 0", "two", "ZeroDivisionError"),
        ("", "two", "AttributeError"),
        ("drawings = lambda: ['<svg/>']", "two", "must return a dict of HTML texts by name, not \\['<svg/>'\\]"),
        ("drawings = lambda: {'plan': b'<svg/>'}", "two", "must return a dict of HTML texts"),
    ],
)
def test_module_that_fails_says_which_it_is_and_why(tmp_path, in_python, text, module, reason):
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text(text if name == module else "values = lambda: {}")
    answer = in_python("evaluate_numbers({'numbers': 'one', 'drawings': 'two'})")
    assert answer["module"] == module
    assert re.search(reason, answer["reason"])
