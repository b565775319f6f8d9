"""Figure 4: the book's mask, what holds over ten thousand draws, and one run at a time."""

import json
import math
from html import unescape
from pathlib import Path
from re import findall

import numpy as np
import pytest
from bokeh.document import Document
from panel.io.state import set_curdoc

from attention_core import TorchGenerator, row_sum_std
from figures.dropout import MANY, STOPS, WEIGHTS, Dropout, Run, State

NUMBERS = json.loads((Path(__file__).resolve().parents[2] / "data" / "numbers.json").read_text("utf-8"))
RATES = [0.05, 0.1, 0.5, 0.9]


@pytest.fixture
def shown():
    """A figure on show, and the document it is in."""
    figure, document = Dropout(), Document()
    with set_curdoc(document):
        figure.__panel__().server_doc(doc=document, location=False)
    return figure, document


def act(document, action):
    """Do something as a message from the page does, and draw."""
    with set_curdoc(document):
        action()
        turn(document)


def turn(document):
    """Give the event loop one turn."""
    for callback in document.session_callbacks:
        with set_curdoc(document):
            callback.callback()


def finish(document):
    while document.session_callbacks:
        turn(document)


def values(figure):
    """Readouts as a program reads them: strict JSON."""

    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    found = findall(r'data-readout="(\w+)" data-value="([^"]*)"', figure._strip.object)
    return {name: json.loads(unescape(value), parse_constant=refuse) for name, value in found}


def figure_at(**state):
    figure = Dropout()
    figure.state.param.update(**state)
    return figure


def expected(name):
    return pytest.approx(np.array(NUMBERS[name]["value"]), abs=NUMBERS[name]["tolerance"])


def test_the_default_is_the_books_printed_run():
    figure = Dropout()
    assert figure.run.dropped == expected("fig4_dropped_book")
    assert values(figure)["row_sums"] == expected("fig4_dropped_row_sums")
    assert values(figure) == {
        "row_sums": figure.run.row_sums[0].tolist(),
        "kept": 12,
        "factor": 2.0,
        "context_first_token": values(figure)["context_first_token"],
        "draws_done": 1,
        "mean_row_sum": figure.run.row_sums.mean(),
        "mean_row_sum_theory": 1.0,
        "dead_share": [0, 1, 0, 0, 0, 0],
    }


def test_a_dead_first_row_has_no_context():
    figure = next(figure for seed in range(20) if not (figure := figure_at(seed=seed)).run.keep[0, 0])
    assert values(figure)["context_first_token"] == [0, 0]


def test_draws_follow_each_other_from_one_generator_however_they_are_cut():
    run = Run(0.5, True, 123)
    for _ in run.work():
        pass
    keep = TorchGenerator(123).dropout_keep((MANY, 6, 6), 0.5)
    assert np.array_equal(run.keep, keep[0])
    assert np.allclose(run.row_sums, (2 * keep * WEIGHTS).sum(axis=-1), rtol=0, atol=1e-15)


@pytest.mark.parametrize("p", RATES)
@pytest.mark.parametrize("rescale", [True, False])
def test_ten_thousand_draws_keep_to_theory(p, rescale):
    figure = figure_at(p=p, rescale=rescale, draws=MANY)
    found = values(figure)
    sd = math.sqrt(np.square(row_sum_std(WEIGHTS, p, rescale=rescale)).sum() / MANY) / 6
    assert found["draws_done"] == MANY
    assert found["mean_row_sum_theory"] == pytest.approx(1 if rescale else 1 - p)
    assert found["mean_row_sum"] == pytest.approx(found["mean_row_sum_theory"], abs=4 * sd)
    dead = p ** np.arange(1, 7)
    spread = 4 * np.sqrt(dead * (1 - dead) / MANY) + 1 / MANY
    assert (np.abs(np.array(found["dead_share"]) - dead) < spread).all()
    assert found["factor"] == pytest.approx(1 / (1 - p))


@pytest.mark.parametrize(("rescale", "name"), [(True, "scaled"), (False, "unscaled")])
def test_the_recorded_spread_of_the_mean(rescale, name):
    recorded = NUMBERS[f"fig4_mean_row_sum_{name}"]
    figure = figure_at(rescale=rescale, draws=MANY)
    assert float(figure._mean_sd(MANY)) == pytest.approx(recorded["value"]["sd_all_rows"], abs=1e-6)
    assert values(figure)["mean_row_sum"] == pytest.approx(recorded["value"]["expected"], abs=recorded["tolerance"])


def test_rescaling_only_doubles_the_same_draws():
    with_it, without = (values(figure_at(rescale=on, draws=MANY)) for on in (True, False))
    assert with_it["mean_row_sum"] == pytest.approx(2 * without["mean_row_sum"], rel=1e-12)
    assert with_it["dead_share"] == without["dead_share"]


@pytest.mark.parametrize("draws", [0, MANY])
@pytest.mark.parametrize("rescale", [True, False])
def test_at_p_1_all_is_zero_and_nothing_is_divided(draws, rescale):
    figure = figure_at(p=1, draws=draws, rescale=rescale)
    found = values(figure)
    assert found["row_sums"] == found["context_first_token"][:1] * 6 == [0] * 6
    assert found["factor"] is None
    assert found["kept"] == found["mean_row_sum"] == found["mean_row_sum_theory"] == 0
    assert found["dead_share"] == [1] * 6
    assert "nothing is divided" in figure.summary()
    assert "no division" in figure._after_caption.object
    assert all(np.isfinite(table.values).all() for table in figure.tables())


@pytest.mark.parametrize("draws", [0, MANY])
def test_at_p_0_nothing_changes(draws):
    figure = figure_at(p=0, draws=draws)
    assert np.array_equal(figure.run.dropped, WEIGHTS)
    assert values(figure)["kept"] == 21
    assert values(figure)["dead_share"] == [0] * 6
    assert "unchanged" in figure.summary()


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


@pytest.mark.parametrize(("text", "draws"), [("10000", MANY), ("0", 0), ("500", 0), ("20000", MANY), ("-3", 0)])
def test_draws_in_links(text, draws):
    state = State()
    state.load_query([("draws", text)])
    assert state.draws == draws


def test_a_rate_that_is_typed_moves_to_an_allowed_one():
    figure = Dropout()
    figure.state.p = 0.93
    assert figure.state.p == 0.9
    assert values(figure)["factor"] == pytest.approx(10)


@pytest.mark.parametrize("name", Dropout.scenes)
def test_scenes_set_their_state_and_are_marked(name):
    figure = Dropout()
    figure.set_scene(name)
    assert [other for other, chip in figure._chips.items() if chip.pressed] == [name]


def cell(figure, row, column):
    figure.state.cell = (row, column)
    return figure._after_caption.object.split('<div class="how">')[1].removesuffix("</div>").split("<br>")


@pytest.mark.parametrize(
    ("state", "place", "said"),
    [
        ({}, (1, 1), ["Your → Your", "1.0000 × 1 / (1 − 0.5) = 2.0000, kept"]),
        ({}, (2, 1), ["journey → Your", "0.5517 × 0 / (1 − 0.5) = 0, dropped"]),
        ({}, (1, 2), ["Your → journey", "0, hidden: the future has no weight"]),
        ({"rescale": False}, (1, 1), ["Your → Your", "1.0000 × 1 = 1.0000, kept"]),
        ({"p": 0}, (2, 1), ["journey → Your", "0.5517 × 1 / (1 − 0) = 0.5517, kept"]),
        ({"p": 1}, (2, 1), ["journey → Your", "0.5517 × 0 = 0, dropped"]),
    ],
)
def test_the_selected_cell_is_worked_out_with_its_numbers(state, place, said):
    figure = figure_at(**state)
    assert cell(figure, *place) == said
    flat = 6 * (place[0] - 1) + place[1] - 1
    assert figure._after._cells.data["how"][flat] == ": ".join(said)


def test_the_selected_cell_is_marked_before_and_after():
    figure = figure_at(cell=(3, 2))
    for heatmap in (figure._before, figure._after):
        assert (heatmap._marks.data["x"], heatmap._marks.data["y"]) == ([1.5], [2.5])


def test_pressing_either_heatmap_selects(shown):
    figure, document = shown
    for heatmap, index, selected in ((figure._before, 8, (2, 3)), (figure._after, 35, (6, 6))):
        act(document, lambda heatmap=heatmap, index=index: heatmap._cells.selected.update(indices=[index]))
        assert figure.state.cell == selected
    assert figure.query == {}  # what is pointed at is not in the link


def test_pointing_at_a_cell_leaves_a_run_alone(shown):
    figure, document = shown
    act(document, figure._begin)
    turn(document)
    run = figure.run
    act(document, lambda: setattr(figure.state, "cell", (4, 1)))
    assert figure.run is run
    finish(document)
    assert values(figure) == values(figure_at(draws=MANY))


def test_a_mean_that_is_not_final_stands_beside_theory(shown):
    figure, document = shown
    act(document, figure._begin)
    finish(document)
    with set_curdoc(document):
        figure.state.seed = 5  # the readouts' own message, before anything is drawn
    assert ">theory 1 ± " in figure._strip.object
    assert "was 10,000" not in figure._strip.object


def test_a_run_shows_its_progress_and_its_result_once(shown):
    figure, document = shown
    alone = figure_at(draws=MANY)
    heard = [figure._summary.object]
    figure._summary.param.watch(lambda event: heard.append(event.new), "object")
    progress = []
    act(document, figure._begin)
    while document.session_callbacks:
        turn(document)
        progress.append(values(figure)["draws_done"])
        assert f'value="{progress[-1]}"' in figure._progress.object
    assert set(STOPS[3:]) <= set(progress)
    assert progress == sorted(progress)
    assert len(heard) == 3  # before, that it runs, and the result
    assert values(figure) == values(alone)
    assert figure._mean_dots.source.data == alone._mean_dots.source.data


def test_the_buttons_tell_whether_a_run_is_going_on(shown):
    figure, document = shown
    for begin, busy in ((figure._begin, "true"), (figure._cancel, "false")):
        act(document, begin)
        assert figure._run_button.html_attributes["data-aria-busy"] == busy
        assert figure._cancel_button.html_attributes["data-aria-disabled"] != busy


def test_pressing_again_while_it_runs_starts_nothing(shown):
    figure, document = shown
    act(document, figure._begin)
    run = figure.run
    for _ in range(4):
        act(document, figure._begin)
    assert figure.run is run
    assert len(document.session_callbacks) == 1


def test_pressing_again_afterwards_runs_again(shown):
    figure, document = shown
    act(document, figure._begin)
    finish(document)
    before = values(figure)
    act(document, figure._begin)
    assert values(figure)["draws_done"] < MANY
    finish(document)
    assert values(figure) == before


def test_cancel_goes_back_to_one_draw(shown):
    figure, document = shown
    act(document, figure._begin)
    turn(document)
    act(document, figure._cancel)
    assert document.session_callbacks == []
    assert values(figure) == values(Dropout())
    assert figure.query == {}
    act(document, figure._cancel)  # nothing left to cancel
    assert figure.query == {}


def test_a_newer_input_supersedes_the_run(shown):
    figure, document = shown
    act(document, figure._begin)
    turn(document)
    act(document, lambda: setattr(figure.state, "p", 0.1))
    turn(document)
    act(document, figure._resample)
    assert len(document.session_callbacks) == 1
    finish(document)
    assert values(figure) == values(figure_at(p=0.1, seed=124, draws=MANY))


def test_a_link_runs_once(shown, monkeypatch):
    figure, document = shown
    started = []
    start = figure._job.start
    monkeypatch.setattr(figure._job, "start", lambda work: (started.append(work), start(work)))
    act(document, lambda: figure.load_query([("draws", "10000"), ("p", "0.1")]))
    finish(document)
    assert len(started) == 1
    assert values(figure)["draws_done"] == MANY
