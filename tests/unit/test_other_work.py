"""Whose processor time counts as other processes'."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import psutil
import pytest

from gpgpu_legacy.measure import timing as other_work

_BURNS = """
import sys, time
while time.process_time() < 0.4: pass
print("done", flush=True)
sys.stdin.read()
"""


def test_what_a_started_process_uses_is_no_other_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "cpu_times", lambda: SimpleNamespace(user=100.0, system=10.0))
    before = other_work._others_s()
    command = [sys.executable, "-c", _BURNS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"done\n"
        running = other_work._others_s()
    ended = other_work._others_s()
    assert before is not None
    assert running is not None
    assert ended is not None
    assert before - running >= 0.3  # it is counted in hundredths
    assert before - ended >= 0.3  # it is counted in hundredths
