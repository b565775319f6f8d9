"""Figure 3: two ways, five steps, three fills, and the limit where one way ends."""

import itertools
import re
from html import unescape

import numpy as np
import pytest

from attention_core import TOKENS, softmax
from figures import masking
from figures.masking import EFFICIENT, FILL_NAMES, FILLS, GAINS, NAIVE, SCENES, STEPS, VISIBLE, State, compute
from figures.shared.format import said

BREAKS = SCENES["Naive path breaks"]
READOUTS = {
    "max_difference", "first_entry_naive", "first_entry_efficient", "visible_share", "row_2", "row_3",
    "leak_by_row", "vector_softmax",
}  # fmt: skip
ROW, VECTOR = 1, 2  # places among the panels


@pytest.fixture(scope="module")
def figure(on_show):
    figure, _ = on_show(masking.app)
    return figure


def state_of(**values):
    state = State()
    state.set(**values)
    return state


def stage(figure):
    return masking.strips(figure.state, figure.result)


def explained(figure):
    i, j = figure.state.cell
    return masking.how(figure.state, figure.result, i - 1, j - 1)


def panel(figure, place):
    """Return a panel as HTML, with the fold open in which some lie."""
    figure.state.set(fold="numbers")
    return figure._parts[place][1].object


def grids(figure):
    """Return the three grids of numbers: texts and classes of their cells."""
    found = []
    for table in re.findall(r'<table class="grid".*?</table>', panel(figure, ROW)):
        cells = re.findall(r'<td class="([^"]*)"[^>]*data-set="cell=\d,\d"[^>]*>(.*?)</td>', table)
        found.append(([text for _, text in cells], [classes for classes, _ in cells]))
    return [(np.reshape(texts, (6, 6)).tolist(), np.reshape(classes, (6, 6)).tolist()) for texts, classes in found]


def texts(figure, place):
    return grids(figure)[place][0]


def hatching(figure, place):
    return np.array([["hidden" in classes for classes in row] for row in grids(figure)[place][1]])


def stops(figure):
    """Return the small grids of both ways: step, whether framed, how many cells are hatched, hue, name."""
    found = re.findall(
        r'<span class="stop" data-set="step=(\d)"( aria-current=step)?>(.*?)<b class="(\w+)">(.*?)</b>', stage(figure)
    )
    return [(int(step), bool(framed), drawn.count('"hidden"'), hue, name) for step, framed, drawn, hue, name in found]


def test_readouts_of_the_book(figure, read, recorded):
    values = read(figure)
    assert set(values) == READOUTS
    assert figure.state.step == 3
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
    values = read(figure, mask="zero", step=5)
    assert values["leak_by_row"] == recorded("fig3_zero_leak_rows")
    assert values["leak_by_row"][0] == recorded("fig3_zero_leak")
    assert values["max_difference"] == pytest.approx(values["leak_by_row"][0])
    assert "0.8029" in figure.sentence()
    assert "not the same" in stage(figure)
    assert "Why they do not end alike" in explained(figure)


def test_a_very_negative_fill_hides(figure, read):
    for gain in (0.1, 1.0, 1000.0):
        assert read(figure, mask="large", gain=gain)["leak_by_row"] == [0] * 6


def test_the_mask_acts_on_the_efficient_way_only():
    ways = [compute(state_of(mask=mask)).naive for mask in FILLS]
    for step in range(STEPS):
        assert all((way[step] == ways[0][step]).all() for way in ways)


def test_steps_hold_the_quantities_they_name(recorded):
    result = compute(State())
    assert result.naive[0].tolist() == [recorded("s35_scores", i) for i in range(6)]
    assert result.naive[2].tolist() == [recorded("s35_weights", i) for i in range(6)]
    assert result.naive[3].sum(axis=1)[0] == recorded("fig3_naive_first")
    for end in (result.naive[4], result.efficient[3]):
        assert end.tolist() == [recorded("s35_causal", i) for i in range(6)]
        assert (end[~VISIBLE] == 0).all()
    assert (result.efficient[4] == result.efficient[3]).all()


def test_gain_multiplies_the_raw_scores(figure, read):
    plain, tenfold = read(figure), read(figure, gain=10.0)
    assert tenfold["first_entry_efficient"] == pytest.approx(10 * plain["first_entry_efficient"])
    assert tenfold["row_2"] != plain["row_2"]
    assert (GAINS[0], GAINS[-1], len(GAINS)) == (0.1, 1000, 81)
    assert 1.0 in GAINS
    assert "10 (" in masking.how(state_of(step=1, gain=10.0), figure.result, 0, 0)


@pytest.mark.parametrize("step", range(1, STEPS + 1))
def test_where_the_naive_way_breaks(figure, read, step):
    assert read(figure, **{**BREAKS, "step": step})["max_difference"] is None
    assert "nothing left to divide by" in stage(figure)
    assert "partly 0 / 0" in stage(figure)
    assert figure._readings[0].beside == "nothing left to divide by"
    assert sum(read(figure, **BREAKS)["row_2"]) == pytest.approx(1)


def test_a_broken_row_shows_no_numbers(figure, read):
    read(figure, **BREAKS, cell=(2, 1))
    assert texts(figure, 0)[1] == ["0 / 0"] * 6
    assert "in rows 2 and 3" in figure.sentence()
    assert texts(figure, 2)[1] == ["—"] * 6
    assert "nothing is left to divide by" in explained(figure)
    assert texts(figure, 1)[1][0] == "1.000"
    assert texts(figure, 0)[5][0] == "≈ 0"


def test_every_corner_is_free_of_nan_and_fits_its_lines(figure, read):
    ends = itertools.product(FILLS, (0, BREAKS["seed"], 2**32 - 1), (0.1, 1000.0), range(1, STEPS + 1))
    for mask, seed, gain, step in ends:
        read(figure, mask=mask, seed=seed, gain=gain, step=step, cell=(1, 6))
        words = said(explained(figure))
        shown = figure.static_html() + words + stage(figure) + panel(figure, ROW)
        assert not re.search(r"\bnan\b|\binf\b|Infinity|∞ [+·]|\{", shown, re.IGNORECASE)
        for grid, _ in grids(figure):
            assert max(len(text) for row in grid for text in row) <= 7
        assert len(said(figure.sentence())) <= 150
        assert len(words) <= 300


@pytest.mark.parametrize(("mask", "step_2", "step_3"), [("inf", "−∞", "−∞"), ("large", "−1e9", "−7e8")])
def test_hidden_scores_are_hatched(figure, read, mask, step_2, step_3):
    for step, text in ((2, step_2), (3, step_3)):
        read(figure, mask=mask, step=step)
        hatched = hatching(figure, 1)
        assert (hatched == ~VISIBLE).all()
        assert set(np.array(texts(figure, 1))[hatched]) == {text}
        assert not hatching(figure, 0).any()


def test_filled_zeros_are_not_hatched_and_zero_weights_print_zero(figure, read):
    read(figure, mask="zero", step=2)
    assert not hatching(figure, 1).any()
    assert texts(figure, 1)[0][1] == "0"
    assert not any(hatched for *_, hatched, _, _ in stops(figure))
    read(figure, step=5)
    assert texts(figure, 0)[0] == texts(figure, 1)[0] == ["1.000", "0", "0", "0", "0", "0"]


def test_infinities_are_shown_and_stored_as_what_they_are(figure, read):
    read(figure, step=2)
    assert "<td>−∞</td>" in figure.static_html()


@pytest.mark.parametrize(("step", "naive", "efficient"), [(3, "weight", "score"), (2, "score", "score")])
def test_a_weight_and_a_score_are_told_apart(figure, read, step, naive, efficient):
    read(figure, step=step)
    words = said(explained(figure))
    assert re.search(rf"Naive: [\d.]+ is a {naive}", words)
    assert re.search(rf"Efficient: [\d.]+ is a {efficient}", words)


def test_both_numbers_of_the_first_cell_at_the_third_step(figure, read):
    read(figure)
    words = said(explained(figure))
    assert words.startswith(
        "Step 3, cell Your → Your Naive: 0.1921 is a weight: exp(0.2050) / 6.3891. "
        "Efficient: 0.2050 is a score: 0.2899 / √2."
    )
    assert "(1.2275 / 6.3891) / (1.2275 / 6.3891) = 1.0000" in words
    assert "a weight above, 0.1921, and a score below, 0.2050" in said(figure.sentence())


def test_each_step_says_how_its_cells_are_made(figure, read):
    found = {}
    for step in range(1, STEPS + 1):
        read(figure, step=step, cell=(2, 1))
        found[step] = said(explained(figure)).split("Why")[0]
    raw, scaled, weight = (compute(State()).naive[step][1, 0] for step in range(3))
    assert "·" in found[1]
    assert found[1].endswith("Efficient: the same score. ")
    assert f"{scaled:.4f} is a score: {raw:.4f} / √2. Efficient: {raw:.4f} is a score, as it was." in found[2]
    assert f"{weight:.4f} is left of a weight: {weight:.4f} × 1. Efficient: 0.5517 is a weight: exp(" in found[4]
    kept = compute(State()).kept[1]
    assert f"0.5517 is a weight: {weight:.4f} / {kept:.4f}. Efficient: 0.5517 is a weight, as it was." in found[5]
    read(figure, step=2, cell=(1, 2), mask="large")
    assert "−1.0 × 10⁹ in place of" in said(explained(figure))
    read(figure, step=4, cell=(1, 2))
    assert "× 0" in said(explained(figure))


def test_the_full_denominator_is_struck_out_twice(figure, read):
    read(figure, cell=(2, 1))
    assert re.findall("<s>(.*?)</s>", explained(figure)) == ["6.8092", "6.8092"]
    assert "(1.3899 / 6.8092) / (2.5195 / 6.8092) = 0.5517" in said(explained(figure))


class TestStrips:
    """Both ways as strips of small grids, which are the control too."""

    def test_hues_names_and_hatching(self, figure, read):
        read(figure)
        found = stops(figure)
        assert [stop[0] for stop in found] == [1, 2, 3, 4, 5] * 2
        assert [hue for *_, hue, _ in found] == ["score"] * 2 + ["weight"] * 3 + ["score"] * 3 + ["weight"] * 2
        assert [hatched for *_, hatched, _, _ in found] == [0] * 6 + [15, 15] + [0] * 2
        assert [name for *_, name in found] == [
            *("scores", "scores / √2", "weights", "what is left", "weights"),
            *("scores", "future at −∞", "scores / √2", "weights", "weights"),
        ]

    @pytest.mark.parametrize("mask", FILLS)
    def test_arrows_name_the_operations(self, figure, read, mask):
        read(figure, mask=mask)
        assert re.findall(r'<span class="operation"><span>(.*?)</span>', stage(figure)) == [
            *("÷ √2", "softmax", "× mask", "÷ row sum"), *(FILL_NAMES[mask], "÷ √2", "softmax", "done"),
        ]  # fmt: skip

    def test_the_stages_of_the_step_are_framed(self, figure, read):
        read(figure)
        for step in (1, 5, 2, 4, 3):
            figure.take([("step", str(step))])
            assert [stop[0] for stop in stops(figure) if stop[1]] == [step, step]

    def test_the_selected_cell_is_marked_in_them(self, figure, read):
        read(figure, cell=(4, 2))
        assert stage(figure).count("--row:4;--column:2") == 10

    @pytest.mark.parametrize(
        ("state", "verdict"),
        [({}, "the same"), ({"mask": "large"}, "the same"), ({"mask": "zero"}, "not the same"), (BREAKS, "no end")],
    )
    def test_the_bracket_says_whether_the_ends_are_the_same(self, figure, read, state, verdict):
        values = read(figure, **state)
        assert f'<p class="verdict"><b>{verdict}</b>' in stage(figure)
        if values["max_difference"]:
            assert masking.fixed(values["max_difference"]) in stage(figure)

    def test_lost_digits_and_equal_ends_have_words_of_their_own(self):
        run = compute(State())
        same = run._replace(naive=[*run.naive[:4], run.efficient[4]])
        assert masking.verdict(same) == ("the same", "to the last digit")
        assert "to the last digit" in masking.conclusion(same)
        lost = run._replace(naive=[*run.naive[:4], run.efficient[4] + 1e-6 * VISIBLE])
        assert masking.verdict(lost)[0] == "digits lost"
        assert "digits are lost" in masking.conclusion(lost)

    def test_a_kind_for_each_step(self):
        assert [NAIVE.kind(step) for step in (1, 3, 5)] == ["score", "weight", "weight"]
        assert [EFFICIENT.kind(step) for step in (1, 3, 5)] == ["score", "score", "weight"]


def test_grids_of_numbers_follow_the_step(figure, read):
    names = []
    for step in range(1, STEPS + 1):
        read(figure, step=step)
        names.append(re.findall(r'aria-label="([^"]*), 6 by 6"', panel(figure, ROW)))
        shown = figure.result.naive[step - 1]
        assert texts(figure, 0)[5][0] == f"{shown[5, 0]:.3f}"
    assert names[0][:2] == ["Naive, step 1: scores", "Efficient, step 1: scores"]
    assert names[2][:2] == ["Naive, step 3: weights", "Efficient, step 3: scores / √2"]
    assert {name[2] for name in names} == {"The ends: naive − efficient"}
    read(figure, step=5, mask="zero")
    assert texts(figure, 2)[0][0] == "0.803"


def test_a_cell_of_a_grid_selects(figure, read):
    read(figure)
    figure.take([("cell", "3,2")])
    assert re.findall(r' selected"[^>]*data-set="cell=(\S+?)"', panel(figure, ROW)) == ["3,2"] * 3
    assert "cell starts → journey" in said(figure._below.object)


def test_numbers_for_cells_are_short():
    found = [masking.compact(value) for value in (0.0, -np.inf, 1e-120, 1e-5, 1234567.0, 0.25, 12.345, -512.07, 9999.9)]
    assert found == ["0", "−∞", "≈ 0", "1e-5", "1e6", "0.250", "12.35", "−512.1", "10000"]


def test_models_are_made_once(on_show, read):
    figure, document = on_show(masking.app)
    made = {model.id for model in document.models}
    for step, mask in itertools.product((1, 5, 3), FILLS):
        read(figure, step=step, mask=mask)
    read(figure, **BREAKS, cell=(2, 3), vector=[1.0])
    assert {model.id for model in document.models} == made


def test_a_scene_is_pressed_in_its_state_only(figure, read):
    assert list(SCENES) == [
        "Start", "Where the two look unrelated", "Same end", "Mask with zero", "Naive path breaks",
    ]  # fmt: skip
    for name in figure.scenes:
        figure.set_scene(name)
        figure.state.set(cell=(4, 5), vector=[1.0])
        pressed = re.findall(r'data-set="scene=([^"]+)"[^>]*aria-pressed="true"', figure._foot.object)
        assert pressed == [name]
        figure.take([("gain", "2")])
        assert not figure.in_scene(name)
    read(figure)
    assert figure.in_scene("Where the two look unrelated")


def test_back_and_next_stay_within_the_steps(figure, read):
    read(figure)
    shown = []
    for name in ["Back", *["Next"] * 6, "Back"]:
        (pair,) = re.findall(rf'data-set="(step=\d)"[^>]*>{name}</button>', figure._primary.object)
        figure.take([tuple(pair.split("="))])
        shown.append(figure.state.step)
    assert shown == [2, 3, 4, 5, 5, 5, 5, 4]


def test_the_controls_stand_where_they_belong(figure, read):
    read(figure)
    primary, settings = figure._primary.object, figure._settings.object
    for name in ("Step", "Mask", "−∞", "0", "−1e9"):
        assert f'aria-label="{name}"' in primary
    for name in ("Weight seed", "Scores ×", "Row", "Column"):
        assert f'aria-label="{name}"' in settings
    assert 'aria-label="Vector"' in panel(figure, VECTOR)
    assert "Vector" not in primary + settings


class TestVector:
    """The field for a vector, with its softmax."""

    def enter(self, figure, text):
        figure.take([("vector", text)])
        (note,) = re.findall(r'role="alert">(.*?)</span>', panel(figure, VECTOR)) or [""]
        return unescape(note)

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
        assert self.enter(figure, "3,2") == ""
        note = self.enter(figure, text)
        assert note.startswith("Vector keeps 3,2: ")
        assert reason in note
        assert len(note) < 90
        assert figure.state.vector == [3, 2]
        assert 'aria-invalid="true"' in panel(figure, VECTOR)
        assert "<img" not in panel(figure, VECTOR)
        read(figure)
        assert 'value="1,2,3,0,0"' in panel(figure, VECTOR)
        assert 'role="alert"' not in panel(figure, VECTOR)

    def test_numbers_out_of_bounds_are_moved_and_said(self, figure, read):
        read(figure)
        assert "was moved to 1000000,0" in self.enter(figure, "1e999,0")
        assert figure.state.vector == [1e6, 0]
        assert read(figure, vector=figure.state.vector)["vector_softmax"] == [1, 0]

    def test_a_zero_score_is_not_a_zero_weight(self, figure, read):
        read(figure)
        assert "here it gets 0.0311" in panel(figure, VECTOR)
        read(figure, vector=[1.0, 2.0])
        assert "not a weight of 0" not in panel(figure, VECTOR)

    def test_a_column_for_each_number(self, figure, read):
        values = read(figure, vector=[1.0, -2.5, 1e6, 0.0])
        found = re.findall(r"<li><b>(.*?)</b>.*?<span>(.*?)</span></li>", panel(figure, VECTOR))
        assert [name for _, name in found] == ["1", "−2.5", "1 × 10⁶", "0"]
        assert [text for text, _ in found] == [masking.fixed(weight) for weight in values["vector_softmax"]]
        assert values["vector_softmax"] == pytest.approx(softmax([1, -2.5, 1e6, 0]))


@pytest.mark.parametrize("state", [*SCENES.values(), {"gain": 0.35, "seed": 5, "mask": "large", "vector": [1.0, -1.0]}])
def test_the_code_computes_the_readouts(figure, read, state):
    values = read(figure, **state)
    found = {}
    exec(masking.code(figure.state, figure.result), found)
    for name in READOUTS - {"visible_share"}:
        if values[name] is not None:
            assert np.asarray(found[name]) == pytest.approx(values[name], rel=1e-12, abs=1e-15)
    assert "max_difference" in figure._listing.object


def test_a_change_of_the_step_computes_nothing(figure, read):
    read(figure)
    before = figure.result
    figure.state.set(step=5, cell=(6, 1), vector=[1.0])
    assert figure.result is before
    figure.state.set(mask="zero")
    assert figure.result is not before


def test_nothing_waits_and_nothing_is_kept_from_the_memory(figure, read):
    read(figure)
    figure.finish()
    figure.lighten()
    assert figure.result.naive[4].shape == (6, 6)


def test_text_is_shown_as_text(figure, read, monkeypatch):
    monkeypatch.setattr(masking, "TOKENS", ("<img src=x>", *TOKENS[1:]))
    for step, mask in itertools.product((3, 5), FILLS):
        read(figure, step=step, mask=mask)
        assert "<img" not in explained(figure) + figure.sentence() + figure.static_html()
        assert "&lt;img src=x&gt;" in explained(figure)


def test_links_carry_the_state():
    state = State()
    pairs = [("step", "2"), ("mask", "zero"), ("seed", "7"), ("gain", "2.5"), ("cell", "6,1"), ("vector", "1,-2.5")]
    assert state.load_query(pairs) == ""
    assert state.query() == dict(pairs)
    notice = state.load_query([("step", "9"), ("gain", "1e9"), ("cell", "0,7"), ("mask", "none"), ("vector", "1;2")])
    assert (state.step, state.gain, state.cell, state.mask, state.vector) == (5, 1000, (1, 6), "inf", [1, 2, 3, 0, 0])
    assert notice.count("was moved") == 3
    assert notice.count("was ignored") == 2
