"""Pipelines measured on executors, in turn with their peers and their reference functions.

Computing alone is timed: an executor's `Timings.compute_s`, a peer's computing on inputs that are
on its device already; on a GPU, both by the device's own clock. A library on a GPU is called
several times in a row, so that none waits for Python; an executor's times are those of a single
run. Every run of an executor first packs and uploads its operands, and a library's product is read
back after each run, too. Whole calls can be timed instead, including all of this.

Products of one size are measured together, in turn with the libraries' own, and are compared with a
product in float64. Other pipelines are compared with the outputs of their function and of the
reference machine, if these take part.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
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
    fit_at_once,
    measure,
)
from gpgpu_legacy.measure.peers import Calls, OpenPeer, PeerLibrary, PeerRun, libraries
from gpgpu_legacy.measure.timing import (
    DEFAULT_ROUNDS,
    WARM_S,
    Budget,
    Rounds,
    median_timings,
    settings,
    this_platform,
    versions,
    wait_for_rest,
    warm_up,
)
from gpgpu_legacy.measure.tuned import USUAL, as_tuned
from gpgpu_legacy.measure.work import beginning, least_size, product_of, rows_checked, size_of
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.inputs import as_operands, sample_inputs
from gpgpu_legacy.pipeline.reference import (
    Reference,
    as_outputs,
    called,
    in_float64,
    largest_error,
)
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.predict.auto import MANY, executor_for
from gpgpu_legacy.runtime.devices import processor
from gpgpu_legacy.runtime.executor import AUTO, Executor, executors
from gpgpu_legacy.runtime.machine import Machine, names_of
from gpgpu_legacy.runtime.prepared import RunResult, Timings
from gpgpu_legacy.serial import as_record, provenance

DEFAULT_BUDGET_S = 60.0

Arrays = Mapping[str, F32]

WholeCall = Callable[[PlanBuilder, Arrays, Executor, Machine], Arrays]
"""A run of a pipeline as a user calls for it, from inputs in memory to outputs there."""

Checked = tuple[float, int | None] | None
"""A product's error against float64 and the number of rows checked, None for all; or None."""


@frozen
class Case:
    """A pipeline to measure.

    inputs: by name; samples if None. executors: names; all that can run it if empty, of a product
    but the reference machine. machine: how it runs. peers: programs of today's that compute the
    same, by name.
    """

    pipeline: PlanBuilder
    inputs: Arrays | None = field(default=None, repr=False)
    executors: Sequence[str] = ()
    machine: Machine = USUAL
    peers: Mapping[str, OpenPeer] = field(default_factory=dict, repr=False)


def tuned(pipeline: PlanBuilder, executor: str = AUTO) -> Case:
    """A pipeline on an executor; if that is `auto`, in the way that tuning has found."""
    p, chosen, machine = as_tuned(pipeline, executor)
    return Case(p, executors=(chosen,), machine=machine)


def bench(
    p: PlanBuilder,
    inputs: Arrays | None = None,
    *,
    executor: Sequence[str] | str = (),
    machine: Machine = USUAL,
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
    """A case while it is measured, with the outputs to compare and the differences so far.

    standards: the outputs that others are compared with, by the field of a Timed that shows the
    difference. compared: all such fields, also those whose outputs are still to come. differences:
    of each entrant's outputs. timings: of every run.
    """

    def __init__(self, case: Case, label: str, bench: Benchmark) -> None:
        self.case, self.label, self.bench = case, label, bench
        self.p, self.plan = case.pipeline, case.pipeline.plan()
        self.product = product_of(self.p)
        self.size = size_of(self.plan) if self.product is None else self.product.size
        self.given = None if case.inputs is None else as_operands(self.plan, case.inputs)
        self.at = lru_cache(maxsize=3)(self._at)
        self.compared: set[str] = set()
        self.standards: dict[str, Arrays] = {}
        self.differences: dict[_Entrant, dict[str, float]] = defaultdict(dict)
        self.timings: dict[_Entrant, list[Timings]] = defaultdict(list)
        self._outputs: dict[_Entrant, Arrays] = {}  # that have more to be compared with

    def _at(self, size: int) -> PlanBuilder:
        """The pipeline; of a smaller size, a smaller one of its kind to probe."""
        if size >= self.size:
            return self.p
        if self.product is None or self.p.family is None:
            return PlanBuilder.continuing(beginning(self.plan, size))
        algorithm, given = self.p.family
        built: PlanBuilder = algorithm.builder(**{**given, **self.product.scaled(size)})
        return built

    def inputs(self, p: PlanBuilder) -> Arrays:
        """Of the pipeline or a smaller one; the same samples where others sample alike."""
        of = p if self.product is not None else self.p
        if self.given is not None and of is self.p:
            return self.given
        inputs: Arrays = self.bench.remembered(
            (*of.operands.values(), *of.samples.items()),
            lambda: sample_inputs(of.plan(), of.samples, self.bench.seed),
        )
        return inputs

    def keep(self, entrant: _Entrant, outputs: Arrays) -> None:
        """Keep outputs that are to be compared, or to be compared with."""
        if entrant.standard is not None:
            self.standards.setdefault(entrant.standard, outputs)
        if self.compared and not entrant.is_reference:
            self._outputs[entrant] = outputs

    def compare(self) -> None:
        """Compare what can be compared by now, and let go of what needs no more comparing."""
        for entrant, outputs in list(self._outputs.items()):
            known = self.differences[entrant]
            for name in self.standards.keys() - known.keys():
                known[name] = _difference(outputs, self.standards[name])
            if known.keys() >= self.compared:
                del self._outputs[entrant]


def _difference(outputs: Arrays, standard: Arrays) -> float:
    """The difference between outputs; 0 if all numbers agree."""
    wanted = in_float64(standard)
    if all(np.array_equal(outputs[name], wanted[name], equal_nan=True) for name in wanted):
        return 0.0
    return largest_error(outputs, wanted)


# Who takes part ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Entrant:
    """A participant in a case: an executor, a peer, a library, or else its function."""

    subject: _Subject
    name: str
    device: str
    executor: Executor | None = None
    peer: OpenPeer | None = None
    library: PeerLibrary | None = None

    @property
    def is_reference(self) -> bool:
        """Whether it is the reference function."""
        return self.executor is None and self.peer is None and self.library is None

    @property
    def is_peer(self) -> bool:
        """Whether executors are measured against it: a peer, or the driver's own programs."""
        if self.executor is not None:
            return self.executor.capabilities.runs_driver_programs
        return not self.is_reference

    @property
    def standard(self) -> str | None:
        """The field of a Timed for comparisons with its outputs, if others are compared with it."""
        if self.executor is not None:
            return "max_difference" if self.executor.capabilities.is_reference else None
        if self.library is not None:
            return None
        return "max_error" if self.is_reference else "max_peer_difference"

    @property
    def who(self) -> dict[str, Any]:
        """The fields of an Attempt."""
        p, product = self.subject.p, self.subject.product
        who = {"case": self.subject.label, "executor": self.name}
        if self.library is not None and product is not None:
            return {**who, "plan": None, "parameters": product.sizes}
        return {**who, "plan": p.name, "parameters": p.parameters}

    def job(self) -> MeasuredJob:
        """The jobs of the engine."""
        subject, p = self.subject, self.subject.p
        series: tuple[object, ...] = (self.name,)
        least, label = subject.size, self.name
        if self.executor is not None:
            least, label = min(least, least_size(subject.plan)), f"{p.name} on {self.name}"
        if subject.product is not None and self.peer is None:
            least = 1
        if self.library is None:
            sizes = "mln" if subject.product is not None else p.parameters
            series += p.name, *((n, v) for n, v in p.parameters.items() if n not in sizes)

        @contextmanager
        def open_at(size: int) -> Iterator[Ready]:
            at = subject.at(size)
            inputs = subject.inputs(at)
            with self._opened(at, inputs) as runs:
                yield self._ready(at, inputs, runs)

        return MeasuredJob(series, subject.size, label, open_at, least=least, case=subject.label)

    @contextmanager
    def _opened(self, p: PlanBuilder, inputs: Arrays) -> Iterator[PeerRun]:
        """Runs a pipeline as often as wanted."""
        call, machine = self.subject.bench.call, self.subject.case.machine
        if self.library is not None and self.subject.product is not None:
            a, b = self.subject.product.factors(inputs)
            whole = partial(self.library.whole, a, b)
            yield self.library.opened(a, b) if call is None else Calls(whole)
        elif self.peer is not None:
            yield self.peer(inputs, p.parameters)
        elif self.executor is None:
            assert p.reference is not None
            yield Calls(partial(called, p.reference, in_float64(inputs)))
        elif call is not None:
            yield Calls(partial(call, p, inputs, self.executor, machine))
        else:
            with self.executor.prepare(p.plan(), machine) as prepared:
                yield Calls(partial(prepared.run, inputs), back=partial(_shaped, p.plan()))

    def _ready(self, p: PlanBuilder, inputs: Arrays, runs: PeerRun) -> Ready:
        subject, product = self.subject, product_of(p)
        first: Arrays | None = None
        last_s = inf

        def run() -> float:
            nonlocal first, last_s
            runs.start()
            started = perf_counter()
            by_its_clock = runs.compute()
            last_s = perf_counter() - started
            if isinstance(by_its_clock, float):
                last_s = by_its_clock
            if isinstance(result := getattr(runs, "result", None), RunResult):
                last_s = result.timings.compute_s
                if p is subject.p:
                    subject.timings[self].append(result.timings)
            if first is None:
                first = self._outputs(p, runs) if product or p is subject.p else {}
                if p is subject.p:
                    subject.keep(self, first)
            elif self.library is not None:
                runs.outputs()  # so that its device rests between runs, as an executor's does
            return last_s

        def check() -> Checked:
            if product is None or not first or not subject.bench.has_reference:
                return None
            rows, number = rows_checked(product)
            key = "exact", id(inputs), product.stored
            _, wanted = subject.bench.remembered(key, lambda: (inputs, product.exact(inputs, rows)))
            return largest_error({"C": first["C"][rows]}, {"C": wanted}), number

        def settle() -> None:
            wait_for_rest()
            if product is not None and last_s < WARM_S:
                warm_up(run)

        return Ready(run, check, settle)

    def _outputs(self, p: PlanBuilder, runs: PeerRun) -> Arrays:
        """The outputs of a run by name; from the function in float64, for comparisons."""
        outputs = runs.outputs()
        if self.library is not None:
            return {"C": outputs}
        if self.executor is not None:
            return dict(outputs)
        kind = np.float64 if self.is_reference else np.float32
        return {n: array.astype(kind) for n, array in as_outputs(p.plan(), outputs).items()}


# A benchmark -------------------------------------------------------------------------------------


_REMEMBERED = 16
"""Inputs and exact products: those of a size and of its probes."""


class Benchmark:
    """Cases, and who is measured on them.

    Raises InputError for inputs that do not fit, for two cases that results could not tell apart,
    and for an unknown executor or library; ExecutorUnavailableError for a named executor that
    cannot run here.
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
        """peers: libraries by name; all that are here if None. has_reference: whether functions
        take part. call: what whole calls are, where these are timed. seed: of samples.
        """
        if not cases:
            raise InputError("there is nothing to measure; give one case at least")
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
                _Entrant(subject, name, here[name].device, library=here[name])
                for subject in [s for s in group if s.product is not None][:1]  # once for all
                for name in (here if peers is None else peers)
            ]
            entrants += chain.from_iterable(map(self._entered, group))
            for entrant in entrants:
                self.entered[entrant.job()] = entrant
                if entrant.standard is not None:
                    entrant.subject.compared.add(entrant.standard)

    def _entered(self, subject: _Subject) -> Iterator[_Entrant]:
        """The participants in a case, except libraries."""
        case, p = subject.case, subject.p
        if p.reference is not None and self.has_reference and subject.product is None:
            yield _Entrant(subject, _name_of(p.reference), processor())
        for name, peer in case.peers.items():
            yield _Entrant(subject, name, this_platform().device, peer=peer)
        named = (executor_for(name, subject.plan, case.machine, MANY) for name in case.executors)
        for executor in dict.fromkeys(named) or executors():
            if not case.executors:
                if executor.capabilities.is_reference and subject.product is not None:
                    continue
                if reason := _why_not(executor, subject):
                    who = _Entrant(subject, executor.name, "").who
                    self.unsuitable.append(Skipped(**who, reason=reason))
                    continue
            yield _Entrant(subject, executor.name, executor.device(), executor)

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
        budget: Budget | None = None,
        progress: Callable[[str], object] = lambda _: None,
        save: Callable[[Bench], object] = lambda _: None,
    ) -> Bench:
        """Measure all of them, the case with the least work first.

        budget: DEFAULT_BUDGET_S if None. progress: called with a description, `steps` times. save:
        called with the results so far whenever there are new ones, and with all of them at the end.
        """
        within = budget or Budget(DEFAULT_BUDGET_S)
        measured = measure(
            list(self.entered),
            within,
            self.rounds,
            progress=progress,
            results=lambda measured: save(self._bench(measured, within)),
            room=self._room,
        )
        result = self._bench(measured, within)
        save(result)
        return result

    def _room(self, size: int) -> int:
        """The number of prepared plans of a size that fit in memory at once; at least 1."""
        return fit_at_once(max(bytes_of(s.plan) for s in self.subjects if s.size == size))

    def _bench(self, measured: Measured, budget: Budget) -> Bench:
        platform, machine = this_platform(), self.subjects[0].case.machine
        for subject in self.subjects:
            subject.compare()
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
        differences, runs = entrant.subject.differences[entrant], entrant.subject.timings[entrant]
        timings = median_timings(runs) if runs else None
        error, rows = outcome.checked or (differences.get("max_error"), None)
        operations = entrant.subject.p.operations
        return as_record(
            Timed,
            entrant,
            outcome,
            **entrant.who,
            runs=len(outcome.samples),
            first_run=outcome.is_first_run,
            gflops=1e-9 * operations / seconds if operations and seconds > 0.0 else None,
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
    """The work of each in a few words: the parameters that differ, and the sizes of products.

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


def _shaped(plan: Plan, result: RunResult) -> Arrays:
    """The outputs of a run, in their own shapes."""
    return {m.name: result.outputs[m.name].reshape(m.array_shape) for m in plan.results}


def _name_of(function: Reference) -> str:
    """The name of a reference function in results: its own, if it has one."""
    name = str(getattr(function, "__name__", "")).strip("_")
    return name if name.isidentifier() else "reference"


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
