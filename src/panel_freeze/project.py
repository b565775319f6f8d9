"""What a site is made of, read from its ``site.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from panel_freeze._errors import FreezeError

# Endings of fonts, and the types they are sent with.
FONTS = {".woff2": "font/woff2", ".woff": "font/woff", ".ttf": "font/ttf", ".otf": "font/otf"}


@dataclass(frozen=True)
class Project:
    """One site: its words, its figures, its limits.

    Paths are absolute. Everything else the builder needs it finds by these names; it knows no figure
    of its own.
    """

    root: Path
    title: str
    description: str
    language: str
    article: Path
    templates: Path
    style: Path
    package: str
    figures: tuple[str, ...]
    numbers: str | None
    python: tuple[str, ...]
    files: tuple[str, ...] = ()
    preload: tuple[Path, ...] = ()
    drawings: str | None = None
    filters: str | None = None
    budgets: dict[str, int] = field(default_factory=dict)

    @property
    def sources(self) -> tuple[Path, ...]:
        """The files and folders that the site is made of, besides its packages."""
        return self.root, self.article, self.templates, self.style

    def module(self, figure: str) -> str:
        """Return the module that holds `figure`'s ``app()``."""
        return f"{self.package}.{figure}"


def load_project(path: Path) -> Project:
    """Read a ``site.toml``.

    Parameters
    ----------
    path : Path
        The configuration file; other paths in it are relative to its folder.

    Returns
    -------
    Project
        The site, with absolute paths.

    Raises
    ------
    FreezeError
        If the file is missing, is not TOML, or lacks or misspells a setting.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FreezeError(f"Cannot read the site's configuration {path}: {error.strerror}.") from error
    except tomllib.TOMLDecodeError as error:
        raise FreezeError(f"{path} is not valid TOML: {error}.") from error
    root = path.resolve().parent
    site = _Table(raw, "site", path)
    bundle = _Table(raw, "bundle", path)
    project = Project(
        root=root,
        title=site.text("title"),
        description=site.text("description", ""),
        language=site.text("language", "en"),
        article=root / site.text("article"),
        templates=root / site.text("templates", "templates"),
        style=root / site.text("style", "style"),
        package=site.text("package"),
        figures=site.names("figures"),
        numbers=site.text("numbers", "") or None,
        drawings=site.text("drawings", "") or None,
        filters=site.text("filters", "") or None,
        python=bundle.names("python"),
        files=bundle.names("files", ()),
        preload=tuple(root / name for name in site.names("preload", ())),
        budgets=_Table(raw, "budgets", path).integers(),
    )
    for file in (*project.sources, *project.preload):
        if not file.exists():
            raise FreezeError(f"{path} names {file.relative_to(root)}, which does not exist.")
    for font in project.preload:
        if font.suffix not in FONTS:
            raise FreezeError(f"{path} preloads {font.name}; only fonts can be: {', '.join(FONTS)}.")
    return project


class _Table:
    """One table of the configuration, whose readers say what is wrong in a sentence."""

    def __init__(self, raw: dict[str, Any], name: str, path: Path) -> None:
        table = raw.get(name, {})
        if not isinstance(table, dict):
            raise FreezeError(f"[{name}] in {path} must be a table.")
        self._table: dict[str, Any] = table
        self._name = name
        self._path = path

    def text(self, key: str, default: str | None = None) -> str:
        value = self._table.get(key, default)
        if not isinstance(value, str):
            raise FreezeError(f"{self._path} needs a text '{key}' in [{self._name}]; it has {value!r}.")
        return value

    def names(self, key: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        value = self._table.get(key)
        if default is not None and value in (None, []):
            return default
        if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
            raise FreezeError(f"{self._path} needs a list of names '{key}' in [{self._name}]; it has {value!r}.")
        if len(set(value)) != len(value):
            raise FreezeError(f"{self._path} names something twice in '{key}' of [{self._name}]: {value!r}.")
        return tuple(value)

    def integers(self) -> dict[str, int]:
        for key, value in self._table.items():
            if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
                raise FreezeError(f"'{key}' in [{self._name}] of {self._path} must be a positive whole number.")
        return dict(self._table)
