"""Where results go: what is found out before the work, what a new file takes over, what is left."""

from __future__ import annotations

import os
import resource
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np
import pytest

from gpgpu_legacy import drafts
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.files import (
    check_distinct,
    check_not_read,
    check_output_folder,
    check_writable,
    text_writer,
    write_folder,
    write_text,
    write_whole,
)

IS_ROOT = os.name == "posix" and os.geteuid() == 0
NOBODY = 65534


def refused(action: Callable[[], object], *words: str) -> None:
    with pytest.raises(InputError) as raised:
        action()
    message = str(raised.value)
    assert "\n" not in message
    for word in words:
        assert word in message, message


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@contextmanager
def as_nobody() -> Iterator[None]:
    """The block is run as a user without rights."""
    if not IS_ROOT:
        pytest.skip("only root can become another user")
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user gets to, which those of pytest are not."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield folder


# What is not a file ------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/dev/null", "/dev/full", "/dev/tty", "/dev/zero"])
def test_devices_are_refused(path: str) -> None:
    refused(lambda: check_writable(Path(path)), path, "is a device", "redirect")


@pytest.mark.parametrize("path", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/stderr"])
def test_streams_are_refused_even_if_they_are_files(path: str, tmp_path: Path) -> None:
    with (tmp_path / "redirected").open("w") as file:
        code = "import sys; from gpgpu_legacy.files import *; from pathlib import Path\n"
        code += "try: write_text(Path(sys.argv[1]), 'x')\nexcept Exception as e: sys.exit(str(e))"
        done = subprocess.run(
            [sys.executable, "-c", code, path], check=False, stdout=file, stderr=file
        )
    said = (tmp_path / "redirected").read_text()
    assert done.returncode == 1 and f"{path} is a stream" in said


def test_pipes_sockets_and_links_to_devices_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    refused(lambda: write_text(tmp_path / "pipe", "x"), "is a pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        refused(lambda: write_text(tmp_path / "socket", "x"), "is a socket")
    (tmp_path / "link").symlink_to("/dev/full")
    refused(lambda: write_text(tmp_path / "link", "x"), "is a device")
    refused(lambda: write_text(tmp_path / "zero\0byte", "x"), "zero byte")
    assert names(tmp_path) == ["link", "pipe", "socket"]


# Who may write -----------------------------------------------------------------------------------


def test_the_effective_user_counts(open_folder: Path) -> None:
    theirs = open_folder / "theirs"
    theirs.mkdir(mode=0o755)
    with as_nobody():
        check_writable(open_folder / "c.npy")
        for action in (
            lambda: check_writable(theirs / "c.npy"),
            lambda: check_output_folder(theirs),
            lambda: check_output_folder(theirs / "new"),
        ):
            refused(action, str(theirs), "cannot be written to")


def test_a_write_protected_file_stays(open_folder: Path) -> None:
    path = open_folder / "c.txt"
    path.write_text("before")
    path.chmod(0o444)
    with as_nobody():
        refused(lambda: check_writable(path), "c.txt is write-protected")


def test_a_file_of_another_user_in_a_shared_folder(open_folder: Path) -> None:
    open_folder.chmod(0o1777)
    path = open_folder / "c.txt"
    path.write_text("before")
    path.chmod(0o666)
    with as_nobody():
        refused(lambda: check_writable(path), "another user's in a shared folder")
        write_text(open_folder / "ours.txt", "x")


@pytest.mark.parametrize("flag", ["i", "a"])
@pytest.mark.parametrize("place", ["file", "folder"])
def test_flags_that_bind_even_root(tmp_path: Path, flag: str, place: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    file = folder / "c.txt"
    file.write_text("before")
    marked = str(file if place == "file" else folder)
    mark = ["chattr", f"+{flag}", marked]
    if subprocess.run(mark, check=False, stderr=subprocess.DEVNULL).returncode:
        pytest.skip("no such flags here, or no right to set them")
    try:
        refused(lambda: check_writable(file), "write-protected" if place == "file" else "folder")
    finally:
        subprocess.run(["chattr", f"-{flag}", marked], check=True)
    assert names(folder) == ["c.txt"]


def test_a_check_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "c.txt").write_text("before")
    before = (tmp_path / "c.txt").stat()
    check_writable(tmp_path / "c.txt")
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    check_writable(tmp_path / "d.txt")
    assert names(tmp_path) == ["c.txt"]
    assert (tmp_path / "c.txt").stat() == before


def test_an_output_is_no_input(tmp_path: Path) -> None:
    a, other = tmp_path / "a.npy", tmp_path / "other.npy"
    a.touch()
    check_not_read(other, {"A": a, "B": None})
    other.hardlink_to(a)
    refused(lambda: check_not_read(other, {"A": a}), "also read, as A")


# What a new file takes over ----------------------------------------------------------------------


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    for mode in (0o600, 0o640, 0o755, 0o666):
        path = tmp_path / f"{mode:o}.txt"
        path.touch()
        path.chmod(mode)
        write_text(path, "after")
        assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_private_file_is_private_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "c.txt"
    path.touch(mode=0o600)

    def look(to: IO[bytes]) -> None:
        modes = {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}
        assert modes == {0o600}

    write_whole(path, look)


def test_a_replaced_file_keeps_its_owner(tmp_path: Path) -> None:
    if not IS_ROOT:
        pytest.skip("only root can give files away")
    path = tmp_path / "c.txt"
    path.touch()
    os.chown(path, 1234, 4321)
    write_text(path, "after")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 4321)


def test_a_group_that_cannot_be_kept_gives_no_rights_to_another(open_folder: Path) -> None:
    path = open_folder / "c.txt"
    path.touch()
    path.chmod(0o662)
    with as_nobody():
        write_text(path, "after")
    after = path.stat()
    assert (after.st_uid, stat.S_IMODE(after.st_mode)) == (NOBODY, 0o622)


def test_a_replaced_file_keeps_the_attributes_of_its_user(tmp_path: Path) -> None:
    path = tmp_path / "c.txt"
    path.touch()
    try:
        os.setxattr(path, "user.origin", b"me")
    except (OSError, AttributeError):
        pytest.skip("no extended attributes here")
    write_text(path, "after")
    assert os.getxattr(path, "user.origin") == b"me"


def test_links_are_followed_and_stay(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    real, link, again = tmp_path / "far" / "real.txt", tmp_path / "link", tmp_path / "again"
    link.symlink_to("far/real.txt")
    again.symlink_to("link")
    write_text(again, "one")  # what the link names is not there yet
    assert real.read_text() == "one"
    write_text(link, "two")
    assert (again.read_text(), again.is_symlink(), link.is_symlink()) == ("two", True, True)
    assert names(tmp_path / "far") == ["real.txt"]


def test_the_other_names_of_a_file_keep_the_old_content(tmp_path: Path) -> None:
    path, other = tmp_path / "c.txt", tmp_path / "backup.txt"
    path.write_text("before")
    other.hardlink_to(path)
    write_text(path, "after")
    assert (path.read_text(), other.read_text()) == ("after", "before")


def test_any_name_will_do(tmp_path: Path) -> None:
    for name in (b"\xff\xfe.txt", b"x" * 255, b"new\nline", b"-rf", b" ", b"[red].txt"):
        path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
        write_text(path, "x")
        assert path.read_text() == "x"


# What is left ------------------------------------------------------------------------------------


def test_what_is_too_large_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "c.npy"
    path.write_text("before")
    code = (
        "import resource, sys, numpy as np; from pathlib import Path\n"
        "from gpgpu_legacy.api.matrices import matrix_writer\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        "try: matrix_writer(Path(sys.argv[1]))(np.zeros((99, 99), np.float32))\n"
        "except Exception as e: sys.exit(f'{type(e).__name__}: {e}')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], check=False, stderr=subprocess.PIPE
    )
    assert done.stderr.decode() == f"InputError: {path} cannot be written: file too large\n"
    assert (path.read_text(), names(tmp_path)) == ("before", ["c.npy"])
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def _left(folder: Path, process: int, hours: float, kind: str = "file") -> Path:
    path = folder / f".gpgpu-legacy-draft-{process}-{os.urandom(8).hex()}"
    if kind == "folder":
        path.mkdir()
        (path / "tables.txt").touch()
    elif kind == "link":
        path.symlink_to("precious")
    else:
        path.write_text("half")
    written = time.time() - hours * 3600
    os.utime(path, (written, written), follow_symlinks=False)
    return path


def _dead_process() -> int:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    return gone.pid


def test_old_drafts_of_dead_processes_are_swept_away(tmp_path: Path) -> None:
    dead = _dead_process()
    (tmp_path / "precious").touch()
    old = [_left(tmp_path, dead, 2), _left(tmp_path, dead, 2, "folder")]
    kept = [
        _left(tmp_path, dead, 0.5),
        _left(tmp_path, os.getpid(), 2),
        _left(tmp_path, dead, 2, "link"),
        _left(tmp_path, 10**19, 2).rename(tmp_path / ".gpgpu-legacy-draft-1-mine"),
    ]
    write_text(tmp_path / "c.txt", "x")
    assert not any(path.exists() for path in old)
    assert all(path.exists() for path in kept)
    assert (tmp_path / "precious").exists()


def test_drafts_of_other_users_stay(open_folder: Path) -> None:
    theirs = _left(open_folder, _dead_process(), 2)
    with as_nobody():
        write_text(open_folder / "c.txt", "x")
    assert theirs.exists()


def test_vast_folders_are_swept_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "SWEPT_ENTRIES", 3)
    dead = _dead_process()
    for _ in range(9):
        _left(tmp_path, dead, 2)
    write_text(tmp_path / "c.txt", "x")
    assert 5 < len(names(tmp_path)) < 9


# Folders -----------------------------------------------------------------------------------------

FILES = {"a.txt": text_writer("a"), "b.txt": text_writer("b")}


class _WriterError(Exception):
    pass


def _fails(_: IO[bytes]) -> None:
    raise _WriterError


def test_a_new_folder_appears_whole(tmp_path: Path) -> None:
    folder = tmp_path / "new"

    def look(to: IO[bytes]) -> None:
        assert not folder.exists()
        to.write(b"c")

    write_folder(folder, {**FILES, "c.txt": look})
    assert names(folder) == ["a.txt", "b.txt", "c.txt"]
    assert names(tmp_path) == ["new"]
    (tmp_path / "plain").mkdir()
    assert folder.stat().st_mode == (tmp_path / "plain").stat().st_mode
    with pytest.raises(_WriterError):
        write_folder(tmp_path / "other", {**FILES, "c.txt": _fails})
    assert names(tmp_path) == ["new", "plain"]


def test_a_folder_that_is_there_keeps_its_other_files(tmp_path: Path) -> None:
    for name in ("a.txt", "notes.txt"):
        (tmp_path / name).write_text("before")
    with pytest.raises(_WriterError):
        write_folder(tmp_path, {**FILES, "c.txt": _fails})
    assert names(tmp_path) == ["a.txt", "notes.txt"]
    assert (tmp_path / "a.txt").read_text() == "before"
    write_folder(tmp_path, FILES)
    assert names(tmp_path) == ["a.txt", "b.txt", "notes.txt"]
    assert [(tmp_path / n).read_text() for n in names(tmp_path)] == ["a", "b", "before"]


def test_a_folder_without_place_for_its_files(tmp_path: Path) -> None:
    (tmp_path / "b.txt").mkdir()
    refused(lambda: write_folder(tmp_path, FILES), "b.txt is a folder")
    refused(lambda: check_output_folder(tmp_path, ("a.txt", "b.txt")), "b.txt is a folder")
    assert names(tmp_path) == ["b.txt"]
    (tmp_path / "nowhere").symlink_to("missing")
    refused(lambda: write_folder(tmp_path / "nowhere", FILES), "a link to what is not there")
    (tmp_path / "link").symlink_to(tmp_path / "b.txt")
    write_folder(tmp_path / "link", FILES)
    assert names(tmp_path / "b.txt") == ["a.txt", "b.txt"]


def test_a_folder_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    refused(lambda: check_output_folder(tmp_path / "file" / "new"), "file is a file", "needs a")


def test_a_current_folder_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for action in (
        lambda: check_writable(Path("c.txt")),
        lambda: check_distinct({"x": Path("c.txt")}),
        lambda: check_output_folder(Path("new")),
    ):
        refused(action, "cannot be written: no such file")
    monkeypatch.chdir(tmp_path)


def test_links_in_a_folder_are_followed(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.txt").symlink_to(tmp_path / "elsewhere.txt")
    write_folder(folder, FILES)
    assert (tmp_path / "elsewhere.txt").read_text() == "a"
    (folder / "b.txt").unlink()
    (folder / "b.txt").symlink_to(tmp_path / "elsewhere.txt")
    refused(lambda: write_folder(folder, FILES), "links to one file")


def test_matrices_are_written_through(tmp_path: Path) -> None:
    from gpgpu_legacy.api.matrices import matrix_writer, read_matrix

    matrix = np.arange(12, dtype=np.float32).reshape(3, 4)
    matrix_writer(tmp_path / "c.NPY")(matrix)
    assert (read_matrix(tmp_path / "c.NPY") == matrix).all()
