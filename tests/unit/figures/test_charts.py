"""Charts: made once; a change of state sends the columns that differ and nothing else."""

import numpy as np
import pytest
from bokeh.document import Document
from bokeh.models import ColumnDataSource, Span

from figures.shared.charts import Chart, Layer, linear, log

X = [1, 10, 100]


def line(s, r):
    return {"x": X, "y": [s, 2 * s, 3 * s]}


@pytest.fixture
def chart():
    return Chart(
        "Entry against d_k", "What it shows",
        log(1, 100, {1: "1", 100: "100"}), linear(0, 9, {0: "0", 9: "9"}),
        [
            Layer("band", "range", lambda s, r: {"x": X, "low": [0, 0, 0], "high": [9, 9, 9]}),
            Layer("line", "median", line, hue="weight", label=lambda s, r: f"at {s}", align="right"),
            Layer("dots", "measured", lambda s, r: {"x": X[:r], "y": [s] * r}, label="here"),
            Layer("whiskers", "errors", lambda s, r: {"x": X, "low": [0] * 3, "high": [s] * 3}),
            Layer("rule", "now", lambda s, r: s),
        ],
    )  # fmt: skip


@pytest.fixture
def drawn(chart):
    """A chart in a document, and what has been sent since."""
    document, sent = Document(), []
    document.add_root(chart.plot())
    chart.draw(1, 2)
    document.on_change(lambda event: sent.append(event))
    return chart, sent


def described(events):
    return {
        (type(event.model).__name__, event.attr) if hasattr(event, "attr") else type(event).__name__ for event in events
    }


def test_the_same_state_sends_nothing(drawn):
    chart, sent = drawn
    chart.draw(1, 2)
    assert sent == []


def test_only_the_columns_that_differ_are_sent(drawn):
    chart, sent = drawn
    heard = []
    for source in chart._sources:
        if isinstance(source, ColumnDataSource):
            source.on_change(
                "data", lambda attr, old, new, source=source: heard.append((chart._sources.index(source), set(new)))
            )
    before = {
        name: source.data["x"] for name, source in enumerate(chart._sources) if isinstance(source, ColumnDataSource)
    }
    chart.draw(2, 2)
    changed = [event for event in sent if type(event).__name__ in ("ColumnDataChangedEvent", "ModelChangedEvent")]
    columns = [set(event.cols) for event in changed if getattr(event, "cols", None)]
    assert columns == [{"y"}, {"y"}, {"high"}]  # line, dots, whiskers; the band and every x stay
    assert all(chart._sources[name].data["x"] is x for name, x in before.items())


def test_the_rule_moves_alone(drawn):
    chart, _ = drawn
    (rule,) = [source for source in chart._sources if isinstance(source, Span)]
    assert (rule.location, rule.dimension) == (1, "height")
    chart.draw(7, 2)
    assert rule.location == 7


def test_labels_stand_at_the_end_of_their_lines(drawn):
    chart, _ = drawn
    labels = chart._labels
    assert set(labels) == {1, 2}
    assert (labels[1].text, labels[1].x, labels[1].y) == ("at 1", 100, 3)
    assert (labels[2].text, labels[2].x, labels[2].y) == ("here", 10, 1)
    assert labels[1].text_align == "right"
    chart.draw(2, 3)
    assert (labels[1].text, labels[1].y) == ("at 2", 6)
    assert (labels[2].x, labels[2].y) == (100, 2)
    chart.draw(2, 0)
    assert labels[2].text == ""  # there is nothing to label


def test_models_are_made_once(chart):
    document = Document()
    document.add_root(chart.plot())
    made = {model.id for model in document.models}
    for s, r in ((1, 1), (2, 3), (5, 0)):
        chart.draw(s, r)
    assert {model.id for model in document.models} == made


def test_the_ends_of_the_axis_may_follow_the_state():
    chart = Chart("", "", linear(0, 1, {}), linear(0, 1, {}), [], ends=lambda s, r: (-s, s))
    plot = chart.plot()
    chart.draw(3, None)
    assert (plot.y_range.start, plot.y_range.end) == (-3, 3)


def test_a_chart_has_a_name_and_no_tools(chart):
    plot = chart.plot()
    assert plot.html_attributes == {"role": "img", "aria-label": "What it shows"}
    assert plot.toolbar_location is None
    assert plot.tools == []
    assert plot.xaxis[0].major_label_overrides == {1: "1", 100: "100"}
    assert (plot.y_range.start, plot.y_range.end) == (0, 9)


def test_the_caption_lowers_its_index(chart):
    assert "Entry against d<sub>k</sub>" in chart.render(1, 2)
    assert Chart("", "", chart.x, chart.y, []).render(1, 2) == ""


def test_the_data_of_a_chart_are_those_of_its_layers(chart):
    tables = {table.name: table for table in chart.data(2, 2)}
    assert list(tables) == [f"Entry against d_k: {name}" for name in ("range", "median", "measured", "errors")]
    median = tables["Entry against d_k: median"]
    assert (median.rows, median.columns) == (["1", "10", "100"], ["y"])
    assert np.array_equal(median.values, [[2], [4], [6]])
    assert tables["Entry against d_k: range"].columns == ["low", "high"]
    assert "measured" not in " ".join(table.name for table in chart.data(2, 0))  # a layer without marks has none
