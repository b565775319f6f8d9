"""States from links and controls: what cannot be used is left, moved or refused, in every figure that there is."""

import importlib
import json
import math
import pkgutil
from typing import ClassVar

import param
import pytest

import figures
from figures.shared.state import (
    SEEDS,
    Cell,
    Choice,
    Decimal,
    FigureState,
    Flag,
    LongRun,
    Numbers,
    Seed,
    Steps,
    Unusable,
    Whole,
    to_text,
)

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

    switch = Flag(False, label="Switch")
    word = Choice("a", {"a": "the first", "b": "the second"}, label="Word")
    size = Steps(64, [1, 64, 4096], label="Size")
    whole = Whole(3, (1, 9), label="Whole")
    share = Decimal(0.5, (0.0, 0.9), label="Share")
    cell = Cell((1, 1), "abcdef", "abcdef")
    numbers = Numbers([1.0, 0.0], (1, 3), (-10, 10), label="Numbers")
    seed = Seed(123)
    run = LongRun(0, 500)
    hidden = Whole(1, (1, 9), label="Hidden", linked=False, view=True)


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


def test_what_is_no_key_is_in_no_link():
    state = Example(hidden=5)
    assert "hidden" not in state.query()
    assert state.load_query([("hidden", "7")]) == ""
    assert state.hidden == 1
    assert state.take([("hidden", "7")]) == {}  # a control sets it
    assert state.hidden == 7


def test_a_link_carries_every_kind_of_value():
    texts = {
        "switch": "on", "word": "b", "size": "4096", "whole": "9", "share": "0.25", "cell": "6,2",
        "numbers": "0.5,-1,2", "seed": "4294967295", "run": "500", "fold": "code",
    }  # fmt: skip
    state = Example()
    assert state.load_query(texts.items()) == ""
    assert values(state) == {
        "switch": True, "word": "b", "size": 4096, "whole": 9, "share": 0.25, "cell": (6, 2),
        "numbers": [0.5, -1, 2], "seed": SEEDS - 1, "run": 500, "fold": "code",
    }  # fmt: skip
    assert state.query() == texts


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("whole", "0", 1), ("whole", "99", 9), ("whole", "9" * 40, 9), ("share", "2", 0.9), ("share", "-1", 0.0),
        ("share", "1e999", 0.9), ("share", "-1e999", 0.0), ("cell", "0,7", (1, 6)), ("size", "9999", 4096),
        ("size", "0", 1), ("numbers", "99,1e999", [10, 10]), ("numbers", "-1e999", [-10]), ("seed", "-1", 0),
        ("seed", "4294967296", SEEDS - 1),
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
        ("size", "65", "it is one of 1, 64, 4096"),
        ("run", "7", "it is one of 500, 0"),
        ("fold", "all", "it is one of none, numbers, settings, code"),
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


def test_keys_stand_in_the_order_of_the_class_with_the_fold_last():
    assert Example.names() == [
        "switch", "word", "size", "whole", "share", "cell", "numbers", "seed", "run", "hidden", "fold",
    ]  # fmt: skip
    assert Example.query_keys() == [name for name in Example.names() if name != "hidden"]


def test_a_class_of_a_class_adds_to_its_keys():
    class More(Example):
        last = Flag(True, label="Last")
        word = Choice("b", {"b": "only"}, label="Word")

    assert More.names() == [*Example.names()[:-1], "last", "fold"]
    assert More.defaults()["word"] == "b"


def test_the_defaults_list_is_not_shared():
    state = Example()
    state.load_query([])
    state.load_query([("numbers", "3")])
    assert Example().numbers == Example.param.numbers.default == [1, 0]


# What a control sets


def test_a_control_sets_its_value_and_leaves_the_others():
    state = Example(whole=5)
    assert state.take([("share", " 0.3 "), ("word", "b"), ("utm_source", "x")]) == {}
    assert (state.share, state.word, state.whole) == (0.3, "b", 5)


@pytest.mark.parametrize(
    ("key", "text", "value", "sentence"),
    [
        ("whole", "abc", 5, "Whole keeps 5: not a whole number."),
        ("share", "0,3", 0.5, "Share keeps 0.5: not a number."),
        ("size", "65", 64, "Size keeps 64: it is one of 1, 64, 4096."),
        ("whole", "-", 5, "Whole keeps 5: not a whole number."),
        ("numbers", "1,two", [1, 0], "Numbers keeps 1,0: “two” is not a number."),
        ("whole", "99", 9, "Whole was moved to 9: 99 is out of its bounds."),
        ("share", "1e9", 0.9, "Share was moved to 0.9: 1e9 is out of its bounds."),
        ("cell", "7,1", (6, 1), "Cell was moved to 6,1: 7,1 is out of its bounds."),
    ],
)
def test_a_typed_value_that_is_not_used_gets_a_sentence(key, text, value, sentence):
    state = Example(whole=5)
    assert state.take([(key, text)]) == {key: sentence}
    assert getattr(state, key) == value


@pytest.mark.parametrize(("name", "key"), KEYS, ids=NAMES_OF_KEYS)
def test_controls_are_as_safe_as_links(name, key):
    for text in HOSTILE:
        state = STATES[name]()
        notes = state.take([(key, text)])
        json.dumps(values(state), allow_nan=False)
        assert finite(getattr(state, key))
        assert all(len(note) < 200 and "\n" not in note for note in notes.values())
        if text in CODE + WORDS + DIGITS:
            assert set(notes) == {key}, text


def test_values_given_together_are_one_change():
    class Pair(Example):
        @classmethod
        def fit(cls, values, changed):
            cls.seen.append(set(changed))
            return {**values, "whole": min(values["whole"], 2) if values["switch"] else values["whole"]}

        seen: ClassVar = []

    state, changes = Pair(), []
    state.param.watch(lambda *events: changes.append({event.name for event in events}), Pair.names())
    state.take([("switch", "on"), ("word", "b")])
    assert changes == [{"switch", "word", "whole"}]
    assert state.whole == 2
    state.set(whole=9)
    assert state.whole == 2
    state.load_query([("whole", "7")])
    assert (state.switch, state.whole) == (False, 7)
    assert Pair.seen == [{"switch", "word"}, {"whole"}, {"whole"}]


def test_a_state_may_read_a_key_by_the_others():
    class Even(Example):
        def read(self, key, text, before):
            value, moved = super().read(key, text, before)
            if key == "share" and value > before["whole"] / 10:
                raise Unusable("more than a tenth of the whole")
            return value, moved

    state = Even()
    assert state.load_query([("share", "0.8"), ("whole", "9")]) == ""
    assert state.take([("whole", "4"), ("share", "0.7")]) == {
        "share": "Share keeps 0.8: more than a tenth of the whole."
    }


@pytest.mark.parametrize("name", STATES)
def test_a_link_means_one_state_whatever_was_shown(name):
    """The query of a state leads to that state from any other, and is its own query."""
    links = [{}]
    for key in STATES[name].query_keys():
        parameter = STATES[name].param[key]
        options = getattr(parameter, "objects", None) or [parameter.default]
        links += [{key: to_text(option)} for option in options if option is not None]
    reached = []
    for link in links:
        fresh = STATES[name]()
        fresh.load_query(link.items())
        reached.append((link, values(fresh), fresh.query()))
    state = STATES[name]()
    for link, expected, query in reached * 2:
        state.load_query(link.items())
        assert values(state) == expected
        assert state.query() == query
        again = STATES[name]()
        again.load_query(query.items())
        assert values(again) == expected


@pytest.mark.parametrize("name", STATES)
def test_every_parameter_has_a_label_and_a_known_control(name):
    kinds = {"radios", "list", "slider", "number", "switch", "cell", "text", "run", "none"}
    for key in STATES[name].names():
        control = STATES[name].param[key].control
        assert control.label
        assert control.kind in kinds
        assert control.place in ("settings", "primary", "drawn", "numbers")


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "on"), (False, "off"), ((2, 3), "2,3"), ([0.5, 1.0], "0.5,1"), (1e20, "1e+20"), (0.1, "0.1"), (7, "7")],
)
def test_a_value_as_a_text(value, text):
    assert to_text(value) == text


@pytest.mark.parametrize("value", [0.1234567890123456789, 1 / 3, 1e-300, 123456789.123, 0.1 + 0.2])
def test_a_number_in_a_link_keeps_its_digits(value):
    assert float(to_text(value)) == value
