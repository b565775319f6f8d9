"""The JavaScript that readers run has its types checked, as strictly as TypeScript can, from the comments in it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

RUNTIME = Path(__file__).resolve().parents[2] / "src" / "panel_freeze" / "runtime"
TYPESCRIPT = "typescript@5.9.3"
STRICT = (
    "--allowJs", "--checkJs", "--noEmit", "--strict", "--target", "es2022", "--module", "es2022",
    "--moduleResolution", "bundler", "--moduleDetection", "force", "--lib", "es2023,dom,dom.iterable,dom.asynciterable",
    "--noImplicitReturns", "--noFallthroughCasesInSwitch", "--noUnusedLocals", "--skipLibCheck",
)  # fmt: skip


@pytest.fixture(scope="module")
def tsc():
    """The compiler, kept in a folder of its own outside the project."""
    npm = shutil.which("npm")
    if not npm or not shutil.which("node"):
        pytest.skip("node and npm are not installed")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = base / "panel-freeze" / TYPESCRIPT.replace("@", "-")
    script = folder / "node_modules" / "typescript" / "bin" / "tsc"
    if not script.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts", TYPESCRIPT]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            pytest.skip(f"npm could not install {TYPESCRIPT}: {done.stderr.strip().splitlines()[-1:]}")
    return script


def test_types_of_the_runtime(tsc):
    files = sorted(str(file) for file in RUNTIME.glob("*.js"))
    assert files
    done = subprocess.run(["node", str(tsc), *STRICT, *files], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout
