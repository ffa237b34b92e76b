"""Random C programs print what GCC's programs print."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest
from attacks import ATTACK
from random_c import random_program

from gpgpu_legacy.api.host.program import run_brook

CC = shutil.which("cc") or ""


def printed_by_gcc(source: Path) -> str:
    """What the compiled program prints."""
    program = source.with_suffix("")
    flags = ["-fwrapv", "-O0", "-w", "-o", str(program)]
    subprocess.run([CC, *flags, "-x", "c", str(source), "-lm"], check=True, timeout=60)
    return subprocess.run([program], capture_output=True, check=True, timeout=60).stdout.decode()


@pytest.mark.skipif(not CC, reason="there is no C compiler")
def test_programs_print_what_gcc_computes(tmp_path: Path) -> None:
    random = ATTACK.random("C programs")
    for _ in range(ATTACK.count(8, 250)):
        seed = random.randrange(2**40)
        source = tmp_path / f"{seed}.br"
        source.write_text(random_program(Random(seed)))
        assert run_brook(source).stdout == printed_by_gcc(source), f"seed {seed}"
