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

If evictions are random, every iteration is simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.machine import Caches
from gpgpu_legacy.cache.trace import Step

_SEARCHES = 16
"""The most pairs of iterations compared for a period, for each iteration of a step."""


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
