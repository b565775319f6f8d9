"""Causal multi-head self-attention in plain NumPy: the mathematics, and the numbers of the worked example.

The axis letters are the same everywhere: ``b`` batch, ``n`` tokens, ``d_in`` and ``d_out`` widths, ``d_k``
the width of queries and keys, ``H`` heads, ``head_dim = d_out / H``.

``attention_core.softmax`` is the function, not the module it lives in.
"""

from attention_core.book import EMBEDDINGS, TOKENS, section_3_4, section_3_5
from attention_core.cost import AttentionCost, cards_needed, seconds_per_token
from attention_core.dropout import dead_row_probability, inverted_dropout, row_sum_std
from attention_core.heads import (
    Step,
    attention,
    head_columns,
    merge_heads,
    parameter_count,
    shape_trace,
    split_heads,
)
from attention_core.masking import causal_mask, mask_after_softmax, mask_before_softmax
from attention_core.projections import Projections, asymmetry, mean_pairwise_distance, project, scores
from attention_core.softmax import largest_jacobian_entry, sample_scores, softmax, softmax_jacobian
from attention_core.torch_random import TorchGenerator

__all__ = [
    "EMBEDDINGS",
    "TOKENS",
    "AttentionCost",
    "Projections",
    "Step",
    "TorchGenerator",
    "asymmetry",
    "attention",
    "cards_needed",
    "causal_mask",
    "dead_row_probability",
    "head_columns",
    "inverted_dropout",
    "largest_jacobian_entry",
    "mask_after_softmax",
    "mask_before_softmax",
    "mean_pairwise_distance",
    "merge_heads",
    "parameter_count",
    "project",
    "row_sum_std",
    "sample_scores",
    "scores",
    "seconds_per_token",
    "section_3_4",
    "section_3_5",
    "shape_trace",
    "softmax",
    "softmax_jacobian",
    "split_heads",
]
