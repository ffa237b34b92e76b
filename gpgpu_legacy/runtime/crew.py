"""The workers that run native schedules, and stay for the next one for a while."""

from __future__ import annotations

import os
from concurrent.futures import Future
from contextlib import suppress
from functools import lru_cache
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.lower.emit import llvm_schedule as layout
from gpgpu_legacy.lower.forks import held_across_forks
from gpgpu_legacy.runtime.native import ScheduleCode, pause_address
from gpgpu_legacy.runtime.workers import worker_pool

Words = NDArray[np.int64]

_LOCK = held_across_forks(Lock())


class _Crew:
    """Workers that help with native schedules: for a while they wait for the next one."""

    def __init__(self) -> None:
        self.words = np.zeros(layout.DOOR_WORDS, np.int64)
        self.words[layout.DOOR_PAUSE_AT] = pause_address()
        self.busy = Lock()
        self._there: list[Future[object]] = []

    def lead(self, loop: ScheduleCode, header: Words, members: Words) -> None:
        """Run a schedule with as many threads as it has words for."""
        door, pool = self.words, worker_pool()
        self._there = [worker for worker in self._there if not worker.done()]
        missing = len(members) - 1 - len(self._there) if pool else 0
        with suppress(RuntimeError):  # Python ends, and with it the pool
            for _ in range(missing):
                assert pool is not None
                self._there.append(pool.submit(loop.serve, door.ctypes.data))
        door[layout.JOB], door[layout.FIRST_MEMBERS] = header.ctypes.data, members.ctypes.data
        door[layout.STRIDE], door[layout.HELPERS] = members.strides[0], len(members) - 1
        loop.lead(door.ctypes.data)


@lru_cache(maxsize=1)
def _crew_of(_: int) -> _Crew:
    """The crew of the process of that number."""
    return _Crew()


def run_job(loop: ScheduleCode, header: Words, members: Words) -> None:
    """Run a native schedule (lower/emit/llvm_schedule.py) on as many threads as it has words for.

    members: the words of passes, by thread. While another thread's schedule has the workers, this
    thread runs its own alone.
    """
    with _LOCK:
        crew = _crew_of(os.getpid())
    if len(members) > 1 and crew.busy.acquire(blocking=False):
        try:
            crew.lead(loop, header, members)
        finally:
            crew.busy.release()
    else:
        loop.work(header.ctypes.data, members.ctypes.data)
