"""Simulates chunks in levels of cache, in native code.

Repeated rows are not simulated again. A repetition of a row that fills no line in any level leaves
the same lines resident; hits and misses depend on nothing else, so the next repetition has the same
outcome. It also leaves the same state: with LRU and pseudo-LRU the order afterwards is that of the
row's last uses, which the next repetition reproduces; FIFO and random replacement change nothing on
a hit; dirty lines stay dirty. So a row is simulated until a repetition fills nothing; the remaining
repetitions have the same outcome. A single access, if it fills a line, hits when it is repeated: as
a row, and within a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.access import I32, I64, AccessTrace, Chunk
from gpgpu_legacy.cache.caches import Memory
from gpgpu_legacy.cache.sets import HIT, Level, look, new_level, set_of
from gpgpu_legacy.lower.numba_code import inlined, native

# Chunks ------------------------------------------------------------------------------------------


USES, ABSENT, MISSES, USES_2, MISSES_2, FILLS, BACKS = range(7)
"""Columns of the counts, int64 [kinds, 7]: slots × times, and those without an access; misses of
level 1; lookups and misses of level 2; lines filled from memory; lines written back to memory."""


_NO, _YES = np.int64(0), np.int64(1)  # numba would compile a function again for each literal


class ChunkWork(NamedTuple):
    """A chunk, and the caches in which it is simulated. Its arrays are int64, except hits.

    lines: [rows, slots], as of Chunk. hits: as for OnMisses, if mapped; then no row is repeated.
    kinds: [slots], the row of counts for each slot. last: [slots], room for the outcomes of a row's
    write-throughs: whether they missed level 1 (1) and level 2 (2).
    counts: [kinds, 7]. starts, owners: the first line of each region in the order of addresses, and
    the region's number. first, second: the levels; the second is ignored unless there are two.
    allocate: whether writes fill lines. apart: whether each region has a cache of level 1.
    """

    lines: I64
    hits: NDArray[np.uint8]
    kinds: I64
    last: I64
    counts: I64
    starts: I64
    owners: I64
    first: Level
    second: Level
    two: bool
    mapped: bool
    allocate: bool
    apart: bool


@inlined
def _back(work: ChunkWork, entry: int, level: Level) -> Any:
    """The kind under which a line written back counts: a write of the region where it begins."""
    granule = (entry >> 1) << level.granule_shift
    place = work.starts.size - 1
    while place > 0 and work.starts[place] > granule:
        place -= 1
    return 2 * work.owners[place] + 1


@inlined
def _again(work: ChunkWork, kind: int, outcome: int, repetitions: int) -> None:
    """Count repetitions of an access that fills nothing. outcome: of a write-through, as in `last`.

    Reads and allocating writes hit level 1.
    """
    if kind & 1 and not work.allocate:
        work.counts[kind, MISSES] += repetitions * (outcome & 1)
        if work.two:
            work.counts[kind, USES_2] += repetitions
            work.counts[kind, MISSES_2] += repetitions * (outcome >> 1)


@inlined
def _below(work: ChunkWork, granule: int, kind: int, fill: int, dirty: int) -> Any:
    """Look up a line in level 2; returns 1 on a miss, else 0."""
    counts = work.counts
    outcome = look(work.second, _NO, granule, fill, dirty, work.second.policy)
    counts[kind, USES_2] += 1
    if outcome == HIT:
        return 0
    counts[kind, MISSES_2] += 1
    if fill:
        counts[kind, FILLS] += 1
        if outcome >= 0 and outcome & 1:
            counts[_back(work, outcome, work.second), BACKS] += 1
    return 1


@native
def drive(work: ChunkWork, times: I32) -> None:  # noqa: PLR0912, PLR0915
    """Simulate a chunk."""
    lines, kinds, last = work.lines, work.kinds, work.last
    first, counts, two = work.first, work.counts, work.two
    policy, shift, entries = first.policy, first.granule_shift, first.entries
    sets, mask = first.sets, first.mask
    width = kinds.size
    for at in range(times.size):
        row = np.uint64(at)  # unsigned: no check for an index from the end
        left = np.int64(times[at])
        while left > 0:
            fills = 0
            for n in range(width):
                slot = np.uint64(n)
                granule, kind = lines[row, slot], kinds[slot]
                if granule < 0:
                    counts[kind, ABSENT] += 1
                    continue
                before = np.uint64(n - 1)
                if n and lines[row, before] == granule and kinds[before] == kind:
                    if kind & 1 and not work.allocate:
                        last[slot] = last[before]
                        _again(work, kind, last[slot], _YES)
                        if work.mapped:
                            work.hits[row, slot] = work.hits[row, before]
                    continue
                write = kind & 1
                dirty = write & work.allocate
                fill = 1 - write + dirty
                copy = (kind >> 1) * work.apart
                if fill or not two:
                    line = granule >> shift
                    place = np.uint64(copy * sets + set_of(line, sets, mask))
                    front = entries[place, 0]
                    if front | 1 == (line << 1) | 1:
                        if write:
                            entries[place, 0] = front | dirty
                            last[slot] = 0
                        continue
                outcome = look(first, copy, granule, fill, dirty, policy)
                missed = int(outcome != HIT)
                counts[kind, MISSES] += missed
                fills += missed & fill
                if work.mapped and missed:
                    work.hits[row, slot] = 0
                if not fill:
                    last[slot] = missed
                elif not missed:
                    continue
                if two:
                    below = _below(work, granule, kind, fill, _NO)
                    if not fill:
                        last[slot] += 2 * below
                elif fill:
                    counts[kind, FILLS] += 1
                if outcome >= 0 and outcome & 1:
                    into = _back(work, outcome, first)
                    if two:
                        _below(work, (outcome >> 1) << shift, into, _YES, _YES)
                    else:
                        counts[into, BACKS] += 1
            left -= 1
            if left and (width == 1 or fills == 0):
                for n in range(width):
                    if lines[row, n] < 0:
                        counts[kinds[n], ABSENT] += left
                    else:
                        _again(work, kinds[n], last[n], left)
                break


# Caches with their contents ----------------------------------------------------------------------


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
        """Whether iterations may be multiplied.

        No eviction may be random, and no line may hold parts of two regions.
        """
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
        np.add.at(self.counts[:, USES], kinds, int(times.sum(dtype=np.int64)))
        work = ChunkWork(
            *(lines, hits, kinds),
            last=np.zeros(len(kinds), np.int64),
            counts=self.counts,
            starts=self.starts,
            owners=self.owners,
            first=self.levels[0],
            second=self.levels[-1],
            two=len(self.levels) == 2,
            mapped=mapped,
            allocate=self.memory.allocate,
            apart=self.memory.per_texture,
        )
        drive(work, times)
        return hits

    def state(self) -> list[I64]:
        """A copy of each level's entries, int64 [copies × sets, ways]."""
        return [level.entries.copy() for level in self.levels]

    def maps(self, moves: Mapping[int, int]) -> bool:
        """Whether moving regions by these bytes moves whole lines to lines and sets to sets."""
        for number, cache in enumerate(self.memory.levels):
            if any(move % cache.line_bytes for move in moves.values()):
                return False
            rotations = {move // cache.line_bytes % cache.sets for move in moves.values()}
            if len(rotations) > 1 and (number or not self.memory.per_texture):
                return False
        return True

    def moved(
        self,
        states: Sequence[I64],
        moves: Mapping[int, int],
        periods: int = 1,
    ) -> list[I64] | None:
        """States with each region's lines moved `periods` times; None if that is impossible.

        moves: in bytes, by region; other regions stay. It is impossible if a line would leave its
        region.
        """
        bases = np.array([region.base for region in self.trace.regions], np.int64)
        sizes = np.array([region.size_bytes for region in self.trace.regions], np.int64)
        moved_states = []
        for number, (cache, state) in enumerate(zip(self.memory.levels, states, strict=True)):
            steps = np.zeros(max(1, len(bases)), np.int64)
            for region, move in moves.items():
                steps[region] = move // cache.line_bytes * periods
            moved, taken = state.copy(), state >= 0
            lines = state[taken] >> 1
            owners = self._owners(lines * (cache.line_bytes // self.trace.line_bytes))
            after = lines + steps[owners]
            for before_or_after in (lines, after):
                offsets = before_or_after * cache.line_bytes - bases[owners]
                if ((offsets < 0) | (offsets >= sizes[owners])).any():
                    return None
            moved[taken] = (after << 1) | (state[taken] & 1)
            is_shared = number or not self.memory.per_texture
            turns = [next((steps[region] for region in moves), 0)] if is_shared else steps
            parts = moved.reshape(len(turns), cache.sets, cache.ways)
            for part, turn in zip(parts, turns, strict=True):
                part[:] = np.roll(part, turn % cache.sets, axis=0)
            moved_states.append(moved)
        return moved_states

    def _owners(self, granules: I64) -> I64:
        """The region in which each line of the trace begins."""
        places = np.searchsorted(self.starts, granules, side="right") - 1
        return self.owners[np.maximum(places, 0)]

    def still_dirty(self) -> I64:
        """How many dirty lines of each region are still to be written back, int64 [regions].

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
