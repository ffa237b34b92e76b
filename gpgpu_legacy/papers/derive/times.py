"""Printed times: the speed-ups, rates and trends that follow from the papers' own tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from gpgpu_legacy.papers.derive.inputs import Inputs
from gpgpu_legacy.papers.derive.registry import Rounded, Value, derivation


def cell(inputs: Inputs, table: str, series: str, size: int, block: int | None = None) -> Rounded:
    """A printed number, with the bounds of its rounding."""
    printed = inputs.paper.measurements(table).find(series).at(size, block)
    if printed is None:
        raise KeyError(f"{inputs.paper.id} has no cell {table}/{series}/{size}")
    half = printed.step / 2
    return Rounded(printed.value, max(printed.value - half, 0.0), printed.value + half)


def printed_number(inputs: Inputs, claim: str) -> float:
    """The number that a claim of the paper is about."""
    published = inputs.paper.claim(claim).published
    assert isinstance(published, int | float)
    return published


def _quotient(over: Rounded, under: Rounded, factor: float = 1.0) -> Rounded:
    """Over / under, times the factor; unbounded above where `under` may be 0."""
    return Rounded(
        factor * over.value / under.value if under.value else math.inf,
        factor * over.low / under.high,
        factor * over.high / under.low if under.low else math.inf,
    )


def _exactly(value: float) -> Rounded:
    return Rounded(value, value, value)


def _sizes(inputs: Inputs, table: str, series: Sequence[str]) -> list[int]:
    """The sizes at which all of these columns have a time above 0."""
    columns = [inputs.paper.measurements(table).find(label) for label in series]
    timed = [{c.size for c in column.cells if c.value > 0} for column in columns]
    return sorted(set.intersection(*timed))


@derivation
def printed_cell(
    inputs: Inputs, table: str, series: str, size: int, block: int | None = None
) -> Value:
    """A cell of a table, which the text repeats."""
    return cell(inputs, table, series, size, block).value


@derivation
def printed_claim(inputs: Inputs, claim: str, factor: float = 1.0) -> Value:
    """The number that the paper prints for the same quantity elsewhere, times a factor."""
    return factor * printed_number(inputs, claim)


@derivation
def rate(inputs: Inputs, table: str, series: str, size: int, operations: int = 2) -> Rounded:
    """GFLOPS by a printed time, counting multiply and add, or more, in each of n³ steps."""
    time = cell(inputs, table, series, size)
    return _quotient(_exactly(operations * size**3 * 1e-6), time)


@derivation
def quotient_of_rates(
    inputs: Inputs, *, table: str, over: str, over_size: int, under: str, under_size: int
) -> Value:
    """GFLOPS by the times of a column at one size, over those of another column and size."""
    rate_over = rate(inputs, table, over, over_size)
    return _quotient(rate_over, rate(inputs, table, under, under_size))


@derivation
def speed_up_by_rates(
    inputs: Inputs, *, table: str, over: str, under: str, size: int, operations: int
) -> Value:
    """GFLOPS by the times of a column, over those of another with so many operations a step."""
    rate_under = rate(inputs, table, under, size, operations)
    return _quotient(rate(inputs, table, over, size), rate_under)


@derivation
def share_of_peak(inputs: Inputs, table: str, series: str, size: int, chip: str) -> Value:
    """GFLOPS by a printed time, in percent of a chip's peak."""
    return 100.0 * rate(inputs, table, series, size).value / peak_gflops(inputs, chip)


def peak_gflops(inputs: Inputs, chip: str) -> float:
    """The most GFLOPS of a chip: of its compute cores, else of its fragment processors."""
    hardware = inputs.profile(chip).hardware
    fact = hardware.compute_peak_gflops or hardware.fragment_peak_gflops
    assert fact is not None
    return fact.most


@derivation
def speed_up(
    inputs: Inputs,
    *,
    table: str,
    over: str,
    under: str,
    size: int,
    over_block: int | None = None,
    under_block: int | None = None,
) -> Value:
    """The quotient of two printed cells; of times, it is the speed-up."""
    return _quotient(
        cell(inputs, table, over, size, over_block), cell(inputs, table, under, size, under_block)
    )


def _speed_ups(inputs: Inputs, table: str, over: str, under: str) -> dict[int, Rounded]:
    return {
        size: _quotient(cell(inputs, table, over, size), cell(inputs, table, under, size))
        for size in _sizes(inputs, table, (over, under))
    }


@derivation
def speed_up_range(inputs: Inputs, table: str, over: str, under: str) -> Value:
    """The least and the largest quotient of two columns, at the sizes with times above 0."""
    quotients = [quotient.value for quotient in _speed_ups(inputs, table, over, under).values()]
    return min(quotients), max(quotients)


@derivation
def speed_ups_between(
    inputs: Inputs, *, table: str, over: str, under: str, first: int, last: int
) -> Value:
    """The least and the largest quotient of two columns from one size to another."""
    all_sizes = _speed_ups(inputs, table, over, under).items()
    quotients = [quotient.value for size, quotient in all_sizes if first <= size <= last]
    return min(quotients), max(quotients)


@derivation
def largest_speed_up(inputs: Inputs, table: str, over: str, under: str) -> Value:
    """The largest quotient of two columns, at the sizes with times above 0."""
    quotients = _speed_ups(inputs, table, over, under).values()
    return max(quotients, key=lambda quotient: quotient.value)


@derivation
def mean_speed_up(inputs: Inputs, table: str, over: str, under: str) -> Value:
    """The geometric mean of the quotients of two columns, at the sizes with times above 0."""
    quotients = [quotient.value for quotient in _speed_ups(inputs, table, over, under).values()]
    return math.exp(sum(map(math.log, quotients)) / len(quotients))


@derivation
def sizes_above(inputs: Inputs, table: str, over: str, under: str, factor: float) -> Value:
    """The number of sizes at which the quotient of two columns is above a factor."""
    quotients = _speed_ups(inputs, table, over, under).values()
    return sum(quotient.value > factor for quotient in quotients)


@derivation
def speed_up_rises(inputs: Inputs, table: str, over: str, under: str) -> Value:
    """Whether the quotient of two columns rises with size, as far as rounding can tell."""
    quotients = list(_speed_ups(inputs, table, over, under).values())
    return all(after.high >= before.low for before, after in pairwise(quotients))


@derivation
def speed_up_is_constant(inputs: Inputs, table: str, over: str, under: str) -> Value:
    """Whether the quotient of two columns may be one number at all sizes, rounding considered."""
    quotients = _speed_ups(inputs, table, over, under).values()
    return max(q.low for q in quotients) <= min(q.high for q in quotients)


@derivation
def speed_up_falls_at(inputs: Inputs, table: str, over: str, under: str) -> Value:
    """The sizes at which the quotient of two columns is less than at the size before."""
    quotients = list(_speed_ups(inputs, table, over, under).items())
    return tuple(size for (_, b), (size, a) in pairwise(quotients) if a.value < b.value)


@derivation
def difference_rises(inputs: Inputs, table: str, over: str, under: str) -> Value:
    """Whether the difference of two columns rises from each size to the next."""
    sizes = _sizes(inputs, table, (over,))
    differences = [
        cell(inputs, table, over, n).value - cell(inputs, table, under, n).value for n in sizes
    ]
    return all(before < after for before, after in pairwise(differences))


@derivation
def sizes_by_rate(inputs: Inputs, table: str, time: str, rate: str) -> Value:
    """The n of each row by its printed time in ms and its GFLOPS, which are 2n³ / time, rounded."""
    return tuple(size for _, size in _by_rate(inputs, table, time, rate))


@derivation
def size_of_the_fastest(inputs: Inputs, table: str, time: str, rate: str) -> Value:
    """The same of the row with the most GFLOPS."""
    return max(_by_rate(inputs, table, time, rate))[1]


def _by_rate(inputs: Inputs, table: str, time: str, rate: str) -> list[tuple[float, float]]:
    """GFLOPS, and n by them and the time, of each row."""
    rows = [size for size, _ in inputs.paper.measurements(table).rows]
    pairs = [(cell(inputs, table, rate, n).value, cell(inputs, table, time, n).value) for n in rows]
    return [(gflops, float(round((1e6 * gflops * ms / 2) ** (1 / 3)))) for gflops, ms in pairs]


@derivation
def largest_size(inputs: Inputs, tables: Sequence[str]) -> Value:
    """The largest size in these tables."""
    return max(size for name in tables for size, _ in inputs.paper.measurements(name).rows)


def ns_per_step(inputs: Inputs, table: str, series: str) -> dict[int, float]:
    """Nanoseconds for each of the n³ steps, by size."""
    cells = inputs.paper.measurements(table).find(series).cells
    return {cell.size: 1e6 * cell.value / cell.size**3 for cell in cells if cell.value > 0}


@derivation
def times_the_median(inputs: Inputs, table: str, series: str, size: int) -> Value:
    """The time for a step at one size, over the median of all sizes of the table."""
    steps = ns_per_step(inputs, table, series)
    return steps[size] / float(np.median(list(steps.values())))


@derivation
def sizes_out_of_line(
    inputs: Inputs, table: str, series: str, factor: float, per: int = 1
) -> Value:
    """The sizes whose time for a step exceeds the table's median by a factor, divided by `per`."""
    steps = ns_per_step(inputs, table, series)
    middle = float(np.median(list(steps.values())))
    return tuple(size / per for size, step in steps.items() if step > factor * middle)


@derivation
def exponent(inputs: Inputs, products: int, parts: int) -> Value:
    """The power of n with which products of matrices grow that are split into parts each way.

    products: those of parts by which a product is computed.
    """
    return math.log(products, parts)


@derivation
def kernels_changed(inputs: Inputs, tables: Sequence[str]) -> Value:
    """Columns of these tables that ran another kernel than a listing's, by the paper's own text."""
    columns = (column for name in tables for column in inputs.paper.measurements(name).series)
    return sum(column.dynamic for column in columns)


@derivation
def growth_exponent(inputs: Inputs, table: str, series: str, without: Sequence[int]) -> Value:
    """The power of n with which times grow, by a least-squares fit of their logarithms.

    without: sizes that are left out.
    """
    cells = [
        c for c in inputs.paper.measurements(table).find(series).cells if c.size not in without
    ]
    sizes = np.log([cell.size for cell in cells])
    return float(np.polyfit(sizes, np.log([cell.value for cell in cells]), 1)[0])


@derivation
def falls_with_threads(inputs: Inputs, table: str, series: str) -> Value:
    """Whether the time falls with every increase of the number of threads."""
    cells = sorted(
        inputs.paper.measurements(table).find(series).cells, key=lambda c: c.threads or 0
    )
    return all(before.value > after.value for before, after in pairwise(cells))


@derivation
def first_faster(inputs: Inputs, table: str, series: str, reference: str) -> Value:
    """The fewest threads with which a column is faster than the reference."""
    measured = inputs.paper.measurements(table)
    host = measured.find(reference).cells[0].value
    return min(c.threads or 0 for c in measured.find(series).cells if c.value < host)


@derivation
def interpolated_time(inputs: Inputs, table: str, series: str, size: int) -> float:
    """A time between two sizes of a table, in ms, by interpolation of the time for a step."""
    steps = sorted(ns_per_step(inputs, table, series).items())
    return float(np.interp(size, [n for n, _ in steps], [s for _, s in steps])) * size**3 * 1e-6


@derivation
def time_by_the_step(inputs: Inputs, table: str, series: str, of: int, size: int) -> Value:
    """A time at a size that a table lacks, in ms, by the time for a step of one that it has."""
    return _quotient(cell(inputs, table, series, of), _exactly(of**3), size**3)


@derivation
def over_interpolated(
    inputs: Inputs, *, table: str, series: str, size: int, block: int, static: str
) -> Value:
    """A printed time over one interpolated from another table at the same size."""
    between = interpolated_time(inputs, static, series, size)
    return cell(inputs, table, series, size, block).value / between


@derivation
def least_transfer_time(
    inputs: Inputs, size: int, matrices: int, bytes_per_element: int, chip: str
) -> Value:
    """Milliseconds for transferring n×n matrices at a chip's highest memory bandwidth."""
    gb_per_s = inputs.fact(chip, "hardware.memory_gb_per_s").most
    return matrices * bytes_per_element * size**2 / gb_per_s * 1e-6


@derivation
def transfer_rate_needed(
    inputs: Inputs, size: int, milliseconds: float, matrices: int, bytes_per_element: int
) -> Value:
    """GB/s (10⁹ bytes) for transferring n×n matrices in a given time."""
    return matrices * bytes_per_element * size**2 / milliseconds * 1e-6
