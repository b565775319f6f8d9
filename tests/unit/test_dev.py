"""The set-up script: what it remembers, which browser it takes, what it says when it cannot go on."""

from __future__ import annotations

import importlib.util
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "dev.py"


@pytest.fixture
def dev(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module, with a project of its own to work on."""
    spec = importlib.util.spec_from_file_location("dev_script", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    venv = tmp_path / ".venv"
    for name, value in {"ROOT": tmp_path, "VENV": venv, "STATE": venv / "dev-state.json"}.items():
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(module, "PYTHON", venv / "bin" / "python")
    monkeypatch.delenv("CHROMIUM", raising=False)
    return module


@pytest.fixture
def steps(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The steps of setting up, recorded instead of taken; a .venv works once one has been made."""
    taken: list[str] = []

    def run_step(*command: object, **_: object) -> None:
        taken.append("venv" if "venv" in command else "install")

    monkeypatch.setattr(dev, "run_step", run_step)
    monkeypatch.setattr(dev, "has_modules", lambda _: "venv" in taken)
    return taken


def program(folder: Path, name: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (f"{name}.exe" if os.name == "nt" else name)
    path.write_text("")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


# What is remembered


def test_setting_up_twice_does_nothing_twice(dev: ModuleType, steps: list[str]) -> None:
    dev.set_up()
    assert steps == ["venv", "install"]
    dev.set_up()
    assert steps == ["venv", "install"]


def test_a_changed_project_is_installed_again_into_the_same_venv(dev: ModuleType, steps: list[str]) -> None:
    dev.set_up()
    (dev.ROOT / "pyproject.toml").write_text("[project]\nname = 'other'\n")
    dev.set_up()
    assert steps == ["venv", "install", "install"]


@pytest.mark.parametrize("change", ["another Python", "another place", "broken", "damaged state"])
def test_a_venv_that_cannot_be_trusted_is_made_again(
    dev: ModuleType, steps: list[str], monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    dev.set_up()
    (dev.VENV / "leftover").touch()
    state = dev.read_state(dev.STATE)
    if change == "another Python":
        dev.write_state(dev.STATE, {**state, "python": state["python"].replace("3.", "2.", 1)})
    elif change == "another place":
        dev.write_state(dev.STATE, {**state, "python": state["python"] + "/moved"})
    elif change == "damaged state":
        dev.STATE.write_text('{"python":')
    else:
        monkeypatch.setattr(dev, "has_modules", lambda _: False)
    dev.set_up()
    assert steps == ["venv", "install", "venv", "install"]
    assert not (dev.VENV / "leftover").exists()


@pytest.mark.parametrize("killed_in", ["venv", "install"])
def test_a_killed_run_is_repaired_by_the_next(
    dev: ModuleType, steps: list[str], monkeypatch: pytest.MonkeyPatch, killed_in: str
) -> None:
    def killed(*command: object, **_: object) -> None:
        if (killed_in == "venv") == ("venv" in command):
            raise KeyboardInterrupt

    with monkeypatch.context() as first:
        first.setattr(dev, "run_step", killed)
        with pytest.raises(KeyboardInterrupt):
            dev.set_up()
    (dev.VENV / "leftover").touch()
    monkeypatch.setattr(dev, "has_modules", lambda _: True)  # it looks whole, but was never finished
    dev.set_up()
    assert steps == ["venv", "install"]
    assert not (dev.VENV / "leftover").exists()


def test_a_killed_update_is_repaired_by_the_next(
    dev: ModuleType, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    dev.set_up()
    (dev.ROOT / "pyproject.toml").write_text("[project]\nname = 'other'\n")
    with monkeypatch.context() as second:
        second.setattr(dev, "run_step", killed)
        with pytest.raises(KeyboardInterrupt):
            dev.set_up()
    dev.set_up()
    assert steps == ["venv", "install", "venv", "install"]


def test_a_venv_made_by_hand_is_kept(dev: ModuleType, steps: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    dev.VENV.mkdir()
    (dev.VENV / "own").touch()
    monkeypatch.setattr(dev, "has_modules", lambda _: True)
    dev.set_up()
    assert steps == ["install"]
    assert (dev.VENV / "own").exists()


def test_a_failed_install_is_one_sentence_and_not_remembered(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dev, "run_step", lambda *command, **_: "no network" if "pip" in command else None)
    with pytest.raises(dev.StopError, match=r"^pip could not install the project \(no network\): .*\.$"):
        dev.set_up()
    assert "project" not in dev.read_state(dev.STATE)


def test_a_python_without_ensurepip_is_told_what_to_install(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dev.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(dev, "apt_install", lambda *_: "not root")
    with pytest.raises(dev.StopError, match=r"lacks the modules venv and ensurepip.*python3\.\d+-venv"):
        dev.make_venv()


# The browser


def test_the_order_on_path(dev: ModuleType, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    chrome = program(first, "google-chrome")
    chromium = program(second, "chromium")
    program(first, "firefox")
    path = os.pathsep.join([str(first), str(second)])
    assert list(dev.installed({"PATH": path}, "linux")) == [chromium, chrome]
    assert list(dev.installed({}, "linux")) == []


def test_the_usual_places(dev: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dev, "MAC_PLACES", (program(tmp_path / "Google Chrome.app", "Google Chrome"),))
    assert list(dev.installed({}, "darwin")) == list(dev.MAC_PLACES)
    monkeypatch.setenv("SOME_FOLDER", str(tmp_path))
    found = program(tmp_path, "msedge")
    monkeypatch.setattr(dev, "WINDOWS_PLACES", ("$SOME_FOLDER/" + Path(found).name, "$NOT_SET/chrome.exe"))
    assert list(dev.installed({}, "win32")) == [found]


def sources_of(asked: list[int], *found: list[str]) -> list[Callable[[], Iterator[str]]]:
    def source(number: int, paths: list[str]) -> Iterator[str]:
        asked.append(number)
        yield from paths

    return [lambda n=n, paths=paths: source(n, paths) for n, paths in enumerate(found)]  # type: ignore[misc]


def test_later_sources_are_not_asked_once_a_browser_starts(dev: ModuleType) -> None:
    asked: list[int] = []
    sources = sources_of(asked, ["/broken"], ["/good"], ["/never"])
    assert dev.first_that_starts(sources, lambda path: path == "/good", []) == "/good"
    assert asked == [0, 1]


def test_when_nothing_works_one_sentence_says_what_to_do(dev: ModuleType) -> None:
    with pytest.raises(dev.StopError) as caught:
        dev.first_that_starts(sources_of([], ["/broken"], []), lambda _: False, ["apt-get: refused"])
    message = str(caught.value)
    for part in ("apt-get install chromium", "CHROMIUM", "apt-get: refused", "/broken does not start"):
        assert part in message
    assert "\n" not in message


def test_a_browser_is_proven_once(dev: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chromium, proven = program(tmp_path / "bin", "chromium"), []
    dev.VENV.mkdir()
    monkeypatch.setattr(dev, "check_driver", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(dev, "starts", lambda path: not proven.append(path))  # type: ignore[func-returns-value]
    assert [dev.find_browser(), dev.find_browser()] == [chromium, chromium]
    assert proven == [chromium]
    os.utime(chromium, ns=(1, 1))
    dev.find_browser()
    assert proven == [chromium, chromium]


def test_the_variable_comes_first_and_must_work(
    dev: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "bin", "chromium")
    own = program(tmp_path, "own")
    dev.VENV.mkdir()
    monkeypatch.setattr(dev, "check_driver", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("CHROMIUM", own)
    monkeypatch.setattr(dev, "starts", lambda path: path == own)
    assert dev.find_browser() == own
    for unusable in (str(tmp_path / "absent"), program(tmp_path, "broken")):
        monkeypatch.setenv("CHROMIUM", unusable)
        with pytest.raises(dev.StopError, match=r"CHROMIUM=.*(absent|broken).* does not start"):
            dev.find_browser()


def test_a_library_that_playwright_lacks_is_installed_or_named(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[str | None] = ["no libatomic.so.1", None]
    monkeypatch.setattr(dev, "run_step", lambda *_, **__: answers.pop(0))
    monkeypatch.setattr(dev, "apt_install", lambda *_: None)
    dev.check_driver()
    assert not answers
    answers[:] = ["no libatomic.so.1"]
    monkeypatch.setattr(dev, "apt_install", lambda *_: "not root")
    with pytest.raises(dev.StopError, match=r"Playwright does not run \(no libatomic.*install libatomic1"):
        dev.check_driver()


def test_a_program_that_is_no_browser_does_not_start(dev: ModuleType, tmp_path: Path) -> None:
    assert not dev.starts(program(tmp_path, "empty"))
    assert not dev.starts(str(tmp_path / "absent"))


# Running


def test_a_step_returns_nothing_or_its_last_line(dev: ModuleType) -> None:
    assert dev.run_step(sys.executable, "-c", "print('fine')") is None
    problem = "import sys; sys.exit('first\\nlast words')"
    assert dev.run_step(sys.executable, "-c", problem) == "last words"
    assert dev.run_step(sys.executable, "-c", "raise SystemExit(3)") == "exit code 3"
    noisy = "import sys; sys.exit('  ERROR: the reason\\nnote: chatter')"
    assert dev.run_step(sys.executable, "-c", noisy) == "ERROR: the reason"


def test_the_exit_code_is_passed_on(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dev, "PYTHON", Path(sys.executable))
    (dev.ROOT / "leave.py").write_text("import sys\nsys.exit(int(sys.argv[1]))\n")
    assert [dev.hand_over(("leave", code), os.environ) for code in ("0", "7")] == [0, 7]


def test_all_checks_run_and_any_failure_counts(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[tuple[str, ...]] = []
    monkeypatch.setattr(dev, "hand_over", lambda command, _: ran.append(command) or command[0] == "mypy")
    assert dev.run_tests([], {}) == 1
    assert [command[0] for command in ran] == ["ruff", "ruff", "mypy", "pytest"]
    assert "Failed: mypy." in capsys.readouterr().out
    assert dev.run_tests(["-k", "one"], {}) == 0
    assert ran[4:] == [("pytest", "-k", "one")]


def test_commands_get_the_browser_and_the_arguments(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[tuple[str, ...], str]] = []
    monkeypatch.setattr(dev, "set_up", lambda: None)
    monkeypatch.setattr(dev, "find_browser", lambda: "/browser")
    monkeypatch.setattr(
        dev, "hand_over", lambda command, environment: given.append((command, environment["CHROMIUM_PATH"]))
    )
    dev.main(["serve", "--port", "8000"])
    assert given == [(("panel_freeze", "serve", "site/site.toml", "--out", "dist", "--port", "8000"), "/browser")]


def test_the_benchmark_runs_as_a_script_of_this_folder(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dev, "PYTHON", Path(sys.executable))
    monkeypatch.setattr(dev, "set_up", lambda: None)
    monkeypatch.setattr(dev, "find_browser", lambda: "/browser")
    scripts = dev.ROOT / "scripts"
    (scripts / "benchmark").mkdir(parents=True)
    (scripts / "benchmark" / "part.py").write_text("CODE = 7\n")
    given = "os.environ['CHROMIUM_PATH'] == '/browser' and sys.argv[1:] == ['--repeats', '3']"
    code = f"import os, sys\nfrom benchmark import part\nsys.exit(part.CODE if {given} else 1)\n"
    (scripts / "bench.py").write_text(code)
    assert dev.main(["bench", "--repeats", "3"]) == 7


@pytest.mark.parametrize("arguments", [["--help"], []])
def test_help_names_the_commands(arguments: list[str]) -> None:
    shown = subprocess.run((sys.executable, SCRIPT, *arguments), capture_output=True, text=True, check=False)
    assert shown.returncode == (0 if arguments else 2)
    for command in ("serve", "build", "test", "bench"):
        assert command in shown.stdout + shown.stderr
