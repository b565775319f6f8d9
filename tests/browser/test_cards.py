"""What a card is for: the reader sees what changed, on any screen, and nothing jumps."""

from __future__ import annotations

import importlib
import random
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from figures.shared.state import to_text
from tests.browser.test_controls import CONTROLS, SCENES, scene_names

SCREENS = {"1280": (1280, 900), "1440": (1440, 900), "phone": (360, 740)}
ARTICLE = Path(__file__).resolve().parents[2] / "site" / "article.md"

# Everything in a card that can show a change: what it is now, and how much of it is on screen.
THINGS = """(stage) => {
  const found = [];
  const seen = (e) => {
    const { top, bottom, left, right, height, width } = e.getBoundingClientRect();
    if (!height || !width) return 0;
    const down = Math.min(bottom, innerHeight) - Math.max(top, 0), across = Math.min(right, innerWidth) - Math.max(left, 0);
    // Half of it, or a good piece of a large one.
    return down > 200 && across > 200 ? 1 : Math.max(0, down) * Math.max(0, across) / (height * width);
  };
  const look = (root) => {
    for (const e of root.querySelectorAll('*')) {
      if (e.dataset?.readout) found.push({ what: e.dataset.readout, now: e.dataset.value, seen: seen(e) });
      if (e.matches('.echo')) found.push({ what: 'echo', now: e.textContent, seen: seen(e) });
      if (e.matches('canvas')) found.push({ what: 'plot', now: e.toDataURL().length + e.toDataURL().slice(-400), seen: seen(e) });
      if (e.shadowRoot && e.matches('.panel, .sentence, .how'))
        found.push({ what: e.className, now: e.shadowRoot.querySelector('div')?.innerHTML ?? '', seen: seen(e) });
      if (e.shadowRoot) look(e.shadowRoot);
    }
  };
  look(stage);
  return found;
}"""
# How far the foot is from the top: a fold that opens adds to the card below it.
FOOT = """(stage) => {
  const find = (root) => {
    for (const e of root.querySelectorAll('*')) {
      if (e.matches('.foot[data-morph]')) return e;
      const inside = e.shadowRoot && find(e.shadowRoot);
      if (inside) return inside;
    }
    return null;
  };
  return Math.round(10 * (find(stage).getBoundingClientRect().bottom - stage.getBoundingClientRect().top)) / 10;
}"""
QUIET = "() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))"


@pytest.fixture(scope="module", params=SCREENS)
def screen(request, reader, address):
    """A live page on each screen."""
    width, height = SCREENS[request.param]
    phone = {"has_touch": True, "is_mobile": True} if request.param == "phone" else {}
    return reader(address, viewport={"width": width, "height": height}, **phone)


def things(card):
    card.page.evaluate(QUIET)
    return card.stage.evaluate(THINGS)


def steady(card, before):
    """Everything once a change has come and gone through: the same for some frames, or after a while without any."""
    last, same = things(card), 0
    for _ in range(60):
        now = things(card)
        same = same + 1 if now == last else 0
        last = now
        if same >= 4 and ([t["now"] for t in now] != [t["now"] for t in before] or same >= 25):
            break
    return last


def changes(before, after):
    assert [thing["what"] for thing in before] == [thing["what"] for thing in after], "things come and go"
    return [(new["what"], new["seen"]) for old, new in zip(before, after, strict=True) if old["now"] != new["now"]]


def rows_by_control(figure):
    """The rows of the table of controls, by the control that is used last."""
    found: dict[tuple[str, str], list] = {}
    for row in CONTROLS:
        if (
            row.figure == figure and row.uses and row.uses[-1].name not in ("Cancel", "Run 10,000 draws")
        ):  # which end where they began
            found.setdefault(row.uses[-1][:2], []).append(row)
    return found


def test_what_a_control_changes_is_on_screen_with_it(screen, reader, figure):
    card = screen.figure(figure)
    unseen = []
    for (role, name), rows in rows_by_control(figure).items():
        for row in rows:
            card.settle()
            for use in row.uses[:-1]:
                card.operate(*use)
            control = card.find(role, name)
            # On a phone the settings are docked below what they change; at a desk a control may stand anywhere.
            where = "nearest" if card.page.viewport_size["width"] < 560 else "center"
            control.evaluate("(e, block) => e.scrollIntoView({ block })", where)
            before = things(card)
            card.operate(*row.uses[-1])
            changed = changes(before, steady(card, before))
            if changed:
                break
        assert changed, f"{name} changes nothing"
        box = control.bounding_box()
        height = card.page.viewport_size["height"]
        assert box["y"] >= -1
        assert box["y"] + box["height"] <= height + 1, f"{name} is off the screen"
        if max(share for _, share in changed) < 0.5:
            unseen.append((name, changed))
    assert unseen == []
    reader.complain()


def links():
    text = ARTICLE.read_text(encoding="utf-8")
    return re.findall(r"\]\((\?[^)\s]+)\)", text) + re.findall(r'<a href="([^"]+)" data-scene', text)


def test_what_a_link_of_the_text_changes_is_on_screen(screen, reader):
    page, unseen = screen.page, []
    for href in links():
        card = screen.figure(href.rpartition("#")[2])
        card.settle()
        before = things(card)
        page.locator(f'main > :not(figure) a[href="{href}"]').first.evaluate(
            "a => { a.scrollIntoView({ block: 'center' }); a.click(); }"
        )
        expect(card.element).to_be_focused()
        changed = changes(before, steady(card, before))
        if changed and max(share for _, share in changed) < 0.5:
            unseen.append((href, changed))
        way = page.get_by_role("button", name="Back to the text")
        expect(way).to_be_visible()
        way.click()
        expect(way).to_have_count(0)
        assert page.evaluate("() => document.activeElement.getAttribute('href')") == href
    assert unseen == []
    reader.complain()


def test_a_card_fits_a_screen(shared, reader, figure):
    card = shared.figure(figure)
    card.settle()
    assert card.stage.bounding_box()["width"] == pytest.approx(1080, abs=2)
    assert card.stage.bounding_box()["height"] <= 720
    reader.complain()


def states(figure, count=10):
    """Some states of a figure, drawn by chance that is the same each time: queries of a link."""
    state = importlib.import_module(f"figures.{figure}").app().state
    draw = random.Random(figure)
    for _ in range(count):
        query = {}
        for key in state.query_keys():
            parameter = state.param[key]
            if key == "fold" or draw.random() < 0.5:
                continue
            if objects := getattr(parameter, "objects", None):
                query[key] = draw.choice(list(objects))
            elif hasattr(parameter, "sides"):
                query[key] = tuple(draw.randint(1, len(side) or 1) for side in parameter.sides)
            elif key == "heads":
                query[key] = draw.choice([1, 2])
            elif bounds := getattr(parameter, "bounds", None):
                query[key] = (
                    [0.5, 3.0]
                    if parameter.name == "vector"
                    else draw.choice([*bounds, draw.randint(int(bounds[0]) + 1, int(bounds[1]))])
                )
            elif parameter.default in (True, False):
                query[key] = not parameter.default
        yield "&".join(f"{figure}.{key}={to_text(value)}" for key, value in query.items())


def test_no_state_changes_the_height_of_a_card(screen, reader, figure):
    card = screen.figure(figure)
    card.settle()
    before, wrong = card.stage.evaluate(FOOT), []
    for name in scene_names(figure):
        card.operate("button", name)
        things(card)
        if card.stage.evaluate(FOOT) != before:
            wrong.append((name, card.stage.evaluate(FOOT) - before))
    for query in filter(None, states(figure)):
        card.follow(f"?{query}")
        card.until(lambda: things(card), lambda _: True, query)
        if card.stage.evaluate(FOOT) != before:
            wrong.append((query, card.stage.evaluate(FOOT) - before))
    assert wrong == []
    reader.complain()


def test_a_scene_is_pressed_only_in_its_state(shared, reader, figure):
    card = shared.figure(figure)
    card.settle()
    for name in scene_names(figure):
        card.operate("button", name)
        expect(card.control("button", name)).to_have_attribute("aria-pressed", "true")
    pressed = card.stage.locator(".chip[aria-pressed=true]")
    expect(pressed).to_have_count(1)
    reader.complain()


def test_nothing_is_lost_when_the_figure_is_live(visit, address, figures):
    # The picture state has tables and a title; so has the live one, in its folds.
    page = visit(address, wait="", java_script_enabled=False)
    tables = {name: page.figure(name).element.locator(".behind caption").all_text_contents() for name in figures}
    live = visit(address)
    for name in figures:
        card = live.figure(name)
        assert tables[name]
        assert card.stage.locator(".tables caption").all_text_contents() == tables[name]
        card.open("numbers")
        expect(card.stage.locator(".tables table").first).to_be_visible()
        assert card.stage.locator("[data-readout]").count() == len(card.texts())


def test_figures_are_drawn_by_nearness(visit, serve, faults, figures):
    # P13: a link to the fifth figure waits for no other; the first is drawn when the reader comes near, or has time.
    page = visit()
    page.open(f"{serve()}#heads", near=True)
    order = [name for name, state in page.witness("states") if state == "painted"]
    assert order[0] == "heads"
    assert "live" in [state for name, state in page.witness("states") if name == "heads"]
    page.figure(figures[0]).reaches("live")  # when there is nothing else to do


def test_sliders_let_the_page_scroll(visit, address):
    page = visit(address, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    for name in ("scaling", "cost", "dropout"):
        slider = page.figure(name).stage.get_by_role("slider").first
        slider.scroll_into_view_if_needed()
        assert slider.evaluate("e => getComputedStyle(e).touchAction") == "pan-y"
        value, top = slider.input_value(), page.page.evaluate("() => scrollY")
        box = slider.bounding_box()
        session = page.context.new_cdp_session(page.page)
        x, y = box["x"] + 0.3 * box["width"], box["y"] + box["height"] / 2
        session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
        for step in range(20, 251, 20):
            session.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": x, "y": y - step}]})
        session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        page.figure(name).until(
            lambda: page.page.evaluate("() => scrollY"), lambda now, top=top: now > top + 100, "the next screen"
        )
        assert slider.input_value() == value


def test_figures_grow_with_the_default_font(visit, address, figures):
    # As a reader with a larger default font has it: rem follows it.
    large = visit(
        address,
        init="document.addEventListener('DOMContentLoaded', () => { document.documentElement.style.fontSize = '200%'; });",
    )
    usual = visit(address)
    size = "e => parseFloat(getComputedStyle(e).fontSize)"
    for name in figures:
        for part in ("h3", "[data-sentence]", ".fold", ".chip"):
            small, big = (page.figure(name).stage.locator(part).first.evaluate(size) for page in (usual, large))
            assert big > 1.7 * small, f"{name} {part}: {small} to {big}"
    assert large.page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0


@pytest.mark.provokes("answer 404|net::ERR|console: ")
def test_a_failed_figure_takes_no_input(visit, serve, faults, figures):
    faults["python."] = "missing"
    page = visit(serve(handler=faults.handler), wait="failed")
    assert page.page.locator(".trouble[role=alert]").count() == 1
    for name in figures:
        card = page.figure(name)
        assert card.stage.evaluate("e => e.inert")
        trouble, stage = card.trouble.bounding_box(), card.stage.bounding_box()
        assert trouble["y"] < stage["y"] + 10


def test_scenes_are_in_the_table(figure, shared):
    shown = shared.figure(figure).stage.locator(".chip").evaluate_all("all => all.map((e) => e.ariaLabel)")
    assert sorted(shown) == sorted({row.uses[0].name for row in SCENES if row.figure == figure})
