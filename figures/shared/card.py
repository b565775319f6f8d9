"""The card: one layout for all figures, and the way a change of state travels through it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np
import panel as pn
import param

from figures.shared.controls import Button, button
from figures.shared.readouts import Readout, fixed, plain, strip
from figures.shared.state import FigureState
from figures.shared.styles import CARD, CHIP, CHIPS, CONTROL, FLOW, HEADER, PANEL, PANELS, PROSE, READOUTS, UNSEEN


class Table(NamedTuple):
    """A matrix under its name, for the data twin of a plot."""

    name: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: np.ndarray


class Card(pn.viewable.Viewer):
    """A figure as the reader meets it: title, scenes, controls, readouts, panels, one sentence of result.

    A subclass sets the class attributes, builds `controls()` and `panels()` once, and says what follows
    from the state: `readouts()`, `summary()`, `explanation()`, `remark()`, `tables()`, and `draw()` for the plots.

    On a change of state the readouts are set first and the plots on the next tick, so that the numbers
    reach the page in a message of their own.
    """

    number = 0
    heading = ""
    prompt = ""
    state_class: type[FigureState] = FigureState
    scenes: Mapping[str, Mapping[str, Any]] = {}

    query = param.Dict(default={}, doc="The state that differs from the default, as it stands in a link.")

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self.state = self.state_class()
        self._shown: list[Readout] = []
        self._drawing = False
        self._pointed = False  # whether nothing but the selected cell has changed
        self._notice = _html(PROSE)
        self._strip = _html(READOUTS)
        self._remark = _html(PROSE)
        self._summary = _html(PROSE)
        self._spoken = _html(UNSEEN)
        self._chips = {name: self._chip(name) for name in self.scenes}
        self.compute()
        self._view = self._layout()
        self._tell()
        self._paint()
        self.state.param.watch(self._changed, self.state_class.names())

    # What a figure says of itself.

    def compute(self) -> None:
        """Work out everything that follows from the state; the other methods read the results."""

    def controls(self) -> list[Any]:
        """Return the controls, built once."""
        raise NotImplementedError

    def panels(self) -> list[Any]:
        """Return the plots with their captions, built once."""
        raise NotImplementedError

    def readouts(self) -> list[Readout]:
        """Return the numbers of the current state."""
        raise NotImplementedError

    def summary(self) -> str:
        """Return the current result in one sentence."""
        raise NotImplementedError

    def explanation(self) -> str:
        """Return, as HTML, how the selected cell is computed; the figure shows it beside its cells."""
        return ""

    def remark(self) -> str:
        """Return, as HTML, what stands below the panels."""
        return ""

    def tables(self) -> list[Table]:
        """Return the matrices behind the plots."""
        return []

    def draw(self) -> None:
        """Bring the plots up to date."""

    def refresh(self) -> None:
        """Show what a running job has found since. Readouts are not marked: they change many times a second."""
        readouts = self.readouts()
        if [readout.text for readout in readouts] != [readout.text for readout in self._shown]:
            self._strip.object = strip(readouts)
            self._shown = readouts
        self._paint()

    # What the page uses.

    def __panel__(self) -> pn.Column:
        return self._view

    def load_query(self, pairs: Iterable[Sequence[str]]) -> None:
        """Set the state from a link, and say what of it could not be used."""
        notice = self.state.load_query((key, text) for key, text in pairs)
        self._notice.object = f'<p class="line notice">{escape("From the link: " + notice)}</p>' if notice else ""
        self._changed()

    def static_html(self) -> str:
        """Return the figure's numbers as plain HTML."""
        tables = "".join(_table(table) for table in self.tables())
        return f"{strip(self._shown)}<p>{escape(self.summary())}</p>{tables}"

    def servable(self, *args: Any, **kwargs: Any) -> Any:
        """Show the figure alone under ``panel serve``, in the state of the address."""
        own = ((key.partition(".")[2], texts) for key, texts in pn.state.session_args.items() if "." in key)
        self.load_query([(key, text.decode(errors="replace")) for key, texts in own for text in texts])
        return super().servable(*args, **kwargs)

    # How a change travels.

    def _changed(self, *events: param.parameterized.Event) -> None:
        self._pointed = {event.name for event in events} == {"cell"} and (self._pointed or not self._drawing)
        self.compute()
        self._tell()
        self.query = self.state.query()
        if self._drawing:
            return
        document = pn.state.curdoc
        if document is None:
            self._paint()
        else:
            self._drawing = True
            document.add_next_tick_callback(self._paint)

    def _tell(self) -> None:
        readouts = self.readouts()
        self._strip.object = strip(readouts, self._shown)
        self._shown = readouts

    def _paint(self) -> None:
        self._drawing = False
        self.draw()
        self._remark.object = self.remark()
        self._summary.object = f'<p class="line">{escape(self.summary())}</p>'
        # The sentence of result says nothing of the cell; who cannot see it being outlined hears how it is computed.
        self._spoken.object = self.explanation() if self._pointed else ""
        for name, chip in self._chips.items():
            chip.pressed = self._in_scene(name)

    # The selected cell, in figures whose state has a `cell`, counted from 1.

    @property
    def _cell(self) -> tuple[int, int]:
        row, column = self.state.cell
        return row - 1, column - 1

    def _select(self, row: int, column: int) -> None:
        self.state.cell = (row + 1, column + 1)

    # Scenes.

    def set_scene(self, name: str) -> None:
        """Put the figure in the state of a scene; what the scene does not name takes its default."""
        self.state.param.update(**{**self.state.defaults(), **self.scenes[name]})

    def _in_scene(self, name: str) -> bool:
        keys = [key for key in self.state_class.query_keys() if key not in self.view_keys]
        scene = self.scenes[name]
        return all(getattr(self.state, key) == scene.get(key, self.state.param[key].default) for key in keys)

    #: Keys that say what is looked at, not what is computed: a scene stays the same scene without them.
    view_keys: tuple[str, ...] = ()

    def _chip(self, name: str) -> Button:
        return button(name, lambda: self.set_scene(name), stylesheets=[CONTROL, CHIP])

    def _layout(self) -> pn.Column:
        header = _html(
            HEADER,
            f'<div class="kicker">Figure {self.number}</div><h3 class="title">{escape(self.heading)}</h3>'
            f'<p class="prompt">{escape(self.prompt)}</p>',
        )
        self._summary.html_attributes = {"role": "status"}
        self._spoken.html_attributes = {"aria-live": "polite"}
        return pn.Column(
            header,
            pn.Row(*self._chips.values(), stylesheets=[CHIPS], margin=0),
            pn.Row(*self.controls(), stylesheets=[FLOW], margin=0),
            self._notice,
            self._strip,
            one_look(pn.Row(*self.panels(), stylesheets=[PANELS], margin=0)),
            self._remark,
            self._summary,
            self._spoken,
            stylesheets=[CARD],
            margin=0,
            sizing_mode="stretch_width",
        )


class Html(pn.pane.HTML):
    """A piece of HTML whose element takes attributes."""

    html_attributes = param.Dict(default={})

    _rename = {"html_attributes": "html_attributes"}  # noqa: RUF012

    def _update(self, _ref: str, model: Any) -> None:
        """Bring another text to the page. Panel would set every property again, for a quarter of a change's time."""
        model.text = self._transform_object(self.object)["object"]


def _html(style: str, text: str = "") -> Html:
    return Html(text, stylesheets=[style], margin=0, sizing_mode="stretch_width", disable_math=True)


def html(text: str, style: str = PROSE) -> Html:
    """Return a piece of prose inside a card."""
    return _html(style, text)


def one_look(panels: pn.Row) -> pn.Row:
    """Give all glyphs the same look, selected, muted or not: BokehJS prepares each other look with every change."""
    for pane in panels.select(pn.pane.Bokeh):
        for renderer in pane.object.renderers:
            renderer.update(selection_glyph=None, nonselection_glyph=None, muted_glyph=None)
    return panels


def panel(plot: pn.viewable.Viewable, caption: Html) -> pn.Column:
    """Return a plot with its caption."""
    return pn.Column(plot, caption, stylesheets=[PANEL], margin=0)


def scale(name: str, colours: Sequence[str], low: str, high: str) -> str:
    """Return the key to a colour scale as HTML."""
    stops = ", ".join(colours)
    bar = f'<i style="background:linear-gradient(90deg,{stops})"></i>'
    return f'<div class="scale">{escape(name)} {escape(low)} {bar} {escape(high)}</div>'


def _table(table: Table) -> str:
    head = "".join(f"<th scope=col>{escape(name)}</th>" for name in table.columns)
    body = "".join(
        f"<tr><th scope=row>{escape(name)}</th>" + "".join(_cell(value) for value in row) + "</tr>"
        for name, row in zip(table.rows, table.values, strict=True)
    )
    head = f"<caption>{escape(table.name)}</caption><thead><tr><td></td>{head}</tr></thead>"
    return f"<table>{head}<tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    # Python's own integers may be larger than a float can hold exactly.
    number = value if isinstance(value, int) else plain(float(value))
    text = f"{value:,}" if isinstance(value, int) else fixed(float(value))
    return f'<td data-value="{escape(json.dumps(number))}">{escape(text)}</td>'
