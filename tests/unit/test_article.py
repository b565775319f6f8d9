"""The article: its numbers are the recorded ones, all are used, none is typed, and every link leads somewhere."""

import importlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from markupsafe import Markup
from spellchecker import SpellChecker

from figures.drawings import drawings
from figures.numbers import values
from figures.shared.format import FILTERS as OWN
from figures.shared.state import to_text
from panel_freeze.article import FILTERS, render_article, typed_numbers

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
ARTICLE = ROOT / "site" / "article.md"
FIGURES = ("asymmetry", "scaling", "masking", "dropout", "heads", "cost")

SOURCE = ARTICLE.read_text("utf-8")
RECORDED = json.loads((DATA / "numbers.json").read_text("utf-8"))
TABLE = json.loads((DATA / "article_numbers.json").read_text("utf-8"))
VALUES = {f"{section}.{name}": value for section, named in values().items() for name, value in named.items()}

# What the article is asked to quote, of the entries that belong to a section of it.
ASKED = {
    "intro_context_journey", "intro_dot_products", "intro_spread_inputs", "intro_spread_outputs",
    "intro_spread_ratio", "intro_nearest", "intro_score_journey_starts", "fig1_none_score_error",
    "fig1_none_weight_error_sqrt2", "fig1_row_sums", "fig1_tied_score_error", "fig1_separate_score_error",
    "fig1_counterexample_scaled_key", "fig1_counterexample_symmetric_weights", "fig2_n6_d1", "fig2_n6_d4",
    "fig2_n6_d768", "fig2_band_n6_draws400", "fig2_mean_law", "fig3_naive_first", "fig3_efficient_first",
    "fig3_row2", "fig3_row3", "fig3_difference", "fig3_zero_leak_rows", "fig3_softmax_counterexample", "fig4_dropped_row_sums",
    "fig4_dead_probability", "fig4_dead_row1_20000", "fig4_mean_row_sum_scaled", "fig5_params_gpt2",
    "fig5_matmuls_gpt2", "fig5_divisor_split", "fig5_divisor_wrong", "fig6_bytes_1024", "fig6_window",
    "fig6_bytes_window", "fig6_cards", "fig6_seconds", "fig6_hours_rounded", "fig6_masked_share", "fig6_crossover",
    "fig7_attention_params", "fig7_ffn_params", "fig7_equivariance",
}  # fmt: skip

# Words that are right and in no dictionary: names, units, and terms of the field.
ACCEPTED = {
    "dao", "flashattention", "gpt", "llm", "mkl", "numpy", "pytorch", "raschka", "srivastava", "vaswani",
    "gb", "gib", "mib", "pib", "tib",
    "exponentials", "exponentiates", "initialisation", "logit", "multi", "normalisation", "overfitting", "softmax",
}  # fmt: skip


class Words(HTMLParser):
    """The words of a text, in small letters; code and equations have none."""

    def __init__(self, html):
        super().__init__()
        self.text, self._inside = "", 0
        self.feed(html)
        found = re.findall(r"[A-Za-zÀ-ÖØ-öø-ÿ]+(?:['’][A-Za-z]+)*", self.text)
        self.words = {re.sub("['’]s?$", "", word).replace("’", "'").lower() for word in found}

    def handle_starttag(self, tag, attrs):
        self._inside += tag in ("code", "math")
        self.text += "" if tag in ("em", "strong", "a") else " "

    def handle_endtag(self, tag):
        self._inside -= tag in ("code", "math")
        self.text += "" if tag in ("em", "strong", "a") else " "

    def handle_data(self, data):
        self.text += "" if self._inside else data


@pytest.fixture(scope="module")
def dictionary():
    words = SpellChecker(language="en")
    words.word_frequency.load_words(ACCEPTED)
    return words


@pytest.fixture(scope="module")
def article():
    def figure(name):
        return Markup(f'<figure id="{name}" data-figure="{name}"></figure>')

    return render_article(ARTICLE, values(), figure, FILTERS | OWN, drawings())


def entry_of(name):
    """Return the path of the entry a name must equal (or None), and what the table says besides."""
    line = TABLE[name]
    return (line, {}) if isinstance(line, str) else (line["entry"], line)


def recorded(path):
    """Return the recorded value at ``entry.key.key``, and the entry's tolerance; keys may hold a point."""
    name, _, rest = path.partition(".")
    value = RECORDED[name]["value"]
    while rest:
        key = rest if rest in value else rest.partition(".")[0]
        value, rest = value[key], rest[len(key) + 1 :]
    return value, RECORDED[name]["tolerance"]


def close(value, expected, tolerance):
    if isinstance(expected, list):
        return len(value) == len(expected) and all(close(v, e, tolerance) for v, e in zip(value, expected, strict=True))
    return value == expected if isinstance(expected, str) else abs(value - expected) <= tolerance


def links():
    """Return the links of the article that set a figure's state: their text's figure, and key and value."""
    return re.findall(r"\]\(\?([^)#\s]*)#(\w+)\)", SOURCE)


def test_the_table_names_every_number_and_no_other():
    assert TABLE.keys() == VALUES.keys()


@pytest.mark.parametrize("name", [name for name in TABLE if entry_of(name)[0]])
def test_a_number_is_the_recorded_one(name):
    path, line = entry_of(name)
    expected, tolerance = recorded(path)
    if line.get("below"):
        assert VALUES[name] < tolerance
    else:
        assert close(VALUES[name], expected, 4 * line["sd"] if "sd" in line else tolerance + 1e-12), expected


@pytest.mark.parametrize("name", [name for name in TABLE if not entry_of(name)[0]])
def test_a_number_without_an_entry_has_a_reason(name):
    assert TABLE[name]["reason"]


def test_what_is_asked_for_is_quoted():
    assert all(RECORDED[name]["section"] in {"intro", "01", "02", "03", "04", "05", "06", "07"} for name in ASKED)
    quoted = {(entry_of(name)[0] or "").partition(".")[0] for name in TABLE}
    assert quoted >= ASKED


def test_every_number_is_used():
    used = set(re.findall(r"numbers\.(\w+\.\w+)", SOURCE))
    assert used == VALUES.keys()


def test_no_number_is_typed():
    assert typed_numbers(SOURCE) == []


def test_every_word_is_in_the_dictionary(article, dictionary):
    words = Words(article.html).words
    assert len(words) > 500
    assert dictionary.unknown(words) == set()
    assert words >= ACCEPTED, "accepted, and not used"


@pytest.mark.parametrize("slip", ["attenton", "divsor", "recieve", "seperate", "wieghts"])
def test_a_misspelt_word_is_found(dictionary, slip):
    planted = Words(f"<p>The <em>{slip}</em> of one step, <code>ndarray</code>.</p>").words
    assert dictionary.unknown(planted) == {slip}


def test_a_large_integer_keeps_its_last_digit(article):
    assert "20,227,562,049,503,232" in article.html


def test_all_figures_are_placed_in_order(article):
    assert re.findall(r'data-figure="(\w+)"', article.html) == list(FIGURES)


def test_ids_are_unique_and_every_anchor_has_one(article):
    ids = re.findall(r'\sid="([^"]+)"', article.html)
    assert len(ids) == len(set(ids))
    anchors = set(re.findall(r'href="[^":]*#([^"]+)"', article.html))
    assert anchors
    assert anchors <= set(ids)


def test_notation_and_glossary_are_reachable_from_every_section(article):
    last = [id for _, id, _ in article.headings].index("what-is-still-missing")
    for level, id, _ in article.headings[:last]:
        if level == 2:
            section = article.html.partition(f'id="{id}"')[2].partition("<h2")[0]
            assert 'href="#notation"' in section, id
            assert 'href="#glossary"' in section, id


@pytest.mark.parametrize(("query", "anchor"), links())
def test_a_link_sets_the_state_it_names(query, anchor):
    assert anchor in FIGURES
    state = importlib.import_module(f"figures.{anchor}").State()
    pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True)
    assert all(key.startswith(f"{anchor}.") for key, _ in pairs)
    given = {key.removeprefix(f"{anchor}."): value for key, value in pairs}
    assert state.load_query(given.items()) == ""
    defaults = {key: to_text(value) for key, value in state.defaults().items()}
    # What a default says already is not written again, and a relation says its mode.
    ours = {key: value for key, value in given.items() if value != defaults[key]}
    assert ours.items() <= state.query().items()


def test_every_figure_has_a_link_that_sets_its_state():
    assert {anchor for _, anchor in links()} == set(FIGURES)
