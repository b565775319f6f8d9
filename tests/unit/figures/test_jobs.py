"""Long work: at once where nobody waits, in slices where somebody does; newer work wins."""

from collections.abc import Callable, Iterator

import pytest
from bokeh.document import Document
from bokeh.models import Div
from panel.io.state import set_curdoc

from figures.shared.jobs import Job

STEP = 1 / 64  # seconds that a step of the work takes, by the clock of the tests


class Workbench:
    """A job with a clock that only its work moves."""

    def __init__(self, **options: float) -> None:
        self.now = 0.0
        self.done: list[str] = []
        self.shown: list[list[str]] = []
        self.job = Job(lambda: self.shown.append(list(self.done)), clock=lambda: self.now, **options)

    def work(self, *names: str) -> Iterator[None]:
        for name in names:
            self.now += STEP
            self.done.append(name)
            yield

    def start(self, names: str, document: Document) -> None:
        with set_curdoc(document):
            self.job.start(self.work(*names))


@pytest.fixture
def document() -> Document:
    """A document with something in it, as a reader has it."""
    document = Document()
    document.add_root(Div())
    return document


def turn(document: Document) -> None:
    """Give the event loop one turn."""
    for callback in document.session_callbacks:
        callback.callback()


def test_without_a_document_the_work_is_done_at_once() -> None:
    bench = Workbench()
    bench.job.start(bench.work(*"abcdef"))
    assert bench.done == list("abcdef")
    assert not bench.job.running
    assert bench.shown == []  # whoever started it reads the result


def test_work_begun_while_a_figure_is_built_waits_until_it_is_on_show() -> None:
    document, bench = Document(), Workbench(slice=2 * STEP, pause=0)
    bench.start("abcdef", document)
    assert bench.done == []
    assert bench.job.running
    document.add_root(Div())
    while bench.job.running:
        turn(document)
    assert bench.done == list("abcdef")
    assert bench.shown == [list("abcdef")]  # the page has its end already: nothing on the way there
    assert document.session_callbacks == []


def test_a_later_start_of_the_same_job_is_shown_on_the_way() -> None:
    document, bench = Document(), Workbench(slice=2 * STEP, pause=0)
    bench.start("ab", document)
    document.add_root(Div())
    turn(document)
    bench.start("uvwxyz", document)
    while bench.job.running:
        turn(document)
    assert bench.shown == [list("abuvwx"), list("abuvwxyz"), list("abuvwxyz")]


def test_finish_does_what_is_left_without_showing_it(document: Document) -> None:
    for turns in (0, 1, 2):
        bench = Workbench(slice=STEP, pause=0)
        bench.start("abcdef", document)
        for _ in range(turns):
            turn(document)
        shown = list(bench.shown)
        bench.job.finish()
        assert bench.done == list("abcdef")
        assert not bench.job.running
        assert document.session_callbacks == []
        assert bench.shown == shown


def test_finish_while_a_figure_is_built_leaves_nothing_pending() -> None:
    document, bench = Document(), Workbench()
    bench.start("abc", document)
    bench.job.finish()
    assert bench.done == list("abc")
    assert document.session_callbacks == []
    bench.job.finish()  # nothing is left
    assert bench.done == list("abc")


def test_a_finished_job_starts_again(document: Document) -> None:
    bench = Workbench(slice=STEP, pause=0)
    bench.start("abc", document)
    bench.job.finish()
    bench.start("xy", document)
    while bench.job.running:
        turn(document)
    assert bench.done == list("abcxy")


def test_work_is_done_in_slices(document: Document) -> None:
    bench = Workbench(slice=2 * STEP, pause=0)
    bench.start("abcdefg", document)
    assert bench.done == []
    done = []
    while bench.job.running:
        turn(document)
        done.append("".join(bench.done))
    assert done == ["ab", "abcd", "abcdef", "abcdefg"]
    assert document.session_callbacks == []


def test_the_first_slice_is_not_shown_but_the_end_is(document: Document) -> None:
    bench = Workbench(slice=2 * STEP, pause=0)
    bench.start("abcde", document)
    turn(document)
    assert bench.shown == []
    turn(document)
    turn(document)
    assert bench.shown == [list("abcd"), list("abcde")]


def test_work_that_one_slice_finishes_is_shown(document: Document) -> None:
    bench = Workbench()
    bench.start("a", document)
    turn(document)
    assert bench.shown == [["a"]]


def test_showing_pauses(document: Document) -> None:
    bench = Workbench(slice=2 * STEP, pause=10 * STEP)
    bench.start("a" * 30, document)
    while bench.job.running:
        turn(document)
    assert [len(found) for found in bench.shown] == [12, 22, 30]


def test_without_slice_and_pause_every_step_is_shown(document: Document) -> None:
    bench = Workbench(slice=0, pause=0)
    bench.start("abcd", document)
    while bench.job.running:
        turn(document)
    assert bench.shown == [list("ab"), list("abc"), list("abcd"), list("abcd")]


def test_newer_work_supersedes_older(document: Document) -> None:
    bench = Workbench(slice=STEP, pause=0)
    bench.start("abc", document)
    turn(document)
    bench.start("xyz", document)
    assert len(document.session_callbacks) == 1
    while bench.job.running:
        turn(document)
    assert bench.done == ["a", "x", "y", "z"]


@pytest.mark.parametrize("turns", [0, 1, 2])
def test_cancelled_work_leaves_nothing_behind(document: Document, turns: int) -> None:
    bench = Workbench(slice=STEP, pause=0)
    bench.start("abcdef", document)
    for _ in range(turns):
        turn(document)
    done, shown = list(bench.done), list(bench.shown)
    bench.job.cancel()
    assert not bench.job.running
    assert document.session_callbacks == []
    turn(document)
    assert (bench.done, bench.shown) == (done, shown)


def test_a_turn_that_comes_too_late_does_nothing(document: Document) -> None:
    bench = Workbench(slice=STEP, pause=0)
    bench.start("abc", document)
    late: Callable[[], None] = document.session_callbacks[0].callback
    bench.start("xyz", document)
    late()
    assert bench.done == []
    assert len(document.session_callbacks) == 1


def test_a_fault_in_the_work_is_raised(document: Document) -> None:
    def fails() -> Iterator[None]:
        yield
        raise ZeroDivisionError("on purpose")

    bench = Workbench()
    with set_curdoc(document):
        bench.job.start(fails())
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        turn(document)
    assert not bench.job.running
    assert document.session_callbacks == []
