"""Fetching the outside files: every source, every fault, and never a file that does not match its hash."""

from __future__ import annotations

import hashlib
import http.server
import random
import shutil
import subprocess
import threading
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from panel_freeze import assets
from panel_freeze._errors import FreezeError
from panel_freeze.assets import Asset, AssetLock, ensure_assets

CONTENT = {"start.mjs": b"export const answer = 42;\n", "big.wasm": random.Random(1).randbytes(1_200_000)}
WHEEL = {"requirement": "carrier==1.0", "python_version": "3.12", "folder": "carrier/py", "size": "1 MB"}
PAGE = b"<!DOCTYPE html><title>Not here</title>"


def make_lock(base_url: str, **changed: bytes) -> AssetLock:
    files = {**CONTENT, **changed}
    entries = (Asset(name, len(data), hashlib.sha256(data).hexdigest()) for name, data in files.items())
    return AssetLock("0.0.1", base_url, WHEEL, tuple(entries))


class Server(http.server.ThreadingHTTPServer):
    """Serves `files`; `faults` maps a name to what its next replies do instead (`stuck`: for ever)."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {f"/{name}": data for name, data in CONTENT.items()}
        self.faults: dict[str, list[str]] = {}
        self.stuck = False
        self.ranges = True
        self.requests: list[tuple[str, str | None]] = []
        self.address = f"http://127.0.0.1:{self.server_address[1]}"

    def next_fault(self, path: str) -> str:
        faults = self.faults.get(path, [])
        if not faults:
            return ""
        return faults[0] if self.stuck else faults.pop(0)


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        wanted = self.headers["Range"]
        self.server.requests.append((self.path, wanted))
        path = "/" + self.path.rpartition("/")[2]
        fault = self.server.next_fault(path)
        if fault.isdigit():
            return self.send_error(int(fault))
        data, status, kind = self.server.files.get(path), 200, "application/octet-stream"
        if data is None:
            return self.send_error(404)
        if fault in ("page", "typed page"):
            data, kind = (PAGE, kind) if fault == "page" else (b"sorry", "text/html")
        start = 0
        if wanted and self.server.ranges:
            start, status = int(wanted.removeprefix("bytes=").rstrip("-")), 206
            if start >= len(data):
                return self.send_error(416)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data) - start))
        if status == 206:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        body = data[start:]
        self.wfile.write(body[: len(body) // 2] if fault == "cut" else body)
        return None

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setattr(assets, "LONG", 1_000_000)
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def no_pip(*_: object) -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess([], 1, stderr="WARNING: slow\nERROR: no such index\n")


class Run:
    """Calls `ensure_assets` with everything recorded and nothing slow."""

    def __init__(self, cache: Path) -> None:
        self.cache = cache
        self.said: list[str] = []
        self.waits: list[float] = []

    def __call__(self, base: str, *, lock: AssetLock | None = None, **options: object) -> dict[str, Path]:
        options = {"run_pip": no_pip, "report": self.said.append, "sleep": self.waits.append, **options}
        return ensure_assets(self.cache, lock=lock or make_lock(base), **options)  # type: ignore[arg-type]

    def good(self, paths: dict[str, Path]) -> bool:
        names = {path.name for path in self.cache.iterdir()}
        return {name: path.read_bytes() for name, path in paths.items()} == CONTENT and names == set(CONTENT)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "cache")


# The public distribution


def test_downloads_once_and_then_uses_the_cache(server: Server, run: Run) -> None:
    assert run.good(run(server.address))
    asked = len(server.requests)
    assert run.good(run(server.address))
    assert len(server.requests) == asked == 2


def test_long_downloads_report_every_tenth(server: Server, run: Run) -> None:
    run(server.address)
    progress = [line for line in run.said if line.endswith("%")]
    assert 8 <= len(progress) <= 10
    assert progress[-1] == "big.wasm: 100 %"


@pytest.mark.parametrize("faults", [["cut", "cut"], ["503", "503"], ["429", "500"], ["408", "cut"]])
def test_two_faults_then_good(server: Server, run: Run, faults: list[str]) -> None:
    server.faults["/big.wasm"] = faults
    assert run.good(run(server.address))
    assert run.waits == [1.0, 2.0]


def test_a_cut_download_goes_on_where_it_stopped(server: Server, run: Run) -> None:
    server.faults["/big.wasm"] = ["cut"]
    assert run.good(run(server.address))
    assert server.requests[-1] == ("/big.wasm", "bytes=600000-")


def test_a_server_without_ranges_starts_over(server: Server, run: Run) -> None:
    server.ranges = False
    server.faults["/big.wasm"] = ["cut"]
    assert run.good(run(server.address))
    assert run.waits == [1.0]


@pytest.mark.parametrize("size", [1, 700_000, 1_200_000, 5_000_000])
def test_garbage_left_under_the_part_name_does_no_harm(server: Server, run: Run, size: int) -> None:
    run.cache.mkdir()
    (run.cache / "big.wasm.part").write_bytes(b"x" * size)
    assert run.good(run(server.address))


def test_a_range_that_the_server_refuses_starts_over(server: Server, run: Run) -> None:
    run.cache.mkdir()
    (run.cache / "big.wasm.part").write_bytes(b"x" * 10)
    server.files["/big.wasm"] = b"abc"
    with pytest.raises(FreezeError, match=r"big\.wasm at .* is not the expected file"):
        run(server.address)
    assert [wanted for path, wanted in server.requests if path == "/big.wasm"] == ["bytes=10-", None]


def test_always_503_gives_one_clear_error_and_leaves_the_cache(server: Server, run: Run) -> None:
    run.cache.mkdir()
    (run.cache / "start.mjs").write_bytes(CONTENT["start.mjs"])
    server.faults["/big.wasm"], server.stuck = ["503"], True
    with pytest.raises(FreezeError) as caught:
        run(server.address)
    message = str(caught.value)
    assert f"{server.address}/big.wasm: the answer is 503" in message
    assert hashlib.sha256(CONTENT["big.wasm"]).hexdigest() in message
    assert "ERROR: no such index" in message
    assert "--mirror" in message
    assert "start.mjs" not in message
    assert len(server.requests) == 4
    assert run.waits == [1.0, 2.0, 4.0]
    assert [path.name for path in run.cache.iterdir()] == ["start.mjs"]


def test_404_is_not_tried_again(server: Server, run: Run) -> None:
    server.faults["/start.mjs"], server.stuck = ["404"], True
    with pytest.raises(FreezeError, match=r"1 of the 2 files .*could not be had"):
        run(server.address)
    assert not run.waits
    assert (run.cache / "big.wasm").exists()


@pytest.mark.parametrize("fault", ["page", "typed page"])
def test_a_web_page_instead_of_a_file_is_called_missing(server: Server, run: Run, fault: str) -> None:
    server.faults["/start.mjs"] = [fault]
    expected = r"start\.mjs at http.* is missing or not of the expected type \(got a page, "
    with pytest.raises(FreezeError, match=expected):
        run(server.address)


def test_an_altered_file_names_source_and_hashes(server: Server, run: Run) -> None:
    server.files["/big.wasm"] = altered = CONTENT["big.wasm"][:-1] + b"?"
    with pytest.raises(FreezeError) as caught:
        run(server.address)
    message = str(caught.value)
    for part in ("big.wasm", server.address, "expected SHA-256", "is not the expected file"):
        assert part in message
    for data in (CONTENT["big.wasm"], altered):
        assert hashlib.sha256(data).hexdigest() in message
    assert [path.name for path in run.cache.iterdir()] == ["start.mjs"]


@pytest.mark.parametrize("size", [3, 2_000_000, 9_000_000])
def test_a_file_of_another_size_is_refused(server: Server, run: Run, size: int) -> None:
    server.files["/big.wasm"] = b"y" * size
    with pytest.raises(FreezeError, match=r"big\.wasm at .* is not the expected file") as caught:
        run(server.address)
    assert "9000000 bytes" not in str(caught.value)  # far more than expected is not read to its end


def test_an_unreachable_host_is_asked_for_one_file_only(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def hangs(url: str, *_: object) -> object:
        asked.append(url)
        raise assets._DownError(f"{url}: cannot be reached (timed out)")

    monkeypatch.setattr(assets, "_open", hangs)
    with pytest.raises(FreezeError, match="cannot be reached"):
        run("http://unreachable.invalid")
    assert asked == ["http://unreachable.invalid/start.mjs"]


def test_nothing_listening_is_an_error_with_the_address(server: Server, run: Run) -> None:
    server.server_close()
    with pytest.raises(FreezeError, match=f"{server.address}/start.mjs: cannot be reached .*, after 4 tries"):
        run(server.address)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_stopped_midway_the_next_run_completes(server: Server, run: Run, error: type[BaseException]) -> None:
    def stop(message: str) -> None:
        if message == "big.wasm: 30 %":
            raise error

    with pytest.raises(error):
        run(server.address, report=stop)
    assert not (run.cache / "big.wasm").exists()
    assert run.good(run(server.address))
    path, wanted = server.requests[-1]
    assert path == "/big.wasm"
    assert wanted is not None


def test_the_proxy_variable_is_honoured(server: Server, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", server.address)
    assert run.good(run("http://distribution.invalid/full/"))
    assert server.requests[0][0] == "http://distribution.invalid/full/start.mjs"


# The cache


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: b"?" + data[1:], lambda data: data[:0]])
def test_a_damaged_cached_file_is_fetched_again(server: Server, run: Run, damage: Callable[[bytes], bytes]) -> None:
    path = run(server.address)["big.wasm"]
    path.write_bytes(damage(CONTENT["big.wasm"]))
    assert run.good(run(server.address))
    assert any("is damaged" in line for line in run.said)


def test_a_cache_that_cannot_be_written_is_one_sentence(run: Run) -> None:
    run.cache.write_text("a file, not a folder")
    with pytest.raises(FreezeError, match=r"The cache folder .* cannot be used .*choose another folder\.$"):
        run("http://distribution.invalid")


@pytest.mark.parametrize("absolute", [True, False])
def test_default_cache_honours_xdg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, absolute: bool) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path) if absolute else "")
    base = tmp_path if absolute else Path.home() / ".cache"
    assert assets._default_cache("1.2") == base / "panel-freeze" / "1.2"


# The mirror


def test_a_mirror_folder_comes_before_the_network(server: Server, run: Run, tmp_path: Path) -> None:
    for name, data in CONTENT.items():
        (tmp_path / name).write_bytes(data)
    assert run.good(run(server.address, mirror=str(tmp_path)))
    assert not server.requests


def test_a_mirror_folder_is_held_to_the_hashes(server: Server, run: Run, tmp_path: Path) -> None:
    (tmp_path / "start.mjs").write_bytes(b"export const answer = 43;\n")
    assert run.good(run(server.address, mirror=str(tmp_path)))
    assert any(f"start.mjs at {tmp_path}" in line and "not the expected file" in line for line in run.said)
    assert any("big.wasm cannot be read from the folder" in line for line in run.said)


@pytest.mark.parametrize("slash", ["", "/"])
def test_a_mirror_address(server: Server, run: Run, slash: str) -> None:
    assert run.good(run("http://unreachable.invalid", mirror=f"{server.address}/some/where{slash}"))
    assert server.requests[0][0] == "/some/where/start.mjs"


# The wheel


def carrier(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path / "carrier-1.0-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(f"carrier/py/{name}", data)
    return Path(archive.filename or "")


def pip_that_copies(wheel: Path, commands: list[list[str]]) -> assets.PipRunner:
    def run_pip(arguments: Sequence[str], _: object) -> subprocess.CompletedProcess[str]:
        command = list(arguments)
        commands.append(command)
        target = Path(command[command.index("--dest") + 1])
        target.mkdir(parents=True)
        shutil.copy(wheel, target)
        return subprocess.CompletedProcess(command, 0, stderr="")

    return run_pip


def test_the_wheel_fills_what_the_network_lacks(server: Server, run: Run, tmp_path: Path) -> None:
    del server.files["/big.wasm"]
    commands: list[list[str]] = []
    pip = pip_that_copies(carrier(tmp_path, {"big.wasm": CONTENT["big.wasm"]}), commands)
    assert run.good(run(server.address, run_pip=pip))
    assert len(commands) == 1
    for part in ("download", "--no-deps", "--only-binary=:all:", "3.12", "carrier==1.0"):
        assert part in commands[0]
    assert any("1 MB" in line for line in run.said)


@pytest.mark.parametrize(
    ("files", "problem"),
    [({"big.wasm": b"other"}, "is not the expected file"), ({}, "no item named 'carrier/py/big.wasm'")],
)
def test_a_wheel_with_other_content_is_refused(
    server: Server, run: Run, tmp_path: Path, files: dict[str, bytes], problem: str
) -> None:
    del server.files["/big.wasm"]
    with pytest.raises(FreezeError, match=f"pip download carrier==1.0: .*{problem}"):
        run(server.address, run_pip=pip_that_copies(carrier(tmp_path, files), []))
    assert [path.name for path in run.cache.iterdir()] == ["start.mjs"]


def test_a_damaged_wheel_is_refused(server: Server, run: Run, tmp_path: Path) -> None:
    del server.files["/big.wasm"]
    wheel = carrier(tmp_path, CONTENT)
    wheel.write_bytes(wheel.read_bytes()[:1000])
    with pytest.raises(FreezeError, match=r"pip download carrier==1\.0: "):
        run(server.address, run_pip=pip_that_copies(wheel, []))


def test_pip_that_cannot_run_is_reported_with_its_last_line() -> None:
    done = assets._run_pip(["download", "--no-such-option"], lambda _: None)
    assert done.returncode != 0
    assert "--no-such-option" in done.stderr


# The lock


def test_the_lock_names_five_files_with_full_hashes() -> None:
    lock = AssetLock.load()
    assert len(lock.files) == 5
    assert all(len(bytes.fromhex(asset.sha256)) == 32 and asset.bytes > 0 for asset in lock.files)
    assert lock.version in lock.base_url
    assert set(lock.wheel) == set(WHEEL)
