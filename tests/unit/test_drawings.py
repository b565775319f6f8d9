"""The opening drawing: every number comes from the core, and all of it is there without a script."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from attention_core import EMBEDDINGS, TOKENS, mean_pairwise_distance, softmax
from figures.drawings import CENTRES, LABELS_APART, _label_places, drawings
from tests.conftest import ROOT

WEIGHTS = softmax(EMBEDDINGS @ EMBEDDINGS.T)
STYLE = (ROOT / "site" / "style" / "opening.css").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def html():
    return drawings()["opening"]


@pytest.fixture(scope="module")
def tree(html):
    return ET.fromstring(re.sub(r"<input ([^>]*?)( checked)?>", r"<input \1/>", html))


def of(tree, tag, i, inside):
    """Return the elements of one kind that are shown for word `i` in a part of the drawing."""
    (part,) = (element for element in tree.iter() if element.get("class") == inside)
    return [e for group in part.iter() if group.get("class", "").endswith(f"of of-{i}") for e in group.iter(tag)]


def test_each_word_is_a_radio_button_and_journey_is_chosen(html, tree):
    buttons = list(tree.iter("input"))
    assert [b.get("value") for b in buttons] == [str(i) for i in range(len(TOKENS))]
    assert len({b.get("name") for b in buttons}) == 1
    assert [label.find("span").text for label in tree.iter("label")] == list(TOKENS)
    assert re.findall(r'value="(\d)" checked', html) == [str(TOKENS.index("journey"))]
    assert tree.find(".//fieldset/legend").text


@pytest.mark.parametrize("i", range(len(TOKENS)), ids=TOKENS)
def test_bars_arcs_and_shares_are_the_weights_of_the_word(html, tree, i):
    heights = [float(bar.get("height")) for bar in of(tree, "rect", i, "bars")]
    assert heights == pytest.approx(100 * WEIGHTS[i] / WEIGHTS.max(), abs=0.06)
    widths = [float(arc.get("stroke-width").removesuffix("em")) for arc in of(tree, "path", i, "arcs")]
    others = np.delete(WEIGHTS[i], i)
    assert np.array(widths) / others == pytest.approx(np.full(5, widths[0] / others[0]), rel=0.05)
    shares = re.search(rf'<div class="shares of of-{i}"[^>]*>(.*?)</div>', html).group(1)
    assert re.findall(r"<span>(.*?)</span>", shares) == [f"{100 * w:.0f}\u202f%" for w in WEIGHTS[i]]
    assert f'<b class="chosen of of-{i}">{TOKENS[i]}</b>' in html


def test_vectors_in_and_blends_out_end_where_the_numbers_are(tree):
    (lines,) = [path.get("d") for path in of(tree, "path", 2, "axes") if path.get("class") != "dots"]
    ends = np.array(re.findall(r"M[\d.]+ ([\d.]+)L[\d.]+ ([\d.]+)", lines), dtype=float)
    top, bottom = (
        float(y) for y in re.search(r'class="axis" d="M\d+ (\d+)V(\d+)', ET.tostring(tree).decode()).groups()
    )
    values = (bottom - ends) / (bottom - top)
    assert values[:, 0] == pytest.approx(EMBEDDINGS[2], abs=1e-3)
    assert values[:, 1] == pytest.approx((WEIGHTS @ EMBEDDINGS)[2], abs=1e-3)


def test_sentence_says_how_little_is_left(html):
    before, after = mean_pairwise_distance(EMBEDDINGS), mean_pairwise_distance(WEIGHTS @ EMBEDDINGS)
    assert f"<b>{before:.4f}</b> in, <b>{after:.4f}</b> out: {100 * after / before:.1f}\u202f% is left" in html
    assert (f"{before:.4f}", f"{after:.4f}") == ("0.6576", "0.0482")


def test_all_numbers_are_in_tables_and_pictures_are_silent(tree):
    shares, vectors = tree.iter("table")
    rows = [[cell.text for cell in row.iter("td")] for row in list(shares.iter("tr"))[1:]]
    assert rows == [[f"{100 * w:.0f}\u202f%" for w in row] for row in WEIGHTS]
    rows = [[float(cell.text) for cell in row.iter("td")] for row in list(vectors.iter("tr"))[1:]]
    assert np.array(rows) == pytest.approx(np.hstack([EMBEDDINGS, WEIGHTS @ EMBEDDINGS]), abs=0.0051)
    assert all(table.find("caption").text for table in (shares, vectors))
    assert all(th.get("scope") in ("row", "col") for th in tree.iter("th"))
    assert all(svg.get("aria-hidden") == "true" for svg in tree.iter("svg"))


def test_colours_and_sizes_are_left_to_the_style_sheet(html):
    assert not re.search(r"#[0-9a-f]{3,6}\b|style=|fill=|stroke=|<script|\son\w+=", html)
    assert not re.search(r"#[0-9a-f]{3,6}\b", STYLE)
    assert re.search(r"^<section", html)
    assert "\n\n" not in html, "Markdown would end the HTML at an empty line"


def test_style_sheet_knows_the_words_columns_and_numbers():
    columns = [int(width) for width in re.findall(r"minmax\(0, (\d+)fr\)", STYLE)][: len(TOKENS)]
    shares = 100 * np.array(columns) / sum(columns)
    assert np.cumsum(shares) - shares / 2 == pytest.approx(CENTRES)
    assert re.findall(r'\[value="(\d)"\]:checked\)\) \.of-(\d)', STYLE) == [(str(i), str(i)) for i in range(6)]
    # Where `:has` is not known, the word that is checked in the HTML is shown.
    assert f".of:not(.of-{TOKENS.index('journey')})" in STYLE


def test_labels_keep_their_order_and_stand_apart():
    heights = np.array([50.0, 49.0, 10.0, 120.0, 51.0])
    places = _label_places(heights)
    assert list(np.argsort(places)) == list(np.argsort(heights))
    assert np.diff(np.sort(places)).min() >= LABELS_APART - 0.01
    assert places[[2, 3]] == pytest.approx(heights[[2, 3]])


def test_drawing_is_small(html):
    assert len(html.encode()) < 30_000
