"""Figure 2: the law of the scores, the same stream however it is cut, and results that never go stale."""

import json
import math
from html import unescape
from itertools import product
from pathlib import Path
from re import findall

import numpy as np
import pytest
from bokeh.document import Document
from panel.io.state import set_curdoc

from attention_core import largest_jacobian_entry, sample_scores, softmax
from figures import scaling
from figures.scaling import LIVE, WIDTHS, Band, Experiment, Scaling, State, relative_error, small
from figures.shared.jobs import Job
from figures.shared.readouts import scientific

NUMBERS = json.loads((Path(__file__).resolve().parents[2] / "data" / "numbers.json").read_text("utf-8"))
MEASURED_WIDTHS = [1, 2, 4, 16, 64, 256, 768, 1024, 4096]  # those whose population values are recorded


@pytest.fixture
def few(monkeypatch):
    """Few repeated experiments, where a test does not look at the band."""
    monkeypatch.setattr(scaling, "EXPERIMENTS", 2)
    monkeypatch.setattr(scaling, "FEWEST", 2)


@pytest.fixture
def shown(few):
    """A figure on show, and the document it is in."""
    figure, document = Scaling(), Document()
    with set_curdoc(document):
        figure.__panel__().server_doc(doc=document, location=False)
    return figure, document


def change(figure, document, **state):
    """Change the state as a message from the page does, and draw."""
    with set_curdoc(document):
        figure.state.param.update(**state)
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


def population(d_k):
    return NUMBERS[f"fig2_n6_d{d_k}"]["value"]


def experiment(d_k, keys=6, draws=2000, seed=1, exact=False):
    experiment = Experiment(d_k, keys, draws, seed, exact)
    while not experiment.complete:
        experiment.go_on()
    return experiment


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("d_k", MEASURED_WIDTHS)
def test_experiments_follow_the_law(d_k, exact):
    draws = 400 if exact else 2000
    one = experiment(d_k, draws=draws, exact=exact)
    entries, law = largest_jacobian_entry(one.scores), population(d_k)
    half = 4 * math.sqrt(0.25 / draws)
    assert (entries > law["median_unscaled"]).mean() == pytest.approx(0.5, abs=half)
    divided = largest_jacobian_entry(one.scores / math.sqrt(d_k))
    assert (divided > law["median_scaled"]).mean() == pytest.approx(0.5, abs=half)
    assert entries.mean() == pytest.approx(law["mean_unscaled"], abs=4 * entries.std() / math.sqrt(draws))
    live = law["share_above"][f"{LIVE:g}"]
    spread = math.sqrt(live * (1 - live) / draws)
    assert (entries > LIVE).mean() == pytest.approx(live, abs=4 * spread + 1 / draws)
    assert one.measure().sd == pytest.approx(math.sqrt(d_k), rel=4 * relative_error(d_k, 6, draws))


def test_the_median_rises_before_it_falls():
    medians = [experiment(d_k).measure().median for d_k in (1, 2, 4, 16, 64)]
    assert medians[0] < medians[1] < medians[2] > medians[3] > medians[4]


def test_draws_count_as_clusters():
    assert relative_error(2, 6, 400) == pytest.approx(0.032, abs=5e-4)
    sds = [experiment(2, draws=400, seed=seed).measure().sd for seed in range(400)]
    assert np.std(sds) / math.sqrt(2) == pytest.approx(relative_error(2, 6, 400), rel=4 / math.sqrt(800))


@pytest.mark.parametrize(("exact", "d_k"), list(product([False, True], [1, 64, 1024])))
def test_one_seed_gives_one_stream_however_it_is_cut(monkeypatch, exact, d_k):
    whole = sample_scores(np.random.default_rng(7), d_k, 6, 100, exact=exact)
    for numbers_at_once in (1, 30_000, 10**9):
        monkeypatch.setattr(scaling, "NUMBERS_AT_ONCE", numbers_at_once)
        assert np.array_equal(experiment(d_k, draws=100, seed=7, exact=exact).scores, whole)


def test_the_band_is_where_the_recorded_one_is():
    band = Band(6, 400, 1)
    for _ in band.work():
        pass
    recorded = NUMBERS["fig2_band_n6_draws400"]["value"]
    low, high = np.log(band.limits())
    for d_k in (2, 64, 768, 4096):
        ends = [math.log(recorded[f"median_{d_k}"][q]) for q in ("q05", "q95")]
        # The 5 % quantile of 100 experiments has a standard error of 6.5 % of the band's width.
        slack = 4 * 0.065 * (ends[1] - ends[0]) * 1.1
        found = [low[WIDTHS.index(d_k), 0], high[WIDTHS.index(d_k), 0]]
        assert found == pytest.approx(ends, abs=slack)


def test_the_band_is_the_same_however_it_is_cut(monkeypatch):
    bands = []
    for at_once in (1, 10**9):
        monkeypatch.setattr(scaling, "EXPERIMENTS", 3)
        monkeypatch.setattr(scaling, "EXPERIMENTS_AT_ONCE", at_once)
        bands.append(Band(6, 100, 1))
        for _ in bands[-1].work():
            pass
    assert np.array_equal(bands[0].limits(), bands[1].limits())


def test_a_built_figure_is_complete_and_leaves_nothing_pending():
    document = Document()
    with set_curdoc(document):
        figure = Scaling()
    assert document.session_callbacks == []
    assert figure._spread_dots.source.data["x"] == WIDTHS
    assert figure._bands[0].source.data["x"] == WIDTHS
    assert "(100 done)" in figure._entries_caption.object
    assert len(findall("<tr>", figure.static_html())) > len(WIDTHS)


@pytest.mark.usefixtures("few")
def test_readouts_of_the_default_state():
    figure = Scaling()
    scores = sample_scores(np.random.default_rng(1), 64, 6, 400)
    entries = largest_jacobian_entry(scores)
    assert values(figure) == {
        "score_sd": scores.std(),
        "score_sd_theory": 8.0,
        "jacobian_median": np.median(entries),
        "jacobian_mean": entries.mean(),
        "jacobian_median_scaled": np.median(largest_jacobian_entry(scores / 8)),
        "jacobian_chosen": np.median(entries),
        "live_share": (entries > LIVE).mean(),
        "top_weight": figure.weights.max(),
    }


@pytest.mark.parametrize("name", Scaling.scenes)
@pytest.mark.usefixtures("few")
def test_scenes_set_their_state_and_are_marked(name):
    figure = Scaling()
    figure.set_scene(name)
    assert [other for other, chip in figure._chips.items() if chip.pressed] == [name]


@pytest.mark.usefixtures("few")
def test_the_undivided_gradient_is_gone_and_the_divided_one_is_not():
    figure = Scaling()
    figure.set_scene("4096: the gradient is gone")
    assert values(figure)["jacobian_chosen"] < 1e-12
    assert figure._top_text().startswith("1 − ")
    figure.set_scene("4096, scaled")
    assert values(figure)["jacobian_chosen"] == pytest.approx(0.2337, abs=0.01)


@pytest.mark.usefixtures("few")
def test_no_number_is_lost_at_the_ends_of_the_controls():
    figure = Scaling()
    for d_k, divisor, keys, draws in product([1, 4096], scaling.DIVISORS, [2, 16], [100, 2000]):
        figure.state.param.update(d_k=d_k, divisor=divisor, keys=keys, draws=draws, draw=draws)
        assert all(math.isfinite(value) and value > 0 for value in values(figure).values())
        assert figure._entries.plot.y_range.start <= values(figure)["jacobian_median"]
        assert "nan" not in figure.summary() + figure.explanation() + figure.remark()
        assert all(np.isfinite(table.values).all() for table in figure.tables())


@pytest.mark.parametrize(("keys", "printed"), [(6, True), (7, False)])
@pytest.mark.usefixtures("few")
def test_the_jacobian_prints_numbers_while_there_is_room(keys, printed):
    figure = Scaling()
    figure.state.keys = keys
    assert all(bool(text) is printed for text in figure._jacobian._cells.data["text"])
    assert len(figure._weight_bars.source.data["at"]) == keys


@pytest.mark.parametrize(
    ("pairs", "query", "noted"),
    [
        ({"d_k": "768", "divisor": "dk", "exact": "on"}, {"d_k": "768", "divisor": "dk", "exact": "on"}, []),
        ({"d_k": "9999"}, {"d_k": "4096"}, ["d_k"]),
        ({"d_k": "0"}, {"d_k": "1"}, ["d_k"]),
        ({"d_k": "100", "divisor": "2", "keys": "six", "draws": "1e3"}, {}, ["d_k", "divisor", "keys", "draws"]),
        ({"keys": "99", "draws": "1"}, {"keys": "16", "draws": "100"}, ["keys", "draws"]),
        ({"draw": "401"}, {"draw": "400"}, ["draw"]),
        ({"draw": "401", "draws": "500"}, {"draw": "401", "draws": "500"}, []),
        ({"exact": "yes", "seed": "-1"}, {"seed": "0"}, ["exact", "seed"]),
    ],
)
def test_links(pairs, query, noted):
    state = State()
    notice = state.load_query(pairs.items())
    assert state.query() == query
    assert [part.split("=")[0] for part in notice.removesuffix(".").split("; ") if part] == sorted(
        noted, key=State.query_keys().index
    )


@pytest.mark.usefixtures("few")
def test_the_shown_draw_exists():
    figure = Scaling()
    figure.state.draw = 400
    figure.state.draws = 100
    assert figure.state.draw == 100
    figure.state.draw = 300
    assert figure.state.draw == 100
    assert figure._draw_control[0].end == 99


@pytest.mark.usefixtures("few")
def test_resample_takes_the_next_seed():
    figure = Scaling()
    figure.state.seed = 2**32 - 1
    figure._resample()
    assert figure.state.seed == 0


def test_a_drag_ends_on_the_newest_value(shown):
    figure, document = shown
    for d_k in [*WIDTHS, *reversed(WIDTHS), 768]:
        change(figure, document, d_k=d_k, keys=2 + d_k % 15)
    finish(document)
    alone = Scaling()
    alone.state.param.update(d_k=768, keys=2 + 768 % 15)
    assert values(figure) == values(alone)
    for mine, other in zip(figure._curves, alone._curves, strict=True):
        assert mine[1].source.data == other[1].source.data
    assert figure._bands[0].source.data == alone._bands[0].source.data
    assert figure._entries_here.location == 768


def test_curves_are_kept_while_only_the_marked_width_changes(shown):
    figure, document = shown
    study = figure._study
    change(figure, document, d_k=768, divisor="sqrt", draw=3)
    assert figure._study is study
    assert document.session_callbacks == []


def beside(figure):
    """What stands beside each large readout."""
    found = findall(r'data-readout="(\w+)"[^>]*>[^<]*</span><span class="beside">([^<]*)<', figure._strip.object)
    return dict(found)


def test_a_number_that_is_not_final_says_how_far_it_is_and_not_what_it_was(shown):
    figure, document = shown
    change(figure, document, d_k=4096)
    finish(document)
    with set_curdoc(document):
        figure.state.exact = True  # the readouts' own message, before anything is drawn
    so_far = f"{figure._experiment.done} of 400 draws so far"
    assert 0 < figure._experiment.done < 400
    partial = {
        "score_sd",
        "jacobian_median",
        "jacobian_mean",
        "live_share",
        "jacobian_median_scaled",
        "jacobian_chosen",
    }
    assert {name for name, text in beside(figure).items() if text == so_far} == partial
    assert beside(figure)["top_weight"].startswith("was ")  # this draw is made, and final


def test_a_final_number_says_what_it_was(shown):
    figure, document = shown
    was = figure.readouts()[0].text
    with set_curdoc(document):
        figure.state.d_k = 128
    assert beside(figure)["score_sd"] == f"was {was}"


def entry(figure, row, column):
    figure.state.cell = (row, column)
    how = figure._jacobian_caption.object.split('<div class="how">')[1].removesuffix("</div>")
    return how.replace("<br>", " ").split(" = ")


@pytest.mark.usefixtures("few")
def test_the_selected_entry_is_worked_out_with_its_numbers():
    figure = Scaling()
    p = softmax(figure.scores)
    said = ["∂p₂/∂s₃", "p₂ (0 − p₃)", f"{small(p[1])} · (0 − {small(p[2])})", small(-p[1] * p[2])]
    assert entry(figure, 2, 3) == said
    assert figure._jacobian._cells.data["how"][6 + 2] == " = ".join(said)  # pointing says the same
    said = ["∂p₄/∂s₄", "p₄ (1 − p₄)", f"{small(p[3])} · {small(1 - p[3])}", small(p[3] * (1 - p[3]))]
    assert entry(figure, 4, 4) == said


@pytest.mark.usefixtures("few")
def test_a_weight_next_to_1_keeps_its_entry():
    figure = Scaling()
    figure.set_scene("4096: the gradient is gone")
    top = int(figure.weights.argmax()) + 1
    missing = scientific(figure.others)
    assert entry(figure, top, top)[2:] == [f"(1 − {missing}) · {missing}", missing]


@pytest.mark.usefixtures("few")
def test_the_selected_entry_is_marked_with_the_weights_it_comes_from():
    figure = Scaling()
    figure.state.cell = (2, 5)
    marks = figure._jacobian._marks.data
    assert (marks["x"], marks["y"], marks["dash"]) == ([4.5], [1.5], ["solid"])
    assert figure._weight_frames.source.data == {"at": [2, 5], "end": figure.weights[[1, 4]].tolist()}
    figure.state.cell = (2, 2)
    assert figure._weight_frames.source.data["at"] == [2]


@pytest.mark.usefixtures("few")
def test_row_and_column_are_among_the_keys():
    figure = Scaling()
    row, column = figure._cell_controls
    figure.state.keys = 16
    row.value, column.value = 16, 12
    assert figure.state.cell == (16, 12)
    assert figure.query == {"keys": "16"}  # what is pointed at is not in the link
    figure.state.keys = 3
    assert figure.state.cell == (row.value, column.value) == (3, 3)
    assert list(row.options) == list(column.options) == ["1", "2", "3"]


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("go_back", [lambda figure: figure.load_query([]), lambda figure: figure.set_scene("d_k = 2")])
def test_a_link_and_a_scene_point_at_the_first_entry(go_back):
    figure = Scaling()
    figure.state.cell = (2, 5)
    go_back(figure)
    assert figure.state.cell == (1, 1)


def test_pointing_at_a_cell_begins_no_work(shown):
    figure, document = shown
    study = figure._study
    change(figure, document, cell=(3, 2))
    assert figure._study is study
    assert document.session_callbacks == []
    assert "∂p₃/∂s₂" in figure._jacobian_caption.object


def test_real_dot_products_are_formed_in_slices(shown):
    figure, document = shown
    change(figure, document, d_k=4096, draws=100)
    finish(document)
    shortcut = values(figure)
    figure._job = Job(figure._found, slice=0, pause=0)
    change(figure, document, exact=True)
    assert figure.readouts()[0].beside.endswith("of 100 draws so far")
    said = {figure._summary.object}
    while document.session_callbacks:
        turn(document)
        said.add(figure._summary.object)
    assert len(said) == 2  # that it runs, and what came out
    scores = sample_scores(np.random.default_rng(1), 4096, 6, 100, exact=True)
    assert values(figure)["score_sd"] == scores.std() != shortcut["score_sd"]
    assert sorted(figure._study.measured) == WIDTHS
    assert "so far" not in figure._strip.object


def test_draws_that_were_let_go_are_made_again(shown):
    figure, document = shown
    change(figure, document, d_k=64)
    before = values(figure)
    change(figure, document, d_k=4)
    figure.lighten()
    assert list(figure._study._experiments) == [4]
    change(figure, document, d_k=64)
    assert values(figure) == before
