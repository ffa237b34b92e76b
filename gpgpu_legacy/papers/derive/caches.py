"""Caches: lines, sets and pages, and what plans come to in a simulated one."""

from __future__ import annotations

from functools import cache as kept

from gpgpu_legacy.cache.access import parse_access
from gpgpu_legacy.cache.caches import Memory, parse_cache
from gpgpu_legacy.cache.host import Paging
from gpgpu_legacy.cache.run import cache_run, operand_tallies
from gpgpu_legacy.cache.simulate import Result
from gpgpu_legacy.chips.hosts import find_host
from gpgpu_legacy.papers.derive.counts import plan_of
from gpgpu_legacy.papers.derive.registry import Value, derivation
from gpgpu_legacy.papers.derive.times import ns_per_step
from gpgpu_legacy.published.papers import Paper
from gpgpu_legacy.studies.host_anomaly.simulation import simulate_host


@derivation
def lines_a_set(paper: Paper, *, size: int, sets: int, line_bytes: int) -> Value:
    """Cache lines that a walk down a column of n floats puts into each set that it uses."""
    used = {i * 4 * size // line_bytes % sets for i in range(size)}
    lines = {i * 4 * size // line_bytes for i in range(size)}
    return len(lines) / len(used)


@derivation
def pages_against(paper: Paper, *, size: int, neighbour: int, page_bytes: int) -> Value:
    """Memory pages a step of a walk down a column at one size, over those at another size."""
    return _pages(size, page_bytes) / _pages(neighbour, page_bytes)


def _pages(size: int, page_bytes: int) -> float:
    return len({i * 4 * size // page_bytes for i in range(size)}) / size


@derivation
def pages_explain(
    paper: Paper, *, table: str, series: str, size: int, neighbour: int, page_bytes: int
) -> Value:
    """Whether the pages a step are more at one size than at another by as much as the time is."""
    steps = ns_per_step(paper, table, series)
    slower = steps[size] / steps[neighbour]
    return _pages(size, page_bytes) / _pages(neighbour, page_bytes) >= slower


@kept
def through_cache(  # noqa: PLR0917
    method: str, size: int, block: int | None, cache: str, raster: str, layout: str
) -> Result:
    """What becomes of a plan's accesses in a cache that its textures share."""
    memory = Memory((parse_cache(cache),))
    return cache_run(plan_of(method, size, block), memory, parse_access(layout, raster))


def _share_from_memory(  # noqa: PLR0917
    method: str, size: int, block: int | None, cache: str, raster: str, layout: str
) -> float:
    """Bytes from memory for lookups in the operands, over the bytes that those ask for."""
    result = through_cache(method, size, block, cache, raster, layout)
    tallies = operand_tallies(plan_of(method, size, block), result)
    asked = sum(each.bytes_requested for each in tallies)
    return sum(each.bytes_from_memory for each in tallies) / asked


@derivation
def share_from_memory_against(
    paper: Paper, *, method: str, than: str, size: int, block: int, cache: str, raster: str,
    layout: str = "linear",
) -> Value:  # fmt: skip
    """Bytes that lookups in A and B take from memory for each that they ask for, over another's.

    In a simulated cache that the textures share, fragments in that order. What is below 1 is the
    greater coherence: neither fewer partial sums nor fewer lookups lower it.
    """
    ours = _share_from_memory(method, size, block, cache, raster, layout)
    return ours / _share_from_memory(than, size, None, cache, raster, layout)


@derivation
def host_misses(paper: Paper, *, machine: str, size: int, of: str) -> Value:
    """Misses an inner iteration of the host's product, of level 2 or of the DTLB, simulated.

    With pages perfectly coloured; two rows of C are counted after one to warm up.
    """
    found = simulate_host(size, [(find_host(machine).hierarchy, Paging())])[0]
    return found.misses if of == "level 2" else found.dtlb_misses
