"""Plans that stay prepared between calls, so that a second run costs only its passes.

Preparing validates a plan, compiles its programs and allocates its textures. The last few plans
keep all that until an equal plan is requested on the same executor and machine. Results do not
depend on this: a run computes them from its operands alone. If another plan needs the memory,
waiting plans release theirs.
"""

from __future__ import annotations

import atexit
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from time import perf_counter

from gpgpu_legacy.errors import (
    ExecutorUnavailableError,
    NoDeviceRoomError,
    NoRoomError,
    PlanError,
    is_of_opengl,
)
from gpgpu_legacy.lower.forks import held_across_forks
from gpgpu_legacy.plan.plan import ComputePass, FragmentPass, Plan, numbers
from gpgpu_legacy.predict import auto
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.machine import DEFAULT_MACHINE, Machine
from gpgpu_legacy.runtime.prepared import Prepared

MOST_PLANS = 4
"""The most plans that wait prepared."""

MOST_BYTES = 256 << 20
"""The most bytes of host memory that waiting plans hold together."""

MOST_DEVICE_BYTES = 2 << 30
"""The most bytes of a GPU's memory that waiting plans hold together."""

MOST_STEPS = 4096
"""The most steps of a waiting plan as its executor runs it; each keeps its own arguments."""


@dataclass(frozen=True)
class _Idle:
    """A waiting prepared plan. plan: as given to the executor."""

    executor: Executor
    plan: Plan
    prepared: Prepared

    def runs(self, executor: Executor, plan: Plan, machine: Machine) -> bool:
        """Whether it would give the same bits as this plan on this executor and machine."""
        if self.executor is not executor or self.prepared.machine != machine:
            return False
        if self.plan is plan:
            return True
        return self.plan == plan and self._traits == tuple(_beyond_equality(plan))

    @cached_property
    def _traits(self) -> tuple[str, ...]:
        return tuple(_beyond_equality(self.plan))


class PreparedPlans:
    """Prepared plans that wait for their next run. Thread-safe: two threads never share one."""

    def __init__(self) -> None:
        self._idle: list[_Idle] = []  # the most recently used is last
        self._lock = held_across_forks(Lock())

    def __len__(self) -> int:
        """The number of waiting plans."""
        with self._lock:
            return len(self._idle)

    @contextmanager
    def prepared(
        self, plan: Plan, executors: Sequence[Executor], machine: Machine = DEFAULT_MACHINE
    ) -> Iterator[tuple[Executor, Prepared]]:
        """Yield an executor and the prepared plan, the caller's alone until the block ends.

        executors: the first that takes the plan prepares it. The prepared plan's `prepare_s` is the
        time of this call: almost 0 if the plan was waiting. A block that raises closes it. Raises
        the error of the last executor's `prepare`.
        """
        idle = self._first(plan, executors, machine)
        try:
            yield idle.executor, idle.prepared
        except BaseException:
            idle.prepared.close()
            raise
        self._put(idle)

    def close(self) -> None:
        """Close all waiting plans. Plans in use wait again when they are done."""
        with self._lock:
            waiting, self._idle = self._idle, []
        for idle in waiting:
            idle.prepared.close()

    def _first(self, plan: Plan, executors: Sequence[Executor], machine: Machine) -> _Idle:
        for executor in executors:
            started = perf_counter()
            if idle := self._take(executor, plan, machine):
                idle.prepared.prepare_s = perf_counter() - started
                return idle
            try:
                prepared = self._prepare(executor, plan, machine)
            except (PlanError, ExecutorUnavailableError):  # the next executor may take the plan
                if executor is executors[-1]:
                    raise
                continue
            auto.note(executor, plan)
            return _Idle(executor, plan, prepared)
        raise AssertionError("no executor to prepare a plan on")

    def _prepare(self, executor: Executor, plan: Plan, machine: Machine) -> Prepared:
        """Prepare a plan; if there is too little memory, close the waiting plans and try again."""
        try:
            return executor.prepare(plan, machine)
        except Exception as error:
            no_room = isinstance(error, NoRoomError | NoDeviceRoomError | MemoryError)
            if not len(self) or not (no_room or is_of_opengl(error)):
                raise
        self.close()
        return executor.prepare(plan, machine)

    def _take(self, executor: Executor, plan: Plan, machine: Machine) -> _Idle | None:
        with self._lock:
            for idle in reversed(self._idle):
                if idle.runs(executor, plan, machine):
                    self._idle.remove(idle)
                    return idle
        return None

    def _put(self, idle: _Idle) -> None:
        """Let a plan wait, and close the least recently used ones until the limits hold."""
        if len(idle.prepared.plan.steps) > MOST_STEPS or not self._fit([idle]):
            idle.prepared.close()
            return
        closing = []
        with self._lock:
            self._idle.append(idle)
            while not self._fit(self._idle):
                closing.append(self._idle.pop(0))
        for old in closing:
            old.prepared.close()

    def _fit(self, idle: Sequence[_Idle]) -> bool:
        held = [one.prepared.held for one in idle]
        return (
            len(held) <= MOST_PLANS
            and sum(one.host_bytes for one in held) <= MOST_BYTES
            and sum(one.device_bytes for one in held) <= MOST_DEVICE_BYTES
        )


def _beyond_equality(plan: Plan) -> Iterator[str]:
    """Yield the texts in which plans that compare equal may still differ.

    They show the names of programs and kernels, and the signs of zeros: RCP of -0 is -∞.
    """
    yield repr([texture.initial for texture in plan.textures])
    for pass_ in plan.as_written:
        if isinstance(pass_, FragmentPass):
            yield pass_.program.name
        elif isinstance(pass_, ComputePass):
            yield pass_.kernel.name
        yield repr(list(numbers(pass_)))


_PLANS = PreparedPlans()
prepared = _PLANS.prepared
"""PreparedPlans.prepared for the plans of the process."""
close_prepared = _PLANS.close
"""Close the waiting plans of the process."""
atexit.register(close_prepared)
