"""The folder of generated code under attack: whatever lies there, results and output are the same.

What LLVM, numba and pickle read from there is executed, so one wrong file would be one too many.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random

from attacks import ATTACK, mutated_bytes

SCRIPT = """
import sys
from gpgpu_legacy import matmul, run_program
import numpy as np
text = "!!ARBfp1.0\\nMAD result.color, fragment.position, 3, 0.5;\\nEND\\n"
print(run_program(text, 3, 2, executor="jit").tolist())
A = np.arange(64, dtype=np.float32).reshape(8, 8)
print(matmul(A, A, method="opengl-compute-tiled", executor="jit").tolist())
"""
"""It prints what lark's tables, LLVM's code and numba's code give."""

FIRST_LINE = "[[[2.0, 2.0, 2.0, 3.5], [5.0, 2.0, 2.0, 3.5], [8.0, 2.0, 2.0, 3.5]], "
"""By hand: 3 position + 0.5, and the position of the first fragment is (0.5, 0.5, 0.5, 1)."""


def processes(cache: Path, count: int) -> str:
    """What each of so many processes at once prints; none fails, and none complains."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(count)
    ]  # fmt: skip
    ended = [(*process.communicate(timeout=300), process.returncode) for process in started]
    assert {(err, code) for _, err, code in ended} == {("", 0)}
    [printed] = {out for out, _, _ in ended}
    assert printed.startswith(FIRST_LINE)
    return printed


def damage(random: Random, path: Path, other: Path) -> None:
    """Damage a file in one of the ways that an adversary or a disk has."""
    kind, data = random.randrange(5), path.read_bytes()
    if kind == 0:  # the content alone, which is what would be executed
        path.write_bytes(data[:32] + mutated_bytes(random, data[32:]))
    elif kind == 1:
        path.write_bytes(other.read_bytes())
    elif kind == 2:
        path.write_bytes(random.randbytes(random.choice((0, 1, 32, 33, 1000))))
    elif kind == 3:
        path.unlink()
        path.symlink_to(random.choice((other.name, "/dev/zero", "nowhere", path.name)))
    else:
        path.chmod(random.choice((0o000, 0o666, 0o620)))


def test_a_damaged_cache_gives_the_same_results(tmp_path: Path) -> None:
    random = ATTACK.random("processes")
    expected = processes(tmp_path, ATTACK.count(2, 4))
    [folder] = tmp_path.glob("gpgpu-legacy/generated")
    for _ in range(ATTACK.count(1, 8)):
        paths = [path for path in folder.iterdir() if path.is_file() and not path.is_symlink()]
        for path in random.sample(paths, len(paths) // 2 + 1):
            damage(random, path, random.choice(paths))
        assert processes(tmp_path, ATTACK.count(1, 3)) == expected


RACE = """
import os, sys
from random import Random
from gpgpu_legacy import code_cache
random = Random(sys.argv[1])
folder = code_cache.cache_folder() / code_cache.FOLDER
for n in range(int(sys.argv[2])):
    number = random.randrange(12)
    key, content = f"key {number}", bytes([number]) * (1000 * number)
    found = code_cache.read(key)
    if found is None:
        code_cache.keep(key, content)
    else:
        assert found == content, (number, len(found))
    what = random.randrange(20)
    try:
        if what == 0:
            code_cache.prune(most_bytes=20_000, most_files=6)
        elif what == 1:
            with open(folder / code_cache.file_name(f"key {random.randrange(12)}"), "r+b") as file:
                file.seek(random.randrange(200))
                file.write(b"damage")
        elif what == 2:
            os.rename(folder, f"{folder}-{sys.argv[1]}-{n}")
    except OSError:
        pass
"""
"""Reads, writes, prunes, damages files and takes the folder away, all at random."""


def test_processes_get_in_nobodys_way(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    count = str(ATTACK.count(200, 4000))
    started = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, f"{ATTACK.seed} {n}", count],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        for n in range(ATTACK.count(3, 8))
    ]  # fmt: skip
    ended = [(process.communicate(timeout=300)[0], process.returncode) for process in started]
    assert set(ended) == {("", 0)}
