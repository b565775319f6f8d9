"""PyTorch's CPU random numbers, bit for bit, in a few lines of NumPy.

The generator is MT19937 (Matsumoto and Nishimura 1998) with its original integer seeding. What differs
between libraries is how its 32-bit words become floats, so each method says which words it takes.
"""

import math
from collections.abc import Iterable
from typing import Literal, overload

import numpy as np
from numpy.typing import NDArray

from attention_core import _checks as check
from attention_core._arrays import Bools, Floats

Float32s = NDArray[np.float32]


class TorchGenerator:
    """The numbers PyTorch draws on the CPU after `torch.manual_seed(seed)`, in calls of any size.

    `seed` is any integer torch takes, -2**63 to 2**64 - 1. As in torch's generator only its value modulo
    2**32 counts, so -1 and 2**32 - 1 are one seed.

    >>> TorchGenerator(123).rand(3, 2)[0]
    array([0.29611194, 0.5165623 ], dtype=float32)
    """

    def __init__(self, seed: int) -> None:
        whole = check.count("seed", seed, minimum=-(2**63), maximum=2**64 - 1)
        # RandomState seeds MT19937 as torch does; default_rng and MT19937(seed) do not.
        self._state = np.random.RandomState(whole % 2**32)

    def rand(self, *shape: int) -> Float32s:
        """Draw float32 numbers, uniform in [0, 1), as `torch.rand` does; no `shape` gives a single one.

        One word for each: its low 24 bits, over 2**24.

        >>> TorchGenerator(123).rand(3, 2).shape
        (3, 2)
        """
        sizes = _as_shape("shape", shape)
        return self._uniform_24(math.prod(sizes)).astype(np.float32).reshape(sizes)

    @overload
    def linear(self, d_in: int, d_out: int, *, bias: Literal[False] = False) -> Float32s: ...
    @overload
    def linear(self, d_in: int, d_out: int, *, bias: Literal[True]) -> tuple[Float32s, Float32s]: ...
    def linear(self, d_in: int, d_out: int, *, bias: bool = False) -> Float32s | tuple[Float32s, Float32s]:
        """Draw the float32 weight (d_out, d_in) of a new `torch.nn.Linear(d_in, d_out)`, which computes x @ weight.T.

        It is uniform between -1/sqrt(d_in) and 1/sqrt(d_in). With `bias`, a pair: the bias (d_out,) comes second.

        >>> TorchGenerator(789).linear(3, 2)[0]
        array([0.31605908, 0.45680857, 0.51183486], dtype=float32)
        """
        columns, rows = check.count("d_in", d_in), check.count("d_out", d_out)
        with_bias = check.flag("bias", bias)
        weight = self._uniform_around_0(columns, rows * columns).reshape(rows, columns)
        return (weight, self._uniform_around_0(columns, rows)) if with_bias else weight

    def dropout_keep(self, shape: int | Iterable[int], p: float) -> Bools:
        """Draw which elements `torch.nn.Dropout(p)` keeps of an array of this `shape`: bool, True = kept.

        Two words each: a 53-bit number below 1 - `p` keeps. As in torch, a p of 0 or 1 draws nothing. This is
        torch's generic CPU path, which the book's printed masks come from. Builds with MKL on Intel
        processors hand one word to another generator and give other masks.

        >>> TorchGenerator(123).dropout_keep((6, 6), 0.5)[0].astype(int).tolist()
        [1, 1, 0, 1, 1, 0]
        """
        sizes = _as_shape("shape", shape)
        drop = check.probability("p", p)
        if drop in (0.0, 1.0):
            return np.full(sizes, drop == 0.0)
        return (self._uniform_53(math.prod(sizes)) < 1 - drop).reshape(sizes)

    def _words(self, count: int) -> NDArray[np.uint32]:
        return self._state.randint(0, 2**32, size=count, dtype=np.uint32)

    def _uniform_24(self, count: int) -> Floats:
        return (self._words(count) & np.uint32(2**24 - 1)) * np.float64(2.0**-24)

    def _uniform_53(self, count: int) -> Floats:
        words = self._words(2 * count).astype(np.uint64)
        joined = (words[0::2] << np.uint64(32)) | words[1::2]
        return (joined & np.uint64(2**53 - 1)) * np.float64(2.0**-53)

    def _uniform_around_0(self, d_in: int, count: int) -> Float32s:
        # Torch keeps bounds and width in float32 but multiplies and adds in double, rounding once.
        low = np.float32(-1 / math.sqrt(d_in))
        width = np.float32(-low - low)
        return (self._uniform_24(count) * float(width) + float(low)).astype(np.float32)


def _as_shape(name: str, shape: object) -> tuple[int, ...]:
    if isinstance(shape, str):
        raise check.refusal(name, "integers of at least 0", check.described(shape))
    sizes = shape if isinstance(shape, Iterable) else (shape,)
    return tuple(check.count(name, size, minimum=0) for size in sizes)
