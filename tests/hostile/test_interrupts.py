"""Ctrl-C at any time in any command: one line, exit code 130, nothing half-written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest
from attacks import ATTACK

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")

BEGIN = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # jobs ignore it
    "import os, sys, gpgpu_legacy.__main__ as m; os.close(int(sys.argv.pop(1))); m.main()"
)
"""The command line, which closes a pipe as soon as it begins."""

COMMANDS = {
    "--help": 0.3,
    "run larson-mcallister n=96 --executor jit -o out.npy": 2.5,
    "run hall-carr-hart-multi n=64 --executor numpy -o out.csv": 1.0,
    "run hall-carr-hart-multi n=64 --executor gl-raster -o out.mtx": 1.5,
    "report --no-measure -o out": 6.0,
    "dump jacobi -o out": 1.0,
    "study figure-2 --plot out.gif": 2.0,
    "study cache-table --size 32 -o out.json": 3.0,
    "bench n=32 --budget 3 -o out.json": 4.0,
    "study precision larson-mcallister n=16 --plot out.svg": 3.0,
}
"""Commands, and about how long each takes, in seconds."""


def is_whole(path: Path) -> bool:
    """Whether a file ends as one of its kind does."""
    data = path.read_bytes()
    ends = {".gif": b";", ".json": b"\n", ".svg": b"</svg>\n"}
    if path.suffix == ".npy":
        return len(data) == 128 + 4 * 96 * 96
    return bool(data) and data.endswith(ends.get(path.suffix, b"\n"))


def interrupted(random: Random, folder: Path) -> None:
    words, lasts_s = random.choice(list(COMMANDS.items()))
    reader, writer = os.pipe()
    command = subprocess.Popen(
        [sys.executable, "-c", BEGIN, str(writer), *words.split()],
        pass_fds=[writer],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writer)
    assert os.read(reader, 1) == b""
    os.close(reader)
    time.sleep(random.choice((0.01, random.uniform(0, lasts_s))))
    command.send_signal(signal.SIGINT)
    _, said = command.communicate(timeout=60)
    about = f"{words}: {command.returncode} {said}"
    assert "Traceback" not in said, about
    assert command.returncode in {0, 130, -signal.SIGINT}, about  # the last: all was done
    if command.returncode == 130:
        assert said.endswith("gpgpu-legacy: interrupted\n"), about
    for path in folder.rglob("*"):
        assert path.is_dir() or (is_whole(path) and not path.name.startswith(".")), path
    assert not (folder / "out").is_dir() or len(list((folder / "out").iterdir())) > 2


def test_interrupts_at_any_time(tmp_path: Path) -> None:
    random = ATTACK.random("interrupts")
    for case in range(ATTACK.count(2, 30)):
        folder = tmp_path / str(case)
        folder.mkdir()
        interrupted(random, folder)
