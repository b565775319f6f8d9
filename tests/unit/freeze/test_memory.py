"""A saved memory travels as its difference to what every instance holds."""

from __future__ import annotations

import numpy as np
import pytest
import zstandard

from panel_freeze.bake import Snapshot
from panel_freeze.memory import PAGE, pack_memory, page_hash, shared_pages


def memory(*pages: int) -> bytes:
    """A memory whose pages are filled with one number each."""
    return b"".join(bytes([page]) * PAGE for page in pages)


def restore(packed, fresh: bytes) -> bytes:
    """What the reader's browser does."""
    whole = np.frombuffer(zstandard.ZstdDecompressor().decompress(packed.data), np.uint8).copy()
    for first, number in packed.pages:
        run = slice(first * PAGE, (first + number) * PAGE)
        whole[run] ^= np.frombuffer(fresh, np.uint8)[run]
    return whole.tobytes()


def test_a_memory_comes_back_on_an_instance_that_differs_by_chance():
    saved, fresh, other = memory(1, 9, 3, 4, 5, 6), memory(1, 2, 3, 0, 8), memory(1, 2, 3, 0, 7)
    packed = pack_memory(Snapshot(b"", saved, (), fresh), other)
    assert packed.pages == [(0, 3)]
    assert restore(packed, other) == saved
    assert packed.hash == page_hash(other, packed.pages)
    assert packed.hash != page_hash(memory(1, 2, 4, 0, 8), packed.pages)


def test_only_pages_that_hold_something_and_agree_are_shared():
    assert shared_pages(memory(1, 1, 1, 1, 1), memory(0, 1, 2, 3, 4), memory(0, 1, 2, 9, 4, 5)) == [(1, 2), (4, 1)]
    assert shared_pages(memory(1), memory(0), memory(0)) == []


@pytest.mark.parametrize("at", [0, PAGE - 4, 2 * PAGE - 4])
def test_the_hash_sees_every_word(at):
    data = bytearray(np.random.default_rng(1).bytes(2 * PAGE))
    before = page_hash(bytes(data), [(0, 2)])
    data[at] ^= 1
    assert page_hash(bytes(data), [(0, 2)]) != before


def test_a_memory_that_shares_nothing_is_packed_too():
    packed = pack_memory(Snapshot(b"", memory(1, 2), (), memory(0, 0)), memory(0, 0))
    assert packed.pages == []
    assert packed.hash == 0
    assert restore(packed, b"") == memory(1, 2)
