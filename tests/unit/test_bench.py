"""The benchmark's parts: what its host sends and counts, how slow its line is, what it leaves out of wheels."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


@pytest.fixture(scope="module")
def bench() -> Iterator[ModuleType]:
    """The script as a module, with its parts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SCRIPTS))
        import bench

        yield bench
    for name in [name for name in sys.modules if name.split(".")[0] in ("bench", "benchmark")]:
        del sys.modules[name]


@pytest.fixture
def host(bench: ModuleType, tmp_path: Path) -> Any:
    """A host of three files."""
    (tmp_path / "files").mkdir()
    (tmp_path / "index.html").write_text("<p>" + "again and " * 1000)
    (tmp_path / "files" / "noise.bin").write_bytes(os.urandom(250_000))
    return bench.Host(tmp_path, r"/files/")


def ask(address: str, path: str, **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=30)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def test_a_host_compresses_text_and_counts_what_it_sends(bench: ModuleType, host: Any) -> None:
    with bench.hosting(host) as (near, _):
        before = time.time()
        page, body = ask(near, "/?query=any")
        noise, _ = ask(near, "/files/noise.bin")
    assert page.getheader("content-encoding") == "gzip"
    assert len(body) < 500
    assert noise.getheader("content-encoding") is None
    assert (page.getheader("cache-control"), noise.getheader("cache-control")) == ("no-cache", bench_lasting(bench))
    assert len(host.log) == 2
    assert 250_000 < host.sent() < 252_000
    assert host.sent(before) == 0


def bench_lasting(bench: ModuleType) -> str:
    return str(sys.modules[bench.Host.__module__].LASTING)


def test_a_host_sends_nothing_again_that_has_not_changed(bench: ModuleType, host: Any) -> None:
    with bench.hosting(host) as (near, _):
        tag = ask(near, "/")[0].getheader("etag")
        answer, body = ask(near, "/", **{"If-None-Match": str(tag)})
    assert (answer.status, body) == (304, b"")


@pytest.mark.parametrize("path", ["/absent", "/../secret", "/files"])
def test_a_host_has_only_the_files_of_its_folder(bench: ModuleType, host: Any, path: str) -> None:
    (host.folder.parent / "secret").write_text("secret")
    with bench.hosting(host) as (near, _):
        assert ask(near, path)[0].status == 404


def test_the_slow_line_is_slow_and_loses_nothing(bench: ModuleType, host: Any) -> None:
    with bench.hosting(host) as (_, far):
        began = time.perf_counter()
        with urllib.request.urlopen(f"{far}/files/noise.bin", timeout=30) as answer:
            body = answer.read()
        took = time.perf_counter() - began
    assert body == (host.folder / "files" / "noise.bin").read_bytes()
    # Twice there and back, for the connection and the request; and two million bits.
    assert took >= 2 * 0.040 + 0.1


def test_connections_share_the_slow_line(bench: ModuleType, host: Any) -> None:
    with bench.hosting(host) as (_, far), ThreadPoolExecutor(3) as pool:
        began = time.perf_counter()
        assert len(list(pool.map(lambda _: ask(far, "/files/noise.bin"), range(3)))) == 3
        assert time.perf_counter() - began >= 2 * 0.040 + 0.3


def test_a_copy_of_a_wheel_lacks_what_it_is_to_lack(bench: ModuleType, tmp_path: Path) -> None:
    wheel = tmp_path / "thing-1.0-cp313-cp313-some_system.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in ("thing/__init__.py", "thing/fast.so", "thing-1.0.dist-info/METADATA"):
            archive.writestr(path, path)
    copy = bench.neighbour._repacked(wheel, tmp_path / "copies", lambda path: not path.endswith(".so"))
    assert copy.name == "thing-1.0-py3-none-any.whl"
    with zipfile.ZipFile(copy) as archive:
        assert archive.namelist() == ["thing/__init__.py", "thing-1.0.dist-info/METADATA"]


def test_every_figure_has_a_control_to_change(bench: ModuleType) -> None:
    assert list(bench.CONTROLS) == list(bench.load_project(bench.CONFIGURATION).figures)


def test_a_slowed_process_gets_its_share_of_the_time(bench: ModuleType, tmp_path: Path) -> None:
    """Work that takes some processor time takes several times as long by the clock."""
    code = "import sys, time; began = time.monotonic()\nwhile time.process_time() < 1: pass\nprint(time.monotonic() - began)"
    with bench.slowed(tmp_path, 4):
        done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert float(done.stdout) > 2


def visited(bench: ModuleType, seconds: float) -> Any:
    marks = dict.fromkeys(("picture", "painted", "live", "answered"), seconds)
    return bench.Visited(marks, 2_000_000, 3_000_000, 20, 0.0, 4.5)


def test_tables_show_medians_and_the_ratio(bench: ModuleType) -> None:
    ours = [visited(bench, seconds) for seconds in (1.0, 9.0, 2.0)]
    theirs = [visited(bench, seconds) for seconds in (20.0, 21.0, 90.0)]
    seen = {
        "this site": {"first": ours, "second": ours, "weak": ours},
        "panel convert": {"first": theirs, "second": theirs, "weak": theirs, "slow": theirs},
    }
    lines = list(bench.visits_table(seen))
    assert lines[0] == "| | this site | panel convert |"
    assert "| all live | 2.00 s (1.00–9.00) | 21.00 s (20.00–90.00) |" in lines
    assert "| 20 Mbit/s, 40 ms: all live | – | 21.00 s (20.00–90.00) |" in lines
    assert "| sent until live | 2.0 MB | 2.0 MB |" in lines
    assert "| processor time until all have answered | 4.5 s | 4.5 s |" in lines
    assert bench.ratio(seen) == (
        "All live 10.5 times sooner, 10.5 times sooner at the second visit; "
        "all have answered 10.5 times sooner and 10.5 times sooner."
    )


def test_visit_that_takes_too_long_is_a_cell_and_the_rest_is_told(bench: ModuleType) -> None:
    late = bench.Visited({"picture": 0.5, "live": 40.0}, 2_000_000, 3_000_000, 20, 0.0, 4.5, missing="over 60 s")
    ours = [visited(bench, 2.0)]
    seen = {
        "this site": {"first": ours, "second": [visited(bench, 3.0), late], "weak": [visited(bench, 4.0), late, late]},
        "panel convert": {"first": [late], "second": ours, "weak": [late]},
    }
    lines = list(bench.visits_table(seen))
    assert "| first picture | 2.00 s (2.00–2.00) | 0.50 s (0.50–0.50) |" in lines
    assert "| all have answered a change | 2.00 s (2.00–2.00) | over 60 s |" in lines
    assert "| second visit: all have answered | over 60 s (3.00–over 60 s) | 2.00 s (2.00–2.00) |" in lines
    assert "| 4 times slower processor: all live | 40.00 s (4.00–40.00) | 40.00 s (40.00–40.00) |" in lines
    assert "| 4 times slower processor: all have answered | over 60 s (4.00–over 60 s) | over 60 s |" in lines
    assert bench.ratio(seen) == (
        "All live 20.0 times sooner, 0.1 times sooner at the second visit; "
        "all have answered over 30.0 times sooner and not told."
    )


def test_what_is_measured_is_told_as_it_comes_and_whatever_stops_it(
    bench: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    target = bench.Target("this site", None, "", "")

    def made() -> Iterator[Any]:
        yield target, "first", visited(bench, 1.5)
        assert "this site, first: picture 1.50 s, painted 1.50 s, live 1.50 s" in capsys.readouterr().err
        yield target, "weak", bench.Visited({"live": 9.0}, 0, 0, 0, 0.0, 0.0, missing="over 60 s")
        assert "this site, weak: live 9.00 s, over 60 s (load" in capsys.readouterr().err
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bench.visits_told(made(), ["this site", "panel convert"])
    table = capsys.readouterr().out
    assert "| all live | 1.50 s (1.50–1.50) | – |" in table
    assert "| 4 times slower processor: all have answered | over 60 s | – |" in table


def test_goals_are_shares_of_the_other_site(bench: ModuleType) -> None:
    def one(nodes: int, seconds: float) -> Any:
        marks = dict.fromkeys(("near", "live"), seconds)
        thread = dict.fromkeys(sys.modules[bench.visit.__module__].METRICS, seconds)
        census = {"nodes": nodes, "styles": 7, "sheets": 9}
        return bench.Visited(marks, 0, 0, 0, 0.0, 9.0, live_work=seconds, thread=thread, census=census)

    late = bench.Visited({}, 0, 0, 0, 0.0, 9.0, missing="over 60 s")
    seen = {
        "this site": {kind: [one(1000, 1.0), late, one(1000, 2.0)] for kind in ("first", "read", "weak")},
        "the other site": {"first": [one(4000, 2.0)] * 3, "read": [one(4000, 2.0)], "weak": [late]},
    }
    lines = list(bench.goals_table(seen))
    assert lines[0] == "| goal | this site | the other site | ratio |"
    assert "| nodes | 1,000 | 4,000 | 0.25 |" in lines
    assert "| page's thread until all are live | 1.5 | 2 | 0.75 |" in lines
    assert "| processor time until all are live | 1.5 | 2 | 0.75 |" in lines
    assert "| all live on a 4 times slower processor | 2 | – | – |" in lines
    table = list(bench.visits_table(seen))
    assert "| style sheets | 9 | 9 |" in table
    assert (
        "| page's thread until those near are | 1.50 s (scripts 1.50, styles 1.50, layout 1.50) | 2.00 s (scripts 2.00, styles 2.00, layout 2.00) |"
        in table
    )


# A figure as those of this site are, and one as Panel has them: cards and controls have shadow roots. In either the
# readout stands there twice.
FIGURE = """
<!doctype html><html><body><figure data-figure="one" data-state="painted"><b data-readout="sum" data-value="0">0</b>
<div id="card"></div></figure><div style="height: 3000px"></div><figure data-figure="two" data-state="painted"></figure>
<script>
const card = document.querySelector('#card').attachShadow({ mode: 'open' });
card.adoptedStyleSheets = [new CSSStyleSheet()];
card.innerHTML = `<style></style>CONTROL<p><b data-readout="sum" data-value="0">0</b></p>`;
const host = card.querySelector('[data-label]');
const root = host ? host.attachShadow({ mode: 'open' }) : card;
if (host) { root.adoptedStyleSheets = card.adoptedStyleSheets; root.innerHTML = '<select><option>a<option>b</select>'; }
root.addEventListener('change', () => {
  const text = card.querySelector('p'), all = [...root.querySelectorAll('input')];
  const sum = root.querySelector('select')?.selectedIndex ?? all.reduce((sum, { type, checked, value }, i) => sum + (type === 'radio' ? checked * i : +value), 0);
  text.innerHTML = '';
  setTimeout(() => { text.innerHTML = `<b data-readout="sum" data-value="${sum}">${sum}</b>`; }, 5);
});
const live = (name) => { document.querySelector(`[data-figure=${name}]`).dataset.state = 'live'; };
document.addEventListener('drawfigures', () => setTimeout(() => live('two'), 200));
addEventListener('load', () => setTimeout(() => { live('one'); document.documentElement.dataset.figures = 'live'; }, 100));
</script>
"""
CONTROLS = {
    "host of a widget": '<div data-label="Sum"></div>',
    "select": '<select aria-label="Sum"><option>a<option>b</select>',
    "slider": '<input type="range" aria-label="Other"><input type="range" aria-label="Sum" max="3" value="3">',
    "radios": '<div role="radiogroup" aria-label="Sum"><input type="radio" name="a" checked><input type="radio" name="a"></div>',
}


@pytest.mark.browser
@pytest.mark.parametrize("kind", CONTROLS)
def test_control_is_found_and_used_however_it_is_made(bench: ModuleType, tmp_path: Path, kind: str) -> None:
    (tmp_path / "index.html").write_text(FIGURE.replace("CONTROL", CONTROLS[kind]))
    host = bench.Host(tmp_path, "/files/")
    control = {"control": "Sum", "readout": "sum"}

    def run() -> Any:
        with bench.hosting(host) as (near, _), bench.sync_playwright() as playwright:
            with bench.profile() as folder:
                all_drawn = bench.visit(playwright, folder, host, f"{near}/", [control])
            with bench.profile() as folder:
                as_read = bench.visit(playwright, folder, host, f"{near}/", [], draws_all=False)
            with bench.profile() as folder, sys.modules[bench.visit.__module__].browser(playwright, folder) as context:
                assert bench.opened(context.pages[0], f"{near}/", [control]) == ""
                return all_drawn, as_read, bench.latencies(context.pages[0], control, 3)

    with ThreadPoolExecutor(1) as pool:
        all_drawn, as_read, samples = pool.submit(run).result()
    assert all_drawn.missing == as_read.missing == ""
    assert len(samples) == 3
    # With the second figure, which is far below and drawn only when it is asked for; without it.
    assert all_drawn.seconds["live"] > all_drawn.seconds["near"] + 0.05
    assert as_read.seconds["live"] < as_read.seconds["near"] + 0.05
    assert all_drawn.census["styles"] == 1
    assert all_drawn.census["sheets"] == 2
    assert all_drawn.census["nodes"] > 10
    assert all_drawn.thread["TaskDuration"] > 0
    assert all_drawn.live_work > 0


PAGES = {
    "silent": "<figure data-figure='one' data-state='picture'></figure>",
    "live": "<figure data-figure='one' data-state='live'></figure><script>document.documentElement.dataset.figures = 'live'</script>",
    "failed": "<figure data-figure='one' data-state='failed'></figure><script>document.documentElement.dataset.figures = 'failed'</script>",
}


@pytest.mark.browser
@pytest.mark.parametrize(
    ("page", "reached", "missing"),
    [
        ("silent", {"picture"}, "over 2 s"),
        ("live", {"picture", "near", "live"}, "failed (Page.evaluate: Error: There is no "),
        ("failed", {"picture"}, "failed (Page.evaluate: Error: The figures have failed."),
        ("none", set(), "over 2 s"),
    ],
)
def test_visit_ends_whatever_a_page_does(
    bench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str, reached: set[str], missing: str
) -> None:
    """It has the marks that were reached, and says what kept the others."""
    module = sys.modules[bench.visit.__module__]
    monkeypatch.setattr(module, "PATIENCE", 2000)
    monkeypatch.setattr(module, "LATE", "over 2 s")
    for name, html in PAGES.items():
        (tmp_path / f"{name}.html").write_text(f"<!doctype html><html><body>{html}")
    host = bench.Host(tmp_path, "/files/")

    def run() -> Any:
        with bench.hosting(host) as (near, _), bench.profile() as folder, bench.sync_playwright() as playwright:
            # Whoever is there takes the connection, and never answers.
            address = f"{near}/{page}.html" if page in PAGES else f"http://127.0.0.1:{silent.getsockname()[1]}/"
            return bench.visit(playwright, folder, host, address, [{"control": "None", "readout": "none"}])

    with socket.create_server(("127.0.0.1", 0)) as silent, ThreadPoolExecutor(1) as pool:
        visited = pool.submit(run).result()
    assert set(visited.seconds) - {"contentful"} == reached
    assert visited.missing.startswith(missing)


def test_work_is_that_of_the_browser_s_processes(bench: ModuleType, tmp_path: Path) -> None:
    work = sys.modules[bench.visit.__module__]._work
    code = "import sys, time\nwhile time.process_time() < 0.5: pass\nprint(flush=True); sys.stdin.read()"
    assert work(tmp_path) == 0
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stdin
        process.stdout.readline()
        assert 0.4 < work(tmp_path) < 5
        process.stdin.close()
