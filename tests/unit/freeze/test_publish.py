"""From parts to a folder: names, escaping, references, budgets."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

from panel_freeze import publish
from panel_freeze._errors import FreezeError
from panel_freeze.bake import Documents, Extra, Snapshot
from panel_freeze.project import Project
from panel_freeze.publish import Parts, Shelf, write_site
from panel_freeze.report import check_references

TITLE = "Q & A <b>x</b> “quotes”"
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def project(tmp_path):
    (tmp_path / "article.md").write_text('# Title\n\n{{ figure("one") }}\n', encoding="utf-8")
    site = ROOT / "site"
    return Project(
        root=tmp_path, title=TITLE, description="a < b", language="en", article=tmp_path / "article.md",
        templates=site / "templates", style=site / "style",
        package="apps", figures=("one",), numbers=None, python=("apps",),
    )  # fmt: skip


@pytest.fixture
def parts(tmp_path):
    """Parts as a bake gives them, but small."""
    import bokeh

    assets = {}
    for name in ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip"):
        assets[name] = tmp_path / name
        assets[name].write_bytes(name.encode() + b"\n//# sourceMappingURL=x.map")
    figure = {
        "doc": {
            "roots": [{"id": "1"}],
            "css": "https://freeze.invalid/1.9.4/dist/css/button.css",
            "text": "</script><b>",
        },
        "roots": ["1"],
        "html": '<span data-readout="x" data-value="1">1</span>',
        "title": TITLE,
    }
    given = {
        "figures": {"one": figure},
        "numbers": {},
        "imported": frozenset({"apps/one.pyc"}),
        "versions": {"bokeh": bokeh.__version__},
    }
    given["snapshots"] = {"other": Snapshot(b"head", b"memory", (1, 2), b"fresh")}
    given["fresh"] = b"fresh"
    python = {"apps/one.pyc": b"one", "apps/two.pyc": b"two", "apps/data.csv": b"1,2"}
    return Parts(assets, python, {"numpy/a.so": b"a"}, Documents(**given))


@pytest.fixture
def draft(project, parts, tmp_path):
    folder = tmp_path / "dist"
    write_site(project, parts, folder, boot="none")
    return folder


def test_name_carries_the_hash(tmp_path):
    shelf = Shelf(tmp_path)
    one, again, two = shelf.put("a.js", b"1"), shelf.put("a.js", b"1"), shelf.put("a.js", b"2")
    assert one == again != two
    assert one.startswith("assets/a.")
    assert one.endswith(".js")
    assert (tmp_path / one).read_bytes() == b"1"


def test_titles_are_shown_literally(draft):
    page = (draft / "index.html").read_text(encoding="utf-8")
    assert "<title>Q &amp; A &lt;b&gt;x&lt;/b&gt; “quotes”</title>" in page
    assert "<b>" not in page
    assert json.loads((draft / "manifest.webmanifest").read_text(encoding="utf-8"))["name"] == TITLE


def test_data_of_the_page_cannot_end_its_script(project, parts, tmp_path):
    write_site(
        dataclasses.replace(project, figures=("one",), package="</script><b>"), parts, tmp_path / "dist", boot="none"
    )
    page = (tmp_path / "dist" / "index.html").read_text(encoding="utf-8")
    assert "</script><b>" not in page


def test_style_sheets_of_the_document_are_put_on_the_shelf(draft):
    assert list((draft / "assets").glob("button.*.css"))


def test_style_sheet_of_the_document_finds_the_files_it_refers_to(project, parts, tmp_path):
    parts.documents.figures["one"]["doc"]["css"] = (
        "https://freeze.invalid/1.9.4/dist/bundled/font-awesome/css/all.min.css"
    )
    write_site(project, parts, tmp_path / "dist", boot="none")
    (sheet,) = (tmp_path / "dist" / "assets").glob("all.*.css")
    fonts = re.findall(r"url\(\s*[\"']?([^)\"'?#]+)", sheet.read_text(encoding="utf-8"))
    assert len(fonts) > 10
    # Fonts in SVG are not in the package, and no browser of today asks for them.
    assert {Path(font).suffix for font in fonts if not (sheet.parent / font).is_file()} == {".svg"}


def test_style_sheet_that_panel_has_no_copy_of_is_named_with_its_figure(project, parts, tmp_path):
    parts.documents.figures["one"]["doc"]["css"] = "https://freeze.invalid/npm/absent@1/absent.css"
    with pytest.raises(FreezeError, match=r"Figure 'one' needs npm/absent@1/absent\.css"):
        write_site(project, parts, tmp_path / "dist", boot="none")


def test_scripts_and_style_sheets_of_models_are_on_the_page(project, parts, tmp_path):
    folder = "npm/tabulator-tables@6.4.0/dist"
    parts.documents.extras["one"] = (
        Extra("script", f"{folder}/js/tabulator.min.js"),
        Extra("style", f"{folder}/css/tabulator_simple.min.css"),
    )
    write_site(project, parts, tmp_path / "dist", boot="none")
    page = (tmp_path / "dist" / "index.html").read_text(encoding="utf-8")
    assert re.search(r'panel\.\w{12}\.js","assets/tabulator\.\w{12}\.js"\]', page)
    assert re.search(r'<link rel="stylesheet" href="\./assets/tabulator_simple\.\w{12}\.css">', page)
    (script,) = (tmp_path / "dist" / "assets").glob("tabulator.*.js")
    assert b"sourceMappingURL" not in script.read_bytes()


def test_maps_that_are_not_shipped_are_not_named(draft):
    for script in (draft / "assets").glob("*.mjs"):
        assert b"sourceMappingURL" not in script.read_bytes()


@pytest.mark.parametrize("where", ["bake", "page"])
def test_other_bokeh_is_refused_with_both_versions(project, parts, tmp_path, monkeypatch, where):
    import bokeh

    if where == "bake":
        parts.documents.versions["bokeh"] = "3.8.0"
    else:
        given = publish._package_file
        monkeypatch.setattr(
            publish,
            "_package_file",
            lambda package, path: given(package, path).replace(f'"{bokeh.__version__}"'.encode(), b'"3.8.0"'),
        )
    with pytest.raises(FreezeError) as error:
        write_site(project, parts, tmp_path / "dist", boot="none")
    assert "3.8.0" in str(error.value)
    assert bokeh.__version__ in str(error.value)


@pytest.mark.parametrize(
    "text",
    ['<a href="gone.html">', '<img srcset="gone.webp 2x">', '<link href="assets/gone.css?x=1">', '<a href="figures/">'],
)
def test_reference_to_nothing_is_refused(tmp_path, text):
    (tmp_path / "figures").mkdir()
    (tmp_path / "index.html").write_text(text)
    with pytest.raises(FreezeError, match=r"index\.html refers to (gone|assets/gone|figures)"):
        check_references(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        '<a href="https://example.org">',
        '<a href="#x">',
        '<a href="index.html#x">',
        '<a href="./?a=1">',
        '<img src="data:,">',
    ],
)
def test_good_references_are_accepted(tmp_path, text):
    (tmp_path / "index.html").write_text(text)
    check_references(tmp_path)


def test_template_that_names_nothing_is_told(project, parts, tmp_path):
    templates = tmp_path / "templates"
    templates.mkdir()
    (templates / "article.html").write_text("{{ nothing }}")
    (templates / "figure.html").write_text("")
    with pytest.raises(FreezeError, match=r"article\.html .*nothing"):
        write_site(dataclasses.replace(project, templates=templates), parts, tmp_path / "dist", boot="none")


def test_figure_that_is_not_listed_is_told(project, parts, tmp_path):
    project.article.write_text('{{ figure("two") }}')
    with pytest.raises(FreezeError, match="'two'"):
        write_site(project, parts, tmp_path / "dist", boot="none")


def test_drawing_is_in_the_article_as_it_is(project, parts, tmp_path):
    parts.documents.drawings["plan"] = '<svg id="plan"><title>A & B</title></svg>'
    project.article.write_text('# Title\n\n{{ drawing("plan") }}\n')
    write_site(project, parts, tmp_path / "dist", boot="none")
    assert '<svg id="plan"><title>A & B</title></svg>' in (tmp_path / "dist" / "index.html").read_text(encoding="utf-8")


# Files of the site's style


@pytest.fixture
def styled(project, parts, tmp_path):
    """Write a site with these files in the folder of its style, and return its folder."""

    def write(files, preload=()):
        style = tmp_path / "style"
        for name, text in files.items():
            (style / name).parent.mkdir(parents=True, exist_ok=True)
            (style / name).write_bytes(text.encode())
        early = tuple(tmp_path / name for name in preload)
        write_site(dataclasses.replace(project, style=style, preload=early), parts, tmp_path / "dist", boot="none")
        return tmp_path / "dist"

    return write


def sheet_of(site):
    (sheet,) = (site / "assets").glob("site.*.css")
    return sheet.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "reference",
    [
        "url(fonts/a.woff2)",
        "url('fonts/a.woff2')",
        'url( "./fonts/a.woff2" )',
        "URL(fonts/a.woff2?#iefix)",
        "url(../style/fonts/a%2Ewoff2)",
    ],
)
def test_style_of_the_site_finds_its_files(styled, reference):
    site = styled({"page.css": f"@font-face {{ src: {reference} }}", "fonts/a.woff2": "font"})
    (name,) = re.findall(r"""(?i)url\(\s*["']?\./(a\.\w{12}\.woff2)""", sheet_of(site))
    assert (site / "assets" / name).read_text() == "font"


@pytest.mark.parametrize(
    "reference",
    [
        "url(data:image/png;base64,AA)",
        "url( 'data:,' )",
        "url( data:, )",
        "url(#mask)",
        "url(/a.png)",
        "url(//host/a.png)",
        "url(https://host/a.png)",
        "/* url(gone.png) */",
    ],
)
def test_what_names_no_file_of_the_style_is_left(styled, reference):
    assert f"a {{ b: {reference} }}" in sheet_of(styled({"page.css": f"a {{ b: {reference} }}"}))


def test_file_that_the_style_lacks_is_named_with_its_sheet(styled):
    with pytest.raises(FreezeError, match=r"The style sheet page\.css refers to fonts/gone\.woff2, which is not there"):
        styled({"page.css": "a { src: url(fonts/gone.woff2) }"})


def test_sheets_are_joined_in_order_whatever_ends_their_lines(styled):
    assert sheet_of(styled({"b.css": "b {}\r\nb {}", "a.css": "a {}"})) == "a {}\nb {}\nb {}"


def test_fonts_that_are_wanted_early_stand_before_the_style_sheet_on_every_page(styled):
    files = {
        "page.css": "a { src: url(fonts/a.woff2), url(fonts/b.woff2) }",
        "fonts/a.woff2": "a",
        "fonts/b.woff2": "b",
    }
    site = styled(files, ["style/fonts/b.woff2"])
    for page, root in ((site / "index.html", "./"), (site / "figures" / "one" / "index.html", "../../")):
        links = re.findall(r"<link .*>", page.read_text(encoding="utf-8"))
        name = Path(next((site / "assets").glob("b.*.woff2"))).name
        assert links[0] == f'<link rel="preload" as="font" type="font/woff2" crossorigin href="{root}assets/{name}">'
        assert links[1].startswith('<link rel="stylesheet"')
        assert sum("preload" in link for link in links) == 1


def test_font_that_is_wanted_early_and_never_used_is_told(styled):
    with pytest.raises(FreezeError, match=r"preloads b\.woff2, which no style sheet refers to"):
        styled({"page.css": "", "fonts/b.woff2": "b"}, ["style/fonts/b.woff2"])


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("OFL.txt", r"OFL\.\w{12}\.txt"),
        ("LICENSE", r"LICENSE\.\w{12}\.txt"),
        ("serif-4.LICENSE.txt", r"serif-4\.LICENSE\.\w{12}\.txt"),
        ("OFL-serif.txt", r"OFL-serif\.\w{12}\.txt"),
        ("licence.md", r"licence\.\w{12}\.md"),
        ("characters.txt", None),
        ("unlicensed-draft.txt", None),
        ("wolfl.txt", None),
    ],
)
def test_licence_beside_a_font_is_published_and_named_in_the_style(styled, name, published):
    site = styled({"page.css": "a { src: url(fonts/a.woff2) }", "fonts/a.woff2": "a", f"fonts/{name}": "you may"})
    found = [file.name for file in (site / "assets").iterdir() if file.read_bytes() == b"you may"]
    assert len(found) == bool(published)
    if published:
        assert re.fullmatch(published, found[0])
        assert f"./{found[0]}" in sheet_of(site)


def test_licence_beside_no_font_is_not(styled):
    site = styled({"page.css": "a { b: url(a.png) }", "a.png": "a", "LICENSE": "you may"})
    assert not list((site / "assets").glob("LICENSE*"))
