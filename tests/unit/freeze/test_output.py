"""The folder a site is put into: nothing is deleted that the builder did not write, and one site or the other is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from panel_freeze import __main__, output
from panel_freeze._errors import FreezeError
from panel_freeze.output import check_output, swap


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def site(folder, content="old", **others):
    """A folder as the builder leaves it, and files of somebody else."""
    (folder / "assets").mkdir(parents=True)
    for name in ("index.html", "assets/a.js"):
        (folder / name).write_text(content)
    report = {"versions": {"panel_freeze": "1"}, "files": {"index.html": {}, "assets/a.js": {}}}
    (folder / "build.json").write_text(json.dumps(report))
    for name, text in others.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture(params=["in one step", "in two steps"])
def way(request, monkeypatch):
    if request.param == "in two steps":
        monkeypatch.setattr(output, "_exchanged", lambda one, other: False)


# Whose a folder is


@pytest.mark.parametrize("kind", ["absent", "empty", "own", "own, looked at"])
def test_own_and_empty_folders_are_taken(tmp_path, kind):
    out = tmp_path / "dist"
    if kind == "empty":
        out.mkdir()
    elif kind != "absent":
        site(out)
    if kind == "own, looked at":
        (out / ".DS_Store").touch()
    check_output(out, [tmp_path / "site"])


@pytest.mark.parametrize("mark", [None, "{", "[]", "{}", '{"versions": {}, "files": {}}', '{"versions": null}'])
def test_folder_of_somebody_else_is_refused(tmp_path, mark):
    (tmp_path / "letter.txt").write_text("Dear")
    if mark is not None:
        (tmp_path / "build.json").write_text(mark)
    with pytest.raises(FreezeError, match=r"letter\.txt and was not made by panel-freeze"):
        check_output(tmp_path, [])


@pytest.mark.parametrize("name", ["CNAME", ".git", "assets/photo.jpg", "notes/of/mine.txt"])
def test_file_of_somebody_else_in_a_site_is_named(tmp_path, name):
    out = site(tmp_path / "dist")
    (out / name).parent.mkdir(parents=True, exist_ok=True)
    (out / name).touch()
    with pytest.raises(FreezeError, match=f"panel-freeze did not write {name} there"):
        check_output(out, [])


def test_many_files_of_somebody_else_are_counted(tmp_path):
    out = site(tmp_path / "dist", **{f"mine{number}": "" for number in range(9)})
    with pytest.raises(FreezeError, match="mine0, mine1, mine2, mine3, mine4 and 4 more"):
        check_output(out, [])


def test_link_in_a_site_is_somebody_else_s(tmp_path):
    out = site(tmp_path / "dist")
    (tmp_path / "elsewhere").mkdir()
    (out / "linked").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    (out / "assets" / "a.js").unlink()
    (out / "assets" / "b.js").symlink_to(tmp_path / "elsewhere")
    assert output.foreign_files(out) == ["assets/b.js", "linked"]


def test_mark_that_is_a_link_is_none(tmp_path):
    site(tmp_path / "dist")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "index.html").write_text("mine")
    (tmp_path / "mine" / "build.json").symlink_to(tmp_path / "dist" / "build.json")
    with pytest.raises(FreezeError, match="not made by panel-freeze"):
        check_output(tmp_path / "mine", [])


@pytest.mark.parametrize("place", ["", "project", "project/style"])
def test_folder_that_holds_a_source_is_refused_even_with_the_mark(tmp_path, place):
    (tmp_path / "project" / "style").mkdir(parents=True)
    out = tmp_path / place
    site(out / "x").rename(tmp_path / "other")
    for file in (tmp_path / "other").iterdir():
        file.rename(out / file.name)
    with pytest.raises(FreezeError, match="a source of it"):
        check_output(out, [tmp_path / "project", tmp_path / "project" / "style"])


def test_source_is_found_through_links(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    for out, source in (("real", "link"), ("link", "real")):
        with pytest.raises(FreezeError, match="a source of it"):
            check_output(tmp_path / out, [tmp_path / source])


def test_file_is_refused(tmp_path):
    (tmp_path / "dist").touch()
    with pytest.raises(FreezeError, match="which is a file"):
        check_output(tmp_path / "dist", [])


# The whole command


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project in one folder, as an author has it, with a package beside its article."""
    monkeypatch.setattr(__main__, "ensure_assets", lambda *_, **__: pytest.fail("building has begun"))
    monkeypatch.syspath_prepend(str(tmp_path / "here"))
    for name in ("templates/article.html", "style/page.css", "words_apart/__init__.py", "article.md", "out/mine.txt"):
        (tmp_path / "here" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "here" / name).write_text(name)
    (tmp_path / "here" / "site.toml").write_text(
        '[site]\ntitle = "T"\narticle = "article.md"\npackage = "words_apart"\nfigures = ["one"]\n'
        '[bundle]\npython = ["words_apart"]\n'
    )
    return tmp_path / "here"


@pytest.mark.parametrize("out", [".", "..", "style", "words_apart", "out", "article.md", "linked"])
def test_build_refuses_a_folder_that_is_not_its_own_and_says_so(project, monkeypatch, capsys, out):
    (project / "linked").symlink_to(project / "out", target_is_directory=True)
    monkeypatch.chdir(project)
    before = files(project)
    assert __main__.main(["build", "site.toml", "--out", out]) == 1
    assert files(project) == before
    (sentence,) = capsys.readouterr().err.splitlines()
    assert "The site cannot be written to" in sentence


# One site or the other


def test_swap_replaces_and_leaves_the_last_site_aside(tmp_path, way):
    site(tmp_path / "work", "new")
    site(tmp_path / "dist", "old")
    swap(tmp_path / "work", tmp_path / "dist")
    assert (tmp_path / "dist" / "index.html").read_text() == "new"
    assert (tmp_path / "work" / "index.html").read_text() == "old"
    assert {entry.name for entry in tmp_path.iterdir()} == {"dist", "work"}


def test_swap_makes_the_first_site(tmp_path, way):
    (tmp_path / "new").mkdir()
    swap(tmp_path / "new", tmp_path / "dist")
    assert [entry.name for entry in tmp_path.iterdir()] == ["dist"]


def test_file_that_came_while_building_stays_with_its_site(tmp_path, way):
    site(tmp_path / "work", "new")
    site(tmp_path / "dist", "old", CNAME="example.org")
    before = files(tmp_path)
    with pytest.raises(FreezeError, match="CNAME came there"):
        swap(tmp_path / "work", tmp_path / "dist")
    assert files(tmp_path) == before


@pytest.mark.parametrize("failing", [1, 2])
@pytest.mark.parametrize("error", [OSError(16, "Device or resource busy"), KeyboardInterrupt()])
def test_last_site_is_there_if_a_step_fails(tmp_path, monkeypatch, failing, error):
    site(tmp_path / "work", "new")
    site(tmp_path / "dist", "old")
    before, steps, rename = files(tmp_path), [], Path.rename

    def fail(self, target):
        steps.append(target)
        if len(steps) == failing:
            raise error
        return rename(self, target)

    monkeypatch.setattr(output, "_exchanged", lambda one, other: False)
    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(FreezeError if isinstance(error, OSError) else KeyboardInterrupt):
        swap(tmp_path / "work", tmp_path / "dist")
    assert files(tmp_path) == before


@pytest.mark.skipif("sys.platform != 'linux'")
def test_a_site_is_there_at_every_moment(tmp_path):
    """Somebody who looks all the time never misses it."""
    import threading

    site(tmp_path / "one", "one")
    site(tmp_path / "dist", "two")
    if not output._exchanged(tmp_path / "one", tmp_path / "dist"):
        pytest.skip("this file system cannot let two folders change places")
    missed, over = [], threading.Event()

    def look():
        while not over.is_set():
            if not (tmp_path / "dist" / "index.html").exists():
                missed.append(True)

    thread = threading.Thread(target=look)
    thread.start()
    for _ in range(500):
        swap(tmp_path / "one", tmp_path / "dist")
    over.set()
    thread.join()
    assert not missed
