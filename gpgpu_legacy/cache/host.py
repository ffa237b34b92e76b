"""A processor's memory hierarchy: pages, DTLB, page walks, and two levels of cache.

An access takes these steps. The DTLB looks up its virtual page. On a DTLB miss the page walk loads
the page's entry of the page table, through the caches like any load; the upper levels of the page
table are assumed to be cached in the processor, as in Core 2's paging-structure caches. Then the
access itself looks up level 1 and, on a miss, level 2, by its physical address. Both levels
allocate on writes and write back: a dirty line that level 1 evicts is written into level 2 after
the miss has been served. Each cache has its own replacement policy. There is no prefetching.

Virtual addresses are the trace's, from 0. The page table takes whole pages; they have frames like
all others and are numbered after them.

Bits within a page choose the sets of level 1, so the DTLB and level 1 behave the same for every
mapping of pages to frames. They are simulated once (Core), and each machine and paging serves their
requests to level 2 (Level2).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.caches import Cache
from gpgpu_legacy.cache.paging import Pages, Paging
from gpgpu_legacy.cache.sets import HIT, Level, look, new_level
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.lower.numba_code import inlined, native

Int64s = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The hierarchy between a core and its memory.

    l1, l2: write-allocate, write-back, with lines of one size. dtlb: a cache whose lines are pages.
    entry_bytes: of the page table. memory_bytes: the RAM that provides the frames.
    """

    l1: Cache
    l2: Cache
    dtlb: Cache
    entry_bytes: int
    memory_bytes: int

    def __post_init__(self) -> None:
        if self.l1.line_bytes != self.l2.line_bytes:
            raise InputError("the two levels of a host's cache must have lines of one size")
        if self.page_bytes % (self.l1.sets * self.l1.line_bytes):
            raise InputError("level 1's sets must be chosen by bits within a page")

    @property
    def page_bytes(self) -> int:
        """The size of a page, virtual or physical."""
        return self.dtlb.line_bytes

    @property
    def core(self) -> tuple[Cache, Cache, int]:
        """The properties that Core depends on."""
        return self.dtlb, self.l1, self.entry_bytes

    @property
    def colours(self) -> int:
        """The page colours of level 2: frames of one colour share their sets."""
        return max(1, self.l2.sets * self.l2.line_bytes // self.page_bytes)

    def pages(self, bytes_in_use: int) -> Pages:
        """The pages of a program whose virtual addresses are all below `bytes_in_use`."""
        return Pages(
            used=_pages(self.page_bytes, bytes_in_use),
            described=self.page_bytes // self.entry_bytes,
            frames=self.memory_bytes // self.page_bytes,
            colours=self.colours,
        )


@dataclass(frozen=True, slots=True)
class HostCounts:
    """Accesses and their misses. The loads of page walks are not among the accesses.

    accesses, l1_misses, l2_misses: of the program's own. dtlb_misses: each is one load by the page
    walk; walk_l1_misses, walk_l2_misses: of those loads. written_back: dirty lines that level 2
    evicted.
    """

    accesses: int
    l1_misses: int
    dtlb_misses: int
    walk_l1_misses: int
    l2_misses: int
    walk_l2_misses: int
    written_back: int


def measure(
    cases: Sequence[tuple[Hierarchy, Paging]],
    stream: Iterable[tuple[Int64s, NDArray[np.int16]]],
    *,
    unit_bytes: int,
    bytes_in_use: int,
    first: int,
    last: int,
) -> list[HostCounts]:
    """The counts of accesses first … last - 1 of a stream in each case, after the earlier ones.

    stream: addresses over `unit_bytes`, int64, a power of two no larger than a line, and kinds, odd
    for a write; it is consumed only as far as needed. bytes_in_use: all addresses are below it. All
    caches are empty at the beginning.
    """
    cores = {(h.core, paging.first): _Core(h, bytes_in_use, paging.first) for h, paging in cases}
    behind = [_Level2(h, paging, bytes_in_use) for h, paging in cases]

    def counts() -> list[Int64s]:
        return [
            np.concatenate([cores[h.core, paging.first].counts, level2.counts])
            for (h, paging), level2 in zip(cases, behind, strict=True)
        ]

    before, position = counts(), 0
    for units, kinds in stream:
        cuts = sorted({0, *(min(max(c - position, 0), units.size) for c in (first, last))})
        for start, stop in pairwise(cuts):
            part = slice(start, stop)
            requests = {
                name: core.access(units[part], kinds[part], unit_bytes)
                for name, core in cores.items()
            }
            for (h, paging), level2 in zip(cases, behind, strict=True):
                level2.serve(requests[h.core, paging.first])
            if position + stop == first:
                before = counts()
        position += units.size
        if position >= last:
            break
    return [HostCounts(*(new - old).tolist()) for new, old in zip(counts(), before, strict=True)]


_DATA, _WALK, _BACK = 0, 1, 2  # requests to level 2: a line, a line for a walk, a write-back


class _Core:
    """DTLB and level 1, by virtual addresses; pages of the page table come after the others."""

    def __init__(self, hierarchy: Hierarchy, bytes_in_use: int, first: int = 0) -> None:
        """bytes_in_use: the virtual addresses are below it. first: as in a Paging.

        Virtual addresses are counted from the program's first page, so only the place of its entry
        in the page table depends on `first`.
        """
        page_bytes, entry_bytes = hierarchy.page_bytes, hierarchy.entry_bytes
        self._page_bits = page_bytes.bit_length() - 1
        self._line_bits = hierarchy.l1.line_bytes.bit_length() - 1
        self._table = (
            _pages(page_bytes, bytes_in_use) * page_bytes
            + first % (page_bytes // entry_bytes) * entry_bytes,
            entry_bytes.bit_length() - 1,
        )
        self._dtlb, self._l1 = _level(hierarchy.dtlb), _level(hierarchy.l1)
        self.counts = np.zeros(4, np.int64)
        """Accesses, misses of level 1 and the DTLB, misses of page walks in level 1."""

    def access(self, units: Int64s, kinds: NDArray[np.int16], unit_bytes: int) -> Int64s:
        """Simulate accesses in order (see `measure`); returns their requests for Level2.serve.

        It releases Python's lock.
        """
        requests = np.empty(4 * units.size, np.int64)
        bits = unit_bytes.bit_length() - 1, self._page_bits, self._line_bits
        number = _access(
            units, kinds, bits, self._table, self._dtlb, self._l1, self.counts, requests
        )
        return requests[:number]


class _Level2:
    """Level 2, by physical addresses."""

    def __init__(self, hierarchy: Hierarchy, paging: Paging, bytes_in_use: int) -> None:
        """bytes_in_use: the virtual addresses are below it."""
        self._lines = hierarchy.page_bytes // hierarchy.l2.line_bytes
        self._frames = paging.map(hierarchy.pages(bytes_in_use))
        self._l2 = _level(hierarchy.l2, paging.seed)
        self.counts = np.zeros(3, np.int64)
        """Misses, misses of page walks, dirty lines evicted."""

    def serve(self, requests: Int64s) -> None:
        """Serve the requests of level 1. It releases Python's lock."""
        bits = self._lines.bit_length() - 1
        _serve(requests, bits, self._frames, self._l2, self.counts)


def _pages(page_bytes: int, bytes_in_use: int) -> int:
    return max(1, ceil(bytes_in_use / page_bytes))


def _level(cache: Cache, seed: int = 0) -> Level:
    return new_level(cache, cache.line_bytes, copies=1, seed=seed)


@inlined
def _use(level: Level, line: int, dirty: int) -> Any:
    """Look up a line, and fill it in on a miss."""
    return look(level, 0, line, 1, dirty, level.policy, level.wide)


@native
def _access(  # noqa: PLR0917 - numba takes them by position
    units: Int64s,
    kinds: NDArray[np.int16],
    bits: tuple[int, int, int],
    table: tuple[int, int],
    dtlb: Level,
    l1: Level,
    counts: Int64s,
    requests: Int64s,
) -> int:
    """See Core.access. bits: of a unit, a page, a line. table: its address, bits of an entry."""
    unit_bits, page_bits, line_bits = bits
    number = 0
    for i in range(units.size):
        address = units[i] << unit_bits
        page = address >> page_bits
        missed = _use(dtlb, page, 0) != HIT
        counts[2] += missed
        if missed:
            line = (table[0] + (page << table[1])) >> line_bits
            victim = _use(l1, line, 0)
            if victim != HIT:
                counts[3] += 1
                number = _request(requests, number, line, _WALK, victim)
        line = address >> line_bits
        victim = _use(l1, line, kinds[i] & 1)
        if victim != HIT:
            counts[1] += 1
            number = _request(requests, number, line, _DATA, victim)
    counts[0] += units.size
    return number


@inlined
def _request(requests: Int64s, number: int, line: int, kind: int, victim: int) -> int:
    """Request a line, and the write-back of a dirty victim; returns the number of requests."""
    requests[number] = line << 2 | kind
    if victim >= 0 and victim & 1:
        requests[number + 1] = (victim >> 1) << 2 | _BACK
        return number + 2
    return number + 1


@native
def _serve(requests: Int64s, bits: int, frames: Int64s, l2: Level, counts: Int64s) -> None:
    """See Level2.serve. bits: of the lines of a page."""
    for i in range(requests.size):
        kind = requests[i] & 3
        virtual = requests[i] >> 2
        line = frames[virtual >> bits] << bits | virtual & ((1 << bits) - 1)
        victim = _use(l2, line, np.int64(kind == _BACK))
        if victim != HIT:
            counts[0] += kind == _DATA
            counts[1] += kind == _WALK
            counts[2] += victim >= 0 and victim & 1
