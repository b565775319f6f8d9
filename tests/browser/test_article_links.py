"""Every link of the text that sets a figure does so in the live page, and the figure then shows what the text promises."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from figures.shared.state import to_text

ARTICLE = Path(__file__).resolve().parents[2] / "site" / "article.md"


class Near(NamedTuple):
    """A value that follows from the text in a line, and how near it has to be."""

    value: Any
    tolerance: float = 0.0


class Band(NamedTuple):
    """Where nine of ten experiments of figure 2 fall, by the name of the quantity."""

    name: str


# A link, what it leads to, and what the figure shows then: a path into tests/data/numbers.json, a list of such, a
# `Near` or a `Band`.
PROMISES: dict[str, dict[str, Any]] = {
    "?asymmetry.divisor=one&asymmetry.mode=none#asymmetry": {
        "context_journey": "intro_context_journey",
        "input_spread": "intro_spread_inputs",
        "output_spread": "intro_spread_outputs",
        "spread_ratio": "intro_spread_ratio",
        "nearest": "intro_nearest",
        "weight_error": "fig1_none_weight_error_unscaled.max_abs",
    },
    "?asymmetry.mode=none#asymmetry": {
        "score_error": "fig1_none_score_error",
        "weight_error": "fig1_none_weight_error_sqrt2.max_abs",
        "pair": ["fig1_none_journey_starts", "fig1_none_starts_journey"],
        "softmax_denominators": "fig1_denominators_sqrt2",
        "row_sums": "fig1_row_sums",
    },
    "?asymmetry.mode=tied#asymmetry": {
        "score_error": "fig1_tied_score_error",
        "weight_error": "fig1_tied_weight_error",
    },
    "?asymmetry.mode=separate#asymmetry": {
        "score_error": "fig1_separate_score_error",
        "weight_error": "fig1_separate_weight_error",
    },
    "?asymmetry.mode=separate&asymmetry.relation=double&asymmetry.show=scores#asymmetry": {
        "score_error": "fig1_counterexample_scaled_key",
    },
    "?asymmetry.relation=identity#asymmetry": {
        "weight_error": "fig1_counterexample_symmetric_weights",
    },
    "?scaling.d_k=768#scaling": {
        "jacobian_median": Band("median_768"),
        "live_share": Band("live_768_above_2.5e-4"),
    },
    "?scaling.d_k=4096#scaling": {"jacobian_median": Band("median_4096"), "jacobian_mean": Band("mean_4096")},
    "?scaling.d_k=4096&scaling.divisor=sqrt#scaling": {"jacobian_chosen": Band("scaled_median_4096")},
    "?masking.step=3#masking": {
        "first_entry_naive": "fig3_naive_first",
        "first_entry_efficient": "fig3_efficient_first",
    },
    "?masking.step=5#masking": {
        "row_2": "fig3_row2",
        "row_3": "fig3_row3",
        "max_difference": Near(0.0, 1e-15),
    },
    "?masking.mask=zero&masking.step=5#masking": {
        "leak_by_row": "fig3_zero_leak_rows",
        "vector_softmax": "fig3_softmax_counterexample",
    },
    "?dropout.rescale=off#dropout": {"mean_row_sum_theory": "fig4_mean_row_sum_unscaled.expected"},
    "?dropout.draws=10000#dropout": {
        "draws_done": Near(10_000),
        "mean_row_sum": "fig4_mean_row_sum_scaled.expected",
        "mean_row_sum_theory": "fig4_mean_row_sum_scaled.expected",
    },
    "?dropout.p=0.1#dropout": {"factor": Near(1 / 0.9, 1e-12)},
    "?dropout.p=1#dropout": {"row_sums": Near([0.0] * 6), "factor": Near(None)},
    "?heads.line=5&heads.preset=toy#heads": {"shape": "fig5_trace_toy.4.1"},
    "?heads.preset=small#heads": {"max_difference": Near(0.0, 1e-12)},
    "?heads.line=7&heads.preset=gpt2#heads": {"divisor": "fig5_divisor_split", "divisor_wrong": "fig5_divisor_wrong"},
    "?heads.kind=matched&heads.preset=gpt2#heads": {
        "parameters": "fig5_params_gpt2.wrapper_qkv_at_matched_width",
        "projection_products": "fig5_matmuls_gpt2.wrapper_projections",
    },
    "?cost.n=1024#cost": {"score_bytes": "fig6_bytes_1024", "cards": Near(1)},
    "?cost.n=1152#cost": {"crossover": "fig6_crossover.against_qkv"},
    "?cost.n=1047576#cost": {
        "score_bytes": "fig6_bytes_window",
        "cards_ratio": "fig6_cards.ratio_80_GiB",
        "cards": "fig6_cards.ceil_80_GiB",
        "seconds": "fig6_seconds.seconds",
        "hours": "fig6_seconds.hours",
        "hours_rounded": "fig6_hours_rounded",
    },
    "?cost.d=12288&cost.heads=96&cost.layers=96&cost.n=1047576#cost": {"score_bytes": Near(20_227_562_049_503_232)},
}


def ordered(href: str) -> str:
    """Return a link with its keys in order."""
    query, _, anchor = href.removeprefix("?").rpartition("#")
    return f"?{'&'.join(sorted(query.split('&')))}#{anchor}" if query else f"#{anchor}"


def test_every_link_that_sets_a_figure_promises_something():
    text = ARTICLE.read_text(encoding="utf-8")
    links = re.findall(r"\]\((\?[^)\s]+)\)", text) + re.findall(r'<a href="([^"]+)" data-scene', text)
    assert {ordered(link) for link in links} == PROMISES.keys()


def expected(numbers, promise):
    """Return the value that is promised, and its tolerance."""
    if isinstance(promise, Near):
        return promise
    if isinstance(promise, list):
        values, tolerances = zip(*(expected(numbers, each) for each in promise), strict=True)
        return list(values), max(tolerances)
    name, *path = promise.split(".")
    value, tolerance = numbers[name]["value"], numbers[name]["tolerance"]
    for step in path:
        value = value[int(step) if isinstance(value, list) else step]
    return value, max(tolerance, 1e-12)


@pytest.mark.parametrize("link", PROMISES, ids=lambda link: link.partition("?")[2] or link)
def test_link_shows_what_the_text_promises(shared, reader, numbers, link):
    name = link.rpartition("#")[2]
    card = shared.figure(name)
    card.settle()
    anchors = shared.page.locator("main > :not(figure) a")
    hrefs = anchors.evaluate_all("all => all.map((a) => a.dataset.scene || a.search ? a.getAttribute('href') : '')")
    anchors.nth([ordered(href) if href else "" for href in hrefs].index(link)).click()
    for readout, promise in PROMISES[link].items():
        if isinstance(promise, Band):
            band = numbers["fig2_band_n6_draws400"]["value"][promise.name]
            card.until(
                lambda readout=readout: card.values()[readout],
                lambda value, band=band: band["q05"] <= value <= band["q95"],
                f"{readout} in {band}",
            )
        else:
            card.shows(readout, *expected(numbers, promise))
    # The drawing is in view, the figure has the focus, and its state is in the address, which shows it to others.
    seen = card.element.locator("[data-stage]").evaluate(
        """e => { const { top, bottom, height } = e.getBoundingClientRect();
                  return (Math.min(bottom, innerHeight) - Math.max(top, 0)) / Math.min(height, innerHeight); }"""
    )
    assert seen >= 0.6
    expect(card.element).to_be_focused()
    expect(shared.page.get_by_role("button", name="Back to the text")).to_be_visible()
    defaults = importlib.import_module(f"figures.{name}").app().state.defaults()
    state = {
        key: value
        for key, value in parse_qs(urlsplit(link).query).items()
        if value != [to_text(defaults[key.partition(".")[2]])]
    }
    card.until(
        lambda: {
            k: v
            for k, v in parse_qs(urlsplit(shared.page.url).query).items()
            if k.startswith(f"{name}.") and not k.endswith(".fold")
        },
        lambda found: found == state,
        f"the state {state} in the address",
    )
    reader.complain()


def test_anchor_leads_to_its_section_whatever_the_address_says(shared, reader):
    page = shared.page
    shared.figure("asymmetry").operate("radiogroup", "Mode", "Tied")
    page.wait_for_url(re.compile("asymmetry.mode=tied"))
    page.locator('main a[href="#glossary"]').first.click()
    shared.figure("asymmetry").until(
        lambda: page.locator("#glossary").evaluate("e => e.getBoundingClientRect().top"),
        lambda top: 0 <= top < page.viewport_size["height"],
        "the glossary",
    )
    assert page.url.endswith("#glossary")
    reader.complain()


def test_contents_say_where_the_reader_is(shared, reader):
    page = shared.page
    current = page.locator(".contents [aria-current]")
    for anchor in ("the-mask", "glossary", "three-matrices"):
        page.locator(f"#{anchor}").evaluate("e => e.scrollIntoView()")
        shared.figure("asymmetry").until(
            lambda: current.evaluate_all("all => all.map((a) => a.hash)"),
            lambda found, anchor=anchor: found == [f"#{anchor}"],
            anchor,
        )
    reader.complain()
