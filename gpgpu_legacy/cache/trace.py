"""What a plan does to memory, in order: the contract between those who make it and who read it.

A Trace is an address space of regions (one a texture or buffer) and steps. A step is a number of
turns, one for each iteration of a Repeat; a turn is passes one after another; a pass gives its
accesses in Chunks, so that no trace is ever whole in memory. Makers are fragments.py and kernels.py
(by way of a plan) and anything that fills in the same data; readers are simulate.py and
distances.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NO_ACCESS = -1
REGION_ALIGNMENT = 4096


@dataclass(frozen=True, slots=True)
class Region:
    """A texture or buffer in the address space: where it begins, and its bytes, padding included.

    element_bytes: what one access moves, the size of a texel or of an array's element.
    """

    name: str
    base: int
    size_bytes: int
    element_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Accesses in order: the rows of `lines` one after another, each of them `times` times over.

    lines: int64 [rows, slots], each the line of an access, its address over the trace's
    `line_bytes`; NO_ACCESS where a row has none in a slot (a guarded-out invocation, a fragment
    outside of its rectangle).
    kinds: int16 [slots], twice the number of the region, plus one where the access is a write.
    times: int32 [rows], at least 1. A row that is repeated stands for fragments (or quads, or
    whatever the maker takes in turn) of which each accesses the same lines in the same order.
    """

    lines: NDArray[np.int64]
    kinds: NDArray[np.int16]
    times: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Sweep:
    """One pass as it is carried out.

    label: for people. accesses: how many there are in all chunks. chunks: makes them, anew each
    time that it is called.
    """

    label: str
    accesses: int
    chunks: Callable[[], Iterator[Chunk]]


@dataclass(frozen=True, slots=True)
class Step:
    """Passes that are carried out `count` times, in turns.

    turn: the passes of the given iteration, which counts from 0.
    shifts: by how many bytes each region's addresses in the given iteration are those of iteration
    0 moved, by the number of the region; a region without accesses is not in it. None where the
    iteration is not iteration 0 so moved. It is proven from coordinates and layout, not observed.
    """

    count: int
    turn: Callable[[int], tuple[Sweep, ...]]
    shifts: Callable[[int], dict[int, int] | None] = lambda iteration: {} if not iteration else None


@dataclass(frozen=True, slots=True)
class Trace:
    """All accesses of a plan.

    line_bytes: the granule of the chunks' lines: a power of two, no smaller than any access. What
    a cache with longer lines sees are lines so many times longer.
    raster, layout: how they were made, for people.
    """

    name: str
    regions: tuple[Region, ...]
    steps: tuple[Step, ...]
    line_bytes: int
    raster: str = ""
    layout: str = ""
