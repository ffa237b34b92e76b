"""Absurd sizes, counts and scales: every command ends soon, with a result or with one line.

Each command runs in a process of its own with little memory and little time.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from attacks import ATTACK

resource = pytest.importorskip("resource", reason="limits of processes are Unix's")

NUMBERS = (10**4, 10**5, 10**6, 2**24, 2**24 + 1, 2**31 - 1, 2**31, 10**9, 10**12, 10**19, 10**30)
BYTES = (2**31, 2**32, 6 * 2**30)
CPU_S = 60
"""Seconds of a processor that a command may take: a busy machine does not matter. The slowest legal
things are the longest programs and plans of the most tiles, which take about ten."""

PROGRAMS = {
    "plain.fp": "!!ARBfp1.0\nMOV result.color, fragment.texcoord[0];\nEND\n",
    "again.fp": "!!ARBfp1.0\nTEMP t;\nTEX t, fragment.texcoord[0], texture[0], RECT;\n"
    "MUL result.color, t, 0.5;\nEND\n",
}

COMMANDS = """
run hall-carr-hart-multi n=N
run larson-mcallister n=N
run row-packed n=N
run packed-2x2 n=N
run dobravec-bulic-shared n=N
run mali-sgemm n=N
run govindaraju-tiled n=N
run govindaraju-tiled n=64 tile=N
run hall-carr-hart-single n=N --executor numpy --no-check
run hall-carr-hart-multi n=N --executor gl-raster
run hall-carr-hart-single n=N block=1 largest_texture=1
run hall-carr-hart-single n=64 block=N largest_texture=N
run hall-carr-hart-single n=64 coordinates_first=N
run hall-carr-hart-single n=8 --executor numpy --repeat N0000000
run row-packed m=1 l=N n=1 largest_texture=N --executor numpy
run hall-carr-hart-single m=N l=N n=0
exec plain.fp --size N
exec plain.fp --size Nx1 --executor numpy
exec plain.fp --size N --trace 1,1
exec plain.fp --size 64 --draw-buffers N
exec again.fp --size 8 --texture 0=a.npy -o x.png --scale N
exec again.fp --size 8 --texture 0=a.npy --feedback 0 --passes 4 --animate x.gif --scale N
count plain.fp --size NxN
study figure-2 n=N --plot f.png
study multichannel n=N --plot f.gif
predict hall-carr-hart-multi --chip h100-sxm5 n=N
predict row-packed --chip h100-sxm5 n=N
predict govindaraju-tiled --chip h100-sxm5 n=N
predict larson-mcallister --chip h100-sxm5 n=N largest_texture=16
predict dobravec-bulic-shared --chip h100-sxm5 n=N
fit hall-carr-hart-multi --chip h100-sxm5 n=N
study roofline n=N
cache hall-carr-hart-multi n=N --budget 2
cache hall-carr-hart-multi n=N --budget 2 --heat-map h.png
cache dobravec-bulic-shared n=N --budget 2
cache larson-mcallister n=64 --cache N,4way,64B --budget 2
cache larson-mcallister n=64 --cache N,fully,64B --budget 2
cache larson-mcallister n=64 --raster tiled:NxN --budget 2
cache larson-mcallister n=64 --layout NxN --budget 2
study tiles --size N --budget 2
study tiles --size 64 --tile N --budget 2
study tiles --size 64 --cache N,4way,64B --budget 2
study cache-table --size N --budget 2
study anomaly n=N
tables n=N --no-measure
tables n=N --measure --budget 2
tables n=1024 block=N --no-measure
bench n=N --budget 2
bench n=8 --repeat N --budget 2
bench n=64 block=N --budget 2
study lineage n=N --budget 2
study precision n=N
tune hall-carr-hart-multi n=N --budget 2
calibrate --repeat N0000 --budget 2
run jacobi n=N passes=2
run life width=N generations=2
run reduction n=N
run bitonic-sort n=N
count jacobi n=N
count jacobi passes=N
count bitonic-sort n=N
count hall-carr-hart-multi n=N
bench jacobi n=N --budget 2
bench jacobi n=64,N --budget 2
cache jacobi n=N --budget 2
trace jacobi n=N passes=2 --texel 1,1
figure jacobi n=N passes=2 --plot p.png
figure jacobi --plot p.png --panels N
figure jacobi --animate p.gif --scale N
figure jacobi --animate p.gif --frames N
page jacobi n=N passes=2 -o p.html
predict jacobi n=N --chip h100-sxm5
""".strip().splitlines()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    import numpy as np

    for name, text in PROGRAMS.items():
        (tmp_path / name).write_text(text)
    np.save(tmp_path / "a.npy", np.ones((8, 8), np.float32))
    return tmp_path


def run_limited(
    words: list[str], folder: Path, most_bytes: int
) -> subprocess.CompletedProcess[str]:
    """The command in a process with limits of its address space and of its processor time."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return subprocess.run(
        [sys.executable, "-m", "gpgpu_legacy", *words],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "GPGPU_LEGACY_TUNING": str(folder / "tuning.json")},
        preexec_fn=limit,
        timeout=20 * CPU_S,
    )


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """What is wrong with how a command ended; nothing, if it is well."""
    lines = done.stderr.strip().splitlines()
    if done.returncode not in (0, 1, 2):
        return f"exit code {done.returncode}"
    if "Traceback" in done.stderr:
        return "a traceback"
    if done.returncode == 2 and not (len(lines) == 1 and lines[0].startswith("gpgpu-legacy: ")):
        return f"{len(lines)} lines"
    return "" if done.returncode != 2 or done.stdout == "" else "an error after a result"


def test_absurd_numbers_end_soon_with_a_result_or_a_line(folder: Path) -> None:
    random = ATTACK.random("sizes")
    for _ in range(ATTACK.count(3, 40)):
        number, most_bytes = random.choice(NUMBERS), random.choice(BYTES)
        words = random.choice(COMMANDS).replace("N", str(number)).split()
        done = run_limited(words, folder, most_bytes)
        wrong = complaint(done)
        assert not wrong, f"{' '.join(words)}, {most_bytes} bytes: {wrong}\n{done.stderr[-2000:]}"
