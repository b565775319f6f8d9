"""The site resumes in Firefox and WebKit, and in WebKit as an iPhone would ask for it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


engines = _load("engines")

needs_firefox = pytest.mark.skipif(not engines.firefox(), reason="Firefox is not installed here")
needs_webkit = pytest.mark.skipif(not engines.webkit(), reason="WebKit's MiniBrowser or Xvfb is not installed here")


@needs_firefox
@pytest.mark.parametrize(("query", "boot"), [("", "resumed"), ("&boot=cold", "cold")])
def test_firefox(site: Path, tmp_path: Path, query: str, boot: str) -> None:
    report = engines.self_test(site, engines.firefox_command(tmp_path), query)
    assert report["passed"], report
    assert report["boot"] == boot


@needs_webkit
@pytest.mark.parametrize("agent", ["", engines.IPHONE], ids=["webkit", "iphone"])
def test_webkit(site: Path, agent: str) -> None:
    report = engines.self_test(site, engines.webkit_command(agent))
    assert report["passed"], report
    assert report["boot"] == "resumed"
