"""Figure 3: two paths, five steps, three fills, and the limit where one path ends."""

import itertools
import json
import re
from html import unescape

import numpy as np
import pytest

from figures.masking import FILLS, GAINS, STEPS, Masking, State, run

BREAKS = Masking.scenes["Naive path breaks"]
READOUTS = {
    "max_difference", "first_entry_naive", "first_entry_efficient", "visible_share", "row_2", "row_3",
    "leak_by_row", "vector_softmax",
}  # fmt: skip


@pytest.fixture(scope="module")
def figure(on_show):
    figure, _ = on_show(Masking)
    return figure


def texts(heatmap):
    return np.reshape(heatmap._cells.data["text"], (6, 6)).tolist()


def test_readouts_of_the_book(figure, read, recorded):
    values = read(figure)
    assert set(values) == READOUTS
    assert values["first_entry_naive"] == recorded("fig3_naive_first")
    assert values["first_entry_efficient"] == recorded("fig3_efficient_first")
    assert values["row_2"] == recorded("fig3_row2")
    assert values["row_3"] == recorded("fig3_row3")
    assert values["visible_share"] == 7 / 12
    assert values["leak_by_row"] == [0, 0, 0, 0, 0, 0]
    assert values["vector_softmax"] == recorded("fig3_softmax_counterexample")


def test_the_ends_agree_up_to_rounding(figure, read):
    assert 0 <= read(figure)["max_difference"] <= 2.3e-16
    assert 0 <= read(figure, mask="large")["max_difference"] <= 2.3e-16


@pytest.mark.parametrize("fill", FILLS)
def test_readouts_do_not_depend_on_the_step(figure, read, fill):
    first, *others = (read(figure, mask=fill, step=step) for step in range(1, STEPS + 1))
    assert all(other == first for other in others)


def test_zero_is_not_hidden(figure, read, recorded):
    values = read(figure, mask="zero")
    assert values["leak_by_row"] == recorded("fig3_zero_leak_rows")
    assert values["leak_by_row"][0] == recorded("fig3_zero_leak")
    assert values["max_difference"] == pytest.approx(values["leak_by_row"][0])
    assert "0.8029" in figure.summary()


def test_a_very_negative_fill_hides(figure, read):
    for gain in (0.1, 1, 1000):
        assert read(figure, mask="large", gain=gain)["leak_by_row"] == [0] * 6


def test_the_mask_acts_on_the_efficient_path_only():
    paths = [run(789, 1.0, fill).naive for fill in FILLS.values()]
    for step in range(STEPS):
        assert all((path[step] == paths[0][step]).all() for path in paths)


def test_steps_hold_the_quantities_they_name(recorded):
    result = run(789, 1.0, -np.inf)
    assert result.naive[0].tolist() == [recorded("s35_scores", i) for i in range(6)]
    assert result.naive[2].tolist() == [recorded("s35_weights", i) for i in range(6)]
    assert result.naive[3].sum(axis=1)[0] == recorded("fig3_naive_first")
    for end in (result.naive[4], result.efficient[3]):
        assert end.tolist() == [recorded("s35_causal", i) for i in range(6)]
        assert (end[~result.visible] == 0).all()
    assert (result.efficient[4] == result.efficient[3]).all()


def test_gain_multiplies_the_raw_scores(figure, read):
    plain, tenfold = read(figure), read(figure, gain=10)
    assert tenfold["first_entry_efficient"] == pytest.approx(10 * plain["first_entry_efficient"])
    assert tenfold["row_2"] != plain["row_2"]
    assert (GAINS[0], GAINS[-1], len(GAINS)) == (0.1, 1000, 81)
    assert 1.0 in GAINS


@pytest.mark.parametrize("step", range(1, STEPS + 1))
def test_where_the_naive_path_breaks(figure, read, step):
    assert read(figure, **{**BREAKS, "step": step})["max_difference"] is None
    assert "nothing left to divide by in rows 2 and 3" in figure.summary()
    assert sum(read(figure, **BREAKS)["row_2"]) == pytest.approx(1)


def test_a_broken_row_shows_no_numbers(figure, read):
    read(figure, **BREAKS, cell=(2, 1))
    assert texts(figure._naive)[1] == ["0 / 0"] * 6
    assert "which is 0 in rows 2 and 3" in figure._captions[0].object
    assert texts(figure._third)[1] == ["—"] * 6
    assert "nothing is left to divide by" in figure._words.object
    assert texts(figure._efficient)[1][0] == "1.000"
    assert texts(figure._naive)[5][0] == "≈ 0"


def test_every_corner_is_free_of_nan(figure, read):
    ends = itertools.product(FILLS, (0, BREAKS["seed"], 2**32 - 1), (0.1, 1000.0), range(1, STEPS + 1))
    for mask, seed, gain, step in ends:
        read(figure, mask=mask, seed=seed, gain=gain, step=step, cell=(1, 6))
        shown = figure.static_html() + figure.summary() + figure._words.object + figure._note.object
        assert not re.search(r"\bnan\b|\binf\b|Infinity|∞ [+·]", shown, re.IGNORECASE)
        for heatmap in (figure._naive, figure._efficient, figure._third):
            data = heatmap._cells.data
            assert not re.search(r"nan|inf", " ".join(data["text"] + data["how"] + data["colour"]))
            assert max(map(len, data["text"])) <= 7


def hatching(heatmap):
    """Which cells are hatched."""
    found = np.zeros((6, 6), dtype=bool)
    places = heatmap._hatching.data
    found[np.floor(places["y"]).astype(int), np.floor(places["x"]).astype(int)] = True
    return found


@pytest.mark.parametrize(("mask", "step_2", "step_3"), [("inf", "−∞", "−∞"), ("large", "−1e9", "−7e8")])
def test_hidden_scores_are_hatched(figure, read, mask, step_2, step_3):
    for step, text in ((2, step_2), (3, step_3)):
        read(figure, mask=mask, step=step)
        hatched = hatching(figure._efficient)
        assert (hatched == ~figure.result.visible).all()
        assert set(np.array(texts(figure._efficient))[hatched]) == {text}


def test_filled_zeros_are_not_hatched_and_zero_weights_print_zero(figure, read):
    read(figure, mask="zero", step=2)
    assert not hatching(figure._efficient).any()
    assert texts(figure._efficient)[0][1] == "0"
    read(figure, step=5)
    assert texts(figure._naive)[0] == texts(figure._efficient)[0] == ["1.000", "0", "0", "0", "0", "0"]


def test_infinities_are_shown_and_stored_as_what_they_are(figure, read):
    read(figure, step=2)
    html = figure.static_html()
    assert '<td data-value="null">−∞</td>' in html
    for value in re.findall(r'data-value="([^"]*)"', html):
        json.loads(unescape(value), parse_constant=lambda name: pytest.fail(name))


@pytest.mark.parametrize("step", [2, 3])
def test_a_weight_and_a_raw_score_are_told_apart(figure, read, step):
    read(figure, step=step)
    said = figure._note.object
    assert re.search(r"weight 0\.1921|0\.1921 on the left is a weight", said)
    assert re.search(r"0\.2899, is a raw score|0\.2899 it comes from was a raw score", said)


def test_titles_name_the_quantity_at_every_step(figure, read):
    seen = []
    for step in range(1, STEPS + 1):
        read(figure, step=step)
        seen.append([re.sub("<.*?>", "", title.object) for title in figure._titles])
    assert seen[0][:2] == ["Naive path: raw scores", "Efficient path: raw scores"]
    assert seen[2][:2] == ["Naive path: weights over all six", "Efficient path: scaled scores, future filled"]
    assert seen[4] == ["Naive path: weights", "Efficient path: weights", "Naive − efficient"]


def test_the_full_denominator_is_struck_out_twice(figure, read):
    read(figure, cell=(2, 1))
    assert re.findall("<s>(.*?)</s>", figure._words.object) == ["6.8092", "6.8092"]
    assert "1.3899 / 2.5195 = 0.5517" in figure._words.object


def test_the_third_map_shows_the_mask_then_the_difference(figure, read):
    read(figure, step=4)
    assert texts(figure._third)[1] == ["1", "1", "0", "0", "0", "0"]
    read(figure, step=5, mask="zero")
    assert texts(figure._third)[0][0] == "0.803"


def test_models_are_made_once(on_show, read):
    figure, document = on_show(Masking)
    made = {model.id for model in document.models}
    for step, mask in itertools.product((1, 5, 3), FILLS):
        read(figure, step=step, mask=mask)
    read(figure, **BREAKS, cell=(2, 3), vector=[1.0])
    assert {model.id for model in document.models} == made


def test_scenes_are_recognised(figure):
    for name in figure.scenes:
        figure.set_scene(name)
        assert [other for other, chip in figure._chips.items() if chip.pressed] == [name]


def test_back_and_next_stay_within_the_steps(figure, read):
    read(figure)
    buttons = {b.label: b for b in figure.__panel__().select(lambda v: getattr(v, "label", "") in ("Back", "Next"))}
    shown = []
    for name in ["Back", *["Next"] * 6, "Back"]:
        buttons[name].clicks += 1
        shown.append(figure.state.step)
    assert shown == [1, 2, 3, 4, 5, 5, 5, 4]


class TestVector:
    """The side panel with its text field."""

    def enter(self, figure, text):
        figure._entry._field.value = text
        return unescape(re.sub("<.*?>", "", figure._entry._notice.object))

    def test_numbers(self, figure, read):
        read(figure)
        assert self.enter(figure, " 1000, 1000,-1000 ") == ""
        assert figure.state.vector == [1000, 1000, -1000]
        assert read(figure, vector=[1000.0, 1000.0, -1000.0])["vector_softmax"] == [0.5, 0.5, 0]
        assert figure.query == {"vector": "1000,1000,-1000"}

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("1,x", "“x” is not a number"),
            ("", "“” is not a number"),
            ("1,,2", "“” is not a number"),
            ("1,2,3,4,5,6,7,8,9", "it takes 1 to 8 numbers"),
            ("<img src=x onerror=a()>", "“<img src=x onerror=a()>” is not a number"),
            ("nan", "“nan” is not a number"),
            ("__import__('os')", "“__import__('os')” is not a number"),
            ("9" * 10_000, "is not a number"),
        ],
    )
    def test_bad_text_keeps_the_former_numbers(self, figure, read, text, reason):
        read(figure, vector=[4.0, 2.0])
        notice = self.enter(figure, "3,2")
        notice = self.enter(figure, text)
        assert notice.startswith("Vector keeps its numbers: ")
        assert reason in notice
        assert len(notice) < 90
        assert figure.state.vector == [3, 2]
        assert figure._entry._field.html_attributes["data-aria-invalid"] == "true"
        assert "<img" not in figure._entry._notice.object
        read(figure)
        assert figure._entry._field.value == "1,2,3,0,0"
        assert figure._entry._notice.object == ""

    def test_numbers_out_of_bounds_are_moved_and_said(self, figure, read):
        read(figure)
        assert "was moved to 1000000,0" in self.enter(figure, "1e999,0")
        assert figure.state.vector == [1e6, 0]
        assert read(figure, vector=figure.state.vector)["vector_softmax"] == [1, 0]

    def test_a_zero_score_is_not_a_zero_weight(self, figure, read):
        read(figure)
        assert "here it gets 0.0311" in figure._softmax.object
        read(figure, vector=[1.0, 2.0])
        assert "0 is not a weight" not in figure._softmax.object


def test_links_carry_the_state():
    state = State()
    pairs = [("step", "3"), ("mask", "zero"), ("seed", "7"), ("gain", "2.5"), ("cell", "6,1"), ("vector", "1,-2.5")]
    assert state.load_query(pairs) == ""
    assert state.query() == dict(pairs)
    notice = state.load_query([("step", "9"), ("gain", "1e9"), ("cell", "0,7"), ("mask", "none"), ("vector", "1;2")])
    assert (state.step, state.gain, state.cell, state.mask, state.vector) == (5, 1000, (1, 6), "inf", [1, 2, 3, 0, 0])
    assert notice.count("was moved") == 3
    assert notice.count("was ignored") == 2
