"""Where numbers go wrong at the edges: overflow, empty rows, wrong polarity, wrong width.

Imports nothing but the standard library, NumPy, pytest and the core: it also runs in the browser's Python.
"""

import itertools
import math

import numpy as np
import pytest

from attention_core import (
    EMBEDDINGS,
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
    section_3_4,
    section_3_5,
    shape_trace,
    softmax,
    softmax_jacobian,
    split_heads,
)

INF, NAN = math.inf, math.nan
NO_MATRICES = Projections(np.eye(3), np.eye(3), np.eye(3))


class TestIntegersBeyond32Bits:
    @pytest.mark.parametrize("integer", [int, np.int32, np.int64], ids=lambda kind: kind.__name__)
    @pytest.mark.parametrize(
        ("n", "size"),
        [
            (32_767, 2_147_352_578),
            (32_768, 2_147_483_648),
            (46_341, 4_294_976_562),
            (65_536, 8_589_934_592),
            (1_047_576, 2_194_830_951_552),
            (1_048_576, 2_199_023_255_552),
        ],
    )
    def test_bytes_are_exact(self, n, size, integer):
        computed = AttentionCost(integer(n), 768, 768, 1).score_bytes
        assert type(computed) is int
        assert computed == size

    def test_all_heads_and_layers_pass_53_bits(self):
        assert 96 * AttentionCost(1_047_576, 12_288, 12_288, 96).score_bytes == 20_227_562_049_503_232

    @pytest.mark.parametrize("integer", [int, np.int32], ids=lambda kind: kind.__name__)
    def test_every_quantity_is_pythons(self, integer):
        cost = AttentionCost(*map(integer, (1_048_576, 12_288, 12_288, 128, 4)))
        n, d = 2**20, 12_288
        assert cost.projection_macs == 3 * n * d * d
        assert cost.score_macs == cost.weighted_sum_macs == n * n * d
        assert cost.output_macs == n * d * d
        assert cost.masked_cells == n * (n - 1) // 2
        assert cost.quadratic_share == 2 * n * n * d / (2 * n * n * d + 4 * n * d * d)

    def test_parameters_of_a_wide_layer(self):
        wide = np.int32(12_288)
        count = parameter_count(wide, wide, np.int32(96), "split", output_projection=True)
        assert count == 4 * 12_288**2 + 12_288
        assert parameter_count(wide, wide, np.int32(96), "wrapper", output_projection=False) == 3 * 12_288**2 * 96

    def test_trace_of_a_million_tokens(self):
        steps = shape_trace(1, 2**20, 1600, 1600, 25, "split")
        assert steps[5].shape == (1, 25, 2**20, 2**20)
        assert all(type(size) is int for step in steps for size in step.shape)

    def test_ceiling_is_exact_where_a_quotient_of_floats_is_not(self):
        card = 80 * 2**30
        assert cards_needed(card * 2**60) == 2**60
        assert cards_needed(card * 2**60 + 1) == 2**60 + 1
        assert cards_needed(0) == 0


class TestCardsAndHours:
    def test_cards(self):
        window = AttentionCost(1_047_576, 768, 768, 1).score_bytes
        assert cards_needed(window) == 26
        assert cards_needed(window, 80 * 10**9) == 28
        assert cards_needed(np.int64(window), np.int64(80 * 2**30)) == 26

    def test_base_point(self):
        assert AttentionCost(1024, 768, 768, 1).score_bytes == 2 * 2**20
        assert seconds_per_token(1024) == 0.1

    def test_time_at_the_window(self):
        assert round(seconds_per_token(1_047_576), 1) == 104_657.7
        assert round(seconds_per_token(np.int32(1_047_576), base_n=np.int32(1024)) / 3600, 2) == 29.07

    def test_time_beyond_a_float_is_refused(self):
        with pytest.raises(ValueError, match=r"^n: "):
            seconds_per_token(10**400)
        with pytest.raises(ValueError, match=r"^n: "):
            seconds_per_token(10**6, base_seconds=1e308)


class TestSoftmaxAtTheEdges:
    @pytest.mark.parametrize(
        ("row", "expected"),
        [
            ([1000, 1000, -1000], [0.5, 0.5, 0.0]),
            ([-10_000, -10_000], [0.5, 0.5]),
            ([1e308, -1e308], [1.0, 0.0]),
            ([-1e308, -1e308], [0.5, 0.5]),
            ([0.0, -INF], [1.0, 0.0]),
            ([-INF, -INF, -INF], [0.0, 0.0, 0.0]),
            ([7.0], [1.0]),
            ([-INF], [0.0]),
        ],
    )
    def test_rows(self, row, expected):
        assert softmax(row).tolist() == expected

    def test_large_against_zero(self):
        high, low = softmax([710, 0])
        assert high == 1.0
        assert abs(low) < 1e-300

    def test_a_dead_row_leaves_the_others_alone(self):
        assert softmax([[0.0, 0.0], [-INF, -INF]]).tolist() == [[0.5, 0.5], [0.0, 0.0]]

    @pytest.mark.parametrize("bad", [INF, NAN])
    def test_what_has_no_softmax_is_refused(self, bad):
        for function in (softmax, largest_jacobian_entry):
            with pytest.raises(ValueError, match=r"^(x|scores): expected finite numbers or -inf"):
                function([0.0, bad])

    @pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
    def test_axis(self, axis):
        x = np.arange(24.0).reshape(2, 3, 4)
        np.testing.assert_allclose(softmax(x, axis).sum(axis=axis), 1.0, rtol=0, atol=1e-15)
        np.testing.assert_array_equal(softmax(x, axis), np.moveaxis(softmax(np.moveaxis(x, axis, -1)), -1, axis))

    @pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.float16, np.float32])
    def test_small_types_are_widened_first(self, dtype):
        weights = softmax(np.array([120, 100], dtype=dtype))
        assert weights.dtype == np.float64
        np.testing.assert_array_equal(weights, softmax([120.0, 100.0]))

    def test_no_rows(self):
        assert softmax(np.empty((0, 3))).shape == (0, 3)
        assert largest_jacobian_entry(np.empty((0, 3))).shape == (0,)

    def test_order_of_the_tokens_changes_no_digit(self):
        row = np.random.default_rng(0).standard_normal(6)
        weights = softmax(row)
        for order in itertools.permutations(range(6)):
            np.testing.assert_array_equal(softmax(row[list(order)]), weights[list(order)])


class TestJacobianNearOne:
    @pytest.mark.parametrize("gap", [1, 20, 36, 37, 40, 100, 700])
    def test_two_scores(self, gap):
        exact = math.exp(-gap) / (1 + math.exp(-gap)) ** 2
        assert float(largest_jacobian_entry([0.0, gap])) == pytest.approx(exact, rel=1e-14, abs=0)
        assert softmax_jacobian(softmax([0.0, gap]))[1, 1] == pytest.approx(exact, rel=1e-14, abs=0)

    def test_quoted_value(self):
        assert f"{largest_jacobian_entry([0.0, 40.0]):.3g}" == "4.25e-18"

    def test_gone_beyond_the_smallest_float(self):
        assert largest_jacobian_entry([0.0, 800.0]) == 0.0
        assert largest_jacobian_entry([1e308, -1e308]) == 0.0

    @pytest.mark.parametrize("row", [[-INF, -INF], [3.0, -INF], [3.0]])
    def test_rows_without_a_rival(self, row):
        assert largest_jacobian_entry(row) == 0.0
        np.testing.assert_array_equal(softmax_jacobian(softmax(row)), np.zeros((len(row), len(row))))

    def test_even_rows_reach_a_quarter(self):
        assert largest_jacobian_entry([5.0, 5.0]) == 0.25
        assert largest_jacobian_entry([5.0, 5.0, -INF]) == 0.25
        assert largest_jacobian_entry(np.zeros((2, 4))).tolist() == [0.1875, 0.1875]

    def test_against_the_formula(self):
        p = softmax(np.random.default_rng(3).standard_normal((4, 5, 7)))
        formula = p[..., :, None] * (np.eye(7) - p[..., None, :])
        np.testing.assert_allclose(softmax_jacobian(p), formula, rtol=0, atol=1e-16)

    def test_against_finite_differences(self):
        s, step = np.array([0.3, -1.2, 0.9]), 1e-6
        moved = [(softmax(s + step * e) - softmax(s - step * e)) / (2 * step) for e in np.eye(3)]
        np.testing.assert_allclose(softmax_jacobian(softmax(s)), np.transpose(moved), rtol=0, atol=1e-9)


class TestLayoutOfLinearLayers:
    def test_query_of_journey(self):
        assert (EMBEDDINGS @ section_3_4().query)[1].round(4).tolist() == [0.4306, 1.4551]

    def test_first_query_of_section_3_5(self):
        first = (EMBEDDINGS @ section_3_5().query)[0].round(4).tolist()
        assert first == [0.6600, -0.2047]
        # What a reshape instead of a transpose would give, with every shape as expected.
        reshaped = EMBEDDINGS @ TorchGenerator(789).linear(3, 2).reshape(3, 2)
        assert reshaped[0].round(4).tolist() == [-0.0880, 0.0895]

    def test_first_row_of_attention_in_section_3_5(self):
        weights = attention(EMBEDDINGS, section_3_5())[1]
        assert weights[0, 0].round(4).tolist() == [0.1921, 0.1646, 0.1652, 0.1550, 0.1721, 0.1510]


@pytest.mark.parametrize(("divisor", "error"), [(math.sqrt(2), 0.0634), (1.0, 0.0877), (math.sqrt(3), 0.0523)])
def test_weight_error_without_matrices_depends_on_the_divisor(divisor, error):
    weights = softmax(scores(EMBEDDINGS, EMBEDDINGS) / divisor)
    assert round(asymmetry(weights), 4) == error


class TestExactSymmetry:
    @pytest.mark.parametrize("n", [2, 3, 5, 6, 7, 12, 33])
    @pytest.mark.parametrize("d", [1, 2, 3, 7, 8, 17, 64])
    def test_equal_queries_and_keys(self, n, d):
        rng = np.random.default_rng([n, d])
        x, w = rng.standard_normal((n, d)), rng.standard_normal((d, d))
        q, k, _ = project(x, Projections(w, w.copy(), w))
        assert asymmetry(scores(q, k)) == 0.0
        q, k, _ = project(x, Projections(w, 2 * w, w))
        assert asymmetry(scores(q, k)) == 0.0

    @pytest.mark.parametrize("divisor", [1.0, math.sqrt(2)])
    @pytest.mark.parametrize("n", range(2, 13))
    def test_orthonormal_inputs_have_symmetric_weights(self, n, divisor):
        assert asymmetry(softmax(scores(np.eye(n), np.eye(n)) / divisor)) == 0.0


class TestMasks:
    def test_one_token(self):
        for way in (mask_before_softmax, mask_after_softmax):
            assert way([[3.0]], causal_mask(1)).tolist() == [[1.0]]

    def test_a_row_that_sees_nothing(self):
        for way in (mask_before_softmax, mask_after_softmax):
            assert way([[1.0, 2.0, 3.0]], [[False] * 3]).tolist() == [[0.0] * 3]

    def test_zero_hides_nothing(self):
        raw = scores(*project(EMBEDDINGS, section_3_5())[:2])
        weights = mask_before_softmax(raw, causal_mask(6), divisor=math.sqrt(2), fill=0.0)
        leak = np.where(causal_mask(6), 0.0, weights).sum(axis=1)
        assert leak.round(4).tolist() == [0.8029, 0.6135, 0.4517, 0.3140, 0.1571, 0.0]

    @pytest.mark.parametrize("fill", [-INF, -1e9])
    def test_the_future_weighs_exactly_nothing(self, fill):
        raw = scores(*project(EMBEDDINGS, section_3_5())[:2])
        weights = mask_before_softmax(raw, causal_mask(6), divisor=math.sqrt(2), fill=fill)
        assert (weights[~causal_mask(6)] == 0.0).all()

    def test_true_means_visible(self):
        assert causal_mask(2).tolist() == [[True, False], [True, True]]
        assert mask_before_softmax([[5.0, 5.0]], [[True, False]]).tolist() == [[1.0, 0.0]]
        assert mask_after_softmax([[5.0, 5.0]], [[True, False]]).tolist() == [[1.0, 0.0]]

    @pytest.mark.parametrize("way", [mask_before_softmax, mask_after_softmax])
    @pytest.mark.parametrize("mask", [np.tri(2), np.tri(2, dtype=int), [[1, 0], [1, 1]]], ids=["float", "int", "list"])
    def test_masks_of_numbers_are_refused(self, way, mask):
        with pytest.raises(ValueError, match=r"^visible: expected a bool array \(True = may be seen\)"):
            way(np.zeros((2, 2)), mask)

    @pytest.mark.parametrize(("n_queries", "n_keys"), [(2, 5), (5, 2), (1, 8)])
    def test_unequal_lengths_need_an_alignment(self, n_queries, n_keys):
        with pytest.raises(ValueError, match=r"^align: expected 'start' or 'end'"):
            causal_mask(n_queries, n_keys)

    def test_alignments(self):
        assert causal_mask(2, 5, align="start").astype(int).tolist() == [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0]]
        assert causal_mask(2, 5, align="end").astype(int).tolist() == [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]
        assert causal_mask(1, 8, align="end").all()
        assert causal_mask(1, 8, align="start").sum() == 1
        late = causal_mask(5, 2, align="end").astype(int)
        assert late.tolist() == [[0, 0], [0, 0], [0, 0], [1, 0], [1, 1]]
        assert mask_before_softmax(np.zeros((5, 2)), late.astype(bool))[:3].tolist() == [[0.0, 0.0]] * 3

    def test_alignment_is_free_where_lengths_agree(self):
        np.testing.assert_array_equal(causal_mask(4, 4, align="end"), causal_mask(4, align="start"))

    def test_where_the_naive_way_breaks(self):
        raw = [[0.0, 746.0], [0.0, 746.0]]
        assert mask_after_softmax(raw, causal_mask(2))[0].tolist() == [0.0, 0.0]
        assert mask_before_softmax(raw, causal_mask(2))[0].tolist() == [1.0, 0.0]

    @pytest.mark.parametrize("gain", [0.1, 1.0, 30.0, 1000.0])
    def test_disagreement_is_rounding(self, gain):
        raw = gain * scores(*project(EMBEDDINGS, section_3_5())[:2])
        difference = mask_after_softmax(raw, causal_mask(6)) - mask_before_softmax(raw, causal_mask(6))
        assert np.abs(difference).max() < 1e-15

    def test_fill_comes_before_the_division(self):
        weights = mask_before_softmax([[2.0, 9.0]], [[True, False]], divisor=2.0, fill=4.0)
        np.testing.assert_allclose(weights, [softmax([1.0, 2.0])], rtol=1e-15)

    def test_a_mask_spreads_over_heads(self):
        raw = np.zeros((2, 3, 4, 4))
        assert (mask_before_softmax(raw, causal_mask(4))[1, 2, 3] == 0.25).all()

    @pytest.mark.parametrize(
        ("row", "divisor", "expected"),
        [
            ([-1e308, -1e308], 0.5, [0.5, 0.5]),
            ([-1e308, -INF], 0.5, [1.0, 0.0]),
            ([-1e308, -1.1e308], 0.5, [1.0, 0.0]),
            ([-1.7e308, -1.7e308, -1e300], 1e-3, [0.0, 0.0, 1.0]),
            ([1e308, 1e308], 0.5, [0.5, 0.5]),
            ([1e308, -1e308], 0.5, [1.0, 0.0]),
            ([1e300, 0.0], 1e-300, [1.0, 0.0]),
            ([1e300, 1e300, 0.0], 1e-300, [0.5, 0.5, 0.0]),
            ([-1e300, -1e300, -INF], 5e-324, [0.5, 0.5, 0.0]),
            ([0.0, 0.0], 5e-324, [0.5, 0.5]),
        ],
    )
    def test_division_may_overflow(self, row, divisor, expected):
        for way in (mask_before_softmax, mask_after_softmax):
            weights = way([row, [1.0] * len(row)], np.ones((2, len(row)), dtype=bool), divisor=divisor)
            assert weights[0].tolist() == expected
            np.testing.assert_allclose(weights[1], 1 / len(row), rtol=1e-15)

    @pytest.mark.parametrize("size", [1e308, -1e308])
    @pytest.mark.parametrize("divisor", [0.5, 1e-3, 1e-300, 5e-324])
    @pytest.mark.parametrize("hidden", [0.0, 1e308, -1e308, -INF])
    def test_the_only_visible_key_has_all_the_weight(self, size, divisor, hidden):
        assert mask_before_softmax([[size, hidden]], [[True, False]], divisor=divisor).tolist() == [[1.0, 0.0]]
        assert mask_before_softmax([[size, hidden]], [[False, False]], divisor=divisor).tolist() == [[0.0, 0.0]]

    def test_a_finite_fill_beyond_the_range_still_counts_as_a_score(self):
        weights = mask_before_softmax([[-1e308, 0.0]], [[True, False]], divisor=0.5, fill=-1e308)
        assert weights.tolist() == [[0.5, 0.5]]

    def test_only_rows_that_overflow_are_shifted(self):
        raw = np.random.default_rng(0).standard_normal((50, 6))
        raw[::2] = -1e308
        for way in (mask_before_softmax, mask_after_softmax):
            weights = way(raw, np.ones((50, 6), dtype=bool), divisor=0.3)
            np.testing.assert_allclose(weights[::2], 1 / 6, rtol=1e-15)
            # To the last digit: that is how one sees that these were not shifted.
            np.testing.assert_array_equal(weights[1::2], way(raw[1::2] / 0.3, np.ones((25, 6), dtype=bool)))

    @pytest.mark.parametrize("sign", [1.0, -1.0])
    def test_attention_with_scores_near_the_largest_float(self, sign):
        x, eye = np.array([[1.3e154], [1.3e154], [1e154]]), np.eye(1)
        weights = attention(x, Projections(eye, sign * eye, np.eye(1)), causal=True)[1][0]
        assert weights.tolist() == [[1.0, 0, 0], [0.5, 0.5, 0], [0.5, 0.5, 0] if sign > 0 else [0, 0, 1.0]]


class TestDropout:
    WEIGHTS = mask_before_softmax(scores(EMBEDDINGS, EMBEDDINGS), causal_mask(6))

    @pytest.mark.parametrize("rescale", [True, False])
    @pytest.mark.parametrize("draws", [1, 10_000])
    def test_p_of_one(self, draws, rescale):
        keep = TorchGenerator(123).dropout_keep((draws, 6, 6), 1)
        result = inverted_dropout(self.WEIGHTS, keep, 1, rescale=rescale)
        assert result.shape == (draws, 6, 6)
        assert not result.any()
        assert not row_sum_std(self.WEIGHTS, 1, rescale=rescale).any()
        assert dead_row_probability(self.WEIGHTS, 1).tolist() == [1.0] * 6

    def test_p_of_zero(self):
        keep = TorchGenerator(123).dropout_keep((6, 6), 0)
        weights = np.array([[0.1, -0.0, 5e-324]])
        np.testing.assert_array_equal(inverted_dropout(self.WEIGHTS, keep, 0), self.WEIGHTS)
        assert inverted_dropout(weights, [[True] * 3], 0.0).tobytes() == weights.tobytes()
        assert not row_sum_std(self.WEIGHTS, 0).any()
        assert dead_row_probability(self.WEIGHTS, 0).tolist() == [0.0] * 6
        assert dead_row_probability([0.0, 0.0], 0) == 1.0

    def test_p_near_one(self):
        assert inverted_dropout(1.0, True, 0.99) == pytest.approx(100)
        assert inverted_dropout(1.0, True, math.nextafter(1, 0)) == 2.0**53

    def test_p_is_the_drop_rate(self):
        draws, p = 20_000, 0.1
        keep = TorchGenerator(123).dropout_keep((draws, 6), p)
        assert abs((~keep).mean() - p) < 4 * math.sqrt(p * (1 - p) / keep.size)
        assert inverted_dropout(1.0, True, p) == pytest.approx(1.1111, abs=1e-4)
        dead = (inverted_dropout(self.WEIGHTS[0], keep, p) == 0.0).all(axis=1).mean()
        assert abs(dead - p) < 4 * math.sqrt(p * (1 - p) / draws)

    def test_infinite_weights_never_become_nan(self):
        for bad in (INF, -INF, NAN):
            with pytest.raises(ValueError, match=r"^weights: expected finite numbers"):
                inverted_dropout([bad, 1.0], [False, True], 0.5)

    @pytest.mark.parametrize("keep", [np.ones(2), [1, 0]])
    def test_masks_of_numbers_are_refused(self, keep):
        with pytest.raises(ValueError, match=r"^keep: expected a bool array \(True = kept\)"):
            inverted_dropout([0.5, 0.5], keep, 0.5)

    def test_overflow_is_refused(self):
        with pytest.raises(ValueError, match=r"^weights: "):
            inverted_dropout([1e308], [True], 0.99)
        with pytest.raises(ValueError, match=r"^weights: "):
            row_sum_std([1e200], 0.5)


class TestHeads:
    DIVISORS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 768)

    def test_only_divisors_of_the_width(self):
        accepted = []
        for num_heads in range(1, 769):
            try:
                head_columns(0, num_heads, 768)
            except ValueError:
                continue
            accepted.append(num_heads)
        assert tuple(accepted) == self.DIVISORS

    @pytest.mark.parametrize(
        ("d_out", "num_heads", "says"),
        [(768, 10, "10 (768 / 10 leaves 8)"), (48, 768, "768 (48 / 768 leaves 48)"),
         (2, 3, "3 (2 / 3 leaves 2)"), (1600, 48, "48 (1600 / 48 leaves 16)")],
    )  # fmt: skip
    def test_refusals_name_both_numbers(self, d_out, num_heads, says):
        square = Projections(*[np.eye(d_out)] * 3)
        calls = [
            lambda: split_heads(np.zeros((1, d_out)), num_heads),
            lambda: head_columns(0, num_heads, d_out),
            lambda: shape_trace(1, 6, d_out, d_out, num_heads, "split"),
            lambda: parameter_count(d_out, d_out, num_heads, "split", output_projection=True),
            lambda: attention(np.zeros((1, d_out)), square, num_heads),
        ]
        for call in calls:
            with pytest.raises(ValueError, match=r"^num_heads: ") as refused:
                call()
            assert f"a divisor of the width {d_out}, got {says}." in str(refused.value)

    @pytest.mark.parametrize("num_heads", [0, -1, True, 2.0, "2"])
    def test_head_counts_that_are_none(self, num_heads):
        with pytest.raises(ValueError, match=r"^num_heads: expected an integer of at least 1"):
            split_heads(np.zeros((1, 8)), num_heads)

    @pytest.mark.parametrize(("d_out", "num_heads", "divisor"), [(768, 12, 8.0), (768, 1, 27.7128129211), (2, 2, 1.0)])
    def test_divisor_is_the_root_of_one_heads_width(self, d_out, num_heads, divisor):
        x = np.random.default_rng(0).standard_normal((3, d_out)) / math.sqrt(d_out)
        eye = np.eye(d_out)
        weights = attention(x, Projections(eye, eye, eye), num_heads)[1][0]
        stripe = x[:, head_columns(0, num_heads, d_out)]
        raw = stripe @ stripe.T
        measured = (raw[0, 0] - raw[0, 1]) / math.log(weights[0, 0] / weights[0, 1])
        assert measured == pytest.approx(divisor, rel=1e-9, abs=0)

    def test_widths_of_the_two_classes(self):
        assert shape_trace(2, 6, 3, 2, 2, "wrapper")[-1].shape == (2, 6, 4)
        assert shape_trace(2, 6, 3, 2, 2, "split")[-1].shape == (2, 6, 2)

    def test_wrapper_trace(self):
        shapes = [step.shape for step in shape_trace(2, 6, 3, 2, 2, "wrapper")]
        assert shapes == [(2, 6, 3), (2, 6, 2), (2, 2, 6), (2, 6, 6), (2, 6, 6), (2, 6, 2), (2, 6, 4)]

    def test_parameters(self):
        count = parameter_count
        assert count(768, 768, 12, "split", output_projection=False) == 1_769_472
        assert count(768, 768, 12, "split", output_projection=True) == 2_360_064
        assert count(768, 768, 12, "split", output_projection=True, qkv_bias=True) == 2_362_368
        assert count(768, 64, 12, "wrapper", output_projection=False) == 1_769_472
        assert count(768, 64, 12, "wrapper", output_projection=True) == 2_360_064
        assert count(768, 64, 12, "wrapper", output_projection=True, qkv_bias=True) == 2_362_368

    def test_a_head_is_a_stripe(self):
        torch = TorchGenerator(0)
        x = torch.rand(6, 6).astype(float)
        projections = Projections(*(torch.linear(6, 8).T.astype(float) for _ in range(3)))
        together, weights = attention(x, projections, 4, causal=True)
        for head in range(4):
            columns = head_columns(head, 4, 8)
            own = Projections(*(matrix[:, columns] for matrix in projections))
            alone, alone_weights = attention(x, own, causal=True)
            np.testing.assert_array_equal(together[:, columns], alone)
            np.testing.assert_array_equal(weights[head], alone_weights[0])

    def test_batches_and_dropout(self):
        x = np.random.default_rng(0).standard_normal((2, 5, 6, 3))
        keep = TorchGenerator(1).dropout_keep((2, 5, 2, 6, 6), 0.5)
        context, weights = attention(x, section_3_4(), 2, causal=True, keep=keep, p=0.5)
        assert context.shape == (2, 5, 6, 2)
        assert weights.shape == (2, 5, 2, 6, 6)
        clean = attention(x, section_3_4(), 2, causal=True)[1]
        np.testing.assert_array_equal(weights, np.where(keep, 2 * clean, 0.0))
        _, _, v = project(x, section_3_4())
        np.testing.assert_allclose(context, merge_heads(weights @ split_heads(v, 2)), rtol=0, atol=1e-15)

    def test_dropout_everything(self):
        context, weights = attention(EMBEDDINGS, section_3_4(), keep=np.ones((6, 6), bool), p=1)
        assert not context.any()
        assert not weights.any()

    def test_values_of_their_own_width(self):
        projections = section_3_4()._replace(value=np.ones((3, 4)))
        assert attention(EMBEDDINGS, projections, 2)[0].shape == (6, 4)


class TestExtremesStayFinite:
    """Both ends of every control, in all combinations: no NaN and no infinity comes out."""

    @pytest.mark.parametrize("d_k", [1, 4096])
    @pytest.mark.parametrize("n_keys", [2, 16])
    @pytest.mark.parametrize("exact", [False, True])
    def test_scaling(self, d_k, n_keys, exact):
        raw = sample_scores(np.random.default_rng(0), d_k, n_keys, 20, exact=exact)
        for divisor in (1, math.sqrt(d_k), d_k):
            entries = largest_jacobian_entry(raw / divisor)
            assert np.isfinite(entries).all()
            assert ((entries >= 0) & (entries <= 0.25)).all()
            assert np.isfinite(softmax_jacobian(softmax(raw / divisor))).all()

    @pytest.mark.parametrize("gain", [0.1, 1000.0])
    @pytest.mark.parametrize("fill", [-INF, 0.0, -1e9])
    @pytest.mark.parametrize("seed", [0, 2**32 - 1])
    def test_masking(self, gain, fill, seed):
        torch = TorchGenerator(seed)
        projections = Projections(*(torch.linear(3, 2).T for _ in range(3)))
        raw = gain * scores(*project(EMBEDDINGS, projections)[:2])
        for divisor in (1.0, math.sqrt(2)):
            for weights in (
                mask_before_softmax(raw, causal_mask(6), divisor=divisor, fill=fill),
                mask_after_softmax(raw, causal_mask(6), divisor=divisor),
            ):
                assert np.isfinite(weights).all()

    @pytest.mark.parametrize("p", [0.0, 0.05, 0.9, 1.0])
    @pytest.mark.parametrize("rescale", [True, False])
    def test_dropout(self, p, rescale):
        keep = TorchGenerator(0).dropout_keep((6, 6), p)
        context, _ = attention(EMBEDDINGS, NO_MATRICES, causal=True, keep=keep, p=p)
        assert np.isfinite(context).all()
        assert np.isfinite(row_sum_std(TestDropout.WEIGHTS, p, rescale=rescale)).all()
        assert np.isfinite(inverted_dropout(TestDropout.WEIGHTS, keep, p, rescale=rescale)).all()

    @pytest.mark.parametrize("n", [1, 64, 1_048_576])
    @pytest.mark.parametrize("d", [64, 12_288])
    def test_cost(self, n, d):
        cost = AttentionCost(n, d, d, 128, 4)
        assert 0 <= cost.masked_share < 0.5
        assert 0 < cost.quadratic_share < 1
        assert math.isfinite(seconds_per_token(n))

    def test_products_too_large_are_refused(self):
        huge = np.full((2, 3), 1e200)
        for name, call in [
            ("x, projections", lambda: project(huge, Projections(*[huge.T * 1.0] * 3))),
            ("q, k", lambda: scores(huge, huge)),
            ("points", lambda: mean_pairwise_distance([[1e200], [-1e200]])),
            ("matrix", lambda: asymmetry([[0.0, 1.7e308], [-1.7e308, 0.0]])),
        ]:
            with pytest.raises(ValueError, match=rf"^{name}: expected numbers small enough"):
                call()


class TestSampling:
    @pytest.mark.parametrize("exact", [False, True])
    @pytest.mark.parametrize("d_k", [1, 2, 64, 4096])
    def test_slices_join_up(self, d_k, exact):
        at_once, sliced = np.random.default_rng(7), np.random.default_rng(7)
        whole = sample_scores(at_once, d_k, 6, 40, exact=exact)
        parts = [sample_scores(sliced, d_k, 6, draws, exact=exact) for draws in (10, 10, 10, 10)]
        np.testing.assert_array_equal(whole, np.concatenate(parts))
        np.testing.assert_array_equal(at_once.random(3), sliced.random(3))

    def test_uneven_slices_join_up(self):
        sliced = np.random.default_rng(7)
        parts = [sample_scores(sliced, 64, 6, draws) for draws in (1, 2, 397)]
        np.testing.assert_array_equal(sample_scores(np.random.default_rng(7), 64, 6, 400), np.concatenate(parts))

    def test_real_dot_products_in_several_chunks(self):
        # 20 draws of 17 vectors are more numbers than one chunk holds at this width.
        width, n_keys, draws = 4096, 16, 20
        vectors = np.random.default_rng(3).standard_normal((draws, 1 + n_keys, width))
        by_hand = (vectors[:, :1] * vectors[:, 1:]).sum(axis=-1)
        chunked = sample_scores(np.random.default_rng(3), width, n_keys, draws, exact=True)
        np.testing.assert_allclose(chunked, by_hand, rtol=0, atol=1e-10)

    @pytest.mark.parametrize("rng", [1, None, np.random.RandomState(1), TorchGenerator(1), np.random])
    def test_other_sources_are_refused(self, rng):
        with pytest.raises(ValueError, match=r"^rng: expected a numpy.random.Generator"):
            sample_scores(rng, 2, 6, 10)

    def test_signs_are_even(self):
        draws = 10_000
        positive = (sample_scores(np.random.default_rng(0), 2, 1, draws) > 0).mean()
        assert abs(positive - 0.5) < 4 * 0.5 / math.sqrt(draws)

    def test_keys_of_a_draw_are_uncorrelated_but_share_their_query(self):
        draws = 40_000
        pairs = sample_scores(np.random.default_rng(0), 2, 2, draws)
        bound = 4 / math.sqrt(draws)
        # Of |q|² the mean is 2 and the variance 4, so E[s1² s2²] = 8 and sd(s1 s2) = √8.
        assert abs((pairs[:, 0] * pairs[:, 1]).mean()) < math.sqrt(8) * bound
        product = np.square(pairs).prod(axis=1)
        assert abs(product.mean() - 8) < product.std() * bound


def test_results_are_new_and_inputs_untouched():
    x = np.array([[0.5, 0.25], [0.125, 0.125]])
    keep, before = np.ones((2, 2), dtype=bool), x.copy()
    for result in (
        softmax(x),
        largest_jacobian_entry(x),
        inverted_dropout(x, keep, 0.0),
        mask_before_softmax(x, keep),
        mask_after_softmax(x, keep),
        softmax_jacobian([0.5, 0.5]),
    ):
        assert result.flags.writeable
        assert not np.shares_memory(result, x)
        result[...] = 9.0
    np.testing.assert_array_equal(x, before)


def test_the_books_embeddings_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        EMBEDDINGS[0, 0] = 1.0
    assert EMBEDDINGS.shape == (6, 3)
    assert section_3_4().query is not section_3_4().query
