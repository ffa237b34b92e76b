"""Commands as a user of a container runs them: with no home, no account, no package to write to.

They compute the same, generate their code anew, and neither complain nor write elsewhere.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from attacks import ATTACK

import gpgpu_legacy

PACKAGE = Path(gpgpu_legacy.__file__).parents[1]
PROGRAM = str(PACKAGE / "shaders" / "examples" / "mandelbrot.fp")
NOBODY = 12345
"""A user without an account, of whom root's own folders are safe."""

_READS_ALL = "-all,+dac_read_search"  # the interpreter may lie in root's home
AS_NOBODY = (
    *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"),
    *(f"--{kind}={_READS_ALL}" for kind in ("inh-caps", "ambient-caps", "bounding-set")),
)

HOMES: dict[str, dict[str, str]] = {
    "unset": {},
    "missing": {"HOME": "/nonexistent/home"},
    "the root folder": {"HOME": "/"},
    "read-only": {"HOME": "{read_only}"},
    "a file": {"HOME": "/dev/null"},
    "relative folders": {"XDG_CACHE_HOME": "cache", "XDG_DATA_HOME": "data"},
    "no folder for temporary files": {"HOME": "{read_only}", "TMPDIR": "{read_only}"},
}

RUNNING = (
    "--help",
    "doctor",
    f"exec {PROGRAM} --size 32x24 --executor jit -o {{out}}/picture.png",
    "run hall-carr-hart-multi n=16 --executor gl-raster",
    "run hall-carr-hart-multi n=16 --executor gl-arbfp",
    "run opengl-compute-tiled n=16 --executor jit",
    "figure jacobi --plot {out}/passes.png",
    "cache reduction",
    "dump jacobi -o {out}/dump",
    "predict hall-carr-hart-multi n=64 --chip radeon-9700-pro",
    "study roofline --plot {out}/roofline.svg",
    "study cache-table --size 16 --budget 5",
    "bench larson-mcallister n=16 --budget 2",
    "report n=16 -o {out}/report --no-measure",
    "tune --show",
    "tune --forget",
)

KEEPING = ("tune larson-mcallister n=16 --budget 2", "calibrate --executor jit --budget 2")
"""Commands that are of use only where they can keep what they find."""


@cache
def without_rights() -> tuple[str, ...]:
    """What runs a command with the rights of a user who owns nothing."""
    if os.geteuid() != 0:
        return ()
    if shutil.which("setpriv") is None:
        pytest.skip("root needs setpriv to have no rights")
    tried = [*AS_NOBODY, sys.executable, "-c", "import gpgpu_legacy"]
    done = subprocess.run(tried, env=environment({}), capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip("root cannot give up its rights here")
    return AS_NOBODY


def environment(home: dict[str, str]) -> dict[str, str]:
    """As few variables as a container has."""
    few = {"PATH": os.environ["PATH"], "PYTHONPATH": str(PACKAGE), "PYTHONDONTWRITEBYTECODE": "1"}
    return {**few, **home}


def cases() -> list[tuple[str, str]]:
    """Pairs of a command and a home: every command, and every home."""
    random = ATTACK.random("homes")
    homes = list(HOMES)
    random.shuffle(homes)
    commands = random.sample((*RUNNING, *KEEPING), len(RUNNING) + len(KEEPING))
    tried = commands if ATTACK.full else [RUNNING[2], RUNNING[10]]
    return [(command, homes[number % len(homes)]) for number, command in enumerate(tried)]


@pytest.mark.parametrize(("command", "home"), cases())
def test_commands_run_anywhere(tmp_path: Path, command: str, home: str) -> None:
    prefix = without_rights()
    places = {name: tmp_path / name for name in ("read_only", "out", "here")}
    for place in places.values():
        place.mkdir()
        if prefix:
            os.chown(place, NOBODY, NOBODY)
    places["read_only"].chmod(0o555)
    variables = {name: value.format(**places) for name, value in HOMES[home].items()}
    words = [word.format(**places) for word in command.split()]
    done = subprocess.run(
        [*prefix, sys.executable, "-m", "gpgpu_legacy", *words],
        cwd=places["here"],
        env=environment(variables),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    said = [line for line in done.stderr.splitlines() if not line.startswith("wrote ")]
    if command in KEEPING:
        assert done.returncode == 2, done.stderr
        assert len(said) == 1
        assert "_HOME" in said[0] or "HOME to" in said[0] or "cannot be" in said[0]
    else:
        missing_driver = done.returncode == 2 and "OpenGL" in done.stderr
        assert done.returncode == 0 or missing_driver, done.stderr
        of_time = ("other processes used", "the budget of")  # what a busy machine makes it say
        assert missing_driver or all(any(words in line for words in of_time) for line in said)
    for name in ("here", "read_only"):
        assert list(places[name].iterdir()) == []
