"""Apps that the builder was not written for: a clock, Markdown, an extension's table; resumed, and started cold."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

BOOTS = ["resumed", "cold"]


@pytest.fixture(params=BOOTS)
def start(request, visit, serve, second_site):
    """Opens a page of the small site, started in one of the ways; nothing on it may violate the policy."""
    opened = []

    def open_page(path=""):
        opened.append(visit(f"{serve(second_site)}{path}?boot={request.param}"))
        expect(opened[-1].page.locator("html")).to_have_attribute("data-boot", request.param)
        return opened[-1]

    yield open_page
    assert [page.witness("violations") for page in opened] == [[]]


@pytest.fixture
def page(start):
    """The page with all the apps."""
    return start()


def advances(figure, name, by=3):
    """Wait until a readout has grown, and return what it has become."""
    aim = figure.values()[name] + by
    figure.until(lambda: figure.values()[name], lambda value: value >= aim, f"{name} of {aim}")
    return figure.values()


def runs(clock):
    """The clock's checkbox, which has no name."""
    return clock.stage.locator("input[type=checkbox]")


def test_nothing_ticks_before_python_answers(visit, serve, faults, second_site):
    faults["python."] = "held"
    clock = visit(serve(second_site, handler=faults.handler), wait="painted").figure("clock")
    assert clock.values() == {"runs": True, "ticks": 0, "beats": 0}
    faults.mend()
    clock.reaches("live")
    advances(clock, "ticks")


def test_clock_ticks_and_can_be_stopped_and_started_again(page):
    clock = page.figure("clock")
    advances(clock, "ticks")
    for _ in range(2):
        runs(clock).uncheck()
        clock.shows("runs", False)
        stopped = clock.values()["ticks"]
        assert advances(clock, "beats")["ticks"] == stopped
        runs(clock).check()
        assert advances(clock, "ticks")["ticks"] > stopped


def test_error_of_a_tick_is_told_and_the_clock_can_be_started_again(page):
    clock = page.figure("clock")
    clock.operate("button", "Break")
    expect(clock.trouble).to_contain_text("RuntimeError: the spring broke")
    assert page.page.locator(".trouble").count() == 1
    expect(clock.element).to_have_attribute("data-state", "live")
    advances(clock, "beats")
    clock.operate("button", "Mend")
    expect(clock.trouble).to_have_count(0)
    runs(clock).uncheck()
    runs(clock).check()
    advances(clock, "ticks")


def test_choice_changes_the_markdown(page):
    quotient = page.figure("quotient")
    expect(quotient.stage.locator("em")).to_have_text("1")
    quotient.control("combobox", "Divide by").select_option("2")
    quotient.shows("quotient", 6.0)
    expect(quotient.stage.locator("em")).to_have_text("2")
    expect(quotient.stage.locator("strong")).to_have_text("12")
    expect(quotient.stage.locator("li")).to_have_text("6.0")


class Table:
    """The table of a page."""

    def __init__(self, page):
        self.figure = page.figure("table")
        self.shows = self.figure.shows

    def cells(self, field):
        """The cells of a column, from top to bottom."""
        return self.figure.stage.locator(f".tabulator-cell[tabulator-field={field}]")

    def sort(self, title):
        self.figure.stage.get_by_role("columnheader").filter(has_text=title).click()

    def edit(self, row, text):
        self.cells("amount").nth(row).click()
        field = self.cells("amount").nth(row).locator("input")
        field.fill(text)
        field.press("Enter")


@pytest.fixture
def table(start):
    """The table on its own page, where it is in view: it is drawn again when it comes into view."""
    table = Table(start("figures/table/index.html"))
    expect(table.cells("fruit")).to_have_text(["pear", "apple", "fig"])
    expect(table.cells("amount")).to_have_text(["3", "12", "40"])
    return table


def test_table_is_sorted_by_the_reader(table):
    for order, fruit in (("asc", ["apple", "fig", "pear"]), ("desc", ["pear", "fig", "apple"])):
        table.sort("Fruit")
        expect(table.cells("fruit")).to_have_text(fruit)
        table.shows("order", [["fruit", order]])
    table.sort("Amount")
    expect(table.cells("amount")).to_have_text(["3", "12", "40"])


def test_table_is_edited_by_the_reader_and_python_sees_it(table):
    table.edit(1, "20")
    table.shows("edited", ["amount", 1])
    table.shows("total", 63)
    expect(table.cells("amount")).to_have_text(["3", "20", "40"])


def test_change_by_python_appears_in_the_table(table):
    table.figure.operate("button", "Double")
    expect(table.cells("amount")).to_have_text(["6", "24", "80"])
    table.shows("total", 110)
    table.figure.operate("button", "More")
    expect(table.cells("fruit")).to_have_text(["pear", "apple", "fig", "plum"])
    table.edit(3, "5")
    table.shows("total", 115)


def test_table_is_drawn_among_others(page):
    expect(Table(page).cells("fruit")).to_have_text(["pear", "apple", "fig"])


@pytest.mark.provokes("answer 404|net::ERR|console: ")
def test_missing_script_of_an_extension_is_named(visit, serve, faults, second_site):
    faults["tabulator."] = "missing"
    table = visit(serve(second_site, handler=faults.handler) + "figures/table/index.html", wait="failed").figure(
        "table"
    )
    expect(table.trouble).to_contain_text("The script tabulator.")
    faults.mend()
    table.control("button", "Try again").click()
    table.reaches("live")
