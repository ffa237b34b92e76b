"""The threads of this process that share out work, whoever has it to do.

There is one pool a process, made when it is first needed; who hands out work takes part in it. So
where several threads run plans at once, each gets on by itself when the pool is busy. A forked
child, which has none of its parent's threads, makes its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import count
from threading import Event, Lock

from gpgpu_legacy.lower.forks import held_across_forks
from gpgpu_legacy.runtime.devices import thread_count

_LOCK = held_across_forks(Lock())


def share_out(task: Callable[[int, int], object], pieces: int) -> None:
    """Call task(worker, piece) once for every piece from 0 on, on all processors.

    worker: a number below `thread_count()`; no two calls at a time have the same. The tasks must
    not share out work themselves. Raises what a task raised, when all have ended.
    """
    helpers = min(thread_count(), pieces) - 1
    if helpers < 1:
        for piece in range(pieces):
            task(0, piece)
        return
    numbers = count()  # as iterators of C are, safe to share

    def work(worker: int) -> None:
        for piece in numbers:
            if piece >= pieces:
                return
            task(worker, piece)

    pool = _pool()
    if pool is None:
        work(0)
        return
    others = [pool.submit(work, worker) for worker in range(1, helpers + 1)]
    try:
        work(0)
    finally:
        for other in others:
            if not other.cancel():  # one that has not begun has nothing left to do
                other.result()


def _pool() -> ThreadPoolExecutor | None:
    with _LOCK:
        return _made_pool(os.getpid())


@lru_cache(maxsize=1)
def _made_pool(_: int) -> ThreadPoolExecutor | None:
    """The pool of the process of that number; None where the system gives it no threads.

    All threads are started now: work that is handed out when one cannot be started is run by
    another one later, when nobody waits for it.
    """
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
