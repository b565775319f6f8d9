"""The Python that goes to the browser, taken from the packages installed here.

What was tested is what is shipped: each file comes out of the environment the tests ran in, NumPy
alone from the wheel built for the browser. A bundle is one file, a *pack*: the length of an index as
four bytes, little-endian, the index as JSON (``[[path, offset, size], …]``), then the bytes.
"""

from __future__ import annotations

import fnmatch
import importlib.metadata
import importlib.util
import io
import json
import struct
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from panel_freeze._errors import FreezeError

# Distributions a Panel app needs in the browser. Declared by them but not needed there: pandas, Pillow,
# contourpy, xyzservices, narwhals, requests, tornado, panel-material-ui, nh3.
DISTRIBUTIONS = (
    "bokeh",
    "panel",
    "param",
    "pyviz_comms",
    "jinja2",
    "markupsafe",
    "pyyaml",
    "packaging",
    "typing_extensions",
    "tqdm",
    "markdown",
    "markdown-it-py",
    "mdit-py-plugins",
    "mdurl",
    "linkify-it-py",
    "uc-micro-py",
)

# Left out: tests, command lines, servers' files, sources of what is delivered as JavaScript.
EXCLUDED = (
    "*/tests/*",
    "__pycache__/*",
    "*/__pycache__/*",
    "bokeh/server/static/*",
    "bokeh/sampledata/_data/*",
    "bokeh/command/*",
    "bokeh/sphinxext/*",
    "bokeh/server/views/*.ico",
    "panel/dist/*",
    "panel/command/*",
    "panel/models/*.ts",
    "panel/models/*.js",
    "panel/styles/*",
    "panel/package-lock.json",
    "panel/tsconfig.json",
    "panel/node_modules/*",
    "*/f2py/*",
    "numpy/*.pxd",
    "*.pyi",
    "*.pxd",
    "*.h",
    "*.a",
    "*.c",
    "*.pyx",
    "*.so",
    "*.pyd",
    "*.dylib",
    "*/py.typed",
    "*.less",
    "*.ts",
    "*.map",
)

# NumPy's shared libraries, in the order in which they are loaded, before Python starts. `fft` and
# `lapack_lite` are left out: importing numpy does not need them.
NUMPY_LIBRARIES = (
    "_core/_multiarray_umath",
    "linalg/_umath_linalg",
    "random/bit_generator",
    "random/_common",
    "random/_bounded_integers",
    "random/_mt19937",
    "random/_philox",
    "random/_pcg64",
    "random/_sfc64",
    "random/_generator",
    "random/mtrand",
)

# The standard library's files are named by the zip in which the browser's Python looks for them.
STANDARD_LIBRARY = "python314.zip/"

Files = dict[str, bytes]


def collect_python(site_packages: Iterable[str]) -> Files:
    """Read the sources and data files of every package the browser needs, except NumPy.

    Parameters
    ----------
    site_packages : iterable of str
        The site's own import packages, beside `DISTRIBUTIONS`. Of their data files only some are published.

    Returns
    -------
    dict of str to bytes
        Path relative to ``site-packages`` (forward slashes) to content.

    Raises
    ------
    FreezeError
        If a distribution or package is not installed here.
    """
    files: Files = {}
    for name in DISTRIBUTIONS:
        files |= dict(_distribution_files(name))
    for package in site_packages:
        files |= {path: data for path, data in _package_files(package) if not _excluded(path)}
    return files


def _distribution_files(name: str) -> Iterator[tuple[str, bytes]]:
    try:
        distribution = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError as error:
        raise FreezeError(f"The package {name} is needed for the browser but is not installed here.") from error
    for file in distribution.files or ():
        path = file.as_posix()
        if ".dist-info/" in path or path.startswith("..") or _excluded(path):
            continue
        # Bokeh keeps the hashes of all its releases; it reads those of its own version.
        if file.parent.name == "_sri" and file.stem != distribution.version:
            continue
        yield path, Path(str(file.locate())).read_bytes()
    # Packages ask importlib.metadata for their own version; name and version are all it needs.
    metadata = f"Metadata-Version: 2.1\nName: {distribution.name}\nVersion: {distribution.version}\n"
    folder = f"{distribution.name.replace('-', '_')}-{distribution.version}.dist-info"
    yield f"{folder}/METADATA", metadata.encode()


def package_folder(package: str) -> Path:
    """Return the folder of an installed package.

    Raises
    ------
    FreezeError
        If it cannot be found.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise FreezeError(f"The package '{package}' cannot be imported here; is the project installed?")
    return Path(next(iter(spec.submodule_search_locations)))


def _package_files(package: str, pattern: str = "**/*") -> Iterator[tuple[str, bytes]]:
    """Yield those files of a package that fit a pattern; never a hidden one, nor what Python has compiled here."""
    folder = package_folder(package)
    for file in sorted(folder.glob(pattern)):
        path = f"{package}/{file.relative_to(folder).as_posix()}"
        hidden = _hidden(path) or _hidden(file.resolve().name)
        if file.is_file() and not hidden and not path.endswith(".pyc"):
            yield path, file.read_bytes()


def _hidden(path: str) -> bool:
    """Tell whether a path names a dot file, or something below a dot folder."""
    return any(part.startswith(".") for part in path.split("/"))


def data_files(site_packages: Sequence[str], files: Iterable[str]) -> set[str]:
    """Return those paths that belong to the site's own packages and hold no module."""
    return {path for path in files if path.split("/")[0] in site_packages and not path.endswith((".py", ".pyc"))}


def listed_files(site_packages: Sequence[str], patterns: Iterable[str]) -> Files:
    """Read the files that ``site.toml`` lists to be published, whether an app opens them in the bake or not.

    Parameters
    ----------
    site_packages : sequence of str
        The site's own import packages.
    patterns : iterable of str
        Each the name of a package, a slash, and a path in it; ``*`` fits names, ``**`` folders.

    Returns
    -------
    dict of str to bytes
        As `collect_python` returns them.

    Raises
    ------
    FreezeError
        If a pattern names a dot file, leads out of the packages, or fits nothing.
    """
    files: Files = {}
    for pattern in patterns:
        package, _, inside = pattern.partition("/")
        if _hidden(pattern):
            raise FreezeError(
                f"[bundle] files lists '{pattern}': what begins with a dot, or lies below such a folder, is never "
                "published; give the file another name if readers are to have it."
            )
        if package not in site_packages or not inside:
            raise FreezeError(
                f"[bundle] files lists '{pattern}', which lies in none of the packages {', '.join(site_packages)}; "
                "write it as PACKAGE/PATH."
            )
        try:
            found = dict(_package_files(package, inside))
        except (ValueError, NotImplementedError) as error:
            raise FreezeError(f"[bundle] files lists '{pattern}', which is no pattern of paths: {error}.") from error
        if not found:
            raise FreezeError(f"[bundle] files lists '{pattern}', which no file fits that may be published.")
        files |= found
    return files


def _excluded(path: str) -> bool:
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in EXCLUDED)


def panel_file(path: str) -> Path | None:
    """Return one of the files that Panel brings for pages, or None.

    Parameters
    ----------
    path : str
        Below Panel's folder ``dist``; or ``npm/`` and a path in a package of npm, of which Panel keeps copies
        in folders named after its models.
    """
    dist = package_folder("panel") / "dist"
    if not path.startswith("npm/"):
        places = [dist / path]
    else:
        package = path.removeprefix("npm/")
        places = [folder / package for folder in [dist / "bundled", *sorted((dist / "bundled").iterdir())]]
    return next((place for place in places if place.is_file()), None)


def open_numpy(wheel: Path) -> tuple[Files, Files]:
    """Split the browser's NumPy wheel into Python files and the shared libraries that are loaded.

    Parameters
    ----------
    wheel : Path
        NumPy's wheel from the Pyodide distribution.

    Returns
    -------
    python, libraries : dict of str to bytes
        Both by path relative to ``site-packages``; the libraries in loading order.
    """
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        version = wheel.name.split("-")[1]
        installed = importlib.metadata.version("numpy")
        if version != installed:
            raise FreezeError(
                f"NumPy differs: {version} for the browser, {installed} installed here; baked and live "
                "numbers would not be the same. Install the version for the browser."
            )
        python = {name: archive.read(name) for name in names if name.startswith("numpy/") and not _excluded(name)}
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        python[metadata] = f"Metadata-Version: 2.1\nName: numpy\nVersion: {version}\n".encode()
        libraries = {}
        for stem in NUMPY_LIBRARIES:
            name = next(n for n in names if n.startswith(f"numpy/{stem}.") and n.endswith(".so"))
            libraries[name] = archive.read(name)
    return {name: data for name, data in python.items() if not name.endswith("/")}, libraries


def open_standard_library(archive: Path) -> Files:
    """Read the sources and data files of the standard library, by path behind `STANDARD_LIBRARY`."""
    with zipfile.ZipFile(archive) as opened:
        names = [entry.filename for entry in opened.infolist() if not entry.is_dir()]
        return {STANDARD_LIBRARY + name: opened.read(name) for name in names}


def standard_library(files: Mapping[str, bytes]) -> bytes:
    """Return those of some files that belong to the standard library, as the zip the browser's Python reads."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path in sorted(files):
            if path.startswith(STANDARD_LIBRARY):
                entry = zipfile.ZipInfo(path.removeprefix(STANDARD_LIBRARY), (1980, 1, 1, 0, 0, 0))
                archive.writestr(entry, files[path], zipfile.ZIP_DEFLATED, 9)
    return out.getvalue()


def packages(files: Mapping[str, bytes]) -> Files:
    """Return those of some files that do not belong to the standard library."""
    return {path: data for path, data in files.items() if not path.startswith(STANDARD_LIBRARY)}


def pack(files: Mapping[str, bytes]) -> bytes:
    """Join files into one pack, in the order of their paths, so that equal input gives equal bytes."""
    index: list[tuple[str, int, int]] = []
    offset = 0
    for path in sorted(files):
        index.append((path, offset, len(files[path])))
        offset += len(files[path])
    header = json.dumps(index, separators=(",", ":")).encode()
    return struct.pack("<I", len(header)) + header + b"".join(files[path] for path in sorted(files))


def unpack(data: bytes) -> Files:
    """Return the files of a pack."""
    start = 4 + struct.unpack_from("<I", data)[0]
    index = json.loads(data[4:start])
    return {path: data[start + offset : start + offset + size] for path, offset, size in index}


def module_name(path: str) -> str | None:
    """Return the module that a file of Python's path holds, or None for a file of another kind.

    >>> module_name("numpy/random/__init__.pyc"), module_name("python314.zip/os.pyc"), module_name("a/b.css")
    ('numpy.random', 'os', None)
    """
    stem, dot, ending = path.removeprefix(STANDARD_LIBRARY).rpartition(".")
    if not dot or ending != "pyc":
        return None
    return stem.removesuffix("/__init__").replace("/", ".")
