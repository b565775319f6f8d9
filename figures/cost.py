"""Figure 6: what n squared costs.

Python's integers carry every count, to the last digit, into readouts, hover and data. Plots take floats
for places on an axis and nothing else; nothing of size n² is ever made.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import panel as pn
import param
from bokeh.models import HoverTool

from attention_core import AttentionCost, cards_needed, seconds_per_token
from figures.shared.card import Card, Table, html, panel
from figures.shared.charts import THEORY, Chart, Layer, mark, power_of_ten
from figures.shared.controls import choice, number, segmented, slider
from figures.shared.heatmap import TOOLTIP
from figures.shared.palette import NEUTRAL
from figures.shared.readouts import Readout, fixed
from figures.shared.state import FigureState

SHORTEST, LONGEST = 64, 2**20
WINDOW = 1_047_576  # GPT-4.1's
MARKS = {1024: "1,024", 8192: "8,192", 131_072: "131,072", WINDOW: "1,047,576"}
SHORT_MARKS = ("1,024", "8,192", "131k", "1M")  # the same where there is less room
STEPS_PER_DOUBLING = 8

CARDS = {"80GiB": 80 * 2**30, "80GB": 80 * 10**9, "141GB": 141 * 10**9, "192GB": 192 * 10**9}
CARD_NAMES = {
    "H100, as counted: 80 GiB": "80GiB",
    "H100, as sold: 80 GB": "80GB",
    "H200: 141 GB": "141GB",
    "B200: 192 GB": "192GB",
}
BASE_SECONDS = 0.1  # one token at "1k", assumed; all of it taken to be quadratic

SCORES = "#a07a10"  # the quadratic part, in the hue of large scores, dark enough for a light page
BINARY_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
MOST_TILES = 40  # cards along a side of the square that are still drawn one by one


class State(FigureState):
    """What the reader can set; each parameter is a key of the query string."""

    n = param.Integer(default=1024, bounds=(SHORTEST, LONGEST))
    bytes = param.Selector(default=2, objects=[1, 2, 4])
    heads = param.Integer(default=1, bounds=(1, 128))
    layers = param.Integer(default=1, bounds=(1, 128))
    d = param.Integer(default=768, bounds=(64, 12_288))
    k = param.Selector(default=1024, objects=[1024, 1000])
    card = param.Selector(default="80GiB", objects=list(CARDS))

    def cost(self, n: int | None = None) -> AttentionCost:
        """Return the cost of one layer, at the chosen length or another."""
        return AttentionCost(n or self.n, self.d, self.d, self.heads, self.bytes)


class Cost(Card):
    """Memory, cards, hours and multiply-adds against the length of the context."""

    number = 6
    heading = "A thousand tokens cost nothing; a million fill twenty-six cards, for one head of one layer"
    prompt = "Drag the context length and compare the area of the scores with that of one card."
    state_class = State
    scenes: Mapping[str, Mapping[str, Any]] = {
        "1,024 tokens: nothing": {},
        "A million tokens": {"n": WINDOW},
        "Where quadratic overtakes": {"n": 1152},
        "All heads, all layers": {"n": WINDOW, "heads": 96, "layers": 96, "d": 12_288},
    }

    def controls(self) -> list[Any]:
        p = self.state.param
        lengths = context_lengths()
        length = slider(p.n, "Context length", values=lengths, text=lambda n: f"{n:,} tokens")
        length[0].stylesheets = [*length[0].stylesheets, _marks_below(lengths)]
        length.stylesheets = [*length.stylesheets, ":host { flex: 1 1 420px; }"]
        return [
            length,
            segmented(p.bytes, "Bytes per score", {"1": 1, "2": 2, "4": 4}),
            number(p.heads, "Heads"),
            number(p.layers, "Layers"),
            number(p.d, "d"),
            segmented(p.k, "1k means", {"1,024": 1024, "1,000": 1000}),
            choice(p.card, "Card", CARD_NAMES),
        ]

    def panels(self) -> list[Any]:
        self._areas_panel()
        self._work_panel()
        self._mask_panel()
        self._areas_caption, self._work_caption, self._mask_caption = (html("") for _ in range(3))
        return [
            panel(self._areas.pane, self._areas_caption),
            panel(self._work.pane, self._work_caption),
            panel(self._mask.pane, self._mask_caption),
        ]

    def _areas_panel(self) -> None:
        self._areas = Chart(
            "The memory of the scores and the memory of one card as squares, to scale",
            x=(0, 1), y=(0, 1), x_ticks={}, y_ticks={}, x_label="", height="100cqi",
        )  # fmt: skip
        plot = self._areas.plot
        plot.axis.visible = False
        plot.grid.visible = False
        self._squares, self._tiles = Layer("side", "colour", "opacity", "how"), Layer("at", "end")
        squares = plot.quad(
            left=0, bottom=0, right="side", top="side", source=self._squares.source,
            fill_color="colour", fill_alpha="opacity", line_color="colour", line_width=1,
        )  # fmt: skip
        plot.add_tools(HoverTool(renderers=[squares], tooltips=TOOLTIP, point_policy="follow_mouse"))
        for ends in (("at", 0, "at", "end"), (0, "at", "end", "at")):
            plot.segment(*ends, source=self._tiles.source, line_color="#fcfbf8", line_width=0.8, line_alpha=0.7)
        self._rings = [self._areas.dots(colour, size=15, hollow=True) for colour in (NEUTRAL, SCORES)]

    def _work_panel(self) -> None:
        self._work = Chart(
            "Multiply-adds of one layer, the linear and the quadratic part, against length; both axes logarithmic",
            x=(SHORTEST / 1.2, LONGEST * 1.2), y=(1e5, 1e17), log="xy", x_label="n, tokens", y_label="multiply-adds",
            x_ticks={64: "64", 1024: "1,024", 16_384: "16,384", LONGEST: "2²⁰"},
            y_ticks={10.0**e: power_of_ten(e) for e in range(6, 18, 2)}, height="calc(100cqi - 8px)",
            min_border_right=12,
        )  # fmt: skip
        self._crossings = [self._work.rule(1, across="height", dash=dash) for dash in ("dotted", "dashed")]
        self._work_lines = {
            "projections": self._work.line(THEORY, width=1.6),
            "with_output": self._work.line(THEORY, width=1.6, dash="dashed"),
            "quadratic": self._work.line(SCORES, width=1.6),
        }
        self._linear_dots = self._work.dots(THEORY)
        self._quadratic_dot = self._work.dots(SCORES)

    def _mask_panel(self) -> None:
        self._mask = Chart(
            "Share of the score cells that the causal mask throws away, against length on a logarithmic axis",
            x=(0.8, LONGEST * 1.2), y=(0, 0.55), log="x", x_label="n, tokens", y_label="share thrown away",
            x_ticks={1: "1", 64: "64", 4096: "4,096", LONGEST: "2²⁰"},
            y_ticks={i / 10: f"{10 * i} %" for i in range(6)}, height="calc(100cqi - 8px)",
            min_border_right=12,
        )  # fmt: skip
        self._mask.rule(0.5, dash="dashed")
        lengths = 2 ** np.linspace(0, 20, 161)
        self._mask.line().show(x=lengths, y=(lengths - 1) / (2 * lengths))
        self._mask_example = self._mask.dots(THEORY, hollow=True)
        self._mask_dot = self._mask.dots(SCORES)

    def compute(self) -> None:
        s = self.state
        self.cost = s.cost()
        self.score_bytes = s.layers * self.cost.score_bytes
        self.card_bytes = CARDS[s.card]
        self.ratio = self.score_bytes / self.card_bytes
        self.cards = cards_needed(self.score_bytes, self.card_bytes)
        self.seconds = seconds_per_token(s.n, base_seconds=BASE_SECONDS, base_n=s.k)

    @property
    def quadratic_macs(self) -> int:
        """Multiply-adds of scores and weighted sum."""
        return self.cost.score_macs + self.cost.weighted_sum_macs

    @property
    def crossover(self) -> int | float:
        """Where they overtake the three projections: 1.5 d."""
        return _halves(3 * self.state.d)

    @property
    def hours_rounded(self) -> float | None:
        """Hours with the ratio of lengths rounded to thousands, or None where that leaves nothing of it."""
        thousands = round(self.state.n / self.state.k, -3)
        return BASE_SECONDS * thousands**2 / 3600 if thousands else None

    def readouts(self) -> list[Readout]:
        s, hours, masked = self.state, self.seconds / 3600, self.cost.masked_share
        rounded = self.hours_rounded
        published = "too short to round" if rounded is None else f"about {rounded:.0f} h · {int(self.ratio):,} cards"
        where = f"{_many(s.heads, 'head')}, {_many(s.layers, 'layer')}: {binary(self.score_bytes)}"
        return [
            Readout("score_bytes", "Bytes of scores", self.score_bytes, f"{self.score_bytes:,}", where, broad=True),
            Readout("cards", "Cards", self.cards, f"{self.cards:,}", f"of {_card_name(s.card)}"),
            Readout("hours", "Hours for one token", hours, f"{_short(hours)} h", "if 0.1 s at 1k"),
            Readout("cards_ratio", "Scores in cards", self.ratio, _short(self.ratio), wide=True),
            Readout("seconds", "Seconds for one token", self.seconds, _seconds(self.seconds), wide=True),
            Readout("hours_rounded", "Rounded as published", rounded, published, wide=True),
            Readout("masked_share", "Cells masked", masked, _percent(masked), wide=True),
            Readout("crossover", "Quadratic overtakes at", self.crossover, f"{self.crossover:,} tokens", wide=True),
        ]  # fmt: skip

    def summary(self) -> str:
        s = self.state
        held = "fits on one card" if self.cards == 1 else f"takes {self.cards:,} cards"
        difference = self.quadratic_macs - self.cost.projection_macs
        compared = "exactly as much as" if difference == 0 else "more than" if difference > 0 else "less than"
        return (
            f"{s.n:,} tokens, {_many(s.heads, 'head')} in {_many(s.layers, 'layer')}: {self.score_bytes:,} bytes of "
            f"scores, {binary(self.score_bytes)}; that {held} of {_card_name(s.card)}. Scores and weighted sum cost "
            f"{compared} the three projections; the mask throws {_percent(self.cost.masked_share)} of the cells away."
        )

    def remark(self) -> str:
        s = self.state
        size = "80 · 2³⁰" if s.card == "80GiB" else f"{self.card_bytes // 10**9} · 10⁹"
        needed = _many(self.cards, "card")
        return (
            f'<div class="how">{s.n:,}² · {_many(s.bytes, "byte")} · {_many(s.heads, "head")} · '
            f"{_many(s.layers, 'layer')} = {self.score_bytes:,} bytes = {binary(self.score_bytes)}<br>"
            f"{self.score_bytes:,} / ({size}) = {_short(self.ratio)}, so {needed}<br>"
            f"{_seconds(BASE_SECONDS)} · ({s.n:,} / {s.k:,})² = {_seconds(self.seconds)} "
            f"= {_short(self.seconds / 3600)} h</div>"
        )

    def tables(self) -> list[Table]:
        lengths = sorted({self.state.n, *MARKS})
        costs = [self.state.cost(n) for n in lengths]
        layers, names = self.state.layers, [f"n = {n:,}" for n in lengths]
        bytes_named = ("one head of one layer", "all heads and layers", "one card")
        of_bytes = [(c.score_bytes_per_head, layers * c.score_bytes, self.card_bytes) for c in costs]
        macs_named = ("Q, K and V", "output projection", "scores", "weighted sum")
        of_macs = [(c.projection_macs, c.output_macs, c.score_macs, c.weighted_sum_macs) for c in costs]
        of_cells = [(c.masked_cells,) for c in costs]
        return [
            Table("Bytes", names, bytes_named, _exact(of_bytes)),
            Table("Multiply-adds of one layer", names, macs_named, _exact(of_macs)),
            Table("Cells of one head that the mask throws away", names, ["cells"], _exact(of_cells)),
        ]

    def draw(self) -> None:
        self._draw_areas()
        self._draw_work()
        self._draw_mask()

    def _draw_areas(self) -> None:
        card, scores = 1.0, math.sqrt(self.ratio)  # sides, in sides of the card
        extent = 1.03 * max(card, scores)
        for along in (self._areas.plot.x_range, self._areas.plot.y_range):
            along.update(start=-0.03 * extent, end=extent)
        squares = [
            (card, NEUTRAL, 0.35, f"one card of {_card_name(self.state.card)}: {self.card_bytes:,} bytes"),
            (scores, SCORES, 0.9, f"the scores: {self.score_bytes:,} bytes, {binary(self.score_bytes)}"),
        ]
        # The smaller one lies on top.
        sides, colours, opacities, hows = zip(*sorted(squares, reverse=True), strict=True)
        self._squares.show(side=sides, colour=colours, opacity=opacities, how=hows)
        tiles = np.arange(1, math.floor(scores) + 1) if 1 < scores <= MOST_TILES else np.array([])
        self._tiles.show(at=tiles, end=[scores] * len(tiles))
        ring = ["", ""]  # around what is too small to see
        for i, (side, _, _, how) in enumerate(squares):
            speck = [side / 2] if side < 0.02 * extent else []
            self._rings[i].show(x=speck, y=speck, how=[how] * len(speck))
            ring[i] = ", the speck in the ring" if speck else ""
        self._areas_caption.object = (
            '<div class="caption"><b>To scale</b>: '
            f"{mark(SCORES, '■', 'the scores')}, {escape(binary(self.score_bytes))}{ring[1]}; "
            f"{mark(NEUTRAL, '■', 'one card')}, {escape(_card_name(self.state.card))}{ring[0]}. "
            f"{escape(self._compared())}</div>"
        )

    def _compared(self) -> str:
        if self.ratio >= 1:
            return f"{_short(self.ratio)} cards, so {self.cards:,}."
        return f"A card holds them {math.floor(self.card_bytes / self.score_bytes):,} times."

    def _draw_work(self) -> None:
        ends = [self.state.cost(n) for n in (SHORTEST, LONGEST)]
        x = [float(SHORTEST), float(LONGEST)]
        here = float(self.state.n)
        parts = {
            "projections": lambda c: c.projection_macs,
            "with_output": lambda c: c.projection_macs + c.output_macs,
            "quadratic": lambda c: c.score_macs + c.weighted_sum_macs,
        }
        for name, part in parts.items():
            self._work_lines[name].show(x=x, y=[float(part(c)) for c in ends])
        projections, with_output, quadratic = (part(self.cost) for part in parts.values())
        self._linear_dots.show(
            x=[here, here],
            y=[float(projections), float(with_output)],
            how=[
                f"Q, K and V at {self.state.n:,} tokens: {projections:,} multiply-adds",
                f"with the output projection: {with_output:,}",
            ],
        )
        self._quadratic_dot.show(
            x=[here], y=[float(quadratic)], how=[f"scores and weighted sum at {self.state.n:,} tokens: {quadratic:,}"]
        )
        for crossing, at in zip(self._crossings, (1.5 * self.state.d, 2.0 * self.state.d), strict=True):
            crossing.location = at
        self._work_caption.object = (
            '<div class="caption"><b>Multiply-adds of one layer</b>: '
            f"{mark(SCORES, '—', 'scores and weighted sum')}, {mark(THEORY, '—', 'Q, K and V')}, "
            f"{mark(THEORY, '╌', 'with output projection')}. They cross at 1.5 d = {self.crossover:,} "
            f"and at 2 d = {2 * self.state.d:,} tokens.</div>"
        )

    def _draw_mask(self) -> None:
        six = AttentionCost(6, 3, 2, 1)
        self._mask_example.show(x=[6.0], y=[six.masked_share], how=[f"6 tokens: {six.masked_cells} of 36 cells"])
        cells = self.state.n**2
        self._mask_dot.show(
            x=[float(self.state.n)],
            y=[self.cost.masked_share],
            how=[f"{self.state.n:,} tokens: {self.cost.masked_cells:,} of {cells:,} cells"],
        )
        self._mask_caption.object = (
            '<div class="caption"><b>Thrown away by the mask</b>: (n − 1) / 2n, '
            f"{mark(SCORES, '●', _percent(self.cost.masked_share))} here, {mark(THEORY, '○', '41.7 %')} for the six "
            "tokens of the example. The cells are computed first, so nothing is saved.</div>"
        )


def context_lengths() -> list[int]:
    """Return the steps of the slider: evenly spaced for the eye, with the marks among them."""
    doublings = round(math.log2(LONGEST / SHORTEST))
    steps = {round(SHORTEST * 2 ** (i / STEPS_PER_DOUBLING)) for i in range(doublings * STEPS_PER_DOUBLING + 1)}
    return sorted(steps | set(MARKS))


def binary(count: int) -> str:
    """Return bytes in the largest binary unit that leaves at least 1; a whole number stays whole."""
    power = min((count.bit_length() - 1) // 10, len(BINARY_UNITS) - 1)
    unit = 2 ** (10 * power)
    return f"{f'{count // unit:,}' if count % unit == 0 else f'{count / unit:.3f}'} {BINARY_UNITS[power]}"


def _marks_below(lengths: Sequence[int]) -> str:
    """Return a style sheet that puts the four marks below the slider's track."""
    places = [100 * lengths.index(n) / (len(lengths) - 1) for n in MARKS]
    elements = [".noUi-target::before", ".noUi-base::before", ".noUi-target::after", ".noUi-base::after"]
    css = [
        f"{', '.join(elements)} {{ position: absolute; top: 17px; font: 11px/1 var(--sans); color: var(--muted); "
        "transform: translateX(-50%); pointer-events: none; font-variant-numeric: tabular-nums; }",
        f"{elements[-1]} {{ transform: translateX(-80%); }}",
        ".noUi-target { margin-bottom: 27px !important; }",
    ]
    for texts, condition in ((SHORT_MARKS, "max-width: 639.9px"), (MARKS.values(), "min-width: 640px")):
        rules = "".join(
            f'{element} {{ content: "{text}"; left: {place:.2f}%; }} '
            for element, text, place in zip(elements, texts, places, strict=True)
        )
        css.append(f"@container ({condition}) {{ {rules}}}")
    return "\n".join(css)


def _exact(rows: Sequence[Sequence[int]]) -> np.ndarray:
    """Return Python's integers in an array that leaves them what they are."""
    return np.array(rows, dtype=object)


def _halves(twice: int) -> int | float:
    return twice // 2 if twice % 2 == 0 else twice / 2


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def _card_name(card: str) -> str:
    return card.replace("G", " G")


def _short(value: float) -> str:
    return fixed(value, 2) if value < 1000 else f"{value:,.2f}"


def _seconds(value: float) -> str:
    return f"{value:,.1f} s" if value >= 100 else f"{value:.4g} s"


def _percent(share: float) -> str:
    """Return a share with as many decimals as tell a million tokens from half."""
    return f"{100 * share:.5f} %"


def app() -> Cost:
    """Return the figure."""
    return Cost()


if pn.state.served:
    app().servable()
