"""Figure 5: stripes, shapes and the proof; every number is of one layer; large presets cost nothing."""

import itertools
import math
import re
import tracemalloc
from html import unescape

import numpy as np
import pytest

from attention_core import EMBEDDINGS, Projections, TorchGenerator, attention, shape_trace
from figures.heads import LINES, SCENES, State, app, how
from figures.layers import PRESETS, Sizes, layer, prove
from figures.shared.format import said
from figures.stripes import STRIPES

DIVISORS_OF_768 = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 768]
# The output of the split class, section 3.6.2: the same for both sequences of the batch.
PRINTED_BY_THE_BOOK = np.array(
    [[0.3190, 0.4858], [0.2943, 0.3897], [0.2856, 0.3593], [0.2693, 0.3873], [0.2639, 0.3928], [0.2575, 0.4028]]
)
# The output of the wrapper, section 3.6.1, of one sequence.
PRINTED_OF_THE_WRAPPER = np.array(
    [
        [-0.4519, 0.2216, 0.4772, 0.1063],
        [-0.5874, 0.0058, 0.5891, 0.3257],
        [-0.6300, -0.0632, 0.6202, 0.3860],
        [-0.5675, -0.0843, 0.5478, 0.3589],
        [-0.5526, -0.0981, 0.5321, 0.3428],
        [-0.5299, -0.1081, 0.5077, 0.3493],
    ]
)
READOUTS = {
    "head_dim", "divisor", "divisor_wrong", "output_width", "parameters", "projection_products",
    "attention_products", "shape", "max_difference",
}  # fmt: skip
# What fits on the lines that are kept for a text, by characters: cautious for the fonts of the page.
SENTENCE, HOW = 2 * 88, 5 * 44
# Every preset and class, with few heads, its own number, and as many as there are columns.
STATES = [
    {"preset": preset, "kind": kind, "heads": heads}
    for preset, kind in itertools.product(PRESETS, LINES)
    for heads in (1, 2, None, PRESETS[preset].d_out)
]


@pytest.fixture(scope="module")
def figure():
    return app()


def load(**query):
    state = State()
    return state, state.load_query(query.items())


# The numbers


def test_what_is_seen_first(figure, read):
    values = read(figure)
    assert set(values) == READOUTS
    assert (values["head_dim"], values["output_width"], values["max_difference"]) == (2, 8, 0)
    assert values["shape"] == [1, 6, 4, 2]  # line 3


def test_the_toy(figure, read, recorded):
    split, wrapper, matched = (read(figure, preset="toy", kind=kind) for kind in LINES)
    assert split["head_dim"] == matched["head_dim"] == recorded("fig5_params_toy", "head_dim")
    assert split["divisor"] == matched["divisor"] == 1
    assert split["parameters"] == recorded("fig5_params_toy", "split_total")
    assert wrapper["parameters"] == recorded("fig5_params_toy", "wrapper_qkv_at_d_out_per_head")
    assert matched["parameters"] == recorded("fig5_params_toy", "wrapper_qkv_at_matched_width")
    assert wrapper["output_width"] == recorded("fig5_params_toy", "wrapper_width_at_d_out_per_head")
    assert split["output_width"] == matched["output_width"] == 2
    assert split["max_difference"] == wrapper["max_difference"] == matched["max_difference"] == 0


def test_gpt2_divides_by_8(figure, read, recorded):
    values = read(figure, **SCENES["GPT-2 divides by 8"])
    assert values["divisor"] == recorded("fig5_divisor_split")
    assert values["divisor_wrong"] == recorded("fig5_divisor_wrong")
    assert values["parameters"] == recorded("fig5_params_gpt2", "split_total")
    assert values["head_dim"] == recorded("fig5_params_gpt2", "head_dim")
    assert values["max_difference"] is None
    assert "√64\u00a0=\u00a08" in figure.sentence()
    assert "√768\u00a0=\u00a027.7" in figure.sentence()


def test_wrapper_at_matched_width_is_one_layer(figure, read, recorded):
    values = read(figure, **SCENES["Wrapper at matched width"])
    assert values["parameters"] == recorded("fig5_params_gpt2", "wrapper_qkv_at_matched_width")
    assert values["head_dim"] == recorded("fig5_params_gpt2", "head_dim")
    assert values["divisor"] == recorded("fig5_divisor_split")
    assert values["divisor_wrong"] == recorded("fig5_divisor_wrong")
    assert values["output_width"] == 768
    assert values["projection_products"] == recorded("fig5_matmuls_gpt2", "wrapper_projections")
    assert values["shape"] == [1, 64, 1024]
    assert read(figure, **SCENES["Wrapper at matched width"], line=7)["shape"] == [1, 1024, 768]


def test_the_wrapper_as_the_book_has_it_is_wide(figure, read, recorded):
    values = read(figure, preset="gpt2", kind="wrapper", line=7)
    assert values["output_width"] == recorded("fig5_params_gpt2", "wrapper_width_at_d_out_per_head")
    assert values["parameters"] == recorded("fig5_params_gpt2", "wrapper_qkv_at_d_out_per_head")
    assert values["divisor"] == math.sqrt(768)
    assert values["shape"] == [1, 1024, 9216]
    assert "9,216" in figure.sentence()


@pytest.mark.parametrize("state", STATES, ids=str)
def test_every_number_is_of_one_layer(figure, read, state):
    values = read(figure, **state, line=99, head=1600)
    sizes = figure.state.sizes
    assert values["head_dim"] * sizes.num_heads == values["output_width"]
    assert values["divisor"] == math.sqrt(values["head_dim"])
    assert values["divisor_wrong"] == math.sqrt(values["output_width"])
    assert values["shape"][-1] == values["output_width"]  # the last line makes what comes out
    assert values["projection_products"] * 2 == values["attention_products"] * 3
    weights = 3 * sizes.d_in * values["output_width"]
    projection = values["output_width"] * (values["output_width"] + 1) if state["kind"] == "split" else 0
    assert values["parameters"] == weights + projection
    assert values["max_difference"] == (0 if state["preset"] in ("toy", "small") else None)
    assert not re.search(r"\bnan\b|\binf\b|None", figure.static_html() + figure.sentence(), re.IGNORECASE)


@pytest.mark.parametrize("preset", ["toy", "gpt2"])
@pytest.mark.parametrize("kind", ["wrapper", "matched"])
def test_products(figure, read, recorded, preset, kind):
    split, wrapper = read(figure, preset=preset), read(figure, preset=preset, kind=kind)
    name = f"fig5_matmuls_{preset}"
    assert split["projection_products"] == recorded(name, "split_projections")
    assert split["attention_products"] == recorded(name, "split_attention_calls")
    assert wrapper["projection_products"] == recorded(name, "wrapper_projections")
    assert wrapper["attention_products"] == recorded(name, "wrapper_attention")


@pytest.mark.parametrize("preset", ["toy", "gpt2"])
def test_shapes_of_the_split_class(figure, read, recorded, preset):
    lines = range(1, len(LINES["split"]) + 1)
    shapes = [read(figure, preset=preset, line=line)["shape"] for line in lines]
    assert shapes == [recorded(f"fig5_trace_{preset}", line - 1, 1) for line in lines]


def test_shape_of_the_wrapper(figure, read, recorded):
    assert read(figure, preset="toy", kind="wrapper", line=7)["shape"] == recorded("fig5_wrapper_shape_toy")


@pytest.mark.parametrize("kind", LINES)
@pytest.mark.parametrize("preset", PRESETS)
def test_named_axes_have_the_sizes_of_the_trace(preset, kind):
    sizes = PRESETS[preset]._replace(kind=kind)
    named = sizes._asdict() | {"H": sizes.num_heads, "head_dim": sizes.head_dim, "width": sizes.width}
    for step, (axes, _) in zip(sizes.trace, LINES[kind], strict=True):
        assert step.shape == tuple(named[axis] for axis in axes.split())


def test_the_matched_wrapper_is_the_books_wrapper_with_a_smaller_d_out():
    sizes = Sizes(1, 1024, 768, 768, 12, "matched")
    assert sizes.trace == shape_trace(1, 1024, 768, 64, 12, "wrapper")
    assert sizes.parameters == sizes._replace(d_out=64, kind="wrapper").parameters


# The proof


@pytest.mark.parametrize(("preset", "heads"), [("toy", 1), ("toy", 2), *(("small", h) for h in (1, 2, 4, 8))])
@pytest.mark.parametrize("kind", ["split", "wrapper"])
def test_slicing_one_matrix_equals_small_matrices(preset, heads, kind):
    proof = prove(*layer(preset, kind, heads), heads)
    assert proof.max_difference == 0
    assert (np.hstack(proof.own_queries) == proof.queries).all()
    assert proof.queries.shape[1] == PRESETS[preset]._replace(num_heads=heads, kind=kind).width


def test_the_proof_notices_a_wrong_slice(monkeypatch):
    monkeypatch.setattr("figures.layers.head_columns", lambda head, num_heads, _: slice(head, None, num_heads))
    assert prove(*layer("small"), 4).max_difference > 1e-3


def test_the_toy_is_the_layer_that_the_book_prints():
    x, projections = layer("toy")
    generator = TorchGenerator(123)
    for _ in projections:
        generator.linear(3, 2)  # the output projection is drawn after these
    weight, bias = generator.linear(2, 2, bias=True)
    context, _ = attention(x, projections, 2, causal=True)
    printed = pytest.approx(PRINTED_BY_THE_BOOK, abs=5.1e-5)
    for sequence in context @ weight.T.astype(float) + bias:
        assert sequence == printed


def test_the_toys_wrapper_is_the_one_that_the_book_prints(figure, read):
    read(figure, preset="toy", kind="wrapper")
    assert figure.result.proof.context == pytest.approx(PRINTED_OF_THE_WRAPPER, abs=5.1e-5)


def test_the_drawn_numbers_are_the_layers(figure, read):
    read(figure, preset="small", kind="matched", heads=2)
    proof, (x, projections) = figure.result.proof, layer("small")
    context, weights = attention(x, projections, 2, causal=True)
    assert np.array_equal(proof.context, context[0])
    assert np.array_equal(proof.weights, weights[0])
    assert proof.queries == pytest.approx(x[0] @ projections.query, abs=1e-12)
    own = Projections(*(matrix[:, 4:8] for matrix in projections))
    assert np.array_equal(proof.context[:, 4:8], attention(x, own, causal=True)[0][0])


def test_what_is_compared_is_computed(figure, read):
    read(figure)
    row = " ".join(f"{value:.4f}".replace("-", "−") for value in figure.result.proof.own_queries[0][0])
    shown = said(figure._parts[0][1].object)
    assert f"4 small matrices would give the same first row of head 1: {row} as a slice, {row} on its own" in (
        shown.replace("same" + "first", "same first")
    )
    assert "difference 0" in shown


# What the state may be


@pytest.mark.parametrize(("preset", "divisors"), [("toy", [1, 2]), ("small", [1, 2, 4, 8]), ("gpt2", DIVISORS_OF_768)])
def test_only_divisors_are_offered(figure, read, preset, divisors):
    read(figure, preset=preset)
    listed = re.search(r'<select data-set="heads" aria-label="Heads">(.*?)</select>', figure._primary.object)[1]
    assert [int(value) for value in re.findall(r'value="(\d+)"', listed)] == divisors
    assert re.findall(r'value="(\d+)" selected', listed) == [str(PRESETS[preset].num_heads)]


@pytest.mark.parametrize(
    ("heads", "reason"),
    [
        ("10", "768 / 10 leaves 8"),
        ("5", "768 / 5 leaves 3"),
        ("1000", "768 / 1000 leaves 768"),
        ("99999999999999999999", "768 / 99999999999999999999 leaves 768"),
        ("0", "768 in 0 heads"),
        ("-12", "768 in -12 heads"),
        ("None", "not a whole number"),
    ],
)
def test_other_numbers_of_heads_are_refused_with_both_numbers(heads, reason):
    state, notice = load(preset="gpt2", heads=heads)
    assert state.sizes.num_heads == 12
    assert notice == f"heads={heads} was ignored ({reason})."


def test_a_link_is_read_in_any_order():
    state, notice = load(head="48", line="4", heads="48", kind="split", preset="gpt2")
    assert notice == ""
    assert (state.sizes.num_heads, state.head) == (48, 48)
    assert state.query() == {"preset": "gpt2", "heads": "48", "head": "48", "line": "4"}


def test_the_presets_own_number_stays_out_of_the_link():
    state, notice = load(preset="gpt2", heads="12")
    assert notice == ""
    assert state.query() == {"preset": "gpt2"}


def test_a_link_means_the_same_whatever_was_shown_before():
    state, _ = load(preset="gpt2", heads="2")
    assert state.sizes.num_heads == 2
    assert state.query() == {"preset": "gpt2", "heads": "2"}
    state.load_query([("preset", "gpt2-xl"), ("heads", "4")])
    assert state.sizes.num_heads == 4
    state.load_query([("preset", "gpt2")])
    assert state.sizes.num_heads == 12
    state.load_query([])
    assert state.query() == {}


def test_a_new_preset_brings_its_own_heads(figure, read):
    read(figure)
    figure.take([("heads", "1")])
    figure.take([("preset", "gpt2")])
    assert figure.state.sizes.num_heads == 12
    figure.take([("heads", "3")])
    assert figure.query == {"preset": "gpt2", "heads": "3"}
    figure.take([("heads", "12")])
    assert figure.query == {"preset": "gpt2"}
    figure.take([("preset", "small")])
    assert figure.state.sizes.num_heads == 4


def test_head_line_and_cell_stay_within_what_is_there(figure, read):
    read(figure, preset="gpt2", head=12, line=11)
    figure.take([("kind", "matched")])
    assert (figure.state.head, figure.state.line) == (12, 7)
    figure.take([("heads", "3")])
    assert figure.state.head == 3
    read(figure, kind="wrapper", heads=8, cell=(6, 64))
    figure.take([("kind", "split")])
    assert figure.state.cell == (6, 8)
    figure.take([("preset", "toy")])
    assert figure.state.cell == (6, 2)


def test_what_a_link_moves_is_said():
    state, notice = load(preset="toy", kind="wrapper", head="99", line="9", cell="7,9")
    assert (state.head, state.line, state.cell) == (2, 7, (6, 4))
    assert notice == "head=99 was moved to 2; line=9 was moved to 7; cell=7,9 was moved to 6,4."


def test_back_and_next_walk_the_lines_of_the_class(figure, read):
    read(figure, kind="wrapper", line=6)
    shown = []
    for name in ("Next", "Next", "Back"):
        pair = re.search(rf'data-set="line=(\d+)"[^>]*>{name}<', figure._primary.object)[1]
        figure.take([("line", pair)])
        shown.append(figure.state.line)
    assert shown == [7, 7, 6]
    assert 'min="0" max="6"' in figure._primary.object


def test_the_controls_have_their_roles_and_names(figure, read):
    read(figure)
    primary, settings = figure._primary.object, figure._settings.object
    for name in ("Preset", "Class"):
        assert f'role="radiogroup" aria-label="{name}"' in primary
    names = re.findall(r'type="radio"[^>]*aria-label="([^"]+)"', primary)
    assert names == ["Toy", "Small", "GPT-2", "GPT-2 XL", "Split", "Wrapper", "Matched wrapper"]
    assert '<input type="range" id="line-slider"' in primary
    assert 'role="spinbutton"' in settings
    assert 'aria-label="Head shown"' in settings
    for name in ("Row", "Column"):
        assert f'aria-label="{name}"' in settings


def test_cells_are_offered_where_there_are_numbers(figure, read):
    read(figure)
    assert [len(side) for side in figure.state.cell_sides()] == [6, 8]
    read(figure, preset="toy")
    assert ">5 one</option>" in figure._settings.object
    read(figure, preset="gpt2")
    assert figure._settings.object.count("—</option>") == 2
    assert figure._settings.object.count(" disabled>") == 2
    assert "no numbers are formed" in figure._below.object


@pytest.mark.parametrize("key", State.query_keys())
@pytest.mark.parametrize("text", ["", "NaN", "1e999", "eval('1')", "9" * 400, "-1", "1,1", "</script>", "٣"])
def test_hostile_values_leave_a_state_that_can_be_drawn(figure, read, key, text):
    read(figure)
    figure.load_query([(key, text), ("preset", "gpt2"), ("kind", "wrapper")])
    assert f"{key}=" in figure._head.object or (key, text) == ("cell", "1,1")
    assert "</script>" not in figure._head.object
    sizes = figure.state.sizes
    assert (figure.state.preset, figure.state.kind) == (
        "small" if key == "preset" else "gpt2",
        "split" if key == "kind" else "wrapper",
    )
    assert sizes.d_out % sizes.num_heads == 0
    assert 1 <= figure.state.head <= sizes.num_heads
    assert figure.static_html()


# What it says and draws


@pytest.mark.parametrize("name", SCENES)
def test_scenes_are_pressed_only_in_their_state(figure, read, name):
    read(figure, preset="gpt2-xl")
    figure.set_scene(name)
    assert re.findall(r'aria-label="([^"]+)" aria-pressed="true"', unescape(figure._foot.object)) == [name]
    figure.state.set(heads=1, kind="wrapper")
    assert not any(figure.in_scene(other) for other in SCENES)


def test_texts_fit_on_their_lines(figure, read):
    for state in STATES:
        read(figure, **state)
        assert len(said(figure.sentence())) <= SENTENCE, state
        for i, j in itertools.product((0, 5), (0, figure.state.sizes.width - 1)):
            assert len(said(how(figure.state, figure.result, i, j))) <= HOW


def test_each_line_says_one_thing_that_fits(figure, read):
    for state in STATES:
        for line in range(1, len(LINES[state["kind"]]) + 1):
            read(figure, **state, line=line)
            step = said(figure._parts[0][1].object.split('<p class="line-of-trace">')[1])
            assert step.startswith(f"line {line} of {len(LINES[state['kind']])} ")
            assert len(step) < 190
            assert "{" not in step.replace("d_out ** 0.5", "")


@pytest.mark.parametrize(
    ("state", "place", "words"),
    [
        ({"preset": "toy"}, (2, 1), "q(journey), column 1, in the stripe of head 1 = x(journey) · column 1 of Wq = "),
        ({}, (3, 4), "q(3), column 4, in the stripe of head 2 = x(3) · column 4 of Wq = "),
        ({"heads": 2, "kind": "matched"}, (6, 5), "q(6), column 5, in the stripe of head 2 = x(6) · column 5 of Wq = "),
        (
            {"heads": 8, "kind": "wrapper"},
            (6, 60),
            "q(6), column 60, in the stripe of head 8 = x(6) · column 60 of Wq = ",
        ),
    ],
)
def test_the_selected_number_is_worked_out(figure, read, state, place, words):
    read(figure, **state, cell=place)
    text = said(figure._below.object)
    x, projections = layer(figure.state.preset, figure.state.kind, figure.state.sizes.num_heads)
    i, j = place[0] - 1, place[1] - 1
    query = (x[0] @ projections.query)[i, j]
    pairs = zip(x[0, i], projections.query[:, j], strict=True)
    terms = [f"{a:.3f}·{f'({b:.3f})' if b < 0 else f'{b:.3f}'}".replace("-", "−") for a, b in pairs]
    assert text == f"{words}{' + '.join(terms)} = {query:.4f}".replace("-", "−")
    # Its row of X, its column of W and itself are framed.
    assert figure._parts[0][1].object.count("marked") == 2 * figure.state.sizes.d_in + 1


def test_a_stripe_and_a_head_show_their_head(figure, read):
    read(figure)
    product, heads = (part.object for _, part in figure._parts[:2])
    assert product.count('data-set="head=2"') == 2  # in W and in Q
    assert heads.count('data-set="head=2"') == 2  # its row, and its stripe of Z
    figure.take([("head", "2")])
    product, heads = (part.object for _, part in figure._parts[:2])
    assert product.count('class="stripe on" data-set="head=2"') == product.count("stripe on") == 2
    assert re.findall(r'aria-label="(head \d+)" aria-pressed="true"', heads) == ["head 2"]
    assert "first row of head 2" in product
    assert figure.query == {"head": "2"}


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        ({}, [1, 2, 3, 4]),
        ({"preset": "toy"}, [1, 2]),
        ({"preset": "gpt2"}, [1, 2, 12]),
        ({"preset": "gpt2", "head": 12}, [1, 2, 12]),
        ({"preset": "gpt2", "head": 5}, [1, 5, 12]),
        ({"preset": "gpt2", "heads": 768, "head": 300}, [1, 300, 768]),
    ],
)
def test_few_heads_are_drawn_one_by_one(figure, read, state, shown):
    read(figure, **state)
    drawn = figure._parts[1][1].object
    assert [int(head) for head in re.findall(r'aria-label="head (\d+)"', drawn)] == shown
    left = sum(int(more.replace(",", "")) for more in re.findall(r"… ([\d,]+) more", drawn))
    assert len(shown) + left == figure.state.sizes.num_heads


@pytest.mark.parametrize("heads", [12, 48, 64, 96, 768])
def test_large_matrices_are_cut_into_blocks(figure, read, heads):
    read(figure, preset="gpt2", heads=heads, head=7)
    product = figure._parts[0][1].object
    cut = heads if heads <= STRIPES else 0
    assert product.count('data-set="head=') == 2 * cut
    assert product.count('class="slice"') == (0 if cut else 2)
    assert "mini" not in product


def test_large_presets_allocate_nothing_of_their_size(figure, read):
    read(figure, preset="gpt2")
    tracemalloc.start()
    read(figure, preset="gpt2-xl", line=6)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4e6  # one 1,600 × 1,600 matrix would be 20 MB


def test_the_fold_has_all_lines_the_traps_and_the_product(figure, read):
    read(figure, preset="toy", line=7, fold="numbers")
    lines, traps, product = (part.object for panel, part in figure._parts if panel.area == "numbers")
    assert lines.count("<li") == 11
    assert lines.count("aria-current") == 1
    assert "degenerate" in traps
    assert "d_out" not in traps
    assert product.count('role="gridcell"') == 12
    read(figure, **SCENES["Wrapper at matched width"], fold="numbers")
    lines, traps, product = (part.object for panel, part in figure._parts if panel.area == "numbers")
    assert lines.count("<li") == 7
    assert "21,233,664 parameters" in traps
    assert "590,592 parameters" in traps
    assert "degenerate" not in traps
    assert "gridcell" not in product


def test_the_data_are_the_layers_numbers(figure, read):
    read(figure, heads=2, head=2)
    tables = {table.name: table for panel in figure._panels for table in panel.data(figure.state, figure.result)}
    assert set(tables) == {"X", "W_q", "Q, sliced", "Q, head by head", "Weights of head 2", "Z"}
    assert np.array_equal(tables["Q, sliced"].values, tables["Q, head by head"].values)
    for table in tables.values():
        assert np.shape(table.values) == (len(table.rows), len(table.columns))
    read(figure, preset="gpt2")
    assert not [table for panel in figure._panels for table in panel.data(figure.state, figure.result)]


@pytest.mark.parametrize("state", [*STATES, {"line": 7, "head": 3}, {"preset": "toy", "kind": "wrapper", "line": 7}])
def test_the_code_computes_the_readouts(figure, read, state):
    found, names = read(figure, **state), {}
    exec(figure._code(figure.state, figure.result), names)
    for name in ("head_dim", "output_width", "divisor", "divisor_wrong", "parameters", "max_difference"):
        assert names.get(name) == found[name], name
    assert list(names["shape"]) == found["shape"]
    if found["max_difference"] is not None:
        stripe = names["stripe"]
        assert names["context"][:, stripe] == pytest.approx(figure.result.proof.context[:, stripe], abs=1e-12)


def test_the_toy_is_made_of_the_books_words(figure, read):
    read(figure, preset="toy")
    assert np.array_equal(figure.result.proof.x, EMBEDDINGS)
