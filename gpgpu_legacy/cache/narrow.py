"""The commonest cache in native code: one level of few ways, LRU, writes going through it.

It gives the same counts as drive.py, faster: the number of ways is a constant, so that a set is
searched and reordered without a branch that depends on where a line is found.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.sets import Level, set_of
from gpgpu_legacy.lower.numba_code import inlined, native


@inlined
def _read(entries: NDArray[np.int64], at: int, entry: int, ways: int) -> Any:
    """Move an entry to the front of its set, filling it in on a miss; 1 on a miss, else 0."""
    if entries[at, 0] == entry:
        return 0
    # All bits are set from the way of the entry on, where the others stay in place. A condition
    # would become a branch that no processor can predict.
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
    lines: NDArray[np.int64],
    times: NDArray[np.int32],
    slots: NarrowSlots,
    level: Level,
    ways: int,
) -> None:
    """Simulate a chunk's rows; see drive.py about repeated rows."""
    writes, bases, misses, absent, last = slots
    entries, shift, sets, mask = level.entries, level.granule_shift, level.sets, level.mask
    rows, width = lines.shape
    quiet = gaps = False
    for at in range(rows):
        row, left = np.uint64(at), np.int64(times[at])
        same = quiet
        slot = 0
        while same and slot < width:
            same = lines[row, slot] == lines[at - 1, slot]
            slot += 1
        if not same:
            quiet = gaps = False
        while left > 0 and not quiet:
            fills = 0
            for slot in range(width):
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
            quiet = fills == 0
        if left > 0:
            for slot in range(width):
                misses[slot] += left * last[slot]
            if gaps:
                for slot in range(width):
                    absent[slot] += left * (lines[row, slot] < 0)


def _of_ways(ways: int) -> Any:
    """`_narrow` with the ways as a constant."""

    @native
    def narrow(lines: Any, times: Any, slots: NarrowSlots, level: Level) -> None:
        _narrow(lines, times, slots, level, ways)

    return narrow


NARROW = {ways: _of_ways(ways) for ways in (1, 2, 4, 8, 16)}
"""By the number of ways; compiled on the first call."""
