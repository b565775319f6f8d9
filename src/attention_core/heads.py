"""Many heads from one matrix: the split class, and the wrapper of single heads it replaces.

Traps of the chapter: `d_out` is the width of all heads together in the split class but of each head in the
wrapper, and the divisor is the root of one head's width, read after the split.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attention_core._checks import (
    Floats,
    as_choice,
    as_count,
    as_flag,
    as_floats,
    as_mask,
    as_probability,
    described,
    refusal,
    spread_to,
    without_overflow,
)
from attention_core._products import row_products
from attention_core.dropout import inverted_dropout
from attention_core.masking import causal_mask, mask_before_softmax
from attention_core.projections import Projections, project, scores

_KINDS = ("split", "wrapper")


class Step(NamedTuple):
    """One line of a forward pass and the shape of what it makes.

    Attributes
    ----------
    code : str
        The line, as PyTorch code.
    shape : tuple of int
        Sizes of the axes.

    Examples
    --------
    >>> Step("x", (2, 6, 3)).shape
    (2, 6, 3)
    """

    code: str
    shape: tuple[int, ...]


def split_heads(x: ArrayLike, num_heads: int) -> Floats:
    """Cut the columns into equal stripes, one for each head.

    Parameters
    ----------
    x : array_like of real, shape (..., n, d_out)
        Queries, keys or values of all heads, side by side.
    num_heads : int
        H, a divisor of d_out.

    Returns
    -------
    ndarray of float64, shape (..., H, n, head_dim)
        The heads one after the other; a view of `x` if that is float64 already, since nothing moves.

    Raises
    ------
    ValueError
        If H does not divide d_out, or `x` is not finite numbers.

    Notes
    -----
    Raschka 2024, section 3.6.2: view, then transpose(1, 2).

    Examples
    --------
    >>> split_heads([[1, 2, 3, 4]], 2).tolist()
    [[[1.0, 2.0]], [[3.0, 4.0]]]
    """
    columns = as_floats("x", x, ndim=2)
    *batch, n, d_out = columns.shape
    head_dim = _head_dim(num_heads, d_out)
    return np.swapaxes(columns.reshape(*batch, n, d_out // head_dim, head_dim), -3, -2)


def merge_heads(x: ArrayLike) -> Floats:
    """Put the heads side by side again: the inverse of `split_heads`.

    Parameters
    ----------
    x : array_like of real, shape (..., H, n, head_dim)
        Context vectors of each head.

    Returns
    -------
    ndarray of float64, shape (..., n, d_out)
        With d_out = H · head_dim.

    Raises
    ------
    ValueError
        If `x` has fewer than three axes or is not finite numbers.

    Examples
    --------
    >>> merge_heads([[[1, 2]], [[3, 4]]]).tolist()
    [[1.0, 2.0, 3.0, 4.0]]
    """
    stripes = as_floats("x", x, ndim=3)
    *batch, num_heads, n, head_dim = stripes.shape
    return np.swapaxes(stripes, -3, -2).reshape(*batch, n, num_heads * head_dim)


def head_columns(head: int, num_heads: int, d_out: int) -> slice:
    """Find a head's stripe: the columns of the projection that it owns.

    Parameters
    ----------
    head : int
        Which head, counted from 0.
    num_heads : int
        H, a divisor of d_out.
    d_out : int
        Width of all heads together.

    Returns
    -------
    slice
        Columns of a (d_in, d_out) matrix, which are rows of torch's stored weight.

    Raises
    ------
    ValueError
        If there is no such head, or H does not divide d_out.

    Examples
    --------
    >>> head_columns(1, num_heads=12, d_out=768)
    slice(64, 128, None)
    """
    head_dim = _head_dim(num_heads, as_count("d_out", d_out))
    index = as_count("head", head, minimum=0, maximum=as_count("num_heads", num_heads) - 1)
    return slice(index * head_dim, (index + 1) * head_dim)


def shape_trace(b: int, n: int, d_in: int, d_out: int, num_heads: int, kind: str) -> list[Step]:
    """Follow the shapes through a forward pass, line by line, without forming any numbers.

    Parameters
    ----------
    b, n : int
        Batch size and number of tokens.
    d_in, d_out : int
        Widths as given to the class: `d_out` is that of all heads for 'split', of each for 'wrapper'.
    num_heads : int
        H; a divisor of `d_out` for 'split'.
    kind : {'split', 'wrapper'}
        One matrix cut into heads, or heads of their own put side by side. For 'wrapper' all lines but the
        last show one of the heads.

    Returns
    -------
    list of Step
        The lines in order, each with the shape of its result.

    Raises
    ------
    ValueError
        If a size is not a positive integer, `kind` is unknown, or H does not divide d_out in 'split'.

    Notes
    -----
    Raschka 2024, sections 3.6.1 (wrapper) and 3.6.2 (split).

    Examples
    --------
    >>> shape_trace(2, 6, 3, 2, 2, "wrapper")[-1].shape
    (2, 6, 4)
    """
    batch, tokens, width = as_count("b", b), as_count("n", n), as_count("d_out", d_out)
    heads = as_count("num_heads", num_heads)
    x = _Shaped((batch, tokens, as_count("d_in", d_in)))
    if as_choice("kind", kind, _KINDS) == "split":
        return _trace_split(x, width, heads, _head_dim(heads, width))
    return _trace_wrapper(x, width, heads)


def parameter_count(
    d_in: int, d_out: int, num_heads: int, kind: str, *, output_projection: bool, qkv_bias: bool = False
) -> int:
    """Count the trainable numbers of a multi-head attention layer.

    Parameters
    ----------
    d_in, d_out : int
        Widths as given to the class: `d_out` is that of all heads for 'split', of each for 'wrapper'.
    num_heads : int
        H; a divisor of `d_out` for 'split'.
    kind : {'split', 'wrapper'}
        Which class.
    output_projection : bool
        Whether a square layer with bias follows. The chapter's split class has it, its wrapper has not.
    qkv_bias : bool, optional
        Whether query, key and value have biases: off in the chapter, on in the released GPT-2.

    Returns
    -------
    int
        Number of parameters, exact.

    Raises
    ------
    ValueError
        If a size is not a positive integer, `kind` is unknown, or H does not divide d_out in 'split'.

    Examples
    --------
    >>> parameter_count(768, 768, 12, "split", output_projection=True)
    2360064
    """
    rows, width, heads = as_count("d_in", d_in), as_count("d_out", d_out), as_count("num_heads", num_heads)
    if as_choice("kind", kind, _KINDS) == "wrapper":
        width *= heads
    else:
        _head_dim(heads, width)
    qkv = 3 * width * (rows + as_flag("qkv_bias", qkv_bias))
    return qkv + (width * width + width) * as_flag("output_projection", output_projection)


def attention(
    x: ArrayLike,
    projections: Projections,
    num_heads: int = 1,
    *,
    causal: bool = False,
    keep: ArrayLike | None = None,
    p: float = 0.0,
) -> tuple[Floats, Floats]:
    """Run the whole of scaled dot-product attention, with one head or many.

    Parameters
    ----------
    x : array_like of real, shape (..., n, d_in)
        The tokens' embeddings.
    projections : Projections
        Weight matrices of all heads, side by side in the columns.
    num_heads : int, optional
        H, a divisor of the projections' widths.
    causal : bool, optional
        Whether tokens see only themselves and what came before.
    keep : array_like of bool, broadcastable to (..., H, n, n), optional
        Dropout mask of the weights, True = kept; nothing is dropped if left out.
    p : float, optional
        The probability `keep` was drawn with; only together with `keep`.

    Returns
    -------
    context : ndarray of float64, shape (..., n, d_out)
        The heads' context vectors side by side, before any output projection.
    weights : ndarray of float64, shape (..., H, n, n)
        The weights that were applied to the values, so after dropout.

    Raises
    ------
    ValueError
        If the shapes do not fit, H does not divide a width, something is not finite, `keep` is not bool, or
        `p` is given without `keep`.

    Notes
    -----
    Vaswani et al. 2017, sections 3.2.1 and 3.2.2; Raschka 2024, sections 3.4 to 3.6.

    Examples
    --------
    >>> context, weights = attention(np.eye(2), Projections(np.eye(2), np.eye(2), np.eye(2)), causal=True)
    >>> weights.round(2).tolist()
    [[[1.0, 0.0], [0.33, 0.67]]]
    """
    q, k, v = (split_heads(part, num_heads) for part in project(x, projections))
    n, head_dim = q.shape[-2:]
    visible = causal_mask(n) if as_flag("causal", causal) else np.ones((n, n), dtype=bool)
    # One head's width: the full width would divide GPT-2's scores by 27.7 instead of 8.
    weights = mask_before_softmax(scores(q, k), visible, divisor=math.sqrt(head_dim))
    weights = _with_dropout(weights, keep, p)
    # Averaging the values is a product too: rows of weights with columns of values.
    context = without_overflow("x, projections", row_products(weights, np.swapaxes(v, -1, -2)))
    return merge_heads(context), weights


def _with_dropout(weights: Floats, keep: ArrayLike | None, p: float) -> Floats:
    if keep is None:
        if as_probability("p", p) > 0.0:
            raise refusal("p", "0 as long as no keep mask is given", described(p))
        return weights
    kept = spread_to("keep", as_mask("keep", keep, "True = kept"), weights.shape)
    return inverted_dropout(weights, kept, p)


def _head_dim(num_heads: int, d_out: int) -> int:
    heads = as_count("num_heads", num_heads)
    if d_out % heads:
        raise refusal(
            "num_heads",
            f"a divisor of the width {d_out}",
            f"{heads} ({d_out} / {heads} leaves {d_out % heads})",
        )
    return d_out // heads


class _Shaped:
    """A tensor with a shape and no contents, so that a trace of any size costs nothing."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape

    def linear(self, d_out: int) -> "_Shaped":
        return _Shaped((*self.shape[:-1], d_out))

    def view(self, *shape: int) -> "_Shaped":
        if math.prod(shape) != math.prod(self.shape):
            raise refusal("shape", f"as many cells as {self.shape}", shape)
        return _Shaped(shape)

    def transpose(self, first: int, second: int) -> "_Shaped":
        axes = list(self.shape)
        axes[first], axes[second] = axes[second], axes[first]
        return _Shaped(tuple(axes))

    def __matmul__(self, other: "_Shaped") -> "_Shaped":
        if self.shape[:-2] != other.shape[:-2] or self.shape[-1] != other.shape[-2]:
            raise refusal("shape", f"one that {self.shape} can be multiplied with", other.shape)
        return _Shaped((*self.shape[:-1], other.shape[-1]))


def _trace_split(x: _Shaped, d_out: int, num_heads: int, head_dim: int) -> list[Step]:
    b, n, _ = x.shape
    projected = x.linear(d_out)
    viewed = projected.view(b, n, num_heads, head_dim)
    queries = keys = values = viewed.transpose(1, 2)
    attn_weights = queries @ keys.transpose(2, 3)
    context = attn_weights @ values
    merged = context.transpose(1, 2).view(b, n, d_out)
    return [
        Step("x", x.shape),
        Step("keys = W_key(x); queries, values alike", projected.shape),
        Step("keys.view(b, n, H, head_dim); queries, values alike", viewed.shape),
        Step("keys.transpose(1, 2); queries, values alike", keys.shape),
        Step("keys.transpose(2, 3)", keys.transpose(2, 3).shape),
        Step("attn_scores = queries @ keys.transpose(2, 3)", attn_weights.shape),
        Step("masked_fill_, softmax(. / head_dim ** 0.5), dropout", attn_weights.shape),
        Step("attn_weights @ values", context.shape),
        Step(".transpose(1, 2)", context.transpose(1, 2).shape),
        Step(".contiguous().view(b, n, d_out)", merged.shape),
        Step("out_proj", merged.linear(d_out).shape),
    ]


def _trace_wrapper(x: _Shaped, d_out: int, num_heads: int) -> list[Step]:
    queries = keys = values = x.linear(d_out)
    attn_weights = queries @ keys.transpose(1, 2)
    context = attn_weights @ values
    b, n, width = context.shape
    return [
        Step("x", x.shape),
        Step("keys = W_key(x); queries, values alike", keys.shape),
        Step("keys.transpose(1, 2)", keys.transpose(1, 2).shape),
        Step("attn_scores = queries @ keys.transpose(1, 2)", attn_weights.shape),
        Step("masked_fill_, softmax(. / d_out ** 0.5), dropout", attn_weights.shape),
        Step("attn_weights @ values", context.shape),
        Step("torch.cat([head(x) for head in heads], dim=-1)", (b, n, num_heads * width)),
    ]
