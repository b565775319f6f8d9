"""Figure 1: errors of scores and weights in every mode, their counter-examples, and what is said of them."""

import itertools
import math
import re

import numpy as np
import pytest

from attention_core import EMBEDDINGS, TOKENS, mean_pairwise_distance, softmax
from figures import asymmetry
from figures.asymmetry import Asymmetry, State, forward, nearest

JOURNEY, STARTS = TOKENS.index("journey"), TOKENS.index("starts")
UNDIVIDED = {"divisor": "one"}
READOUTS = {
    "score_error", "weight_error", "score_pair", "pair", "row_sums", "softmax_denominators", "context_journey",
    "input_spread", "output_spread", "spread_ratio", "nearest",
}  # fmt: skip
MODES = ("none", "tied", "separate")


@pytest.fixture(scope="module")
def figure(on_show):
    figure, _ = on_show(Asymmetry)
    return figure


def scene(figure, read, name):
    return read(figure, **figure.scenes[name])


def test_no_matrices(figure, read, recorded):
    values = read(figure)
    assert set(values) == READOUTS
    assert values["score_error"] == recorded("fig1_none_score_error") == 0
    assert values["weight_error"] == recorded("fig1_none_weight_error_sqrt2", "max_abs")
    assert values["score_pair"] == [recorded("intro_score_journey_starts")] * 2
    assert values["pair"] == [recorded("fig1_none_journey_starts"), recorded("fig1_none_starts_journey")]
    assert values["row_sums"] == recorded("fig1_row_sums")
    assert values["softmax_denominators"] == recorded("fig1_denominators_sqrt2")
    assert values["context_journey"] == recorded("fig1_none_context_journey_sqrt2")
    assert values["input_spread"] == recorded("intro_spread_inputs")


def test_where_the_last_post_ended(figure, read, recorded):
    values = scene(figure, read, "Where the last post ended")
    assert values["context_journey"] == recorded("intro_context_journey")
    assert values["weight_error"] == recorded("fig1_none_weight_error_unscaled", "max_abs")
    assert values["pair"] == [
        recorded("fig1_none_weight_error_unscaled", "journey_to_starts"),
        recorded("fig1_none_weight_error_unscaled", "starts_to_journey"),
    ]
    assert values["output_spread"] == recorded("intro_spread_outputs")
    assert values["spread_ratio"] == recorded("intro_spread_ratio")
    assert values["nearest"] == recorded("intro_nearest").expected
    assert "7.3 %" in figure.static_html()


def test_tied(figure, read, recorded):
    values = scene(figure, read, "Tied")
    assert values["score_error"] == recorded("fig1_tied_score_error") == 0
    assert values["weight_error"] == recorded("fig1_tied_weight_error")


def test_separate(figure, read, recorded):
    values = scene(figure, read, "Separate")
    assert values["score_error"] == recorded("fig1_separate_score_error")
    assert values["weight_error"] == recorded("fig1_separate_weight_error")


def test_a_key_matrix_twice_the_query_matrix_keeps_the_scores_symmetric(figure, read, recorded):
    values = scene(figure, read, "W_k = 2 W_q")
    assert values["score_error"] == recorded("fig1_counterexample_scaled_key")
    assert values["score_error"] == 0
    assert values["weight_error"] > 0.1
    query, key, _ = figure.result.projections
    assert (key == 2 * query).all()
    assert "twice the query matrix" in figure.summary()


@pytest.mark.parametrize("divisor", ["sqrt", "one"])
def test_orthonormal_inputs_have_symmetric_weights(figure, read, recorded, divisor):
    values = read(figure, **{**figure.scenes["Orthonormal inputs"], "divisor": divisor})
    assert values["weight_error"] == recorded("fig1_counterexample_symmetric_weights") == 0
    assert values["row_sums"] == [1] * 6
    assert len(values["context_journey"]) == 6
    assert "Orthonormal inputs" in figure.summary()
    assert "so are the weights" in figure.summary()


@pytest.mark.parametrize("seed", [0, 1, 2, 789, 2**32 - 1])
def test_scores_are_exactly_symmetric_from_any_seed(figure, read, seed):
    for state in ({}, {"mode": "tied"}, {"mode": "separate", "relation": "double"}):
        assert read(figure, seed=seed, **state)["score_error"] == 0
    assert read(figure, seed=seed, mode="separate")["score_error"] > 0


@pytest.mark.parametrize(("mode", "divisor"), [*itertools.product(MODES, ("sqrt", "one"))])
def test_one_divisor_rule_for_all_modes(mode, divisor):
    result = forward(State(mode=mode, divisor=divisor))
    root = math.sqrt(2) if divisor == "sqrt" else 1
    assert result.weights == pytest.approx(softmax(result.omega / root), abs=1e-15)


@pytest.mark.parametrize("mode", MODES)
def test_readouts_follow_from_the_matrices(figure, read, mode):
    values = read(figure, mode=mode, **UNDIVIDED)
    result = figure.result
    assert values["row_sums"] == pytest.approx(result.omega.sum(axis=1))
    assert values["softmax_denominators"] == pytest.approx(np.exp(result.omega).sum(axis=1))
    assert values["context_journey"] == pytest.approx(result.weights[JOURNEY] @ result.v)
    assert values["spread_ratio"] == pytest.approx(values["output_spread"] / values["input_spread"])
    averaged = EMBEDDINGS if mode == "none" else result.v
    assert values["input_spread"] == pytest.approx(mean_pairwise_distance(averaged))
    assert values["output_spread"] == pytest.approx(mean_pairwise_distance(result.z))
    distances = np.linalg.norm(result.z[:, None] - averaged[None], axis=-1)
    assert values["nearest"] == [TOKENS[i] for i in distances.argmin(axis=1)]


def test_each_embedding_is_nearest_to_itself():
    assert nearest(EMBEDDINGS, EMBEDDINGS) == list(TOKENS)
    assert nearest(EMBEDDINGS[::-1], EMBEDDINGS) == list(TOKENS[::-1])


@pytest.mark.parametrize(("row", "column"), [(1, 6), (6, 1), (3, 3), (2, 3)])
def test_the_pairs_are_a_cell_and_its_mirror_image(figure, read, row, column):
    values = read(figure, mode="separate", cell=(row, column))
    i, j = row - 1, column - 1
    assert values["score_pair"] == [figure.result.omega[i, j], figure.result.omega[j, i]]
    assert values["pair"] == [figure.result.weights[i, j], figure.result.weights[j, i]]
    shown = {readout.name: readout.beside for readout in figure.readouts()}
    assert shown["score_pair"] == shown["pair"] == f"{TOKENS[i]} ⇄ {TOKENS[j]}"


def test_readouts_do_not_depend_on_what_is_shown(figure, read):
    assert read(figure, show="scores") == read(figure, show="weights")


class TestRelation:
    """A relation has a mode of its own, and another mode ends it."""

    def test_the_relation_brings_its_mode(self):
        state = State()
        state.relation = "double"
        assert state.mode == "separate"
        state.relation = "identity"
        assert state.mode == "none"

    @pytest.mark.parametrize(("relation", "mode"), [("double", "tied"), ("double", "none"), ("identity", "separate")])
    def test_another_mode_ends_it(self, relation, mode):
        state = State()
        state.relation = relation
        state.mode = mode
        assert (state.relation, state.mode) == ("seed", mode)

    @pytest.mark.parametrize("relation", ["double", "identity"])
    def test_in_a_link_the_relation_decides(self, relation):
        state = State()
        state.load_query([("mode", "tied"), ("relation", relation)])
        assert state.mode == State._MODES.get(state.relation, "tied")
        result = forward(state)
        assert np.isfinite(result.weights).all()

    def test_the_link_of_each_scene_restores_it(self, figure):
        for name in figure.scenes:
            figure.set_scene(name)
            shown, link = forward(figure.state), figure.state.query()
            state = State()
            assert state.load_query(link.items()) == ""
            again = forward(state)
            assert (again.weights == shown.weights).all()
            assert state.query() == link


def test_scenes_are_recognised_whatever_cell_is_selected(figure):
    for name in figure.scenes:
        figure.set_scene(name)
        figure.state.cell = (4, 5)
        assert name in [other for other, chip in figure._chips.items() if chip.pressed]


def test_how_a_cell_is_computed(figure, read):
    read(figure)
    said = figure.explanation()
    assert "0.550·0.570 + 0.870·0.850 + 0.660·0.640 = 1.4754" in said
    assert "exp(1.4754 / √2) / 13.3005 = 0.2134" in said
    read(figure, mode="separate", **UNDIVIDED)
    assert "q(journey)" in figure.explanation()
    assert "/ 1)" in figure.explanation()


def test_pointing_at_a_cell_says_how_it_is_computed(figure, read):
    read(figure)
    assert figure._map._cells.data["how"][8] == (
        "Ω[journey, starts] = 0.550·0.570 + 0.870·0.850 + 0.660·0.640 = 1.4754"
    )
    assert figure._difference._cells.data["how"][8] == "Ω − Ωᵀ[journey, starts] = 1.4754 − 1.4754 = 0"
    read(figure, mode="separate", show="weights")
    assert re.fullmatch(
        r"A\[journey, starts\] = exp\(1\.8111 / √2\) / \d+\.\d{4} = 0\.\d{4}", figure._map._cells.data["how"][8]
    )
    hows = {how.split(" = ")[0]: how for how in figure._strip_plot._cells.data["how"]}
    assert hows["X[2, 1]"] == "X[2, 1] = 0.5500"
    assert hows["Q[2, 1]"].count("·") == 3
    assert hows["Z[2, 1]"].count("·") == 6
    assert hows["Z[2, 1]"].endswith(f"= {figure.result.z[1, 0]:.4f}")


@pytest.mark.parametrize("mode", MODES)
def test_text_is_shown_as_text(on_show, monkeypatch, mode):
    tokens = ("<b>&", "<img src=x onerror=a()>", "</script>", "'", '"', "–")
    monkeypatch.setattr(asymmetry, "TOKENS", tokens)
    figure, _ = on_show(Asymmetry)
    figure.state.mode = mode
    shown = figure.explanation() + figure.static_html() + figure._strip.object
    assert not re.search(r"<(img|script|/script|b>&)", shown)
    assert "&lt;img src=x onerror=a()&gt;" in figure.explanation()


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ({}, "No matrices, divided by √2: the scores are exactly symmetric; the weights are not: they differ by up to "
         "0.0634, at journey and one."),
        (UNDIVIDED, "No matrices, divided by 1: the scores are exactly symmetric; the weights are not: they differ by "
         "up to 0.0877, at journey and one."),
        ({"mode": "tied"}, "One matrix in both roles, divided by √2: the scores are exactly symmetric; the weights are "
         "not: they differ by up to 0.0992, at journey and one."),
        ({"mode": "separate"}, "Two separate matrices, divided by √2: the scores differ from their mirror image by up "
         "to 0.3370; the weights differ by up to 0.1043, at journey and one."),
        ({"relation": "identity"}, "Orthonormal inputs and no matrices, divided by √2: the scores are exactly "
         "symmetric; so are the weights."),
    ],
)  # fmt: skip
def test_one_sentence_of_result(figure, read, state, sentence):
    read(figure, **state)
    assert figure.summary() == sentence


def test_every_corner_is_free_of_nan(figure, read):
    ends = itertools.product(MODES, ("sqrt", "one"), (0, 2**32 - 1), ("seed", "double", "identity"), ((1, 1), (6, 1)))
    for mode, divisor, seed, relation, cell in ends:
        figure.state.param.update(mode=mode, divisor=divisor, seed=seed, relation=relation, cell=cell)
        assert not re.search(r"\bnan\b|\binf\b", figure.static_html() + figure.explanation(), re.IGNORECASE)
    read(figure)


def test_the_maps_show_the_matrix_and_what_its_mirror_image_does_not_share(figure, read):
    read(figure, mode="separate", show="weights")
    result = figure.result
    shown, gaps = (np.reshape(m._cells.data["text"], (6, 6)) for m in (figure._map, figure._difference))
    assert shown[0, 0] == f"{result.weights[0, 0]:.3f}"
    assert set(np.diag(gaps)) == {"0"}
    assert [text.lstrip("−") for text in gaps[0]] == [text.lstrip("−") for text in gaps[:, 0]]
    assert figure._map._marks.data["dash"] == ["solid", "dashed"]


def test_models_are_made_once(on_show, read):
    figure, document = on_show(Asymmetry)
    made = {model.id for model in document.models}
    for mode, show in itertools.product(MODES, ("scores", "weights")):
        read(figure, mode=mode, show=show)
    assert {model.id for model in document.models} == made
