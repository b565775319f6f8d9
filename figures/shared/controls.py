"""Controls: Panel widgets with the role, the accessible name and the look that every figure shares.

Panel's and Bokeh's own widgets do the work. What is added is HTML attributes: those of the element
itself, and those written ``data-aria-…``, which the page hands on to the element inside the widget's
shadow root that takes the focus (a slider's handle, a field's input).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import panel as pn
import param
from bokeh.models import NumericInput
from panel.widgets.base import Widget

from figures.shared.styles import CONTROL, FIELD, SEGMENTED, SLIDER, STEPPER, SWITCH


class Segmented(pn.widgets.RadioBoxGroup):
    """A choice of a few, side by side: a ``radiogroup`` of native ``radio`` buttons."""

    html_attributes = param.Dict(default={})


class Slider(pn.widgets.IntSlider):
    """A ``slider`` over whole steps."""

    html_attributes = param.Dict(default={})


class NumberField(Widget):
    """A field for one number, typed exactly; out of bounds moves to the nearest bound."""

    value = param.Number(default=0, allow_None=True)
    low = param.Number(default=None, allow_None=True)
    high = param.Number(default=None, allow_None=True)
    mode = param.Selector(default="int", objects=["int", "float"])
    html_attributes = param.Dict(default={})

    _widget_type = NumericInput
    _rename = {"name": "title"}  # noqa: RUF012 (Panel's own protocol)


class Switch(pn.widgets.Checkbox):
    """A ``switch``: on or off."""

    html_attributes = param.Dict(default={})


class Choice(pn.widgets.Select):
    """A choice of many, from a list that opens."""

    html_attributes = param.Dict(default={})


class Button(pn.widgets.Button):
    """A named button; `pressed` marks the one whose state is shown."""

    html_attributes = param.Dict(default={})
    pressed = param.Boolean(default=None, allow_None=True)

    _rename = {"pressed": None}  # noqa: RUF012

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self._mark()

    @param.depends("pressed", watch=True)
    def _mark(self) -> None:
        if self.pressed is not None:
            self.html_attributes = {"data-aria-pressed": "true" if self.pressed else "false"}


def segmented(parameter: param.Parameter, name: str, labels: Mapping[str, Any]) -> Segmented:
    """Return radio buttons for a parameter: `labels` maps what is shown to what is set."""
    widget = Segmented(
        options=dict(labels),
        inline=True,
        html_attributes={"role": "radiogroup", "aria-label": name, "data-label": name},
        stylesheets=[CONTROL, SEGMENTED],
        margin=0,
    )
    _bind(widget, parameter)
    return widget


def switch(parameter: param.Parameter, name: str) -> Switch:
    """Return a switch for a parameter that is on or off."""
    widget = Switch(
        label=name,
        html_attributes={"data-aria-label": name, "data-role": "switch"},
        stylesheets=[CONTROL, SWITCH],
        margin=0,
        width=None,
    )
    _bind(widget, parameter)
    return widget


def choice(parameter: param.Parameter, name: str, labels: Mapping[str, Any]) -> Choice:
    """Return a list to choose from; `labels` maps what is shown to what is set."""
    widget = Choice(
        options=dict(labels),
        html_attributes={"data-label": name, "data-aria-label": name},
        stylesheets=[CONTROL, FIELD],
        margin=0,
        width=None,
        sizing_mode=None,
    )
    _bind(widget, parameter)
    return widget


def number(parameter: param.Parameter, name: str, *, label: bool = True) -> NumberField:
    """Return a number field for a parameter, within its bounds or from the smallest to the largest of its values."""
    listed = isinstance(parameter, param.Selector)
    low, high = (min(parameter.objects), max(parameter.objects)) if listed else parameter.bounds or (None, None)
    whole = listed or isinstance(parameter, param.Integer)
    attributes = {"data-aria-label": name, "data-role": "spinbutton"}
    if label:
        attributes["data-label"] = name
    widget = NumberField(
        low=low,
        high=high,
        mode="int" if whole else "float",
        html_attributes=attributes,
        stylesheets=[CONTROL, FIELD],
        margin=0,
        width=None,
    )
    _bind(widget, parameter)

    def tell(*_: Any) -> None:
        ends = {"data-aria-valuemin": widget.low, "data-aria-valuemax": widget.high, "data-aria-valuenow": widget.value}
        widget.html_attributes = attributes | {name: str(end) for name, end in ends.items() if end is not None}

    widget.param.watch(tell, ["value", "low", "high"])
    tell()
    return widget


def slider(
    parameter: param.Parameter,
    name: str,
    *,
    values: Sequence[Any] | None = None,
    text: Callable[[Any], str] = str,
    exact: bool = True,
) -> pn.Row:
    """Return a slider for a parameter, with a number field beside it.

    Parameters
    ----------
    parameter : param.Parameter
        What the slider sets: whole numbers within its bounds, or one of `values`.
    name : str
        The accessible name.
    values : sequence, optional
        The values of the steps, in order; without it every whole number within the bounds.
    text : callable
        Writes a value for people, as the slider's ``aria-valuetext``.
    exact : bool
        Whether a number field stands beside it.
    """
    steps = list(values) if values is not None else list(range(parameter.bounds[0], parameter.bounds[1] + 1))
    owner, key = parameter.owner, parameter.name
    widget = Slider(start=0, end=len(steps) - 1, step=1, show_value=False, tooltips=False, margin=0, width=None)
    widget.stylesheets = [CONTROL, SLIDER]

    def nearest(value: Any) -> int:
        return min(range(len(steps)), key=lambda i: abs(steps[i] - value))

    def show(*_: Any) -> None:
        value = getattr(owner, key)
        # A position the reader chose is kept; the state may lie between two steps.
        widget.param.update(
            value=nearest(value),
            html_attributes={
                "data-label": name,
                "data-aria-label": name,
                "data-aria-valuetext": text(value),
                "data-aria-valuenow": str(value),
                "data-aria-valuemin": str(steps[0]),
                "data-aria-valuemax": str(steps[-1]),
            },
        )

    def take(event: param.parameterized.Event) -> None:
        if nearest(getattr(owner, key)) != event.new:
            setattr(owner, key, steps[event.new])

    owner.param.watch(show, key)
    show()
    widget.param.watch(take, "value")
    field = [number(parameter, name, label=False)] if exact else []
    return pn.Row(widget, *field, stylesheets=[STEPPER], margin=0)


def button(name: str, action: Callable[[], object], **options: Any) -> Button:
    """Return a named button that runs `action`."""
    widget = Button(label=name, margin=0, **options)
    widget.on_click(lambda _: action())
    return widget


def _bind(widget: Any, parameter: param.Parameter) -> None:
    """Keep a widget's value and a parameter equal; what the parameter refuses, the widget takes back."""
    owner, key = parameter.owner, parameter.name

    def show(*_: Any) -> None:
        widget.value = getattr(owner, key)

    def take(event: param.parameterized.Event) -> None:
        if event.new == getattr(owner, key):
            return
        try:
            setattr(owner, key, event.new)
        except ValueError:
            show()

    show()
    owner.param.watch(show, key)
    widget.param.watch(take, "value")
