"""Figure 4: the row that sums to zero."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

import numpy as np
import panel as pn
import param

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
from figures.shared.card import Card, Table, html, panel, scale
from figures.shared.charts import Chart, mark, wide
from figures.shared.controls import Button, button, number, slider, switch
from figures.shared.heatmap import HEIGHT, LEFT, TOP, Cells, Heatmap
from figures.shared.jobs import Job
from figures.shared.palette import sequential
from figures.shared.readouts import Readout, fixed, numbers
from figures.shared.selection import row_and_column
from figures.shared.state import FigureState
from figures.shared.styles import BUSY, CHIP, CONTROL, PROGRESS, RUN, STEPPER

N = len(TOKENS)
MANY = 10_000
RATES = [i / 20 for i in range(19)] + [1.0]
LARGEST_RATE = RATES[-2]  # below 1, where there is something to divide by
SHOWN = (0.0, 2.0)  # scale of the weights, before and after

VISIBLE = causal_mask(N)
_q, _k, VALUES = project(EMBEDDINGS, section_3_5())
WEIGHTS = mask_before_softmax(scores(_q, _k), VISIBLE, divisor=math.sqrt(_k.shape[1]))

# The run is shown after 1, 2, 3, … draws, then ten times in each factor of ten.
STOPS = np.unique(np.geomspace(1, MANY, 41).round().astype(int)).tolist()

MEASURED = "#aa4499"


class State(FigureState):
    """What the reader can set; each parameter but the cell is a key of the query string."""

    p = param.Number(default=0.5, bounds=(0, 1))
    rescale = param.Boolean(default=True)
    seed = param.Integer(default=123, bounds=(0, 2**32 - 1))
    draws = param.Selector(default=0, objects=[0, MANY])
    cell = param.NumericTuple(default=(1, 1), length=2, precedence=-1, doc="Of both heatmaps; not in a link.")

    def read(self, key: str, text: str, before: dict[str, Any]) -> tuple[Any, str]:
        """Return the value a text stands for; a rate between 0.9 and 1 moves to the nearer of them."""
        value, note = super().read(key, text, before)
        if key == "p" and value != allowed(value):
            return allowed(value), f"p={value:g} was moved to {allowed(value):g}"
        return value, note

    @param.depends("p", watch=True)
    def _rate_is_allowed(self) -> None:
        self.p = allowed(self.p)


def allowed(p: float) -> float:
    """Return the allowed rate that is nearest: up to 0.9, or 1."""
    return p if p <= LARGEST_RATE or p == 1 else LARGEST_RATE if p < (1 + LARGEST_RATE) / 2 else 1.0


class Run:
    """Draws of dropout on the causal weights, one after the other from one generator.

    Parameters
    ----------
    p : float
        Probability that a weight is dropped.
    rescale : bool
        Whether the survivors are divided by 1 - p.
    seed : int
        Seed of PyTorch's generator.
    """

    def __init__(self, p: float, rescale: bool, seed: int) -> None:
        self._p = p
        self._rescale = rescale
        self._generator = TorchGenerator(seed)
        self._row_sums = np.zeros((MANY, N))  # not left empty: what lies there would be saved with it
        self.done = 0
        self.keep = self._draw(1)[0]
        self.dropped = inverted_dropout(WEIGHTS, self.keep, p, rescale=rescale)

    def _draw(self, count: int) -> np.ndarray:
        keep = self._generator.dropout_keep((count, N, N), self._p)
        sums = inverted_dropout(WEIGHTS, keep, self._p, rescale=self._rescale).sum(axis=-1)
        self._row_sums[self.done : self.done + count] = sums
        self.done += count
        return keep

    def work(self) -> Iterator[None]:
        """Go on until all draws are made, with a stop wherever there is something to show."""
        for stop in STOPS:
            if stop > self.done:
                self._draw(stop - self.done)
                yield

    @property
    def row_sums(self) -> np.ndarray:
        """Row sums of the draws made so far, shape (done, n)."""
        return self._row_sums[: self.done]

    @property
    def dead_share(self) -> np.ndarray:
        """Share of the draws in which nothing is left of a row, shape (n,)."""
        return (self.row_sums == 0).mean(axis=0)

    @property
    def running_mean(self) -> np.ndarray:
        """Mean over rows and draws after each draw, shape (done,)."""
        return np.cumsum(self.row_sums.mean(axis=1)) / np.arange(1, self.done + 1)


class Dropout(Card):
    """One draw of dropout on the causal weights, and what holds over ten thousand."""

    number = 4
    heading = "A row may sum to zero or to two; only the average keeps its word"
    prompt = "Look at the row sums of one draw, then run ten thousand."
    state_class = State
    scenes: Mapping[str, Mapping[str, Any]] = {
        "The book's printed mask": {},
        "GPT's rate, 0.1": {"p": 0.1},
        "p = 0.5, ten thousand draws": {"draws": MANY},
        "Without rescaling": {"rescale": False},
    }

    def __init__(self, **params: Any) -> None:
        self._job = Job(self.refresh, slice=0, pause=0)
        self._run_of: tuple[Any, ...] = ()
        super().__init__(**params)

    def controls(self) -> list[Any]:
        p = self.state.param
        look = [CONTROL, CHIP, BUSY]
        self._run_button: Button = button(f"Run {MANY:,} draws", self._begin, stylesheets=look)
        self._cancel_button: Button = button("Cancel", self._cancel, stylesheets=look)
        self._progress = html("", PROGRESS)
        resample = button("Resample", self._resample, stylesheets=[CONTROL, CHIP])
        return [
            slider(p.p, "p", values=RATES, text="{:g}".format),
            switch(p.rescale, "Rescale survivors"),
            row_and_column(self.state, TOKENS, TOKENS),
            pn.Row(number(p.seed, "Seed"), resample, stylesheets=[STEPPER], margin=0),
            pn.Row(self._run_button, self._cancel_button, self._progress, stylesheets=[STEPPER, RUN], margin=0),
        ]

    def _resample(self) -> None:
        self.state.seed = (self.state.seed + 1) % 2**32

    def _begin(self) -> None:
        if self._job.running:
            return
        self._run_of = ()  # a run that is over starts again
        if self.state.draws == MANY:
            self._changed()
        else:
            self.state.draws = MANY

    def _cancel(self) -> None:
        if self._job.running:
            self.state.draws = 0

    def panels(self) -> list[Any]:
        self._before = Heatmap(TOKENS, TOKENS, "The causal attention weights before dropout, 6 by 6", self._select)
        self._after = Heatmap(TOKENS, TOKENS, "The weights after one draw of dropout, 6 by 6", self._select)
        self._before_caption, self._after_caption, self._sums_caption, self._mean_caption, self._dead_caption = (
            html("") for _ in range(5)
        )
        self._sums_panel()
        self._mean_panel()
        self._dead_panel()
        return [
            panel(self._before.pane, self._before_caption),
            panel(self._after.pane, self._after_caption),
            panel(self._sums.pane, self._sums_caption),
            wide(self._mean.pane, self._mean_caption, beside=True),
            panel(self._dead.pane, self._dead_caption),
        ]

    def _sums_panel(self) -> None:
        # Rows at the height of the heatmaps' rows, which stand beside.
        self._sums = Chart(
            "Row sums after this draw, a bar for each row, against 1",
            x=(0, 2.2), y=(N, 0), x_label="row sum", height=HEIGHT, x_axis_location="above",
            x_ticks={i: str(i) for i in range(11)}, y_ticks={i + 0.5: token for i, token in enumerate(TOKENS)},
            min_border_left=LEFT, min_border_top=TOP, min_border_bottom=2,
        )  # fmt: skip
        self._sum_bars = self._sums.bars(along="y", thickness=0.45)
        self._sums.rule(1, across="height")
        self._expected = self._sums.rule(1, across="height", dash="dashed")

    def _mean_panel(self) -> None:
        self._mean = Chart(
            "Running mean of the row sums against the number of draws, with the band of two standard deviations",
            x=(0.85, 1.2 * MANY), y=(0, 2), log="x", x_label="draws", y_label="mean row sum",
            x_ticks={10**e: f"{10**e:,}" for e in range(5)}, y_ticks={i / 2: f"{i / 2:g}" for i in range(5)},
            height="clamp(250px, 42cqi, 299px)",
        )  # fmt: skip
        self._mean_band = self._mean.band()
        self._mean_theory = self._mean.line()
        self._mean_line = self._mean.line(MEASURED, width=1)
        self._mean_dots = self._mean.dots(MEASURED, size=5)

    def _dead_panel(self) -> None:
        self._dead = Chart(
            "Share of the draws in which a row is all zeros, by row, against p to the power of the row's number",
            x=(0.6, N + 0.4), y=(-0.02, 1.02), x_label="row", y_label="share of draws",
            x_ticks={i: str(i) for i in range(1, N + 1)}, y_ticks={i / 4: f"{i / 4:g}" for i in range(5)},
        )  # fmt: skip
        self._dead_band = self._dead.band()
        self._dead_theory = self._dead.line()
        self._dead_dots = self._dead.dots(MEASURED)

    def compute(self) -> None:
        s = self.state
        run_of = (s.p, s.rescale, s.seed, s.draws)
        if run_of == self._run_of:
            return
        self._run_of = run_of
        self.run = Run(*run_of[:3])
        if s.draws:
            self._job.start(self.run.work())
        else:
            self._job.cancel()

    @property
    def _theory(self) -> float:
        """The expected row sum."""
        return 0.0 if self.state.p == 1 else 1.0 if self.state.rescale else 1 - self.state.p

    @property
    def _factor(self) -> float | None:
        return None if self.state.p == 1 else 1 / (1 - self.state.p)

    def _mean_sd(self, draws: Any) -> Any:
        """Return the standard deviation of the mean over all rows of so many draws."""
        of_rows = row_sum_std(WEIGHTS, self.state.p, rescale=self.state.rescale)
        return np.sqrt(np.square(of_rows).sum() / draws) / N

    def readouts(self) -> list[Readout]:
        run, s, partial = self.run, self.state, self._job.running
        sums, dead = run.row_sums[0], run.dead_share
        first = run.dropped[0] @ VALUES
        kept, visible = int(run.keep[VISIBLE].sum()), int(VISIBLE.sum())
        mean, sd = run.row_sums.mean(), float(self._mean_sd(run.done))
        factor = "none" if self._factor is None else f"{self._factor:.4f}".rstrip("0").rstrip(".")
        beside = "nothing to divide" if self._factor is None else "1 / (1 − p)" if s.rescale else "not applied"
        theory = f"theory {self._theory:.4g}" + (f" ± {2 * sd:.4f}" if sd else "")
        return [
            Readout("kept", "Weights kept", kept, f"{kept}", f"of {visible}, at rate {1 - s.p:.3g}"),
            Readout("factor", "Factor on survivors", self._factor, factor, beside),
            Readout("mean_row_sum", "Mean row sum", mean, fixed(mean), theory, partial=partial),
            Readout("draws_done", "Draws done", run.done, f"{run.done:,}", f"from seed {s.seed}", partial=partial),
            Readout("row_sums", "Row sums of this draw", sums, numbers(sums), wide=True),
            Readout("dead_share", "Share of draws with an all-zero row, rows 1 – 6", dead, numbers(dead), wide=True),
            Readout("context_first_token", "Context vector of Your", first, numbers(first), wide=True),
            Readout("mean_row_sum_theory", "Mean row sum in theory", self._theory, fixed(self._theory), wide=True),
        ]

    def summary(self) -> str:
        s, run = self.state, self.run
        if self._job.running:
            return f"{MANY:,} draws at p = {s.p:g} are running."
        if s.p == 1:
            return "At p = 1 every weight is dropped: all rows are zeros by definition, and nothing is divided."
        if s.p == 0:
            return "At p = 0 nothing is dropped: the weights are unchanged, and every row sums to 1."
        if s.draws:
            return (
                f"After {run.done:,} draws at p = {s.p:g} the mean row sum is {fixed(run.row_sums.mean())}, "
                f"where theory says {self._theory:.4g} ± {2 * float(self._mean_sd(run.done)):.4f}; the first row "
                f"was all zeros in {100 * run.dead_share[0]:.1f} % of them."
            )
        sums = run.row_sums[0]
        dead = [str(i) for i, total in enumerate(sums, 1) if total == 0]
        gone = f"{'row' if len(dead) == 1 else 'rows'} {', '.join(dead)} sum{'s' if len(dead) == 1 else ''} to 0"
        scaled = f", each multiplied by {self._factor:.4g}" if s.rescale else " as they are"
        return (
            f"This draw keeps {int(run.keep[VISIBLE].sum())} of {int(VISIBLE.sum())} weights{scaled}: "
            f"{gone if dead else 'no row is all zeros'}, and the sums go up to {fixed(sums.max())}."
        )

    def explanation(self) -> str:
        row, column = (escape(TOKENS[place]) for place in self._cell)
        return f'<div class="how">{row} → {column}<br>{self._how_cell(*self._cell)}</div>'

    def remark(self) -> str:
        return f'<p class="line muted">{self._how_row_1()}</p>'

    def _how_cell(self, i: int, j: int) -> str:
        """Return how a weight after this draw is computed: weight × mask / (1 − p)."""
        if not VISIBLE[i, j]:
            return "0, hidden: the future has no weight"
        kept, weight, s = bool(self.run.keep[i, j]), fixed(float(WEIGHTS[i, j])), self.state
        divided = f" / (1 − {s.p:g})" if s.rescale and s.p < 1 else ""
        result = fixed(float(self.run.dropped[i, j]))
        return f"{weight} × {int(kept)}{divided} = {result}, {'kept' if kept else 'dropped'}"

    def _how_row_1(self) -> str:
        p, factor = self.state.p, self._factor
        if factor is None:
            return "p = 1: every weight is 0 by definition; 0 / (1 − p) is never formed."
        survivor = f"1 / (1 − {p:g}) = {factor:.4g}" if self.state.rescale else "1"
        return (
            f"Row 1 has one live weight, 1. Kept, it becomes {survivor}; dropped, the row is all "
            f"zeros, which happens with probability p = {p:g}. Row i has i live weights and dies with probability "
            f"p<sup>i</sup>. Here row 1 sums to {fixed(float(self.run.row_sums[0, 0]))}."
        )

    def tables(self) -> list[Table]:
        run, p = self.run, self.state.p
        stops = [stop for stop in STOPS if stop <= run.done]
        means = run.running_mean[np.array(stops) - 1]
        sds = self._mean_sd(np.array(stops))
        rows = np.column_stack([run.row_sums[0], run.dead_share, dead_row_probability(WEIGHTS, p)])
        return [
            Table("Weights before dropout", TOKENS, TOKENS, WEIGHTS),
            Table("Weights after this draw", TOKENS, TOKENS, run.dropped),
            Table("Rows", TOKENS, ["sum, this draw", "share all zero", "theory"], rows),
            Table(
                "Running mean of the row sums",
                [f"{stop:,} draws" for stop in stops],
                ["mean", "theory", "sd in theory"],
                np.column_stack([means, np.full(len(stops), self._theory), sds]),
            ),
        ]

    def draw(self) -> None:
        self._draw_progress()
        self._draw_weights()
        self._draw_sums()
        self._draw_mean()
        self._draw_dead()

    def _draw_progress(self) -> None:
        running = self._job.running
        self._run_button.html_attributes = {"data-aria-busy": _flag(running)}
        self._cancel_button.html_attributes = {"data-aria-disabled": _flag(not running)}
        done = self.run.done
        self._progress.object = (
            f'<span class="progress{"" if running else " idle"}"><progress max="{MANY}" value="{done}" '
            f'aria-label="Draws done"></progress>{done:,} of {MANY:,}</span>'
        )

    def _draw_weights(self) -> None:
        before, after = [], []
        for i, j in np.ndindex(N, N):
            pair = f"{TOKENS[i]} → {TOKENS[j]}"
            before.append(f"{pair}: {fixed(float(WEIGHTS[i, j])) if VISIBLE[i, j] else '0, hidden'}")
            after.append(f"{pair}: {self._how_cell(i, j)}")
        for heatmap, matrix, hows in ((self._before, WEIGHTS, before), (self._after, self.run.dropped, after)):
            cells = Cells(matrix, sequential(matrix, *SHOWN), hows, masked=~VISIBLE, masked_text="0")
            heatmap.draw(cells, self._cell)
        key = scale("", sequential(np.linspace(*SHOWN, 9), *SHOWN), *(f"{end:g}" for end in SHOWN))
        self._before_caption.object = _caption(f"<b>Causal weights</b>, 6 × 6: every row sums to 1{key}")
        self._after_caption.object = (
            _caption(f"<b>After this draw</b>, 6 × 6: {self._drawn()}{key}") + self.explanation()
        )

    def _drawn(self) -> str:
        s = self.state
        if s.p == 1:
            return "everything is dropped, so all is 0; there is no division by 1 − p"
        if s.p == 0:
            return "nothing is dropped"
        scaled = f"survivors × {self._factor:.4g}" if s.rescale else "survivors unchanged"
        book = "; the book’s printed mask (PyTorch with MKL on Intel prints another)"
        return scaled + (book if (s.p, s.seed) == (0.5, 123) else f"; the mask PyTorch draws from seed {s.seed}")

    def _draw_sums(self) -> None:
        sums = self.run.row_sums[0]
        self._sums.plot.x_range.end = max(2.2, 1.05 * float(sums.max()))
        hows = [
            f"row {i}, {token}: {fixed(float(total))}"
            for i, (token, total) in enumerate(zip(TOKENS, sums, strict=True), 1)
        ]
        self._sum_bars.show(at=np.arange(N) + 0.5, end=sums, colour=MEASURED, how=hows)
        self._expected.location = self._theory
        expected = "" if self._theory == 1 else f"; expected {self._theory:.4g}, dashed"
        self._sums_caption.object = _caption(f"<b>Row sums of this draw</b> against 1{expected}")

    def _draw_mean(self) -> None:
        run = self.run
        draws = np.geomspace(1, MANY, 61)
        sds = self._mean_sd(draws)
        self._mean_band.show(x=draws, low=self._theory - 2 * sds, high=self._theory + 2 * sds)
        self._mean_theory.show(x=[1, MANY], y=[self._theory] * 2)
        means = run.running_mean
        fine = np.unique(np.geomspace(1, run.done, 200).round().astype(int))
        self._mean_line.show(x=fine, y=means[fine - 1])
        stops = np.array([stop for stop in STOPS if stop <= run.done])
        hows = [f"{stop:,} draws: {fixed(float(means[stop - 1]))}" for stop in stops.tolist()]
        self._mean_dots.show(x=stops, y=means[stops - 1], how=hows)
        self._mean_caption.object = _caption(
            f"<b>Mean row sum so far</b>: {mark(MEASURED, '●', 'measured')} over rows and draws, "
            f"in the band of {self._theory:.4g} ± 2 standard deviations that theory gives"
        )

    def _draw_dead(self) -> None:
        run = self.run
        rows = np.arange(1, N + 1)
        theory = dead_row_probability(WEIGHTS, self.state.p)
        sd = np.sqrt(theory * (1 - theory) / run.done)
        self._dead_band.show(x=rows, low=np.clip(theory - 2 * sd, 0, 1), high=np.clip(theory + 2 * sd, 0, 1))
        self._dead_theory.show(x=rows, y=theory)
        hows = [
            f"row {i}: all zeros in {100 * share:.2f} % of {run.done:,}, theory {100 * expected:.2f} %"
            for i, share, expected in zip(rows.tolist(), run.dead_share.tolist(), theory.tolist(), strict=True)
        ]
        self._dead_dots.show(x=rows, y=run.dead_share, how=hows)
        draws = f"{run.done:,} draws" if run.done > 1 else "1 draw"
        self._dead_caption.object = _caption(
            f"<b>All-zero rows</b>: {mark(MEASURED, '●', f'share of {draws}')} against p<sup>i</sup>, "
            "in the band of ± 2 standard deviations"
        )


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _caption(text: str) -> str:
    return f'<div class="caption">{text}</div>'


def app() -> Dropout:
    """Return the figure."""
    return Dropout()


if pn.state.served:
    app().servable()
