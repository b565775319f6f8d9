"""Every control and every scene of every figure: used by role and name, the right readouts change to the right numbers.

To add a figure, add its rows to `CONTROLS` and `SCENES`. An expected value is the name of a number of
``tests/data/numbers.json`` (with a path into it where it is a table), or a `Literal`.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import expect


class Literal(NamedTuple):
    """A value that needs no source, or follows from one in a line."""

    value: Any
    tolerance: float = 0.0


class Use(NamedTuple):
    """One use of a control: its role, its exact name, and what is chosen, typed or pressed."""

    role: str
    name: str
    value: str = ""


class Row(NamedTuple):
    """What a reader does, one thing after the other, and what a readout then shows."""

    figure: str
    uses: list[Use]
    readout: str
    expected: Any  # a name in numbers.json, a tuple that leads into a table there, or a Literal


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
]  # fmt: skip

SCENES = [
    Row("asymmetry", [Use("button", "Where the last post ended")], "context_journey", "intro_context_journey"),
    Row("asymmetry", [Use("button", "Where the last post ended")], "spread_ratio", "intro_spread_ratio"),
    Row("asymmetry", [Use("button", "Symmetric scores, lopsided weights")], "score_error", "fig1_none_score_error"),
    Row("asymmetry", [Use("button", "Tied")], "weight_error", "fig1_tied_weight_error"),
    Row("asymmetry", [Use("button", "Separate")], "score_error", "fig1_separate_score_error"),
    Row("asymmetry", [Use("button", "W_k = 2 W_q")], "score_error", "fig1_counterexample_scaled_key"),
    Row("asymmetry", [Use("button", "Orthonormal inputs")], "weight_error", "fig1_counterexample_symmetric_weights"),
]

# What a reader who uses the keyboard alone comes by, in order.
STOPS = {
    "asymmetry": [
        *(row.uses[0].name for row in SCENES if row.figure == "asymmetry" and row.readout != "spread_ratio"),
        *("No matrices", "√d_k", "Scores", "Row", "Column", "Weight seed"),
        *("Reset", "Copy link", "Open alone"),
    ],
}

# Reads the name of the element that has the focus, also inside shadow roots.
FOCUSED = """() => {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  if (!at?.closest) return '';
  return at.getAttribute('aria-label') ?? at.closest('label')?.textContent?.trim() ?? at.textContent.trim();
}"""


@pytest.fixture(scope="module")
def reader(new_reader):
    """One reader for this whole file, whose page is put back after each test."""
    return new_reader()


@pytest.fixture(scope="module")
def shared(reader, address):
    return reader(address)


@pytest.fixture
def card(shared, reader, figure):
    """A figure in its default state, on a page that stays open."""
    card = shared.figure(figure)
    card.settle()
    yield card
    reader.complain()


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


@pytest.mark.parametrize(("figure", "row"), [(row.figure, row) for row in CONTROLS + SCENES], ids=[f"{row.figure}: {said(row)}" for row in CONTROLS + SCENES])  # fmt: skip
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
    for name in {row.uses[0].name for row in SCENES if row.figure == figure}:
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


@pytest.mark.parametrize("plot", ["The selected matrix, 6 by 6", "The selected matrix minus its transpose"])
def test_pressing_a_cell_selects_it(shared, reader, numbers, plot):
    card = shared.figure("asymmetry")
    card.settle()
    card.operate(*SEPARATE)
    card.shows("score_error", *known(numbers, "fig1_separate_score_error"))
    canvas = card.element.get_by_role("img", name=re.compile(plot))
    # Row 5, column 2, where BokehJS has drawn it.
    place = shared.page.evaluate(
        """(name) => {
          const find = (view) => view.model?.html_attributes?.['aria-label']?.startsWith(name) ? view
            : [...(view.child_views ?? view.children?.() ?? [])].map(find).find(Boolean);
          const view = Bokeh.index.roots.map(find).find(Boolean);
          return { x: view.frame.x_scale.compute(1.5), y: view.frame.y_scale.compute(4.5) };
        }""",
        plot,
    )
    canvas.click(position=place)
    card.shows("pair", *known(numbers, ("s34_weights", (4, 1), (1, 4))))
    expect(card.control("combobox", "Row")).to_have_value(re.compile("5"))
    expect(card.control("combobox", "Column")).to_have_value(re.compile("2"))
    reader.complain()
