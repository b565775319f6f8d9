"""The same input gives the same site, byte for byte."""

from __future__ import annotations

import os

import pytest

from panel_freeze.__main__ import build


def contents(site):
    return {file.relative_to(site).as_posix(): file.read_bytes() for file in site.rglob("*") if file.is_file()}


@pytest.mark.skipif("SECOND_SITE_DIST" in os.environ, reason="the first build is not of these sources")
def test_second_build_is_the_first(second_site, second_configuration, in_thread, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(second_configuration.parent))
    in_thread(lambda: build(second_configuration, tmp_path / "dist", cache=None, mirror=None))
    first, second = contents(second_site), contents(tmp_path / "dist")
    assert {name for name in first | second if first.get(name) != second.get(name)} == set()
    assert [entry.name for entry in tmp_path.iterdir()] == ["dist"], "something half made was left"
    assert len(first) > 30


@pytest.fixture
def second_configuration(request):
    return request.config.rootpath / "tests" / "data" / "second_site" / "site.toml"
