"""The simulated misses and their outliers, without any modelled time.

MulH's accesses for some rows of C go through the simulated processor. A published outlier is a size
with far more time per iteration than the sizes beside it. A simulated outlier is one with far more
misses than it needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from statistics import median

import numpy as np

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.cache.caches import Cache, Policy
from gpgpu_legacy.cache.host import Hierarchy, Paging, measure, parse_paging
from gpgpu_legacy.cache.kernels import trace_kernels
from gpgpu_legacy.chips.hosts import Host, find_host, hosts
from gpgpu_legacy.errors import InputError, as_member
from gpgpu_legacy.papers.published.papers import find_paper
from gpgpu_legacy.serial import Record, as_record

# Cases --------------------------------------------------------------------------------------------

PAGINGS = ("coloured", "miscoloured:0.01", "random", "xnu")
PSEUDO_PAGING, PSEUDO_POLICIES = "xnu", (Policy.PLRU, Policy.RANDOM_PLRU)
"""The first machine also has pseudo-LRU with this paging, unless pagings or policies are given."""


class HostCase(Record):
    """A case to simulate.

    machine: its name. paging: as `parse_paging` reads it, with this seed. policy: of level 2.
    """

    machine: str
    paging: str
    policy: Policy = Policy.LRU
    seed: int = 0

    @property
    def host(self) -> Host:
        """The machine."""
        return find_host(self.machine)

    @property
    def pages(self) -> Paging:
        """The mapping of its pages."""
        return parse_paging(self.paging, self.seed)

    @property
    def hierarchy(self) -> Hierarchy:
        """The caches and the DTLB of the machine, with that policy."""
        own = self.host.hierarchy
        return replace(own, l2=replace(own.l2, policy=self.policy))

    @property
    def name(self) -> str:
        """The machine, the paging, and the policy if it is not LRU."""
        policy = "" if self.policy is Policy.LRU else f", {self.policy.value}"
        return f"{self.machine}, {self.paging}{policy}"


def make_cases(
    machines: Sequence[str] = (),
    pagings: Sequence[str] = (),
    policies: Sequence[str] = (),
    seed: int = 0,
) -> list[HostCase]:
    """These machines with all these pagings and policies; by default all, PAGINGS, and LRU.

    If neither pagings nor policies are given, there is the first machine with pseudo-LRU, too.
    Raises InputError for an unknown name.
    """
    names = [find_host(name).name for name in machines] or [host.name for host in hosts()]
    kinds = [str(parse_paging(text, seed)) for text in pagings or PAGINGS]
    replaced = [as_member("policy", text.strip().lower(), Policy) for text in policies]
    combined = [*product(names, replaced or [Policy.LRU], kinds)]
    if not (pagings or policies):
        more = [(names[0], policy, PSEUDO_PAGING) for policy in PSEUDO_POLICIES]
        combined[len(kinds) : len(kinds)] = more
    return [
        HostCase(machine=name, paging=kind, policy=policy, seed=seed)
        for name, policy, kind in combined
    ]


# Misses -------------------------------------------------------------------------------------------

METHOD = "dobravec-bulic-host"
WORD_BYTES = 4
WARM_ROWS, ROWS = 1, 2
LARGEST_SIZE = 16384


class HostMisses(Record):
    """The simulated misses at size n, each per iteration of the innermost loop.

    misses: lines from memory: misses of level 2 by the program and by page walks. walk_misses:
    those by page walks. l1_misses: of level 1, by the program. dtlb_misses: each is one load by a
    page walk.
    """

    size: int
    misses: float
    walk_misses: float
    l1_misses: float
    dtlb_misses: float


def simulate_host(size: int, cases: Sequence[tuple[Hierarchy, Paging]]) -> list[HostMisses]:
    """MulH of n×n matrices on each hierarchy and paging, in its steady state.

    The caches are empty at first; WARM_ROWS rows of C are computed before ROWS are counted.
    Raises InputError if C has fewer rows, and for sizes above LARGEST_SIZE.
    """
    check_size(size)
    trace = trace_kernels(find_product(METHOD).plan(n=size), line_bytes=WORD_BYTES)
    [pass_] = trace.steps[0].passes(0)
    accesses_per_row = size * (2 * size + 1)  # n steps of two loads, and a store, n times
    counts = measure(
        cases,
        ((chunk.lines[0], chunk.kinds) for chunk in pass_.chunks()),
        unit_bytes=WORD_BYTES,
        bytes_in_use=trace.end,
        first=WARM_ROWS * accesses_per_row,
        last=(WARM_ROWS + ROWS) * accesses_per_row,
    )
    steps = ROWS * size**2
    return [
        HostMisses(
            size=size,
            misses=(count.l2_misses + count.walk_l2_misses) / steps,
            walk_misses=count.walk_l2_misses / steps,
            l1_misses=count.l1_misses / steps,
            dtlb_misses=count.dtlb_misses / steps,
        )
        for count in counts
    ]


def check_size(size: int) -> None:
    """Raise InputError for a size that cannot be simulated."""
    if size < WARM_ROWS + ROWS:
        raise InputError(
            f"n is {size}; it must be at least {WARM_ROWS + ROWS}: {WARM_ROWS} row of C to warm up "
            f"the caches and {ROWS} to count"
        )
    if size > LARGEST_SIZE:
        raise InputError(f"n = {size}: the largest size is {LARGEST_SIZE}")


# Outliers -----------------------------------------------------------------------------------------

_PAPER, _TABLE = "dobravec-bulic-2017", "section-3-2"
_OUTLIER = 1.2  # times the time per iteration beside it
_BESIDE = 0.05  # of n: sizes at most this far away lie beside it


class HostRow(HostMisses):
    """A size: simulated, published, and predicted. …_ns: of an iteration.

    lines_a_set: the most lines of a column of B in one set of level 2. is_outlier: by the simulated
    misses. times_beside: the published time over those beside it; None if there are none.
    predicted_ns: None if nothing was fitted, and for simulated outliers without a miss penalty.
    """

    lines_a_set: int
    is_outlier: bool
    published_ns: float | None
    times_beside: float | None
    is_published_outlier: bool
    predicted_ns: float | None = None
    is_fitted: bool = False


def make_rows(
    simulated: Sequence[HostMisses], published_ms: Mapping[int, float], cache: Cache
) -> list[HostRow]:
    """The sizes in order, with their published times. cache: level 2.

    Published outliers are found among all published times, simulated or not.
    """
    outliers, ratios = find_outliers(published_ms), times_beside(published_ms)
    return [
        as_record(
            HostRow,
            one,
            lines_a_set=lines_per_set(one.size, cache),
            is_outlier=one.misses > 2 * needed_misses(cache.line_bytes),
            published_ns=published_ms[one.size] * 1e6 / one.size**3
            if one.size in published_ms
            else None,
            times_beside=ratios.get(one.size),
            is_published_outlier=one.size in outliers,
        )
        for one in sorted(simulated, key=lambda one: one.size)
    ]


def needed_misses(line_bytes: int) -> float:
    """The misses per iteration if each line of B is read once for all columns in it.

    An outlier has more than twice as many.
    """
    return WORD_BYTES / line_bytes


def lines_per_set(size: int, cache: Cache) -> int:
    """The most lines of a column of B in one set, where pages are perfectly coloured."""
    lines = np.arange(size, dtype=np.int64) * size * WORD_BYTES // cache.line_bytes
    return int(np.bincount(lines % cache.sets).max())


def find_ways(rows: Sequence[HostRow]) -> tuple[int, int] | None:
    """The fewest and the most ways that a column fills exactly at the published outliers.

    Pages are perfectly coloured. None if there is no such number.
    """
    known = [row for row in rows if row.published_ns is not None]
    most = min((row.lines_a_set for row in known if row.is_published_outlier), default=0)
    fewest = 1 + max((row.lines_a_set for row in known if not row.is_published_outlier), default=0)
    return (fewest, most) if fewest <= most else None


# Published times --------------------------------------------------------------------------------


def published_times() -> dict[int, float]:
    """The host's published times by size, in ms: from Section 3.2, then from the tables."""
    tables = sorted(find_paper(_PAPER).measured, key=lambda table: not table.id.endswith(_TABLE))
    times: dict[int, float] = {}
    for table in tables:
        for series in table.series:
            if series.method == METHOD:
                for cell in series.cells:
                    times.setdefault(cell.size, cell.value)
    return times


def sizes_beside(published_ms: Mapping[int, float]) -> dict[int, tuple[int, ...]]:
    """For each size, the sizes that lie beside it.

    Where none do, they are the next smaller and the next larger one. The smallest and the largest
    size are then left out.
    """
    sizes = sorted(published_ms)
    near = {n: tuple(k for k in sizes if 0 < abs(k - n) <= _BESIDE * n) for n in sizes}
    for below, n, above in zip(sizes, sizes[1:], sizes[2:], strict=False):
        near[n] = near[n] or (below, above)
    return {n: beside for n, beside in near.items() if beside}


def times_beside(published_ms: Mapping[int, float]) -> dict[int, float]:
    """The time per iteration of each size over that beside it.

    The time beside it is the median over the sizes beside it; of two, the longer, since times grow
    with n.
    """
    times = {n: ms / n**3 for n, ms in published_ms.items()}
    return {
        n: times[n] / (median if beside[2:] else max)(times[k] for k in beside)
        for n, beside in sizes_beside(published_ms).items()
    }


def find_outliers(published_ms: Mapping[int, float]) -> dict[int, tuple[int, ...]]:
    """The sizes whose time per iteration is an outlier, each with those beside it."""
    ratios = times_beside(published_ms)
    return {n: near for n, near in sizes_beside(published_ms).items() if ratios[n] > _OUTLIER}
