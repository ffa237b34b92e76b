"""Caches: lines, sets and pages, and plans in a simulated cache."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache as kept

from gpgpu_legacy.cache.access import parse_access
from gpgpu_legacy.cache.caches import Memory, parse_cache
from gpgpu_legacy.cache.host import Hierarchy
from gpgpu_legacy.cache.paging import Paging
from gpgpu_legacy.cache.run import cache_run, memory_bytes, operand_tallies
from gpgpu_legacy.cache.simulate import Simulated
from gpgpu_legacy.chips.hosts import Host
from gpgpu_legacy.papers.derive.inputs import Inputs, Product, Value
from gpgpu_legacy.papers.derive.times import GIGA
from gpgpu_legacy.studies.host_anomaly.simulation import HostMisses, simulate_host


def lines_per_set(size: int, sets: int, line_bytes: int) -> Value:
    """Lines of a column of n floats in each set of a cache that the column falls into."""
    lines = {i * 4 * size // line_bytes for i in range(size)}
    return len(lines) / len({line % sets for line in lines})


def pages_against(size: int, neighbour: int, page_bytes: int) -> float:
    """Pages for each element of a column of an n×n matrix, over those at another size."""
    ours, theirs = (len({i * 4 * n // page_bytes for i in range(n)}) / n for n in (size, neighbour))
    return ours / theirs


@dataclass(frozen=True, slots=True)
class Cached:
    """A cache that all textures of a plan share, and how they are accessed, as `Access` says.

    blending: whether what blending reads of the framebuffer goes through that cache, too.
    """

    cache: str
    raster: str = "scan"
    layout: str = "linear"
    in_flight: int = 1
    blending: bool = True

    def share_from_memory(self, product: Product) -> float:
        """Bytes from memory for lookups in the operands, over the bytes that these request."""
        tallies = operand_tallies(product.plan, _simulated(product, self))
        requested = sum(tally.bytes_requested for tally in tallies)
        return sum(tally.bytes_from_memory for tally in tallies) / requested


@kept
def _simulated(product: Product, where: Cached) -> Simulated:
    """A plan's accesses, simulated in such a cache."""
    access = parse_access(where.layout, where.raster, in_flight=where.in_flight)
    plan = product.plan if where.blending else product.unblended
    return cache_run(plan, Memory((parse_cache(where.cache),)), access)


def share_from_memory_against(
    inputs: Inputs, product: Product, *, than: str, cache: str, raster: str, layout: str = "linear",
    in_flight: int = 1, blending: bool = True,
) -> Value:  # fmt: skip
    """Bytes from memory for each byte looked up in A and B, over the same of another method.

    Simulated in a cache that all textures share, with as many fragments in flight. Below 1, the
    first method is more coherent; fewer partial sums or fewer lookups do not lower it. blending:
    whether what blending reads of the framebuffer goes through that cache, too.
    """
    where = Cached(cache, raster, layout, in_flight, blending)
    theirs = inputs.product(than, product.size)
    return where.share_from_memory(product) / where.share_from_memory(theirs)


def bandwidth_behind_cache(
    inputs: Inputs, product: Product, *, time: str, cache: str, raster: str = "scan",
    layout: str = "linear", in_flight: int = 1,
) -> Value:  # fmt: skip
    """GB/s (10⁹ bytes) between memory and a simulated cache in a time, copies included."""
    moved = memory_bytes(_simulated(product, Cached(cache, raster, layout, in_flight)))
    return moved / inputs.number(time) / GIGA["decimal"]


def host_misses(host: Host, size: int, of: str) -> Value:
    """Simulated misses of level 2 or of the DTLB for each inner iteration of the host's product.

    Pages are perfectly coloured. Two rows of C are counted, after one that fills the caches.
    """
    result = _host_misses(host.hierarchy, size)
    return result.misses if of == "level 2" else result.dtlb_misses


@kept
def _host_misses(hierarchy: Hierarchy, size: int) -> HostMisses:
    return simulate_host(size, [(hierarchy, Paging())])[0]
