"""Pipelines measured on executors, in turn with their peers and their reference functions.

Computing alone is timed: an executor's `Timings.compute_s`, a peer's computing on inputs that are
on its device already. Every run of an executor packs and uploads its operands first, while a GPU
idles; so an executor's times on a GPU are those of a single run, and show a clock that drops while
the GPU idles. A peer's runs follow one another closely. Whole calls may be timed instead, with all
of that in their times.

Products of one size are measured together, in turn with the libraries' own, and are compared with a
product in float64. Other pipelines are compared with what their function and the reference machine
give, where these take part.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from math import inf, isfinite
from time import perf_counter
from typing import Any

import numpy as np

from gpgpu_legacy.errors import ExecutorUnavailableError, InputError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.measure import engine
from gpgpu_legacy.measure.bench import Bench, Skipped, Timed
from gpgpu_legacy.measure.budget import Budget
from gpgpu_legacy.measure.jobs import Job, Listener, Measured, Outcome, Ready, count_steps
from gpgpu_legacy.measure.peers import Library, OpenPeer, PeerRun, libraries
from gpgpu_legacy.measure.platform import settings, this_platform, versions
from gpgpu_legacy.measure.pool import bytes_of, fit_at_once
from gpgpu_legacy.measure.products import Checked, Exact, product_of
from gpgpu_legacy.measure.rounds import (
    DEFAULT_ROUNDS,
    WARM_S,
    Rounds,
    median_timings,
    wait_for_rest,
    warm_up,
)
from gpgpu_legacy.measure.tuned import USUAL, choose
from gpgpu_legacy.measure.work import beginning, least_size, size_of
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.inputs import as_operands, sample_inputs
from gpgpu_legacy.pipeline.reference import (
    Reference,
    as_outputs,
    called,
    in_float64,
    largest_error,
)
from gpgpu_legacy.predict.auto import MANY, executor_for
from gpgpu_legacy.runtime import registry
from gpgpu_legacy.runtime.devices import processor
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.machine import Machine, names_of
from gpgpu_legacy.runtime.prepared import Timings
from gpgpu_legacy.serial import as_record, provenance

DEFAULT_BUDGET_S = 60.0

Arrays = Mapping[str, F32]

WholeCall = Callable[[PlanBuilder, Arrays, Executor, Machine], Arrays]
"""A run of a pipeline as a user calls for it, from inputs in memory to outputs there."""

Once = Callable[[], tuple[float, Callable[[], Arrays]]]
"""Runs something once: its seconds, and what gives its outputs."""


@dataclass(frozen=True)
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


def tuned(pipeline: PlanBuilder, executor: str = registry.AUTO) -> Case:
    """A pipeline on an executor: where that is left to `auto`, in the way that tuning has found."""
    if pipeline.family is None:
        return Case(pipeline, executors=(executor,))
    algorithm, given = pipeline.family
    choice = choose(algorithm, given, executor)
    p = algorithm.builder(**choice.given)
    return Case(p, executors=(choice.executor,), machine=choice.machine)


# Inputs ------------------------------------------------------------------------------------------


class _Inputs:
    """The inputs of pipelines that have the same ones, and the exact product of them."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays
        self.exact = lru_cache(maxsize=1)(lambda product: Exact(product, arrays))


_SAMPLES_KEPT = 8  # those of a size and of its probes


class _Samples:
    """Sample inputs, the same ones for all pipelines that sample them alike."""

    def __init__(self, seed: int) -> None:
        self.seed, self.kept = seed, dict[object, _Inputs]()

    def of(self, p: PlanBuilder) -> _Inputs:
        key = (*p.operands.values(), *p.samples.items())
        if key not in self.kept:
            if len(self.kept) >= _SAMPLES_KEPT:
                del self.kept[next(iter(self.kept))]
            self.kept[key] = _Inputs(sample_inputs(p.plan(), p.samples, self.seed))
        return self.kept[key]


@dataclass(frozen=True)
class _Problem:
    """What is run: a case, or a smaller one to probe."""

    p: PlanBuilder
    inputs: _Inputs
    is_probe: bool


# Cases -------------------------------------------------------------------------------------------


class _Subject:
    """A case while it is measured: what outputs are compared with, and what was found so far.

    compared: with what outputs are compared, by the fields of a Timed. found: how far they are from
    it, for each entrant. timings: of every run.
    """

    def __init__(self, case: Case, label: str, samples: _Samples, *, is_checked: bool) -> None:
        """is_checked: whether results are compared with the reference function."""
        self.case, self.label, self.samples = case, label, samples
        self.is_checked = is_checked
        self.p, self.plan, self.product = (
            case.pipeline,
            case.pipeline.plan(),
            product_of(case.pipeline),
        )
        self.size = size_of(self.plan) if self.product is None else self.product.size
        given = case.inputs
        self.given = None if given is None else _Inputs(as_operands(self.plan, given))
        self.smaller = lru_cache(maxsize=2)(self._smaller)
        self.timings: dict[_Entrant, list[Timings]] = defaultdict(list)
        self.found: dict[_Entrant, dict[str, float]] = defaultdict(dict)
        self.compared: set[str] = set()
        self._outputs: dict[_Entrant, Arrays] = {}  # that have more to be compared with
        self._distance: dict[str, Callable[[Arrays], float]] = {}

    def at(self, size: int) -> _Problem:
        """The case; of a smaller size, a smaller one of its kind."""
        if size >= self.size:
            return _Problem(self.p, self.given or self.samples.of(self.p), is_probe=False)
        p = self.smaller(size)
        if self.product is None:
            return _Problem(p, self.given or self.samples.of(self.p), is_probe=True)
        return _Problem(p, self.samples.of(p), is_probe=True)

    def _smaller(self, size: int) -> PlanBuilder:
        if self.product is None or self.p.family is None:
            return PlanBuilder.continuing(beginning(self.plan, size))
        algorithm, given = self.p.family
        built: PlanBuilder = algorithm.builder(**{**given, **self.product.scaled(size)})
        return built

    def keep(self, entrant: _Entrant, outputs: Arrays) -> None:
        """Keep outputs that are to be compared, or to be compared with."""
        if self.compared:
            self._outputs[entrant] = outputs
        if entrant.is_reference_machine:
            self._distance["max_difference"] = _from(outputs)
        if entrant.peer is not None:
            self._distance.setdefault("max_peer_difference", _from(outputs))

    def expect(self, given: Any) -> Arrays:
        """Compare with what the reference function gave; it has no outputs to compare."""
        wanted = as_outputs(self.plan, given)
        self._distance["max_error"] = lambda outputs: largest_error(outputs, wanted)
        return {}

    def compare(self) -> None:
        """Compare what can be compared by now, and let go of what needs no more comparing."""
        for entrant, outputs in list(self._outputs.items()):
            found = self.found[entrant]
            for name in self._distance.keys() - found.keys():
                found[name] = self._distance[name](outputs)
            if found.keys() >= self.compared:
                del self._outputs[entrant]


def _from(others: Arrays) -> Callable[[Arrays], float]:
    """How far outputs are from others; 0 where all bits agree."""
    wanted = in_float64(others)

    def distance(outputs: Arrays) -> float:
        if all(np.array_equal(outputs[name], wanted[name], equal_nan=True) for name in wanted):
            return 0.0
        return largest_error(outputs, wanted)

    return distance


# Who takes part ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Entrant:
    """Who is measured on a case: an executor, a peer, a library, or else its function."""

    subject: _Subject
    name: str
    device: str
    executor: Executor | None = None
    peer: OpenPeer | None = None
    library: Library | None = None

    @property
    def is_reference(self) -> bool:
        """Whether it is the reference function."""
        return self.executor is None and self.peer is None and self.library is None

    @property
    def is_reference_machine(self) -> bool:
        """Whether it is the executor that defines what the others must give."""
        return self.executor is not None and self.executor.capabilities.is_reference

    @property
    def is_peer(self) -> bool:
        """Whether executors are measured against it: a peer, or the driver's own programs."""
        if self.executor is not None:
            return self.executor.capabilities.runs_driver_programs
        return not self.is_reference

    @property
    def who(self) -> dict[str, Any]:
        """The fields of a Run."""
        p, product = self.subject.p, self.subject.product
        who = {"case": self.subject.label, "executor": self.name}
        if self.library is not None and product is not None:
            return {**who, "plan": None, "parameters": product.sizes}
        return {**who, "plan": p.name, "parameters": p.parameters}

    def job(self, call: WholeCall | None) -> Job[object, Checked | None]:
        """What the engine measures. call: what whole calls are, where these are timed."""
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
        def open_at(size: int) -> Iterator[Ready[Checked | None]]:
            problem = subject.at(size)
            with self._opened(problem, call) as once:
                yield self._ready(problem, once)

        return Job(series, subject.size, label, open_at, least=least, case=subject.label)

    def _ready(self, problem: _Problem, once: Once) -> Ready[Checked | None]:
        product = product_of(problem.p)
        first: Arrays | None = None
        last_s = inf

        def run() -> float:
            nonlocal first, last_s
            last_s, outputs = once()
            if first is None:
                first = outputs() if product or not problem.is_probe else {}
                if first and not problem.is_probe:
                    self.subject.keep(self, first)
            return last_s

        def check() -> Checked | None:
            if product is None or first is None or not self.subject.is_checked:
                return None
            return problem.inputs.exact(product).check(first["C"])

        def settle() -> None:
            wait_for_rest()
            if product is not None and last_s < WARM_S:
                warm_up(run)

        return Ready(run, check, settle)

    @contextmanager
    def _opened(self, problem: _Problem, call: WholeCall | None) -> Iterator[Once]:
        """What runs a problem once."""
        p, arrays, machine = problem.p, problem.inputs.arrays, self.subject.case.machine
        if self.library is not None and self.subject.product is not None:
            a, b = self.subject.product.factors(arrays)
            if call is None:
                yield _of_peer(self.library.opened(a, b), lambda outputs: {"C": outputs})
            else:
                yield _timed(partial(self.library.whole, a, b), lambda product: {"C": product})
        elif self.peer is not None:
            peer = self.peer(arrays, p.parameters)
            yield _of_peer(peer, lambda outputs: _in_float32(p, outputs))
        elif self.executor is None:
            assert p.reference is not None
            function = partial(called, p.reference, in_float64(arrays))
            yield _timed(function, self.subject.expect)
        elif call is not None:
            yield _timed(partial(call, p, arrays, self.executor, machine), dict)
        else:
            with self.executor.prepare(p.plan(), machine) as prepared:

                def once() -> tuple[float, Callable[[], Arrays]]:
                    result = prepared.run(arrays)
                    if not problem.is_probe:
                        self.subject.timings[self].append(result.timings)
                    return result.timings.compute_s, lambda: _in_shape(p, result.outputs)

                yield once


def _timed(compute: Callable[[], Any], outputs: Callable[[Any], Arrays]) -> Once:
    def once() -> tuple[float, Callable[[], Arrays]]:
        started = perf_counter()
        found = compute()
        return perf_counter() - started, lambda: outputs(found)

    return once


def _of_peer(peer: PeerRun, outputs: Callable[[Any], Arrays]) -> Once:
    timed = _timed(peer.compute, lambda _: outputs(peer.outputs()))

    def once() -> tuple[float, Callable[[], Arrays]]:
        peer.start()
        return timed()

    return once


def _in_shape(p: PlanBuilder, outputs: Arrays) -> Arrays:
    return {m.name: outputs[m.name].reshape(m.array_shape) for m in p.plan().results}


def _in_float32(p: PlanBuilder, outputs: Any) -> Arrays:
    return {n: array.astype(np.float32) for n, array in as_outputs(p.plan(), outputs).items()}


# A benchmark -------------------------------------------------------------------------------------


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
        self.rounds, self.seed, self.is_whole = rounds, seed, call is not None
        self.machine, samples = cases[0].machine, _Samples(seed)
        groups: dict[str, list[_Subject]] = {}
        for case, label in zip(cases, _labels([c.pipeline for c in cases]), strict=True):
            subject = _Subject(case, label, samples, is_checked=has_reference)
            groups.setdefault(label, []).append(subject)
            if any(_is_alike(subject, other) for other in groups[label][:-1]):
                raise InputError(f"two cases are {subject.p.name} at {label}; give it once")
        chosen = _libraries(peers)
        self.subjects = [subject for group in groups.values() for subject in group]
        self.unsuitable: list[Skipped] = []
        entered = [
            entrant
            for group in groups.values()
            for entrants in (_of_libraries(group, chosen), *map(self._entered, group))
            for entrant in entrants
        ]
        self.entered = {entrant.job(call): entrant for entrant in entered}

    def _entered(self, subject: _Subject) -> Iterator[_Entrant]:
        """Who takes part in a case, but for libraries."""
        case, p = subject.case, subject.p
        if p.reference is not None and subject.is_checked and subject.product is None:
            subject.compared.add("max_error")
            yield _Entrant(subject, _name_of(p.reference), processor())
        for name, peer in case.peers.items():
            subject.compared.add("max_peer_difference")
            yield _Entrant(subject, name, this_platform().device, peer=peer)
        suitable, others = _suitable(subject)
        for executor in suitable:
            if executor.capabilities.is_reference:
                subject.compared.add("max_difference")
            yield _Entrant(subject, executor.name, executor.device(), executor)
        for name, reason in others:
            who = _Entrant(subject, name, "").who
            self.unsuitable.append(Skipped(**who, reason=reason))

    @property
    def steps(self) -> int:
        """How often `measure` reports progress."""
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
        listener: Listener[object, Checked | None] = Listener(
            progress, lambda measured: save(self._bench(measured, within))
        )
        jobs = list(self.entered)
        measured = engine.measure(jobs, within, self.rounds, listener=listener, room=self._room)
        result = self._bench(measured, within)
        save(result)
        return result

    def _room(self, size: int) -> int:
        """How many prepared plans of a size fit in memory at once; at least 1."""
        return fit_at_once(max(bytes_of(s.plan) for s in self.subjects if s.size == size))

    def _bench(self, measured: Measured[object, Checked | None], budget: Budget) -> Bench:
        platform = this_platform()
        for subject in self.subjects:
            subject.compare()
        return as_record(
            Bench,
            platform,
            measured,
            **provenance(platform.driver),
            versions=versions(),
            settings=settings(),
            whole=self.is_whole,
            arithmetic=self.machine.arithmetic.name,
            exact=self.machine.exact,
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

    def _timed(self, outcome: Outcome[object, Checked | None]) -> Timed:
        entrant, seconds, checked = self.entered[outcome.job], outcome.seconds, outcome.checked
        found, runs = entrant.subject.found[entrant], entrant.subject.timings[entrant]
        timings = median_timings(runs) if runs else None
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
            max_error=_finite(checked.error if checked else found.get("max_error")),
            rows_checked=checked.rows if checked else None,
            max_difference=_finite(found.get("max_difference")),
            max_peer_difference=_finite(found.get("max_peer_difference")),
        )


def _finite(error: float | None) -> float | None:
    return None if error is None or not isfinite(error) else error


def _labels(pipelines: Sequence[PlanBuilder]) -> list[str]:
    """What each computes, in a few words: the parameters that differ, and the sizes of products.

    How a product is computed, such as its block, is no part of it.
    """
    what = []
    for p in pipelines:
        product = product_of(p)
        what.append(dict(p.parameters) if product is None else product.parameters)
    differ = {n for one in what for n in one if any(one[n] != o.get(n, one[n]) for o in what)}
    labels = []
    for p, one in zip(pipelines, what, strict=True):
        product = product_of(p)
        told = differ if product is None else differ | product.sizes.keys()
        words = (f"{name} = {value}" for name, value in one.items() if name in told)
        labels.append(", ".join(words) or p.name)
    return labels


def _is_alike(one: _Subject, other: _Subject) -> bool:
    return (one.p.name, one.p.parameters) == (other.p.name, other.p.parameters)


def _name_of(function: Reference) -> str:
    """What results call a reference function: its name, if it has one."""
    name = str(getattr(function, "__name__", "")).strip("_")
    return name if name.isidentifier() else "reference"


def _libraries(names: Sequence[str] | None) -> list[Library]:
    """The libraries of these names; all that this machine has if None."""
    here = {library.name: library for library in libraries()}
    for name in names or ():
        if name not in here:
            raise InputError(f"there is no library {name} here; choose from {', '.join(here)}")
    return [here[name] for name in (here if names is None else names)]


def _of_libraries(group: Sequence[_Subject], chosen: Sequence[Library]) -> Iterator[_Entrant]:
    """The libraries, once for all products of one case."""
    for subject in [subject for subject in group if subject.product is not None][:1]:
        for library in chosen:
            yield _Entrant(subject, library.name, library.device, library=library)


def _suitable(subject: _Subject) -> tuple[list[Executor], list[tuple[str, str]]]:
    """The executors to measure on a case, and of the others the names and the reasons."""
    plan, machine, names = subject.plan, subject.case.machine, subject.case.executors
    if names:
        found = dict.fromkeys(executor_for(name, plan, machine, MANY) for name in names)
        return list(found), []
    able, others = list[Executor](), list[tuple[str, str]]()
    for executor in registry.executors():
        if subject.product is not None and executor.capabilities.is_reference:
            continue
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
