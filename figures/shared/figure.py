"""A figure: one picture, one sentence and one control, with everything else a fold away.

A module of `figures` declares a state, what follows from it, panels, readouts and a sentence; `Figure` makes the card
from these, and carries each change of state through it: the numbers first, in a message of their own, then the rest.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import panel as pn
import param
from bokeh.models import InlineStyleSheet

from figures.shared import controls
from figures.shared.charts import Chart
from figures.shared.format import said, symbols
from figures.shared.jobs import Job
from figures.shared.palette import COLOURS
from figures.shared.panels import Of, data_table
from figures.shared.readouts import Reading, Readout, write
from figures.shared.state import FOLDS, FigureState

QUIET = 400  # milliseconds without a change until the sentence is spoken
STYLE = Path(__file__).with_name("card.css").read_text(encoding="utf-8")
SKELETON = Path(__file__).with_name("skeleton.css").read_text(encoding="utf-8")


class Html(pn.pane.HTML):
    """A part of a card: HTML that the page works into what is there (``data-morph``), under the card's style sheet."""

    html_attributes = param.Dict(default={})

    _rename = {"html_attributes": "html_attributes", "sheet": None}  # noqa: RUF012 (Panel's own protocol)

    sheet = param.Parameter()

    def show(self, text: str) -> None:
        """Show another text; the same one sends nothing."""
        if text != self.object:
            self.object = text

    def _process_param_change(self, params: dict[str, Any]) -> dict[str, Any]:
        return _own_sheet(super()._process_param_change(params), self.sheet)

    def _update(self, _ref: str, model: Any) -> None:
        # Panel would set every property again, for a quarter of a change's time.
        model.text = self._transform_object(self.object)["object"]


class Box(pn.Column):
    """A box of parts, laid out by a style sheet."""

    html_attributes = param.Dict(default={})
    sheet = param.Parameter()

    _rename = {**pn.Column._rename, "html_attributes": "html_attributes", "sheet": None}  # noqa: RUF012

    def _process_param_change(self, params: dict[str, Any]) -> dict[str, Any]:
        return _own_sheet(super()._process_param_change(params), self.sheet)


def _own_sheet(properties: dict[str, Any], sheet: Any) -> dict[str, Any]:
    """Put one shared style sheet in the place of Panel's, which are for widgets that a card has not."""
    if "stylesheets" in properties:
        properties["stylesheets"] = [sheet]
    return properties


class Figure(pn.viewable.Viewer):
    """A figure as the reader meets it.

    Parameters
    ----------
    state_class : type
        The state: its parameters are the controls and the keys of the address.
    compute : callable
        Returns from a state what follows from it. A generator where that is long work: each result it yields is
        shown, and a newer state supersedes it.
    panels : sequence
        `Drawing`, `Grid` or `Chart`.
    readouts : sequence of Readout
        All numbers of the figure.
    title : str
        States the finding.
    sentence : callable
        Returns the result in a sentence, as HTML, from state and result.
    scenes : mapping of str to mapping
        Named presets; what a scene does not name takes its default.
    code : callable
        Returns the lines of Python, on the core, that compute the readouts of a state.
    how : callable, optional
        Returns, as HTML, how the cell (i, j), counted from 0, is computed, from state, result, i and j.
    note : callable, optional
        Returns what stands below the stage, as HTML, where there is no cell to explain.
    inputs : sequence of str, optional
        The keys that `compute` reads; a change of others computes nothing. All, if not given.
    layout : str
        The areas of a wide card, as in CSS's ``grid-template``.
    lines : mapping of str to pair of int
        How many lines are kept for the ``sentence`` and for ``how``, on wide cards and on narrow ones.
    """

    query = param.Dict(default={}, doc="The state that differs from the default, as it stands in a link.")
    number = param.Integer(default=None, allow_None=True, doc="Its place in the article; whoever places it says so.")

    def __init__(
        self,
        state_class: type[FigureState],
        compute: Callable[[Any], Any],
        panels: Sequence[Any],
        readouts: Sequence[Readout],
        *,
        title: str,
        sentence: Of,
        scenes: Mapping[str, Mapping[str, Any]],
        code: Of,
        how: Callable[[Any, Any, int, int], str] | None = None,
        note: Of | None = None,
        inputs: Sequence[str] | None = None,
        layout: str = "",
        lines: Mapping[str, tuple[int, int]] | None = None,
    ) -> None:
        super().__init__()
        self.state_class, self.state = state_class, state_class()
        self.heading, self.scenes, self.readouts = title, scenes, readouts
        self._compute, self._sentence, self._how, self._note_of, self._code = compute, sentence, how, note, code
        self._inputs = state_class.names() if inputs is None else list(inputs)
        self._panels = [copy.copy(panel) for panel in panels]
        self._job = Job(self._refresh)
        self.state.progress = self._progress
        self.result: Any = None
        self._readings: list[Reading] = []
        self._notes: dict[str, str] = {}
        self._notice = ""
        self._turn = 0
        self._moved: list[Reading] = []  # what the last change has changed
        self._pointed: tuple[int, int] | None = None
        self._only_cell = self._painting = False
        self._saying: Any = None
        self._begin()
        self._build(layout, {"sentence": (2, 4), "how": (1, 3)} | dict(lines or {}))
        self._tell()
        self._paint()
        self._say()
        self.state.param.watch(self._changed, state_class.names())
        self.param.watch(lambda *_: self._show_head(), "number")

    # What the page uses.

    def __panel__(self) -> Box:
        return self._card

    def load_query(self, pairs: Iterable[Sequence[str]]) -> None:
        """Set the state from a link, and say what of it could not be used."""
        pairs = [(key, text) for key, text in pairs]
        with param.parameterized.batch_call_watchers(self.state):
            notice = self.state.load_query(pairs)
            if self.state.fold == "none":
                self._unfold(key for key, _ in pairs)
        self._notes, self._notice = {}, f"From the link: {notice}" if notice else ""
        self._changed()

    def take(self, pairs: Iterable[Sequence[str]]) -> None:
        """Set what a control on the page says; the other values stay."""
        pairs = [(key, text) for key, text in pairs]
        if scene := dict(pairs).get("scene"):
            self.set_scene(scene)
            pairs = [(key, text) for key, text in pairs if key != "scene"]  # set after it
        before = {key: getattr(self.state, key) for key, _ in pairs if key in self._inputs}
        notes = self.state.take(pairs)
        same = {key for key, value in before.items() if getattr(self.state, key) == value}
        again = any(self.state.param[key].control.kind == "run" for key in same)
        if again and not self._job.running:
            self._begin()  # a run that is over starts again
        if notes != self._notes or again or self._notice:
            self._notes, self._notice = notes, ""
            self._changed()

    def point(self, pairs: Iterable[Sequence[str]]) -> None:
        """Explain the cell that the reader points at; without pairs the selected one again."""
        cell = dict((key, text) for key, text in pairs).get("cell")
        try:
            self._pointed = self.state.read("cell", cell, {})[0] if cell else None
        except ValueError:
            self._pointed = None
        self._explain()

    def finish(self) -> None:
        """Do now what is left for later; the builder asks for it before it keeps the figure."""
        if self._job.running:
            self._job.finish()
            self._refresh()
            self._say()

    def lighten(self) -> None:
        """Let go of what can be made again, before the memory is saved."""
        if hasattr(self.result, "lighten"):
            self.result.lighten(self.state)

    def set_scene(self, name: str) -> None:
        """Put the figure in the state of a scene; what the scene does not name takes its default."""
        scene = self.scenes.get(name)
        if scene is not None:
            with param.parameterized.batch_call_watchers(self.state):
                self.state.set(**{**self.state.defaults(), "fold": self.state.fold, **scene})
                self._unfold(scene)

    def _unfold(self, keys: Iterable[str]) -> None:
        """Open the fold in which something lies that a link or a scene has set."""
        own = (key for key in keys if key in self.state.names())
        set_away = {
            self.state.param[key].control.place
            for key in own
            if getattr(self.state, key) != self.state.param[key].default
        }
        for fold in ("settings", "numbers"):
            if fold in set_away:
                self.state.fold = fold

    def static_html(self) -> str:
        """Return the figure as plain HTML: title, sentence, readouts, data."""
        return (
            f"<h3>{symbols(self.heading)}</h3><p>{escape(said(self.sentence()))}</p>"
            f"{write(self._readings)}{self._tables()}"
        )

    def servable(self, *args: Any, **kwargs: Any) -> Any:
        """Show the figure alone under ``panel serve``, in the state of the address."""
        from figures.shared.bridge import bridge

        own = ((key.partition(".")[2], texts) for key, texts in pn.state.session_args.items() if "." in key)
        self.load_query([(key, text.decode(errors="replace")) for key, texts in own for text in texts])
        page = pn.Column(bridge(self), self._card, max_width=1080, sizing_mode="stretch_width")
        return page.servable(*args, **kwargs)

    def sentence(self) -> str:
        """Return the current result in one sentence, as HTML."""
        return self._sentence(self.state, self.result)

    # How a change travels.

    def _changed(self, *events: param.parameterized.Event) -> None:
        names = {event.name for event in events}
        self._only_cell = bool(names) and names <= {"cell"}
        if names - {"fold"}:
            self._pointed = None
        if names:
            self._notice = ""
            self._notes = {key: note for key, note in self._notes.items() if key not in names}
        if names & set(self._inputs):
            self._begin()
        self._tell()
        self.query = self.state.query()
        document = pn.state.curdoc
        if document is None:
            self._paint()
            self._say()
            return
        self._say_soon(document)
        if not self._painting:
            self._painting = True
            document.add_next_tick_callback(self._paint)

    def _begin(self) -> None:
        """Compute the state's result, or the first part of it, and leave the rest to the job."""
        result = self._compute(self.state)
        self._job.cancel()
        if inspect.isgenerator(result):
            self.result = next(result)
            self._job.start(self._keep(result))
        else:
            self.result = result

    def _keep(self, results: Iterable[Any]) -> Iterable[None]:
        for result in results:
            self.result = result
            yield

    def _progress(self) -> tuple[int, int, bool]:
        most, done = self.result.progress() if hasattr(self.result, "progress") else (1, 1)
        return most, done, self._job.running

    def _refresh(self) -> None:
        """Show what the job has found since."""
        self._tell()
        self._paint()
        if not self._job.running and self._saying is None and (document := pn.state.curdoc) is not None:
            self._say_soon(document)

    def _tell(self) -> None:
        """Show the numbers and the sentence."""
        readings = [readout.read(self.state, self.result) for readout in self.readouts]
        # A value may change where its text does not.
        if readings != self._readings:
            self._turn += 1
            former = {r.readout.name: r.text for r in self._readings}
            self._moved = [r for r in readings if former.get(r.readout.name, r.text) != r.text and not r.partial]
            self._numbers.show(write(readings, self._readings, self._turn))
            self._readings = readings
        self._words.show(f"<p data-sentence>{self.sentence()}</p>")

    def _paint(self) -> None:
        """Show everything else."""
        self._painting = False
        s, r = self.state, self.result
        s.notes = self._notes
        unfolded = s.fold == "numbers"
        for panel, part in self._parts:
            # What lies in a closed fold is written when it opens: nobody sees it, and it is half of all elements.
            if panel.area != "numbers" or unfolded:
                part.show(panel.render(s, r))
            if isinstance(panel, Chart):
                panel.draw(s, r)
        self._primary.show(self._controls("primary"))
        self._settings.show(f'{self._echo()}<div class="settings">{self._controls("settings")}</div>')
        self._explain()
        self._show_head()
        self._show_foot()
        self._listing.show(f"<pre tabindex=0 aria-label=Code><code>{escape(self._code(s, r))}</code></pre>")
        self._data.show(f'<div class="tables">{self._tables(whole=unfolded)}</div>')
        self._card.html_attributes = {"data-open": s.fold, "data-card": "", "data-quiet": ""}

    def _say_soon(self, document: Any) -> None:
        if self._saying:
            document.remove_timeout_callback(self._saying)
        self._saying = document.add_timeout_callback(self._say, QUIET)

    def _say(self) -> None:
        """Have the last state spoken, once it stays."""
        self._saying = None
        only = self._only_cell and self._how
        text = self._explained(self.state.cell) if only else self.sentence()
        self._spoken.show(f'<p role="status">{escape(said(text))}</p>')

    def _echo(self) -> str:
        """Return what the last change has changed, for narrow cards, where the numbers may be off the screen."""
        moved = "; ".join(f"{symbols(r.readout.label)} <b>{symbols(r.text)}</b>" for r in self._moved[:2])
        text = moved if moved and not (self._only_cell and self._how) else self._explanation()
        return f'<p class="echo" aria-hidden="true">{text}</p>'

    def _explain(self) -> None:
        self._below.show(f'<div class="how">{self._explanation()}</div>')

    def _explanation(self) -> str:
        """Return what is said of the cell that a mouse rests on, else of the selected one."""
        if self._how:
            return self._explained(self._pointed or self.state.cell)
        return self._note_of(self.state, self.result) if self._note_of else ""

    def _explained(self, cell: tuple[int, int]) -> str:
        i, j = cell
        return str(self._how(self.state, self.result, i - 1, j - 1)) if self._how else ""

    def _tables(self, *, whole: bool = True) -> str:
        tables = (table for panel in self._panels for table in panel.data(self.state, self.result))
        return "".join(f'<div class="table">{data_table(table, whole=whole)}</div>' for table in tables)

    def _controls(self, place: str) -> str:
        keys = [key for key in self.state.names() if self.state.param[key].control.place == place]
        return "".join(controls.render(self.state, key, self._notes, bare=place == "primary") for key in keys)

    def _show_head(self) -> None:
        kicker = f"Figure {self.number}" if self.number else "Figure"
        notice = f'<p class="notice">{escape(self._notice)}</p>' if self._notice else ""
        self._head.show(f'<p class="kicker">{kicker}</p><h3>{symbols(self.heading)}</h3>{notice}')

    def _show_foot(self) -> None:
        chips = "".join(
            f'<button type="button" class="chip" data-set="scene={escape(name)}" aria-label="{escape(name)}" '
            f'aria-pressed="{str(self.in_scene(name)).lower()}">{symbols(name)}</button>'
            for name in self.scenes
        )
        titles = {"numbers": f"All {len(self.readouts)} numbers", "settings": "Settings", "code": "Code"}
        folds = "".join(
            f'<button type="button" class="fold" data-set="fold={"none" if self.state.fold == fold else fold}" '
            f'data-fold="{fold}" aria-expanded="{str(self.state.fold == fold).lower()}">{titles[fold]} '
            f'<span aria-hidden="true">▾</span></button>'
            for fold in FOLDS
            if fold != "none"
        )
        self._foot.show(
            f'<div class="foot"><div class="chips" role="group" aria-label="Scenes">{chips}</div>'
            f'<div class="folds">{folds}</div></div>'
        )

    def in_scene(self, name: str) -> bool:
        """Tell whether the state is that of a scene, whatever is looked at."""
        keys = [key for key in self.state.query_keys() if not self.state.param[key].control.view]
        wanted = {**self.state.defaults(), **self.scenes[name]}
        return all(getattr(self.state, key) == wanted[key] for key in keys)

    # How it is laid out.

    def _build(self, layout: str, lines: Mapping[str, tuple[int, int]]) -> None:
        sheet = InlineStyleSheet(css=STYLE)

        def part(area: str) -> Html:
            # A scene's changes are outlined in the drawing and in the sentence; all else is quiet.
            quiet = {} if area in ("panel", "sentence") else {"data-quiet": ""}
            return Html(
                "", sheet=sheet, css_classes=[area], html_attributes={"data-morph": "", **quiet},
                margin=0, sizing_mode="stretch_width", disable_math=True,
            )  # fmt: skip

        self._head, self._words, self._primary, self._below, self._foot, self._spoken = map(
            part, ("head", "sentence", "primary", "how", "foot", "spoken")
        )
        self._numbers, self._data = part("numbers"), part("data")
        self._settings, self._listing = part("settings"), part("code")
        self._parts = [(panel, part("panel")) for panel in self._panels]
        areas: dict[str, list[Any]] = {"main": [], "side": [], "numbers": []}
        for panel, text in self._parts:
            areas[panel.area].append(text)
            if isinstance(panel, Chart):
                areas[panel.area].append(pn.pane.Bokeh(panel.plot(), sizing_mode="stretch_width", margin=0))
        reserved = "".join(
            f"--{name}-lines:{wide};--{name}-lines-narrow:{narrow};" for name, (wide, narrow) in lines.items()
        )
        rows, _, columns = (layout or LAYOUT).rpartition("/")
        count = len(rows.split('"')[1].split())
        whole = {area: f'"{" ".join([area] * count)}"' for area in ("head", "sentence", "foot", "fold")}
        wide = f"{whole['head']} {whole['sentence']} {rows} {whole['foot']} {whole['fold']} / {columns}"
        inner = [area for area in ("main", "primary", "sentence", "side", "how") if area in rows or area == "sentence"]
        narrow = " ".join(f'"{area}"' for area in ("head", *inner, "foot", "fold")) + " / minmax(0, 1fr)"
        skeleton = InlineStyleSheet(
            css=f":host(.card) {{ {tokens()} {reserved} --wide: {wide}; --narrow: {narrow}; }}\n{SKELETON}"
        )

        def box(area: str, *children: Any) -> Box:
            stage = {"data-stage": ""} if area == "main" else {}
            return Box(
                *children, sheet=skeleton, css_classes=[area], html_attributes=stage, margin=0,
                sizing_mode="stretch_width",
            )  # fmt: skip

        self._card = Box(
            self._head,
            self._words,
            box("main", *areas["main"]),
            *([box("side", *areas["side"])] if areas["side"] else []),
            self._primary,
            self._below,
            self._foot,
            box("fold-numbers", self._numbers, *areas["numbers"], self._data),
            self._settings,
            self._listing,
            self._spoken,
            sheet=skeleton,
            css_classes=["card"],
            margin=0,
            sizing_mode="stretch_width",
        )


LAYOUT = '"main side" "primary side" "how how" / 3fr 2fr'


def tokens() -> str:
    """Return the colours of a card as custom properties: the page's own, where it has any."""
    named = [(name.replace("_", "-"), both) for name, both in COLOURS.items()]
    return "".join(f"--{name}: var(--page-{name}, {light}); " for name, (light, _) in named)
