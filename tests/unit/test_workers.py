"""Tasks that are begun on a worker, and waited for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Barrier, Event, get_ident

import pytest

from gpgpu_legacy.runtime import workers
from gpgpu_legacy.runtime.workers import Task


def started(work: Callable[[], object]) -> Task:
    task = workers.start(work)
    assert task
    return task


def test_whoever_waits_does_what_no_worker_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """So nobody waits for the pool, which may be busy for long with another thread's work."""
    monkeypatch.setattr(workers, "thread_count", lambda: 2)
    workers._pool_of.cache_clear()
    meeting, gate, by = Barrier(2), Event(), list[int]()
    first = started(lambda: meeting.wait(60) + gate.wait(60))
    meeting.wait(60)
    started(lambda: by.append(get_ident())).finish()
    assert by == [get_ident()]
    gate.set()
    first.finish()
    workers._pool_of.cache_clear()


def test_what_a_task_raises_comes_to_whoever_waits() -> None:
    task = started(partial(int, "no number"))
    with pytest.raises(ValueError, match="no number"):
        task.finish()
