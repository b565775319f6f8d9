"""Hide the future in two ways that agree: before the softmax and after it.

A mask is always called `visible` and True means *may be seen*; two well-known libraries disagree here.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from attention_core._checks import (
    Bools,
    Floats,
    as_choice,
    as_count,
    as_floats,
    as_mask,
    as_positive,
    as_real,
    described,
    refusal,
    spread_to,
)
from attention_core.softmax import softmax


def causal_mask(n_queries: int, n_keys: int | None = None, *, align: str | None = None) -> Bools:
    """Let each token see itself and what came before it.

    Parameters
    ----------
    n_queries : int
        Tokens that look.
    n_keys : int, optional
        Tokens that are looked at; as many as queries if left out.
    align : {'start', 'end'}, optional
        Which ends of the two sequences coincide. Needed if the numbers differ: 'start' lets query 1 see
        key 1 only; 'end' lets the last query see all keys, as with a key-value cache.

    Returns
    -------
    ndarray of bool, shape (n_queries, n_keys)
        True = may be seen. With more queries than keys and 'end', the first rows see nothing.

    Raises
    ------
    ValueError
        If a number is not a positive integer, or the numbers differ and `align` is missing.

    Notes
    -----
    Vaswani et al. 2017, section 3.2.3.

    Examples
    --------
    >>> causal_mask(2, 4, align="end").astype(int)
    array([[1, 1, 1, 0],
           [1, 1, 1, 1]])
    """
    queries = as_count("n_queries", n_queries)
    keys = queries if n_keys is None else as_count("n_keys", n_keys)
    if align is None and keys != queries:
        raise refusal("align", f"'start' or 'end', as {queries} queries meet {keys} keys", "None")
    at_end = align is not None and as_choice("align", align, ("start", "end")) == "end"
    return np.tri(queries, keys, k=keys - queries if at_end else 0, dtype=bool)


def mask_before_softmax(
    scores: ArrayLike, visible: ArrayLike, *, divisor: float = 1.0, fill: float = -np.inf
) -> Floats:
    """Fill hidden scores, then divide, then take the softmax: one normalisation does all.

    Parameters
    ----------
    scores : array_like of real, shape (..., n, m)
        Raw scores Q Kᵀ.
    visible : array_like of bool, broadcastable to `scores`
        True = may be seen.
    divisor : float, optional
        sqrt(d_k), or 1 for no scaling.
    fill : float, optional
        What a hidden score is replaced by before the division. Only -inf hides with certainty: a score
        of 0 is an ordinary score and gets an ordinary weight.

    Returns
    -------
    ndarray of float64, shape (..., n, m)
        Weights. With -inf, a row that sees nothing is all zeros.

    Raises
    ------
    ValueError
        If `visible` is not bool or does not fit, `scores` has NaN or +inf, `divisor` is not positive, or
        `fill` is NaN or +inf.

    Notes
    -----
    Raschka 2024, section 3.5.1, the second and shorter way.

    Examples
    --------
    >>> mask_before_softmax([[0.0, 9.0], [0.0, 0.0]], causal_mask(2))
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    values, seen = _as_scores_and_mask(scores, visible)
    expected = "a finite number or -inf"
    filler = as_real("fill", fill, expected)
    if filler == math.inf:
        raise refusal("fill", expected, described(fill))
    return softmax(_divided(np.where(seen, values, filler), divisor))


def mask_after_softmax(scores: ArrayLike, visible: ArrayLike, *, divisor: float = 1.0) -> Floats:
    """Divide and take the softmax of all scores, then zero what is hidden and normalise again.

    The denominator over the full row cancels, so this agrees with `mask_before_softmax` up to rounding.

    Parameters
    ----------
    scores : array_like of real, shape (..., n, m)
        Raw scores Q Kᵀ.
    visible : array_like of bool, broadcastable to `scores`
        True = may be seen.
    divisor : float, optional
        sqrt(d_k), or 1 for no scaling.

    Returns
    -------
    ndarray of float64, shape (..., n, m)
        Weights. A row is all zeros if the visible weights sum to 0: because nothing is visible, or because
        a hidden score is so large that they underflow, which is where this way breaks down.

    Raises
    ------
    ValueError
        If `visible` is not bool or does not fit, `scores` has NaN or +inf, or `divisor` is not positive.

    Notes
    -----
    Raschka 2024, section 3.5.1, the first way.

    Examples
    --------
    >>> mask_after_softmax([[0.0, 9.0], [0.0, 0.0]], causal_mask(2))
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    values, seen = _as_scores_and_mask(scores, visible)
    kept = np.where(seen, softmax(_divided(values, divisor)), 0.0)
    total = kept.sum(axis=-1, keepdims=True)
    return kept / np.where(total > 0.0, total, 1.0)


def _as_scores_and_mask(scores: ArrayLike, visible: ArrayLike) -> tuple[Floats, Bools]:
    values = as_floats("scores", scores, ndim=1, minus_inf=True)
    seen = as_mask("visible", visible, "True = may be seen")
    return values, spread_to("visible", seen, values.shape)


def _divided(scores: Floats, divisor: float) -> Floats:
    by = as_positive("divisor", divisor)
    peak = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    # A divisor below 1 may push a row's largest score beyond float64. A shift changes no weight, so there,
    # and only there, the largest score is moved to 0 first; what then overflows is -inf and weighs nothing.
    with np.errstate(over="ignore"):
        beyond = np.isfinite(peak) & np.isinf(peak / by)
        return (scores - np.where(beyond, peak, 0.0)) / by
