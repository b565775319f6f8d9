"""What the bake makes of what the browser answers."""

from __future__ import annotations

import pytest

from panel_freeze import bake
from panel_freeze._errors import FreezeError
from panel_freeze.bake import _check_build, compile_python

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
