"""MulH's accesses through the simulated processor, some rows of C at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpgpu_legacy.algorithms.matmul.options import Shape
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.arguments import as_positive
from gpgpu_legacy.cache.host import Hierarchy, HostCounts, measure
from gpgpu_legacy.cache.kernels import first_dispatch_addresses
from gpgpu_legacy.cache.paging import Paging
from gpgpu_legacy.errors import InputError

METHOD = "dobravec-bulic-host"
WORD_BYTES = 4
WARM_ROWS, ROWS = 1, 2
LARGEST_SIZE = 16384


@dataclass(frozen=True, slots=True)
class HostMisses:
    """The simulated misses at a size, in the counted rows of C; properties are per iteration.

    Iterations are those of the innermost loop; the whole product has n³.
    """

    size: int
    rows: int
    counts: HostCounts

    @property
    def iterations(self) -> int:
        """Those that were counted."""
        return self.rows * self.size**2

    @property
    def misses(self) -> float:
        """Lines from memory: misses of level 2 by the program and by page walks."""
        return (self.counts.l2_misses + self.counts.walk_l2_misses) / self.iterations

    @property
    def walk_misses(self) -> float:
        """Misses of level 2 by page walks."""
        return self.counts.walk_l2_misses / self.iterations

    @property
    def l1_misses(self) -> float:
        """Misses of level 1 by the program."""
        return self.counts.l1_misses / self.iterations

    @property
    def dtlb_misses(self) -> float:
        """Misses of the DTLB; each is one load by the page walk."""
        return self.counts.dtlb_misses / self.iterations

    @property
    def walk_l1_misses(self) -> float:
        """Misses of level 1 by page walks."""
        return self.counts.walk_l1_misses / self.iterations


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
        find_method(METHOD).plan(Shape(size, size, size)), line_bytes=WORD_BYTES
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
    return [HostMisses(size, rows, case) for case in counts]


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
