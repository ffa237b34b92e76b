"""Locks across forks, and a system that has none."""

from __future__ import annotations

import os
import subprocess
import sys
from threading import Lock

import pytest

from gpgpu_legacy.lower.forks import held_across_forks


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs forks")
def test_a_child_finds_the_lock_free() -> None:
    code = """
import os, threading
from gpgpu_legacy.lower.forks import held_across_forks
lock = held_across_forks(threading.Lock())
children = []
def fork():
    child = os.fork()
    if child == 0:
        os._exit(0 if lock.acquire(timeout=5) else 1)
    children.append(child)
lock.acquire()
forking = threading.Thread(target=fork)
forking.start()
forking.join(0.2)
assert not children, "it forked while another thread held the lock"
lock.release()
forking.join()
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_system_without_forks_has_plain_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "register_at_fork", raising=False)
    lock = Lock()
    assert held_across_forks(lock) is lock
