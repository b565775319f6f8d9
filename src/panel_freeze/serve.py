"""A local server for a built site: right types on every system, compression, any folder of the address."""

from __future__ import annotations

import functools
import gzip
import http.server
import posixpath
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

from panel_freeze.project import FONTS

# Said here, since a registry or a system file may say otherwise to Python's own guess.
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
    ".wasm": "application/wasm",
    ".svg": "image/svg+xml",
    ".webp": "image/webp",
    ".png": "image/png",
    ".txt": "text/plain; charset=utf-8",
    **FONTS,
}
_COMPRESSED = (".html", ".css", ".js", ".mjs", ".json", ".webmanifest", ".svg", ".txt")


class SiteHandler(http.server.BaseHTTPRequestHandler):
    """Answers GET and HEAD from one folder, below one prefix; everything else is 404."""

    protocol_version = "HTTP/1.1"
    server_version = "panel-freeze"

    def __init__(self, *args: Any, directory: Path, prefix: str = "/", **kwargs: Any) -> None:
        self.directory = directory
        self.prefix = prefix
        super().__init__(*args, **kwargs)

    def do_GET(self) -> None:
        """Answer with a file."""
        self._answer(body=True)

    def do_HEAD(self) -> None:
        """Answer with a file's headers."""
        self._answer(body=False)

    def find(self) -> Path | None:
        """Return the file that the request names, if it is one of the site's."""
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        if not path.startswith(self.prefix):
            return None
        inside = posixpath.normpath("/" + path.removeprefix(self.prefix)).lstrip("/")
        file = self.directory / inside
        if file.is_dir() and path.endswith("/"):
            file = file / "index.html"
        return file if file.is_file() else None

    def _answer(self, *, body: bool) -> None:
        file = self.find()
        if file is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        data = file.read_bytes()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", TYPES.get(file.suffix, "application/octet-stream"))
        # Names that carry a hash never change their content.
        hashed = file.parent.name == "assets"
        self.send_header("Cache-Control", "public, max-age=31536000, immutable" if hashed else "no-cache")
        if file.suffix in _COMPRESSED:
            self.send_header("Vary", "Accept-Encoding")
            if "gzip" in self.headers.get("Accept-Encoding", ""):
                data = gzip.compress(data, 6, mtime=0)
                self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if body:
            # A reader may leave while a file is on its way; that is no fault.
            try:
                self.wfile.write(data)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing of each request."""


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    # The browser opens many connections at once.
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing when a reader closes a connection."""


@contextmanager
def serving(
    directory: Path, *, prefix: str = "/", port: int = 0, handler: type[SiteHandler] = SiteHandler
) -> Iterator[str]:
    """Serve a folder while the block runs, and yield its address.

    Parameters
    ----------
    directory : Path
        The site's folder.
    prefix : str
        The folder of the address below which the site lies; starts and ends with a slash.
    port : int
        The port; 0 takes a free one.
    handler : type of SiteHandler
        What answers.
    """
    server = _Server(("127.0.0.1", port), functools.partial(handler, directory=directory, prefix=prefix))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}{urllib.parse.quote(prefix)}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def serve(
    directory: Path, *, port: int, watch: list[Path], rebuild: Callable[[], None], say: Callable[[str], None]
) -> None:
    """Serve a site until interrupted, and build it again whenever a watched file changes.

    A build that fails is told; the last good site stays.
    """
    with serving(directory, port=port) as address:
        say(f"Serving {address} (stop with Ctrl+C; the site is rebuilt when a file changes)")
        seen = snapshot(watch)
        pause = threading.Event()
        while not pause.wait(1.0):
            now = snapshot(watch)
            if now != seen:
                seen = now
                say("Something changed; building again …")
                rebuild()


def snapshot(folders: list[Path]) -> dict[Path, int]:
    """Return when each file below some folders was last written, in nanoseconds."""
    files = (file for folder in folders for file in sorted(folder.rglob("*")))
    return {f: f.stat().st_mtime_ns for f in files if f.is_file() and "__pycache__" not in f.parts}
