"""Figure 6: counts stay exact integers, in readouts, data, hover and words."""

import json
import re
from html import unescape
from itertools import product
from pathlib import Path

import pytest

from figures.cost import MARKS, WINDOW, Cost, State, binary, context_lengths

NUMBERS = json.loads((Path(__file__).resolve().parents[2] / "data" / "numbers.json").read_text("utf-8"))
EVERYTHING = 20_227_562_049_503_232  # bytes of 96 heads in 96 layers at the window


@pytest.fixture(scope="module")
def figure():
    return Cost()


def recorded(name, *keys):
    value = NUMBERS[name]["value"]
    for key in keys:
        value = value[key]
    return pytest.approx(value, rel=0, abs=NUMBERS[name]["tolerance"])


def put(figure, **state):
    figure.state.param.update(**{**{key: figure.state.param[key].default for key in State.query_keys()}, **state})
    return figure


def readouts(figure):
    """Return the readouts as the page has them: JSON in the HTML."""
    found = re.findall(r'data-readout="(\w+)" data-value="([^"]*)">([^<]*)<', figure.static_html())
    return {name: (json.loads(unescape(value)), unescape(text)) for name, value, text in found}


def value_of(figure, name):
    return readouts(figure)[name][0]


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (32_767, 2_147_352_578),
        (32_768, 2_147_483_648),
        (46_341, 4_294_976_562),
        (65_536, 8_589_934_592),
        (1_047_576, 2_194_830_951_552),
        (1_048_576, 2_199_023_255_552),
    ],
)
def test_bytes_do_not_wrap_at_32_bits(figure, n, expected):
    value, text = readouts(put(figure, n=n))["score_bytes"]
    assert type(value) is int
    assert value == expected
    assert text == f"{expected:,}"


def test_a_thousand_tokens_take_two_mebibytes_and_a_tenth_of_a_second(figure):
    put(figure)
    assert value_of(figure, "score_bytes") == NUMBERS["fig6_bytes_1024"]["value"]
    assert binary(NUMBERS["fig6_bytes_1024"]["value"]) == "2 MiB"
    assert value_of(figure, "seconds") == 0.1
    assert value_of(figure, "cards") == 1
    assert value_of(figure, "hours_rounded") is None


def test_the_window_in_bytes_cards_and_hours(figure):
    put(figure, n=WINDOW)
    assert NUMBERS["fig6_window"]["value"] == WINDOW
    assert value_of(figure, "score_bytes") == NUMBERS["fig6_bytes_window"]["value"]
    assert binary(value_of(figure, "score_bytes")) == "1.996 TiB"
    assert value_of(figure, "cards_ratio") == recorded("fig6_cards", "ratio_80_GiB")
    assert value_of(figure, "cards") == recorded("fig6_cards", "ceil_80_GiB")
    assert value_of(figure, "seconds") == recorded("fig6_seconds", "seconds")
    assert value_of(figure, "hours") == recorded("fig6_seconds", "hours")
    assert value_of(figure, "hours_rounded") == recorded("fig6_hours_rounded")
    assert readouts(figure)["hours_rounded"][1] == "about 28 h · 25 cards"


def test_a_decimal_card_is_not_a_binary_one(figure):
    put(figure, n=WINDOW, card="80GB")
    assert value_of(figure, "cards_ratio") == recorded("fig6_cards", "ratio_80_GB")
    assert value_of(figure, "cards") == recorded("fig6_cards", "ceil_80_GB")
    assert "80 GB" in figure.summary()
    assert "GiB" not in figure.summary()


def test_a_thousand_may_be_a_thousand(figure):
    put(figure, n=WINDOW, k=1000)
    assert value_of(figure, "seconds") == recorded("fig6_seconds", "seconds_if_1k_is_1000")
    assert value_of(figure, "hours") == recorded("fig6_seconds", "hours_if_1k_is_1000")
    assert value_of(figure, "hours_rounded") == recorded("fig6_hours_rounded")


def test_hours_do_not_depend_on_heads_and_layers(figure):
    before = value_of(put(figure, n=WINDOW), "hours")
    assert value_of(put(figure, n=WINDOW, heads=96, layers=96), "hours") == before


def test_all_heads_of_all_layers_are_exact_everywhere(figure):
    put(figure, n=WINDOW, heads=96, layers=96)
    assert value_of(figure, "score_bytes") == EVERYTHING
    text = f"{EVERYTHING:,}"
    assert text in figure.summary()
    assert text in figure.remark()
    assert f'data-value="{EVERYTHING}">{text}<' in figure.static_html()
    assert any(text in how for how in figure._squares.source.data["how"])


def test_the_data_keep_the_last_digit_of_an_odd_count(figure):
    put(figure, n=1_048_575, heads=127, layers=127, bytes=1)
    expected = 1_048_575**2 * 127 * 127
    assert expected > 2**53
    assert expected != int(float(expected))
    assert f'<td data-value="{expected}">{expected:,}</td>' in figure.static_html()


@pytest.mark.parametrize("n", [64, 1024, WINDOW])
def test_masked_share(figure, n):
    assert value_of(put(figure, n=n), "masked_share") == recorded("fig6_masked_share", str(n))


def test_the_crossing_is_where_the_parts_are_equal(figure):
    put(figure, n=1152)
    assert value_of(figure, "crossover") == recorded("fig6_crossover", "against_qkv")
    assert figure.quadratic_macs == figure.cost.projection_macs
    assert "exactly as much as" in figure.summary()
    assert [crossing.location for crossing in figure._crossings] == [1152, 1536]
    put(figure, n=1536)
    assert figure.quadratic_macs == figure.cost.projection_macs + figure.cost.output_macs


def test_an_odd_width_crosses_between_two_lengths(figure):
    assert value_of(put(figure, d=65), "crossover") == 97.5


def test_multiply_adds_of_gpt2(figure):
    put(figure, heads=12)
    expected = NUMBERS["fig6_macs_gpt2"]["value"]
    cost = figure.cost
    assert (cost.projection_macs, cost.output_macs) == (expected["qkv"], expected["out_proj"])
    assert (cost.score_macs, cost.weighted_sum_macs) == (expected["scores"], expected["weighted_sum"])
    assert any(f"{expected['qkv']:,}" in how for how in figure._linear_dots.source.data["how"])


def test_areas_are_to_scale(figure):
    put(figure, n=WINDOW)
    sides = dict(zip(figure._squares.source.data["colour"], figure._squares.source.data["side"], strict=True))
    card, scores = sorted(sides.values())
    assert (scores / card) ** 2 == pytest.approx(value_of(figure, "cards_ratio"))
    assert len(figure._tiles.source.data["at"]) == 5


def test_the_slider_holds_the_marks_in_order():
    lengths = context_lengths()
    assert lengths == sorted(set(lengths))
    assert (lengths[0], lengths[-1]) == (64, 2**20)
    assert set(MARKS) == {1024, 8192, 131_072, 1_047_576}
    assert set(MARKS) <= set(lengths)


def test_the_extremes_are_finite_and_said_in_words(figure):
    bounds = {key: State.param[key].bounds for key in ("n", "heads", "layers", "d")}
    for n, heads, layers, d in product(*bounds.values()):
        for size, k, card in product((1, 4), (1024, 1000), ("80GiB", "192GB")):
            put(figure, n=n, heads=heads, layers=layers, d=d, bytes=size, k=k, card=card)
            for value, text in readouts(figure).values():
                assert value is None or value >= 0
                assert "nan" not in text
                assert "inf" not in text


def test_scenes_put_the_figure_where_the_article_talks_about(figure):
    figure.set_scene("All heads, all layers")
    assert value_of(figure, "score_bytes") == EVERYTHING
    figure.set_scene("A million tokens")
    assert figure.state.query() == {"n": str(WINDOW)}
    figure.set_scene("Where quadratic overtakes")
    assert figure.state.n == value_of(figure, "crossover")
    figure.set_scene("1,024 tokens: nothing")
    assert figure.state.query() == {}


def test_links_are_read_and_refused():
    state = State()
    assert state.load_query([("n", "1047576"), ("bytes", "4"), ("k", "1000"), ("card", "141GB")]) == ""
    assert state.query() == {"n": "1047576", "bytes": "4", "k": "1000", "card": "141GB"}
    assert "ignored" in state.load_query([("bytes", "3"), ("n", "2000000"), ("k", "1010"), ("card", "80")])
    assert state.query() == {"n": "1048576"}
