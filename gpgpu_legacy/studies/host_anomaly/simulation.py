"""MulH's accesses through the simulated processor, some rows of C at a time."""

from __future__ import annotations

from collections.abc import Sequence

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.arguments import as_positive
from gpgpu_legacy.cache.host import Hierarchy, HostCounts, measure
from gpgpu_legacy.cache.kernels import first_dispatch_addresses
from gpgpu_legacy.cache.paging import Paging
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.serial import Record

METHOD = "dobravec-bulic-host"
WORD_BYTES = 4
WARM_ROWS, ROWS = 1, 2
LARGEST_SIZE = 16384


class HostMisses(Record):
    """The simulated misses at size n, each per iteration of the innermost loop.

    rows: those of C that were counted. misses: lines from memory, which are misses of level 2 by
    the program and by page walks. l1_misses: of level 1, by the program. dtlb_misses: each is one
    load by the page walk. walk_misses, walk_l1_misses: by page walks.
    """

    size: int
    rows: int
    misses: float
    walk_misses: float
    l1_misses: float
    dtlb_misses: float
    walk_l1_misses: float


def simulate_host(
    size: int,
    cases: Sequence[tuple[Hierarchy, Paging]],
    rows: int = ROWS,
    warm_rows: int = WARM_ROWS,
) -> list[HostMisses]:
    """MulH of n×n matrices on each hierarchy and paging, in its steady state.

    The caches are empty at first; `warm_rows` rows of C are computed before `rows` are counted.
    Raises InputError where C has fewer rows, and for sizes above LARGEST_SIZE.
    """
    check_rows(size, rows, warm_rows)
    regions, stream = first_dispatch_addresses(
        find_product(METHOD).plan(n=size), line_bytes=WORD_BYTES
    )
    accesses_per_row = size * (2 * size + 1)  # n steps of two loads, and a store, n times
    counts = measure(
        cases,
        stream,
        unit_bytes=WORD_BYTES,
        bytes_in_use=regions[-1].base + regions[-1].size_bytes,
        first=warm_rows * accesses_per_row,
        last=(warm_rows + rows) * accesses_per_row,
    )
    return [misses_of(size, rows, case) for case in counts]


def misses_of(size: int, rows: int, counts: HostCounts) -> HostMisses:
    """The misses that were counted in so many rows of C, per iteration."""
    steps = rows * size**2
    return HostMisses(
        size=size,
        rows=rows,
        misses=(counts.l2_misses + counts.walk_l2_misses) / steps,
        walk_misses=counts.walk_l2_misses / steps,
        l1_misses=counts.l1_misses / steps,
        dtlb_misses=counts.dtlb_misses / steps,
        walk_l1_misses=counts.walk_l1_misses / steps,
    )


def check_rows(size: int, rows: int, warm_rows: int = WARM_ROWS) -> None:
    """InputError for a size that cannot be simulated with these numbers of rows."""
    as_positive("rows", rows)
    if warm_rows < 0 or size < rows + warm_rows:
        raise InputError(
            f"n is {size}; it must be at least {rows + warm_rows}: {warm_rows} row of C to warm up "
            f"the caches and {rows} to count; count fewer rows"
        )
    if size > LARGEST_SIZE:
        raise InputError(f"n = {size}: the largest size is {LARGEST_SIZE}")
