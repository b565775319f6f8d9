"""Command line: ``panel-freeze build`` and ``panel-freeze serve``."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from panel_freeze import bundle
from panel_freeze._errors import FreezeError
from panel_freeze.assets import ensure_assets
from panel_freeze.bake import RUNTIME, Workbench, build_documents, compile_python, prepare, take_pictures
from panel_freeze.output import check_output, swap
from panel_freeze.project import load_project
from panel_freeze.publish import Parts, write_site
from panel_freeze.serve import serve

NAMED = 10  # files left out that are named; of more the number is told


def say(text: str) -> None:
    """Tell the author what is being done."""
    print(text, flush=True)  # noqa: T201


def build(configuration: Path, out: Path, *, cache: Path | None, mirror: str | None) -> None:
    """Build a site: assets, bundle, bake, pictures, pages; then put it in place of the last one.

    Parameters
    ----------
    configuration : Path
        The ``site.toml``.
    out : Path
        The folder to write: a former site of the builder, which stays until the new one is complete, an empty
        folder, or one that is not there yet. A link to a folder is followed.
    cache : Path, optional
        Where downloads and compiled files are kept.
    mirror : str, optional
        A folder or address to take Pyodide's files from.

    Raises
    ------
    FreezeError
        If anything is wrong; the last good site is untouched.
    """
    started = time.monotonic()
    project = load_project(configuration)
    out = out.resolve()
    check_output(out, [configuration, *project.sources, *map(bundle.package_folder, project.python)])
    executable = os.environ.get("CHROMIUM_PATH") or None
    assets = ensure_assets(cache, mirror=mirror, report=say)
    compiled = next(iter(assets.values())).parent / "compiled"
    say("Collecting Python files …")
    numpy, libraries = bundle.open_numpy(next(path for name, path in assets.items() if name.startswith("numpy-")))
    listed = bundle.listed_files(project.python, project.files)
    sources = bundle.collect_python(project.python) | listed | numpy
    sources |= bundle.open_standard_library(assets["python_stdlib.zip"])
    sources["panel_freeze_resident.py"] = (RUNTIME / "resident.py").read_bytes()
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.new.", dir=out.parent) as name:
        work = Path(name)
        bench = partial(Workbench, assets=assets, libraries=libraries, executable=executable)
        own = (*project.python, "panel_freeze_resident")
        python = compile_python(sources, own, compiled, lambda files: bench(work / "compile", python=files), say)
        say("Running the figures in the browser's Python …")
        library = bundle.standard_library(python)
        data = bundle.data_files(project.python, python) - set(listed)
        prepared = prepare(
            project, bench(work / "prepare", python=bundle.packages(python), standard_library=library), data
        )
        python = leave_out(python, sorted(data - prepared.opened), say)
        bake = bench(work / "bake", python=bundle.packages(python), standard_library=library)
        documents = build_documents(project, bake, prepared)
        parts = Parts(assets, python, libraries, documents)
        say("Taking pictures …")
        write_site(project, parts, work / "draft", boot="none")
        parts.pictures = take_pictures(project, work / "draft", executable)
        say("Writing the site …")
        write_site(project, parts, work / "site")
        swap(work / "site", out)
    say(f"Built {out.name} in {time.monotonic() - started:.1f} s")


def leave_out(files: bundle.Files, unused: Sequence[str], report: Callable[[str], None]) -> bundle.Files:
    """Return files without those that no app has opened, and tell which they are."""
    if unused:
        shown = [*unused[:NAMED], *([f"{len(unused) - NAMED} more"] if len(unused) > NAMED else [])]
        which = "it" if len(unused) == 1 else "them"
        report(
            f"Left out: {', '.join(shown)}, which no app opened; "
            f"list {which} under [bundle] files if readers need {which}"
        )
    return {path: data for path, data in files.items() if path not in unused}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="panel-freeze", description="Turn Panel apps and an article into a static site."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, help_text in (
        ("build", "build the site"),
        ("serve", "build the site, serve it, rebuild on change"),
    ):
        command = commands.add_parser(name, help=help_text)
        command.add_argument("configuration", type=Path, help="the site.toml")
        command.add_argument("--out", type=Path, default=Path("dist"), help="the folder to write (dist)")
        command.add_argument("--cache", type=Path, default=None, help="where downloads and compiled files are kept")
        command.add_argument("--mirror", default=None, help="a folder or address to take Pyodide's files from")
    commands.choices["serve"].add_argument("--port", type=int, default=8000)
    given = parser.parse_args(arguments)
    try:
        run = partial(build, given.configuration, given.out, cache=given.cache, mirror=given.mirror)
        if given.command == "build":
            run()
            return 0
        return _serve(given, run)
    except FreezeError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        return 130


def _serve(given: argparse.Namespace, run: partial[None]) -> int:
    def rebuild() -> None:
        try:
            run()
        except FreezeError as error:
            say(f"{error}\nThe last good site stays.")

    project = load_project(given.configuration)
    run()
    watched = [project.root, *(bundle.package_folder(package) for package in project.python)]
    serve(given.out, port=given.port, watch=watched, rebuild=rebuild, say=say)
    return 0


if __name__ == "__main__":
    sys.exit(main())
