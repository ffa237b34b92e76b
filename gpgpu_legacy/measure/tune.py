"""The search for the fastest way to a product on this machine, in ATLAS's way: by trying.

Hall, Carr & Hart end with the wish that a library find its block size on the hardware at hand, as
ATLAS does for CPUs. Searched here are the executor, the block, the accumulation, and the shape of
the code that an executor makes, one axis after another, round and round until nothing gains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from statistics import median
from time import perf_counter
from typing import Self

import numpy as np

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.operands import F32, random_operands
from gpgpu_legacy.algorithms.registry import DEFAULT_METHOD, find_method
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.lower.chains import Loop, Turns, loops
from gpgpu_legacy.lower.content import group_content
from gpgpu_legacy.lower.tiles import MOST_ROWS, MOST_STRIPS
from gpgpu_legacy.lower.workgroups import GroupShape, group_shape
from gpgpu_legacy.measure.pool import Pool, fit_at_once
from gpgpu_legacy.measure.tuned import OFF, VARIABLE, Kept, Way, is_off, keep
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.executor import Capabilities, Machine, Prepared, Result, Tuning
from gpgpu_legacy.runtime.registry import able, find_executor

SIZE, BUDGET_S = 1024, 60.0

ROUNDS = 5  # runs of each way that is compared, taking turns
HOPELESS = 1.5  # a run so many times as long as the best one's is not repeated
BEHIND = 1.15  # a way that is never closer to the best one than this has no further turn
MOST_HELD = 32  # ways that stay prepared, where there is room for as many
GAIN = 0.98  # what is not faster than this part of the best time is not taken for faster

_BLOCKS = (8, 16, 32, 64, 128, 256)


class RefusedError(Exception):
    """A way that cannot be taken, or that gives another product."""


Run = Callable[[Way], float]
"""Runs a way once and gives its seconds; RefusedError where it is none."""

Axes = Callable[[Way], Iterator[tuple[str, list[Way]]]]
"""For a way its axes: for each, a name and the ways that differ from it along that axis."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A way that was tried: the median of its runs, or why there is none."""

    way: Way
    seconds: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search has found.

    seconds, default_seconds: medians of the best way and of the first one, in turns at the end.
    finished: whether it came to an end before the budget did.
    """

    way: Way
    seconds: float
    default_seconds: float
    trials: tuple[Trial, ...]
    finished: bool


def search(
    start: Way,
    axes: Axes,
    run: Run,
    budget_s: float,
    *,
    progress: Callable[[str], None] | None = None,
    clock: Callable[[], float] = perf_counter,
) -> Found:
    """Coordinate descent from a way to the fastest one that it leads to.

    run: it is called once for a way before that way is measured. budget_s: no run is begun after so
    many seconds; the first way is run whatever the budget. progress: called after each run.
    Raises RefusedError where the first way cannot be taken.
    """
    return _Search(axes, run, clock() + budget_s, progress or (lambda _: None), clock).go(start)


class _Search:
    def __init__(
        self,
        axes: Axes,
        run: Run,
        deadline: float,
        progress: Callable[[str], None],
        clock: Callable[[], float],
    ) -> None:
        self.axes, self.run, self.deadline = axes, run, deadline
        self.progress, self.clock = progress, clock
        self.trials: dict[Way, Trial] = {}

    def go(self, start: Way) -> Found:
        self.once(start)
        first = best = self.once(start)
        self.trials[start] = Trial(start, first)
        way, finished = start, False
        while not finished and not self.is_over():
            before, number = way, 0
            while not self.is_over() and number < len(here := list(self.axes(way))):
                way, best = self.along(way, best, here[number][1])
                number += 1
            finished = way == before and not self.is_over()
        if way == start:
            return Found(way, best, best, tuple(self.trials.values()), finished)
        times = self.rounds([start, way])
        first = median(times[start] or [first])
        best = median(times[way] or [best])
        tried = tuple(self.trials.values())
        if best > first:  # what seemed to gain did not
            return Found(start, first, first, tried, finished)
        return Found(way, best, first, tried, finished)

    def is_over(self) -> bool:
        return self.clock() >= self.deadline

    def once(self, way: Way) -> float:
        seconds = self.run(way)
        self.progress(str(way))
        return seconds

    def along(self, way: Way, best: float, others: Sequence[Way]) -> tuple[Way, float]:
        """The best of a way and of those beside it on an axis, and its time."""
        hopeful = [
            each for each in others if each not in self.trials and self.is_hopeful(each, best)
        ]
        if not hopeful:
            return way, best
        times = self.rounds([way, *hopeful])
        if not times[way]:
            return way, best
        medians = {each: median(found) for each, found in times.items() if found}
        for each in hopeful:
            if each in medians:
                self.trials[each] = Trial(each, medians[each])
        fastest = min(medians, key=lambda each: medians[each])
        if fastest != way and medians[fastest] < GAIN * medians[way]:
            return fastest, medians[fastest]
        return way, medians[way]

    def is_hopeful(self, way: Way, best: float) -> bool:
        """Whether a way gives the product, and not in far too long a time."""
        if self.is_over():
            return False
        try:
            seconds = self.once(way)  # the first run may be a slow one
            if seconds < 2.0 * HOPELESS * best and not self.is_over():
                seconds = self.once(way)
        except RefusedError as error:
            self.trials[way] = Trial(way, None, str(error))
            return False
        self.trials[way] = Trial(way, seconds)
        return seconds < HOPELESS * best

    def rounds(self, ways: Sequence[Way]) -> dict[Way, list[float]]:
        """Runs of several ways in turns, as many as there is time for, of the first one in all."""
        times: dict[Way, list[float]] = {way: [] for way in ways}
        running = list(ways)
        for _ in range(ROUNDS):
            for way in running:
                if not self.is_over():
                    times[way].append(self.once(way))
            least = min((min(found) for found in times.values() if found), default=0.0)
            running = [
                way
                for way in running
                if way == ways[0] or min(times[way], default=0.0) <= BEHIND * least
            ]
        return times


# What is searched --------------------------------------------------------------------------------


def axes_of(method: Method, size: int, executors: Sequence[str]) -> Axes:
    """The axes of a method's ways on matrices of that size."""
    blocks = [b for b in method.blocks or _BLOCKS if b <= size]
    usual = _usual_group(method.plan(Shape(size, size, size)))

    def axes(way: Way) -> Iterator[tuple[str, list[Way]]]:
        yield "executor", [replace(way, executor=e, tuning=None) for e in executors]
        if way.block is not None:
            yield "block", [replace(way, block=block) for block in blocks]
        if way.accumulate is not None:
            yield "accumulate", [replace(way, accumulate=each) for each in Accumulate]
        if usual is not None:
            for shape in sorted(find_executor(way.executor).capabilities.tuning):
                yield from _SHAPES[shape](way, usual)

    return axes


def _usual_group(plan: Plan) -> GroupShape | None:
    """The shape that a plan's work groups have by rule; None where there is no code for any."""
    textures = {texture.name: texture for texture in plan.textures}
    for step in loops(plan):
        for member in step.body if isinstance(step, Turns) else (step,):
            if isinstance(member, Loop):
                return group_shape(group_content(member, textures)[0])
    return None


def _groups(way: Way, usual: GroupShape) -> Iterator[tuple[str, list[Way]]]:
    """The axes of work groups."""
    now = way.tuning.group if way.tuning and way.tuning.group else usual

    def ways(name: str, shapes: Iterable[GroupShape]) -> tuple[str, list[Way]]:
        sound = [shape for shape in shapes if _is_sound(shape) and shape != now]
        return name, [replace(way, tuning=Tuning(group=shape)) for shape in sound]

    threads = ((8, 8), (16, 8), (8, 16), (16, 16), (32, 8), (32, 16))
    yield ways("threads", (replace(now, threads=each) for each in threads))
    fragments = ((2, 2), (4, 2), (2, 4), (4, 4), (8, 4), (4, 8), (8, 8))
    yield ways("fragments", (replace(now, strips=s, rows=r) for s, r in fragments))
    yield ways("adjacent", (replace(now, adjacent=each) for each in (1, 2, 4)))
    yield ways("depth", (replace(now, depth=each) for each in (4, 8, 16, 32)))
    yield ways("together", (replace(now, together=each) for each in (1, 2, 4, 8)))


def _is_sound(shape: GroupShape) -> bool:
    """Whether its parts go into one another."""
    return (
        shape.strips % shape.adjacent == 0
        and shape.rows % shape.adjacent == 0
        and shape.depth % shape.together == 0
    )


def _tiles(way: Way, _: GroupShape) -> Iterator[tuple[str, list[Way]]]:
    """The axis of native code's tiles: as many rows and vectors as its own rule chooses from."""
    shapes = [
        (rows, strips) for rows in range(1, MOST_ROWS + 1) for strips in range(1, MOST_STRIPS + 1)
    ]
    yield "tile", [replace(way, tuning=Tuning(tile=shape)) for shape in shapes]


_SHAPES: dict[str, Callable[[Way, GroupShape], Iterator[tuple[str, list[Way]]]]] = {
    "group": _groups,
    "tile": _tiles,
}


# Products ----------------------------------------------------------------------------------------


def tune(
    names: Sequence[str] = (),
    size: int = SIZE,
    budget_s: float = BUDGET_S,
    *,
    executors: Sequence[str] = (),
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
    clock: Callable[[], float] = perf_counter,
) -> list[tuple[Kept, Found]]:
    """Search for each method in turn, and keep what is found.

    names: of methods; the multichannel method without. size: of the n×n matrices. budget_s: seconds
    for all methods together, in equal parts. executors: to search; without, all that there are but
    for the reference machine and the driver's own.
    Raises InputError where tuning is off and for what there is not.
    """
    if is_off():
        raise InputError(f"{VARIABLE} is {OFF}, so nothing would be kept; unset it to tune")
    if size < 1:
        raise InputError(f"the size is {size}; it must be at least 1")
    if not budget_s >= 0.0:
        raise InputError(f"the budget is {budget_s}; give a number of seconds, 0 or more")
    chosen = list(dict.fromkeys(find_method(name) for name in names or (DEFAULT_METHOD,)))
    wanted = [(method, executors_of(method, executors)) for method in chosen]
    deadline, done = clock() + budget_s, []
    for number, (method, there_are) in enumerate(wanted):
        left = max(0.0, deadline - clock()) / (len(wanted) - number)
        usual = method.options(Options())
        start = Way(there_are[0], usual.block, usual.accumulate)
        axes = axes_of(method, size, there_are)
        try:
            with _Products(method, size, seed) as products:
                found = search(start, axes, products.run, left, progress=progress, clock=clock)
        except RefusedError as error:
            raise InputError(f"{method.name} on {start.executor}: {error}") from None
        kept = Kept(
            method.name,
            found.way,
            size,
            found.seconds,
            found.default_seconds,
            len(found.trials),
            datetime.now(UTC).date().isoformat(),
        )
        keep(kept)
        done.append((kept, found))
    return done


def executors_of(method: Method, names: Sequence[str] = ()) -> list[str]:
    """The executors to search for a method, the one that `auto` takes untuned first."""
    plan = method.plan(Shape(1, 1, 1))
    if names:
        return list(dict.fromkeys(find_executor(name, plan).name for name in names))
    usual = find_executor("auto", plan).name
    fit = [each.name for each in able(plan) if not _is_left_out(each.capabilities)]
    return list(dict.fromkeys([usual, *fit]))


def _is_left_out(capabilities: Capabilities) -> bool:
    """The reference is slow, and the driver's own programs are a peer."""
    return capabilities.is_reference or capabilities.runs_driver_programs


class _Products:
    """Runs ways of one product, and holds each to the first one's result; a context manager.

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
        """Seconds of computing; RefusedError for what is refused, or gives another product."""
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
        """What a way gives. One that had made room for others first runs without being measured."""
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
        """Whether a product is the first one but for rounding, element by element.

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
