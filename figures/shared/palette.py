"""Colours with a meaning, the same in every figure, in the equations and in the text.

HTML takes them from the page, which knows light from dark. A canvas does not, so the lines of charts have colours
half way, which stand out from both papers: `both`.

`COLOURS` is the one table of the page's colours, light and dark. Its custom properties are in
``site/style/colours.css``, which ``python -m figures.shared.palette site/style/colours.css`` writes.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import numpy as np

# Each colour on the light page, and on the dark one. Hue says the kind of number, strength its size, paper is zero.
COLOURS: dict[str, tuple[str, str]] = {
    "paper": ("#fcfbf8", "#15161a"),
    "ink": ("#1c1b19", "#e8e6e1"),
    "muted": ("#66635c", "#a9a59c"),
    "faint": ("#98948a", "#7d7a73"),
    "line": ("#dcd8cf", "#34353b"),
    "wash": ("#f2efe8", "#22242a"),
    "accent": ("#0b6c8c", "#5fb6d6"),
    "on_accent": ("#ffffff", "#0d1114"),
    "changed": ("#fff0b8", "#4a4221"),
    "warn": ("#8a5a00", "#e5b454"),
    # Kinds of numbers.
    "query": ("#0072b2", "#52a8dd"),
    "key": ("#b84f00", "#f08a4b"),
    "value": ("#046241", "#58d8a8"),
    "score": ("#2a4259", "#9bbfe4"),
    "weight": ("#98367f", "#d97db3"),
    "negative": ("#9f6614", "#e0b060"),
    # The outline of a selected cell, and the ring of paper around it.
    "mark": ("#1c1b19", "#ffffff"),
    "halo": ("#fcfbf8", "#15161a"),
    # A number in a cell: on a fill near paper, and on a strong one. Ink and paper would reach 3.8 : 1 in between.
    "cell_ink": ("#000000", "#ffffff"),
    "cell_paper": ("#ffffff", "#000000"),
}


def luminance(colour: str) -> float:
    """Return the relative luminance, 0 to 1, of a colour written ``#rrggbb`` (WCAG 2)."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def mix(hue: str, share: float, paper: str) -> str:
    """Return what CSS paints for ``color-mix(in srgb, hue share, paper)``, with a share from 0 to 1."""
    pairs = [(int(hue[i : i + 2], 16), int(paper[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(share * of_hue + (1 - share) * of_paper):02x}" for of_hue, of_paper in pairs)


def both(name: str) -> str:
    """Return the colour half way between the light page's and the dark one's, for what cannot follow the scheme."""
    light, dark = COLOURS[name]
    return mix(light, 0.5, dark)


@cache
def inks(name: str, share: float) -> tuple[bool, bool]:
    """Say whether text on a cell takes the colour ``cell_paper`` (else ``cell_ink``), on the light page and the dark.

    The cell is filled with `share`, 0 to 1, of the hue called `name` over paper.
    """
    hue, paper, ink, strong = (COLOURS[key] for key in (name, "paper", "cell_ink", "cell_paper"))
    fills = [mix(hue[scheme], share, paper[scheme]) for scheme in (0, 1)]
    light, dark = (contrast(strong[i], fills[i]) > contrast(ink[i], fills[i]) for i in (0, 1))
    return light, dark


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, 1 to 21 (WCAG 2)."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def custom_properties() -> str:
    """Return `COLOURS` as a style sheet: ``--page-on-accent`` and so on, light first, then dark on screens."""
    light, dark = (
        "".join(f"{indent}--page-{name.replace('_', '-')}: {both[scheme]};\n" for name, both in COLOURS.items())
        for scheme, indent in ((0, "  "), (1, "    "))
    )
    return (
        "/* Written from the table of colours in figures/shared/palette.py; change them there. */\n\n"
        f":root {{\n  color-scheme: light dark;\n{light}}}\n"
        f"@media screen and (prefers-color-scheme: dark) {{\n  :root:not([data-printing]) {{\n{dark}  }}\n}}\n"
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(custom_properties(), encoding="utf-8", newline="\n")
