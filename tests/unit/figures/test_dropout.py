"""Figure 4: the book's mask, what holds over ten thousand draws, and one run at a time."""

import itertools
import json
import math
import re
from html import unescape

import numpy as np
import pytest
from bokeh.document import Document
from panel.io.state import set_curdoc

from attention_core import TorchGenerator, inverted_dropout, row_sum_std
from figures.dropout import LOOKS, MANY, SCENES, VISIBLE, WEIGHTS, Run, State, app, band, expected, how, mean_sd
from figures.shared.format import said

RATES = [0.05, 0.1, 0.5, 0.9]
# What fits on the lines that are kept for a text, by characters: cautious for the fonts of the page.
SENTENCE, HOW = 2 * 88, 3 * 44


@pytest.fixture
def shown():
    """A figure on show, built in its document as the page builds it, and that document."""
    document = Document()
    with set_curdoc(document):
        figure = app()
        figure.__panel__().server_doc(doc=document, location=False)
    figure._job._slice = 0  # a turn is one step, however fast the machine is
    return figure, document


@pytest.fixture(scope="module")
def alone():
    """A figure that nobody waits for: every run is done at once."""
    return app()


def act(document, action):
    """Do something as a message from the page does."""
    with set_curdoc(document):
        action()


def turn(document):
    """Give the event loop one turn; the sentence that is spoken later stays aside."""
    for callback in document.session_callbacks:
        if getattr(callback, "timeout", 0) == 0:
            with set_curdoc(document):
                callback.callback()


def waiting(document):
    return [callback for callback in document.session_callbacks if getattr(callback, "timeout", 0) == 0]


def finish(document):
    while waiting(document):
        turn(document)


def values(figure):
    found = re.findall(r'data-readout="(\w+)" data-value="([^"]*)"', figure._numbers.object)
    return {name: json.loads(unescape(text)) for name, text in found}


def settled(**state):
    figure = app()
    figure.state.set(**state)
    return values(figure)


# The numbers


def test_the_default_is_ten_thousand_draws_of_the_books_run(alone, read, recorded):
    found = read(alone)
    for i, row in enumerate(alone.result.dropped):
        assert row.tolist() == recorded("fig4_dropped_book", i)
    assert found["row_sums"] == recorded("fig4_dropped_row_sums")
    assert (found["kept"], found["factor"], found["draws_done"], found["mean_row_sum_theory"]) == (12, 2, MANY, 1)
    assert found["mean_row_sum"] == pytest.approx(1, abs=0.0026 * 2)


def test_one_draw_is_the_books_printed_mask(alone, read):
    found = read(alone, **SCENES["The book's printed mask"])
    assert found == {
        "row_sums": alone.result.row_sums.tolist(),
        "kept": 12,
        "factor": 2.0,
        "context_first_token": found["context_first_token"],
        "draws_done": 1,
        "mean_row_sum": pytest.approx(alone.result.row_sums.mean()),
        "mean_row_sum_theory": 1.0,
        "dead_share": [0, 1, 0, 0, 0, 0],
    }


def test_a_dead_first_row_has_no_context(alone, read):
    dead = next(seed for seed in range(20) if not Run(0.5, True, seed).keep[0, 0])
    assert read(alone, seed=dead, draws=0)["context_first_token"] == [0, 0]


def test_draws_follow_each_other_from_one_generator_however_they_are_cut():
    run = Run(0.5, True, 123)
    for _ in run.work():
        pass
    keep = TorchGenerator(123).dropout_keep((MANY, 6, 6), 0.5)
    sums = (2 * keep * WEIGHTS).sum(axis=-1)
    assert np.array_equal(run.keep, keep[0])
    assert run.mean_row_sum == pytest.approx(sums.mean(), abs=1e-12)
    assert run.dead_share == pytest.approx((sums == 0).mean(axis=0))
    running = np.cumsum(sums.mean(axis=1)) / np.arange(1, MANY + 1)
    assert [n for n, _ in run.looks] == LOOKS.tolist()
    assert [mean for _, mean in run.looks] == pytest.approx(running[LOOKS - 1], abs=1e-12)


@pytest.mark.parametrize("p", RATES)
@pytest.mark.parametrize("rescale", [True, False])
def test_ten_thousand_draws_keep_to_theory(alone, read, p, rescale):
    found = read(alone, p=p, rescale=rescale)
    sd = math.sqrt(np.square(row_sum_std(WEIGHTS, p, rescale=rescale)).sum() / MANY) / 6
    assert found["draws_done"] == MANY
    assert found["mean_row_sum_theory"] == pytest.approx(1 if rescale else 1 - p)
    assert found["mean_row_sum"] == pytest.approx(found["mean_row_sum_theory"], abs=4 * sd)
    dead = p ** np.arange(1, 7)
    spread = 4 * np.sqrt(dead * (1 - dead) / MANY) + 1 / MANY
    assert (np.abs(np.array(found["dead_share"]) - dead) < spread).all()
    assert found["factor"] == pytest.approx(1 / (1 - p))


@pytest.mark.parametrize(("rescale", "name"), [(True, "scaled"), (False, "unscaled")])
def test_the_recorded_spread_of_the_mean(alone, read, recorded, rescale, name):
    found = read(alone, rescale=rescale)
    name = f"fig4_mean_row_sum_{name}"
    assert float(mean_sd(alone.state, MANY)) == pytest.approx(recorded(name, "sd_all_rows").expected, abs=1e-6)
    assert found["mean_row_sum"] == recorded(name, "expected")


def test_rescaling_only_doubles_the_same_draws(alone, read):
    with_it, without = read(alone), read(alone, rescale=False)
    assert with_it["mean_row_sum"] == pytest.approx(2 * without["mean_row_sum"], rel=1e-12)
    assert with_it["dead_share"] == without["dead_share"]


@pytest.mark.parametrize("draws", [0, MANY])
@pytest.mark.parametrize("rescale", [True, False])
def test_at_p_1_all_is_zero_and_nothing_is_divided(alone, read, draws, rescale):
    found = read(alone, p=1, draws=draws, rescale=rescale)
    assert found["row_sums"] == found["context_first_token"][:1] * 6 == [0] * 6
    assert found["factor"] is None
    assert found["kept"] == found["mean_row_sum"] == found["mean_row_sum_theory"] == 0
    assert found["dead_share"] == [1] * 6
    assert "nothing is divided" in alone.sentence()
    assert "everything is dropped" in alone._parts[0][1].object
    tables = [table for panel in alone._panels for table in panel.data(alone.state, alone.result)]
    assert all(np.isfinite(np.asarray(table.values, dtype=float)).all() for table in tables)


@pytest.mark.parametrize("draws", [0, MANY])
def test_at_p_0_nothing_changes(alone, read, draws):
    found = read(alone, p=0, draws=draws)
    assert np.array_equal(alone.result.dropped, WEIGHTS)
    assert found["kept"] == 21
    assert found["dead_share"] == [0] * 6
    assert "unchanged" in alone.sentence()


@pytest.mark.parametrize(("p", "rescale"), [*itertools.product([0, 0.1, 0.5, 0.9, 1], [True, False])])
def test_the_average_and_its_theory_lie_on_the_axis(alone, read, p, rescale):
    found = read(alone, p=p, rescale=rescale)
    axis = alone._panels[1].y
    assert axis.low <= found["mean_row_sum_theory"] <= axis.high
    assert axis.low <= found["mean_row_sum"] <= axis.high
    drawn = band(alone.state, alone.result)
    assert (drawn["low"] <= expected(alone.state)).all()
    assert (drawn["high"] >= expected(alone.state)).all()


@pytest.mark.parametrize("state", [{}, {"p": 0.1}, {"rescale": False, "seed": 7}, {"p": 0.95}, {"p": 1}, {"p": 0}])
def test_the_code_computes_the_readouts(alone, read, state):
    found, names = read(alone, **state), {}
    exec(alone._code(alone.state, alone.result), names)
    for name in ("row_sums", "kept", "context_first_token"):
        assert np.asarray(names[name]) == pytest.approx(np.asarray(found[name]), abs=1e-12)


# What is said and drawn


def test_texts_fit_on_their_lines(alone, read):
    for p, rescale, seed, draws in itertools.product((0, 0.05, 0.5, 0.85, 0.9, 1), (True, False), range(5), (0, MANY)):
        if draws and seed:
            continue
        read(alone, p=p, rescale=rescale, seed=seed, draws=draws)
        assert len(said(alone.sentence())) <= SENTENCE
        for i, j in np.ndindex(6, 6):
            assert len(said(how(alone.state, alone.result, i, j))) <= HOW


@pytest.mark.parametrize(
    ("state", "place", "words"),
    [
        ({}, (1, 1), "Your → Your: 1.0000 × 1 / (1 − 0.5) = 2.0000, kept."),
        ({}, (2, 1), "journey → Your: 0.5517 × 0 / (1 − 0.5) = 0, dropped."),
        ({}, (1, 2), "Your → journey: 0, hidden: the future has no weight."),
        ({"rescale": False}, (1, 1), "Your → Your: 1.0000 × 1 = 1.0000, kept."),
        ({"p": 0}, (2, 1), "journey → Your: 0.5517 × 1 / (1 − 0) = 0.5517, kept."),
        ({"p": 1}, (2, 1), "journey → Your: 0.5517 × 0 = 0, dropped."),
    ],
)
def test_the_selected_cell_is_worked_out_with_its_numbers(alone, read, state, place, words):
    read(alone, draws=0, **state, cell=place)
    assert said(alone._below.object) == words
    assert alone._parts[0][1].object.count('aria-selected="true"') == 1


def test_pointing_explains_a_cell_and_pressing_selects_it(alone, read):
    read(alone, draws=0)
    alone.point([("cell", "2,1")])
    assert "journey → Your" in alone._below.object
    assert alone.state.cell == (1, 1)
    alone.point([])
    assert "Your → Your" in alone._below.object
    alone.take([("cell", "3,2")])
    assert "starts → journey" in alone._below.object
    assert 'data-set="cell=3,2" tabindex="0" aria-selected="true"' in alone._parts[0][1].object
    assert alone.query == {"draws": "0"}  # what is looked at is not in the link


def test_dropped_weights_are_struck_out_and_the_future_is_hatched(alone, read):
    read(alone, draws=0)
    drawn = alone._parts[0][1].object
    assert drawn.count("<s>") == 9
    assert drawn.count('class="hidden"') == 15
    assert "0<em>: the row is dead</em>" in drawn


@pytest.mark.parametrize("name", SCENES)
def test_scenes_are_pressed_only_in_their_state(alone, read, name):
    read(alone)
    alone.set_scene(name)
    assert [other for other in SCENES if alone.in_scene(other)] == [name]
    assert re.findall(r'aria-label="([^"]+)" aria-pressed="true"', unescape(alone._foot.object)) == [name]
    alone.state.set(seed=99)
    assert not any(alone.in_scene(other) for other in SCENES)


# Links and typed values


@pytest.mark.parametrize(
    ("text", "p", "noted"),
    [
        ("0.1", 0.1, False),
        ("0.333", 0.333, False),
        ("0", 0, False),
        ("1", 1, False),
        ("0.9", 0.9, False),
        ("0.91", 0.9, True),
        ("0.99", 1, True),
        ("2", 1, True),
        ("1e999", 1, True),
        ("-1", 0, True),
        ("nan", 0.5, True),
        ("inf", 0.5, True),
        ("half", 0.5, True),
        ("", 0.5, True),
    ],
)
def test_rates_in_links(text, p, noted):
    state = State()
    notice = state.load_query([("p", text)])
    assert state.p == p
    assert ("p=" in notice) is noted
    assert state.query() == ({} if p == 0.5 else {"p": f"{p:g}"})


@pytest.mark.parametrize(
    ("text", "draws", "noted"), [("10000", MANY, False), ("0", 0, False), ("500", MANY, True), ("-3", MANY, True)]
)
def test_draws_in_links(text, draws, noted):
    state = State()
    assert bool(state.load_query([("draws", text)])) is noted
    assert state.draws == draws


def test_a_rate_that_is_typed_moves_to_an_allowed_one_and_says_so(alone, read):
    read(alone, draws=0)
    alone.take([("p", "0.93")])
    assert alone.state.p == 0.9
    assert values(alone)["factor"] == pytest.approx(10)
    assert "p was moved to 0.9" in alone._primary.object
    alone.take([("p", "0,3")])
    assert alone.state.p == 0.9
    assert "p keeps 0.9: not a number." in alone._primary.object
    assert 'aria-invalid="true"' in alone._primary.object


def test_resample_takes_the_next_seed(alone, read):
    read(alone, draws=0)
    alone.take([tuple(unescape(re.search(r'data-set="(seed=\d+)"', alone._primary.object)[1]).split("="))])
    assert alone.state.seed == 124
    assert alone.query == {"seed": "124", "draws": "0"}


# Runs


def test_a_figure_is_there_before_its_run_is_done_and_shows_the_end_once(shown):
    figure, document = shown
    assert values(figure)["draws_done"] == 1
    seen = []
    figure._numbers.param.watch(lambda event: seen.append(values(figure)["draws_done"]), "object")
    finish(document)
    assert seen == [MANY]
    assert values(figure) == settled()


def test_finish_does_the_rest_at_once(shown):
    figure, document = shown
    act(document, figure.finish)
    assert values(figure) == settled()
    assert figure.state.progress() == (MANY, MANY, False)
    before = figure.result
    figure.finish()  # nothing is left
    figure.lighten()
    assert figure.result is before
    assert waiting(document) == []


def test_pointing_at_a_cell_leaves_a_run_alone(shown):
    figure, document = shown
    act(document, lambda: figure.state.set(seed=5))
    turn(document)
    run = figure.result
    act(document, lambda: figure.take([("cell", "4,1")]))
    assert figure.result is run
    finish(document)
    assert values(figure) == settled(seed=5)


def test_a_mean_that_is_not_final_stands_beside_theory(shown):
    figure, document = shown
    finish(document)
    act(document, lambda: figure.state.set(seed=5))  # the numbers' own message, before anything is drawn
    assert values(figure)["draws_done"] == 1
    assert ">theory 1 ± " in figure._numbers.object
    assert "was 10,000" not in figure._numbers.object


def test_a_run_shows_its_progress_and_its_result(shown):
    figure, document = shown
    finish(document)
    progress = []
    act(document, lambda: figure.state.set(seed=5))
    figure._job._pause = 0  # every step is shown
    turn(document)
    while waiting(document):
        turn(document)
        progress.append(values(figure)["draws_done"])
        assert f'value="{progress[-1]}"' in figure._primary.object
    assert len(set(progress)) > 50
    assert progress == sorted(progress)
    assert values(figure) == settled(seed=5)
    assert f"Over <b>{MANY:,}</b> draws" in figure._words.object


def test_the_buttons_tell_whether_a_run_is_going_on(shown):
    figure, document = shown
    assert 'aria-busy="true"' in figure._primary.object
    finish(document)
    assert 'aria-busy="false"' in figure._primary.object
    assert 'aria-disabled="true"' in figure._primary.object
    act(document, lambda: figure.take([("draws", str(MANY))]))
    turn(document)
    assert 'aria-busy="true"' in figure._primary.object
    assert 'aria-disabled="false"' in figure._primary.object


def test_pressing_again_while_it_runs_starts_nothing(shown):
    figure, document = shown
    run = figure.result
    for _ in range(4):
        act(document, lambda: figure.take([("draws", str(MANY))]))
    assert figure.result is run


def test_pressing_again_afterwards_runs_again(shown):
    figure, document = shown
    finish(document)
    before = values(figure)
    act(document, lambda: figure.take([("draws", str(MANY))]))
    assert values(figure)["draws_done"] < MANY
    finish(document)
    assert values(figure) == before


def test_cancel_goes_back_to_one_draw(shown):
    figure, document = shown
    turn(document)
    act(document, lambda: figure.take([("draws", "0")]))
    finish(document)
    assert values(figure) == settled(draws=0)
    assert figure.query == {"draws": "0"}
    act(document, lambda: figure.take([("draws", "0")]))  # nothing is left to cancel
    finish(document)
    assert values(figure) == settled(draws=0)


def test_a_newer_input_supersedes_the_run(shown):
    figure, document = shown
    turn(document)
    act(document, lambda: figure.state.set(p=0.1))
    turn(document)
    act(document, lambda: figure.state.set(seed=124))
    finish(document)
    assert values(figure) == settled(p=0.1, seed=124)


def test_a_link_runs_once(shown, monkeypatch):
    figure, document = shown
    finish(document)
    started, start = [], figure._job.start
    monkeypatch.setattr(figure._job, "start", lambda work: (started.append(work), start(work)))
    act(document, lambda: figure.load_query([("draws", "10000"), ("p", "0.1"), ("seed", "7")]))
    finish(document)
    assert len(started) == 1
    assert values(figure)["draws_done"] == MANY


def test_one_draw_is_what_the_core_computes(alone, read):
    read(alone, p=0.25, seed=9, draws=0)
    keep = TorchGenerator(9).dropout_keep((6, 6), 0.25)
    assert np.array_equal(alone.result.dropped, inverted_dropout(WEIGHTS, keep, 0.25))
    assert values(alone)["kept"] == keep[VISIBLE].sum()
