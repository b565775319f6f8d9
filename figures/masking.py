"""Figure 3: masking the future, in two ways that end alike."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from typing import Any, NamedTuple

import numpy as np
import panel as pn
import param

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
from figures.shared.card import Card, Table, html, scale
from figures.shared.controls import number, segmented, slider
from figures.shared.entry import Entry
from figures.shared.heatmap import Cells, Heatmap
from figures.shared.palette import MASKED, NEUTRAL, diverging, sequential
from figures.shared.readouts import Readout, fixed, numbers, products, scientific
from figures.shared.selection import row_and_column
from figures.shared.state import FigureState
from figures.shared.stepper import Stepper
from figures.shared.styles import PANEL, PROSE

D_K = 2
DIVISOR = math.sqrt(D_K)
N = len(TOKENS)
STEPS = 5
ROUNDING = 1e-12  # a larger difference of the ends has another cause
GAINS = [float(f"{10 ** (power / 20):.3g}") for power in range(-20, 61)]  # from 0.1 to 1000, evenly by logarithm
FILLS = {"inf": -math.inf, "zero": 0.0, "large": -1e9}
FILL_NAMES = {"inf": "−∞", "zero": "0", "large": "−1e9"}

# One colour scale for each quantity; a gain may leave it, and the cells then keep its end colours.
SCORES, WEIGHTS, DIFFERENCE = (-0.5, 0.5), (0.0, 1.0), 0.8
SEEN, BROKEN = "#f7f7f7", "#e5b454"

# What is on screen at each step: the kind of quantity, and how it came about.
NAIVE = (
    ("raw scores", "query times key, Ω = Q Kᵀ: nothing divided, nothing hidden."),
    ("scaled scores", "Ω / √d_k, the future’s scores too."),
    ("weights over all six", "softmax of whole rows: each sums to 1, the future included."),
    ("weights, future zeroed", "times the keep mask: rows no longer sum to 1."),
    ("weights", "divided by the row sum: each row sums to 1 again. This path ends here."),
)
EFFICIENT = (
    ("raw scores", "query times key, Ω = Q Kᵀ: nothing divided, nothing hidden."),
    ("raw scores, future filled", "hidden scores replaced by {fill}; the visible ones are still raw."),
    ("scaled scores, future filled", "divided by √d_k after the fill."),
    ("weights", "softmax: each row sums to 1 at once. This path ends here."),
    ("weights", "unchanged: this path ended one step ago."),
)

VECTOR_TABLE = """
table { border-collapse: collapse; width: 100%; font: 14px/1.3 var(--sans); color: var(--ink);
  font-variant-numeric: tabular-nums; }
th { font-weight: 400; font-size: 13px; color: var(--muted); text-align: right; padding: 0 10px 3px 0; }
td { text-align: right; padding: 2px 10px 2px 0; white-space: nowrap; width: 1%; }
th:last-child, td:last-child { width: auto; text-align: left; padding-right: 0; }
td i { display: block; height: 14px; min-width: 1px; border-radius: 2px; background: #5b7aa8; }
"""
# The two panes of prose: one across the card, one as wide as two heatmaps.
ACROSS = """
:host { flex: 1 1 100%; min-height: 42px; }
"""
BESIDE = """
:host { flex: 2 1 480px; min-width: 0; max-width: 704px; }
.how { margin: 6px 0; }
s { color: var(--muted); text-decoration-thickness: 2px; }
"""


class State(FigureState):
    """What the reader can set; each parameter is a key of the query string."""

    step = param.Integer(default=1, bounds=(1, STEPS))
    mask = param.Selector(default="inf", objects=list(FILLS))
    seed = param.Integer(default=789, bounds=(0, 2**32 - 1))
    gain = param.Number(default=1.0, bounds=(GAINS[0], GAINS[-1]))
    cell = param.NumericTuple(default=(1, 1), length=2)
    vector = param.List(default=[1.0, 2.0, 3.0, 0.0, 0.0], item_type=(float, int), bounds=(1, 8))

    def bounds(self, key: str) -> tuple[float, float]:
        """Return the bounds of a numeric parameter; a cell counts from 1."""
        return {"cell": (1, N), "vector": (-1e6, 1e6)}.get(key) or super().bounds(key)


class Result(NamedTuple):
    """Both paths, step by step; every matrix has the shape (n, n)."""

    q: np.ndarray  # (n, d_k)
    k: np.ndarray
    visible: np.ndarray  # True = may be seen
    naive: list[np.ndarray]
    efficient: list[np.ndarray]
    kept: np.ndarray  # (n,), what the naive path divides each row by
    leak: np.ndarray  # (n,), weight on the future where the efficient path ends

    @property
    def broken(self) -> np.ndarray:
        """The rows in which the naive path has nothing left to divide by, shape (n,)."""
        return self.kept == 0.0

    @property
    def difference(self) -> np.ndarray:
        """What the naive path's end has more than the efficient one's."""
        return self.naive[-1] - self.efficient[-1]

    @property
    def max_difference(self) -> float | None:
        """The largest difference of the two ends; None if one of them does not exist."""
        return None if self.broken.any() else float(np.abs(self.difference).max())


def run(seed: int, gain: float, fill: float) -> Result:
    """Mask after the softmax and before it, keeping what each step makes."""
    generator = TorchGenerator(seed)
    layers = (generator.linear(np.shape(EMBEDDINGS)[1], D_K) for _ in Projections._fields)
    q, k, _ = project(EMBEDDINGS, Projections(*(layer.T.astype(float) for layer in layers)))
    raw, visible = gain * scores(q, k), causal_mask(N)
    weights = softmax(raw / DIVISOR)
    zeroed = np.where(visible, weights, 0.0)
    filled = np.where(visible, raw, fill)
    end = mask_before_softmax(raw, visible, divisor=DIVISOR, fill=fill)
    return Result(
        q,
        k,
        visible,
        naive=[raw, raw / DIVISOR, weights, zeroed, mask_after_softmax(raw, visible, divisor=DIVISOR)],
        efficient=[raw, filled, filled / DIVISOR, end, end],
        kept=zeroed.sum(axis=1),
        leak=np.where(visible, 0.0, end).sum(axis=1),
    )


class Masking(Card):
    """The naive path and the efficient one, side by side."""

    number = 3
    heading = "Two ways to hide the future look unrelated on the way and end alike"
    prompt = "Step through both; what differs in between is the kind of number, not the result."
    state_class = State
    view_keys = ("cell", "vector")
    scenes: Mapping[str, Mapping[str, Any]] = {
        "Start": {},
        "Where the two look unrelated": {"step": 3},
        "Same end": {"step": 5},
        "Mask with zero": {"step": 5, "mask": "zero"},
        # One of the few seeds whose scores lie so far apart that a thousandfold gain empties two rows.
        "Naive path breaks": {"step": 5, "seed": 251903321, "gain": 1000.0},
    }

    def controls(self) -> list[Any]:
        p = self.state.param
        return [
            Stepper(p.step, "Step").view,
            segmented(p.mask, "Mask", {name: value for value, name in FILL_NAMES.items()}),
            slider(p.gain, "Scores ×", values=GAINS, text=lambda gain: f"{gain:g}"),
            row_and_column(self.state, TOKENS, TOKENS),
            number(p.seed, "Weight seed"),
        ]

    def panels(self) -> list[Any]:
        self._naive = Heatmap(TOKENS, TOKENS, "The naive path at this step, 6 by 6", self._select)
        self._efficient = Heatmap(TOKENS, TOKENS, "The efficient path at this step, 6 by 6", self._select)
        self._third = Heatmap(
            TOKENS, TOKENS, "The mask; at the last step how the two ends differ, 6 by 6", self._select
        )
        self._titles, self._captions = [[html("") for _ in range(3)] for _ in range(2)]
        maps = (self._naive, self._efficient, self._third)
        self._note, self._words, self._softmax = (
            html("", PROSE + ACROSS),
            html("", PROSE + BESIDE),
            html("", PROSE + VECTOR_TABLE),
        )
        self._entry = Entry(self.state, "vector", "Vector")
        return [
            self._note,
            *(
                pn.Column(title, heatmap.pane, caption, stylesheets=[PANEL], margin=0)
                for title, heatmap, caption in zip(self._titles, maps, self._captions, strict=True)
            ),
            self._words,
            pn.Column(self._entry.view, self._softmax, stylesheets=[PANEL], margin=0),
        ]

    def compute(self) -> None:
        self.result = run(self.state.seed, self.state.gain, FILLS[self.state.mask])

    def readouts(self) -> list[Readout]:
        r = self.result
        weight, score = r.naive[2][0, 0], r.efficient[0][0, 0]
        row_2, row_3 = r.efficient[-1][1, :2], r.efficient[-1][2, :3]
        weights = softmax(self.state.vector)
        return [
            Readout("max_difference", "Largest difference of the ends", r.max_difference, *self._agreement()),
            Readout("first_entry_naive", "Naive [1, 1], before masking", weight, fixed(weight), "a weight"),
            Readout("first_entry_efficient", "Efficient [1, 1], as it starts", score, fixed(score), "a raw score"),
            Readout("visible_share", "Visible cells", r.visible.mean(), _percent(r.visible.mean()), "21 of 36: j ≤ i"),
            Readout("row_2", "Row 2, visible part", row_2, numbers(row_2), wide=True),
            Readout("row_3", "Row 3, visible part", row_3, numbers(row_3), wide=True),
            Readout("vector_softmax", "Softmax of the vector", weights, numbers(weights), wide=True),
            Readout("leak_by_row", "Weight on the future, by row", r.leak, numbers(r.leak), wide=True),
        ]  # fmt: skip

    def _agreement(self) -> tuple[str, str]:
        r = self.result
        if r.max_difference is None:
            return "—", "nothing left to divide by"
        if r.max_difference < ROUNDING:
            return fixed(r.max_difference), "rounding only"
        return fixed(r.max_difference), "the future leaks" if r.leak.any() else "digits lost on the naive path"

    def summary(self) -> str:
        step, fill = self.state.step, FILL_NAMES[self.state.mask]
        shown = f"Step {step} of {STEPS}: {NAIVE[step - 1][0]} on the naive path, {EFFICIENT[step - 1][0]} on the other"
        return f"{shown}, hidden scores filled with {fill}. {self._conclusion()}"

    def _conclusion(self) -> str:
        r = self.result
        if r.max_difference is None:
            return (
                f"The naive path has nothing left to divide by in {_rows(r.broken)}: all the weight sits on hidden "
                "tokens, and what is kept underflows to 0. The efficient path never meets those tokens."
            )
        if r.leak.any():
            i = int(r.leak.argmax())
            return f"A score of 0 hides nothing: {TOKENS[i]} puts {fixed(r.leak[i])} of its weight on the future."
        if r.max_difference == 0:
            return "The ends of the two paths are equal to the last digit."
        differ = f"The ends of the two paths differ by about {fixed(r.max_difference)} at most"
        if r.max_difference < ROUNDING:
            return f"{differ}: nothing but rounding."
        return f"{differ}: what the naive path divides by is so close to 0 that its digits are lost."

    def tables(self) -> list[Table]:
        r, step = self.result, self.state.step
        shown = [
            (f"Naive path, step {step}: {NAIVE[step - 1][0]}", r.naive[step - 1]),
            (f"Efficient path, step {step}: {EFFICIENT[step - 1][0]}", r.efficient[step - 1]),
            ("Naive − efficient", r.difference) if step == STEPS else ("Mask", r.visible),
        ]
        return [Table(name, TOKENS, TOKENS, matrix) for name, matrix in shown]

    def draw(self) -> None:
        self._draw_naive()
        self._draw_efficient()
        if self.state.step == STEPS:
            self._draw_difference()
        else:
            self._draw_mask()
        self._note.object = f'<p class="line">{self._what_to_see()}</p>'
        self._words.object = self.explanation() + self._how_it_cancels()
        self._softmax.object = _softmax_table(self.state.vector)
        self._entry.show()

    # The three heatmaps.

    def _draw_naive(self) -> None:
        step, matrix = self.state.step, self.result.naive[self.state.step - 1]
        cells = Cells(matrix, _colours(step >= 3, matrix), self._hows(self._how_naive), texts=_texts(matrix))
        lost = np.broadcast_to(self.result.broken[:, None], matrix.shape).ravel() if step == STEPS else [False] * N * N
        cells.colours = [BROKEN if off else colour for off, colour in zip(lost, cells.colours, strict=True)]
        cells.texts = ["0 / 0" if off else text for off, text in zip(lost, cells.texts, strict=True)]
        self._naive.draw(cells, self._cell, sources=self._sources(rows_at=(3, 5)))
        quantity, caption = NAIVE[step - 1]
        if step == STEPS and self.result.broken.any():
            caption = f"divided by the row sum, which is 0 in {_rows(self.result.broken)}. This path ends here."
        self._write(0, "Naive path", quantity, caption, weights=step >= 3)

    def _draw_efficient(self) -> None:
        step, matrix = self.state.step, self.result.efficient[self.state.step - 1]
        hidden = ~self.result.visible if step in (2, 3) and self.state.mask != "zero" else None
        cells = Cells(matrix, _colours(step >= 4, matrix), self._hows(self._how_efficient), hidden, _texts(matrix))
        if self.state.mask == "large":
            cells.masked_text = "−1e9" if step == 2 else "−7e8"
        self._efficient.draw(cells, self._cell, sources=self._sources(rows_at=(4,)))
        quantity, caption = EFFICIENT[step - 1]
        self._write(1, "Efficient path", quantity, caption.format(fill=FILL_NAMES[self.state.mask]), weights=step >= 4)

    def _draw_mask(self) -> None:
        visible = self.result.visible
        hows = [
            f"{row} may {'see' if visible[i, j] else 'not see'} {column}"
            for i, row in enumerate(TOKENS)
            for j, column in enumerate(TOKENS)
        ]
        texts = ["1" if seen else "0" for seen in visible.ravel()]
        self._third.draw(Cells(visible, [SEEN if s == "1" else MASKED for s in texts], hows, texts=texts), self._cell)
        self._titles[2].object = '<div class="caption"><b>The mask</b></div>'
        self._captions[2].object = (
            '<div class="caption">6 × 6: 1 may be seen, 0 is hidden. The naive path multiplies by it in step 4, '
            "the efficient path fills where it is 0 in step 2.</div>"
        )

    def _draw_difference(self) -> None:
        gap, lost = self.result.difference, np.broadcast_to(self.result.broken[:, None], (N, N)).ravel()
        colours = [NEUTRAL if off else c for off, c in zip(lost, diverging(gap, DIFFERENCE), strict=True)]
        texts = ["—" if off else text for off, text in zip(lost, _texts(gap), strict=True)]
        hows = [
            f"naive − efficient [{row}, {column}] = {text}"
            for (row, column), text in zip(((r, c) for r in TOKENS for c in TOKENS), texts, strict=True)
        ]
        self._third.draw(Cells(gap, colours, hows, texts=texts), self._cell)
        self._titles[2].object = '<div class="caption"><b>Naive − efficient</b></div>'
        self._captions[2].object = (
            '<div class="caption">6 × 6: the two ends subtracted; 1e-16 is the last digit of a float.'
            + scale(
                "", diverging(np.linspace(-DIFFERENCE, DIFFERENCE, 9), DIFFERENCE), f"−{DIFFERENCE}", f"{DIFFERENCE}"
            )
            + "</div>"
        )

    def _write(self, place: int, path: str, quantity: str, caption: str, *, weights: bool) -> None:
        low, high = WEIGHTS if weights else SCORES
        ends = (f"{low:g}".replace("-", "−"), f"{high:g}")
        key = scale("weights" if weights else "scores", sequential(np.linspace(low, high, 9), low, high), *ends)
        self._titles[place].object = f'<div class="caption">{path}: <b>{quantity}</b></div>'
        self._captions[place].object = f'<div class="caption">6 × 6: {caption}{key}</div>'

    def _sources(self, *, rows_at: tuple[int, ...]) -> list[tuple[int, int, int, int]]:
        """Return what the selected cell is made from: its query's row and its key's column, or its whole row."""
        i, j = self._cell
        if self.state.step == 1:
            return [(i, 0, 1, N), (0, j, N, 1)]
        return [(i, 0, 1, N)] if self.state.step in rows_at else []

    # How a cell is computed.

    def _hows(self, how: Any) -> list[str]:
        return [f"[{TOKENS[i]}, {TOKENS[j]}] = {how(i, j)}" for i in range(N) for j in range(N)]

    def _how_score(self, i: int, j: int) -> str:
        r = self.result
        terms = products(r.q[[i]], r.k[[j]].T)[0][0]
        gained = terms if self.state.gain == 1 else f"{self.state.gain:g} ({terms})"
        return f"q({TOKENS[i]}) · k({TOKENS[j]}) = {gained} = {_exact(r.naive[0][i, j])}, a raw score"

    def _how_naive(self, i: int, j: int) -> str:
        r, step = self.result, self.state.step
        now, before = (_exact(r.naive[s][i, j]) for s in (step - 1, max(step - 2, 0)))
        if step == 1:
            return self._how_score(i, j)
        if step == 2:
            return f"{before} / √2 = {now}, a scaled score"
        if step == 3:
            return f"{_quotient(r.naive[1][i], j)} = {now}, a weight"
        if step == 4:
            return f"{before} × {int(r.visible[i, j])} = {now}"
        if r.broken[i]:
            return f"{before} / 0: nothing is left to divide by"
        return f"{before} / {_exact(r.kept[i])} = {now}, a weight"

    def _how_efficient(self, i: int, j: int) -> str:
        r, step = self.result, self.state.step
        now, before = (_exact(r.efficient[s][i, j]) for s in (step - 1, max(step - 2, 0)))
        if step == 1:
            return self._how_score(i, j)
        if step == 2:
            return f"{now}, a raw score still" if r.visible[i, j] else f"{now}, in place of the hidden {before}"
        if step == 3:
            return f"{before} / √2 = {now}, a scaled score"
        if step == 4:
            return f"{_quotient(r.efficient[2][i], j)} = {now}, a weight"
        return f"{now}, a weight, as it was"

    # What is said around them.

    def explanation(self) -> str:
        row, column = (escape(TOKENS[i]) for i in self._cell)
        naive, efficient = escape(self._how_naive(*self._cell)), escape(self._how_efficient(*self._cell))
        return (
            f'<div class="caption"><b>The selected cell, row {row}, column {column}</b></div>'
            f'<div class="how">naive: {naive}<br>efficient: {efficient}</div>'
        )

    def _what_to_see(self) -> str:
        r, step = self.result, self.state.step
        score, scaled, weight = (_exact(r.naive[s][0, 0]) for s in range(3))
        said = {
            1: f"Both columns show raw scores, the same ones. The first entry is {score} in both.",
            2: f"Left, scaled scores; right, raw scores. The first entry on the right, {score}, is a raw score. The "
            f"left column turns its own, {scaled}, into the weight {weight} next: not to be compared.",
            3: f"Here the two look unrelated, because they are different kinds of number: {weight} on the left is a "
            f"weight. On the right {scaled} is a scaled score, and the {score} it comes from was a raw score.",
            4: "Right, the weights are final. Left, the future is gone but each row still carries the denominator of "
            f"the full row: row 1 sums to {_exact(r.kept[0])}.",
            5: self._conclusion(),
        }[step]
        return f"<b>Step {step} of {STEPS}.</b> {escape(said)}"

    def _how_it_cancels(self) -> str:
        i, j = self._cell
        r, token = self.result, escape(TOKENS[self._cell[0]])
        exponentials, shifted = _exponentials(r.naive[1][i])
        full, kept = _exact(exponentials.sum()), _exact(exponentials[: i + 1].sum())
        seen = "the visible ones" if i else "the one visible"
        title = "Why they end alike: the full row’s denominator cancels"
        if r.broken[i]:
            title = "Where the naive path ends: nothing is left to divide by"
            division = f"(0 / <s>{full}</s>) / (0 / <s>{full}</s>) = 0 / 0"
            said = (
                f"The largest score of row {token} is hidden, and so far above {seen} that their exponentials "
                "underflow. The efficient path never sees that score."
            )
        else:
            own = _exact(exponentials[j]) if r.visible[i, j] else "0"
            weight = _exact(r.naive[-1][i, j])
            division = f"({own} / <s>{full}</s>) / ({kept} / <s>{full}</s>) = {own} / {kept} = {weight}"
            said = (
                f"{full} adds up all six exponentials of row {token}, {kept} only {seen}. The naive path divides by "
                "the first twice, once above and once below the line. The efficient path never forms it."
            )
        if r.leak[i] > 0:
            title = "The full row’s denominator cancels; a score filled with 0 still counts"
            filled, _ = _exponentials(r.efficient[2][i])
            said += f" Filled with 0, though, it counts the future too, and divides by {_exact(filled.sum())}."
        return (
            f'<div class="caption"><b>{title}</b></div><div class="how">{division}</div>'
            f'<p class="caption">{said}{shifted}</p>'
        )


def _colours(weights: bool, matrix: np.ndarray) -> list[str]:
    return sequential(matrix, *(WEIGHTS if weights else SCORES))


def _texts(matrix: np.ndarray) -> list[str]:
    return [_short(value) for value in matrix.ravel()]


def _short(value: float) -> str:
    """Return a number for a cell, which holds about six characters."""
    size = abs(value)
    if size == 0 or np.isinf(size):
        return fixed(value)
    if size < 1e-99:
        return "≈ 0"
    if not 1e-3 <= size < 1e5:
        mantissa, exponent = f"{value:.0e}".split("e")
        return f"{mantissa.replace('-', '−')}e{int(exponent)}"
    return fixed(value, 3 if size < 10 else 2 if size < 100 else 1 if size < 1000 else 0)


def _exact(value: float) -> str:
    return scientific(value) if 1e6 <= abs(value) < math.inf else fixed(value)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _rows(which: np.ndarray) -> str:
    names = [str(i + 1) for i in np.flatnonzero(which)]
    return f"row {names[0]}" if len(names) == 1 else f"rows {', '.join(names[:-1])} and {names[-1]}"


def _exponentials(row: np.ndarray) -> tuple[np.ndarray, str]:
    """Return a row's exponentials and, where they could overflow, in words what was subtracted first."""
    if np.abs(row[np.isfinite(row)]).max() < 20:
        return np.exp(row), ""
    peak = float(row.max())
    return np.exp(row - peak), f" (As in every softmax, the row’s largest score, {_exact(peak)}, is subtracted first.)"


def _quotient(row: np.ndarray, j: int) -> str:
    exponentials, shifted = _exponentials(row)
    lowered = f" − {_exact(float(row.max()))}" if shifted else ""
    return f"exp({_exact(row[j])}{lowered}) / {_exact(float(exponentials.sum()))}"


def _softmax_table(vector: list[float]) -> str:
    weights = softmax(vector)
    rows = "".join(
        f"<tr><td>{score:g}</td><td>{fixed(weight)}</td>".replace("-", "−")
        + f'<td><i style="width:{100 * weight:.2f}%"></i></td></tr>'
        for score, weight in zip(vector, weights, strict=True)
    )
    zeros = [float(weight) for score, weight in zip(vector, weights, strict=True) if score == 0]
    said = f"<b>A score of 0 is not a weight of 0</b>: here it gets {fixed(zeros[0])}." if zeros and zeros[0] else ""
    return (
        f"<table><thead><tr><th>score</th><th>weight</th><th></th></tr></thead><tbody>{rows}</tbody></table>"
        f'<p class="caption">{said}</p>'
    )


def app() -> Masking:
    """Return the figure."""
    return Masking()


if pn.state.served:
    app().servable()
