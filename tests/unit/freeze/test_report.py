"""build.json, and the budgets that stop a build."""

from __future__ import annotations

import dataclasses
import hashlib
import json

import pytest

from panel_freeze._errors import FreezeError
from panel_freeze.project import Project
from panel_freeze.report import write_report


@pytest.fixture
def project(tmp_path):
    return Project(
        root=tmp_path, title="Title", description="", language="en",
        article=tmp_path, templates=tmp_path, style=tmp_path,
        package="apps", figures=("one",), numbers=None, python=("apps",),
    )  # fmt: skip


@pytest.fixture
def site(tmp_path):
    """A site of files with known sizes, and its settings."""
    folder = tmp_path / "dist"
    (folder / "assets").mkdir(parents=True)
    sizes = {"python": 1000, "data": 200, "library": 300, "memory": 5000, "stdlib": 700, "packages": 800}
    for name, size in sizes.items():
        (folder / "assets" / f"{name}.bin").write_bytes(bytes(size))
    for name in ("index.html", "assets/site.css", "assets/loader.mjs", "assets/module.mjs", "assets/one.json"):
        (folder / name).write_bytes(b"")
    settings = {
        "parts": {
            "loader": "assets/loader.mjs", "module": "assets/module.mjs",
            "wasm": "assets/python.bin", "data": "assets/data.bin",
            "stdlib": "assets/stdlib.bin", "bundle": "assets/packages.bin", "libraries": {"a.so": "assets/library.bin"},
        },
        "figures": [{"document": "assets/one.json"}],
        "snapshots": {"other": {"url": "assets/memory.bin"}},
    }  # fmt: skip
    return folder, settings


def read(folder):
    return json.loads((folder / "build.json").read_text(encoding="utf-8"))


def test_every_file_is_described(project, site):
    folder, settings = site
    write_report(project, folder, settings, {"bokeh": "1"})
    report = read(folder)
    assert report["versions"]["bokeh"] == "1"
    assert report["files"]["assets/data.bin"] == {
        "bytes": 200,
        "gzip": 200,
        "sha256": hashlib.sha256(bytes(200)).hexdigest(),
    }
    assert {name for name in report["files"]} == {
        file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()
    } - {"build.json"}


def test_both_ways_of_starting_are_measured(project, site):
    folder, settings = site
    write_report(project, folder, settings, {})
    measured = {name: budget["measured"] for name, budget in read(folder)["budgets"].items()}
    texts = 5 * 20  # five empty files, each 20 bytes of gzip
    assert measured["until_live"] == 1000 + 200 + 300 + 5000 + texts
    assert measured["until_live_cold"] == 1000 + 200 + 300 + 700 + 800 + texts


def test_early_fonts_count_before_the_runtime_starts(project, site):
    folder, settings = site
    (folder / "assets" / "a.woff2").write_bytes(bytes(400))
    (folder / "assets" / "b.woff2").write_bytes(bytes(900))
    before = {}
    for page in ("", '<link rel="preload" as="font" type="font/woff2" crossorigin href="./assets/a.woff2">'):
        (folder / "index.html").write_text(page)
        write_report(project, folder, settings, {})
        budgets, size = read(folder)["budgets"], read(folder)["files"]["index.html"]["gzip"]
        before[page] = [budgets[name]["measured"] - size for name in ("before_runtime", "until_live")]
    plain, early = before.values()
    assert early == [size + 400 for size in plain]


@pytest.mark.parametrize(("allowed", "good"), [(6600, True), (6599, False)])
def test_budget_is_kept_or_stops_the_build(project, site, allowed, good):
    folder, settings = site
    project = dataclasses.replace(project, budgets={"until_live": allowed})
    if good:
        write_report(project, folder, settings, {})
        return
    with pytest.raises(FreezeError, match="'until_live' is 6,600 bytes, 6,599 are allowed"):
        write_report(project, folder, settings, {})


def test_budget_that_is_not_measured_is_told(project, site):
    with pytest.raises(FreezeError, match=r"'until_lunch'.*until_live"):
        write_report(dataclasses.replace(project, budgets={"until_lunch": 1}), *site, {})
