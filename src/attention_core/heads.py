"""What many heads do to columns, shapes and parameters, in the split class and in the wrapper it replaces.

Trap of the chapter: `d_out` is the width of all heads together in the split class (Raschka 2024, section
3.6.2) but of each head in the wrapper of single heads (3.6.1).
"""

from typing import NamedTuple

from attention_core import _checks as check
from attention_core._attention import attention, merge_heads, split_heads, width_of_head

__all__ = ["Step", "attention", "head_columns", "merge_heads", "parameter_count", "shape_trace", "split_heads"]

_KINDS = ("split", "wrapper")


class Step(NamedTuple):
    """One line of a forward pass: its PyTorch `code`, and the `shape` of what it makes.

    >>> Step("x", (2, 6, 3)).shape
    (2, 6, 3)
    """

    code: str
    shape: tuple[int, ...]


def head_columns(head: int, num_heads: int, d_out: int) -> slice:
    """Find the stripe of a `head`, counted from 0: the columns of a (d_in, d_out) matrix that it owns.

    `num_heads` divides `d_out`. The stripe is rows of torch's stored weight.

    >>> head_columns(1, num_heads=12, d_out=768)
    slice(64, 128, None)
    """
    head_dim = width_of_head(num_heads, check.count("d_out", d_out))
    index = check.count("head", head, minimum=0, maximum=check.count("num_heads", num_heads) - 1)
    return slice(index * head_dim, (index + 1) * head_dim)


def shape_trace(b: int, n: int, d_in: int, d_out: int, num_heads: int, kind: str) -> list[Step]:
    """Follow the shapes through a forward pass, line by line, without forming any numbers.

    `b` sequences of `n` tokens, widths `d_in` and `d_out` as given to the class. `kind` is 'split', one matrix
    cut into `num_heads` heads, or 'wrapper', heads of their own: all its lines but the last show one head.

    >>> shape_trace(2, 6, 3, 2, 2, "wrapper")[-1].shape
    (2, 6, 4)
    """
    batch, tokens, width = check.count("b", b), check.count("n", n), check.count("d_out", d_out)
    heads, x = check.count("num_heads", num_heads), (batch, tokens, check.count("d_in", d_in))
    if check.choice("kind", kind, _KINDS) == "wrapper":
        return _trace_wrapper(x, width, heads)
    return _trace_split(x, heads, width_of_head(heads, width))


def parameter_count(
    d_in: int, d_out: int, num_heads: int, kind: str, *, output_projection: bool, qkv_bias: bool = False
) -> int:
    """Count the trainable numbers of a multi-head attention layer, exactly.

    `d_in`, `d_out`, `num_heads` and `kind` as in `shape_trace`. The `output_projection` is a square layer with
    bias: the chapter's split class has it, its wrapper has not. `qkv_bias` is off there, on in released GPT-2.

    >>> parameter_count(768, 768, 12, "split", output_projection=True)
    2360064
    """
    rows, width, heads = check.count("d_in", d_in), check.count("d_out", d_out), check.count("num_heads", num_heads)
    if check.choice("kind", kind, _KINDS) == "wrapper":
        width *= heads
    else:
        width_of_head(heads, width)
    qkv = 3 * width * (rows + check.flag("qkv_bias", qkv_bias))
    return qkv + (width * width + width) * check.flag("output_projection", output_projection)


def _trace_split(x: tuple[int, int, int], num_heads: int, head_dim: int) -> list[Step]:
    b, n, _ = x
    flat, striped, heads = (b, n, num_heads * head_dim), (b, n, num_heads, head_dim), (b, num_heads, n, head_dim)
    weights = (b, num_heads, n, n)
    return [
        Step("x", x),
        Step("keys = W_key(x); queries, values alike", flat),
        Step("keys.view(b, n, H, head_dim); queries, values alike", striped),
        Step("keys.transpose(1, 2); queries, values alike", heads),
        Step("keys.transpose(2, 3)", (b, num_heads, head_dim, n)),
        Step("attn_scores = queries @ keys.transpose(2, 3)", weights),
        Step("masked_fill_, softmax(. / head_dim ** 0.5), dropout", weights),
        Step("attn_weights @ values", heads),
        Step(".transpose(1, 2)", striped),
        Step(".contiguous().view(b, n, d_out)", flat),
        Step("out_proj", flat),
    ]


def _trace_wrapper(x: tuple[int, int, int], d_out: int, num_heads: int) -> list[Step]:
    b, n, _ = x
    head, weights = (b, n, d_out), (b, n, n)
    return [
        Step("x", x),
        Step("keys = W_key(x); queries, values alike", head),
        Step("keys.transpose(1, 2)", (b, d_out, n)),
        Step("attn_scores = queries @ keys.transpose(1, 2)", weights),
        Step("masked_fill_, softmax(. / d_out ** 0.5), dropout", weights),
        Step("attn_weights @ values", head),
        Step("torch.cat([head(x) for head in heads], dim=-1)", (b, n, num_heads * d_out)),
    ]
