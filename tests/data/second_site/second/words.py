"""A module that is imported only once somebody wants a number in words."""

from __future__ import annotations

from statistics import mode  # of the standard library, which starting needs as little

WORDS = ("none", "one", "two", "three")


def spelled(number: int) -> str:
    """Return a small number in words."""
    return mode([WORDS[number]])
