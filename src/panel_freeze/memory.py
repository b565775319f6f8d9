"""A saved memory, made small: without what a reader's own instance holds, and compressed with zstd.

Before Python starts, every instance of the same WebAssembly holds the same constant data, wherever it runs; only pages
with keys drawn by chance and times differ. What is stored is how the saved memory differs from that.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import zstandard

from panel_freeze.bake import Snapshot

PAGE = 4096
# How far back the compressor may look, as a power of two; the reader's browser needs as much room to undo it.
_WINDOW = 23
_MULTIPLIER = 16777619


@dataclass(frozen=True)
class PackedMemory:
    """A memory as it travels, and what the reader's instance must hold for it to be restored.

    Attributes
    ----------
    data : bytes
        The difference, compressed.
    window : int
        How far back the compression looks, in bytes.
    pages : list of (int, int)
        The runs of pages of `PAGE` bytes that are taken from the reader's instance: first page and number.
    hash : int
        `page_hash` of those pages.
    """

    data: bytes
    window: int
    pages: list[tuple[int, int]]
    hash: int


@lru_cache(maxsize=4)
def pack_memory(snapshot: Snapshot, other: bytes) -> PackedMemory:
    """Pack a saved memory.

    Parameters
    ----------
    snapshot : Snapshot
        The memory, and what its instance held before Python started.
    other : bytes
        What another instance held then, with another clock and other random numbers. Pages in which chance or time
        show are not relied on.
    """
    pages = shared_pages(snapshot.memory, snapshot.fresh, other)
    memory = np.frombuffer(snapshot.memory, np.uint8).copy()
    fresh = np.frombuffer(snapshot.fresh, np.uint8)
    for first, number in pages:
        run = slice(first * PAGE, (first + number) * PAGE)
        memory[run] ^= fresh[run]
    parameters = zstandard.ZstdCompressionParameters.from_level(
        19, window_log=_WINDOW, enable_ldm=True, write_checksum=True
    )
    data = zstandard.ZstdCompressor(compression_params=parameters).compress(memory.tobytes())
    return PackedMemory(data, 2**_WINDOW, pages, page_hash(snapshot.fresh, pages))


def shared_pages(memory: bytes, *instances: bytes) -> list[tuple[int, int]]:
    """Return the runs of pages that are not empty and the same in all instances, and that the memory has too."""
    size = min(map(len, (memory, *instances))) // PAGE
    first, *others = (np.frombuffer(data, np.uint8, size * PAGE).reshape(size, PAGE) for data in instances)
    good = first.any(axis=1)
    for other in others:
        good &= (first == other).all(axis=1)
    edges = np.flatnonzero(np.diff(good, prepend=False, append=False)).reshape(-1, 2)
    return [(int(start), int(end - start)) for start, end in edges]


def page_hash(data: bytes, pages: list[tuple[int, int]]) -> int:
    """Return a polynomial of the 32-bit words of some pages, modulo 2**32: what `pyodide-boot.js` works out too.

    >>> page_hash(bytes([1, 0, 0, 0]) * 2048, [(1, 1)]) == sum(pow(16777619, i, 2**32) for i in range(1024)) % 2**32
    True
    """
    if not pages:
        return 0
    words = np.concatenate([np.frombuffer(data, "<u4", number * PAGE // 4, first * PAGE) for first, number in pages])
    powers = np.full(len(words), _MULTIPLIER, np.uint32)
    powers[-1] = 1
    powers = np.multiply.accumulate(powers[::-1])[::-1]
    return int((words * powers).sum(dtype=np.uint32))
