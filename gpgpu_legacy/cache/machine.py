"""Caches with their contents, and the simulation of a chunk in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.access import AccessTrace, Chunk
from gpgpu_legacy.cache.caches import Memory
from gpgpu_legacy.cache.drive import (
    ABSENT,
    KEEP,
    THROUGH,
    USES,
    Work,
    drive,
    new_flight,
)
from gpgpu_legacy.cache.sets import new_level


class Caches:
    """Caches with their contents, and the counts so far."""

    def __init__(self, trace: AccessTrace, memory: Memory) -> None:
        """Empty caches."""
        copies = max(1, len(trace.regions)) if memory.per_texture else 1
        self.trace, self.memory = trace, memory
        self.levels = [
            new_level(
                cache, trace.line_bytes, copies=1 if number else copies, seed=memory.seed + number
            )
            for number, cache in enumerate(memory.levels)
        ]
        order = sorted(range(len(trace.regions)), key=lambda number: trace.regions[number].base)
        bases = [trace.regions[number].base // trace.line_bytes for number in order]
        self.starts = np.array(bases or [0], np.int64)
        self.owners = np.array(order or [0], np.int64)
        self.counts = np.zeros((2 * max(1, len(trace.regions)), 7), np.int64)

    @property
    def repeatable(self) -> bool:
        """Whether iterations may be multiplied: no line holds parts of two regions."""
        longest = self.memory.levels[-1].line_bytes
        regions = [self.trace.regions[number] for number in self.owners if self.trace.regions]
        return (
            not any(cache.policy.is_random for cache in self.memory.levels)
            and all(region.base % longest == 0 for region in regions)
            and all(a.end <= b.base for a, b in pairwise(regions))
        )

    def run(self, chunk: Chunk, *, mapped: bool) -> NDArray[np.uint8]:
        """Simulate a chunk; returns its hits if `mapped`, uint8 [rows, slots]."""
        lines = np.ascontiguousarray(chunk.lines, np.int64)
        times = np.ascontiguousarray(chunk.times, np.int32)
        hits = (lines >= 0).astype(np.uint8) if mapped else np.zeros((0, lines.shape[1]), np.uint8)
        kinds = chunk.kinds.astype(np.int64)
        flight = new_flight(times, len(kinds), chunk.in_flight, chunk.lanes)
        np.add.at(self.counts[:, USES], kinds, int(times.sum(dtype=np.int64)))
        copies = kinds >> 1 if self.memory.per_texture else np.zeros_like(kinds)
        acts = (kinds & 1) * (KEEP if self.memory.allocate else THROUGH)
        work = Work(
            *(lines, hits, kinds, acts, copies),
            through=np.flatnonzero(acts == THROUGH),
            last=np.zeros(len(kinds), np.int64),
            counts=self.counts,
            starts=self.starts,
            owners=self.owners,
            first=self.levels[0],
            second=self.levels[-1],
            two=len(self.levels) == 2,
            mapped=mapped,
        )
        drive(work, times, flight)
        return hits

    def accesses(self) -> int:
        """The number of accesses so far."""
        return int(self.counts[:, USES].sum() - self.counts[:, ABSENT].sum())

    def state(self) -> list[NDArray[np.int64]]:
        """The entries of each level in order, int64 [copies × sets, ways]; copies."""
        return [level.entries.copy() for level in self.levels]

    def restore(self, states: Sequence[NDArray[np.int64]]) -> None:
        for level, state in zip(self.levels, states, strict=True):
            level.entries[:] = state

    def maps(self, moves: Mapping[int, int]) -> bool:
        """Whether moving regions by these bytes moves whole lines to lines, and sets to sets."""
        for number, cache in enumerate(self.memory.levels):
            if any(move % cache.line_bytes for move in moves.values()):
                return False
            rotations = {move // cache.line_bytes % cache.sets for move in moves.values()}
            if len(rotations) > 1 and (number or not self.memory.per_texture):
                return False
        return True

    def moved(
        self,
        states: Sequence[NDArray[np.int64]],
        moves: Mapping[int, int],
        periods: int = 1,
    ) -> list[NDArray[np.int64]] | None:
        """States with each region's lines moved `periods` times; None if that is impossible.

        moves: in bytes, by region; other regions stay. It is impossible if a line would leave its
        region.
        """
        moved_states = []
        for number, (cache, state) in enumerate(zip(self.memory.levels, states, strict=True)):
            steps = np.zeros(max(1, len(self.trace.regions)), np.int64)
            for region, move in moves.items():
                steps[region] = move // cache.line_bytes * periods
            after = self._moved_lines(state, steps, cache.line_bytes)
            if after is None:
                return None
            if number or not self.memory.per_texture:
                shared = next((int(steps[region]) for region in moves), 0)
                moved_states.append(np.roll(after, shared % cache.sets, axis=0))
                continue
            parts = after.reshape(len(steps), cache.sets, cache.ways)
            for region, step in enumerate(steps):
                parts[region] = np.roll(parts[region], int(step) % cache.sets, axis=0)
            moved_states.append(parts.reshape(state.shape))
        return moved_states

    def _moved_lines(
        self,
        state: NDArray[np.int64],
        steps: NDArray[np.int64],
        line_bytes: int,
    ) -> NDArray[np.int64] | None:
        taken = state >= 0
        lines = state[taken] >> 1
        granules = line_bytes // self.trace.line_bytes
        owners = self._owners(lines * granules)
        after = lines + steps[owners]
        bases = np.array([region.base for region in self.trace.regions], np.int64)
        sizes = np.array([region.size_bytes for region in self.trace.regions], np.int64)
        for before_or_after in (lines, after):
            offsets = before_or_after * line_bytes - bases[owners]
            if np.any(offsets < 0) or np.any(offsets >= sizes[owners]):
                return None
        moved = state.copy()
        moved[taken] = (after << 1) | (state[taken] & 1)
        return moved

    def _owners(self, granules: NDArray[np.int64]) -> NDArray[np.int64]:
        """The region in which each line of the trace begins."""
        places = np.searchsorted(self.starts, granules, side="right") - 1
        return self.owners[np.maximum(places, 0)]

    def still_dirty(self) -> NDArray[np.int64]:
        """The dirty lines of each region that are still to be written back, int64 [regions].

        A dirty line of level 1 belongs to a line of the last level; each of these is written back
        once.
        """
        last = self.levels[-1]
        lines = []
        for level in self.levels:
            entries = level.entries[(level.entries >= 0) & (level.entries & 1 == 1)]
            lines.append((entries >> 1) >> (last.granule_shift - level.granule_shift))
        granules = np.unique(np.concatenate(lines)) << last.granule_shift
        return np.bincount(self._owners(granules), minlength=len(self.counts) // 2)
