"""The memory accesses of a plan, in order: the contract between makers and readers of traces.

A Trace is an address space of regions (one for each texture or buffer) and steps. A step has one or
more iterations (those of a Repeat); an iteration is one or more passes; a pass yields its accesses
in Chunks, so that no whole trace is ever in memory. fragments.py and kernels.py make traces of
plans, and other code may make its own. simulate.py and heat_map.py read them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.errors import InputError

NO_ACCESS = -1
REGION_ALIGNMENT = 4096


@dataclass(frozen=True, slots=True)
class MemoryRegion:
    """A texture or buffer in the address space: its first byte, and its size with padding.

    element_bytes: the bytes of one access, a texel or an array's element.
    """

    name: str
    base: int
    size_bytes: int
    element_bytes: int

    @property
    def end(self) -> int:
        """The first byte after it."""
        return self.base + self.size_bytes


def lay_out(arrays: Iterable[tuple[str, int, int]], line_bytes: int) -> tuple[MemoryRegion, ...]:
    """Regions one after another, each with a name, a size and the size of an element.

    Raises InputError for lines that are not a power of two or do not hold an element.
    """
    regions, base = [], 0
    for name, size_bytes, element_bytes in arrays:
        regions.append(MemoryRegion(name, base, size_bytes, element_bytes))
        base += -(-size_bytes // REGION_ALIGNMENT) * REGION_ALIGNMENT
    largest = max((region.element_bytes for region in regions), default=1)
    if line_bytes.bit_count() != 1 or line_bytes < largest:
        raise InputError(
            f"a line of {line_bytes} bytes does not hold whole texels; give a power of two of at "
            f"least {largest}, the plan's largest texel"
        )
    return tuple(regions)


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Accesses in order: the rows of `lines` one after another, each repeated `times` times.

    With more rows in flight (counting repetitions), they come in batches of that many, from the
    chunk's first row on; only a pass's last batch may be smaller. The rows of a batch access their
    first `lanes` slots in turn, then the next, and so on.

    lines: int64 [rows, slots], the line of each access: its address over the trace's `line_bytes`.
    NO_ACCESS if a row has no access in a slot (a masked invocation, a fragment outside its
    rectangle). kinds: int16 [slots], twice the number of the region, plus one if the access is a
    write. times: int32 [rows], at least 1. A repeated row stands for several fragments (quads, work
    groups) that access the same lines in the same order. in_flight: the rows of a batch, at least
    1. lanes: the neighbouring slots that make one access of a row (4 in a quad, for its fragments);
    it divides the number of slots.
    """

    lines: NDArray[np.int64]
    kinds: NDArray[np.int16]
    times: NDArray[np.int32]
    in_flight: int = 1
    lanes: int = 1


@dataclass(frozen=True, slots=True)
class PassTrace:
    """The accesses of one pass, in one iteration.

    accesses: their number, in all chunks; those that a border replaces are counted. chunks: makes
    the chunks, again at each call; each but the last holds whole batches. drawn: width and height
    of the rectangle of fragments that it draws, in raster order; None if it draws none.
    """

    accesses: int
    chunks: Callable[[], Iterator[Chunk]]
    drawn: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """Passes that run `count` times, one iteration after another.

    passes: those of the given iteration, which counts from 0.
    shifts: for the given iteration, the bytes by which each region's addresses exceed those of
    iteration 0, by the number of the region; regions without accesses are left out. None if the
    iteration is not iteration 0 shifted. Shifts are proven from coordinates and layout, never
    observed.
    """

    count: int
    passes: Callable[[int], tuple[PassTrace, ...]]
    shifts: Callable[[int], dict[int, int] | None] = lambda iteration: {} if not iteration else None

    def accesses(self, iteration: int) -> int:
        """The accesses of all passes of an iteration."""
        return sum(pass_.accesses for pass_ in self.passes(iteration))


@dataclass(frozen=True, slots=True)
class AccessTrace:
    """All accesses of a plan.

    line_bytes: the granule of the chunks' lines, a power of two and at least as long as any access.
    A cache with longer lines sees several granules as one line.
    """

    name: str
    regions: tuple[MemoryRegion, ...]
    steps: tuple[Step, ...]
    line_bytes: int

    @property
    def end(self) -> int:
        """The first byte after all regions."""
        return max((region.end for region in self.regions), default=0)
