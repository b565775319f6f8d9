"""Softmax, its derivative, and what happens to that derivative when the scores grow with d_k."""

import math

import numpy as np
from numpy.typing import ArrayLike

from attention_core import _checks as check
from attention_core._arrays import Floats

#: Numbers held at once while real dot products are formed: 2 MiB, whatever d_k.
_CHUNK = 2**18


def softmax(x: ArrayLike, axis: int = -1) -> Floats:
    """Turn scores `x` into weights of the same shape that are at least 0 and sum to 1 along `axis`.

    A score of -inf weighs nothing; where all are -inf, all weights are 0.

    >>> softmax([1.0, 2.0, 3.0, 0.0, 0.0]).round(4).tolist()
    [0.0844, 0.2295, 0.6239, 0.0311, 0.0311]
    """
    values = check.floats("x", x, ndim=1, minus_inf=True)
    along = check.count("axis", axis, minimum=-values.ndim, maximum=values.ndim - 1)
    exponentials = _exponentials("x", values, along)
    # Added in order of size, so that reordering the tokens changes no digit of their weights.
    total = np.sort(exponentials, axis=along).sum(axis=along, keepdims=True)
    return exponentials / np.where(total > 0.0, total, 1.0)


def softmax_jacobian(p: ArrayLike) -> Floats:
    """Differentiate softmax: entry (i, j) is how weight i answers to score j, p_i (δ_ij - p_j).

    Rows `p` (..., n) of weights sum to 1, or to 0 where all is hidden. The result (..., n, n) is symmetric,
    its rows sum to 0, and entry (i, i) does not suffer when p_i is within 1e-16 of 1.

    >>> softmax_jacobian([0.75, 0.25])
    array([[ 0.1875, -0.1875],
           [-0.1875,  0.1875]])
    """
    weights = check.floats("p", p, ndim=1)
    total = weights.sum(axis=-1)
    if (weights < 0.0).any() or not (np.isclose(total, 1.0, rtol=0, atol=1e-6) | (total == 0.0)).all():
        raise check.refusal("p", "weights of at least 0 whose rows sum to 1 (or to 0)", check.described(p))
    own = np.eye(weights.shape[-1], dtype=bool)
    jacobian: Floats = np.where(own, 0.0, -weights[..., :, None] * weights[..., None, :])
    # 1 - p_i is the weight of all others; subtracting from 1 would lose it when p_i is close to 1.
    diagonal = -jacobian.sum(axis=-1)
    return np.where(own, diagonal[..., :, None], jacobian)


def largest_jacobian_entry(scores: ArrayLike) -> Floats:
    """Return the largest entry, by size, of softmax's Jacobian for each row of `scores` (..., n), divided already.

    It is p (1 - p) for the largest weight p: no other p_i is as close to 1/2, and |p_i p_j| is at most
    p_i (1 - p_i). With r the sum of the other exponentials over the largest, this is r / (1 + r)², which
    stays accurate where 1 - p would round to 0. Shape (...), at most 1/4; 0 for a row without a rival.

    >>> float(largest_jacobian_entry([0.0, 40.0]))
    4.248354255291589e-18
    """
    values = check.floats("scores", scores, ndim=1, minus_inf=True)
    exponentials = _exponentials("scores", values, -1)
    top = np.argmax(values, axis=-1)[..., None]
    np.put_along_axis(exponentials, top, 0.0, axis=-1)
    others = exponentials.sum(axis=-1)
    largest: Floats = np.asarray(others / np.square(1.0 + others))
    return largest


def sample_scores(rng: np.random.Generator, d_k: int, n_keys: int, draws: int, *, exact: bool = False) -> Floats:
    """Draw raw scores q·k_j of a standard-normal query and `n_keys` such keys: (draws, n_keys), of variance d_k.

    Given q the scores are independent normals of standard deviation |q|, and |q|² has the χ² law with `d_k`
    degrees of freedom. Drawing from that law costs the same for every d_k; `exact` forms the dot products
    instead, the same law by other numbers. `rng` is used up draw by draw: 400 `draws` are four times 100.

    The variance is the reason for the divisor: Vaswani et al. 2017, section 3.2.1, footnote 4.

    >>> sample_scores(np.random.default_rng(1), d_k=64, n_keys=6, draws=400).shape
    (400, 6)
    """
    if not isinstance(rng, np.random.Generator):
        raise check.refusal("rng", "a numpy.random.Generator", check.described(rng))
    width, keys, count = check.count("d_k", d_k), check.count("n_keys", n_keys), check.count("draws", draws)
    draw = _dot_products if check.flag("exact", exact) else _law_of_dot_products
    return draw(rng, width, keys, count)


def _law_of_dot_products(rng: np.random.Generator, d_k: int, n_keys: int, draws: int) -> Floats:
    # Asking for all χ² numbers and then all normals would tie the result to the number of draws. NumPy
    # fills one call with varying shape parameters element by element, so a draw is one row of gammas:
    # 2·Γ(d/2) is χ²(d), and a normal is the root of a χ²(1) with a sign. Γ(1) is above ln 2 half the time.
    row = [d_k / 2] + [1 / 2] * n_keys + [1.0] * n_keys
    gammas = rng.standard_gamma(row, size=(draws, len(row)))
    query, normals, coins = np.split(gammas, [1, 1 + n_keys], axis=1)
    signs = np.where(coins > math.log(2), 1.0, -1.0)
    return signs * 2.0 * np.sqrt(query * normals)


def _dot_products(rng: np.random.Generator, d_k: int, n_keys: int, draws: int) -> Floats:
    per_chunk = max(1, _CHUNK // ((1 + n_keys) * d_k))
    chunks = []
    for start in range(0, draws, per_chunk):
        vectors = rng.standard_normal((min(per_chunk, draws - start), 1 + n_keys, d_k))
        chunks.append(np.einsum("rk,rnk->rn", vectors[:, 0], vectors[:, 1:]))
    return np.concatenate(chunks)


def _exponentials(name: str, values: Floats, axis: int) -> Floats:
    if values.shape[axis] == 0:
        raise check.refusal(name, "at least one entry along the axis", f"shape {values.shape}")
    peak = values.max(axis=axis, keepdims=True)
    # Two finite scores may lie further apart than the largest float; -inf is then the right difference.
    with np.errstate(over="ignore"):
        return np.exp(values - np.where(np.isneginf(peak), 0.0, peak))
