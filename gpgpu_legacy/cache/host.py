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
requests to level 2 (Behind).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum
from itertools import pairwise
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.access import I64
from gpgpu_legacy.cache.caches import Cache
from gpgpu_legacy.cache.sets import HIT, Level, look, new_level
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError, as_whole, real_in
from gpgpu_legacy.lower.numba_code import inlined, native

# Paging ------------------------------------------------------------------------------------------
#
# The frame of memory of each page of a program: its mapping by an operating system.
#
# Frames of one colour share their sets of a physically addressed cache.
#
# `xnu` is the mapping of OS X 10.9, as read in its kernel's source (xnu-2422.115.4, in Apple's
# apple-oss-distributions/xnu). cpuid.c counts the colours, line × sets over the page, for the
# cache that has the most; vm_page_set_colors in vm_resident.c caps them at 128. There is a list of
# free frames for each colour, in ascending order after the start, since pmap_startup releases them
# from the end. vm_page_grab gives a processor's own frames out in turn and gets it new ones, 4 for
# each colour, one from each colour's list after another, beginning after the colour of the last.
# So a page's colour follows from when it is first touched, whatever its address: pages that one
# processor takes one after another have successive colours. A page of the page table is taken in
# the same way, by pmap_expand in pmap.c, after the first page touched of those that it describes
# (vm_fault takes a page before it enters it). Superpages are used only on request.
#
# Assumed are: pages are first touched in the order of their addresses, as by a program that fills
# its matrices one after another; by one processor, which takes no others meanwhile (or, with
# `xnu:F`, F of them for each page, at random, for other programs and the kernel itself); and the
# lists are still in order, which affects frames but no colours. The page at which a program begins
# within its group is not known; `xnu@N` begins at the Nth page that a page of the page table
# describes.


_KINDS = "coloured, random, miscoloured:0.1 (a fraction), xnu, xnu@256 (the first page) or xnu:0.1"
_SPELLING = re.compile(r"(?P<kind>[a-z]+)(@(?P<first>[0-9]{1,9}))?(:(?P<fraction>.+))?")
_MOST_COLOURS = 128  # MAX_COLORS of vm_page.h


class Pages(NamedTuple):
    """The pages to map, and the frames of memory.

    used: the program's pages. described: the number of them that a page of the page table
    describes. frames: of memory. colours: of the cache.
    """

    used: int
    described: int
    frames: int
    colours: int


class PageKind(Enum):
    """How an operating system chooses frames."""

    COLOURED = "coloured"
    RANDOM = "random"
    XNU = "xnu"


@frozen
class Paging:
    """A mapping of pages to frames.

    COLOURED is perfect page colouring, where page p has frame p; but the colours of a `fraction` of
    the pages are drawn at random, and then each page has the first free frame of its colour. RANDOM
    draws frames from all of memory. XNU is described above; other programs take `fraction` pages,
    on average, for each of this one's. seed: of the random numbers. first: the place of the
    program's first page among those that a page of the page table describes.
    """

    kind: PageKind = PageKind.COLOURED
    fraction: float = 0.0
    seed: int = 0
    first: int = 0

    def __post_init__(self) -> None:
        as_whole("seed", self.seed)
        as_whole("first", self.first)
        if not 0.0 <= self.fraction <= 1.0:
            what = "pages that others take" if self.kind is PageKind.XNU else "miscoloured pages"
            raise InputError(f"the fraction of {what} is {self.fraction}; give one from 0 to 1")

    def __str__(self) -> str:
        """The spelling that `parse_paging` reads, without the seed."""
        miscoloured = self.kind is PageKind.COLOURED and self.fraction
        kind = "miscoloured" if miscoloured else self.kind.value
        first = f"@{self.first}" if self.first else ""
        return kind + first + (f":{self.fraction:g}" if self.fraction else "")

    def tables(self, pages: Pages) -> int:
        """The number of pages of the page table; they are numbered after the program's."""
        return -(-(self.first % pages.described + pages.used) // pages.described)

    def map(self, pages: Pages) -> I64:
        """The frame of each page, int64 [used + tables], all different.

        Raises InputError if memory has too few frames, or if XNU gets colours that are no power of
        two.
        """
        number = pages.used + self.tables(pages)
        if number > pages.frames:
            raise InputError(
                f"{number} pages are needed and memory has {pages.frames}; choose a smaller size"
            )
        draw = np.random.default_rng(self.seed)
        if self.kind is PageKind.RANDOM:
            return draw.permutation(pages.frames)[:number].astype(np.int64)
        if self.kind is PageKind.XNU:
            return self._as_taken(pages, draw)
        if not self.fraction:
            return np.arange(number, dtype=np.int64)
        colours = np.arange(number) % pages.colours
        miscoloured = draw.random(number) < self.fraction
        colours[miscoloured] = draw.integers(0, pages.colours, miscoloured.sum())
        return _first_free(colours, pages.colours)

    def _as_taken(self, pages: Pages, draw: np.random.Generator) -> I64:
        """The frames that XNU gives: the order in which pages are taken decides their colours."""
        colours = min(pages.colours, _MOST_COLOURS)
        if colours & (colours - 1):
            raise InputError(f"xnu needs a power of two of page colours; the cache has {colours}")
        place = self.first % pages.described + np.arange(pages.used, dtype=np.int64)
        begins = place % pages.described == 0
        begins[:1] = True
        taken = np.arange(pages.used) + np.cumsum(begins) - begins
        if self.fraction:
            taken += np.cumsum(draw.poisson(self.fraction, pages.used))
        return _first_free(np.concatenate([taken, taken[begins] + 1]) % colours, colours)


def parse_paging(text: str, seed: int = 0) -> Paging:
    """A paging from its spelling: a kind or xnu@N, and :F after miscoloured or xnu."""
    match = _SPELLING.fullmatch(text.strip().lower())
    kind, first, given = match.group("kind", "first", "fraction") if match else ("", None, None)
    fraction = real_in(given) if given else 0.0
    if fraction is not None:
        if kind == "xnu":
            return Paging(PageKind.XNU, fraction, seed, int(first or 0))
        if kind == "miscoloured" and given and not first:
            return Paging(PageKind.COLOURED, fraction, seed)
        if kind in {"coloured", "random"} and not given and not first:
            return Paging(PageKind(kind), seed=seed)
    raise InputError(f'paging "{text}" is unknown; write {_KINDS}')


def _first_free(colours_of: I64, colours: int) -> I64:
    """The first free frame of each page's colour."""
    frames = np.empty_like(colours_of)
    for colour in range(colours):
        own = np.flatnonzero(colours_of == colour)
        frames[own] = colour + colours * np.arange(own.size)
    return frames


# The hierarchy -----------------------------------------------------------------------------------


@frozen
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


@frozen
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
    stream: Iterable[tuple[I64, NDArray[np.int16]]],
    *,
    unit_bytes: int,
    bytes_in_use: int,
    first: int,
    last: int,
) -> list[HostCounts]:
    """The counts of accesses `first` to `last` - 1 of a stream, in each case.

    stream: addresses over `unit_bytes`, int64, a power of two no larger than a line, and kinds, odd
    for a write; it is consumed only as far as needed. bytes_in_use: all addresses are below it. All
    caches are empty at the beginning.
    """
    cores = {
        (h.core, paging.first): _new_core(h, bytes_in_use, paging.first, unit_bytes)
        for h, paging in cases
    }
    behind = [
        Behind(
            (h.page_bytes // h.l2.line_bytes).bit_length() - 1,
            paging.map(h.pages(bytes_in_use)),
            _level(h.l2, paging.seed),
            np.zeros(3, np.int64),
        )
        for h, paging in cases
    ]

    def counts() -> list[I64]:
        return [
            np.concatenate([cores[h.core, paging.first].counts, level2.counts])
            for (h, paging), level2 in zip(cases, behind, strict=True)
        ]

    before, position = counts(), 0
    for units, kinds in stream:
        cuts = sorted({0, *(min(max(c - position, 0), units.size) for c in (first, last))})
        for start, stop in pairwise(cuts):
            requests = {}
            for name, core in cores.items():
                room = np.empty(4 * (stop - start), np.int64)
                number = _access(core, units[start:stop], kinds[start:stop], room)
                requests[name] = room[:number]
            for (h, paging), level2 in zip(cases, behind, strict=True):
                _serve(level2, requests[h.core, paging.first])
            if position + stop == first:
                before = counts()
        position += units.size
        if position >= last:
            break
    return [HostCounts(*(new - old).tolist()) for new, old in zip(counts(), before, strict=True)]


_DATA, _WALK, _BACK = 0, 1, 2  # requests to level 2: a line, a line for a walk, a write-back


class Core(NamedTuple):
    """DTLB and level 1, by virtual addresses; pages of the page table come after the others.

    unit_bits, page_bits, line_bits, entry_bits: log2 of their bytes. table: the address of the page
    table. counts: accesses, misses of level 1 and of the DTLB, misses of page walks in level 1.
    """

    unit_bits: int
    page_bits: int
    line_bits: int
    entry_bits: int
    table: int
    dtlb: Level
    l1: Level
    counts: I64


def _new_core(hierarchy: Hierarchy, bytes_in_use: int, first: int, unit_bytes: int) -> Core:
    """A Core whose caches are empty.

    bytes_in_use, unit_bytes: as in `measure`. first: as in a Paging. Virtual addresses are counted
    from the program's first page, so only the place of its entry in the page table depends on
    `first`.
    """
    page_bytes, entry_bytes = hierarchy.page_bytes, hierarchy.entry_bytes
    sizes = unit_bytes, page_bytes, hierarchy.l1.line_bytes, entry_bytes
    unit_bits, page_bits, line_bits, entry_bits = (size.bit_length() - 1 for size in sizes)
    table = _pages(page_bytes, bytes_in_use) * page_bytes
    return Core(
        *(unit_bits, page_bits, line_bits, entry_bits),
        table=table + first % (page_bytes // entry_bytes) * entry_bytes,
        dtlb=_level(hierarchy.dtlb),
        l1=_level(hierarchy.l1),
        counts=np.zeros(4, np.int64),
    )


class Behind(NamedTuple):
    """Level 2, by physical addresses.

    bits: log2 of the lines of a page. frames: of pages. counts: misses, misses of page walks, dirty
    lines evicted.
    """

    bits: int
    frames: I64
    l2: Level
    counts: I64


def _pages(page_bytes: int, bytes_in_use: int) -> int:
    return max(1, ceil(bytes_in_use / page_bytes))


def _level(cache: Cache, seed: int = 0) -> Level:
    return new_level(cache, cache.line_bytes, copies=1, seed=seed)


@inlined
def _use(level: Level, line: int, dirty: int) -> Any:
    """Look up a line, and fill it in on a miss."""
    return look(level, 0, line, 1, dirty, level.policy)


@native
def _access(core: Core, units: I64, kinds: NDArray[np.int16], requests: I64) -> int:
    """Simulate accesses in order (see `measure`); returns the number of requests to level 2."""
    dtlb, l1, counts, number = core.dtlb, core.l1, core.counts, 0
    for i in range(units.size):
        address = units[i] << core.unit_bits
        page = address >> core.page_bits
        missed = _use(dtlb, page, 0) != HIT
        counts[2] += missed
        if missed:
            line = (core.table + (page << core.entry_bits)) >> core.line_bits
            victim = _use(l1, line, 0)
            if victim != HIT:
                counts[3] += 1
                number = _request(requests, number, line, _WALK, victim)
        line = address >> core.line_bits
        victim = _use(l1, line, kinds[i] & 1)
        if victim != HIT:
            counts[1] += 1
            number = _request(requests, number, line, _DATA, victim)
    counts[0] += units.size
    return number


@inlined
def _request(requests: I64, number: int, line: int, kind: int, victim: int) -> int:
    """Request a line, and the write-back of a dirty victim; returns the number of requests."""
    requests[number] = line << 2 | kind
    if victim >= 0 and victim & 1:
        requests[number + 1] = (victim >> 1) << 2 | _BACK
        return number + 2
    return number + 1


@native
def _serve(behind: Behind, requests: I64) -> None:
    """Serve the requests of level 1."""
    bits, frames, l2, counts = behind
    for i in range(requests.size):
        kind = requests[i] & 3
        virtual = requests[i] >> 2
        line = frames[virtual >> bits] << bits | virtual & ((1 << bits) - 1)
        victim = _use(l2, line, np.int64(kind == _BACK))
        if victim != HIT:
            counts[0] += kind == _DATA
            counts[1] += kind == _WALK
            counts[2] += victim >= 0 and victim & 1
