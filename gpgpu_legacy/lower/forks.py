"""Locks that a child process finds free, whatever the threads of its parent held."""

from __future__ import annotations

import os
from threading import Lock, RLock
from typing import TypeVar

_Lock = TypeVar("_Lock", Lock, RLock)


def held_across_forks(lock: _Lock) -> _Lock:
    """The lock. This process holds it while it forks, so that a child finds no half-made state.

    Windows has no forks.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
        )
    return lock
