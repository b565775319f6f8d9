"""The folder a site is put into: whose it is, and how the new site takes the place of the last one.

A folder is the builder's own if it holds a ``build.json`` that the builder wrote; that also lists every file
the builder put there. Such a folder, an empty one and one that is not there yet may be taken. Anything else is
refused, and so is a site's folder in which somebody else has put a file: nothing is deleted that the builder did
not write. A file of the list that was edited since is still the builder's, and is replaced.
"""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from panel_freeze._errors import FreezeError

MARK = "build.json"
# What file managers leave wherever they have looked; it is nobody's.
LITTER = {".DS_Store", "Thumbs.db", "desktop.ini"}
NAMED = 5  # foreign files that are named; of more the number is told

_HERE = -100  # AT_FDCWD: a path that is not absolute starts at the working directory
_EXCHANGE = 2  # RENAME_EXCHANGE


def check_output(out: Path, sources: Iterable[Path]) -> None:
    """See that a folder may be replaced by a site.

    Parameters
    ----------
    out : Path
        The folder; its symbolic links are resolved.
    sources : iterable of Path
        What the site is made of.

    Raises
    ------
    FreezeError
        If the folder is or holds a source, or holds anything that the builder did not write.
    """
    if not out.exists():
        return
    for source in sources:
        for place in (source.absolute(), source.resolve()):
            if any(holder.exists() and holder.samefile(out) for holder in (place, *place.parents)):
                raise FreezeError(
                    f"The site cannot be written to {out}, which holds {source}, a source of it; "
                    "name another folder with --out."
                )
    if not out.is_dir():
        raise FreezeError(f"The site cannot be written to {out}, which is a file; name a folder with --out.")
    foreign = foreign_files(out)
    if not foreign:
        return
    if _own_files(out) is None:
        raise FreezeError(
            f"The site cannot be written to {out}, which holds {_names(foreign)} and was not made by panel-freeze; "
            "name another folder with --out, or empty this one."
        )
    raise FreezeError(
        f"The site in {out} cannot be replaced, since panel-freeze did not write {_names(foreign)} there; "
        "move that elsewhere first."
    )


def foreign_files(folder: Path) -> list[str]:
    """Return the files in a folder, by paths below it, that the builder did not write."""
    own = (_own_files(folder) or set()) | LITTER
    return sorted(path for path in _files(folder) if path not in own and Path(path).name not in LITTER)


def _own_files(folder: Path) -> set[str] | None:
    """Return what the builder wrote into a folder, or None if the folder does not bear its mark."""
    mark = folder / MARK
    try:
        report = json.loads(mark.read_text(encoding="utf-8"))
        if mark.is_symlink() or "panel_freeze" not in report["versions"]:
            return None
        return {*report["files"], MARK}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _files(folder: Path) -> Iterator[str]:
    """Yield everything in a folder that is no folder itself; a link is what it is, and is not followed."""
    for parent, folders, files in os.walk(folder):
        links = [name for name in folders if (Path(parent) / name).is_symlink()]
        for name in (*files, *links):
            yield (Path(parent) / name).relative_to(folder).as_posix()


def _names(files: list[str]) -> str:
    more = f" and {len(files) - NAMED} more" if len(files) > NAMED else ""
    return ", ".join(files[:NAMED]) + more


def swap(new: Path, out: Path) -> None:
    """Put a finished site in the place of the last one, which is then where the new one was.

    On Linux the two change places in one step, so that there is a whole site at every moment. Where the system
    cannot do that there are two steps, with no site for a moment between them; if the second fails, the first is
    taken back.

    Raises
    ------
    FreezeError
        If it cannot be done, or a file has been put into the last site meanwhile; that site is where it was.
    """
    try:
        if not out.exists():
            new.rename(out)
            return
        exchange(new, out)
        # Asked now, when nobody can put anything there any more under the name they know.
        if foreign := foreign_files(new):
            exchange(new, out)
            raise FreezeError(
                f"The site in {out} was not replaced, since {_names(foreign)} came there while the new one was built; "
                "move that elsewhere first."
            )
    except OSError as error:
        raise FreezeError(f"The new site cannot be put in place of {out} ({error}); what was there stays.") from error


def exchange(one: Path, other: Path) -> None:
    """Let two folders change places."""
    if _exchanged(one, other):
        return
    aside = other.with_name(f".{other.name}.old.{os.getpid()}")
    other.rename(aside)
    try:
        one.rename(other)
    except BaseException:
        aside.rename(other)
        raise
    aside.rename(one)


def _exchanged(one: Path, other: Path) -> bool:
    """Let two folders change places in one step; return whether the system could."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):  # only Linux has it, and its file systems not all
        return False
    return bool(rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)
