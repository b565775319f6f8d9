"""The numeric core's own tests, run by the browser's Python: integers have 32 bits there, and BLAS is another one."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from panel_freeze import bundle
from panel_freeze.assets import ensure_assets
from panel_freeze.bake import Workbench

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
CORE_TESTS = ("test_numbers.py", "test_edge_cases.py", "test_torch_random.py")
PYTEST = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")

# Runs the tests below a folder, and tells how each ended.
RUN = """
import json, os, sys
import pytest

class Record:
    def __init__(self):
        self.outcomes = {}
        self.said = []
    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[report.nodeid] = report.outcome
        if report.failed:
            self.said.append(str(report.longrepr)[-1500:])
    def pytest_collectreport(self, report):
        if report.failed:
            self.said.append(str(report.longrepr)[-1500:])

def run(folder, names):
    os.chdir(folder)
    record = Record()
    without = [part for name in ("cacheprovider", "terminal", "faulthandler") for part in ("-p", f"no:{name}")]
    arguments = [*without, "--import-mode=importlib", "-W", "error"]
    pytest.main([*arguments, *(f"tests/unit/core/{name}" for name in names)], plugins=[record])
    import numpy
    return json.dumps({
        "outcomes": record.outcomes, "said": record.said,
        "int": numpy.dtype(int).itemsize, "platform": sys.platform, "numpy": numpy.__version__,
    })
"""


def files_of(distribution):
    """Return the Python files of an installed distribution, by path in site-packages."""
    files = importlib.metadata.distribution(distribution).files or ()
    return {
        file.as_posix(): Path(str(file.locate())).read_bytes()
        for file in files
        if not file.as_posix().startswith("..") and "__pycache__" not in file.parts and file.suffix != ".pyc"
    }


@pytest.fixture(scope="module")
def tree():
    """The tests and their data, by path below the project."""
    paths = [ROOT / "tests" / "unit" / "core" / name for name in CORE_TESTS] + [
        ROOT / "tests" / "data" / "numbers.json"
    ]
    return {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def native(tree, tmp_path_factory):
    """How the tests end here."""
    folder = tmp_path_factory.mktemp("native")
    for path, data in tree.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    code = f"{RUN}\nprint(run({str(folder)!r}, {CORE_TESTS!r}))"
    variables = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=variables)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def in_browser(tree, tmp_path_factory, in_thread):
    """How they end in the browser's Python."""
    assets = ensure_assets(report=lambda _: None)
    numpy, libraries = bundle.open_numpy(next(path for name, path in assets.items() if name.startswith("numpy-")))
    core = {
        path: data
        for path, data in bundle.collect_python(["attention_core"]).items()
        if path.startswith("attention_core/")
    }
    python = numpy | core | {f"project/{path}": data for path, data in tree.items()}
    for name in PYTEST:
        python |= files_of(name)
    bench = Workbench(
        tmp_path_factory.mktemp("bench"), assets, python, libraries, os.environ.get("CHROMIUM_PATH") or None
    )
    folder = "/lib/python3.14/site-packages/project"
    return json.loads(in_thread(lambda: bench.run("run", code=f"{RUN}\nrun({folder!r}, {CORE_TESTS!r})")))


def test_same_tests_pass_in_the_browser(native, in_browser):
    assert native["said"] == []
    assert in_browser["said"] == []
    assert len(native["outcomes"]) > 100
    assert set(native["outcomes"].values()) == {"passed"}
    assert in_browser["outcomes"] == native["outcomes"]


def test_integers_of_the_browser_have_32_bits(native, in_browser):
    assert in_browser["platform"] == "emscripten"
    assert in_browser["int"] == 4
    assert in_browser["numpy"] == native["numpy"]
