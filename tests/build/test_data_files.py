"""What lies beside an app is published only if the app opens it, or site.toml lists it; dot files never are.

What the article is given, numbers and drawings, may be made of files that are not published.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import zstandard
from playwright.sync_api import expect

from panel_freeze.__main__ import build
from panel_freeze.bundle import unpack
from panel_freeze.serve import serving

SITE = Path(__file__).resolve().parents[2] / "site"
CONFIGURATION = f"""
[site]
title = "Data"
article = "article.md"
templates = "{(SITE / "templates").as_posix()}"
style = "{(SITE / "style").as_posix()}"
package = "beside"
figures = ["rows"]
numbers = "beside.article"
drawings = "beside.article"

[bundle]
python = ["beside"]
files = ["beside/listed/*.txt"]
"""
WORDS = """
# Data

Drafts: {{ numbers.drafts }}.

{{ drawing("plan") }}

{{ figure("rows") }}
"""
APP = """
from pathlib import Path

import panel as pn

HERE = Path(__file__).parent


def app():
    following = pn.widgets.Button(name="Next")
    return pn.Column(following, pn.pane.HTML(pn.bind(row, following.param.clicks)))


def row(which):
    text = (HERE / "data" / "rows.csv").read_text().splitlines()[which]
    text += (HERE / "listed" / "more.txt").read_text() if which else ""
    there = ", ".join(sorted(file.name for file in HERE.rglob("*") if file.is_file() and file.suffix != ".pyc"))
    return f'<b data-readout="row" data-value="1">{text}</b> <i>{there}</i>'
"""
ARTICLE = """
from pathlib import Path

def values():
    return {"drafts": len(list((Path(__file__).parent / "notes").iterdir()))}

def drawings():
    return {"plan": "<svg id='plan'>\\n\\n<text>*plan*</text></svg>"}
"""
FILES = {
    "__init__.py": "",
    "rows.py": APP,
    "article.py": ARTICLE,
    "data/rows.csv": "zero SEEN-CSV\none SEEN-CSV\ntwo SEEN-CSV\n",
    "data/unused.csv": "SECRET-CSV",
    "listed/more.txt": " SEEN-LISTED",
    "listed/.hidden.txt": "SECRET-DOT",
    ".env": "TOKEN=SECRET-TOKEN",
    ".drafts/module.py": "X = 'SECRET-MODULE'",
    "notes/draft.txt": "SECRET-DRAFT",
    "tests/test_rows.py": "X = 'SECRET-TEST'",
}


@pytest.fixture(scope="module")
def beside(tmp_path_factory, in_thread):
    """A site of one app that reads a file beside it, and what was said while it was built."""
    folder = tmp_path_factory.mktemp("beside")
    for name, text in FILES.items():
        (folder / "beside" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "beside" / name).write_text(text, encoding="utf-8")
    (folder / "site.toml").write_text(CONFIGURATION, encoding="utf-8")
    (folder / "article.md").write_text(WORDS, encoding="utf-8")
    said = []
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        patch.setattr("panel_freeze.__main__.say", said.append)
        in_thread(lambda: build(folder / "site.toml", folder / "dist", cache=None, mirror=None))
    return folder / "dist", said


def everything(site):
    """Yield each file of a site, unpacked, with its name."""
    for file in sorted(site.rglob("*")):
        if not file.is_file():
            continue
        data = file.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        elif data[:4] == b"\x28\xb5\x2f\xfd":
            data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
        yield file.name, data
        if file.name.startswith(("data.", "packages.", "late.")):
            yield from unpack(data).items()


@pytest.mark.browser
def test_nothing_is_published_that_no_app_opens(beside):
    found = {name: data for name, data in everything(beside[0]) if b"SECRET-" in data}
    assert set(found) == set()


@pytest.mark.browser
def test_what_is_opened_or_listed_is_published(beside):
    (data,) = (unpack(data) for name, data in everything(beside[0]) if name.startswith("data."))
    assert {name for name in data if name.startswith("beside/")} == {"beside/data/rows.csv", "beside/listed/more.txt"}


@pytest.mark.browser
def test_what_was_left_out_is_told_in_one_line(beside):
    assert [line for line in beside[1] if line.startswith("Left out")] == [
        "Left out: beside/data/unused.csv, beside/notes/draft.txt, which no app opened; "
        "list them under [bundle] files if readers need them"
    ]


@pytest.mark.parametrize("query", ["", "?boot=cold"])
def test_reader_s_app_reads_the_file_beside_it(beside, visit, query):
    with serving(beside[0]) as address:
        figure = visit(f"{address}{query}").figure("rows")
        expect(figure.stage.locator("b")).to_have_text("zero SEEN-CSV")
        figure.operate("button", "Next")
        expect(figure.stage.locator("b")).to_have_text("one SEEN-CSV SEEN-LISTED")
        expect(figure.stage.locator("i")).to_have_text("more.txt, rows.csv")


@pytest.mark.browser
def test_article_has_its_number_and_its_drawing(beside):
    page = (beside[0] / "index.html").read_text(encoding="utf-8")
    assert "<p>Drafts: 1.</p>" in page
    assert "<svg id='plan'>\n\n<text>*plan*</text></svg>" in page
