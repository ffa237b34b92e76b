"""Every command that writes, and every kind of place that it may be told to write to."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX files")

FILES = {
    "translate prog.fp --to numpy --output {}": ".py",
    "exec prog.fp --size 4 --output {}": ".png",
    "exec prog.fp --size 4 --animate {}": ".gif",
    "run larson-mcallister n=4 --executor numpy --output {}": ".npy",
    "figure jacobi --executor numpy --plot {}": ".svg",
    "page jacobi n=8 --output {}": ".html",
    "study roofline --plot {}": ".pdf",
}
"""Commands that write a file, and what it ends in."""

FOLDERS = {
    "dump jacobi --output {}": ("plan.json", "shader-0.frag"),
    "tables dobravec-bulic-2017 --no-measure --plot {}": (),
}
"""Commands that write a folder, and files that they write there."""


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a program, and with what cannot be written; it is the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.fp").write_text("!!ARBfp1.0\nMOV result.color, fragment.position;\nEND\n")
    (tmp_path / "file").write_text("precious")
    return tmp_path


def _seen(folder: Path) -> dict[str, bytes]:
    """All that a folder holds."""
    return {str(p): p.read_bytes() if p.is_file() else b"" for p in sorted(folder.rglob("*"))}


Call = Callable[..., tuple[int, str, str]]


def _refused(
    run: Call, folder: Path, command: str, path: Path | str, words: str, *, late: bool = False
) -> None:
    """One line and no file. late: what is not known at the beginning may come after a result."""
    before = _seen(folder)
    code, said, wrong = run(*command.format(path).split())
    about = f"{command.format(path)}: {code} {said} {wrong}"
    assert (code, wrong.count("\n")) == (2, 1) and (late or not said), about
    assert words in wrong and wrong.startswith("gpgpu-legacy: "), about
    assert _seen(folder) == before, about


@pytest.mark.parametrize("command", FILES)
def test_a_file_goes_to_its_place_or_is_refused(command: str, room: Path, run: Call) -> None:
    suffix = FILES[command]
    os.mkfifo(room / f"pipe{suffix}")
    (room / f"folder{suffix}").mkdir()
    (room / f"link{suffix}").symlink_to("/dev/full")
    for path, words in {
        f"none/out{suffix}": "there is no folder none; make it first",
        f"file/out{suffix}": "file is a file",
        f"pipe{suffix}": "is a pipe",
        f"folder{suffix}": "is a folder",
        f"link{suffix}": "is a device",
        "n" * 256 + suffix: "too long",
    }.items():
        _refused(run, room, command, path, words)
    for name in ("out", "[new]"):
        (room / f"out{suffix}").write_text("before")
        code, _, wrong = run(*command.format(f"{name}{suffix}").split())
        assert code == 0, wrong
        assert (room / f"{name}{suffix}").stat().st_size > 40
    assert not [path for path in room.iterdir() if path.name.startswith(".")]


@pytest.fixture
def read_only(room: Path) -> Iterator[Path]:
    disk = room / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "ro,size=64k", "tmpfs", str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("no right to mount")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_disk_that_can_only_be_read(read_only: Path, room: Path, run: Call) -> None:
    for command in ("translate prog.fp --to numpy -o {}/out.txt", "dump jacobi -o {}/out"):
        _refused(run, room, command, "disk", "the folder disk cannot be written to")


@pytest.mark.parametrize("command", FOLDERS)
def test_a_folder_is_written_whole_or_not_at_all(command: str, room: Path, run: Call) -> None:
    _refused(run, room, command, "none/out", "there is no folder none")
    _refused(run, room, command, "file", "file is a file; give the name of a folder")
    assert run(*command.format("out").split())[0] == 0
    out = room / "out"
    written = {path.name: path.read_bytes() for path in out.iterdir()}
    assert set(FOLDERS[command]) <= set(written)
    name = max(written)
    (out / "mine.txt").write_text("mine")
    (out / name).unlink()
    (out / name).mkdir()
    _refused(run, room, command, "out", f"{name} is a folder", late=True)
    (out / name).rmdir()
    assert run(*command.format("out").split())[0] == 0
    found = {path.name: path.read_bytes() for path in out.iterdir()}
    assert found == {**written, "mine.txt": b"mine"}
