"""The bundled fonts: every character that the site may show is in each stack, and the list says what the files hold."""

import importlib.util
import re
import sys

import pytest

from tests.conftest import ROOT

STYLE = ROOT / "site" / "style"
SHEET = (STYLE / "fonts.css").read_text(encoding="utf-8")
# All five together; the figure is what a reader's line has to carry.
HEAVIEST = 125_000


@pytest.fixture(scope="module")
def make_fonts():
    spec = importlib.util.spec_from_file_location("make_fonts", ROOT / "scripts" / "make_fonts.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def faces():
    """Give each face of the style sheet that comes from a file, as (family, file, ranges)."""
    for rule in re.findall(r"@font-face \{(.*?)\}", SHEET):
        if file := re.search(r"url\(fonts/(.*?)\.woff2\)", rule):
            ranges = re.search(r"unicode-range: (.*?);", rule)
            yield re.search(r'font-family: "(.*?)"', rule).group(1), file.group(1), ranges and ranges.group(1)


def within(ranges):
    """Return whether a character lies in ranges as CSS writes them."""
    if ranges is None:
        return lambda character: True
    ends = [part.removeprefix("U+").split("-") for part in ranges.split(", ")]
    return lambda character: any(int(low[0], 16) <= ord(character) <= int(low[-1], 16) for low in ends)


def family(name, fonts, *, italic):
    held = set()
    for of, file, ranges in faces():
        if of == name and (file != "serif" or not italic) and (file != "serif-italic" or italic):
            held |= set(filter(within(ranges), fonts[file]))
    return held


@pytest.mark.parametrize(("stack", "italic"), [("serif", False), ("serif", True), ("sans", False), ("mono", False)])
def test_every_character_is_in_each_stack(make_fonts, stack, italic):
    names = re.findall('"(.*?)"', re.search(rf"--{stack}: (.*?);", SHEET).group(1))
    fonts = make_fonts.listed()
    held = set().union(*(family(name, fonts, italic=italic) for name in names))
    missing = sorted(make_fonts.characters() - held)
    assert not missing, f"run scripts/make_fonts.py again: no font of --{stack} has {missing}"


def test_equations_are_set_in_one_font(make_fonts):
    missing = sorted(make_fonts.math_characters() - make_fonts.listed()["math"])
    assert not missing, f"run scripts/make_fonts.py again: the font of equations lacks {missing}"


def test_characters_are_found_as_the_page_shows_them(make_fonts):
    found = make_fonts.characters()
    # Written as an escape, as an entity or plainly, in the builder, the templates, the figures and the article.
    assert {"\u202f", "⁻", "Ω", "√", "·", "−", "’"} <= found
    assert {"𝑋", "𝑑", "ℎ", "⊤", "𝛺"} <= make_fonts.math_characters()


def test_every_font_has_its_file_and_licence(make_fonts):
    assert {path.stem for path in make_fonts.FONTS.glob("*.woff2")} == set(make_fonts.listed())
    assert {file for _, file, _ in faces()} == set(make_fonts.listed())
    for face in make_fonts.FACES:
        licence = (make_fonts.FONTS / f"{face.package.licence}.LICENSE.txt").read_text(encoding="utf-8")
        assert "SIL Open Font License, Version 1.1" in licence


def test_fonts_are_light(make_fonts):
    assert sum(path.stat().st_size for path in make_fonts.FONTS.glob("*.woff2")) < HEAVIEST


def test_the_list_says_what_the_files_hold(make_fonts):
    fonts = pytest.importorskip("fontTools.ttLib", reason="fontTools is not installed here")
    pytest.importorskip("brotli", reason="brotli is not installed here")
    for name, held in make_fonts.listed().items():
        font = fonts.TTFont(make_fonts.FONTS / f"{name}.woff2")
        assert set(map(chr, font.getBestCmap())) == held
        assert ("MATH" in font) == (name == "math")
