"""From picture to painted to live: in this order, at one height, with the same numbers, and nothing twice."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

# Counts, from the start and all the time, the elements of each readout: also inside shadow roots.
COUNTING = """
const counts = (window.readoutCounts = {});
const count = (root, found) => {
  for (const element of root.querySelectorAll('*')) {
    const name = element.dataset?.readout;
    if (name) found[name] = (found[name] ?? 0) + 1;
    if (element.shadowRoot) count(element.shadowRoot, found);
  }
};
const look = () => {
  for (const figure of document.querySelectorAll('figure[data-figure]')) {
    const found = {};
    count(figure, found);
    const seen = (counts[figure.dataset.figure] ??= {});
    for (const name in { ...seen, ...found }) (seen[name] ??= {})[found[name] ?? 0] = true;
  }
  if (document.documentElement?.dataset.figures !== 'live') channel.port2.postMessage(null);
};
const channel = new MessageChannel();
channel.port1.onmessage = look;
look();
"""

# Where an element lies on the page, and its size.
PLACE = """(element) => {
  const { x, y, width, height } = element.getBoundingClientRect();
  return { x, y: y + scrollY, width, height };
}"""


def test_states_follow_each_other(visit, address, figures):
    seen = visit(address).witness("states")
    for name in figures:
        assert [state for of, state in seen if of == name] == ["painted", "live"], name


@pytest.mark.parametrize(("width", "scale"), [(360, 2), (768, 1), (1280, 1)])
def test_states_do_not_move_the_page_nor_change_a_number(visit, serve, faults, figures, width, scale):
    faults |= {"bokeh.": "held", "python.": "held"}
    screen = {"viewport": {"width": width, "height": 900}, "device_scale_factor": scale}
    page = visit(serve(handler=faults.handler), wait="", reduced_motion="reduce", **screen)
    page.page.wait_for_load_state("domcontentloaded")
    page.page.evaluate("() => document.dispatchEvent(new Event('drawfigures'))")
    cards = [page.figure(name) for name in figures]

    def look(state):
        for card in cards:
            card.reaches(state)
        return [(card.name, card.texts(), card.stage.evaluate(PLACE)) for card in cards]

    for card in cards:
        card.element.scroll_into_view_if_needed()
        expect(card.element.locator("picture img")).to_have_js_property("complete", True)
    picture = look("picture")
    faults.mend("bokeh.")
    painted = look("painted")
    expect(page.page.locator("picture")).to_have_count(0)
    faults.mend()
    assert picture == painted == look("live")
    assert all(card.values() for card in cards)
    assert page.witness("shift") < 0.02


def test_each_readout_stands_once_at_any_time(visit, address, figures):
    counts = visit(address, init=COUNTING).page.evaluate("() => readoutCounts")
    assert list(counts) == figures
    wrong = {
        f"{figure}.{name}": sorted(seen)
        for figure in figures
        for name, seen in counts[figure].items()
        if set(seen) != {"1"}
    }
    assert wrong == {}


def test_one_worker_serves_all_figures(visit, address):
    page = visit(address)
    assert len(page.page.workers) == 1


def test_progress_is_told_until_all_is_live(visit, serve, faults):
    faults["python."] = "held"
    page = visit(serve(handler=faults.handler), wait="painted").page
    line = page.locator(".starting")
    expect(line).to_have_role("status")
    expect(line).to_contain_text("Python is starting …")
    faults.mend()
    expect(line).to_be_empty()
