"""Numbers as people read them."""

import math

import numpy as np
import pytest

from figures.shared import format as write


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.5, 4, "0.5000"),
        (-0.25, 2, "−0.25"),
        (0.0, 4, "0"),
        (-0.0, 4, "0"),
        (1e-16, 4, "1.0 × 10⁻¹⁶"),
        (-3.2e-7, 4, "−3.2 × 10⁻⁷"),
        (0.0001, 4, "0.0001"),
        (0.00009, 4, "9.0 × 10⁻⁵"),
        (-math.inf, 4, "−∞"),
        (1234.5, 1, "1234.5"),
    ],
)
def test_a_fixed_count_of_decimals(value, digits, text):
    assert write.fixed(value, digits) == text


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (2.0, 2, "2"),
        (10.0, 0, "10"),
        (0.9846, 2, "0.98"),
        (0.001, 2, "0"),
        (-0.001, 2, "0"),
        (-1.5, 2, "−1.5"),
        (100, 2, "100"),
    ],
)
def test_at_most_so_many_decimals(value, digits, text):
    assert write.brief(value, digits) == text


@pytest.mark.parametrize(
    ("value", "digits", "text"), [(1.4e-6, 1, "1.4 × 10⁻⁶"), (9.96, 1, "1.0 × 10¹"), (-2.5e20, 2, "−2.50 × 10²⁰")]
)
def test_powers_of_ten(value, digits, text):
    assert write.scientific(value, digits) == text


@pytest.mark.parametrize(
    ("exponent", "text"), [(0, "1"), (1, "10"), (2, "100"), (3, "10³"), (-3, "10⁻³"), (-16, "10⁻¹⁶"), (12, "10¹²")]
)
def test_a_power_of_ten_alone(exponent, text):
    assert write.power_of_ten(exponent) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (1023, "1,023 bytes"),
        (1024, "1 KiB"),
        (1536, "1.500 KiB"),
        (2**21, "2 MiB"),
        (2_194_830_951_552, "1.996 TiB"),
        (20_227_562_049_503_232, "17.966 PiB"),
        (2**70 * 3, "3,072 EiB"),
    ],
)
def test_bytes_in_binary_units(count, text):
    assert write.binary(count) == text


def test_shares_plurals_and_lists():
    assert write.percent(0.0733) == "7.3 %"
    assert write.percent(1, 0) == "100 %"
    assert [write.many(count, "head") for count in (0, 1, 2, 1600)] == ["0 heads", "1 head", "2 heads", "1,600 heads"]
    assert write.listed([0.5, -1, 0]) == "0.5000  −1.0000  0"
    assert write.entries(np.array([[0.5, 0.0], [-1.0, -np.inf]]), 1) == [["0.5", "0"], ["−1.0", "−∞"]]


def test_a_product_puts_negative_factors_in_brackets():
    assert write.product([0.43, -1.455], [-0.436, 1.116]) == "0.430·(−0.436) + (−1.455)·1.116"


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("d_k", "d<sub>k</sub>"),
        ("√d_out > W_q", "√d<sub>out</sub> &gt; W<sub>q</sub>"),
        ("head_dim", "head_dim"),
        ("first_d_k", "first_d_k"),
        ("<b>", "&lt;b&gt;"),
        ("d_k and d_k", "d<sub>k</sub> and d<sub>k</sub>"),
    ],
)
def test_symbols_have_their_index_lowered(text, html):
    assert write.symbols(text) == html


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("d<sub>k</sub> is <b>768</b>", "dk is 768"),
        ("a &lt; b &amp;lt; c", "a < b &lt; c"),
        ("at <input class=inline value=\"768\" style='x'> it", "at 768 it"),
        ("two\u00a0words  and\n a break", "two words and a break"),
        ("it&#x27;s &quot;so&quot;", 'it\'s "so"'),
    ],
)
def test_html_as_it_is_spoken(html, text):
    assert write.said(html) == text
