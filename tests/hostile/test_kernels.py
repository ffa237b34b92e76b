"""Kernels that reach anywhere: nothing outside is taken to be inside, and numpy and jit agree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from attacks import ATTACK
from kernels import wrongly_proven


def test_no_access_is_proven_that_the_reference_machine_finds_outside() -> None:
    random = ATTACK.random("proven kernels")
    outside = 0
    for _ in range(ATTACK.count(20, 600)):
        seed = random.randrange(2**40)
        wrong, found, _ = wrongly_proven(seed)
        assert not wrong, seed
        outside += found
    assert outside > 0


def test_numpy_and_jit_agree_in_bits_or_in_the_error() -> None:
    """In another process, whose end by a signal is seen here."""
    random = ATTACK.random("run kernels")
    seeds = [str(random.randrange(2**40)) for _ in range(ATTACK.count(1, 60))]
    script = str(Path(__file__).with_name("kernels.py"))
    done = subprocess.run(
        [sys.executable, script, *seeds], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    found = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert list(found) == seeds
    assert set(found.values()) <= {"same", "refused"}, done.stdout
