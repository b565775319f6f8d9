"""What fails is told in one sentence that names the file or the figure, and can be tried again."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

# What the worker and the page fetch; a figure is painted before Python fails, but not without BokehJS.
PYTHON_FILES = ["python.", "numpy-multiarray_umath.", "data.", "pyodide.", "pyodide-asm."]
PAGE_FILES = ["bokeh.", "bokeh-widgets.", "panel.", "asymmetry."]
ANY_FAULT = "answer 404|net::ERR|console: |uncaught: Cannot find"


def name_of(site, start):
    return next(
        file.name for file in (site / "assets").iterdir() if file.name.startswith(start) and file.suffix != ".webp"
    )


@pytest.mark.provokes(ANY_FAULT)
@pytest.mark.parametrize("fault", ["missing", "page", "cut"])
@pytest.mark.parametrize("start", PYTHON_FILES + PAGE_FILES)
def test_missing_file_is_named_and_can_be_tried_again(visit, serve, site, faults, start, fault, numbers):
    faults[start] = fault
    page = visit(serve(handler=faults.handler), wait="failed")
    card = page.figure("asymmetry")
    expect(card.trouble.locator("p")).to_contain_text(name_of(site, start))
    expect(card.trouble.locator("p")).to_have_count(1)
    expect(card.trouble.locator("p")).not_to_contain_text("Traceback")
    kept = "picture img" if start in PAGE_FILES else ".drawing.shown"
    expect(card.stage.locator(kept)).to_be_visible()
    assert card.values()
    card.trouble.locator("summary").click()
    expect(card.trouble.locator("pre")).to_be_visible()
    faults.mend()
    card.control("button", "Try again").click()
    card.reaches("live")
    expect(page.page.locator("html")).to_have_attribute("data-figures", "live")
    expect(card.trouble).to_have_count(0)
    card.operate("radiogroup", "Mode", "Tied")
    card.shows("weight_error", numbers["fig1_tied_weight_error"]["value"], 1e-7)


@pytest.mark.provokes(ANY_FAULT)
def test_missing_worker_is_told(visit, serve, faults):
    faults["worker."] = "missing"
    card = visit(serve(handler=faults.handler), wait="failed").figure("asymmetry")
    expect(card.trouble).to_contain_text("worker")
    faults.mend()
    card.control("button", "Try again").click()
    card.reaches("live")


@pytest.mark.provokes(ANY_FAULT)
@pytest.mark.parametrize("start", ["page.", "queue.", "figure.", "morph."])
@pytest.mark.parametrize("fault", ["missing", "page"])
def test_missing_script_of_the_page_is_told(visit, serve, site, faults, start, fault):
    faults[start] = fault
    card = visit(serve(handler=faults.handler), wait="failed").figure("asymmetry")
    expect(card.trouble).to_have_text(
        re.compile(rf"The script {re.escape(name_of(site, 'page.'))}, or one that it needs")
    )
    expect(card.element.locator("picture img")).to_be_visible()
    assert card.values()


@pytest.mark.provokes(ANY_FAULT)
@pytest.mark.parametrize("start", ["first.", "selftest.", "loading.", "site."])
def test_figures_live_without_what_only_helps(visit, serve, faults, start):
    faults[start] = "missing"
    card = visit(serve(handler=faults.handler)).figure("asymmetry")
    card.operate("radiogroup", "Mode", "Tied")
    card.until(card.values, lambda values: values["score_error"] == 0, "one matrix")


@pytest.mark.provokes(ANY_FAULT)
@pytest.mark.parametrize("start", ["pyodide.", "pyodide-asm."])
def test_script_of_a_wrong_type_is_named_with_its_type(visit, serve, site, faults, start):
    faults[start] = "text"
    card = visit(serve(handler=faults.handler), wait="failed").figure("asymmetry")
    expect(card.trouble).to_contain_text(name_of(site, start))
    expect(card.trouble).to_contain_text("text/plain")


@pytest.mark.provokes(ANY_FAULT)
@pytest.mark.parametrize("fault", ["missing", "page", "cut", "damaged"])
def test_memory_that_does_not_come_whole_is_not_run(visit, serve, faults, fault, numbers):
    faults["memory-"] = fault
    page = visit(serve(handler=faults.handler))
    expect(page.page.locator("html")).to_have_attribute("data-boot", "cold")
    card = page.figure("asymmetry")
    card.operate("radiogroup", "Mode", "Tied")
    card.shows("weight_error", numbers["fig1_tied_weight_error"]["value"], 1e-7)


@pytest.mark.provokes(ANY_FAULT)
@pytest.mark.parametrize("start", ["late.", "stdlib.", "packages."])
def test_files_for_later_are_not_needed_to_go_live(visit, serve, faults, start):
    faults[start] = "missing"
    card = visit(serve(handler=faults.handler)).figure("asymmetry")
    card.operate("radiogroup", "Mode", "Tied")
    card.until(card.values, lambda values: values["score_error"] == 0, "one matrix")


def spell(card, words):
    card.operate("button", "Spell")
    card.shows("words", words)


@pytest.mark.parametrize("boot", ["resumed", "cold"])
@pytest.mark.parametrize("gone", [False, True])
def test_imports_that_come_late(visit, serve, second_site, boot, gone):
    page = visit(f"{serve(second_site)}?boot={boot}")
    if gone:  # the network, once all has come
        page.page.wait_for_load_state("networkidle")
        page.context.set_offline(True)
    card = page.figure("counter")
    spell(card, "none")
    card.operate("button", "Count")
    spell(card, "one")


@pytest.mark.provokes(ANY_FAULT)
@pytest.mark.parametrize("boot", ["resumed", "cold"])
def test_imports_that_come_before_their_files(visit, serve, faults, second_site, boot):
    faults["late."] = "missing"
    page = visit(f"{serve(second_site, handler=faults.handler)}?boot={boot}")
    page.page.wait_for_load_state("networkidle")
    card = page.figure("counter")
    card.operate("button", "Spell")
    expect(card.trouble).to_contain_text("The file late.")
    card.operate("button", "Count")
    card.shows("presses", 1)
    faults.mend()
    spell(card, "one")
    expect(card.trouble).to_have_count(0)


@pytest.mark.parametrize(
    ("init", "word"),
    [("delete globalThis.WebAssembly;", "WebAssembly"), ("delete globalThis.Worker;", "workers")],
)
def test_browser_that_lacks_something_keeps_the_picture(visit, address, init, word):
    page = visit(address, init=init, wait="")
    expect(page.page.locator("html")).to_have_attribute("data-figures", "failed")
    card = page.figure("asymmetry")
    expect(card.trouble).to_contain_text(word)
    expect(card.element).to_have_attribute("data-state", "picture")
    expect(card.element.locator("picture img")).to_have_js_property("complete", True)
    assert card.values()
    expect(page.page.locator(".starting")).to_be_empty()


@pytest.mark.provokes("file:|origin 'null'|net::ERR_FAILED")
def test_page_opened_from_a_file_says_how_to_serve_it(visit, site, figures):
    page = visit((site / "index.html").as_uri(), wait="")
    for card in map(page.figure, figures):
        expect(card.trouble).to_contain_text("python -m http.server")
        expect(card.element).to_have_attribute("data-state", "picture")
        assert card.values()
    expect(page.page.locator("html")).to_have_attribute("data-figures", "failed")


@pytest.mark.provokes("ZeroDivisionError")
def test_exception_of_one_figure_is_its_own(visit, serve, second_site):
    page = visit(serve(second_site))
    counter, quotient = page.figure("counter"), page.figure("quotient")
    choose = quotient.stage.locator("select").select_option
    choose("2")
    quotient.shows("quotient", 6.0)
    choose("0")
    expect(quotient.trouble).to_contain_text("quotient")
    expect(quotient.trouble).to_contain_text("ZeroDivisionError")
    expect(quotient.trouble.locator("pre")).to_be_hidden()
    quotient.shows("quotient", 6.0)
    expect(quotient.element).to_have_attribute("data-state", "live")
    assert page.page.locator(".trouble").count() == 1
    counter.operate("button", "Count")
    counter.shows("presses", 1)
    expect(quotient.trouble).to_be_visible()
    choose("1")
    quotient.shows("quotient", 12.0)
    expect(quotient.trouble).to_have_count(0)


@pytest.mark.provokes("ZeroDivisionError")
def test_details_name_no_path_of_the_build(visit, serve, second_site):
    quotient = visit(serve(second_site)).figure("quotient")
    quotient.stage.locator("select").select_option("0")
    text = quotient.trouble.locator("pre").text_content()
    assert "second/quotient.py" in text
    assert not re.search(r"/home/(?!pyodide)|/root|/tmp|[A-Z]:\\\\|site-packages/panel_freeze", text)


def test_load_callback_runs_once_and_printing_harms_nothing(visit, serve, second_site):
    counter = visit(serve(second_site)).figure("counter")
    counter.shows("loads", 1)
    counter.operate("button", "Count")
    counter.shows("presses", 1)
    assert counter.values() == {"loads": 1, "presses": 1, "words": ""}


def test_text_of_a_link_is_text(visit, serve, second_site):
    page = visit(serve(second_site) + "?echo.text=%3C/script%3E%3Cimg%20src=x%20onerror=window.hit=1%3E")
    echo = page.figure("echo")
    expect(echo.element.locator("q")).to_have_text("</script><img src=x onerror=window.hit=1>")
    assert page.page.locator("img[src=x]").count() == 0
    assert page.page.evaluate("() => window.hit") is None


def test_title_full_of_markup_is_shown_literally(visit, serve, second_site):
    page = visit(serve(second_site)).page
    expect(page).to_have_title("Q & A <b>x</b> “quotes”")
    assert page.locator("b").count() == 0
    assert page.locator("img[src=x]").count() == 0
    expect(page.locator("figure[data-figure=echo]")).to_have_attribute(
        "aria-label", re.compile(re.escape("A < B & </script><img src=x onerror=alert(1)>"))
    )
