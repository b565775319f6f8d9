"""From what the bake gave to a folder that can be put on any web server."""

from __future__ import annotations

import base64
import hashlib
import importlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import deflate
import jinja2
from markupsafe import Markup

from panel_freeze import bundle
from panel_freeze._errors import FreezeError
from panel_freeze.article import FILTERS, render_article
from panel_freeze.bake import (
    ENVIRONMENT,
    PANEL_FILES,
    PICTURE_WINDOWS,
    RUNTIME,
    SCHEMES,
    Documents,
    Pictures,
    to_webp,
)
from panel_freeze.bundle import Files
from panel_freeze.memory import pack_memory
from panel_freeze.project import FONTS, Project
from panel_freeze.report import check_references, write_report

POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; font-src 'self'; manifest-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)
# In the order in which they must run.
SCRIPTS = (
    ("bokeh", "server/static/js/bokeh.min.js"),
    ("bokeh", "server/static/js/bokeh-widgets.min.js"),
    ("bokeh", "server/static/js/bokeh-tables.min.js"),
    ("panel", "dist/panel.min.js"),
)
# Each comes after those it imports.
MODULES = (
    "download.js",
    "pyodide-boot.js",
    "worker.js",
    "address.js",
    "morph.js",
    "sets.js",
    "sheets.js",
    "show.js",
    "way-to-start.js",
    "contents.js",
    "accessible-names.js",
    "queue.js",
    "figure.js",
    "print.js",
    "links.js",
    "selftest.js",
    "page.js",
)
# Files beside a font that tell its licence; they are published with it, as many licences ask.
LICENCE = re.compile(r"(?i)([\w.-]*[._-])?(ofl|licen[cs]e|copying|copyright)([._-][\w.-]*)?(\.txt|\.md)?")
# What a style sheet refers to by a relative path; comments are found too, to be left as they are.
_REFERENCE = re.compile(rb"(?is)/\*.*?\*/|url\(\s*+[\"']?+(?!data:|[a-z][a-z0-9+.-]*:|[/#])([^)\"'?#]+)")
# Windows of these widths show the picture taken at the width beside them; larger ones the last.
PICTURE_MEDIA = ((360, 563), (768, 1019))


@dataclass
class Parts:
    """Everything a site is made of, before it has names."""

    assets: Mapping[str, Path]
    python: Files
    libraries: Files
    documents: Documents
    pictures: Pictures | None = None


@lru_cache(maxsize=64)
def _compressed(data: bytes) -> bytes:
    # A draft and the site hold the same large files.
    return bytes(deflate.gzip_compress(data, 12))


@dataclass
class Shelf:
    """The ``assets`` folder: files under names that carry the hash of their content."""

    folder: Path
    sizes: dict[str, int] = field(default_factory=dict)

    def put(self, name: str, data: bytes, *, compress: bool = False) -> str:
        """Store a file and return its path from the site's root.

        With `compress` it is stored compressed, for the page to inflate, so that it travels small from a
        host that compresses nothing.
        """
        stem, _, ending = name.rpartition(".")
        if compress:
            data, ending = _compressed(data), "bin"
        path = f"assets/{stem}.{hashlib.sha256(data).hexdigest()[:12]}.{ending}"
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_bytes(data)
        self.sizes[path] = len(data)
        return path


def write_site(project: Project, parts: Parts, folder: Path, *, boot: str = "auto") -> None:
    """Write a whole site into an empty folder.

    Parameters
    ----------
    project : Project
        The site's configuration.
    parts : Parts
        What the bake gave; without pictures it is a draft.
    folder : Path
        Where to; its parent exists.
    boot : {'auto', 'none'}
        With 'none' the page draws its figures and starts no Python.
    """
    shelf = Shelf(folder)
    settings = _settings(project, parts, shelf, boot)
    sheet, fonts = _style(project, parts.pictures, shelf)
    page_script, imports = settings.pop("page"), settings.pop("imports")
    first = shelf.put("first.js", (RUNTIME / "first.js").read_bytes())
    extras = _extras(parts, shelf)
    pictures = {name: _picture(name, parts, shelf) for name in project.figures}

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(project.templates), undefined=jinja2.StrictUndefined, autoescape=True
    )

    def head(root: str, names: tuple[str, ...]) -> Markup:
        chosen = [entry for entry in settings["figures"] if entry["name"] in names]
        # Inside a script element only "<" can end it.
        scripts, sheets = (
            list(dict.fromkeys(path for name in names for path in extras[kind].get(name, ())))
            for kind in ("script", "style")
        )
        known = {**settings, "scripts": [*settings["scripts"], *scripts], "root": root, "figures": chosen}
        data = json.dumps(known, separators=(",", ":")).replace("<", "\\u003c")
        modules = " ".join(f"{root}{path}" for path in imports)
        worker = f' data-worker="{root}{settings["worker"]}"' if boot == "auto" else ""
        lines = [
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            *(
                f'<link rel="preload" as="font" type="{FONTS[Path(path).suffix]}" crossorigin href="{root}{path}">'
                for path in fonts
            ),
            *(f'<link rel="stylesheet" href="{root}{path}">' for path in [*sheets, sheet]),
            '<link rel="icon" href="data:,">',
            f'<link rel="manifest" href="{root}manifest.webmanifest">',
            f'<script src="{root}{first}" data-modules="{modules}"{worker}></script>',
            f'<script type="application/json" id="site">{data}</script>',
            f'<script type="module" src="{root}{page_script}"></script>',
        ]
        return Markup("\n".join(lines))

    def figure(name: str, root: str = "./", *, eager: bool = False) -> Markup:
        if name not in project.figures:
            raise FreezeError(f"The article places a figure '{name}', which site.toml does not list.")
        number = project.figures.index(name) + 1
        built = parts.documents.figures[name]
        return _figure_html(name, number, built, pictures[name], root, first=number == 1 or eager)

    baked = parts.documents
    article = render_article(project.article, baked.numbers, figure, FILTERS | own_filters(project), baked.drawings)
    common = {"title": project.title, "description": project.description, "language": project.language}
    _write(
        folder / "index.html",
        _render(environment, "article.html", **common, head=head("./", project.figures), article=article),
    )
    for name in project.figures:
        root = "../../"
        heading = parts.documents.figures[name]["title"] or name
        page = _render(
            environment, "figure.html", **common, heading=heading, head=head(root, (name,)), root=root,
            figure=figure(name, root, eager=True), name=name,
        )  # fmt: skip
        _write(folder / "figures" / name / "index.html", page)
    manifest = {
        "name": project.title, "short_name": project.title, "description": project.description,
        "lang": project.language, "start_url": "./", "scope": "./", "display": "minimal-ui",
    }  # fmt: skip
    _write(folder / "manifest.webmanifest", json.dumps(manifest, ensure_ascii=False, indent=1))
    (folder / ".nojekyll").touch()
    check_references(folder)
    if parts.pictures:
        write_report(project, folder, settings, parts.documents.versions)


def _style(project: Project, pictures: Pictures | None, shelf: Shelf) -> tuple[str, list[str]]:
    """Shelve the site's style sheets as one, with what they refer to; return its path, and those of early fonts."""
    found: dict[Path, str] = {}
    sheets = [_with_files(file, shelf, found).decode() for file in sorted(project.style.glob("*.css"))]
    style = "\n".join(sheets).replace("\r\n", "\n")
    style += "".join(_licence(file, shelf) for file in sorted(_licences(found)))
    if pictures:
        style += _heights(project, pictures)
    for font in project.preload:
        if font.resolve() not in found:
            raise FreezeError(f"site.toml preloads {font.name}, which no style sheet refers to.")
    return shelf.put("site.css", style.encode()), [found[font.resolve()] for font in project.preload]


def _licences(found: Iterable[Path]) -> set[Path]:
    """Return the licences that lie beside fonts."""
    folders = {file.parent for file in found if file.suffix in FONTS}
    return {file for folder in folders for file in folder.iterdir() if file.is_file() and LICENCE.fullmatch(file.name)}


def _licence(file: Path, shelf: Shelf) -> str:
    """Shelve a licence, and return the line of the style sheet that tells where it is."""
    name = file.name if file.suffix else f"{file.name}.txt"
    return f"\n/* Licence of fonts: ./{Path(shelf.put(name, file.read_bytes())).name} */\n"


def own_filters(project: Project) -> dict[str, Callable[..., str]]:
    """Return the site's own ways to write a number: ``FILTERS`` of the module that site.toml names.

    Raises
    ------
    FreezeError
        If the module cannot be imported, or has none.
    """
    if not project.filters:
        return {}
    try:
        return dict(importlib.import_module(project.filters).FILTERS)
    except (ImportError, AttributeError) as error:
        raise FreezeError(f"'filters' in [site] names {project.filters}, which gives no FILTERS: {error}.") from error


def _settings(project: Project, parts: Parts, shelf: Shelf, boot: str) -> dict[str, Any]:
    """Shelve everything the page's script needs, and return what it must know, by names from the root."""
    bokeh_version = version("bokeh")
    scripts = []
    for package, path in SCRIPTS:
        data = _package_file(package, path)
        if package == "bokeh" and f'"{bokeh_version}"'.encode() not in data and path.endswith("bokeh.min.js"):
            found = re.search(rb'version="(\d+\.\d+\.\d+)"', data)
            raise FreezeError(
                f"BokehJS and Bokeh differ: {found.group(1).decode() if found else 'another version'} for the page, "
                f"{bokeh_version} for Python."
            )
        scripts.append(shelf.put(Path(path).name.replace(".min.js", ".js"), data))
    if parts.documents.versions["bokeh"] != bokeh_version:
        raise FreezeError(f"Bokeh differs: {parts.documents.versions['bokeh']} in the bake, {bokeh_version} installed.")
    modules: dict[str, str] = {}
    for name in MODULES:
        source = (RUNTIME / name).read_text(encoding="utf-8")
        for other, path in modules.items():
            source = source.replace(f"'./{other}'", f"'./{Path(path).name}'")
        modules[name] = shelf.put(name, source.encode())
    assets = parts.assets
    files = {
        "loader": shelf.put("pyodide.mjs", _without_map(assets["pyodide.mjs"].read_bytes())),
        "module": shelf.put("pyodide-asm.mjs", _without_map(assets["pyodide.asm.mjs"].read_bytes())),
        "wasm": shelf.put("python.wasm", assets["pyodide.asm.wasm"].read_bytes(), compress=True),
        "stdlib": shelf.put("stdlib.zip", bundle.standard_library(_first(parts))),
        "bundle": shelf.put("packages.pack", bundle.pack(bundle.packages(_first(parts))), compress=True),
        "data": shelf.put("data.pack", bundle.pack(_data(parts)), compress=True),
    }
    libraries = {
        path: shelf.put(f"numpy-{Path(path).name.split('.')[0].strip('_')}.wasm", data, compress=True)
        for path, data in parts.libraries.items()
    }
    snapshots = _snapshots(parts.documents, shelf)
    both = [files["wasm"], files["data"], *libraries.values()]
    ways = {"resumed": [*both, snapshots["other"]["url"]], "cold": [*both, files["stdlib"], files["bundle"]]}
    figures = []
    styles: dict[str, str] = {}
    for number, name in enumerate(project.figures):
        text = json.dumps(parts.documents.figures[name]["doc"], separators=(",", ":"), ensure_ascii=False)
        styles |= {path: _panel_file(name, path, shelf) for path in re.findall(PANEL_FILES, text) if path not in styles}
        document = shelf.put(f"{name}.json", text.encode())
        root = parts.documents.figures[name]["roots"][0]
        figures.append(
            {"name": name, "module": project.module(name), "number": number, "document": document, "root": root}
        )
    return {
        "boot": boot,
        "worker": modules["worker.js"],
        "page": modules["page.js"],
        "imports": [path for name, path in modules.items() if f"'./{name}'" in _static_imports("page.js")],
        "scripts": scripts,
        "styles": dict(sorted(styles.items())),
        "parts": {**files, "libraries": libraries},
        "late": shelf.put("late.pack", bundle.pack(_late(parts)), compress=True),
        "snapshots": snapshots,
        # What the two ways to start Python fetch, for the page to tell.
        "bytes": {way: sum(shelf.sizes[path] for path in paths) for way, paths in ways.items()},
        "environment": ENVIRONMENT,
        "figures": figures,
    }


def _static_imports(module: str) -> str:
    """Return the lines of a runtime module that import others before it runs."""
    lines = (RUNTIME / module).read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if line.startswith("import "))


def _first(parts: Parts) -> Files:
    """Return the modules that starting imports."""
    return {path: data for path, data in parts.python.items() if path in parts.documents.imported}


def _late(parts: Parts) -> Files:
    """Return the modules that Python may import later, and what else the standard library has."""
    later = {path: data for path, data in parts.python.items() if path not in parts.documents.imported}
    return {path: data for path, data in later.items() if path.endswith(".pyc") or path not in bundle.packages(later)}


def _data(parts: Parts) -> Files:
    """Return the packages' files that are no modules, and a list of the modules."""
    data = {path: data for path, data in bundle.packages(parts.python).items() if not path.endswith(".pyc")}
    names = {
        group: sorted(filter(None, map(bundle.module_name, files)))
        for group, files in (("first", _first(parts)), ("late", _late(parts)))
    }
    return data | {"panel_freeze_modules.json": json.dumps(names).encode()}


def _snapshots(documents: Documents, shelf: Shelf) -> dict[str, Any]:
    """Shelve the saved memories; return how they are to be restored, by kind of browser."""
    saved = documents.snapshots
    with ThreadPoolExecutor() as pool:
        packed = list(pool.map(partial(pack_memory, other=documents.fresh), saved.values()))
    return {
        kind: {
            "url": shelf.put(f"memory-{kind}.bin", memory.data),
            "head": base64.b64encode(snapshot.head).decode(),
            "memory": len(snapshot.memory),
            "window": memory.window,
            "fresh": {"pages": memory.pages, "hash": memory.hash},
            "table": list(snapshot.table),
        }
        for (kind, snapshot), memory in zip(saved.items(), packed, strict=True)
    }


def _extras(parts: Parts, shelf: Shelf) -> dict[str, dict[str, list[str]]]:
    """Shelve what figures need besides BokehJS and Panel's script; return paths by kind and figure."""
    found: dict[str, dict[str, list[str]]] = {"script": {}, "style": {}}
    for name, extras in parts.documents.extras.items():
        for extra in extras:
            path = _panel_file(name, extra.path, shelf, script=extra.kind == "script")
            found[extra.kind].setdefault(name, []).append(path)
    return found


def _panel_file(figure: str, path: str, shelf: Shelf, *, script: bool = False) -> str:
    """Shelve a file that Panel brings for pages, and return its path."""
    file = bundle.panel_file(path)
    if file is None:
        raise FreezeError(f"Figure '{figure}' needs {path} on the page, of which the installed panel has no copy.")
    return _shelved(file, shelf, script=script)


def _shelved(file: Path, shelf: Shelf, *, script: bool = False) -> str:
    """Shelve a file; a style sheet with the files it refers to."""
    ending = ".js" if script else file.suffix
    data = _with_files(file, shelf) if ending == ".css" else file.read_bytes()
    stem = re.sub(r"[^\w.-]+", "-", file.name.removesuffix(ending).removesuffix(".min"))
    return shelf.put(stem + ending, _without_map(data) if script else data)


def _with_files(sheet: Path, shelf: Shelf, found: dict[Path, str] | None = None) -> bytes:
    """Return a style sheet that refers to its files on the shelf.

    Without `found` one that refers to nothing is left so; with it that is an error, and `found` is given the files
    with their paths from the site's root.
    """

    def own(match: re.Match[bytes]) -> bytes:
        if match[1] is None:
            return match[0]
        reference = unquote(match[1].decode().strip())
        file = sheet.parent / reference
        if not file.is_file():
            if found is None:
                return match[0]
            raise FreezeError(f"The style sheet {sheet.name} refers to {reference}, which is not there.")
        path = _shelved(file, shelf)
        if found is not None:
            found[file.resolve()] = path
        return match[0][: match.start(1) - match.start()] + f"./{Path(path).name}".encode()

    return _REFERENCE.sub(own, sheet.read_bytes())


def _without_map(script: bytes) -> bytes:
    return re.sub(rb"\n//# sourceMappingURL=.*\s*$", b"\n", script)


def _package_file(package: str, path: str) -> bytes:
    file = bundle.package_folder(package) / path
    if not file.is_file():
        raise FreezeError(f"The installed {package} has no file {path}.")
    return file.read_bytes()


@dataclass(frozen=True)
class _PictureFiles:
    """Paths and pixel sizes of a figure's pictures, by width and scheme."""

    files: dict[tuple[int, str], tuple[str, tuple[int, int]]]


def _picture(name: str, parts: Parts, shelf: Shelf) -> _PictureFiles:
    if parts.pictures is None:
        return _PictureFiles({})
    files = {}
    for width in PICTURE_WINDOWS:
        pngs = {scheme: parts.pictures.images[name, width, scheme] for scheme in SCHEMES}
        stored = {scheme: to_webp(png) for scheme, png in pngs.items()}
        least = min(len(data) for data, _ in stored.values())
        for scheme, (data, size) in stored.items():
            # Light and dark are one picture in other colours: where one takes much more, WebP has guessed badly.
            if len(data) > 1.2 * least:
                data, size = to_webp(pngs[scheme], patient=True)
            files[width, scheme] = (shelf.put(f"{name}-{width}-{scheme}.webp", data), size)
    return _PictureFiles(files)


def _figure_html(
    name: str, number: int, built: Mapping[str, Any], pictures: _PictureFiles, root: str, *, first: bool
) -> Markup:
    """Return a figure as it stands before any script has run."""
    sources = []
    for width, largest in (*PICTURE_MEDIA, (max(PICTURE_WINDOWS), 0)):
        for scheme in reversed(SCHEMES):
            if (width, scheme) not in pictures.files:
                continue
            path, (across, down) = pictures.files[width, scheme]
            conditions = [f"(max-width: {largest}px)"] if largest else []
            conditions += ["(prefers-color-scheme: dark)"] if scheme == "dark" else []
            media = f' media="{" and ".join(conditions)}"' if conditions else ""
            size = f'width="{across // 2}" height="{down // 2}"'
            if conditions:
                sources.append(f'<source srcset="{root}{path} 2x"{media} {size}>')
            else:
                lazy = "" if first else ' loading="lazy"'
                sources.append(f'<img src="{root}{path}" {size} alt="" decoding="async"{lazy}>')
    label = Markup.escape(f"Figure {number}: {built['title'] or name}")
    starting = '<p class="starting" role="status"></p>' if first else ""
    return Markup(
        f'<figure data-figure="{name}" data-state="picture" id="{name}" aria-label="{label}">{starting}'
        f'<div class="stage"><div class="picture"><picture>{"".join(sources)}</picture>'
        f'<div class="behind">{built["html"]}</div></div></div>'
        '<div class="menu"><button type="button" data-action="reset">Reset</button>'
        '<button type="button" data-action="copy-link">Copy link</button>'
        '<button type="button" data-action="open-alone">Open alone</button></div></figure>'
    )


def _heights(project: Project, pictures: Pictures) -> str:
    """Return CSS that reserves each figure's height at every width of the window."""
    rules = []
    for name in project.figures:
        widths = sorted(width for figure, width in pictures.heights if figure == name)
        for width, following in zip(widths, [*widths[1:], widths[-1]], strict=True):
            height = max(pictures.heights[name, width], pictures.heights[name, following])
            media = "" if width == widths[0] else f"@media (min-width: {width}px) "
            rule = f"[data-figure={name}] .stage {{ min-height: {height}px; }}"
            rules.append(f"{media}{{ {rule} }}" if media else rule)
    return "\n".join(rules) + "\n"


def _render(environment: jinja2.Environment, template: str, /, **values: Any) -> str:
    try:
        return environment.get_template(template).render(**values)
    except jinja2.TemplateError as error:
        raise FreezeError(f"The template {template} cannot be rendered: {error}.") from error


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
