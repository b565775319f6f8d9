"""The address carries the state: written, read, put back, and never trusted."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

# Values that no control can hold: each is ignored or moved, and said so.
HOSTILE = {
    "NaN": "NaN",
    "Infinity": "Infinity",
    "minus infinity": "-Infinity",
    "beyond a float": "1e999",
    "huge": "1e18",
    "prototype": "__proto__",
    "empty": "",
    "ten thousand characters": "9x" * 5000,
    "five hundred digits": "9" * 500,
    "other digits": "１２",
    "underscored": "1_000",
    "padded": " 12",
    "import": "__import__('js')",
    "attribute": "[].__class__",
    "call": "eval('1')",
    "markup": "</script><img src=x onerror=window.hit=1>",
    "line feed": "a\nb",
    "nul": "a\0b",
}
BAD_NUMBERS = re.compile("NaN|nan|Infinity|inf\\b|undefined|\\[object")


def link(figure, keys, value):
    return "?" + "&".join(f"{figure}.{key}={quote(value, safe='')}" for key in keys)


def healthy(card):
    """Tell whether every readout is there and none is what no number can be."""
    texts = card.texts()
    assert texts
    assert not [text for text in texts if BAD_NUMBERS.search(text[1] + text[2])]
    assert card.values()


@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_values_are_refused_in_words(shared, figure, state_keys, value):
    card = shared.figure(figure)
    card.settle()
    before = card.values()
    card.follow(link(figure, state_keys, value))
    expect(card.notice).to_contain_text(re.compile("ignored|moved"))
    assert len(card.notice.text_content()) < 120 * len(state_keys)
    healthy(card)
    if value not in (HOSTILE["huge"], HOSTILE["beyond a float"], HOSTILE["five hundred digits"]):
        assert card.values() == before
    assert shared.page.locator("img[src=x]").count() == 0
    assert shared.page.evaluate("() => window.hit") is None


def test_repeated_key_is_refused(shared, figure, state_keys):
    card = shared.figure(figure)
    key = state_keys[0]
    card.settle()
    card.follow(f"?{figure}.{key}=1&{figure}.{key}=2")
    expect(card.notice).to_contain_text("more than once")
    healthy(card)


@pytest.mark.parametrize("value", [HOSTILE["markup"], HOSTILE["prototype"], HOSTILE["beyond a float"]])
def test_hostile_link_opens(visit, address, all_state_keys, value):
    links = [link(figure, keys, value).removeprefix("?") for figure, keys in all_state_keys.items()]
    page = visit(f"{address}?{'&'.join(links)}")
    for card in map(page.figure, all_state_keys):
        expect(card.notice).to_contain_text(re.compile("ignored|moved"))
        healthy(card)
    assert page.page.locator("img[src=x]").count() == 0


def test_one_bad_item_leaves_the_others(visit, address, numbers):
    card = visit(f"{address}?asymmetry.mode=tied&asymmetry.seed=NaN&asymmetry.cell=9,2&asymmetry.fold=settings").figure(
        "asymmetry"
    )
    card.shows("weight_error", numbers["fig1_tied_weight_error"]["value"], 1e-7)
    expect(card.notice).to_contain_text("seed=NaN was ignored")
    expect(card.notice).to_contain_text("cell=9,2 was moved to 6,2")
    expect(card.control("combobox", "Row")).to_have_value(re.compile("6"))


def test_state_is_written_without_a_history_entry(visit, address):
    visit = visit(f"{address}?utm_source=a+b&x=%20y&figure.z=1#article")
    card = visit.figure("asymmetry")
    length = visit.page.evaluate("() => history.length")
    card.operate("radiogroup", "Mode", "Tied")
    expect(visit.page).to_have_url(f"{address}?utm_source=a+b&x=%20y&figure.z=1&asymmetry.mode=tied#article")
    card.operate("combobox", "Row", "4 with")
    expect(visit.page).to_have_url(
        re.compile("&asymmetry.mode=tied&asymmetry.cell=4,3&asymmetry.fold=settings#article$")
    )
    card.operate("button", "Reset")
    expect(visit.page).to_have_url(f"{address}?utm_source=a+b&x=%20y&figure.z=1#article")
    assert visit.page.evaluate("() => history.length") == length


def test_link_opens_in_its_state(visit, address, numbers):
    card = visit(f"{address}?asymmetry.mode=tied&asymmetry.show=scores").figure("asymmetry")
    card.shows("weight_error", numbers["fig1_tied_weight_error"]["value"], 1e-7)
    expect(card.control("radio", "Tied")).to_be_checked()
    expect(card.control("radio", "Scores")).to_be_checked()
    expect(card.notice).to_have_count(0)


def test_link_of_the_text_sets_a_scene(visit, address, numbers):
    visit = visit(address)
    card = visit.figure("asymmetry")
    card.follow("?asymmetry.mode=separate&asymmetry.relation=double&asymmetry.show=scores")
    card.shows("score_error", 0.0, numbers["fig1_counterexample_scaled_key"]["tolerance"])
    expect(card.control("button", "W_k = 2 W_q")).to_have_attribute("aria-pressed", "true")
    expect(visit.page).to_have_url(re.compile("asymmetry.relation=double"))
    expect(card.element).to_be_in_viewport()


def test_back_and_forward_are_followed(visit, address, numbers):
    visit = visit(address)
    card = visit.figure("asymmetry")
    length = visit.page.evaluate("() => history.length")
    for query, error in (("mode=tied", "fig1_tied_weight_error"), ("mode=separate", "fig1_separate_weight_error")):
        card.follow(f"?asymmetry.{query}")
        card.shows("weight_error", numbers[error]["value"], 1e-7)
    assert visit.page.evaluate("() => history.length") == length + 2
    visit.page.go_back()
    card.shows("weight_error", numbers["fig1_tied_weight_error"]["value"], 1e-7)
    visit.page.go_forward()
    card.shows("weight_error", numbers["fig1_separate_weight_error"]["value"], 1e-7)


def test_copied_link_opens_what_was_seen(visit, address, numbers):
    first = visit(address, permissions=["clipboard-read", "clipboard-write"])
    card = first.figure("asymmetry")
    card.operate("radiogroup", "Mode", "Tied")
    card.shows("weight_error", numbers["fig1_tied_weight_error"]["value"], 1e-7)
    card.operate("button", "Copy link")
    expect(card.element.get_by_role("button", name="Copied")).to_be_visible()
    copied = first.page.evaluate("() => navigator.clipboard.readText()")
    assert copied == f"{address}?asymmetry.mode=tied#asymmetry"
    visit(copied).figure("asymmetry").shows("weight_error", numbers["fig1_tied_weight_error"]["value"], 1e-7)


@pytest.mark.provokes("ERR_ABORTED")  # leaving a page ends what it still fetches
def test_open_alone_keeps_the_state(visit, address, numbers):
    visit = visit(f"{address}?asymmetry.mode=tied&other=1")
    visit.figure("asymmetry").operate("button", "Open alone")
    expect(visit.page).to_have_url(re.compile(r"/figures/asymmetry/index.html\?.*asymmetry.mode=tied"))
    visit.figure("asymmetry").reaches("live")
    visit.figure("asymmetry").shows("weight_error", numbers["fig1_tied_weight_error"]["value"], 1e-7)


@pytest.mark.provokes("ERR_ABORTED")
def test_back_brings_a_live_page(visit, address, numbers):
    visit = visit(address)
    visit.figure("asymmetry").operate("radiogroup", "Mode", "Tied")
    expect(visit.page).to_have_url(re.compile("mode=tied"))
    visit.page.goto(f"{address}figures/asymmetry/", wait_until="commit")
    visit.figure("asymmetry").reaches("live")
    visit.page.go_back(wait_until="commit")
    card = visit.figure("asymmetry")
    card.reaches("live")
    card.shows("weight_error", numbers["fig1_tied_weight_error"]["value"], 1e-7)
    card.operate("radiogroup", "Mode", "Separate")
    card.shows("weight_error", numbers["fig1_separate_weight_error"]["value"], 1e-7)
