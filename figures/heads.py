"""Figure 5: one matrix, cut into stripes of columns, one for each head."""

from __future__ import annotations

import math
from html import escape
from typing import Any, NamedTuple

import numpy as np
import panel as pn

from attention_core import TOKENS, Step, head_columns
from figures.layers import NUMBERED, PRESETS, Proof, Sizes, proof_of
from figures.shared.figure import Figure
from figures.shared.format import fixed, listed, many, product, symbols
from figures.shared.panels import Drawing, Grid, Table
from figures.shared.readouts import Readout
from figures.shared.state import Cell, Choice, FigureState, Unusable, Whole
from figures.stripes import each_head, one_product

WIDEST = max(sizes.d_out for sizes in PRESETS.values())

# The axes of each line of the trace, and what to see there.
SPLIT_LINES = (
    ("b n d_in", "The embeddings: {b} of {n} tokens, each {d_in} wide."),
    ("b n d_out", "One product makes the keys of all heads, side by side in stripes."),
    ("b n H head_dim", "The columns are counted differently: {d_out} becomes {H} times {head_dim}. No number moves."),
    ("b H n head_dim", "Two axes change places, so that each head has a matrix of its own. No number moves."),
    ("b H head_dim n", "Turned once more inside each head, for the product: axes 2 and 3 now, not 1 and 2."),
    ("b H n n", "One batched call makes the scores of all heads; the heads do not meet."),
    ("b H n n", "The divisor is read here, after the cut: {right}, not {wrong}."),
    ("b H n head_dim", "The second batched call averages the values of each head."),
    ("b n H head_dim", "Back, so that the heads of a token lie side by side."),
    ("b n d_out", "Joined. Here numbers do move: the turned view does not lie in this order."),
    ("b n d_out", "A last square layer lets the heads meet. The wrapper has none."),
)
WRAPPER_LINES = (
    ("b n d_in", "The embeddings: {b} of {n} tokens, each {d_in} wide."),
    ("b n head_dim", "Each head has three matrices of its own; its keys are {head_dim} wide."),
    ("b head_dim n", "Turned for the product."),
    ("b n n", "The scores of one head; the others follow, one after the other."),
    ("b n n", "The d_out of this line is the width of one head: {right}."),
    ("b n head_dim", "The context vectors of one head."),
    ("b n width", "All heads side by side: {H} times {head_dim} columns."),
)
LINES = {"split": SPLIT_LINES, "wrapper": WRAPPER_LINES, "matched": WRAPPER_LINES}


class State(FigureState):
    """What the reader can set."""

    line = Whole(3, (1, len(SPLIT_LINES)), label="Line", kind="slider", stepper=True, view=True, place="primary")
    preset = Choice(
        "small",
        {"toy": "Toy", "small": "Small", "gpt2": "GPT-2", "gpt2-xl": "GPT-2 XL"},
        label="Preset",
        place="primary",
    )
    # None is the preset's own number. Without bounds: the nearest number is not what was meant.
    heads = Whole(None, (-math.inf, math.inf), label="Heads", kind="list", place="primary")
    kind = Choice(
        "split",
        {"split": "Split", "wrapper": "Wrapper", "matched": "Matched wrapper"},
        label="Class",
        place="primary",
    )
    head = Whole(1, (1, WIDEST), label="Head shown", view=True)
    cell = Cell((2, 1), TOKENS, [str(j) for j in range(1, 65)])

    @classmethod
    def query_keys(cls) -> list[str]:
        """Return the keys of the address; those on which others depend come first."""
        return ["preset", "heads", "kind", "head", "line", "cell", "fold"]

    @property
    def sizes(self) -> Sizes:
        """The layer that is chosen."""
        return _sizes({"preset": self.preset, "heads": self.heads, "kind": self.kind})

    @classmethod
    def fit(cls, values: dict[str, Any], changed: set[str]) -> dict[str, Any]:
        """Return a state in which what depends on each other agrees: a new preset brings its own heads."""
        own, heads = PRESETS[values["preset"]], values["heads"]
        if ("preset" in changed and "heads" not in changed) or not heads or heads == own.num_heads or own.d_out % heads:
            values = {**values, "heads": None}
        sizes = _sizes(values)
        cell = tuple(map(min, values["cell"], (sizes.n, sizes.width)))
        head, line = min(values["head"], sizes.num_heads), min(values["line"], len(LINES[sizes.kind]))
        return {**values, "head": head, "line": line, "cell": cell}

    def read(self, key: str, text: str, before: dict[str, Any]) -> tuple[Any, bool]:
        """Return the value a text stands for; what it may be depends on the preset, the class and the heads."""
        value, moved = super().read(key, text, before)
        if key == "heads":
            d_out = PRESETS[before["preset"]].d_out
            if value < 1 or d_out % value:
                raise Unusable(
                    f"{d_out} / {value} leaves {d_out % value}" if value > 0 else f"{d_out} in {value} heads"
                )
        if key in ("head", "line", "cell"):
            fitted = self.fit({**before, key: value}, set())[key]
            return fitted, moved or fitted != value
        return value, moved

    def ends(self, key: str) -> tuple[int, int] | None:
        """Return the bounds of a number as they are in this state."""
        return {"head": (1, self.sizes.num_heads), "line": (1, len(LINES[self.kind]))}.get(key)

    def offered(self, key: str) -> tuple[dict[int, str], int] | None:
        """Return what the list of heads offers, the divisors of d_out, and what is chosen."""
        return (
            ({count: f"{count:,}" for count in self.sizes.divisors}, self.sizes.num_heads) if key == "heads" else None
        )

    def cell_sides(self) -> tuple[list[str], list[str]]:
        """Return the names along the sides of the product; none where no numbers are formed."""
        if self.preset not in NUMBERED:
            return [], []
        rows = list(TOKENS) if self.preset == "toy" else [str(i + 1) for i in range(self.sizes.n)]
        return rows, [str(j + 1) for j in range(self.sizes.width)]


def _sizes(values: dict[str, Any]) -> Sizes:
    own = PRESETS[values["preset"]]
    return own._replace(num_heads=values["heads"] or own.num_heads, kind=values["kind"])


class Result(NamedTuple):
    """What follows from a state: the layer, the shapes of its forward pass, and its numbers, if any are formed."""

    sizes: Sizes
    trace: list[Step]
    proof: Proof | None


def compute(s: State) -> Result:
    """Return the layer's shapes; only small ones get numbers."""
    sizes = s.sizes
    proof = proof_of(s.preset, s.kind, sizes.num_heads) if s.preset in NUMBERED else None
    return Result(sizes, sizes.trace, proof)


# What it says.


def root(width: int) -> str:
    """Return a root and its value, as one word where it is whole."""
    value = math.sqrt(width)
    return f"√{width:,}\u00a0=\u00a0{value:.0f}" if value.is_integer() else f"√{width:,}\u00a0=\u00a0{value:.3g}"


def shape(sizes: tuple[int, ...] | list[int]) -> str:
    """Return a shape as torch prints it."""
    return f"[{', '.join(map(str, sizes))}]"


def sentence(s: State, r: Result) -> str:
    """Return what the layer is made of and what it divides by."""
    z = r.sizes
    heads, right, wrong = many(z.num_heads, "head"), root(z.head_dim), root(z.width)
    if s.kind == "wrapper":
        return (
            f"A wrapper of <b>{heads}</b>, each <b>{z.head_dim:,}</b> wide, is <b>{z.width:,}</b> wide in all. "
            f"Each divides by <b>{right}</b>; there are <b>{z.parameters:,}</b> parameters."
        )
    if s.kind == "matched":
        return (
            f"Give each of <b>{heads}</b> its share, <b>{z.head_dim:,}</b>, and the wrapper is <b>{z.width:,}</b> wide "
            f"as the split class is. Each divides by <b>{right}</b>; there are <b>{z.parameters:,}</b> parameters."
        )
    if z.num_heads == 1:
        columns = many(z.width, "column")
        return f"A single head owns all <b>{columns}</b>. Nothing is cut, and it divides by <b>{right}</b>."
    blind = " Heads of width one cannot show that scaling matters." if z.head_dim == 1 else ""
    return (
        f"<b>{many(z.width, 'column')}</b> make <b>{heads}</b> of <b>{z.head_dim:,}</b>. Each divides by the root of "
        f"its own width, <b>{right}</b>, not of all {z.width:,}, <b>{wrong}</b>.{blind or ' Pick a stripe.'}"
    )


def how(s: State, r: Result, i: int, j: int) -> str:
    """Return how one number of the product is computed."""
    if r.proof is None:
        return '<span class="workings">At this size no numbers are formed; shapes cost nothing.</span>'
    token, head = escape(s.cell_sides()[0][i]), j // r.sizes.head_dim + 1
    terms = product(r.proof.x[i], r.proof.projections.query[:, j])
    return (
        f'<span class="workings"><b class="q">q({token})</b>, column {j + 1}, in the stripe of head {head} = '
        f"x({token}) · column {j + 1} of W<sub>q</sub> = {terms} = <b>{fixed(float(r.proof.queries[i, j]))}</b></span>"
    )


def what_to_see(s: State, r: Result) -> str:
    """Return what happens in the current line of the trace."""
    z = r.sizes
    sequences = many(z.b, "sequence")
    words = {"b": sequences, "n": f"{z.n:,}", "d_in": f"{z.d_in:,}", "d_out": f"{z.d_out:,}", "H": f"{z.num_heads:,}"}
    return LINES[s.kind][s.line - 1][1].format(
        **words, head_dim=f"{z.head_dim:,}", right=root(z.head_dim), wrong=root(z.width)
    )


def compared(s: State, r: Result) -> str:
    """Return the first row of the shown head, from one matrix and from its own."""
    z = r.sizes
    if r.proof is None:
        return "<b>The same cut at any size</b><br>The small presets compare each slice with a product of its own."
    columns = head_columns(s.head - 1, z.num_heads, z.width)
    first, more = (2, "") if z.head_dim <= 2 else (1, " …")
    sliced, own = (
        listed(row[:first]) + more for row in (r.proof.queries[0, columns], r.proof.own_queries[s.head - 1][0])
    )
    title = f"{z.num_heads} small matrices" if s.kind == "split" and z.num_heads > 1 else "One matrix"
    return (
        f"<b>{title} would give the same</b><br>first row of head {s.head}: <b>{sliced}</b> as a slice, <b>{own}</b> "
        f"on its own; difference <b>{fixed(r.proof.max_difference)}</b>"
    )


def stage(s: State, r: Result) -> str:
    """Draw the product, and say what is compared and what the current line does."""
    step = r.trace[s.line - 1]
    return (
        f"{one_product(s, r)}"
        '<p class="muted says">A stripe of Q depends on the same stripe of W<sub>q</sub> only.</p>'
        f'<p class="compared">{compared(s, r)}</p>'
        f'<p class="line-of-trace"><span class="muted">line {s.line} of {len(r.trace)}</span> '
        f"<code>{escape(step.code)}</code> <b>{shape(step.shape)}</b><br>{symbols(what_to_see(s, r))}</p>"
    )


QUERIES = Grid(
    "Q = X W_q", lambda s, r: r.proof.queries, lambda s, r: s.cell_sides()[0], lambda s, r: s.cell_sides()[1],
    "query", lambda s, r: np.abs(r.proof.queries).max(),
)  # fmt: skip


def numbers(s: State, r: Result) -> str:
    """Return the product with its numbers, each of which can be selected."""
    return '<p class="muted">No numbers are formed at this size.</p>' if r.proof is None else QUERIES.render(s, r)


def all_lines(s: State, r: Result) -> str:
    """Return all lines of the trace with their shapes."""
    items = "".join(
        f"<li{' aria-current=step' if i == s.line else ''}><code>{escape(step.code)}</code> "
        f"<span>{shape(step.shape)}</span></li>"
        for i, step in enumerate(r.trace, 1)
    )
    return f'<ol class="trace">{items}</ol>'


def traps(s: State, r: Result) -> str:
    """Return what is easily mistaken, with the numbers of this preset and these heads."""
    one, each = r.sizes._replace(kind="split"), r.sizes._replace(kind="wrapper")
    extra = one.parameters - one._replace(kind="matched").parameters
    items = [
        f"<b>d_out has two meanings.</b> In the split class it is the width of all heads. In the wrapper it is the "
        f"width of each: {one.d_out:,} there gives {one.num_heads:,} × {one.d_out:,} = {each.width:,} columns and "
        f"{each.parameters:,} parameters; to match the split class it must be {one.head_dim:,}. "
        "The book’s exercise 3.2 turns on this.",
        f"<b>The divisor is read after the cut</b>: {root(one.head_dim)}, from the width of one head, and not "
        f"{root(one.width)}.",
        f"<b>3H products against 3 is not the only difference.</b> The split class also has an output projection, one "
        f"more product and {extra:,} parameters; and where the wrapper multiplies {2 * one.num_heads:,} times to "
        "attend, it makes 2 batched calls.",
    ]
    if one.head_dim == 1:
        items.append("<b>This case is degenerate</b>: head_dim is 1, so the divisor is 1 and scaling cannot be seen.")
    return f'<ul class="traps">{"".join(f"<li>{_lowered(item)}</li>" for item in items)}</ul>'


def _lowered(html: str) -> str:
    return html.replace("d_out", "d<sub>out</sub>")


def tables(s: State, r: Result) -> list[Table]:
    """Return the numbers behind the drawing."""
    if r.proof is None:
        return []
    p, z = r.proof, r.sizes
    rows, columns, inputs = *s.cell_sides(), [str(i + 1) for i in range(z.d_in)]
    return [
        Table("X", rows, inputs, p.x),
        Table("W_q", inputs, columns, p.projections.query),
        Table("Q, sliced", rows, columns, p.queries),
        Table("Q, head by head", rows, columns, np.hstack(p.own_queries)),
        Table(f"Weights of head {s.head}", rows, rows, p.weights[s.head - 1]),
        Table("Z", rows, columns, p.context),
    ]


def code(s: State, r: Result) -> str:
    """Return the lines that compute this layer."""
    z = r.sizes
    split = s.kind == "split"
    given = f"{z.d_in}, {z.given}, {z.num_heads}, {'split' if split else 'wrapper'!r}"
    lines = [
        "import numpy as np",
        "from attention_core import *",
        "",
        f"head_dim = {f'{z.d_out}' if s.kind == 'wrapper' else f'{z.d_out} // {z.num_heads}'}",
        f"output_width = {z.num_heads} * head_dim",
        "divisor, divisor_wrong = np.sqrt(head_dim), np.sqrt(output_width)",
        f"shape = shape_trace({z.b}, {z.n}, {given})[{s.line - 1}].shape",
        f"parameters = parameter_count({given}, output_projection={split})",
    ]
    if r.proof:
        x = "EMBEDDINGS" if s.preset == "toy" else f"generator.rand({z.n}, {z.d_in})"
        each = f"[generator.linear({z.d_in}, {z.d_out}).T.astype(float) for _ in range(3)]"
        drawn = (
            f"heads = [{each} for _ in range({z.num_heads})]\nprojections = Projections(*map(np.hstack, zip(*heads)))"
            if s.kind == "wrapper"
            else f"projections = Projections(*{each})"
        )
        lines += [
            "",
            f"generator = TorchGenerator({123 if s.preset == 'toy' else 0})",
            f"x = np.asarray({x}, dtype=float)",
            drawn,
            f"context, weights = attention(x, projections, {z.num_heads}, causal=True)",
            f"stripe = head_columns({s.head - 1}, {z.num_heads}, output_width)",
            "own, _ = attention(x, Projections(*(matrix[:, stripe] for matrix in projections)), causal=True)",
            "max_difference = np.abs(context[:, stripe] - own).max()",
        ]
    return "\n".join(lines) + "\n"


PANELS = [
    Drawing("", stage, tables=tables),
    Drawing("", each_head, area="side"),
    Drawing("All lines of the forward pass", all_lines, area="numbers"),
    Drawing("What is easily mistaken", traps, area="numbers"),
    Drawing("", numbers, area="numbers"),
]

READOUTS = [
    Readout("head_dim", "head_dim", lambda s, r: r.sizes.head_dim, "{:,}", lambda s, r: (
        "d_out itself" if s.kind == "wrapper" else f"{r.sizes.d_out:,} / {r.sizes.num_heads:,}")),
    Readout("divisor", "Divisor", lambda s, r: math.sqrt(r.sizes.head_dim), "{:.4g}",
            lambda s, r: f"√{r.sizes.head_dim:,}, of one head"),
    Readout("divisor_wrong", "Not the divisor", lambda s, r: math.sqrt(r.sizes.width), "{:.4g}",
            lambda s, r: f"√{r.sizes.width:,}, of all heads"),
    Readout("output_width", "Output width", lambda s, r: r.sizes.width, "{:,}", lambda s, r: (
        "d_out" if s.kind == "split" else f"{r.sizes.num_heads:,} heads of {r.sizes.head_dim:,}")),
    Readout("parameters", "Parameters", lambda s, r: r.sizes.parameters, "{:,}", lambda s, r: (
        "with output projection" if s.kind == "split" else "no output projection")),
    Readout("projection_products", "Projection products", lambda s, r: 3 * r.sizes.calls, "{:,}", "Q, K and V"),
    Readout("attention_products", "Attention products", lambda s, r: 2 * r.sizes.calls, "{:,}", "scores, weighted sum"),
    Readout("max_difference", "Sliced or own: difference", lambda s, r: r.proof.max_difference if r.proof else None,
            None, lambda s, r: "over all heads" if r.proof else "no numbers are formed"),
    Readout("shape", "Shape after the line", lambda s, r: r.trace[s.line - 1].shape, shape,
            lambda s, r: f"line {s.line} of {len(r.trace)}"),
]  # fmt: skip

SCENES = {
    "The book's toy": {"preset": "toy"},
    "A head you can see": {},
    "GPT-2 divides by 8": {"preset": "gpt2", "line": 7},
    "Wrapper at matched width": {"preset": "gpt2", "kind": "matched"},
}


def app() -> Figure:
    """Return the figure."""
    return Figure(
        State, compute, PANELS, READOUTS,
        title="Many heads are one matrix, cut into stripes of columns",
        sentence=sentence, how=how, scenes=SCENES, code=code, inputs=("preset", "heads", "kind"),
        layout='"main side" "primary side" "how how" / minmax(0, 23fr) minmax(0, 19fr)',
        lines={"sentence": (2, 4), "how": (1, 5)},
    )  # fmt: skip


if pn.state.served:
    app().servable()
