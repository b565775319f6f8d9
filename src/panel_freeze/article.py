"""From the article's Markdown to HTML: numbers put in, equations as MathML, no number typed by hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import jinja2
from latex2mathml.converter import convert as to_mathml
from markdown_it import MarkdownIt
from markupsafe import Markup
from mdit_py_plugins.anchors import anchors_plugin
from mdit_py_plugins.container import container_plugin
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

from panel_freeze._errors import FreezeError

# What may hold digits that are no claims: expressions, code, equations, addresses, tags.
_NOT_PROSE = re.compile(
    r"```.*?```|`[^`\n]*`|\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|\$\$.*?\$\$|\$[^$\n]+\$|\]\([^)\n]*\)|</?[A-Za-z!][^>\n]*>",
    re.DOTALL,
)

# The end of an equation and the comma or the like after it, which belongs on the same line.
_POINTED = re.compile(r"</math></span>([,.;:)]+)")

# Stands for a drawing while the text around it is Markdown, which would change what is in it: letters of nobody.
_PLACE = "\ue000{}\ue001"
_PLACED = re.compile("<p>{0}</p>|{0}".format(_PLACE.format(r"(\d+)")))


@dataclass(frozen=True)
class Article:
    """The article as HTML, and its headings as (level, id, text)."""

    html: Markup
    headings: tuple[tuple[int, str, str], ...]


def typed_numbers(text: str) -> list[tuple[int, str]]:
    """Return the numbers that stand in the prose itself, as (line, number).

    A number of the article is an expression, ``{{ numbers… }}``; what is no claim (a year, a seed, a
    section of a book) is marked as ``{{ typed("2014") }}``.
    """
    prose = _NOT_PROSE.sub(lambda match: "\n" * match.group().count("\n"), text)
    return [(prose.count("\n", 0, m.start()) + 1, m.group()) for m in re.finditer(r"\d[\d.,]*\d|\d", prose)]


def render_article(
    path: Path,
    numbers: Mapping[str, Any],
    figure: Callable[[str], Markup],
    filters: Mapping[str, Callable[..., str]],
    drawings: Mapping[str, str] | None = None,
) -> Article:
    """Render the article.

    Parameters
    ----------
    path : Path
        Markdown with Jinja expressions; ``{{ figure("NAME") }}`` places a figure.
    numbers : mapping
        The values of the site's numbers module.
    figure : callable
        Returns a figure's HTML.
    filters : mapping
        Ways to write a number, by name.
    drawings : mapping, optional
        HTML by name; ``{{ drawing("NAME") }}`` places one, as it is.

    Raises
    ------
    FreezeError
        If the article types a number, names a number or drawing that does not exist, or has a faulty equation.
    """
    source = path.read_text(encoding="utf-8")
    if found := typed_numbers(source):
        line, number = found[0]
        raise FreezeError(
            f"{path.name}, line {line}: the number {number} is typed by hand. Use a value of the numbers module, "
            f'or {{{{ typed("{number}") }}}} if it is no claim (a year, a seed). {len(found)} such in all.'
        )
    pieces = dict(drawings or {})

    def drawing(name: str) -> str:
        if name not in pieces:
            known = f"there are {', '.join(pieces)}" if pieces else "there are none"
            raise FreezeError(
                f"{path.name} places a drawing '{name}', which the drawings module does not give; {known}."
            )
        return _PLACE.format(list(pieces).index(name))

    environment = jinja2.Environment(undefined=_Missing, autoescape=False, trim_blocks=True)
    environment.filters |= dict(filters)
    try:
        text = environment.from_string(source).render(numbers=numbers, figure=figure, drawing=drawing, typed=str)
    except jinja2.TemplateError as error:
        place = f", line {error.lineno}" if isinstance(error, jinja2.TemplateSyntaxError) else ""
        raise FreezeError(f"{path.name}{place}: {error.message}.") from error
    except (TypeError, ValueError) as error:
        raise FreezeError(f"{path.name}: a number cannot be written as asked: {error}.") from error
    parser = _parser()
    tokens = parser.parse(text)
    headings: list[tuple[int, str, str]] = []
    for token, following in pairwise(tokens):
        if token.type == "heading_open" and following.children:
            words = "".join(child.content for child in following.children)
            headings.append((int(token.tag[1]), str(token.attrs["id"]), words))
    html = parser.renderer.render(tokens, parser.options, {})
    html = _POINTED.sub(r"</math>\1</span>", html)
    html = _PLACED.sub(lambda found: list(pieces.values())[int(found[1] or found[2])], html)
    return Article(Markup(html), tuple(headings))


class _Missing(jinja2.StrictUndefined):
    """A number that does not exist says so also where it is written with a number of decimals."""

    def __format__(self, spec: str) -> str:
        return str(self)


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": True, "typographer": True})
    parser.enable(["table", "replacements", "smartquotes"])
    parser.use(anchors_plugin, max_level=3)
    parser.use(deflist_plugin)
    parser.use(container_plugin, name="note", render=_note)
    parser.use(dollarmath_plugin, renderer=_equation, allow_digits=True)
    return parser


def _note(renderer: Any, tokens: Sequence[Any], index: int, options: Any, env: Any) -> str:  # noqa: ARG001
    return '<aside class="note">' if tokens[index].nesting == 1 else "</aside>\n"


def _equation(latex: str, options: Mapping[str, Any]) -> str:
    display = "block" if options["display_mode"] else "inline"
    try:
        return str(to_mathml(latex, display=display))
    except Exception as error:
        raise FreezeError(f"The equation {latex.strip()!r} cannot be set: {error or type(error).__name__}.") from error


# Ways to write a number, for any article. A site may add its own: `filters` of site.toml.


def write_integer(value: int) -> str:
    """Return ``1,047,576``."""
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is not a whole number")
    return f"{value:,}"


def write_fixed(digits: int) -> Callable[[Any], str]:
    """Return a filter that writes a number, or a list of numbers, with `digits` decimals."""

    def write(value: Any) -> str:
        if isinstance(value, list):
            return "[" + ", ".join(write(item) for item in value) + "]"
        return f"{value:.{digits}f}".replace("-", "−")

    return write


def write_up_to(value: Any, digits: int) -> str:
    """Return a number, or a list of numbers, with at most `digits` decimals: ``2``, ``0.9846``."""
    if isinstance(value, list):
        return "[" + ", ".join(write_up_to(item, digits) for item in value) + "]"
    text = f"{value:.{digits}f}"
    return (text.rstrip("0").rstrip(".") if digits else text).replace("-", "−")


FILTERS: dict[str, Callable[..., str]] = {
    "integer": write_integer,
    "upto": write_up_to,
    **{f"f{digits}": write_fixed(digits) for digits in range(9)},
}
