"""What n squared costs, in exact integers.

Python's integers throughout: NumPy's are 32 bits wide in the browser, and n² at a million tokens is not.
"""

import math
from dataclasses import dataclass, fields

from attention_core._checks import as_count, as_positive, described, refusal


@dataclass(frozen=True)
class AttentionCost:
    """Memory and multiply-adds of one attention layer on one sequence.

    A multiply-add is one product and one sum, so two floating-point operations. Masking saves none of
    them: hidden cells are computed and thrown away.

    Parameters
    ----------
    n : int
        Tokens.
    d_in, d_out : int
        Widths of the embeddings and of all heads together.
    num_heads : int
        H. At fixed d_out it changes the memory of the scores but not the number of multiply-adds.
    bytes_per_score : int, optional
        2 for half precision.

    Raises
    ------
    ValueError
        If a number is not a positive integer.

    Examples
    --------
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
            object.__setattr__(self, field.name, as_count(field.name, getattr(self, field.name)))

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
        return self.n * self.n * self.d_out

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
    """Count the cards whose memory holds so many bytes: an exact ceiling.

    Parameters
    ----------
    total_bytes : int
        Bytes to hold.
    card_bytes : int, optional
        Bytes of one card. The default is 80 GiB; a card sold as "80 GB" is 80 * 10**9.

    Returns
    -------
    int
        The smallest sufficient number of cards.

    Raises
    ------
    ValueError
        If `total_bytes` is not an integer of at least 0 or `card_bytes` not a positive one.

    Examples
    --------
    >>> cards_needed(2_194_830_951_552), cards_needed(2_194_830_951_552, 80 * 10**9)
    (26, 28)
    """
    return -(-as_count("total_bytes", total_bytes, minimum=0) // as_count("card_bytes", card_bytes))


def seconds_per_token(n: int, *, base_seconds: float = 0.1, base_n: int = 1024) -> float:
    """Scale the time of one token with the square of the context, from one assumed point.

    Parameters
    ----------
    n : int
        Tokens in the context.
    base_seconds : float, optional
        Seconds at `base_n` tokens: an assumption, all of it taken to be quadratic.
    base_n : int, optional
        Tokens at which `base_seconds` holds.

    Returns
    -------
    float
        Seconds.

    Raises
    ------
    ValueError
        If an argument is not positive or the result exceeds a float.

    Examples
    --------
    >>> round(seconds_per_token(1_047_576) / 3600, 2)
    29.07
    """
    tokens, base = as_count("n", n), as_count("base_n", base_n)
    try:
        seconds = as_positive("base_seconds", base_seconds) * (tokens * tokens / (base * base))
    except OverflowError:
        seconds = math.inf
    if seconds == math.inf:
        raise refusal("n", "a length whose time is below 1.8e308 seconds", described(tokens))
    return seconds
