"""Figure 2: the law of the scores, the same stream however it is cut, and results that never go stale."""

import json
import math
import re
import time
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from panel.io.state import set_curdoc

from attention_core import largest_jacobian_entry, sample_scores, softmax, softmax_jacobian
from figures import experiments, scaling
from figures.experiments import LIVE, WIDTHS, Band, Experiment, relative_error
from figures.scaling import SCENES, TYPICAL, State, app, compute, ends, small, verdict
from figures.shared.figure import STYLE
from figures.shared.format import said, scientific

NUMBERS = json.loads((Path(__file__).resolve().parents[2] / "data" / "numbers.json").read_text("utf-8"))
MEASURED_WIDTHS = [1, 2, 4, 16, 64, 256, 768, 1024, 4096]  # those whose population values are recorded


@pytest.fixture
def few(monkeypatch):
    """Few repeated experiments, where a test does not look at the band."""
    monkeypatch.setattr(experiments, "EXPERIMENTS", 2)
    monkeypatch.setattr(experiments, "FEWEST", 2)


@pytest.fixture
def shown(few, on_show):
    """A figure on show, whose first work is done, and the document it is in."""
    figure, document = on_show(app)
    finish(document)
    return figure, document


def change(figure, document, **state):
    """Change the state as a message from the page does, and draw."""
    with set_curdoc(document):
        figure.state.set(**state)
        turn(document)


def turn(document):
    """Give the event loop one turn."""
    for callback in document.session_callbacks:
        with set_curdoc(document):
            callback.callback()


def finish(document):
    for _ in range(10_000):
        if not any(callback.callback.__qualname__.startswith("Job") for callback in document.session_callbacks):
            break
        turn(document)


def working(document):
    return any("Job" in callback.callback.__qualname__ for callback in document.session_callbacks)


def population(d_k):
    return NUMBERS[f"fig2_n6_d{d_k}"]["value"]


def experiment(d_k, keys=6, draws=2000, seed=1, exact=False):
    experiment = Experiment(d_k, keys, draws, seed, exact)
    while not experiment.complete:
        experiment.go_on()
    return experiment


def drawn(figure, name):
    """The data of each layer of a chart, as they are sent."""
    chart = next(panel for panel in figure._panels if getattr(panel, "label", "").startswith(name))
    return [dict(source.data) if hasattr(source, "data") else source.location for source in chart._sources]


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
    assert one.measure().live == pytest.approx(live, abs=4 * spread + 1 / draws)
    assert one.measure().sd == pytest.approx(math.sqrt(d_k), rel=4 * relative_error(d_k, 6, draws))


def test_the_median_rises_before_it_falls():
    medians = [experiment(d_k).measure().one for d_k in (1, 2, 4, 16, 64)]
    assert medians[0] < medians[1] < medians[2] > medians[3] > medians[4]


def test_draws_count_as_clusters():
    assert relative_error(2, 6, 400) == pytest.approx(0.032, abs=5e-4)
    sds = [experiment(2, draws=400, seed=seed).measure().sd for seed in range(400)]
    assert np.std(sds) / math.sqrt(2) == pytest.approx(relative_error(2, 6, 400), rel=4 / math.sqrt(800))


@pytest.mark.parametrize(("exact", "d_k"), list(product([False, True], [1, 64, 1024])))
def test_one_seed_gives_one_stream_however_it_is_cut(monkeypatch, exact, d_k):
    whole = sample_scores(np.random.default_rng(7), d_k, 6, 100, exact=exact)
    for numbers_at_once in (1, 30_000, 10**9):
        monkeypatch.setattr(experiments, "NUMBERS_AT_ONCE", numbers_at_once)
        assert np.array_equal(experiment(d_k, draws=100, seed=7, exact=exact).scores, whole)


def test_the_band_is_where_the_recorded_one_is():
    band = Band(6, 400, 1)
    while band.done < experiments.EXPERIMENTS:
        band.go_on()
    recorded = NUMBERS["fig2_band_n6_draws400"]["value"]
    low, high = np.log(band.limits())
    for d_k in (2, 64, 768, 4096):
        places = [math.log(recorded[f"median_{d_k}"][q]) for q in ("q05", "q95")]
        # The 5 % quantile of 100 experiments has a standard error of 6.5 % of the band's width.
        slack = 4 * 0.065 * (places[1] - places[0]) * 1.1
        found = [low[WIDTHS.index(d_k), 0], high[WIDTHS.index(d_k), 0]]
        assert found == pytest.approx(places, abs=slack)


def test_the_band_is_of_the_seed(monkeypatch):
    monkeypatch.setattr(experiments, "EXPERIMENTS", 3)
    monkeypatch.setattr(experiments, "FEWEST", 3)
    band = Band(6, 100, 5)
    while band.done < 3:
        band.go_on()
    scores = sample_scores(np.random.default_rng(5), 64, 6, 300).reshape(3, 100, 6)
    medians = np.median(largest_jacobian_entry(scores), axis=1)
    assert np.array_equal(band.limits()[:, WIDTHS.index(64), 0], np.quantile(medians, [0.05, 0.95]))


def test_the_band_is_the_same_however_it_is_cut(monkeypatch):
    bands = []
    monkeypatch.setattr(experiments, "EXPERIMENTS", 3)
    monkeypatch.setattr(experiments, "FEWEST", 3)
    for at_once in (1, 10**9):
        monkeypatch.setattr(experiments, "EXPERIMENTS_AT_ONCE", at_once)
        band = Band(6, 100, 1)
        assert band.limits() is None
        while band.done < 3:
            band.go_on()
        bands.append(band.limits())
    assert np.array_equal(*bands)


def test_a_built_figure_is_complete():
    figure = app()
    assert list(figure.result.curves) == WIDTHS
    low_and_high, *_, here = drawn(figure, "Largest entry")
    assert low_and_high["x"] == WIDTHS
    assert here["x"] == [768]
    assert len(re.findall("<tr>", figure.static_html())) > len(WIDTHS)


def test_the_data_table_holds_the_band_and_the_curves():
    figure = app()
    table = next(table for table in figure._panels[0].data(figure.state, figure.result))
    by_name = dict(zip(table.columns, np.array(table.values).T, strict=True))
    assert by_name["median, undivided"].tolist() == [m.one for m in figure.result.curves.values()]
    for column, name in enumerate(("undivided", "divided by √d_k")):
        for end, percentile in enumerate((5, 95)):
            assert np.array_equal(by_name[f"{percentile} % of medians, {name}"], figure.result.band[end, :, column])


@pytest.mark.usefixtures("few")
def test_readouts_of_the_default_state(read):
    figure = app()
    scores = sample_scores(np.random.default_rng(1), 768, 6, 400)
    entries = largest_jacobian_entry(scores)
    assert read(figure) == {
        "score_sd": scores.std(),
        "score_sd_theory": math.sqrt(768),
        "jacobian_median": np.median(entries),
        "jacobian_mean": entries.mean(),
        "jacobian_median_scaled": np.median(largest_jacobian_entry(scores / math.sqrt(768))),
        "jacobian_chosen": np.median(entries),
        "live_share": (entries > LIVE).mean(),
        "top_weight": softmax(scores[TYPICAL - 1]).max(),
    }


@pytest.mark.parametrize("d_k", [64, 768, 4096])
def test_the_draw_that_is_shown_first_is_a_typical_one(d_k):
    entries = largest_jacobian_entry(sample_scores(np.random.default_rng(1), d_k, 6, 400))
    assert 0.1 < entries[TYPICAL - 1] / np.median(entries) < 10


def test_the_first_entry_that_is_explained_is_the_largest_of_the_draw():
    for d_k in (64, 768, 4096):
        scores = sample_scores(np.random.default_rng(1), d_k, 6, 400)[TYPICAL - 1]
        assert State().cell == (scores.argmax() + 1,) * 2


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.usefixtures("few")
def test_scenes_set_their_state_and_are_pressed_in_it_only(name):
    figure = app()
    figure.set_scene(name)
    assert [other for other in SCENES if figure.in_scene(other)] == [name]
    figure.state.set(draw=7)
    assert not any(map(figure.in_scene, SCENES))


@pytest.mark.usefixtures("few")
def test_the_bars_say_what_the_scenes_say():
    figure = app()
    for name, words in (
        ("768 with no divisor", "takes all"),
        ("4096: the gradient is gone", "takes all"),
        ("d_k = 2", "heard"),
    ):
        figure.set_scene(name)
        undivided, divided = re.findall(r'<p class="caption">(.*?)</p>', scaling.bars(figure.state, figure.result))
        assert words in undivided
        assert "all keys are heard" in divided


@pytest.mark.usefixtures("few")
def test_the_undivided_gradient_is_gone_and_the_divided_one_is_not(read):
    figure = app()
    assert read(figure, d_k=4096)["jacobian_chosen"] < 1e-12
    assert "above 0.9999" in figure.static_html()
    assert read(figure, d_k=4096, divisor="sqrt")["jacobian_chosen"] == pytest.approx(0.2337, abs=0.01)


@pytest.mark.parametrize(
    ("weights", "said_of_them"),
    [
        ([1 - 1e-9, 1e-9], "one key takes all"),
        ([0.97, 0.02, 0.01], "one key takes most"),
        ([0.65, 0.35], "one key leads"),
        ([0.5, 0.49, 0.01], "several keys are heard"),
        ([0.4, 0.35, 0.25], "all keys are heard"),
        ([0.5, 0.5], "all keys are heard"),
    ],
)
def test_what_is_said_of_a_row_is_true(weights, said_of_them):
    assert verdict(np.array(weights)) == said_of_them


@pytest.mark.usefixtures("few")
def test_no_number_is_lost_at_the_ends_of_the_controls(read):
    figure = app()
    for d_k, divisor, keys, draws in product([1, 4096], scaling.DIVISORS, [2, 16], [100, 2000]):
        found = read(figure, d_k=d_k, divisor=divisor, keys=keys, draws=draws, draw=draws)
        s, r = figure.state, figure.result
        assert all(math.isfinite(value) and value > 0 for value in found.values())
        low, high = ends(s, r)
        assert low <= min(m.one for m in r.curves.values())
        assert high > scaling.LARGEST
        assert "nan" not in figure.static_html() + figure._explanation()
        assert all(np.isfinite(np.array(t.values, dtype=float)).all() for p in figure._panels for t in p.data(s, r))


@pytest.mark.usefixtures("few")
def test_sentence_and_explanation_keep_to_their_lines():
    figure = app()
    longest = {"sentence": 0, "how": 0}
    for d_k, divisor, keys in product([1, 64, 1024, 4096], scaling.DIVISORS, [2, 6, 16]):
        figure.state.set(d_k=d_k, divisor=divisor, keys=keys, draws=2000, draw=1999)
        longest["sentence"] = max(longest["sentence"], len(said(figure.sentence())))
        assert "d_k" not in said(figure.sentence())
        for i, j in ((0, 0), (0, 1), (keys - 1, keys - 2)):
            longest["how"] = max(longest["how"], len(said(scaling.how(figure.state, figure.result, i, j))))
    assert longest["sentence"] <= 4 * 36  # characters on a narrow card
    assert longest["how"] <= 3 * 46
    assert longest["how"] <= 150  # a line of a wide one


@pytest.mark.parametrize(("keys", "printed"), [(6, True), (7, False)])
@pytest.mark.usefixtures("few")
def test_the_jacobian_prints_numbers_while_there_is_room(keys, printed):
    figure = app()
    figure.state.set(keys=keys)
    grid = figure._panels[-1].render(figure.state, figure.result)
    texts = re.findall(r'role="gridcell"[^>]*>([^<]*)</td>', grid)
    assert len(texts) == keys**2
    assert all(bool(text) is printed for text in texts)
    assert scaling.bars(figure.state, figure.result).count("<li>") == 2 * keys


@pytest.mark.usefixtures("few")
def test_the_jacobian_is_that_of_the_shown_draw():
    figure = app()
    figure.state.set(draw=17, divisor="sqrt")
    scores = sample_scores(np.random.default_rng(1), 768, 6, 400)[16]
    (table,) = figure._panels[-1].data(figure.state, figure.result)
    assert np.array_equal(table.values, softmax_jacobian(softmax(scores / math.sqrt(768))))


@pytest.mark.parametrize(
    ("pairs", "query", "noted"),
    [
        ({"d_k": "64", "divisor": "dk", "exact": "on"}, {"d_k": "64", "divisor": "dk", "exact": "on"}, []),
        ({"d_k": "9999"}, {"d_k": "4096"}, ["d_k"]),
        ({"d_k": "0"}, {"d_k": "1"}, ["d_k"]),
        ({"d_k": "100", "divisor": "2", "keys": "six", "draws": "1e3"}, {}, ["d_k", "divisor", "keys", "draws"]),
        ({"keys": "99", "draws": "1"}, {"keys": "16", "draws": "100", "draw": "100"}, ["keys", "draws"]),
        ({"draw": "401"}, {"draw": "400"}, ["draw"]),
        ({"draw": "401", "draws": "500"}, {"draw": "401", "draws": "500"}, []),
        ({"draws": "555"}, {"draws": "555"}, []),
        ({"exact": "yes", "seed": "-1"}, {"seed": "0"}, ["exact", "seed"]),
        ({"cell": "1,1"}, {}, []),  # what is pointed at is not in a link
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
    figure = app()
    figure.state.set(draw=400)
    figure.state.set(draws=100)
    assert figure.state.draw == 100
    assert re.search(r'id="draw-slider" min="0" max="99"', figure._settings.object)
    figure.take([("draw", "300")])
    assert figure.state.draw == 100
    assert "Draw was moved to 100" in figure._settings.object
    figure.take([("draws", "2000")])
    figure.take([("draw", "2000")])  # what End on the slider sends
    assert figure.state.draw == 2000
    assert re.search(r'id="draw-slider" min="0" max="1999"', figure._settings.object)


@pytest.mark.usefixtures("few")
def test_resample_takes_the_next_seed():
    figure = app()
    assert 'data-set="seed=2"' in figure._settings.object
    figure.state.set(seed=2**32 - 1)
    assert 'data-set="seed=0"' in figure._settings.object


@pytest.mark.usefixtures("few")
def test_the_slider_lies_on_the_axis():
    figure = app()
    places = State.param.d_k.control.places
    axis = figure._panels[0].x
    room = math.log2(scaling.ROOM)
    for d_k, place in zip(WIDTHS, places, strict=True):
        along = math.log(d_k / axis.low) / math.log(axis.high / axis.low)
        assert along == pytest.approx((room + 12 * place) / (12 + 2 * room))


def test_a_drag_ends_on_the_newest_value(shown, read):
    figure, document = shown
    for d_k in [*WIDTHS, *reversed(WIDTHS), 768]:
        change(figure, document, d_k=d_k, keys=2 + d_k % 15)
    finish(document)
    alone = app()
    state = {"d_k": 768, "keys": 2 + 768 % 15}
    alone.state.set(**state)
    assert [r.value for r in figure._readings] == [r.value for r in alone._readings]
    assert drawn(figure, "Largest entry") == drawn(alone, "Largest entry")
    assert drawn(figure, "Measured") == drawn(alone, "Measured")


def test_results_are_kept_while_only_the_width_or_the_draw_changes(shown):
    figure, document = shown
    study = figure.result.study
    change(figure, document, d_k=64)
    change(figure, document, divisor="sqrt", draw=3, cell=(1, 2))
    assert figure.result.study is study
    assert not working(document)


def test_the_band_is_kept_where_real_dot_products_are_formed(shown):
    figure, document = shown
    band = figure.result.study.band
    change(figure, document, exact=True)
    assert figure.result.study.band is band
    change(figure, document, seed=2)
    assert figure.result.study.band is not band


@pytest.mark.parametrize("state", [{}, {"exact": True, "d_k": 4096, "draws": 2000}, {"keys": 16, "draws": 2000}])
def test_the_first_result_is_there_at_once(state):
    s = State()
    s.set(**state)
    began = time.perf_counter()
    result = next(compute(s))
    assert result.done > 0
    assert time.perf_counter() - began < 0.1


def test_work_that_was_superseded_is_taken_up_where_it_was_left():
    s = State()
    s.set(draws=100)
    work = compute(s)
    for _ in range(40):  # into the band
        next(work)
    again = list(compute(s))[-1]
    alone = State()
    alone.set(draws=100)
    whole = list(compute(alone))[-1]
    assert np.array_equal(again.band, whole.band)
    assert again.curves == whole.curves


def test_a_number_that_is_not_final_says_how_far_it_is(shown):
    figure, document = shown
    with set_curdoc(document):
        figure.state.set(exact=True, d_k=4096)  # the readouts' own message, before anything is drawn
    done = figure.result.done
    assert 0 < done < 400
    so_far = {r.readout.name for r in figure._readings if r.beside == f"{done} of 400 draws so far"}
    assert so_far == {r.readout.name for r in figure._readings} - {"top_weight", "score_sd_theory"}
    assert all(r.partial for r in figure._readings if r.readout.name in so_far)
    assert "are being formed" in figure.sentence()
    finish(document)
    assert "so far" not in figure._numbers.object
    assert "passes on" in figure.sentence()
    scores = sample_scores(np.random.default_rng(1), 4096, 6, 400, exact=True)
    assert figure._readings[0].value == scores.std()
    assert list(figure.result.curves) == WIDTHS


def entry(figure, row, column):
    figure.state.set(cell=(row, column))
    return said(figure._explanation()).split(": ")[1].split(" = ")


@pytest.mark.usefixtures("few")
def test_the_selected_entry_is_worked_out_with_its_numbers():
    figure = app()
    figure.state.set(d_k=4)
    p = figure.result.weights(figure.state)
    assert entry(figure, 2, 3) == [
        "∂p₂/∂s₃", "−p₂ p₃", f"−{small(p[1], 3)} · {small(p[2], 3)}", small(-p[1] * p[2], 3),
    ]  # fmt: skip
    assert entry(figure, 4, 4) == [
        "∂p₄/∂s₄", "p₄ (1 − p₄)", f"{small(p[3], 3)} · {small(1 - p[3], 3)}", small(p[3] * (1 - p[3]), 3),
    ]  # fmt: skip


@pytest.mark.usefixtures("few")
def test_a_weight_next_to_1_keeps_its_entry():
    figure = app()
    figure.set_scene("4096: the gradient is gone")
    rest = scientific(scaling.missing(figure.state, figure.result))
    assert entry(figure, 3, 3)[2:] == [f"(1 − {rest}) · {rest}", rest]
    figure.state.set(keys=2)  # a gap no float next to 1 can tell
    rest = scientific(scaling.missing(figure.state, figure.result))
    top = int(figure.result.row(figure.state).argmax()) + 1
    assert figure.result.weights(figure.state).max() > 1 - 1e-15
    assert entry(figure, top, top)[2:] == [f"(1 − {rest}) · {rest}", rest]
    assert scaling.others(np.array([0.0, 40.0])) == pytest.approx(4.248354255291589e-18)


@pytest.mark.usefixtures("few")
def test_row_and_column_are_among_the_keys():
    figure = app()
    figure.state.set(keys=16)
    figure.take([("cell", "16,12")])
    assert figure.state.cell == (16, 12)
    assert figure.query == {"keys": "16"}
    figure.state.set(keys=3)
    assert figure.state.cell == (3, 3)
    for name in ("Row", "Column"):
        options = re.search(rf'aria-label="{name}">(.*?)</select>', figure._settings.object)[1]
        assert options.count("<option") == 3


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("go_back", [lambda figure: figure.load_query([]), lambda figure: figure.set_scene("d_k = 2")])
def test_a_link_and_a_scene_point_at_the_first_entry(go_back):
    figure = app()
    figure.state.set(cell=(2, 5))
    go_back(figure)
    assert figure.state.cell == (3, 3)


@pytest.mark.usefixtures("few")
def test_draws_that_were_let_go_are_made_again(shown, read):
    figure, document = shown
    change(figure, document, d_k=64)
    before = [r.value for r in figure._readings]
    change(figure, document, d_k=4)
    figure.lighten()
    assert list(figure.result.study._experiments) == [4]
    change(figure, document, d_k=64)
    finish(document)
    assert [r.value for r in figure._readings] == before


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    "state",
    [
        {},
        {"d_k": 2, "divisor": "dk", "keys": 3},
        {"d_k": 64, "exact": True, "draws": 100, "divisor": "sqrt", "seed": 9},
    ],
)
def test_the_code_computes_what_is_shown(read, state):
    figure = app()
    found = read(figure, **state)
    names = {}
    exec(figure._code(figure.state, figure.result), names)
    for name, value in found.items():
        assert names[name] == pytest.approx(value, rel=1e-12), name
    assert names["jacobian"] == pytest.approx(softmax_jacobian(figure.result.weights(figure.state)))


@pytest.mark.usefixtures("few")
def test_the_width_in_the_sentence_is_a_control():
    figure = app()
    assert re.search(r'class="inline"[^>]*data-set="d_k"', figure.sentence())
    figure.take([("d_k", "4096")])
    assert figure.state.d_k == 4096
    figure.take([("d_k", "100")])
    assert figure.state.d_k == 4096
    assert "d<sub>k</sub> keeps 4096" in figure._primary.object


def test_the_style_sheet_knows_the_borders_of_the_chart():
    chart = scaling.PANELS[0]
    assert f"--room: calc((100% - {chart.left + chart.right}px) * .35 / 12.7)" in STYLE
    assert (
        f"margin: 0 calc({chart.right}px - .75rem + var(--room)) 0 calc({chart.left}px - .75rem + var(--room))" in STYLE
    )
    assert math.log2(scaling.ROOM) == pytest.approx(0.35)
