"""How figure 5 is drawn: one product to scale, cut into the stripes of its heads, and the heads by themselves."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from attention_core import causal_mask, head_columns
from figures.layers import Sizes
from figures.shared.format import many, symbols
from figures.shared.panels import mini

ROWS = 4  # heads drawn one below the other; of more, the first, the last and one between
STRIPES = 64  # stripes drawn in one matrix; of more, only the chosen one is told apart
BLOCK = '<i class="stand-in"></i>'  # in the place of numbers that are not formed


def one_product(s: Any, r: Any) -> str:
    """Draw X · W = Q, to scale, with the stripes of the heads in the same places of W and Q."""
    z, proof = r.sizes, r.proof
    x, w, q = BLOCK, _stripes(s, z, None, "query"), _stripes(s, z, None, "query")
    if proof:
        (i, j), weight = (place - 1 for place in s.cell), proof.projections.query
        x = _sized(proof.x, "muted", proof.x, _at(proof.x, i, None))
        w = _stripes(s, z, weight, "query", _at(weight, None, j))
        q = _stripes(s, z, proof.queries, "query", _at(proof.queries, i, j))
    matrices = "one matrix" if s.kind == "split" else f"{z.num_heads:,} matrices"
    products = "one product" if z.calls == 1 else f"{z.calls:,} products"
    blocks = (
        _named("X", "", "muted", z.n, z.d_in, z.d_in, f'<span class="stripe">{x}</span>'),
        _named("W_q", matrices, "query", z.d_in, z.width, _drawn(z), w),
        _named("Q", products, "query", z.n, z.width, _drawn(z), q),
    )
    drawn = "".join(f"{block}<span class=sign>{sign}</span>" for block, sign in zip(blocks, "·= ", strict=True))
    label = f"X times W_q is Q, cut into {many(z.num_heads, 'stripe')}; head {s.head} is framed"
    return (
        f'<div class="product{"" if s.kind == "split" else " apart"}" role="img" aria-label="{escape(label)}" '
        f'style="--tallest:{max(z.n, z.d_in)};--all:{z.d_in + 2 * _drawn(z)};--heads:{min(z.num_heads, STRIPES)}">'
        f"{drawn}</div>"
    )


def each_head(s: Any, r: Any) -> str:
    """Draw the heads one below the other, and what they are joined to."""
    z, proof = r.sizes, r.proof
    shown = list(range(z.num_heads))
    if z.num_heads > ROWS:
        shown = sorted({0, s.head - 1 if 1 < s.head < z.num_heads else 1, z.num_heads - 1})
    rows = []
    for before, head in zip([-1, *shown], shown, strict=False):
        if head - before > 1:
            rows.append(f'<p class="more">… {head - before - 1:,} more</p>')
        rows.append(_one_head(s, r, head))
    joined = _named(
        "Z", "", "value", z.n, z.width, _drawn(z), _stripes(s, z, proof.context if proof else None, "value")
    )
    return (
        '<div class="heads"><p class="cut">cut <i>→</i></p><div class="each"><p class="three">'
        "<span class=q>its Q</span><span class=weight>its weights</span><span class=v>its Z</span></p>"
        f"{''.join(rows)}</div>"
        f'<div class="joined" style="--tallest:{max(z.n, z.d_in)};--heads:{min(z.num_heads, STRIPES)}"><p>join →</p>'
        f"{joined}</div></div>"
    )


def _drawn(z: Sizes) -> int:
    """Return how many columns wide the matrix of all heads is drawn: those of a wrapper may be too wide to scale."""
    return min(z.width, 4 * max(z.n, z.d_in) // 3)


def _named(name: str, note: str, hue: str, rows: int, columns: int, drawn: int, content: str) -> str:
    letter = {"query": "q", "value": "v"}.get(hue, "")
    more = f"<em>, {note}</em>" if note else ""
    return (
        f'<div><p class="of"><b class="{letter}">{symbols(name)}</b> <span>{rows:,} × {columns:,}{more}</span></p>'
        f'<div class="matrix" style="--rows:{rows};--columns:{drawn};--hue:var(--{hue})">{content}</div></div>'
    )


def _stripes(s: Any, z: Sizes, matrix: np.ndarray | None, hue: str, marked: np.ndarray | None = None) -> str:
    """Cut a matrix into the stripes of its heads; a press on one shows its head."""
    if z.num_heads > STRIPES:
        left, width = (100 * share / z.num_heads for share in (s.head - 1, 1))
        return f'{BLOCK}<i class="slice" style="left:{left:.2f}%;width:max(2px,{width:.3f}%)"></i>'
    parts = []
    for head in range(z.num_heads):
        columns, drawn = head_columns(head, z.num_heads, z.width), BLOCK
        if matrix is not None:
            drawn = _sized(matrix[:, columns], hue, matrix, None if marked is None else marked[:, columns])
        chosen = head + 1 == s.head
        name = f"<b>{head + 1}</b>" if chosen or z.num_heads <= 2 * ROWS else ""
        classes = "stripe on" if chosen else "stripe"
        parts.append(f'<span class="{classes}" data-set="head={head + 1}">{drawn}{name}</span>')
    return "".join(parts)


def _one_head(s: Any, r: Any, head: int) -> str:
    """Draw one head: its stripe of Q, its weights, its stripe of Z."""
    z, proof = r.sizes, r.proof
    columns = head_columns(head, z.num_heads, z.width)
    query, weights, context = BLOCK, '<i class="stand-in causal"></i>', BLOCK
    if proof:
        query = _sized(proof.queries[:, columns], "query", proof.queries)
        weights = mini(proof.weights[head], "weight", 1.0, hidden=~causal_mask(z.n))
        context = _sized(proof.context[:, columns], "value", proof.context)
    chosen, share = head + 1 == s.head, min(z.head_dim / z.n, 0.5)
    return (
        f'<button type="button" class="head{" on" if chosen else ""}" data-set="head={head + 1}" '
        f'aria-label="head {head + 1}" aria-pressed="{str(chosen).lower()}" style="--share:{share:.3f}">'
        f'<span class="narrow" style="--hue:var(--query)">{query}</span><i>→</i><span class="square" '
        f'style="--hue:var(--weight)">{weights}</span><i>→</i>'
        f'<span class="narrow" style="--hue:var(--value)">{context}</span>'
        f"<span><b>head {head + 1:,}</b><br>÷ √{z.head_dim:,}</span></button>"
    )


def _sized(part: np.ndarray, hue: str, whole: np.ndarray, marked: np.ndarray | None = None) -> str:
    """Draw the sizes of a part's numbers, on the scale of the whole, whatever their signs."""
    drawn = mini(np.abs(part), hue, np.abs(whole).max(), marked=marked)
    return f'<span class="fine">{drawn}</span>' if max(part.shape[1], whole.shape[1] // 4) > 4 else drawn


def _at(matrix: np.ndarray, row: int | None, column: int | None) -> np.ndarray:
    """Tell which cells of a matrix are at a row, at a column, or at both."""
    rows, columns = np.indices(matrix.shape)
    return ((rows == row) | (row is None)) & ((columns == column) | (column is None))
