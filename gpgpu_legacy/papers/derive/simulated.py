"""Caches: lines, sets and pages, and plans in a simulated cache."""

from __future__ import annotations

from functools import cache as kept

from gpgpu_legacy.cache.access import parse_access
from gpgpu_legacy.cache.caches import Memory, parse_cache
from gpgpu_legacy.cache.host import Hierarchy, Paging
from gpgpu_legacy.cache.run import cache_run, memory_bytes, operand_tallies
from gpgpu_legacy.cache.simulate import Simulated
from gpgpu_legacy.chips.hosts import Host
from gpgpu_legacy.papers.derive.inputs import Product, Value
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.studies.host_anomaly.simulation import HostMisses, simulate_host


def lines_per_set(size: int, sets: int, line_bytes: int) -> Value:
    """Lines of a column of n floats in each set of a cache that the column falls into."""
    lines = {i * 4 * size // line_bytes for i in range(size)}
    return len(lines) / len({line % sets for line in lines})


def pages(size: int, page_bytes: int) -> float:
    """Pages for each element of a column of an n×n matrix."""
    return len({i * 4 * size // page_bytes for i in range(size)}) / size


@kept
def _simulated(plan: Plan, cache: str, raster: str, layout: str, in_flight: int) -> Simulated:
    """A plan's accesses, in a cache that all its textures share."""
    access = parse_access(layout, raster, in_flight=in_flight)
    return cache_run(plan, Memory((parse_cache(cache),)), access)


def share_from_memory(
    product: Product, *, cache: str, raster: str, layout: str = "linear", in_flight: int = 1,
    blending: bool = True,
) -> float:  # fmt: skip
    """Bytes from memory for each byte looked up in A and B, simulated in a cache of all textures.

    Fewer partial sums or fewer lookups do not lower it. in_flight: as many fragments. blending:
    whether what blending reads of the framebuffer goes through that cache, too.
    """
    plan = product.plan if blending else product.unblended
    tallies = operand_tallies(plan, _simulated(plan, cache, raster, layout, in_flight))
    of = [(tally.bytes_from_memory, tally.bytes_requested) for tally in tallies]
    from_memory, requested = map(sum, zip(*of, strict=True))
    return from_memory / requested


def bytes_behind_cache(
    product: Product, *, cache: str, raster: str = "scan", layout: str = "linear",
    in_flight: int = 1,
) -> Value:  # fmt: skip
    """Bytes between memory and a simulated cache, copies included."""
    return memory_bytes(_simulated(product.plan, cache, raster, layout, in_flight))


def host_misses(host: Host, size: int, of: str) -> Value:
    """Simulated misses of level 2 or of the DTLB for each inner iteration of the host's product.

    Pages are perfectly coloured. Two rows of C are counted, after one that fills the caches.
    """
    result = _host_misses(host.hierarchy, size)
    return result.misses if of == "level 2" else result.dtlb_misses


@kept
def _host_misses(hierarchy: Hierarchy, size: int) -> HostMisses:
    return simulate_host(size, [(hierarchy, Paging())])[0]
