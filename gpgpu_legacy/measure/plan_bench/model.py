"""Executors measured on any plan, in turn with its peers and a reference function.

Only the passes are timed: `Timings.compute_s`. Preparing and transfers have fields of their own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from math import isfinite
from time import perf_counter
from typing import Any

import numpy as np

from gpgpu_legacy.arguments import as_positive
from gpgpu_legacy.errors import ExecutorUnavailableError, InputError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.measure import engine
from gpgpu_legacy.measure.budget import Budget
from gpgpu_legacy.measure.jobs import Job, Listener, Measured, Outcome, Ready
from gpgpu_legacy.measure.plan_bench.peers import OpenPeer
from gpgpu_legacy.measure.plan_bench.record import CaseRecord, PlanBench, PlanResult, PlanSkipped
from gpgpu_legacy.measure.plan_bench.work import beginning, least_size, size_of
from gpgpu_legacy.measure.platform import settings, this_platform, versions
from gpgpu_legacy.measure.pool import held_bytes
from gpgpu_legacy.measure.rounds import Rounds, median_timings, wait_for_rest
from gpgpu_legacy.pipeline.reference import (
    Reference,
    as_outputs,
    called,
    in_float64,
    largest_error,
)
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.textures import Matrix
from gpgpu_legacy.runtime import registry
from gpgpu_legacy.runtime.devices import processor
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.machine import Machine, names_of
from gpgpu_legacy.runtime.prepared import Timings, check_operands
from gpgpu_legacy.serial import as_record, provenance

DEFAULT_ROUNDS = 5
DEFAULT_BUDGET_S = 60.0
DEFAULT_MACHINE = Machine()


@dataclass(frozen=True)
class Case:
    """A plan to measure, on inputs by name: float32, in the shapes of the plan's operands.

    label: what results call it, such as `n = 512`. reference: the same in another way; None if
    there is nothing to compare with. parameters: that the plan was built with. peers: programs of
    today's that compute the same, by name.
    """

    label: str
    plan: Plan
    inputs: Mapping[str, F32] = field(repr=False)
    reference: Reference | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    peers: Mapping[str, OpenPeer] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Entrant:
    """An executor, a peer or a reference function, as results name it."""

    name: str
    device: str
    executor: Executor | None = None
    peer: OpenPeer | None = None

    @property
    def is_peer(self) -> bool:
        """Whether executors are measured against it: a peer, or the driver's own programs."""
        if self.executor is not None:
            return self.executor.capabilities.runs_driver_programs
        return self.peer is not None

    @property
    def is_reference(self) -> bool:
        """Whether it is the reference function."""
        return self.executor is None and self.peer is None


def count_steps(cases: Sequence[Case], executors: Sequence[str], repeat: int) -> int:
    """How often `bench_plans` reports progress."""
    jobs = sum(len(_suitable(case.plan, executors, DEFAULT_MACHINE)[0]) for case in cases)
    jobs += sum(len(case.peers) + (case.reference is not None) for case in cases)
    return jobs * (repeat + 1)


def bench_plans(
    cases: Sequence[Case],
    executors: Sequence[str] = (),
    *,
    machine: Machine = DEFAULT_MACHINE,
    repeat: int = DEFAULT_ROUNDS,
    budget: Budget | None = None,
    progress: Callable[[str], object] = lambda _: None,
    save: Callable[[PlanBench], object] = lambda _: None,
) -> PlanBench:
    """Measure every executor on every plan, the plan with the least work first.

    executors: all that can run a plan if empty; those that cannot are in `not_run`, with the
    reason. machine: how plans run. repeat: rounds for each plan; in a round everything that runs it
    takes its turn. budget: DEFAULT_BUDGET_S if None. progress: called with a description,
    `count_steps` times. save: called with the results so far whenever there are new ones, and with
    all of them at the end.

    Raises InputError for inputs that do not fit, for two cases of one label, for an unknown
    executor, and for less than one round; ExecutorUnavailableError for a named executor that cannot
    run here.
    """
    if not cases:
        raise InputError("there is no plan to measure; give one case at least")
    labels = [case.label for case in cases]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise InputError(f"two cases have the label {twice}; give each its own")
    within = Budget(DEFAULT_BUDGET_S) if budget is None else budget
    rounds = Rounds(as_positive("repeat", repeat))
    bench = _Bench(cases, executors, machine, rounds, within)
    return bench.measure(progress, save)


def bench_plan(
    plan: Plan,
    inputs: Mapping[str, F32] | None = None,
    executors: Sequence[str] = (),
    reference: Reference | None = None,
    *,
    machine: Machine = DEFAULT_MACHINE,
    repeat: int = DEFAULT_ROUNDS,
    budget_s: float = DEFAULT_BUDGET_S,
) -> PlanBench:
    """Measure every executor on one plan, for so many seconds at most; see bench_plans."""
    case = Case(plan.name, plan, inputs or {}, reference)
    return bench_plans([case], executors, machine=machine, repeat=repeat, budget=Budget(budget_s))


def _suitable(
    plan: Plan, names: Sequence[str], machine: Machine
) -> tuple[list[Executor], list[tuple[str, str]]]:
    """The executors to measure on a plan, and of the others the names and the reasons."""
    if names:
        found = dict.fromkeys(registry.find_executor(name, plan, machine) for name in names)
        return list(found), []
    able, others = list[Executor](), list[tuple[str, str]]()
    for executor in registry.executors():
        missing = plan.kinds - executor.capabilities.passes
        if missing:
            others.append((executor.name, f"it does not run {names_of(missing)}"))
            continue
        try:
            executor.device()
            inexact = executor.why_inexact(plan, machine) if machine.exact else ""
        except ExecutorUnavailableError as error:
            others.append((executor.name, str(error)))
            continue
        if inexact:
            others.append((executor.name, f"it is not exact: {inexact}"))
        else:
            able.append(executor)
    return able, others


class _Subject:
    """A case while it is measured: what outputs are compared with, and what was found so far.

    timings: of every run. found: for each entrant, by the fields of a PlanResult, how far its
    outputs are from the function's, the reference machine's and the first peer's.
    """

    def __init__(self, case: Case, machine: Machine) -> None:
        self.case, self.machine = case, machine
        self.operands = check_operands(case.plan, case.inputs)
        self.size = size_of(case.plan)
        self.timings: dict[Entrant, list[Timings]] = {}
        self.found: dict[Entrant, dict[str, float]] = defaultdict(dict)
        self._outputs: dict[Entrant, dict[str, F32]] = {}  # that have more to be compared with
        self._distance: dict[str, Callable[[Mapping[str, F32]], float]] = {}
        is_compared = {
            "max_error": case.reference is not None,
            "max_difference": True,
            "max_peer_difference": bool(case.peers),
        }
        self._compared = {name for name, holds in is_compared.items() if holds}

    def job(self, entrant: Entrant) -> Job[Entrant, None]:
        """What the engine measures."""
        executor = entrant.executor
        least = self.size if executor is None else min(self.size, least_size(self.case.plan))

        def open_at(size: int) -> AbstractContextManager[Ready[None]]:
            if executor is not None:
                return self._open(entrant, executor, size)
            if entrant.peer is not None:
                return self._open_peer(entrant, entrant.peer)
            return self._open_reference()

        label = self.case.label
        return Job(entrant, self.size, entrant.name, open_at, least=least, case=label)

    @contextmanager
    def _open(self, entrant: Entrant, executor: Executor, size: int) -> Iterator[Ready[None]]:
        if size < self.size:  # a probe
            with executor.prepare(beginning(self.case.plan, size), self.machine) as prepared:
                yield Ready(
                    lambda: prepared.run(self.operands).timings.compute_s, _no_check, wait_for_rest
                )
            return
        with executor.prepare(self.case.plan, self.machine) as prepared:

            def run() -> float:
                result = prepared.run(self.operands)
                if entrant not in self.timings:
                    self._outputs[entrant] = _in_shape(result.outputs, self.case.plan.results)
                self.timings.setdefault(entrant, []).append(result.timings)
                return result.timings.compute_s

            yield Ready(run, _no_check, wait_for_rest)

    @contextmanager
    def _open_reference(self) -> Iterator[Ready[None]]:
        plan, function = self.case.plan, self.case.reference
        assert function is not None
        inputs = in_float64(self._inputs())

        def run() -> float:
            started = perf_counter()
            given = called(function, inputs)
            seconds = perf_counter() - started
            if "max_error" not in self._distance:
                wanted = as_outputs(plan, given)
                self._distance["max_error"] = lambda outputs: largest_error(outputs, wanted)
            return seconds

        yield Ready(run, _no_check, wait_for_rest)

    @contextmanager
    def _open_peer(self, entrant: Entrant, peer: OpenPeer) -> Iterator[Ready[None]]:
        ready, plan = peer(self._inputs(), self.case.parameters), self.case.plan
        is_new = True

        def run() -> float:
            nonlocal is_new
            ready.start()
            started = perf_counter()
            ready.compute()
            seconds = perf_counter() - started
            if is_new:
                given = as_outputs(plan, ready.outputs())
                outputs = {name: array.astype(np.float32) for name, array in given.items()}
                self._outputs[entrant] = outputs
                self._distance.setdefault("max_peer_difference", _from(outputs))
            is_new = False
            return seconds

        yield Ready(run, _no_check, wait_for_rest)

    def _inputs(self) -> dict[str, F32]:
        return _in_shape(self.operands, self.case.plan.operands)

    def compare(self) -> None:
        """Compare what can be compared by now, and let go of what needs no more comparing."""
        for entrant, outputs in self._outputs.items():
            if entrant.executor is not None and entrant.executor.capabilities.is_reference:
                self._distance["max_difference"] = _from(outputs)
        for entrant, outputs in list(self._outputs.items()):
            found = self.found[entrant]
            for name in self._distance.keys() - found.keys():
                found[name] = self._distance[name](outputs)
            if found.keys() >= self._compared:
                del self._outputs[entrant]


def _in_shape(arrays: Mapping[str, F32], matrices: Sequence[Matrix]) -> dict[str, F32]:
    """Arrays in the shapes that callers give or get them."""
    return {m.name: arrays[m.name].reshape(m.array_shape) for m in matrices}


def _no_check() -> None:
    """Outputs are compared when there is something to compare them with."""


def _from(others: Mapping[str, F32]) -> Callable[[Mapping[str, F32]], float]:
    """How far outputs are from others; 0 where all bits agree."""
    wanted = in_float64(others)

    def distance(outputs: Mapping[str, F32]) -> float:
        if all(np.array_equal(outputs[name], wanted[name], equal_nan=True) for name in wanted):
            return 0.0
        return largest_error(outputs, wanted)

    return distance


class _Bench:
    """The cases of a benchmark, who is measured on them, and how."""

    def __init__(
        self,
        cases: Sequence[Case],
        executors: Sequence[str],
        machine: Machine,
        rounds: Rounds,
        budget: Budget,
    ) -> None:
        self.machine, self.rounds, self.budget = machine, rounds, budget
        self.subjects = {case.label: _Subject(case, machine) for case in cases}
        self.entered: list[tuple[str, Entrant]] = []
        self.unsuitable: list[PlanSkipped] = []
        for case in cases:
            if case.reference is not None:
                name = _name_of(case.reference)
                self.entered.append((case.label, Entrant(name, processor())))
            self.entered += [
                (case.label, Entrant(name, this_platform().device, peer=peer))
                for name, peer in case.peers.items()
            ]
            suitable, others = _suitable(case.plan, executors, machine)
            for executor in suitable:
                entrant = Entrant(executor.name, executor.device(), executor)
                self.entered.append((case.label, entrant))
            for name, reason in others:
                skipped = PlanSkipped(case=case.label, executor=name, reason=reason)
                self.unsuitable.append(skipped)

    def measure(
        self, progress: Callable[[str], object], save: Callable[[PlanBench], object]
    ) -> PlanBench:
        """Measure all of them; see bench_plans."""
        jobs = [self.subjects[label].job(entrant) for label, entrant in self.entered]
        listener: Listener[Entrant, None] = Listener(
            progress, lambda measured: save(self._record(measured))
        )
        measured = engine.measure(
            jobs, self.budget, self.rounds, listener=listener, room=self._room
        )
        result = self._record(measured)
        save(result)
        return result

    def _room(self, size: int) -> int:
        """How many prepared plans of a size fit in memory at once; at least 1."""
        of_size = (s.case.plan.texture_bytes for s in self.subjects.values() if s.size == size)
        return max(1, held_bytes() // max(1, *of_size))

    def _record(self, measured: Measured[Entrant, None]) -> PlanBench:
        platform = this_platform()
        for subject in self.subjects.values():
            subject.compare()
        return as_record(
            PlanBench,
            platform,
            measured,
            **provenance(platform.driver),
            versions=versions(),
            settings=settings(),
            arithmetic=self.machine.arithmetic.name,
            exact=self.machine.exact,
            repeat=self.rounds.count,
            budget_s=self.budget.seconds if isfinite(self.budget.seconds) else None,
            cases=tuple(
                CaseRecord(
                    case=label,
                    plan=s.case.plan.name,
                    parameters=dict(s.case.parameters),
                    passes=s.case.plan.pass_count,
                )
                for label, s in self.subjects.items()
            ),
            results=tuple(self._result(o, measured.outcomes) for o in measured.outcomes),
            not_run=(
                *(
                    PlanSkipped(case=str(n.job.case), executor=n.job.label, reason=n.reason)
                    for n in measured.not_run
                ),
                *self.unsuitable,
            ),
        )

    def _result(
        self, outcome: Outcome[Entrant, None], outcomes: Sequence[Outcome[Entrant, None]]
    ) -> PlanResult:
        label, entrant = str(outcome.job.case), outcome.job.series
        subject = self.subjects[label]
        found = subject.found[entrant]
        same = [other for other in outcomes if other.job.case == label]
        fastest = [o.seconds for o in same if o.job.series.executor is not None]
        function = [o.seconds for o in same if o.job.series.is_reference]
        runs = subject.timings.get(entrant)
        timings = median_timings(runs) if runs else None
        return as_record(
            PlanResult,
            outcome,
            case=label,
            executor=entrant.name,
            is_reference=entrant.is_reference,
            is_peer=entrant.is_peer,
            device=entrant.device,
            first_run=outcome.is_first_run,
            prepare_s=runs[0].prepare_s if runs else None,
            upload_s=timings.upload_s if timings else None,
            readback_s=timings.readback_s if timings else None,
            over_fastest=_ratio(outcome.seconds, fastest),
            over_reference=_ratio(outcome.seconds, function),
            max_error=_finite(found.get("max_error")),
            max_difference=_finite(found.get("max_difference")),
            max_peer_difference=_finite(found.get("max_peer_difference")),
        )


def _ratio(seconds: float, others: Sequence[float]) -> float | None:
    least = min(others, default=0.0)
    return seconds / least if least > 0.0 else None


def _finite(error: float | None) -> float | None:
    return None if error is None or not isfinite(error) else error


def _name_of(function: Reference) -> str:
    """What results call a reference function: its name, if it has one."""
    name = str(getattr(function, "__name__", "")).strip("_")
    return name if name.isidentifier() else "reference"
