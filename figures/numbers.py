"""Every number of the article, computed by the core. The article names them: ``{{ numbers.SECTION.NAME }}``.

One function for each section of the article. What cannot be computed, because somebody published it or
because it is an assumption, stands at the top, with its origin.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from attention_core import (
    EMBEDDINGS,
    TOKENS,
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
)
from figures.shared.readouts import plain

# Readings of the run that the figures re-create; another draw of the same laws.
PUBLISHED_SD = {64: 7.890, 4096: 63.5}
PUBLISHED_DEAD_SHARE = 0.495

GPT2 = {"d_in": 768, "d_out": 768, "num_heads": 12}
GPT3_HEADS = GPT3_LAYERS = 96  # Brown et al. 2020, table 2.1
WINDOW = 1_047_576  # GPT-4.1's context window
GIB, GB = 2**30, 10**9
BASE_SECONDS = 0.1  # assumed for one token at "1k" of context

JOURNEY, STARTS = TOKENS.index("journey"), TOKENS.index("starts")
ROOT_2 = math.sqrt(2)  # √d_k of the worked example

KEYS, DRAWS, SEED = 6, 400, 1  # figure 2 as it opens
POPULATION, SLICE = 200_000, 2_000  # draws that stand for the law itself
LIVE = 2.5e-4  # a thousandth of the largest entry a Jacobian of softmax can have

P = 0.5  # the chapter's drop rate
MANY_DRAWS = 20_000


def values() -> dict[str, dict[str, Any]]:
    """Return the numbers by section and name, in Python's own types."""
    sections = {
        "introduction": introduction(),
        "asymmetry": three_matrices(),
        "scaling": divisor(),
        "masking": mask(),
        "dropout": dropout(),
        "heads": heads(),
        "cost": cost(),
        "missing": missing(),
    }
    return {section: {name: plain(value) for name, value in named.items()} for section, named in sections.items()}


def introduction() -> dict[str, Any]:
    """Attention without parameters and without a divisor: softmax(X Xᵀ) X."""
    x = np.asarray(EMBEDDINGS)
    omega = scores(x, x)
    z = softmax(omega) @ x
    before, after = mean_pairwise_distance(x), mean_pairwise_distance(z)
    distances = np.linalg.norm(z[:, None] - x, axis=-1)
    cosines = z @ x.T / np.linalg.norm(x, axis=1)  # each row up to a factor, which changes no order
    return {
        "tokens": list(TOKENS),
        "embeddings": x,
        "cells": omega.size,
        "distinct_cells": len(np.unique(omega)),
        "score_journey_starts": omega[JOURNEY, STARTS],
        "context_journey": z[JOURNEY],
        "spread_inputs": before,
        "spread_outputs": after,
        "spread_ratio": after / before,
        "nearest": [TOKENS[i] for i in distances.argmin(axis=1)],
        "nearest_by_cosine": [TOKENS[i] for i in cosines.argmax(axis=1)],
    }


def three_matrices() -> dict[str, Any]:
    """How symmetric scores and weights are, with one divisor, √2, in all modes."""
    x, book = np.asarray(EMBEDDINGS), section_3_4()
    omega = scores(x, x)
    weights = softmax(omega / ROOT_2)
    row, column = np.unravel_index(np.abs(weights - weights.T).argmax(), weights.shape)
    tied, separate = _scores(book._replace(key=book.query)), _scores(book)
    return {
        "score_error_none": asymmetry(omega),
        "weight_error_none": asymmetry(weights),
        "weight_error_none_at": f"{TOKENS[row]}/{TOKENS[column]}",
        "weight_error_undivided": asymmetry(softmax(omega)),
        "weight_journey_starts": weights[JOURNEY, STARTS],
        "weight_starts_journey": weights[STARTS, JOURNEY],
        "row_sums": omega.sum(axis=1),
        "denominators": np.exp(omega / ROOT_2).sum(axis=1),
        "score_error_tied": asymmetry(tied),
        "weight_error_tied": asymmetry(softmax(tied / ROOT_2)),
        "score_error_separate": asymmetry(separate),
        "weight_error_separate": asymmetry(softmax(separate / ROOT_2)),
        "score_error_double": asymmetry(_scores(book._replace(key=2 * book.query))),
        "weight_error_orthonormal": asymmetry(softmax(scores(np.eye(6), np.eye(6)) / ROOT_2)),
    }


def divisor() -> dict[str, Any]:
    """What the width does to the scores and to the gradient of their softmax, without a divisor unless named."""
    named: dict[str, Any] = {}
    for d_k in (64, 4096):
        low, high = _sd_band(d_k)
        named |= {
            f"sd_{d_k}": sample_scores(np.random.default_rng(SEED), d_k, KEYS, DRAWS).std(),
            f"sd_{d_k}_theory": math.sqrt(d_k),
            f"sd_{d_k}_low": low,
            f"sd_{d_k}_high": high,
            f"sd_{d_k}_published": PUBLISHED_SD[d_k],
        }
    for d_k in (1, 2, 4, 64, 768, 4096):
        entries, entries_scaled = _jacobian_entries(d_k)
        named |= {
            f"median_{d_k}": np.median(entries),
            f"mean_{d_k}": entries.mean(),
            f"median_scaled_{d_k}": np.median(entries_scaled),
        }
        if d_k == 768:
            named["live_share_768"] = (entries > LIVE).mean()
    return named | {
        "draws": POPULATION,
        "mean_coefficient": _expected_largest_normal(KEYS) / 2,
        "largest_possible": softmax_jacobian(softmax([0.0, 0.0])).max(),
        "live_threshold": LIVE,
        "entry_of_0_40": float(largest_jacobian_entry([0.0, 40.0])),
    }


def mask() -> dict[str, Any]:
    """Two ways to hide the future, on the weights of section 3.5."""
    omega, visible = _scores(section_3_5()), causal_mask(6)
    end = mask_before_softmax(omega, visible, divisor=ROOT_2)
    filled_with_zero = mask_before_softmax(omega, visible, divisor=ROOT_2, fill=0.0)
    return {
        "first_weight": softmax(omega / ROOT_2)[0, 0],
        "first_score": omega[0, 0],
        "row_2": end[1, :2],
        "row_3": end[2, :3],
        "difference": np.abs(mask_after_softmax(omega, visible, divisor=ROOT_2) - end).max(),
        "leak": np.where(visible, 0.0, filled_with_zero).sum(axis=1),
        "softmax_example": softmax([1, 2, 3, 0, 0]),
    }


def dropout() -> dict[str, Any]:
    """What one draw does to the causal weights, and what holds over many."""
    weights = mask_before_softmax(_scores(section_3_5()), causal_mask(6), divisor=ROOT_2)
    generator = TorchGenerator(123)
    slices = [generator.dropout_keep((SLICE, 6, 6), P) for _ in range(MANY_DRAWS // SLICE)]
    row_sums = np.concatenate([inverted_dropout(weights, keep, P).sum(axis=-1) for keep in slices])
    keep = slices[0][0]  # the run printed in the book; the others follow from its generator
    dead_probability = dead_row_probability(weights, P)
    return {
        "row_sums": row_sums[0],
        "kept": (keep & causal_mask(6)).sum(),
        "visible": causal_mask(6).sum(),
        "factor": float(inverted_dropout(1.0, True, P)),
        "factor_gpt": float(inverted_dropout(1.0, True, 0.1)),
        "dead_probability": dead_probability,
        "draws": MANY_DRAWS,
        "dead_share_first": (row_sums[:, 0] == 0).mean(),
        "dead_share_first_sd": math.sqrt(dead_probability[0] * (1 - dead_probability[0]) / MANY_DRAWS),
        "dead_share_first_published": PUBLISHED_DEAD_SHARE,
        "mean_row_sum": row_sums[:10_000].mean(),
        "mean_row_sum_draws": 10_000,
        "mean_row_sum_sd": np.sqrt(np.square(row_sum_std(weights, P)).sum() / 10_000) / len(weights),
    }


def heads() -> dict[str, Any]:
    """One matrix cut into heads, against one matrix for each head."""
    own = head_columns(0, GPT2["num_heads"], GPT2["d_out"])
    head_dim = own.stop - own.start
    split = parameter_count(**GPT2, kind="split", output_projection=True)
    split_qkv = parameter_count(**GPT2, kind="split", output_projection=False)
    return {
        "head_dim": head_dim,
        "divisor": math.sqrt(head_dim),
        "divisor_wrong": math.sqrt(GPT2["d_out"]),
        "toy_wrapper_width": shape_trace(2, 6, 3, 2, 2, "wrapper")[-1].shape[-1],
        "toy_split_width": shape_trace(2, 6, 3, 2, 2, "split")[-1].shape[-1],
        "wrapper_products": 3 * GPT2["num_heads"],
        "split_products": 3,
        "wrapper_parameters": parameter_count(768, head_dim, 12, "wrapper", output_projection=False),
        "split_parameters": split,
        "output_projection_parameters": split - split_qkv,
        "gpt3_heads": GPT3_HEADS,
        "gpt3_layers": GPT3_LAYERS,
    }


def cost() -> dict[str, Any]:
    """Bytes, cards, hours and multiply-adds of one head at two bytes a score, unless named."""
    small, large = (AttentionCost(n, 768, 768, 1) for n in (1024, WINDOW))
    everything = GPT3_LAYERS * AttentionCost(WINDOW, 12_288, 12_288, GPT3_HEADS).score_bytes
    seconds = seconds_per_token(WINDOW, base_seconds=BASE_SECONDS)
    seconds_of_1000 = seconds_per_token(WINDOW, base_seconds=BASE_SECONDS, base_n=1000)
    ratio = large.score_bytes / (80 * GIB)
    return {
        "bytes_1024": small.score_bytes,
        "quadratic_share_1024": small.quadratic_share,
        "window": WINDOW,
        "bytes_window": large.score_bytes,
        "cards_ratio": ratio,
        "cards": cards_needed(large.score_bytes, 80 * GIB),
        "cards_published": int(ratio),
        "cards_ratio_as_sold": large.score_bytes / (80 * GB),
        "cards_as_sold": cards_needed(large.score_bytes, 80 * GB),
        "base_seconds": BASE_SECONDS,
        "seconds": seconds,
        "hours": seconds / 3600,
        "hours_of_1000": seconds_of_1000 / 3600,
        "hours_published": seconds_per_token(1000 * 1024, base_seconds=BASE_SECONDS) / 3600,
        "bytes_everything": everything,
        "crossover": _crossover(output_projection=False),
        "crossover_with_output": _crossover(output_projection=True),
        "masked_share_6": AttentionCost(6, 3, 2, 1).masked_share,
        "masked_share_1024": small.masked_share,
    }


def missing() -> dict[str, Any]:
    """The rest of a block of GPT-2, and what attention does not know."""
    d, inner = 768, 4 * 768
    order = [3, 0, 1, 5, 2, 4]

    def difference(*, causal: bool) -> float:
        shuffled, _ = attention(EMBEDDINGS[order], section_3_4(), causal=causal)
        context, _ = attention(EMBEDDINGS, section_3_4(), causal=causal)
        return float(np.abs(shuffled - context[order]).max())

    return {
        "attention_parameters": parameter_count(**GPT2, kind="split", output_projection=True),
        "attention_parameters_with_bias": parameter_count(**GPT2, kind="split", output_projection=True, qkv_bias=True),
        "feed_forward_parameters": (d * inner + inner) + (inner * d + d),
        "shuffled_no_mask": difference(causal=False),
        "shuffled_causal": difference(causal=True),
    }


def _scores(projections: Projections) -> np.ndarray:
    q, k, _ = project(EMBEDDINGS, projections)
    return scores(q, k)


def _jacobian_entries(d_k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest Jacobian entry of many draws, with divisor 1 and with √d_k.

    In slices, since a site may save the memory in which its numbers were computed.
    """
    rng = np.random.default_rng(d_k)
    raw, scaled = np.empty(POPULATION), np.empty(POPULATION)
    for start in range(0, POPULATION, SLICE):
        drawn = sample_scores(rng, d_k, KEYS, SLICE)
        raw[start : start + SLICE] = largest_jacobian_entry(drawn)
        scaled[start : start + SLICE] = largest_jacobian_entry(drawn / math.sqrt(d_k))
    return raw, scaled


def _sd_band(d_k: int) -> tuple[float, float]:
    """Return where nine of ten experiments find the standard deviation of their scores.

    The scores of one draw share a query, so the draws are what is independent. The mean square of a draw
    has variance d_k² ((1 + 2 / d_k)(1 + 2 / n) - 1), and a root has half the relative error of its square.
    """
    relative = math.sqrt(((1 + 2 / d_k) * (1 + 2 / KEYS) - 1) / DRAWS) / 2
    return tuple(math.sqrt(d_k) * (1 + 1.645 * sign * relative) for sign in (-1, 1))


def _expected_largest_normal(n: int) -> float:
    """Return the mean of the largest of `n` standard normals, by Simpson's rule."""
    x = np.linspace(-9.0, 9.0, 2001)
    below = np.array([0.5 * (1 + math.erf(t / ROOT_2)) for t in x])
    density = n * below ** (n - 1) * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    coefficients = np.ones_like(x)
    coefficients[1:-1:2], coefficients[2:-1:2] = 4.0, 2.0
    return float((coefficients * x * density).sum() * (x[1] - x[0]) / 3)


def _crossover(*, output_projection: bool) -> int:
    """Return the first length at which the quadratic part of GPT-2's attention costs as much as the linear one."""
    for n in range(1, 4096):
        at = AttentionCost(n, **GPT2)
        linear = at.projection_macs + (at.output_macs if output_projection else 0)
        if at.score_macs + at.weighted_sum_macs >= linear:
            return n
    raise AssertionError("the quadratic part overtakes at one and a half or two widths")
