"""Figure 1: errors of scores and weights in every mode, their counter-examples, and what is said of them."""

import itertools
import math
import re

import numpy as np
import pytest

from attention_core import EMBEDDINGS, TOKENS, mean_pairwise_distance, softmax
from figures import asymmetry
from figures.asymmetry import MODE_OF, MODES, RELATIONS, SCENES, SHOWN, State, compute, forward, nearest
from figures.shared.format import said

JOURNEY, STARTS = TOKENS.index("journey"), TOKENS.index("starts")
NONE, UNDIVIDED = {"mode": "none"}, {"mode": "none", "divisor": "one"}
READOUTS = {
    "score_error", "weight_error", "score_pair", "pair", "row_sums", "softmax_denominators", "context_journey",
    "input_spread", "output_spread", "spread_ratio", "nearest",
}  # fmt: skip
CORNERS = [
    {"mode": mode, "divisor": divisor, "seed": seed, "relation": relation, "cell": cell, "show": show}
    for mode, divisor, seed, relation, cell, show in itertools.product(
        MODES, ("sqrt", "one"), (0, 2**32 - 1), RELATIONS, ((1, 1), (6, 1)), SHOWN
    )
]


@pytest.fixture(scope="module")
def figure(on_show):
    figure, _ = on_show(asymmetry.app)
    return figure


def chosen(figure):
    """Return the forward pass of the chosen mode."""
    return figure.result[figure.state.mode]


def stage(figure):
    """Return the small multiples as HTML."""
    return asymmetry.mirrors(figure.state, figure.result)


def explained(figure):
    """Return the explanation of the selected cell as it is spoken."""
    i, j = figure.state.cell
    return said(asymmetry.how(figure.state, figure.result, i - 1, j - 1))


def scene(figure, read, name):
    return read(figure, **figure.scenes[name])


def test_separate_matrices_are_shown_first(figure, read, recorded):
    values = read(figure)
    assert set(values) == READOUTS
    assert (figure.state.mode, figure.state.show, figure.state.cell) == ("separate", "weights", (2, 3))
    assert values["score_error"] == recorded("fig1_separate_score_error")
    assert values["weight_error"] == recorded("fig1_separate_weight_error")
    assert values["context_journey"] == recorded("s34_context", 1)
    assert figure.query == {}


def test_no_matrices(figure, read, recorded):
    values = read(figure, **NONE)
    assert values["score_error"] == recorded("fig1_none_score_error") == 0
    assert values["weight_error"] == recorded("fig1_none_weight_error_sqrt2", "max_abs")
    assert values["score_pair"] == [recorded("intro_score_journey_starts")] * 2
    assert values["pair"] == [recorded("fig1_none_journey_starts"), recorded("fig1_none_starts_journey")]
    assert values["row_sums"] == recorded("fig1_row_sums")
    assert values["softmax_denominators"] == recorded("fig1_denominators_sqrt2")
    assert values["context_journey"] == recorded("fig1_none_context_journey_sqrt2")
    assert values["input_spread"] == recorded("intro_spread_inputs")


def test_no_divisor(figure, read, recorded):
    values = scene(figure, read, "No divisor")
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
    assert "undivided" in figure.sentence()


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
    query, key, _ = chosen(figure).projections
    assert (key == 2 * query).all()
    assert "W<sub>k</sub> = 2 W<sub>q</sub>" in figure.sentence()
    assert "W<sub>k</sub> = 2 W<sub>q</sub></small>" in stage(figure)
    assert figure.state.show == "scores"


@pytest.mark.parametrize("divisor", ["sqrt", "one"])
def test_orthonormal_inputs_have_symmetric_weights(figure, read, recorded, divisor):
    values = read(figure, **{**figure.scenes["Orthonormal inputs"], "divisor": divisor})
    assert values["weight_error"] == recorded("fig1_counterexample_symmetric_weights") == 0
    assert values["row_sums"] == [1] * 6
    assert len(values["context_journey"]) == 6
    assert "orthonormal inputs" in figure.sentence()
    assert "so are the weights" in figure.sentence()
    assert "X = I" in stage(figure)


@pytest.mark.parametrize("seed", [0, 1, 2, 789, 2**32 - 1])
def test_scores_are_exactly_symmetric_from_any_seed(figure, read, seed):
    for state in (NONE, {"mode": "tied"}, {"mode": "separate", "relation": "double"}):
        assert read(figure, seed=seed, **state)["score_error"] == 0
    assert read(figure, seed=seed, mode="separate")["score_error"] > 0


@pytest.mark.parametrize(("mode", "divisor"), [*itertools.product(MODES, ("sqrt", "one"))])
def test_one_divisor_rule_for_all_modes(mode, divisor):
    result = forward(State(mode=mode, divisor=divisor), mode)
    root = math.sqrt(2) if divisor == "sqrt" else 1
    assert result.weights == pytest.approx(softmax(result.omega / root), abs=1e-15)


@pytest.mark.parametrize("mode", MODES)
def test_readouts_follow_from_the_matrices(figure, read, mode):
    values = read(figure, mode=mode, divisor="one")
    result = chosen(figure)
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
    assert values["score_pair"] == [chosen(figure).omega[i, j], chosen(figure).omega[j, i]]
    assert values["pair"] == [chosen(figure).weights[i, j], chosen(figure).weights[j, i]]
    shown = {reading.readout.name: reading.beside for reading in figure._readings}
    assert shown["score_pair"] == shown["pair"] == f"{TOKENS[i]} ⇄ {TOKENS[j]}"


def test_readouts_do_not_depend_on_what_is_shown(figure, read):
    assert read(figure, show="scores") == read(figure, show="weights")


class TestStage:
    """Six small multiples, which are the control too."""

    def pictures(self, figure):
        return re.findall(
            r'<span class="pick" data-set="mode=(\w+)&show=(\w+)"[^>]*?( aria-current=true)?>.*?mirror gap (.*?)</',
            stage(figure),
        )

    def test_all_six_are_computed_for_the_state(self, figure, read):
        for state in ({}, {"seed": 5}, {"divisor": "one"}, {"relation": "double"}, {"relation": "identity"}):
            read(figure, **state)
            found = {(mode, show): gap for mode, show, _, gap in self.pictures(figure)}
            assert set(found) == set(itertools.product(MODES, SHOWN))
            for (mode, show), gap in found.items():
                values = read(figure, **{**state, "mode": mode, "relation": relation_in(mode, state)})
                error = values["score_error" if show == "scores" else "weight_error"]
                assert gap == (f"up to {error:.4f}" if error else "0: symmetric")

    def test_the_recorded_gaps(self, figure, read):
        read(figure)
        assert [gap for *_, gap in self.pictures(figure)] == [
            *("0: symmetric", "0: symmetric", "up to 0.3370"),
            *("up to 0.0634", "up to 0.0992", "up to 0.1043"),
        ]

    def test_a_picture_sets_mode_and_quantity_and_is_then_framed(self, figure, read):
        read(figure)
        for mode, show in itertools.product(MODES, SHOWN):
            figure.take([("mode", mode), ("show", show)])
            assert (figure.state.mode, figure.state.show) == (mode, show)
            assert [picture[:2] for picture in self.pictures(figure) if picture[2]] == [(mode, show)]

    def test_columns_and_rows_are_radio_buttons(self, figure, read):
        read(figure, mode="tied", show="scores")
        groups = re.findall(r'role="radiogroup" aria-label="(\w+)">(.*?)</div>', stage(figure))
        names = [(label, re.findall(r'aria-label="([^"]+)"', radios)) for label, radios in groups]
        assert names == [("Mode", ["No matrices", "Tied", "Separate"]), ("Show", ["Scores", "Weights"])]
        checked = [re.findall(r'aria-label="([^"]+)" checked', radios) for _, radios in groups]
        assert checked == [["Tied"], ["Scores"]]

    def test_differences_are_mirrored_with_the_other_sign_and_zero_is_paper(self, figure, read):
        read(figure)
        gap = chosen(figure).gap("scores")
        assert (gap == -gap.T).all()
        none, _, separate = re.findall(r'<span class="mini diagonal".*?</span>', stage(figure))[:3]
        assert "--a:" not in none
        assert separate.count('class="negative"') == separate.count("--a:") / 2 == 15

    def test_the_differences_stand_in_the_data(self, figure, read):
        read(figure)
        (table,) = asymmetry.mirror_data(figure.state, figure.result)
        assert np.shape(table.values) == (15, 6)
        errors = np.abs(table.values).max(axis=0)
        assert errors == pytest.approx([0, 0, 0.3370, 0.0634, 0.0992, 0.1043], abs=5e-5)


def relation_in(mode, state):
    """Return the relation that a mode is shown with."""
    relation = state.get("relation", "seed")
    return relation if MODE_OF.get(relation) == mode else "seed"


class TestRelation:
    """A relation has a mode of its own, and another mode ends it."""

    def test_the_relation_brings_its_mode(self):
        state = State()
        state.set(relation="identity")
        assert state.mode == "none"
        state.set(relation="double")
        assert state.mode == "separate"

    @pytest.mark.parametrize(("relation", "mode"), [("double", "tied"), ("double", "none"), ("identity", "separate")])
    def test_another_mode_ends_it(self, relation, mode):
        for change in (lambda state: state.set(mode=mode), lambda state: state.take([("mode", mode)])):
            state = State()
            state.set(relation=relation)
            change(state)
            assert (state.relation, state.mode) == ("seed", mode)

    def test_its_own_mode_does_not_end_it(self):
        state = State()
        state.set(relation="double")
        state.take([("mode", "separate"), ("show", "scores")])
        assert state.relation == "double"

    @pytest.mark.parametrize("former", [{}, {"relation": "double"}, {"relation": "identity"}, {"mode": "tied"}])
    @pytest.mark.parametrize(("mode", "relation"), [*itertools.product(MODES, RELATIONS)])
    def test_one_link_means_one_state(self, mode, relation, former):
        wanted = (MODE_OF.get(relation, mode), relation)
        pairs = [("mode", mode), ("relation", relation), ("show", "scores")]
        for ordered, way in itertools.product(itertools.permutations(pairs), ("load_query", "take")):
            state = State()
            state.set(**former)
            getattr(state, way)(ordered)
            assert (state.mode, state.relation) == wanted

    @pytest.mark.parametrize("former", [{}, {"relation": "double"}, {"relation": "identity"}])
    def test_a_link_without_a_relation_has_none(self, former):
        state = State()
        state.set(**former)
        assert state.load_query([("mode", "tied")]) == ""
        assert (state.mode, state.relation) == ("tied", "seed")
        assert "ignored" in state.load_query([("relation", "triple"), ("mode", "tied")])
        assert (state.mode, state.relation) == ("tied", "seed")

    def test_the_link_of_each_scene_restores_it(self, figure):
        for name in figure.scenes:
            figure.set_scene(name)
            shown, link = chosen(figure), figure.state.query()
            state = State()
            assert state.load_query(link.items()) == ""
            again = forward(state, state.mode)
            assert (again.weights == shown.weights).all()
            assert state.query() == link

    def test_it_has_no_control(self, figure, read):
        read(figure, relation="double")
        assert "relation" not in figure._settings.object + figure._primary.object


def test_a_scene_is_pressed_in_its_state_only(figure):
    for name in figure.scenes:
        figure.set_scene(name)
        figure.state.set(cell=(4, 5))
        assert [other for other in figure.scenes if figure.in_scene(other)] == [name]
        pressed = re.findall(r'data-set="scene=([^"]+)"[^>]*aria-pressed="true"', figure._foot.object)
        assert pressed == [name]
        figure.take([("show", "scores" if figure.state.show == "weights" else "weights")])
        assert not figure.in_scene(name)


def test_the_names_of_the_scenes():
    assert list(SCENES) == [
        "No divisor", "Symmetric scores, lopsided weights", "Tied", "Separate", "W_k = 2 W_q", "Orthonormal inputs",
    ]  # fmt: skip


def test_how_a_cell_is_computed(figure, read):
    read(figure)
    assert explained(figure) == (
        "journey looks at starts with 0.2199, gets 0.2256 back. "
        "score 0.431·0.436 + 1.455·1.116 = 1.8111; its mirror 1.8284. weight exp(1.8111 / √2) / 16.3685 = 0.2199."
    )
    read(figure, **UNDIVIDED, show="scores")
    assert "journey scores starts with 1.4754, gets 1.4754 back" in explained(figure)
    assert "0.550·0.570 + 0.870·0.850 + 0.660·0.640 = 1.4754; its mirror 1.4754" in explained(figure)
    assert "exp(1.4754 / 1) / " in explained(figure)
    read(figure, cell=(2, 2))
    assert explained(figure).startswith("journey looks at itself with 0.2264, its own mirror.")


def test_pointing_at_a_cell_explains_it(figure, read):
    read(figure)
    figure.point([("cell", "5,1")])
    assert "one</b> looks at" in figure._below.object
    figure.point([])
    assert "journey</b> looks at" in figure._below.object
    figure.point([("cell", "<x>")])
    assert "journey</b> looks at" in figure._below.object


@pytest.mark.parametrize("mode", MODES)
def test_text_is_shown_as_text(figure, read, monkeypatch, mode):
    tokens = ("<b>&", "<img src=x onerror=a()>", "</script>", "'", '"', "–")
    monkeypatch.setattr(asymmetry, "TOKENS", tokens)
    read(figure, mode=mode)
    shown = asymmetry.how(figure.state, figure.result, 1, 2) + asymmetry.sentence(figure.state, figure.result)
    shown += figure.static_html()
    assert not re.search(r"<(img|script|/script|b>&)", shown)
    assert "&lt;img src=x onerror=a()&gt;" in shown


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        (NONE, "With no matrices the scores are exactly symmetric, but the weights differ by up to 0.0634, at journey "
         "and one."),
        (UNDIVIDED, "With no matrices, undivided, the scores are exactly symmetric, but the weights differ by up to "
         "0.0877, at journey and one."),
        ({"mode": "tied"}, "With Wk = Wq the scores are exactly symmetric, but the weights differ by up to 0.0992, at "
         "journey and one."),
        ({}, "With two separate matrices the scores differ from their mirror image by up to 0.3370, and the weights by "
         "up to 0.1043."),
        ({"relation": "double"}, "With Wk = 2 Wq the scores are exactly symmetric, but the weights differ by up to "
         "0.1803, at journey and one."),
        ({"relation": "identity", "mode": "none"}, "With orthonormal inputs and no matrices the scores are exactly "
         "symmetric, and so are the weights."),
    ],
)  # fmt: skip
def test_one_sentence_of_result(figure, read, state, sentence):
    read(figure, **state)
    assert said(figure.sentence()) == sentence


def test_every_corner_is_free_of_nan_and_fits_its_lines(figure, read):
    for state in CORNERS:
        read(figure, **state)
        text = figure.static_html() + explained(figure) + stage(figure)
        assert not re.search(r"\bnan\b|\binf\b|d_k|W_[qkv]\b", text, re.IGNORECASE)
        assert len(said(figure.sentence())) <= 135
        assert len(explained(figure)) <= 205
    read(figure)


def test_the_grid_shows_the_chosen_matrix_and_the_mirror_of_the_cell(figure, read):
    read(figure)
    grid = next(part.object for panel, part in figure._parts if getattr(panel, "mirror", False))
    assert "Separate: weights A" in grid
    assert re.findall(r'class="[^"]*\bselected"[^>]*data-set="cell=(\S+)"', grid) == ["2,3"]
    assert re.findall(r'class="[^"]*\bmirror"[^>]*data-set="cell=(\S+)"', grid) == ["3,2"]
    assert f">{chosen(figure).weights[0, 0]:.3f}</td>" in grid
    read(figure, cell=(4, 4), show="scores", mode="none")
    grid = next(part.object for panel, part in figure._parts if getattr(panel, "mirror", False))
    assert "No matrices: scores Ω" in grid
    assert not re.search(r'class="[^"]*\bmirror"', grid)


@pytest.mark.parametrize("mode", MODES)
def test_the_way_from_x_to_z_is_drawn_and_stands_in_the_data(figure, read, mode):
    read(figure, mode=mode)
    names = [name for stage in asymmetry.stages(figure.state, figure.result) for name in stage]
    assert names == (["X", "Ω", "A", "Z"] if mode == "none" else ["X", *("W_q", "W_k", "W_v"), *"QKV", "Ω", "A", "Z"])
    drawn = asymmetry.pipeline(figure.state, figure.result)
    assert re.findall(r"<small>(.*?)</small>", drawn)[0] == "6 × 3"
    assert drawn.count("mini") == len(names)
    tables = {table.name: table for table in asymmetry.pipeline_data(figure.state, figure.result)}
    assert set(tables) == set(names) - {"A"}
    assert (tables["Z"].values == chosen(figure).z).all()


@pytest.mark.parametrize("state", [{}, NONE, UNDIVIDED, {"mode": "tied", "seed": 7, "cell": (6, 1)}, *SCENES.values()])
def test_the_code_computes_the_readouts(figure, read, state):
    values = read(figure, **state)
    found = {}
    exec(asymmetry.code(figure.state, figure.result), found)
    names = ["score_error", "weight_error", "score_pair", "pair", "context_journey", "spread_ratio"]
    for name in names:
        assert np.asarray(found[name]) == pytest.approx(values[name], abs=1e-15)
    assert all(f"{name}" in figure._listing.object for name in names)


def test_a_change_of_what_is_shown_computes_nothing(figure, read):
    read(figure)
    before = figure.result
    figure.state.set(mode="tied", show="scores", cell=(1, 6))
    assert figure.result is before
    figure.state.set(divisor="one")
    assert figure.result is not before


def test_nothing_waits_and_nothing_is_kept_from_the_memory(figure, read):
    read(figure)
    figure.finish()
    figure.lighten()
    assert chosen(figure).weights.shape == (6, 6)


def test_models_are_made_once(on_show, read):
    figure, document = on_show(asymmetry.app)
    made = {model.id for model in document.models}
    for mode, show in itertools.product(MODES, SHOWN):
        read(figure, mode=mode, show=show)
    assert {model.id for model in document.models} == made


def test_a_link_is_bounded_and_says_what_it_could_not_use():
    state = State()
    notice = state.load_query(
        [("mode", "__import__('os')"), ("seed", "-1"), ("cell", "0,9"), ("show", "<b>"), ("divisor", "2")]
    )
    assert (state.mode, state.seed, state.cell, state.show, state.divisor) == ("separate", 0, (1, 6), "weights", "sqrt")
    assert notice.count("was moved") == 2
    assert notice.count("was ignored") == 3
    assert set(compute(state)) == set(MODES)
