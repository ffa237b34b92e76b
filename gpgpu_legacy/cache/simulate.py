"""A trace's accesses through one or two levels of cache, one after another, exactly.

Rows that say the same again are counted (drive.py), and so are turns (repeats.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.caches import Memory
from gpgpu_legacy.cache.drive import ABSENT, BACKS, FILLS, MISSES, USES
from gpgpu_legacy.cache.machine import Machine
from gpgpu_legacy.cache.repeats import Anchor, Futures, Periods
from gpgpu_legacy.cache.trace import Chunk, Region, Step, Sweep, Trace
from gpgpu_legacy.errors import InputError

OnMisses = Callable[[Sweep, Chunk, NDArray[np.uint8]], None]
"""Gets a pass, a chunk of it, and of each access whether it hit level 1, uint8 [rows, slots]: 1 or
0 (0 too where there is none). Of a row with `times` it is the first go."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of a region's accesses; hits are those in level 1.

    bytes_requested: of all its accesses, element_bytes each. bytes_from_memory: of lines filled
    from memory for its accesses. bytes_to_memory: written through, or its lines written back.
    """

    name: str
    reads: int
    read_hits: int
    writes: int
    write_hits: int
    bytes_requested: int
    bytes_from_memory: int
    bytes_to_memory: int


@dataclass(frozen=True, slots=True)
class LevelTally:
    """Lookups of one level: accesses in level 1; what went on to it in level 2.

    To level 2 go the lines that level 1 fills, what is written through it, and with allocation the
    dirty lines that it evicts.
    """

    hits: int
    misses: int


@dataclass(frozen=True, slots=True)
class Result:
    """What a run of a trace found. Counts are of what ran or was proven to repeat, nothing else.

    turns: iterations of steps, of which `turns_repeated` were proven to repeat others and
    multiplied, and `turns_left_out` were not run to their end because the time was over; passes and
    accesses left out likewise.
    """

    regions: tuple[Tally, ...]
    levels: tuple[LevelTally, ...]
    turns: int
    turns_simulated: int
    turns_repeated: int
    turns_left_out: int
    passes_left_out: int
    accesses_left_out: int

    @property
    def exact(self) -> bool:
        """Whether nothing was left out."""
        return not self.turns_left_out

    @property
    def accesses(self) -> int:
        return sum(each.reads + each.writes for each in self.regions)

    @property
    def hits(self) -> int:
        return sum(each.read_hits + each.write_hits for each in self.regions)

    @property
    def misses(self) -> int:
        return self.accesses - self.hits

    @property
    def hit_ratio(self) -> float:
        """Hits over accesses; 0 where there are none."""
        return self.hits / self.accesses if self.accesses else 0.0

    @property
    def bytes_requested(self) -> int:
        return sum(each.bytes_requested for each in self.regions)

    @property
    def bytes_from_memory(self) -> int:
        return sum(each.bytes_from_memory for each in self.regions)

    @property
    def bytes_to_memory(self) -> int:
        return sum(each.bytes_to_memory for each in self.regions)


def simulate(
    trace: Trace,
    memory: Memory,
    *,
    every_pass: bool = False,
    budget_s: float | None = None,
    progress: Callable[[float], None] | None = None,
    misses: OnMisses | None = None,
) -> Result:
    """Run a trace through caches that are empty at its start.

    every_pass: carry out turns that are proven to repeat others, too. budget_s: stop between two
    chunks when so many seconds are over; what was left out is in the result. progress: gets the
    fraction that is done, from 0 to 1. misses: gets each chunk's hits; with it every pass is run.
    Raises InputError where a cache's lines are shorter than the trace's.
    """
    shortest = memory.levels[0].line_bytes
    if shortest < trace.line_bytes:
        raise InputError(
            f"a cache line of {shortest} bytes, where the trace has lines of {trace.line_bytes}: "
            "make the cache's longer, or the trace anew with shorter ones"
        )
    deadline = None if budget_s is None else monotonic() + budget_s
    run = _Run(Machine(trace, memory), deadline, progress, misses)
    run.repeats = not every_pass and misses is None and run.machine.repeatable
    weights = [float(step.count * _accesses(step, 0)) for step in trace.steps]
    for number, step in enumerate(trace.steps):
        whole = sum(weights) or 1.0
        run.done, run.share = sum(weights[:number]) / whole, weights[number] / whole
        run.step(step, trace.steps[number + 1 :])
    if progress is not None:
        progress(1.0)
    return run.result(sum(step.count for step in trace.steps))


# Running -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Run:
    """A run as it goes on; done, share: the fraction before this step, and this step's."""

    machine: Machine
    deadline: float | None
    progress: Callable[[float], None] | None
    misses: OnMisses | None
    repeats: bool = False
    futures: Futures | None = None
    done: float = 0.0
    share: float = 0.0
    over: bool = False
    turns_simulated: int = 0
    turns_repeated: int = 0
    passes_left_out: int = 0
    accesses_left_out: int = 0

    def step(self, step: Step, later: Sequence[Step]) -> None:
        """Carry out the turns of a step, or prove and multiply them; later: the steps after it."""
        periods = Periods(step, self.machine)
        futures = Futures(periods, later, self.machine)
        anchor: Anchor | None = None
        turn = 0
        while turn < step.count:
            new = futures.to_watch(turn) if self.repeats else []
            self.futures = futures if new else None
            self._turn(step, turn)
            if new:
                futures.watched(turn, new)
            if self.repeats and not self.over:
                if anchor is not None and turn == anchor.turn + anchor.period:
                    turn += self._multiplied(anchor, periods, futures)
                    anchor = None
                if anchor is None and (found := periods.after(turn)):
                    period, moves = found
                    counts = self.machine.counts.copy()
                    anchor = Anchor(turn, period, moves, self.machine.state(), counts)
            turn += 1

    def _turn(self, step: Step, turn: int) -> None:
        sweeps = step.turn(turn)
        whole = sum(sweep.accesses for sweep in sweeps) or 1
        before = 0
        for sweep in sweeps:
            ran = 0
            for count in self._sweep(sweep):
                ran += count
                self._report((turn + (before + ran) / whole) / step.count)
            before += sweep.accesses
            if self.over:
                self.passes_left_out += 1
                self.accesses_left_out += sweep.accesses - ran
        self.turns_simulated += not self.over

    def _sweep(self, sweep: Sweep) -> Iterator[int]:
        """Carry out a pass until the time is over; gives how many accesses each chunk had."""
        if self._time_is_over():
            return
        for chunk in sweep.chunks():
            if self._time_is_over():
                return
            before = self.machine.accesses()
            hits = self.machine.run(chunk, mapped=self.misses is not None)
            if self.futures is not None:
                self.futures.watch(chunk)
            if self.misses is not None:
                self.misses(sweep, chunk, hits)
            yield self.machine.accesses() - before

    def _time_is_over(self) -> bool:
        self.over = self.over or (self.deadline is not None and monotonic() >= self.deadline)
        return self.over

    def _report(self, fraction: float) -> None:
        if self.progress is not None:
            self.progress(min(1.0, self.done + self.share * fraction))

    def _multiplied(self, anchor: Anchor, periods: Periods, futures: Futures) -> int:
        """How many turns after the anchor's period were proven to repeat it, and were counted."""
        machine = self.machine
        turn = anchor.turn + anchor.period
        times = periods.repeated(turn, anchor.period, anchor.moves) // anchor.period
        if not times:
            return 0
        states = machine.state()
        seen = futures.seen(states, turn)
        before = machine.moved(futures.seen(anchor.states, anchor.turn), anchor.moves)
        if before is None:
            return 0
        if any(not np.array_equal(a, b) for a, b in zip(before, seen, strict=True)):
            return 0
        stay = [now < 0 for now in seen]
        after = machine.moved(states, anchor.moves, times, stay)
        if after is None:
            return 0
        machine.counts += times * (machine.counts - anchor.counts)
        machine.restore(after)
        self.turns_repeated += times * anchor.period
        return times * anchor.period

    def result(self, turns: int) -> Result:
        machine = self.machine
        dirty = machine.still_dirty()
        return Result(
            regions=tuple(
                _tally(machine, number, region, int(dirty[number]))
                for number, region in enumerate(machine.trace.regions)
            ),
            levels=_level_tallies(machine),
            turns=turns,
            turns_simulated=self.turns_simulated,
            turns_repeated=self.turns_repeated,
            turns_left_out=turns - self.turns_simulated - self.turns_repeated,
            passes_left_out=self.passes_left_out,
            accesses_left_out=self.accesses_left_out,
        )


def _accesses(step: Step, turn: int) -> int:
    """The accesses of a turn, or none where there is no such turn."""
    return sum(sweep.accesses for sweep in step.turn(turn)) if step.count else 0


def _tally(machine: Machine, number: int, region: Region, dirty_lines: int) -> Tally:
    """What became of a region's accesses; dirty_lines: of it, still to be written back."""
    read, write = machine.counts[2 * number], machine.counts[2 * number + 1]
    reads, writes = (int(each[USES] - each[ABSENT]) for each in (read, write))
    line_bytes = machine.memory.levels[-1].line_bytes
    written = writes * region.element_bytes
    if machine.memory.allocate:
        written = (int(write[BACKS]) + dirty_lines) * line_bytes
    return Tally(
        region.name,
        reads,
        reads - int(read[MISSES]),
        writes,
        writes - int(write[MISSES]),
        (reads + writes) * region.element_bytes,
        int(read[FILLS] + write[FILLS]) * line_bytes,
        written,
    )


def _level_tallies(machine: Machine) -> tuple[LevelTally, ...]:
    uses, absent, misses, uses_2, misses_2 = (int(n) for n in machine.counts.sum(axis=0)[:5])
    first = LevelTally(uses - absent - misses, misses)
    second = LevelTally(uses_2 - misses_2, misses_2)
    return (first, second)[: len(machine.levels)]
