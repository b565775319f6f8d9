"""Colours: every number in a cell can be read, and fixed scales stay fixed."""

from itertools import pairwise

import numpy as np
import pytest

from figures.masking import BROKEN, SEEN
from figures.shared.palette import KEY, MASKED, NEUTRAL, QUERY, VALUE, diverging, luminance, sequential, text_on
from figures.shared.stripes import HEADS

PAGES = {"light": "#fcfbf8", "dark": "#15161a"}


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


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
