"""Printed times and transfers: the speed-ups, rates, shares and trends that follow."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from gpgpu_legacy.papers.derive.inputs import Inputs, Product, Rounded, Value
from gpgpu_legacy.published.tables import MeasuredCell

_Quotients = Mapping[int, Rounded]
_Steps = Mapping[int, float]
"""By size."""


def printed_cell(cell: Rounded) -> Value:
    """A cell of a table, which the text repeats."""
    return cell.value


def printed_claim(inputs: Inputs, claim: str, factor: float = 1.0) -> Value:
    """The number that the paper prints for the same quantity elsewhere, times a factor."""
    return factor * inputs.number(claim)


def rate(cell: Rounded, size: int, operations: int = 2) -> Rounded:
    """GFLOPS by a printed time, counting multiply and add, or more, in each of n³ steps."""
    return operations * size**3 * 1e-6 / cell


def quotient_of_rates(
    inputs: Inputs, *, table: str, over: str, over_size: int, under: str, under_size: int
) -> Value:
    """GFLOPS by the times of a column at one size, over those of another column and size."""
    rate_over = rate(inputs.cell(table, over, over_size), over_size)
    return rate_over / rate(inputs.cell(table, under, under_size), under_size)


def share_of_peak(cell: Rounded, size: int, peak_gflops: float) -> Value:
    """GFLOPS by a printed time, in percent of a chip's peak."""
    return 100.0 * rate(cell, size).value / peak_gflops


def speed_up(
    inputs: Inputs, *, table: str, over: str, under: str, size: int, over_block: int | None = None,
    under_block: int | None = None,
) -> Value:  # fmt: skip
    """The quotient of two printed cells; of times, it is the speed-up."""
    under_it = inputs.cell(table, under, size, under_block)
    return inputs.cell(table, over, size, over_block) / under_it


def speed_up_range(speed_ups: _Quotients, first: float = 0, last: float = math.inf) -> Value:
    """The least and the largest quotient of two columns, at the sizes with times above 0.

    first, last: sizes, if not all of them are meant.
    """
    quotients = [q.value for size, q in speed_ups.items() if first <= size <= last]
    return min(quotients), max(quotients)


def largest_speed_up(speed_ups: _Quotients) -> Value:
    """The largest quotient of two columns, at the sizes with times above 0."""
    return max(speed_ups.values(), key=lambda quotient: quotient.value)


def mean_speed_up(speed_ups: _Quotients) -> Value:
    """The geometric mean of the quotients of two columns, at the sizes with times above 0."""
    return math.exp(sum(math.log(q.value) for q in speed_ups.values()) / len(speed_ups))


def sizes_above(speed_ups: _Quotients, factor: float) -> Value:
    """The number of sizes at which the quotient of two columns is above a factor."""
    return sum(quotient.value > factor for quotient in speed_ups.values())


def speed_up_rises(speed_ups: _Quotients) -> Value:
    """Whether the quotient of two columns rises with size, as far as rounding can tell."""
    return all(after.high >= before.low for before, after in pairwise(speed_ups.values()))


def speed_up_is_constant(speed_ups: _Quotients) -> Value:
    """Whether the quotient of two columns may be one number at all sizes, rounding considered."""
    return max(q.low for q in speed_ups.values()) <= min(q.high for q in speed_ups.values())


def speed_up_falls_at(speed_ups: _Quotients) -> Value:
    """The sizes at which the quotient of two columns is less than at the size before."""
    pairs = pairwise(speed_ups.items())
    return tuple(size for (_, before), (size, after) in pairs if after.value < before.value)


def difference_rises(inputs: Inputs, table: str, over: str, under: str) -> Value:
    """Whether the difference of two columns rises from each size to the next."""
    sizes = sorted(cell.size for cell in inputs.cells(table, over) if cell.value > 0)
    differences = [
        inputs.cell(table, over, n).value - inputs.cell(table, under, n).value for n in sizes
    ]
    return all(before < after for before, after in pairwise(differences))


def sizes_by_rate(inputs: Inputs, table: str, time: str, rate: str) -> Value:
    """The n of each row by its printed time in ms and its GFLOPS, which are 2n³ / time, rounded."""
    return tuple(size for _, size in _by_rate(inputs, table, time, rate))


def size_of_the_fastest(inputs: Inputs, table: str, time: str, rate: str) -> Value:
    """The same of the row with the most GFLOPS."""
    return max(_by_rate(inputs, table, time, rate))[1]


def _by_rate(inputs: Inputs, table: str, time: str, rate: str) -> list[tuple[float, float]]:
    """GFLOPS, and n by them and the time, of each row."""
    rows = [size for size, _ in inputs.paper.measurements(table).rows]
    pairs = [[inputs.cell(table, column, n).value for column in (rate, time)] for n in rows]
    return [(gflops, float(round((1e6 * gflops * ms / 2) ** (1 / 3)))) for gflops, ms in pairs]


def largest_size(inputs: Inputs, tables: Sequence[str]) -> Value:
    """The largest size in these tables."""
    return max(size for name in tables for size, _ in inputs.paper.measurements(name).rows)


def times_the_median(steps: _Steps, size: int) -> float:
    """The time for a step at one size, over the median of all sizes of the table."""
    return steps[size] / float(np.median([*steps.values()]))


def sizes_out_of_line(steps: _Steps, factor: float, per: int = 1) -> Value:
    """The sizes whose time for a step exceeds the table's median by a factor, divided by `per`."""
    return tuple(size / per for size in steps if times_the_median(steps, size) > factor)


def exponent(products: int, parts: int) -> Value:
    """The power of n with which products of matrices grow that are split into parts each way.

    products: those of parts by which a product is computed.
    """
    return math.log(products, parts)


def kernels_changed(inputs: Inputs, tables: Sequence[str]) -> Value:
    """Columns of these tables that ran another kernel than a listing's, by the paper's own text."""
    columns = (column for name in tables for column in inputs.paper.measurements(name).series)
    return sum(column.dynamic for column in columns)


def growth_exponent(cells: Sequence[MeasuredCell], without: Sequence[int]) -> Value:
    """The power of n with which times grow, by a least-squares fit of their logarithms.

    without: sizes that are left out.
    """
    points = [(cell.size, cell.value) for cell in cells if cell.size not in without]
    sizes, times = np.log(points).T
    return float(np.polyfit(sizes, times, 1)[0])


def falls_with_threads(cells: Sequence[MeasuredCell]) -> Value:
    """Whether the time falls with every increase of the number of threads."""
    in_order = sorted(cells, key=lambda cell: cell.threads or 0)
    return all(before.value > after.value for before, after in pairwise(in_order))


def first_faster(
    inputs: Inputs, cells: Sequence[MeasuredCell], table: str, reference: str
) -> Value:
    """The fewest threads with which a column is faster than the reference."""
    host = inputs.cells(table, reference)[0].value
    return min(cell.threads or 0 for cell in cells if cell.value < host)


def _interpolated_time(steps: _Steps, size: int) -> float:
    """A time between two sizes of a table, in ms, by interpolation of the time for a step."""
    sizes, times = zip(*sorted(steps.items()), strict=True)
    return float(np.interp(size, sizes, times)) * size**3 * 1e-6


def time_by_the_step(inputs: Inputs, table: str, series: str, of: int, size: int) -> Value:
    """A time at a size that a table lacks, in ms, by the time for a step of one that it has."""
    known = inputs.cell(table, series, of)
    return Rounded(*(size**3 * time / of**3 for time in (known.value, known.low, known.high)))


def over_interpolated(inputs: Inputs, cell: Rounded, series: str, size: int, static: str) -> Value:
    """A printed time over one interpolated from another table at the same size."""
    return cell.value / _interpolated_time(inputs.steps(static, series), size)


# Transfers, bandwidth, and the sizes of textures --------------------------------------------------

_MEGA = {"decimal": 10**6, "binary": 2**20}
GIGA = {"decimal": 10**9, "binary": 2**30, "1000 binary megas": 1000 * 2**20}


def transfer_rate_needed(
    size: int, milliseconds: float, matrices: int, bytes_per_element: int
) -> Value:
    """GB/s (10⁹ bytes) for transferring n×n matrices in a given time."""
    return matrices * bytes_per_element * size**2 / milliseconds * 1e-6


def transfer_time(inputs: Inputs, product: Product, rate: str, megabyte: str = "decimal") -> float:
    """Milliseconds of a plan's uploads and read-back at a printed rate in MB/s.

    megabyte: of the rate, decimal or binary.
    """
    return 1e3 * product.moved_bytes / (inputs.number(rate) * _MEGA[megabyte])


def compute_time(
    inputs: Inputs, size: int, rate: str, giga: str = "decimal", unit_s: float = 1.0
) -> float:
    """Seconds of 2n³ operations at a printed rate, divided by a unit.

    giga: of the rate, decimal, binary or 1000 binary megas.
    """
    return 2 * size**3 / (inputs.number(rate) * GIGA[giga]) / unit_s


def transfer_share_of_printed(inputs: Inputs, transfer: str, computation: str) -> Value:
    """The share of transfers in the total, in percent, by two times that the paper prints."""
    transfer_time, compute = inputs.number(transfer), inputs.number(computation)
    return 100.0 * transfer_time / (transfer_time + compute)


def transfer_share(inputs: Inputs, product: Product, rate: str, computing: str) -> Value:
    """The share of transfers in the total, in percent, in decimal units.

    rate: of transfers, computing: of 2n³ operations, both printed.
    """
    transfer = transfer_time(inputs, product, rate)
    return 100.0 * transfer / (transfer + 1e3 * compute_time(inputs, product.size, computing))


def upload_rate_for_the_average(
    inputs: Inputs, product: Product, average: str, readback: str
) -> Value:
    """The upload rate, in MB/s, that makes a printed average with a printed read-back rate."""
    read_s = product.counts.readback_bytes / inputs.number(readback)
    total_s = product.moved_bytes / inputs.number(average)
    return product.counts.upload_bytes / (total_s - read_s)


def average_rate(inputs: Inputs, product: Product, chip: str, readback: str) -> Value:
    """The average rate of a plan's transfers, in MB/s: a chip's bus and a printed read-back."""
    bus = inputs.fact(chip, "hardware.bus_gb_per_s")
    read_s = product.counts.readback_bytes / inputs.number(readback)
    return product.moved_bytes / (product.counts.upload_bytes / (1e3 * bus.value) + read_s)


def printed_headroom(inputs: Inputs, needed: str, available: str) -> Value:
    """The headroom between two printed numbers, in percent of the larger one."""
    return 100.0 * (1.0 - inputs.number(needed) / inputs.number(available))


def bandwidth_needed(
    inputs: Inputs, product: Product, *, giga: str, time: str = "", rate: str = "",
    copies: bool = False,
) -> float:  # fmt: skip
    """GB/s that a plan's bytes need in a printed time, or in that of 2n³ operations at a rate."""
    moved = product.counts.bytes_requested + copies * product.counts.copy_bytes
    seconds = compute_time(inputs, product.size, rate) if rate else inputs.number(time)
    return moved / seconds / GIGA[giga]


def headroom(
    inputs: Inputs, product: Product, *, chip: str, giga: str, time: str = "", rate: str = ""
) -> Value:
    """The percentage of a chip's bandwidth that a plan leaves unused."""
    fact = inputs.fact(chip, "hardware.memory_gb_per_s")
    return 100.0 * (
        1.0 - bandwidth_needed(inputs, product, giga=giga, time=time, rate=rate) / fact.value
    )


def texture_megabytes(product: Product, megabyte: str, together: bool = False) -> Value:
    """The largest texture of a plan, or all together, in megabytes, decimal or binary."""
    sizes = [texture.size_bytes for texture in product.plan.textures]
    return (sum if together else max)(sizes) / _MEGA[megabyte]


def largest_matrix(inputs: Inputs, method: str, chip: str, megabyte: str) -> Value:
    """The largest n at which all textures of the plan fit in a chip's memory.

    megabyte: the unit of the profile's number, decimal or binary.
    """
    memory = inputs.fact(chip, "hardware.memory_mib")
    textures = inputs.product(method, _SMALL, 2).plan.textures
    of_all = sum(texture.size_bytes for texture in textures)
    return math.isqrt(int(memory.value * _MEGA[megabyte] * _SMALL**2) // of_all)


def largest_rendered_matrix(inputs: Inputs, method: str, chip: str) -> Value:
    """The largest n whose product a plan draws in one texture on a chip."""
    texels = inputs.fact(chip, "formats.largest_target_texels")
    widths = (t.extent.width for t in inputs.product(method, _SMALL, 2).plan.textures)
    return texels.value * _SMALL // max(widths)


_SMALL = 8  # the n of a plan whose textures stand for those of others
