"""The Python half of the protocol: documents by figure, patches in, patches out.

It runs in the reader's browser, and in the bake. Messages are JSON texts; nothing in them is
evaluated. One figure is one Bokeh document, built by the ``app()`` of its module.

What ``app()`` returns may be any Panel object. If it offers more, the page uses it:

``load_query(pairs)``
    Set the state from the page's query string: a list of ``[key, value]``, both text, keys without the
    figure's name.
``take(pairs)``
    Set what an element with ``data-set`` says: the same list; keys that are missing stay as they are.
``point(pairs)``
    Explain what the reader's pointer rests on; without pairs, what is selected.
``number``
    Its place on the page, counted from 1; set here.
``finish()``
    Do now what was left for later, before the figure is kept; in the bake only.
``query``
    A parameter holding the state that differs from the default, as ``{key: text}``; written back to
    the page's query string when it changes.
``heading``
    The figure's title, as text.
``lighten()``
    Let go of what can be made again; called before the memory is saved, so that it is not downloaded.
``static_html()``
    The figure as plain HTML (readouts, summary, tables), shown until it is drawn.
"""

from __future__ import annotations

import asyncio
import gzip
import importlib
import json
import struct
import sys
import time
import traceback
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

SITE_PACKAGES = Path(__file__).parent
STANDARD_LIBRARY = Path("/lib/python314.zip")


def _stand_in(name: str, **content: object) -> None:
    module = ModuleType(name)
    vars(module).update(content)
    sys.modules.setdefault(name, module)


# Panel's support for Pyodide imports pandas unless this module exists.
_stand_in("pyodide_http", patch_all=lambda: None)
# Bokeh's callbacks name a type of this module, which needs Tornado, and do not use it.
_stand_in("bokeh.util.tornado", _CallbackGroup=object)

import bokeh.server.callbacks  # noqa: E402, F401 (imported by the first next-tick callback; saved with the rest)
from bokeh.core.serialization import Buffer, Serializer  # noqa: E402
from bokeh.document import Document  # noqa: E402
from bokeh.document.events import (  # noqa: E402
    DocumentPatchedEvent,
    SessionCallbackAdded,
    SessionCallbackRemoved,
)
from bokeh.document.json import PatchJson  # noqa: E402
from bokeh.events import DocumentReady  # noqa: E402
from bokeh.io.doc import patch_curdoc  # noqa: E402
from bokeh.util import serialization as bokeh_ids  # noqa: E402
from panel import panel as as_panel  # noqa: E402
from panel.io.state import set_curdoc, state  # noqa: E402

# Each figure numbers its models from its own base, so that building one again, or failing to build
# one, moves no other figure's ids.
IDS_PER_FIGURE = 1_000_000
# Marks what the page changed itself, so that it is not sent back.
FROM_PAGE: Any = "page"

Send = Callable[[str], None]


def _to_nobody(message: str) -> None:
    """Take a message of a figure that no page has asked for."""


@contextmanager
def current(document: Document) -> Iterator[None]:
    """Make a document the current one, for Panel and for Bokeh."""
    patched = patch_curdoc(document)
    patched.__enter__()
    try:
        with set_curdoc(document):
            yield
    finally:
        patched.__exit__(None, None, None)  # without an error, which would keep it from ending


@contextmanager
def waiting() -> Iterator[list[tuple[float, asyncio.Handle]]]:
    """Keep what is given to the event loop: no timer and no task may begin before the memory is saved."""
    loop: Any = asyncio.get_event_loop()
    kept: list[tuple[float, asyncio.Handle]] = []

    def call_later(delay: float, callback: Any, *given: Any, context: Any = None) -> asyncio.Handle:
        kept.append((delay, asyncio.Handle(callback, given, loop, context)))
        return kept[-1][1]

    loop.call_later = call_later  # call_soon and call_at come down to this one
    try:
        yield kept
    finally:
        del loop.call_later


class Figure:
    """One figure: its document, and what waits to be sent to the page."""

    def __init__(self, name: str, module: str, number: int, *, finish: bool = False) -> None:
        bokeh_ids._simple_id = (number + 1) * IDS_PER_FIGURE
        self.name = name
        self.document = Document()
        with current(self.document), waiting() as self._kept:
            self.view = importlib.import_module(module).app()
            if hasattr(self.view, "number"):
                self.view.number = number + 1
            panel: Any = as_panel(self.view)
            panel.server_doc(doc=self.document, location=False)
            if finish and hasattr(self.view, "finish"):
                self.view.finish()
        self._send: Send = _to_nobody
        self._outbox: list[DocumentPatchedEvent] = []
        self._callbacks: dict[Any, Callable[[], None]] = {}
        self._ticks: list[Any] = []
        self._busy = False

    def baked(self) -> dict[str, Any]:
        """Return the document as BokehJS reads it, and the figure's plain HTML."""
        static_html = getattr(self.view, "static_html", None)
        return {
            "doc": self.document.to_json(deferred=False),
            "roots": [root.id for root in self.document.roots],
            "html": static_html() if static_html else "",
            "title": getattr(self.view, "heading", ""),
        }

    def link(self, send: Send) -> None:
        """From now on send the document's changes to the page, and run its callbacks."""
        self._send = send
        self.document.on_change(self._changed)
        self.document.unhold()
        for callback in self.document.session_callbacks:
            self._schedule(callback)
        self._begin()
        if "query" in getattr(self.view, "param", ()):
            self.view.param.watch(lambda event: self._post("query", query=event.new), "query")
        state._loaded[self.document] = state._connected[self.document] = True
        self.document.on_event("document_ready", lambda event: state._schedule_on_load(self.document, event))
        self._run(lambda: self.document.callbacks.trigger_event(DocumentReady()), None)

    def _begin(self) -> None:
        """Begin what was kept while the figure was built."""
        for callback in state._periodic.get(self.document, ()):
            callback._start_time = time.time()  # the clock stood still in the bake
        kept, self._kept = self._kept, []
        for delay, handle in kept:
            asyncio.get_event_loop().call_later(delay, _run_unless_cancelled, handle)

    def handle(self, message: dict[str, Any]) -> None:
        """Apply one message of the page; say ``done`` once its results have been sent."""
        seq = message["seq"]
        if message["kind"] == "patch":
            self._run(lambda: self.document.apply_json_patch(message["patch"], setter=FROM_PAGE), seq)
        elif message["kind"] == "query" and hasattr(self.view, "load_query"):
            self._run(lambda: self.view.load_query(message["query"]), seq)
            if "query" in getattr(self.view, "param", ()):
                self._post("query", query=self.view.query)  # a link may say the same in more words
        elif message["kind"] in ("set", "point"):
            name = {"set": "take", "point": "point"}[message["kind"]]
            if receive := getattr(self.view, name, None):
                self._run(lambda: receive(message["pairs"] or []), seq)
        self._post("done", seq=seq)

    def _run(self, work: Callable[[], object], seq: int | None) -> None:
        # What `work` changes is one message; what it left for the next tick (plots) is another.
        self._busy = True
        try:
            with current(self.document):
                work()
                self._flush(seq)
                while self._ticks:
                    ticks, self._ticks = self._ticks, []
                    for callback in ticks:
                        self.document.remove_next_tick_callback(callback)
                        _finish(callback.callback())
                    self._flush(seq)
        except Exception as error:
            self._flush(seq)
            self.tell(error, seq)
        finally:
            self._busy = False

    def tell(self, error: BaseException, seq: int | None = None) -> None:
        """Tell the page of an error."""
        self._post("error", seq=seq, **describe(error))

    def _changed(self, event: Any) -> None:
        if isinstance(event, SessionCallbackAdded):
            self._schedule(event.callback)
        elif isinstance(event, SessionCallbackRemoved):
            self._callbacks.pop(event.callback, lambda: None)()
            self._ticks = [tick for tick in self._ticks if tick is not event.callback]
        elif isinstance(event, DocumentPatchedEvent) and event.setter != FROM_PAGE:
            self._outbox.append(event)
            if not self._busy and len(self._outbox) == 1:
                asyncio.get_event_loop().call_soon(self._flush, None)

    def _schedule(self, callback: Any) -> None:
        kind = type(callback).__name__
        if kind == "NextTickCallback":
            self._ticks.append(callback)
            if not self._busy:
                asyncio.get_event_loop().call_soon(self._run, lambda: None, None)
            return
        seconds = (callback.period if kind == "PeriodicCallback" else callback.timeout) / 1000
        loop = asyncio.get_event_loop()

        def fire() -> None:
            if kind == "PeriodicCallback":
                handles[0] = loop.call_later(seconds, fire)
            else:
                self.document.remove_timeout_callback(callback)
            self._run(lambda: _finish(callback.callback()), None)

        handles = [loop.call_later(seconds, fire)]
        self._callbacks[callback] = lambda: handles[0].cancel()

    def _flush(self, seq: int | None) -> None:
        events, self._outbox = self._outbox, []
        if not events:
            return
        models = self.document.models
        serializer = Serializer(references=models.synced_references)
        patch = PatchJson(events=serializer.encode(events))
        models.flush_synced(lambda model: not serializer.has_ref(model))
        self._post("patch", seq=seq, patch=patch)

    def _post(self, kind: str, **content: Any) -> None:
        message = {"kind": kind, "figure": self.name, **content}
        self._send(json.dumps(message, default=_inline_buffer, separators=(",", ":")))


def _run_unless_cancelled(handle: asyncio.Handle) -> None:
    if not handle.cancelled():
        handle._run()


def _finish(result: Any) -> None:
    if asyncio.iscoroutine(result):
        asyncio.ensure_future(result)  # noqa: RUF006 (the browser's loop keeps it)


def _inline_buffer(value: Any) -> Any:
    if isinstance(value, Buffer):
        return value.to_base64()
    raise TypeError(f"{type(value).__name__} cannot be sent to the page")


def describe(error: BaseException) -> dict[str, str]:
    """Return an error as one sentence and as details to unfold."""
    text = str(error).strip().split("\n", 1)[0]
    reason = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return {"reason": reason, "details": "".join(traceback.format_exception(error))}


def _where(error: BaseException) -> str:
    """Return the file that an error comes from, by its path in site-packages."""
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    return files[-1].removeprefix(f"{Path(__file__).parent}/") if files else ""


class Resident:
    """All figures of one page in one Python."""

    def __init__(self) -> None:
        self._figures: dict[str, Figure] = {}

    @property
    def documents(self) -> Mapping[str, Document]:
        """Every figure's document."""
        return {name: figure.document for name, figure in self._figures.items()}

    def _tell(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Tell the page of an error in a task of a figure, which nothing waits for."""
        error = context.get("exception")
        figure = next((figure for figure in self._figures.values() if figure.document is state.curdoc), None)
        if error and figure:
            figure.tell(error)
        else:
            loop.default_exception_handler(context)

    def build(self, name: str, module: str, number: int, finish: bool = False) -> str:
        """Build one figure's document, and in the bake `finish` it; return it, or why it failed, as JSON."""
        try:
            figure = Figure(name, module, number, finish=finish)
            self._figures[name] = figure
            return json.dumps(figure.baked(), default=_inline_buffer, separators=(",", ":"))
        except Exception as error:
            missing = error.name if isinstance(error, ModuleNotFoundError) else None
            return json.dumps({"missing": missing, "where": _where(error), **describe(error)})

    def root(self, name: str) -> str | None:
        """Return the id of a figure's first root, or None if there is no such figure."""
        figure = self._figures.get(name)
        return figure.document.roots[0].id if figure else None

    def lighten(self) -> None:
        """Have all figures let go of what can be made again."""
        for figure in self._figures.values():
            if hasattr(figure.view, "lighten"):
                figure.view.lighten()

    def link(self, name: str, send: Send) -> None:
        """Start sending `name`'s changes to the page."""
        # Models made from now on must not meet the ids of those built.
        bokeh_ids._simple_id = max(bokeh_ids._simple_id, 1000 * IDS_PER_FIGURE)
        asyncio.get_event_loop().set_exception_handler(self._tell)
        self._figures[name].link(send)

    def handle(self, message: str) -> None:
        """Apply one message of the page."""
        content = json.loads(message)
        self._figures[content["figure"]].handle(content)


class LateModules:
    """Modules that starting did not import. Their files are unpacked when one is wanted.

    Parameters
    ----------
    resumed : bool
        Whether no file of any module is there, since the memory was restored; else those that the bake
        imported are.
    fetch : callable
        Returns their packs, and waits for those that have not come in the background.
    """

    def __init__(self, resumed: bool, fetch: Callable[[], Sequence[bytes]]) -> None:
        modules = json.loads((SITE_PACKAGES / "panel_freeze_modules.json").read_text())
        self._names = set(modules["late"])
        if resumed:
            self._names |= {*modules["first"], *sys.stdlib_module_names}
        self._fetch = fetch
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:  # noqa: ARG002
        """Find nothing, but see that the files are there for the finders that come next."""
        if name in self._names or name.split(".")[0] in sys.stdlib_module_names & self._names:
            self._add(self._fetch())

    def _add(self, packs: Sequence[bytes]) -> None:
        """Put the files of the packs where Python looks for them, once: the standard library's into its zip."""
        sys.meta_path.remove(self)
        with zipfile.ZipFile(STANDARD_LIBRARY, "a") as library:
            for data in packs:
                for name, content in _unpack(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data):
                    if name.startswith(f"{STANDARD_LIBRARY.name}/"):
                        library.writestr(name.split("/", 1)[1], content)
                        continue
                    file = SITE_PACKAGES / name
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(content)
        importlib.invalidate_caches()


def _unpack(pack: bytes) -> Iterator[tuple[str, bytes]]:
    start = 4 + struct.unpack_from("<I", pack)[0]
    for name, offset, size in json.loads(bytes(pack[4:start])):
        yield name, pack[start + offset : start + offset + size]


#: The one of this Python; a saved memory holds it with its figures.
resident = Resident()
