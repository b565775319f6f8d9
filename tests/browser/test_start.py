"""Which way Python starts: by what the browser tells of the reader, by the address, and when something breaks."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

BYTES = {"resumed": 14_000_000, "cold": 8_000_000}
USUAL = {"savesData": False, "weak": False, "held": False}
# What is known of the reader, and whether Python starts cold from the beginning.
BEGINNINGS = [
    ({}, BYTES, False),
    ({"weak": True}, BYTES, False),
    ({"savesData": True}, BYTES, True),
    ({"savesData": True, "held": True}, BYTES, False),
    ({"savesData": True}, {"resumed": 1, "cold": 2}, False),
]
# Megabytes received, those of them that were watched and for how long, and whether it starts over: a cold start works
# 3 s longer, 6 s on a weak machine.
LINES = [
    ({}, 1.0, 0.1, 1.4, False),  # too soon to tell
    ({}, 4.0, 2.2, 1.5, False),  # 1.5 MB/s: 7 s to go, or 5.5 + 3
    ({}, 1.0, 1.0, 1.5, True),  # 0.67 MB/s: 19.5 s to go, or 12 + 3
    ({}, 6.0, 1.0, 1.5, False),  # the same with 12 s to go
    ({"weak": True}, 1.0, 1.0, 1.5, True),
    ({"weak": True}, 1.5, 1.5, 1.5, False),  # 1 MB/s: 12.5 s to go, or 8 + 6
    ({}, 5.0, 5.0, 5.0, False),
    ({}, 0.5, 0.5, 5.0, True),
    ({}, 1.0, 0.0, 5.0, False),  # nothing comes, and nothing else would
    ({}, 13.0, 0.1, 100.0, False),  # nearly there
]

TELL = "Object.defineProperty(Navigator.prototype, 'connection', { get: () => (%s), configurable: true });"


@pytest.fixture(scope="module")
def rule(shared, site):
    """The page's own rule: its functions by name."""
    name = next(file.name for file in (site / "assets").glob("way-to-start.*.js"))
    call = "([name, what, given]) => import(`./assets/${name}`).then((choice) => choice[what](...given))"
    return lambda what, *given: shared.page.evaluate(call, [name, what, given])


@pytest.mark.parametrize(("known", "bytes_", "cold"), BEGINNINGS)
def test_the_beginning(rule, known, bytes_, cold):
    assert rule("startsCold", {**USUAL, **known}, bytes_) is cold


@pytest.mark.parametrize(("known", "received", "watched", "seconds", "cold"), LINES)
def test_a_slow_line(rule, known, received, watched, seconds, cold):
    watched = {"bytes": 1e6 * watched, "seconds": seconds}
    assert rule("coldIsSooner", 1e6 * received, watched, {**USUAL, **known}, BYTES) is cold


@pytest.mark.parametrize(
    ("told", "query", "boot"),
    [
        ("{ saveData: true }", "", "cold"),
        ("{ saveData: true }", "?boot=resumed", "resumed"),
        ("{ downlink: 1.5 }", "", "resumed"),  # a browser that has just started tells that of any line
        ("undefined", "", "resumed"),
        ("undefined", "?boot=cold", "cold"),
    ],
)
def test_pages_start_by_it(visit, address, told, query, boot):
    page = visit(address + query, init=TELL % told).page
    expect(page.locator("html")).to_have_attribute("data-boot", boot)


def test_a_memory_that_was_fetched_is_used_again(visit, address):
    first = visit(address)
    first.page.add_init_script(TELL % "{ saveData: true }")
    first.open(address)
    expect(first.page.locator("html")).to_have_attribute("data-boot", "resumed")


# Fills a memory from pieces, through a decoder that unpacks nothing but keeps zstd's contract: it says 0 with the last
# byte of what was packed, and something else when it is called again, since another frame might follow, or an error
# where what follows is none.
FILL = """async ([boot, pieces, packed]) => {
  const { fill } = await import(boot);
  const module = { HEAPU8: new Uint8Array(2 ** 23) };
  let written = 0;
  const exports = {
    ZSTD_estimateDStreamSize: () => 4096,
    ZSTD_initStaticDCtx: () => 1,
    ZSTD_isError: (result) => result === 99,
    ZSTD_decompressStream(decoder, output, input) {
      const [to, room, put] = new Uint32Array(module.HEAPU8.buffer, output, 3);
      const [from, size, taken] = new Uint32Array(module.HEAPU8.buffer, input, 3);
      const count = Math.min(room - put, size - taken, written < packed ? packed - written : 0);
      module.HEAPU8.copyWithin(to + put, from + taken, from + taken + count);
      new Uint32Array(module.HEAPU8.buffer, output, 3)[2] += count;
      new Uint32Array(module.HEAPU8.buffer, input, 3)[2] += count;
      if (written === packed) return size > taken ? 99 : 5;
      written += count;
      return written === packed ? 0 : 7;
    },
  };
  const whole = Uint8Array.from({ length: pieces.reduce((sum, size) => sum + size, 0) }, (_, i) => 1 + i % 251);
  let at = 0;
  const memory = new ReadableStream({
    pull(controller) {
      if (!pieces.length) return controller.close();
      const size = pieces.shift();
      controller.enqueue(whole.slice(at, at += size));
    },
  });
  try {
    await fill(module, exports, memory, { memory: packed, window: 0, fresh: { pages: [], hash: 0 } });
  } catch (error) {
    return error.message;
  }
  return whole.every((byte, i) => module.HEAPU8[i] === byte) && module.HEAPU8.subarray(packed).every((byte) => !byte);
}"""
ROOM = 2**18  # what the decoder takes and gives at a time


@pytest.fixture(scope="module")
def fill(shared, site):
    """Fill a memory of some size from pieces: whether it is right then, or what went wrong."""
    boot = f"./assets/{next((site / 'assets').glob('pyodide-boot.*')).name}"
    return lambda pieces, packed: shared.page.evaluate(FILL, [boot, pieces, packed])


@pytest.mark.parametrize(
    "pieces",
    [[5], [ROOM], [2 * ROOM], [ROOM, 1], [1, ROOM], [7, ROOM, ROOM - 7], [3 * ROOM // 2, ROOM // 2], [9] * 40],
    ids=str,
)
def test_a_memory_may_come_in_any_pieces(fill, pieces):
    assert fill(pieces, sum(pieces)) is True


@pytest.mark.parametrize(
    ("pieces", "packed", "said"),
    [
        ([ROOM], ROOM + 1, f"ends after {ROOM} of {ROOM + 1} bytes"),
        ([ROOM, 3], ROOM, "is damaged"),
        ([ROOM + 3], ROOM, "is damaged"),
    ],
)
def test_a_memory_that_is_not_whole_is_told(fill, pieces, packed, said):
    assert said in fill(pieces, packed)


def test_storage_that_is_refused_changes_nothing(visit, address):
    refuse = "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('refused'); } });"
    page = visit(address, init=refuse).page
    expect(page.locator("html")).to_have_attribute("data-boot", "resumed")


def test_a_line_that_turns_out_to_be_slow(visit, serve, faults):
    # To a clock that runs a thousand times as fast, any line is slow; the memory comes once the line is looked at.
    faults["memory-"] = "held"
    hurry = "const now = performance.now.bind(performance); performance.now = () => 1000 * now();"
    page = visit(serve(handler=faults.handler), init=hurry, wait="painted").page
    faults.mend()
    expect(page.locator("html")).to_have_attribute("data-boot", "cold")
    expect(page.locator("html")).to_have_attribute("data-fallback", "the line is slow")


def test_python_that_breaks_starts_again_with_the_state(visit, address, numbers, keep_worker):
    page = visit(f"{address}?boot=resumed", init=keep_worker)
    card = page.figure("asymmetry")
    card.operate("radiogroup", "Mode", "Tied")
    tied = numbers["fig1_tied_weight_error"]["value"]
    card.shows("weight_error", tied, 1e-7)
    page.page.evaluate(
        "() => python.dispatchEvent(new ErrorEvent('error', { message: 'memory access out of bounds' }))"
    )
    expect(page.page.locator("html")).to_have_attribute("data-boot", "cold", timeout=30_000)
    card.shows("weight_error", tied, 1e-7)
    card.operate("radiogroup", "Mode", "Separate")
    card.shows("score_error", numbers["fig1_separate_score_error"]["value"], 1e-7)
    card.operate("radiogroup", "Mode", "Tied")
    card.shows("weight_error", tied, 1e-7)
    assert "out of bounds" in page.page.locator("html").get_attribute("data-fallback")


def test_python_that_does_not_answer_starts_again(visit, address):
    # The restored Python's messages are lost but for the one that it is there; time passes quickly for its watchdog.
    deaf = """
    window.Worker = class extends Worker {
      set onmessage(receive) {
        const first = !window.deaf;
        window.deaf = true;
        super.onmessage = (event) => { if (!first || event.data.kind === 'restored') receive(event); };
      }
    };
    const wait = window.setTimeout;
    window.setTimeout = (work, delay, ...given) => wait(work, delay === 20_000 ? 0 : delay, ...given);
    """
    page = visit(address, init=deaf).page
    expect(page.locator("html")).to_have_attribute("data-boot", "cold")
    expect(page.locator("html")).to_have_attribute("data-fallback", "it did not answer")
