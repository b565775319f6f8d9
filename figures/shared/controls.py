"""Controls: native form elements, with the role, the accessible name and the look that every figure shares.

They are plain HTML. What they set is written on them: ``data-set="mode=tied"`` sends that pair, ``data-set="d_k"``
sends the element's own value under that key. The page listens, and Python's answer is new HTML, which the page works
into what is there, so that focus and an unfinished drag stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from figures.shared.format import symbols
from figures.shared.state import SEEDS, Control, FigureState, to_text


def render(state: FigureState, key: str, notes: Mapping[str, str], *, bare: bool = False) -> str:
    """Return the control of one parameter as HTML.

    Parameters
    ----------
    state : FigureState
        The state it shows.
    key : str
        The parameter.
    notes : mapping of str to str
        By key, why what was typed last was not used as it is.
    bare : bool
        Whether a slider stands on a chart's axis: without a label above it.
    """
    control: Control = state.param[key].control
    return _KINDS[control.kind](state, key, control, notes.get(key, ""), bare)


def inline(state: FigureState, key: str) -> str:
    """Return the value of a parameter as text inside a sentence that can be dragged and typed."""
    control: Control = state.param[key].control
    value, (low, high) = getattr(state, key), _ends(state, key)
    text = control.text(value)
    return (
        f'<input class="inline" {_reader(key, f"{control.label}, in the sentence", control, value, low, high)} '
        f'value="{escape(text)}" style="width:{len(text) + 0.6:.1f}ch" data-drag title="drag or type">'
    )


def button(text: str, pairs: str, *, classes: str = "", attributes: str = "", name: str = "") -> str:
    """Return a button that sends pairs to the state."""
    named = f' aria-label="{escape(name)}"' if name else ""
    return (
        f'<button type="button" class="button {classes}" data-set="{escape(pairs)}"{named} {attributes}>'
        f"{symbols(text)}</button>"
    )


def _radios(state: FigureState, key: str, control: Control, note: str, bare: bool) -> str:
    value = getattr(state, key)
    items = "".join(radio(key, option, text, option == value) for option, text in (control.options or {}).items())
    return _field(
        control,
        f'<div class="radios" role="radiogroup" aria-label="{escape(control.label)}">{items}</div>',
        note,
        element="div",
    )


def radio(key: str, value: Any, text: str, checked: bool, content: str = "") -> str:
    """Return one radio button of a choice; `content` is the drawing that it stands for."""
    return (
        f'<label class="radio"><input type="radio" name="{key}" data-set="{key}={escape(to_text(value))}" '
        f'aria-label="{escape(text)}"{" checked" if checked else ""}><span>{symbols(text)}</span>{content}</label>'
    )


def _list(state: FigureState, key: str, control: Control, note: str, bare: bool) -> str:
    # A state may narrow what is offered by ``offered()``, which then also says what is chosen.
    narrowed = getattr(state, "offered", lambda _: None)(key)
    options, value = narrowed or (control.options or {}, getattr(state, key))
    return _field(control, _select(key, control.label, options, value), note)


def _select(key: str, name: str, options: Mapping[Any, str], value: Any, *, disabled: bool = False) -> str:
    items = "".join(
        f'<option value="{escape(to_text(option))}"{" selected" if option == value else ""}>{escape(text)}</option>'
        for option, text in options.items()
    )
    off = " disabled" if disabled else ""
    return f'<select data-set="{key}" aria-label="{escape(name)}"{off}>{items}</select>'


def _cell(state: FigureState, key: str, control: Control, note: str, bare: bool) -> str:
    row, column = getattr(state, key)
    rows, columns = sides(state, key)
    along = (
        ("Row", row, {i: _numbered(i, text) for i, text in enumerate(rows, 1)}),
        ("Column", column, {j: _numbered(j, text) for j, text in enumerate(columns, 1)}),
    )
    # Each sends its own half, since the other half may be on its way.
    return "".join(
        f'<label class="field"><span class="label">{name}</span>'
        f"{_select(f'{key}.{name.lower()}', name, options or {place: '—'}, place, disabled=not options)}</label>"
        for name, place, options in along
    )


def sides(state: FigureState, key: str) -> tuple[Sequence[str], Sequence[str]]:
    """Return the names along the sides of a cell's matrix, which a state may narrow by ``cell_sides()``."""
    narrowed = getattr(state, f"{key}_sides", None)
    return narrowed() if narrowed else state.param[key].sides


def _numbered(place: int, text: str) -> str:
    return text if text == str(place) else f"{place} {text}"


def _switch(state: FigureState, key: str, control: Control, note: str, bare: bool) -> str:
    checked = " checked" if getattr(state, key) else ""
    return (
        f'<label class="switch"><input type="checkbox" role="switch" data-set="{key}" '
        f'aria-label="{escape(control.label)}"{checked}><span>{symbols(control.label)}</span></label>{_note(note)}'
    )


def _number(state: FigureState, key: str, control: Control, note: str, bare: bool) -> str:
    field = _field(control, _spin(state, key, control, note), note)
    if not control.resample:
        return field
    return f'<div class="group">{field}{button(control.resample, f"{key}={(getattr(state, key) + 1) % SEEDS}")}</div>'


def _spin(state: FigureState, key: str, control: Control, note: str) -> str:
    value, (low, high) = getattr(state, key), _ends(state, key)
    invalid = ' aria-invalid="true"' if note else ""
    text = f"{value:,}" if control.kind == "slider" and isinstance(value, int) else to_text(value)
    return f'<input class="spin" {_reader(key, control.label, control, value, low, high)} value="{text}"{invalid}>'


def _reader(key: str, name: str, control: Control, value: Any, low: Any, high: Any) -> str:
    """Return the attributes of a field for one number."""
    steps = f' data-values="{",".join(map(to_text, control.steps))}"' if control.steps else ""
    whole = "numeric" if isinstance(low, int) else "decimal"
    return (
        f'type="text" role="spinbutton" inputmode="{whole}" autocomplete="off" data-set="{key}" '
        f'aria-label="{escape(name)}" aria-valuenow="{to_text(value)}" aria-valuemin="{to_text(low)}" '
        f'aria-valuemax="{to_text(high)}" aria-valuetext="{escape(control.text(value))}"{steps}'
    )


def _slider(state: FigureState, key: str, control: Control, note: str, bare: bool) -> str:
    value, (low, high) = getattr(state, key), _ends(state, key)
    steps = control.steps or tuple(range(low, high + 1))
    places = control.places or tuple(i / (len(steps) - 1) for i in range(len(steps)))
    # A value that was typed may lie between two steps.
    nearest = min(range(len(steps)), key=lambda i: abs(steps[i] - value))
    at = places[nearest]
    listed = f'data-values="{",".join(map(to_text, steps))}" ' if control.steps else f'data-first="{low}" '
    even = "" if not control.places else f'data-places="{",".join(f"{place:.5g}" for place in places)}" '
    marks = "".join(
        f'<i class="{"here" if mark == value else ""}" style="left:{100 * places[steps.index(mark)]:.4g}%">'
        f"<span>{symbols(text)}</span></i>"
        for mark, text in (control.marks or {}).items()
    )
    marks = f'<span class="marks" aria-hidden="true">{marks}</span>' if marks else ""
    track = (
        f'<span class="track" style="--at:{at:.5f}"><input type="range" id="{key}-slider" min="0" '
        f'max="{1 if control.places else len(steps) - 1}" step="{"any" if control.places else 1}" '
        f'value="{f"{at:.5g}" if control.places else nearest}" data-set="{key}" {listed}{even}'
        f'aria-label="{escape(control.label)}" aria-valuetext="{escape(control.text(value))}">'
        f"{_spin(state, key, control, note)}{marks}</span>"
    )
    stepper = ""
    if control.stepper:
        back, further = (to_text(steps[max(0, min(nearest + by, len(steps) - 1))]) for by in (-1, 1))
        stepper = button("Back", f"{key}={back}") + button("Next", f"{key}={further}")
    resample = button(control.resample, f"{key}={value + 1}") if control.resample else ""
    classes = "slider bare" if bare else "slider"
    label = f'<label class="label" for="{key}-slider">{symbols(control.label)}</label>'
    return f'<div class="{classes}">{label}{track}{stepper}{resample}{_note(note)}</div>'


def _text(state: FigureState, key: str, control: Control, note: str, bare: bool) -> str:
    invalid = "true" if note else "false"
    return _field(
        control,
        f'<input class="text" type="text" autocomplete="off" data-set="{key}" aria-label="{escape(control.label)}" '
        f'value="{escape(to_text(getattr(state, key)))}" aria-invalid="{invalid}">',
        note,
    )


def _run(state: FigureState, key: str, control: Control, note: str, bare: bool) -> str:
    most, done, running = state.progress()
    busy, idle = ("true", "false") if running else ("false", "true")
    return (
        '<div class="run">'
        + button(control.label, f"{key}={most}", classes="main", attributes=f'aria-busy="{busy}"')
        + button("Cancel", f"{key}=0", attributes=f'aria-disabled="{idle}"')
        + f'<span class="progress"><progress max="{most}" value="{done}" aria-label="Draws done"></progress>'
        f"{done:,} of {most:,}</span></div>"
    )


def _ends(state: FigureState, key: str) -> tuple[Any, Any]:
    """Return the smallest and the largest value of a number, which a state may narrow by ``ends()``."""
    narrowed = getattr(state, "ends", lambda _: None)(key)
    if narrowed:
        return narrowed
    parameter = state.param[key]
    objects = getattr(parameter, "objects", None)
    return (min(objects), max(objects)) if objects else parameter.bounds


def _field(control: Control, content: str, note: str, *, classes: str = "field", element: str = "label") -> str:
    label = f'<span class="label">{symbols(control.label)}</span>'
    return f'<{element} class="{classes}">{label}{content}{_note(note)}</{element}>'


def _note(note: str) -> str:
    return f'<span class="note" role="alert">{symbols(note)}</span>' if note else ""


_KINDS = {
    "radios": _radios,
    "list": _list,
    "cell": _cell,
    "switch": _switch,
    "number": _number,
    "slider": _slider,
    "text": _text,
    "run": _run,
    "none": lambda *_: "",
}
