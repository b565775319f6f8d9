"""Libraries lose what only their authors read, and nothing else."""

from __future__ import annotations

import traceback

import pytest

from panel_freeze.runtime.slim import compile_slim

LIBRARY = b'''"""A module."""
from dataclasses import dataclass

def divide(a: int, b: int = 2) -> float:
    """Divide."""
    assert b
    c = a / b
    return c

@dataclass
class Point:
    """A point."""
    x: int
    y: float = 1.0

def made(*, help=None, doc=None): return help, doc
class Made:
    def __init__(self, default, *, help=None, doc="none"): self.given = default, help, doc

kept = made(help="kept", doc="kept")
slim = Made(3, help="lost", doc=f"lost {kept}").given
named = Made(3, help=kept).given
divide.__doc__ = "assigned"
divide.__doc__ += "more"
said = []
def add_newdoc(*texts): said.extend(texts)
add_newdoc("numpy", "text")
async def later(a: int) -> int: return a
nested = lambda: [x for x in range(3) if x]
'''


@pytest.fixture
def module():
    module = {"__name__": "library"}
    exec(compile_slim(LIBRARY, "library.py"), module)
    return module


def test_documentation_annotations_and_assertions_are_gone(module):
    assert not module.get("__doc__")
    assert module["divide"].__doc__ is None
    assert not module["divide"].__annotations__
    assert not module["later"].__annotations__
    assert module["slim"] == (3, None, "none")
    assert module["said"] == []
    with pytest.raises(ZeroDivisionError):
        module["divide"](1, 0)


def test_the_rest_is_as_before(module):
    assert module["divide"](3) == 1.5
    assert module["kept"] == ("kept", "kept")
    assert module["named"] == (3, ("kept", "kept"), "none")
    assert module["Point"](2) == module["Point"](2, 1.0)
    assert module["nested"]() == [1, 2]


def test_a_traceback_names_file_and_function_and_where_it_begins(module):
    with pytest.raises(ZeroDivisionError) as error:
        module["divide"](1, 0)
    said = "".join(traceback.format_exception(error.value))
    assert 'File "library.py", line 4, in divide' in said


def test_a_syntax_error_has_its_line():
    with pytest.raises(SyntaxError) as error:
        compile_slim(b"x = 1\ny = (", "library.py")
    assert error.value.lineno == 2
