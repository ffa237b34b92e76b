"""The search for the fastest way to compute a product on this machine: it tries, as ATLAS does.

Hall, Carr & Hart end with the wish that a library find its block size on the hardware at hand, as
ATLAS does for CPUs. The search covers the executor, the block, the accumulation, and the shape of
the code that an executor generates. It varies one axis after another until nothing gets faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache, partial
from statistics import median
from typing import Self

import numpy as np

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.operands import random_operands
from gpgpu_legacy.algorithms.registry import DEFAULT_METHOD, find_method
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.lower.analysis.fusion import FusedPasses, UnfusedRepeat, fused_steps
from gpgpu_legacy.lower.analysis.register_tile import MOST_ROWS, MOST_VECTORS
from gpgpu_legacy.lower.content import group_content
from gpgpu_legacy.lower.workgroups import GroupShape, Multiprocessors, group_shape
from gpgpu_legacy.measure.budget import Budget
from gpgpu_legacy.measure.other_work import OtherWork
from gpgpu_legacy.measure.pool import Pool, fit_at_once
from gpgpu_legacy.measure.rounds import take_rounds
from gpgpu_legacy.measure.tuned import (
    OFF,
    VARIABLE,
    TunedMethod,
    Way,
    check_tuning_file,
    is_off,
    keep,
)
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.machine import Capabilities, Machine
from gpgpu_legacy.runtime.prepared import Prepared, Result
from gpgpu_legacy.runtime.registry import AUTO, able, find_executor
from gpgpu_legacy.serial import with_fields

ROUNDS = 5  # for ways that are compared
HOPELESS = 1.5  # a way whose run takes this many times as long as the best one's is not repeated
BEHIND = 1.15  # a way that is never closer to the best one than this leaves the rounds
MOST_HELD = 32  # ways that stay prepared, where there is room for them
GAIN = 0.98  # a way must take less than this part of the best time to replace it

SHORTEST_S = 1e-9
"""Seconds of a run that a coarse clock finds to take none: what is kept has ratios."""

_BLOCKS = (8, 16, 32, 64, 128, 256)


class RefusedError(Exception):
    """A way that an executor refuses, or that gives another product."""


Run = Callable[[Way], float]
"""Runs a way once and gives its seconds. Raises RefusedError."""

Axes = Callable[[Way], Iterator[tuple[str, list[Way]]]]
"""The axes at a way: the name of each, and the ways that differ from it along that axis."""


@dataclass(frozen=True)
class Trial:
    """A way that was tried: the median of its runs in seconds, or the reason why there is none."""

    way: Way
    seconds: float | None
    reason: str = ""


@dataclass(frozen=True)
class SearchResult:
    """What a search has found.

    seconds, default_seconds: medians of the best way and of the first one, in rounds at the end.
    finished: whether the search ended before the budget did.
    """

    way: Way
    seconds: float
    default_seconds: float
    trials: tuple[Trial, ...]
    finished: bool


@dataclass
class Search:
    """Coordinate descent from a way to the fastest one that it leads to.

    run: called once for a way before that way is measured. budget: no run starts that is expected
    to outlast it; the first way is run whatever the budget. progress: called after each run.
    improved: called with the result so far whenever a faster way is found. wall_s: seconds of a
    way's last run, transfers and the check included. cut_short: whether the budget has kept a run
    from starting.
    """

    axes: Axes
    run: Run
    budget: Budget
    progress: Callable[[str], object] = lambda _: None
    improved: Callable[[SearchResult], object] = lambda _: None
    trials: dict[Way, Trial] = field(default_factory=dict)
    wall_s: dict[Way, float] = field(default_factory=dict)
    cut_short: bool = False

    def descend(self, start: Way) -> SearchResult:
        """What is found from that way on. Raises RefusedError where the way is refused."""
        self.once(start)
        first = best = self.once(start)
        self.trials[start] = Trial(start, first)
        way, before = start, None
        while way != before and self.may_run():
            before, number = way, 0
            while self.may_run() and number < len(axes := list(self.axes(way))):
                fastest, best = self.along(way, best, axes[number][1])
                if fastest != way:
                    way, tried = fastest, tuple(self.trials.values())
                    self.improved(SearchResult(way, best, first, tried, finished=False))
                number += 1
        trials, finished = tuple(self.trials.values()), not self.cut_short
        if way == start:
            return SearchResult(start, best, best, trials, finished)
        samples = self.rounds([start, way])
        first = median(samples[start] or [first])
        best = median(samples[way] or [best])
        if best > first:  # what seemed to gain did not
            return SearchResult(start, first, first, trials, finished)
        return SearchResult(way, best, first, trials, finished)

    def may_run(self, way: Way | None = None) -> bool:
        """Whether the budget has room for another run: of this way, or of any."""
        expected_s = 0.0 if way is None else self.wall_s.get(way, 0.0)
        fits = self.budget.refusal(expected_s) is None
        self.cut_short |= not fits
        return fits

    def once(self, way: Way) -> float:
        started = self.budget.clock()
        seconds = self.run(way)
        self.wall_s[way] = self.budget.clock() - started
        self.progress(str(way))
        return seconds

    def along(self, way: Way, best: float, others: Sequence[Way]) -> tuple[Way, float]:
        """The best of a way and of those beside it on an axis, and its time."""
        promising = [
            other for other in others if other not in self.trials and self.is_promising(other, best)
        ]
        if not promising:
            return way, best
        samples = self.rounds([way, *promising])
        if not samples[way]:
            return way, best
        medians = {sampled: median(times) for sampled, times in samples.items() if times}
        for other in promising:
            if other in medians:
                self.trials[other] = Trial(other, medians[other])
        fastest = min(medians, key=lambda sampled: medians[sampled])
        if fastest != way and medians[fastest] < GAIN * medians[way]:
            return fastest, medians[fastest]
        return way, medians[way]

    def is_promising(self, way: Way, best: float) -> bool:
        """Whether a way gives the product, and in a time that is not hopeless."""
        if not self.may_run():
            return False
        try:
            seconds = self.once(way)  # the first run may be a slow one
            if seconds < 2.0 * HOPELESS * best and self.may_run(way):
                seconds = self.once(way)
        except RefusedError as error:
            self.trials[way] = Trial(way, None, str(error))
            return False
        self.trials[way] = Trial(way, seconds)
        return seconds < HOPELESS * best

    def rounds(self, ways: Sequence[Way]) -> dict[Way, list[float]]:
        """Samples of ways that run in turn, as far as the budget goes. The first has all rounds."""
        samples: dict[Way, list[float]] = {way: [] for way in ways}

        def take(way: Way) -> None:
            if self.may_run(way):
                samples[way].append(self.once(way))

        def after_round(_: int) -> Sequence[Way]:
            least = min((min(times) for times in samples.values() if times), default=0.0)
            rest = [way for way in ways[1:] if min(samples[way], default=0.0) <= BEHIND * least]
            return [ways[0], *rest]

        take_rounds(ways, take, ROUNDS, after_round)
        return samples


# What is searched --------------------------------------------------------------------------------


def axes_of(method: Method, size: int, executors: Sequence[str]) -> Axes:
    """The axes along which a method's ways differ, for n×n matrices of that size."""
    blocks = [b for b in method.blocks or _BLOCKS if b <= size]
    plan = method.plan(Shape(size, size, size))

    def axes(way: Way) -> Iterator[tuple[str, list[Way]]]:
        yield "executor", [with_fields(way, executor=e, group=None, tile=None) for e in executors]
        if way.block is not None:
            yield "block", [with_fields(way, block=block) for block in blocks]
        if way.accumulate is not None:
            yield "accumulate", [with_fields(way, accumulate=mode) for mode in Accumulate]
        executor = find_executor(way.executor)
        tuning = executor.capabilities.tuning
        usual = _usual_group(plan, is_gpu=executor.is_hardware()) if tuning else None
        if usual is not None and "group" in tuning:
            yield from _groups(way, usual)
        if usual is not None and "tile" in tuning:
            yield "tile", _tiles(way)

    return axes


_MULTIPROCESSORS = 128  # about as many as the GPUs of today have


@lru_cache(maxsize=4)
def _usual_group(plan: Plan, *, is_gpu: bool) -> GroupShape | None:
    """About the shape that a plan's work groups have by rule; None where no pass becomes one."""
    device = Multiprocessors.of_gpu(_MULTIPROCESSORS) if is_gpu else Multiprocessors()
    textures = {texture.name: texture for texture in plan.textures}
    for step in fused_steps(plan):
        for member in step.body if isinstance(step, UnfusedRepeat) else (step,):
            if isinstance(member, FusedPasses):
                content, _ = group_content(member, textures)
                return group_shape(content, (member.width, member.height), device)
    return None


def _groups(way: Way, usual: GroupShape) -> Iterator[tuple[str, list[Way]]]:
    """The axes of work groups."""
    now = way.group or usual

    def ways(name: str, shapes: Iterable[GroupShape]) -> tuple[str, list[Way]]:
        consistent = [shape for shape in shapes if _is_consistent(shape) and shape != now]
        return name, [with_fields(way, group=shape) for shape in consistent]

    threads = ((8, 8), (16, 8), (8, 16), (16, 16), (32, 8), (32, 16))
    yield ways("threads", (replace(now, threads=size) for size in threads))
    tiles = ((2, 2), (4, 2), (2, 4), (4, 4), (8, 4), (4, 8), (8, 8), (8, 16))
    yield ways("register tile", (replace(now, columns=c, rows=r) for c, r in tiles))
    yield ways("adjacent", (replace(now, adjacent=n) for n in (1, 2, 4)))
    yield ways("K-depth", (replace(now, k_depth=n) for n in (4, 8, 16, 32)))
    yield ways("unroll", (replace(now, unroll=n) for n in (1, 2, 4, 8, 16)))


def _is_consistent(shape: GroupShape) -> bool:
    """Whether the numbers of a shape divide one another as the code needs."""
    across, up = shape.side_by_side
    return (
        shape.adjacent == max(across, up)
        and shape.columns % across == 0
        and shape.rows % up == 0
        and shape.k_depth % shape.unroll == 0
    )


def _tiles(way: Way) -> list[Way]:
    """With all of native code's register tiles: the rows and vectors that its rule chooses from."""
    return [
        with_fields(way, tile=(rows, vectors))
        for rows in range(1, MOST_ROWS + 1)
        for vectors in range(1, MOST_VECTORS + 1)
    ]


# Products ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TuneResult:
    """What tuning has found: for each method what is kept, and how the search went.

    busy_share: the part of the processors' time that other processes took meanwhile, from 0 to 1.
    """

    methods: tuple[tuple[TunedMethod, SearchResult], ...]
    busy_share: float | None


def tune(
    names: Sequence[str],
    size: int,
    budget: Budget,
    *,
    executors: Sequence[str] = (),
    seed: int = 0,
    progress: Callable[[str], object] = lambda _: None,
) -> TuneResult:
    """Search for the fastest way of each method. An interrupt leaves the fastest ones so far.

    names: of methods; the multichannel method if empty. size: n, of n×n matrices. budget: methods
    share it in equal parts. executors: to search; if empty, all that work here but the reference
    machine and the driver's own programs.
    Raises InputError where tuning is off, and for unknown names.
    """
    if is_off():
        raise InputError(f"{VARIABLE} is {OFF}, so nothing would be kept; unset it to tune")
    if size < 1:
        raise InputError(f"the size is {size}; it must be at least 1")
    methods = list(dict.fromkeys(find_method(name) for name in names or (DEFAULT_METHOD,)))
    wanted = [(method, executors_of(method, executors)) for method in methods]
    check_tuning_file()
    other_work, done = OtherWork(), []
    for number, (method, searched) in enumerate(wanted):
        share = budget.share(len(wanted) - number)
        usual = method.options(Options())
        start = Way(searched[0], usual.block, usual.accumulate)
        axes = axes_of(method, size, searched)
        try:
            with WayRunner(method, size, seed) as runner:
                improved = partial(_keep, method, size)
                result = Search(axes, runner.run, share, progress, improved).descend(start)
        except RefusedError as error:
            raise InputError(f"{method.name} on {start.executor}: {error}") from None
        done.append((_keep(method, size, result), result))
    return TuneResult(tuple(done), other_work.share())


def _keep(method: Method, size: int, result: SearchResult) -> TunedMethod:
    """Keep what a search has found, in place of what was kept for the method before."""
    tuned = TunedMethod(
        method=method.name,
        way=result.way,
        size=size,
        seconds=max(result.seconds, SHORTEST_S),
        default_seconds=max(result.default_seconds, SHORTEST_S),
        trials=len(result.trials),
        date=datetime.now(UTC).date().isoformat(),
    )
    keep(tuned)
    return tuned


def executors_of(method: Method, names: Sequence[str] = ()) -> list[str]:
    """The executors to search for a method; first the one that `auto` takes untuned."""
    plan = method.plan(Shape(1, 1, 1))
    if names:
        return list(dict.fromkeys(find_executor(name, plan).name for name in names))
    usual = find_executor(AUTO, plan).name
    suitable = [runner.name for runner in able(plan) if not _is_left_out(runner.capabilities)]
    return list(dict.fromkeys([usual, *suitable]))


def _is_left_out(capabilities: Capabilities) -> bool:
    """The reference is slow, and the driver's own programs are a peer."""
    return capabilities.is_reference or capabilities.runs_driver_programs


class WayRunner:
    """Runs ways of one product, and compares each result with the first; a context manager.

    A way stays prepared from run to run, as far as there is room.
    """

    def __init__(self, method: Method, size: int, seed: int) -> None:
        self.method, self.shape = method, Shape(size, size, size)
        self.a, self.b = random_operands(self.shape, method.options(Options()), seed)
        self.first: F32 | None = None
        self.pool: Pool[Way] = Pool(min(MOST_HELD, fit_at_once(size)))
        self.known: set[Way] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.close()

    def run(self, way: Way) -> float:
        """Seconds of computing; RefusedError where a way is refused or gives another product."""
        try:
            result = self.result(way)
        except MemoryError:
            self.pool.drop(way)
            raise RefusedError("too little memory") from None
        except Exception as error:  # a driver that finds a shader too large raises what it likes
            self.pool.drop(way)
            raise RefusedError(" ".join(str(error).split()) or type(error).__name__) from None
        product = result.outputs["C"]
        if self.first is None:
            self.first = product
        if not self.agrees(product):
            self.pool.drop(way)
            raise RefusedError("its product differs from the default's by more than rounding")
        return result.timings.compute_s

    def result(self, way: Way) -> Result:
        """What a way gives. One that is prepared again first runs without being measured."""
        prepared, is_new = self.pool.take(way, partial(self.prepare, way))
        given = {"A": self.a, "B": self.b}
        if is_new and way in self.known:
            prepared.run(given)
        self.known.add(way)
        return prepared.run(given)

    def prepare(self, way: Way) -> Prepared:
        options = self.method.options(Options(block=way.block, accumulate=way.accumulate))
        plan = self.method.plan(self.shape, options)
        return find_executor(way.executor, plan).prepare(plan, Machine(tuning=way.tuning))

    def agrees(self, product: F32) -> bool:
        """Whether a product differs from the first one by rounding alone, element by element.

        Two sums of n products in float32, each of them rounded in any order, differ by no more
        than 2·n/(1 - n·2⁻²⁴)·2⁻²⁴ of the sum of the products' magnitudes.
        """
        assert self.first is not None
        return bool((np.abs(product - self.first) <= self.most).all())

    @cached_property
    def most(self) -> F32:
        """By how much two sums of the products may differ."""
        rounding = self.shape.l * 2.0**-24
        factor = np.float32(2.0 * rounding / (1.0 - rounding) * (1.0 + rounding))
        magnitudes: F32 = factor * (np.abs(self.a) @ np.abs(self.b))
        return magnitudes
