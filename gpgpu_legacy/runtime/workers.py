"""The worker threads of this process.

A process has one pool, started when it is first needed; a thread that distributes work takes part
in it. So when several threads run plans at once and the pool is busy, each of them still
progresses. A forked child, which has none of its parent's threads, starts its own pool.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import lru_cache, partial
from itertools import count
from threading import Event, Lock
from typing import ParamSpec

from gpgpu_legacy.lower.forks import held_across_forks
from gpgpu_legacy.runtime.devices import thread_count

P = ParamSpec("P")

_LOCK = held_across_forks(Lock())


def share_out(task: Callable[[int, int], object], pieces: int) -> None:
    """Call task(worker, piece) once for every piece from 0 on, on all processors.

    worker: a number below `thread_count()`, which no two calls have at the same time. Tasks must
    not distribute work themselves. Raises a task's error when all have ended.
    """
    helpers = min(thread_count(), pieces) - 1
    if helpers < 1:
        for piece in range(pieces):
            task(0, piece)
        return
    numbers = count()  # an iterator written in C, which threads may share

    def work(worker: int) -> None:
        for piece in numbers:
            if piece >= pieces:
                return
            task(worker, piece)

    pool = worker_pool()
    if pool is None:
        work(0)
        return
    others = [pool.submit(work, worker) for worker in range(1, helpers + 1)]
    try:
        work(0)
    finally:
        begun = [other for other in others if not other.cancel()]  # the rest has nothing to do
        wait(begun)
        for other in begun:
            other.result()


class Started:
    """A task for a worker; if none has begun it, the waiting thread runs it."""

    def __init__(self, task: Callable[P, object], *arguments: P.args, **keywords: P.kwargs) -> None:
        """Begin task(*arguments) on a worker, if there are any.

        The caller calls `finish`, once; tasks must not wait.
        """
        self._task, pool = partial(task, *arguments, **keywords), worker_pool()
        self._future: Future[object] | None = None
        if pool is not None:
            with suppress(RuntimeError):  # Python ends, and with it the pool
                self._future = pool.submit(self._task)

    def finish(self) -> None:
        """Return when the task has ended. Raises what it raised."""
        if self._future is None or self._future.cancel():
            self._task()
        else:
            self._future.result()


def worker_pool() -> ThreadPoolExecutor | None:
    """The pool of this process; None without threads, or if this thread must not start any."""
    with _LOCK, suppress(FloatingPointError):
        return _pool_of(os.getpid())
    return None


@lru_cache(maxsize=1)
def _pool_of(_: int) -> ThreadPoolExecutor | None:
    """The pool of the process of that number; None if the system refuses threads.

    All threads are started now. If one could not be started later, its work would run on another
    one, perhaps when nobody waits for it any more. Threads inherit whether the CPU flushes
    denormals. So a thread that flushes them starts none, but gets a FloatingPointError, and the
    next caller tries again.
    """
    from gpgpu_legacy.runtime.exactness import thread_keeps_denormals

    if not thread_keeps_denormals():
        raise FloatingPointError
    helpers, gate = max(1, thread_count() - 1), Event()
    pool = ThreadPoolExecutor(helpers, "gpgpu-legacy")
    try:
        for _ in range(helpers):
            pool.submit(gate.wait)
    except (RuntimeError, MemoryError):  # "can't start new thread"
        pool.shutdown(wait=False, cancel_futures=True)
        return None
    finally:
        gate.set()
    return pool
