"""Any folder of any host: below a path, with odd characters in it, in another site's frame, under a strict policy."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from panel_freeze.serve import SiteHandler

# As a header it also governs the worker; on the page it comes on top of the page's own.
STRICT = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; manifest-src 'self'; font-src 'self'"
)


@pytest.mark.parametrize("prefix", ["/demo/attention/v2/", "/My Site (50%) #1/", "/a+b/ünï/"])
def test_site_lives_below_any_path(visit, serve, numbers, prefix):
    address = serve(prefix=prefix)
    asked = []
    page = visit()
    page.context.on("request", lambda request: asked.append(request.url))
    page.open(address)
    card = page.figure("asymmetry")
    card.operate("radiogroup", "Mode", "Tied")
    card.shows("weight_error", numbers["fig1_tied_weight_error"]["value"], 1e-7)
    outside = [url for url in asked if not url.startswith((address, "data:", "blob:"))]
    assert not outside
    assert [url for url in asked if "/python." in url], "the worker's requests were not seen"


def test_site_can_be_opened_by_its_file_name(visit, address):
    visit(f"{address}index.html").figure("asymmetry").reaches("live")


def test_figure_alone_goes_live(visit, address, figure):
    page = visit(f"{address}figures/{figure}/")
    assert page.page.locator("figure[data-figure]").count() == 1
    assert page.figure(figure).values()
    expect(page.page.get_by_role("link", name=re.compile("whole article"))).to_have_attribute(
        "href", f"../../index.html#{figure}"
    )


def test_figure_answers_in_a_frame_of_another_site(visit, address, serve, tmp_path, numbers):
    src = f"{address}figures/asymmetry/?asymmetry.mode=tied"
    (tmp_path / "index.html").write_text(
        '<!doctype html><meta charset=utf-8><link rel=icon href="data:,"><title>Host</title>'
        f'<iframe width=700 height=900 src="{src}"></iframe>'
    )
    page = visit(serve(tmp_path), wait="")
    frame = page.page.frame_locator("iframe")
    expect(frame.locator("html")).to_have_attribute("data-figures", "live")
    error = frame.locator("[data-readout=weight_error]")
    expect(error).to_have_text(f"{numbers['fig1_tied_weight_error']['value']:.4f}")
    before = frame.locator("[data-readout]").all_text_contents()
    # SE-09: what the host says to the frame is nothing to it.
    page.page.evaluate(
        """() => {
            const target = document.querySelector('iframe').contentWindow;
            for (const kind of ['start', 'patch', 'query', 'build', 'ready', 'failed', 'error']) {
                const message = { kind, figure: 'asymmetry', seq: 1, query: [['mode', 'none']], code: '1' };
                target.postMessage(message, '*');
                target.postMessage(JSON.stringify(message), '*');
            }
        }"""
    )
    frame.get_by_role("gridcell").nth(20).click()
    expect(frame.locator("[data-readout=pair]")).not_to_have_text(before[3])
    expect(error).to_have_text(f"{numbers['fig1_tied_weight_error']['value']:.4f}")
    assert frame.locator(".trouble").count() == 0


def test_policy_of_the_page_is_strict_and_kept(visit, address):
    page = visit(address)
    policy = page.page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
    directives = {name: rest for name, _, rest in (part.strip().partition(" ") for part in policy.split(";"))}
    assert directives["default-src"] == "'none'"
    assert directives["script-src"] == "'self' 'wasm-unsafe-eval'"
    assert directives["worker-src"] == directives["connect-src"] == "'self'"
    assert "unsafe-eval" not in policy.replace("'wasm-unsafe-eval'", "")
    assert "http" not in policy
    page.figure("asymmetry").operate("radiogroup", "Mode", "Tied")
    page.figure("asymmetry").until(lambda: page.page.url, lambda url: "tied" in url, "its address")
    assert page.witness("violations") == []


def test_site_lives_under_the_policy_as_a_header(visit, serve, numbers):
    class Strict(SiteHandler):
        def end_headers(self):
            self.send_header("Content-Security-Policy", STRICT)
            self.send_header("X-Content-Type-Options", "nosniff")
            super().end_headers()

    page = visit(serve(handler=Strict))
    card = page.figure("asymmetry")
    card.operate("radiogroup", "Mode", "Tied")
    card.shows("weight_error", numbers["fig1_tied_weight_error"]["value"], 1e-7)
    assert page.witness("violations") == []


def test_site_lives_on_a_host_that_knows_no_types(visit, serve):
    class Plain(SiteHandler):
        def send_header(self, keyword, value):
            scripts = self.path.split("?")[0].endswith((".js", ".mjs", ".css", ".html", "/"))
            super().send_header(keyword, value if scripts or keyword != "Content-Type" else "application/octet-stream")

    visit(serve(handler=Plain)).figure("asymmetry").reaches("live")


def test_site_starts_cold_to_the_same_state(visit, address, figures):
    resumed, cold = visit(address), visit(f"{address}?boot=cold")
    for figure in figures:
        assert cold.figure(figure).texts() == resumed.figure(figure).texts()
