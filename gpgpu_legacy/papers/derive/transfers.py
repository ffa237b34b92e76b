"""Transfers, bandwidth, and the sizes of textures."""

from __future__ import annotations

import math

from gpgpu_legacy.cache.run import memory_bytes
from gpgpu_legacy.papers.derive.caches import Cached, simulated
from gpgpu_legacy.papers.derive.inputs import Inputs, Product
from gpgpu_legacy.papers.derive.registry import Value, derivation, of_product
from gpgpu_legacy.papers.derive.times import printed_number

MEGA = {"decimal": 10**6, "binary": 2**20}
GIGA = {"decimal": 10**9, "binary": 2**30, "1000 binary megas": 1000 * 2**20}


@derivation
def transfer_time(
    inputs: Inputs, method: str, size: int, block: int, rate: str, *, megabyte: str = "decimal"
) -> float:
    """Milliseconds of a plan's uploads and read-back at a printed rate in MB/s.

    megabyte: of the rate, decimal or binary.
    """
    counts = inputs.product(method, size, block).counts
    moved = counts.upload_bytes + counts.readback_bytes
    return 1e3 * moved / (printed_number(inputs, rate) * MEGA[megabyte])


@derivation
def compute_time(
    inputs: Inputs, size: int, rate: str, giga: str = "decimal", unit_s: float = 1.0
) -> float:
    """Seconds of 2n³ operations at a printed rate, divided by a unit.

    giga: of the rate, decimal, binary or 1000 binary megas.
    """
    return 2 * size**3 / (printed_number(inputs, rate) * GIGA[giga]) / unit_s


@derivation
def transfer_share_of_printed(inputs: Inputs, transfer: str, computation: str) -> Value:
    """The share of transfers in the total, in percent, by two times that the paper prints."""
    transfer_time, compute = printed_number(inputs, transfer), printed_number(inputs, computation)
    return 100.0 * transfer_time / (transfer_time + compute)


@derivation
def transfer_share(
    inputs: Inputs, *, method: str, size: int, block: int, rate: str, computing: str
) -> Value:
    """The share of transfers in the total, in percent, in decimal units.

    rate: of transfers, computing: of 2n³ operations, both printed.
    """
    transfer = transfer_time(inputs, method, size, block, rate)
    compute = 1e3 * compute_time(inputs, size, computing)
    return 100.0 * transfer / (transfer + compute)


@of_product
def upload_rate_for_the_average(
    inputs: Inputs, product: Product, average: str, readback: str
) -> Value:
    """The upload rate, in MB/s, that makes a printed average with a printed read-back rate."""
    counts = product.counts
    moved = counts.upload_bytes + counts.readback_bytes
    read_s = counts.readback_bytes / printed_number(inputs, readback)
    return counts.upload_bytes / (moved / printed_number(inputs, average) - read_s)


@of_product
def average_rate(inputs: Inputs, product: Product, chip: str, readback: str) -> Value:
    """The average rate of a plan's transfers, in MB/s: a chip's bus and a printed read-back."""
    counts = product.counts
    bus = inputs.fact(chip, "hardware.bus_gb_per_s")
    read_s = counts.readback_bytes / printed_number(inputs, readback)
    seconds = counts.upload_bytes / (1e3 * bus.value) + read_s
    return (counts.upload_bytes + counts.readback_bytes) / seconds


@derivation
def printed_headroom(inputs: Inputs, needed: str, available: str) -> Value:
    """The headroom between two printed numbers, in percent of the larger one."""
    return 100.0 * (1.0 - printed_number(inputs, needed) / printed_number(inputs, available))


@derivation
def bandwidth_needed(
    inputs: Inputs, method: str, size: int, block: int, giga: str, *, time: str | None = None,
    rate: str | None = None, copies: bool = False,
) -> float:  # fmt: skip
    """GB/s that a plan's bytes need in a printed time, or in that of 2n³ operations at a rate."""
    counts = inputs.product(method, size, block).counts
    moved = counts.bytes_requested + (counts.copy_bytes if copies else 0)
    seconds = compute_time(inputs, size, rate) if rate else printed_number(inputs, time or "")
    return moved / seconds / GIGA[giga]


@of_product
def bandwidth_behind_cache(
    inputs: Inputs, product: Product, *, time: str, cache: str,
    raster: str = "scan", layout: str = "linear", in_flight: int = 1,
) -> Value:  # fmt: skip
    """GB/s (10⁹ bytes) between memory and a simulated cache in a time, copies included."""
    where = Cached(cache, raster, layout, in_flight)
    moved = memory_bytes(simulated(product, where))
    return moved / printed_number(inputs, time) / GIGA["decimal"]


@derivation
def headroom(
    inputs: Inputs, *, method: str, size: int, block: int, chip: str, giga: str,
    time: str | None = None, rate: str | None = None,
) -> Value:  # fmt: skip
    """The percentage of a chip's bandwidth that a plan leaves unused."""
    fact = inputs.fact(chip, "hardware.memory_gb_per_s")
    needed = bandwidth_needed(inputs, method, size, block, giga, time=time, rate=rate)
    return 100.0 * (1.0 - needed / fact.value)


@derivation
def texture_megabytes(
    inputs: Inputs, method: str, size: int, megabyte: str, together: bool = False
) -> Value:
    """The largest texture of a plan, or all together, in megabytes, decimal or binary."""
    sizes = [texture.size_bytes for texture in inputs.product(method, size, 1).plan.textures]
    return (sum if together else max)(sizes) / MEGA[megabyte]


@derivation
def largest_matrix(inputs: Inputs, method: str, chip: str, megabyte: str) -> Value:
    """The largest n at which all textures of the plan fit in a chip's memory.

    megabyte: what the number of the profile counts, decimal or binary megabytes.
    """
    memory = inputs.fact(chip, "hardware.memory_mib")
    size = 8
    textures = inputs.product(method, size, 2).plan.textures
    of_all = sum(texture.size_bytes for texture in textures)
    return math.isqrt(int(memory.value * MEGA[megabyte] * size**2) // of_all)


@derivation
def largest_rendered_matrix(inputs: Inputs, method: str, chip: str) -> Value:
    """The largest n whose product a plan draws in one texture on a chip."""
    texels = inputs.fact(chip, "formats.largest_target_texels")
    size = 8
    widths = (t.extent.width for t in inputs.product(method, size, 2).plan.textures)
    return texels.value * size // max(widths)


@derivation
def upload_over_readback(inputs: Inputs, chip: str) -> Value:
    """A chip's rate of uploads, over its bus, over that of read-back."""
    back = inputs.fact(chip, "hardware.readback_gb_per_s")
    return inputs.fact(chip, "hardware.bus_gb_per_s").value / back.value
