#!/usr/bin/env python3
"""Set up this project and run it: `python scripts/dev.py serve | build | test | bench`.

Needs nothing but Python: makes `.venv`, installs the project into it, finds or fetches a Chromium, and hands
over. What is done is remembered in `.venv/dev-state.json`, so that nothing is done twice.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from subprocess import PIPE, STDOUT, Popen, TimeoutExpired

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STATE = VENV / "dev-state.json"
NEEDED = ("pip", "panel", "playwright", "pytest", "ruff", "mypy")  # a finished .venv has these

HELP = """Sets up this project in .venv, gets a browser, and runs one of:

  serve   build the site, serve it, print its address; rebuild on change
  build   build the site into dist/
  test    check style and types, run every test; with arguments, only pytest with them
  bench   measure the site beside the same figures through `panel convert` (about 15 minutes)"""
MORE_HELP = """Examples: dev.py serve --port 8000, dev.py test tests/unit -k masking.
Set the variable CHROMIUM to the path of a browser to use that one."""

SITE = ("site/site.toml", "--out", "dist")
CHECKS = (
    ("Checking style (ruff)", ("ruff", "check")),
    ("Checking layout (ruff format)", ("ruff", "format", "--check")),
    ("Checking types (mypy)", ("mypy",)),
    ("Running the tests (pytest)", ("pytest",)),
)
BROWSERS = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    *("microsoft-edge", "microsoft-edge-stable", "msedge"),
)
MAC_PLACES = tuple(
    f"{folder}/{name}.app/Contents/MacOS/{name}"
    for folder in ("/Applications", "~/Applications")
    for name in ("Google Chrome", "Chromium", "Microsoft Edge")
)
WINDOWS_PLACES = tuple(
    f"%{variable}%\\{program}"
    for program in (r"Google\Chrome\Application\chrome.exe", r"Microsoft\Edge\Application\msedge.exe")
    for variable in ("ProgramFiles", "ProgramFiles(x86)", "LocalAppData")
)
ASK_PLAYWRIGHT = """
from playwright.sync_api import sync_playwright
with sync_playwright() as p:
    print(p.chromium.executable_path)
"""


class StopError(Exception):
    """Something a person has to put right; its text is one plain sentence."""


def say(text: str) -> None:
    """Tell what is being done; at once, also into a pipe."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def run_step(*command: object, seen: bool = False, variables: Mapping[str, str] | None = None) -> str | None:
    """Run a command; return None if all went well, else its last error or line.

    Its output is kept back, except on a terminal if `seen`; a long silence is broken by a sign of life.
    """
    arguments, environment = [str(part) for part in command], {**os.environ, **(variables or {})}
    pipe = None if seen and sys.stdout.isatty() else PIPE
    started, output = time.monotonic(), None
    with Popen(arguments, cwd=ROOT, env=environment, stdout=pipe, stderr=pipe and STDOUT, errors="replace") as step:
        try:
            while output is None:
                try:
                    output = step.communicate(timeout=20)[0] or ""
                except TimeoutExpired:
                    if pipe:
                        say(f"  still at it ({time.monotonic() - started:.0f} s)")
        finally:
            step.kill()
    lines = [line.strip() for line in output.splitlines() if line.strip()] or [f"exit code {step.returncode}"]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines)[-1] if step.returncode else None


# What is remembered


def read_state(path: Path) -> dict[str, object]:
    """Return what an earlier run wrote down; nothing if there is none or it is damaged."""
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def write_state(path: Path, state: Mapping[str, object]) -> None:
    """Write the state whole or not at all."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(state, indent=1), encoding="utf-8")
    part.replace(path)


def setup_stamp(root: Path) -> dict[str, str]:
    """Return what the environment depends on: Python, the place of the clone, and `pyproject.toml`."""
    project = hashlib.sha256((root / "pyproject.toml").read_bytes()).hexdigest()
    return {"python": "{}.{} in {}".format(*sys.version_info[:2], root), "project": project}


# The environment


def set_up() -> None:
    """Make `.venv` what `pyproject.toml` asks for; repair one that is broken or half made."""
    state, wanted = read_state(STATE), setup_stamp(ROOT)
    finished = state.get("python") == wanted["python"] and has_modules(NEEDED)
    if finished and state.get("project") == wanted["project"]:
        return
    made_by_hand = not STATE.exists() and has_modules(("pip",))
    if not finished and not made_by_hand:
        make_venv()
    write_state(STATE, {"unfinished": True})
    say("Installing the project and its pinned packages (about a minute the first time) ...")
    install = ("-m", "pip", "install", "--disable-pip-version-check", "--editable", ".[test]")
    problem = run_step(PYTHON, *install, seen=True)
    if problem:
        raise StopError(f"pip could not install the project ({problem}): check the network and try again.")
    write_state(STATE, wanted)


def has_modules(names: Iterable[str]) -> bool:
    """Tell whether the Python of `.venv` runs and finds these modules."""
    found = f"sys.version_info >= (3, 11) and all(map(importlib.util.find_spec, {list(names)}))"
    code = f"import importlib.util, sys; sys.exit(not ({found}))"
    try:
        return subprocess.run((PYTHON, "-I", "-c", code), capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def make_venv() -> None:
    """Create `.venv` afresh."""
    if not importlib.util.find_spec("venv") or not importlib.util.find_spec("ensurepip"):
        package = "python{}.{}-venv".format(*sys.version_info)
        if sys.base_prefix != "/usr" or apt_install(package):
            raise StopError(f"This Python lacks the modules venv and ensurepip: install them ({package}).")
    if VENV.exists():
        say("Removing the .venv that is incomplete or made for something else ...")
        shutil.rmtree(VENV)
    say("Setting up .venv (a few seconds) ...")
    VENV.mkdir()
    write_state(STATE, {"unfinished": True})
    problem = run_step(getattr(sys, "_base_executable", sys.executable), "-m", "venv", VENV)
    if problem:
        raise StopError(f"Python could not make {VENV} ({problem}): check its modules venv and ensurepip.")


def apt_install(*packages: str) -> str | None:
    """Install Debian packages if we may; return None if that worked, else why not."""
    if os.name == "nt" or os.geteuid() != 0 or not shutil.which("apt-get"):
        return "only root on Debian or Ubuntu may use apt-get"
    say(f"Installing {', '.join(packages)} with apt-get (about a minute) ...")
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    command = ("apt-get", "-y", "-o", "DPkg::Lock::Timeout=120")
    run_step(*command, "update", variables=quiet)
    return run_step(*command, "install", "--no-install-recommends", *packages, variables=quiet)


# The browser


def find_browser() -> str:
    """Return the path of a Chromium that starts; fetch one if there is none."""
    state, asked = read_state(STATE), os.environ.get("CHROMIUM", "")
    known = state.get("browser")
    if isinstance(known, dict) and known == fingerprint(str(known.get("path")), asked):
        return str(known["path"])
    check_driver()
    problems: list[str] = []
    if asked:
        path = shutil.which(asked)
        if not path or not starts(path):
            raise StopError(f"CHROMIUM={asked} does not start as a browser: correct or unset that variable.")
    else:
        sources = (
            lambda: installed(os.environ, sys.platform),
            from_playwright,
            lambda: fetched_by_playwright(problems),
            lambda: fetched_by_apt(problems),
        )
        path = first_that_starts(sources, starts, problems)
    write_state(STATE, {**state, "browser": fingerprint(path, asked)})
    return path


def check_driver() -> None:
    """See that Playwright runs; the barest Debian lacks a library that it needs."""
    ask = (PYTHON, "-m", "playwright", "--version")
    problem = run_step(*ask)
    if problem and apt_install("libatomic1") is None:
        problem = run_step(*ask)
    if problem:
        advice = "install what is missing (on Debian, as root: apt-get install libatomic1)"
        raise StopError(f"Playwright does not run ({problem}): {advice}.")


def fingerprint(path: str, asked: str) -> dict[str, object] | None:
    """Return what identifies a browser that has been seen to start, or None if it is gone."""
    if not Path(path).is_file():
        return None
    return {"path": path, "asked": asked, "changed": Path(path).stat().st_mtime_ns}


def first_that_starts(
    sources: Iterable[Callable[[], Iterator[str]]], works: Callable[[str], bool], problems: list[str]
) -> str:
    """Go through the sources in order, each only when those before it gave no browser that starts."""
    for source in sources:
        for path in source():
            if works(path):
                return path
            problems.append(f"{path} does not start")
    raise StopError(
        "No Chromium was found and none could be fetched: install Chromium or Google Chrome (on Debian, as "
        "root: apt-get install chromium), or name one in the variable CHROMIUM "
        f"(tried: {'; '.join(dict.fromkeys(problems)) or 'nothing'})."
    )


def installed(environment: Mapping[str, str], platform: str) -> Iterator[str]:
    """Yield the browsers on PATH, then those in the usual places of macOS and Windows."""
    for name in BROWSERS:
        path = shutil.which(name, path=environment.get("PATH", ""))
        if path:
            yield path
    places = {"darwin": MAC_PLACES, "win32": WINDOWS_PLACES}.get(platform, ())
    for place in places:
        program = Path(os.path.expandvars(place)).expanduser()
        if program.is_file():
            yield str(program)


def from_playwright() -> Iterator[str]:
    """Yield the Chromium that Playwright has installed, if it has."""
    asked = subprocess.run((PYTHON, "-c", ASK_PLAYWRIGHT), capture_output=True, text=True, check=False)
    path = asked.stdout.strip()
    if path and Path(path).is_file():
        yield path


def fetched_by_playwright(problems: list[str]) -> Iterator[str]:
    """Let Playwright fetch its Chromium; some networks refuse that."""
    say("No browser found; fetching Playwright's Chromium (170 MB, about a minute) ...")
    patience = os.environ.get("PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT", "10000")
    command = (PYTHON, "-m", "playwright", "install", "--no-shell", "chromium")
    problem = run_step(*command, variables={"PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT": patience})
    if problem:
        say("  that did not work; going on")
        problems.append(f"playwright install chromium: {problem}")
    else:
        yield from from_playwright()


def fetched_by_apt(problems: list[str]) -> Iterator[str]:
    """Install Debian's Chromium, with fonts for the pictures."""
    problem = apt_install("chromium", "fonts-liberation", "fonts-dejavu-core")
    if problem:
        problems.append(f"apt-get install chromium: {problem}")
    yield from installed(os.environ, sys.platform)


def starts(path: str) -> bool:
    """Tell whether a browser starts and shows an empty page."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = (path, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}")
        page = ("--dump-dom", "about:blank")
        try:
            shown = subprocess.run((*command, *page), capture_output=True, timeout=60, check=False)
        except (OSError, TimeoutExpired):
            return False
    return shown.returncode == 0 and (os.name == "nt" or b"<html" in shown.stdout)


# Handing over


def hand_over(arguments: Iterable[str], environment: Mapping[str, str]) -> int:
    """Run a module in `.venv`; return its exit code. Stopping this stops it too."""
    with Popen((str(PYTHON), "-m", *arguments), cwd=ROOT, env=environment) as child:
        try:
            code = child.wait()
        except KeyboardInterrupt:  # a terminal has told the child too: let it tidy up
            with contextlib.suppress(TimeoutExpired):
                child.wait(timeout=10)
            raise
        finally:
            child.terminate()
    return code if code >= 0 else 128 - code


def run_tests(arguments: list[str], environment: Mapping[str, str]) -> int:
    """Run every check and test, or only pytest with the arguments given; return 0 if all went well."""
    if arguments:
        return hand_over(("pytest", *arguments), environment)
    failed = []
    for title, command in CHECKS:
        say(f"{title} ...")
        if hand_over(command, environment):
            failed.append(" ".join(command))
    say(f"Failed: {', '.join(failed)}." if failed else "All checks and tests passed.")
    return 1 if failed else 0


def main(arguments: list[str]) -> int:
    """Set up what is needed, run the command, return its exit code."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("dev.py", description=HELP, epilog=MORE_HELP, formatter_class=raw)
    commands = ("serve", "build", "test", "bench")
    parser.add_argument("command", choices=commands, metavar=" | ".join(commands))
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="passed on to the command")
    chosen = parser.parse_args(arguments)
    if sys.version_info < (3, 11):  # noqa: UP036 - someone may start this with an old Python
        raise StopError(f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}.")
    set_up()
    environment = {**os.environ, "CHROMIUM_PATH": find_browser()}
    if chosen.command == "test":
        return run_tests(chosen.arguments, environment)
    if chosen.command == "bench":
        return hand_over(("bench", *chosen.arguments), {**environment, "PYTHONPATH": str(ROOT / "scripts")})
    return hand_over(("panel_freeze", chosen.command, *SITE, *chosen.arguments), environment)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main(sys.argv[1:]))
    except (StopError, OSError) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
