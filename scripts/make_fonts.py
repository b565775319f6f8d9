"""Make the page's fonts: subsets of published fonts, holding the characters that the site uses.

    python -m venv .fonts && .fonts/bin/pip install fonttools==4.60.1 brotli==1.2.1 latex2mathml==3.81.1
    .fonts/bin/python scripts/make_fonts.py

Run it again when the article or a figure uses a new character; `tests/unit/test_fonts.py` says so. It needs
`pip` and `npm` on the path, which bring the packages below; their contents are checked against the hashes
here, and the same packages give the same bytes. Fonts, licences and the list of characters go to
`site/style/fonts`.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import html
import io
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FONTS = ROOT / "site" / "style" / "fonts"
LIST = FONTS / "characters.txt"


@dataclass(frozen=True)
class Package:
    """A published package: which client brings it, and the SHA-256 of the font in it."""

    client: str
    name: str
    font: str
    licence: str
    sha256: str


@dataclass(frozen=True)
class Face:
    """A font of the page: where it comes from, and what of its axes is kept (a value, or a range)."""

    name: str
    package: Package
    axes: dict[str, Any]


# Serif, sans and code are the whole families, with superscripts, Greek and signs. The packages of the web fonts
# people usually take are cut by script, and lack these.
SERIF = "fontpkg-source-serif-4==4.4"
FACES = (
    Face(
        "serif",
        Package("pip", SERIF, "SourceSerif4[opsz,wght].ttf", "source-serif-4",
                "97b2d4da6e3cb494b5a1e66ae176914d852ccabef49e0c02c0df25f3e39aca0b"),
        {"opsz": 20, "wght": (400, 700)},
    ),
    Face(
        "serif-italic",
        Package("pip", SERIF, "SourceSerif4-Italic[opsz,wght].ttf", "source-serif-4",
                "15fbc7e4679489a501998c3669272637a6646388ef7e4bd77eebb5bf967a1f42"),
        {"opsz": 20, "wght": 400},
    ),
    Face(
        "sans",
        Package("pip", "fontpkg-source-sans-3==3.52", "SourceSans3[wght].ttf", "source-sans-3",
                "042fe2cc0b933e328410d7acbd0aa6a1873dca5aef81875f4bc214b08825c7b9"),
        {"wght": (400, 700)},
    ),
    Face(
        "code",
        Package("pip", "fontpkg-source-code-pro==1.26", "SourceCodePro[wght].ttf", "source-code-pro",
                "b400fc584e10aff25d0e775ce181b4fc1c5ea1b5dc37b81aeb2084375b945790"),
        {"wght": 400},
    ),
    Face(
        "math",
        Package("npm", "@fontsource/stix-two-math@5.3.0", "stix-two-math-latin-400-normal.woff2", "stix-two-math",
                "8b2a6834cfe1f4e0f3724ffa59fe92000013fc5a4c41e6a3f438006c26c60f0d"),
        {},
    ),
)  # fmt: skip

# What is kept of a font's layout: spacing, ligatures, placing of accents, and the kinds of digits.
FEATURES = ["kern", "liga", "ccmp", "locl", "mark", "mkmk", "tnum", "lnum", "pnum"]
# Copyright, family, style, identifier, full name, version, PostScript name, licence and its address.
NAMES = [0, 1, 2, 3, 4, 5, 6, 13, 14]

# Always there, used or not: what can be typed, the letters of western European names, and signs that numbers need.
ASCII = "".join(map(chr, range(0x20, 0x7F)))
LATIN = "".join(chr(c) for c in range(0xC0, 0x100))
SIGNS = "\u00a0\u2009\u200a\u202f°±·×÷−√∞≈≠≤≥∂∑Σ⊤ᵀΩδ‐–—‘’“”…⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻₀₁₂₃₄₅₆₇₈₉←→↑↓⇄▾"
# A letter in an equation is a character of its own, in italics; the h had its place before the others.
ITALIC = {
    **{chr(ord("A") + i): chr(0x1D434 + i) for i in range(26)},
    **{chr(ord("a") + i): chr(0x1D44E + i) for i in range(26)},
    **{chr(0x3B1 + i): chr(0x1D6FC + i) for i in range(25)},
    **{chr(0x391 + i): chr(0x1D6E2 + i) for i in range(25)},
    "h": "\u210e",
    "∂": "\U0001d715",
}

# Where characters of the site are written: what is rendered from these is made of the characters in them.
TEXTS = ("site/*.md", "site/*.toml", "site/templates/*.html", "site/style/*.css", "src/panel_freeze/runtime/*.js")
MODULES = ("figures/**/*.py", "src/attention_core/*.py", "src/panel_freeze/*.py")

_EQUATION = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+)\$", re.DOTALL)
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})|\\u\{([0-9a-fA-F]+)\}")


def characters() -> set[str]:
    """Return the characters that text of the site may hold, those always kept among them."""
    found = set(ASCII + LATIN + SIGNS)
    for path in _files(TEXTS):
        found |= set(html.unescape(_ESCAPE.sub(_escaped, path.read_text(encoding="utf-8"))))
    for path in _files(MODULES):
        found |= set(html.unescape("".join(_strings(ast.parse(path.read_text(encoding="utf-8"))))))
    return {character for character in found if character.isprintable() or character in SIGNS}


def math_characters() -> set[str]:
    """Return the characters that the article's equations hold once they are MathML."""
    from latex2mathml.converter import convert

    found = set(ASCII)
    for path in _files(TEXTS[:1]):
        for display, inline in _EQUATION.findall(path.read_text(encoding="utf-8")):
            found |= set(html.unescape(re.sub(r"<[^>]*>", "", convert(display or inline))))
    letters = {ITALIC[letter] for letter in ITALIC if letter in found or letter in ASCII}
    return {character for character in found if character.isprintable()} | letters


def listed() -> dict[str, set[str]]:
    """Return what each font in `site/style/fonts` has, by the list beside them."""
    fonts = {}
    for line in LIST.read_text(encoding="utf-8").splitlines():
        name, ranges = line.split(": ")
        ends = [part.removeprefix("U+").split("-") for part in ranges.split(", ")]
        fonts[name] = {chr(c) for low, *high in ends for c in range(int(low, 16), int((high or [low])[0], 16) + 1)}
    return fonts


def _files(patterns: Iterable[str]) -> list[Path]:
    return sorted(path for pattern in patterns for path in ROOT.glob(pattern))


def _escaped(match: re.Match[str]) -> str:
    return chr(int(match.group(1) or match.group(2), 16))


def _strings(tree: ast.Module) -> Iterator[str]:
    """Give a module's strings; comments and docstrings are read by nobody on the page."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    said = {id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, documented)
            and node.body and isinstance(node.body[0], ast.Expr)}  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value


def _bring(package: Package, folder: Path) -> dict[str, bytes]:
    """Download a package, and return its files by their names without folders."""
    folder.mkdir(parents=True, exist_ok=True)
    if package.client == "pip":
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
                   "--dest", str(folder), package.name]  # fmt: skip
    else:
        command = ["npm", "pack", "--silent", "--pack-destination", str(folder), package.name]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (archive,) = folder.iterdir()
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as files:
            return {Path(name).name: files.read(name) for name in files.namelist() if ".dist-info" not in name}
    with tarfile.open(archive) as members:
        return {Path(m.name).name: data.read() for m in members if (data := members.extractfile(m))}


def _cut(font: bytes, axes: dict[str, Any], kept: set[str]) -> tuple[bytes, set[str]]:
    """Return a WOFF2 file with the characters of `kept` that the font has, and these characters."""
    from fontTools import subset
    from fontTools.ttLib import TTFont
    from fontTools.varLib import instancer

    whole = TTFont(io.BytesIO(font), recalcTimestamp=False)
    if axes:
        # Written and read again: the subsetter takes only fonts as they come from a file.
        between = io.BytesIO()
        instancer.instantiateVariableFont(whole, axes, updateFontNames=False).save(between)
        whole = TTFont(between, recalcTimestamp=False)
    if "MATH" in whole:
        _one_root(whole)
    options = subset.Options()
    options.layout_features = FEATURES
    options.name_IDs = NAMES
    options.hinting = False
    options.drop_tables += ["DSIG"]
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=map(ord, kept))
    subsetter.subset(whole)
    whole.flavor = "woff2"
    made = io.BytesIO()
    whole.save(made)
    return made.getvalue(), set(map(chr, whole.getBestCmap()))


def _one_root(font: Any) -> None:
    """Leave the root sign its one size, high enough for a letter with an index.

    Chromium keeps the width of the widest size free beside every root, 0.4 em here.
    """
    variants = font["MATH"].table.MathVariants
    place = variants.VertGlyphCoverage.glyphs.index(font.getBestCmap()[ord("√")])
    construction = variants.VertGlyphConstruction[place]
    construction.MathGlyphVariantRecord = construction.MathGlyphVariantRecord[:1]
    construction.VariantCount = 1
    construction.GlyphAssembly = None


def _ranges(kept: set[str]) -> str:
    """Return characters as CSS writes them: ``U+0020-007E, U+00A0``."""
    runs: list[list[int]] = []
    for code in sorted(map(ord, kept)):
        if runs and code == runs[-1][1] + 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return ", ".join(f"U+{low:04X}" + (f"-{high:04X}" if high > low else "") for low, high in runs)


def main() -> None:
    """Make all of it, and say what each font weighs."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    text, equations = characters(), math_characters()
    shutil.rmtree(FONTS, ignore_errors=True)
    FONTS.mkdir(parents=True)
    lines, total = [], 0
    had: set[str] = set()
    with tempfile.TemporaryDirectory() as scratch:
        for face in FACES:
            files = _bring(face.package, Path(scratch) / face.name)
            font = files[face.package.font]
            if (found := hashlib.sha256(font).hexdigest()) != face.package.sha256:
                raise SystemExit(f"{face.package.font} of {face.package.name} has the SHA-256 {found}, another one.")
            # The last font has what equations need, and what of the text no other has.
            kept = equations | (text - set(LATIN)) if face.name == "math" else text
            data, characters_of = _cut(font, face.axes, kept)
            had |= characters_of
            (FONTS / f"{face.name}.woff2").write_bytes(data)
            (FONTS / f"{face.package.licence}.LICENSE.txt").write_bytes(files["LICENSE"])
            lines.append(f"{face.name}: {_ranges(characters_of)}\n")
            total += len(data)
            sys.stdout.write(f"{face.name:14}{len(data):8,} bytes, {len(characters_of)} characters\n")
    LIST.write_text("".join(lines), encoding="utf-8", newline="\n")
    sys.stdout.write(f"{'together':14}{total:8,} bytes\n")
    if missing := (text | equations) - had:
        raise SystemExit(f"No font has {' '.join(f'{c} (U+{ord(c):04X})' for c in sorted(missing))}.")


if __name__ == "__main__":
    main()
