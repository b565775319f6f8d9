"""Figure 3: masking the future, in two ways that end alike."""

from __future__ import annotations

import math
from html import escape
from typing import Any, NamedTuple

import numpy as np
import panel as pn

from attention_core import (
    EMBEDDINGS,
    TOKENS,
    Projections,
    TorchGenerator,
    causal_mask,
    mask_after_softmax,
    mask_before_softmax,
    project,
    scores,
    softmax,
)
from figures.shared.controls import render
from figures.shared.figure import Figure
from figures.shared.format import brief, compact, fixed, percent, product, scientific
from figures.shared.panels import Drawing, Grid, Row, columns, mini
from figures.shared.readouts import Readout
from figures.shared.state import Cell, Choice, Decimal, FigureState, Numbers, Seed, Whole

D_K = 2
DIVISOR = math.sqrt(D_K)
N = len(TOKENS)
STEPS = 5
ROUNDING = 1e-12  # a larger difference of the ends has another cause
GAINS = [float(f"{10 ** (power / 20):.3g}") for power in range(-20, 61)]  # from 0.1 to 1000, evenly by logarithm
FILLS = {"inf": -math.inf, "zero": 0.0, "large": -1e9}
FILL_NAMES = {"inf": "−∞", "zero": "0", "large": "−1e9"}
VISIBLE = causal_mask(N)

# One colour scale for each quantity; a gain may leave it, and the cells then keep the full colour.
SCALES = {"score": 0.5, "weight": 0.5}


class Way(NamedTuple):
    """One of the two ways: at each step, what came about by what operation, and what kind of number it is."""

    title: str
    about: str
    kinds: str  # a letter for each step: s for scores, w for weights
    names: tuple[str, ...]
    operations: tuple[str, ...]
    hatched: tuple[int, ...] = ()  # the steps at which the future is filled

    def kind(self, step: int) -> str:
        """Return ``score`` or ``weight``."""
        return {"s": "score", "w": "weight"}[self.kinds[step - 1]]


NAIVE = Way(
    "Naive", "weigh everything, then hide the future and repair", "sswww",
    ("scores", "scores / √2", "weights", "what is left", "weights"),
    ("÷ √2", "softmax", "× mask", "÷ row sum"),
)  # fmt: skip
EFFICIENT = Way(
    "Efficient", "hide the future first, weigh once", "sssww",
    ("scores", "future at {fill}", "scores / √2", "weights", "weights"),
    ("{fill}", "÷ √2", "softmax", "done"),
    (2, 3),
)  # fmt: skip


class State(FigureState):
    """What the reader can set."""

    step = Whole(3, (1, STEPS), label="Step", kind="slider", stepper=True, place="primary")
    mask = Choice("inf", FILL_NAMES, label="Mask", place="primary")
    seed = Seed(789, label="Weight seed", resample="")
    gain = Decimal(1.0, (GAINS[0], GAINS[-1]), label="Scores ×", steps=tuple(GAINS), text="{:g}".format)
    cell = Cell((1, 1), TOKENS, TOKENS)
    vector = Numbers([1.0, 2.0, 3.0, 0.0, 0.0], (1, 8), (-1e6, 1e6), label="Vector", place="numbers", view=True)


class Run(NamedTuple):
    """Both ways, step by step; every matrix has the shape (n, n)."""

    q: np.ndarray  # (n, d_k)
    k: np.ndarray
    naive: list[np.ndarray]
    efficient: list[np.ndarray]
    kept: np.ndarray  # (n,), what the naive way divides each row by
    leak: np.ndarray  # (n,), weight on the future where the efficient way ends

    @property
    def broken(self) -> np.ndarray:
        """The rows in which the naive way has nothing left to divide by, shape (n,)."""
        return self.kept == 0.0

    @property
    def difference(self) -> np.ndarray:
        """What the naive way's end has more than the efficient one's."""
        return self.naive[-1] - self.efficient[-1]

    @property
    def max_difference(self) -> float | None:
        """The largest difference of the two ends; None if one of them does not exist."""
        return None if self.broken.any() else float(np.abs(self.difference).max())


def compute(s: State) -> Run:
    """Mask after the softmax and before it, keeping what each step makes."""
    torch = TorchGenerator(s.seed)
    layers = (torch.linear(EMBEDDINGS.shape[1], D_K).T.astype(float) for _ in Projections._fields)
    q, k, _ = project(EMBEDDINGS, Projections(*layers))
    raw, fill = s.gain * scores(q, k), FILLS[s.mask]
    weights = softmax(raw / DIVISOR)
    zeroed = np.where(VISIBLE, weights, 0.0)
    filled = np.where(VISIBLE, raw, fill)
    end = mask_before_softmax(raw, VISIBLE, divisor=DIVISOR, fill=fill)
    return Run(
        q,
        k,
        naive=[raw, raw / DIVISOR, weights, zeroed, mask_after_softmax(raw, VISIBLE, divisor=DIVISOR)],
        efficient=[raw, filled, filled / DIVISOR, end, end],
        kept=zeroed.sum(axis=1),
        leak=np.where(VISIBLE, 0.0, end).sum(axis=1),
    )


def hidden(s: State, way: Way, step: int) -> np.ndarray:
    """Return which cells are hatched; a score of 0 is an ordinary score."""
    return ~VISIBLE & (step in way.hatched and s.mask != "zero")


# What is said.


def sentence(s: State, r: Run) -> str:
    """Return what there is to see at the step."""
    score, scaled, weight = (f"<b>{exact(r.naive[step][0, 0])}</b>" for step in range(3))
    fill = FILL_NAMES[s.mask]
    return {
        1: f"Both ways begin with the same <b>scores</b>: the first is {score} in both.",
        2: f"Above, the scores are divided: the first is {scaled}. Below, <b>{fill}</b> stands where the future was; "
        f"the first is still {score}.",
        3: f"Here the two look unrelated, as different kinds of number: the first is a weight above, {weight}, and a "
        f"score below, {scaled}.",
        4: "The efficient way is done. The naive one has dropped the future, and its rows do not sum to 1: the first "
        f"sums to <b>{exact(r.kept[0])}</b>.",
        5: conclusion(r),
    }[s.step]


def conclusion(r: Run) -> str:
    """Return how the two ways end, in a sentence."""
    if r.max_difference is None:
        return (
            f"The naive way has <b>nothing left to divide by</b> in {rows(r.broken)}: all the weight was on hidden "
            "tokens, and what is kept underflows to 0."
        )
    if r.leak.any():
        i = int(r.leak.argmax())
        weight = f"<b>{fixed(r.leak[i])}</b> of its weight"
        return f"A score of 0 hides nothing: <b>{token(i)}</b> puts {weight} on what follows."
    if r.max_difference == 0:
        return "Both ways end with the same weights, <b>to the last digit</b>."
    if r.max_difference < ROUNDING:
        return f"Both ways end alike: the weights differ by <b>{fixed(r.max_difference)}</b> at most, by rounding."
    return (
        f"The ends differ by <b>{fixed(r.max_difference)}</b>: what the naive way divides by is so close to 0 that its "
        "digits are lost."
    )


def verdict(r: Run) -> tuple[str, str]:
    """Return in two short lines whether the two ends are the same, and how they differ."""
    if r.max_difference is None:
        return "no end", "nothing left to divide by"
    differ = f"differ by {fixed(r.max_difference)}"
    if r.leak.any():
        return "not the same", differ
    if r.max_difference < ROUNDING:
        return "the same", differ if r.max_difference else "to the last digit"
    return "digits lost", differ


def how(s: State, r: Run, i: int, j: int) -> str:
    """Return how both numbers of a cell are computed at the step, and why the ends are alike."""
    return (
        f'<div class="two"><div><p class="caption"><b>Step {s.step}, cell {token(i)} → {token(j)}</b></p> '
        f"<p>Naive: {naive_how(s, r, i, j)}.</p> <p>Efficient: {efficient_how(s, r, i, j)}.</p></div> "
        f"<div>{cancelling(r, i, j)}</div></div>"
    )


def naive_how(s: State, r: Run, i: int, j: int) -> str:
    """Return what the naive way has in a cell at the step, and where it is from."""
    now, before = (r.naive[step][i, j] for step in (s.step - 1, max(s.step - 2, 0)))
    if s.step == 5 and r.broken[i]:
        return f"{exact(before)} / 0: nothing is left to divide by"
    return {
        1: lambda: f"{is_a(now, 'score')}: {score_sum(s, r, i, j)}",
        2: lambda: f"{is_a(now, 'score')}: {exact(before)} / √2",
        3: lambda: f"{is_a(now, 'weight')}: {quotient(r.naive[1][i], j)}",
        4: lambda: f"{bold(now, 'weight')} is left of a weight: {exact(before)} × {int(VISIBLE[i, j])}",
        5: lambda: f"{is_a(now, 'weight')}: {exact(before)} / {exact(r.kept[i])}",
    }[s.step]()


def efficient_how(s: State, r: Run, i: int, j: int) -> str:
    """Return what the efficient way has in a cell at the step, and where it is from."""
    now, before = (r.efficient[step][i, j] for step in (s.step - 1, max(s.step - 2, 0)))
    shut = not VISIBLE[i, j]
    return {
        1: lambda: "the same score",
        2: lambda: f"{bold(now, 'score')} in place of {exact(before)}" if shut else f"{is_a(now, 'score')}, as it was",
        3: lambda: f"{bold(now, 'score') if shut else is_a(now, 'score')}: {exact(before)} / √2",
        4: lambda: f"{is_a(now, 'weight')}: {quotient(r.efficient[2][i], j)}",
        5: lambda: f"{is_a(now, 'weight')}, as it was",
    }[s.step]()


def bold(value: float, kind: str) -> str:
    """Return a number in the colour of its kind."""
    return f'<b class="{kind}">{exact(value)}</b>'


def is_a(value: float, kind: str) -> str:
    """Return a number and its kind."""
    return f"{bold(value, kind)} is a {kind}"


def score_sum(s: State, r: Run, i: int, j: int) -> str:
    """Return the products that a raw score adds up."""
    terms = product(r.q[i], r.k[j])
    return terms if s.gain == 1 else f"{s.gain:g} ({terms})"


def cancelling(r: Run, i: int, j: int) -> str:
    """Return how the denominator of the full row cancels, with its numbers."""
    exponentials, _ = exponents(r.naive[1][i])
    full, kept = exact(exponentials.sum()), exact(exponentials[: i + 1].sum())
    if r.broken[i]:
        return (
            '<p class="caption"><b>Why they do not end alike</b></p> '
            f"<p>(0 / <s>{full}</s>) / (0 / <s>{full}</s>) = <b>0 / 0</b></p> "
            '<p class="muted">the row’s largest score is hidden, so far above the rest that all else underflows.</p>'
        )
    own = exact(exponentials[j]) if VISIBLE[i, j] else "0"
    title, why = "Why they end alike", f"the full row’s {full} cancels, and the efficient way never forms it"
    if r.leak[i] > 0:
        filled = exact(exponents(r.efficient[2][i])[0].sum())
        title = "Why they do not end alike"
        why = f"filled with 0, the future counts: the efficient way divides by {filled}"
    return (
        f'<p class="caption"><b>{title}</b></p> '
        f"<p>({own} / <s>{full}</s>) / ({kept} / <s>{full}</s>) = <b>{exact(r.naive[-1][i, j])}</b></p> "
        f'<p class="muted">{why}.</p>'
    )


def token(i: int) -> str:
    """Return a token as HTML."""
    return escape(TOKENS[i])


def exact(value: float) -> str:
    """Return a number with four decimals, or as a power of ten where it is large."""
    return scientific(value) if 1e6 <= abs(value) < math.inf else fixed(value)


def rows(which: np.ndarray) -> str:
    """Return the numbers of the rows that are marked, in words."""
    names = [str(i + 1) for i in np.flatnonzero(which)]
    return f"row {names[0]}" if len(names) == 1 else f"rows {', '.join(names[:-1])} and {names[-1]}"


def exponents(row: np.ndarray) -> tuple[np.ndarray, float]:
    """Return a row's exponentials, and what was subtracted first: 0, or the largest score where they could overflow."""
    peak = 0.0 if np.abs(row[np.isfinite(row)]).max() < 20 else float(row.max())
    return np.exp(row - peak), peak


def quotient(row: np.ndarray, j: int) -> str:
    """Return how softmax makes a weight of a score."""
    exponentials, peak = exponents(row)
    lowered = f" − {exact(peak)}" if peak else ""
    return f"exp({exact(row[j])}{lowered}) / {exact(float(exponentials.sum()))}"


# What is drawn.


def strips(s: State, r: Run) -> str:
    """Return both ways as strips of small grids, each of which sets the step."""
    same, differ = verdict(r)
    return (
        f'<div class="ways">{strip(s, NAIVE, r.naive, r.broken.any())}{strip(s, EFFICIENT, r.efficient)}'
        f'<p class="verdict"><b>{same}</b> <span>{differ}</span></p>'
        '<p class="legend"><b class="score">blue</b> is a score, <b class="weight">plum</b> a weight, '
        "hatching is hidden</p></div>"
    )


def strip(s: State, way: Way, matrices: list[np.ndarray], broken: bool = False) -> str:
    """Return one way: a small grid for each step, and what is done between them."""
    fill = FILL_NAMES[s.mask]
    row, column = s.cell
    parts = []
    for step, (name, matrix) in enumerate(zip(way.names, matrices, strict=True), 1):
        kind = way.kind(step)
        name = "partly 0 / 0" if way is NAIVE and step == STEPS and broken else name
        if step > 1:
            parts.append(f'<span class="operation"><span>{way.operations[step - 2].format(fill=fill)}</span></span>')
        parts.append(
            f'<span class="stop" data-set="step={step}"{" aria-current=step" if step == s.step else ""}>'
            f'<span class="frame" style="--row:{row};--column:{column}">'
            f"{mini(matrix, kind, SCALES[kind], hidden=hidden(s, way, step))}</span>"
            f'<b class="{kind}">{name.format(fill=fill)}</b></span>'
        )
    return (
        f'<p><b>{way.title}:</b> <span class="muted">{way.about}</span></p><div class="strip">{" ".join(parts)}</div>'
    )


def softmax_of_vector(s: State, r: Run) -> str:
    """Return the weight of each number of the vector as a column, and below them its field."""
    weights = softmax(s.vector)
    zeros = [float(weight) for score, weight in zip(s.vector, weights, strict=True) if score == 0]
    said = f"A score of 0 is not a weight of 0: here it gets {fixed(zeros[0])}." if zeros and zeros[0] else ""
    names = [brief(score) if abs(score) < 1e4 else scientific(score, 0) for score in s.vector]
    drawn = columns(weights, names, "weight", [fixed(w) for w in weights], label="Softmax of the vector")
    return f'<div class="vector">{drawn}{render(s, "vector", s.notes)}<p>{said}</p></div>'


def texts(matrix: np.ndarray, lost: np.ndarray | None = None, instead: str = "") -> list[list[str]]:
    """Return the numbers of a matrix for its cells; rows that are `lost` have another text."""
    broken = np.zeros(N, dtype=bool) if lost is None else lost
    return [[instead if off else compact(value) for value in row] for off, row in zip(broken, matrix, strict=True)]


def stage_grid(way: Way, matrices: Any, lost: Any) -> Grid:
    """Return the grid of numbers of one way at the step."""
    return Grid(
        lambda s, r: f"{way.title}, step {s.step}: {way.names[s.step - 1].format(fill=FILL_NAMES[s.mask])}",
        lambda s, r: matrices(r)[s.step - 1],
        rows=TOKENS,
        columns=TOKENS,
        hue=lambda s, r: way.kind(s.step),
        scale=lambda s, r: SCALES[way.kind(s.step)],
        hidden=lambda s, r: hidden(s, way, s.step),
        hidden_text=lambda s, r: "−∞" if s.mask == "inf" else "−1e9" if s.step == 2 else "−7e8",
        texts=lambda s, r: texts(matrices(r)[s.step - 1], lost(s, r), "0 / 0"),
    )


def code(s: State, r: Run) -> str:
    """Return the lines that compute both ends."""
    fill = {"inf": "-np.inf", "zero": "0.0", "large": "-1e9"}[s.mask]
    gain = "" if s.gain == 1 else f"{s.gain!r} * "
    return f"""import numpy as np
from attention_core import *

torch = TorchGenerator({s.seed})
layers = Projections(*(torch.linear(3, 2).T.astype(float) for _ in range(3)))
q, k, v = project(EMBEDDINGS, layers)
raw, visible = {gain}scores(q, k), causal_mask(6)
first_entry_naive = softmax(raw / np.sqrt(2))[0, 0]
first_entry_efficient = raw[0, 0]
naive = mask_after_softmax(raw, visible, divisor=np.sqrt(2))
efficient = mask_before_softmax(raw, visible, divisor=np.sqrt(2), fill={fill})
max_difference = abs(naive - efficient).max()
row_2, row_3 = efficient[1, :2], efficient[2, :3]
leak_by_row = np.where(visible, 0, efficient).sum(axis=1)
vector_softmax = softmax({s.vector})
"""


PANELS = [
    Drawing("", strips),
    Row([
        stage_grid(NAIVE, lambda r: r.naive, lambda s, r: r.broken & (s.step == STEPS)),
        stage_grid(EFFICIENT, lambda r: r.efficient, lambda s, r: None),
        Grid(
            "The ends: naive − efficient", lambda s, r: r.difference, TOKENS, TOKENS, "weight", 0.8,
            texts=lambda s, r: texts(r.difference, r.broken, "—"),
        ),
    ]),
    Drawing("Softmax of a vector", softmax_of_vector, area="numbers"),
]  # fmt: skip

READOUTS = [
    Readout(
        "max_difference", "Largest difference of the ends", lambda s, r: r.max_difference, None,
        lambda s, r: "nothing left to divide by" if r.broken.any() else "the future leaks" if r.leak.any()
        else "rounding only" if r.max_difference < ROUNDING else "digits lost on the naive way",
    ),
    Readout("first_entry_naive", "Naive [1, 1], before masking", lambda s, r: r.naive[2][0, 0], None, "a weight"),
    Readout(
        "first_entry_efficient", "Efficient [1, 1], as it starts", lambda s, r: r.efficient[0][0, 0], None,
        "a raw score",
    ),
    Readout(
        "visible_share", "Visible cells", lambda s, r: VISIBLE.mean(), percent,
        lambda s, r: f"{VISIBLE.sum()} of {VISIBLE.size}: j ≤ i",
    ),
    Readout("row_2", "Row 2, visible part", lambda s, r: r.efficient[-1][1, :2]),
    Readout("row_3", "Row 3, visible part", lambda s, r: r.efficient[-1][2, :3]),
    Readout("vector_softmax", "Softmax of the vector", lambda s, r: softmax(s.vector)),
    Readout("leak_by_row", "Weight on the future, by row", lambda s, r: r.leak),
]  # fmt: skip

SCENES = {
    "Start": {"step": 1},
    "Where the two look unrelated": {"step": 3},
    "Same end": {"step": 5},
    "Mask with zero": {"step": 5, "mask": "zero"},
    # One of the few seeds whose scores lie so far apart that a thousandfold gain empties two rows.
    "Naive path breaks": {"step": 5, "seed": 251903321, "gain": 1000.0},
}


def app() -> Figure:
    """Return the figure."""
    return Figure(
        State, compute, PANELS, READOUTS,
        title="Two ways to hide the future look unrelated on the way and end alike",
        sentence=sentence, how=how, scenes=SCENES, code=code, inputs=("mask", "seed", "gain"),
        layout='"main" "primary" "how" / minmax(0, 1fr)', lines={"how": (3, 10)},
    )  # fmt: skip


if pn.state.served:
    app().servable()
