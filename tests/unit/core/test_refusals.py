"""Bad input raises a ValueError of one sentence that names the argument, what was expected and what came."""

import re

import numpy as np
import pytest

from attention_core import (
    AttentionCost,
    Projections,
    TorchGenerator,
    asymmetry,
    attention,
    cards_needed,
    causal_mask,
    dead_row_probability,
    head_columns,
    inverted_dropout,
    largest_jacobian_entry,
    mask_after_softmax,
    mask_before_softmax,
    mean_pairwise_distance,
    merge_heads,
    parameter_count,
    project,
    row_sum_std,
    sample_scores,
    scores,
    seconds_per_token,
    shape_trace,
    softmax,
    softmax_jacobian,
    split_heads,
)

X = np.ones((4, 3))
P = Projections(np.ones((3, 2)), np.ones((3, 2)), np.ones((3, 2)))
RNG = np.random.default_rng(0)
EVEN = np.full((2, 2), 0.5)
SEEN = np.ones((2, 2), dtype=bool)

NOT_NUMBERS = [np.nan, np.inf, [[1.0], [1.0, 2.0]], "text", [["a", "b"]], EVEN * 1j, SEEN, None, [[object()]]]
NOT_NUMBERS_2D = [*NOT_NUMBERS, 1.0, [1.0, 2.0], EVEN * np.nan, -EVEN * np.inf]
NOT_COUNTS = [0, -1, 1.0, 2.5, True, np.True_, "2", None, [2], np.float32(2), -(10**5000)]
NOT_PROBABILITIES = [-0.1, 1.1, np.nan, np.inf, True, "0.5", None, 1j, [0.5], -(10**400), 10**400]
NOT_FLAGS = [0, 1, "off", None, np.array([True])]
NOT_MASKS = [1, EVEN, [[0, 1], [1, 0]], "text", None, [[True], [True, False]], np.ones((3, 3), dtype=bool)]
NOT_DIVISORS = [0, -1, 0.0, np.nan, np.inf, True, "2", None, 10**400]

CASES = [
    ("seed", TorchGenerator, [1.5, True, "1", None, 2**64]),
    ("shape", lambda bad: TorchGenerator(0).rand(2, bad), [-1, 1.0, True, "2", None, (2, 3)]),
    ("d_in", lambda bad: TorchGenerator(0).linear(bad, 2), NOT_COUNTS),
    ("d_out", lambda bad: TorchGenerator(0).linear(3, bad), NOT_COUNTS),
    ("bias", lambda bad: TorchGenerator(0).linear(3, 2, bias=bad), NOT_FLAGS),
    ("shape", lambda bad: TorchGenerator(0).dropout_keep(bad, 0.5), [-1, 1.5, "2", (2, -1), (2, True), None]),
    ("p", lambda bad: TorchGenerator(0).dropout_keep((2, 2), bad), NOT_PROBABILITIES),
    ("x", lambda bad: project(bad, P), NOT_NUMBERS_2D),
    (
        "projections",
        lambda bad: project(X, bad),
        [
            None,
            EVEN,
            P[:2],
            P._replace(key=EVEN * np.nan),
            P._replace(query=np.ones((4, 2))),
            P._replace(value=np.ones(3)),
            P._replace(key=np.ones((3, 1))),
            P._replace(value=np.ones((1, 3, 2))),
        ],
    ),
    ("q", lambda bad: scores(bad, EVEN), NOT_NUMBERS_2D),
    ("k", lambda bad: scores(EVEN, bad), [*NOT_NUMBERS_2D, X]),
    ("k", lambda bad: scores(np.ones((2, 4, 3)), bad), [np.ones((3, 4, 3))]),
    ("matrix", asymmetry, [*NOT_NUMBERS_2D, X, np.ones((2, 2, 2)), np.empty((0, 0))]),
    ("points", mean_pairwise_distance, [*NOT_NUMBERS_2D, X[:1], np.ones((2, 2, 2))]),
    ("x", softmax, [*NOT_NUMBERS, 1.0, [], np.empty((3, 0))]),
    ("axis", lambda bad: softmax(X, bad), [2, -3, 1.0, True, None, "0"]),
    ("p", softmax_jacobian, [*NOT_NUMBERS, 0.5, [0.5, 0.6], [-0.5, 1.5], [-np.inf, 1.0], [2.0, 0.0]]),
    ("scores", largest_jacobian_entry, [*NOT_NUMBERS, 1.0, [], np.empty((3, 0))]),
    ("rng", lambda bad: sample_scores(bad, 2, 2, 2), [None, 1, np.random.RandomState(0), TorchGenerator(0)]),
    ("d_k", lambda bad: sample_scores(RNG, bad, 2, 2), NOT_COUNTS),
    ("n_keys", lambda bad: sample_scores(RNG, 2, bad, 2), NOT_COUNTS),
    ("draws", lambda bad: sample_scores(RNG, 2, 2, bad), NOT_COUNTS),
    ("exact", lambda bad: sample_scores(RNG, 2, 2, 2, exact=bad), NOT_FLAGS),
    ("n_queries", causal_mask, NOT_COUNTS),
    ("n_keys", lambda bad: causal_mask(2, bad, align="end"), [bad for bad in NOT_COUNTS if bad is not None]),
    ("align", lambda bad: causal_mask(2, 3, align=bad), ["top", "", True, 0, ["end"], None]),
    ("align", lambda bad: causal_mask(2, align=bad), ["top", "", True, 0]),
    ("scores", lambda bad: mask_before_softmax(bad, SEEN), [1.0, EVEN * np.nan, EVEN * np.inf, SEEN, None]),
    ("visible", lambda bad: mask_before_softmax(EVEN, bad), NOT_MASKS),
    ("divisor", lambda bad: mask_before_softmax(EVEN, SEEN, divisor=bad), NOT_DIVISORS),
    ("fill", lambda bad: mask_before_softmax(EVEN, SEEN, fill=bad), [np.nan, np.inf, True, "0", None, 1j]),
    ("scores", lambda bad: mask_after_softmax(bad, SEEN), [1.0, EVEN * np.nan, EVEN * np.inf, SEEN, None]),
    ("visible", lambda bad: mask_after_softmax(EVEN, bad), NOT_MASKS),
    ("divisor", lambda bad: mask_after_softmax(EVEN, SEEN, divisor=bad), NOT_DIVISORS),
    ("weights", lambda bad: inverted_dropout(bad, SEEN, 0.5), [*NOT_NUMBERS, -np.inf]),
    ("keep", lambda bad: inverted_dropout(EVEN, bad, 0.5), NOT_MASKS),
    ("p", lambda bad: inverted_dropout(EVEN, SEEN, bad), NOT_PROBABILITIES),
    ("rescale", lambda bad: inverted_dropout(EVEN, SEEN, 0.5, rescale=bad), NOT_FLAGS),
    ("weights", lambda bad: row_sum_std(bad, 0.5), [*NOT_NUMBERS, 0.5, [-np.inf]]),
    ("p", lambda bad: row_sum_std(EVEN, bad), NOT_PROBABILITIES),
    ("rescale", lambda bad: row_sum_std(EVEN, 0.5, rescale=bad), NOT_FLAGS),
    ("weights", lambda bad: dead_row_probability(bad, 0.5), [*NOT_NUMBERS, 0.5]),
    ("p", lambda bad: dead_row_probability(EVEN, bad), NOT_PROBABILITIES),
    ("x", lambda bad: split_heads(bad, 1), NOT_NUMBERS_2D),
    ("num_heads", lambda bad: split_heads(EVEN, bad), [*NOT_COUNTS, 3]),
    ("x", merge_heads, [*NOT_NUMBERS_2D, EVEN]),
    ("head", lambda bad: head_columns(bad, 2, 4), [-1, 2, 1.0, True, None]),
    ("num_heads", lambda bad: head_columns(0, bad, 4), [*NOT_COUNTS, 3]),
    ("d_out", lambda bad: head_columns(0, 1, bad), NOT_COUNTS),
    ("b", lambda bad: shape_trace(bad, 6, 3, 2, 2, "split"), NOT_COUNTS),
    ("n", lambda bad: shape_trace(1, bad, 3, 2, 2, "split"), NOT_COUNTS),
    ("d_in", lambda bad: shape_trace(1, 6, bad, 2, 2, "wrapper"), NOT_COUNTS),
    ("d_out", lambda bad: shape_trace(1, 6, 3, bad, 2, "wrapper"), NOT_COUNTS),
    ("num_heads", lambda bad: shape_trace(1, 6, 3, 2, bad, "split"), [*NOT_COUNTS, 3]),
    ("num_heads", lambda bad: shape_trace(1, 6, 3, 2, bad, "wrapper"), NOT_COUNTS),
    ("kind", lambda bad: shape_trace(1, 6, 3, 2, 2, bad), ["Split", "", None, 1, ["split"]]),
    ("d_in", lambda bad: parameter_count(bad, 2, 2, "split", output_projection=True), NOT_COUNTS),
    ("d_out", lambda bad: parameter_count(3, bad, 2, "split", output_projection=True), NOT_COUNTS),
    ("num_heads", lambda bad: parameter_count(3, 2, bad, "split", output_projection=True), [*NOT_COUNTS, 3]),
    ("kind", lambda bad: parameter_count(3, 2, 2, bad, output_projection=True), ["both", None, 1]),
    ("output_projection", lambda bad: parameter_count(3, 2, 2, "split", output_projection=bad), NOT_FLAGS),
    (
        "qkv_bias",
        lambda bad: parameter_count(3, 2, 2, "split", output_projection=True, qkv_bias=bad),
        NOT_FLAGS,
    ),
    ("x", lambda bad: attention(bad, P), NOT_NUMBERS_2D),
    ("projections", lambda bad: attention(X, bad), [None, P[:2], P._replace(query=np.ones((2, 2)))]),
    ("num_heads", lambda bad: attention(X, P, bad), [*NOT_COUNTS, 3]),
    ("causal", lambda bad: attention(X, P, causal=bad), NOT_FLAGS),
    ("keep", lambda bad: attention(X, P, keep=bad, p=0.5), [np.ones((4, 4)), 1, np.ones((9, 4, 4), bool)]),
    ("p", lambda bad: attention(X, P, p=bad), [0.5, 1, *NOT_PROBABILITIES]),
    ("n", lambda bad: AttentionCost(bad, 3, 2, 2), NOT_COUNTS),
    ("d_in", lambda bad: AttentionCost(6, bad, 2, 2), NOT_COUNTS),
    ("d_out", lambda bad: AttentionCost(6, 3, bad, 2), NOT_COUNTS),
    ("num_heads", lambda bad: AttentionCost(6, 3, 2, bad), NOT_COUNTS),
    ("bytes_per_score", lambda bad: AttentionCost(6, 3, 2, 2, bad), NOT_COUNTS),
    ("total_bytes", cards_needed, [-1, 1.0, True, None, "1"]),
    ("card_bytes", lambda bad: cards_needed(1, bad), NOT_COUNTS),
    ("n", seconds_per_token, NOT_COUNTS),
    ("base_seconds", lambda bad: seconds_per_token(6, base_seconds=bad), NOT_DIVISORS),
    ("base_n", lambda bad: seconds_per_token(6, base_n=bad), NOT_COUNTS),
]
EACH = [
    pytest.param(name, call, bad, id=f"{index}-{name}-{position}")
    for index, (name, call, values) in enumerate(CASES)
    for position, bad in enumerate(values)
]


@pytest.mark.parametrize(("name", "call", "bad"), EACH)
def test_refusal(name, call, bad):
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the message is what the next lines look at
        call(bad)
    message = str(refused.value)
    assert re.fullmatch(rf"{name}[a-z_., ]*: expected .+, got .+\.", message)
    assert len(message) < 250
