"""Figure 6: counts stay exact integers, in readouts, data and words, and the drawing is true to them."""

import json
import math
import re
from html import unescape
from itertools import product
from pathlib import Path

import pytest

from figures.cost import MARKS, MOST_SQUARES, SCENES, WINDOW, State, app, cards, context_lengths, cost, duration, place
from figures.shared.format import binary, said

NUMBERS = json.loads((Path(__file__).resolve().parents[2] / "data" / "numbers.json").read_text("utf-8"))
EVERYTHING = 20_227_562_049_503_232  # bytes of 96 heads in 96 layers at the window
WIDE = 135  # characters in a line of explanation on a wide card


@pytest.fixture(scope="module")
def figure():
    return app()


def put(figure, **state):
    figure.state.set(**{**figure.state.defaults(), **state})
    return figure


def readouts(figure):
    """Return the readouts as the page has them: JSON in the HTML."""
    found = re.findall(r'data-readout="(\w+)" data-value="([^"]*)">([^<]*)<', figure.static_html())
    return {name: (json.loads(unescape(value)), unescape(text)) for name, value, text in found}


def value_of(figure, name):
    return readouts(figure)[name][0]


def tables(figure):
    return {t.name: t for panel in figure._panels for t in panel.data(figure.state, figure.result)}


def layers(figure):
    return [layer.data(figure.state, figure.result) for layer in figure._panels[1].layers]


def squares(figure):
    """The shares of the squares that stand for the cards, and of the one beside them."""
    drawn, beside = cards(figure.state, figure.result).split("same scale")
    return _shares(drawn), _shares(beside)


def _shares(html):
    shares = []
    for full, side in re.findall(
        r'<i(?: style="--share:([\d.e+-]+)%")?>(?:<u class="\w*" style="--side:([\d.e+-]+)%">)?', html
    ):
        shares.append(float(full) / 100 if full else (float(side) / 100) ** 2)
    return shares


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
    put(figure, n=1024)
    assert value_of(figure, "score_bytes") == NUMBERS["fig6_bytes_1024"]["value"]
    assert binary(NUMBERS["fig6_bytes_1024"]["value"]) == "2 MiB"
    assert value_of(figure, "seconds") == 0.1
    assert value_of(figure, "cards") == 1
    assert value_of(figure, "hours_rounded") is None
    assert "0.1 seconds" in figure.sentence()


def test_the_window_in_bytes_cards_and_hours(figure, recorded):
    put(figure)
    assert NUMBERS["fig6_window"]["value"] == WINDOW == figure.state.n
    assert value_of(figure, "score_bytes") == NUMBERS["fig6_bytes_window"]["value"]
    assert binary(value_of(figure, "score_bytes")) == "1.996 TiB"
    assert value_of(figure, "cards_ratio") == recorded("fig6_cards", "ratio_80_GiB")
    assert value_of(figure, "cards") == recorded("fig6_cards", "ceil_80_GiB") == 26  # as the title says
    assert value_of(figure, "seconds") == recorded("fig6_seconds", "seconds")
    assert value_of(figure, "hours") == recorded("fig6_seconds", "hours")
    assert value_of(figure, "hours_rounded") == recorded("fig6_hours_rounded")
    assert readouts(figure)["hours_rounded"][1] == "about 28 h"
    assert "25 cards" in figure.static_html()
    words = said(figure.sentence())
    assert words.startswith("At 1,047,576 tokens the scores take 2,194,830,951,552 bytes, 1.996 TiB, ")
    assert words.endswith("one more token 29.07 hours.")


def test_a_decimal_card_is_not_a_binary_one(figure, recorded):
    put(figure, card="80GB")
    assert value_of(figure, "cards_ratio") == recorded("fig6_cards", "ratio_80_GB")
    assert value_of(figure, "cards") == recorded("fig6_cards", "ceil_80_GB")
    assert len(squares(figure)[0]) == 28
    drawn = cards(figure.state, figure.result)
    assert "80 GB" in drawn
    assert "GiB" not in drawn


def test_a_thousand_may_be_a_thousand(figure, recorded):
    put(figure, k=1000)
    assert value_of(figure, "seconds") == recorded("fig6_seconds", "seconds_if_1k_is_1000")
    assert value_of(figure, "hours") == recorded("fig6_seconds", "hours_if_1k_is_1000")
    assert value_of(figure, "hours_rounded") == recorded("fig6_hours_rounded")


def test_hours_do_not_depend_on_heads_and_layers(figure):
    before = value_of(put(figure), "hours")
    assert value_of(put(figure, heads=96, layers=96), "hours") == before


def test_all_heads_of_all_layers_are_exact_everywhere(figure):
    put(figure, heads=96, layers=96)
    assert value_of(figure, "score_bytes") == EVERYTHING
    text = f"{EVERYTHING:,}"
    assert text in figure.sentence()
    assert text in figure._explanation()
    assert f'data-value="{EVERYTHING}">{text}<' in figure.static_html()
    assert f"<td>{EVERYTHING}</td>" in figure.static_html()


def test_the_data_keep_the_last_digit_of_an_odd_count(figure):
    put(figure, n=1_048_575, heads=127, layers=127, bytes=1)
    expected = 1_048_575**2 * 127 * 127
    assert expected > 2**53
    assert expected != int(float(expected))
    assert f"<td>{expected}</td>" in figure.static_html()
    for table in tables(figure).values():
        assert all(type(value) in (int, str) for row in table.values for value in row)


@pytest.mark.parametrize("n", [64, 1024, WINDOW])
def test_masked_share(figure, n, recorded):
    assert value_of(put(figure, n=n), "masked_share") == recorded("fig6_masked_share", str(n))


def test_the_masked_share_of_the_example_is_computed(figure):
    example = figure._panels[2].layers[1]
    assert example.label.startswith("41.7 %")
    assert example.data(figure.state, figure.result)["y"] == [15 / 36]


def test_the_crossing_is_where_the_parts_are_equal(figure, recorded):
    put(figure, n=1152)
    assert value_of(figure, "crossover") == recorded("fig6_crossover", "against_qkv")
    assert figure.result.quadratic == figure.result.projections
    rule, *_, crossing, linear, quadratic = layers(figure)
    assert rule == 1152
    assert crossing == linear == quadratic == {"x": [1152], "y": [figure.result.projections]}
    assert figure._panels[1].layers[4].label(figure.state, figure.result) == "cross at 1,152"
    assert "crossing at 1,536" in figure._panels[1].render(figure.state, figure.result)
    put(figure, n=1536)
    assert figure.result.quadratic == figure.result.with_output


def test_an_odd_width_crosses_between_two_lengths(figure):
    assert value_of(put(figure, d=65), "crossover") == 97.5


def test_multiply_adds_of_gpt2(figure):
    put(figure, n=1024, heads=12)
    expected = NUMBERS["fig6_macs_gpt2"]["value"]
    table = tables(figure)["Multiply-adds of one layer"]
    row = dict(zip(table.columns, table.values[table.rows.index("n = 1,024")], strict=True))
    assert (row["Q, K and V"], row["output projection"]) == (expected["qkv"], expected["out_proj"])
    assert (row["scores"], row["weighted sum"]) == (expected["scores"], expected["weighted_sum"])


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"card": "80GB"},
        {"n": 1024},
        {"n": 64, "bytes": 1},
        {"n": 131_072},
        {"n": 2**18},
        {"bytes": 4},
        {"heads": 96, "layers": 96},
        {"n": 2**20, "heads": 128, "layers": 128, "bytes": 4},
        {"heads": 12, "card": "192GB"},
    ],
)
def test_the_squares_are_as_many_as_the_cards_and_filled_to_their_share(figure, state):
    put(figure, **state)
    r = figure.result
    drawn, (beside,) = squares(figure)
    assert len(drawn) == -(-r.cards // r.unit) <= MOST_SQUARES
    assert sum(drawn) * r.unit == pytest.approx(r.ratio, rel=1e-3)
    assert all(share == 1 for share in drawn[:-1])
    assert beside * r.unit == pytest.approx(cost(figure.state, 1024).ratio, rel=1e-3)
    words = said(cards(figure.state, r))
    assert f"{r.cards:,} card" in words
    assert (f"a square is {r.unit:,}" in words) is (r.unit > 1)
    assert set(str(r.unit)) <= {"1", "0"}  # one, ten, a hundred


def test_a_card_holds_thousands_of_a_thousand_tokens(figure):
    assert "a card holds 40,960 of them" in said(cards(put(figure).state, figure.result))
    assert "a card holds 4.44 of them" in said(cards(put(figure, heads=96, layers=96).state, figure.result))


def test_twenty_six_cards_are_drawn_at_first(figure):
    drawn, _ = squares(put(figure))
    assert len(drawn) == 26
    assert drawn[-1] == pytest.approx(0.55, abs=0.005)


def test_the_slider_holds_the_marks_in_order():
    lengths = context_lengths()
    assert lengths == sorted(set(lengths))
    assert (lengths[0], lengths[-1]) == (64, 2**20)
    assert set(MARKS) == {64, 1024, 8192, 131_072, 1_047_576}
    assert set(MARKS) <= set(lengths)
    places = State.param.n.control.places
    assert (places[0], places[-1]) == (0, 1)
    assert list(places) == sorted(places)
    assert place(8192) == 0.5  # as many doublings on both sides


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.000390625, "0.00039 seconds"),
        (0.1, "0.1 seconds"),
        (1.0, "1.00 seconds"),
        (119.4, "119.40 seconds"),
        (1638.4, "27.31 minutes"),
        (104_657.7, "29.07 hours"),
    ],
)
def test_times_are_told_in_a_unit_that_suits_them(seconds, text):
    assert duration(seconds) == text


def test_the_extremes_are_finite_and_said_in_the_room_there_is(figure):
    bounds = {key: State.param[key].bounds for key in ("n", "heads", "layers", "d")}
    for n, heads, layer_count, d in product(*bounds.values()):
        for size, k, card in product((1, 4), (1024, 1000), ("80GiB", "192GB")):
            put(figure, n=n, heads=heads, layers=layer_count, d=d, bytes=size, k=k, card=card)
            for value, text in readouts(figure).values():
                assert value is None or value >= 0
                assert "nan" not in text
                assert "inf" not in text
            assert len(said(figure.sentence())) <= 4 * 32
            lines = [said(line) for line in figure._explanation().split("<br>")]
            assert all(len(line) <= WIDE for line in lines)
            assert sum(-(-len(line) // 41) for line in lines) <= 6
            low, high = figure._panels[1].y.low, figure._panels[1].y.high
            for layer in layers(figure)[1:]:
                assert all(low < y < high for y in layer["y"])


@pytest.mark.parametrize("name", SCENES)
def test_scenes_are_pressed_in_their_state_only(figure, name):
    put(figure)
    figure.set_scene(name)
    assert [other for other in SCENES if figure.in_scene(other)] == [name]
    figure.state.set(bytes=1)
    assert not any(map(figure.in_scene, SCENES))


def test_scenes_put_the_figure_where_the_article_talks_about(figure):
    figure.set_scene("All heads, all layers")
    assert value_of(figure, "score_bytes") == EVERYTHING
    figure.set_scene("1,024 tokens: nothing")
    assert figure.state.query() == {"n": "1024", "fold": "settings"}  # which the scene before has opened
    figure.set_scene("Where quadratic overtakes")
    assert figure.state.n == value_of(figure, "crossover")
    figure.set_scene("A million tokens")
    assert figure.state.query() == {"fold": "settings"}


def test_links_are_read_and_refused():
    state = State()
    assert state.load_query([("n", "1024"), ("bytes", "4"), ("k", "1000"), ("card", "141GB")]) == ""
    assert state.query() == {"n": "1024", "bytes": "4", "k": "1000", "card": "141GB"}
    assert "ignored" in state.load_query([("bytes", "3"), ("n", "2000000"), ("k", "1010"), ("card", "80")])
    assert state.query() == {"n": "1048576"}


@pytest.mark.parametrize("text", ["", "1e6", "1047576.5", "１０２４", "n", "9" * 41, "<b>", "1024;1"])
def test_what_is_no_length_keeps_the_former_one_and_says_so(text):
    figure = app()
    figure.take([("n", text)])
    assert figure.state.n == WINDOW
    assert f"Context length keeps {WINDOW}" in figure._primary.object
    assert "<b>" not in re.sub(r"<[^>]*>", "", figure._primary.object)


def test_any_whole_number_can_be_typed():
    figure = app()
    figure.take([("n", "100000")])
    assert figure.state.n == 100_000
    assert 'value="100,000"' in figure._primary.object
    assert figure._primary.object.count('aria-label="Context length"') == 2  # slider and field
    figure.take([("n", "9" * 40)])
    assert figure.state.n == 2**20
    assert "Context length was moved to 1048576" in figure._primary.object


def test_the_length_in_the_sentence_is_a_control(figure):
    put(figure)
    assert re.search(r'class="inline"[^>]*data-set="n"[^>]*data-values="64,70,', figure.sentence())


@pytest.mark.parametrize(
    "state",
    [{}, {"n": 1152, "d": 65, "bytes": 4, "k": 1000, "card": "192GB"}, {"heads": 96, "layers": 96, "card": "80GB"}],
)
def test_the_code_computes_what_is_shown(figure, state):
    put(figure, **state)
    names = {}
    exec(figure._code(figure.state, figure.result), names)
    for name, (value, _) in readouts(figure).items():
        if name in names:
            assert names[name] == value, name
    assert set(readouts(figure)) - set(names) == {"hours_rounded"}
    assert math.isfinite(names["cards_ratio"])
