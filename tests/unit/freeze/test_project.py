"""The site's configuration: read, checked, and every mistake told in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from panel_freeze._errors import FreezeError
from panel_freeze.project import load_project

ROOT = Path(__file__).resolve().parents[3]
GOOD = """
[site]
title = "Q & A <b>x</b>"
article = "article.md"
package = "apps"
figures = ["one", "two"]

[bundle]
python = ["apps"]

[budgets]
until_live = 15_000_000
"""


@pytest.fixture
def write(tmp_path):
    """Write a configuration with all it names, and return its path."""

    def write(text=GOOD, files=("article.md", "templates/", "style/")):
        for name in files:
            if name.endswith("/"):
                (tmp_path / name).mkdir()
            else:
                (tmp_path / name).touch()
        path = tmp_path / "site.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_paths_are_absolute_and_names_are_kept(write, tmp_path, monkeypatch):
    write()
    monkeypatch.chdir(tmp_path)
    project = load_project(tmp_path / "site.toml")
    assert project.article == tmp_path / "article.md"
    assert project.style == tmp_path / "style"
    assert project.title == "Q & A <b>x</b>"
    assert project.figures == ("one", "two")
    assert project.module("two") == "apps.two"
    assert project.numbers is project.drawings is None
    assert project.budgets == {"until_live": 15_000_000}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[site]", "[site", ["not valid TOML", "line 2"]),
        ('title = "Q & A <b>x</b>"', "", ["'title'", "[site]"]),
        ('title = "Q & A <b>x</b>"', "title = 3", ["'title'", "3"]),
        ('figures = ["one", "two"]', "figures = []", ["'figures'"]),
        ('figures = ["one", "two"]', 'figures = "one"', ["'figures'", "'one'"]),
        ('figures = ["one", "two"]', 'figures = ["one", "one"]', ["twice", "'figures'"]),
        ('python = ["apps"]', "", ["'python'", "[bundle]"]),
        ("[bundle]", "[other]", ["'python'", "[bundle]"]),
        ("[bundle]", '[bundle]\nfiles = "apps/a.csv"', ["'files'", "'apps/a.csv'"]),
        ("until_live = 15_000_000", "until_live = -1", ["'until_live'", "positive"]),
        ("until_live = 15_000_000", 'until_live = "much"', ["'until_live'"]),
        ("until_live = 15_000_000", "until_live = true", ["'until_live'"]),
        ("[budgets]\nuntil_live = 15_000_000", "", []),
    ],
)
def test_mistakes_are_told(write, old, new, words):
    assert old in GOOD
    path = write(GOOD.replace(old, new))
    if not words:
        assert load_project(path).budgets == {}
        return
    with pytest.raises(FreezeError) as error:
        load_project(path)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize(("line", "files"), [("", ()), ("files = []", ()), ('files = ["apps/*.csv"]', ("apps/*.csv",))])
def test_files_for_readers_may_be_listed(write, line, files):
    assert load_project(write(GOOD.replace("[bundle]", f"[bundle]\n{line}"))).files == files


def test_drawings_have_a_module(write):
    assert load_project(write(GOOD.replace("[bundle]", 'drawings = "apps.plans"\n[bundle]'))).drawings == "apps.plans"


def test_fonts_may_be_wanted_early(write, tmp_path):
    text = GOOD.replace("[bundle]", 'preload = ["style/a.woff2"]\n[bundle]')
    files = ["article.md", "templates/", "style/", "style/a.woff2"]
    assert load_project(write(text, files)).preload == (tmp_path / "style" / "a.woff2",)


@pytest.mark.parametrize(
    ("name", "words"), [("gone.woff2", "names gone.woff2, which does not exist"), ("article.md", "only fonts can be")]
)
def test_what_cannot_be_wanted_early_is_told(write, name, words):
    with pytest.raises(FreezeError, match=words):
        load_project(write(GOOD.replace("[bundle]", f'preload = ["{name}"]\n[bundle]')))


def test_table_that_is_none_is_told(write):
    with pytest.raises(FreezeError, match=r"\[budgets\] .* must be a table"):
        load_project(write("budgets = 1\n" + GOOD.partition("[budgets]")[0]))


@pytest.mark.parametrize("missing", ["article.md", "templates/", "style/"])
def test_missing_file_is_told(write, missing):
    names = [name for name in ("article.md", "templates/", "style/") if name != missing]
    with pytest.raises(FreezeError, match=missing.rstrip("/")):
        load_project(write(files=names))


def test_missing_configuration_is_told(tmp_path):
    with pytest.raises(FreezeError, match=r"site\.toml"):
        load_project(tmp_path / "site.toml")


def test_configuration_of_the_article_sets_the_budgets():
    project = load_project(ROOT / "site" / "site.toml")
    assert project.budgets["before_runtime"] == 300_000
    assert project.budgets["until_live"] >= 12_000_000
