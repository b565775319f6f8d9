"""States from links: what cannot be used is left, moved or refused, in every figure that there is."""

import importlib
import json
import math
import pkgutil

import param
import pytest

import figures
from figures.shared.state import FigureState, to_text

MODULES = [importlib.import_module(f"figures.{found.name}") for found in pkgutil.iter_modules(figures.__path__)]
STATES = {module.__name__.rsplit(".", 1)[-1]: module.State for module in MODULES if hasattr(module, "State")}
KEYS = [(name, key) for name, state in STATES.items() for key in state.query_keys()]
NAMES_OF_KEYS = [f"{name}.{key}" for name, key in KEYS]

CODE = ["__import__('js')", "[].__class__", "eval('1')", "1+1", "(1)", "0x10", "1_000", "True", "None", "lambda: 1"]
WORDS = [
    "",
    " ",
    "NaN",
    "nan",
    "Infinity",
    "-inf",
    "__proto__",
    "constructor",
    "null",
    "undefined",
    "</script><img src=x>",
]
DIGITS = ["٣", "３", "²", "1\u200b", "+1", "1.", ".5", "1e", "--1", "1e99999", "−1"]
EXTREMES = [
    "2",
    "-1",
    "0",
    "-4",
    "1e999",
    "-1e999",
    "1e12",
    "1e18",
    "1e-999",
    "5",
    "9" * 40,
    "-" + "9" * 40,
    "1,1",
    "0,0",
]
LONG = ["9" * 10_000, "x" * 10_000, "1," * 5_000]
HOSTILE = CODE + WORDS + DIGITS + EXTREMES + LONG


class Example(FigureState):
    """One parameter of each kind."""

    switch = param.Boolean(default=False)
    word = param.Selector(default="a", objects=["a", "b"])
    size = param.Selector(default=64, objects=[1, 64, 4096])
    whole = param.Integer(default=3, bounds=(1, 9))
    share = param.Number(default=0.5, bounds=(0.0, 0.9))
    cell = param.NumericTuple(default=(1, 1), length=2)
    numbers = param.List(default=[1.0, 0.0], item_type=(float, int), bounds=(1, 3))
    late = param.Integer(default=0, bounds=(0, 1), precedence=1)

    def bounds(self, key):
        return {"cell": (1, 6), "numbers": (-10, 10)}.get(key) or super().bounds(key)


def values(state):
    return {key: getattr(state, key) for key in state.query_keys()}


def finite(value):
    parts = value if isinstance(value, list | tuple) else [value]
    return all(not isinstance(part, float) or math.isfinite(part) for part in parts)


def test_every_figure_is_found():
    assert {"asymmetry", "masking", "heads"} <= set(STATES)


@pytest.mark.parametrize(("name", "key"), KEYS, ids=NAMES_OF_KEYS)
def test_hostile_values_do_no_harm(name, key):
    for text in HOSTILE:
        state = STATES[name]()
        defaults = values(state)
        notice = state.load_query([(key, text)])
        now = values(state)
        assert finite(now[key]), text[:40]
        json.dumps(now, allow_nan=False)
        assert len(notice) < 400
        assert "\n" not in notice
        if not notice:
            assert to_text(now[key]) == text or now[key] == defaults[key] or _same_number(now[key], text), text
        if "ignored" in notice:
            assert now == defaults
        if "moved" in notice:
            assert now[key] != text


def _same_number(value, text):
    """Whether a text that was taken as it stands says the value, in some other spelling."""
    return [float(part) for part in to_text(value).split(",")] == [float(part) for part in text.split(",")]


@pytest.mark.parametrize(("name", "key"), KEYS, ids=NAMES_OF_KEYS)
def test_words_and_code_leave_the_default(name, key):
    for text in CODE + WORDS + DIGITS:
        state = STATES[name]()
        before = values(state)
        notice = state.load_query([(key, text)])
        assert values(state) == before, text
        assert f"{key}=" in notice
        assert "was ignored" in notice


@pytest.mark.parametrize("name", STATES)
def test_a_bad_item_does_not_spoil_the_others(name):
    state_class = STATES[name]
    good = next(key for key in state_class.query_keys() if isinstance(state_class.param[key], param.Selector))
    option = state_class.param[good].objects[-1]
    others = [(key, "__proto__") for key in state_class.query_keys() if key != good]
    state = state_class()
    notice = state.load_query([*others, (good, to_text(option))])
    assert getattr(state, good) == option
    assert notice.count("was ignored") == len(others)


@pytest.mark.parametrize(("name", "key"), KEYS, ids=NAMES_OF_KEYS)
def test_a_repeated_key_is_not_guessed(name, key):
    state = STATES[name]()
    before = values(state)
    text = to_text(getattr(state, key))
    notice = state.load_query([(key, text), (key, text)])
    assert notice == f"{key}={text} was ignored (given more than once)."
    assert values(state) == before


@pytest.mark.parametrize("name", STATES)
def test_a_default_state_has_no_query_and_an_empty_link_restores_it(name):
    state = STATES[name]()
    before = values(state)
    assert state.query() == {}
    for key in state.query_keys():
        if isinstance(state.param[key], param.Selector):
            setattr(state, key, state.param[key].objects[-1])
    assert state.query() != {}
    assert state.load_query([]) == ""
    assert values(state) == before


@pytest.mark.parametrize("name", STATES)
def test_unknown_keys_are_left_alone(name):
    assert STATES[name]().load_query([("utm_source", "x"), ("name", "y"), ("param", "z"), ("__class__", "q")]) == ""


def test_what_is_pointed_at_is_in_no_link():
    class Pointed(Example):
        at = param.Integer(default=1, bounds=(1, 9), precedence=-1)

    state = Pointed(at=5)
    assert "at" not in state.query()
    assert state.load_query([("at", "7")]) == ""
    assert state.at == 1


def test_a_link_carries_every_kind_of_value():
    texts = {
        "switch": "on", "word": "b", "size": "4096", "whole": "9", "share": "0.25", "cell": "6,2",
        "numbers": "0.5,-1,2", "late": "1",
    }  # fmt: skip
    state = Example()
    assert state.load_query(texts.items()) == ""
    assert values(state) == {
        "switch": True, "word": "b", "size": 4096, "whole": 9, "share": 0.25, "cell": (6, 2),
        "numbers": [0.5, -1, 2], "late": 1,
    }  # fmt: skip
    assert state.query() == texts


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("whole", "0", 1), ("whole", "99", 9), ("whole", "9" * 40, 9), ("share", "2", 0.9), ("share", "-1", 0.0),
        ("share", "1e999", 0.9), ("share", "-1e999", 0.0), ("cell", "0,7", (1, 6)), ("size", "9999", 4096),
        ("size", "0", 1), ("numbers", "99,1e999", [10, 10]), ("numbers", "-1e999", [-10]),
    ],
)  # fmt: skip
def test_numbers_outside_are_moved_to_the_nearest_bound(key, text, value):
    state = Example()
    notice = state.load_query([(key, text)])
    assert getattr(state, key) == value
    assert notice.startswith(f"{key}={text[:20]}")
    assert notice.endswith(f"was moved to {to_text(value)}.")


@pytest.mark.parametrize(
    ("key", "text", "reason"),
    [
        ("switch", "true", "it is one of on, off"),
        ("word", "c", "it is one of a, b"),
        ("size", "65", "not one of its values"),
        ("whole", "1.5", "not a whole number"),
        ("share", "half", "not a number"),
        ("cell", "1", "it takes 2 numbers"),
        ("cell", "1,2,3", "it takes 2 numbers"),
        ("numbers", "1,2,3,4", "it takes 1 to 3 numbers"),
        ("numbers", "1,two", "“two” is not a number"),
    ],
)
def test_the_notice_gives_the_reason(key, text, reason):
    state = Example()
    assert state.load_query([(key, text)]) == f"{key}={text} was ignored ({reason})."
    assert values(state) == values(Example())


def test_a_long_text_is_cut_and_control_characters_are_not_repeated():
    notice = Example().load_query([("word", "a\x00\n\u202e" + "b" * 10_000)])
    assert notice.startswith("word=a???bbb")
    assert "…" in notice
    assert len(notice) < 80


def test_all_notes_stand_in_one_notice():
    notice = Example().load_query([("word", "c"), ("whole", "0")])
    assert notice == "word=c was ignored (it is one of a, b); whole=0 was moved to 1."


def test_keys_are_applied_by_precedence():
    assert Example.query_keys()[-1] == "late"
    assert "name" not in Example.query_keys()


def test_the_defaults_list_is_not_shared():
    state = Example()
    state.load_query([])
    state.load_query([("numbers", "3")])
    assert Example().numbers == Example.param.numbers.default == [1, 0]
