"""Iterations of a step that repeat earlier ones: the proof, and its consequences.

Let d be the shift, in bytes, of each region's addresses from iteration i to iteration i + p (from
`Step.shifts`). Let the map that moves each region's lines by its d send whole lines to whole lines
and sets to sets: each d is a multiple of the line, and if regions share a cache all d are the same
modulo its sets × line. Assume that the state after iteration i + p is the state after iteration i
moved by this map (lines in order, dirty bits), that iteration i + p + 1 is iteration i + 1 moved,
and so on. Then every lookup of these iterations has the outcome of the one p iterations earlier,
and leaves that iteration's state, moved: the map is one to one on the lines (each stays in its
region, which is checked) and commutes with lookup, order of use, order of arrival and eviction. So
the counts of whole periods of p iterations are multiplied, and the state is moved accordingly.

Fragments in flight do not change this. They permute the accesses of a pass, in a way that depends
on its rectangle, its raster order and the number in flight, not on addresses and so not on the
iteration. Two iterations that are moved copies of each other stay so in any such order.

Lines that no later access touches need not agree. Their only effect is to come before others in
their set, so it is enough that the two states have such a line in the same place. After the last
line that will be touched, where they are the next to be evicted, an empty way is equivalent (but
not with pseudo-LRU, whose empty ways lie anywhere). This holds only for clean lines, since dirty
lines are written back. When the state is moved, these lines stay as they are. `Futures` finds them
from the lines that the first iterations touch, moved by the shifts.

If evictions are random, every iteration is simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.machine import Caches
from gpgpu_legacy.cache.sets import EMPTY
from gpgpu_legacy.cache.trace import Chunk, Step

_SEARCHES = 16
"""The most pairs of iterations compared for a period, for each iteration of a step."""

_DEAD = -4
"""An entry of a state that replaces a clean line that no later access touches."""


@dataclass(frozen=True, slots=True, eq=False)
class Anchor:
    """The state and counts after an iteration, to be compared with those `period` later."""

    iteration: int
    period: int
    moves: Mapping[int, int]
    states: list[NDArray[np.int64]]
    counts: NDArray[np.int64]


class Periods:
    """Finds iterations of a step that are shifted copies of others, by its `shifts`."""

    def __init__(self, step: Step, caches: Caches, check: Callable[[], object]) -> None:
        """check: called while iterations are compared; it may raise to stop."""
        self.step, self.caches, self.check = step, caches, check
        self.searches_left = _SEARCHES * step.count
        self.known: dict[int, dict[int, int] | None] = {}

    @property
    def possible(self) -> bool:
        """Whether the step is long enough: one iteration, then a period and its repetition."""
        return self.step.count > 2

    def after(self, iteration: int) -> tuple[int, dict[int, int]] | None:
        """The shortest period that may repeat from this iteration on, and its moves in bytes."""
        for period in range(1, (self.step.count - 1 - iteration) // 2 + 1):
            if self.shifts(iteration) is None or self.searches_left <= 0:
                return None
            self.searches_left -= 1
            self.check()
            moves = self._moves(iteration, period)
            if moves is not None and self.caches.maps(moves):
                return period, moves
        return None

    def repeated(self, iteration: int, period: int, moves: Mapping[int, int]) -> int:
        """The number of iterations after this one that repeat those a period earlier, moved so."""
        after = iteration + 1
        while after < self.step.count and self._moves(after - period, period) == moves:
            after += 1
        return after - iteration - 1

    def shifts(self, iteration: int) -> dict[int, int] | None:
        """The step's shifts of an iteration, computed once."""
        if iteration not in self.known:
            self.check()
            self.known[iteration] = self.step.shifts(iteration)
        return self.known[iteration]

    def _moves(self, iteration: int, period: int) -> dict[int, int] | None:
        """The bytes by which each region is moved from an iteration to the one a period later."""
        here, there = self.shifts(iteration), self.shifts(iteration + period)
        if here is None or there is None:
            return None
        return {number: there.get(number, 0) - here.get(number, 0) for number in here | there}


class Futures:
    """Finds the lines that later iterations of a step touch, and later steps.

    An iteration touches the lines of an earlier one, moved, if the two shifts of a region differ by
    whole lines. So the first iteration of each remainder is watched.
    """

    def __init__(self, periods: Periods, later: frozenset[int] | None, caches: Caches) -> None:
        """later: the regions that later steps access; None if one of them is unknown."""
        self.periods, self.caches = periods, caches
        self.line_bytes = caches.trace.line_bytes
        self.later = later
        longest = caches.memory.levels[-1].line_bytes
        self.marks = np.zeros(
            (-(-caches.trace.end // longest) + 1) * longest // self.line_bytes, "u1"
        )
        self.touched: dict[tuple[int, int], NDArray[np.int64]] = {}
        self.last: NDArray[np.int32] | None = None

    def to_watch(self, iteration: int) -> list[int]:
        """The regions whose lines in this iteration are not known yet."""
        if not self.periods.possible or self.last is not None:
            return []
        shifts = self.periods.shifts(iteration) or {}
        return [n for n, by in shifts.items() if (n, by % self.line_bytes) not in self.touched]

    def watch(self, chunk: Chunk) -> None:
        """Record the lines that an iteration touches; call it with each chunk."""
        self.marks[chunk.lines[chunk.lines >= 0]] = 1

    def watched(self, iteration: int, regions: Sequence[int]) -> None:
        """Keep the lines watched in these regions, relative to the smallest shift."""
        shifts = self.periods.shifts(iteration)
        assert shifts is not None
        for number in regions:
            start, end = self._lines(number)
            lines, left = divmod(shifts[number], self.line_bytes)
            self.touched[number, left] = start + np.flatnonzero(self.marks[start:end]) - lines
        self.marks[:] = 0

    def seen(self, states: Sequence[NDArray[np.int64]], iteration: int) -> list[NDArray[np.int64]]:
        """The states after an iteration, without differences that no later iteration can see."""
        if self.last is None:
            self.last = self._last_iterations()
        return [self._seen(number, state, iteration) for number, state in enumerate(states)]

    def _seen(self, level: int, state: NDArray[np.int64], iteration: int) -> NDArray[np.int64]:
        assert self.last is not None
        cache = self.caches.memory.levels[level]
        granules = cache.line_bytes // self.line_bytes
        taken = state >= 0
        first = np.where(taken, state >> 1, 0) * granules
        live = np.zeros(state.shape, np.bool_)
        for granule in range(granules):
            live |= self.last[first + granule] > iteration
        seen = np.where(taken & ~live & (state & 1 == 0), _DEAD, state)
        if cache.policy.has_trees:
            return seen
        gone = (seen == EMPTY) | (seen == _DEAD)
        behind = np.logical_and.accumulate(gone[:, ::-1], axis=1)[:, ::-1]
        seen[behind] = EMPTY
        return seen

    def _lines(self, number: int) -> tuple[int, int]:
        """The first line of the trace in a region, and the first one after it."""
        region = self.caches.trace.regions[number]
        return region.base // self.line_bytes, -(-region.end // self.line_bytes)

    def _last_iterations(self) -> NDArray[np.int32]:
        """The last iteration that touches each line of the trace, int32 [lines]; -1 for none.

        It is the step's count if later steps may touch the line, or are unknown.
        """
        last = np.full(len(self.marks), -1, np.int32)
        count = self.periods.step.count
        shifts = [self.periods.shifts(iteration) for iteration in range(count)]
        for number in range(len(self.caches.trace.regions)):
            start, end = self._lines(number)
            iterations = {
                by[number]: iteration for iteration, by in enumerate(shifts) if by and number in by
            }
            known = all((number, shift % self.line_bytes) in self.touched for shift in iterations)
            if self.later is None or number in self.later or None in shifts or not known:
                last[start:end] = count
                continue
            for shift, iteration in sorted(iterations.items(), key=lambda item: item[1]):
                lines, left = divmod(shift, self.line_bytes)
                last[self.touched[number, left] + lines] = iteration
        return last


def regions_after(steps: Sequence[Step]) -> list[frozenset[int] | None]:
    """The regions that the steps after each one access, by their shifts.

    None if one of them has no shifts.
    """
    after: list[frozenset[int] | None] = [frozenset()]
    for step in reversed(steps[1:]):
        shifts, later = step.shifts(0), after[-1]
        if step.count:
            later = later | shifts.keys() if later is not None and shifts else None
        after.append(later)
    return after[::-1]
