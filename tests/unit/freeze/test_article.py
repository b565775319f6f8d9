"""From Markdown to HTML: numbers are put in, never typed, and every mistake is told with its line."""

from __future__ import annotations

import pytest
from markupsafe import Markup

from panel_freeze._errors import FreezeError
from panel_freeze.article import FILTERS, render_article, typed_numbers

NUMBERS = {"cost": {"window": 1_047_576, "ratio": 0.0733, "loss": -0.5, "list": [1.0, 2.5], "tiny": 1.36e-6}}


@pytest.fixture
def render(tmp_path):
    """Render a text as an article."""

    def render(text, **drawings):
        path = tmp_path / "article.md"
        path.write_text(text, encoding="utf-8")
        return render_article(path, NUMBERS, lambda name: Markup(f"<figure>{name}</figure>"), FILTERS, drawings)

    return render


@pytest.mark.parametrize(
    "text",
    [
        "`x[0]` and ```\n12\n``` and $x_1^2$ and $$\n3\n$$",
        "{{ numbers.a.b1 | f4 }} {% set x = 3 %} {# 4 #}",
        '[words](https://example.org/2024/1) <span class="h2">no digit</span>',
        "one, two, three",
    ],
)
def test_what_is_no_claim_may_hold_digits(text):
    assert typed_numbers(text) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("about 7.3 percent", [(1, "7.3")]),
        ("one\n\n`a\nb` is 5", [(4, "5")]),
        ("```\n1\n2\n```\nand 1,047,576 tokens", [(5, "1,047,576")]),
        ("GPT-2", [(1, "2")]),
        ("[5 tokens](a.html)", [(1, "5")]),
        ("a < 3 and b > 2", [(1, "3"), (1, "2")]),
    ],
)
def test_typed_numbers_are_found_with_their_line(text, found):
    assert typed_numbers(text) == found


def test_typed_number_is_refused_in_words(render):
    with pytest.raises(FreezeError, match=r"article\.md, line 3: the number 7\.3 .* 2 such in all"):
        render("# Title\n\nabout 7.3 or 8 percent")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("numbers.cost.window | integer", "1,047,576"),
        ("numbers.cost.ratio | upto(3)", "0.073"),
        ("100 | upto(0)", "100"),
        ("numbers.cost.loss | f2", "−0.50"),
        ("numbers.cost.list | f1", "[1.0, 2.5]"),
        ('typed("2014")', "2014"),
    ],
)
def test_numbers_are_written(render, expression, text):
    assert text in render(f"It is {{{{ {expression} }}}}.").html


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("{{ numbers.cost.nothing | f1 }}", "nothing"),
        ("{{ numbers.nowhere.x | f1 }}", "nowhere"),
        ("{{ numbers.cost.ratio | integer }}", "whole number"),
        ("{{ numbers.cost.ratio | unheard }}", "unheard"),
        ("a\n\n{{ numbers.", "line 3"),
        (r"$\notacommandatall{$", "equation"),
    ],
)
def test_mistakes_are_told(render, text, word):
    with pytest.raises(FreezeError, match=word):
        render(text)


def test_figures_equations_notes_and_headings(render):
    article = render("# Top\n\n## A & b\n\n{{ figure('cost') }}\n\n$x^2$\n\n:::note\nAside\n:::\n\n## A & b\n")
    assert article.headings == ((1, "top", "Top"), (2, "a--b", "A & b"), (2, "a--b-1", "A & b"))
    assert "<figure>cost</figure>" in article.html
    assert "<math" in article.html
    assert '<aside class="note">' in article.html
    assert 'id="a--b-1"' in article.html


def test_a_comma_stays_on_the_line_of_its_equation(render):
    html = render("Both $q$, and $k$.").html
    assert html.count("</math>,</span>") == 1
    assert html.count("</math>.</span>") == 1


# What Markdown would change: an empty line, a deep indent, signs of emphasis and of equations, quotes, dots, numbers.
DRAWING = """<svg viewBox="0 0 9 9">

    <text>*not* $x_1$ "quoted" ... (c) 7.3 \\1 {{ name }}</text>

</svg>"""


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("{}", "{}\n"),
        ("before\n\n{}\n\n*after*", "<p>before</p>\n{}\n<p><em>after</em></p>\n"),
        ("{} *after* it", "<p>{} <em>after</em> it</p>\n"),
        ("- {}", "<ul>\n<li>{}</li>\n</ul>\n"),
        ('<div class="wide">\n{}\n</div>', '<div class="wide">\n{}\n</div>'),
        ("::: note\n{}\n:::", '<aside class="note">{}\n</aside>\n'),
        ("{}{}", "<p>{}{}</p>\n"),
    ],
)
def test_drawing_is_placed_as_it_is(render, text, html):
    given = text.replace("{}", '{{ drawing("plan") }}')
    assert render(given, other="<b>other</b>", plan=DRAWING).html == html.replace("{}", DRAWING)


def test_each_drawing_is_in_its_place(render):
    pieces = {f"piece{name}": f"<i>{name}</i>" for name in "abcdefghijklm"}
    text = " ".join(f'{{{{ drawing("{name}") }}}}' for name in reversed(pieces))
    assert render(text, **pieces).html == f"<p>{' '.join(reversed(pieces.values()))}</p>\n"


@pytest.mark.parametrize(("drawings", "known"), [({}, "there are none"), ({"a": "", "b": ""}, "there are a, b")])
def test_drawing_that_is_not_given_is_named(render, drawings, known):
    with pytest.raises(FreezeError, match=rf"article\.md places a drawing 'plan'.*; {known}\."):
        render('{{ drawing("plan") }}', **drawings)
