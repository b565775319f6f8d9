"""A web host that answers from memory and counts what it sends, and a slow line to it."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import hashlib
import math
import queue
import re
import threading
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from panel_freeze.serve import TYPES

# What a host compresses on its way; archives, pictures and the like are compressed already.
COMPRESSED = {".html", ".css", ".js", ".mjs", ".json", ".webmanifest", ".svg", ".txt", ".wasm"}
LASTING = "public, max-age=31536000, immutable"


@dataclass(frozen=True)
class Line:
    """How far the host is: bits each second in either direction, and seconds there and back."""

    rate: float
    round_trip: float


SLOW = Line(rate=20e6, round_trip=0.040)
CHUNK = 16 * 1024  # bytes that the slow line takes at a time
BUFFER = 0.030  # seconds of the line's work that may wait at its end
PROMPT = 0.0005  # seconds in which what was waiting is read
# How a connection may end: either side leaves, or serving stops.
ENDS = (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError)


@dataclass
class Host:
    """A folder on the web.

    Parameters
    ----------
    folder : Path
        What is served; symbolic links are followed.
    lasting : str
        Pattern of the addresses whose content never changes, so that a browser may keep it for good.
    """

    folder: Path
    lasting: str
    log: list[tuple[float, int]] = field(default_factory=list)  # when something was asked for, and bytes of the answer
    _answers: dict[str, tuple[str, bytes]] = field(default_factory=dict)

    def sent(self, until: float = math.inf) -> int:
        """Return the bytes, headers included, of what was asked for until a time in seconds of the epoch."""
        return sum(size for when, size in self.log if when <= until)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        with contextlib.suppress(*ENDS), contextlib.closing(writer):
            while True:
                request = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                reply = self._reply(request)
                self.log.append((time.time(), len(reply)))
                writer.write(reply)
                await writer.drain()

    def _reply(self, request: str) -> bytes:
        path = urllib.parse.unquote(request.split(" ", 2)[1].split("?")[0])
        if path not in self._answers:
            self._answers[path] = self._prepared(path)
        head, body = self._answers[path]
        tag = re.search(r"^etag: (\S+)", head, re.MULTILINE)
        if tag and tag[1] in request:
            return f"HTTP/1.1 304 Not Modified\r\netag: {tag[1]}\r\n\r\n".encode()
        return head.encode() + body

    def _prepared(self, path: str) -> tuple[str, bytes]:
        file = self.folder / (path.lstrip("/") + ("index.html" if path.endswith("/") else ""))
        if ".." in file.parts or not file.is_file():
            return "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", b""
        body = file.read_bytes()
        head = {
            "content-type": TYPES.get(file.suffix, "application/octet-stream"),
            "cache-control": LASTING if re.match(self.lasting, path) else "no-cache",
            "etag": f'"{hashlib.sha256(body).hexdigest()[:16]}"',
        }
        if file.suffix in COMPRESSED:
            body = gzip.compress(body, 9)
            head["content-encoding"] = "gzip"
        head["content-length"] = str(len(body))
        return "HTTP/1.1 200 OK\r\n" + "".join(f"{k}: {v}\r\n" for k, v in head.items()) + "\r\n", body


class _Direction:
    """One direction of a slow line, shared by all connections."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._free = 0.0

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Hand on what one side of a connection sends, when the line is free for it, and later by the way."""
        clock = asyncio.get_running_loop().time
        arriving: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def deliver() -> None:
            while True:
                due, data = await arriving.get()
                await asyncio.sleep(due - clock())
                if not data:
                    return
                writer.write(data)

        async def take() -> None:
            data = b"begin"
            begun = False
            while data:
                asked = clock()
                try:
                    data = await reader.read(CHUNK)
                except ConnectionError:
                    data = b""
                # What was waiting makes up for what this machine was late; what has just come finds the line as it is.
                late = BUFFER if begun and clock() - asked < PROMPT else 0.0
                begun = True
                self._free = max(self._free, clock() - late) + len(data) * 8 / self._line.rate
                arriving.put_nowait((self._free + self._line.round_trip / 2, data))
                await asyncio.sleep(self._free - clock())

        with contextlib.suppress(*ENDS), contextlib.closing(writer):
            await asyncio.gather(take(), deliver())


async def _relay(line: Line, port: int) -> asyncio.Server:
    up, down = _Direction(line), _Direction(line)

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(*ENDS), contextlib.closing(writer):
            await asyncio.sleep(line.round_trip)  # the handshake
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
            await asyncio.gather(up.carry(reader, far_writer), down.carry(far_reader, writer))

    return await asyncio.start_server(connect, "127.0.0.1", 0)


@contextmanager
def hosting(host: Host) -> Iterator[tuple[str, str]]:
    """Serve while the block runs; yield the address nearby, and the one at the end of the slow line."""
    ports: queue.Queue[int] = queue.Queue()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def serve() -> None:
        async with await asyncio.start_server(host.answer, "127.0.0.1", 0) as near:
            port = near.sockets[0].getsockname()[1]
            async with await _relay(SLOW, port) as far:
                ports.put(port)
                ports.put(far.sockets[0].getsockname()[1])
                await stop.wait()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(serve())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{ports.get()}", f"http://127.0.0.1:{ports.get()}"
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
