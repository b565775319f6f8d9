"""Colours with a meaning, the same in every figure, in the equations and in the text.

Each colour of the plots keeps its contrast on the light page and on the dark one, so a drawn figure
needs no second version; what does depend on the scheme (ink, hairlines, backgrounds) is CSS.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from bokeh.palettes import Cividis256

# Okabe and Ito's colours, told apart with every kind of colour vision.
QUERY = "#0072B2"
KEY = "#D55E00"
VALUE = "#009E73"

SELECTED = "#e3242b"  # outlines: solid around the selected cell, dashed around what it comes from
FRAME = "#55534e"  # outlines of what stands out for another reason
MASKED = "#a8a6a1"
NEUTRAL = "#808080"
# The page behind a plot. A plot paints it, which clears what was there; the style sheets put the scheme's own in place.
PAPER = "#fcfbf8"

# Blue - white - red, with the end colours as far apart in lightness as in hue.
_DIVERGING = ((33, 102, 172), (146, 197, 222), (247, 247, 247), (244, 165, 130), (178, 24, 43))


def sequential(values: np.ndarray, low: float, high: float) -> list[str]:
    """Return cividis colours of an array's values on the fixed scale from `low` to `high`, flattened."""
    share = np.clip((np.asarray(values, dtype=float).ravel() - low) / (high - low), 0.0, 1.0)
    return [Cividis256[round(float(s) * 255)] for s in share]


def diverging(values: np.ndarray, limit: float) -> list[str]:
    """Return blue-white-red colours of signed values on the fixed scale from -`limit` to `limit`, flattened."""
    share = np.clip((np.asarray(values, dtype=float).ravel() / limit + 1) / 2, 0.0, 1.0)
    stops = np.linspace(0.0, 1.0, len(_DIVERGING))
    channels = [np.interp(share, stops, [stop[i] for stop in _DIVERGING]) for i in range(3)]
    return ["#" + "".join(f"{round(float(c)):02x}" for c in rgb) for rgb in zip(*channels, strict=True)]


def text_on(colours: list[str]) -> list[str]:
    """Return, for each background colour, black or white, whichever has the higher contrast (WCAG 2)."""
    return [_ink_on(colour) for colour in colours]


@cache
def _ink_on(colour: str) -> str:
    light = luminance(colour) + 0.05
    return "#ffffff" if 1.05 / light > light / 0.05 else "#000000"


def luminance(colour: str) -> float:
    """Return the relative luminance, 0 to 1, of a colour written ``#rrggbb`` (WCAG 2)."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


# STUB until the merge.
COLOURS = {"paper": ("#fcfbf8", "#15161a"), "ink": ("#1c1b19", "#e8e6e1"), "muted": ("#66635c", "#a9a59c"), "faint": ("#98948a", "#7d7a73"),
  "line": ("#dcd8cf", "#34353b"), "wash": ("#f2efe8", "#22242a"), "accent": ("#0b6c8c", "#5fb6d6"), "on-accent": ("#ffffff", "#15161a"),
  "changed": ("#fff0b8", "#4a4221"), "warn": ("#8a5a00", "#e5b454"), "query": ("#0072b2", "#56b4e9"), "key": ("#b84f00", "#f08a4b"), "value": ("#00795a", "#3fc79a"),
  "score": ("#35506b", "#9db8d6"), "weight": ("#86286f", "#e08ccb"), "negative": ("#b0721a", "#e0b060"), "mark": ("#1c1b19", "#ffffff"), "halo": ("#fcfbf8", "#15161a"),
  "on-light": ("#ffffff", "#e8e6e1"), "on-dark": ("#1c1b19", "#15161a")}


def inks(hue, share):
    def lum(a, b):
        return luminance("#" + "".join(f"{round(share * int(a[i:i + 2], 16) + (1 - share) * int(b[i:i + 2], 16)):02x}" for i in (1, 3, 5)))
    l, d = COLOURS[hue]
    return lum(l, "#fcfbf8") < 0.18, lum(d, "#15161a") > 0.18


def both(hue):
    l, d = COLOURS[hue]
    return "#" + "".join(f"{(int(l[i:i + 2], 16) + int(d[i:i + 2], 16)) // 2:02x}" for i in (1, 3, 5))
