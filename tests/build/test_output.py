"""The built folder: its tree, names, references, report, and nothing in it of the machine that built it."""

from __future__ import annotations

import getpass
import gzip
import hashlib
import html
import json
import re
import socket
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from panel_freeze.bundle import unpack

ROOT = Path(__file__).resolve().parents[2]
TEXT = {".html", ".css", ".js", ".mjs", ".json", ".webmanifest"}

# Addresses that scripts of others carry and never ask for here: name spaces, documents, and what only parts that
# no figure uses would fetch. The browser tests see that no request leaves the site.
INERT_HOSTS = {
    "pyodide.mjs": None,
    "pyodide-asm.mjs": None,
    "bokeh.js": None,
    "bokeh-widgets.js": None,
    "bokeh-tables.js": None,
    "panel.js": None,
}
ALLOWED_HOSTS = {"www.w3.org", "freeze.invalid", "freeze"}  # the last as a pattern in the page's script


class References(HTMLParser):
    """Everything a page fetches or leads to, by kind of element."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self.texts: dict[str, str] = {}
        self._open = ""
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.found += [
            (tag, value) for key in ("src", "href", "action", "poster", "data") if (value := values.get(key))
        ]
        self.found += [(tag, part.split()[0]) for part in (values.get("srcset") or "").split(",") if part.strip()]
        self._open = values.get("id") or tag

    def handle_data(self, data):
        self.texts[self._open] = self.texts.get(self._open, "") + data

    def handle_endtag(self, _):
        self._open = ""


def names(site):
    return {file.relative_to(site).as_posix() for file in site.rglob("*") if file.is_file()}


def pages(site):
    return sorted(site.rglob("*.html"))


@pytest.fixture
def settings(site):
    return json.loads(References(site / "index.html").texts["site"])


@pytest.fixture
def report(site):
    return json.loads((site / "build.json").read_text(encoding="utf-8"))


def test_tree(site, figures):
    top = {entry.name for entry in site.iterdir()}
    assert top >= {"index.html", "figures", "assets", "manifest.webmanifest", "build.json", ".nojekyll"}
    assert {name for name in names(site) if name.startswith("figures/")} == {
        f"figures/{name}/index.html" for name in figures
    }
    assert not [name for name in names(site) if "/" not in name and not re.fullmatch(r"[\w.-]+", name)]


def test_names_survive_every_host(site):
    odd = [
        part for name in names(site) for part in name.split("/") if part.startswith(("_", ".")) and part != ".nojekyll"
    ]
    assert not odd
    assert not [name for name in names(site) if re.search(r"[^A-Za-z0-9._/-]", name)]
    lower = [name.lower() for name in names(site)]
    assert len(lower) == len(set(lower)), "names differ by case alone"


def test_assets_carry_the_hash_of_their_content(site):
    assets = sorted((site / "assets").iterdir())
    assert len(assets) > 30
    for file in assets:
        stem, digest, ending = file.name.rsplit(".", 2)
        assert digest == hashlib.sha256(file.read_bytes()).hexdigest()[:12], file.name
        assert stem
        assert ending


def test_references_are_relative_and_exist(site):
    for page in pages(site):
        for tag, reference in References(page).found:
            parts = urlsplit(reference)
            if tag == "a" and parts.scheme in ("https", "mailto"):
                continue
            if parts.scheme == "data":
                continue
            assert not parts.scheme, f"{page}: {reference}"
            assert not parts.netloc, f"{page}: {reference}"
            assert not reference.startswith("/"), f"{page}: {reference}"
            if parts.path:
                target = (page.parent / unquote(parts.path)).resolve()
                target = target / "index.html" if target.is_dir() else target
                assert target.is_file(), f"{page}: {reference}"
                assert target.is_relative_to(site)


def test_links_within_a_page_lead_somewhere(site):
    for page in pages(site):
        text = page.read_text(encoding="utf-8")
        ids = set(re.findall(r'\bid="([^"]+)"', text))
        assert len(ids) == len(re.findall(r'\bid="([^"]+)"', text)), f"{page} has an id twice"
        wanted = {reference[1:] for tag, reference in References(page).found if reference.startswith("#")}
        assert wanted <= ids


def test_paths_in_the_settings_exist(site, settings):
    def paths(value):
        if isinstance(value, str):
            return [value] if value.startswith("assets/") else []
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
        return [path for item in inner for path in paths(item)]

    found = paths(settings)
    assert len(found) > 20
    assert set(found) <= names(site)


def test_every_asset_is_referred_to(site):
    text = "".join(
        file.read_text(encoding="utf-8")
        for file in site.rglob("*")
        if file.suffix in TEXT and file.name != "build.json"
    )
    forgotten = [name for name in names(site) if name.startswith("assets/") and name.split("/")[1] not in text]
    assert not forgotten


def test_scripts_import_what_is_there(site):
    for script in (site / "assets").glob("*.js"):
        text = script.read_text(encoding="utf-8")
        for name in re.findall(r"""(?:from|import)\s*\(?\s*['"](\./[^'"]+)['"]""", text):
            assert (script.parent / name).is_file(), f"{script.name} imports {name}"


def test_report_tells_size_and_hash_of_every_file(site, report):
    assert set(report["files"]) == names(site) - {"build.json"}
    for name, entry in report["files"].items():
        data = (site / name).read_bytes()
        assert entry["bytes"] == len(data), name
        assert entry["sha256"] == hashlib.sha256(data).hexdigest(), name
        assert entry["gzip"] <= len(data) + 40, name


def test_report_tells_versions_and_budgets(report):
    import bokeh
    import numpy
    import panel

    assert report["versions"]["numpy"] == numpy.__version__
    assert report["versions"]["bokeh"] == bokeh.__version__
    assert report["versions"]["panel"] == panel.__version__
    assert report["versions"]["python"].startswith("3.14.")
    assert report["budgets"]["before_runtime"]["allowed"] == 300_000
    for name, budget in report["budgets"].items():
        assert budget["measured"] > 0
        assert budget["allowed"] is None or budget["measured"] <= budget["allowed"], name


def test_manifest_stays_in_the_folder_of_the_site(site):
    manifest = json.loads((site / "manifest.webmanifest").read_text(encoding="utf-8"))
    for key in ("scope", "start_url"):
        url = urljoin("https://host.example/some/folder/manifest.webmanifest", manifest[key])
        assert url == "https://host.example/some/folder/"


def test_page_says_what_it_is_without_scripts(site, figures):
    for page in pages(site):
        text = page.read_text(encoding="utf-8")
        assert re.search(r"<noscript><p[^>]*>Scripts are off", text)
        assert text.startswith("<!doctype html>\n<html lang=")
        assert "<script>" not in text, "an inline script"
        assert not re.search(r"\son\w+=", html.unescape(re.sub(r">[^<]*<", "><", text))), "an inline handler"
    article = (site / "index.html").read_text(encoding="utf-8")
    assert re.findall(r'data-figure="(\w+)"', article) == figures
    assert re.findall(r"<img[^>]*>", article)[0].count("loading=lazy") == 0
    assert article.count('loading="lazy"') == len(figures) - 1


def test_values_of_readouts_are_strict_json(site):
    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    for page in pages(site):
        values = re.findall(r'data-value="([^"]*)"', page.read_text(encoding="utf-8"))
        assert values
        for value in values:
            json.loads(html.unescape(value), parse_constant=refuse)


def every_content(site):
    """Yield every file's content, also of what is packed or compressed in it."""
    for file in sorted(site.rglob("*")):
        if not file.is_file():
            continue
        data = file.read_bytes()
        name = file.relative_to(site).as_posix()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        yield name, data
        if file.suffix == ".zip":
            with zipfile.ZipFile(file) as archive:
                for inner in archive.namelist():
                    yield f"{name}: {inner}", archive.read(inner)
        elif re.search(r"(packages|late|data)\.", name):
            yield from ((f"{name}: {path}", content) for path, content in unpack(data).items())


def test_nothing_tells_where_it_was_built(site):
    places = {str(ROOT), str(Path.home()), str(Path(__import__("panel").__file__).parents[1])}
    # Short or common words would be found by chance.
    places |= {word for word in (getpass.getuser(), socket.gethostname()) if len(word) > 6}
    needles = {place.encode() for place in places if len(place) > 5}
    assert needles
    for name, data in every_content(site):
        for needle in needles:
            assert needle not in data, f"{name} holds {needle.decode()}"


def test_texts_name_no_other_host(site):
    found = {}
    for file in sorted(site.rglob("*")):
        if file.suffix not in TEXT or file.name == "build.json":
            continue
        short = re.sub(r"\.\w{12}\.", ".", file.name)
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".html":  # links that readers may follow are the article's own business
            text = re.sub(r'<a [^>]*href="https://[^"]*"', "", text)
        hosts = set(re.findall(r"""\b(?:https?|wss?):\\?/\\?/([\w.-]+\w)""", text)) - ALLOWED_HOSTS
        if hosts and short not in INERT_HOSTS:
            found[file.name] = hosts
    assert not found


def test_numpy_of_the_browser_is_the_one_installed(report):
    import numpy

    assert report["versions"]["numpy"] == numpy.__version__


def test_bundle_carries_no_sources_and_no_tests(site, settings):
    late = settings["late"]["url"] if isinstance(settings["late"], dict) else settings["late"]
    paths = [
        path
        for pack in (settings["parts"]["bundle"], late)
        for path in unpack(gzip.decompress((site / pack).read_bytes()))
    ]
    assert "attention_core/_attention.pyc" in paths
    assert not [path for path in paths if path.endswith((".py", ".so", ".js", ".ts")) or "/tests/" in path]
    assert not [path for path in paths if path.split("/")[0] in ("pandas", "PIL", "tornado", "requests", "pytest")]
