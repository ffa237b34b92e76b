"""The frame of memory of each page of a program: its mapping by an operating system.

Frames of one colour share their sets of a physically addressed cache.

`xnu` is the mapping of OS X 10.9, as read in its kernel's source (xnu-2422.115.4, in Apple's
apple-oss-distributions/xnu). cpuid.c counts the colours, line × sets over the page, for the cache
that has the most; vm_page_set_colors in vm_resident.c caps them at 128. There is a list of free
frames for each colour, in ascending order after the start, since pmap_startup releases them from
the end. vm_page_grab gives a processor's own frames out in turn and gets it new ones, 4 for each
colour, one from each colour's list after another, beginning after the colour of the last. So a
page's colour follows from when it is first touched, whatever its address: pages that one processor
takes one after another have successive colours. A page of the page table is taken in the same way,
by pmap_expand in pmap.c, after the first page touched of those that it describes (vm_fault takes a
page before it enters it). Superpages are used only on request.

Assumed are: pages are first touched in the order of their addresses, as by a program that fills its
matrices one after another; by one processor, which takes no others meanwhile (or, with `xnu:F`, F
of them for each page, at random, for other programs and the kernel itself); and the lists are still
in order, which affects frames but no colours. The page at which a program begins within its group
is not known; `xnu@N` begins at the Nth page that a page of the page table describes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.errors import InputError, as_whole, real_in

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


@dataclass(frozen=True, slots=True)
class Paging:
    """A mapping of pages to frames.

    COLOURED is perfect page colouring, where page p has frame p; but the colours of a `fraction` of
    the pages are drawn at random, and then each page has the first free frame of its colour. RANDOM
    draws frames from all of memory. XNU: see the module; others take `fraction` pages, on average,
    for each of the program's. seed: of the random numbers. first: the place of the program's first
    page among those that a page of the page table describes.
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

    def map(self, pages: Pages) -> NDArray[np.int64]:
        """The frame of each page, int64 [used + tables], all different."""
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

    def _as_taken(self, pages: Pages, draw: np.random.Generator) -> NDArray[np.int64]:
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


def _first_free(colours_of: NDArray[np.int64], colours: int) -> NDArray[np.int64]:
    """The first free frame of each page's colour."""
    frames = np.empty_like(colours_of)
    for colour in range(colours):
        own = np.flatnonzero(colours_of == colour)
        frames[own] = colour + colours * np.arange(own.size)
    return frames
