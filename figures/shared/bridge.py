"""Under ``panel serve`` a card's controls work through this: the scripts that pages of the site have for them.

The site's page needs none of it.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import panel as pn


def bridge(figure: Any) -> pn.viewable.Viewable:
    """Return a component that sends what is set in a card to its figure, and works new HTML into the card."""
    runtime = files("panel_freeze") / "runtime"
    scripts = "\n".join((runtime / name).read_text(encoding="utf-8") for name in ("morph.js", "sets.js"))

    class Bridge(pn.custom.JSComponent):
        _esm = f"""{scripts}
export function render({{ model, el }}) {{
  const view = Bokeh.Models.get('panel.models.markup.HTML').prototype.default_view.prototype;
  const anew = view.set_html;
  view.set_html = function (html) {{
    const mine = html !== null && this.container?.firstChild && this.el.hasAttribute('data-morph');
    return mine ? morph(this.container, html, inHand) : anew.call(this, html);
  }};
  listen(document.body, {{
    set: (pairs) => model.send_msg({{ kind: 'set', pairs: Object.entries(pairs) }}),
    point: (pairs) => model.send_msg({{ kind: 'point', pairs: Object.entries(pairs ?? {{}}) }}),
  }});
  model.on('msg:custom', settle);
}}
"""

        def _handle_msg(self, message: dict[str, Any]) -> None:
            {"set": figure.take, "point": figure.point}[message["kind"]](message["pairs"])
            self._send_msg("done")

    return Bridge(width=0, height=0, margin=0)
