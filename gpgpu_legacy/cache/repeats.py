"""Turns of a step that say the same again: when that is proven, and what is then known.

Let d be by how many bytes each region's addresses in turn i + p are those of turn i moved (from
`Step.shifts`), and let the map that moves each region's lines by its d send whole lines to whole
lines and sets to sets: each d is a multiple of the line, and where regions share a cache all d are
the same modulo its sets × line. If then the state after turn i + p is the state after turn i so
moved (lines in order, dirty bits), and turn i + p + 1 is turn i + 1 so moved, and so on, then every
lookup of these has the outcome of the one p turns before, and leaves the state of p turns before,
moved: the map is one to one on the lines (each stays in its region, which is checked) and commutes
with lookup, order of use, order of arrival and eviction. So whole periods of p turns are multiplied
and the state is moved as often.

Lines that nothing will touch again need not be alike: which they are decides nothing any more. What
they still do is to stand before others in their set, so where each of two states has such a line
the states agree; and behind the last line that will be touched, where they are the next to go, an
empty way does as well. That holds of clean lines alone, since a dirty one is written back. Where
the state is moved these lines are left as they are. `Futures` knows them, from the lines that the
first turns touch, moved as the shifts say.

With random replacement no turn is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.machine import Machine
from gpgpu_legacy.cache.sets import EMPTY
from gpgpu_legacy.cache.trace import Chunk, Step
from gpgpu_legacy.lower.numba_code import native

_SEARCHES = 16
"""How many pairs of turns are compared for a period, for each turn of a step."""

_DEAD = -4
"""An entry of a state, in place of a clean line that nothing will touch again."""


@dataclass(frozen=True, slots=True, eq=False)
class Anchor:
    """The state and counts after a turn, to be held against those `period` turns later."""

    turn: int
    period: int
    moves: Mapping[int, int]
    states: list[NDArray[np.int64]]
    counts: NDArray[np.int64]


class Periods:
    """Which turns of a step are others moved, as its `shifts` say."""

    def __init__(self, step: Step, machine: Machine) -> None:
        self.step, self.machine = step, machine
        self.searches_left = _SEARCHES * step.count
        self.known: dict[int, dict[int, int] | None] = {}

    @property
    def possible(self) -> bool:
        """Whether the step is long enough: a period, one that repeats it, and a turn before."""
        return self.step.count > 2

    def after(self, turn: int) -> tuple[int, dict[int, int]] | None:
        """The least period that could be multiplied from this turn on, and its moves in bytes."""
        for period in range(1, (self.step.count - 1 - turn) // 2 + 1):
            if self.shifts(turn) is None or self.searches_left <= 0:
                return None
            self.searches_left -= 1
            moves = self._moves(turn, period)
            if moves is not None and self.machine.maps(moves):
                return period, moves
        return None

    def repeated(self, turn: int, period: int, moves: Mapping[int, int]) -> int:
        """How many turns after this one are those a period before them, so moved."""
        after = turn + 1
        while after < self.step.count and self._moves(after - period, period) == moves:
            after += 1
        return after - turn - 1

    def shifts(self, turn: int) -> dict[int, int] | None:
        """The step's shifts of a turn, asked for once."""
        if turn not in self.known:
            self.known[turn] = self.step.shifts(turn)
        return self.known[turn]

    def _moves(self, turn: int, period: int) -> dict[int, int] | None:
        """By how many bytes each region is moved from a turn to the one a period later."""
        here, there = self.shifts(turn), self.shifts(turn + period)
        if here is None or there is None:
            return None
        return {number: there.get(number, 0) - here.get(number, 0) for number in here | there}


class Futures:
    """Which lines later turns of a step touch, and later steps.

    A turn touches the lines that an earlier one does, moved, where the two shifts of a region
    differ by whole lines. So the first turn of each remainder is watched.
    """

    def __init__(self, periods: Periods, later: Sequence[Step], machine: Machine) -> None:
        self.periods, self.machine = periods, machine
        self.line_bytes = machine.trace.line_bytes
        self.later = _regions_of(later)
        end = max((r.base + r.size_bytes for r in machine.trace.regions), default=0)
        longest = machine.memory.levels[-1].line_bytes
        self.marks = np.zeros((-(-end // longest) + 1) * longest // self.line_bytes, "u1")
        self.touched: dict[tuple[int, int], NDArray[np.int64]] = {}
        self.last: NDArray[np.int32] | None = None

    def to_watch(self, turn: int) -> list[int]:
        """The regions of which a turn shows something new."""
        if not self.periods.possible or self.last is not None:
            return []
        shifts = self.periods.shifts(turn) or {}
        return [n for n, by in shifts.items() if (n, by % self.line_bytes) not in self.touched]

    def watch(self, chunk: Chunk) -> None:
        """Take note of what a turn touches; to be called with each of its chunks."""
        _mark(np.ascontiguousarray(chunk.lines, np.int64), self.marks)

    def watched(self, turn: int, regions: Sequence[int]) -> None:
        """Keep what was watched of these regions, as the lines of a turn of the least shift."""
        shifts = self.periods.shifts(turn)
        assert shifts is not None
        for number in regions:
            start, end = self._lines(number)
            lines, left = divmod(shifts[number], self.line_bytes)
            self.touched[number, left] = start + np.flatnonzero(self.marks[start:end]) - lines
        self.marks[:] = 0

    def seen(self, states: Sequence[NDArray[np.int64]], turn: int) -> list[NDArray[np.int64]]:
        """The states after a turn, as far as they make a difference to those after it."""
        if self.last is None:
            self.last = self._last_turns()
        return [self._seen(number, state, turn) for number, state in enumerate(states)]

    def _seen(self, level: int, state: NDArray[np.int64], turn: int) -> NDArray[np.int64]:
        assert self.last is not None
        granules = self.machine.memory.levels[level].line_bytes // self.line_bytes
        taken = state >= 0
        first = np.where(taken, state >> 1, 0) * granules
        live = np.zeros(state.shape, np.bool_)
        for granule in range(granules):
            live |= self.last[first + granule] > turn
        seen = np.where(taken & ~live & (state & 1 == 0), _DEAD, state)
        gone = (seen == EMPTY) | (seen == _DEAD)
        behind = np.logical_and.accumulate(gone[:, ::-1], axis=1)[:, ::-1]
        seen[behind] = EMPTY
        return seen

    def _lines(self, number: int) -> tuple[int, int]:
        """The first line of the trace in a region, and the first one behind it."""
        region = self.machine.trace.regions[number]
        end = region.base + region.size_bytes
        return region.base // self.line_bytes, -(-end // self.line_bytes)

    def _last_turns(self) -> NDArray[np.int32]:
        """Of each line of the trace the last turn that touches it, int32 [lines]; -1 for none.

        The step's count, which no turn is, where later steps may, or nothing is known.
        """
        last = np.full(len(self.marks), -1, np.int32)
        count = self.periods.step.count
        shifts = [self.periods.shifts(turn) for turn in range(count)]
        for number in range(len(self.machine.trace.regions)):
            start, end = self._lines(number)
            turns = {by[number]: turn for turn, by in enumerate(shifts) if by and number in by}
            known = all((number, shift % self.line_bytes) in self.touched for shift in turns)
            if self.later is None or number in self.later or None in shifts or not known:
                last[start:end] = count
                continue
            for shift, turn in sorted(turns.items(), key=lambda item: item[1]):
                lines, left = divmod(shift, self.line_bytes)
                last[self.touched[number, left] + lines] = turn
        return last


def _regions_of(steps: Sequence[Step]) -> set[int] | None:
    """The regions that steps access, as they say themselves; None where one does not say."""
    accessed = [step.shifts(0) for step in steps if step.count]
    if not all(accessed):
        return None
    return {number for each in accessed if each for number in each}


@native
def _mark(lines: NDArray[np.int64], marks: NDArray[np.uint8]) -> None:
    rows, slots = lines.shape
    for row in range(rows):
        for slot in range(slots):
            if lines[row, slot] >= 0:
                marks[lines[row, slot]] = 1
