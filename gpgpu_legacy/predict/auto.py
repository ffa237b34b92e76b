"""The choice of `auto`: the executor that is expected to finish a plan first.

The whole first run counts: loading libraries, compiling, computing. Each executor states its speed
(runtime/machine.py). These figures were measured once, and `benchmarks/auto.py` shows how good the
choices are. Results of `gpgpu-legacy tune` take precedence (measure/tuned.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import inf, isfinite

from gpgpu_legacy import code_cache
from gpgpu_legacy.count.traffic import Counts, count_compute_pass, count_pass
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.plan.expand import at_iteration
from gpgpu_legacy.plan.plan import ComputePass, FragmentPass, Plan
from gpgpu_legacy.runtime.executor import AUTO, Executor, executors, find_executor, reference
from gpgpu_legacy.runtime.machine import DEFAULT_MACHINE, Device, Machine, Task

HESITATION = 1.4
"""The factor by which a driver on the CPU must be faster than an executor with our own bits."""

ASKED_S = 0.5
"""Seconds that the CPU must take before unused drivers are started to find out their device: that
takes part of a second.
"""

MANY = 1000
"""A number of runs for which preparing does not count: measurements want the fastest executor."""


def ranked(
    plan: Plan, machine: Machine = DEFAULT_MACHINE, runs: int = 1, *, of_host: bool = False
) -> dict[Executor, float]:
    """The executors that `auto` takes for a plan, with the seconds that it expects of each.

    They are in the order in which they should finish that many runs, preparing included; if one has
    no room for the plan, the next may. An executor that could not even start before another
    finishes is left out, so that no driver is loaded for nothing. The reference, which refuses no
    valid plan, comes last. of_host: whether to consider only those on the CPU.
    """
    last = reference()
    if machine.arithmetic.rounds and not plan.dispatches:
        return {last: 0.0}
    task = task_of(plan)
    seconds = {last: expected_s(last, Device.HOST, plan, task, runs)}
    for executor in sorted(executors(), key=lambda one: not one.capabilities.is_of_host):
        can, best = executor.capabilities, min(seconds.values())
        if can.runs_driver_programs or not plan.kinds <= can.passes:
            continue
        if of_host and not can.is_of_host:
            continue
        device = Device.HOST if can.is_of_host else device_of(executor, may_ask=best > ASKED_S)
        if device is Device.NONE or executor.pace(device).start_s >= best:
            continue
        if machine.exact and executor.why_inexact(plan, machine):
            continue
        seconds[executor] = expected_s(executor, device, plan, task, runs)
        if device is Device.SOFTWARE:
            seconds[executor] *= HESITATION
    return {e: s for e, s in sorted(seconds.items(), key=lambda it: it[1]) if s <= seconds[last]}


def device_of(executor: Executor, *, may_ask: bool) -> Device:
    """The device of a driver, as found before; NONE if it is not known.

    may_ask: whether the driver may be started to find out, which takes a while.
    """
    key = f"where {executor.name} computes"
    kept = _read(key)
    if kept is not None:
        return Device(kept.decode())
    if not may_ask:
        return Device.NONE
    device = Device.NONE
    if executor.status()[0]:
        device = Device.GPU if executor.is_hardware() else Device.SOFTWARE
    _keep(key, device.value.encode())
    return device


class Ranking:
    """The choice of `auto` for a plan from one run to the next.

    A plan that has run n times is expected to run n times more. So an executor that was rejected
    for its preparation time is taken once the time lost without it exceeds that. This is checked
    whenever the number of runs has doubled, among executors on the CPU only: no driver is started
    for a plan that has run without one.
    """

    def __init__(self, plan: Plan, machine: Machine) -> None:
        self._plan, self._machine = plan, machine
        self._runs = self._next = 0
        self._seconds: dict[Executor, float] = {}
        self._executors: list[Executor] = []

    def of_next(self, runs: int) -> list[Executor]:
        """The executors for that many more runs, the best first."""
        is_first, self._runs = not self._runs, self._runs + runs
        if is_first or (self._runs >= self._next and self._executors[0].capabilities.is_of_host):
            self._seconds = ranked(self._plan, self._machine, self._runs, of_host=not is_first)
            self._executors, self._next = list(self._seconds), 2 * self._runs
        return self._executors

    @property
    def reason(self) -> str:
        """Why the first executor was chosen, in a sentence."""
        (first, first_s), *others = self._seconds.items()
        if self._machine.arithmetic.rounds:
            return f"auto took {first.name}, which has every arithmetic."
        beside = "".join(f", {other.name} in {1e3 * s:.0f} ms" for other, s in others)
        with_runs = f" with {self._next // 2} runs" * (self._next > 2)
        return (
            f"auto took {first.name}, expected to be done first{with_runs}: in about "
            f"{1e3 * first_s:.0f} ms, starting and compiling included{beside}."
        )


ranking = lru_cache(maxsize=64)(Ranking)
"""The Ranking of a plan on a machine; there is one in this process."""


def executors_for(name: str, plan: Plan, machine: Machine) -> Callable[[int], list[Executor]]:
    """A function that gives the executors, best first, for a number of further runs of a plan.

    name: of the only one to give; with `auto`, it gives those of the plan's Ranking.
    """
    if name == AUTO:
        return ranking(plan, machine).of_next
    named = [find_executor(name, plan)]
    return lambda _: named


def executor_for(
    name: str, plan: Plan, machine: Machine = DEFAULT_MACHINE, runs: int = 1
) -> Executor:
    """The executor of that name (see find_executor), or the one that `auto` takes at first."""
    return next(iter(ranked(plan, machine, runs))) if name == AUTO else find_executor(name, plan)


def expected_s(executor: Executor, device: Device, plan: Plan, task: Task, runs: int = 1) -> float:
    """Seconds until that many runs are done, preparing included."""
    pace = executor.pace(device)
    is_kept = _read(_key(executor.name, plan)) is not None
    return pace.prepare_s(task, is_kept=is_kept, is_started=executor.is_started) + (
        runs * pace.run_s(task)
    )


def first_run_s(executor: Executor, plan: Plan) -> float:
    """The estimated seconds until the first run is done; 0 if there is no estimate."""
    host = executor.capabilities.is_of_host
    device = Device.HOST if host else device_of(executor, may_ask=True)
    seconds = expected_s(executor, device, plan, task_of(plan))
    return seconds if isfinite(seconds) else 0.0


def note(executor: Executor, plan: Plan) -> None:
    """Remember that an executor has compiled a plan's code, which is then kept for later runs."""
    if not executor.capabilities.is_of_host:
        device_of(executor, may_ask=True)
    _keep(_key(executor.name, plan), b"")


_known: dict[str, bytes | None] = {}
"""The content of the keys read so far: looking for a file takes longer than a small product."""


def _read(key: str) -> bytes | None:
    if key not in _known:
        _known[key] = code_cache.read(key)
    return _known[key]


def _keep(key: str, content: bytes) -> None:
    if _read(key) != content:
        _known[key] = content
        code_cache.keep(key, content)


def _key(name: str, plan: Plan) -> str:
    """An executor, and a plan's programs and kernels as far as estimates tell them apart."""
    names = (f"{p.name} {len(p.instructions)}" for p in plan.programs())
    return f"{name} has compiled {', '.join([*names, *(k.name for k in plan.kernels())])}"


@lru_cache(maxsize=16)
def task_of(plan: Plan) -> Task:
    """The properties of a plan that estimates need."""
    counts, dispatches = Counts(), dict[object, Counts]()
    try:
        for times, pass_ in plan.weighted_passes():
            if isinstance(pass_, ComputePass):  # one dispatch stands for all of its size
                first = at_iteration(pass_, 0)
                kind = first.kernel, first.groups
                if kind not in dispatches:
                    dispatches[kind] = count_compute_pass(plan, first)
                counts += dispatches[kind].times(times)
            else:
                counts += count_pass(plan, pass_, times)
    except PlanError:  # a kernel whose loops depend on data
        return Task(kernels=1, work=inf, invocations=1)
    programs = plan.programs()
    return Task(
        programs=tuple(len(program.instructions) for program in programs),
        kernels=len(plan.kernels()),
        steps=len(plan.steps),
        passes=plan.pass_count,
        instructions=sum(
            count * len(pass_.program.instructions)
            for count, pass_ in plan.weighted_passes()
            if isinstance(pass_, FragmentPass)
        ),
        work=counts.arithmetic + counts.lookup + counts.kill,
        accesses=counts.accesses,
        invocations=counts.invocations,
    )
