"""Plans that would take all time or memory are refused within bounds of both."""

from __future__ import annotations

import subprocess
import sys

import pytest

NASTY = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))
from gpgpu_legacy.errors import AssemblyError, InputError
from gpgpu_legacy.plan.serialise import plan_from_json
start = '{"schema": "gpgpu_legacy.plan", "version": 1, "name": "n", '
clear = '{"kind": "ClearPass", "target": "T", "value": [0, 0, 0, 0]}'
texts = [
    start + '"steps": [' + ",".join([clear] * 270_000) + "]}",
    start + '"steps": [' + clear.replace("[0", "[[" + "0," * 7_000_000 + "0]") + "]}",
    start + '"programs": {"p": "!!ARBfp1.0 ' + "x; " * 300_000 + '"}}',
    start + '"programs": {"p": "!!ARBfp1.0 MOV ' + "[" * 900_000 + '"}}',
    start + '"kernels": {"k": "' + "(" * 60_000 + '"}}',
    start + '"name2": "' + "a" * 100_000_000 + '"}',
    start + '"textures": ' + "[" * 10_000_000,
]
print("ready", flush=True)
for text in texts:
    try:
        plan_from_json(text)
    except (AssemblyError, InputError) as error:
        print(str(error).splitlines()[0][:120])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="address spaces are bounded on Linux")
def test_hostile_files_take_bounded_time_and_memory() -> None:
    done = subprocess.run(
        [sys.executable, "-c", NASTY], capture_output=True, text=True, timeout=120, check=True
    )
    assert len(done.stdout.splitlines()) == 1 + 7, done.stdout
