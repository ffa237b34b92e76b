"""Cache sets in native code: looking up one line in one set, and what has to go for it.

A level of cache is an array of entries, int64 [sets, ways], a row a set (of several caches of one
shape, the rows of one after those of the other). An entry is twice the line, plus one where it is
dirty; EMPTY where there is none. Rows of LRU are in order of use, the last one first; those of FIFO
in order of arrival, the last one first; with random replacement an entry stays where it is.

`touch` is the primitive for such sets, and host.py makes its hierarchy of it. Sets of more than
WIDE ways, where a search from the front would take long, are kept as a `Level` with an index beside
the entries; `look` takes either kind, and says the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.caches import Cache, Policy
from gpgpu_legacy.lower.numba_code import inlined, native

LRU, FIFO, RANDOM = 0, 1, 2
POLICIES = {Policy.LRU: LRU, Policy.FIFO: FIFO, Policy.RANDOM: RANDOM}
"""What native code calls the policies."""

EMPTY = -1
BYPASS = -2
HIT = -3
"""What `touch` says, where it is not an evicted entry: filled an empty way, not filled, found."""

WIDE = 32

_GOLDEN = 0x9E3779B97F4A7C15
_ROW_FACTOR = 0xC2B2AE3D27D4EB4F


def new_entries(cache: Cache, copies: int = 1) -> NDArray[np.int64]:
    """Entries of `copies` empty caches, int64 [copies × sets, ways]."""
    return np.full((copies * cache.sets, cache.ways), EMPTY, np.int64)


def new_state(seed: int) -> NDArray[np.uint64]:
    """The state of random replacement, uint64 [1]: never 0, which xorshift would not leave."""
    mixed = ((seed + 1) * _GOLDEN) % (1 << 64)
    return np.array([mixed or _GOLDEN], np.uint64)


def set_mask(cache: Cache) -> int:
    """What `set_of` needs beside the number of sets: its mask, or -1 where it has none."""
    return cache.sets - 1 if cache.sets & (cache.sets - 1) == 0 else -1


@inlined
def set_of(line: int, sets: int, mask: int) -> Any:
    """The set of a line: `line % sets`, without the division where sets are a power of two."""
    if mask >= 0:
        return line & mask
    return line % sets


@inlined
def touch(  # noqa: PLR0911, PLR0917
    entries: NDArray[np.int64],
    row: int,
    line: int,
    policy: int,
    fill: int,
    dirty: int,
    state: NDArray[np.uint64],
) -> Any:
    """Look up a line in the set of that row, as a use of it; fill it in where it is not there.

    fill: 0 where a miss leaves the set as it is. dirty: 1 where the line is dirty after this, found
    or filled in. state: of random replacement. Returns HIT, BYPASS (missed, not filled in), EMPTY
    (missed, filled in where nothing was) or the entry that was evicted.
    """
    at = np.uint64(row)  # unsigned: an index from the end is not looked for
    key = (line << 1) | 1
    first = entries[at, 0]
    if first | 1 == key:
        entries[at, 0] = first | dirty
        return HIT
    if policy == LRU and fill:
        return _use(entries, at, line, dirty)
    for way in range(1, entries.shape[1]):
        entry = entries[at, way]
        if entry | 1 == key:
            if policy == LRU:
                return _use(entries, at, line, dirty)
            entries[at, way] = entry | dirty
            return HIT
    if not fill:
        return BYPASS
    if policy == FIFO:
        return _arrive(entries, at, (line << 1) | dirty)
    way = _any_way(entries, at, state)
    victim = entries[at, way]
    entries[at, way] = (line << 1) | dirty
    return victim


# Ways are passed along one by one, with a way out of the loop: as copies of a block they would be
# read in vectors right after they were written one by one, on which processors stall.
@inlined
def _use(entries: NDArray[np.int64], at: int, line: int, dirty: int) -> Any:
    """Bring a line to the front of its set, filled in where it is not there, as `touch` says."""
    key = (line << 1) | 1
    held = entries[at, 0]
    for way in range(1, entries.shape[1]):
        entry = entries[at, way]
        entries[at, way] = held
        if entry | 1 == key:
            entries[at, 0] = entry | dirty
            return HIT
        held = entry
    entries[at, 0] = (line << 1) | dirty
    return held


@inlined
def _arrive(entries: NDArray[np.int64], at: int, new: int) -> Any:
    """Put a new entry at the front of its set; the evicted one, or EMPTY."""
    held = new
    for way in range(entries.shape[1]):
        entry = entries[at, way]
        entries[at, way] = held
        held = entry
        if held == EMPTY:
            break
    return held


@inlined
def _any_way(entries: NDArray[np.int64], at: int, state: NDArray[np.uint64]) -> Any:
    """The first empty way of a set, or else a random one."""
    ways = entries.shape[1]
    for way in range(ways):
        if entries[at, way] == EMPTY:
            return way
    return _random(state, ways)


@inlined
def _random(state: NDArray[np.uint64], below: int) -> Any:
    """A number from 0 to below - 1 (xorshift: Marsaglia, J. Stat. Soft. 8, 2003)."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    return np.int64((x >> np.uint64(16)) % np.uint64(below))


class Level(NamedTuple):
    """Caches of one shape, and what native code has to know of them.

    entries: int64 [copies × sets, ways]. granule_shift: how many bits a line of the trace has more
    than a line of this cache. table: for wide sets, the places in `entries` (counted row by row) by
    a hash of row and line, -1 where free; links: the places next newer and next older in the set;
    ends: of each row the newest and the oldest place, and how many are taken. Of one element where
    sets are not wide.
    """

    entries: NDArray[np.int64]
    state: NDArray[np.uint64]
    policy: int
    sets: int
    mask: int
    granule_shift: int
    wide: bool
    table: NDArray[np.int32]
    links: NDArray[np.int32]
    ends: NDArray[np.int32]


def new_level(cache: Cache, granule_bytes: int, *, copies: int, seed: int) -> Level:
    """Empty caches; granule_bytes: of the lines that come in, no more than the cache's own."""
    entries = new_entries(cache, copies)
    wide = cache.ways > WIDE
    places = entries.size if wide else 1
    return Level(
        entries,
        new_state(seed),
        POLICIES[cache.policy],
        cache.sets,
        set_mask(cache),
        (cache.line_bytes // granule_bytes).bit_length() - 1,
        wide,
        np.full(1 << (2 * places - 1).bit_length(), -1, np.int32),
        np.full((places, 2), -1, np.int32),
        np.tile(np.array([-1, -1, 0], np.int32), (len(entries) if wide else 1, 1)),
    )


@inlined
def look(  # noqa: PLR0917
    level: Level, copy: int, granule: int, fill: int, dirty: int, policy: int, wide: bool
) -> Any:
    """`touch` a line of the trace in one of the level's caches, wide or not.

    policy, wide: the level's own, apart so that they may be constants where this is compiled into.
    """
    line = granule >> level.granule_shift
    row = copy * level.sets + set_of(line, level.sets, level.mask)
    if wide:
        return _look_wide(level, row, line, fill, dirty)
    return touch(level.entries, row, line, policy, fill, dirty, level.state)


@native
def _look_wide(level: Level, row: int, line: int, fill: int, dirty: int) -> Any:
    """`touch` by the index in place of a search."""
    ways = level.entries.shape[1]
    slot = _slot(level, row, line)
    place = level.table[slot]
    if place >= 0:
        level.entries[row, place - row * ways] |= dirty
        if level.policy == LRU and level.ends[row, 0] != place:
            _unlink(level, row, place)
            _link(level, row, place)
        return HIT
    if not fill:
        return BYPASS
    taken = level.ends[row, 2]
    if taken < ways:
        way = np.int64(taken)
        level.ends[row, 2] = taken + 1
    elif level.policy == RANDOM:
        way = _random(level.state, ways)
    else:
        way = level.ends[row, 1] - row * ways
    place = row * ways + way
    victim = level.entries[row, way]
    if victim != EMPTY:
        _forget(level, row, victim >> 1)
        _unlink(level, row, place)
        slot = _slot(level, row, line)  # places in the table have moved
    level.entries[row, way] = (line << 1) | dirty
    level.table[slot] = place
    _link(level, row, place)
    return victim


@native
def _home(level: Level, row: int, line: int) -> Any:
    """Where in the table a line of that row stands if nothing else does."""
    mixed = np.uint64(line) * np.uint64(_GOLDEN) + np.uint64(row) * np.uint64(_ROW_FACTOR)
    return np.int64((mixed >> np.uint64(29)) & np.uint64(level.table.size - 1))


@native
def _slot(level: Level, row: int, line: int) -> Any:
    """Where in the table a line of that row stands, or the free slot where it would."""
    ways = level.entries.shape[1]
    slot = _home(level, row, line)
    while True:
        way = level.table[slot] - row * ways
        if level.table[slot] < 0 or (0 <= way < ways and level.entries[row, way] >> 1 == line):
            return slot
        slot = (slot + 1) & (level.table.size - 1)


@native
def _forget(level: Level, row: int, line: int) -> None:
    """Take a line out of the table, and close up those behind it (Knuth, volume 3, 6.4 R)."""
    last = level.table.size - 1
    ways = level.entries.shape[1]
    free = _slot(level, row, line)
    slot = free
    while True:
        slot = (slot + 1) & last
        place = level.table[slot]
        if place < 0:
            break
        home = _home(level, place // ways, level.entries[place // ways, place % ways] >> 1)
        if (slot - home) & last >= (slot - free) & last:
            level.table[free] = place
            free = slot
    level.table[free] = -1


@native
def _unlink(level: Level, row: int, place: int) -> None:
    newer, older = level.links[place, 0], level.links[place, 1]
    if newer >= 0:
        level.links[newer, 1] = older
    else:
        level.ends[row, 0] = older
    if older >= 0:
        level.links[older, 0] = newer
    else:
        level.ends[row, 1] = newer


@native
def _link(level: Level, row: int, place: int) -> None:
    """Make a place the newest of its row."""
    newest = level.ends[row, 0]
    level.links[place, 0] = -1
    level.links[place, 1] = newest
    if newest >= 0:
        level.links[newest, 0] = place
    else:
        level.ends[row, 1] = place
    level.ends[row, 0] = place


@native
def read_ordered(level: Level, ordered: NDArray[np.int64]) -> None:
    """The entries as those of narrow sets stand: each row from the newest on, then EMPTY."""
    ways = level.entries.shape[1]
    for row in range(len(level.entries)):
        place = level.ends[row, 0]
        for way in range(ways):
            ordered[row, way] = EMPTY
            if place >= 0:
                ordered[row, way] = level.entries[row, place - row * ways]
                place = level.links[place, 1]


@native
def write_ordered(level: Level, ordered: NDArray[np.int64]) -> None:
    """Make the entries of wide sets those given, in that order; the inverse of `read_ordered`."""
    level.table[:] = -1
    level.entries[:] = EMPTY
    for row in range(len(level.entries)):
        level.ends[row, 0] = level.ends[row, 1] = -1
        level.ends[row, 2] = 0
        for way in range(level.entries.shape[1] - 1, -1, -1):
            entry = ordered[row, way]
            if entry != EMPTY:
                _look_wide(level, row, entry >> 1, 1, entry & 1)
