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


def drawn(seed: int, draw: int, *, exact: bool = False) -> Literal:
    """The largest weight of one draw at d_k = 64 with six keys and no divisor, worked out here."""
    scores = sample_scores(np.random.default_rng(seed), 64, 6, draw, exact=exact)[-1]
    return Literal(float(softmax(scores).max()), 1e-9)


TIED = Use("radiogroup", "Mode", "Tied")
SEPARATE = Use("radiogroup", "Mode", "Separate")
ONE = Use("radiogroup", "Divisor", "1")

CONTROLS = [
    Row("asymmetry", [], "score_error", "fig1_none_score_error"),
    Row("asymmetry", [], "weight_error", ("fig1_none_weight_error_sqrt2", "max_abs")),
    Row("asymmetry", [], "score_pair", Literal([1.4754, 1.4754], 1e-12)),
    Row("asymmetry", [], "row_sums", "fig1_row_sums"),
    Row("asymmetry", [], "softmax_denominators", "fig1_denominators_sqrt2"),
    Row("asymmetry", [], "context_journey", "fig1_none_context_journey_sqrt2"),
    Row("asymmetry", [], "input_spread", "intro_spread_inputs"),
    Row("asymmetry", [TIED], "score_error", "fig1_tied_score_error"),
    Row("asymmetry", [TIED], "weight_error", "fig1_tied_weight_error"),
    Row("asymmetry", [SEPARATE], "score_error", "fig1_separate_score_error"),
    Row("asymmetry", [SEPARATE], "weight_error", "fig1_separate_weight_error"),
    Row("asymmetry", [SEPARATE], "context_journey", ("s34_context", 1)),
    Row("asymmetry", [ONE], "weight_error", ("fig1_none_weight_error_unscaled", "max_abs")),
    Row("asymmetry", [ONE], "context_journey", "intro_context_journey"),
    Row("asymmetry", [ONE], "output_spread", "intro_spread_outputs"),
    Row("asymmetry", [ONE], "spread_ratio", "intro_spread_ratio"),
    Row("asymmetry", [ONE], "nearest", "intro_nearest"),
    Row("asymmetry", [ONE, Use("radiogroup", "Show", "Weights")], "nearest", "intro_nearest"),
    Row("asymmetry", [ONE, Use("radiogroup", "Divisor", "√d_k")], "weight_error", ("fig1_none_weight_error_sqrt2", "max_abs")),
    Row("asymmetry", [SEPARATE, Use("combobox", "Row", "1 Your")], "pair", ("s34_weights", (0, 2), (2, 0))),
    Row("asymmetry", [SEPARATE, Use("combobox", "Column", "6 step")], "score_pair", ("s34_scores", (1, 5), (5, 1))),
    Row("asymmetry", [SEPARATE, Use("spinbutton", "Weight seed", "5"), Use("spinbutton", "Weight seed", "123")], "weight_error", "fig1_separate_weight_error"),
    Row("scaling", [], "score_sd_theory", Literal(8.0, 1e-12)),
    Row("scaling", [], "top_weight", drawn(1, 1)),
    Row("scaling", [Use("spinbutton", "d_k", "4096")], "score_sd_theory", Literal(64.0, 1e-12)),
    Row("scaling", [Use("spinbutton", "d_k", "4096")], "jacobian_median_scaled", Literal(0.2337, 0.006)),
    Row("scaling", [Use("slider", "d_k", "Home")], "score_sd_theory", Literal(1.0, 1e-12)),
    Row("scaling", [Use("radiogroup", "Divisor", "√d_k")], "jacobian_chosen", Literal(0.2332, 0.01)),
    Row("scaling", [Use("radiogroup", "Divisor", "d_k")], "jacobian_chosen", Literal(5 / 36, 0.02)),
    Row("scaling", [Use("spinbutton", "Keys", "7")], "jacobian_median", Literal(0.0294, 0.0135)),
    Row("scaling", [Use("spinbutton", "Draws", "2000")], "jacobian_median", Literal(0.0234, 0.0085)),
    Row("scaling", [Use("spinbutton", "Draw", "2")], "top_weight", drawn(1, 2)),
    Row("scaling", [Use("combobox", "Row", "2"), Use("combobox", "Column", "6")], "top_weight", drawn(1, 1)),
    Row("scaling", [Use("spinbutton", "Seed", "2")], "top_weight", drawn(2, 1)),
    Row("scaling", [Use("button", "Resample")], "top_weight", drawn(2, 1)),
    Row("scaling", [Use("switch", "Form real dot products")], "top_weight", drawn(1, 1, exact=True)),
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
    Row("masking", [Use("combobox", "Row", "2 journey"), Use("combobox", "Column", "1 Your")], "row_2", "fig3_row2"),
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
    Row("dropout", [Use("combobox", "Row", "2 journey"), Use("combobox", "Column", "1 Your")], "kept", Literal(12)),
    Row("dropout", [Use("button", "Run 10,000 draws")], "draws_done", Literal(10_000)),
    Row("dropout", [Use("key", "Cancel")], "draws_done", Literal(1)),
    Row("heads", [], "head_dim", ("fig5_params_toy", "head_dim")),
    Row("heads", [], "parameters", ("fig5_params_toy", "split_total")),
    Row("heads", [], "shape", Literal([2, 6, 3])),
    Row("heads", [Use("radiogroup", "Preset", "GPT-2")], "divisor", "fig5_divisor_split"),
    Row("heads", [Use("radiogroup", "Preset", "GPT-2")], "divisor_wrong", "fig5_divisor_wrong"),
    Row("heads", [Use("radiogroup", "Preset", "GPT-2")], "parameters", ("fig5_params_gpt2", "split_total")),
    Row("heads", [Use("radiogroup", "Preset", "GPT-2")], "max_difference", Literal(None)),
    Row("heads", [Use("radiogroup", "Preset", "Small")], "head_dim", Literal(2)),
    Row("heads", [Use("radiogroup", "Class", "Wrapper")], "output_width", Literal(4)),
    Row("heads", [Use("radiogroup", "Class", "Wrapper")], "projection_products", ("fig5_matmuls_toy", "wrapper_projections")),
    Row("heads", [Use("combobox", "Heads", "1")], "head_dim", Literal(2)),
    Row("heads", [Use("spinbutton", "Head shown", "2")], "max_difference", Literal(0.0, 1e-15)),
    Row("heads", [Use("button", "Next")], "shape", Literal([2, 6, 2])),
    Row("heads", [Use("button", "Next"), Use("button", "Back")], "shape", Literal([2, 6, 3])),
    Row("heads", [Use("combobox", "Row", "5 one"), Use("combobox", "Column", "2")], "max_difference", Literal(0.0, 1e-15)),
    Row("heads", [Use("slider", "Line", "End")], "shape", Literal([2, 6, 2])),
    Row("cost", [], "score_bytes", "fig6_bytes_1024"),
    Row("cost", [], "masked_share", ("fig6_masked_share", "1024")),
    Row("cost", [], "crossover", ("fig6_crossover", "against_qkv")),
    Row("cost", [Use("spinbutton", "Context length", "1047576")], "score_bytes", "fig6_bytes_window"),
    Row("cost", [Use("spinbutton", "Context length", "1047576")], "cards_ratio", ("fig6_cards", "ratio_80_GiB")),
    Row("cost", [Use("spinbutton", "Context length", "1047576")], "hours", ("fig6_seconds", "hours")),
    Row("cost", [Use("slider", "Context length", "End")], "score_bytes", Literal(2_199_023_255_552)),
    Row("cost", [Use("radiogroup", "Bytes per score", "4")], "score_bytes", Literal(4_194_304)),
    Row("cost", [Use("spinbutton", "Heads", "12")], "score_bytes", Literal(25_165_824)),
    Row("cost", [Use("spinbutton", "Layers", "12")], "score_bytes", Literal(25_165_824)),
    Row("cost", [Use("spinbutton", "d", "64")], "crossover", Literal(96.0, 1e-9)),
    Row("cost", [Use("spinbutton", "Context length", "1047576"), Use("radiogroup", "1k means", "1,000")], "hours", ("fig6_seconds", "hours_if_1k_is_1000")),
    Row("cost", [Use("spinbutton", "Context length", "1047576"), Use("combobox", "Card", "H100, as sold: 80 GB")], "cards", ("fig6_cards", "ceil_80_GB")),
]  # fmt: skip

SCENES = [
    Row("asymmetry", [Use("button", "Where the last post ended")], "context_journey", "intro_context_journey"),
    Row("asymmetry", [Use("button", "Where the last post ended")], "spread_ratio", "intro_spread_ratio"),
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


MENU = ("Reset", "Copy link", "Open alone")

# What a reader who uses the keyboard alone comes by, in order.
STOPS = {
    figure: [*scene_names(figure), *controls, *MENU]
    for figure, controls in {
        "asymmetry": ("No matrices", "√d_k", "Scores", "Row", "Column", "Weight seed"),
        "scaling": (
            *("d_k", "d_k", "1", "Keys", "Keys", "Draws", "Draws", "Draw", "Draw"),
            *("Row", "Column", "Seed", "Resample", "Form real dot products"),
        ),
        "masking": (
            *("Step", "Step", "Back", "Next", "−∞", "Scores ×", "Scores ×"),
            *("Row", "Column", "Weight seed", "Vector"),
        ),
        "dropout": (
            *("p", "p", "Rescale survivors", "Row", "Column"),
            *("Seed", "Resample", "Run 10,000 draws", "Cancel"),
        ),
        "heads": ("Toy", "Split", "Heads", "Head shown", "Line", "Line", "Back", "Next", "Row", "Column"),
        "cost": ("Context length", "Context length", "2", "Heads", "Layers", "d", "1,024", "Card"),
    }.items()
}

# Reads the name of the element that has the focus, also inside shadow roots.
FOCUSED = """() => {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  if (!at?.closest) return '';
  return at.getAttribute('aria-label') ?? at.closest('label')?.textContent?.trim() ?? at.textContent.trim();
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
    for role in ("radiogroup", "combobox", "spinbutton", "slider", "switch", "checkbox", "textbox", "button"):
        for element in card.stage.get_by_role(role).all():
            name = element.evaluate("e => e.getAttribute('aria-label') ?? e.textContent.trim()")
            assert name, f"a {role} has no name"
            present.add(name)
    assert present == described


def test_pressed_scene_is_marked(card, figure):
    for name in scene_names(figure):
        card.operate("button", name)
        expect(card.control("button", name)).to_have_attribute("aria-pressed", "true")


def test_keyboard_reaches_every_control_in_order(card, shared, figure):
    shared.page.evaluate("() => document.activeElement?.blur()")
    card.control("button", STOPS[figure][0]).focus()
    met = [shared.page.evaluate(FOCUSED)]
    while met[-1] != STOPS[figure][-1] and len(met) < 3 * len(STOPS[figure]):
        shared.page.keyboard.press("Tab")
        met.append(shared.page.evaluate(FOCUSED))
    assert met == STOPS[figure]


def test_focus_is_visible_on_every_control(card, shared, figure):
    card.control("button", STOPS[figure][0]).focus()
    shared.page.keyboard.press("Tab")
    shared.page.keyboard.press("Shift+Tab")
    ring = """() => {
      let at = document.activeElement;
      while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
      const seen = [at, at.nextElementSibling].filter(Boolean).map((e) => getComputedStyle(e));
      return seen.some((s) => (s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2) || s.boxShadow !== 'none');
    }"""
    for name in STOPS[figure]:
        assert shared.page.evaluate(FOCUSED) == name
        assert shared.page.evaluate(ring), f"{name} shows no focus"
        shared.page.keyboard.press("Tab")


def test_arrow_keys_choose_a_mode(shared, reader, numbers):
    card = shared.figure("asymmetry")
    card.settle()
    card.control("radio", "No matrices").focus()
    shared.page.keyboard.press("ArrowRight")
    card.shows("weight_error", *known(numbers, "fig1_tied_weight_error"))
    shared.page.keyboard.press("ArrowRight")
    card.shows("weight_error", *known(numbers, "fig1_separate_weight_error"))
    reader.complain()


def press_row_5_column_2(card, plot, number=-1):
    """Press a cell of a heatmap where BokehJS has drawn it, or one of the numbers of another plot."""
    canvas = card.element.get_by_role("img", name=re.compile(plot))
    place = card.page.evaluate(
        """([name, number]) => {
          const find = (view) => view.model?.html_attributes?.['aria-label']?.startsWith(name) ? view
            : [...(view.child_views ?? view.children?.() ?? [])].map(find).find(Boolean);
          const view = Bokeh.index.roots.map(find).find(Boolean);
          const { x, y } = view.model.renderers[0].data_source.data;
          const [across, down] = number < 0 ? [1.5, 4.5] : [x[number], y[number]];
          return { x: view.frame.x_scale.compute(across), y: view.frame.y_scale.compute(down) };
        }""",
        [plot, number],
    )
    canvas.click(position=place)
    expect(card.control("combobox", "Row")).to_have_value(re.compile("5"))
    expect(card.control("combobox", "Column")).to_have_value(re.compile("2"))


@pytest.mark.parametrize("plot", ["The selected matrix, 6 by 6", "The selected matrix minus its transpose"])
def test_pressing_a_cell_selects_it(shared, reader, numbers, plot):
    card = shared.figure("asymmetry")
    card.settle()
    card.operate(*SEPARATE)
    card.shows("score_error", *known(numbers, "fig1_separate_score_error"))
    press_row_5_column_2(card, plot)
    card.shows("pair", *known(numbers, ("s34_weights", (4, 1), (1, 4))))
    reader.complain()


EXPLAINED = [
    # plot, what a press on row 5, column 2 explains, and what row 1, column 2 explains
    ("asymmetry", "The selected matrix, 6 by 6", r"x\(one\) · x\(journey\) = .+ = 0\.70\d\dweight = exp", r"x\(Your\) · x\(journey\) = .+ = 0\.9544"),
    ("scaling", "The Jacobian of this softmax", r"∂p₅/∂s₂ = p₅ \(0 − p₂\)= .+= ", r"∂p₁/∂s₂ = p₁ \(0 − p₂\)= .+= "),
    ("masking", "The naive path", r"q\(one\) · k\(journey\) = .+, a raw score", r"q\(Your\) · k\(journey\) = .+, a raw score"),
    ("dropout", "The causal attention weights", r"one → journey0\.\d+ × [01] / \(1 − 0\.5\) = ", "Your → journey0, hidden"),
    ("dropout", "The weights after", r"one → journey0\.\d+ × [01] / \(1 − 0\.5\) = ", "Your → journey0, hidden"),
    ("heads", "The query projection above its product", r"q\(one\), column 2, .+ · .+= 0\.\d{4}$", r"q\(Your\), column 2, .+ · .+= 0\.\d{4}$"),
]  # fmt: skip


@pytest.mark.parametrize(("figure", "plot", "by_pointer", "by_keyboard"), EXPLAINED)
def test_pointer_and_keyboard_explain_a_cell(card, shared, plot, by_pointer, by_keyboard):
    how, spoken = card.element.locator(".how").first, card.element.locator("[aria-live=polite] .how")
    # The last stripe of figure 5 ends with head 2's six queries.
    press_row_5_column_2(card, plot, number=2 * (3 + 6) - 2 if card.name == "heads" else -1)
    expect(how).to_contain_text(re.compile(by_pointer))
    card.control("combobox", "Row").focus()
    shared.page.keyboard.press("Home")  # the first of the list
    expect(how).to_contain_text(re.compile(by_keyboard))
    expect(spoken).to_have_text(re.compile(by_keyboard))


@pytest.mark.parametrize(
    ("figure", "other"),
    [
        ("asymmetry", SEPARATE),
        ("scaling", Use("radiogroup", "Divisor", "√d_k")),
        ("masking", Use("button", "Next")),
        ("dropout", Use("button", "Resample")),
        ("heads", Use("radiogroup", "Preset", "Small")),
    ],
)
def test_a_cell_is_said_once(card, other):
    spoken = card.element.locator("[aria-live=polite] .how")
    expect(spoken).to_have_count(0)
    card.operate("combobox", "Column", card.control("combobox", "Column").locator("option").last.text_content())
    expect(spoken).to_have_count(1)
    card.operate(*other)  # what else changes is said by the sentence of result
    expect(spoken).to_have_count(0)


def test_the_keys_bound_row_and_column(shared, reader):
    card = shared.figure("scaling")
    card.settle()
    card.operate("spinbutton", "Keys", "16")
    card.operate("combobox", "Row", "16")
    card.operate("spinbutton", "Keys", "3")
    expect(card.control("combobox", "Row").locator("option")).to_have_text(["1", "2", "3"])
    expect(card.control("combobox", "Row").locator("option:checked")).to_have_text("3")
    reader.complain()
