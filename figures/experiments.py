"""The repeated experiments behind figure 2: random queries and keys at every width, in slices of a few milliseconds."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from attention_core import largest_jacobian_entry, sample_scores

WIDTHS = [1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512, 768, 1024, 2048, 4096]
LARGEST = 0.25  # no entry of a softmax's Jacobian is larger
LIVE = LARGEST / 1000  # a draw is live while its largest entry exceeds this

EXPERIMENTS = 100  # repeated for the band
FEWEST = 20  # experiments before there is a band
NUMBERS_AT_ONCE = 200_000  # random numbers drawn in one step of the work: a few milliseconds
EXPERIMENTS_AT_ONCE = 60_000  # the same for the band, whose numbers cost more


class Measured(NamedTuple):
    """What one experiment shows at one width. Entries are the draws' largest ones of the Jacobian."""

    sd: float
    one: float  # the median undivided
    mean: float
    live: float
    sqrt: float  # the median divided by √d_k, and by d_k
    dk: float


class Experiment:
    """All draws at one width, made a few at a time: the stream of numbers is the same however it is cut.

    Every width starts the stream of the seed anew. With `exact` vectors and their dot products are formed.
    """

    def __init__(self, d_k: int, keys: int, draws: int, seed: int, exact: bool) -> None:
        self._d_k, self._exact = d_k, exact
        self._rng = np.random.default_rng(seed)
        self._scores = np.zeros((draws, keys))  # not left empty: what lies there would be saved with it
        self._at_once = max(1, NUMBERS_AT_ONCE // ((1 + keys) * d_k if exact else 1 + 2 * keys))
        self.done = 0

    @property
    def scores(self) -> np.ndarray:
        """Raw scores of the draws made so far, shape (done, keys)."""
        return self._scores[: self.done]

    @property
    def complete(self) -> bool:
        """Whether all draws are made."""
        return self.done == len(self._scores)

    def go_on(self) -> None:
        """Make some more draws."""
        count = min(self._at_once, len(self._scores) - self.done)
        more = sample_scores(self._rng, self._d_k, self._scores.shape[1], count, exact=self._exact)
        self._scores[self.done : self.done + count] = more
        self.done += count

    def measure(self) -> Measured:
        """Measure the draws made so far."""
        one, sqrt, dk = (largest_jacobian_entry(self.scores / by) for by in (1.0, math.sqrt(self._d_k), self._d_k))
        live = float((one > LIVE).mean())
        medians = (float(np.median(entries)) for entries in (one, sqrt, dk))
        first, *others = medians
        return Measured(float(self.scores.std()), first, float(one.mean()), live, *others)


class Band:
    """Where the median lies in 5 to 95 % of repeated experiments, at every width, undivided and divided by √d_k.

    The experiments follow each other in the stream of the seed. They use the law of the scores, also where
    the figure forms real dot products: that these fall into the band is the proof of the shortcut.
    """

    def __init__(self, keys: int, draws: int, seed: int) -> None:
        self._keys, self._draws = keys, draws
        self._rngs = [np.random.default_rng(seed) for _ in WIDTHS]
        self._medians = np.zeros((EXPERIMENTS, len(WIDTHS), 2))
        self._at_once = max(1, EXPERIMENTS_AT_ONCE // (draws * (1 + 2 * keys)))
        self._next = 0  # width
        self.done = 0

    def go_on(self) -> None:
        """Repeat the experiment some times at one width; all widths take turns."""
        count, d_k = min(self._at_once, EXPERIMENTS - self.done), WIDTHS[self._next]
        scores = sample_scores(self._rngs[self._next], d_k, self._keys, count * self._draws)
        scores = scores.reshape(count, self._draws, self._keys)
        for column, divisor in enumerate((1.0, math.sqrt(d_k))):
            medians = np.median(largest_jacobian_entry(scores / divisor), axis=1)
            self._medians[self.done : self.done + count, self._next, column] = medians
        self._next = (self._next + 1) % len(WIDTHS)
        if self._next == 0:
            self.done += count

    def limits(self) -> np.ndarray | None:
        """Return the ends of the band, shape (2, widths, 2): low and high, by width, undivided and divided."""
        return np.quantile(self._medians[: self.done], [0.05, 0.95], axis=0) if self.done >= FEWEST else None


class Study:
    """One experiment at every width, and the band, for one set-up."""

    def __init__(self, set_up: tuple[int, int, int, bool], former: Study | None) -> None:
        self.set_up = set_up
        same = former is not None and former.set_up[:3] == set_up[:3]
        self.band = former.band if former and same else Band(*set_up[:3])
        self._experiments: dict[int, Experiment] = {}
        self.measured: dict[int, Measured] = {}

    def experiment(self, d_k: int) -> Experiment:
        """Return the experiment at one width; one that was let go begins again."""
        if d_k not in self._experiments:
            self._experiments[d_k] = Experiment(d_k, *self.set_up)
        return self._experiments[d_k]

    def complete(self, d_k: int) -> bool:
        """Tell whether nothing is missing, neither curves and band nor the draws at one width."""
        measured = len(self.measured) == len(WIDTHS) and self.band.done == EXPERIMENTS
        return measured and self.experiment(d_k).complete

    def step(self, d_k: int) -> bool:
        """Do a little, first at the width that the reader waits for; tell whether anything was missing."""
        if self.complete(d_k):
            return False
        missing = [d for d in WIDTHS if d not in self.measured]
        at = missing[0] if missing and self.experiment(d_k).complete else d_k
        experiment = self.experiment(at)
        if experiment.complete:
            self.band.go_on()
        else:
            experiment.go_on()
        if experiment.complete:
            self.measured[at] = experiment.measure()
        return True

    def keep_only(self, d_k: int) -> None:
        """Let go of the draws at every other width; they can be made again from the seed."""
        self._experiments = {d_k: self.experiment(d_k)}


def relative_error(d_k: int, keys: int, draws: int) -> float:
    """Return the standard error of the measured standard deviation, as a share of it.

    The scores of one draw share a query and are not independent, so the draws count: the mean square of a
    draw's scores has the relative variance (1 + 2/d_k)(1 + 2/n) - 1, and a root halves a relative error.
    """
    return math.sqrt(((1 + 2 / d_k) * (1 + 2 / keys) - 1) / draws) / 2
