"""Caches: lines, sets and pages, and plans in a simulated cache."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache as kept

from gpgpu_legacy.cache.access import parse_access
from gpgpu_legacy.cache.caches import Memory, parse_cache
from gpgpu_legacy.cache.host import Hierarchy
from gpgpu_legacy.cache.paging import Paging
from gpgpu_legacy.cache.run import cache_run, operand_tallies
from gpgpu_legacy.cache.simulate import Result
from gpgpu_legacy.papers.derive.changed_plans import without_blending
from gpgpu_legacy.papers.derive.inputs import Inputs, Product
from gpgpu_legacy.papers.derive.registry import Value, derivation
from gpgpu_legacy.papers.derive.times import ns_per_step
from gpgpu_legacy.studies.host_anomaly.simulation import HostMisses, simulate_host


@derivation
def lines_per_set(inputs: Inputs, size: int, sets: int, line_bytes: int) -> Value:
    """Lines of a column of n floats in each set of a cache that the column falls into."""
    used = {i * 4 * size // line_bytes % sets for i in range(size)}
    lines = {i * 4 * size // line_bytes for i in range(size)}
    return len(lines) / len(used)


@derivation
def pages_against(inputs: Inputs, size: int, neighbour: int, page_bytes: int) -> float:
    """Pages for each element of a column of an n×n matrix, over those at another size."""
    return _pages(size, page_bytes) / _pages(neighbour, page_bytes)


def _pages(size: int, page_bytes: int) -> float:
    return len({i * 4 * size // page_bytes for i in range(size)}) / size


@derivation
def pages_explain(
    inputs: Inputs, *, table: str, series: str, size: int, neighbour: int, page_bytes: int
) -> Value:
    """Whether the pages for each element grow from one size to another as much as the time does."""
    steps = ns_per_step(inputs, table, series)
    return pages_against(inputs, size, neighbour, page_bytes) >= steps[size] / steps[neighbour]


@dataclass(frozen=True, slots=True)
class Cached:
    """A cache that all textures of a plan share, and how they are accessed, as `Access` says.

    blending: whether what blending reads of the framebuffer goes through that cache, too.
    """

    cache: str
    raster: str
    layout: str
    in_flight: int
    blending: bool = True


@kept
def simulated(product: Product, where: Cached) -> Result:
    """A plan's accesses, simulated in such a cache."""
    memory = Memory((parse_cache(where.cache),))
    access = parse_access(where.layout, where.raster, in_flight=where.in_flight)
    plan = product.plan if where.blending else without_blending(product.plan)
    return cache_run(plan, memory, access)


def share_from_memory(product: Product, where: Cached) -> float:
    """Bytes from memory for lookups in the operands, over the bytes that the lookups request."""
    result = simulated(product, where)
    tallies = operand_tallies(product.plan, result)
    requested = sum(tally.bytes_requested for tally in tallies)
    return sum(tally.bytes_from_memory for tally in tallies) / requested


@derivation
def share_from_memory_against(
    inputs: Inputs, *, method: str, than: str, size: int, block: int, cache: str, raster: str,
    layout: str = "linear", in_flight: int = 1, blending: bool = True,
) -> Value:  # fmt: skip
    """Bytes from memory for each byte looked up in A and B, over the same of another method.

    Simulated in a cache that all textures share, with as many fragments in flight. Below 1, the
    first method is more coherent; fewer partial sums or fewer lookups do not lower it. blending:
    whether what blending reads of the framebuffer goes through that cache, too.
    """
    where = Cached(cache, raster, layout, in_flight, blending)
    ours, theirs = inputs.product(method, size, block), inputs.product(than, size)
    return share_from_memory(ours, where) / share_from_memory(theirs, where)


@derivation
def host_misses(inputs: Inputs, machine: str, size: int, of: str) -> Value:
    """Simulated misses of level 2 or of the DTLB for each inner iteration of the host's product.

    Pages are perfectly coloured. Two rows of C are counted, after one that fills the caches.
    """
    result = _host_misses(inputs.host(machine).hierarchy, size)
    return result.misses if of == "level 2" else result.dtlb_misses


@kept
def _host_misses(hierarchy: Hierarchy, size: int) -> HostMisses:
    return simulate_host(size, [(hierarchy, Paging())])[0]
