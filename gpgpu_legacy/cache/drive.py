"""Simulates chunks in levels of cache, in native code.

Repeated rows are not simulated again. A repetition of a row that fills no line in any level leaves
the same lines resident; hits and misses depend on nothing else, so the next repetition has the same
outcome. It also leaves the same state: with LRU and pseudo-LRU the order afterwards is that of the
row's last uses, which the next repetition reproduces; FIFO and random replacement change nothing on
a hit; dirty lines stay dirty. So a row is simulated until a repetition fills nothing; the remaining
repetitions have the same outcome. The same holds for the parts of a batch, which are shorter rows,
and for a batch of one repeated row, which is such a row with more repetitions of each access. An
access that is a part on its own hits when it is repeated, if it fills lines.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.sets import HIT, Level, look, set_of
from gpgpu_legacy.lower.numba_code import inlined, native

# Batches -----------------------------------------------------------------------------------------
#
# Rows in flight, in native code: the batches of a chunk, whose rows advance slot by slot.
#
# A batch is split into parts: its rows, and the slots of one access. Simulators execute a part as
# if it were a chunk, row by row, and the parts one after another. With one row in flight the whole
# chunk is one part.


I32 = NDArray[np.int32]
I64 = NDArray[np.int64]


class Flight(NamedTuple):
    """The division of a chunk's rows into parts.

    in_flight: repetitions of rows in a batch. lanes: slots of a part. weights: int32, room for the
    repetitions of each row of a batch.
    """

    in_flight: int
    lanes: int
    weights: I32


class Batch(NamedTuple):
    """The rows from `first` up to `end`.

    begun: the repetitions of row `first` that came before. left: those of row `end` - 1 that come
    after.
    """

    first: int
    end: int
    begun: int
    left: int


class Part(NamedTuple):
    """The slots from `slot` up to `slot_end` of a batch, with the number of repetitions a row."""

    batch: Batch
    slot: np.uint64  # unsigned: no check for an index from the end
    slot_end: np.uint64
    weights: I32


def new_flight(times: I32, slots: int, in_flight: int, lanes: int) -> Flight:
    """The parts of a chunk with these repetitions of rows, and that many slots."""
    if in_flight == 1:
        return Flight(1, max(1, slots), times)
    return Flight(in_flight, lanes, np.empty(min(in_flight, len(times)), np.int32))


@inlined
def first_batch(times: I32, flight: Flight) -> Any:
    """The first batch of a chunk: with one row in flight, all of it."""
    if flight.in_flight == 1:
        return Batch(0, times.size, 0, 0)
    return next_batch(Batch(0, 0, 0, 0), times, flight)


@inlined
def next_batch(before: Batch, times: I32, flight: Flight) -> Any:
    """The batch after another one, with its weights filled in; it has no rows after the last."""
    first = before.end - (before.left > 0)
    free, left, end = flight.in_flight, before.left, first
    begun = int(times[first]) - left if left > 0 else 0
    while free > 0 and end < times.size:
        repetitions = left if left > 0 else int(times[end])
        taken = min(repetitions, free)
        flight.weights[end - first] = taken
        left = repetitions - taken
        free -= taken
        end += 1
    return Batch(first, end, begun, left)


@inlined
def part_of(batch: Batch, slot: int, flight: Flight) -> Any:
    """The part of a batch that begins with a slot."""
    return Part(batch, np.uint64(slot), np.uint64(slot + flight.lanes), flight.weights)


@inlined
def equal_batches(batch: Batch, flight: Flight) -> Any:
    """The repetitions after a batch of one row, in whole batches of that row."""
    if batch.end - batch.first > 1:
        return 0
    return batch.left // flight.in_flight * flight.in_flight


@inlined
def after_equal(batch: Batch, repetitions: int) -> Any:
    """The last of equal batches with that many repetitions of the row."""
    return Batch(batch.first, batch.end, batch.begun + repetitions, batch.left - repetitions)


# Chunks ------------------------------------------------------------------------------------------


READ, KEEP, THROUGH = 0, 1, 2
"""The kinds of access: a read, a write that allocates, a write that goes through."""

USES, ABSENT, MISSES, USES_2, MISSES_2, FILLS, BACKS = range(7)
"""Columns of the counts, int64 [kinds, 7]: slots × times, and the ones without an access; misses of
level 1; lookups and misses of level 2; lines filled from memory; lines written back to memory."""


class Work(NamedTuple):
    """A chunk, and what simulates it; arrays are int64, and those of slots have an entry for each.

    lines: [rows, slots], as of Chunk. hits: as for OnMisses, if mapped; then no row is repeated.
    kinds: of slots, the columns of the counts. acts: of slots, READ, KEEP or THROUGH. copies: of
    slots, which cache of level 1 they access. through: the slots that write through. last: of
    slots, room for their outcomes. counts: [kinds, 7]. starts, owners: the first line of each
    region in the order of addresses, and the region's number. second: is ignored unless there are
    two levels.
    """

    lines: I64
    hits: NDArray[np.uint8]
    kinds: I64
    acts: I64
    copies: I64
    through: I64
    last: I64
    counts: I64
    starts: I64
    owners: I64
    first: Level
    second: Level
    two: bool
    mapped: bool


@inlined
def _back(work: Work, entry: int, level: Level) -> Any:
    """The kind that a line written back is counted under: a write of the region it begins in."""
    granule = (entry >> 1) << level.granule_shift
    low, high = 0, len(work.starts)
    while high - low > 1:
        middle = (low + high) // 2
        if work.starts[middle] <= granule:
            low = middle
        else:
            high = middle
    return 2 * work.owners[low] + 1


@inlined
def _again(
    work: Work, row: int, repetitions: int, between: tuple[np.uint64, np.uint64], absent: bool
) -> None:
    """Count repetitions of a row's slots with the outcome of the last one, which filled nothing.

    Reads and allocating writes hit level 1. For slots that write through, `work.last` says whether
    they missed level 1 (1) and level 2 (2). absent: whether any slot has no access.
    """
    lines, counts = work.lines, work.counts
    for slot in work.through:
        if between[0] <= slot < between[1] and lines[row, slot] >= 0:
            kind = work.kinds[slot]
            counts[kind, MISSES] += repetitions * (work.last[slot] & 1)
            if work.two:
                counts[kind, USES_2] += repetitions
                counts[kind, MISSES_2] += repetitions * (work.last[slot] >> 1)
    if absent:
        for slot in range(*between):
            if lines[row, slot] < 0:
                counts[work.kinds[slot], ABSENT] += repetitions


@inlined
def _below(work: Work, granule: int, kind: int, fill: int, dirty: int) -> Any:
    """A lookup in level 2; returns 1 on a miss."""
    counts = work.counts
    outcome = look(work.second, 0, granule, fill, dirty, work.second.policy)
    counts[kind, USES_2] += 1
    if outcome == HIT:
        return 0
    counts[kind, MISSES_2] += 1
    if fill:
        counts[kind, FILLS] += 1
        if outcome >= 0 and outcome & 1:
            counts[_back(work, outcome, work.second), BACKS] += 1
    return 1


@inlined
def _drive(work: Work, part: Part) -> Any:  # noqa: PLR0912, PLR0915
    """Simulate a part of a chunk; returns the number of lines that its slots fill in any level."""
    (first_row, end, _, _), slot_1, slot_end, weights = part
    lines, kinds, acts, copies, last = work.lines, work.kinds, work.acts, work.copies, work.last
    first, counts, two = work.first, work.counts, work.two
    policy, shift, entries = first.policy, first.granule_shift, first.entries
    sets, mask = first.sets, first.mask
    width = np.int64(slot_end - slot_1)
    filled = 0
    for at in range(first_row, end):
        row = np.uint64(at)
        left = np.int64(weights[at - first_row])
        absent = False
        while left > 0:
            fills = 0
            for n in range(width):
                slot = slot_1 + np.uint64(n)
                granule = lines[row, slot]
                if granule < 0:
                    absent = True
                    counts[kinds[slot], ABSENT] += 1
                    continue
                act = acts[slot]
                if not (two and act == THROUGH):
                    line = granule >> shift
                    place = np.uint64(copies[slot] * sets + set_of(line, sets, mask))
                    front = entries[place, 0]
                    if front | 1 == (line << 1) | 1:
                        if act:
                            entries[place, 0] = front | (act & 1)
                            last[slot] = 0
                        continue
                kind, fill = kinds[slot], int(act != THROUGH)
                outcome = look(first, copies[slot], granule, fill, act & 1, policy)
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
                    below = _below(work, granule, kind, fill, 0)
                    if not fill:
                        last[slot] += 2 * below
                elif fill:
                    counts[kind, FILLS] += 1
                if outcome >= 0 and outcome & 1:
                    into = _back(work, outcome, first)
                    if two:
                        _below(work, (outcome >> 1) << shift, into, 1, 1)
                    else:
                        counts[into, BACKS] += 1
            left -= 1
            filled += fills
            if left and (width == 1 or fills == 0):
                _again(work, at, left, (slot_1, slot_end), absent)
                break
    return filled


@native
def drive(work: Work, times: I32, flight: Flight) -> None:
    """Simulate a chunk."""
    width = work.lines.shape[1]
    batch = first_batch(times, flight)
    while batch.first < batch.end:
        filled = 0
        for slot in range(0, width, flight.lanes):
            filled += _drive(work, part_of(batch, slot, flight))
        further = equal_batches(batch, flight)
        if further > 0 and filled == 0:
            _again(work, batch.first, further, (np.uint64(0), np.uint64(width)), True)
            batch = after_equal(batch, further)
        batch = next_batch(batch, times, flight)
