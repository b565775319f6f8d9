"""The article in the built page: each recorded number in its section, and links that lead somewhere."""

from __future__ import annotations

import html
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import jinja2
import pytest

from figures.numbers import values
from figures.shared.format import FILTERS as OWN
from panel_freeze.article import FILTERS

ROOT = Path(__file__).resolve().parents[2]
SOURCE = (ROOT / "site" / "article.md").read_text(encoding="utf-8")
TABLE = json.loads((ROOT / "tests" / "data" / "article_numbers.json").read_text(encoding="utf-8"))

# The sections of the article, by the mark of their entries in numbers.json.
SECTIONS = {
    "intro": "Attention without parameters",
    "01": "Three matrices",
    "02": "The divisor",
    "03": "The mask",
    "04": "Weights dropped at random",
    "05": "Many heads",
    "06": "What length costs",
    "07": "What is still missing",
}


class Text(HTMLParser):
    """The words of a page without its figures and scripts; and its links and ids."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text = ""
        self.links: list[str] = []
        self.ids: set[str] = set()
        self._hidden = 0
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.ids |= {named["id"]} if "id" in named else set()
        self.links += [named["href"]] if tag == "a" else []
        self._hidden += tag in ("figure", "script", "style")

    def handle_endtag(self, tag):
        self._hidden -= tag in ("figure", "script", "style")

    def handle_data(self, data):
        if not self._hidden:
            self.text += data


@pytest.fixture(scope="module")
def page(site):
    return (site / "index.html").read_text(encoding="utf-8")


def part(text, heading, end):
    """Return what stands between a heading and the next."""
    return text.split(heading, 1)[1].split(end, 1)[0]


def origin(name):
    """Return the entry of numbers.json that a number of the article equals, as a path, or nothing."""
    line = TABLE[name]
    return line if isinstance(line, str) else line["entry"] or ""


def recorded(numbers):
    """Return the article's numbers as recorded; computed where no entry fixes every digit."""
    found = values()
    for name, line in TABLE.items():
        if isinstance(line, dict):
            continue
        section, _, key = name.partition(".")
        entry, *path = line.split(".")
        value = numbers[entry]["value"]
        for step in path:
            value = value[step]
        found[section][key] = int(value) if isinstance(found[section][key], int) else value
    return found


def quoted(heading):
    """Return the expressions that a section of the article writes, in order."""
    return re.findall(r"\{\{ (numbers\.[^}]*) \}\}", part(SOURCE, f"\n## {heading}\n", "\n## "))


@pytest.mark.parametrize("heading", SECTIONS.values())
def test_built_page_says_the_recorded_numbers(page, numbers, heading):
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)
    environment.filters |= FILTERS | OWN
    known = recorded(numbers)
    left = Text(part(page, f">{html.escape(heading)}</h2>", "<h2")).text
    expressions = [each for each in quoted(heading) if "loop." not in each]
    assert expressions
    for expression in expressions:
        text = environment.from_string(f"{{{{ {expression} }}}}").render(numbers=known)
        found = re.search(rf"(?<![\d.]){re.escape(text)}(?!\.?\d)", left)
        assert found, f"{expression}: {text} is not where it should be"
        left = left[found.end() :]


def test_vectors_of_the_example_are_in_the_page(page, numbers):
    text = " ".join(Text(page).text.split())
    for token, vector in zip(*map(values()["introduction"].get, ("tokens", "embeddings")), strict=True):
        assert f"{token} {' '.join(f'{value:.2f}' for value in vector)}" in text


def test_a_number_stands_in_the_section_it_is_marked_for(numbers):
    for mark, heading in SECTIONS.items():
        for name in re.findall(r"numbers\.(\w+\.\w+)", " ".join(quoted(heading))):
            entry = origin(name).partition(".")[0]
            assert not entry or numbers[entry]["section"] == mark, name


def test_links_lead_to_files_and_anchors_of_the_site(site):
    pages = {file: Text(file.read_text(encoding="utf-8")) for file in site.rglob("*.html")}
    assert len(pages) > 1
    for file, content in pages.items():
        for link in content.links:
            address = urlsplit(link)
            if address.scheme:
                continue
            target = (file.parent / unquote(address.path)).resolve() if address.path else file
            assert target in pages, f"{file}: {link}"
            assert not address.fragment or address.fragment in pages[target].ids, f"{file}: {link}"


def test_links_to_other_sites_are_whole_and_listed_once_in_the_sources(page):
    everywhere = {link for link in Text(page).links if urlsplit(link).scheme}
    listed = [link for link in Text(part(page, ">Sources</h2>", "<h2")).links if urlsplit(link).scheme]
    assert listed
    for link in everywhere:
        assert re.fullmatch(r"https://[a-z0-9-]+(\.[a-z0-9-]+)+/[\w./-]*\w?/?", link), link
        assert listed.count(link) == 1, f"{link} is in the sources {listed.count(link)} times"
