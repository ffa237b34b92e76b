"""Printed numbers and times: their trends, and the rates that follow."""

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


def number(inputs: Inputs, claim: str, less: str = "") -> float:
    """The number that a claim of the same paper is about.

    less: a claim whose number is subtracted.
    """
    return inputs.number(claim) - (inputs.number(less) if less else 0.0)


def printed_cell(cell: Rounded) -> Rounded:
    """A cell of a table."""
    return cell


def rate(cell: Rounded, size: int, operations: int = 2) -> Rounded:
    """GFLOPS by a printed time, counting multiply and add, or more, in each of n³ steps."""
    return operations * size**3 * 1e-6 / cell


def speed_up_range(speed_ups: _Quotients, first: float = 0, last: float = math.inf) -> Value:
    """The least and the largest quotient of two columns, at the sizes with times above 0.

    first, last: sizes, if not all of them are meant.
    """
    quotients = [q.value for size, q in speed_ups.items() if first <= size <= last]
    return min(quotients), max(quotients)


def mean_speed_up(speed_ups: _Quotients) -> Value:
    """The geometric mean of the quotients of two columns, at the sizes with times above 0."""
    return float(np.exp(np.mean(np.log([quotient.value for quotient in speed_ups.values()]))))


def speed_ups_fall(speed_ups: _Quotients) -> Value:
    """The number of sizes at which the quotient of two columns falls, as far as rounding tells."""
    return sum(after.high < before.low for before, after in pairwise(speed_ups.values()))


def speed_up_is_constant(speed_ups: _Quotients) -> Value:
    """Whether the quotient of two columns may be one number at all sizes, rounding considered."""
    return max(q.low for q in speed_ups.values()) <= min(q.high for q in speed_ups.values())


def difference_rises(inputs: Inputs, table: str, over: str, under: str) -> Value:
    """Whether the difference of two columns rises from each size to the next."""
    differences = [
        cell.value - inputs.cell(table, under, cell.size).value
        for cell in inputs.cells(table, over)
    ]
    return all(before < after for before, after in pairwise(differences))


def sizes_by_rate(inputs: Inputs, table: str, time: str, rate: str, fastest: bool = False) -> Value:
    """The n of each row by its printed time in ms and its GFLOPS, which are 2n³ / time, rounded.

    fastest: of the row with the most GFLOPS alone.
    """
    rows = zip(inputs.cells(table, rate), inputs.cells(table, time), strict=True)
    pairs = [
        (gflops.value, round((5e5 * gflops.value * ms.value) ** (1 / 3))) for gflops, ms in rows
    ]
    return tuple(float(n) for _, n in ([max(pairs)] if fastest else pairs))


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
    return all(before.value > after.value for before, after in pairwise(cells))


def first_faster(
    inputs: Inputs, cells: Sequence[MeasuredCell], table: str, reference: str
) -> Value:
    """The fewest threads with which a column is faster than the reference."""
    host = inputs.cells(table, reference)[0].value
    return min(cell.threads or 0 for cell in cells if cell.value < host)


def smallest_block_run(cells: Sequence[MeasuredCell]) -> Value:
    """The smallest b of a column of the paper's own measurements."""
    return min(cell.block or 0 for cell in cells)


def interpolated_time(steps: _Steps, size: int) -> float:
    """A time between two sizes of a table, in ms, by interpolation of the time for a step."""
    return float(np.interp(size, [*steps], [*steps.values()])) * size**3 * 1e-6


def time_by_the_step(inputs: Inputs, table: str, series: str, of: int, size: int) -> Value:
    """A time at a size that a table lacks, in ms, by the time for a step of one that it has."""
    return inputs.cell(table, series, of) * (size / of) ** 3


def transfer_share(inputs: Inputs, product: Product, rate: str, computing: str) -> Value:
    """The share of transfers in the total, in percent, in decimal units.

    rate: of transfers in MB/s, computing: of 2n³ operations in GFLOPS, both printed.
    """
    transfer_s = product.moved_bytes / inputs.number(rate) * 1e-6
    return 100.0 * transfer_s / (transfer_s + 2 * product.size**3 / inputs.number(computing) * 1e-9)


def average_rate(inputs: Inputs, product: Product, chip: str, readback: str) -> Value:
    """The average rate of a plan's transfers, in MB/s: a chip's bus and a printed read-back."""
    bus = inputs.fact(chip, "hardware.bus_gb_per_s")
    read_s = product.counts.readback_bytes / inputs.number(readback)
    return product.moved_bytes / (product.counts.upload_bytes / (1e3 * bus.value) + read_s)


def largest_matrix(inputs: Inputs, product: Product, chip: str, megabyte: float) -> Value:
    """The largest n at which all textures of a plan fit in a chip's memory.

    product: any that needs no padding. megabyte: the unit of the profile's number, in bytes.
    """
    memory = megabyte * inputs.fact(chip, "hardware.memory_mib").value
    of_all = sum(texture.size_bytes for texture in product.plan.textures)
    return math.isqrt(int(memory * product.size**2) // of_all)
