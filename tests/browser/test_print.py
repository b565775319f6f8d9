"""The page on paper: black on white from any scheme, figures whole and complete, and nothing that wants to be pressed."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

MILLIMETRE = 96 / 25.4
# What can be pressed in a drawing, and the number in the sentence, are read on paper.
PART_OF_THE_DRAWING = """(e) => {
  for (let at = e; at; at = at.parentElement ?? at.getRootNode().host)
    if (at.matches('[data-stage], .side, [data-sentence]')) return true;
  return false;
}"""
# Width and height of what the margins of `@page` leave, in CSS pixels.
PAPERS = {
    "A4": ((210 - 32) * MILLIMETRE, (297 - 37) * MILLIMETRE),
    "Letter": (8.5 * 96 - 32 * MILLIMETRE, 11 * 96 - 37 * MILLIMETRE),
}

# Of every plot: the ink of its canvas in a corner, where there is only paper, and how much of it is not that.
INK = """(printed) => {
  const look = (view) => view.canvas_view && view.repaint ? [view] : [...(view.child_views ?? view.children?.() ?? [])].flatMap(look);
  return Bokeh.documents.flatMap((doc) => doc.views_manager.roots).flatMap(look).filter((view) => view.el.getClientRects().length).map((view) => {
    const { canvas: own } = view.canvas_view.primary;
    const canvas = printed ? own.nextElementSibling : own;
    const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    const corner = 4 * (3 * canvas.width + 3);
    const [red, green, blue] = data.slice(corner, corner + 3);
    let inked = 0;
    for (let i = 0; i < data.length; i += 4) if (data[i] !== red || data[i + 2] !== blue) inked += 1;
    return { paper: [red, green, blue], inked: inked / (canvas.width * canvas.height) };
  });
}"""


@pytest.fixture(scope="module")
def reader(new_reader):
    """One reader for this whole file, whose pages stay open."""
    return new_reader()


@pytest.fixture(autouse=True)
def no_fault(reader):
    yield
    reader.complain("willReadFrequently")


@pytest.fixture(scope="module")
def dark(reader, address):
    """A live page in the dark."""
    return reader(address, color_scheme="dark")


@pytest.fixture(scope="module")
def small(reader, address):
    """A live page on a phone in the light."""
    return reader(address, color_scheme="light", viewport={"width": 360, "height": 740})


@pytest.fixture
def on_paper(dark):
    """The dark page as it is while it is printed, at the width of A4."""
    page = dark.page
    size = page.viewport_size
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": round(PAPERS["A4"][0]), "height": size["height"]})
    yield page
    page.set_viewport_size(size)
    page.emulate_media(media="screen")
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")


def pdf(visit, **options):
    """Print a page, without what differs from one print to the next."""
    data = visit.page.pdf(prefer_css_page_size=False, **options)
    return re.sub(rb"/(Creation|Mod)Date \([^)]*\)|/ID \[[^\]]*\]|/Producer \([^)]*\)", b"", data)


def images(data):
    return data.count(b"/Subtype /Image")


def test_dark_and_light_print_alike(dark, reader, address):
    from_dark = pdf(dark, format="A4")
    light = reader(address, color_scheme="light")
    assert images(from_dark) >= 3
    assert pdf(light, format="A4") == from_dark


def test_a_phone_prints_the_figures_at_the_width_of_paper(dark, small):
    desk, phone = pdf(dark, format="A4"), pdf(small, format="A4")
    assert images(phone) == images(desk)
    pages = [len(re.findall(rb"/Type /Page\b", data)) for data in (desk, phone)]
    assert pages[0] == pages[1] < 25


def test_plots_are_drawn_on_white_and_back(dark):
    page = dark.page
    on_screen = page.evaluate(INK, False)
    assert len(on_screen) >= 3
    assert {tuple(plot["paper"]) for plot in on_screen} == {(21, 22, 26)}
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    printed = page.evaluate(INK, True)
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    assert {tuple(plot["paper"]) for plot in printed} == {(255, 255, 255)}
    assert all(plot["inked"] > 0.01 for plot in printed)
    dark.figure("asymmetry").until(lambda: page.evaluate(INK, False), lambda now: now == on_screen, "the dark ink")
    assert "data-printing" not in page.evaluate("() => document.documentElement.outerHTML.slice(0, 200)")


def test_text_is_black_on_white(on_paper):
    colours = "(e) => [getComputedStyle(e).color, getComputedStyle(document.body).backgroundColor]"
    for selector in ("main > p:not([class])", "figure h3", "h1", "#sources + ul a"):
        assert on_paper.locator(selector).first.evaluate(colours) == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"], selector


@pytest.mark.parametrize("paper", PAPERS)
def test_figure_fits_on_one_page(on_paper, dark, figure, paper):
    width, height = PAPERS[paper]
    card = dark.figure(figure).element
    box = card.bounding_box()
    assert 0.9 * PAPERS["A4"][0] < box["width"] <= width
    assert box["height"] <= height
    assert card.evaluate("(e) => getComputedStyle(e).breakInside") == "avoid"
    for plot in card.get_by_role("img").all():
        inner = plot.bounding_box()
        assert inner["x"] >= box["x"] - 1
        assert inner["x"] + inner["width"] <= box["x"] + box["width"] + 1


def test_figure_shows_its_numbers_and_nothing_to_press(on_paper, dark, figure):
    card = dark.figure(figure)
    expect(card.element.locator("h3")).to_be_visible()
    expect(card.element.locator("[data-sentence]")).to_be_visible()
    expect(card.element.locator("[data-stage]")).to_be_visible()
    for role in ("button", "radiogroup", "slider", "spinbutton", "combobox", "switch"):
        for control in card.element.get_by_role(role).all():
            if not control.evaluate(PART_OF_THE_DRAWING):
                expect(control).to_be_hidden()


def test_contents_are_left_out_and_sources_have_addresses(on_paper):
    expect(on_paper.locator(".contents")).to_be_hidden()
    links = on_paper.locator("#sources + ul a")
    assert links.count() > 3
    for link in links.all():
        assert link.evaluate("(e) => getComputedStyle(e, '::after').content").count("https://") == 1


def test_pictures_are_printed_where_scripts_are_off(reader, address, figures):
    page = reader(address, wait="", java_script_enabled=False, color_scheme="dark").page
    page.emulate_media(media="print")
    expect(page.locator("picture img")).to_have_count(len(figures))
    expect(page.locator(".menu").first).to_be_hidden()
    for picture in page.locator("picture img").all():
        box = picture.bounding_box()
        assert box["width"] > 300
        assert box["height"] > 200
