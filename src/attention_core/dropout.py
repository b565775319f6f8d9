"""Dropout on attention weights: what one draw does, and what holds only on average."""

import numpy as np
from numpy.typing import ArrayLike

from attention_core import _checks as check
from attention_core._arrays import Floats


def inverted_dropout(weights: ArrayLike, keep: ArrayLike, p: float, *, rescale: bool = True) -> Floats:
    """Zero the dropped weights and divide the kept ones by the keep rate 1 - p, so that the mean stays.

    `keep` is bool, True = kept, drawn with probability `p` of dropping; it broadcasts with `weights` (...), and
    extra leading axes are many draws at once. Without `rescale` nothing is divided; p = 1 gives zeros.

    Srivastava et al. 2014, section 10: scale at training time instead of at test time.

    >>> inverted_dropout([0.25, 0.75], [True, False], 0.5)
    array([0.5, 0. ])
    """
    values = check.floats("weights", weights, ndim=0)
    kept = check.mask("keep", keep, "True = kept")
    drop, scaled = check.probability("p", p), check.flag("rescale", rescale)
    try:
        shape = np.broadcast_shapes(values.shape, kept.shape)
    except ValueError:
        raise check.refusal("keep", f"a shape that fits the weights' {values.shape}", f"shape {kept.shape}") from None
    if drop == 1.0:
        return np.zeros(shape)
    with np.errstate(over="ignore"):
        survivors = values / (1.0 - drop) if scaled else values
    return check.no_overflow("weights", np.where(kept, survivors, 0.0))


def row_sum_std(weights: ArrayLike, p: float, *, rescale: bool = True) -> Floats:
    """Give the standard deviation, over draws, of the sum of each row of `weights` (..., n) after dropout.

    Each weight α has its own coin, so the variances `p` (1 - p) α² add up; `rescale` divides the sum by 1 - p.
    Shape (...), in the unit of the weights; 0 for p = 1, where every draw gives zeros.

    >>> row_sum_std([[1.0, 0.0], [0.5, 0.5]], 0.5).round(4).tolist()
    [1.0, 0.7071]
    """
    values = check.floats("weights", weights, ndim=1)
    drop, scaled = check.probability("p", p), check.flag("rescale", rescale)
    if drop == 1.0:
        return np.zeros(values.shape[:-1])
    variance_of_one = drop / (1.0 - drop) if scaled else drop * (1.0 - drop)
    with np.errstate(over="ignore"):
        variance = np.asarray(variance_of_one * np.square(values).sum(axis=-1))
    return np.sqrt(check.no_overflow("weights", variance))


def dead_row_probability(weights: ArrayLike, p: float) -> Floats:
    """Give the probability that dropout leaves nothing of a row of `weights` (..., n): `p` ** its live weights.

    Weights equal to 0 are dead already. Shape (...); 1 for a row without live weights.

    >>> dead_row_probability([[1.0, 0.0], [0.5, 0.5]], 0.5).tolist()
    [0.5, 0.25]
    """
    values = check.floats("weights", weights, ndim=1)
    live = np.count_nonzero(values, axis=-1)
    return np.asarray(check.probability("p", p) ** np.asarray(live, dtype=np.float64))
