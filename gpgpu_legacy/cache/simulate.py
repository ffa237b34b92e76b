"""Simulates a trace, or a plan, in one or two levels of cache, access by access, exactly.

Repeated rows are counted instead of simulated (cache/drive.py), and so are iterations that are
proven to repeat earlier ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.access import (
    DEFAULT_ACCESS,
    I64,
    NO_ACCESS,
    QUAD,
    Access,
    AccessTrace,
    Chunk,
    MemoryRegion,
    PassTrace,
    Step,
)
from gpgpu_legacy.cache.caches import Memory
from gpgpu_legacy.cache.drive import ABSENT, BACKS, FILLS, MISSES, USES, Caches
from gpgpu_legacy.cache.fragments import trace_fragments
from gpgpu_legacy.cache.kernels import trace_kernels
from gpgpu_legacy.cache.recorded import Replay
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.expand import at_iteration
from gpgpu_legacy.plan.memory import require_memory
from gpgpu_legacy.plan.plan import FragmentPass, Plan

# Repeats -----------------------------------------------------------------------------------------
#
# Iterations of a step that repeat earlier ones: the proof, and its consequences.
#
# Let d be the shift, in bytes, of each region's addresses from iteration i to iteration i + p
# (from `Step.shifts`). Let the map that moves each region's lines by its d send whole lines to
# whole lines and sets to sets: each d is a multiple of the line, and if regions share a cache all
# d are the same modulo its sets × line. Assume that the state after iteration i + p is the state
# after iteration i moved by this map (lines in order, dirty bits), that iteration i + p + 1 is
# iteration i + 1 moved, and so on. Then every lookup of these iterations has the outcome of the
# one p iterations earlier, and leaves that iteration's state, moved: the map is one to one on the
# lines (each stays in its region, which is checked) and commutes with lookup, order of use, order
# of arrival and eviction. So the counts of whole periods of p iterations are multiplied, and the
# state is moved accordingly.
#
# Fragments in flight do not change this. They permute the accesses of a pass, in a way that
# depends on its rectangle, its raster order and the number in flight, not on addresses and so not
# on the iteration. Two iterations that are moved copies of each other stay so in any such order.
#
# If evictions are random, every iteration is simulated.


_SEARCHES = 16
"""The most pairs of iterations compared for a period, for each iteration of a step."""


@dataclass(frozen=True, slots=True, eq=False)
class Anchor:
    """The state and counts after an iteration, to be compared with those `period` later."""

    iteration: int
    period: int
    moves: Mapping[int, int]
    states: list[I64]
    counts: I64


class Periods:
    """Finds iterations of a step that are shifted copies of others, by its `shifts`."""

    def __init__(self, step: Step, caches: Caches, check: Callable[[], object]) -> None:
        """Begin before the first iteration.

        check: called while iterations are compared; it may raise to stop.
        """
        self.step, self.caches, self.check = step, caches, check
        self.searches_left = _SEARCHES * step.count
        self.shifts = cache(step.shifts)

    def after(self, iteration: int) -> tuple[int, dict[int, int]] | None:
        """The shortest period that may repeat from this iteration on, with its moves in bytes."""
        for period in range(1, (self.step.count - 1 - iteration) // 2 + 1):
            if self.shifts(iteration) is None or self.searches_left <= 0:
                return None
            self.searches_left -= 1
            moves = self._moves(iteration, period)
            if moves is not None and self.caches.maps(moves):
                return period, moves
        return None

    def repeated(self, iteration: int, period: int, moves: Mapping[int, int]) -> int:
        """The number of iterations after this one that repeat those a period earlier, so moved."""
        after = iteration + 1
        while after < self.step.count and self._moves(after - period, period) == moves:
            after += 1
        return after - iteration - 1

    def _moves(self, iteration: int, period: int) -> dict[int, int] | None:
        """The bytes by which each region is moved from an iteration to the one a period later."""
        self.check()
        here, there = self.shifts(iteration), self.shifts(iteration + period)
        if here is None or there is None:
            return None
        return {number: there.get(number, 0) - here.get(number, 0) for number in here | there}


# Simulation --------------------------------------------------------------------------------------


OnMisses = Callable[[PassTrace, Chunk, NDArray[np.uint8]], None]
"""Called with a pass, a chunk of it, and whether each access hit level 1: uint8 [rows, slots], 1 or
0 (also 0 where there is no access). Repeated rows of the pass are written out."""

Progress = Callable[[float], object]
"""Called with the fraction of a simulation that is done; it may raise to stop."""


@frozen
class RegionTally:
    """The outcome of a region's accesses; hits are those in level 1.

    bytes_requested: element_bytes for each access. bytes_from_memory: of the lines that its
    accesses fill. bytes_to_memory: written through, or of its lines written back.
    """

    name: str
    reads: int
    read_hits: int
    writes: int
    write_hits: int
    bytes_requested: int
    bytes_from_memory: int
    bytes_to_memory: int

    @property
    def accesses(self) -> int:
        return self.reads + self.writes

    @property
    def hits(self) -> int:
        return self.read_hits + self.write_hits


@frozen
class LevelTally:
    """Lookups in one level.

    Level 1 sees the accesses. Level 2 sees the lines that level 1 fills, the writes that go through
    it, and with allocation the dirty lines that it evicts.
    """

    hits: int
    misses: int


@frozen
class Simulated(RegionTally):
    """The outcome of a trace: of all its regions together, and of each.

    iterations: of all steps. `iterations_repeated` of them were proven to repeat others, and their
    counts multiplied. of_inputs: as of the trace.
    """

    regions: tuple[RegionTally, ...]
    levels: tuple[LevelTally, ...]
    iterations_simulated: int
    iterations_repeated: int
    of_inputs: bool = False

    @property
    def iterations(self) -> int:
        return self.iterations_simulated + self.iterations_repeated

    @property
    def misses(self) -> int:
        return self.accesses - self.hits

    @property
    def hit_ratio(self) -> float:
        """Hits over accesses; 0 without accesses."""
        return self.hits / self.accesses if self.accesses else 0.0


def simulate(
    trace: AccessTrace,
    memory: Memory,
    *,
    every_pass: bool = False,
    progress: Progress = lambda _: None,
    misses: OnMisses | None = None,
) -> Simulated:
    """Simulate a trace in caches that are empty at its start.

    every_pass: also simulate iterations that are proven to repeat others. progress: called with the
    fraction done, from 0 to 1; it may raise to stop. misses: called with each chunk's hits; every
    pass is then simulated. Raises InputError if a cache's lines are shorter than the trace's.
    """
    shortest = memory.levels[0].line_bytes
    if shortest < trace.line_bytes:
        raise InputError(
            f"a cache line of {shortest} bytes is shorter than the trace's lines of "
            f"{trace.line_bytes}: give the cache longer lines, or the trace shorter ones"
        )
    first, *others = memory.levels
    copies = max(1, len(trace.regions)) if memory.per_texture else 1
    require_memory(
        _LINE_BYTES * (copies * first.lines + sum(level.lines for level in others)),
        f"the simulation of {trace.name} in a cache",
        "simulate a smaller plan, smaller caches, or every pass (--every-pass)",
    )
    run = _Run(Caches(trace, memory), progress, misses)
    run.repeats = not every_pass and misses is None and run.caches.repeatable
    weights = [float(step.count and step.count * step.accesses(0)) for step in trace.steps]
    for number, step in enumerate(trace.steps):
        whole = sum(weights) or 1.0
        run.done, run.share = sum(weights[:number]) / whole, weights[number] / whole
        run.step(step)
    progress(1.0)
    return run.result()


_LINE_BYTES = 64  # about the memory that a simulation takes for a line


# Running -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Run:
    """A simulation in progress. done, share: the fraction before this step, and of this step.

    reached: the fraction that was last reported.
    """

    caches: Caches
    progress: Progress
    misses: OnMisses | None
    repeats: bool = False
    done: float = 0.0
    share: float = 0.0
    reached: float = 0.0
    iterations_simulated: int = 0
    iterations_repeated: int = 0

    def step(self, step: Step) -> None:
        """Simulate the iterations of a step, or multiply proven ones."""
        periods = Periods(step, self.caches, lambda: self.progress(self.reached))
        anchor: Anchor | None = None
        iteration = 0
        while iteration < step.count:
            self._iteration(step, iteration)
            if self.repeats:
                if anchor is not None and iteration == anchor.iteration + anchor.period:
                    iteration += self._multiplied(anchor, periods)
                    anchor = None
                if anchor is None and (period_moves := periods.after(iteration)):
                    period, moves = period_moves
                    counts = self.caches.counts.copy()
                    anchor = Anchor(iteration, period, moves, self.caches.state(), counts)
            iteration += 1

    def _iteration(self, step: Step, iteration: int) -> None:
        whole, ran = step.accesses(iteration) or 1, 0
        for pass_ in step.passes(iteration):
            for merged in pass_.chunks():
                chunk = merged if self.misses is None else _unrolled(merged)
                hits = self.caches.run(chunk, mapped=self.misses is not None)
                if self.misses is not None:
                    self.misses(pass_, chunk, hits)
                ran += len(chunk.kinds) * int(chunk.times.sum(dtype=np.int64))
                part = iteration + min(1.0, ran / whole)
                self.reached = self.done + self.share * part / step.count
                self.progress(self.reached)
        self.iterations_simulated += 1

    def _multiplied(self, anchor: Anchor, periods: Periods) -> int:
        """Multiply the iterations proven to repeat the anchor's period; returns how many."""
        caches = self.caches
        iteration = anchor.iteration + anchor.period
        times = periods.repeated(iteration, anchor.period, anchor.moves) // anchor.period
        states = caches.state()
        before = caches.moved(anchor.states, anchor.moves) if times else None
        if before is None or not all(map(np.array_equal, before, states)):
            return 0
        after = caches.moved(states, anchor.moves, times)
        if after is None:
            return 0
        caches.counts += times * (caches.counts - anchor.counts)
        for level, moved in zip(caches.levels, after, strict=True):
            level.entries[:] = moved
        self.iterations_repeated += times * anchor.period
        return times * anchor.period

    def result(self) -> Simulated:
        caches = self.caches
        dirty = caches.still_dirty()
        uses, absent, misses, uses_2, misses_2 = (int(n) for n in caches.counts.sum(axis=0)[:5])
        levels = (
            LevelTally(uses - absent - misses, misses),
            LevelTally(uses_2 - misses_2, misses_2),
        )
        regions = tuple(
            _tally(caches, number, region, int(dirty[number]))
            for number, region in enumerate(caches.trace.regions)
        )
        _, *numbers = (field.name for field in fields(RegionTally))
        sums: dict[str, Any] = {n: sum(getattr(tally, n) for tally in regions) for n in numbers}
        return Simulated(
            name=caches.trace.name,
            **sums,
            regions=regions,
            levels=levels[: len(caches.levels)],
            iterations_simulated=self.iterations_simulated,
            iterations_repeated=self.iterations_repeated,
            of_inputs=caches.trace.of_inputs,
        )


def _unrolled(chunk: Chunk) -> Chunk:
    """A chunk with repeated rows written out."""
    lines = np.repeat(chunk.lines, chunk.times, axis=0)
    return replace(chunk, lines=lines, times=np.ones(len(lines), np.int32))


def _tally(caches: Caches, number: int, region: MemoryRegion, dirty_lines: int) -> RegionTally:
    """The outcome of a region's accesses; dirty_lines: lines still to be written back."""
    read, write = caches.counts[2 * number], caches.counts[2 * number + 1]
    reads, writes = (int(counts[USES] - counts[ABSENT]) for counts in (read, write))
    line_bytes = caches.memory.levels[-1].line_bytes
    written = writes * region.element_bytes
    if caches.memory.allocate:
        written = (int(write[BACKS]) + dirty_lines) * line_bytes
    return RegionTally(
        region.name,
        reads,
        reads - int(read[MISSES]),
        writes,
        writes - int(write[MISSES]),
        (reads + writes) * region.element_bytes,
        int(read[FILLS] + write[FILLS]) * line_bytes,
        written,
    )


# Plans -------------------------------------------------------------------------------------------


def plan_trace(
    plan: Plan, line_bytes: int, access: Access = DEFAULT_ACCESS, replay: Replay | None = None
) -> AccessTrace:
    """The accesses of a validated plan, in lines of `line_bytes` bytes.

    replay: runs a plan that draws, if its lookups depend on data.

    A plan of dispatches has no raster order, no texture layout and no fragments in flight. Raises
    InputError if `access` chooses any for such a plan. Accesses that depend on data raise
    DependentError without replay, and PlanError in a kernel.
    """
    if not plan.dispatches:
        return trace_fragments(plan, access, line_bytes=line_bytes, replay=replay)
    if access != DEFAULT_ACCESS:
        raise InputError(
            f"{plan.name} dispatches kernels, which have neither a raster order nor quads nor a "
            "texture layout, and no fragments in flight; leave --raster, --quads, --in-flight and "
            "--layout out"
        )
    return trace_kernels(plan, line_bytes=line_bytes)


def cache_run(
    plan: Plan,
    memory: Memory,
    access: Access = DEFAULT_ACCESS,
    replay: Replay | None = None,
    *,
    every_pass: bool = False,
    progress: Progress = lambda _: None,
) -> Simulated:
    """Simulate a plan's accesses in a memory.

    access, replay: see `plan_trace`, which also tells of errors. every_pass, progress: see
    `simulate`.
    """
    trace = plan_trace(plan, memory.levels[0].line_bytes, access, replay)
    return simulate(trace, memory, every_pass=every_pass, progress=progress)


def memory_bytes(result: Simulated) -> int:
    """Bytes to and from memory, as opposed to bytes that instructions request."""
    return result.bytes_from_memory + result.bytes_to_memory


def operand_tallies(plan: Plan, result: Simulated) -> tuple[RegionTally, ...]:
    """The tallies of the textures that hold the operands."""
    operands = {source.texture for source in plan.inputs}
    return tuple(tally for tally in result.regions if tally.name in operands)


# Heat maps ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class HeatMap:
    """The reads of each fragment, and the number of them that hit.

    reads, hits: int64 [rows, columns] of the rectangle, row 0 the lowest.
    """

    reads: I64
    hits: I64

    @property
    def ratio(self) -> NDArray[np.float64]:
        """Hits over reads, float64 [rows, columns]; NaN if there were no reads."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.hits / self.reads


def heat_map(
    plan: Plan,
    memory: Memory,
    access: Access = DEFAULT_ACCESS,
    replay: Replay | None = None,
    *,
    progress: Progress = lambda _: None,
) -> tuple[Simulated, HeatMap]:
    """Where the reads of a plan hit level 1, over all passes; every pass is simulated.

    The fragments are those of the rectangle drawn last, and the map counts the reads of all passes
    that draw a rectangle of its size. Raises InputError as plan_trace does, and for a plan that
    draws nothing.
    """
    trace = plan_trace(plan, memory.levels[0].line_bytes, access, replay)
    counter = _FragmentCounter(plan, access)
    result = simulate(trace, memory, progress=progress, misses=counter.add)
    return result, counter.heat_map()


_BYTES_A_FRAGMENT = 48
"""Its x and y as int32 and as int64, its reads and hits."""


class _FragmentCounter:
    """Counts each fragment's reads and hits."""

    def __init__(self, plan: Plan, access: Access) -> None:
        drawn = [
            now.drawn
            for times, pass_ in plan.weighted_passes()
            if isinstance(now := at_iteration(pass_, times - 1), FragmentPass)
        ]
        if not drawn:
            raise InputError(f"{plan.name} draws no fragments, so there is nothing to map")
        self.lanes, self.counted = access.lanes, 0
        self.pass_: PassTrace | None = None
        width, height = self.size = drawn[-1].width, drawn[-1].height
        require_memory(
            _BYTES_A_FRAGMENT * width * height,
            f"a heat map of {width * height} fragments",
            "map a smaller plan",
        )
        quads = access.quads
        side = 2 if quads else 1
        places = access.raster.positions(width, height, quads=quads)
        self.xs, self.ys = (side * along for along in places)
        # With a margin for the fragments of a quad outside the rectangle.
        self.reads, self.hits = np.zeros((2, height + quads, width + quads), np.int64)

    def add(self, pass_: PassTrace, chunk: Chunk, hits: NDArray[np.uint8]) -> None:
        """Count the reads of a chunk, whose rows come after those of the pass's earlier chunks."""
        if pass_.drawn != self.size:
            return
        first = self.counted if pass_ is self.pass_ else 0
        self.pass_, self.counted = pass_, first + len(chunk.lines) * chunk.together
        ys, xs = self.ys[first : self.counted], self.xs[first : self.counted]
        reads = (chunk.lines != NO_ACCESS) & (chunk.kinds % 2 == 0)
        for counts, counted in (self.reads, reads), (self.hits, reads & (hits > 0)):
            of_turns = counted.reshape(len(reads), -1, chunk.together, self.lanes).sum(axis=1)
            for (right, up), number in zip(QUAD, of_turns.reshape(-1, self.lanes).T, strict=False):
                counts[ys + up, xs + right] += number  # no two of these places are the same

    def heat_map(self) -> HeatMap:
        """The reads and hits of each fragment, as counted."""
        width, height = self.size
        return HeatMap(self.reads[:height, :width], self.hits[:height, :width])
