"""Simulates a trace in one or two levels of cache, access by access, exactly.

Repeated rows are counted instead of simulated (drive.py), and so are iterations that are proven to
repeat earlier ones (repeats.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.caches import Memory
from gpgpu_legacy.cache.drive import ABSENT, BACKS, FILLS, MISSES, USES
from gpgpu_legacy.cache.machine import Caches
from gpgpu_legacy.cache.repeats import Anchor, Periods
from gpgpu_legacy.cache.trace import AccessTrace, Chunk, MemoryRegion, PassTrace, Step
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.memory import require_memory

OnMisses = Callable[[PassTrace, Chunk, NDArray[np.uint8]], None]
"""Called with a pass, a chunk of it, and whether each access hit level 1: uint8 [rows, slots], 1 or
0 (also 0 where there is no access). Repeated rows of the pass are written out."""

Progress = Callable[[float], object]
"""Called with the fraction of a simulation that is done; it may raise to stop."""

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
    """The outcome of a trace.

    iterations: of all steps. `iterations_repeated` of them were proven to repeat others and
    multiplied.
    """

    regions: tuple[RegionTally, ...]
    levels: tuple[LevelTally, ...]
    iterations_simulated: int
    iterations_repeated: int

    @property
    def iterations(self) -> int:
        return self.iterations_simulated + self.iterations_repeated

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
    require_memory(
        _simulation_bytes(trace, memory),
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


def _simulation_bytes(trace: AccessTrace, memory: Memory) -> int:
    """About how many bytes a simulation takes."""
    copies = max(1, len(trace.regions)) if memory.per_texture else 1
    return _LINE_BYTES * sum(
        cache.lines * (1 if number else copies) for number, cache in enumerate(memory.levels)
    )


_LINE_BYTES = 64


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
            chunks = pass_.chunks()
            if self.misses is not None:
                chunks = chain.from_iterable(map(_unrolled, chunks))
            for chunk in chunks:
                before = self.caches.accesses()
                hits = self.caches.run(chunk, mapped=self.misses is not None)
                if self.misses is not None:
                    self.misses(pass_, chunk, hits)
                ran += self.caches.accesses() - before
                self.reached = self.done + self.share * (iteration + ran / whole) / step.count
                self.progress(min(1.0, self.reached))
        self.iterations_simulated += 1

    def _multiplied(self, anchor: Anchor, periods: Periods) -> int:
        """The number of iterations after the anchor's period that are proven to repeat it."""
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
        caches.restore(after)
        self.iterations_repeated += times * anchor.period
        return times * anchor.period

    def result(self) -> Simulated:
        caches = self.caches
        dirty = caches.still_dirty()
        return Simulated(
            regions=tuple(
                _tally(caches, number, region, int(dirty[number]))
                for number, region in enumerate(caches.trace.regions)
            ),
            levels=_level_tallies(caches),
            iterations_simulated=self.iterations_simulated,
            iterations_repeated=self.iterations_repeated,
        )


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
