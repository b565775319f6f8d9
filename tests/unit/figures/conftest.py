"""What the tests of the figures share: the recorded numbers, and readouts as a program reads them."""

import json
import re
from html import unescape
from pathlib import Path

import pytest
from bokeh.document import Document
from panel.io.state import set_curdoc

NUMBERS = json.loads((Path(__file__).resolve().parents[2] / "data" / "numbers.json").read_text("utf-8"))


def _refuse(name):
    raise AssertionError(f"{name} is not strict JSON")


@pytest.fixture(scope="session")
def recorded():
    """A recorded number by name (and by keys inside it), with its tolerance."""

    def look_up(name, *keys):
        value = NUMBERS[name]["value"]
        for key in keys:
            value = value[key]
        return pytest.approx(value, rel=0, abs=NUMBERS[name]["tolerance"])

    return look_up


@pytest.fixture(scope="session")
def read():
    """Put a figure into a state (what is not named takes its default) and return its readouts."""

    def readouts(figure, **state):
        figure.state.set(**{**figure.state.defaults(), **state})
        found = re.findall(r'data-readout="(\w+)" data-value="([^"]*)"', figure.static_html())
        assert len(found) == len(dict(found)), "a readout exists twice"
        return {name: json.loads(unescape(value), parse_constant=_refuse) for name, value in found}

    return readouts


@pytest.fixture(scope="session")
def on_show():
    """Build a figure in a document, as for a page, so that its widgets have the models that refuse bad values."""

    def build(card):
        figure, document = card(), Document()
        with set_curdoc(document):
            figure.__panel__().server_doc(doc=document, location=False)
        return figure, document

    return build
