"""A module that two of the apps share."""

from __future__ import annotations

import json
from html import escape
from typing import Any


def readout(name: str, value: Any) -> str:
    """Return a value as an element that tests can read."""
    return f'<span data-readout="{name}" data-value="{escape(json.dumps(value))}">{escape(str(value))}</span>'
