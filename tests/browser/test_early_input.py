"""What readers do before Python is there, and while it is busy, is honoured: in order, once."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

TOGGLE = """async (count) => {
  const radios = [];
  const find = (root) => {
    for (const element of root.querySelectorAll('*')) {
      if (element.matches('input[type=radio]')) radios.push(element);
      if (element.shadowRoot) find(element.shadowRoot);
    }
  };
  find(document.querySelector('figure[data-figure=asymmetry]'));
  const modes = radios.filter((radio) => radio.name === 'mode');
  let at = 7; // a fixed row of choices that looks like chance
  for (let i = 0; i < count; i += 1) {
    at = (at * 16807) % 2147483647;
    modes[at % 3].click();
    for (let frames = at % 2; frames >= 0; frames -= 1) await new Promise((go) => requestAnimationFrame(go));
  }
  modes[1].click();
}"""


@pytest.fixture
def painted(visit, serve, faults):
    """A page that is painted, and gets its Python when the server's faults are mended."""
    faults |= {"python.": "held"}
    return lambda query="", **options: visit(serve(handler=faults.handler, **options) + query, wait="painted")


def test_queued_input_is_applied(painted, faults, numbers):
    page = painted()
    card = page.figure("asymmetry")
    card.operate("radiogroup", "Mode", "No matrices")
    card.operate("radiogroup", "Mode", "Tied")
    card.operate("combobox", "Row", "5 one")
    card.operate("combobox", "Column", "2 journey")
    card.operate("spinbutton", "Weight seed", "7")
    card.operate("spinbutton", "Weight seed", "123")
    assert ["asymmetry", "live"] not in page.witness("states")
    faults.mend()
    card.reaches("live")
    card.shows("weight_error", numbers["fig1_tied_weight_error"]["value"], 1e-7)
    expect(card.control("radio", "Tied")).to_be_checked()
    expect(page.page).to_have_url(re.compile(r"\?asymmetry.mode=tied&asymmetry.cell=5,2&asymmetry.fold=settings$"))
    assert card.element.locator(".note").count() == 0


@pytest.mark.parametrize(
    ("first", "second", "error"),
    [("scene", "mode", "fig1_none_weight_error_sqrt2.max_abs"), ("mode", "scene", "fig1_tied_weight_error")],
)
def test_queued_input_keeps_its_order(painted, faults, numbers, first, second, error):
    card = painted().figure("asymmetry")
    uses = {"scene": ("button", "Tied"), "mode": ("radiogroup", "Mode", "No matrices")}
    card.operate(*uses[first])
    card.operate(*uses[second])
    faults.mend()
    card.reaches("live")
    name, *path = error.split(".")
    value = numbers[name]["value"]
    card.shows("weight_error", value[path[0]] if path else value, 1e-7)


def test_link_and_queued_input_go_together(painted, faults, numbers):
    card = painted("?asymmetry.show=scores").figure("asymmetry")
    card.operate("combobox", "Row", "1 Your")
    faults.mend()
    card.reaches("live")
    weights = numbers["s34_weights"]["value"]
    card.shows("pair", [weights[0][2], weights[2][0]], 1e-6)


def test_reset_can_be_queued(painted, faults, numbers):
    card = painted("?asymmetry.mode=none").figure("asymmetry")
    card.operate("button", "Reset")
    faults.mend()
    card.reaches("live")
    card.shows("weight_error", numbers["fig1_separate_weight_error"]["value"], 1e-7)


def test_presses_are_counted_once(visit, serve, faults, second_site):
    faults |= {"python.": "held"}
    page = visit(serve(second_site, handler=faults.handler), wait="painted")
    counter, quotient = page.figure("counter"), page.figure("quotient")
    for _ in range(3):
        counter.operate("button", "Count")
    quotient.stage.locator("select").select_option("2")
    faults.mend()
    counter.reaches("live")
    counter.shows("presses", 3)
    quotient.shows("quotient", 6.0)


# While ten thousand draws run, presses a control with the first result that comes, and notes in which order messages
# come from Python, until the run has ended.
MEANWHILE = """async ([figure, label]) => {
  const find = (root, wanted) => {
    for (const element of root.querySelectorAll('*')) {
      if (wanted(element)) return element;
      const inside = element.shadowRoot && find(element.shadowRoot, wanted);
      if (inside) return inside;
    }
    return null;
  };
  const named = (of, name) => find(document.querySelector(`figure[data-figure=${of}]`),
    (element) => element.matches('button, input[type=radio]') && (element.ariaLabel ?? element.textContent.trim()) === name);
  const busy = () => find(document.querySelector('figure[data-figure=dropout]'), (element) => element.matches('[aria-busy=true]'));
  const order = [];
  const control = named(figure, label);
  python.addEventListener('message', ({ data }) => {
    const message = typeof data === 'string' ? JSON.parse(data) : data;
    if (message.kind !== 'patch') return;
    const sliced = message.figure === 'dropout' && message.seq === null;
    order.push(sliced ? 'slice' : message.figure);
    if (sliced && order.filter((what) => what === 'slice').length === 1) control.click();
  });
  named('dropout', 'Run 10,000 draws').click();
  const until = async (right) => { while (!right()) await new Promise((go) => requestAnimationFrame(go)); };
  await until(() => order.includes('slice'));
  await until(() => !busy());
  return order;
}"""


def test_other_figures_answer_during_a_long_run(visit, address, keep_worker, numbers):
    page = visit(address, init=keep_worker)
    order = page.page.evaluate(MEANWHILE, ["asymmetry", "Tied"])
    answered = order.index("asymmetry")
    assert order[answered:].count("slice") >= 2, order  # the run went on after the answer
    page.figure("dropout").shows("draws_done", 10_000)
    page.figure("asymmetry").shows("weight_error", numbers["fig1_tied_weight_error"]["value"], 1e-7)


def test_a_long_run_can_be_cancelled(visit, address, keep_worker):
    page = visit(address, init=keep_worker)
    order = page.page.evaluate(MEANWHILE, ["dropout", "Cancel"])
    card = page.figure("dropout")
    card.shows("draws_done", 1)
    assert order.count("slice") < 30, order  # of a hundred
    expect(card.control("button", "Cancel")).to_have_attribute("aria-disabled", "true")


def test_python_has_one_message_to_itself_on_the_way(visit, address):
    # A message of the reader's comes after all that are on the way before it: each may be a slice of long work.
    count = """
    globalThis.most = 0;
    globalThis.MessageChannel = class extends MessageChannel {
      constructor() {
        super();
        let sent = 0;
        this.port1.addEventListener('message', () => { sent -= 1; });
        const post = this.port2.postMessage.bind(this.port2);
        this.port2.postMessage = (message) => {
          sent += 1;
          globalThis.most = Math.max(most, sent);
          post(message);
        };
      }
    };
    """
    page = visit("")
    page.page.route(
        re.compile(r"/worker\.\w+\.js$"),
        lambda route: route.fulfill(response=(sent := route.fetch()), body=sent.text() + count),
    )
    page.open(address)
    card = page.figure("scaling")
    card.open("settings")
    for seed in range(2, 6):
        card.operate("button", "Resample")
        expect(card.control("spinbutton", "Seed")).to_have_value(str(seed))
    assert page.page.workers[0].evaluate("() => most") == 1


def test_two_hundred_toggles_end_in_the_last(visit, address, numbers):
    page = visit(address)
    card = page.figure("asymmetry")
    canvases = card.element.locator("canvas").count()
    page.page.evaluate(TOGGLE, 200)
    card.shows("weight_error", numbers["fig1_tied_weight_error"]["value"], 1e-7)
    expect(card.control("radio", "Tied")).to_be_checked()
    expect(page.page).to_have_url(re.compile("asymmetry.mode=tied"))
    assert card.element.locator("canvas").count() == canvases
