"""Causal multi-head self-attention in plain NumPy: the mathematics, and the numbers of the worked example.

Read `_attention` first: the whole forward pass on one page. Each of its steps has a module: `projections`
(query, key, value, scores), `masking`, `_softmax`, `dropout`, and `heads` for what the split does to shapes
and parameters. `cost` counts what n² costs, `book` holds the example and `torch_random` remakes its weights.

Axes have the same letters everywhere: `b` batch, `n` tokens, `d_in` and `d_out` widths, `d_k` the width of
queries and keys, `H` heads, `head_dim = d_out / H`. "(..., n, d_in)" allows any leading axes.

The contract of every function: input is anything NumPy reads as real numbers, and is left as it was; arrays
come back as float64 unless stated. Counts are positive integers, probabilities go from 0 to 1, masks are bool
(0 and 1 do not say which of them hides). Scores may be -inf, which hides them. Anything else (NaN, infinities,
shapes that do not fit, a result that no float64 holds) raises `ValueError`: one sentence naming the argument,
what was expected and what came. Nothing is random except through a generator that is passed in.

Sources: Vaswani et al. 2017, *Attention Is All You Need*; Raschka 2024, *Build a Large Language Model (From
Scratch)*, chapter 3; Srivastava et al. 2014, *Dropout*.
"""

from attention_core._attention import attention, merge_heads, split_heads
from attention_core._softmax import largest_jacobian_entry, sample_scores, softmax, softmax_jacobian
from attention_core.book import EMBEDDINGS, TOKENS, section_3_4, section_3_5
from attention_core.cost import AttentionCost, cards_needed, seconds_per_token
from attention_core.dropout import dead_row_probability, inverted_dropout, row_sum_std
from attention_core.heads import Step, head_columns, parameter_count, shape_trace
from attention_core.masking import causal_mask, mask_after_softmax, mask_before_softmax
from attention_core.projections import Projections, asymmetry, mean_pairwise_distance, project, scores
from attention_core.torch_random import TorchGenerator

__all__ = [  # noqa: RUF022 - in the order of the chapter
    "attention", "split_heads", "merge_heads",
    "Projections", "project", "scores", "asymmetry", "mean_pairwise_distance",
    "softmax", "softmax_jacobian", "largest_jacobian_entry", "sample_scores",
    "causal_mask", "mask_before_softmax", "mask_after_softmax",
    "inverted_dropout", "row_sum_std", "dead_row_probability",
    "Step", "head_columns", "shape_trace", "parameter_count",
    "AttentionCost", "cards_needed", "seconds_per_token",
    "TOKENS", "EMBEDDINGS", "section_3_4", "section_3_5", "TorchGenerator",
]  # fmt: skip
