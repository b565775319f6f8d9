"""Every number of the article, computed by the core. The article names them: ``{{ numbers.SECTION.NAME }}``."""

from __future__ import annotations

from typing import Any

import numpy as np

from attention_core.book import EMBEDDINGS
from attention_core.projections import asymmetry, mean_pairwise_distance, scores
from attention_core.softmax import softmax
from figures.shared.readouts import plain


def values() -> dict[str, dict[str, Any]]:
    """Return the numbers by section and name, in Python's own types."""
    return plain_values({"introduction": introduction()})


def introduction() -> dict[str, Any]:
    """Attention without parameters: softmax(X Xᵀ) X."""
    x = np.asarray(EMBEDDINGS)
    omega = scores(x, x)
    z = softmax(omega) @ x
    return {
        "context_journey": z[1],
        "spread_inputs": mean_pairwise_distance(x),
        "score_error": asymmetry(omega),
    }


def plain_values(sections: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the same in Python's own types."""
    return {
        section: {name: plain(value) for name, value in named.items()} for section, named in sections.items()
    }
