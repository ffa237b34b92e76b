"""Every command that writes, and every kind of place that it may be told to write to."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from attacks import ATTACK

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX files")

NOBODY = 65534

FILES = {
    "tables --no-measure --output {}": ".txt",
    "tables --no-measure --json --output {}": ".json",
    "disassemble prog.fp --output {}": ".fp",
    "translate prog.fp --to numpy --output {}": ".py",
    "exec prog.fp --size 4 --output {}": ".png",
    "exec prog.fp --size 4 --animate {}": ".gif",
    "run larson-mcallister --size 4 --executor numpy --output {}": ".npy",
    "run larson-mcallister --size 4 --executor numpy -o {}": ".csv",
    "run larson-mcallister --size 4 --executor numpy -o  {}": ".mtx",
    "run larson-mcallister --size 4 --executor numpy -o   {}": ".png",
    "plan figure jacobi --executor numpy --plot {}": ".svg",
    "plan figure jacobi --executor numpy --animate {}": ".png",
    "plan page jacobi --set n=8 --output {}": ".html",
    "figure figure-2 --output {}": ".png",
    "roofline --plot {}": ".pdf",
    "precision --size 4 --method larson-mcallister --plot {}": ".png",
}
"""Commands that write a file, and what it ends in."""

FOLDERS = {
    "plan dump jacobi --output {}": ("plan.json", "shader-0.frag"),
    "tables --paper dobravec-bulic-2017 --no-measure --plots {}": (),
}
"""Commands that write a folder, and files that they write there."""


@dataclass(frozen=True)
class Place:
    """Where a command is told to write. refused: words of the refusal; none where it may write."""

    path: Path
    refused: str = ""
    holds: Any = None
    """Something that has to live as long as the place."""


Kind = Callable[[Path, str, ExitStack], Place]


def _device(_: Path, suffix: str, __: ExitStack) -> Place:
    return Place(Path("/dev/full"), "/dev/full ")  # a device, or a name without its ending


def _linked_device(folder: Path, suffix: str, _: ExitStack) -> Place:
    (folder / "link").symlink_to("/dev/null")
    path = folder / f"again{suffix}"
    path.symlink_to("link")
    return Place(path, "is a device")


def _linked_stream(folder: Path, suffix: str, _: ExitStack) -> Place:
    path = folder / f"again{suffix}"
    path.symlink_to("/dev/stdout")
    return Place(path, "is a stream")


def _pipe(folder: Path, suffix: str, _: ExitStack) -> Place:
    path = folder / f"pipe{suffix}"
    os.mkfifo(path)
    return Place(path, "is a pipe")


def _socket(folder: Path, suffix: str, held: ExitStack) -> Place:
    path = folder / f"socket{suffix}"
    listening = held.enter_context(socket.socket(socket.AF_UNIX))
    listening.bind(str(path))
    return Place(path, "is a socket", listening)


def _folder(folder: Path, suffix: str, _: ExitStack) -> Place:
    path = folder / f"folder{suffix}"
    path.mkdir()
    (path / "precious").write_text("precious")
    return Place(path, "is a folder")


def _missing(folder: Path, suffix: str, _: ExitStack) -> Place:
    return Place(folder / "none" / f"out{suffix}", "there is no folder")


def _in_a_file(folder: Path, suffix: str, _: ExitStack) -> Place:
    (folder / "file").write_text("precious")
    return Place(folder / "file" / f"out{suffix}", "is a file")


def _circle(folder: Path, suffix: str, _: ExitStack) -> Place:
    path = folder / f"circle{suffix}"
    path.symlink_to(path.name)
    return Place(path, "links")


def _dangling(folder: Path, suffix: str, _: ExitStack) -> Place:
    path = folder / f"link{suffix}"
    path.symlink_to(f"none/out{suffix}")
    return Place(path, "there is no folder")


def _long(folder: Path, suffix: str, _: ExitStack) -> Place:
    return Place(folder / ("n" * 256 + suffix), "too long")


def _deep(folder: Path, suffix: str, _: ExitStack) -> Place:
    return Place(folder / (f"../{folder.name}/" * 500) / f"out{suffix}", "too long")


def _flagged(folder: Path, suffix: str, held: ExitStack) -> Place:
    path = folder / f"out{suffix}"
    path.write_text("precious")
    if subprocess.run(["chattr", "+i", str(path)], check=False, capture_output=True).returncode:
        pytest.skip("no flags here, or no right to set them")
    held.callback(subprocess.run, ["chattr", "-i", str(path)], check=True)
    return Place(path, "write-protected")


def _mounted(folder: Path, suffix: str, held: ExitStack) -> Place:
    path = folder / f"out {suffix}"
    path.write_text("precious")
    mount = ["mount", "--bind", str(path), str(path)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("no right to mount")
    held.callback(subprocess.run, ["umount", str(path)], check=True)
    return Place(path, "is mounted by itself")


def _read_only(folder: Path, suffix: str, held: ExitStack) -> Place:
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "ro,size=64k", "tmpfs", str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("no right to mount")
    held.callback(subprocess.run, ["umount", str(disk)], check=True)
    return Place(disk / f"out{suffix}", "cannot be written to")


def _protected(folder: Path, suffix: str, held: ExitStack) -> Place:
    path = folder / f"out{suffix}"
    path.write_text("precious")
    path.chmod(0o444)
    _become_nobody(held)
    return Place(path, "write-protected")


def _theirs(folder: Path, suffix: str, held: ExitStack) -> Place:
    theirs = folder / "theirs"
    theirs.mkdir(mode=0o755)
    _become_nobody(held)
    return Place(theirs / f"out{suffix}", "cannot be written to")


def _closed(folder: Path, suffix: str, held: ExitStack) -> Place:
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    _become_nobody(held)
    return Place(closed / f"out{suffix}", "ermission denied")


def _become_nobody(held: ExitStack) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    os.seteuid(NOBODY)
    held.callback(os.seteuid, 0)


def _new(folder: Path, suffix: str, _: ExitStack) -> Place:
    return Place(folder / f"out{suffix}")


def _odd(folder: Path, suffix: str, _: ExitStack) -> Place:
    return Place(
        Path(os.fsdecode(os.fsencode(folder) + b"/\xff [old]\n\x1b[31m" + suffix.encode()))
    )


def _old(folder: Path, suffix: str, _: ExitStack) -> Place:
    path = folder / f"out{suffix}"
    path.write_text("before")
    path.chmod(0o640)
    (folder / "twin").hardlink_to(path)
    return Place(path)


def _linked(folder: Path, suffix: str, _: ExitStack) -> Place:
    (folder / "far").mkdir()
    path = folder / f"link{suffix}"
    path.symlink_to("far/out.bin")
    return Place(path)


KINDS: tuple[Kind, ...] = (
    _device, _linked_stream, _linked_device, _pipe, _socket, _folder, _missing, _in_a_file, _circle,
    _dangling, _long, _deep, _flagged, _mounted, _read_only, _protected, _theirs, _closed, _new,
    _odd, _old, _linked,
)  # fmt: skip


@contextmanager
def _room() -> Iterator[Path]:
    """A folder that every user gets to, with a program in it; it is the current one."""
    before = Path.cwd()
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        os.chdir(folder)
        (folder / "prog.fp").write_text("!!ARBfp1.0\nMOV result.color, fragment.position;\nEND\n")
        try:
            yield folder
        finally:
            os.chdir(before)


def _seen(folder: Path) -> dict[str, object]:
    """All that a folder holds: names, kinds, permissions and contents."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(status.st_mode) else None
        found[os.fspath(path)] = (status.st_mode, status.st_ino, content)
    return found


def _words(command: str, path: Path) -> list[str]:
    return [word.replace("{}", os.fspath(path)) for word in command.split()]


Call = Callable[..., tuple[int, str, str]]


def _attack(random: Random, run: Call, kind: Kind) -> None:
    command, suffix = random.choice(list(FILES.items()))
    with _room() as folder, ExitStack() as held:
        place = kind(folder, suffix, held)
        before = None if os.geteuid() else _seen(folder)
        code, said, wrong = run(*_words(command, place.path))
        about = f"{kind.__name__} {command} {code} {said} {wrong}"
        if place.refused:
            assert (code, said, wrong.count("\n")) == (2, "", 1), about
            assert place.refused in wrong and wrong.startswith("gpgpu-legacy: "), about
        else:
            assert code == 0, about
            assert place.path.stat().st_size > 40, about
            _check_kept(folder, place.path)
        if before is not None and place.refused:
            assert _seen(folder) == before, about
        assert not list(folder.rglob(".gpgpu-legacy-draft*")), about


def _check_kept(folder: Path, path: Path) -> None:
    """What was there before stays: a link, permissions, and the other name of a file."""
    if path.name.startswith("link"):
        assert path.is_symlink() and (folder / "far" / "out.bin").is_file()
    if (folder / "twin").exists():
        assert (folder / "twin").read_text() == "before"
        assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__.strip("_"))
def test_a_file_goes_to_its_place_or_is_refused(kind: Kind, run: Call) -> None:
    random = ATTACK.random(f"outputs {kind.__name__}")
    for _ in range(ATTACK.count(1, 8)):
        _attack(random, run, kind)


@pytest.mark.parametrize("command", FOLDERS)
def test_a_folder_is_written_whole_or_not_at_all(command: str, run: Call) -> None:
    with _room() as folder:
        assert run(*_words(command, folder / "out"))[0] == 0
        written = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
        assert set(FOLDERS[command]) <= set(written)
        for name in sorted(written):
            (folder / "out" / "mine.txt").write_text("mine")
            (folder / "out" / name).unlink()
            (folder / "out" / name).mkdir()
            before = _seen(folder)
            code, _, wrong = run(*_words(command, folder / "out"))
            assert (code, wrong.count("\n")) == (2, 1) and f"{name} is a folder" in wrong
            assert _seen(folder) == before
            (folder / "out" / name).rmdir()
            (folder / "out" / name).symlink_to(folder / f"far {name}")
        assert run(*_words(command, folder / "out"))[0] == 0
        for name, content in written.items():
            assert (folder / "out" / name).is_symlink()
            assert (folder / f"far {name}").read_bytes() == content
        assert (folder / "out" / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize("kind", [_device, _pipe, _socket, _missing, _in_a_file, _circle, _dangling,
                                  _long, _read_only, _theirs])  # fmt: skip
def test_a_folder_of_another_kind_is_refused(kind: Kind, run: Call) -> None:
    random = ATTACK.random(f"folders {kind.__name__}")
    with _room() as folder, ExitStack() as held:
        place = kind(folder, "", held)
        before = None if os.geteuid() else _seen(folder)
        code, said, wrong = run(*_words(random.choice(list(FOLDERS)), place.path))
        assert (code, said, wrong.count("\n")) == (2, "", 1), wrong
        if before is not None:
            assert _seen(folder) == before
        held.close()
        shutil.rmtree(folder / "disk", ignore_errors=True)
