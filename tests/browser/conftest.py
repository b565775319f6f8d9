"""One reader for each file of tests, whose pages stay open."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def reader(new_reader):
    """One reader for a whole file; tests with `no_fault` fail if anything goes wrong on its pages."""
    return new_reader()


@pytest.fixture(scope="module")
def shared(reader, address):
    """A live page of that reader; each test puts back what it changed."""
    return reader(address)


@pytest.fixture
def keep_worker() -> str:
    """A script that keeps the page's worker as `python`."""
    return "window.Worker = class extends Worker { constructor(...given) { super(...given); window.python = this; } };"


@pytest.fixture
def no_fault(reader):
    """Fail at the end of a test if anything went wrong on the shared pages."""
    yield
    reader.complain()
