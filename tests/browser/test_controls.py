"""Every control and every scene of every figure: used by role and name, the right readouts change to the right numbers.

To add a figure, add its rows to `CONTROLS` and `SCENES`. An expected value is the name of a number of
``tests/data/numbers.json`` (with a path into it where it is a table), or a `Literal`.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pytest
from playwright.sync_api import expect

from attention_core import sample_scores, softmax
from figures.scaling import State


class Literal(NamedTuple):
    """A value that needs no source, or follows from one in a line."""

    value: Any
    tolerance: float = 0.0


class Use(NamedTuple):
    """One use of a control: its role, its exact name, and what is chosen, typed or pressed.

    The role ``key`` is a button used by keyboard, which also reaches one that is disabled for now.
    """

    role: str
    name: str
    value: str = ""


class Row(NamedTuple):
    """What a reader does, one thing after the other, and what a readout then shows."""

    figure: str
    uses: list[Use]
    readout: str
    expected: Any  # a name in numbers.json, a tuple that leads into a table there, or a Literal


TYPICAL = State.param.draw.default  # the draw that figure 2 opens with


def drawn(seed: int, draw: int, *, exact: bool = False) -> Literal:
    """The largest weight of one draw at d_k = 768 with six keys and no divisor, worked out here."""
    scores = sample_scores(np.random.default_rng(seed), 768, 6, draw, exact=exact)[-1]
    return Literal(float(softmax(scores).max()), 1e-9)


NONE = Use("radiogroup", "Mode", "No matrices")
TIED = Use("radiogroup", "Mode", "Tied")
SEPARATE = Use("radiogroup", "Mode", "Separate")
ONE = Use("radiogroup", "Divisor", "1")
TOY = Use("radiogroup", "Preset", "Toy")
SHORT = Use("spinbutton", "Context length", "1024")

CONTROLS = [
    Row("asymmetry", [NONE], "score_error", "fig1_none_score_error"),
    Row("asymmetry", [NONE], "weight_error", ("fig1_none_weight_error_sqrt2", "max_abs")),
    Row("asymmetry", [NONE], "score_pair", Literal([1.4754, 1.4754], 1e-12)),
    Row("asymmetry", [NONE], "row_sums", "fig1_row_sums"),
    Row("asymmetry", [NONE], "softmax_denominators", "fig1_denominators_sqrt2"),
    Row("asymmetry", [NONE], "context_journey", "fig1_none_context_journey_sqrt2"),
    Row("asymmetry", [NONE], "input_spread", "intro_spread_inputs"),
    Row("asymmetry", [TIED], "score_error", "fig1_tied_score_error"),
    Row("asymmetry", [TIED], "weight_error", "fig1_tied_weight_error"),
    Row("asymmetry", [SEPARATE], "score_error", "fig1_separate_score_error"),
    Row("asymmetry", [SEPARATE], "weight_error", "fig1_separate_weight_error"),
    Row("asymmetry", [SEPARATE], "context_journey", ("s34_context", 1)),
    Row("asymmetry", [NONE, ONE], "weight_error", ("fig1_none_weight_error_unscaled", "max_abs")),
    Row("asymmetry", [NONE, ONE], "context_journey", "intro_context_journey"),
    Row("asymmetry", [NONE, ONE], "output_spread", "intro_spread_outputs"),
    Row("asymmetry", [NONE, ONE], "spread_ratio", "intro_spread_ratio"),
    Row("asymmetry", [NONE, ONE], "nearest", "intro_nearest"),
    Row("asymmetry", [NONE, ONE, Use("radiogroup", "Show", "Scores")], "nearest", "intro_nearest"),
    Row("asymmetry", [NONE, ONE, Use("radiogroup", "Divisor", "√d_k")], "weight_error", ("fig1_none_weight_error_sqrt2", "max_abs")),
    Row("asymmetry", [SEPARATE, Use("combobox", "Row", "1 Your")], "pair", ("s34_weights", (0, 2), (2, 0))),
    Row("asymmetry", [SEPARATE, Use("combobox", "Column", "6 step")], "score_pair", ("s34_scores", (1, 5), (5, 1))),
    Row("asymmetry", [SEPARATE, Use("spinbutton", "Weight seed", "5"), Use("spinbutton", "Weight seed", "123")], "weight_error", "fig1_separate_weight_error"),
    Row("scaling", [], "score_sd_theory", Literal(768**0.5, 1e-12)),
    Row("scaling", [], "top_weight", drawn(1, TYPICAL)),
    Row("scaling", [Use("spinbutton", "d_k", "4096")], "score_sd_theory", Literal(64.0, 1e-12)),
    Row("scaling", [Use("spinbutton", "d_k", "4096")], "jacobian_median_scaled", Literal(0.2337, 0.006)),
    Row("scaling", [Use("slider", "d_k", "Home")], "score_sd_theory", Literal(1.0, 1e-12)),
    Row("scaling", [Use("radiogroup", "Divisor", "√d_k")], "jacobian_chosen", Literal(0.2337, 0.01)),
    Row("scaling", [Use("radiogroup", "Divisor", "d_k")], "jacobian_chosen", Literal(5 / 36, 0.02)),
    Row("scaling", [Use("spinbutton", "d_k", "64"), Use("spinbutton", "Keys", "7")], "jacobian_median", Literal(0.0294, 0.0135)),
    Row("scaling", [Use("spinbutton", "d_k", "64"), Use("spinbutton", "Draws", "2000")], "jacobian_median", Literal(0.0234, 0.0085)),
    Row("scaling", [Use("spinbutton", "Draw", "2")], "top_weight", drawn(1, 2)),
    Row("scaling", [Use("combobox", "Row", "2"), Use("combobox", "Column", "6")], "top_weight", drawn(1, TYPICAL)),
    Row("scaling", [Use("spinbutton", "Seed", "2")], "top_weight", drawn(2, TYPICAL)),
    Row("scaling", [Use("button", "Resample")], "top_weight", drawn(2, TYPICAL)),
    Row("scaling", [Use("switch", "Form real dot products")], "top_weight", drawn(1, TYPICAL, exact=True)),
    Row("masking", [], "first_entry_naive", "fig3_naive_first"),
    Row("masking", [], "first_entry_efficient", "fig3_efficient_first"),
    Row("masking", [], "row_2", "fig3_row2"),
    Row("masking", [], "row_3", "fig3_row3"),
    Row("masking", [], "vector_softmax", "fig3_softmax_counterexample"),
    Row("masking", [], "visible_share", Literal(7 / 12, 1e-12)),
    Row("masking", [], "max_difference", Literal(0.0, 1e-15)),
    Row("masking", [Use("radiogroup", "Mask", "0")], "leak_by_row", "fig3_zero_leak_rows"),
    Row("masking", [Use("radiogroup", "Mask", "−1e9")], "leak_by_row", Literal([0.0] * 6, 1e-12)),
    Row("masking", [Use("spinbutton", "Scores ×", "10")], "first_entry_efficient", Literal(2.899088863119024, 1e-6)),
    Row("masking", [Use("slider", "Scores ×", "Home")], "first_entry_efficient", Literal(0.02899088863119024, 1e-7)),
    Row("masking", [Use("combobox", "Row", "3 starts"), Use("combobox", "Column", "2 journey")], "row_2", "fig3_row2"),
    Row("masking", [Use("spinbutton", "Weight seed", "5"), Use("spinbutton", "Weight seed", "789")], "first_entry_naive", "fig3_naive_first"),
    Row("masking", [Use("textbox", "Vector", "0,0")], "vector_softmax", Literal([0.5, 0.5], 1e-12)),
    Row("masking", [Use("button", "Next"), Use("button", "Back"), Use("slider", "Step", "End")], "row_3", "fig3_row3"),
    Row("dropout", [], "row_sums", "fig4_dropped_row_sums"),
    Row("dropout", [], "kept", Literal(12)),
    Row("dropout", [], "factor", Literal(2.0)),
    Row("dropout", [Use("slider", "p", "Home")], "factor", Literal(1.0)),
    Row("dropout", [Use("spinbutton", "p", "0.1")], "factor", Literal(1 / 0.9, 1e-12)),
    Row("dropout", [Use("spinbutton", "p", "1")], "factor", Literal(None)),
    Row("dropout", [Use("switch", "Rescale survivors")], "mean_row_sum_theory", Literal(0.5, 1e-12)),
    Row("dropout", [Use("spinbutton", "Seed", "5"), Use("spinbutton", "Seed", "123")], "row_sums", "fig4_dropped_row_sums"),
    Row("dropout", [Use("spinbutton", "Seed", "122"), Use("button", "Resample")], "row_sums", "fig4_dropped_row_sums"),
    Row("dropout", [Use("combobox", "Row", "3 starts"), Use("combobox", "Column", "2 journey")], "kept", Literal(12)),
    Row("dropout", [Use("button", "Run 10,000 draws")], "draws_done", Literal(10_000)),
    Row("dropout", [Use("key", "Cancel")], "draws_done", Literal(10_000)),
    Row("heads", [TOY], "head_dim", ("fig5_params_toy", "head_dim")),
    Row("heads", [TOY], "parameters", ("fig5_params_toy", "split_total")),
    Row("heads", [TOY, Use("slider", "Line", "Home")], "shape", Literal([2, 6, 3])),
    Row("heads", [Use("radiogroup", "Preset", "GPT-2")], "divisor", "fig5_divisor_split"),
    Row("heads", [Use("radiogroup", "Preset", "GPT-2")], "divisor_wrong", "fig5_divisor_wrong"),
    Row("heads", [Use("radiogroup", "Preset", "GPT-2")], "parameters", ("fig5_params_gpt2", "split_total")),
    Row("heads", [Use("radiogroup", "Preset", "GPT-2")], "max_difference", Literal(None)),
    Row("heads", [TOY, Use("radiogroup", "Preset", "Small")], "head_dim", Literal(2)),
    Row("heads", [TOY, Use("radiogroup", "Class", "Wrapper")], "output_width", Literal(4)),
    Row("heads", [TOY, Use("radiogroup", "Class", "Wrapper")], "projection_products", ("fig5_matmuls_toy", "wrapper_projections")),
    Row("heads", [TOY, Use("combobox", "Heads", "1")], "head_dim", Literal(2)),
    Row("heads", [Use("spinbutton", "Head shown", "2")], "max_difference", Literal(0.0, 1e-15)),
    Row("heads", [Use("button", "Next")], "shape", Literal([1, 4, 6, 2])),
    Row("heads", [Use("button", "Next"), Use("button", "Back")], "shape", Literal([1, 6, 4, 2])),
    Row("heads", [Use("combobox", "Row", "5"), Use("combobox", "Column", "2")], "max_difference", Literal(0.0, 1e-15)),
    Row("heads", [Use("slider", "Line", "End")], "shape", Literal([1, 6, 8])),
    Row("cost", [SHORT], "score_bytes", "fig6_bytes_1024"),
    Row("cost", [SHORT], "masked_share", ("fig6_masked_share", "1024")),
    Row("cost", [], "crossover", ("fig6_crossover", "against_qkv")),
    Row("cost", [Use("spinbutton", "Context length", "1047576")], "score_bytes", "fig6_bytes_window"),
    Row("cost", [Use("spinbutton", "Context length", "1047576")], "cards_ratio", ("fig6_cards", "ratio_80_GiB")),
    Row("cost", [Use("spinbutton", "Context length", "1047576")], "hours", ("fig6_seconds", "hours")),
    Row("cost", [Use("slider", "Context length", "End")], "score_bytes", Literal(2_199_023_255_552)),
    Row("cost", [SHORT, Use("radiogroup", "Bytes per score", "4")], "score_bytes", Literal(4_194_304)),
    Row("cost", [SHORT, Use("spinbutton", "Heads", "12")], "score_bytes", Literal(25_165_824)),
    Row("cost", [SHORT, Use("spinbutton", "Layers", "12")], "score_bytes", Literal(25_165_824)),
    Row("cost", [Use("spinbutton", "d", "64")], "crossover", Literal(96.0, 1e-9)),
    Row("cost", [Use("spinbutton", "Context length", "1047576"), Use("radiogroup", "1k means", "1,000")], "hours", ("fig6_seconds", "hours_if_1k_is_1000")),
    Row("cost", [Use("spinbutton", "Context length", "1047576"), Use("combobox", "Card", "H100, as sold: 80 GB")], "cards", ("fig6_cards", "ceil_80_GB")),
]  # fmt: skip

SCENES = [
    Row("asymmetry", [Use("button", "No divisor")], "context_journey", "intro_context_journey"),
    Row("asymmetry", [Use("button", "No divisor")], "spread_ratio", "intro_spread_ratio"),
    Row("asymmetry", [Use("button", "Symmetric scores, lopsided weights")], "score_error", "fig1_none_score_error"),
    Row("asymmetry", [Use("button", "Tied")], "weight_error", "fig1_tied_weight_error"),
    Row("asymmetry", [Use("button", "Separate")], "score_error", "fig1_separate_score_error"),
    Row("asymmetry", [Use("button", "W_k = 2 W_q")], "score_error", "fig1_counterexample_scaled_key"),
    Row("asymmetry", [Use("button", "Orthonormal inputs")], "weight_error", "fig1_counterexample_symmetric_weights"),
    Row("scaling", [Use("button", "d_k = 2")], "score_sd_theory", Literal(2**0.5, 1e-12)),
    Row("scaling", [Use("button", "GPT-2's 64")], "score_sd_theory", Literal(8.0, 1e-12)),
    Row("scaling", [Use("button", "768 with no divisor")], "live_share", Literal(1 / 3, 0.1)),
    Row("scaling", [Use("button", "4096: the gradient is gone")], "score_sd_theory", Literal(64.0, 1e-12)),
    Row("scaling", [Use("button", "4096, scaled")], "jacobian_chosen", Literal(0.2337, 0.006)),
    Row("masking", [Use("button", "Start")], "row_2", "fig3_row2"),
    Row("masking", [Use("button", "Where the two look unrelated")], "first_entry_naive", "fig3_naive_first"),
    Row("masking", [Use("button", "Same end")], "row_3", "fig3_row3"),
    Row("masking", [Use("button", "Mask with zero")], "leak_by_row", "fig3_zero_leak_rows"),
    Row("masking", [Use("button", "Naive path breaks")], "max_difference", Literal(None)),
    Row("dropout", [Use("button", "The book's printed mask")], "row_sums", "fig4_dropped_row_sums"),
    Row("dropout", [Use("button", "GPT's rate, 0.1")], "factor", Literal(1 / 0.9, 1e-12)),
    Row("dropout", [Use("button", "p = 0.5, ten thousand draws")], "mean_row_sum", Literal(1.0, 0.0105)),
    Row("dropout", [Use("button", "Without rescaling")], "mean_row_sum_theory", Literal(0.5, 1e-12)),
    Row("heads", [Use("button", "The book's toy")], "head_dim", ("fig5_params_toy", "head_dim")),
    Row("heads", [Use("button", "A head you can see")], "max_difference", Literal(0.0, 1e-15)),
    Row("heads", [Use("button", "GPT-2 divides by 8")], "divisor", "fig5_divisor_split"),
    Row("heads", [Use("button", "Wrapper at matched width")], "parameters", ("fig5_params_gpt2", "wrapper_qkv_at_matched_width")),
    Row("cost", [Use("button", "1,024 tokens: nothing")], "score_bytes", "fig6_bytes_1024"),
    Row("cost", [Use("button", "A million tokens")], "score_bytes", "fig6_bytes_window"),
    Row("cost", [Use("button", "A million tokens")], "cards", ("fig6_cards", "ceil_80_GiB")),
    Row("cost", [Use("button", "Where quadratic overtakes")], "crossover", ("fig6_crossover", "against_qkv")),
    Row("cost", [Use("button", "All heads, all layers")], "score_bytes", Literal(20_227_562_049_503_232)),
]  # fmt: skip


def scene_names(figure: str) -> list[str]:
    """The names of a figure's scenes, in their order."""
    return list(dict.fromkeys(row.uses[0].name for row in SCENES if row.figure == figure))


# Reads the name of the element that has the focus, also inside shadow roots.
FOCUSED = """() => {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  if (!at?.closest) return '';
  return at.getAttribute('aria-label') ?? at.closest('label')?.textContent?.trim() ?? at.textContent.trim();
}"""


# Whether the element that has the focus, or what stands for it, shows that.
RING = """() => {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  const looks = (e, pseudo) => getComputedStyle(e, pseudo);
  const rings = (s) => (s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2) || s.boxShadow !== 'none';
  return rings(looks(at)) || rings(looks(at, '::after')) || (at.parentElement && rings(looks(at.parentElement)));
}"""


@pytest.fixture
def card(shared, no_fault, figure):
    """A figure in its default state, on a page that stays open."""
    card = shared.figure(figure)
    card.settle()
    return card


def known(numbers, expected):
    """Return an expected value and its tolerance."""
    if isinstance(expected, Literal):
        return expected
    name, *path = (expected,) if isinstance(expected, str) else expected
    value, tolerance = numbers[name]["value"], numbers[name]["tolerance"]
    if path and all(isinstance(step, tuple) for step in path):  # cells of a matrix, as (row, column)
        return [value[row][column] for row, column in path], tolerance
    for step in path:
        value = value[step]
    return value, tolerance


def said(row):
    return ", ".join([*(use.value or use.name for use in row.uses), row.readout])


@pytest.mark.parametrize(("figure", "row"), [(row.figure, row) for row in CONTROLS + SCENES],
    ids=[f"{row.figure}: {said(row)}" for row in CONTROLS + SCENES])  # fmt: skip
def test_control(card, row, numbers):
    for use in row.uses:
        card.operate(*use)
    card.shows(row.readout, *known(numbers, row.expected))


def test_every_control_is_in_the_table(card, figure):
    described = {use.name for row in CONTROLS + SCENES if row.figure == figure for use in row.uses}
    present = set()
    for fold in ("settings", "numbers"):
        card.open(fold)
        for role in ("radiogroup", "combobox", "spinbutton", "slider", "switch", "checkbox", "textbox", "button"):
            for element in card.stage.get_by_role(role).all():
                name = element.evaluate("e => e.getAttribute('aria-label') ?? e.textContent.trim()")
                assert name, f"a {role} has no name"
                # Folds, the number in the sentence, and the heads of the drawing have tests of their own.
                if not element.evaluate("e => e.matches('[data-fold], [data-drag], [data-set^=\"head=\"]')"):
                    present.add(name)
    assert present == described


def test_pressed_scene_is_marked(card, figure):
    for name in scene_names(figure):
        card.operate("button", name)
        expect(card.control("button", name)).to_have_attribute("aria-pressed", "true")


def test_keyboard_reaches_every_control(card, shared, figure):
    # From the first scene on, Tab comes by every control once, in the order of the card, and leaves it again.
    card.open("settings")
    names = """(stage) => {
      const found = [];
      const look = (root) => {
        for (const e of root.querySelectorAll('*')) {
          if (e.matches('input, select, textarea, button, [tabindex="0"]') && e.tabIndex >= 0 && e.getClientRects().length
              && !(e.type === 'radio' && !e.checked)) found.push(e.getAttribute('aria-label') ?? e.textContent.trim());
          if (e.shadowRoot) look(e.shadowRoot);
        }
      };
      look(stage);
      return found;
    }"""
    expected = card.stage.evaluate(names)
    assert len(expected) > 8
    card.element.evaluate("e => { e.tabIndex = -1; e.focus(); }")
    met = []
    for _ in expected:
        shared.page.keyboard.press("Tab")
        met.append(shared.page.evaluate(FOCUSED))
        assert shared.page.evaluate(RING), f"{met[-1]} shows no focus"
    assert sorted(met) == sorted(expected)
    shared.page.keyboard.press("Tab")
    assert shared.page.evaluate(FOCUSED) == "Reset"


def test_arrow_keys_choose_a_mode(shared, reader, numbers):
    card = shared.figure("asymmetry")
    card.settle()
    card.control("radio", "No matrices").focus()
    shared.page.keyboard.press("ArrowRight")
    card.shows("weight_error", *known(numbers, "fig1_tied_weight_error"))
    shared.page.keyboard.press("ArrowRight")
    card.shows("weight_error", *known(numbers, "fig1_separate_weight_error"))
    reader.complain()


def cell(card, grid, row, column):
    """A cell of a grid, by the start of the grid's name."""
    table = card.element.get_by_role("grid", name=re.compile(f"^{re.escape(grid)}"))
    return table.get_by_role("row").nth(row).get_by_role("gridcell").nth(column - 1)


EXPLAINED = [
    # fold, grid, what the cell in row 5, column 2 explains, and what row 5, column 1 does
    ("asymmetry", "", "Separate: weights A", r"one looks at journey with 0\.\d{4}", r"one looks at Your with 0\.\d{4}"),
    ("scaling", "numbers", "Jacobian of draw", r"∂p₅/∂s₂", r"∂p₅/∂s₁"),
    ("dropout", "", "One draw of the weights", r"one → journey: 0\.\d+ × [01] / \(1 − 0\.5\) = ", r"one → Your: 0\.\d+ × [01]"),
]  # fmt: skip


@pytest.mark.parametrize(("figure", "fold", "grid", "pressed", "moved"), EXPLAINED)
def test_pointer_and_keyboard_explain_a_cell(card, shared, fold, grid, pressed, moved):
    how, spoken = card.element.locator("div.how div.how, .how > .how, div.how").last, card.stage.get_by_role("status")
    if fold:
        card.open(fold)
    cell(card, grid, 5, 2).click()
    expect(how).to_contain_text(re.compile(pressed))
    expect(cell(card, grid, 5, 2)).to_have_attribute("aria-selected", "true")
    shared.page.keyboard.press("ArrowLeft")
    expect(how).to_contain_text(re.compile(moved))
    expect(spoken).to_contain_text(re.compile(moved))
    expect(cell(card, grid, 5, 1)).to_be_focused()
    cell(card, grid, 2, 2).hover()
    expect(how).not_to_contain_text(re.compile(moved))
    shared.page.mouse.move(0, 0)
    expect(how).to_contain_text(re.compile(moved))


def test_what_cannot_be_used_is_said_and_nothing_is_lost(card, figure):
    # A12, C15: every field for a number keeps its value, says why, and is marked; the next good value clears that.
    card.open("settings")
    names = [field.get_attribute("aria-label") for field in card.stage.get_by_role("spinbutton").all()]
    assert names
    for name in names:
        if name.endswith("in the sentence"):
            continue
        field = card.control("spinbutton", name)
        before = field.input_value()
        for text in ("abc", "-", "0,3", "1e"):
            field.fill(text)
            field.press("Enter")
            expect(field).to_have_value(before)
            expect(field).to_have_attribute("aria-invalid", "true")
            expect(card.element.locator(".note")).to_contain_text(re.compile("keeps .*not a"))
        field.fill(before)
        field.press("Enter")
        expect(card.element.locator(".note")).to_have_count(0)


def test_fields_take_the_arrow_keys(card, figure):
    card.open("settings")
    fields = card.stage.get_by_role("spinbutton")

    def values():  # as Python has written them; a field itself shows the step before Python has answered
        return fields.evaluate_all("all => all.map((field) => field.getAttribute('value'))")

    before = values()
    for i, field in enumerate(fields.all()):
        now, most = (float(field.get_attribute(f"aria-value{which}")) for which in ("now", "max"))
        keys, sign = (("ArrowUp", "ArrowDown"), 1) if now < most else (("ArrowDown", "ArrowUp"), -1)
        name = field.get_attribute("aria-label")
        field = card.control("spinbutton", name)
        field.press(keys[0])
        card.until(values, lambda found, i=i: found[i] != before[i], f"{name} moved")
        assert sign * float(field.get_attribute("aria-valuenow")) > sign * now
        field.press(keys[1])
        card.until(values, lambda found: found == before, f"{name} came back")


def test_the_number_in_the_sentence_can_be_dragged_and_typed(shared, reader):
    for figure, name, key in (
        ("scaling", "d_k, in the sentence", "d_k"),
        ("cost", "Context length, in the sentence", "n"),
    ):
        card = shared.figure(figure)
        card.settle()
        field = card.control("spinbutton", name)
        field.scroll_into_view_if_needed()
        box = field.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        before = float(field.get_attribute("aria-valuenow"))
        shared.page.mouse.move(x, y)
        shared.page.mouse.down()
        shared.page.mouse.move(x - 60, y, steps=6)
        shared.page.mouse.up()
        card.until(
            lambda field=field: float(field.get_attribute("aria-valuenow")),
            lambda v, before=before: v < before,
            f"less than {before}",
        )
        field.fill("1024")
        field.press("Enter")
        expect(shared.page).to_have_url(re.compile(rf"{figure}\.{key}=1024"))
    reader.complain()


def test_the_keys_bound_row_and_column(shared, reader):
    card = shared.figure("scaling")
    card.settle()
    card.operate("spinbutton", "Keys", "16")
    card.operate("combobox", "Row", "16")
    card.operate("spinbutton", "Keys", "3")
    expect(card.control("combobox", "Row").locator("option")).to_have_text(["1", "2", "3"])
    expect(card.control("combobox", "Row").locator("option:checked")).to_have_text("3")
    reader.complain()


def test_the_sentence_is_spoken_once_it_stays(shared, reader):
    card = shared.figure("scaling")
    card.settle()
    status = card.stage.get_by_role("status")
    status.evaluate(
        "e => { e.said = []; new MutationObserver(() => e.said.push(e.textContent)).observe(e, { childList: true, characterData: true, subtree: true }); }"
    )
    slider = card.control("slider", "d_k")
    for _ in range(10):
        slider.press("ArrowLeft")
    expect(status).to_contain_text("At width 2 ")
    assert len(status.evaluate("e => e.said")) <= 2
    reader.complain()


def test_every_draw_can_be_shown(shared, reader):
    card = shared.figure("scaling")
    card.settle()
    card.operate("spinbutton", "Draws", "2000")
    slider = card.control("slider", "Draw")
    expect(slider).to_have_attribute("max", "1999")  # steps from the first draw on
    slider.press("End")
    card.shows("top_weight", *drawn(1, 2000))
    reader.complain()
