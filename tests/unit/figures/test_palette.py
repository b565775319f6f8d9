"""Colours: every number in a cell can be read, and fixed scales stay fixed."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from figures.shared.stripes import HEADS

from figures.masking import BROKEN, SEEN
from figures.shared.palette import (
    COLOURS,
    KEY,
    MASKED,
    NEUTRAL,
    QUERY,
    VALUE,
    contrast,
    custom_properties,
    diverging,
    inks,
    luminance,
    mix,
    sequential,
    text_on,
)
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
    for name, both in COLOURS.items():
        for part, colour in zip((light, dark), both, strict=True):
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


@pytest.mark.parametrize(
    "colours",
    [
        sequential(np.linspace(0, 1, 256), 0, 1),
        diverging(np.linspace(-1, 1, 1001), 1),
        [MASKED, NEUTRAL, SEEN, BROKEN, *HEADS],
    ],
    ids=["cividis", "diverging", "plain"],
)
def test_text_on_every_colour_can_be_read(colours):
    assert min(contrast(text, colour) for text, colour in zip(text_on(colours), colours, strict=True)) >= 4.5


def test_stripes_carry_black_numbers():
    assert min(contrast("#000000", colour) for colour in HEADS) >= 4.5


def test_text_on_is_the_better_of_black_and_white():
    assert text_on(["#ffffff", "#000000", "#ffff00", "#00008b"]) == ["#000000", "#ffffff", "#000000", "#ffffff"]


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
@pytest.mark.parametrize("colour", [QUERY, KEY, VALUE, NEUTRAL])
def test_lines_and_dots_stand_out_from_both_pages(colour, page):
    assert contrast(colour, page) >= 3


def test_luminance_by_the_definition():
    assert luminance("#000000") == 0
    assert luminance("#ffffff") == pytest.approx(1)
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_scales_do_not_depend_on_the_other_values():
    assert sequential(np.array([0.2]), 0, 1) == sequential(np.array([0.2, 0.9]), 0, 1)[:1]
    assert diverging(np.array([0.2]), 1) == diverging(np.array([0.2, -0.9]), 1)[:1]


def test_what_lies_outside_a_scale_has_its_end_colour():
    low, high = sequential(np.array([0.0, 1.0]), 0, 1)
    assert sequential(np.array([-np.inf, -5.0, 7.0]), 0, 1) == [low, low, high]
    blue, red = diverging(np.array([-1.0, 1.0]), 1)
    assert diverging(np.array([-9.0, 9.0]), 1) == [blue, red]


def test_signed_differences_have_a_neutral_zero_and_opposite_ends():
    blue, zero, red = diverging(np.array([-1.0, 0.0, 1.0]), 1)
    assert zero == "#f7f7f7"
    assert (blue[5:] > blue[1:3], red[1:3] > red[5:]) == (True, True)


def test_sequential_colours_grow_lighter():
    lightness = [luminance(colour) for colour in sequential(np.linspace(0, 1, 256), 0, 1)]
    assert all(later > earlier - 1e-3 for earlier, later in pairwise(lightness))


def test_heads_side_by_side_differ():
    assert len(set(HEADS)) == len(HEADS)
    assert not {QUERY.lower(), KEY.lower(), VALUE.lower()} & set(HEADS)
