"""What numba compiled is read again, as long as every source that went into it is the same."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gpgpu_legacy

SCRIPT = """
import os.path, sys
if sys.argv[1:] == ["homeless"]:
    os.path.expanduser = lambda path: path
from gpgpu_legacy import code_cache
written = []
keep = code_cache.keep
code_cache.keep = lambda key, content: (written.append(key.split()[1]), keep(key, content))
import numpy
from gpgpu_legacy.cache.sets import turn_away
entries = numpy.array([[1, 2, 3, 4]])
turn_away(entries, 0, 2)
assert entries.tolist() == [[3, 4, 1, 2]]
print(*written)
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the package, the sources alone."""
    folder = tmp_path_factory.mktemp("copied")
    source = Path(gpgpu_legacy.__file__).parent
    shutil.copytree(source, folder / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture(scope="module")
def compiled(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder in which a process has kept its code."""
    folder = tmp_path_factory.mktemp("cache")
    sources = files(package)
    assert written(package, folder) == ["turn_away"]
    assert files(package) == sources
    return folder


@pytest.fixture
def cache(compiled: Path, tmp_path: Path) -> Path:
    """A copy of it for one test."""
    return Path(shutil.copytree(compiled, tmp_path / "cache"))


def written(package: Path, cache: Path | None) -> list[str]:
    """The functions whose code a process with that package and that cache folder keeps."""
    environment = {**os.environ, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["XDG_CACHE_HOME"] = "" if cache is None else str(cache)
    command = [sys.executable, "-c", SCRIPT, *(["homeless"] if cache is None else [])]
    done = subprocess.run(
        command, env=environment, cwd=package, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_later_process_reads_the_code_and_writes_nothing(package: Path, cache: Path) -> None:
    sources, code = files(package), files(cache)
    assert written(package, cache) == []
    assert files(cache) == code
    assert files(package) == sources


def test_an_edit_of_any_source_of_the_folder_compiles_anew(package: Path, cache: Path) -> None:
    edited = package / "gpgpu_legacy" / "cache" / "sets.py"
    original = edited.read_bytes()
    times = edited.stat()
    edited.write_bytes(original.replace(b"HIT = -3", b"HIT = -4"))
    os.utime(edited, (times.st_atime, times.st_mtime))  # it is the content that counts
    assert written(package, cache) == ["turn_away"]
    edited.write_bytes(original)
    assert written(package, cache) == []


def test_without_a_cache_folder_code_is_compiled_in_each_process(
    package: Path, tmp_path: Path
) -> None:
    """A file in the way, and no home: what one kept, the other would find."""
    (tmp_path / "file").write_bytes(b"")
    sources = files(package)
    for cache in (tmp_path / "file", None):
        assert written(package, cache) == ["turn_away"]
    assert files(package) == sources
