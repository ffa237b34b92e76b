"""Pipelines measured on executors, in turn with their peers and their reference functions.

Only computing is timed: for an executor its `Timings.compute_s`, for a peer its `compute`, whose
inputs are already on its device. On a GPU, executors and libraries use the device's own clock. A
library on a GPU is called several times in a row, so that no call waits for Python; an executor's
time is that of a single run. Each run of an executor still packs and uploads its operands first,
and a library's product is read back after each run. Whole calls, which include all of this, can be
timed instead.

Products of one size are measured together, in turn with the libraries' own, and are compared with a
product in float64. Other pipelines are compared with the outputs of their reference function and of
the reference machine, if these take part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from math import inf, isfinite
from time import perf_counter
from typing import Any

import numpy as np

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import ExecutorUnavailableError, InputError, as_positive
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.measure.bench import Bench, Skipped, Timed
from gpgpu_legacy.measure.engine import (
    JobOutcome,
    Measured,
    MeasuredJob,
    Ready,
    bytes_of,
    count_steps,
    measure,
)
from gpgpu_legacy.measure.peers import Calls, OpenPeer, PeerLibrary, PeerRun, libraries
from gpgpu_legacy.measure.timing import (
    DEFAULT_ROUNDS,
    WARM_S,
    Budget,
    Rounds,
    giga_rate,
    median_timings,
    settings,
    this_platform,
    versions,
    wait_for_rest,
    warm_up,
)
from gpgpu_legacy.measure.tuned import as_tuned
from gpgpu_legacy.measure.work import PipelineProduct, product_of, rows_checked, size_of
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.inputs import (
    as_operands,
    as_outputs,
    called,
    in_float64,
    largest_error,
    sample_inputs,
)
from gpgpu_legacy.pipeline.storage import Reference
from gpgpu_legacy.predict.auto import MANY, executor_for, first_run_s
from gpgpu_legacy.runtime.devices import processor
from gpgpu_legacy.runtime.executor import AUTO, Executor, executors
from gpgpu_legacy.runtime.machine import DEFAULT_MACHINE, Machine, names_of
from gpgpu_legacy.runtime.prepared import RunResult, Timings, in_shape
from gpgpu_legacy.serial import as_record, provenance

DEFAULT_BUDGET_S = 60.0

Arrays = Mapping[str, F32]

WholeCall = Callable[[PlanBuilder, Arrays, Executor, Machine], Arrays]
"""A user's whole call of a pipeline, from inputs in memory to outputs in memory."""

Checked = tuple[float, int | None] | None
"""A product's error against float64, with the number of rows checked (None for all); or None."""


@frozen
class Case:
    """A pipeline to measure.

    inputs: by name; None takes samples. executors: their names; if empty, all that can run it,
    without the reference machine for a product. machine: how it runs. peers: modern programs that
    compute the same, by name.
    """

    pipeline: PlanBuilder
    inputs: Arrays | None = field(default=None, repr=False)
    executors: Sequence[str] = ()
    machine: Machine = DEFAULT_MACHINE
    peers: Mapping[str, OpenPeer] = field(default_factory=dict, repr=False)


def tuned(pipeline: PlanBuilder, executor: str = AUTO) -> Case:
    """A pipeline on an executor; `auto` takes the way that tuning has found, if any."""
    p, chosen, machine = as_tuned(pipeline, executor)
    return Case(p, executors=(chosen,), machine=machine)


def bench(
    p: PlanBuilder,
    inputs: Arrays | None = None,
    *,
    executor: Sequence[str] | str = (),
    machine: Machine = DEFAULT_MACHINE,
    repeat: int = DEFAULT_ROUNDS.count,
    budget: float = DEFAULT_BUDGET_S,
    seed: int = 0,
) -> Bench:
    """Measure a pipeline on executors, in turn with its peers and its reference function.

    executor: a name, or several; all that work here if empty. machine: how it runs. repeat: rounds.
    budget: seconds for all of it. seed: of samples.
    """
    names = (executor,) if isinstance(executor, str) else executor
    case = Case(p, as_operands(p.plan(), inputs) if inputs else None, names, machine)
    rounds = Rounds(as_positive("repeat", repeat))
    return Benchmark([case], rounds=rounds, seed=seed).measure(Budget(budget))


# Cases while they are measured -------------------------------------------------------------------


class _Subject:
    """A case while it is measured.

    standards: the outputs that others are compared with, by the field of a Timed that shows the
    difference. compared: all such fields, also those whose outputs are still to come.
    """

    def __init__(self, case: Case, label: str, bench: Benchmark) -> None:
        self.case, self.label, self.bench = case, label, bench
        self.p, self.plan = case.pipeline, case.pipeline.plan()
        self.product = product_of(self.p)
        self.size = size_of(self.plan) if self.product is None else self.product.size
        self.given = None if case.inputs is None else as_operands(self.plan, case.inputs)
        self.compared: set[str] = set()
        self.standards: dict[str, Arrays] = {}

    @property
    def inputs(self) -> Arrays:
        """The given inputs, or samples; cases that sample alike share them."""
        if self.given is not None:
            return self.given
        inputs: Arrays = self.bench.remembered(
            (*self.p.operands.values(), *self.p.samples.items()),
            lambda: sample_inputs(self.plan, self.p.samples, self.bench.seed),
        )
        return inputs


def _difference(outputs: Arrays, standard: Arrays) -> float:
    """The difference between outputs; 0 if all numbers agree."""
    wanted = in_float64(standard)
    if all(np.array_equal(outputs[name], wanted[name], equal_nan=True) for name in wanted):
        return 0.0
    return largest_error(outputs, wanted)


# Who takes part ----------------------------------------------------------------------------------

Opener = Callable[[Arrays], AbstractContextManager[PeerRun]]
"""Opens the pipeline with its inputs, to run it as often as wanted."""


@dataclass(eq=False)
class _Entrant:
    """A participant in a case.

    is_peer: whether executors are measured against it. standard: the field of a Timed that compares
    others with its outputs, if any does. executor: None for others. product: what a library
    computes, in place of any plan. timings: of all runs of an executor. differences: of its outputs
    from the standards, by field.
    """

    subject: _Subject
    name: str
    device: str
    opened: Opener
    is_reference: bool = False
    is_peer: bool = False
    standard: str | None = None
    executor: Executor | None = None
    product: PipelineProduct | None = None
    timings: list[Timings] = field(default_factory=list)
    differences: dict[str, float] = field(default_factory=dict)
    outputs: Arrays = field(default_factory=dict)  # while there is more to compare them with

    @property
    def who(self) -> dict[str, Any]:
        """The fields of an Attempt."""
        who = _who(self.subject, self.name)
        return {**who, "plan": None, "parameters": self.product.sizes} if self.product else who

    @property
    def series(self) -> tuple[object, ...]:
        """The identity of its work, apart from the size."""
        p = self.subject.p
        sizes = "mln" if self.subject.product is not None else p.parameters
        others = ((n, v) for n, v in p.parameters.items() if n not in sizes)
        return (self.name,) if self.product else (self.name, p.name, *others)

    def job(self) -> MeasuredJob:
        """Its job for the engine."""
        subject, executor = self.subject, self.executor

        @contextmanager
        def opened() -> Iterator[Ready]:
            with self.opened(subject.inputs) as runs:
                yield self._ready(runs)

        return MeasuredJob(
            self.series,
            subject.size,
            f"{subject.p.name} on {self.name}" if executor else self.name,
            opened,
            lambda: first_run_s(executor, subject.plan) if executor else 0.0,
            case=subject.label,
            size_bytes=bytes_of(subject.plan),
            by=self.name,
        )

    def _ready(self, runs: PeerRun) -> Ready:
        subject, product = self.subject, self.subject.product
        first: Arrays = {}
        last_s = inf

        def run() -> float:
            nonlocal first, last_s
            runs.start()
            started = perf_counter()
            by_its_clock = runs.compute()
            last_s = perf_counter() - started
            if isinstance(by_its_clock, float):
                last_s = by_its_clock
            if not first:
                self.keep(first := self._outputs(runs))
            return last_s

        def check() -> Checked:
            if product is None or not subject.bench.has_reference:
                return None
            inputs, (rows, number) = subject.inputs, rows_checked(product)
            key = "exact", id(inputs), product.stored
            _, wanted = subject.bench.remembered(key, lambda: (inputs, product.exact(inputs, rows)))
            return largest_error({"C": first["C"][rows]}, {"C": wanted}), number

        def settle() -> None:
            wait_for_rest()
            if product is not None and last_s < WARM_S:
                warm_up(run)

        return Ready(run, check, settle)

    def _outputs(self, runs: PeerRun) -> Arrays:
        """The outputs of a run by name: float64 of the reference function, else float32."""
        kind = np.float64 if self.is_reference else np.float32
        outputs = as_outputs(self.subject.plan, runs.outputs())
        return {name: array.astype(kind) for name, array in outputs.items()}

    def keep(self, outputs: Arrays) -> None:
        """Keep outputs, as a standard or to compare them with the standards."""
        if self.standard is not None:
            self.subject.standards.setdefault(self.standard, outputs)
        if not self.is_reference:
            self.outputs = outputs

    def compare(self) -> None:
        """Compare its outputs with the standards known so far; drop them after the last."""
        standards = self.subject.standards if self.outputs else {}
        for name in standards.keys() - self.differences.keys():
            self.differences[name] = _difference(self.outputs, standards[name])
        if self.differences.keys() >= self.subject.compared:
            self.outputs = {}


def _who(subject: _Subject, name: str) -> dict[str, Any]:
    """The fields of an Attempt for the participant of that name."""
    p = subject.p
    return {"case": subject.label, "executor": name, "plan": p.name, "parameters": p.parameters}


def _by_function(subject: _Subject, function: Reference) -> _Entrant:
    """The entrant for the reference function, in float64."""
    name = str(getattr(function, "__name__", "")).strip("_")

    return _Entrant(
        subject,
        name if name.isidentifier() else "reference",
        processor(),
        lambda inputs: nullcontext(Calls(partial(called, function, in_float64(inputs)))),
        is_reference=True,
        standard="max_error",
    )


def _by_peer(subject: _Subject, name: str, peer: OpenPeer) -> _Entrant:
    """The entrant for a modern program that computes the same."""
    return _Entrant(
        subject,
        name,
        this_platform().device,
        lambda inputs: nullcontext(peer(inputs, subject.p.parameters)),
        is_peer=True,
        standard="max_peer_difference",
    )


def _by_library(subject: _Subject, library: PeerLibrary) -> _Entrant:
    """The entrant for a library's own product."""
    product = subject.product
    assert product is not None

    def opened(inputs: Arrays) -> AbstractContextManager[PeerRun]:
        a, b = product.factors(inputs)
        if subject.bench.call is not None:
            return nullcontext(Calls(partial(library.whole, a, b)))
        return nullcontext(library.opened(a, b))

    name, device = library.name, library.device
    return _Entrant(subject, name, device, opened, is_peer=True, product=product)


def _by_executor(subject: _Subject, executor: Executor) -> _Entrant:
    """The entrant for an executor, which is a peer if it runs the driver's own programs."""
    call, machine, timings = subject.bench.call, subject.case.machine, list[Timings]()

    def timed(result: RunResult) -> float:
        timings.append(result.timings)
        return result.timings.compute_s

    @contextmanager
    def opened(inputs: Arrays) -> Iterator[PeerRun]:
        if call is not None:
            yield Calls(partial(call, subject.p, inputs, executor, machine))
            return
        with executor.prepare(subject.plan, machine) as prepared:
            yield Calls(
                partial(prepared.run, inputs),
                lambda result: in_shape(subject.plan, result.outputs),
                timed,
            )

    capabilities = executor.capabilities
    return _Entrant(
        subject,
        executor.name,
        executor.device(),
        opened,
        is_peer=capabilities.runs_driver_programs,
        standard="max_difference" if capabilities.is_reference else None,
        executor=executor,
        timings=timings,
    )


# A benchmark -------------------------------------------------------------------------------------


_REMEMBERED = 16
"""The most inputs and exact products that are kept."""


class Benchmark:
    """Cases and their participants, which `measure` runs.

    Raises InputError without a case, for cases of several machines, for inputs that do not fit, for
    two cases that results could not tell apart, and for an unknown executor or library;
    ExecutorUnavailableError for a named executor that cannot run here.
    """

    def __init__(
        self,
        cases: Sequence[Case],
        *,
        peers: Sequence[str] | None = None,
        has_reference: bool = True,
        call: WholeCall | None = None,
        rounds: Rounds = DEFAULT_ROUNDS,
        seed: int = 0,
    ) -> None:
        """Find the participants of each case.

        peers: names of libraries; None takes all that are here. has_reference: whether reference
        functions take part, and products are checked. call: makes a whole call; None times
        computing alone. seed: of samples.
        """
        if not cases:
            raise InputError("there is nothing to measure; give one case at least")
        if len({(case.machine.arithmetic, case.machine.exact) for case in cases}) > 1:
            raise InputError("cases differ in arithmetic or in exact; measure them one by one")
        self.has_reference, self.call, self.rounds, self.seed = has_reference, call, rounds, seed
        self.memory: dict[object, Any] = {}
        groups: dict[str, list[_Subject]] = {}
        for case, label in zip(cases, _labels([c.pipeline for c in cases]), strict=True):
            subject = _Subject(case, label, self)
            group = groups.setdefault(label, [])
            name, parameters = subject.p.name, subject.p.parameters
            if any((other.p.name, other.p.parameters) == (name, parameters) for other in group):
                raise InputError(f"two cases are {name} at {label}; give it once")
            group.append(subject)
        here = {library.name: library for library in libraries()}
        for name in peers or ():
            if name not in here:
                raise InputError(f"there is no library {name} here; choose from {', '.join(here)}")
        self.subjects = [subject for group in groups.values() for subject in group]
        self.unsuitable: list[Skipped] = []
        self.entered: dict[MeasuredJob, _Entrant] = {}
        for group in groups.values():
            entrants = [
                _by_library(subject, here[name])
                for subject in [s for s in group if s.product is not None][:1]  # once for all
                for name in (here if peers is None else peers)
            ]
            entrants += chain.from_iterable(map(self._entered, group))
            self.entered |= {entrant.job(): entrant for entrant in entrants}
        for entrant in self.entered.values():
            if entrant.standard is not None:
                entrant.subject.compared.add(entrant.standard)

    def _entered(self, subject: _Subject) -> Iterator[_Entrant]:
        """The participants in a case, except libraries."""
        case, p = subject.case, subject.p
        if p.reference is not None and self.has_reference and subject.product is None:
            yield _by_function(subject, p.reference)
        for name, peer in case.peers.items():
            yield _by_peer(subject, name, peer)
        named = [executor_for(name, subject.plan, case.machine, MANY) for name in case.executors]
        for executor in dict.fromkeys(named or executors()):
            is_slow = executor.capabilities.is_reference and subject.product is not None
            if reason := "" if named else _why_not(executor, subject):
                self.unsuitable.append(Skipped(**_who(subject, executor.name), reason=reason))
            elif named or not is_slow:
                yield _by_executor(subject, executor)

    def remembered(self, key: object, make: Callable[[], Any]) -> Any:
        """The value made for that key, such as inputs; only a few are kept."""
        if key not in self.memory:
            if len(self.memory) >= _REMEMBERED:
                del self.memory[next(iter(self.memory))]
            self.memory[key] = make()
        return self.memory[key]

    @property
    def steps(self) -> int:
        """The number of progress reports of `measure`."""
        return count_steps(list(self.entered), self.rounds)

    def measure(
        self,
        budget: Budget,
        save: Callable[[Bench], object] = lambda _: None,
    ) -> Bench:
        """Measure all cases, the one with the least work first.

        budget: its `tell` is called for each of `steps` steps. save: called with the results so far
        whenever there are new ones, and with all of them at the end.
        """
        measured = measure(
            list(self.entered),
            budget,
            self.rounds,
            results=lambda measured: save(self._bench(measured, budget)),
        )
        result = self._bench(measured, budget)
        save(result)
        return result

    def _bench(self, measured: Measured, budget: Budget) -> Bench:
        platform, machine = this_platform(), self.subjects[0].case.machine
        for entrant in self.entered.values():
            entrant.compare()
        return as_record(
            Bench,
            platform,
            measured,
            **provenance(platform.driver),
            versions=versions(),
            settings=settings(),
            whole=self.call is not None,
            arithmetic=machine.arithmetic.name,
            exact=machine.exact,
            seed=self.seed,
            repeat=self.rounds.count,
            budget_s=budget.seconds if isfinite(budget.seconds) else None,
            results=tuple(map(self._timed, measured.outcomes)),
            not_run=(
                *(
                    Skipped(**self.entered[one.job].who, reason=one.reason)
                    for one in measured.not_run
                ),
                *self.unsuitable,
            ),
        )

    def _timed(self, outcome: JobOutcome) -> Timed:
        entrant, seconds = self.entered[outcome.job], outcome.seconds
        differences, runs = entrant.differences, entrant.timings
        timings = median_timings(runs) if runs else None
        error, rows = outcome.checked or (differences.get("max_error"), None)
        return as_record(
            Timed,
            entrant,
            outcome,
            **entrant.who,
            runs=len(outcome.samples),
            first_run=outcome.is_first_run,
            gflops=giga_rate(entrant.subject.p.operations, seconds),
            prepare_s=runs[0].prepare_s if runs else None,
            upload_s=timings.upload_s if timings else None,
            readback_s=timings.readback_s if timings else None,
            max_error=_finite(error),
            rows_checked=rows,
            max_difference=_finite(differences.get("max_difference")),
            max_peer_difference=_finite(differences.get("max_peer_difference")),
        )


def _finite(error: float | None) -> float | None:
    return None if error is None or not isfinite(error) else error


def _labels(pipelines: Sequence[PlanBuilder]) -> list[str]:
    """Each pipeline's work in a few words: the parameters that differ, and the sizes of products.

    The way that a product is computed, such as its block, is left out.
    """
    products = [product_of(p) for p in pipelines]
    what = [
        p.parameters if product is None else product.parameters
        for p, product in zip(pipelines, products, strict=True)
    ]
    differ = {n for one in what for n in one if any(one[n] != o.get(n, one[n]) for o in what)}
    return [
        ", ".join(
            f"{name} = {value}"
            for name, value in one.items()
            if name in differ or (product is not None and name in product.sizes)
        )
        or p.name
        for p, product, one in zip(pipelines, products, what, strict=True)
    ]


def _why_not(executor: Executor, subject: _Subject) -> str:
    """Why an executor does not run a case; empty if it does."""
    machine, missing = subject.case.machine, subject.plan.kinds - executor.capabilities.passes
    if missing:
        return f"it does not run {names_of(missing)}"
    try:
        executor.device()
        inexact = executor.why_inexact(subject.plan, machine) if machine.exact else ""
    except ExecutorUnavailableError as error:
        return str(error)
    return inexact and f"it is not exact: {inexact}"
