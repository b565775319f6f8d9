"""Figure 1: three matrices, and the asymmetry they buy."""

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
    asymmetry,
    mean_pairwise_distance,
    project,
    scores,
    softmax,
)
from figures.shared.card import Card, Table, html, panel, scale
from figures.shared.controls import number, segmented
from figures.shared.heatmap import Block, Cells, Heatmap, Strip
from figures.shared.palette import diverging, sequential
from figures.shared.readouts import Readout, entries, fixed, numbers, products, results
from figures.shared.selection import row_and_column
from figures.shared.state import FigureState

D_K = 2  # width of the projected modes; the one divisor rule for all modes is √2 or 1

# One colour scale for each quantity, whatever the state, so that two states compare.
SCALES = {"X": (0.0, 1.0), "W": (0.0, 1.0), "QKV": (0.0, 2.0), "Ω": (0.0, 2.0), "A": (0.0, 0.35)}
DIFFERENCES = {"scores": 0.4, "weights": 0.12}


class State(FigureState):
    """What the reader can set; each parameter is a key of the query string."""

    mode = param.Selector(default="none", objects=["none", "tied", "separate"])
    divisor = param.Selector(default="sqrt", objects=["sqrt", "one"])
    seed = param.Integer(default=123, bounds=(0, 2**32 - 1))
    show = param.Selector(default="scores", objects=["scores", "weights"])
    cell = param.NumericTuple(default=(2, 3), length=2)
    relation = param.Selector(default="seed", objects=["seed", "double", "identity"])

    # The mode in which each relation means something; the relation decides.
    _MODES: Mapping[str, str] = {"double": "separate", "identity": "none"}

    def bounds(self, key: str) -> tuple[float, float]:
        """Return the bounds of a numeric parameter; a cell counts from 1."""
        return (1, len(TOKENS)) if key == "cell" else super().bounds(key)

    @param.depends("relation", watch=True)
    def _relation_decides(self) -> None:
        self.mode = self._MODES.get(self.relation, self.mode)

    @param.depends("mode", watch=True)
    def _mode_ends_relation(self) -> None:
        if self._MODES.get(self.relation, self.mode) != self.mode:
            self.relation = "seed"


class Result(NamedTuple):
    """Every matrix of one forward pass. Without projections q, k and v are the inputs themselves."""

    x: np.ndarray  # (n, d_in)
    projections: Projections | None
    q: np.ndarray  # (n, d_k)
    k: np.ndarray
    v: np.ndarray
    omega: np.ndarray  # (n, n), raw scores
    divisor: float
    weights: np.ndarray  # (n, n)
    z: np.ndarray  # (n, d_out)

    @property
    def root(self) -> str:
        """The divisor as it is written."""
        return "1" if self.divisor == 1 else f"√{D_K}"


class Hows(NamedTuple):
    """How each entry is computed, in numbers, ending in its value."""

    scores: list[list[str]]
    weights: list[list[str]]


def forward(state: State) -> Result:
    """Run attention as the state says: six products at most, and one softmax."""
    x = np.eye(len(TOKENS)) if state.relation == "identity" else np.asarray(EMBEDDINGS)
    projections = None if state.mode == "none" else projections_of(state)
    q, k, v = (x, x, x) if projections is None else project(x, projections)
    omega = scores(q, k)
    divisor = math.sqrt(D_K) if state.divisor == "sqrt" else 1.0
    weights = softmax(omega / divisor)
    return Result(x, projections, q, k, v, omega, divisor, weights, weights @ v)


def projections_of(state: State) -> Projections:
    """Draw the three matrices as PyTorch would from the seed, then relate key to query as the state says."""
    generator = TorchGenerator(state.seed)
    d_in = np.shape(EMBEDDINGS)[1]
    query, key, value = (generator.rand(d_in, D_K).astype(float) for _ in range(3))
    if state.mode == "tied":
        key = query
    elif state.relation == "double":
        key = 2 * query
    return Projections(query, key, value)


def nearest(z: np.ndarray, averaged: np.ndarray) -> list[str]:
    """Return, for each output, the token whose averaged vector is nearest to it (Euclidean)."""
    distances = np.linalg.norm(z[:, None, :] - averaged[None, :, :], axis=-1)
    return [TOKENS[int(i)] for i in distances.argmin(axis=1)]


class Asymmetry(Card):
    """Scores, weights and their mirror images, with and without projections."""

    number = 1
    heading = "Scores are symmetric until two matrices break it; the weights are lopsided all along"
    prompt = "Change the mode, then compare a cell with its mirror image across the diagonal."
    state_class = State
    view_keys = ("cell", "show")
    scenes: Mapping[str, Mapping[str, Any]] = {
        "Where the last post ended": {"divisor": "one", "show": "weights"},
        "Symmetric scores, lopsided weights": {"show": "weights"},
        "Tied": {"mode": "tied"},
        "Separate": {"mode": "separate"},
        "W_k = 2 W_q": {"mode": "separate", "relation": "double"},
        "Orthonormal inputs": {"relation": "identity", "show": "weights"},
    }

    def controls(self) -> list[Any]:
        p = self.state.param
        return [
            segmented(p.mode, "Mode", {"No matrices": "none", "Tied": "tied", "Separate": "separate"}),
            segmented(p.divisor, "Divisor", {"√d_k": "sqrt", "1": "one"}),
            segmented(p.show, "Show", {"Scores": "scores", "Weights": "weights"}),
            row_and_column(self.state, TOKENS, TOKENS),
            number(p.seed, "Weight seed"),
        ]

    def panels(self) -> list[Any]:
        inks = {
            "Q": "var(--page-query, #0072B2)",
            "K": "var(--page-key, #B84F00)",
            "V": "var(--page-value, #00795a)",
        }
        inks |= {"W_q": inks["Q"], "W_k": inks["K"], "W_v": inks["V"]}
        columns = [["X"], ["W_q", "W_k", "W_v"], ["Q", "K", "V"], ["Ω", "A"], ["Z"]]
        self._strip_plot = Strip(
            columns, "The matrices from the inputs X to the context vectors Z, in colour", 1.06, inks
        )
        self._map = Heatmap(
            TOKENS, TOKENS, "The selected matrix, 6 by 6; the same numbers stand in the data", self._select
        )
        self._difference = Heatmap(TOKENS, TOKENS, "The selected matrix minus its transpose, 6 by 6", self._select)
        self._pipeline_caption, self._map_caption, self._difference_caption = html(""), html(""), html("")
        return [
            panel(self._map.pane, self._map_caption),
            panel(self._difference.pane, self._difference_caption),
            panel(self._strip_plot.pane, self._pipeline_caption),
        ]

    def compute(self) -> None:
        self.result = forward(self.state)
        self._explained: Hows | None = None

    @property
    def _hows(self) -> Hows:
        """How the entries of the result are computed: worked out when it is wanted, after the readouts."""
        self._explained = self._explained or explain(self.result)
        return self._explained

    def readouts(self) -> list[Readout]:
        r = self.result
        i, j = self._cell
        averaged = r.v
        before, after = mean_pairwise_distance(averaged), mean_pairwise_distance(r.z)
        denominators = np.exp(r.omega / r.divisor).sum(axis=1)
        sums = r.omega.sum(axis=1)
        closest = nearest(r.z, averaged)
        score_pair, pair = [r.omega[i, j], r.omega[j, i]], [r.weights[i, j], r.weights[j, i]]
        there = f"{TOKENS[i]} ⇄ {TOKENS[j]}"
        what = "inputs" if r.projections is None else "values"
        return [
            Readout("score_error", "Score error", asymmetry(r.omega), fixed(asymmetry(r.omega)), "max |Ω − Ωᵀ|"),
            Readout("weight_error", "Weight error", asymmetry(r.weights), fixed(asymmetry(r.weights)), "max |A − Aᵀ|"),
            Readout("score_pair", "Scores, cell · mirror", score_pair, " · ".join(map(fixed, score_pair)), there),
            Readout("pair", "Weights, cell · mirror", pair, " · ".join(map(fixed, pair)), there),
            Readout("input_spread", f"Mean distance, {what}", before, fixed(before), wide=True),
            Readout("output_spread", "Mean distance, outputs", after, fixed(after), wide=True),
            Readout("spread_ratio", "Distance kept", after / before, f"{100 * after / before:.1f} %", wide=True),
            Readout("row_sums", "Row sums of Ω", sums, numbers(sums), wide=True),
            Readout("softmax_denominators", "Softmax denominators", denominators, numbers(denominators), wide=True),
            Readout("context_journey", "Context of journey", r.z[1], numbers(r.z[1]), wide=True),
            Readout("nearest", "Nearest to each output", closest, "  ".join(closest), wide=True),
        ]  # fmt: skip

    def summary(self) -> str:
        r = self.result
        error, weight_error = asymmetry(r.omega), asymmetry(r.weights)
        scored = "are exactly symmetric" if error == 0 else f"differ from their mirror image by up to {fixed(error)}"
        if weight_error == 0:
            weighed = "so are the weights"
        else:
            i, j = divmod(int(np.abs(r.weights - r.weights.T).argmax()), len(TOKENS))
            joint = "the weights are not: they differ" if error == 0 else "the weights differ"
            weighed = f"{joint} by up to {fixed(weight_error)}, at {TOKENS[i]} and {TOKENS[j]}"
        return f"{self._said()}, divided by {self.result.root}: the scores {scored}; {weighed}."

    def _said(self) -> str:
        if self.state.relation == "identity":
            return "Orthonormal inputs and no matrices"
        if self.state.relation == "double":
            return "A key matrix twice the query matrix"
        return {
            "none": "No matrices",
            "tied": "One matrix in both roles",
            "separate": "Two separate matrices",
        }[self.state.mode]

    def explanation(self) -> str:
        i, j = self._cell
        q, k = ("x", "x") if self.result.projections is None else ("q", "k")
        return (
            f'<div class="how"><b class="q">{q}({escape(TOKENS[i])})</b> · <b class="k">{k}({escape(TOKENS[j])})</b> '
            f"= {self._hows.scores[i][j]}<br>weight = {self._hows.weights[i][j]}</div>"
        )

    def tables(self) -> list[Table]:
        r = self.result
        dimensions = [str(d + 1) for d in range(r.x.shape[1])]
        return [
            Table("Scores Ω", TOKENS, TOKENS, r.omega),
            Table("Weights A", TOKENS, TOKENS, r.weights),
            Table("Context vectors Z", TOKENS, dimensions[: r.z.shape[1]], r.z),
        ]

    def draw(self) -> None:
        r = self.result
        i, j = self._cell
        weights = self.state.show == "weights"
        name, matrix, limits = ("A", r.weights, SCALES["A"]) if weights else ("Ω", r.omega, SCALES["Ω"])
        gap = matrix - matrix.T
        limit = DIFFERENCES[self.state.show]
        made = self._hows.weights if weights else self._hows.scores
        apart = [
            [f"{one} − {other}" for one, other in zip(*rows, strict=True)]
            for rows in zip(entries(matrix), entries(matrix.T), strict=True)
        ]
        hows, apart_hows = _named(name, made), _named(f"{name} − {name}ᵀ", results(apart, gap))
        self._map.draw(Cells(matrix, sequential(matrix, *limits), hows), (i, j), mirror=True)
        self._difference.draw(Cells(gap, diverging(gap, limit), apart_hows), (i, j), mirror=True)
        self._draw_pipeline()
        title = "Weights A" if weights else "Raw scores Ω"
        low, high = limits
        self._map_caption.object = (
            f'<div class="caption"><b>{title}</b>, 6 × 6: rows are queries, columns keys'
            f"{scale('', sequential(np.linspace(low, high, 9), low, high), f'{low:g}', f'{high:g}')}</div>"
            + self.explanation()
        )
        self._difference_caption.object = (
            f'<div class="caption"><b>{name} − {name}ᵀ</b>, 6 × 6: what the mirror image does not share'
            f"{scale('', diverging(np.linspace(-limit, limit, 9), limit), f'−{limit:g}', f'{limit:g}')}</div>"
        )
        first, last = ["Ω = X Xᵀ"], "Z = A X"
        if r.projections is not None:
            first, last = ["Q = X W_q", "K = X W_k", "V = X W_v", "Ω = Q Kᵀ"], "Z = A V"
        equations = ", ".join(
            f'<span class="whole">{equation}</span>' for equation in (*first, f"A = softmax(Ω / {r.root})", last)
        )
        played = "the inputs play all three parts, " if r.projections is None else ""
        self._pipeline_caption.object = f'<div class="caption"><b>From X to Z</b>: {played}{equations}</div>'

    def _draw_pipeline(self) -> None:
        r = self.result
        i, j = self._cell
        blocks = {"X": _block("X", r.x, SCALES["X"], entries(r.x))}
        marked = [("Ω", i, j, 1, 1), ("A", i, j, 1, 1)]
        if r.projections is not None:
            for letter, weight, product in zip("qkv", r.projections, (r.q, r.k, r.v), strict=True):
                blocks[f"W_{letter}"] = _block(f"W_{letter}", weight, SCALES["W"], entries(weight))
                sums = results(products(r.x, weight), product)
                blocks[letter.upper()] = _block(letter.upper(), product, SCALES["QKV"], sums)
            marked += [("Q", i, 0, 1, D_K), ("K", j, 0, 1, D_K)]
        else:
            width = r.x.shape[1]
            marked += [("X", i, 0, 1, width), ("X", j, 0, 1, width)]
        averages = results(products(r.weights, r.v), r.z)
        blocks |= {
            "Ω": _block("Ω", r.omega, SCALES["Ω"], self._hows.scores),
            "A": _block("A", r.weights, SCALES["A"], self._hows.weights),
            "Z": _block("Z", r.z, SCALES["X"] if r.projections is None else SCALES["QKV"], averages),
        }
        self._strip_plot.draw(blocks, marked)


def explain(r: Result) -> Hows:
    """Return how each score and each weight is computed, in numbers."""
    totals = np.exp(r.omega / r.divisor).sum(axis=1)
    quotients = [
        [f"exp({fixed(float(score))} / {r.root}) / {fixed(float(total))}" for score in row]
        for row, total in zip(r.omega, totals, strict=True)
    ]
    return Hows(results(products(r.q, r.k.T), r.omega), results(quotients, r.weights))


def _named(name: str, texts: list[list[str]]) -> list[str]:
    return [
        f"{name}[{TOKENS[i]}, {TOKENS[j]}] = {text}" for i, row in enumerate(texts) for j, text in enumerate(row)
    ]  # fmt: skip


def _block(name: str, matrix: np.ndarray, limits: tuple[float, float], texts: list[list[str]]) -> Block:
    hows = [f"{name}[{i}, {j}] = {text}" for i, row in enumerate(texts, 1) for j, text in enumerate(row, 1)]
    return Block(name, (matrix.shape[0], matrix.shape[1]), sequential(matrix, *limits), hows)


def app() -> Asymmetry:
    """Return the figure."""
    return Asymmetry()


if pn.state.served:
    app().servable()
