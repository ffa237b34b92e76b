"""Locks that a child process finds free, whatever the threads of its parent held."""

from __future__ import annotations

import os
from typing import Protocol, TypeVar


class _Lockable(Protocol):
    def acquire(self) -> bool: ...

    def release(self) -> None: ...


_Lock = TypeVar("_Lock", bound=_Lockable)


def held_across_forks(lock: _Lock) -> _Lock:
    """The lock. This process holds it while it forks, so that a child finds nothing half made.

    Windows has no forks, and nothing to hold there.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
        )
    return lock
