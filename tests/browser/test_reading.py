"""Everybody can read and use the page: with a screen reader, without scripts, by touch, on small and dark screens."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

pytestmark = pytest.mark.usefixtures("no_fault")


@pytest.fixture(scope="module")
def live(reader, address):
    """A live page at a desk."""
    return reader(address)


@pytest.fixture(scope="module")
def narrow(reader, address):
    """A live page on the narrowest screen."""
    return reader(address, viewport={"width": 320, "height": 800})


@pytest.fixture(scope="module")
def phone(reader, address):
    """A live page on a phone, for fingers."""
    size = {"width": 360, "height": 740}
    return reader(address, viewport=size, has_touch=True, is_mobile=True, device_scale_factor=2)


@pytest.fixture(scope="module")
def silent(reader, address):
    """A page whose scripts are off."""
    return reader(address, wait="", java_script_enabled=False)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(visit, address, scheme):
    page = visit(address, color_scheme=scheme, reduced_motion="reduce").page
    found = Axe().run(page).response["violations"]
    serious = [
        f"{violation['id']}: {violation['help']}: {[node['target'] for node in violation['nodes']][:3]}"
        for violation in found
        if violation["impact"] in ("serious", "critical")
    ]
    assert not serious, "\n".join(serious)


def test_figure_is_a_named_group_with_a_summary(live, figure):
    card = live.figure(figure)
    expect(card.element).to_have_accessible_name(re.compile(r"Figure \d: ."))
    status = card.stage.get_by_role("status")
    expect(status).to_have_count(1)
    expect(status).to_have_text(re.compile(r"\w.{30,}\."))
    for plot in card.stage.get_by_role("img").all():
        expect(plot).to_have_accessible_name(re.compile(".{15,}"))


def test_summary_follows_the_state(visit, address):
    card = visit(address).figure("asymmetry")
    expect(card.stage.get_by_role("status")).to_contain_text("0.3370")
    card.operate("radiogroup", "Mode", "Tied")
    expect(card.stage.get_by_role("status")).to_contain_text("0.0992")


def test_page_is_complete_without_scripts(silent, figure):
    expect(silent.page.locator("h1")).to_be_visible()
    expect(silent.page.locator(".starting")).to_be_empty()
    card = silent.figure(figure)
    expect(card.element).to_have_attribute("data-state", "picture")
    expect(card.element.locator("picture img")).to_be_visible()
    expect(card.element.locator("[data-readout]").first).to_have_attribute("data-value", re.compile("."))
    expect(card.element.locator("table").first).to_be_attached()
    # Nothing that could only be pressed in vain.
    for button in card.element.get_by_role("button").all():
        expect(button).to_be_hidden()


@pytest.mark.parametrize("live", [True, False], ids=["live", "picture"])
def test_page_never_scrolls_sideways(visit, address, live):
    page = visit(address, wait="live" if live else "", java_script_enabled=live).page
    expect(page.locator("figure").first).to_be_visible()
    for width in (320, 360, 768, 1440):
        page.set_viewport_size({"width": width, "height": 800})
        over = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(over) == 0, f"at {width}"


def test_no_part_of_a_figure_is_cut_at_320(narrow, figure):
    card = narrow.figure(figure)
    for control in (
        *card.stage.locator(".chips, .fold, .button").all(),  # chips scroll in a row of their own
        *card.stage.get_by_role("radiogroup").all(),
        *card.stage.locator("canvas").all()[:1],
    ):
        if not control.is_visible():  # in a closed fold
            continue
        box = control.bounding_box()
        assert box["width"] > 0
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 320


def test_figures_keep_their_size_after_many_resizes(visit, address, figures):
    page = visit(address)
    heights = "(all) => all.map((element) => element.getBoundingClientRect().height)"
    stages = page.page.locator("figure[data-figure] .stage")
    before = stages.evaluate_all(heights)
    assert len(before) == len(figures)
    for width in [360, 768, 320, 1440] * 3 + [1280]:
        page.page.set_viewport_size({"width": width, "height": 720})
        page.page.evaluate("() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))")
    page.figure(figures[0]).until(lambda: stages.evaluate_all(heights), lambda now: now == before, f"{before}")


@pytest.mark.parametrize("width", [360, 1280])
def test_cells_of_grids_are_square(visit, address, figures, width):
    page = visit(address, viewport={"width": width, "height": 800})
    seen = 0
    for name in figures:
        for cell in page.figure(name).element.locator("[data-stage] .grid tbody td:not(.bars):first-of-type").all():
            box = cell.bounding_box()
            if box and box["height"] > 12:
                assert abs(box["width"] - box["height"]) <= 2, f"{name}: {box}"
                seen += 1
    assert seen >= 6


def test_pages_follow_the_scheme(visit, address):
    page = visit(address, color_scheme="dark").page
    paper = "() => getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(paper) == "rgb(21, 22, 26)"
    label = page.locator("figure h3").first
    dark = label.evaluate("e => getComputedStyle(e).color")
    page.emulate_media(color_scheme="light")
    assert page.evaluate(paper) == "rgb(252, 251, 248)"
    assert label.evaluate("e => getComputedStyle(e).color") != dark


def test_swiping_over_a_plot_scrolls_the_page(phone, figure):
    page = phone.page
    card = phone.figure(figure)
    plot = card.element.locator("[data-stage]")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    x, y = box["x"] + box["width"] / 2, min(max(box["y"] + box["height"] / 2, 350), 700)
    before = page.evaluate("() => scrollY")
    session = phone.context.new_cdp_session(page)
    session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for step in range(20, 321, 20):
        session.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": x, "y": y - step}]})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    card.until(lambda: page.evaluate("() => scrollY"), lambda now: now > before + 200, "the next screen")


def test_plots_leave_touches_to_the_page(phone, figure):
    stage = phone.figure(figure).stage
    actions = stage.locator(".bk-events, input[type=range]").evaluate_all(
        "all => all.map((e) => getComputedStyle(e).touchAction)"
    )
    assert actions or not stage.locator("canvas").count()
    assert not [action for action in actions if "pan-y" not in action and action not in ("auto", "manipulation")]


def test_touch_targets_are_large_enough(phone, figure):
    small = phone.figure(figure).stage.evaluate(
        """(stage) => {
            const found = [];
            const look = (root) => {
              for (const element of root.querySelectorAll('*')) {
                const { width, height } = element.getBoundingClientRect();
                if (element.matches('button, input:not([type=radio]):not([type=checkbox]):not(.inline):not(.spin), select, label.radio, .switch') && width && height < 43)
                  found.push(`${element.ariaLabel ?? element.textContent}: ${width} × ${height}`);
                if (element.shadowRoot) look(element.shadowRoot);
              }
            };
            look(stage);
            return found;
        }"""
    )
    assert small == []


def test_nothing_moves_where_motion_is_unwanted(visit, address):
    card = visit(address, reduced_motion="reduce").figure("asymmetry")
    card.operate("radiogroup", "Mode", "Tied")
    card.until(card.values, lambda values: values["score_error"] == 0, "one matrix")
    running = card.page.evaluate("() => document.getAnimations().filter((a) => a.playState === 'running').length")
    assert running == 0


def test_every_control_has_a_role_and_a_name(live, figure):
    card = live.figure(figure)
    nameless = card.stage.evaluate(
        """(stage) => {
            const found = [];
            const look = (root) => {
              for (const element of root.querySelectorAll('*')) {
                if (element.matches('input, select, textarea, button, [tabindex="0"], [role=slider]')) {
                  const label = element.getAttribute('aria-label') ?? element.closest('label')?.textContent;
                  if (!(label ?? element.textContent).trim()) found.push(element.outerHTML.slice(0, 200));
                }
                if (element.shadowRoot) look(element.shadowRoot);
              }
            };
            look(stage);
            return found;
        }"""
    )
    assert nameless == []
