"""What goes to the browser: the installed files, slimmed, and packed so that equal input gives equal bytes."""

from __future__ import annotations

import importlib.metadata
import re
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panel_freeze import bundle
from panel_freeze._errors import FreezeError

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)


@settings(deadline=None, derandomize=True)
@given(st.dictionaries(NAMES, st.binary(max_size=100)))
def test_pack_gives_back_its_files_whatever_their_order(files):
    packed = bundle.pack(files)
    assert bundle.unpack(packed) == files
    assert bundle.pack(dict(reversed(files.items()))) == packed


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package that can be imported, with files of many kinds."""
    folder = tmp_path / "sample"
    for name in (
        "__init__.py",
        "a/__init__.py",
        "a/b.py",
        "a/data.json",
        "tests/test_a.py",
        "a/__pycache__/b.pyc",
        "a/b.pyi",
        "py.typed",
        "fast.so",
        ".env",
        "a/.drafts/one.py",
        "a/.drafts/deep/one.txt",
        "a/stray.pyc",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "sample"


def test_package_of_the_site_comes_without_what_browsers_do_not_need(package):
    files = bundle.collect_python([package])
    own = {path for path in files if path.startswith("sample/")}
    assert own == {"sample/__init__.py", "sample/a/__init__.py", "sample/a/b.py", "sample/a/data.json"}


def test_link_to_a_dot_file_is_one(package, tmp_path):
    (tmp_path / "sample" / "settings.txt").symlink_to(tmp_path / "sample" / ".env")
    assert "sample/settings.txt" not in bundle.collect_python([package])


def test_data_files_are_those_of_the_site_s_packages_that_hold_no_module(package):
    assert bundle.data_files([package], bundle.collect_python([package])) == {"sample/a/data.json"}
    assert bundle.data_files(["samp"], ["sample/a/data.json", "samples/a.csv", "sample/b.pyc"]) == set()


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("sample/a/data.json", {"sample/a/data.json"}),
        ("sample/a/*.json", {"sample/a/data.json"}),
        ("sample/**/*.json", {"sample/a/data.json"}),
        ("sample/*", {"sample/__init__.py", "sample/py.typed", "sample/fast.so"}),
        ("sample/tests/*", {"sample/tests/test_a.py"}),
    ],
)
def test_listed_files_are_those_that_fit_and_no_dot_files(package, pattern, found):
    assert set(bundle.listed_files([package], [pattern])) == found


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("sample/.env", "begins with a dot"),
        ("sample/a/.drafts/deep/one.txt", "begins with a dot"),
        ("sample/../other/a.txt", "begins with a dot"),
        ("sample/[.]env", "which no file fits that may be published"),
        ("sample/absent.csv", "which no file fits"),
        ("sample/a", "which no file fits"),
        ("sample", "write it as PACKAGE/PATH"),
        ("other/a.csv", "in none of the packages sample"),
        ("/etc/passwd", "in none of the packages"),
        ("sample//etc/passwd", "which is no pattern of paths"),
    ],
)
def test_pattern_that_cannot_be_meant_is_told(package, pattern, words):
    with pytest.raises(FreezeError, match=rf"\[bundle\] files lists '{re.escape(pattern)}'.*{words}"):
        bundle.listed_files([package], [pattern])


def test_bundle_holds_the_installed_files_and_their_versions():
    files = bundle.collect_python([])
    assert files["panel/__init__.py"] == (bundle.package_folder("panel") / "__init__.py").read_bytes()
    for name in bundle.DISTRIBUTIONS:
        metadata = [
            data
            for path, data in files.items()
            if path.endswith(".dist-info/METADATA")
            and f"Name: {importlib.metadata.distribution(name).name}\n".encode() in data
        ]
        assert len(metadata) == 1
        assert f"Version: {importlib.metadata.version(name)}\n".encode() in metadata[0]
    assert not [
        path
        for path in files
        if path.endswith((".so", ".ts", ".map", ".js", ".h", ".pyi"))
        and path.startswith(("bokeh/server/static", "panel/dist"))
    ]
    assert not [path for path in files if "\\" in path or path.startswith(("/", ".."))]


def test_package_that_is_not_there_is_named():
    with pytest.raises(FreezeError, match="no_such_package"):
        bundle.collect_python(["no_such_package"])


def test_distribution_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr(bundle, "DISTRIBUTIONS", ("no-such-distribution",))
    with pytest.raises(FreezeError, match="no-such-distribution"):
        bundle.collect_python([])


def wheel(folder, version):
    path = folder / f"numpy-{version}-cp314-cp314-some_wasm32.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("numpy/__init__.py", "version = 1")
        archive.writestr("numpy/tests/test_it.py", "")
        archive.writestr("numpy/linalg/lapack_lite.so", "unused")
        archive.writestr(f"numpy-{version}.dist-info/METADATA", "long")
        for stem in reversed(bundle.NUMPY_LIBRARIES):
            archive.writestr(f"numpy/{stem}.cpython-314-wasm32-emscripten.so", stem)
    return path


def test_numpy_is_split_into_python_and_libraries_in_loading_order(tmp_path):
    version = importlib.metadata.version("numpy")
    python, libraries = bundle.open_numpy(wheel(tmp_path, version))
    assert set(python) == {"numpy/__init__.py", f"numpy-{version}.dist-info/METADATA"}
    assert [data.decode() for data in libraries.values()] == list(bundle.NUMPY_LIBRARIES)


def test_numpy_of_another_version_is_refused_with_both(tmp_path):
    with pytest.raises(FreezeError) as error:
        bundle.open_numpy(wheel(tmp_path, "1.2.3"))
    assert "1.2.3" in str(error.value)
    assert importlib.metadata.version("numpy") in str(error.value)


@pytest.mark.parametrize(
    ("path", "name"),
    [("a/__init__.pyc", "a"), ("a/b.pyc", "a.b"), ("c.pyc", "c"), ("a/b.py", None), ("a/b", None), ("a/b.css", None)],
)
def test_module_of_a_file(path, name):
    assert bundle.module_name(path) == name


def test_nothing_compiled_here_goes_along():
    assert not [path for path in bundle.collect_python([]) if path.endswith(".pyc") or "__pycache__" in path]
