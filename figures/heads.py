"""Figure 5: one matrix, sliced into stripes of heads."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cache
from html import escape
from typing import Any, NamedTuple

import numpy as np
import panel as pn
import param

from attention_core import (
    EMBEDDINGS,
    TOKENS,
    Projections,
    Step,
    TorchGenerator,
    attention,
    head_columns,
    parameter_count,
    project,
    shape_trace,
)
from figures.shared.boxes import STRIPES, nested_boxes
from figures.shared.card import Card, Table, html, panel
from figures.shared.controls import choice, number, segmented
from figures.shared.readouts import Readout, entries, fixed, numbers, products, results
from figures.shared.selection import offer, row_and_column, withhold
from figures.shared.state import FigureState, Unusable
from figures.shared.stepper import Stepper
from figures.shared.stripes import Block, Stripes, head_colour
from figures.shared.styles import PROSE


class Sizes(NamedTuple):
    """The sizes of one layer: batch, tokens, widths and heads."""

    b: int
    n: int
    d_in: int
    d_out: int
    num_heads: int

    @property
    def head_dim(self) -> int:
        """Width of one head."""
        return self.d_out // self.num_heads

    @property
    def divisors(self) -> list[int]:
        """The numbers of heads that d_out can be cut into."""
        return [heads for heads in range(1, self.d_out + 1) if self.d_out % heads == 0]


PRESETS = {
    "toy": Sizes(2, 6, 3, 2, 2),
    "small": Sizes(1, 6, 6, 8, 4),
    "gpt2": Sizes(1, 1024, 768, 768, 12),
    "gpt2-xl": Sizes(1, 1024, 1600, 1600, 25),
}
KINDS = ("split", "wrapper")
MOST_LINES = len(shape_trace(*PRESETS["toy"], kind="split"))
WIDEST = max(sizes.d_out for sizes in PRESETS.values())

PLAIN = "#c9c6bf"

# The axes of each line of the trace, and what to see there.
SPLIT_LINES = (
    ("b n d_in", "The input embeddings: b sequences of n tokens, each d_in wide."),
    ("b n d_out", "One product makes the keys of all heads at once, side by side in stripes."),
    ("b n H head_dim", "view only counts the columns differently: d_out becomes H times head_dim. No number moves."),
    ("b H n head_dim", "transpose swaps two axes, so that each head has a matrix of its own. No number moves."),
    ("b H head_dim n", "Transposed once more inside each head, for the product: axes 2 and 3 now, not 1 and 2."),
    ("b H n n", "One batched call makes all heads’ scores; the heads do not meet."),
    ("b H n n", "Here the divisor is read, after the reshape: {right}, not {wrong}."),
    ("b H n head_dim", "The second batched call averages each head’s values."),
    ("b n H head_dim", "Back, so that a token’s heads lie side by side."),
    ("b n d_out", ".contiguous() does move the numbers, since the transposed view does not lie in this order."),
    ("b n d_out", "A last square layer lets the heads meet. The wrapper class has none."),
)
WRAPPER_LINES = (
    ("b n d_in", "The input embeddings: b sequences of n tokens, each d_in wide."),
    ("b n d_out", "Each head has its own matrices, each d_out wide: what all heads share in the split class."),
    ("b d_out n", "Transposed for the product."),
    ("b n n", "The scores of one head; the others follow one after the other."),
    ("b n n", "The divisor is the root of d_out, which here is the width of one head."),
    ("b n d_out", "The context vectors of one head."),
    ("b n H·d_out", "All heads side by side: H times d_out columns, {output} of them."),
)
LINES = {"split": SPLIT_LINES, "wrapper": WRAPPER_LINES}

TRACE = """
:host { flex: 1 1 320px; min-width: 0; }
ol { list-style: none; margin: 0; padding: 0; font: 13px/1.4 var(--sans); color: var(--ink); }
li { display: flex; gap: 10px; justify-content: space-between; align-items: baseline; padding: 5px 8px;
  border-left: 3px solid transparent; border-bottom: 1px solid var(--line); }
li code { font: 12.5px/1.4 var(--mono); overflow-wrap: anywhere; }
li span { flex: none; font-variant-numeric: tabular-nums; white-space: nowrap; color: var(--muted); }
li[aria-current] { background: var(--wash); border-left-color: var(--accent); }
li[aria-current] span { color: var(--ink); font-weight: 600; }
"""
BOXES = """
:host { min-height: 330px; }
.shape { font: 600 17px/1.4 var(--sans); font-variant-numeric: tabular-nums; color: var(--ink); margin: 0 0 2px; }
.shape span { font-weight: 400; font-size: 14px; color: var(--muted); white-space: nowrap; }
.said { font: 14px/1.45 var(--sans); color: var(--ink); margin: 0 0 12px; min-height: 60px; }
svg { display: block; width: 100%; height: auto; }
svg rect:not(.cell) { fill: none; stroke: var(--muted); stroke-width: 1; }
svg text { font: 10.5px var(--sans); fill: var(--ink); }
"""
WORDS = """
:host { flex: 1 1 440px; min-width: 0; }
ul { margin: 4px 0 0; padding-left: 18px; font: 14px/1.5 var(--sans); color: var(--ink); }
li { margin-bottom: 4px; max-width: 72ch; }
table { border-collapse: collapse; font: 13px/1.5 var(--sans); color: var(--ink); margin: 4px 0;
  font-variant-numeric: tabular-nums; }
th { font-weight: 400; color: var(--muted); text-align: left; padding: 1px 14px 1px 0; vertical-align: top; }
th[scope] { white-space: nowrap; }
td { padding: 1px 14px 1px 0; }
"""


class State(FigureState):
    """What the reader can set; each parameter but the cell is a key of the query string."""

    preset = param.Selector(default="toy", objects=list(PRESETS))
    kind = param.Selector(default="split", objects=list(KINDS))
    heads = param.Integer(default=None, allow_None=True, bounds=(1, WIDEST), precedence=1, doc="None: the preset's.")
    head = param.Integer(default=1, bounds=(1, WIDEST), precedence=2)
    line = param.Integer(default=1, bounds=(1, MOST_LINES), precedence=2)
    cell = param.NumericTuple(default=(2, 1), length=2, precedence=-1, doc="Of the product X W_q; not in a link.")

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self.param.watch(self._fit, self.query_keys())

    @property
    def sizes(self) -> Sizes:
        """The preset's sizes with the chosen number of heads."""
        own = PRESETS[self.preset]
        return own._replace(num_heads=self.heads or own.num_heads)

    @property
    def lines(self) -> int:
        """How many lines the trace has."""
        return len(LINES[self.kind])

    def load_query(self, pairs: Iterable[tuple[str, str]]) -> str:
        """Set the state from a link; what it says of the heads is checked against its preset."""
        pairs = list(pairs)
        # A change of preset brings its own number of heads, even over the link's: hence a second time.
        super().load_query(pairs)
        return super().load_query(pairs)

    def read(self, key: str, text: str, before: dict[str, Any]) -> tuple[Any, str]:
        """Return the value a text stands for; what it may be depends on the preset, the class and the heads."""
        given, note = super().read(key, text, before)
        if key == "heads":
            d_out = PRESETS[before["preset"]].d_out
            if given < 1 or d_out % given:
                remainder = f"{d_out} / {given} leaves {d_out % given}" if given > 0 else f"{d_out} in {given} heads"
                raise Unusable(remainder)
        if key in ("head", "line"):
            own = before["heads"] or PRESETS[before["preset"]].num_heads
            most = own if key == "head" else len(LINES[before["kind"]])
            if given > most:
                return most, f"{key}={text} was moved to {most}"
        return given, note

    def bounds(self, key: str) -> tuple[float, float]:
        """Return the bounds of a number; heads have none, since the nearest divisor is not what was meant."""
        return (-math.inf, math.inf) if key == "heads" else super().bounds(key)

    def _fit(self, *events: param.parameterized.Event) -> None:
        """Keep what depends on each other consistent, in one change."""
        own, heads = PRESETS[self.preset], self.heads
        changed = any(event.name == "preset" for event in events)
        if changed or heads is None or heads == own.num_heads or own.d_out % heads:
            heads = None
        most = heads or own.num_heads
        row, column = self.cell
        cell = (min(row, own.n), min(column, own.d_out))
        self.param.update(heads=heads, head=min(self.head, most), line=min(self.line, self.lines), cell=cell)


class Proof(NamedTuple):
    """Numbers of a small layer: all heads from one matrix, and each head from its own."""

    x: np.ndarray  # (n, d_in), the inputs of the first sequence
    projections: Projections  # (d_in, d_out)
    queries: np.ndarray  # (n, d_out), of the first sequence
    own_queries: list[np.ndarray]  # (n, head_dim), one for each head
    max_difference: float


def layer(preset: str) -> tuple[np.ndarray, Projections]:
    """Return the embeddings, shape (b, n, d_in), and the weights of a preset with numbers.

    The toy is the book's: its six tokens twice, and the layers drawn after seed 123.
    """
    sizes = PRESETS[preset]
    generator = TorchGenerator(123 if preset == "toy" else 0)
    x = np.asarray(EMBEDDINGS) if preset == "toy" else generator.rand(sizes.n, sizes.d_in).astype(float)
    weights = (generator.linear(sizes.d_in, sizes.d_out).T.astype(float) for _ in Projections._fields)
    return np.stack([x] * sizes.b), Projections(*weights)


def prove(x: np.ndarray, projections: Projections, num_heads: int) -> Proof:
    """Run every head with small matrices of its own, and compare with one matrix that is sliced."""
    whole = project(x, projections)
    context, _ = attention(x, projections, num_heads, causal=True)
    d_out = context.shape[-1]
    own_queries, differences = [], []
    for head in range(num_heads):
        columns = head_columns(head, num_heads, d_out)
        small = Projections(*(matrix[:, columns] for matrix in projections))
        alone = project(x, small)
        own_context, _ = attention(x, small, causal=True)
        own_queries.append(alone[0][0])
        pairs = zip((*alone, own_context), (*whole, context), strict=True)
        differences += [np.abs(own - sliced[..., columns]).max() for own, sliced in pairs]
    return Proof(x[0], projections, whole[0][0], own_queries, float(max(differences)))


@cache
def proof_of(preset: str, num_heads: int) -> Proof:
    """Return the proof for a preset with numbers, worked out once."""
    return prove(*layer(preset), num_heads)


class Heads(Card):
    """The stripes of the heads, the shapes of one forward pass, and the proof that slicing changes nothing."""

    number = 5
    heading = "Many heads are one matrix, cut into stripes of columns"
    prompt = "Pick a preset, then walk through the forward pass and watch the shape."
    state_class = State
    view_keys = ("head", "line")
    scenes: Mapping[str, Mapping[str, Any]] = {
        "The book's toy": {},
        "A head you can see": {"preset": "small"},
        "GPT-2 divides by 8": {"preset": "gpt2", "line": 7},
        "Wrapper at matched width": {"preset": "gpt2", "kind": "wrapper"},
    }

    def controls(self) -> list[Any]:
        p = self.state.param
        self._count = _HeadCount()
        self._heads = choice(self._count.param.count, "Heads", _labels(self.state.sizes))
        self._count.param.watch(self._take_heads, "count")
        self._head = number(p.head, "Head shown")
        self._line = Stepper(p.line, "Line")
        self._cell_controls = row_and_column(self.state, *self._sides)
        return [
            segmented(p.preset, "Preset", {"Toy": "toy", "Small": "small", "GPT-2": "gpt2", "GPT-2 XL": "gpt2-xl"}),
            segmented(p.kind, "Class", {"Split": "split", "Wrapper": "wrapper"}),
            self._heads,
            self._head,
            self._line.view,
            self._cell_controls,
        ]

    def panels(self) -> list[Any]:
        self._stripes = Stripes(
            "The query projection above its product with the inputs, both cut into one stripe for each head",
            "var(--page-query, #0072B2)",
            self._point,
        )
        self._stripes_caption = html("")
        self._trace, self._boxes = html("", PROSE + TRACE), html("", PROSE + BOXES)
        self._proof, self._traps = html("", PROSE + WORDS), html("", PROSE + WORDS)
        return [
            panel(self._stripes.pane, self._stripes_caption),
            self._trace,
            panel(self._boxes, html("")),
            self._proof,
            self._traps,
        ]

    def compute(self) -> None:
        self.trace: list[Step] = shape_trace(*self.state.sizes, kind=self.state.kind)
        self.proof = proof_of(self.state.preset, self.state.sizes.num_heads) if self._has_numbers else None

    @property
    def _sides(self) -> tuple[list[str], list[str]]:
        """The names along the sides of the product X W_q."""
        s = self.state.sizes
        rows = list(TOKENS) if self.state.preset == "toy" else [str(i + 1) for i in range(s.n)]
        return rows, [str(i + 1) for i in range(s.d_out)]

    def _point(self, matrix: int, row: int, column: int) -> None:
        """Select a number of the product, or the column of the projection that was pointed at."""
        self._select(row if matrix == 1 else self._cell[0], column)

    @property
    def _has_numbers(self) -> bool:
        return self.state.preset in ("toy", "small")

    @property
    def _split(self) -> bool:
        return self.state.kind == "split"

    @property
    def _step(self) -> Step:
        return self.trace[self.state.line - 1]

    @property
    def _output_width(self) -> int:
        return self.trace[-1].shape[-1]

    @property
    def _parameters(self) -> int:
        """Parameters of the class at the width d_out in all: the wrapper's heads get head_dim columns each."""
        s = self.state.sizes
        if self._split:
            return parameter_count(s.d_in, s.d_out, s.num_heads, "split", output_projection=True)
        return parameter_count(s.d_in, s.head_dim, s.num_heads, "wrapper", output_projection=False)

    def readouts(self) -> list[Readout]:
        s, step = self.state.sizes, self._step
        calls = 1 if self._split else s.num_heads
        counted = "with output projection" if self._split else "at matched width"
        width = "d_out" if self._split else f"d_out · H, {s.d_out:,} a head"
        right, wrong = math.sqrt(s.head_dim), math.sqrt(s.d_out)
        difference = None if self.proof is None else self.proof.max_difference
        return [
            Readout("head_dim", "head_dim", s.head_dim, f"{s.head_dim:,}", f"{s.d_out:,} / {s.num_heads:,}"),
            Readout("divisor", "Divisor", right, _root(s.head_dim), f"√{s.head_dim:,}, of one head"),
            Readout("divisor_wrong", "Not the divisor", wrong, _root(s.d_out), f"√{s.d_out:,}, of all heads"),
            Readout("output_width", "Output width", self._output_width, f"{self._output_width:,}", width),
            Readout("parameters", "Parameters", self._parameters, f"{self._parameters:,}", counted),
            Readout("projection_products", "Projection products", 3 * calls, f"{3 * calls:,}", "Q, K and V"),
            Readout("attention_products", "Attention products", 2 * calls, f"{2 * calls:,}", "scores, weighted sum"),
            Readout("max_difference", "Sliced or own: difference", difference, *self._proved()),
            Readout("shape", f"Shape after line {self.state.line}", step.shape, _shape(step.shape), wide=True),
        ]  # fmt: skip

    def _proved(self) -> tuple[str, str]:
        if self.proof is None:
            return "—", "no numbers are formed"
        return fixed(self.proof.max_difference), f"{self.state.sizes.num_heads} small against 1 sliced"

    def summary(self) -> str:
        s = self.state.sizes
        if self._split:
            cut = f"{_heads(s.num_heads)} of {_columns(s.head_dim)}"
            said = f"One matrix for {cut}: scores are divided by {_root(s.head_dim)}"
        else:
            said = (
                f"A wrapper of {_heads(s.num_heads)}: given d_out = {s.d_out:,} it returns "
                f"{_columns(self._output_width)}; at matched width, {s.head_dim} a head, "
                f"it divides by {_root(s.head_dim)}"
            )
        return (
            f"{said} and there are {self._parameters:,} parameters. "
            f"Line {self.state.line} of {self.state.lines} makes the shape {_shape(self._step.shape)}."
        )

    def explanation(self) -> str:
        if self.proof is None:
            return '<div class="how">At this size no numbers are formed.</div>'
        i, j = self._cell
        token, head = escape(self._sides[0][i]), j // self.state.sizes.head_dim + 1
        terms = products(self.proof.x[[i]], self.proof.projections.query[:, [j]])[0][0]
        return (
            f'<div class="how"><b class="q">q({token})</b>, column {j + 1}, in the stripe of head {head}<br>'
            f'= x({token}) · <b class="q">column {j + 1} of W_q</b><br>'
            f"= {terms}<br>= {fixed(float(self.proof.queries[i, j]))}</div>"
        )

    def static_html(self) -> str:
        """Return the figure's numbers as plain HTML, with the whole trace."""
        return super().static_html() + _trace_html(self.trace, self.state.line)

    def tables(self) -> list[Table]:
        if self.proof is None:
            return []
        s = self.state.sizes
        rows, columns, tokens = ([str(i + 1) for i in range(size)] for size in (s.d_in, s.d_out, s.n))
        return [
            Table("W_q", rows, columns, self.proof.projections.query),
            Table("X W_q, sliced", tokens, columns, self.proof.queries),
            Table("X W_q, head by head", tokens, columns, np.hstack(self.proof.own_queries)),
        ]

    def draw(self) -> None:
        s = self.state.sizes
        self._offer_heads()
        self._head.high = s.num_heads
        self._line.end_at(self.state.lines)
        self._offer_cells()
        self._stripes.draw(self._blocks(), s.d_out, s.num_heads, self.state.head - 1, self._cell, apart=not self._split)
        self._stripes_caption.object = self._about_stripes() + self.explanation()
        self._trace.object = _trace_html(self.trace, self.state.line)
        self._boxes.object = self._nested()
        self._proof.object = self._about_proof()
        self._traps.object = self._about_traps()

    def _offer_cells(self) -> None:
        """Offer the rows and columns of the product, where it has numbers."""
        if self.proof is None:
            withhold(self._cell_controls)
        else:
            offer(self._cell_controls, self.state.cell, *self._sides)

    def _blocks(self) -> tuple[Block, Block]:
        s, proof = self.state.sizes, self.proof
        if proof is None:
            return Block("W_q", s.d_in), Block("X W_q", s.n)
        weights = proof.projections.query
        computed = results(products(proof.x, weights), proof.queries)
        return Block("W_q", s.d_in, weights, entries(weights)), Block("X W_q", s.n, proof.queries, computed)

    def _offer_heads(self) -> None:
        """Offer the divisors of the width; options and value in one change, since a list refuses other values."""
        s = self.state.sizes
        self._heads.param.update(options=_labels(s), value=s.num_heads)

    def _take_heads(self, event: param.parameterized.Event) -> None:
        if event.new != self.state.sizes.num_heads:
            self.state.heads = event.new

    def _about_stripes(self) -> str:
        s, head = self.state.sizes, self.state.head
        first, last = (head - 1) * s.head_dim + 1, head * s.head_dim
        owned = f"column {first:,}" if first == last else f"columns {first:,} … {last:,}"
        stored = owned.replace("column", "row")
        which = "One matrix for all heads" if self._split else "A matrix for each head, head_dim columns wide"
        return (
            f'<div class="caption"><b>{which}</b>, and its product’s columns in the same colours; keys and values '
            f"alike. Head {head:,} of {s.num_heads:,} (framed) owns {owned}: {stored} of torch’s stored weight.</div>"
        )

    def _nested(self) -> str:
        s, shape = self.state.sizes, self._step.shape
        names = LINES[self.state.kind][self.state.line - 1][0].split()
        shown = self.state.head - 1
        striped = ("H", "d_out") if self._split else ("H·d_out",)
        stripes = [s.num_heads if name in striped else 1 for name in names]

        def colour(index: tuple[int, ...]) -> str:
            if "H" in names[:-2]:
                return head_colour(index[names.index("H")])
            if names[-1] == "d_in" or max(stripes) > STRIPES:
                return PLAIN
            if max(stripes) == 1:
                return head_colour(0 if self._split else shown)
            axis = stripes.index(s.num_heads)
            return head_colour(index[axis] * s.num_heads // shape[axis])

        drawn = nested_boxes(shape, names, stripes, colour)
        return (
            f'<p class="shape">{_shape(shape)} <span>{escape(" × ".join(names))}</span></p>'
            f'<p class="said">{escape(self._what_to_see())}</p>{drawn}'
        )

    def _what_to_see(self) -> str:
        s = self.state.sizes
        return LINES[self.state.kind][self.state.line - 1][1].format(
            right=f"√{s.head_dim:,} = {_root(s.head_dim)}",
            wrong=f"√{s.d_out:,} = {_root(s.d_out)}",
            output=f"{self._output_width:,}",
        )

    def _about_proof(self) -> str:
        title = '<div class="caption"><b>Proof by numbers</b></div>'
        if self.proof is None:
            return (
                f'{title}<p class="line">At this size no numbers are formed; the shapes cost nothing. The toy and the '
                "small preset compare each head’s own small matrices with the slices of one.</p>"
            )
        s, head = self.state.sizes, self.state.head - 1
        sliced = self.proof.queries[:, head_columns(head, s.num_heads, s.d_out)]
        rows = "".join(
            f"<tr><th scope=row>token {i}</th><td>{numbers(one)}</td><td>{numbers(other)}</td></tr>"
            for i, (one, other) in enumerate(zip(sliced, self.proof.own_queries[head], strict=True), 1)
        )
        return (
            f"{title}<table><thead><tr><td></td><th>head {head + 1}’s slice of X W_q</th>"
            f"<th>X times its own matrix</th></tr></thead><tbody>{rows}</tbody></table>"
            f'<p class="line">In Q, K, V and the context vectors, over {_heads(s.num_heads)}, the largest difference '
            f"is {fixed(self.proof.max_difference)}.</p>"
        )

    def _about_traps(self) -> str:
        s = self.state.sizes
        layer = (s.d_in, s.d_out, s.num_heads)
        without = parameter_count(*layer, "split", output_projection=False)
        extra = parameter_count(*layer, "split", output_projection=True) - without
        per_head = parameter_count(*layer, "wrapper", output_projection=False)
        traps = [
            "<b>d_out has two meanings.</b> In the split class it is the width of all heads together. In the wrapper "
            f"it is the width of each: {s.d_out:,} there gives {s.num_heads:,} × {s.d_out:,} = "
            f"{s.d_out * s.num_heads:,} columns and {per_head:,} parameters; to match the split class it must be "
            f"{s.head_dim:,}. The book’s exercise 3.2 turns on this.",
            f"<b>The divisor is read after the reshape</b>: √{s.head_dim:,} = {_root(s.head_dim)}, from one head’s "
            f"width, and not √{s.d_out:,} = {_root(s.d_out)}.",
            "<b>3H products against 3 is not the only difference.</b> The split class also has an output projection, "
            f"one more product and {extra:,} parameters; and where the wrapper multiplies {2 * s.num_heads:,} times to "
            "attend, it makes 2 batched calls.",
        ]
        if s.head_dim == 1:
            traps.append(
                "<b>This case is degenerate</b>: head_dim is 1, so the divisor is 1 and scaling cannot be seen."
            )
        items = "".join(f"<li>{trap}</li>" for trap in traps)
        return f'<div class="caption"><b>Traps</b></div><ul>{items}</ul>'


class _HeadCount(param.Parameterized):
    """The number of heads as its control sees it: always a number, also where the state leaves it to the preset."""

    count = param.Integer(default=1)


def _labels(sizes: Sizes) -> dict[str, int]:
    return {f"{heads:,}": heads for heads in sizes.divisors}


def _shape(shape: tuple[int, ...]) -> str:
    return f"[{', '.join(str(size) for size in shape)}]"


def _root(width: int) -> str:
    return f"{math.sqrt(width):.3g}"


def _heads(count: int) -> str:
    return "1 head" if count == 1 else f"{count:,} heads"


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count:,} columns"


def _trace_html(trace: list[Step], line: int) -> str:
    items = "".join(
        f"<li{' aria-current=step' if i == line else ''}><code>{escape(step.code)}</code>"
        f"<span>{_shape(step.shape)}</span></li>"
        for i, step in enumerate(trace, 1)
    )
    return f"<ol>{items}</ol>"


def app() -> Heads:
    """Return the figure."""
    return Heads()


if pn.state.served:
    app().servable()
