"""The forward pass: scaled dot-product attention with one head or many."""

import math

import numpy as np
from numpy.typing import ArrayLike

from attention_core import _checks as check
from attention_core._arrays import Floats, row_products
from attention_core.dropout import inverted_dropout
from attention_core.masking import causal_mask, mask_before_softmax
from attention_core.projections import Projections, project, scores


def attention(
    x: ArrayLike,
    projections: Projections,
    num_heads: int = 1,
    *,
    causal: bool = False,
    keep: ArrayLike | None = None,
    p: float = 0.0,
) -> tuple[Floats, Floats]:
    """Let every token gather from the values of the tokens it may see, by how well their keys answer its query.

    From the embeddings `x` (..., n, d_in) and the `projections` of all `num_heads` heads, side by side in
    their columns, it makes the context (..., n, d_out), before any output projection, and the weights
    (..., H, n, n) that were applied. If `causal`, tokens see only themselves and what came before. `keep`,
    bool, broadcast to the weights, True = kept, is a dropout mask drawn with probability `p` of dropping.

    Vaswani et al. 2017, sections 3.2.1 and 3.2.2; Raschka 2024, sections 3.4 to 3.6.

    >>> context, weights = attention(np.eye(2), Projections(np.eye(2), np.eye(2), np.eye(2)), causal=True)
    >>> weights.round(2).tolist()
    [[[1.0, 0.0], [0.33, 0.67]]]
    """
    q, k, v = (split_heads(part, num_heads) for part in project(x, projections))
    n, head_dim = q.shape[-2:]
    visible = causal_mask(n) if check.flag("causal", causal) else np.ones((n, n), dtype=bool)
    # The divisor is of one head's width: the full width would divide GPT-2's scores by 27.7 instead of 8.
    weights = mask_before_softmax(scores(q, k), visible, divisor=math.sqrt(head_dim))
    weights = _with_dropout(weights, keep, p)
    # Averaging the values is a product too: rows of weights with columns of values.
    context = check.no_overflow("x, projections", row_products(weights, np.swapaxes(v, -1, -2)))
    return merge_heads(context), weights


def split_heads(x: ArrayLike, num_heads: int) -> Floats:
    """Cut the columns of `x` (..., n, d_out) into `num_heads` equal stripes: (..., H, n, head_dim).

    Nothing moves: float64 input is returned as a view. Raschka 2024, section 3.6.2: view, transpose(1, 2).

    >>> split_heads([[1, 2, 3, 4]], 2).tolist()
    [[[1.0, 2.0]], [[3.0, 4.0]]]
    """
    columns = check.floats("x", x, ndim=2)
    *batch, n, d_out = columns.shape
    head_dim = width_of_head(num_heads, d_out)
    return np.swapaxes(columns.reshape(*batch, n, d_out // head_dim, head_dim), -3, -2)


def merge_heads(x: ArrayLike) -> Floats:
    """Put the heads of `x` (..., H, n, head_dim) side by side again: (..., n, d_out), undoing `split_heads`.

    >>> merge_heads([[[1, 2]], [[3, 4]]]).tolist()
    [[1.0, 2.0, 3.0, 4.0]]
    """
    stripes = check.floats("x", x, ndim=3)
    *batch, num_heads, n, head_dim = stripes.shape
    return np.swapaxes(stripes, -3, -2).reshape(*batch, n, num_heads * head_dim)


def width_of_head(num_heads: int, d_out: int) -> int:
    """Share a width evenly among the heads, head_dim = d_out / H."""
    heads = check.count("num_heads", num_heads)
    if d_out % heads:
        leaves = f"{heads} ({d_out} / {heads} leaves {d_out % heads})"
        raise check.refusal("num_heads", f"a divisor of the width {d_out}", leaves)
    return d_out // heads


def _with_dropout(weights: Floats, keep: ArrayLike | None, p: float) -> Floats:
    if keep is None:
        if check.probability("p", p) > 0.0:
            raise check.refusal("p", "0 as long as no keep mask is given", check.described(p))
        return weights
    return inverted_dropout(weights, check.mask("keep", keep, "True = kept", shape=weights.shape), p)
