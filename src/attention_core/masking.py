"""Hide the future in two ways that agree: before the softmax and after it.

A mask is always called `visible` and True means *may be seen*; two well-known libraries disagree here.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from attention_core import _checks as check
from attention_core._arrays import Bools, Floats
from attention_core._softmax import softmax


def causal_mask(n_queries: int, n_keys: int | None = None, *, align: str | None = None) -> Bools:
    """Let each token see itself and what came before it: bool (n_queries, n_keys), True = may be seen.

    `n_keys` is `n_queries` if left out. If they differ, `align` says which ends coincide: 'start' lets query 1
    see key 1 only; 'end' lets the last query see all keys, as with a key-value cache, and the first ones
    nothing if there are more queries than keys. Vaswani et al. 2017, section 3.2.3.

    >>> causal_mask(2, 4, align="end").astype(int)
    array([[1, 1, 1, 0],
           [1, 1, 1, 1]])
    """
    queries = check.count("n_queries", n_queries)
    keys = queries if n_keys is None else check.count("n_keys", n_keys)
    if align is None and keys != queries:
        raise check.refusal("align", f"'start' or 'end', as {queries} queries meet {keys} keys", "None")
    at_end = align is not None and check.choice("align", align, ("start", "end")) == "end"
    return np.tri(queries, keys, k=keys - queries if at_end else 0, dtype=bool)


def mask_before_softmax(
    scores: ArrayLike, visible: ArrayLike, *, divisor: float = 1.0, fill: float = -np.inf
) -> Floats:
    """Fill hidden scores, then divide, then take the softmax: one normalisation does all.

    Raw `scores` (..., n, m), a mask `visible` that broadcasts to them and a `divisor`, sqrt(d_k) or 1, give
    weights (..., n, m). Only a `fill` of -inf hides with certainty: a score of 0 is an ordinary score. A row
    that sees nothing is then all zeros. Raschka 2024, section 3.5.1, the second and shorter way.

    >>> mask_before_softmax([[0.0, 9.0], [0.0, 0.0]], causal_mask(2))
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    values, seen = _as_scores_and_mask(scores, visible)
    filler = check.real("fill", fill, "a finite number or -inf", lambda number: number < math.inf)
    return softmax(_divided(np.where(seen, values, filler), divisor))


def mask_after_softmax(scores: ArrayLike, visible: ArrayLike, *, divisor: float = 1.0) -> Floats:
    """Divide and take the softmax of all scores, then zero what is hidden and normalise again.

    The denominator over the full row cancels, so `scores` (..., n, m), `visible` and `divisor` give the weights
    of `mask_before_softmax`, up to rounding. But a hidden score may be so large that the visible weights
    underflow to 0, and then the row is all zeros. Raschka 2024, section 3.5.1, the first way.

    >>> mask_after_softmax([[0.0, 9.0], [0.0, 0.0]], causal_mask(2))
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    values, seen = _as_scores_and_mask(scores, visible)
    kept = np.where(seen, softmax(_divided(values, divisor)), 0.0)
    total = kept.sum(axis=-1, keepdims=True)
    return kept / np.where(total > 0.0, total, 1.0)


def _as_scores_and_mask(scores: ArrayLike, visible: ArrayLike) -> tuple[Floats, Bools]:
    values = check.floats("scores", scores, ndim=1, minus_inf=True)
    return values, check.mask("visible", visible, "True = may be seen", shape=values.shape)


def _divided(scores: Floats, divisor: float) -> Floats:
    by = check.positive("divisor", divisor)
    peak = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    # A divisor below 1 may push a row's largest score beyond float64. A shift changes no weight, so there,
    # and only there, the largest score is moved to 0 first; what then overflows is -inf and weighs nothing.
    with np.errstate(over="ignore"):
        beyond = np.isfinite(peak) & np.isinf(peak / by)
        return (scores - np.where(beyond, peak, 0.0)) / by
