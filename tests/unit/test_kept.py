"""Generated things on disk: what may be another's or is damaged is none; nor is there too much."""

from __future__ import annotations

import os
import resource
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from gpgpu_legacy import kept
from gpgpu_legacy.kept import file_name

KEY = "llvm 1.0 znver4\nthe text of a module"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder, which does not exist yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "gpgpu-legacy" / "generated"


def file(folder: Path, number: int, size: int, used_s: float) -> Path:
    """A file of that size that was last used so many seconds after 1970."""
    path = folder / f"{number:064x}.kept"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    os.utime(path, (used_s, used_s))
    return path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()}


def numbers(folder: Path) -> set[int]:
    return {int(name.removesuffix(".kept"), 16) for name in names(folder)}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# Reading and writing -----------------------------------------------------------------------------


def test_what_was_kept_is_read_again(folder: Path) -> None:
    assert kept.read(KEY) is None
    assert not folder.exists()
    for content in (b"machine code", b"", bytes(range(256)) * 999):
        kept.keep(KEY, content)
        assert kept.read(KEY) == content
        assert names(folder) == {file_name(KEY)}
    assert kept.read(KEY + " ") is None


@pytest.mark.parametrize("umask", [0, 0o022, 0o077])
def test_nobody_else_can_look_whatever_the_umask(folder: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        kept.keep(KEY, b"machine code")
    finally:
        os.umask(before)
    assert kept.read(KEY) == b"machine code"
    assert mode(folder) == mode(folder.parent) == mode(folder.parent.parent) == 0o700
    assert mode(folder / file_name(KEY)) == 0o600


def test_another_file_under_its_name_is_none(folder: Path) -> None:
    kept.keep(KEY, b"one")
    kept.keep("other", b"two")
    one, two = folder / file_name(KEY), folder / file_name("other")
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)
    assert kept.read(KEY) is None
    assert kept.read("other") is None
    kept.keep(KEY, b"one")
    assert kept.read(KEY) == b"one"


@pytest.mark.parametrize("part", ["the version of the format", "the digest", "the content"])
def test_a_flipped_bit_is_found_in_every_part(folder: Path, part: str) -> None:
    kept.keep(KEY, b"machine code")
    path = folder / file_name(KEY)
    whole = path.read_bytes()
    place = {"the version of the format": len(kept.MAGIC) - 2, "the digest": 30, "the content": -1}
    changed = bytearray(whole)
    changed[place[part]] ^= 1
    path.write_bytes(changed)
    assert kept.read(KEY) is None
    path.write_bytes(whole)
    assert kept.read(KEY) == b"machine code"


@pytest.mark.parametrize("length", [0, 8, -1])
def test_an_entry_cut_short_is_none(folder: Path, length: int) -> None:
    kept.keep(KEY, b"machine code")
    path = folder / file_name(KEY)
    whole = path.read_bytes()
    path.write_bytes(whole[:length])
    assert kept.read(KEY) is None
    path.write_bytes(b"nonsense")
    assert kept.read(KEY) is None
    kept.keep(KEY, b"machine code")
    assert path.read_bytes() == whole


def test_an_entry_has_a_largest_size(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.keep(KEY, bytes(100))
    monkeypatch.setattr(kept, "MOST_ENTRY_BYTES", 99)
    assert kept.read(KEY) is None
    kept.keep("other", bytes(100))
    assert names(folder) == {file_name(KEY)}


def test_a_full_disk_keeps_nothing_and_leaves_nothing(folder: Path) -> None:
    kept.keep("before", b"small")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, hard))
    try:
        kept.keep(KEY, bytes(100_000))
        kept.keep("after", b"small")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert kept.read(KEY) is None
    assert names(folder) == {file_name("before"), file_name("after")}


def test_no_file_stays_open(folder: Path) -> None:
    kept.keep(KEY, b"machine code")
    (folder / file_name("a folder")).mkdir()
    os.mkfifo(folder / file_name("a pipe"))
    (folder / file_name("damaged")).write_bytes(b"?")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for key in (KEY, "a folder", "a pipe", "damaged", "missing"):
        kept.read(key)
        kept.keep(key, b"machine code")
    folder.chmod(0o777)
    kept.read(KEY)
    kept.keep(KEY, b"")
    assert len(list(Path("/proc/self/fd").iterdir())) == before


# Whose it is -------------------------------------------------------------------------------------


def linked(path: Path) -> None:
    path.rename(path.with_name("moved"))
    path.symlink_to("moved")


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def folder_in_its_place(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    "change",
    [linked, fifo, folder_in_its_place, lambda path: path.chmod(0o660), lambda p: p.chmod(0o606)],
)
def test_a_file_that_may_be_anothers_is_none(folder: Path, change: Callable[[Path], None]) -> None:
    kept.keep(KEY, b"machine code")
    change(folder / file_name(KEY))
    assert kept.read(KEY) is None


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (linked, "cannot be written"),
        (lambda folder: folder.chmod(0o720), "can be written to by other users"),
        (lambda folder: folder.chmod(0o702), "can be written to by other users"),
    ],
)
def test_a_folder_that_may_be_anothers_is_not_used(
    folder: Path, change: Callable[[Path], None], why: str
) -> None:
    kept.keep(KEY, b"machine code")
    assert kept.why_nothing_is_kept() == ""
    change(folder)
    before = names(folder.parent)
    assert kept.read(KEY) is None
    kept.keep("other", b"machine code")
    assert names(folder.parent) == before
    assert why in kept.why_nothing_is_kept()
    assert str(folder) in kept.why_nothing_is_kept()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_belongs_to_another_user_is_none(folder: Path) -> None:
    kept.keep(KEY, b"machine code")
    os.chown(folder / file_name(KEY), 12345, 12345)
    assert kept.read(KEY) is None
    kept.keep(KEY, b"machine code")  # it is written anew
    assert kept.read(KEY) == b"machine code"
    os.chown(folder, 12345, 12345)
    assert kept.read(KEY) is None
    assert "is not yours" in kept.why_nothing_is_kept()


# Pruning -----------------------------------------------------------------------------------------


def test_a_use_is_noted_and_when_it_was_written_stays(folder: Path) -> None:
    kept.keep(KEY, b"machine code")
    path = folder / file_name(KEY)
    os.utime(path, (1000.0, 1000.0))
    assert kept.read(KEY)
    assert path.stat().st_mtime == 1000.0
    assert path.stat().st_atime > 1e9


def test_what_was_used_longest_ago_goes_first(folder: Path) -> None:
    for number in range(10):
        file(folder, number, 100, 1e9 + number)
    os.utime(folder / f"{1:064x}.kept", (2e9, 1e9 + 1))
    kept.prune(most_bytes=999, most_files=10)
    # 1000 bytes are too many; 749 or fewer are left.
    assert numbers(folder) == {1, 4, 5, 6, 7, 8, 9}


def test_there_are_never_too_many_files_either(folder: Path) -> None:
    for number in range(10):
        file(folder, number, 1, 1e9 + number)
    kept.prune(most_bytes=1000, most_files=10)
    assert len(names(folder)) == 10
    kept.prune(most_bytes=1000, most_files=8)
    assert numbers(folder) == {4, 5, 6, 7, 8, 9}


def test_what_earlier_versions_kept_goes(folder: Path) -> None:
    """They kept all in the folder above, where numba and lark had folders of their own."""
    above = folder.parent
    digest = "01e2a247679c5010d3d32d1a33c73a99"
    earlier = (
        f"{digest}.o",
        f"_in_tiles-{digest}.nbc",
        "kernel_0123abcd.py",
        "tmp8a_b2c3d",
        "__pycache__/kernel_0123abcd.work_groups-12.py311.nbi",
        "__pycache__/kernel_0123abcd.work_groups-12.py311.1.nbc",
        "grammars/gpgpu_legacy.languages.arb.tables",
    )
    others = ("notes.o", "tuning.json", "__pycache__/mine.pyc", "grammars.tables")
    for name in (*earlier, *others):
        (above / name).parent.mkdir(parents=True, exist_ok=True)
        (above / name).write_bytes(b"")
    kept.keep(KEY, b"machine code")
    assert {path.relative_to(above).as_posix() for path in above.rglob("*")} == {
        *others,
        "__pycache__",
        "generated",
        f"generated/{file_name(KEY)}",
    }


def test_what_is_not_ours_is_left_alone(folder: Path) -> None:
    file(folder, 1, 10, 1.0)
    for name in ("notes.txt", "tmp", f"{1:063x}.kept", f"{1:064x}.kept.old"):
        (folder / name).write_bytes(bytes(5000))
        os.utime(folder / name, (1.0, 1.0))
    target = folder.parent / "target"
    target.write_bytes(b"")
    (folder / f"{2:064x}.kept").symlink_to(target)
    kept.prune(most_bytes=9, most_files=0)
    assert f"{1:064x}.kept" not in names(folder)
    assert len(names(folder)) == 5
    assert target.exists()


def test_what_was_being_written_long_ago_never_will_be(folder: Path) -> None:
    kept.keep(KEY, b"")
    old, new = folder / f"tmp-{1:016x}", folder / f"tmp-{2:016x}"
    for path in (old, new):
        path.write_bytes(b"")
    os.utime(old, (1e9, 1e9))
    kept.prune()
    assert names(folder) == {file_name(KEY), new.name}


def test_writers_check_the_folder_now_and_then(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks: list[int] = []
    monkeypatch.setattr(kept, "prune", lambda: checks.append(len(names(folder))))
    for number in range(20 * kept.WRITES_PER_CHECK):
        kept.keep(f"{number}", b"")
    assert 10 <= len(checks) <= 40
    del checks[:]
    kept.keep(KEY, bytes(kept.LARGE_BYTES))
    assert checks == [20 * kept.WRITES_PER_CHECK + 1]
