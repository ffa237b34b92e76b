"""Disks that fill up, and limits on the size of files: one line, and what was there stays."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from attacks import ATTACK

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX disks and limits")

CALL = [sys.executable, "-m", "gpgpu_legacy"]
DISK_BYTES = 64 << 10

PHONG = Path(__file__).parents[2] / "shaders" / "examples" / "phong.fp"
COMMANDS = (
    f"translate {PHONG} --to glsl -o {{}}/out.frag",
    f"disassemble {PHONG} -o {{}}/out.fp",
    "tables dobravec-bulic-2017 --no-measure --plot {}/plots",
    "run larson-mcallister n=128 --executor numpy -o {}/out.npy",
    "run larson-mcallister n=128 --executor numpy -o {}/out.png",
    "dump jacobi -o {}/dump",
    "figure jacobi --executor numpy --animate {}/out.gif",
    "study roofline --plot {}/out.pdf",
    "cache larson-mcallister n=16 --heat-map {}/out.png",
    "report n=64 block=4 --no-measure -o {}/report",
)
SHARE = 2


def _chosen(random: Random) -> list[str]:
    return list(COMMANDS) if ATTACK.full else random.sample(COMMANDS[:7], SHARE)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    size = f"size={DISK_BYTES},nr_inodes=64"
    mount = ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder)]
    done = subprocess.run(mount, check=False, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no disk may be mounted here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def _seen(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() if p.is_file() else b"" for p in sorted(folder.rglob("*"))}


def _fill(disk: Path, left: int) -> None:
    """Fill the disk up to so many bytes, about."""
    status = os.statvfs(disk)
    free = status.f_bavail * status.f_bsize
    (disk / "ballast").write_bytes(bytes(max(0, free - left)))


def _make_old(disk: Path, command: str) -> None:
    """What the command writes is there already."""
    path = Path(command.format(disk).split()[-1])
    if path.suffix:
        path.write_text("before")
    elif "plots" not in path.name:
        path.mkdir()
        for name in ("tables.txt", "plan.json", "index.html"):
            (path / name).write_text("before")


def _check_failed(command: str, folder: Path, before: dict[str, bytes], **limits: object) -> bool:
    """Run a command, which fails in one line and leaves all as it was, if it fails."""
    done = subprocess.run(
        [*CALL, *command.format(folder).split()],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder.parent,
        **limits,  # type: ignore[call-overload]
    )
    lines = [line for line in done.stderr.splitlines() if "other processes used" not in line]
    about = f"{command}: {done.returncode} {done.stderr}"
    if done.returncode == 0:
        return False
    assert done.returncode == 2, about
    assert len(lines) == 1 and lines[0].startswith("gpgpu-legacy: "), about
    assert any(word in lines[0] for word in ("no space left", "file too large")), about
    assert _seen(folder) == before, about
    return True


def test_a_full_disk(disk: Path) -> None:
    random = ATTACK.random("full disk")
    failed = 0
    for command in _chosen(random):
        _make_old(disk, command)
        _fill(disk, random.choice((0, 0, 4096, 8192)))
        failed += _check_failed(command, disk, _seen(disk))
        subprocess.run(["find", str(disk), "-mindepth", "1", "-delete"], check=True)
    assert failed >= 1


def test_a_disk_without_room_for_names(disk: Path) -> None:
    for number in range(64):
        try:
            (disk / str(number)).touch()
        except OSError:
            break
    assert _check_failed(COMMANDS[3], disk, _seen(disk))


def test_a_limit_on_the_size_of_files(tmp_path: Path) -> None:
    random = ATTACK.random("size of files")
    failed = 0
    for number, command in enumerate(_chosen(random)):
        folder = tmp_path / str(number)
        folder.mkdir()
        _make_old(folder, command)
        most = random.choice((0, 1, 100, 1000))

        def limit(most: int = most) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

        before = _seen(folder)
        failed += _check_failed(command, folder, before, preexec_fn=limit)
    assert failed >= 1
