"""Panels: grids that are read and walked through as tables, small drawings, and the data behind them."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from figures.shared.palette import inks
from figures.shared.panels import Bars, Drawing, Grid, Table, caption, columns, data_table, look, mini

MATRIX = np.array([[0.9, 0.05, -0.3], [0.0, 0.5, 1e-9]])
ROWS, COLUMNS = ["Your", "<i>"], ["1", "2", "3"]


def grid(**options):
    given = {"hue": "weight", "scale": 1.0, **options}
    return Grid("Weights", lambda s, r: MATRIX, ROWS, COLUMNS, **given)


def at(row, column):
    return SimpleNamespace(cell=(row, column))


def cells(html):
    """The attributes and the content of each cell with a number."""
    return re.findall(r"<td([^>]*)>(.*?)</td>", html.split("<tbody>")[1])


def test_a_grid_is_a_table_with_headers_and_a_name():
    html = grid().render(at(1, 1), None)
    assert 'role="grid" aria-label="Weights, 2 by 3"' in html
    assert re.findall(r'<th scope="col">(.*?)</th>', html) == COLUMNS
    assert re.findall(r'<th scope="row">(.*?)</th>', html) == ["Your", "&lt;i&gt;"]
    assert [text for _, text in cells(html)] == ["0.900", "0.050", "−0.300", "0", "0.500", "1.0 × 10⁻⁹"]


def test_a_grid_has_one_tab_stop_where_the_selected_cell_is():
    for row, column in np.ndindex(2, 3):
        found = cells(grid().render(at(row + 1, column + 1), None))
        assert [attributes for attributes, _ in found if 'tabindex="0"' in attributes] == [found[3 * row + column][0]]
        assert sum('aria-selected="true"' in attributes for attributes, _ in found) == 1
        assert sum(" selected" in attributes for attributes, _ in found) == 1
        assert all('role="gridcell"' in attributes for attributes, _ in found)
    sent = [re.search(r'data-set="([^"]+)"', attributes)[1] for attributes, _ in found]
    assert sent == ["cell=1,1", "cell=1,2", "cell=1,3", "cell=2,1", "cell=2,2", "cell=2,3"]


def test_a_grid_that_selects_nothing_is_a_plain_table():
    html = grid(select="").render(SimpleNamespace(), None)
    assert "role=" not in html
    assert "tabindex" not in html
    assert "data-set" not in html


@pytest.mark.parametrize(("cell", "mirrored"), [((1, 2), "cell=2,1"), ((2, 3), None), ((2, 2), None)])
def test_the_mirror_image_of_the_selected_cell(cell, mirrored):
    found = cells(grid(mirror=True).render(at(*cell), None))
    marked = [re.search(r'data-set="([^"]+)"', attributes)[1] for attributes, _ in found if "mirror" in attributes]
    assert marked == ([mirrored] if mirrored else [])


def test_hue_says_the_kind_strength_the_size_and_zero_is_paper():
    html = grid().render(at(1, 1), None)
    assert "--hue:var(--weight)" in html
    strengths = [re.search(r"--a:(\d+)%", attributes) for attributes, _ in cells(html)]
    assert [match and match[1] for match in strengths] == ["90", "5", "30", None, "50", None]
    assert ["negative" in attributes for attributes, _ in cells(html)] == [False, False, True, False, False, False]
    assert look(7.0, "weight", 1.0)[1] == look(1.0, "weight", 1.0)[1]  # no more than all of it
    assert look(np.inf, "weight", 1.0)[1] == ' style="--a:100%"'


@pytest.mark.parametrize("hue", ["weight", "score", "query", "key", "value", "muted"])
@pytest.mark.parametrize("value", [-1.0, -0.5, 0.2, 0.5, 0.8, 1.0])
def test_the_text_of_a_cell_takes_the_legible_side(hue, value):
    classes, _ = look(value, hue, 1.0)
    on_light, on_dark = inks("negative" if value < 0 else hue, abs(value))
    assert ("on-light" in classes, "on-dark" in classes) == (on_light, on_dark)


def test_hidden_and_struck_cells():
    hidden = np.array([[False, True, True], [False, False, True]])
    html = grid(hidden=hidden, struck=lambda s, r: ~hidden & (MATRIX < 0.9), hidden_text="·").render(at(1, 1), None)
    found = cells(html)
    assert [text for _, text in found] == ["0.900", "·", "·", "<s>0</s>", "<s>0.500</s>", "·"]
    assert [("hidden" in a, "struck" in a) for a, _ in found] == [
        (False, False), (True, False), (True, False), (False, True), (False, True), (True, False),
    ]  # fmt: skip
    assert all("--a" not in attributes for attributes, _ in found[1:])


def test_parameters_may_depend_on_state_and_result():
    given = Grid(
        lambda s, r: f"Of {r}", lambda s, r: MATRIX, lambda s, r: ROWS, COLUMNS, lambda s, r: "score", lambda s, r: 2.0,
        note=lambda s, r: "noted", texts=lambda s, r: [["a", "b", "c"], ["d", "e", "f"]],
    )  # fmt: skip
    html = given.render(at(1, 1), "d_k")
    assert "Of d<sub>k</sub>" in html
    assert "noted" in html
    assert "var(--score)" in html
    assert [text for _, text in cells(html)] == list("abcdef")


def test_bars_beside_the_rows():
    bars = Bars("sum", lambda s, r: MATRIX.sum(axis=1), most=2.0, ticks=(0, 1, 2), rule=1.0, text="{:.2f}".format)
    html = grid(beside=bars).render(at(1, 1), None)
    assert '<th scope="col" class="bars"><b>sum</b>' in html
    assert re.findall(r'<i style="width:([\d.]+)%">', html) == ["32.5", "25"]
    assert re.findall(r'<b style="left:[\d.]+%">([\d.]+)</b>', html) == ["0.65", "0.50"]
    assert html.count('<u style="left:50%">') == 2
    assert [table.name for table in grid(beside=bars).data(at(1, 1), None)] == ["Weights", "sum"]


def test_a_bar_is_never_longer_than_its_room():
    bars = Bars("sum", lambda s, r: np.array([5.0, 0.0]), most=2.0)
    assert re.findall(r'<i style="width:([\d.]+)%">', grid(beside=bars).render(at(1, 1), None)) == ["100", "0"]


def test_a_small_drawing():
    html = mini(MATRIX, "weight", 1.0, hidden=MATRIX == 0.5, marked=MATRIX == 0.9, cut=2)
    assert html.count("<i") == MATRIX.size
    assert html.count("hidden") == 1 + html.count("aria-hidden")
    assert html.count("marked") == 1
    assert html.count('class="negative cut"') == 1
    assert html.count('class="cut"') == 1
    assert 'aria-hidden="true" style="--n:3;--gaps:1;--hue:var(--weight)"' in html
    assert "diagonal" not in html
    assert 'class="mini diagonal"' in mini(MATRIX, "weight", 1.0, diagonal=True)


def test_upright_bars_are_a_list_with_a_name():
    html = columns([0.25, 1], ["a", "<b>"], "weight", ["¼", "1"], label="Two weights")
    assert 'aria-label="Two weights"' in html
    assert re.findall(r"height:([\d.]+)%", html) == ["25", "100"]
    assert "&lt;b&gt;" in html


def test_a_drawing_has_its_caption_and_its_data():
    table = Table("Q", ["1"], ["1"], [[1.0]])
    drawing = Drawing(lambda s, r: "Q of d_k", lambda s, r: "<svg></svg>", note="beside", tables=lambda s, r: [table])
    assert drawing.render(None, None) == caption("Q of d_k", "beside") + "<svg></svg>"
    assert drawing.data(None, None) == [table]
    assert Drawing("", lambda s, r: "x").render(None, None) == "x"
    assert Drawing("", lambda s, r: "x").data(None, None) == []


def test_data_stand_in_tables_at_full_precision():
    values = [[1 / 3, -np.inf, np.nan], [True, 2**63 + 1, "<text>"]]
    html = data_table(Table("Of d_k", ["a_b", "2"], ["x", "y", "z"], values))
    assert "<caption>Of d<sub>k</sub></caption>" in html
    assert re.findall(r"<td>(.*?)</td>", html) == [
        "",
        "0.3333333333333333",
        "−∞",
        "—",
        "yes",
        "9223372036854775809",
        "&lt;text&gt;",
    ]
    assert html.count('scope="col"') == 3
    assert html.count('scope="row"') == 2


def test_a_grids_data_are_its_numbers_not_its_texts():
    given = grid(texts=lambda s, r: [["a"] * 3] * 2)
    (table,) = given.data(at(1, 1), None)
    assert float(re.findall(r"<td>([^<]+)</td>", data_table(table))[5]) == MATRIX[1, 2]
