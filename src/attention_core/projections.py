"""Query, key and value: three views of the same tokens, and the scores between them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attention_core import _checks as check
from attention_core._arrays import Floats, row_products


class Projections(NamedTuple):
    """The weight matrices of one attention layer: `query` and `key` (d_in, d_k), `value` (d_in, d_out).

    >>> Projections(np.eye(3, 2), np.eye(3, 2), np.eye(3, 2)).query.shape
    (3, 2)
    """

    query: Floats
    key: Floats
    value: Floats


def project(x: ArrayLike, projections: Projections) -> tuple[Floats, Floats, Floats]:
    """Look at each token in three ways: Q = X W_q, K = X W_k, V = X W_v.

    `x` holds embeddings (..., n, d_in), `projections` the matrices. Q is what each token looks for, K what
    it is found by, both (..., n, d_k); V is what it passes on, (..., n, d_out). Vaswani et al. 2017, section 3.2.

    >>> q, k, v = project([[1.0, 2.0]], Projections(np.eye(2), 2 * np.eye(2), np.eye(2, 1)))
    >>> k
    array([[2., 4.]])
    """
    tokens = check.floats("x", x, ndim=2)
    query, key, value = (
        check.no_overflow("x, projections", row_products(tokens, np.swapaxes(matrix, 0, 1)))
        for matrix in _as_matrices(projections, d_in=tokens.shape[-1])
    )
    return query, key, value


def scores(q: ArrayLike, k: ArrayLike) -> Floats:
    """Compare every query with every key: the raw scores Q Kᵀ, not yet divided by anything.

    From `q` (..., n, d_k) and `k` (..., m, d_k), (..., n, m): cell (i, j) is query i times key j. Equal
    queries and keys give scores that are symmetric to the last bit. Vaswani et al. 2017, section 3.2.1.

    >>> scores([[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]])
    array([[11., 17.]])
    """
    queries, keys = check.floats("q", q, ndim=2), check.floats("k", k, ndim=2)
    if queries.shape[-1] != keys.shape[-1]:
        raise check.refusal("k", f"the width of q, d_k = {queries.shape[-1]}", f"shape {keys.shape}")
    try:
        np.broadcast_shapes(queries.shape[:-2], keys.shape[:-2])
    except ValueError:
        raise check.refusal("k", f"leading axes that fit q's {queries.shape[:-2]}", f"shape {keys.shape}") from None
    return check.no_overflow("q, k", row_products(queries, keys))


def asymmetry(matrix: ArrayLike) -> float:
    """Measure how far a square `matrix` (n, n) is from symmetric: the largest |M_ij - M_ji|, in its unit.

    >>> asymmetry([[0.5, 0.5], [0.25, 0.75]])
    0.25
    """
    cells = check.floats("matrix", matrix, ndim=2)
    if cells.ndim != 2 or cells.shape[0] != cells.shape[1] or cells.size == 0:
        raise check.refusal("matrix", "a square matrix with at least one cell", f"shape {cells.shape}")
    with np.errstate(over="ignore"):
        difference = check.no_overflow("matrix", cells - cells.T)
    return float(np.abs(difference).max())


def mean_pairwise_distance(points: ArrayLike) -> float:
    """Average the Euclidean distance over all unordered pairs of rows of `points` (n, d), in their unit.

    >>> mean_pairwise_distance([[0.0, 0.0], [3.0, 4.0]])
    5.0
    """
    rows = check.floats("points", points, ndim=2)
    if rows.ndim != 2 or rows.shape[0] < 2:
        raise check.refusal("points", "a matrix with at least two rows", f"shape {rows.shape}")
    first, second = np.triu_indices(rows.shape[0], k=1)
    with np.errstate(over="ignore"):
        squares = np.square(rows[first] - rows[second]).sum(axis=-1)
        mean = np.sqrt(squares).mean()
    return float(check.no_overflow("points", mean))


def _as_matrices(projections: Projections, d_in: int) -> list[Floats]:
    if not isinstance(projections, tuple) or len(projections) != 3:
        raise check.refusal("projections", "the three matrices query, key, value", type(projections).__name__)
    names = [f"projections.{field}" for field in Projections._fields]
    matrices = [check.floats(name, matrix, ndim=2) for name, matrix in zip(names, projections, strict=True)]
    for name, matrix in zip(names, matrices, strict=True):
        if matrix.ndim != 2 or matrix.shape[0] != d_in:
            raise check.refusal(name, f"shape (d_in, d_out) with d_in = {d_in}, the width of x", matrix.shape)
    query, key, _ = matrices
    if query.shape != key.shape:
        raise check.refusal("projections.key", f"the shape of query, {query.shape}", key.shape)
    return matrices
