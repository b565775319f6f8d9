"""Query, key and value: three views of the same tokens, and the scores between them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attention_core._checks import Floats, as_floats, refusal, without_overflow
from attention_core._products import row_products


class Projections(NamedTuple):
    """The three weight matrices of one attention layer.

    Attributes
    ----------
    query, key : ndarray of float64, shape (d_in, d_k)
        Their width d_k is the one under the root.
    value : ndarray of float64, shape (d_in, d_out)
        In the chapter d_out = d_k.

    Examples
    --------
    >>> Projections(np.eye(3, 2), np.eye(3, 2), np.eye(3, 2)).query.shape
    (3, 2)
    """

    query: Floats
    key: Floats
    value: Floats


def project(x: ArrayLike, projections: Projections) -> tuple[Floats, Floats, Floats]:
    """Look at each token in three ways: Q = X W_q, K = X W_k, V = X W_v.

    Parameters
    ----------
    x : array_like of real, shape (..., n, d_in)
        The tokens' embeddings.
    projections : Projections
        The weight matrices.

    Returns
    -------
    q, k : ndarray of float64, shape (..., n, d_k)
        What each token looks for, and what it offers to be found by.
    v : ndarray of float64, shape (..., n, d_out)
        What each token passes on.

    Raises
    ------
    ValueError
        If an array is not finite numbers or the widths do not fit each other.

    Notes
    -----
    Vaswani et al. 2017, section 3.2.

    Examples
    --------
    >>> q, k, v = project([[1.0, 2.0]], Projections(np.eye(2), 2 * np.eye(2), np.eye(2, 1)))
    >>> k
    array([[2., 4.]])
    """
    tokens = as_floats("x", x, ndim=2)
    query, key, value = (
        without_overflow("x, projections", row_products(tokens, np.swapaxes(matrix, 0, 1)))
        for matrix in _as_matrices(projections, d_in=tokens.shape[-1])
    )
    return query, key, value


def scores(q: ArrayLike, k: ArrayLike) -> Floats:
    """Compare every query with every key: the raw scores Q Kᵀ, not yet divided by anything.

    If `q` and `k` hold the same numbers the result is symmetric to the last bit.

    Parameters
    ----------
    q : array_like of real, shape (..., n, d_k)
        Queries.
    k : array_like of real, shape (..., m, d_k)
        Keys.

    Returns
    -------
    ndarray of float64, shape (..., n, m)
        Cell (i, j) is query i times key j.

    Raises
    ------
    ValueError
        If an array is not finite numbers or the shapes do not fit each other.

    Notes
    -----
    Vaswani et al. 2017, section 3.2.1, before the division.

    Examples
    --------
    >>> scores([[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]])
    array([[11., 17.]])
    """
    queries, keys = as_floats("q", q, ndim=2), as_floats("k", k, ndim=2)
    if queries.shape[-1] != keys.shape[-1]:
        raise refusal("k", f"the width of q, d_k = {queries.shape[-1]}", f"shape {keys.shape}")
    try:
        np.broadcast_shapes(queries.shape[:-2], keys.shape[:-2])
    except ValueError:
        raise refusal("k", f"leading axes that fit q's {queries.shape[:-2]}", f"shape {keys.shape}") from None
    return without_overflow("q, k", row_products(queries, keys))


def asymmetry(matrix: ArrayLike) -> float:
    """Measure how far a square matrix is from symmetric: the largest |M_ij - M_ji|.

    Parameters
    ----------
    matrix : array_like of real, shape (n, n)
        Scores or weights.

    Returns
    -------
    float
        In the unit of the entries; 0 for a symmetric matrix.

    Raises
    ------
    ValueError
        If the matrix is not square, is empty or holds something other than finite numbers.

    Examples
    --------
    >>> asymmetry([[0.5, 0.5], [0.25, 0.75]])
    0.25
    """
    cells = as_floats("matrix", matrix, ndim=2)
    if cells.ndim != 2 or cells.shape[0] != cells.shape[1] or cells.size == 0:
        raise refusal("matrix", "a square matrix with at least one cell", f"shape {cells.shape}")
    with np.errstate(over="ignore"):
        difference = without_overflow("matrix", cells - cells.T)
    return float(np.abs(difference).max())


def mean_pairwise_distance(points: ArrayLike) -> float:
    """Average the Euclidean distance over all unordered pairs of different rows.

    Parameters
    ----------
    points : array_like of real, shape (n, d)
        At least two rows.

    Returns
    -------
    float
        In the unit of the entries.

    Raises
    ------
    ValueError
        If there are fewer than two rows, or something other than finite numbers.

    Examples
    --------
    >>> mean_pairwise_distance([[0.0, 0.0], [3.0, 4.0]])
    5.0
    """
    rows = as_floats("points", points, ndim=2)
    if rows.ndim != 2 or rows.shape[0] < 2:
        raise refusal("points", "a matrix with at least two rows", f"shape {rows.shape}")
    first, second = np.triu_indices(rows.shape[0], k=1)
    with np.errstate(over="ignore"):
        squares = np.square(rows[first] - rows[second]).sum(axis=-1)
        mean = np.sqrt(squares).mean()
    return float(without_overflow("points", mean))


def _as_matrices(projections: Projections, d_in: int) -> tuple[Floats, Floats, Floats]:
    if not isinstance(projections, tuple) or len(projections) != 3:
        raise refusal("projections", "the three matrices query, key, value", type(projections).__name__)
    query, key, value = (
        as_floats(f"projections.{name}", matrix, ndim=2)
        for name, matrix in zip(Projections._fields, projections, strict=True)
    )
    for name, matrix in zip(Projections._fields, (query, key, value), strict=True):
        if matrix.ndim != 2 or matrix.shape[0] != d_in:
            raise refusal(
                f"projections.{name}", f"shape (d_in, d_out) with d_in = {d_in}, the width of x", matrix.shape
            )
    if query.shape != key.shape:
        raise refusal("projections.key", f"the shape of query, {query.shape}", key.shape)
    return query, key, value
