"""Figure 4: dropout on the attention weights, one draw and the average over many."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import panel as pn

from attention_core import (
    EMBEDDINGS,
    TOKENS,
    TorchGenerator,
    causal_mask,
    dead_row_probability,
    inverted_dropout,
    mask_before_softmax,
    project,
    row_sum_std,
    scores,
    section_3_5,
)
from figures.shared.charts import Chart, Layer, linear, log
from figures.shared.figure import Figure
from figures.shared.format import brief, fixed
from figures.shared.panels import Bars, Drawing, Grid, Table
from figures.shared.readouts import Readout
from figures.shared.state import Cell, Decimal, FigureState, Flag, LongRun, Seed

N = len(TOKENS)
MANY = 10_000
RATES = (*(i / 20 for i in range(19)), 1.0)
LARGEST = RATES[-2]  # below 1, where there is something to divide by
VISIBLE = causal_mask(N)
_q, _k, VALUES = project(EMBEDDINGS, section_3_5())
WEIGHTS = mask_before_softmax(scores(_q, _k), VISIBLE, divisor=math.sqrt(_k.shape[1]))

# The run is looked at after 1, 2, 3 … draws, then at even distances of the logarithm; at most so many draws lie
# between two stops of the work.
LOOKS = np.unique(np.geomspace(1, MANY, 64).round().astype(int))
AT_ONCE = 100


class State(FigureState):
    """What the reader can set."""

    p = Decimal(0.5, (0, 1), label="p", steps=RATES, text="{:g}".format, place="primary")
    rescale = Flag(True, label="Rescale survivors")
    seed = Seed(123, place="primary")
    draws = LongRun(MANY, MANY, place="primary")
    cell = Cell((1, 1), TOKENS, TOKENS, linked=False)

    def read(self, key: str, text: str, before: dict[str, Any]) -> tuple[Any, bool]:
        """Return the value a text stands for; a rate between 0.9 and 1 moves to the nearer of them."""
        value, moved = super().read(key, text, before)
        if key == "p" and LARGEST < value < 1:
            return (LARGEST if value < (1 + LARGEST) / 2 else 1.0), True
        return value, moved


class Run:
    """Draws of dropout on the causal weights, one after the other from one generator.

    Attributes
    ----------
    keep, dropped : ndarray
        The first draw: what it keeps, and the weights after it, shape (n, n).
    done : int
        How many draws are made.
    looks : list of (int, float)
        The mean over rows and draws, after so many draws.
    """

    def __init__(self, p: float, rescale: bool, seed: int) -> None:
        self._p, self._rescale = p, rescale
        self._generator = TorchGenerator(seed)
        self.done, self._total, self._dead = 0, 0.0, np.zeros(N, dtype=int)
        self.looks: list[tuple[int, float]] = []
        self.keep = self._draw(1)[0]
        self.dropped = inverted_dropout(WEIGHTS, self.keep, p, rescale=rescale)

    def _draw(self, count: int) -> np.ndarray:
        keep = self._generator.dropout_keep((count, N, N), self._p)
        sums = inverted_dropout(WEIGHTS, keep, self._p, rescale=self._rescale).sum(axis=-1)
        means = (self._total + np.cumsum(sums.mean(axis=1))) / np.arange(self.done + 1, self.done + count + 1)
        self.looks += [
            (n, float(means[n - self.done - 1])) for n in LOOKS.tolist() if self.done < n <= self.done + count
        ]
        self.done += count
        self._total += float(sums.mean(axis=1).sum())
        self._dead += (sums == 0).sum(axis=0)
        return keep

    def work(self) -> Iterator[Run]:
        """Go on until all draws are made."""
        while self.done < MANY:
            self._draw(min(AT_ONCE, MANY - self.done))
            yield self

    def progress(self) -> tuple[int, int]:
        """Return how many draws there will be, and how many are made."""
        return MANY, self.done

    @property
    def row_sums(self) -> np.ndarray:
        """Row sums of the first draw, shape (n,)."""
        return self.dropped.sum(axis=1)

    @property
    def mean_row_sum(self) -> float:
        """Mean over rows and draws."""
        return self._total / self.done

    @property
    def dead_share(self) -> np.ndarray:
        """Share of the draws in which nothing is left of a row, shape (n,)."""
        return self._dead / self.done


def compute(s: State) -> Iterator[Run]:
    """Show the first draw at once; go on if the state asks for many."""
    run = Run(s.p, s.rescale, s.seed)
    yield run
    if s.draws:
        yield from run.work()


def factor(s: State) -> float | None:
    """Return what survivors are multiplied by, or would be; None where that is a division by 0."""
    return None if s.p == 1 else 1 / (1 - s.p)


def expected(s: State) -> float:
    """Return the expected row sum."""
    return 0.0 if s.p == 1 else 1.0 if s.rescale else 1 - s.p


def mean_sd(s: State, draws: Any) -> Any:
    """Return the standard deviation of the mean over all rows of so many draws."""
    return np.sqrt(np.square(row_sum_std(WEIGHTS, s.p, rescale=s.rescale)).sum() / draws) / N


def sentence(s: State, r: Run) -> str:
    """Return what this draw and all draws came to."""
    if s.p == 1:
        return "At <b>p = 1</b> every weight is dropped: all rows are zeros by definition, and nothing is divided."
    if s.p == 0:
        return "At <b>p = 0</b> nothing is dropped: the weights are unchanged, and every row sums to <b>1</b>."
    *sums, last = (brief(total) for total in r.row_sums)
    done = "multiplies them by" if s.rescale else "leaves them as they are"
    scaled = f"{done} <b>{brief(factor(s))}</b>" if s.rescale else done
    many = (
        f" Over <b>{r.done:,}</b> draws the mean is <b>{r.mean_row_sum:.4f}</b>."
        if r.done > 1
        else " Resample, or run many."
    )
    return (
        f"This draw keeps <b>{r.keep[VISIBLE].sum()} of {VISIBLE.sum()}</b> weights and {scaled}: "
        f"the rows sum to <b>{', '.join(sums)}</b> and <b>{last}</b>.{many}"
    )


def how(s: State, r: Run, i: int, j: int) -> str:
    """Return how one dropped weight is computed."""
    pair = f"<b>{TOKENS[i]} → {TOKENS[j]}</b>: "
    if not VISIBLE[i, j]:
        return f"{pair}0, hidden: the future has no weight."
    divided = f" / (1 − {s.p:g})" if s.rescale and s.p < 1 else ""
    kept = bool(r.keep[i, j])
    return (
        f"{pair}{fixed(float(WEIGHTS[i, j]))} × {int(kept)}{divided} = <b>{fixed(float(r.dropped[i, j]))}</b>, "
        f"{'kept' if kept else 'dropped'}."
    )


def weights_note(s: State, r: Run) -> str:
    """Return what became of the weights."""
    if s.p in (0, 1):
        return "nothing is dropped" if s.p == 0 else "everything is dropped"
    kept = f"kept ones × {brief(factor(s))}" if s.rescale else "kept ones unchanged"
    return f"{kept}, dropped ones struck out"


def dead(s: State, r: Run) -> str:
    """Return the share of draws in which each row is all zeros, beside the law, as a small table."""
    theory = dead_row_probability(WEIGHTS, s.p)
    rows = "".join(
        f"<tr><th scope=row>row {i}</th><td>{share:.4f}</td><td>{law:.4f}</td></tr>"
        for i, (share, law) in enumerate(zip(r.dead_share, theory, strict=True), 1)
    )
    return (
        '<table class="plain"><thead><tr><td></td><th scope=col>draws with no weight left</th>'
        f"<th scope=col>p to the power of the row</th></tr></thead><tbody>{rows}</tbody></table>"
    )


def dead_data(s: State, r: Run) -> list[Table]:
    """Return the shares of dead rows as data."""
    values = np.column_stack([r.dead_share, dead_row_probability(WEIGHTS, s.p)])
    names = [f"{i} {token}" for i, token in enumerate(TOKENS, 1)]
    return [Table("Rows that are all zeros", names, [f"share of {r.done:,} draws", "theory"], values)]


def band(s: State, r: Run) -> dict[str, Any]:
    """Return where theory puts the mean, two standard deviations either way."""
    draws = np.geomspace(1, MANY, 25)
    return {"x": draws, "low": expected(s) - 2 * mean_sd(s, draws), "high": expected(s) + 2 * mean_sd(s, draws)}


def code(s: State, r: Run) -> str:
    """Return the lines that compute this draw."""
    return f"""import numpy as np
from attention_core import *

x_q, x_k, x_v = project(EMBEDDINGS, section_3_5())
weights = mask_before_softmax(scores(x_q, x_k), causal_mask(6), divisor=np.sqrt(2))
keep = TorchGenerator({s.seed}).dropout_keep((6, 6), {s.p!r})
dropped = inverted_dropout(weights, keep, {s.p!r}, rescale={s.rescale})
row_sums = dropped.sum(axis=1)
kept = keep[causal_mask(6)].sum()
context_first_token = dropped[0] @ x_v
"""


PANELS = [
    Grid(
        "One draw of the weights",
        lambda s, r: r.dropped,
        rows=TOKENS,
        columns=TOKENS,
        hue="weight",
        scale=1.4,
        note=weights_note,
        hidden=~VISIBLE,
        hidden_text="",
        struck=lambda s, r: VISIBLE & ~r.keep,
        texts=lambda s, r: [
            [fixed(float(value), 3) for value in row] for row in np.where(r.keep, r.dropped, WEIGHTS)
        ],
        beside=Bars(
            "sum of the row",
            lambda s, r: r.row_sums,
            most=lambda s, r: max(2.6, 1.3 * r.row_sums.max()),
            ticks=(0, 1, 2),
            rule=1.0,
            text=lambda total: "0<em>: the row is dead</em>" if total == 0 else brief(total),
        ),
    ),
    Chart(
        "The average over all draws",
        "Mean row sum against the number of draws, in the band of two standard deviations that theory gives",
        log(1 / 1.08, MANY * 1.15, {10**e: f"{10**e:,}" for e in range(5)}),
        linear(0, 2, {0: "0", 0.5: "0.5", 1: "1", 1.5: "1.5", 2: "2"}),
        [
            Layer("band", "where theory puts 95 % of runs", band, hue="muted"),
            Layer("line", "theory", lambda s, r: {"x": [1, MANY], "y": [expected(s)] * 2}, width=1.2, dash="dashed"),
            Layer(
                "line",
                "measured",
                lambda s, r: dict(zip("xy", np.array(r.looks).T, strict=True)),
                hue="weight",
                label=lambda s, r: f"{r.mean_row_sum:.4f}",
                shift=(0, 16),
                align="right",
            ),
        ],
        note="mean row sum; grey: 95 % of runs",
        height="15rem",
        left=36,
        area="side",
    ),
    Drawing("Rows that are all zeros", dead, tables=dead_data, area="numbers"),
    Grid(
        "The weights before", lambda s, r: WEIGHTS, TOKENS, TOKENS, "weight", 1.4, hidden=~VISIBLE, hidden_text="",
        select="", area="numbers",
    ),
]  # fmt: skip

READOUTS = [
    Readout("kept", "Weights kept", lambda s, r: r.keep[VISIBLE].sum(), "{}", lambda s, r: f"of {VISIBLE.sum()}"),
    Readout(
        "factor", "Factor on survivors", lambda s, r: factor(s), lambda v: "none" if v is None else brief(v, 4),
        lambda s, r: "nothing to divide" if s.p == 1 else "1 / (1 − p)" if s.rescale else "not applied",
    ),
    Readout(
        "mean_row_sum", "Mean row sum", lambda s, r: r.mean_row_sum, None,
        lambda s, r: f"theory {expected(s):.4g} ± {2 * float(mean_sd(s, r.done)):.4f}",
        partial=lambda s, r: r.done < MANY,
    ),
    Readout("draws_done", "Draws done", lambda s, r: r.done, "{:,}", partial=lambda s, r: r.done < MANY),
    Readout("row_sums", "Row sums of this draw", lambda s, r: r.row_sums),
    Readout(
        "dead_share", "Share of draws with an all-zero row, rows 1 – 6", lambda s, r: r.dead_share,
        partial=lambda s, r: r.done < MANY,
    ),
    Readout("context_first_token", "Context vector of Your", lambda s, r: r.dropped[0] @ VALUES),
    Readout("mean_row_sum_theory", "Mean row sum in theory", lambda s, r: expected(s)),
]  # fmt: skip

SCENES = {
    "The book's printed mask": {"draws": 0},
    "GPT's rate, 0.1": {"p": 0.1},
    "p = 0.5, ten thousand draws": {},
    "Without rescaling": {"rescale": False},
}


def app() -> Figure:
    """Return the figure."""
    return Figure(
        State, compute, PANELS, READOUTS,
        title="A row may sum to zero or to two; only the average keeps its word",
        sentence=sentence, how=how, scenes=SCENES, code=code, inputs=("p", "rescale", "seed", "draws"),
        layout='"main side" "primary primary" "how how" / 3fr 2fr',
    )  # fmt: skip


if pn.state.served:
    app().servable()
