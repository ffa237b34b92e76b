"""The commonest cache in native code: one level of few ways, LRU, writes going through it.

It gives the same counts as drive.py, faster: the number of ways is a constant, so that a set is
searched and reordered without a branch that depends on where a line is found.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.sets import set_of
from gpgpu_legacy.lower.numba_code import inlined, native


@inlined
def _read(entries: NDArray[np.int64], at: int, entry: int, ways: int) -> Any:
    """Move an entry to the front of its set, filling it in on a miss; 1 on a miss, else 0."""
    if entries[at, 0] == entry:
        return 0
    # All bits are set from the way of the entry on, where the others stay in place. A condition
    # would become a branch that no processor can predict.
    found, held = np.int64(0), entry
    for way in range(ways):
        there = entries[at, way]
        entries[at, way] = held ^ ((held ^ there) & found)
        found |= -np.int64(there == entry)
        held = there
    return 1 + found


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


@inlined
def _narrow(  # noqa: PLR0917
    lines: NDArray[np.int64],
    times: NDArray[np.int32],
    writes: NDArray[np.bool_],
    bases: NDArray[np.int64],
    entries: NDArray[np.int64],
    shift: int,
    sets: int,
    mask: int,
    misses: NDArray[np.int64],
    absent: NDArray[np.int64],
    last: NDArray[np.int64],
    ways: int,
) -> None:
    """Simulate a chunk's rows; see drive.py about repeated rows.

    writes, bases: for each slot, whether it writes, and the first row of its cache in `entries`.
    misses, absent: int64 [slots], added to. last: room for the outcomes of the slots that write.
    """
    rows, slots = lines.shape
    quiet = gaps = False
    for at in range(rows):
        row, left = np.uint64(at), np.int64(times[at])
        same = quiet
        slot = 0
        while same and slot < slots:
            same = lines[row, slot] == lines[at - 1, slot]
            slot += 1
        if not same:
            quiet = gaps = False
        while left > 0 and not quiet:
            fills = 0
            for slot in range(slots):
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
            for slot in range(slots):
                misses[slot] += left * last[slot]
            if gaps:
                for slot in range(slots):
                    absent[slot] += left * (lines[row, slot] < 0)


def _of_ways(ways: int) -> Any:
    """`_narrow` with the ways as a constant."""

    @native
    def narrow(  # noqa: PLR0917
        lines: Any,
        times: Any,
        writes: Any,
        bases: Any,
        entries: Any,
        shift: int,
        sets: int,
        mask: int,
        misses: Any,
        absent: Any,
        last: Any,
    ) -> None:
        _narrow(lines, times, writes, bases, entries, shift, sets, mask, misses, absent, last, ways)

    return narrow


NARROW = {ways: _of_ways(ways) for ways in (1, 2, 4, 8, 16)}
"""By the number of ways; compiled on the first call."""
