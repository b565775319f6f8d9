"""A build that cannot be good stops with a sentence that names what is wrong, and leaves the last good site alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from panel_freeze._errors import FreezeError
from panel_freeze.bake import take_pictures

ROOT = Path(__file__).resolve().parents[2]
SECOND = ROOT / "tests" / "data" / "second_site"

pytestmark = pytest.mark.browser


@pytest.fixture
def copy(tmp_path):
    """A copy of the small site, to spoil, and a folder with a former site."""
    shutil.copytree(SECOND, tmp_path / "site", ignore=shutil.ignore_patterns("__pycache__"))
    configuration = tmp_path / "site" / "site.toml"
    text = configuration.read_text(encoding="utf-8")
    configuration.write_text(text.replace("../../../site", str(ROOT / "site")), encoding="utf-8")
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "index.html").write_text("the last good site")
    (tmp_path / "dist" / "build.json").write_text('{"versions": {"panel_freeze": "1"}, "files": {"index.html": {}}}')
    return tmp_path


def build(folder, **environment):
    """Build as an author does; return the exit code and what was said of the error."""
    done = subprocess.run(
        [sys.executable, "-m", "panel_freeze", "build", "site/site.toml", "--out", "dist"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder / "site"), str(ROOT / "src")]), **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert {file.name for file in (folder / "dist").iterdir()} >= {"index.html", "build.json"}
    assert (folder / "dist" / "index.html").read_text() == "the last good site"
    left = {entry.name for entry in folder.iterdir()}
    assert left == {"site", "dist"}, "something half made was left"
    return done.returncode, done.stderr


def spoil(folder, name, old, new):
    file = folder / "site" / name
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def alone(folder):
    """Leave one figure, which is built in less time than all."""
    spoil(folder, "site.toml", '["counter", "quotient", "echo", "clock", "table"]', '["echo"]')
    for name in ("counter", "quotient", "clock", "table"):
        spoil(folder, "article.md", f'{{{{ figure("{name}") }}}}\n', "")


def test_syntax_error_is_named_with_its_line(copy):
    spoil(copy, "second/quotient.py", "def app() -> pn.Column:", "def app( -> pn.Column:")
    code, said = build(copy)
    assert code == 1
    assert "second/quotient.py, line 15" in said
    assert "Traceback" not in said


def test_module_that_is_not_bundled_is_named_with_its_figure(copy):
    alone(copy)
    spoil(copy, "second/echo.py", "import panel as pn", "import panel as pn\nimport sortedcontainers")
    code, said = build(copy)
    assert code == 1
    assert "Figure 'echo' imports 'sortedcontainers' (in second/echo.py)" in said.splitlines()[0]
    assert "[bundle]" in said.splitlines()[0]


def test_part_that_runs_text_as_a_script_is_named_with_its_figure(copy):
    alone(copy)
    shout = 'button = pn.widgets.Button(); button.js_on_click(code="alert(1)")'
    spoil(copy, "second/echo.py", "return pn.Column(self._said)", f"{shout}; return pn.Column(self._said, button)")
    code, said = build(copy)
    assert code == 1
    assert said.startswith("Figure 'echo' uses bokeh.models.callbacks.CustomJS, which runs text as a script")
    assert "Traceback" not in said


def test_what_the_browser_complains_of_is_told(tmp_path, in_thread):
    stage = '<figure data-figure="one" data-state="painted"><div class="stage">One</div></figure>'
    (tmp_path / "index.html").write_text(f'<!doctype html><link rel="icon" href="data:,">{stage}<img src="absent.png">')
    with pytest.raises(FreezeError, match=r"the browser complained: .*404"):
        in_thread(lambda: take_pictures(SimpleNamespace(figures=("one",)), tmp_path, os.environ.get("CHROMIUM_PATH")))


def test_typed_number_is_named_with_its_line(copy):
    alone(copy)
    spoil(copy, "article.md", "# Five small apps", "# Five small apps\n\nThere are 3.")
    code, said = build(copy)
    assert code == 1
    assert "article.md, line 3: the number 3 is typed by hand" in said


def test_missing_file_is_named(copy):
    (copy / "site" / "article.md").unlink()
    code, said = build(copy)
    assert code == 1
    assert "article.md" in said


def test_package_that_is_not_installed_is_named(copy):
    spoil(copy, "site.toml", '["second"]', '["second", "absent"]')
    code, said = build(copy)
    assert code == 1
    assert "'absent'" in said


def test_folder_with_somebody_else_s_file_is_told_and_left(copy):
    (copy / "dist" / "CNAME").write_text("example.org")
    code, said = build(copy)
    assert code == 1
    assert "panel-freeze did not write CNAME there" in said
    assert "Traceback" not in said
    assert (copy / "dist" / "CNAME").read_text() == "example.org"


def test_missing_browser_is_told(copy):
    spoil(copy, "second/echo.py", "Shows a text.", f"Shows a text. {copy.name}")  # so that something is compiled
    code, said = build(copy, CHROMIUM_PATH=str(copy / "no-browser"))
    assert code == 1
    assert "Chromium" in said.splitlines()[0]
    assert "CHROMIUM_PATH" in said
