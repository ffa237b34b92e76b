"""Locks that are free in a forked process, whatever the threads of its parent held."""

from __future__ import annotations

import os
from threading import Lock, RLock
from typing import TypeVar

_Lock = TypeVar("_Lock", Lock, RLock)


def held_across_forks(lock: _Lock) -> _Lock:
    """Return the lock, which this process now holds whenever it forks.

    So a child finds the lock free, and no half-made state. Windows has no forks.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
        )
    return lock
