"""Figure 1: three matrices, and the asymmetry they buy."""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape
from typing import Any, NamedTuple

import numpy as np
import panel as pn

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
from figures.shared.controls import radio
from figures.shared.figure import Figure
from figures.shared.format import fixed, percent, product, symbols
from figures.shared.panels import Drawing, Grid, Table, mini
from figures.shared.readouts import Readout
from figures.shared.state import Cell, Choice, FigureState, Seed

N = len(TOKENS)
D_K = 2  # width of the projected modes; the one divisor rule for all modes is √2 or 1
MODES = {"none": "No matrices", "tied": "Tied", "separate": "Separate"}
SHOWN = {"scores": "Scores", "weights": "Weights"}
RELATIONS = {"seed": "as drawn", "double": "W_k = 2 W_q", "identity": "X = I"}
MODE_OF = {"double": "separate", "identity": "none"}  # the mode in which a relation means something

# One scale for each quantity, whatever the state, so that two states compare.
SCALES = {"scores": 2.0, "weights": 0.3}
GAPS = {"scores": 0.4, "weights": 0.12}
HUES = {"scores": "score", "weights": "weight"}


class State(FigureState):
    """What the reader can set."""

    mode = Choice("separate", MODES, label="Mode", place="drawn")
    divisor = Choice("sqrt", {"sqrt": "√d_k", "one": "1"}, label="Divisor")
    seed = Seed(123, label="Weight seed", resample="")
    show = Choice("weights", SHOWN, label="Show", place="drawn")
    cell = Cell((2, 3), TOKENS, TOKENS)
    relation = Choice("seed", RELATIONS, label="Relation", kind="none", place="drawn")

    @classmethod
    def fit(cls, values: dict[str, Any], changed: set[str]) -> dict[str, Any]:
        """Let a relation that was just set bring its mode, and another mode end the relation."""
        mode = MODE_OF.get(values["relation"], values["mode"])
        if mode == values["mode"]:
            return values
        return {**values, "mode": mode} if "relation" in changed else {**values, "relation": "seed"}


class Pass(NamedTuple):
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

    @property
    def denominators(self) -> np.ndarray:
        """What softmax divides each row by, shape (n,)."""
        return np.exp(self.omega / self.divisor).sum(axis=1)

    def shown(self, show: str) -> np.ndarray:
        """Return the scores or the weights."""
        return self.omega if show == "scores" else self.weights

    def gap(self, show: str) -> np.ndarray:
        """Return each cell of the scores or of the weights minus its mirror cell."""
        return self.shown(show) - self.shown(show).T


def compute(s: State) -> dict[str, Pass]:
    """Run attention in all three modes: six products at most, and one softmax, in each."""
    return {mode: forward(s, mode) for mode in MODES}


def forward(s: State, mode: str) -> Pass:
    """Run attention in one mode; the relation means something in its own mode only."""
    relation = s.relation if MODE_OF.get(s.relation) == mode else "seed"
    x = np.eye(N) if relation == "identity" else EMBEDDINGS
    projections = None if mode == "none" else matrices(s.seed, mode, relation)
    q, k, v = (x, x, x) if projections is None else project(x, projections)
    omega = scores(q, k)
    divisor = math.sqrt(D_K) if s.divisor == "sqrt" else 1.0
    weights = softmax(omega / divisor)
    return Pass(x, projections, q, k, v, omega, divisor, weights, weights @ v)


def matrices(seed: int, mode: str, relation: str) -> Projections:
    """Draw three matrices as PyTorch would from the seed, then relate key to query."""
    torch = TorchGenerator(seed)
    query, key, value = (torch.rand(EMBEDDINGS.shape[1], D_K).astype(float) for _ in Projections._fields)
    return Projections(query, query if mode == "tied" else 2 * query if relation == "double" else key, value)


def nearest(z: np.ndarray, averaged: np.ndarray) -> list[str]:
    """Return, for each output, the token whose averaged vector is nearest to it (Euclidean)."""
    distances = np.linalg.norm(z[:, None, :] - averaged[None, :, :], axis=-1)
    return [TOKENS[i] for i in distances.argmin(axis=1).tolist()]


def token(i: int) -> str:
    """Return a token as HTML."""
    return escape(TOKENS[i])


def sentence(s: State, r: dict[str, Pass]) -> str:
    """Return how far scores and weights are from their mirror images."""
    p = r[s.mode]
    made = {
        "none": "<b>no matrices</b>",
        "tied": "<b>W<sub>k</sub> = W<sub>q</sub></b>",
        "separate": "<b>two separate matrices</b>",
        "double": "<b>W<sub>k</sub> = 2 W<sub>q</sub></b>",
        "identity": "<b>orthonormal inputs</b> and no matrices",
    }[s.mode if s.relation == "seed" else s.relation]
    undivided = ", undivided," if s.divisor == "one" else ""
    by_scores, by_weights = (f"by up to <b>{fixed(asymmetry(p.shown(show)))}</b>" for show in SHOWN)
    if asymmetry(p.omega):
        scored = f"differ from their mirror image {by_scores}, and the weights {by_weights}"
    elif asymmetry(p.weights):
        scored = f"are exactly symmetric, but the weights differ {by_weights}, at {widest(p)}"
    else:
        scored = "are exactly symmetric, and so are the weights"
    return f"With {made}{undivided} the scores {scored}."


def widest(p: Pass) -> str:
    """Return the pair of tokens whose weights differ most."""
    i, j = np.unravel_index(np.abs(p.gap("weights")).argmax(), (N, N))
    return f"{token(int(i))} and {token(int(j))}"


def how(s: State, r: dict[str, Pass], i: int, j: int) -> str:
    """Return what a cell and its mirror cell are, and how the cell is computed."""
    p = r[s.mode]
    query, key = f'<b class="q">{token(i)}</b>', f'<b class="k">{token(j) if i != j else "itself"}</b>'
    sum_of = f"{product(p.q[i], p.k[j])} = {fixed(p.omega[i, j])}"
    weight = f"exp({fixed(p.omega[i, j])} / {p.root}) / {fixed(p.denominators[i])} = {fixed(p.weights[i, j])}"
    here, there = (fixed(p.shown(s.show)[place]) for place in ((i, j), (j, i)))
    looks = "scores" if s.show == "scores" else "looks at"
    back = ", its own mirror" if i == j else f", gets <b>{there}</b> back"
    mirror = "" if i == j else f"; its mirror {fixed(p.omega[j, i])}"
    return (
        f'<div class="pairing"><p>{query} {looks} {key} with <b>{here}</b>{back}.</p> '
        f'<p class="muted">score {sum_of}{mirror}.</p> <p class="muted">weight {weight}.</p></div>'
    )


def mirrors(s: State, r: dict[str, Pass]) -> str:
    """Return the six differences as small multiples, whose columns and rows are radio buttons."""
    notes = {"none": "Q = K = X", "tied": "W_k = W_q", "separate": "W_k ≠ W_q"}
    if s.relation in MODE_OF:
        notes[MODE_OF[s.relation]] = RELATIONS[s.relation]
    modes, shows = (
        "".join(
            radio(key, v, t, v == getattr(s, key), f"<small>{symbols(notes[v])}</small>") for v, t in options.items()
        )
        for key, options, notes in (("mode", MODES, notes), ("show", SHOWN, {"scores": "Ω", "weights": "A"}))
    )
    pictures = "".join(
        f'<span class="pick" data-set="mode={mode}&show={show}" style="--row:{row};--column:{column}"'
        f"{' aria-current=true' if (mode, show) == (s.mode, s.show) else ''}>"
        f"{mini(r[mode].gap(show), HUES[show], GAPS[show], diagonal=True)}"
        f'<span class="unseen">{SHOWN[show]}, {MODES[mode]}: </span>{gap_text(asymmetry(r[mode].shown(show)))}</span> '
        for row, show in enumerate(SHOWN)
        for column, mode in enumerate(MODES)
    )
    return (
        '<p class="caption"><b>Each cell minus its mirror cell</b> <span><b class="score">blue</b> or '
        '<b class="weight">plum</b> is more, <b class="less">ochre</b> less, blank equal</span></p>'
        f'<div class="mirrors"><div class="modes" role="radiogroup" aria-label="Mode">{modes}</div>'
        f'<div class="shows" role="radiogroup" aria-label="Show">{shows}</div>{pictures}</div>'
    )


def gap_text(error: float) -> str:
    """Return how far a matrix is from its mirror image, as HTML."""
    return f"<b>mirror gap up to {fixed(error)}</b>" if error else "<span>mirror gap 0: symmetric</span>"


def mirror_data(s: State, r: dict[str, Pass]) -> list[Table]:
    """Return the six differences above the diagonal; below it they have the other sign."""
    above = np.triu_indices(N, 1)
    rows = [f"{TOKENS[i]}, {TOKENS[j]}" for i, j in zip(*above, strict=True)]
    names = [f"{SHOWN[show]}, {MODES[mode]}" for show in SHOWN for mode in MODES]
    values = np.column_stack([r[mode].gap(show)[above] for show in SHOWN for mode in MODES])
    return [Table("Cell minus mirror cell", rows, names, values)]


def stages(s: State, r: dict[str, Pass]) -> list[dict[str, tuple[np.ndarray, str, float]]]:
    """Return the matrices from X to Z, step by step: each with its hue and its scale."""
    p = r[s.mode]
    omega, weights = (p.omega, "score", SCALES["scores"]), (p.weights, "weight", SCALES["weights"])
    if not p.projections:
        return [{"X": (p.x, "muted", 1.0)}, {"Ω": omega}, {"A": weights}, {"Z": (p.z, "muted", 1.0)}]
    drawn = [*zip("qkv", ("query", "key", "value"), p.projections, (p.q, p.k, p.v), strict=True)]
    return [
        {"X": (p.x, "muted", 1.0)},
        {f"W_{letter}": (matrix, hue, 1.0) for letter, hue, matrix, _ in drawn},
        {letter.upper(): (product, hue, 2.0) for letter, hue, _, product in drawn},
        {"Ω": omega},
        {"A": weights},
        {"Z": (p.z, "value", 2.0)},
    ]


def pipeline(s: State, r: dict[str, Pass]) -> str:
    """Return the way from the inputs to the context vectors as small grids with their shapes."""
    blocks = (
        "".join(
            f"<span><b>{symbols(name)}</b> <small>{len(matrix)} × {len(matrix[0])}</small>"
            f"{mini(matrix, hue, scale)}</span> "
            for name, (matrix, hue, scale) in stage.items()
        )
        for stage in stages(s, r)
    )
    return f'<div class="pipeline">{"<i aria-hidden=true>→</i>".join(blocks)}</div>'


def equations(s: State, r: dict[str, Pass]) -> str:
    """Return the products of the chosen mode."""
    weights = f"A = softmax(Ω / {r[s.mode].root})"
    if s.mode == "none":
        return f"Ω = X Xᵀ, {weights}, Z = A X"
    return f"Q = X W_q, K = X W_k, V = X W_v, Ω = Q Kᵀ, {weights}, Z = A V"


def pipeline_data(s: State, r: dict[str, Pass]) -> list[Table]:
    """Return every matrix from X to Z that has no table yet."""
    drawn = "Ω" if s.show == "scores" else "A"  # has a table of its own
    named = {name: matrix for stage in stages(s, r) for name, (matrix, *_) in stage.items() if name != drawn}

    def side(length: int) -> list[str]:
        return list(TOKENS) if length == N else [str(place) for place in range(1, length + 1)]

    return [Table(name, side(len(matrix)), side(len(matrix[0])), matrix) for name, matrix in named.items()]


def code(s: State, r: dict[str, Pass]) -> str:
    """Return the lines that compute the chosen mode."""
    i, j = (place - 1 for place in s.cell)
    related = "w_k = w_q\n" if s.mode == "tied" else "w_k = 2 * w_q\n" if s.relation == "double" else ""
    projected = f"""x = EMBEDDINGS
torch = TorchGenerator({s.seed})
w_q, w_k, w_v = (torch.rand(3, 2).astype(float) for _ in range(3))
{related}q, k, v = project(x, Projections(w_q, w_k, w_v))"""
    x = "np.eye(6)" if s.relation == "identity" else "EMBEDDINGS"
    return f"""import numpy as np
from attention_core import *

{f"q = k = v = x = {x}" if s.mode == "none" else projected}
omega = scores(q, k)
weights = softmax(omega / {"np.sqrt(2)" if s.divisor == "sqrt" else "1"})
score_error, weight_error = asymmetry(omega), asymmetry(weights)
score_pair = [omega[{i}, {j}], omega[{j}, {i}]]
pair = [weights[{i}, {j}], weights[{j}, {i}]]
context_journey = weights[1] @ v
spread_ratio = mean_pairwise_distance(weights @ v) / mean_pairwise_distance(v)
"""


def chosen(value: Callable[[Pass], Any]) -> Callable[[State, dict[str, Pass]], Any]:
    """Return a function of state and result that looks at the chosen mode."""
    return lambda s, r: value(r[s.mode])


def pair(show: str) -> Callable[[State, dict[str, Pass]], list[float]]:
    """Return what reads the selected cell and its mirror cell."""
    return lambda s, r: [r[s.mode].shown(show)[i - 1, j - 1] for i, j in (s.cell, s.cell[::-1])]


def tokens(s: State, r: dict[str, Pass]) -> str:
    """Return the selected pair."""
    return " ⇄ ".join(TOKENS[place - 1] for place in s.cell)


def both(values: list[float]) -> str:
    """Return two numbers."""
    return " · ".join(map(fixed, values))


def spread_kept(p: Pass) -> float:
    """Return which share of their mean distance the averaged vectors keep."""
    return mean_pairwise_distance(p.z) / mean_pairwise_distance(p.v)


PANELS = [
    Drawing("", mirrors, tables=mirror_data),
    Grid(
        lambda s, r: f"{MODES[s.mode]}: {'weights A' if s.show == 'weights' else 'scores Ω'}",
        lambda s, r: r[s.mode].shown(s.show),
        rows=TOKENS,
        columns=TOKENS,
        hue=lambda s, r: HUES[s.show],
        scale=lambda s, r: SCALES[s.show],
        note="query ↓ key →",
        mirror=True,
        area="side",
    ),
    Drawing("From X to Z", pipeline, note=equations, tables=pipeline_data, area="numbers"),
]

READOUTS = [
    Readout("score_error", "Score error", chosen(lambda p: asymmetry(p.omega)), None, "max |Ω − Ωᵀ|"),
    Readout("weight_error", "Weight error", chosen(lambda p: asymmetry(p.weights)), None, "max |A − Aᵀ|"),
    Readout("score_pair", "Scores, cell · mirror", pair("scores"), both, tokens),
    Readout("pair", "Weights, cell · mirror", pair("weights"), both, tokens),
    Readout(
        "input_spread", "Mean distance, averaged vectors", chosen(lambda p: mean_pairwise_distance(p.v)), None,
        lambda s, r: "the inputs X" if s.mode == "none" else "the values V",
    ),
    Readout("output_spread", "Mean distance, outputs", chosen(lambda p: mean_pairwise_distance(p.z)), None, "Z"),
    Readout("spread_ratio", "Distance kept", chosen(spread_kept), percent),
    Readout("row_sums", "Row sums of Ω", chosen(lambda p: p.omega.sum(axis=1))),
    Readout("softmax_denominators", "Softmax denominators", chosen(lambda p: p.denominators)),
    Readout("context_journey", "Context of journey", chosen(lambda p: p.z[1])),
    Readout("nearest", "Nearest to each output", chosen(lambda p: nearest(p.z, p.v))),
]  # fmt: skip

SCENES = {
    "No divisor": {"mode": "none", "divisor": "one"},
    "Symmetric scores, lopsided weights": {"mode": "none"},
    "Tied": {"mode": "tied"},
    "Separate": {},
    "W_k = 2 W_q": {"relation": "double", "show": "scores"},
    "Orthonormal inputs": {"mode": "none", "relation": "identity"},
}


def app() -> Figure:
    """Return the figure."""
    return Figure(
        State, compute, PANELS, READOUTS,
        title="Lopsided scores take two different matrices; lopsided weights only a softmax",
        sentence=sentence, how=how, scenes=SCENES, code=code, inputs=("divisor", "seed", "relation"),
        layout='"main side" auto "main how" 1fr "primary primary" auto / minmax(0, 3fr) minmax(17rem, 2fr)',
        lines={"how": (5, 5)},
    )  # fmt: skip


if pn.state.served:
    app().servable()
