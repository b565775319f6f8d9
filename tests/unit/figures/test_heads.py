"""Figure 5: stripes, shapes and the proof; large presets cost nothing."""

import itertools
import math
import re
import tracemalloc
from html import unescape

import numpy as np
import pytest
from figures.shared.boxes import nested_boxes

from attention_core import TorchGenerator, attention, shape_trace
from figures.heads import LINES, PRESETS, Heads, State, layer, prove
from figures.shared.palette import SELECTED

DIVISORS_OF_768 = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 768]
# The output of the split class, section 3.6.2: the same for both sequences of the batch.
PRINTED_BY_THE_BOOK = np.array(
    [[0.3190, 0.4858], [0.2943, 0.3897], [0.2856, 0.3593], [0.2693, 0.3873], [0.2639, 0.3928], [0.2575, 0.4028]]
)
READOUTS = {
    "head_dim", "divisor", "divisor_wrong", "output_width", "parameters", "projection_products",
    "attention_products", "shape", "max_difference",
}  # fmt: skip


@pytest.fixture(scope="module")
def figure(on_show):
    figure, _ = on_show(Heads)
    return figure


def load(**query):
    state = State()
    return state, state.load_query(query.items())


def test_the_toy(figure, read, recorded):
    split, wrapper = read(figure), read(figure, kind="wrapper")
    assert set(split) == READOUTS
    assert split["head_dim"] == wrapper["head_dim"] == recorded("fig5_params_toy", "head_dim")
    assert split["divisor"] == 1
    assert split["parameters"] == recorded("fig5_params_toy", "split_total")
    assert wrapper["parameters"] == recorded("fig5_params_toy", "wrapper_qkv_at_matched_width")
    assert (split["output_width"], wrapper["output_width"]) == (2, 4)
    assert split["max_difference"] == wrapper["max_difference"] == 0
    assert "degenerate" in figure._traps.object


def test_gpt2_divides_by_8(figure, read, recorded):
    values = read(figure, preset="gpt2")
    assert values["divisor"] == recorded("fig5_divisor_split")
    assert values["divisor_wrong"] == recorded("fig5_divisor_wrong")
    assert values["parameters"] == recorded("fig5_params_gpt2", "split_total")
    assert values["head_dim"] == recorded("fig5_params_gpt2", "head_dim")
    assert values["max_difference"] is None
    assert "degenerate" not in figure._traps.object


def test_wrapper_at_matched_width(figure, read, recorded):
    values = read(figure, **Heads.scenes["Wrapper at matched width"])
    assert values["parameters"] == recorded("fig5_params_gpt2", "wrapper_qkv_at_matched_width")
    assert values["output_width"] == recorded("fig5_params_gpt2", "wrapper_width_at_d_out_per_head")
    assert "21,233,664 parameters" in figure._traps.object


@pytest.mark.parametrize("preset", ["toy", "gpt2"])
def test_products(figure, read, recorded, preset):
    split, wrapper = read(figure, preset=preset), read(figure, preset=preset, kind="wrapper")
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
    assert read(figure, kind="wrapper", line=7)["shape"] == recorded("fig5_wrapper_shape_toy")


@pytest.mark.parametrize("kind", LINES)
@pytest.mark.parametrize("preset", PRESETS)
def test_named_axes_have_the_sizes_of_the_trace(preset, kind):
    sizes = PRESETS[preset]
    named = sizes._asdict() | {
        "H": sizes.num_heads,
        "head_dim": sizes.head_dim,
        "H·d_out": sizes.num_heads * sizes.d_out,
    }
    for step, (axes, _) in zip(shape_trace(*sizes, kind=kind), LINES[kind], strict=True):
        assert step.shape == tuple(named[axis] for axis in axes.split())


@pytest.mark.parametrize(("preset", "heads"), [("toy", 1), ("toy", 2), *(("small", h) for h in (1, 2, 4, 8))])
def test_slicing_one_matrix_equals_small_matrices(preset, heads):
    x, projections = layer(preset)
    proof = prove(x, projections, heads)
    assert proof.max_difference == 0
    assert (np.hstack(proof.own_queries) == proof.queries).all()


def test_the_proof_notices_a_wrong_slice(monkeypatch):
    monkeypatch.setattr("figures.heads.head_columns", lambda head, num_heads, _: slice(head, None, num_heads))
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


@pytest.mark.parametrize(("preset", "divisors"), [("toy", [1, 2]), ("small", [1, 2, 4, 8]), ("gpt2", DIVISORS_OF_768)])
def test_only_divisors_are_offered(figure, read, preset, divisors):
    read(figure, preset=preset)
    assert list(figure._heads.options.values()) == divisors
    assert figure._heads.value == PRESETS[preset].num_heads


@pytest.mark.parametrize(
    ("heads", "reason"),
    [
        ("10", "768 / 10 leaves 8"),
        ("5", "768 / 5 leaves 3"),
        ("1000", "768 / 1000 leaves 768"),
        ("0", "768 in 0 heads"),
    ],
)
def test_other_numbers_of_heads_are_refused_with_both_numbers(heads, reason):
    state, notice = load(preset="gpt2", heads=heads)
    assert state.sizes.num_heads == 12
    assert notice == f"heads={heads} was ignored ({reason})."


def test_a_link_is_read_in_any_order():
    state, notice = load(head="48", line="3", heads="48", kind="split", preset="gpt2")
    assert notice == ""
    assert (state.sizes.num_heads, state.head) == (48, 48)
    assert state.query() == {"preset": "gpt2", "heads": "48", "head": "48", "line": "3"}


def test_the_presets_own_number_stays_out_of_the_link():
    state, notice = load(preset="gpt2", heads="12")
    assert notice == ""
    assert state.query() == {"preset": "gpt2"}


def test_2_heads_of_gpt2_are_not_the_toys_default():
    state, _ = load(preset="gpt2", heads="2")
    assert state.sizes.num_heads == 2
    assert state.query() == {"preset": "gpt2", "heads": "2"}
    state.load_query([("preset", "gpt2-xl"), ("heads", "2")])
    assert state.sizes.num_heads == 2


def test_a_new_preset_brings_its_own_heads(figure, read):
    read(figure)
    figure.state.heads = 1
    figure.state.preset = "gpt2"
    assert figure.state.sizes.num_heads == figure._heads.value == 12
    figure._heads.value = 3
    assert figure.state.query() == {"preset": "gpt2", "heads": "3"}
    figure.state.preset = "small"
    assert figure.state.sizes.num_heads == figure._heads.value == 4


def test_head_and_line_stay_within_what_is_there(figure, read):
    read(figure, preset="gpt2")
    figure.state.param.update(head=12, line=11)
    figure.state.kind = "wrapper"
    assert (figure.state.head, figure.state.line) == (12, 7)
    figure.state.heads = 3
    assert figure.state.head == figure._head.high == 3
    state, notice = load(kind="wrapper", head="99", line="9")
    assert (state.head, state.line) == (2, 7)
    assert notice == "head=99 was moved to 2; line=9 was moved to 7."


def test_back_and_next_walk_the_lines_of_the_class(figure, read):
    read(figure, kind="wrapper", line=6)
    buttons = {b.label: b for b in figure.__panel__().select(lambda v: getattr(v, "label", "") in ("Back", "Next"))}
    shown = []
    for name in ("Next", "Next", "Back"):
        buttons[name].clicks += 1
        shown.append(figure.state.line)
    assert shown == [7, 7, 6]
    assert figure._line._slider.end == 6


def test_where_the_divisor_is_read(figure, read):
    read(figure, **Heads.scenes["GPT-2 divides by 8"])
    assert "√64 = 8, not √768 = 27.7" in figure._boxes.object
    assert figure._trace.object.count("aria-current") == 1


def test_all_states_are_free_of_nan(figure, read):
    for preset, kind, line in itertools.product(PRESETS, LINES, (1, 7, 11)):
        for heads in (1, None, PRESETS[preset].d_out):
            values = read(figure, preset=preset, kind=kind, line=line, heads=heads, head=1600)
            assert values["divisor"] == math.sqrt(values["head_dim"])
            assert not re.search(r"\bnan\b|\binf\b|None", figure.static_html() + figure.summary(), re.IGNORECASE)


def test_large_presets_allocate_nothing_of_their_size(figure, read):
    read(figure, preset="gpt2")
    tracemalloc.start()
    read(figure, preset="gpt2-xl", line=6)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4e6  # one 1,600 × 1,600 matrix would be 20 MB
    assert len(figure._stripes._cells.data["x"]) == 2 * 25


def test_stripes_have_the_colours_of_their_heads(figure, read):
    read(figure, preset="small", head=2)
    data = figure._stripes._cells.data
    heads = [int(re.search(r"head (\d+)", how)[1]) for how in data["how"]]
    assert len(set(zip(heads, data["colour"], strict=True))) == len(set(heads)) == 4
    assert "owns columns 3 … 4: rows 3 … 4" in figure._stripes_caption.object


@pytest.mark.parametrize(
    ("state", "place", "said"),
    [
        ({}, (2, 1), ["q(journey), column 1, in the stripe of head 1", "= x(journey) · column 1 of W_q"]),
        ({"preset": "small"}, (3, 4), ["q(3), column 4, in the stripe of head 2", "= x(3) · column 4 of W_q"]),
        ({"preset": "small", "heads": 2, "kind": "wrapper"}, (6, 5), ["q(6), column 5, in the stripe of head 2"]),
    ],
)
def test_the_selected_number_is_worked_out(figure, read, state, place, said):
    read(figure, **state)
    figure.state.cell = place
    lines = re.sub("<(?!br)[^>]*>", "", figure._stripes_caption.object.split('<div class="how">')[1]).split("<br>")
    assert lines[: len(said)] == said
    x, projections = layer(figure.state.preset)
    i, j = place[0] - 1, place[1] - 1
    query = (x[0] @ projections.query)[i, j]
    pairs = zip(x[0, i], projections.query[:, j], strict=True)
    terms = [f"{a:.3f}·{f'({b:.3f})' if b < 0 else f'{b:.3f}'}".replace("-", "−") for a, b in pairs]
    assert lines[2:] == [f"= {' + '.join(terms)}", f"= {query:.4f}".replace("-", "−")]
    sizes, data = figure.state.sizes, figure._stripes._cells.data
    at = figure._stripes._places.index((1, i, j))
    assert data["how"][at].startswith(f"X W_q[{i + 1}, {j + 1}] {lines[2]} {lines[3]}, head {j // sizes.head_dim + 1}")
    marks = figure._stripes._marks.data
    solid, dashed = (n for n, line in enumerate(marks["line"]) if line == SELECTED)
    assert (marks["dash"][solid], marks["dash"][dashed]) == ("solid", "dashed")
    # Around the number itself, and around the column of W_q above it.
    assert (marks["x"][solid], marks["y"][solid]) == pytest.approx((data["x"][at], data["y"][at]), abs=0.01)
    column = [data["y"][figure._stripes._places.index((0, row, j))] for row in range(sizes.d_in)]
    assert marks["y"][dashed] == pytest.approx(np.mean(column), abs=0.01)
    assert marks["x"][dashed] == marks["x"][solid]


def test_pressing_a_number_selects_it_or_its_column(on_show, read):
    figure, _ = on_show(Heads)
    read(figure, preset="small", kind="wrapper")
    for place, selected in (((1, 4, 6), (5, 7)), ((0, 1, 2), (5, 3))):
        figure._stripes._cells.selected.indices = [figure._stripes._places.index(place)]
        assert figure.state.cell == selected
    assert "cell" not in figure.state.query()


def test_cells_are_offered_where_there_are_numbers(on_show, read):
    figure, _ = on_show(Heads)
    row, column = figure._cell_controls
    read(figure, preset="small")
    figure.state.cell = (6, 8)
    assert (list(row.options), list(column.options)) == ([*"123456"], [*"12345678"])
    read(figure)
    assert (row.value, column.value) == figure.state.cell == (6, 2)
    assert list(row.options)[5] == "6 step"
    read(figure, preset="gpt2")
    assert (row.disabled, column.disabled) == (True, True)
    assert list(row.options) == list(column.options) == ["—"]
    assert "no numbers are formed" in figure.explanation()
    figure._stripes._cells.selected.indices = [3]
    assert figure.state.cell == (6, 2)
    read(figure)
    assert (row.disabled, column.disabled) == (False, False)


def test_models_are_made_once(on_show, read):
    figure, document = on_show(Heads)
    made = {model.id for model in document.models}
    for preset, kind in itertools.product(PRESETS, LINES):
        read(figure, preset=preset, kind=kind, heads=1, line=4)
    assert {model.id for model in document.models} == made


def test_scenes_are_recognised(figure):
    for name in figure.scenes:
        figure.set_scene(name)
        assert [other for other, chip in figure._chips.items() if chip.pressed] == [name]


class TestBoxes:
    """Nested boxes."""

    def draw(self, *sizes):
        names = "bHnd"[-len(sizes) :] if len(sizes) < 4 else "bHnd"
        return nested_boxes(sizes, list(names), [1] * len(sizes), lambda _: "#000000")

    def test_short_axes_cell_by_cell(self):
        svg = self.draw(2, 3, 6, 2)
        assert svg.count('class="cell"') == 2 * 3 * 6 * 2
        assert svg.count("<rect width") == 2 + 2 * 3

    def test_long_axes_in_one_piece(self):
        svg = self.draw(1, 12, 1024, 1024)
        assert svg.count('class="cell"') == 12

    def test_of_many_boxes_the_first_and_the_last(self):
        svg = self.draw(1, 1024, 12, 64)
        assert svg.count("<rect width") < 20
        assert "1,024 of 1,024" in svg
        assert "…" in svg

    def test_the_shape_is_named(self):
        assert 'aria-label="H 2 by n 6 by d 1"' in unescape(self.draw(2, 6, 1))
