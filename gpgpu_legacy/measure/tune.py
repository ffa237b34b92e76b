"""The search for the fastest way to run an algorithm on this machine, by trying.

Hall, Carr & Hart end with the wish that a library find its block size on the hardware at hand, as
ATLAS does for CPUs. The search covers the executor, the block, the accumulation, and the shape of
the code that an executor generates. It varies one axis after another until nothing gets faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache, partial
from statistics import median
from typing import Any

import numpy as np

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.lower.analysis.fusion import FusedPasses, UnfusedRepeat, fused_steps
from gpgpu_legacy.lower.analysis.register_tile import MOST_ROWS, MOST_VECTORS
from gpgpu_legacy.lower.fused.content import group_content
from gpgpu_legacy.lower.groups.shape import GroupShape, Multiprocessors, group_shape
from gpgpu_legacy.measure.engine import Contender, bytes_of, held_bytes, why
from gpgpu_legacy.measure.timing import Budget, OtherWork, this_platform
from gpgpu_legacy.measure.tuned import (
    OFF,
    VARIABLE,
    Tuned,
    TunedWay,
    TuningReport,
    check_tuning_file,
    is_off,
    keep,
    tuning_report,
)
from gpgpu_legacy.measure.work import product_of
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.inputs import sample_inputs
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.predict.auto import MANY, executor_for
from gpgpu_legacy.runtime.executor import AUTO, able, find_executor
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.runtime.prepared import Prepared, RunResult
from gpgpu_legacy.serial import as_record, with_fields

ROUNDS = 5  # for ways that are compared
HOPELESS = 1.5  # a way whose run takes this many times as long as the best one's is not repeated
BEHIND = 1.15  # a way that is always slower than the best one by more than this leaves the rounds
MOST_HELD = 32  # the most ways that stay prepared
GAIN = 0.98  # a way must take less than this part of the best time to replace it

WRONG = 1e-2
"""Two ways do not compute the same if they differ by more than this part of the largest result."""

SHORTEST_S = 1e-9
"""The seconds kept for a run that a coarse clock measures as 0: ratios need a divisor."""

_BLOCKS = (8, 16, 32, 64, 128, 256)


class RefusedError(Exception):
    """Raised for a way that an executor refuses, or that gives other results."""


Run = Callable[[TunedWay], float]
"""Runs a way once and gives its seconds. Raises RefusedError."""

Axes = Callable[[TunedWay], Iterator[tuple[str, list[TunedWay]]]]
"""The axes at a way: the name of each, and the ways that differ from it along that axis."""


@frozen
class SearchResult:
    """The result of a search.

    seconds, default_seconds: medians of the best way and of the first one, in rounds at the end.
    trials: the number of ways tried. finished: whether the search ended within the budget.
    """

    way: TunedWay
    seconds: float
    default_seconds: float
    trials: int
    finished: bool


@dataclass
class WaySearch:
    """Coordinate descent from a way to the fastest one that it leads to.

    run: runs a way; the first runs of each are not measured. budget: a run that is expected to
    outlast it does not start, but the first way always runs. Its `tell` is called after each run.
    improved: called with the result so far whenever a faster way is found. tried: the ways that
    were run. cut_short: whether the budget has kept a run from starting.
    """

    axes: Axes
    run: Run
    budget: Budget
    improved: Callable[[SearchResult], object] = lambda _: None
    tried: dict[TunedWay, Contender] = field(default_factory=dict)
    cut_short: bool = False

    def descend(self, start: TunedWay) -> SearchResult:
        """The result of a search from that way on. Raises RefusedError if the way is refused."""
        self.once(start)
        first = best = self.once(start)
        way, before = start, None
        while way != before and self.may_run():
            before, number = way, 0
            while self.may_run() and number < len(axes := list(self.axes(way))):
                fastest, best = self.along(way, best, axes[number][1])
                if fastest != way:
                    way = fastest
                    self.improved(SearchResult(way, best, first, len(self.tried), finished=False))
                number += 1
        trials, finished = len(self.tried), not self.cut_short
        if way == start:
            first = best
        else:
            samples = self.rounds([start, way])
            first, best = (median(samples[w] or [s]) for w, s in ((start, first), (way, best)))
            if best > first:  # what seemed to gain did not
                way, best = start, first
        return SearchResult(way, best, first, trials, finished)

    def may_run(self, way: TunedWay | None = None) -> bool:
        """Whether the budget has room for another run: of this way, or of any."""
        expected_s = self.tried[way].wall_s if way else 0.0
        fits = self.budget.refusal(expected_s) is None
        self.cut_short |= not fits
        return fits

    def once(self, way: TunedWay) -> float:
        run = self.tried.setdefault(way, Contender(partial(self.run, way), self.budget))
        seconds = run.once()
        self.budget.tell(str(way))
        return seconds

    def along(
        self, way: TunedWay, best: float, others: Sequence[TunedWay]
    ) -> tuple[TunedWay, float]:
        """The fastest of a way and the others on an axis, and its seconds."""
        promising = [
            other for other in others if other not in self.tried and self.is_promising(other, best)
        ]
        if not promising:
            return way, best
        samples = self.rounds([way, *promising])
        if not samples[way]:
            return way, best
        medians = {sampled: median(times) for sampled, times in samples.items() if times}
        fastest = min(medians, key=lambda sampled: medians[sampled])
        if fastest != way and medians[fastest] < GAIN * medians[way]:
            return fastest, medians[fastest]
        return way, medians[way]

    def is_promising(self, way: TunedWay, best: float) -> bool:
        """Whether a way runs, gives the right results, and is not hopelessly slow."""
        if not self.may_run():
            return False
        try:
            seconds = self.once(way)  # the first run may be a slow one
            if seconds < 2.0 * HOPELESS * best and self.may_run(way):
                seconds = self.once(way)
        except RefusedError:
            return False
        return seconds < HOPELESS * best

    def rounds(self, ways: Sequence[TunedWay]) -> dict[TunedWay, list[float]]:
        """Samples of ways that run in turn within the budget. The first way is in all rounds."""
        samples: dict[TunedWay, list[float]] = {way: [] for way in ways}
        for _ in range(ROUNDS):
            for way in ways:
                if self.may_run(way):
                    samples[way].append(self.once(way))
            least = min((min(times) for times in samples.values() if times), default=0.0)
            rest = [way for way in ways[1:] if min(samples[way], default=0.0) <= BEHIND * least]
            ways = [ways[0], *rest]
        return samples


# What is searched --------------------------------------------------------------------------------


def axes_of(p: PlanBuilder, executors: Sequence[str]) -> Axes:
    """The axes along which the ways of a pipeline differ. Given parameters stay as they are."""
    (algorithm, given), plan = family_of(p), p.plan()
    most = p.parameters.get("n")
    known = algorithm.parameters["block"].choices.values() if "block" in p.parameters else ()
    blocks = [b for b in known or _BLOCKS if not isinstance(most, int) or b <= most]

    def axes(way: TunedWay) -> Iterator[tuple[str, list[TunedWay]]]:
        yield "executor", [with_fields(way, executor=e, group=None, tile=None) for e in executors]
        if way.block is not None and "block" not in given:
            yield "block", [with_fields(way, block=block) for block in blocks]
        if way.accumulate is not None and "accumulate" not in given:
            yield "accumulate", [with_fields(way, accumulate=mode) for mode in Accumulate]
        executor = find_executor(way.executor)
        tuning = executor.capabilities.tuning
        usual = _usual_group(plan, is_gpu=executor.is_hardware()) if tuning else None
        if usual is not None and "group" in tuning:
            yield from _groups(way, usual)
        if usual is not None and "tile" in tuning:
            yield (
                "tile",
                [
                    with_fields(way, tile=(rows, vectors))
                    for rows in range(1, MOST_ROWS + 1)
                    for vectors in range(1, MOST_VECTORS + 1)
                ],
            )

    return axes


def family_of(p: PlanBuilder) -> tuple[Algorithm, Mapping[str, Any]]:
    """The algorithm of a pipeline, and its given parameters; InputError if there is none."""
    if p.family is None:
        raise InputError(f"{p.name} is of no algorithm, so it has one way alone; tune an algorithm")
    return p.family


_MULTIPROCESSORS = 128  # about as many as the GPUs of today have


@lru_cache(maxsize=4)
def _usual_group(plan: Plan, *, is_gpu: bool) -> GroupShape | None:
    """About the default shape of a plan's work groups; None if no pass becomes one."""
    device = Multiprocessors.of_gpu(_MULTIPROCESSORS) if is_gpu else Multiprocessors()
    textures = {texture.name: texture for texture in plan.textures}
    for step in fused_steps(plan):
        for member in step.body if isinstance(step, UnfusedRepeat) else (step,):
            if isinstance(member, FusedPasses):
                content, _ = group_content(member, textures)
                return group_shape(content, (member.width, member.height), device)
    return None


def _groups(way: TunedWay, usual: GroupShape) -> Iterator[tuple[str, list[TunedWay]]]:
    """The axes of work groups."""
    now = way.group or usual
    threads = ((8, 8), (16, 4), (16, 8), (8, 16), (32, 4), (16, 16), (32, 8), (32, 16))
    halves = ((2, 2), (4, 2), (2, 4), (4, 4), (8, 4), (4, 8), (8, 8), (4, 16), (8, 16))
    tiles = (*halves, (1, 5), (3, 4), (2, 9), (4, 6), (4, 10), (4, 12))  # for waves that are full
    changes = {
        "threads": [replace(now, threads=size) for size in threads],
        "register tile": [replace(now, columns=c, rows=r) for c, r in tiles],
        "adjacent": [replace(now, adjacent=n) for n in (1, 2, 4)],
        "K-depth": [replace(now, k_depth=n) for n in (4, 8, 16, 32)],
        "unroll": [replace(now, unroll=n) for n in (1, 2, 4, 8, 16)],
    }
    for name, shapes in changes.items():
        yield (
            name,
            [  # those whose numbers divide one another as the code needs
                with_fields(way, group=shape)
                for shape in shapes
                if shape != now
                and shape.adjacent == max(shape.side_by_side)
                and shape.k_depth % shape.unroll == 0
            ],
        )


# A search ----------------------------------------------------------------------------------------


def tune(
    pipelines: Sequence[PlanBuilder],
    budget: Budget,
    *,
    executors: Sequence[str] = (),
    seed: int = 0,
) -> TuningReport:
    """Search for the fastest way of each algorithm. An interrupt keeps the fastest ways so far.

    budget: pipelines share it in equal parts. executors: to search; if empty, all that work here
    but the reference machine and the driver's own programs.
    Raises InputError if tuning is off, and for a pipeline without an algorithm.
    """
    if is_off():
        raise InputError(f"{VARIABLE} is {OFF}, so nothing would be kept; unset it to tune")
    wanted = [
        (p, axes_of(p, named), start_of(p, named[0]))
        for p, named in ((p, executors_of(p, executors)) for p in pipelines)
    ]
    check_tuning_file()
    other_work = OtherWork()
    for number, (p, axes, start) in enumerate(wanted):
        share = budget.share(len(wanted) - number)
        try:
            with closing(WayRunner(p, seed)) as runner:
                search = WaySearch(axes, runner.run, share, partial(_keep, p))
                _keep(p, search.descend(start))
        except RefusedError as error:
            raise InputError(f"{p.name} on {start.executor}: {error}") from None
    names = [family_of(p)[0].name for p in pipelines]
    return tuning_report(names, busy_share=other_work.share())


def start_of(p: PlanBuilder, executor: str) -> TunedWay:
    """The way in which a pipeline is computed untuned."""
    block, accumulate = (p.parameters.get(name) for name in ("block", "accumulate"))
    return TunedWay(
        executor,
        block if isinstance(block, int) else None,
        None if accumulate is None else Accumulate(accumulate),
    )


def _keep(p: PlanBuilder, result: SearchResult) -> None:
    """Keep the result of a search, instead of the algorithm's earlier one."""
    algorithm, given = family_of(p)
    tuned = as_record(
        Tuned,
        result,
        this_platform(),
        algorithm=algorithm.name,
        parameters={name: p.parameters[name] for name in given},
        seconds=max(result.seconds, SHORTEST_S),
        default_seconds=max(result.default_seconds, SHORTEST_S),
        date=datetime.now(UTC).date().isoformat(),
    )
    keep(tuned)


def executors_of(p: PlanBuilder, names: Sequence[str] = ()) -> list[str]:
    """The executors to search for a pipeline: those named, or all suitable ones.

    Without names, the first is the one that `auto` takes untuned.
    """
    plan = p.plan()
    if names:
        return list(dict.fromkeys(find_executor(name, plan).name for name in names))
    usual = executor_for(AUTO, plan, runs=MANY).name
    suitable = [  # the reference is slow, and the driver's own programs are a peer
        executor.name
        for executor in able(plan)
        if not executor.capabilities.is_reference and not executor.capabilities.runs_driver_programs
    ]
    return list(dict.fromkeys([usual, *suitable]))


class WayRunner:
    """Runs ways of one pipeline, and compares each result with the first.

    A way stays prepared from run to run. To make room, the least recently used one is closed.
    """

    def __init__(self, p: PlanBuilder, seed: int) -> None:
        self.algorithm, self.given = family_of(p)
        plan = p.plan()
        self.inputs = sample_inputs(plan, p.samples, seed)
        self.product = product_of(p)
        self.first: Mapping[str, F32] = {}
        self.most = min(MOST_HELD, max(1, held_bytes() // bytes_of(plan)))
        self.held: dict[TunedWay, Prepared] = {}  # the last used at the end
        self.known: set[TunedWay] = set()

    def close(self) -> None:
        """Close all ways."""
        for way in [*self.held]:
            self.drop(way)

    def drop(self, way: TunedWay) -> None:
        """Close a way, if it is prepared."""
        if way in self.held:
            self.held.pop(way).close()

    def run(self, way: TunedWay) -> float:
        """Seconds of computing; RefusedError if a way is refused or gives other outputs."""
        try:
            result = self.result(way)
        except Exception as error:  # a driver that finds a shader too large may raise any error
            self.drop(way)
            raise RefusedError(why(error)) from None
        self.first = self.first or result.outputs
        if not all(self.agrees(name, array) for name, array in result.outputs.items()):
            self.drop(way)
            raise RefusedError("its results differ from the default's by more than rounding")
        return result.timings.compute_s

    def result(self, way: TunedWay) -> RunResult:
        """The result of a way. A way that is prepared again has an unmeasured run first."""
        prepared = self.held.pop(way, None)
        is_again = prepared is None and way in self.known
        if prepared is None:
            while len(self.held) >= self.most:
                self.drop(next(iter(self.held)))
            plan = self.algorithm.plan(**{**self.given, **way.parameters})
            executor = find_executor(way.executor, plan)
            prepared = executor.prepare(plan, Machine(tuning=way.tuning))
        self.held[way] = prepared
        self.known.add(way)
        if is_again:
            prepared.run(self.inputs)
        return prepared.run(self.inputs)

    def agrees(self, name: str, array: F32) -> bool:
        """Whether an output differs from the first one by rounding alone, element by element."""
        first = self.first[name]
        most = WRONG * np.max(np.abs(first), initial=0.0, where=np.isfinite(first))
        if self.product is not None:
            most = self.rounding
        return bool(np.isclose(array, first, rtol=0.0, atol=most, equal_nan=True).all())

    @cached_property
    def rounding(self) -> F32:
        """The largest difference that two products may have.

        Two float32 sums of l products, each in any order, differ by at most 2·l/(1 - l·2⁻²⁴)·2⁻²⁴
        of the sum of the products' magnitudes.
        """
        assert self.product is not None
        a, b = self.product.factors(self.inputs)
        rounding = a.shape[1] * 2.0**-24
        factor = np.float32(2.0 * rounding / (1.0 - rounding) * (1.0 + rounding))
        magnitudes: F32 = factor * (np.abs(a) @ np.abs(b))
        return magnitudes
