"""Generated code on disk: what may be another's or is damaged is none; nor is there too much."""

from __future__ import annotations

import os
import resource
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from gpgpu_legacy import code_cache
from gpgpu_legacy.code_cache import file_name, keep, read, recalled, why_nothing_is_kept

KEY = "llvm 1.0 znver4\nthe text of a module"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder, which does not exist yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "gpgpu-legacy" / "generated"


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("umask", [0, 0o077])
def test_what_was_kept_is_read_again_by_this_user_alone(folder: Path, umask: int) -> None:
    assert read(KEY) is None
    before = os.umask(umask)
    try:
        for content in (b"machine code", b"", bytes(range(256)) * 999):
            keep(KEY, content)
            assert read(KEY) == content
    finally:
        os.umask(before)
    assert names(folder) == {file_name(KEY)}
    assert read(KEY + " ") is None
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / file_name(KEY))]
    assert modes == [0o700, 0o600]
    assert why_nothing_is_kept() == ""


def test_a_damaged_entry_is_none_and_is_written_anew(folder: Path) -> None:
    keep(KEY, b"machine code")
    keep("other", b"machine code")
    path = folder / file_name(KEY)
    whole = path.read_bytes()
    flipped = [
        whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :] for place in (0, 31, 32, -1)
    ]
    cut = [whole[:length] for length in (0, 31, 32, -1)]
    for data in (*flipped, *cut, whole + b" ", (folder / file_name("other")).read_bytes()):
        path.write_bytes(data)
        assert read(KEY) is None
    keep(KEY, b"machine code")
    assert (read(KEY), path.read_bytes()) == (b"machine code", whole)


def test_a_result_is_made_once_by_files_and_libraries(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = iter(range(9))

    def numbers(name: str) -> list[int]:
        return [recalled(name, lambda: next(made)) for _ in range(2)]

    assert numbers("a") == [0, 0]
    assert numbers("b") == [1, 1]
    for number, of in enumerate(("package_digest", "library_versions"), 2):
        monkeypatch.setattr(code_cache, of, lambda: "another")
        assert numbers("a") == [number, number]
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes()[:-1])
    assert numbers("a") == [4, 4]


def linked(path: Path) -> None:
    path.rename(path.with_name("moved"))
    path.symlink_to("moved")


def given_away(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    os.chown(path, 12345, 12345)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (linked, "by other users"),
        (lambda path: path.chmod(0o720), "can be written to by other users"),
        (lambda path: path.chmod(0o702), "can be written to by other users"),
        (given_away, "is not yours"),
    ],
)
def test_what_others_may_have_written_is_none(
    folder: Path, change: Callable[[Path], None], why: str
) -> None:
    keep(KEY, b"machine code")
    change(folder / file_name(KEY))
    assert read(KEY) is None
    keep(KEY, b"machine code")  # it is written anew
    assert read(KEY) == b"machine code"
    change(folder)
    before = names(folder)
    assert read(KEY) is None
    keep("other", b"machine code")
    assert names(folder) == before
    assert str(folder) in why_nothing_is_kept() and why in why_nothing_is_kept()


def test_a_full_disk_keeps_nothing_and_leaves_nothing(folder: Path) -> None:
    keep("before", b"small")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, hard))
    try:
        keep(KEY, bytes(100_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert read(KEY) is None
    assert names(folder) == {file_name("before")}
