"""The layers of figure 5: their sizes, the shapes of their forward pass, and the numbers of the small ones."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from attention_core import (
    EMBEDDINGS,
    Projections,
    Step,
    TorchGenerator,
    attention,
    head_columns,
    parameter_count,
    project,
    shape_trace,
)


class Sizes(NamedTuple):
    """One layer: batch, tokens, widths, heads, and the class that it is an instance of."""

    b: int
    n: int
    d_in: int
    d_out: int
    num_heads: int
    kind: str = "split"

    @property
    def head_dim(self) -> int:
        """Width of one head: in the book's wrapper d_out itself, otherwise its share of d_out."""
        return self.d_out if self.kind == "wrapper" else self.d_out // self.num_heads

    @property
    def width(self) -> int:
        """Width of all heads side by side."""
        return self.head_dim * self.num_heads

    @property
    def divisors(self) -> list[int]:
        """The numbers of heads that d_out can be cut into."""
        return [heads for heads in range(1, self.d_out + 1) if self.d_out % heads == 0]

    @property
    def given(self) -> int:
        """The d_out that the class is given: the width of all heads, or a wrapper's of each."""
        return self.d_out if self.kind == "split" else self.head_dim

    @property
    def trace(self) -> list[Step]:
        """The lines of a forward pass, with shapes."""
        kind = "split" if self.kind == "split" else "wrapper"
        return shape_trace(self.b, self.n, self.d_in, self.given, self.num_heads, kind)

    @property
    def parameters(self) -> int:
        """Parameters of the class; of the two only the split class has an output projection."""
        split = self.kind == "split"
        kind = "split" if split else "wrapper"
        return parameter_count(self.d_in, self.given, self.num_heads, kind, output_projection=split)

    @property
    def calls(self) -> int:
        """How many products it takes where one would do."""
        return 1 if self.kind == "split" else self.num_heads


PRESETS = {
    "toy": Sizes(2, 6, 3, 2, 2),
    "small": Sizes(1, 6, 6, 8, 4),
    "gpt2": Sizes(1, 1024, 768, 768, 12),
    "gpt2-xl": Sizes(1, 1024, 1600, 1600, 25),
}
NUMBERED = ("toy", "small")


class Proof(NamedTuple):
    """Numbers of a small layer: all heads from one matrix, and each head from its own."""

    x: np.ndarray  # (n, d_in), the inputs of the first sequence
    projections: Projections  # (d_in, width)
    queries: np.ndarray  # (n, width), of the first sequence, as `weights` and `context`
    weights: np.ndarray  # (H, n, n)
    context: np.ndarray  # (n, width)
    own_queries: list[np.ndarray]  # (n, head_dim), one for each head
    max_difference: float


def layer(preset: str, kind: str = "split", num_heads: int = 0) -> tuple[np.ndarray, Projections]:
    """Return the embeddings, shape (b, n, d_in), and the weights of all heads, side by side, of a preset with numbers.

    The toy is the book's: its six tokens twice, and what is drawn after seed 123. A wrapper draws head by head; at
    matched width it has the numbers of the split class.
    """
    sizes = PRESETS[preset]
    generator = TorchGenerator(123 if preset == "toy" else 0)
    x = np.asarray(EMBEDDINGS) if preset == "toy" else generator.rand(sizes.n, sizes.d_in).astype(float)
    drawn = [
        [generator.linear(sizes.d_in, sizes.d_out).T.astype(float) for _ in Projections._fields]
        for _ in range(num_heads if kind == "wrapper" else 1)
    ]
    return np.stack([x] * sizes.b), Projections(*(np.hstack(parts) for parts in zip(*drawn, strict=True)))


def prove(x: np.ndarray, projections: Projections, num_heads: int) -> Proof:
    """Run every head with small matrices of its own, and compare with one matrix that is sliced."""
    whole = project(x, projections)
    context, weights = attention(x, projections, num_heads, causal=True)
    own_queries, differences = [], []
    for head in range(num_heads):
        columns = head_columns(head, num_heads, context.shape[-1])
        small = Projections(*(matrix[:, columns] for matrix in projections))
        alone = project(x, small)
        own_context, _ = attention(x, small, causal=True)
        own_queries.append(alone[0][0])
        pairs = zip((*alone, own_context), (*whole, context), strict=True)
        differences += [np.abs(own - sliced[..., columns]).max() for own, sliced in pairs]
    return Proof(x[0], projections, whole[0][0], weights[0], context[0], own_queries, float(max(differences)))


@cache
def proof_of(preset: str, kind: str, num_heads: int) -> Proof:
    """Return the proof for a preset with numbers, worked out once."""
    return prove(*layer(preset, "wrapper" if kind == "wrapper" else "split", num_heads), num_heads)
