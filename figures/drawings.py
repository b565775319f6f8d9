"""The drawing that opens the article: plain HTML and SVG from the core's numbers, for a page without scripts.

All six choices are in the HTML; `site/style/opening.css` shows the one whose radio button is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from attention_core import EMBEDDINGS, TOKENS, mean_pairwise_distance, softmax

CHOSEN = TOKENS.index("journey")
DIMENSIONS = ("first number", "second", "third")

# A column for each word, as wide as the word and a little; the same widths, as fr, are in opening.css.
_WIDTHS = np.array([len(word) + 3 for word in TOKENS], dtype=float)
CENTRES = 100 * (np.cumsum(_WIDTHS) - _WIDTHS / 2) / _WIDTHS.sum()

# The drawing of vectors, in its own units: axes from TOP to BOTTOM, a pair for each of the three numbers.
WIDTH, HEIGHT, TOP, BOTTOM = 384, 216, 22, 196
LEFT, PAIR, GAP = 60, 80, 36
LABELS_APART = 14


def drawings() -> dict[str, str]:
    """Return the drawings that the article places by name."""
    return {"opening": _opening()}


def _opening() -> str:
    weights = softmax(EMBEDDINGS @ EMBEDDINGS.T)
    blends = weights @ EMBEDDINGS
    before, after = mean_pairwise_distance(EMBEDDINGS), mean_pairwise_distance(blends)
    words = "".join(
        f'<label class="word"><input type="radio" name="opening-word" value="{i}"'
        f"{' checked' if i == CHOSEN else ''}><span>{word}</span></label>"
        for i, word in enumerate(TOKENS)
    )
    lines = [
        '<section class="opening wide" aria-label="Six words, and the blend that replaces each">',
        '<div class="blend"><fieldset><legend>Whose new vector</legend>',
        f'<svg class="arcs" viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">{_arcs(weights)}</svg>',
        f'<div class="words">{words}</div></fieldset>',
        f'<svg class="bars" viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">{_bars(weights)}</svg>',
        _each(lambda i: "".join(f"<span>{_percent(w)}</span>" for w in weights[i]), "shares", hidden=True),
        '<p class="says">This much of each word goes into the new vector of '
        + _each(lambda i: TOKENS[i], "chosen", tag="b")
        + '. <span class="ask">Choose another word.</span></p></div>',
        '<div class="vectors"><p class="says"><b>Six vectors in, six blends out</b> '
        "<span>each line is one word</span></p>",
        f'<svg class="axes" viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true">{_axes(EMBEDDINGS, blends)}</svg>',
        f'<p class="says">mean distance <b>{before:.4f}</b> in, <b>{after:.4f}</b> out: {_percent(after / before, 1)} '
        "is left</p></div>",
        _table("The share of each word in the blend that replaces a word", TOKENS,
               [[_percent(w) for w in row] for row in weights]),
        _table("Vectors in, and blends out", [f"{name} {way}" for way in ("in", "out") for name in DIMENSIONS],
               [[f"{v:.2f}" for v in row] for row in np.hstack([EMBEDDINGS, blends])]),
        "</section>",
    ]  # fmt: skip
    return "\n".join(lines)


def _each(of: Callable[[int], str], name: str, *, tag: str = "div", hidden: bool = False) -> str:
    """Return one element for each word, of which the style sheet shows that of the chosen word."""
    silent = ' aria-hidden="true"' if hidden else ""
    return "".join(f'<{tag} class="{name} of of-{i}"{silent}>{of(i)}</{tag}>' for i in range(len(TOKENS)))


def _arcs(weights: np.ndarray) -> str:
    """Return arcs from each word to every other, wide by weight, high by distance."""
    groups = []
    for i, row in enumerate(weights):
        paths = []
        for j, weight in enumerate(row):
            if i != j:
                high = 100 - (40 + 0.9 * abs(CENTRES[i] - CENTRES[j]))
                start, end = f"{CENTRES[i]:.1f}", f"{CENTRES[j]:.1f}"
                curve = f"M{start} 100C{start} {high:.0f} {end} {high:.0f} {end} 100"
                paths.append(f'<path stroke-width="{3 * weight:.2f}em" d="{curve}"/>')
        groups.append(f'<g class="of of-{i}">{"".join(paths)}</g>')
    return "".join(groups)


def _bars(weights: np.ndarray) -> str:
    """Return a bar for each share, on one scale for all six words."""
    groups = []
    for i, row in enumerate(weights):
        bars = (
            f'<rect x="{centre - 4:.1f}" y="{100 - high:.1f}" width="8" height="{high:.1f}"/>'
            for centre, high in zip(CENTRES, 100 * row / weights.max(), strict=True)
        )
        groups.append(f'<g class="of of-{i}">{"".join(bars)}</g>')
    return "".join(groups)


def _axes(before: np.ndarray, after: np.ndarray) -> str:
    """Return the vectors as lines from what goes in to what comes out: all of them, then each again, to stand out."""
    drawn = []
    for d, name in enumerate(DIMENSIONS):
        left = LEFT + d * (PAIR + GAP)
        right = left + PAIR
        drawn.append(f'<path class="axis" d="M{left} {TOP}V{BOTTOM}M{right} {TOP}V{BOTTOM}"/>')
        drawn.append(f'<text x="{left + PAIR / 2:g}" y="{TOP - 11}">{name}</text>')
        drawn.append(f'<text x="{left}" y="{HEIGHT - 4}">in</text><text x="{right}" y="{HEIGHT - 4}">out</text>')
    lines, labels = [], []
    for i, place in enumerate(_label_places(_height(before[:, 0]))):
        steps = [
            (LEFT + d * (PAIR + GAP), float(_height(before[i, d])), float(_height(after[i, d])))
            for d in range(before.shape[1])
        ]
        path = "".join(f"M{x} {y:.1f}L{x + PAIR} {to:.1f}" for x, y, to in steps)
        dots = "".join(f"M{x} {y:.1f}h0M{x + PAIR} {to:.1f}h0" for x, y, to in steps)
        lines.append(f'<path d="{path}"/><path class="dots" d="{dots}"/>')
        labels.append(f'<text class="name" x="{LEFT - 9}" y="{place + 4:.1f}">{TOKENS[i]}</text>')
    drawn += [line + label for line, label in zip(lines, labels, strict=True)]
    drawn += [f'<g class="of of-{i}">{lines[i]}{labels[i]}</g>' for i in range(len(TOKENS))]
    return "".join(drawn)


def _height(values: np.ndarray) -> np.ndarray:
    return TOP + (BOTTOM - TOP) * (1 - values)


def _label_places(heights: np.ndarray) -> np.ndarray:
    """Return heights moved apart as little as it takes to set labels beside them."""
    places = heights.copy()
    order = np.argsort(heights)
    for _ in range(50):
        for upper, lower in pairwise(order):
            overlap = LABELS_APART - (places[lower] - places[upper])
            if overlap > 0:
                places[upper] -= overlap / 2
                places[lower] += overlap / 2
    return places


def _table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table for those who do not see the drawing."""
    head = "".join(f'<th scope="col">{column}</th>' for column in columns)
    body = "".join(
        f'<tr><th scope="row">{word}</th>{"".join(f"<td>{cell}</td>" for cell in row)}</tr>'
        for word, row in zip(TOKENS, rows, strict=True)
    )
    return f'<div class="behind"><table><caption>{caption}</caption><tr><td></td>{head}</tr>{body}</table></div>'


def _percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f}\u202f%"
