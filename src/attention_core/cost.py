"""What n squared costs, in exact integers.

Python's integers throughout: NumPy's are 32 bits wide in the browser, and n² at a million tokens is not.
"""

import math
from dataclasses import dataclass, fields

from attention_core import _checks as check


@dataclass(frozen=True)
class AttentionCost:
    """Memory and multiply-adds of one attention layer on one sequence of `n` tokens.

    `d_in` is the width of the embeddings, `d_out` that of all `num_heads` heads together, so more heads take
    more memory for scores but no more multiply-adds; `bytes_per_score` is 2 for half precision. A multiply-add
    (mac) is two floating-point operations. Masking saves none: hidden cells are computed and thrown away.

    >>> AttentionCost(n=1_047_576, d_in=768, d_out=768, num_heads=1).score_bytes
    2194830951552
    """

    n: int
    d_in: int
    d_out: int
    num_heads: int
    bytes_per_score: int = 2

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, check.count(field.name, getattr(self, field.name)))

    @property
    def score_bytes_per_head(self) -> int:
        """Bytes of one head's n × n score matrix."""
        return self.n * self.n * self.bytes_per_score

    @property
    def score_bytes(self) -> int:
        """Bytes of the score matrices of all heads."""
        return self.num_heads * self.score_bytes_per_head

    @property
    def projection_macs(self) -> int:
        """Multiply-adds of the query, key and value projections: linear in n."""
        return 3 * self.n * self.d_in * self.d_out

    @property
    def score_macs(self) -> int:
        """Multiply-adds of Q Kᵀ over all heads: n² · head_dim each."""
        return self.n * self.n * self.d_out

    @property
    def weighted_sum_macs(self) -> int:
        """Multiply-adds of weights times values over all heads: as many as for the scores."""
        return self.score_macs

    @property
    def output_macs(self) -> int:
        """Multiply-adds of the output projection: linear in n."""
        return self.n * self.d_out * self.d_out

    @property
    def masked_cells(self) -> int:
        """Cells of one head's score matrix that the causal mask discards."""
        return self.n * (self.n - 1) // 2

    @property
    def masked_share(self) -> float:
        """Their share of all cells, (n - 1) / (2n): below one half."""
        return (self.n - 1) / (2 * self.n)

    @property
    def quadratic_share(self) -> float:
        """Share of all multiply-adds, output projection included, that grow with n²."""
        quadratic = self.score_macs + self.weighted_sum_macs
        return quadratic / (quadratic + self.projection_macs + self.output_macs)


def cards_needed(total_bytes: int, card_bytes: int = 80 * 2**30) -> int:
    """Count the cards of `card_bytes` memory each that hold `total_bytes` together: an exact ceiling.

    The default is 80 GiB; a card sold as "80 GB" is 80 * 10**9.

    >>> cards_needed(2_194_830_951_552), cards_needed(2_194_830_951_552, 80 * 10**9)
    (26, 28)
    """
    return -(-check.count("total_bytes", total_bytes, minimum=0) // check.count("card_bytes", card_bytes))


def seconds_per_token(n: int, *, base_seconds: float = 0.1, base_n: int = 1024) -> float:
    """Scale the seconds that one token takes with the square of the context, `n` tokens.

    `base_seconds` at `base_n` tokens is an assumption, and so is that all of it is quadratic.

    >>> round(seconds_per_token(1_047_576) / 3600, 2)
    29.07
    """
    tokens, base = check.count("n", n), check.count("base_n", base_n)
    try:
        seconds = check.positive("base_seconds", base_seconds) * (tokens * tokens / (base * base))
    except OverflowError:
        seconds = math.inf
    if seconds == math.inf:
        raise check.refusal("n", "a length whose time is below 1.8e308 seconds", check.described(tokens))
    return seconds
