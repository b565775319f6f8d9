"""Softmax, its derivative, and what happens to that derivative when the scores grow with d_k."""

import math

import numpy as np
from numpy.typing import ArrayLike

from attention_core._checks import Floats, as_count, as_flag, as_floats, described, refusal

#: Numbers held at once while real dot products are formed: 2 MiB, whatever d_k.
_CHUNK = 2**18


def softmax(x: ArrayLike, axis: int = -1) -> Floats:
    """Turn scores into weights that are at least 0 and sum to 1.

    Parameters
    ----------
    x : array_like of real, shape (...)
        Scores; -inf hides an entry.
    axis : int, optional
        The axis along which the weights sum to 1.

    Returns
    -------
    ndarray of float64, the shape of `x`
        A slice of which every entry is hidden gives zeros.

    Raises
    ------
    ValueError
        If `x` has NaN or +inf, is not numeric, or has nothing along `axis`.

    Examples
    --------
    >>> softmax([1.0, 2.0, 3.0, 0.0, 0.0]).round(4).tolist()
    [0.0844, 0.2295, 0.6239, 0.0311, 0.0311]
    """
    values = as_floats("x", x, ndim=1, minus_inf=True)
    along = as_count("axis", axis, minimum=-values.ndim, maximum=values.ndim - 1)
    exponentials = _exponentials("x", values, along)
    # Added in order of size, so that reordering the tokens changes no digit of their weights.
    total = np.sort(exponentials, axis=along).sum(axis=along, keepdims=True)
    return exponentials / np.where(total > 0.0, total, 1.0)


def softmax_jacobian(p: ArrayLike) -> Floats:
    """Differentiate softmax: entry (i, j) is how weight i answers to score j, p_i (δ_ij - p_j).

    Parameters
    ----------
    p : array_like of real, shape (..., n)
        Softmax weights: each row sums to 1, or to 0 where all is hidden.

    Returns
    -------
    ndarray of float64, shape (..., n, n)
        Symmetric; every row sums to 0. Entry (i, i) does not suffer when p_i is within 1e-16 of 1.

    Raises
    ------
    ValueError
        If `p` is not rows of weights.

    Examples
    --------
    >>> softmax_jacobian([0.75, 0.25])
    array([[ 0.1875, -0.1875],
           [-0.1875,  0.1875]])
    """
    weights = as_floats("p", p, ndim=1)
    total = weights.sum(axis=-1)
    if (weights < 0.0).any() or not (np.isclose(total, 1.0, rtol=0, atol=1e-6) | (total == 0.0)).all():
        raise refusal("p", "weights of at least 0 whose rows sum to 1 (or to 0)", described(p))
    own = np.eye(weights.shape[-1], dtype=bool)
    jacobian: Floats = np.where(own, 0.0, -weights[..., :, None] * weights[..., None, :])
    # 1 - p_i is the weight of all others; subtracting from 1 would lose it when p_i is close to 1.
    diagonal = -jacobian.sum(axis=-1)
    return np.where(own, diagonal[..., :, None], jacobian)


def largest_jacobian_entry(scores: ArrayLike) -> Floats:
    """Return the largest entry, by size, of softmax's Jacobian in each row of scores.

    It is p (1 - p) for the largest weight p: no other p_i is as close to 1/2, and |p_i p_j| is at most
    p_i (1 - p_i). With r the sum of the other exponentials over the largest, this is r / (1 + r)², which
    stays accurate where 1 - p would round to 0.

    Parameters
    ----------
    scores : array_like of real, shape (..., n)
        Scores, already divided; -inf hides an entry.

    Returns
    -------
    ndarray of float64, shape (...)
        At most 1/4; 0 for a row of one visible entry or none.

    Raises
    ------
    ValueError
        If `scores` has NaN or +inf, is not numeric, or has empty rows.

    Examples
    --------
    >>> float(largest_jacobian_entry([0.0, 40.0]))
    4.248354255291589e-18
    """
    values = as_floats("scores", scores, ndim=1, minus_inf=True)
    exponentials = _exponentials("scores", values, -1)
    top = np.argmax(values, axis=-1)[..., None]
    np.put_along_axis(exponentials, top, 0.0, axis=-1)
    others = exponentials.sum(axis=-1)
    largest: Floats = np.asarray(others / np.square(1.0 + others))
    return largest


def sample_scores(rng: np.random.Generator, d_k: int, n_keys: int, draws: int, *, exact: bool = False) -> Floats:
    """Draw raw scores q·k_j of one standard-normal query and `n_keys` standard-normal keys, many times.

    Given q the scores are independent normals of standard deviation |q|, and |q|² has the χ² law with
    d_k degrees of freedom. Drawing from that law costs the same for every d_k.

    The stream of `rng` is used up draw by draw: 400 draws are the same numbers as four times 100.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness; it is advanced.
    d_k : int
        Width of query and keys.
    n_keys : int
        Keys for each query.
    draws : int
        Number of independent queries.
    exact : bool, optional
        Form the vectors and their dot products instead: the same law by other numbers, in time
        proportional to d_k.

    Returns
    -------
    ndarray of float64, shape (draws, n_keys)
        Variance d_k.

    Raises
    ------
    ValueError
        If `rng` is not a numpy.random.Generator or a number is not a positive integer.

    Notes
    -----
    The variance is the reason given for the divisor in Vaswani et al. 2017, section 3.2.1, footnote 4.

    Examples
    --------
    >>> sample_scores(np.random.default_rng(1), d_k=64, n_keys=6, draws=400).shape
    (400, 6)
    """
    if not isinstance(rng, np.random.Generator):
        raise refusal("rng", "a numpy.random.Generator", described(rng))
    width, keys, count = as_count("d_k", d_k), as_count("n_keys", n_keys), as_count("draws", draws)
    if as_flag("exact", exact):
        return _dot_products(rng, width, keys, count)
    return _law_of_dot_products(rng, width, keys, count)


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
        raise refusal(name, "at least one entry along the axis", f"shape {values.shape}")
    peak = values.max(axis=axis, keepdims=True)
    # Two finite scores may lie further apart than the largest float; -inf is then the right difference.
    with np.errstate(over="ignore"):
        return np.exp(values - np.where(np.isneginf(peak), 0.0, peak))
