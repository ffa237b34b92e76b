"""Simulates a trace in one or two levels of cache, access by access, exactly.

Repeated rows are counted instead of simulated (drive.py), and so are iterations that are proven to
repeat earlier ones (repeats.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.caches import Memory
from gpgpu_legacy.cache.drive import ABSENT, BACKS, FILLS, MISSES, USES
from gpgpu_legacy.cache.machine import Caches
from gpgpu_legacy.cache.repeats import Anchor, Futures, Periods, regions_after
from gpgpu_legacy.cache.trace import AccessTrace, Chunk, MemoryRegion, PassTrace, Step
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.memory import require_memory

OnMisses = Callable[[PassTrace, Chunk, NDArray[np.uint8]], None]
"""Called with a pass, a chunk of it, and whether each access hit level 1: uint8 [rows, slots], 1 or
0 (also 0 where there is no access). Repeated rows of the pass are written out."""

_MOST_LINES = 1 << 18  # of a chunk whose repeated rows are written out: 2 MB, like a maker's chunk


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class LevelTally:
    """Lookups in one level.

    Level 1 sees the accesses. Level 2 sees the lines that level 1 fills, the writes that go through
    it, and with allocation the dirty lines that it evicts.
    """

    hits: int
    misses: int


@dataclass(frozen=True, slots=True)
class Simulated:
    """The outcome of a trace. It counts only accesses that were simulated or proven to repeat.

    iterations: of all steps. `iterations_repeated` of them were proven to repeat others and
    multiplied; `iterations_left_out` were not finished because the budget was spent; so were the
    passes and accesses left out.
    """

    regions: tuple[RegionTally, ...]
    levels: tuple[LevelTally, ...]
    iterations: int
    iterations_simulated: int
    iterations_repeated: int
    iterations_left_out: int
    passes_left_out: int
    accesses_left_out: int

    @property
    def exact(self) -> bool:
        """Whether nothing was left out."""
        return not self.iterations_left_out

    @property
    def accesses(self) -> int:
        return sum(tally.accesses for tally in self.regions)

    @property
    def hits(self) -> int:
        return sum(tally.hits for tally in self.regions)

    @property
    def misses(self) -> int:
        return self.accesses - self.hits

    @property
    def hit_ratio(self) -> float:
        """Hits over accesses; 0 without accesses."""
        return self.hits / self.accesses if self.accesses else 0.0

    @property
    def bytes_requested(self) -> int:
        return sum(tally.bytes_requested for tally in self.regions)

    @property
    def bytes_from_memory(self) -> int:
        return sum(tally.bytes_from_memory for tally in self.regions)

    @property
    def bytes_to_memory(self) -> int:
        return sum(tally.bytes_to_memory for tally in self.regions)


def simulate(
    trace: AccessTrace,
    memory: Memory,
    *,
    every_pass: bool = False,
    budget_s: float | None = None,
    progress: Callable[[float], None] | None = None,
    misses: OnMisses | None = None,
) -> Simulated:
    """Simulate a trace in caches that are empty at its start.

    every_pass: also simulate iterations that are proven to repeat others. budget_s: seconds after
    which to stop between two chunks; the result says what was left out. progress: called with the
    fraction done, from 0 to 1. misses: called with each chunk's hits; every pass is then simulated.
    Raises InputError if a cache's lines are shorter than the trace's.
    """
    shortest = memory.levels[0].line_bytes
    if shortest < trace.line_bytes:
        raise InputError(
            f"a cache line of {shortest} bytes is shorter than the trace's lines of "
            f"{trace.line_bytes}: give the cache longer lines, or the trace shorter ones"
        )
    deadline = None if budget_s is None else monotonic() + budget_s
    require_memory(
        _simulation_bytes(trace, memory, watched=not every_pass and misses is None),
        f"the simulation of {trace.name} in a cache",
        "simulate a smaller plan, smaller caches, or every pass (--every-pass)",
    )
    run = _Run(Caches(trace, memory), deadline, progress, misses)
    run.repeats = not every_pass and misses is None and run.caches.repeatable
    weights = [float(step.count and step.count * step.accesses(0)) for step in trace.steps]
    later = regions_after(trace.steps)
    for number, step in enumerate(trace.steps):
        whole = sum(weights) or 1.0
        run.done, run.share = sum(weights[:number]) / whole, weights[number] / whole
        run.step(step, later[number])
    if progress is not None:
        progress(1.0)
    return run.result(sum(step.count for step in trace.steps))


def _simulation_bytes(trace: AccessTrace, memory: Memory, *, watched: bool) -> int:
    """About how many bytes a simulation takes.

    watched: whether to look for iterations that repeat others, which takes a mark, a number and
    sometimes a list of its own for every line of the trace.
    """
    copies = max(1, len(trace.regions)) if memory.per_texture else 1
    lines = sum(
        cache.lines * (1 if number else copies) for number, cache in enumerate(memory.levels)
    )
    return _LEVEL_BYTES * lines + watched * _WATCHED_BYTES * (trace.end // trace.line_bytes)


_LEVEL_BYTES, _WATCHED_BYTES = 64, 13  # a line


# Running -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Run:
    """A simulation in progress.

    done, share: the fraction before this step, and of this step. reached: the number of its
    iterations that were simulated, multiplied, or begun when the budget was spent.
    """

    caches: Caches
    deadline: float | None
    progress: Callable[[float], None] | None
    misses: OnMisses | None
    repeats: bool = False
    futures: Futures | None = None
    done: float = 0.0
    share: float = 0.0
    over: bool = False
    reached: int = 0
    iterations_simulated: int = 0
    iterations_repeated: int = 0
    passes_left_out: int = 0
    accesses_left_out: int = 0

    def step(self, step: Step, later: frozenset[int] | None) -> None:
        """Simulate the iterations of a step, or multiply proven ones; later: as in Futures."""
        self.reached = 0
        try:
            self._iterations(step, later)
        except _TimeIsOverError:
            self.over = True
        self._leave_out(step)

    def _iterations(self, step: Step, later: frozenset[int] | None) -> None:
        if self.over:
            return
        periods = Periods(step, self.caches, self._check_time)
        futures = Futures(periods, later, self.caches)
        anchor: Anchor | None = None
        while self.reached < step.count and not self.over:
            iteration = self.reached
            new = futures.to_watch(iteration) if self.repeats else []
            self.futures = futures if new else None
            self._iteration(step, iteration)
            self.reached += 1
            if self.over:
                return
            if new:
                futures.watched(iteration, new)
            if self.repeats:
                if anchor is not None and iteration == anchor.iteration + anchor.period:
                    times = self._multiplied(anchor, periods, futures)
                    iteration, anchor = iteration + times, None
                    self.reached += times
                if anchor is None and (period_moves := periods.after(iteration)):
                    period, moves = period_moves
                    counts = self.caches.counts.copy()
                    anchor = Anchor(iteration, period, moves, self.caches.state(), counts)

    def _leave_out(self, step: Step) -> None:
        """Count the iterations from the one reached on as left out."""
        for iteration in range(self.reached, step.count):
            self.passes_left_out += len(step.passes(iteration))
            self.accesses_left_out += step.accesses(iteration)

    def _iteration(self, step: Step, iteration: int) -> None:
        whole = step.accesses(iteration) or 1
        before = 0
        for pass_ in step.passes(iteration):
            ran = 0
            for count in self._pass(pass_):
                ran += count
                self._report((iteration + (before + ran) / whole) / step.count)
            before += pass_.accesses
            if self.over:
                self.passes_left_out += 1
                self.accesses_left_out += pass_.accesses - ran
        self.iterations_simulated += not self.over

    def _pass(self, pass_: PassTrace) -> Iterator[int]:
        """Simulate a pass until the budget is spent; yields each chunk's number of accesses."""
        if self._time_is_over():
            return
        chunks = pass_.chunks()
        for chunk in chunks if self.misses is None else chain.from_iterable(map(_unrolled, chunks)):
            if self._time_is_over():
                return
            before = self.caches.accesses()
            hits = self.caches.run(chunk, mapped=self.misses is not None)
            if self.futures is not None:
                self.futures.watch(chunk)
            if self.misses is not None:
                self.misses(pass_, chunk, hits)
            yield self.caches.accesses() - before

    def _time_is_over(self) -> bool:
        self.over = self.over or (self.deadline is not None and monotonic() >= self.deadline)
        return self.over

    def _check_time(self) -> None:
        if self._time_is_over():
            raise _TimeIsOverError

    def _report(self, fraction: float) -> None:
        if self.progress is not None:
            self.progress(min(1.0, self.done + self.share * fraction))

    def _multiplied(self, anchor: Anchor, periods: Periods, futures: Futures) -> int:
        """The number of iterations after the anchor's period that are proven to repeat it."""
        caches = self.caches
        iteration = anchor.iteration + anchor.period
        times = periods.repeated(iteration, anchor.period, anchor.moves) // anchor.period
        if not times:
            return 0
        states = caches.state()
        seen = futures.seen(states, iteration)
        before = caches.moved(futures.seen(anchor.states, anchor.iteration), anchor.moves)
        if before is None:
            return 0
        if any(not np.array_equal(a, b) for a, b in zip(before, seen, strict=True)):
            return 0
        stay = [now < 0 for now in seen]
        after = caches.moved(states, anchor.moves, times, stay)
        if after is None:
            return 0
        caches.counts += times * (caches.counts - anchor.counts)
        caches.restore(after)
        self.iterations_repeated += times * anchor.period
        return times * anchor.period

    def result(self, iterations: int) -> Simulated:
        caches = self.caches
        dirty = caches.still_dirty()
        return Simulated(
            regions=tuple(
                _tally(caches, number, region, int(dirty[number]))
                for number, region in enumerate(caches.trace.regions)
            ),
            levels=_level_tallies(caches),
            iterations=iterations,
            iterations_simulated=self.iterations_simulated,
            iterations_repeated=self.iterations_repeated,
            iterations_left_out=iterations - self.iterations_simulated - self.iterations_repeated,
            passes_left_out=self.passes_left_out,
            accesses_left_out=self.accesses_left_out,
        )


class _TimeIsOverError(Exception):
    """Raised if the budget is spent while iterations are compared."""


def _unrolled(chunk: Chunk) -> Iterator[Chunk]:
    """A chunk with repeated rows written out, as several chunks if it is long."""
    rows = np.repeat(np.arange(len(chunk.times)), chunk.times)
    batches = _MOST_LINES // max(1, len(chunk.kinds)) // chunk.in_flight
    most = max(1, batches) * chunk.in_flight
    for first in range(0, len(rows), most):
        lines = chunk.lines[rows[first : first + most]]
        yield replace(chunk, lines=lines, times=np.ones(len(lines), np.int32))


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


def _level_tallies(caches: Caches) -> tuple[LevelTally, ...]:
    uses, absent, misses, uses_2, misses_2 = (int(n) for n in caches.counts.sum(axis=0)[:5])
    first = LevelTally(uses - absent - misses, misses)
    second = LevelTally(uses_2 - misses_2, misses_2)
    return (first, second)[: len(caches.levels)]
