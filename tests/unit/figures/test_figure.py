"""A figure as the reader meets it: what is shown when, what is said, and what a wrong value does."""

import json
import re
from html import unescape

import pytest
from bokeh.document import Document
from panel.io.state import set_curdoc

from figures.shared.charts import Chart, Layer, linear
from figures.shared.figure import QUIET, Figure, tokens
from figures.shared.palette import COLOURS
from figures.shared.panels import Drawing, Grid, Table
from figures.shared.readouts import Readout
from figures.shared.state import Cell, Choice, FigureState, LongRun, Whole


class State(FigureState):
    """What the reader can set."""

    size = Whole(2, (1, 9), label="Size", place="primary")
    hue = Choice("weight", {"weight": "Weight", "score": "Score"}, label="Hue")
    look = Whole(1, (1, 5), label="Look", view=True)
    cell = Cell((1, 1), "ab", "ab")


class Result:
    """Counts what is computed and what is let go of."""

    made = 0

    def __init__(self, size):
        Result.made += 1
        self.square, self.light = size**2, False

    def lighten(self, state):
        self.light = True


def new(compute=lambda s: Result(s.size), state=State, **options):
    given = {
        "title": "The square of d_k",
        "sentence": lambda s, r: f"It is <b>{r.square}</b>, seen {s.look} times.",
        "scenes": {"Two": {}, "Three & more": {"size": 3, "look": 5}},
        "code": lambda s, r: f"square = {s.size} ** 2 # <b>\n",
        "how": lambda s, r, i, j: f"cell {i}, {j} of <b>{r.square}</b>",
        "inputs": ("size",),
        **options,
    }
    return Figure(
        state,
        compute,
        [
            Drawing("Square", lambda s, r: f"<i>{r.square}</i>", tables=lambda s, r: [Table("Square", ["1"], ["s"], [[r.square]])]),
            Grid("Grid", lambda s, r: [[1, 2], [3, 4]], "ab", "ab", lambda s, r: s.hue, 4.0, area="numbers"),
            Chart("Line", "A line", linear(0, 1, {}), linear(0, 99, {}), [Layer("line", "y", lambda s, r: {"x": [0, 1], "y": [0, r.square]})], area="side"),
        ],
        [
            Readout("square", "Square of d_k", lambda s, r: r.square, "{}"),
            Readout("half", "Half", lambda s, r: r.square / 2),
        ],
        **given,
    )  # fmt: skip


@pytest.fixture
def figure():
    return new()


@pytest.fixture
def shown():
    """A figure on show, and its document."""
    document = Document()
    with set_curdoc(document):
        figure = new()
        figure.__panel__().server_doc(doc=document, location=False)
    for callback in list(document.session_callbacks):
        document.remove_timeout_callback(callback)
    figure._saying = None
    return figure, document


def act(document, action):
    with set_curdoc(document):
        action()


def turn(document, *, patience=0):
    """Give the event loop one turn, after so many milliseconds."""
    for callback in list(document.session_callbacks):
        if getattr(callback, "timeout", 0) <= patience:
            with set_curdoc(document):
                callback.callback()


def values(figure):
    found = re.findall(r'data-readout="(\w+)" data-value="([^"]*)"', figure._numbers.object)
    return {name: json.loads(unescape(text)) for name, text in found}


def texts(figure):
    parts = ("head", "words", "primary", "below", "foot", "numbers", "data", "settings", "listing")
    return {part: getattr(figure, f"_{part}").object for part in parts} | {
        "panels": [p.object for _, p in figure._parts]
    }


# What is shown


def test_everything_is_there_at_first(figure):
    found = texts(figure)
    assert "<h3>The square of d<sub>k</sub></h3>" in found["head"]
    assert found["words"] == "<p data-sentence>It is <b>4</b>, seen 1 times.</p>"
    assert "<i>4</i>" in found["panels"][0]
    assert values(figure) == {"square": 4, "half": 2}
    assert found["below"] == '<div class="how">cell 0, 0 of <b>4</b></div>'
    assert "All 2 numbers" in found["foot"]
    assert 'aria-label="Size"' in found["primary"]
    assert 'aria-label="Size"' not in found["settings"]
    assert 'aria-label="Hue"' in found["settings"]
    assert "square = 2 ** 2 # &lt;b&gt;" in found["listing"]
    assert "<caption>Square</caption>" in found["data"]
    assert "<caption>Line: y</caption>" in found["data"]
    assert found["head"].startswith('<p class="kicker">Figure</p>')
    figure.number = 5
    assert figure._head.object.startswith('<p class="kicker">Figure 5</p>')


def test_numbers_come_first_in_a_change_and_the_rest_follows(shown):
    figure, document = shown
    before = texts(figure)
    act(document, lambda: figure.take([("size", "3")]))
    now = texts(figure)
    assert values(figure) == {"square": 9, "half": 4.5}
    assert "<b>9</b>" in now["words"]
    assert {part for part in now if now[part] != before[part]} == {"numbers", "words"}
    turn(document)
    now = texts(figure)
    assert "<i>9</i>" in now["panels"][0]
    assert {part for part in now if now[part] != before[part]} == {
        "numbers", "words", "panels", "primary", "settings", "below", "foot", "listing",
    }  # fmt: skip


def test_several_changes_before_the_next_drawing_are_drawn_once(shown):
    figure, document = shown
    drawn = []
    figure._parts[0][1].param.watch(lambda event: drawn.append(event.new), "object")
    for size in "345":
        act(document, lambda size=size: figure.take([("size", size)]))
    assert drawn == []
    turn(document)
    assert len(drawn) == 1
    assert "<i>25</i>" in drawn[0]


def test_what_does_not_enter_the_result_computes_nothing(figure):
    made = Result.made
    figure.take([("hue", "score"), ("look", "3"), ("cell", "2,2"), ("fold", "code")])
    assert Result.made == made
    figure.take([("size", "5")])
    assert Result.made == made + 1


def test_a_number_that_changed_is_marked_with_what_it_was(figure):
    figure.take([("size", "3")])
    assert 'class="value changed turn-' in figure._numbers.object
    assert "was 4" in figure._numbers.object
    first = re.findall(r"turn-\d", figure._numbers.object)
    figure.take([("size", "4")])
    assert re.findall(r"turn-\d", figure._numbers.object) != first  # so that the mark is seen again
    before = figure._numbers.object
    figure.take([("look", "2")])
    assert figure._numbers.object == before


def test_parts_and_models_are_made_once(shown):
    figure, document = shown
    made = {model.id for model in document.models}
    for size in "123456789":
        act(document, lambda size=size: figure.take([("size", size), ("fold", "numbers")]))
        turn(document)
    assert {model.id for model in document.models} == made


def test_the_static_figure_has_title_sentence_numbers_and_data(figure):
    html = figure.static_html()
    for part in (
        "<h3>The square of d<sub>k</sub></h3>",
        "<p>It is 4, seen 1 times.</p>",
        'data-readout="square"',
        "<caption>",
    ):
        assert part in html


# What is said


def test_the_sentence_is_spoken_after_a_while_and_once(shown):
    figure, document = shown
    heard = []
    figure._spoken.param.watch(lambda event: heard.append(event.new), "object")
    for size in "3456789":
        act(document, lambda size=size: figure.take([("size", size)]))
        turn(document)
    assert heard == []
    waiting = [callback for callback in document.session_callbacks if getattr(callback, "timeout", 0)]
    assert [callback.timeout for callback in waiting] == [QUIET]
    turn(document, patience=QUIET)
    assert heard == ['<p role="status">It is 81, seen 1 times.</p>']


def test_a_cell_alone_is_spoken_by_its_explanation(figure):
    figure.take([("cell", "2,1")])
    assert figure._spoken.object == '<p role="status">cell 1, 0 of 4</p>'
    figure.take([("size", "3")])
    assert figure._spoken.object == '<p role="status">It is 9, seen 1 times.</p>'


def test_the_selected_cell_is_spoken_wherever_the_mouse_rests(figure):
    figure.take([("cell", "2,1")])
    figure.point([("cell", "2,2")])
    figure._say()
    assert figure._spoken.object == '<p role="status">cell 1, 0 of 4</p>'


def test_pointing_explains_without_a_change(figure):
    query, state = dict(figure.query), figure.state.cell
    figure.point([("cell", "2,2")])
    assert "cell 1, 1" in figure._below.object
    figure.point([("cell", "x,<b>")])  # what is no cell is the selected one
    assert "cell 0, 0" in figure._below.object
    figure.point([("cell", "2,2")])
    figure.take([("size", "3")])
    assert "cell 0, 0" in figure._below.object  # another result: nothing is pointed at
    figure.point([])
    assert (figure.state.cell, query) == (state, {})


def test_without_cells_a_note_stands_below():
    class Plain(FigureState):
        size = Whole(2, (1, 9), label="Size")
        look = Whole(1, (1, 5), label="Look")
        hue = Choice("weight", {"weight": "Weight"}, label="Hue")
        cell = (1, 1)

    figure = new(state=Plain, how=None, note=lambda s, r: f"Noted at {s.size}.")
    assert figure._below.object == '<div class="how">Noted at 2.</div>'


# Values that cannot be used


@pytest.mark.parametrize(
    ("key", "text", "size", "sentence"),
    [
        ("size", "abc", 2, "Size keeps 2: not a whole number."),
        ("size", "", 2, "Size keeps 2: not a whole number."),
        ("size", "99", 9, "Size was moved to 9: 99 is out of its bounds."),
        ("size", "<b>", 2, "Size keeps 2: not a whole number."),
    ],
)
def test_a_typed_value_gets_a_sentence_at_its_field(figure, key, text, size, sentence):
    figure.take([(key, text)])
    assert figure.state.size == size
    assert f'<span class="note" role="alert">{sentence}</span>' in figure._primary.object
    assert 'aria-invalid="true"' in figure._primary.object
    figure.take([(key, "4")])
    assert 'role="alert"' not in figure._primary.object
    assert "aria-invalid" not in figure._primary.object


def test_the_sentence_stays_while_something_else_is_set(figure):
    figure.take([("size", "abc")])
    figure.state.set(look=2)
    assert 'role="alert"' in figure._primary.object
    figure.state.set(size=5)
    assert 'role="alert"' not in figure._primary.object


def test_a_link_that_cannot_be_used_is_said_in_one_notice_until_something_is_set(figure):
    figure.load_query([("size", "99"), ("hue", "<b>"), ("utm_source", "x")])
    assert figure.state.size == 9
    assert (
        "From the link: size=99 was moved to 9; hue=&lt;b&gt; was ignored (it is one of weight, score)."
        in figure._head.object
    )
    figure.take([("look", "2")])
    assert "notice" not in figure._head.object
    figure.load_query([("size", "3")])
    assert "notice" not in figure._head.object


def test_keys_that_are_none_do_nothing(figure):
    before = texts(figure)
    figure.take([("progress", "1"), ("__class__", "x"), ("scene", "No such scene"), ("name", "y")])
    figure.take([("name", "y"), ("param", "z")])
    assert texts(figure) == before


# Scenes, folds and the link


def pressed(figure):
    return re.findall(r'aria-label="([^"]+)" aria-pressed="true"', unescape(figure._foot.object))


def test_a_chip_is_pressed_where_what_it_says_is_on_screen(figure):
    assert pressed(figure) == ["Two"]
    figure.take([("scene", "Three & more")])
    assert (figure.state.size, figure.state.look) == (3, 5)
    assert pressed(figure) == ["Three & more"]
    figure.take([("look", "2"), ("cell", "2,2")])  # looked at elsewhere: the same scene
    assert pressed(figure) == ["Three & more"]
    figure.take([("hue", "score")])
    assert pressed(figure) == []
    assert figure.state.fold == "settings"  # the scene has set something in there
    figure.take([("scene", "Two"), ("fold", "none")])
    figure.take([("fold", "none")])
    assert figure.query == {}
    assert pressed(figure) == ["Two"]


def test_a_scene_leaves_the_fold_as_it_is(figure):
    figure.take([("fold", "settings")])
    figure.take([("scene", "Three & more")])
    assert figure.state.fold == "settings"
    assert figure.query == {"size": "3", "look": "5", "fold": "settings"}


@pytest.mark.parametrize("fold", ["numbers", "settings", "code"])
def test_one_fold_is_open_at_a_time(figure, fold):
    assert figure._card.html_attributes["data-open"] == "none"
    sent = dict(re.findall(r'data-set="(fold=\w+)" data-fold="(\w+)"', figure._foot.object))
    assert sent[f"fold={fold}"] == fold
    figure.take([("fold", fold)])
    assert figure._card.html_attributes["data-open"] == fold
    opened = re.findall(r'data-fold="(\w+)" aria-expanded="true"', figure._foot.object)
    assert opened == [fold]
    assert f'data-set="fold=none" data-fold="{fold}"' in figure._foot.object  # pressed again it closes
    assert figure.query == {"fold": fold}
    assert values(figure)  # what is folded away stays in the tree


def test_the_link_is_the_state_that_differs(figure):
    heard = []
    figure.param.watch(lambda event: heard.append(event.new), "query")
    figure.take([("size", "3")])
    figure.take([("cell", "2,1")])
    figure.take([("size", "2")])
    assert heard == [{"size": "3"}, {"size": "3", "cell": "2,1"}, {"cell": "2,1"}]
    figure.load_query([])
    assert figure.query == {}


def test_a_link_is_one_change(figure):
    made = Result.made
    figure.load_query([("size", "5"), ("hue", "score"), ("look", "3")])
    assert Result.made == made + 1


# Long work


class Long(State):
    """With a run."""

    run = LongRun(3, 3, place="primary")


def count(s):
    for done in range(s.run + 1):
        result = Result(s.size)
        result.done, result.progress = done, lambda done=done: (3, done)
        yield result


def test_work_is_done_at_once_where_nobody_waits():
    figure = new(count, Long, inputs=("size", "run"))
    assert figure.result.done == 3
    assert "3 of 3" in figure._primary.object


def test_the_first_result_is_shown_at_once_and_finish_does_the_rest():
    document = Document()
    with set_curdoc(document):
        figure = new(count, Long, inputs=("size", "run"))
        figure.__panel__().server_doc(doc=document, location=False)
        assert figure.result.done == 0
        assert "0 of 3" in figure._primary.object
        figure.finish()
    assert figure.result.done == 3
    assert "3 of 3" in figure._primary.object
    figure.lighten()
    assert figure.result.light


def test_a_result_that_has_nothing_to_let_go_of_is_kept():
    figure = new(lambda s: type("Plain", (), {"square": s.size**2})())
    figure.lighten()
    assert figure.result.square == 4


# The card


def test_two_figures_share_nothing(figure):
    other = new()
    other.take([("size", "9")])
    assert values(figure) == {"square": 4, "half": 2}
    assert {id(panel) for panel in figure._panels}.isdisjoint(id(panel) for panel in other._panels)


def test_every_text_of_the_card_is_worked_into_the_page_and_has_one_style_sheet(shown):
    figure, _ = shown
    parts = [figure._head, figure._words, figure._primary, figure._foot, *(part for _, part in figure._parts)]
    assert all("data-morph" in part.html_attributes for part in parts)
    assert len({id(part.sheet) for part in parts}) == 1


def test_a_card_names_every_colour_and_keeps_room_for_its_texts():
    for name in COLOURS:
        assert f"--{name.replace('_', '-')}: var(--page-{name.replace('_', '-')}, #" in tokens()
    figure = new(lines={"sentence": (3, 6)})
    assert "--sentence-lines:3;--sentence-lines-narrow:6;" in figure._card.sheet.css
    assert "--how-lines:1;--how-lines-narrow:3;" in figure._card.sheet.css
    assert '"head head"' in figure._card.sheet.css
    assert '"head" "main" "primary" "sentence" "side" "how" "foot" "fold"' in figure._card.sheet.css


def test_a_value_that_changes_below_its_last_digit_is_shown_to_programs(shown):
    figure, _ = shown
    readings = figure._readings
    figure._readings = [readings[0]._replace(value=-1), *readings[1:]]
    figure._tell()
    assert figure._readings == readings
    assert f'data-value="{readings[0].value}"' in figure._numbers.object
