"""PyTorch's generator without PyTorch: published values, and what the recipe must not depend on.

Imports nothing but the standard library, NumPy, pytest and the core: it also runs in the browser's Python.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from attention_core import TorchGenerator

NUMBERS = json.loads((Path(__file__).resolve().parents[2] / "data" / "numbers.json").read_text("utf-8"))
SEEDS = [0, 1, 2, 42, 123, 789, 2024, 99_999, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1]


class Mersenne:
    """MT19937 written out from its paper in Python's integers, as a second opinion on the words."""

    def __init__(self, seed):
        self.state = [seed]
        for index in range(1, 624):
            last = self.state[-1]
            self.state.append((1_812_433_253 * (last ^ (last >> 30)) + index) % 2**32)
        self.position = 624

    def word(self):
        if self.position == 624:
            self.twist()
        y = self.state[self.position]
        self.position += 1
        y ^= y >> 11
        y ^= (y << 7) & 0x9D2C5680
        y ^= (y << 15) & 0xEFC60000
        return y ^ (y >> 18)

    def twist(self):
        for index in range(624):
            joined = (self.state[index] & 2**31) | (self.state[(index + 1) % 624] & (2**31 - 1))
            odd = 0x9908B0DF if joined & 1 else 0
            self.state[index] = self.state[(index + 397) % 624] ^ (joined >> 1) ^ odd
        self.position = 0


def float32s(matrix):
    return np.array(matrix, dtype=np.float32)


@pytest.mark.parametrize("seed", SEEDS)
def test_uniform_numbers_are_low_bits_of_words(seed):
    words = Mersenne(seed)
    expected = [(words.word() % 2**24) / 2**24 for _ in range(700)]
    drawn = TorchGenerator(seed).rand(700)
    assert drawn.dtype == np.float32
    assert drawn.astype(float).tolist() == expected


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("p", [0.1, 0.2, 0.3, 0.5, 0.9])
def test_dropout_takes_two_words_high_half_first(seed, p):
    words = Mersenne(seed)
    expected = [((words.word() * 2**32 + words.word()) % 2**53) / 2**53 < 1 - p for _ in range(400)]
    keep = TorchGenerator(seed).dropout_keep((20, 20), p)
    assert keep.dtype == np.bool_
    assert keep.ravel().tolist() == expected


@pytest.mark.parametrize("part", ["query", "key", "value"])
def test_published_matrices(part):
    uniform, layers = TorchGenerator(123), TorchGenerator(789)
    for name in ("query", "key", "value"):
        drawn, weight = uniform.rand(3, 2), layers.linear(3, 2)
        if name == part:
            np.testing.assert_array_equal(drawn, float32s(NUMBERS[f"w34_{name}"]["value"]))
            np.testing.assert_array_equal(weight, float32s(NUMBERS[f"w35_{name}"]["value"]))


def test_published_mask():
    keep = TorchGenerator(123).dropout_keep((6, 6), 0.5)
    assert keep.astype(int).tolist() == NUMBERS["fig4_mask_book"]["value"]
    assert keep.sum() == 21
    assert np.tril(keep).sum() == 12


def test_one_generator_serves_draws_of_all_kinds():
    torch, words = TorchGenerator(42), Mersenne(42)
    first = torch.rand(3)
    keep = torch.dropout_keep(2, 0.5)
    last = torch.rand(2)
    drawn = [words.word() for _ in range(9)]
    assert first.astype(float).tolist() == [word % 2**24 / 2**24 for word in drawn[:3]]
    assert keep.tolist() == [(drawn[i] * 2**32 + drawn[i + 1]) % 2**53 < 2**52 for i in (3, 5)]
    assert last.astype(float).tolist() == [word % 2**24 / 2**24 for word in drawn[7:]]


@pytest.mark.parametrize("sizes", [(1, 1, 1), (15, 16, 17), (0, 5, 0, 43), (623, 1, 624, 2)])
def test_chunks_join_up(sizes):
    whole, chunked = TorchGenerator(7), TorchGenerator(7)
    numbers = [chunked.rand(size) for size in sizes]
    np.testing.assert_array_equal(whole.rand(sum(sizes)), np.concatenate(numbers))
    masks = [chunked.dropout_keep(size, 0.3) for size in sizes]
    np.testing.assert_array_equal(whole.dropout_keep(sum(sizes), 0.3), np.concatenate(masks))


@pytest.mark.parametrize("d_in", [1, 2, 3, 6, 7, 64, 768, 1600])
def test_linear_rounds_once(d_in):
    words, d_out = Mersenne(5), 9
    low = float(np.float32(-1 / math.sqrt(d_in)))
    width = float(np.float32(-2 * low))
    expected = [np.float32((words.word() % 2**24) / 2**24 * width + low) for _ in range(d_out * (d_in + 1))]
    weight, bias = TorchGenerator(5).linear(d_in, d_out, bias=True)
    assert weight.dtype == bias.dtype == np.float32
    np.testing.assert_array_equal(weight, np.reshape(expected[: d_out * d_in], (d_out, d_in)))
    np.testing.assert_array_equal(bias, expected[d_out * d_in :])
    np.testing.assert_array_equal(TorchGenerator(5).linear(d_in, d_out), weight)


@pytest.mark.parametrize(
    ("seed", "same"),
    [
        (2**32, 0),
        (2**32 + 123, 123),
        (2**64 - 1, 2**32 - 1),
        (-1, 2**32 - 1),
        (-(2**63), 0),
        (-(2**32) + 5, 5),
        (np.int64(-1), 2**32 - 1),
        (np.uint64(2**64 - 1), 2**32 - 1),
        (np.int32(123), 123),
    ],
)
def test_seeds_count_modulo_two_to_the_32(seed, same):
    np.testing.assert_array_equal(TorchGenerator(seed).rand(5), TorchGenerator(same).rand(5))


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1, 1.0, 123.5, np.float64(1), True, np.True_, "1", None])
def test_other_seeds_are_refused(seed):
    with pytest.raises(ValueError, match=rf"^seed: expected an integer {-(2**63)} to {2**64 - 1}, got "):
        TorchGenerator(seed)


def test_seeds_too_long_to_print_are_refused():
    with pytest.raises(ValueError, match=r"^seed: .* got an integer of 16610 bits\.$"):
        TorchGenerator(10**5000)


def test_shapes():
    assert TorchGenerator(0).rand().shape == ()
    assert TorchGenerator(0).rand(0, 3).shape == (0, 3)
    assert TorchGenerator(0).rand(np.int32(2), 3).shape == (2, 3)
    assert TorchGenerator(0).dropout_keep([2, 3], 0.5).shape == (2, 3)
    assert TorchGenerator(0).dropout_keep((), 0.5).shape == ()


@pytest.mark.parametrize("p", [0, 1, 0.0, 1.0])
def test_certain_dropout_draws_nothing(p):
    torch = TorchGenerator(3)
    assert (torch.dropout_keep((2, 2), p) == (p == 0)).all()
    np.testing.assert_array_equal(torch.rand(3), TorchGenerator(3).rand(3))


def test_numpys_global_state_is_left_alone():
    before = np.random.get_state()[1].copy()
    TorchGenerator(0).rand(1000)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


def test_two_generators_do_not_share_anything():
    first, second = TorchGenerator(1), TorchGenerator(1)
    first.rand(100)
    np.testing.assert_array_equal(second.rand(4), TorchGenerator(1).rand(4))
