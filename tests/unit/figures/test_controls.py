"""Controls: roles, accessible names, what they send, and what they say of a value that was not used."""

import json
import re
from html import unescape
from html.parser import HTMLParser

import pytest

from figures.shared import controls
from figures.shared.state import Cell, Choice, Decimal, FigureState, Flag, LongRun, Numbers, Seed, Steps, Whole

SIZES = (1, 2, 64, 4096)


class Example(FigureState):
    """One parameter of each kind."""

    mode = Choice("a", {"a": "First & last", "b": "d_k"}, label="Mode")
    card = Choice(80, {80: "80 GB", 141: "141 GB"}, label="Card", kind="list")
    d_k = Steps(64, SIZES, label="d_k", places=(0, 0.1, 0.5, 1), text="{:,}".format, marks={1: "1", 4096: "4,096"})
    step = Whole(3, (1, 5), label="Step", kind="slider", stepper=True)
    p = Decimal(0.5, (0, 1), label="p", steps=(0, 0.5, 1.0))
    keys = Whole(6, (2, 16), label="Keys")
    seed = Seed(123, label="Weight seed")
    exact = Flag(False, label="Form real dot products")
    vector = Numbers([1.0, 2.0], (1, 8), (-9, 9), label="Vector")
    cell = Cell((2, 1), ("Your", "journey"), ("1", "2", "3"))
    draws = LongRun(0, 10_000)

    def progress(self):
        return 10_000, 2_500, self.draws > 0


class Elements(HTMLParser):
    """Every element with its attributes and the text inside it."""

    EMPTY = frozenset({"input"})

    def __init__(self, html):
        super().__init__()
        self.found, self._open = [], []
        self.feed(html)
        assert not self._open, f"left open: {self._open}"

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute twice: {names}"
        element = {"tag": tag, "text": "", **dict(attrs)}
        self.found.append(element)
        if tag not in self.EMPTY:
            self._open.append(element)

    def handle_endtag(self, tag):
        assert self._open.pop()["tag"] == tag

    def handle_data(self, data):
        for element in self._open:
            element["text"] += data

    def all(self, tag, **wanted):
        return [
            e for e in self.found if e["tag"] == tag and all(e.get(k.replace("_", "-")) == v for k, v in wanted.items())
        ]

    def one(self, tag, **wanted):
        (element,) = self.all(tag, **wanted)
        return element


@pytest.fixture
def state():
    return Example()


def drawn(state, key, note="", **options):
    return Elements(controls.render(state, key, {key: note} if note else {}, **options))


def test_radios(state):
    found = drawn(state, "mode")
    assert found.one("div", role="radiogroup")["aria-label"] == "Mode"
    radios = found.all("input", type="radio")
    assert [radio["aria-label"] for radio in radios] == ["First & last", "d_k"]
    assert [radio["data-set"] for radio in radios] == ["mode=a", "mode=b"]
    assert ["checked" in radio for radio in radios] == [True, False]
    assert {radio["name"] for radio in radios} == {"mode"}
    assert "d<sub>k</sub>" in controls.render(state, "mode", {})


def test_one_radio_holds_the_drawing_it_stands_for():
    html = controls.radio("mode", "b", "Tied", True, "<svg></svg>")
    assert Elements(html).one("input")["aria-label"] == "Tied"
    assert html.endswith("<svg></svg></label>")


def test_a_list(state):
    found = drawn(state, "card")
    assert found.one("select")["aria-label"] == "Card"
    assert found.one("select")["data-set"] == "card"
    assert [(option["value"], option["text"], "selected" in option) for option in found.all("option")] == [
        ("80", "80 GB", True),
        ("141", "141 GB", False),
    ]


def test_a_list_offers_what_the_state_has_narrowed_it_to():
    class Narrowed(Example):
        heads = Whole(None, (1, 99), label="Heads", kind="list")

        def offered(self, key):
            return ({1: "1", 2: "2", 4: "4"}, 2) if key == "heads" else None

    found = drawn(Narrowed(), "heads")
    assert [option["value"] for option in found.all("option")] == ["1", "2", "4"]
    assert [option["value"] for option in found.all("option") if "selected" in option] == ["2"]
    assert [option["value"] for option in drawn(Narrowed(), "card").all("option")] == ["80", "141"]


def test_a_slider_over_steps(state):
    found = drawn(state, "d_k")
    slider, field = found.one("input", type="range"), found.one("input", role="spinbutton")
    assert slider["aria-label"] == field["aria-label"] == "d_k"
    assert slider["data-set"] == field["data-set"] == "d_k"
    assert slider["data-values"] == "1,2,64,4096"
    assert slider["data-places"] == "0,0.1,0.5,1"
    assert (slider["min"], slider["max"], slider["step"], slider["value"]) == ("0", "1", "any", "0.5")
    assert slider["aria-valuetext"] == "64"
    state.d_k = 4096
    assert drawn(state, "d_k").one("input", type="range")["aria-valuetext"] == "4,096"
    assert found.one("label")["for"] == slider["id"]
    assert [mark["style"] for mark in found.all("i")] == ["left:0%", "left:100%"]


def test_the_arrow_keys_of_a_field_have_their_steps(state):
    field = drawn(state, "d_k").one("input", role="spinbutton")
    assert field["data-values"] == "1,2,64,4096"
    assert (field["aria-valuenow"], field["aria-valuemin"], field["aria-valuemax"]) == ("64", "1", "4096")
    plain = drawn(state, "keys").one("input")
    assert "data-values" not in plain  # by ones, between the ends
    assert (plain["aria-valuenow"], plain["aria-valuemin"], plain["aria-valuemax"]) == ("6", "2", "16")
    assert drawn(state, "step").one("input", type="range")["data-first"] == "1"


def test_a_value_between_two_steps_is_shown_as_it_is(state):
    state.p = 0.3
    found = drawn(state, "p")
    assert found.one("input", role="spinbutton")["value"] == "0.3"
    assert found.one("input", type="range")["value"] == "1"  # the nearest


@pytest.mark.parametrize(("key", "mode"), [("keys", "numeric"), ("d_k", "numeric"), ("seed", "numeric")])
def test_fields_bring_up_the_right_keyboard(state, key, mode):
    assert drawn(state, key).one("input", role="spinbutton")["inputmode"] == mode


def test_back_and_next_stay_within_the_ends(state):
    for value, back, further in ((1, "1", "2"), (3, "2", "4"), (5, "4", "5")):
        state.step = value
        buttons = drawn(state, "step").all("button")
        assert [(button["text"], button["data-set"]) for button in buttons] == [
            ("Back", f"step={back}"),
            ("Next", f"step={further}"),
        ]


def test_a_state_narrows_the_ends_of_a_number():
    class Narrowed(Example):
        def ends(self, key):
            return (1, 4) if key == "step" else None

    found = drawn(Narrowed(), "step")
    assert found.one("input", type="range")["max"] == "3"
    assert found.one("input", role="spinbutton")["aria-valuemax"] == "4"
    assert drawn(Narrowed(), "keys").one("input")["aria-valuemax"] == "16"


def test_resample_takes_the_next_seed_and_begins_again_after_the_last(state):
    assert drawn(state, "seed").one("button")["data-set"] == "seed=124"
    assert drawn(state, "seed").one("button")["text"] == "Resample"
    state.seed = 2**32 - 1
    assert drawn(state, "seed").one("button")["data-set"] == "seed=0"


def test_a_switch(state):
    switch = drawn(state, "exact").one("input", role="switch")
    assert (switch["type"], switch["aria-label"], switch["data-set"]) == ("checkbox", "Form real dot products", "exact")
    assert "checked" not in switch
    state.exact = True
    assert "checked" in drawn(state, "exact").one("input")


def test_a_text(state):
    field = drawn(state, "vector").one("input")
    assert (field["aria-label"], field["value"], field["aria-invalid"]) == ("Vector", "1,2", "false")


def test_row_and_column(state):
    found = drawn(state, "cell")
    row, column = found.all("select")
    assert (row["aria-label"], column["aria-label"]) == ("Row", "Column")
    values = [(option["value"], option["text"], "selected" in option) for option in found.all("option")]
    assert values == [
        ("1", "1 Your", False),
        ("2", "2 journey", True),
        ("1", "1", True),
        ("2", "2", False),
        ("3", "3", False),
    ]


def test_row_and_column_are_withheld_where_there_is_no_matrix():
    class Empty(Example):
        def cell_sides(self):
            return [], []

    found = drawn(Empty(), "cell")
    assert all("disabled" in select for select in found.all("select"))
    assert [option["text"] for option in found.all("option")] == ["—", "—"]


@pytest.mark.parametrize(("draws", "busy", "idle"), [(0, "false", "true"), (10_000, "true", "false")])
def test_a_long_run(state, draws, busy, idle):
    state.draws = draws
    found = drawn(state, "draws")
    run, cancel = found.all("button")
    assert (run["text"], run["data-set"], run["aria-busy"]) == ("Run 10,000 draws", "draws=10000", busy)
    assert (cancel["text"], cancel["data-set"], cancel["aria-disabled"]) == ("Cancel", "draws=0", idle)
    progress = found.one("progress")
    assert (progress["max"], progress["value"], progress["aria-label"]) == ("10000", "2500", "Draws done")
    assert "2,500 of 10,000" in found.one("span", **{"class": "progress"})["text"]


@pytest.mark.parametrize("key", ["keys", "d_k", "step", "p", "seed", "vector"])
def test_what_was_not_used_is_said_at_the_field(state, key):
    quiet, noted = drawn(state, key), drawn(state, key, "It keeps its value: d_k is no number.")
    (field,) = [e for e in noted.all("input") if e.get("role") == "spinbutton" or e["type"] == "text"]
    assert field["aria-invalid"] == "true"
    alert = noted.one("span", role="alert")
    assert alert["text"] == "It keeps its value: dk is no number."
    assert not quiet.all("span", role="alert")
    assert all(e.get("aria-invalid", "false") == "false" for e in quiet.all("input"))


def test_a_number_in_a_sentence(state):
    field = Elements(controls.inline(state, "d_k")).one("input")
    assert (field["role"], field["value"], field["data-set"]) == ("spinbutton", "64", "d_k")
    assert field["aria-label"] == "d_k, in the sentence"
    assert "data-drag" in field


def test_a_button_says_what_it_sets():
    button = Elements(controls.button("Go", "mode=b&step=2", name="Go on")).one("button")
    assert (button["type"], button["data-set"], button["aria-label"], button["text"]) == (
        "button",
        "mode=b&step=2",
        "Go on",
        "Go",
    )


@pytest.mark.parametrize("key", [key for key in Example.names() if key != "fold"])
@pytest.mark.parametrize("bare", [False, True])
def test_every_control_is_whole_html_and_sends_its_key(state, key, bare):
    found = drawn(state, key, bare=bare)
    senders = [e for e in found.found if "data-set" in e]
    assert senders
    assert {re.split("[=.]", e["data-set"])[0] for e in senders} == {key}
    for element in found.all("input") + found.all("select"):
        assert element["aria-label"]


def test_texts_of_readers_are_shown_as_text(state):
    html = controls.render(state, "keys", {"keys": "<img src=x onerror=alert(1)>"})
    assert "<img" not in html
    assert "<img src=x" in unescape(html)


def test_a_parameter_without_a_control_draws_nothing(state):
    assert controls.render(state, "fold", {}) == ""
    assert json.dumps(state.query()) == "{}"
