"""Colours: every number in a cell can be read, and fixed scales stay fixed."""

from itertools import combinations

import numpy as np
import pytest

from figures.shared.palette import COLOURS, both, contrast, custom_properties, inks, mix
from tests.conftest import ROOT

PAGES = {"light": "#fcfbf8", "dark": "#15161a"}

SCHEMES = ("light", "dark")
# Colours that fill cells; in a row, those that are seen together.
KINDS = (("score", "weight", "negative"), ("query", "key", "value"))
# Machado, Oliveira, Fernandes, "A physiologically-based model for simulation of color vision deficiency", 2009:
# linear RGB as seen without one kind of cones.
VISION = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
SRGB_TO_XYZ = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))
# Five to ten times what is just seen side by side.
APART = 15


def seen(colour, vision):
    """Return a colour in CIELAB (D65), as someone with this kind of vision sees it."""
    channels = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    xyz = np.array(SRGB_TO_XYZ) @ np.clip(np.array(VISION[vision]) @ linear, 0, 1) / (0.95047, 1, 1.08883)
    x, y, z = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def distance(one, other, vision="all cones"):
    """Return how far apart two colours look (CIE 1976)."""
    return float(np.linalg.norm(seen(one, vision) - seen(other, vision)))


def test_style_sheet_is_written_from_the_table():
    written = (ROOT / "site" / "style" / "colours.css").read_text(encoding="utf-8")
    assert written == custom_properties(), "run: python -m figures.shared.palette site/style/colours.css"


def test_custom_properties_are_light_then_dark():
    light, dark = custom_properties().split("@media screen and (prefers-color-scheme: dark)")
    for name, pair in COLOURS.items():
        for part, colour in zip((light, dark), pair, strict=True):
            assert f" --page-{name.replace('_', '-')}: {colour};\n" in part


def test_mix_is_the_mean_of_the_channels():
    assert mix("#ff0000", 0.25, "#ffffff") == "#ffbfbf"
    assert mix("#86286f", 0, "#fcfbf8") == "#fcfbf8"
    assert mix("#86286f", 1, "#fcfbf8") == "#86286f"


@pytest.mark.parametrize("scheme", [0, 1], ids=SCHEMES)
@pytest.mark.parametrize("hue", [*KINDS[0], *KINDS[1], "accent", "muted", "warn"])
def test_a_number_can_be_read_on_every_share_of_every_hue(hue, scheme):
    for percent in range(101):
        strong = inks(hue, percent / 100)[scheme]
        text = COLOURS["cell_paper" if strong else "cell_ink"][scheme]
        assert contrast(text, mix(COLOURS[hue][scheme], percent / 100, COLOURS["paper"][scheme])) >= 4.5, percent


def test_ink_on_pale_cells_and_paper_on_strong_ones():
    assert inks("weight", 0.0) == (False, False)
    assert inks("weight", 1.0) == (True, True)


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("scheme", [0, 1], ids=SCHEMES)
@pytest.mark.parametrize("together", KINDS, ids=" ".join)
def test_kinds_of_numbers_look_different_to_everyone(together, scheme, vision):
    for one, other in combinations(together, 2):
        assert distance(COLOURS[one][scheme], COLOURS[other][scheme], vision) >= APART, (one, other)


def test_distance_by_known_values():
    assert distance("#000000", "#ffffff") == pytest.approx(100, abs=0.01)
    assert distance("#ff0000", "#00ff00") == pytest.approx(170.6, abs=0.1)
    assert distance("#ff0000", "#808000", "deutan") < distance("#ff0000", "#808000") / 2


@pytest.mark.parametrize("scheme", [0, 1], ids=SCHEMES)
def test_words_in_colour_can_be_read(scheme):
    names = ["ink", "muted", "accent", "warn", *KINDS[0], *KINDS[1]]
    assert min(contrast(COLOURS[name][scheme], COLOURS["paper"][scheme]) for name in names) >= 4.5
    assert contrast(COLOURS["on_accent"][scheme], COLOURS["accent"][scheme]) >= 4.5
    assert contrast(COLOURS["muted"][scheme], COLOURS["wash"][scheme]) >= 4.5


@pytest.mark.parametrize("name", ["score", "weight", "query", "key", "value", "muted", "accent"])
def test_lines_of_charts_stand_out_from_both_papers(name):
    assert min(contrast(both(name), paper) for paper in COLOURS["paper"]) >= 3
