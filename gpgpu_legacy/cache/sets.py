"""Cache sets in native code: looking up one line in one set, and evicting another for it.

A level of cache is an array of entries, int64 [sets, ways], one row per set (for several caches of
one shape, one cache's rows after the other's). An entry is twice the line, plus one if it is dirty,
or EMPTY. Rows of LRU are in order of use, those of FIFO in order of arrival, the latest first; with
random replacement entries stay in place.

Rows of pseudo-LRU need no bits of the trees, since the order of the entries holds the same
information: an entry's way has a bit for each level of its tree, the root's the highest. The bit is
1 if the tree's bit points to the half that holds the entry. So the line used last is in way 0, and
the line that the tree would evict in its last way. A use of a line turns all bits on its path away
from it, which swaps the two halves of each node whose bit pointed to it. The trees lie one after
the other, in order of use.

`touch` looks up a line in a given set; `look` first finds the set of a line of a trace.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.access import I64
from gpgpu_legacy.cache.caches import Cache, Policy
from gpgpu_legacy.lower.numba_code import inlined, native

POLICIES = {policy: number for number, policy in enumerate(Policy)}
"""The policies as numbers, for native code."""

LRU, FIFO, RANDOM, PLRU = (
    POLICIES[policy] for policy in (Policy.LRU, Policy.FIFO, Policy.RANDOM, Policy.PLRU)
)

EMPTY = -1
BYPASS = -2
HIT = -3
"""Results of `touch` other than evicted entries: filled an empty way, missed unfilled, hit."""

_GOLDEN = 0x9E3779B97F4A7C15


@inlined
def set_of(line: int, sets: int, mask: int) -> Any:
    """The set of a line: `line % sets`, without a division for powers of two.

    mask: sets - 1 for these; -1 for all others.
    """
    if mask >= 0:
        return line & mask
    return line % sets


@inlined
def touch(  # noqa: PLR0917
    entries: I64,
    row: int,
    line: int,
    policy: int,
    fill: int,
    dirty: int,
    state: NDArray[np.uint64],
) -> Any:
    """Look up a line in the set of that row, as a use of it, and fill it in on a miss.

    fill: 0 if a miss leaves the set as it is. dirty: 1 if the access makes the line dirty. state:
    of random replacement. Returns HIT, BYPASS (a miss, not filled in), EMPTY (a miss that filled an
    empty way) or the entry that was evicted.
    """
    at = np.uint64(row)  # unsigned: no check for an index from the end
    key = (line << 1) | 1
    first = entries[at, 0]
    if first | 1 == key:
        entries[at, 0] = first | dirty
        return HIT
    if policy == LRU and fill:
        return _use(entries, at, line, dirty)
    if policy >= RANDOM:
        return _follow(entries, at, line, policy, fill, dirty, state)
    for way in range(1, entries.shape[1]):
        entry = entries[at, way]
        if entry | 1 == key:
            if policy == LRU:
                return _use(entries, at, line, dirty)
            entries[at, way] = entry | dirty
            return HIT
    return _use(entries, at, line, dirty) if fill else BYPASS


# Ways are moved one by one, with an early exit from the loop. Copies of a block would be read as
# vectors right after they were written one by one, and processors stall on that.
@inlined
def _use(entries: I64, at: int, line: int, dirty: int) -> Any:
    """Move a line to the front of its set, filling it in on a miss; returns like `touch`.

    With FIFO it is for misses alone.
    """
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


@native
def _follow(  # noqa: PLR0917
    entries: I64,
    at: int,
    line: int,
    policy: int,
    fill: int,
    dirty: int,
    state: NDArray[np.uint64],
) -> Any:
    """`touch` with pseudo-LRU and random replacement, where the line is not in way 0.

    A line fills an empty way before it evicts another: with pseudo-LRU the last one in order, at
    random the first.
    """
    ways = entries.shape[1]
    key = (line << 1) | 1
    has_trees = policy >= PLRU
    empty = 0 if entries[at, 0] == EMPTY else -1
    for way in range(1, ways):
        entry = entries[at, way]
        if entry | 1 == key:
            entries[at, way] = entry | dirty
            if has_trees:
                turn_away(entries, at, way)
            return HIT
        if entry == EMPTY and (has_trees or empty < 0):
            empty = way
    if not fill:
        return BYPASS
    tree = ways & -ways if has_trees else 1
    way = ways - 1
    if empty >= 0:
        way = empty
    elif policy != PLRU:
        way = tree * (1 + _random(state, ways // tree)) - 1
    victim = entries[at, way]
    entries[at, way] = (line << 1) | dirty
    if has_trees:
        turn_away(entries, at, way)
    return victim


@native
def turn_away(entries: I64, at: int, way: int) -> None:
    """Order a row of pseudo-LRU after a use of the entry in that way, which comes to way 0."""
    ways = entries.shape[1]
    tree = ways & -ways
    first = way // tree * tree
    half = tree >> 1
    while half:
        if way & half:
            for here in range(first, first + half):
                held = entries[at, here]
                entries[at, here] = entries[at, here + half]
                entries[at, here + half] = held
        half >>= 1
    while first:
        first -= tree
        for here in range(first, first + tree):
            held = entries[at, here]
            entries[at, here] = entries[at, here + tree]
            entries[at, here + tree] = held


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
    """Caches of one shape, as native code needs them.

    entries: int64 [copies × sets, ways]. state: of random replacement, uint64 [1]. mask: see
    `set_of`. granule_shift: log2 of the trace's lines in a line of this cache.
    """

    entries: I64
    state: NDArray[np.uint64]
    policy: int
    sets: int
    mask: int
    granule_shift: int


def new_level(cache: Cache, granule_bytes: int, *, copies: int, seed: int) -> Level:
    """Empty caches of one shape.

    granule_bytes: of the trace's lines, at most the cache's. copies: the number of caches.
    """
    entries = np.full((copies * cache.sets, cache.ways), EMPTY, np.int64)
    mixed = (seed + 1) * _GOLDEN % (1 << 64)  # xorshift cannot leave 0
    return Level(
        entries,
        np.array([mixed or _GOLDEN], np.uint64),
        POLICIES[cache.policy],
        cache.sets,
        cache.sets - 1 if cache.sets.bit_count() == 1 else -1,
        (cache.line_bytes // granule_bytes).bit_length() - 1,
    )


@inlined
def look(  # noqa: PLR0917
    level: Level, copy: int, granule: int, fill: int, dirty: int, policy: int
) -> Any:
    """`touch` a line of the trace in one of the level's caches.

    policy: the level's own, as an argument so that it may be a constant in the caller.
    """
    line = granule >> level.granule_shift
    row = copy * level.sets + set_of(line, level.sets, level.mask)
    return touch(level.entries, row, line, policy, fill, dirty, level.state)
