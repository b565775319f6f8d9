"""The preview server: right types, compression, one folder and nothing beside it, rebuild on change."""

from __future__ import annotations

import gzip
import http.client
import mimetypes
import os
import threading
from urllib.parse import urlsplit

import pytest

from panel_freeze import serve as serve_module
from panel_freeze.serve import serving, snapshot


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "dist"
    for name in (
        "index.html",
        "figures/a/index.html",
        "assets/x.abc.wasm",
        "assets/x.abc.mjs",
        "assets/x.abc.bin",
        "manifest.webmanifest",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"this is {name}\n" * 20)
    (tmp_path / "secret.txt").write_text("secret")
    return folder


def get(address, path="", method="GET", **headers):
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.netloc, timeout=10)
    try:
        connection.request(method, parts.path + path, headers=headers)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("", "text/html; charset=utf-8"),
        ("assets/x.abc.wasm", "application/wasm"),
        ("assets/x.abc.mjs", "text/javascript; charset=utf-8"),
        ("assets/x.abc.bin", "application/octet-stream"),
        ("manifest.webmanifest", "application/manifest+json"),
    ],
)
def test_types_are_right_whatever_the_system_says(site, monkeypatch, path, kind):
    monkeypatch.setitem(mimetypes.types_map, ".mjs", "text/plain")
    with serving(site) as address:
        assert get(address, path)[1]["Content-Type"] == kind


@pytest.mark.parametrize(
    "path",
    [
        "secret.txt",
        "../secret.txt",
        "..%2fsecret.txt",
        "%2e%2e/secret.txt",
        "assets/../../secret.txt",
        "//etc/passwd",
        "assets",
        "figures/b/",
        "figures/a",
    ],
)
def test_everything_else_is_not_found(site, path):
    with serving(site) as address:
        assert get(address, path)[0] == 404


@pytest.mark.parametrize("prefix", ["/demo/v2/", "/My Site (50%) #1/", "/ünï/"])
def test_only_the_prefix_answers(site, prefix):
    with serving(site, prefix=prefix) as address:
        assert get(address)[2].startswith(b"this is index.html")
        assert get(address, "figures/a/")[2].startswith(b"this is figures/a/index.html")
        root = address[: address.index("/", 8)]
        assert get(root, "/index.html")[0] == 404
        assert get(root, "/assets/x.abc.bin")[0] == 404


def test_text_is_compressed_for_those_who_ask(site):
    with serving(site) as address:
        plain = get(address)
        squeezed = get(address, **{"Accept-Encoding": "br, gzip"})
        binary = get(address, "assets/x.abc.bin", **{"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in plain[1]
    assert squeezed[1]["Content-Encoding"] == "gzip"
    assert gzip.decompress(squeezed[2]) == plain[2]
    assert "Content-Encoding" not in binary[1]


def test_hashed_names_are_kept_and_pages_are_asked_for_again(site):
    with serving(site) as address:
        assert "immutable" in get(address, "assets/x.abc.bin")[1]["Cache-Control"]
        assert get(address)[1]["Cache-Control"] == "no-cache"


def test_head_has_no_body(site):
    with serving(site) as address:
        status, headers, body = get(address, method="HEAD")
    assert (status, body) == (200, b"")
    assert int(headers["Content-Length"]) == (site / "index.html").stat().st_size


def test_change_is_seen(site):
    before = snapshot([site])
    file = site / "index.html"
    os.utime(file, ns=(1, 1))
    assert snapshot([site]) != before
    cached = site / "__pycache__" / "x.pyc"
    cached.parent.mkdir()
    now = snapshot([site])
    cached.touch()
    assert snapshot([site]) == now


def test_site_is_rebuilt_when_a_file_changes(site, monkeypatch):
    """Three looks: nothing has changed, something has, then the server is stopped."""
    said, built, looks = [], [], iter(["same", "changed", "stop"])

    class Pause(threading.Event):
        def wait(self, *_):
            look = next(looks)
            if look == "changed":
                os.utime(site / "index.html", ns=(1, 1))
            return look == "stop"

    monkeypatch.setattr(serve_module.threading, "Event", Pause)
    monkeypatch.setattr(serve_module, "serving", lambda *_, **__: _nothing())
    serve_module.serve(site, port=0, watch=[site], rebuild=lambda: built.append(1), say=said.append)
    assert built == [1]
    assert "http://there/" in said[0]


class _nothing:  # noqa: N801
    def __enter__(self):
        return "http://there/"

    def __exit__(self, *_):
        return None
