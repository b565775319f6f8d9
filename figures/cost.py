"""Figure 6: what n squared costs.

Python's integers carry every count, to the last digit, into readouts, sentences and data. Charts take floats
for places on an axis and nothing else; nothing of size n² is ever made.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import panel as pn

from attention_core import AttentionCost, cards_needed, seconds_per_token
from figures.shared.charts import Chart, Layer, linear, log
from figures.shared.controls import inline
from figures.shared.figure import Figure
from figures.shared.format import binary, brief, many, percent, power_of_ten
from figures.shared.panels import Drawing, Table, caption
from figures.shared.readouts import Readout
from figures.shared.state import Choice, FigureState, Whole

SHORTEST, LONGEST = 64, 2**20
SHORT, WINDOW = 1024, 1_047_576  # GPT-2's context, and GPT-4.1's
MARKS = {
    SHORTEST: "64",
    SHORT: f"{SHORT:,}: GPT-2",
    8192: "8,192",
    131_072: "131,072",
    WINDOW: f"{WINDOW:,}: GPT-4.1",
}
STEPS_PER_DOUBLING = 8

CARDS = {"80GiB": 80 * 2**30, "80GB": 80 * 10**9, "141GB": 141 * 10**9, "192GB": 192 * 10**9}
CARD_NAMES = {
    "80GiB": "H100, as counted: 80 GiB",
    "80GB": "H100, as sold: 80 GB",
    "141GB": "H200: 141 GB",
    "192GB": "B200: 192 GB",
}
BASE_SECONDS = 0.1  # one token at "1k", assumed; all of it taken to be quadratic
MOST_SQUARES = 30  # that are drawn


def context_lengths() -> list[int]:
    """Return the steps of the slider: evenly spaced for the eye, with the marks among them."""
    doublings = round(math.log2(LONGEST / SHORTEST))
    steps = {round(SHORTEST * 2 ** (i / STEPS_PER_DOUBLING)) for i in range(doublings * STEPS_PER_DOUBLING + 1)}
    return sorted(steps | set(MARKS))


def place(n: int) -> float:
    """Return where a length lies on the slider, from 0 to 1."""
    return math.log2(n / SHORTEST) / math.log2(LONGEST / SHORTEST)


LENGTHS = tuple(context_lengths())


class State(FigureState):
    """What the reader can set."""

    n = Whole(
        WINDOW, (SHORTEST, LONGEST), label="Context length", kind="slider", place="primary", text="{:,}".format,
        steps=LENGTHS, places=tuple(map(place, LENGTHS)), marks=MARKS,
    )  # fmt: skip
    bytes = Choice(2, {1: "1", 2: "2", 4: "4"}, label="Bytes per score")
    heads = Whole(1, (1, 128), label="Heads")
    layers = Whole(1, (1, 128), label="Layers")
    d = Whole(768, (64, 12_288), label="d")
    k = Choice(1024, {1024: "1,024", 1000: "1,000"}, label="1k means")
    card = Choice("80GiB", CARD_NAMES, label="Card", kind="list")


@dataclass(frozen=True)
class Cost:
    """What follows from a state, for one length of the context. Counts are exact."""

    n: int
    layer: AttentionCost
    layers: int
    card_bytes: int
    k: int

    @cached_property
    def score_bytes(self) -> int:
        """Bytes of the scores of all heads in all layers."""
        return self.layers * self.layer.score_bytes

    @property
    def ratio(self) -> float:
        """The same in cards."""
        return self.score_bytes / self.card_bytes

    @property
    def cards(self) -> int:
        """So many cards hold them."""
        return cards_needed(self.score_bytes, self.card_bytes)

    @property
    def seconds(self) -> float:
        """What one more token takes."""
        return seconds_per_token(self.n, base_seconds=BASE_SECONDS, base_n=self.k)

    @property
    def hours_rounded(self) -> float | None:
        """Hours with the ratio of lengths rounded to thousands, or None where that leaves nothing of it."""
        thousands = round(self.n / self.k, -3)
        return BASE_SECONDS * thousands**2 / 3600 if thousands else None

    @property
    def quadratic(self) -> int:
        """Multiply-adds of scores and weighted sum in one layer."""
        return self.layer.score_macs + self.layer.weighted_sum_macs

    @property
    def projections(self) -> int:
        """Multiply-adds of the query, key and value projections in one layer."""
        return self.layer.projection_macs

    @property
    def with_output(self) -> int:
        """The same with the output projection."""
        return self.projections + self.layer.output_macs

    @property
    def unit(self) -> int:
        """How many cards a square stands for: one, where there is room for all."""
        unit = 1
        while self.cards > MOST_SQUARES and self.cards > 24 * unit:
            unit *= 10
        return unit


def cost(s: State, n: int | None = None) -> Cost:
    """Return what a state costs, at its length or at another."""
    n = n or s.n
    return Cost(n, AttentionCost(n, s.d, s.d, s.heads, s.bytes), s.layers, CARDS[s.card], s.k)


def crossover(s: State) -> int | float:
    """Return the length from which the quadratic part costs more than the three projections: 1.5 d."""
    return 3 * s.d // 2 if s.d % 2 == 0 else 1.5 * s.d


def short(value: float) -> str:
    """Return a number with two decimals, or two digits where it is small."""
    if value >= 0.995:
        return f"{value:,.2f}"
    return brief(value, 1 - math.floor(math.log10(value)))


def card_name(s: State) -> str:
    """Return the memory of the chosen card."""
    return s.card.replace("G", " G")


def duration(seconds: float) -> str:
    """Return a time in a unit that suits it.

    >>> duration(0.1), duration(600), duration(104657.7)
    ('0.1 seconds', '10.00 minutes', '29.07 hours')
    """
    for unit, least in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * least:
            return f"{short(seconds / least)} {unit}"
    return f"{short(seconds)} seconds"


def sentence(s: State, r: Cost) -> str:
    """Return what the scores take and what one more token takes."""
    return (
        f"At {inline(s, 'n')} tokens the scores take <b>{r.score_bytes:,} bytes</b>, {binary(r.score_bytes)}, "
        f"and one more token <b>{duration(r.seconds)}</b>."
    )


def note(s: State, r: Cost) -> str:
    """Return how the three numbers are computed."""
    size = "80 · 2³⁰" if s.card == "80GiB" else f"{r.card_bytes // 10**9} · 10⁹"
    counts = f"{many(s.bytes, 'byte')} · {many(s.heads, 'head')} · {many(s.layers, 'layer')}"
    needed = f"/ ({size}) = {short(r.ratio)}, so <b>{many(r.cards, 'card')}</b>."
    return (
        f"{s.n:,}² · {counts} = {r.score_bytes:,} bytes; {needed}"
        f"<br>If a token takes {BASE_SECONDS:g} s at {s.k:,}: {BASE_SECONDS:g} s · ({s.n:,} / {s.k:,})² = "
        f"<b>{seconds_text(r.seconds)}</b> = {short(r.seconds / 3600)} h."
    )


def square(share: float) -> str:
    """Return a square, filled from below to a share; a small share is a smaller square, if need be in a ring."""
    side = math.sqrt(share)
    if share >= 0.05:
        return f'<i style="--share:{100 * min(1.0, share):.5g}%"></i>'
    return f'<i><u class="{"" if side > 0.1 else "ringed"}" style="--side:{100 * side:.4g}%"></u></i>'


def cards(s: State, r: Cost) -> str:
    """Return the cards as squares to count, and beside them what a thousand tokens take."""
    whole, part = divmod(r.score_bytes, r.unit * r.card_bytes)
    last = [square(part / (r.unit * r.card_bytes))] if part else []
    thousand = cost(s, SHORT)
    holds = r.card_bytes / thousand.score_bytes
    filled = f"{short(r.ratio)}, filled" if r.ratio >= 1 else f"{short(100 * r.ratio)} % filled"
    unit = f"{filled}; a square is {r.unit:,}" if r.unit > 1 else filled
    of = (
        "one head of one layer" if s.heads == s.layers == 1 else f"{many(s.heads, 'head')} in {many(s.layers, 'layer')}"
    )
    return (
        f"<div>{caption(f'{s.n:,} tokens', f'scores of {of}, in cards of {card_name(s)}')}"
        f'<div class="squares">{square(1) * whole}{"".join(last)}'
        f'<p class="tally"><b>{many(r.cards, "card")}</b><span>{unit}</span></p></div></div>'
        f"<div>{caption(f'{SHORT:,} tokens', 'same scale')}"
        f'<div class="squares">{square(thousand.score_bytes / (r.unit * r.card_bytes))}</div>'
        f'<p class="tally"><b>{binary(thousand.score_bytes)}</b><span>a card holds '
        f"{f'{math.floor(holds):,}' if holds >= 100 else short(holds)} of them</span></p></div>"
    )


def bytes_data(s: State, r: Cost) -> list[Table]:
    """Return bytes and cards, exact, for the length and for those that are marked."""
    lengths, names = lengths_of(s)
    rows = [[c.layer.score_bytes_per_head, c.score_bytes, c.card_bytes, c.cards] for c in lengths]
    columns = ["one head of one layer", "all heads and layers", "one card", "cards"]
    return [Table("Bytes", names, columns, rows)]


def work_data(s: State, r: Cost) -> list[Table]:
    """Return the work of one layer, exact, for the same lengths."""
    lengths, names = lengths_of(s)
    layers = [c.layer for c in lengths]
    rows = [[c.projection_macs, c.output_macs, c.score_macs, c.weighted_sum_macs] for c in layers]
    columns = ["Q, K and V", "output projection", "scores", "weighted sum"]
    return [Table("Multiply-adds of one layer", names, columns, rows)]


def masked_data(s: State, r: Cost) -> list[Table]:
    """Return the masked cells, exact, for the same lengths."""
    lengths, names = lengths_of(s)
    rows = [[c.layer.masked_cells, c.n**2, percent(c.layer.masked_share, 5)] for c in lengths]
    return [Table("Cells of one head that the mask throws away", names, ["cells", "of", "share"], rows)]


def lengths_of(s: State) -> tuple[list[Cost], list[str]]:
    """Return the costs that the data tables list, and the names of their rows."""
    lengths = sorted({s.n, *MARKS})
    return [cost(s, n) for n in lengths], [f"n = {n:,}" for n in lengths]


def line(part: Callable[[Cost], int]) -> Any:
    """Return a layer's data: a part of the work, from the shortest to the longest context."""
    return lambda s, r: {"x": [SHORTEST, LONGEST], "y": [part(cost(s, n)) for n in (SHORTEST, LONGEST)]}


def crossing(s: State, r: Cost) -> dict[str, Any]:
    """Return where the quadratic part overtakes the projections."""
    return {"x": [crossover(s)], "y": [3 * crossover(s) * s.d**2]}


SIX = AttentionCost(6, 3, 2, 1)  # the example's tokens


def masked(s: State, r: Cost) -> dict[str, Any]:
    """Return the masked share for all lengths."""
    lengths = [2 ** (i / 8) for i in range(8 * 20 + 1)]
    return {"x": lengths, "y": [(n - 1) / (2 * n) for n in lengths]}


def seconds_text(value: float) -> str:
    """Return seconds, with a decimal where they are many."""
    return f"{value:,.1f} s" if value >= 100 else f"{value:.4g} s"


def code(s: State, r: Cost) -> str:
    """Return the lines that compute the readouts."""
    card = "80 * 2**30" if s.card == "80GiB" else f"{r.card_bytes // 10**9} * 10**9"
    return f"""from attention_core import *

n, d = {s.n}, {s.d}
layer = AttentionCost(n, d, d, num_heads={s.heads}, bytes_per_score={s.bytes})
score_bytes = {s.layers} * layer.score_bytes
cards_ratio = score_bytes / ({card})
cards = cards_needed(score_bytes, {card})
seconds = seconds_per_token(n, base_seconds={BASE_SECONDS}, base_n={s.k})
hours = seconds / 3600
masked_share = layer.masked_share
crossover = 3 * d / 2
"""


PANELS = [
    Drawing("", lambda s, r: f'<div class="cards">{cards(s, r)}</div>', tables=bytes_data),
    Chart(
        "Work in one layer",
        "Multiply-adds of one layer, the linear and the quadratic part, against length; both axes logarithmic",
        log(SHORTEST, LONGEST * 1.3, {SHORTEST: "64", SHORT: "1,024", 16_384: "16,384", LONGEST: "2²⁰"}),
        log(1e4, 3e17, {10.0**e: power_of_ten(e) for e in range(6, 18, 3)}),
        [
            Layer("rule", "", lambda s, r: crossover(s), dash="dotted"),
            Layer("line", "", line(lambda c: c.with_output), width=1.2, dash="dashed"),
            Layer("line", "", line(lambda c: c.projections), label="projections: n", shift=(0, -38), align="right"),
            Layer(
                "line", "", line(lambda c: c.quadratic), hue="score",
                label="scores, weighted sum: n²", shift=(-12, 10), align="right",
            ),
            Layer(
                "dots", "", crossing, hue="ink", size=8,
                label=lambda s, r: f"cross at {crossover(s):,}", shift=(8, -24),
            ),
            Layer("dots", "", lambda s, r: {"x": [s.n], "y": [r.projections]}, size=9),
            Layer("dots", "", lambda s, r: {"x": [s.n], "y": [r.quadratic]}, hue="score", size=11),
        ],
        note=lambda s, r: f"multiply-adds; dashed: with the output projection, crossing at {2 * s.d:,}",
        height="16rem",
        left=36,
        right=10,
        area="side",
        tables=work_data,
    ),
    Chart(
        "Thrown away by the mask",
        "Share of the score cells that the causal mask throws away, against length on a logarithmic axis",
        log(0.8, LONGEST * 1.3, {1: "1", 64: "64", 4096: "4,096", LONGEST: "2²⁰"}),
        linear(0, 0.58, {i / 10: f"{10 * i} %" for i in range(6)}),
        [
            Layer("line", "", masked),
            Layer(
                "dots", "", lambda s, r: {"x": [6], "y": [SIX.masked_share]}, size=8,
                label=f"{percent(SIX.masked_share)} for the six tokens of the example", shift=(10, -12),
            ),
            Layer(
                "dots", "", lambda s, r: {"x": [s.n], "y": [r.layer.masked_share]}, hue="score", size=11,
                label=lambda s, r: percent(r.layer.masked_share, 5), shift=(0, 16), align="right",
            ),
        ],
        note="(n − 1) / 2n of the cells; they are computed first, so nothing is saved",
        height="14rem",
        area="numbers",
        tables=masked_data,
    ),
]  # fmt: skip

READOUTS = [
    Readout(
        "score_bytes", "Bytes of scores", lambda s, r: r.score_bytes, "{:,}",
        lambda s, r: f"{many(s.heads, 'head')}, {many(s.layers, 'layer')}: {binary(r.score_bytes)}",
    ),
    Readout("cards", "Cards", lambda s, r: r.cards, "{:,}", lambda s, r: f"of {card_name(s)}"),
    Readout(
        "hours", "Hours for one token", lambda s, r: r.seconds / 3600, lambda v: f"{short(v)} h",
        lambda s, r: f"if {BASE_SECONDS:g} s at {s.k:,}",
    ),
    Readout("cards_ratio", "Scores in cards", lambda s, r: r.ratio, short),
    Readout("seconds", "Seconds for one token", lambda s, r: r.seconds, seconds_text),
    Readout(
        "hours_rounded", "Rounded as published", lambda s, r: r.hours_rounded,
        lambda v: "too short to round" if v is None else f"about {v:.0f} h",
        lambda s, r: "" if r.hours_rounded is None else f"{int(r.ratio):,} cards",
    ),
    Readout("masked_share", "Cells masked", lambda s, r: r.layer.masked_share, lambda v: percent(v, 5)),
    Readout(
        "crossover", "Quadratic overtakes at", lambda s, r: crossover(s), "{:,} tokens",
        lambda s, r: f"with output {2 * s.d:,}",
    ),
]  # fmt: skip

SCENES = {
    "1,024 tokens: nothing": {"n": SHORT},
    "A million tokens": {},
    "Where quadratic overtakes": {"n": 1152},
    "All heads, all layers": {"heads": 96, "layers": 96, "d": 12_288},
}


def app() -> Figure:
    """Return the figure."""
    return Figure(
        State, cost, PANELS, READOUTS,
        title="A thousand tokens cost nothing; a million fill twenty-six cards, for one head of one layer",
        sentence=sentence, note=note, scenes=SCENES, code=code,
        layout='"main side" "primary primary" "how how" / minmax(0, 2.1fr) minmax(0, 1fr)',
        lines={"sentence": (2, 4), "how": (3, 6)},
    )  # fmt: skip


if pn.state.served:
    app().servable()
