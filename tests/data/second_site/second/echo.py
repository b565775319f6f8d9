"""Says in its page what its link says; its title could end a script."""

from __future__ import annotations

from html import escape
from typing import Any

import panel as pn
import param

TITLE = "A < B & </script><img src=x onerror=alert(1)>"


class Echo(pn.viewable.Viewer):
    """Shows a text."""

    heading = TITLE
    query = param.Dict(default={})

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self._said = pn.pane.HTML("nothing")

    def load_query(self, pairs: list[list[str]]) -> None:
        """Show the text of the link."""
        texts = dict(pairs)
        self._said.object = f"<q>{escape(texts.get('text', ''))}</q>"
        self.query = texts

    def static_html(self) -> str:
        """Return the title as text."""
        return f"<p>{escape(TITLE)}</p>"

    def __panel__(self) -> pn.Column:
        return pn.Column(self._said)


def app() -> Echo:
    """Return the app."""
    return Echo()
