"""What a figure's models need on the page besides BokehJS goes along, and only where it is needed."""

from __future__ import annotations

import json
import re

import pytest

USUAL = ["bokeh", "bokeh-widgets", "bokeh-tables", "panel"]


def scripts(page):
    text = page.read_text(encoding="utf-8")
    settings = json.loads(re.search(r'id="site">(.*?)</script>', text)[1])
    return [re.fullmatch(r"assets/([\w-]+)\.\w{12}\.js", path)[1] for path in settings["scripts"]]


def style_sheets(page):
    return re.findall(r'<link rel="stylesheet" href="[./]*assets/([\w-]+)\.', page.read_text(encoding="utf-8"))


def test_real_site_pays_nothing_for_extensions(site):
    for page in site.rglob("*.html"):
        assert scripts(page) == USUAL
        assert style_sheets(page) == ["site"]
    assert not list((site / "assets").glob("tabulator*"))


@pytest.mark.parametrize("name", ["counter", "quotient", "echo", "clock"])
def test_page_without_the_table_loads_nothing_of_it(second_site, name):
    page = second_site / "figures" / name / "index.html"
    assert scripts(page) == USUAL
    assert style_sheets(page) == ["site"]


@pytest.mark.parametrize("name", ["index.html", "figures/table/index.html"])
def test_page_with_the_table_loads_what_it_needs(second_site, name):
    assert scripts(second_site / name) == [*USUAL, "tabulator", "luxon"]
    assert style_sheets(second_site / name) == ["tabulator_simple", "site"]


def test_scripts_of_extensions_are_in_the_report(second_site):
    files = json.loads((second_site / "build.json").read_text(encoding="utf-8"))["files"]
    for start in ("tabulator.", "luxon.", "tabulator_simple."):
        assert [name for name in files if name.startswith(f"assets/{start}")]
