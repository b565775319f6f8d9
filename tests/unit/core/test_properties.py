"""What holds for every input, tried on inputs that a machine makes up: the same ones each time."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
    scores,
    shape_trace,
    softmax,
    softmax_jacobian,
    split_heads,
)


def always(*strategies, max_examples=60):
    """Like `given`, with the same examples on every run and no limit on a slow machine's time."""
    fixed = settings(derandomize=True, deadline=None, database=None, max_examples=max_examples)
    return lambda test: fixed(given(*strategies)(test))


sizes = st.integers(1, 7)
seeds = st.integers(0, 2**32 - 1)


@st.composite
def matrices(draw, rows=sizes, columns=sizes, reach=30.0):
    shape = (draw(rows), draw(columns))
    cells = st.floats(-reach, reach, allow_subnormal=False)
    flat = draw(st.lists(cells, min_size=math.prod(shape), max_size=math.prod(shape)))
    return np.array(flat).reshape(shape)


@st.composite
def attention_inputs(draw):
    num_heads, head_dim, n, d_in = draw(st.integers(1, 4)), draw(sizes), draw(sizes), draw(sizes)
    rng = np.random.default_rng(draw(seeds))
    x = rng.standard_normal((n, d_in))
    projections = Projections(*rng.standard_normal((3, d_in, num_heads * head_dim)))
    return x, projections, num_heads


@always(matrices())
def test_softmax_rows_sum_to_1(x):
    weights = softmax(x)
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0, rtol=0, atol=1e-15)


@always(matrices(), st.floats(-1e6, 1e6))
def test_softmax_ignores_a_shift(x, shift):
    rounding_of_the_shift = 4 * np.spacing(abs(shift) + 30.0)
    np.testing.assert_allclose(softmax(x + shift), softmax(x), rtol=0, atol=1e-15 + rounding_of_the_shift)


@always(matrices(rows=st.just(1)), seeds)
def test_softmax_follows_a_reordering_to_the_bit(x, seed):
    order = np.random.default_rng(seed).permutation(x.shape[1])
    np.testing.assert_array_equal(softmax(x[:, order]), softmax(x)[:, order])


@always(matrices(), seeds)
def test_hiding_a_score_scales_up_the_others(x, seed):
    hidden = np.random.default_rng(seed).random(x.shape) < 0.5
    weights = softmax(np.where(hidden, -np.inf, x))
    alive = ~hidden.all(axis=1)
    assert (weights[hidden] == 0.0).all()
    np.testing.assert_allclose(weights.sum(axis=1), alive.astype(float), rtol=0, atol=1e-15)
    np.testing.assert_allclose(weights, mask_before_softmax(x, ~hidden), rtol=0, atol=0)


@always(matrices())
def test_jacobian_rows_sum_to_0(x):
    jacobian = softmax_jacobian(softmax(x))
    np.testing.assert_allclose(jacobian.sum(axis=-1), 0.0, rtol=0, atol=1e-16)
    np.testing.assert_array_equal(jacobian, np.swapaxes(jacobian, -1, -2))


@always(matrices(reach=300.0))
def test_largest_jacobian_entry_is_the_largest(x):
    by_looking = np.abs(softmax_jacobian(softmax(x))).max(axis=(1, 2))
    largest = largest_jacobian_entry(x)
    assert (largest <= 0.25).all()
    np.testing.assert_allclose(largest, by_looking, rtol=1e-13, atol=0)


@always(matrices(), seeds, st.floats(0.1, 100.0))
def test_both_masks_agree(x, seed, divisor):
    visible = np.random.default_rng(seed).random(x.shape) < 0.6
    before = mask_before_softmax(x, visible, divisor=divisor)
    after = mask_after_softmax(x, visible, divisor=divisor)
    # Both are the same up to rounding as long as what is visible does not underflow beside what is hidden.
    if np.ptp(x) / divisor < 300:
        np.testing.assert_allclose(after, before, rtol=1e-13, atol=1e-15)
    assert (before[~visible] == 0.0).all()
    assert (after[~visible] == 0.0).all()


@always(sizes, sizes)
def test_causal_masks(n_queries, n_keys):
    start = causal_mask(n_queries, n_keys, align="start")
    end = causal_mask(n_queries, n_keys, align="end")
    for i in range(n_queries):
        for j in range(n_keys):
            assert start[i, j] == (j <= i)
            assert end[i, j] == (n_keys - j >= n_queries - i)
    np.testing.assert_array_equal(end, start[::-1, ::-1].T if n_queries == n_keys else end)


@always(attention_inputs())
def test_causal_attention_does_not_see_the_future(inputs):
    x, projections, num_heads = inputs
    context, weights = attention(x, projections, num_heads, causal=True)
    for n in range(1, len(x) + 1):
        shorter, _ = attention(x[:n], projections, num_heads, causal=True)
        np.testing.assert_allclose(context[:n], shorter, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(weights, np.tril(weights))


@always(attention_inputs(), seeds)
def test_attention_follows_a_reordering(inputs, seed):
    x, projections, num_heads = inputs
    order = np.random.default_rng(seed).permutation(len(x))
    context, _ = attention(x, projections, num_heads)
    reordered, _ = attention(x[order], projections, num_heads)
    np.testing.assert_allclose(reordered, context[order], rtol=1e-12, atol=1e-12)


@always(attention_inputs(), st.booleans())
def test_heads_one_by_one_equal_one_sliced_matrix(inputs, causal):
    x, projections, num_heads = inputs
    d_out = projections.value.shape[1]
    together, weights = attention(x, projections, num_heads, causal=causal)
    for head in range(num_heads):
        columns = head_columns(head, num_heads, d_out)
        own = Projections(*(matrix[:, columns] for matrix in projections))
        alone, alone_weights = attention(x, own, causal=causal)
        np.testing.assert_array_equal(together[:, columns], alone)
        np.testing.assert_array_equal(weights[head], alone_weights[0])


@always(attention_inputs())
def test_context_lies_between_the_values(inputs):
    x, projections, num_heads = inputs
    context, _ = attention(x, projections, num_heads)
    value = project(x, projections)[2]
    assert (context <= value.max(axis=0) + 1e-12).all()
    assert (context >= value.min(axis=0) - 1e-12).all()


@always(sizes, sizes, sizes, st.lists(sizes, max_size=2), seeds)
def test_split_then_merge_is_the_identity(n, num_heads, head_dim, batch, seed):
    x = np.random.default_rng(seed).standard_normal((*batch, n, num_heads * head_dim))
    split = split_heads(x, num_heads)
    assert split.shape == (*batch, num_heads, n, head_dim)
    np.testing.assert_array_equal(merge_heads(split), x)
    for head in range(num_heads):
        columns = head_columns(head, num_heads, x.shape[-1])
        np.testing.assert_array_equal(split[..., head, :, :], x[..., columns])


@always(sizes, sizes, sizes, sizes, sizes)
def test_traces_have_the_shapes_of_real_arrays(b, n, d_in, num_heads, head_dim):
    d_out = num_heads * head_dim
    x = np.zeros((b, n, d_in))
    context, weights = attention(x, Projections(*np.zeros((3, d_in, d_out))), num_heads)
    shapes = [step.shape for step in shape_trace(b, n, d_in, d_out, num_heads, "split")]
    assert shapes[0] == x.shape
    assert shapes[5] == weights.shape
    assert shapes[-1] == context.shape
    wrapped = [step.shape for step in shape_trace(b, n, d_in, head_dim, num_heads, "wrapper")]
    assert wrapped[-1] == context.shape


@always(sizes, sizes, sizes, st.booleans(), st.booleans())
def test_both_classes_have_equal_parameters_at_equal_width(d_in, num_heads, head_dim, projection, bias):
    options = {"output_projection": projection, "qkv_bias": bias}
    split = parameter_count(d_in, num_heads * head_dim, num_heads, "split", **options)
    assert split == parameter_count(d_in, head_dim, num_heads, "wrapper", **options)


@always(matrices(), st.floats(0.0, 1.0, exclude_max=True), seeds)
def test_dropout_zeroes_or_rescales(x, p, seed):
    keep = TorchGenerator(seed).dropout_keep(x.shape, p)
    scaled, plain = (inverted_dropout(x, keep, p, rescale=rescale) for rescale in (True, False))
    assert (scaled[~keep] == 0.0).all()
    np.testing.assert_allclose(scaled * (1 - p), plain, rtol=1e-15)
    np.testing.assert_array_equal(plain, np.where(keep, x, 0.0))


@always(matrices(rows=st.just(3), columns=st.just(4)), st.sampled_from([0.1, 0.5, 0.9]), seeds, max_examples=10)
def test_dropouts_mean_is_its_input(x, p, seed):
    weights, draws = softmax(x), 4_000
    keep = TorchGenerator(seed).dropout_keep((draws, 3, 4), p)
    dropped = inverted_dropout(weights, keep, p)
    sd_of_mean = weights * math.sqrt(p / (1 - p) / draws)
    # Twelve weights are looked at in ten examples, so allow five standard deviations for each of them.
    assert (np.abs(dropped.mean(axis=0) - weights) <= 5 * sd_of_mean + 1e-15).all()
    sums = dropped.sum(axis=-1)
    assert (np.abs(sums.mean(axis=0) - 1) <= 5 * row_sum_std(weights, p) / math.sqrt(draws) + 1e-12).all()
    dead = (dropped == 0.0).all(axis=-1).mean(axis=0)
    chance = dead_row_probability(weights, p)
    assert (np.abs(dead - chance) <= 5 * np.sqrt(chance * (1 - chance) / draws) + 1 / draws).all()


@always(matrices(rows=st.integers(2, 7)), st.floats(-100, 100), st.floats(0.01, 100))
def test_distances(points, shift, scale):
    mean = mean_pairwise_distance(points)
    assert mean >= 0
    np.testing.assert_allclose(mean_pairwise_distance(points + shift), mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(mean_pairwise_distance(scale * points), scale * mean, rtol=1e-12, atol=1e-140)
    np.testing.assert_allclose(mean_pairwise_distance(points[::-1]), mean, rtol=1e-12, atol=0)


@always(matrices())
def test_scores_of_equal_rows_are_symmetric(x):
    assert asymmetry(scores(x, x.copy())) == 0.0


@always(st.integers(1, 2**40), st.integers(1, 2**15), st.integers(1, 200), st.sampled_from([1, 2, 4]))
def test_cost_identities(n, d, num_heads, width):
    cost = AttentionCost(n, d, d, num_heads, width)
    assert cost.score_bytes == num_heads * cost.score_bytes_per_head == num_heads * n * n * width
    assert 2 * cost.masked_cells + n == n * n
    assert cost.masked_share == pytest.approx(cost.masked_cells / n**2, rel=1e-15, abs=0)
    assert (cost.quadratic_share > 0.5) == (n > 2 * d) or n == 2 * d


@always(st.integers(0, 2**90), st.integers(1, 2**40))
def test_cards_are_a_ceiling(total, card):
    count = cards_needed(total, card)
    assert count * card >= total
    assert (count - 1) * card < total or count == 0
