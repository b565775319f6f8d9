"""Figure 2: divide by √d_k."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, NamedTuple

import numpy as np
import panel as pn
import param

from attention_core import largest_jacobian_entry, sample_scores, softmax, softmax_jacobian
from figures.shared.card import Card, Table, html, panel, scale
from figures.shared.charts import Chart, mark, power_of_ten, wide
from figures.shared.controls import button, number, segmented, slider, switch
from figures.shared.heatmap import Cells, Heatmap
from figures.shared.jobs import Job
from figures.shared.palette import diverging, sequential
from figures.shared.readouts import Readout, fixed, numbers, scientific
from figures.shared.selection import offer, row_and_column
from figures.shared.state import FigureState
from figures.shared.styles import CHIP, CONTROL, STEPPER

WIDTHS = [1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512, 768, 1024, 2048, 4096]
MOST_KEYS, MOST_DRAWS = 16, 2000
LARGEST = 0.25  # no entry of a softmax's Jacobian is larger
LIVE = LARGEST / 1000  # a draw is live while its largest entry exceeds this

EXPERIMENTS = 100  # repeated for the band
FEWEST = 20  # experiments before there is a band
NUMBERS_AT_ONCE = 200_000  # random numbers drawn in one step of the work: a few milliseconds
EXPERIMENTS_AT_ONCE = 60_000  # the same for the band, whose numbers cost more

UNDIVIDED, DIVIDED = "#aa4499", "#8a8a2f"  # far apart for every kind of colour vision
DIVISORS = {"one": "1", "sqrt": "√d_k", "dk": "d_k"}
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


class State(FigureState):
    """What the reader can set; each parameter but the cell is a key of the query string."""

    d_k = param.Selector(default=64, objects=WIDTHS)
    divisor = param.Selector(default="one", objects=list(DIVISORS))
    keys = param.Integer(default=6, bounds=(2, MOST_KEYS))
    draws = param.Integer(default=400, bounds=(100, MOST_DRAWS))
    seed = param.Integer(default=1, bounds=(0, 2**32 - 1))
    draw = param.Integer(default=1, bounds=(1, MOST_DRAWS), precedence=1)  # read after draws, which bound it
    exact = param.Boolean(default=False)
    cell = param.NumericTuple(default=(1, 1), length=2, precedence=-1, doc="Of the Jacobian; not in a link.")

    def read(self, key: str, text: str, before: dict[str, Any]) -> tuple[Any, str]:
        """Return the value a text stands for; no draw is shown that was not made."""
        value, note = super().read(key, text, before)
        if key == "draw" and value > before["draws"]:
            return before["draws"], f"draw={value} was moved to {before['draws']}"
        return value, note

    @param.depends("draws", "draw", watch=True)
    def _draw_exists(self) -> None:
        self.draw = min(self.draw, self.draws)

    @param.depends("keys", watch=True)
    def _cell_exists(self) -> None:
        self.cell = tuple(min(place, self.keys) for place in self.cell)

    def divisor_at(self, d_k: int) -> float:
        """Return the chosen divisor at some width."""
        return {"one": 1.0, "sqrt": math.sqrt(d_k), "dk": float(d_k)}[self.divisor]


class Measured(NamedTuple):
    """What one experiment shows at one width. Entries are the draws' largest ones of the Jacobian."""

    sd: float
    median: float
    mean: float
    median_divided: float


class Experiment:
    """All draws at one width, made a few at a time: the stream of numbers is the same however it is cut.

    Parameters
    ----------
    d_k, keys, draws, seed : int
        The set-up. Every width starts the stream of the seed anew.
    exact : bool
        Whether vectors and their dot products are formed.
    """

    def __init__(self, d_k: int, keys: int, draws: int, seed: int, exact: bool) -> None:
        self._d_k = d_k
        self._exact = exact
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
        entries = largest_jacobian_entry(self.scores)
        divided = largest_jacobian_entry(self.scores / math.sqrt(self._d_k))
        return Measured(
            float(self.scores.std()), float(np.median(entries)), float(entries.mean()), float(np.median(divided))
        )


class Band:
    """Where the median lies in 5 to 95 % of repeated experiments, at every width, with and without divisor.

    The experiments follow each other in the stream of the seed. They use the law of the scores, also where
    the figure forms real dot products: that these fall into the band is the proof of the shortcut.
    """

    def __init__(self, keys: int, draws: int, seed: int) -> None:
        self._keys = keys
        self._draws = draws
        self._rngs = [np.random.default_rng(seed) for _ in WIDTHS]
        self._medians = np.zeros((EXPERIMENTS, len(WIDTHS), 2))
        self.done = 0

    def work(self) -> Iterator[None]:
        """Repeat the experiment, some times at each width in turn."""
        at_once = max(1, EXPERIMENTS_AT_ONCE // (self._draws * (1 + 2 * self._keys)))
        while self.done < EXPERIMENTS:
            count = min(at_once, EXPERIMENTS - self.done)
            for index, d_k in enumerate(WIDTHS):
                scores = sample_scores(self._rngs[index], d_k, self._keys, count * self._draws)
                scores = scores.reshape(count, self._draws, self._keys)
                for column, divisor in enumerate((1.0, math.sqrt(d_k))):
                    medians = np.median(largest_jacobian_entry(scores / divisor), axis=1)
                    self._medians[self.done : self.done + count, index, column] = medians
                yield
            self.done += count

    def limits(self) -> np.ndarray:
        """Return the ends of the band, shape (2, widths, 2): low and high, by width, for divisor 1 and √d_k."""
        return np.quantile(self._medians[: self.done], [0.05, 0.95], axis=0)


class Study:
    """One experiment at every width, and the band, for one set-up."""

    def __init__(self, keys: int, draws: int, seed: int, exact: bool, band: Band) -> None:
        self._set_up = keys, draws, seed, exact
        self._experiments: dict[int, Experiment] = {}
        self.measured: dict[int, Measured] = {}
        self.band = band
        self.first = WIDTHS[0]  # the width the reader waits for

    def experiment(self, d_k: int) -> Experiment:
        """Return the experiment at one width; one that was let go is made again."""
        if d_k not in self._experiments:
            self._experiments[d_k] = Experiment(d_k, *self._set_up)
            while d_k in self.measured and not self._experiments[d_k].complete:
                self._experiments[d_k].go_on()
        return self._experiments[d_k]

    def lighten(self, d_k: int) -> None:
        """Let go of the draws at every other width."""
        self._experiments = {d_k: self.experiment(d_k)}

    def go_on(self, d_k: int) -> None:
        """Make some more draws at one width."""
        experiment = self.experiment(d_k)
        experiment.go_on()
        if experiment.complete:
            self.measured[d_k] = experiment.measure()

    def work(self) -> Iterator[None]:
        """Do what is missing: the width the reader waits for, the others, the band."""
        while missing := [d_k for d_k in WIDTHS if d_k not in self.measured]:
            self.go_on(self.first if self.first in missing else missing[0])
            yield
        yield from self.band.work()


def relative_error(d_k: int, keys: int, draws: int) -> float:
    """Return the standard error of the measured standard deviation, as a share of it.

    The scores of one draw share a query and are not independent, so the draws count: the mean square of a
    draw's scores has the relative variance (1 + 2/d_k)(1 + 2/n) - 1, and a root halves a relative error.
    """
    return math.sqrt(((1 + 2 / d_k) * (1 + 2 / keys) - 1) / draws) / 2


class Scaling(Card):
    """Scores, weights and gradients of random queries and keys, at every width."""

    number = 2
    heading = "Without the divisor the typical gradient dies, and a lucky few keep the mean up"
    prompt = "Raise d_k with divisor 1 and watch the median; then divide by √d_k."
    state_class = State
    view_keys = ("draw",)
    scenes: Mapping[str, Mapping[str, Any]] = {
        "d_k = 2": {"d_k": 2},
        "GPT-2's 64": {"d_k": 64},
        # Draw 2 is a typical one: its largest entry is near the median.
        "768 with no divisor": {"d_k": 768, "draw": 2},
        "4096: the gradient is gone": {"d_k": 4096, "draw": 2},
        "4096, scaled": {"d_k": 4096, "divisor": "sqrt", "draw": 2},
    }

    def __init__(self, **params: Any) -> None:
        self._job = Job(self._found)
        self._band_of: tuple[int, ...] = ()
        self._study_of: tuple[int, ...] = ()
        super().__init__(**params)

    def controls(self) -> list[Any]:
        p = self.state.param
        self._draw_control = slider(p.draw, "Draw", values=range(1, MOST_DRAWS + 1))
        self._cell_controls = row_and_column(self.state, self._keys, self._keys)
        return [
            slider(p.d_k, "d_k", values=WIDTHS),
            segmented(p.divisor, "Divisor", {label: value for value, label in DIVISORS.items()}),
            slider(p.keys, "Keys"),
            slider(p.draws, "Draws", values=range(100, MOST_DRAWS + 1, 100)),
            self._draw_control,
            self._cell_controls,
            pn.Row(
                number(p.seed, "Seed"),
                button("Resample", self._resample, stylesheets=[CONTROL, CHIP]),
                stylesheets=[STEPPER],
                margin=0,
            ),
            switch(p.exact, "Form real dot products"),
        ]

    def _resample(self) -> None:
        self.state.seed = (self.state.seed + 1) % 2**32

    def panels(self) -> list[Any]:
        self._weights = Chart(
            "The softmax weights of one draw, a bar for each key",
            x=(0.4, 6.6), y=(0, 1.02), x_label="key", y_label="weight",
            x_ticks={i: str(i) for i in range(1, MOST_KEYS + 1)}, y_ticks={i / 4: f"{i / 4:g}" for i in range(5)},
            height="calc(100cqi - 8px)",
        )  # fmt: skip
        self._weight_bars, self._weight_frames = self._weights.bars(), self._weights.frames()
        self._jacobian = Heatmap([], [], "The Jacobian of this softmax, a row and a column for each key", self._select)
        self._jacobian.plot.xaxis.major_label_orientation = "horizontal"
        self._jacobian.plot.update(min_border_left=30, min_border_top=26)  # room for numbers, not for tokens
        self._spread_panel()
        self._entries_panel()
        self._weights_caption, self._jacobian_caption, self._spread_caption, self._entries_caption = (
            html("") for _ in range(4)
        )
        return [
            panel(self._weights.pane, self._weights_caption),
            panel(self._jacobian.pane, self._jacobian_caption),
            panel(self._spread.pane, self._spread_caption),
            wide(self._entries.pane, self._entries_caption),
        ]

    def _spread_panel(self) -> None:
        self._spread = Chart(
            "Measured standard deviation of the scores against d_k, with the line √d_k; both axes logarithmic",
            x=(0.75, 5500), y=(0.75, 90), log="xy", x_label="d_k", y_label="standard deviation of q·k",
            x_ticks=_width_ticks(), y_ticks={2**i: str(2**i) for i in range(7)}, height="calc(100cqi - 8px)",
        )  # fmt: skip
        self._spread_here = self._spread.rule(1, across="height", dash="dotted")
        ends = [WIDTHS[0], WIDTHS[-1]]
        self._spread.line().show(x=ends, y=np.sqrt(ends))
        self._spread_errors = self._spread.whiskers(UNDIVIDED)
        self._spread_dots = self._spread.dots(UNDIVIDED, size=6)

    def _entries_panel(self) -> None:
        self._entries = Chart(
            "Median and mean of the largest entry of the Jacobian against d_k; both axes logarithmic",
            x=(0.85, 5500), y=(1e-16, 1), log="xy", x_label="d_k", y_label="largest entry of the Jacobian",
            x_ticks=_width_ticks(), y_ticks={10.0**e: power_of_ten(e) for e in range(-60, 1, 4)},
            height="clamp(290px, 40cqi, 420px)",
        )  # fmt: skip
        self._entries_here = self._entries.rule(1, across="height", dash="dotted")
        self._bands = [self._entries.band(UNDIVIDED), self._entries.band(DIVIDED)]
        looks = [(UNDIVIDED, "circle", 7, False), (UNDIVIDED, "diamond", 11, True), (DIVIDED, "square", 7, False)]
        self._curves = [
            (self._entries.line(colour, width=1), self._entries.dots(colour, marker=marker, size=size, hollow=hollow))
            for colour, marker, size, hollow in looks
        ]

    def compute(self) -> None:
        s = self.state
        band_of = (s.keys, s.draws, s.seed)
        study_of = (*band_of, s.exact)
        if band_of != self._band_of:
            self._band_of, self._band = band_of, Band(*band_of)
        if study_of != self._study_of:
            self._study_of, self._study = study_of, Study(*study_of, self._band)
            self._study.go_on(s.d_k)
            self._study.first = s.d_k
            self._job.start(self._study.work())
        self._study.first = s.d_k
        if not self._experiment.done:
            self._study.go_on(s.d_k)
        self._look()

    @property
    def _keys(self) -> list[str]:
        """The names along the sides of the Jacobian."""
        return [str(i) for i in range(1, self.state.keys + 1)]

    @property
    def _experiment(self) -> Experiment:
        return self._study.experiment(self.state.d_k)

    def lighten(self) -> None:
        """Let go of the draws that are not on screen: they can be made again from the seed."""
        if self._experiment.complete:
            self._study.lighten(self.state.d_k)

    def _look(self) -> None:
        """Take the readings from the draws made so far."""
        d_k, scores = self.state.d_k, self._experiment.scores
        self.divisor = self.state.divisor_at(d_k)
        self.measured = self._study.measured.get(d_k) or self._experiment.measure()
        self.entries = largest_jacobian_entry(scores)
        self.median = float(np.median(largest_jacobian_entry(scores / self.divisor)))
        self.shown = min(self.state.draw, len(scores))
        self.scores = scores[self.shown - 1]
        self.weights = softmax(self.scores / self.divisor)
        self.jacobian = softmax_jacobian(self.weights)
        # 1 − p of each key, added up from the others: a difference would lose it where p is close to 1.
        self._rests = [float(np.delete(self.weights, i).sum()) for i in range(len(self.weights))]
        gaps = np.sort(self.scores / self.divisor)
        self.others = float(np.exp(gaps[:-1] - gaps[-1]).sum())  # relative to the largest exponential
        self._looked_at = len(scores)
        self._complete = self._experiment.complete

    def _found(self) -> None:
        """Show what the job has found since: new draws at the chosen width change all, others the curves."""
        if self._looked_at < self._experiment.done:
            self._look()
            self.refresh()
        else:
            self._draw_curves()

    def readouts(self) -> list[Readout]:
        s, m = self.state, self.measured
        share, top, root = float((self.entries > LIVE).mean()), float(self.weights.max()), math.sqrt(s.d_k)
        named = f"divisor {DIVISORS[s.divisor]}"
        measured = [
            Readout("score_sd", "Spread of q·k (sd)", m.sd, fixed(m.sd, 3), f"theory {root:.3f}"),
            Readout("jacobian_median", "Median entry, divisor 1", m.median, small(m.median), "of at most 0.25"),
            Readout("jacobian_mean", "Mean entry, divisor 1", m.mean, small(m.mean), "held up by the tail"),
            Readout("live_share", "Draws still live", share, f"{100 * share:.1f} %", "entry above 0.00025"),
            Readout("jacobian_median_scaled", "Median entry, divisor √d_k", m.median_divided, small(m.median_divided)),
            Readout("jacobian_chosen", "Median entry, chosen divisor", self.median, small(self.median), named),
        ]  # fmt: skip
        if not self._complete:
            made = f"{self._looked_at} of {s.draws} draws so far"
            measured = [readout._replace(beside=made, partial=True) for readout in measured]
        return [
            *measured,
            Readout("top_weight", "Top weight", top, self._top_text(), f"draw {self.shown}, {named}"),
            Readout("score_sd_theory", "√d_k", root, fixed(root, 3), "the spread in theory"),
        ]  # fmt: skip

    def _top_text(self) -> str:
        """Return the largest weight; where four decimals would make it 1, say what is missing."""
        missing = self.others / (1 + self.others)
        return fixed(1 / (1 + self.others)) if missing >= 5e-5 else f"1 − {scientific(missing)}"

    def summary(self) -> str:
        s, m = self.state, self.measured
        if not self._complete:
            return f"Real dot products are being formed at d_k = {s.d_k}."
        share = float((self.entries > LIVE).mean())
        compared = f"undivided it would be {small(m.median)}"
        if s.divisor == "one":
            compared = f"{100 * share:.0f} % of the draws are still live; by √d_k it would be {small(m.median_divided)}"
        return (
            f"d_k = {s.d_k}, {s.keys} keys, {s.draws} draws: the scores spread by {m.sd:.3g} where theory says "
            f"{math.sqrt(s.d_k):.3g}. With divisor {DIVISORS[s.divisor]} the median of the largest Jacobian entry is "
            f"{small(self.median)}; {compared}."
        )

    def explanation(self) -> str:
        left, *right = self._how_entry(*self._cell).split(" = ")
        return f'<div class="how">{"<br>= ".join([f"{left} = {right[0]}", *right[1:]])}</div>'

    def remark(self) -> str:
        divisor = DIVISORS[self.state.divisor]
        by = divisor if self.state.divisor == "one" else f"{divisor} = {self.divisor:.4g}"
        entry = float(largest_jacobian_entry(self.scores / self.divisor))
        return (
            f'<div class="how">draw {self.shown}: q·k = {escape(numbers(self.scores, 2))}<br>'
            f"weights = softmax(q·k / {by}); the largest is 1 / (1 + r) = {self._top_text()}, "
            f"with r = {small(self.others)} from the other keys<br>"
            f"largest entry of the Jacobian = r / (1 + r)² = {small(entry)}</div>"
        )

    def _how_entry(self, i: int, j: int) -> str:
        """Return how an entry of the Jacobian is computed."""
        row, column = (str(place + 1).translate(_LOWERED) for place in (i, j))
        own, entry = self._weight_text(i), small(float(self.jacobian[i, j]))
        if i == j:
            formula, product = f"p{row} (1 − p{row})", f"{own} · {small(self._rests[i])}"
        else:
            formula, product = f"p{row} (0 − p{column})", f"{own} · (0 − {self._weight_text(j)})"
        return f"∂p{row}/∂s{column} = {formula} = {product} = {entry}"

    def _weight_text(self, i: int) -> str:
        """Return a weight; where decimals would make it 1, say in brackets what is missing."""
        rest = self._rests[i]
        return f"(1 − {scientific(rest)})" if 0 < rest < 5e-5 else small(float(self.weights[i]))

    def tables(self) -> list[Table]:
        names = [f"key {i}" for i in self._keys]
        measured = self._study.measured
        done = [d_k for d_k in WIDTHS if d_k in measured]
        rows = np.array([[measured[d].sd, math.sqrt(d), *measured[d][1:]] for d in done])
        columns = ["sd of q·k", "√d_k", "median, divisor 1", "mean, divisor 1", "median, divisor √d_k"]
        if self._band.done >= FEWEST and len(done) == len(WIDTHS):
            rows = np.hstack([rows, *np.moveaxis(self._band.limits(), 2, 0).transpose(0, 2, 1)])
            columns += [f"{end} % of medians, divisor {divisor}" for divisor in ("1", "√d_k") for end in (5, 95)]
        draw = np.column_stack([self.scores, self.scores / self.divisor, self.weights])
        return [
            Table("Largest Jacobian entries by d_k", [f"d_k = {d_k}" for d_k in done], columns, rows),
            Table(f"Draw {self.shown}", names, ["q·k", "divided", "weight"], draw),
            Table(f"Jacobian of draw {self.shown}", names, names, self.jacobian),
        ]

    def draw(self) -> None:
        self._draw_control[0].end = self.state.draws - 1
        self._draw_control[1].high = self.state.draws
        offer(self._cell_controls, self.state.cell, self._keys, self._keys)
        self._draw_weights()
        self._draw_jacobian()
        self._draw_curves()

    def _draw_weights(self) -> None:
        n = len(self.weights)
        self._weights.plot.x_range.end = n + 0.6
        self._weight_bars.show(
            at=range(1, n + 1),
            end=self.weights,
            colour=sequential(self.weights, 0, 1),
            how=[
                f"key {i}: {fixed(float(score), 2)} / {self.divisor:.4g} → weight {small(float(weight))}"
                for i, (score, weight) in enumerate(zip(self.scores, self.weights, strict=True), 1)
            ],
        )
        sources = sorted(set(self._cell))
        self._weight_frames.show(at=[i + 1 for i in sources], end=self.weights[sources])
        self._weights_caption.object = _caption(
            f"<b>Weights of draw {self.shown}</b>, softmax(q·k / {DIVISORS[self.state.divisor]}) over {n} keys"
        )

    def _draw_jacobian(self) -> None:
        n = len(self.jacobian)
        self._jacobian.rename(self._keys, self._keys)
        hows = [self._how_entry(i, j) for i, j in np.ndindex(n, n)]
        texts = [_short(float(entry)) if n <= 6 else "" for entry in self.jacobian.ravel()]
        self._jacobian.draw(Cells(self.jacobian, diverging(self.jacobian, LARGEST), hows, texts=texts), self._cell)
        key = scale("", diverging(np.linspace(-LARGEST, LARGEST, 9), LARGEST), "−0.25", "0.25")
        self._jacobian_caption.object = (
            _caption(f"<b>Its Jacobian</b>, {n} × {n}: how weight i answers to score j, p_i (δ_ij − p_j){key}")
            + self.explanation()
        )

    def _draw_curves(self) -> None:
        s = self.state
        done = [d_k for d_k in WIDTHS if d_k in self._study.measured]
        measured = [self._study.measured[d_k] for d_k in done]
        self._spread_here.location = self._entries_here.location = s.d_k
        self._draw_spread(done, np.array([m.sd for m in measured]))
        for name, (line, dots), values in zip(
            ("median, divisor 1", "mean, divisor 1", "median, divisor √d_k"),
            self._curves,
            ([m.median for m in measured], [m.mean for m in measured], [m.median_divided for m in measured]),
            strict=True,
        ):
            hows = [f"d_k = {d_k}: {name}, {small(value)}" for d_k, value in zip(done, values, strict=True)]
            line.show(x=done, y=values)
            dots.show(x=done, y=values, how=hows)
        self._draw_band(min((m.median for m in measured), default=1.0))

    def _draw_spread(self, done: list[int], sds: np.ndarray) -> None:
        s = self.state
        errors = np.array([2 * relative_error(d_k, s.keys, s.draws) for d_k in done])
        self._spread_errors.show(x=done, low=sds * (1 - errors), high=sds * (1 + errors))
        hows = [
            f"d_k = {d_k}: {sd:.4g} ± {100 * error:.1f} %, theory {math.sqrt(d_k):.4g}"
            for d_k, sd, error in zip(done, sds.tolist(), errors.tolist(), strict=True)
        ]
        self._spread_dots.show(x=done, y=sds, how=hows)
        how = "of real dot products" if s.exact else "of q·k"
        self._spread_caption.object = _caption(
            f"<b>Spread {how}</b>, {mark(UNDIVIDED, '●', 'measured')} with ± 2 standard errors, on the line √d_k; "
            "the draws count, not the scores: those of one draw share their query"
        )

    def _draw_band(self, lowest: float) -> None:
        done = self._band.done
        if done >= FEWEST:
            low, high = self._band.limits()
            for column, layer in enumerate(self._bands):
                layer.show(x=WIDTHS, low=low[:, column], high=high[:, column])
            lowest = float(low.min())
        else:
            for layer in self._bands:
                layer.clear()
        self._entries.plot.y_range.start = min(1e-16, 10.0 ** math.floor(math.log10(lowest)))
        told = f"{done} of {EXPERIMENTS}" if done < EXPERIMENTS else f"{done}"
        key = " · ".join(
            [
                mark(UNDIVIDED, "●", "median, divisor 1"),
                mark(UNDIVIDED, "◇", "mean, divisor 1"),
                mark(DIVIDED, "■", "median, divisor √d_k"),
            ]
        )
        self._entries_caption.object = _caption(
            f"<b>Largest entry of the Jacobian</b> in {self.state.draws} draws: {key}. "
            f"Bands: 5 – 95 % of the median over repeated experiments ({told} done)"
            + (", drawn by the shortcut; the dots are real dot products" if self.state.exact else "")
        )


def small(value: float) -> str:
    """Return a number that may be tiny: four decimals, or a power of ten below a thousandth."""
    return fixed(value) if value == 0 or abs(value) >= 1e-3 else scientific(value)


def _short(value: float) -> str:
    """Return a number that fits into a cell: three decimals, or the nearest power of ten below a thousandth."""
    if value == 0 or abs(value) >= 1e-3:
        return fixed(value, 3)
    return ("−" if value < 0 else "") + power_of_ten(round(math.log10(abs(value))))


def _caption(text: str) -> str:
    return f'<div class="caption">{text}</div>'


def _width_ticks() -> dict[float, str]:
    return {4**i: str(4**i) for i in range(7)}


def app() -> Scaling:
    """Return the figure."""
    return Scaling()


if pn.state.served:
    app().servable()
