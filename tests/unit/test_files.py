"""Files: what is none is not read, what cannot be written is found early, nothing half is left."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.files import (
    check_distinct,
    check_not_read,
    check_output_folder,
    check_writable,
    open_data,
    read_text,
    text_writer,
    write_folder,
    write_text,
    write_whole,
)

FILES = {"a.txt": text_writer("a"), "b.txt": text_writer("b")}


def refused(action: Callable[[], object], *words: str) -> None:
    with pytest.raises(InputError) as raised:
        action()
    message = str(raised.value)
    assert "\n" not in message
    for word in words:
        assert word in message, message


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# Reading -----------------------------------------------------------------------------------------


def test_text_is_utf_8_or_latin_1_with_its_line_ends(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("n³\r\n".encode())
    assert read_text(tmp_path / "a") == "n³\r\n"
    (tmp_path / "a").write_bytes("n³\r\n".encode("latin-1"))
    assert read_text(tmp_path / "a", 4) == "n³\r\n"
    refused(lambda: read_text(tmp_path / "a", 3), "has more than 3 bytes")
    (tmp_path / "a").write_bytes(b"a\0b")
    refused(lambda: read_text(tmp_path / "a"), "not a text file")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-8"])
def test_what_editors_on_windows_add_is_left_out(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a").write_bytes("n³ = 1\r\n\x1a".encode(encoding))
    assert read_text(tmp_path / "a") == "n³ = 1\r\n"


@pytest.mark.parametrize("read", [read_text, open_data])
def test_what_is_no_file_is_not_waited_for(tmp_path: Path, read: Callable[[Path], object]) -> None:
    os.mkfifo(tmp_path / "pipe")
    refused(lambda: read(tmp_path / "pipe"), "is a pipe; write what comes through it to a file")
    refused(lambda: read(tmp_path), "is a folder; give the name of a file")
    refused(lambda: read(Path("/dev/zero")), "is a device; give the name of a file")
    refused(lambda: read(tmp_path / "none"), f"there is no file {tmp_path / 'none'}")
    refused(lambda: read(tmp_path / ("x" * 300)), "cannot be read: file name too long")
    refused(lambda: read(Path("a\0b")), "cannot be read")


# What is found out before ------------------------------------------------------------------------


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    before = names(tmp_path)
    for path, words in {
        tmp_path: "is a folder; give the name of a file",
        tmp_path / "pipe": "is a pipe",
        Path("/dev/null"): "is a device; give the name of a file, or redirect",
        Path("/dev/stdout"): "is a stream",
        tmp_path / "none" / "c.npy": f"there is no folder {tmp_path / 'none'}; make it first",
        tmp_path / "file" / "c.npy": "is a file; c.npy needs a folder",
        tmp_path / ("x" * 300): "cannot be written: file name too long",
    }.items():
        refused(lambda path=path: check_writable(path), words)
        refused(lambda path=path: write_text(path, "x"), words)
    check_writable(tmp_path / "file")
    check_writable(tmp_path / "new")
    assert names(tmp_path) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_what_is_write_protected(tmp_path: Path) -> None:
    (tmp_path / "c.txt").touch(mode=0o444)
    refused(lambda: check_writable(tmp_path / "c.txt"), "is write-protected")
    tmp_path.chmod(0o555)
    refused(lambda: check_writable(tmp_path / "d.txt"), f"the folder {tmp_path} cannot be written")
    refused(lambda: check_output_folder(tmp_path / "new"), "cannot be written to")


def test_two_outputs_are_two_files_and_none_is_read(tmp_path: Path) -> None:
    check_distinct({"x": Path("x.npy"), "y": Path("y.npy")})
    refused(
        lambda: check_distinct({"x": Path("a.npy"), "y": Path("folder/../a.npy")}),
        "x and y are both folder/../a.npy; give two files",
    )
    a, other = tmp_path / "a.npy", tmp_path / "other.npy"
    a.touch()
    check_not_read(other, {"A": a, "B": None})
    other.symlink_to(a)
    refused(lambda: check_not_read(other, {"A": a}), "also read, as A")


# Writing -----------------------------------------------------------------------------------------


class _WriterError(Exception):
    pass


def _fails(error: BaseException) -> Callable[[IO[bytes]], None]:
    def write(to: IO[bytes]) -> None:
        to.write(b"half")
        to.flush()
        raise error

    return write


@pytest.mark.parametrize("error", [_WriterError(), KeyboardInterrupt(), SystemExit()])
def test_a_writer_that_ends_early_leaves_what_was_there(
    tmp_path: Path, error: BaseException
) -> None:
    (tmp_path / "a.txt").write_text("before", encoding="utf-8")
    for write in (
        lambda: write_whole(tmp_path / "a.txt", _fails(error)),
        lambda: write_whole(tmp_path / "new.txt", _fails(error)),
        lambda: write_folder(tmp_path, {**FILES, "c.txt": _fails(error)}),
        lambda: write_folder(tmp_path / "new", {**FILES, "c.txt": _fails(error)}),
    ):
        with pytest.raises(type(error)):
            write()
        assert names(tmp_path) == ["a.txt"]
        assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "before"


def test_what_the_system_refuses_is_one_line(tmp_path: Path) -> None:
    full = _fails(OSError(28, "No space left on device"))
    refused(lambda: write_whole(tmp_path / "c", full), "c cannot be written: no space left")
    refused(lambda: write_folder(tmp_path / "d", {"c": full}), "d cannot be written: no space left")
    assert names(tmp_path) == []


def test_a_file_and_a_folder_appear_when_they_are_whole(tmp_path: Path) -> None:
    path, folder = tmp_path / "c.txt", tmp_path / "new"
    write_text(path, "n³\n")
    (tmp_path / "plain").mkdir()

    def look(to: IO[bytes]) -> None:
        to.write(b"after")
        to.flush()
        assert path.read_bytes() == "n³\n".encode()
        assert not folder.exists()

    write_folder(folder, {**FILES, "c.txt": look})
    write_whole(path, lambda to: to.write(b"after"))
    assert (names(folder), path.read_bytes()) == (["a.txt", "b.txt", "c.txt"], b"after")
    assert folder.stat().st_mode == (tmp_path / "plain").stat().st_mode
    (folder / "b.txt").write_text("before", encoding="utf-8")
    write_folder(folder, {"b.txt": text_writer("after")})
    assert (names(folder), (folder / "b.txt").read_bytes()) == (names(folder), b"after")


def test_links_are_followed_and_permissions_stay(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    real, link = tmp_path / "far" / "real.txt", tmp_path / "link"
    link.symlink_to("far/real.txt")
    write_text(link, "one")  # what the link names is not there yet
    (tmp_path / "plain.txt").touch()
    assert real.stat().st_mode == (tmp_path / "plain.txt").stat().st_mode
    real.chmod(0o640)
    write_text(link, "two")
    assert (real.read_text(encoding="utf-8"), link.is_symlink()) == ("two", True)
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert names(tmp_path / "far") == ["real.txt"]
