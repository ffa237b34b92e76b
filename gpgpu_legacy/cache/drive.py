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


class Slots(NamedTuple):
    """The slots of a chunk; every array except `through` is int64 and has one entry per slot.

    kinds: the columns of the counts. acts: READ, KEEP or THROUGH. copies: which cache of level 1 it
    accesses. through: the slots that write through. last: room for their outcomes.
    """

    kinds: NDArray[np.int64]
    acts: NDArray[np.int64]
    copies: NDArray[np.int64]
    through: NDArray[np.int64]
    last: NDArray[np.int64]


class Ledger(NamedTuple):
    """The counts, and the regions that they belong to.

    counts: int64 [kinds, 7]. starts, owners: the first line of each region in the order of
    addresses, and the region's number.
    """

    counts: NDArray[np.int64]
    starts: NDArray[np.int64]
    owners: NDArray[np.int64]


@inlined
def _owner(granule: int, starts: NDArray[np.int64]) -> Any:
    """The index of the region in which a line begins, in the order of addresses."""
    low, high = 0, len(starts)
    while high - low > 1:
        middle = (low + high) // 2
        if starts[middle] <= granule:
            low = middle
        else:
            high = middle
    return low


@inlined
def _back(entry: int, level: Level, ledger: Ledger) -> Any:
    """The kind that a line written back is counted under: a write of the region it begins in."""
    return 2 * ledger.owners[_owner((entry >> 1) << level.granule_shift, ledger.starts)] + 1


@inlined
def _again(  # noqa: PLR0917
    lines: NDArray[np.int64],
    row: int,
    repetitions: int,
    between: tuple[np.uint64, np.uint64],
    slots: Slots,
    counts: NDArray[np.int64],
    two: bool,
    absent: bool,
) -> None:
    """Count repetitions of a row's slots with the outcome of the last one, which filled nothing.

    Reads and allocating writes hit level 1. For slots that write through, `slots.last` says whether
    they missed level 1 (1) and level 2 (2). absent: whether any slot has no access.
    """
    for slot in slots.through:
        if between[0] <= slot < between[1] and lines[row, slot] >= 0:
            kind = slots.kinds[slot]
            counts[kind, MISSES] += repetitions * (slots.last[slot] & 1)
            if two:
                counts[kind, USES_2] += repetitions
                counts[kind, MISSES_2] += repetitions * (slots.last[slot] >> 1)
    if absent:
        for slot in range(*between):
            if lines[row, slot] < 0:
                counts[slots.kinds[slot], ABSENT] += repetitions


@inlined
def _below(  # noqa: PLR0917
    second: Level,
    policy: int,
    granule: int,
    kind: int,
    fill: int,
    dirty: int,
    ledger: Ledger,
) -> Any:
    """A lookup in level 2; returns 1 on a miss."""
    counts = ledger.counts
    outcome = look(second, 0, granule, fill, dirty, policy)
    counts[kind, USES_2] += 1
    if outcome == HIT:
        return 0
    counts[kind, MISSES_2] += 1
    if fill:
        counts[kind, FILLS] += 1
        if outcome >= 0 and outcome & 1:
            counts[_back(outcome, second, ledger), BACKS] += 1
    return 1


@inlined
def _drive(  # noqa: PLR0912, PLR0915, PLR0917
    lines: NDArray[np.int64],
    hits: NDArray[np.uint8],
    part: Part,
    slots: Slots,
    first: Level,
    second: Level,
    ledger: Ledger,
    two: bool,
    mapped: bool,
) -> Any:
    """Simulate a part of a chunk; returns the number of lines that its slots fill in any level."""
    (first_row, end, _, _), slot_1, slot_end, weights = part
    kinds, acts, copies, last = slots.kinds, slots.acts, slots.copies, slots.last
    counts = ledger.counts
    policy_1, policy_2 = first.policy, second.policy
    shift, sets, mask, entries = first.granule_shift, first.sets, first.mask, first.entries
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
                outcome = look(first, copies[slot], granule, fill, act & 1, policy_1)
                missed = int(outcome != HIT)
                counts[kind, MISSES] += missed
                fills += missed & fill
                if mapped and missed:
                    hits[row, slot] = 0
                if not fill:
                    last[slot] = missed
                elif not missed:
                    continue
                if two:
                    below = _below(second, policy_2, granule, kind, fill, 0, ledger)
                    if not fill:
                        last[slot] += 2 * below
                elif fill:
                    counts[kind, FILLS] += 1
                if outcome >= 0 and outcome & 1:
                    into = _back(outcome, first, ledger)
                    if two:
                        evicted = (outcome >> 1) << first.granule_shift
                        _below(second, policy_2, evicted, into, 1, 1, ledger)
                    else:
                        counts[into, BACKS] += 1
            left -= 1
            filled += fills
            if left and (width == 1 or fills == 0):
                _again(lines, at, left, (slot_1, slot_end), slots, counts, two, absent)
                break
    return filled


@native
def drive(  # noqa: PLR0917
    lines: NDArray[np.int64],
    times: NDArray[np.int32],
    flight: Flight,
    hits: NDArray[np.uint8],
    slots: Slots,
    first: Level,
    second: Level,
    ledger: Ledger,
    two: bool,
    mapped: bool,
) -> None:
    """Simulate a chunk.

    hits: as for OnMisses, if mapped; then no row is repeated. two: whether there are two levels; if
    not, `second` is ignored.
    """
    width = lines.shape[1]
    batch = first_batch(times, flight)
    while batch.first < batch.end:
        filled = 0
        for slot in range(0, width, flight.lanes):
            part = part_of(batch, slot, flight)
            filled += _drive(lines, hits, part, slots, first, second, ledger, two, mapped)
        further = equal_batches(batch, flight)
        if further > 0 and filled == 0:
            every = np.uint64(0), np.uint64(width)
            _again(lines, batch.first, further, every, slots, ledger.counts, two, True)
            batch = after_equal(batch, further)
        batch = next_batch(batch, times, flight)
