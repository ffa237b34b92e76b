"""The commonest cache in native code: one level with few ways, LRU, write-through.

It gives the same counts as drive.py, faster: the number of ways is a constant, so that searching
and reordering a set takes no branch on a line's position.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.batches import (
    Flight,
    Part,
    after_equal,
    equal_batches,
    first_batch,
    next_batch,
    part_of,
)
from gpgpu_legacy.cache.sets import Level, set_of
from gpgpu_legacy.lower.numba_code import inlined, native


@inlined
def _read(entries: NDArray[np.int64], at: int, entry: int, ways: int) -> Any:
    """Move an entry to the front of its set, filling it in on a miss; 1 on a miss, else 0."""
    if entries[at, 0] == entry:
        return 0
    # All bits are set from the way of the entry on, where the others stay in place. A condition
    # would become an unpredictable branch.
    after, held = np.int64(0), entry
    for way in range(ways):
        there = entries[at, way]
        entries[at, way] = held ^ ((held ^ there) & after)
        after |= -np.int64(there == entry)
        held = there
    return 1 + after


@inlined
def _write(entries: NDArray[np.int64], at: int, entry: int, ways: int) -> Any:
    """Move an entry to the front of its set if it is there; 1 on a miss, else 0."""
    if entries[at, 0] == entry:
        return 0
    place = 0
    for way in range(1, ways):
        place = way if entries[at, way] == entry else place
    if not place:
        return 1
    for way in range(ways - 1, 0, -1):
        if way <= place:
            entries[at, way] = entries[at, way - 1]
    entries[at, 0] = entry
    return 0


class NarrowSlots(NamedTuple):
    """The slots of a chunk, an entry per slot.

    writes: whether it writes. bases: the first row of its cache in the level's entries, int64.
    misses, absent: int64, added to. last: int64, room for the outcomes of the slots that write.
    """

    writes: NDArray[np.bool_]
    bases: NDArray[np.int64]
    misses: NDArray[np.int64]
    absent: NDArray[np.int64]
    last: NDArray[np.int64]


@inlined
def _narrow(
    lines: NDArray[np.int64], part: Part, slots: NarrowSlots, level: Level, ways: int
) -> Any:
    """Simulate a part of a chunk; see drive.py about repeated rows. Returns the lines filled."""
    writes, bases, misses, absent, last = slots
    entries, shift, sets, mask = level.entries, level.granule_shift, level.sets, level.mask
    (first, end, _, _), slot_1, slot_end, weights = part
    width = np.int64(slot_end - slot_1)
    filled = 0
    quiet = gaps = False
    for at in range(first, end):
        row, left = np.uint64(at), np.int64(weights[at - first])
        same = quiet
        slot = slot_1
        while same and slot < slot_end:
            same = lines[row, slot] == lines[at - 1, slot]
            slot += np.uint64(1)
        if not same:
            quiet = gaps = False
        while left > 0 and not quiet:
            fills = 0
            for n in range(width):
                slot = slot_1 + np.uint64(n)
                granule = lines[row, slot]
                if granule < 0:
                    absent[slot] += 1
                    last[slot] = 0
                    gaps = True
                    continue
                line = granule >> shift
                place = np.uint64(bases[slot] + set_of(line, sets, mask))
                if writes[slot]:
                    last[slot] = _write(entries, place, line << 1, ways)
                    misses[slot] += last[slot]
                else:
                    missed = _read(entries, place, line << 1, ways)
                    misses[slot] += missed
                    fills += missed
            left -= 1
            filled += fills
            quiet = width == 1 or fills == 0
        if left > 0:
            _again(lines, at, left, (slot_1, slot_end), slots, gaps)
    return filled


@inlined
def _again(  # noqa: PLR0917
    lines: NDArray[np.int64],
    row: int,
    repetitions: int,
    between: tuple[np.uint64, np.uint64],
    slots: NarrowSlots,
    gaps: bool,
) -> None:
    """Count repetitions of a row's slots with the outcome of the last one, which filled nothing."""
    for slot in range(*between):
        slots.misses[slot] += repetitions * slots.last[slot]
    if gaps:
        for slot in range(*between):
            slots.absent[slot] += repetitions * (lines[row, slot] < 0)


def _of_ways(ways: int) -> Any:
    """The simulation of a chunk, with the ways as a constant."""

    @native
    def narrow(lines: Any, times: Any, flight: Flight, slots: NarrowSlots, level: Level) -> None:
        batch = first_batch(times, flight)
        while batch.first < batch.end:
            filled = 0
            for slot in range(0, lines.shape[1], flight.lanes):
                filled += _narrow(lines, part_of(batch, slot, flight), slots, level, ways)
            further = equal_batches(batch, flight)
            if further > 0 and filled == 0:
                every = np.uint64(0), np.uint64(lines.shape[1])
                _again(lines, batch.first, further, every, slots, True)
                batch = after_equal(batch, further)
            batch = next_batch(batch, times, flight)

    return narrow


NARROW = {ways: _of_ways(ways) for ways in (1, 2, 4, 8, 16)}
"""By the number of ways; compiled on the first call."""
