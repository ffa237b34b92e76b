"""The worker threads of this process.

A process has one pool, started when it is first needed. A thread that needs the result of a task
runs the task itself if no worker has begun it. So when several threads run plans at once and the
pool is busy, each of them still progresses. A forked child, which has none of its parent's threads,
starts its own pool.

A task is a function and two locks; `concurrent.futures` takes about twice as long to hand one over.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, partial
from itertools import count
from queue import SimpleQueue
from threading import Lock, Thread

from gpgpu_legacy.lower.forks import held_across_forks
from gpgpu_legacy.runtime.devices import thread_count

_LOCK = held_across_forks(Lock())


class Task:
    """Work that one thread does, once: a worker, or whoever needs its result first."""

    def __init__(self, work: Callable[[], object]) -> None:
        """work: what to call. It must not wait for other tasks."""
        self._work = work
        self._error: BaseException | None = None
        self._claim, self._running = Lock(), Lock()
        self._running.acquire()

    def run(self) -> None:
        """Do the work, unless somebody has begun it."""
        if self._claim.acquire(blocking=False):
            try:
                self._work()
            except BaseException as error:  # whoever waits gets it
                self._error = error
            finally:
                self._running.release()

    def cancel(self) -> bool:
        """Whether nobody has begun it. If so, nobody will, and it has ended."""
        is_free = self._claim.acquire(blocking=False)
        if is_free:
            self._running.release()
        return is_free

    def has_ended(self) -> bool:
        """Whether the work is done or has failed."""
        return not self._running.locked()

    def error(self) -> BaseException | None:
        """What the work raised, once it has ended; somebody must have begun it."""
        with self._running:
            return self._error

    def finish(self) -> None:
        """Return when the work is done. Raises what it raised."""
        self.run()
        if error := self.error():
            raise error


def start(work: Callable[[], object]) -> Task | None:
    """Let a worker do it. None if there are no workers, or if this thread must not start any."""
    with _LOCK, suppress(FloatingPointError):
        if pool := _pool_of(os.getpid()):
            pool.tasks.put(task := Task(work))
            return task
    return None


def share_out(task: Callable[[int, int], object], pieces: int) -> None:
    """Call task(worker, piece) once for every piece from 0 on, on all processors.

    worker: a number below `thread_count()`, which no two calls have at the same time. Tasks must
    not distribute work themselves. Raises a task's error when all have ended.
    """
    numbers = count()  # an iterator written in C, which threads may share

    def work(worker: int) -> None:
        for piece in numbers:
            if piece >= pieces:
                return
            task(worker, piece)

    helpers = range(1, min(thread_count(), pieces))
    others = [other for worker in helpers if (other := start(partial(work, worker)))]
    try:
        work(0)
    finally:  # whoever has not begun has nothing to do
        errors = [other.error() for other in others if not other.cancel()]
        for error in filter(None, errors):
            raise error


class _Pool:
    """Threads that take tasks from a queue until they take None."""

    def __init__(self, size: int) -> None:
        """Start so many threads. Raises RuntimeError or MemoryError if the system refuses one."""
        self.tasks: SimpleQueue[Task | None] = SimpleQueue()
        threads: list[Thread] = []
        weakref.finalize(self, _stop, self.tasks, threads)  # also when Python ends
        for _ in range(size):
            thread = Thread(target=_serve, args=(self.tasks,), name="gpgpu-legacy", daemon=True)
            thread.start()
            threads.append(thread)


def _serve(tasks: SimpleQueue[Task | None]) -> None:
    while task := tasks.get():
        task.run()
        del task  # and what it refers to, while this thread waits


def _stop(tasks: SimpleQueue[Task | None], threads: list[Thread]) -> None:
    for _ in threads:
        tasks.put(None)
    for thread in threads:
        thread.join()


@lru_cache(maxsize=1)
def _pool_of(_: int) -> _Pool | None:
    """The pool of the process of that number; None if the system refuses threads.

    All threads are started now. If one could not be started later, its work would run on another
    one, perhaps when nobody waits for it any more. Threads inherit whether the CPU flushes
    denormals. So a thread that flushes them starts none, but gets a FloatingPointError, and the
    next caller tries again.
    """
    from gpgpu_legacy.runtime.exactness import thread_keeps_denormals

    if not thread_keeps_denormals():
        raise FloatingPointError
    with suppress(RuntimeError, MemoryError):  # "can't start new thread"
        return _Pool(max(1, thread_count() - 1))
    return None
