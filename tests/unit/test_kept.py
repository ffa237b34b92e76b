"""Generated code on disk: what is damaged is none, and there is never too much of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpgpu_legacy import kept


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "gpgpu-legacy"


def file(folder: Path, name: str, size: int, used_s: float) -> Path:
    """A file of that size that was last used so many seconds after 1970."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    os.utime(path, (used_s, used_s))
    return path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()}


def test_what_was_kept_is_read_again(folder: Path) -> None:
    assert kept.read("a.o") is None
    kept.keep("a.o", b"machine code")
    assert kept.read("a.o") == b"machine code"
    assert names(folder) == {"a.o"}


@pytest.mark.parametrize("damage", [lambda b: b"", lambda b: b[:-1], lambda b: b[:40] + b"?"])
def test_what_is_damaged_is_none(folder: Path, damage: object) -> None:
    kept.keep("a.o", b"machine code")
    path = folder / "a.o"
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    assert kept.read("a.o") is None


def test_a_use_is_noted_and_when_it_was_written_stays(folder: Path) -> None:
    kept.keep("a.o", b"machine code")
    path = folder / "a.o"
    os.utime(path, (1000.0, 1000.0))
    assert kept.read("a.o")
    assert path.stat().st_mtime == 1000.0
    assert path.stat().st_atime > 1e9


def test_what_was_used_longest_ago_goes_first(folder: Path) -> None:
    for number in range(10):
        file(folder, f"{number}.o", 100, 1e9 + number)
    os.utime(folder / "1.o", (2e9, 1e9 + 1))
    kept.prune(folder, most_bytes=999, most_files=10)
    # 1000 bytes are too many; 749 or fewer are left.
    assert names(folder) == {f"{number}.o" for number in (1, 4, 5, 6, 7, 8, 9)}


def test_there_are_never_too_many_files_either(folder: Path) -> None:
    for number in range(10):
        file(folder, f"{number}.o", 1, 1e9 + number)
    kept.prune(folder, most_bytes=1000, most_files=10)
    assert len(names(folder)) == 10
    kept.prune(folder, most_bytes=1000, most_files=8)
    assert names(folder) == {f"{number}.o" for number in range(4, 10)}


def test_what_earlier_versions_kept_goes_too(folder: Path) -> None:
    """They had a kernel's module beside the rest, and numba's files below it."""
    for number in range(4):
        file(folder, f"kernel_{number}.py", 100, 1e9 + number)
        file(folder, f"__pycache__/kernel_{number}.work_groups-1.py311.nbi", 10, 1e9 + number)
        file(folder, f"__pycache__/kernel_{number}.work_groups-1.py311.1.nbc", 100, 1e9 + number)
    kept.prune(folder, most_bytes=600, most_files=100)
    assert {name.partition(".")[0] for name in names(folder)} == {"kernel_2", "kernel_3"}
    assert len(names(folder)) == 6


def test_what_is_not_ours_is_left_alone(folder: Path) -> None:
    file(folder, "notes.txt", 5000, 1.0)
    file(folder, "a.o", 10, 1.0)
    kept.prune(folder, most_bytes=9, most_files=0)
    assert names(folder) == {"notes.txt"}


def test_what_was_being_written_long_ago_never_will_be(folder: Path) -> None:
    file(folder, "tmpold", 10, 1e9)
    kept.keep("a.o", b"")
    (folder / "tmpnew").write_bytes(b"")
    kept.prune(folder)
    assert names(folder) == {"a.o", "tmpnew"}


def test_writers_check_the_folder_now_and_then(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks: list[Path] = []
    monkeypatch.setattr(kept, "prune", checks.append)
    for number in range(20 * kept.WRITES_PER_CHECK):
        kept.keep(f"{number}.o", b"")
    assert 10 <= len(checks) <= 40
    assert set(checks) == {folder}
