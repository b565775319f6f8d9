"""Figure 2: divide by √d_k."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import panel as pn

from attention_core import softmax, softmax_jacobian
from figures.experiments import LARGEST, LIVE, WIDTHS, Measured, Study, relative_error
from figures.shared.charts import Chart, Layer, log
from figures.shared.controls import inline
from figures.shared.figure import Figure
from figures.shared.format import fixed, percent, power_of_ten, scientific
from figures.shared.panels import Drawing, Grid, Table, caption, columns
from figures.shared.readouts import Readout
from figures.shared.state import Cell, Choice, FigureState, Flag, Seed, Steps, Whole

MOST_KEYS, MOST_DRAWS = 16, 2000
KEYS = [str(i) for i in range(1, MOST_KEYS + 1)]
TYPICAL = 225  # a draw whose largest entry is near the median at every width

DIVISORS = {"one": "1", "sqrt": "√d_k", "dk": "d_k"}


class State(FigureState):
    """What the reader can set."""

    d_k = Steps(
        768, WIDTHS, label="d_k", place="primary", text="{:,}".format, places=tuple(math.log2(d) / 12 for d in WIDTHS)
    )
    divisor = Choice("one", DIVISORS, label="Divisor")
    keys = Whole(6, (2, MOST_KEYS), label="Keys", kind="slider")
    draws = Whole(400, (100, MOST_DRAWS), label="Draws", kind="slider", steps=tuple(range(100, MOST_DRAWS + 1, 100)))
    seed = Seed(1)
    draw = Whole(TYPICAL, (1, MOST_DRAWS), label="Draw", kind="slider")
    exact = Flag(False, label="Form real dot products")
    cell = Cell((3, 3), KEYS, KEYS, linked=False)

    study: Study | None = None  # the last one: what it has found is kept while its set-up stays

    def ends(self, key: str) -> tuple[int, int] | None:
        """No draw is shown that was not made."""
        return (1, self.draws) if key == "draw" else None

    def cell_sides(self) -> tuple[list[str], list[str]]:
        """The Jacobian has a row and a column for each key."""
        return KEYS[: self.keys], KEYS[: self.keys]

    def read(self, key: str, text: str, before: dict[str, Any]) -> tuple[Any, bool]:
        """Return the value a text stands for, and whether it was moved."""
        value, moved = super().read(key, text, before)
        return (before["draws"], True) if key == "draw" and value > before["draws"] else (value, moved)

    @classmethod
    def fit(cls, values: dict[str, Any], changed: set[str]) -> dict[str, Any]:  # noqa: ARG003
        """Return a state whose draw and whose entry of the Jacobian exist."""
        cell = tuple(min(place, values["keys"]) for place in values["cell"])
        return {**values, "draw": min(values["draw"], values["draws"]), "cell": cell}

    def divided_by(self, name: str) -> float:
        """Return what a divisor is at this width."""
        return {"one": 1.0, "sqrt": math.sqrt(self.d_k), "dk": float(self.d_k)}[name]

    @property
    def other(self) -> str:
        """The divisor that is set beside none."""
        return "dk" if self.divisor == "dk" else "sqrt"


class Look:
    """A study as it is now, at one width."""

    def __init__(self, study: Study, d_k: int) -> None:
        self.study, self._d_k = study, d_k
        self.experiment = study.experiment(d_k)
        self.done = self.experiment.done
        self.scores = self.experiment.scores

    @cached_property
    def measured(self) -> Measured:
        """What the draws show at this width."""
        return self.study.measured.get(self._d_k) or self.experiment.measure()

    @cached_property
    def curves(self) -> dict[int, Measured]:
        """What they show at every width that is done, in order."""
        return {d_k: self.study.measured[d_k] for d_k in WIDTHS if d_k in self.study.measured}

    @cached_property
    def band(self) -> np.ndarray | None:
        """The ends of the band, if there is one yet."""
        return self.study.band.limits()

    @property
    def partial(self) -> bool:
        """Whether draws are missing at this width."""
        return self._d_k not in self.study.measured

    def shown(self, s: State) -> int:
        """Return the number of the draw that is shown."""
        return min(s.draw, self.done)

    def row(self, s: State) -> np.ndarray:
        """Return the scores of that draw, shape (keys,)."""
        return self.scores[self.shown(s) - 1]

    def weights(self, s: State, name: str = "") -> np.ndarray:
        """Return its weights with the chosen divisor, or with another, shape (keys,)."""
        return softmax(self.row(s) / s.divided_by(name or s.divisor))

    def lighten(self, s: State) -> None:  # noqa: ARG002
        """Let go of what can be made again."""
        if self.experiment.complete:
            self.study.keep_only(self._d_k)


def compute(s: State) -> Look | Iterator[Look]:
    """Show some draws at the chosen width at once, then the other widths, then the band."""
    set_up = (s.keys, s.draws, s.seed, s.exact)
    if s.study is None or s.study.set_up != set_up:
        s.study = Study(set_up, s.study)
    return Look(s.study, s.d_k) if s.study.complete(s.d_k) else work(s.study, s.d_k)


def work(study: Study, d_k: int) -> Iterator[Look]:
    """Do what is missing of a study, a few milliseconds at a time."""
    while study.step(d_k):
        yield Look(study, d_k)


def small(value: float, digits: int = 4) -> str:
    """Return a number that may be tiny: some decimals, or a power of ten below a thousandth."""
    return fixed(value, digits) if value == 0 or abs(value) >= 1e-3 else scientific(value)


def others(scores: np.ndarray) -> float:
    """Return what the other exponentials are together, relative to the largest: with r, 1 - p is r / (1 + r)."""
    ordered = np.sort(scores)
    return float(np.exp(ordered[:-1] - ordered[-1]).sum())


def missing(s: State, r: Look) -> float:
    """Return what the largest weight lacks to 1."""
    rest = others(r.row(s) / s.divided_by(s.divisor))
    return rest / (1 + rest)


def by(name: str) -> str:
    """Return how a row is called by its divisor."""
    return "undivided" if name == "one" else f"divided by {DIVISORS[name]}"


def sentence(s: State, r: Look) -> str:
    """Return what a typical row passes on, undivided and divided; the chosen one first."""
    at = f"At width {inline(s, 'd_k')}"
    if r.partial:
        return f"{at} real dot products are being formed: <b>{r.done:,} of {s.draws:,}</b> draws are made."
    one, other = small(r.measured.one, 3), small(getattr(r.measured, s.other), 3)
    divided = by(s.other).replace("d_k", "d<sub>k</sub>")
    if s.divisor == "one":
        return (
            f"{at} a typical undivided row passes on <b>{one}</b> of a change in its scores; {divided}, <b>{other}</b>."
        )
    return f"{at} a typical row {divided} passes on <b>{other}</b> of a change in its scores; undivided, <b>{one}</b>."


def how(s: State, r: Look, i: int, j: int) -> str:
    """Return how an entry of the Jacobian is computed."""
    p = r.weights(s)
    entry = small(float(softmax_jacobian(p)[i, j]), 3)
    row, column = (str(place + 1).translate(_LOWERED) for place in (i, j))
    if i == j:
        formula, factors = f"p{row} (1 − p{row})", f"{_weight(p, i)} · {small(_rest(p, i), 3)}"
    else:
        formula, factors = f"−p{row} p{column}", f"−{_weight(p, i)} · {_weight(p, j)}"
    named = by(s.divisor).replace("d_k", "d<sub>k</sub>")
    return f"Draw {r.shown(s):,}, {named}: ∂p{row}/∂s{column} = {formula} = {factors} = <b>{entry}</b>"


_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def _rest(p: np.ndarray, i: int) -> float:
    # Added up from the others: a difference from 1 would lose it where the weight is close to 1.
    return float(np.delete(p, i).sum())


def _weight(p: np.ndarray, i: int) -> str:
    rest = _rest(p, i)
    return f"(1 − {scientific(rest)})" if 0 < rest < 5e-4 else small(float(p[i]), 3)


def verdict(weights: np.ndarray) -> str:
    """Return in a few words how the weight is shared."""
    top, least, even = weights.max(), weights.min(), 1 / len(weights)
    if top >= 0.9:
        return "one key takes all" if top >= 0.995 else "one key takes most"
    if top > 0.5:
        return "one key leads"
    return "all keys are heard" if least > even / 10 else "several keys are heard"


def bars(s: State, r: Look) -> str:
    """Return the weights of the shown draw, undivided and divided."""
    parts, kind = [], "key" if s.keys <= 8 else ""
    for name, hue in (("one", "weight"), (s.other, "value")):
        weights = r.weights(s, name)
        title = f"{by(name).capitalize()}: {verdict(weights)}"
        texts = [f"{weight:.2f}" for weight in weights]
        label = f"Weights of draw {r.shown(s)}, {by(name)}"
        drawn = columns(weights, KEYS[: s.keys], hue, texts, label=label, kind=kind)
        parts.append(f"<div>{caption(title, hue=hue)}{drawn}</div>")
    return f'<div class="rows">{"".join(parts)}</div>'


def row_data(s: State, r: Look) -> list[Table]:
    """Return the scores and the weights of the shown draw."""
    values = np.column_stack([r.row(s), *(r.weights(s, name) for name in DIVISORS)])
    names = ["q·k", *(f"weight, {by(name)}" for name in DIVISORS)]
    return [Table(f"Draw {r.shown(s)}", [f"key {i}" for i in range(1, s.keys + 1)], names, values)]


def curve(which: str) -> Any:
    """Return a layer's data: a number that is measured at every width."""
    return lambda s, r: {"x": list(r.curves), "y": [getattr(m, which or s.other) for m in r.curves.values()]}


def here(*which: str) -> Any:
    """Return a layer's data: such numbers at the chosen width."""
    return lambda s, r: {"x": [s.d_k] * len(which), "y": [getattr(r.measured, name or s.other) for name in which]}


def band(column: int) -> Any:
    """Return a layer's data: where the median lies in repeated experiments."""

    def data(s: State, r: Look) -> dict[str, Any]:
        if r.band is None or (column and s.other == "dk"):
            return {"x": [], "low": [], "high": []}
        return {"x": WIDTHS, "low": r.band[0, :, column], "high": r.band[1, :, column]}

    return data


def ends(s: State, r: Look) -> tuple[float, float]:
    """Return the ends of the chart of the entries: all of them, and room for a label above."""
    least = min(m.one for m in [*r.curves.values(), r.measured])
    if r.band is not None:
        least = min(least, float(r.band[0, :, 0].min()))
    decades = max(16, math.ceil(-math.log10(least)))
    return 10.0**-decades, 10 ** (0.08 * decades - 0.68)


def entries_data(s: State, r: Look) -> list[Table]:
    """Return what is measured at every width, and the band."""
    rows = np.array([[m.one, m.mean, m.sqrt, m.dk, m.live, m.sd, math.sqrt(d)] for d, m in r.curves.items()])
    names = ["median, undivided", "mean, undivided", "median, divided by √d_k", "median, divided by d_k"]
    names += ["share of live draws", "sd of q·k", "√d_k"]
    if r.band is not None and len(rows) == len(WIDTHS):
        rows = np.hstack([rows, np.moveaxis(r.band, 2, 0).reshape(4, -1).T])
        names += [f"{end} % of medians, {by(name)}" for name in ("one", "sqrt") for end in (5, 95)]
    return [Table("Largest entries of the Jacobian by d_k", [f"d_k = {d:,}" for d in r.curves], names, rows)]


def spread(s: State, r: Look) -> dict[str, Any]:
    """Return two standard errors below and above the measured standard deviation of the scores."""
    errors = [2 * m.sd * relative_error(d, s.keys, s.draws) for d, m in r.curves.items()]
    ends = [(m.sd - error, m.sd + error) for m, error in zip(r.curves.values(), errors, strict=True)]
    low, high = zip(*ends, strict=True) if ends else ((), ())
    return {"x": list(r.curves), "low": low, "high": high}


def short(value: float) -> str:
    """Return a number that fits into a cell: three decimals, or the nearest power of ten below a thousandth."""
    if value == 0 or abs(value) >= 1e-3:
        return fixed(value, 3)
    return ("−" if value < 0 else "") + power_of_ten(round(math.log10(abs(value))))


def code(s: State, r: Look) -> str:
    """Return the lines that compute the readouts."""
    exact = ", exact=True" if s.exact else ""
    divisor = {"one": "1", "sqrt": "np.sqrt(d_k)", "dk": "d_k"}[s.divisor]
    return f"""import numpy as np
from attention_core import *

d_k = {s.d_k}
q_k = sample_scores(np.random.default_rng({s.seed}), d_k, {s.keys}, {s.draws}{exact})
score_sd, score_sd_theory = q_k.std(), np.sqrt(d_k)

entries = largest_jacobian_entry(q_k)
jacobian_median, jacobian_mean = np.median(entries), entries.mean()
live_share = (entries > {LIVE!r}).mean()
jacobian_median_scaled = np.median(largest_jacobian_entry(q_k / np.sqrt(d_k)))

divisor = {divisor}
jacobian_chosen = np.median(largest_jacobian_entry(q_k / divisor))
weights = softmax(q_k[{r.shown(s)} - 1] / divisor)
top_weight = weights.max()
jacobian = softmax_jacobian(weights)
"""


TICKS = {4**i: f"{4**i:,}" for i in range(7)}
ROOM = 2**0.35  # beside the first and the last width, so that their dots are whole

PANELS = [
    Chart(
        "Largest derivative in a row of weights",
        "Largest entry of the Jacobian against d_k, both axes logarithmic",
        log(1 / ROOM, 4096 * ROOM, TICKS),
        log(1e-16, 4, {10.0**e: power_of_ten(e) for e in range(-60, 1, 4)}),
        [
            Layer("band", "", band(0), hue="weight"),
            Layer("band", "", band(1), hue="value"),
            Layer("rule", "", lambda s, r: s.d_k, hue="accent"),
            Layer("line", "", curve("mean"), width=1.4, label="average row,\nundivided", shift=(0, -21), align="right"),
            Layer(
                "line", "", curve("one"), hue="weight",
                label="typical row, undivided", shift=(-14, 0), align="right",
            ),
            Layer("line", "", curve(""), hue="value", label="typical row, divided", shift=(0, 13), align="right"),
            Layer("dots", "", curve("mean"), size=4),
            Layer("dots", "", curve("one"), hue="weight", size=5),
            Layer("dots", "", curve(""), hue="value", size=5),
            Layer("dots", "", here("mean"), size=8),
            Layer("dots", "", here("one"), hue="weight", size=11),
            Layer("dots", "", here(""), hue="value", size=11),
        ],
        note=f"at most {LARGEST:g}; bands: 90 % of repeated medians",
        height="21rem",
        ends=ends,
        tables=entries_data,
    ),
    Drawing("", bars, tables=row_data, area="side"),
    Chart(
        lambda s, r: "Spread of real dot products" if s.exact else "Spread of q·k",
        "Measured standard deviation of the scores against d_k, with the line √d_k, both axes logarithmic",
        log(1 / ROOM, 4096 * ROOM, TICKS),
        log(0.75, 90, {4**i: str(4**i) for i in range(4)}),
        [
            Layer("rule", "", lambda s, r: s.d_k, hue="accent"),
            Layer(
                "line", "", lambda s, r: {"x": [1, 4096], "y": [1, 64]}, width=1.4,
                label="the root of the width", shift=(-14, 0), align="right",
            ),
            Layer("whiskers", "", spread, hue="weight", width=1.6),
            Layer("dots", "", lambda s, r: {"x": list(r.curves), "y": [m.sd for m in r.curves.values()]}, hue="weight"),
        ],
        note="with ± 2 standard errors, on the line √d_k; draws count, not scores: those of one draw share their query",
        height="16rem",
        area="numbers",
        tables=lambda s, r: [],
    ),
    Grid(
        lambda s, r: f"Jacobian of draw {r.shown(s)}, {by(s.divisor)}",
        lambda s, r: softmax_jacobian(r.weights(s)),
        rows=lambda s, r: KEYS[: s.keys],
        columns=lambda s, r: KEYS[: s.keys],
        hue="weight",
        scale=LARGEST,
        note="how the weight of a row answers to the score of a column",
        texts=lambda s, r: [
            [short(float(value)) if s.keys <= 6 else "" for value in row] for row in softmax_jacobian(r.weights(s))
        ],
        area="numbers",
    ),
]  # fmt: skip


def measured(name: str, label: str, which: str, text: Any, beside: Any = "") -> Readout:
    """Return a readout that says how far it is while draws are missing."""

    def told(s: State, r: Look) -> str:
        return f"{r.done:,} of {s.draws:,} draws so far" if r.partial else beside(s, r) if callable(beside) else beside

    return Readout(
        name, label, lambda s, r: getattr(r.measured, which or s.divisor), text, told, partial=lambda s, r: r.partial
    )


READOUTS = [
    measured("score_sd", "Spread of q·k (sd)", "sd", "{:.3f}", lambda s, r: f"theory {math.sqrt(s.d_k):.3f}"),
    measured("jacobian_median", "Median entry, divisor 1", "one", small, f"of at most {LARGEST:g}"),
    measured("jacobian_mean", "Mean entry, divisor 1", "mean", small, "held up by the tail"),
    measured("live_share", "Draws still live", "live", percent, f"entry above {LIVE:g}".replace("e-0", "e-")),
    measured("jacobian_median_scaled", "Median entry, divisor √d_k", "sqrt", small),
    measured(
        "jacobian_chosen", "Median entry, chosen divisor", "", small, lambda s, r: f"divisor {DIVISORS[s.divisor]}"
    ),
    Readout(
        "top_weight", "Top weight", lambda s, r: r.weights(s).max(),
        lambda v: fixed(v) if v < 0.99995 else "above 0.9999",
        lambda s, r: f"1 − {small(missing(s, r))}: draw {r.shown(s)}, divisor {DIVISORS[s.divisor]}",
    ),
    Readout("score_sd_theory", "√d_k", lambda s, r: math.sqrt(s.d_k), "{:.3f}", "the spread in theory"),
]  # fmt: skip

SCENES = {
    "d_k = 2": {"d_k": 2},
    "GPT-2's 64": {"d_k": 64},
    "768 with no divisor": {"d_k": 768},
    "4096: the gradient is gone": {"d_k": 4096},
    "4096, scaled": {"d_k": 4096, "divisor": "sqrt"},
}


def app() -> Figure:
    """Return the figure."""
    return Figure(
        State, compute, PANELS, READOUTS,
        title="Without the divisor the typical gradient dies",
        sentence=sentence, how=how, scenes=SCENES, code=code, inputs=("d_k", "keys", "draws", "seed", "exact"),
        layout='"main side" "primary side" "how how" / 3fr 2fr',
    )  # fmt: skip


if pn.state.served:
    app().servable()
