"""Dropout on attention weights: what one draw does, and what holds only on average."""

import numpy as np
from numpy.typing import ArrayLike

from attention_core._checks import (
    Floats,
    as_flag,
    as_floats,
    as_mask,
    as_probability,
    refusal,
    without_overflow,
)


def inverted_dropout(weights: ArrayLike, keep: ArrayLike, p: float, *, rescale: bool = True) -> Floats:
    """Zero the dropped weights and divide the kept ones by the keep rate 1 - p.

    The division makes the expected result equal to `weights`, entry by entry.

    Parameters
    ----------
    weights : array_like of real, shape (...)
        Attention weights.
    keep : array_like of bool, broadcastable with `weights`
        True = kept. Extra leading axes are many draws at once.
    p : float
        Probability that a weight is dropped, 0 to 1; the probability `keep` was drawn with.
    rescale : bool, optional
        Whether to divide by 1 - p.

    Returns
    -------
    ndarray of float64, the broadcast shape
        All zeros for p = 1, where there is nothing to divide.

    Raises
    ------
    ValueError
        If `weights` has NaN or infinities, `keep` is not bool or does not fit, or `p` is out of range.

    Notes
    -----
    Srivastava et al. 2014, section 10, scale at training time instead of at test time.

    Examples
    --------
    >>> inverted_dropout([0.25, 0.75], [True, False], 0.5)
    array([0.5, 0. ])
    """
    values = as_floats("weights", weights, ndim=0)
    kept = as_mask("keep", keep, "True = kept")
    drop, scaled = as_probability("p", p), as_flag("rescale", rescale)
    try:
        shape = np.broadcast_shapes(values.shape, kept.shape)
    except ValueError:
        raise refusal("keep", f"a shape that fits the weights' {values.shape}", f"shape {kept.shape}") from None
    if drop == 1.0:
        return np.zeros(shape)
    with np.errstate(over="ignore"):
        survivors = values / (1.0 - drop) if scaled else values
    return without_overflow("weights", np.where(kept, survivors, 0.0))


def row_sum_std(weights: ArrayLike, p: float, *, rescale: bool = True) -> Floats:
    """Give the standard deviation of a row's sum over the draws of dropout.

    Each kept-or-dropped is an independent coin, so the variances p (1 - p) α² add up; rescaling divides
    the sum by 1 - p.

    Parameters
    ----------
    weights : array_like of real, shape (..., n)
        Attention weights α before dropout.
    p : float
        Probability that a weight is dropped, 0 to 1.
    rescale : bool, optional
        Whether the kept weights are divided by 1 - p.

    Returns
    -------
    ndarray of float64, shape (...)
        In the unit of the weights; 0 for p = 1, where every draw gives zeros.

    Raises
    ------
    ValueError
        If `weights` has NaN or infinities, or `p` is out of range.

    Examples
    --------
    >>> row_sum_std([[1.0, 0.0], [0.5, 0.5]], 0.5).round(4).tolist()
    [1.0, 0.7071]
    """
    values = as_floats("weights", weights, ndim=1)
    drop, scaled = as_probability("p", p), as_flag("rescale", rescale)
    if drop == 1.0:
        return np.zeros(values.shape[:-1])
    variance_of_one = drop / (1.0 - drop) if scaled else drop * (1.0 - drop)
    with np.errstate(over="ignore"):
        variance = np.asarray(variance_of_one * np.square(values).sum(axis=-1))
    return np.sqrt(without_overflow("weights", variance))


def dead_row_probability(weights: ArrayLike, p: float) -> Floats:
    """Give the probability that dropout leaves nothing of a row: p to the number of its live weights.

    Parameters
    ----------
    weights : array_like of real, shape (..., n)
        Attention weights; those equal to 0 are dead already.
    p : float
        Probability that a weight is dropped, 0 to 1.

    Returns
    -------
    ndarray of float64, shape (...)
        1 for a row without live weights.

    Raises
    ------
    ValueError
        If `weights` has NaN or infinities, or `p` is out of range.

    Examples
    --------
    >>> dead_row_probability([[1.0, 0.0], [0.5, 0.5]], 0.5).tolist()
    [0.5, 0.25]
    """
    values = as_floats("weights", weights, ndim=1)
    live = np.count_nonzero(values, axis=-1)
    return np.asarray(as_probability("p", p) ** np.asarray(live, dtype=np.float64))
