"""The worked example of chapter 3 of Raschka, *Build a Large Language Model (From Scratch)*, 2024.

The chapter changes its weights on the way, so there are two sets: float64 matrices of shape (d_in, d_out) =
(3, 2) that hold torch's float32 values exactly. None is stored here: PyTorch's generator makes them again.
"""

import numpy as np

from attention_core.projections import Projections
from attention_core.torch_random import TorchGenerator

#: The six tokens, in order.
TOKENS: tuple[str, ...] = ("Your", "journey", "starts", "with", "one", "step")

#: Their embeddings, position already added (section 3.3.1); float64, shape (n, d_in) = (6, 3), read-only.
EMBEDDINGS = np.array(
    [
        [0.43, 0.15, 0.89],
        [0.55, 0.87, 0.66],
        [0.57, 0.85, 0.64],
        [0.22, 0.58, 0.33],
        [0.77, 0.25, 0.10],
        [0.05, 0.80, 0.55],
    ]
)
EMBEDDINGS.setflags(write=False)


def section_3_4() -> Projections:
    """Make the weights of section 3.4: seed 123, uniform in [0, 1), drawn as query, key, value.

    >>> (EMBEDDINGS[1] @ section_3_4().query).round(4).tolist()
    [0.4306, 1.4551]
    """
    torch = TorchGenerator(123)
    return Projections(*(torch.rand(3, 2).astype(np.float64) for _ in Projections._fields))


def section_3_5() -> Projections:
    """Make the weights of section 3.5: seed 789, three linear layers without bias.

    A linear layer stores its weight as (d_out, d_in); it is transposed here, so that both sets read alike.

    >>> (EMBEDDINGS[1] @ section_3_5().query).round(4).tolist()
    [0.9091, -0.4471]
    """
    torch = TorchGenerator(789)
    return Projections(*(torch.linear(3, 2).T.astype(np.float64, order="C") for _ in Projections._fields))
