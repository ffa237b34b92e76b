"""Printed times and rates: what follows from the cells of the papers' own tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from gpgpu_legacy.chips.profile import find_profile
from gpgpu_legacy.papers.derive.registry import Rounded, Value, derivation
from gpgpu_legacy.published.papers import Paper
from gpgpu_legacy.published.tables import MeasuredTable


def cell(paper: Paper, table: str, series: str, size: int, block: int | None = None) -> Rounded:
    """A printed time, with the bounds that its last digit leaves it."""
    found = paper.measurements(table).find(series).at(size, block)
    if found is None:
        raise KeyError(f"{paper.id} has no cell {table}/{series}/{size}")
    half = found.step / 2
    return Rounded(found.value, max(found.value - half, 0.0), found.value + half)


def _quotient(over: Rounded, under: Rounded, factor: float = 1.0) -> Rounded:
    """Over / under, times the factor; without an upper bound where the one below may be 0."""
    return Rounded(
        factor * over.value / under.value if under.value else math.inf,
        factor * over.low / under.high,
        factor * over.high / under.low if under.low else math.inf,
    )


def _exactly(value: float) -> Rounded:
    return Rounded(value, value, value)


def _sizes(paper: Paper, table: str, series: Sequence[str]) -> list[int]:
    """The sizes at which all of these columns have a time that the clock saw."""
    columns = [paper.measurements(table).find(each) for each in series]
    seen = [{c.size for c in column.cells if c.value > 0} for column in columns]
    return sorted(set.intersection(*seen))


@derivation
def printed_cell(
    paper: Paper, *, table: str, series: str, size: int, block: int | None = None
) -> Value:
    """The cell of a table that a sentence of the text repeats."""
    return cell(paper, table, series, size, block).value


@derivation
def printed_claim(paper: Paper, *, claim: str, factor: float = 1.0) -> Value:
    """What the paper prints of the same quantity elsewhere, brought to this unit by a factor."""
    published = paper.claim(claim).published
    assert isinstance(published, int | float)
    return factor * published


@derivation
def rate(paper: Paper, *, table: str, series: str, size: int, operations: int = 2) -> Value:
    """GFLOPS: so many operations a step of n³ (2: multiply and add), over a printed time."""
    return _rate(paper, table, series, size, operations)


def _rate(paper: Paper, table: str, series: str, size: int, operations: int = 2) -> Rounded:
    time = cell(paper, table, series, size)
    return _quotient(_exactly(operations * size**3 * 1e-6), time)


@derivation
def quotient_of_rates(
    paper: Paper, *, table: str, over: str, over_size: int, under: str, under_size: int
) -> Value:
    """How many times a column's GFLOPS at one size are another's at another size, by the times."""
    rate_over = _rate(paper, table, over, over_size)
    return _quotient(rate_over, _rate(paper, table, under, under_size))


@derivation
def share_of_peak(paper: Paper, *, table: str, series: str, size: int, chip: str) -> Value:
    """Percent of a chip's peak that the rate of a printed time is."""
    return 100.0 * _rate(paper, table, series, size).value / peak_gflops(chip)


def peak_gflops(chip: str) -> float:
    """A chip's peak, of whatever it multiplied with."""
    hardware = find_profile(chip).hardware
    fact = hardware.compute_peak_gflops or hardware.fragment_peak_gflops
    assert fact is not None
    return fact.value


@derivation
def speed_up(
    paper: Paper,
    *,
    table: str,
    over: str,
    under: str,
    size: int,
    over_block: int | None = None,
    under_block: int | None = None,
) -> Value:
    """The quotient of two printed cells: of times, how many times as fast."""
    return _quotient(
        cell(paper, table, over, size, over_block), cell(paper, table, under, size, under_block)
    )


def _speed_ups(paper: Paper, table: str, over: str, under: str) -> dict[int, Rounded]:
    return {
        size: _quotient(cell(paper, table, over, size), cell(paper, table, under, size))
        for size in _sizes(paper, table, (over, under))
    }


@derivation
def speed_up_range(paper: Paper, *, table: str, over: str, under: str) -> Value:
    """The least and the largest quotient of two columns, over the sizes that the clock saw."""
    found = [each.value for each in _speed_ups(paper, table, over, under).values()]
    return min(found), max(found)


@derivation
def speed_ups_between(
    paper: Paper, *, table: str, over: str, under: str, first: int, last: int
) -> Value:
    """The least and the largest quotient of two columns from one size to another."""
    found = _speed_ups(paper, table, over, under)
    some = [each.value for size, each in found.items() if first <= size <= last]
    return min(some), max(some)


@derivation
def largest_speed_up(paper: Paper, *, table: str, over: str, under: str) -> Value:
    """The largest quotient of two columns, over the sizes that the clock saw."""
    return max((e for e in _speed_ups(paper, table, over, under).values()), key=lambda e: e.value)


@derivation
def mean_speed_up(paper: Paper, *, table: str, over: str, under: str) -> Value:
    """The geometric mean of the quotients of two columns, over the sizes that the clock saw."""
    found = [each.value for each in _speed_ups(paper, table, over, under).values()]
    return math.exp(sum(map(math.log, found)) / len(found))


@derivation
def sizes_above(paper: Paper, *, table: str, over: str, under: str, factor: float) -> Value:
    """How many sizes have a quotient of two columns above a factor."""
    found = _speed_ups(paper, table, over, under).values()
    return sum(each.value > factor for each in found)


@derivation
def speed_up_rises(paper: Paper, *, table: str, over: str, under: str) -> Value:
    """Whether the quotient of two columns never falls with size by more than rounding allows."""
    found = list(_speed_ups(paper, table, over, under).values())
    return all(after.high >= before.low for before, after in pairwise(found))


@derivation
def speed_up_is_constant(paper: Paper, *, table: str, over: str, under: str) -> Value:
    """Whether one number lies within the rounding of every quotient of two columns."""
    found = _speed_ups(paper, table, over, under).values()
    return max(each.low for each in found) <= min(each.high for each in found)


@derivation
def speed_up_falls_at(paper: Paper, *, table: str, over: str, under: str) -> Value:
    """The sizes at which the quotient of two columns is less than at the size before."""
    found = list(_speed_ups(paper, table, over, under).items())
    return tuple(size for (_, b), (size, a) in pairwise(found) if a.value < b.value)


@derivation
def difference_rises(paper: Paper, *, table: str, over: str, under: str) -> Value:
    """Whether the difference of two columns rises from each size to the next."""
    sizes = _sizes(paper, table, (over,))
    found = [cell(paper, table, over, n).value - cell(paper, table, under, n).value for n in sizes]
    return all(before < after for before, after in pairwise(found))


@derivation
def sizes_of(paper: Paper, *, table: str) -> Value:
    """The sizes of a table's rows."""
    return tuple(float(size) for size, _ in paper.measurements(table).rows)


@derivation
def largest_size(paper: Paper, *, tables: Sequence[str]) -> Value:
    """The largest size in these tables."""
    return max(size for name in tables for size, _ in paper.measurements(name).rows)


def ns_per_step(paper: Paper, table: str, series: str) -> dict[int, float]:
    """Nanoseconds of one of the n³ steps, by size."""
    cells = paper.measurements(table).find(series).cells
    return {cell.size: 1e6 * cell.value / cell.size**3 for cell in cells if cell.value > 0}


def _against_neighbours(
    paper: Paper, table: str, series: str, multiple: int, least: int
) -> list[Rounded]:
    """Time a step at multiples of a size over the mean of those of the sizes beside.

    least: the size from which on the clock of the paper is fine enough.
    """
    cells = paper.measurements(table).find(series).cells
    sizes = sorted(cell.size for cell in cells if cell.size >= least)
    steps = {n: _quotient(cell(paper, table, series, n), _exactly(n**3 * 1e-6)) for n in sizes}
    found = []
    for before, size, after in zip(sizes, sizes[1:], sizes[2:], strict=False):
        if size % multiple == 0:
            one, other = steps[before], steps[after]
            beside = Rounded(
                (one.value + other.value) / 2,
                (one.low + other.low) / 2,
                (one.high + other.high) / 2,
            )
            found.append(_quotient(steps[size], beside))
    return found


@derivation
def slower_than_neighbours(
    paper: Paper, *, table: str, series: str, multiple: int, least: int
) -> Value:
    """Time a step at multiples of a size over that of the sizes beside: least and largest."""
    found = [each.value for each in _against_neighbours(paper, table, series, multiple, least)]
    return min(found), max(found)


@derivation
def no_slower_than_neighbours(
    paper: Paper, *, table: str, series: str, multiple: int, least: int
) -> Value:
    """Whether some multiple of a size takes no longer a step than those beside, within rounding."""
    return any(
        each.low <= 1.0 for each in _against_neighbours(paper, table, series, multiple, least)
    )


@derivation
def times_the_median(paper: Paper, *, table: str, series: str, size: int) -> Value:
    """Time a step at one size over the median of all sizes of the table."""
    steps = ns_per_step(paper, table, series)
    return steps[size] / float(np.median(list(steps.values())))


@derivation
def sizes_out_of_line(
    paper: Paper, *, table: str, series: str, factor: float, per: int = 1
) -> Value:
    """The sizes whose time a step is above the median of the table by a factor, in units of per."""
    steps = ns_per_step(paper, table, series)
    middle = float(np.median(list(steps.values())))
    return tuple(size / per for size, step in steps.items() if step > factor * middle)


@derivation
def growth_exponent(paper: Paper, *, table: str, series: str, without: Sequence[int]) -> Value:
    """The power of n by which times grow: the slope of their logarithms, by least squares.

    without: sizes that take no part.
    """
    cells = [c for c in paper.measurements(table).find(series).cells if c.size not in without]
    sizes = np.log([cell.size for cell in cells])
    return float(np.polyfit(sizes, np.log([cell.value for cell in cells]), 1)[0])


@derivation
def falls_with_threads(paper: Paper, *, table: str, series: str) -> Value:
    """Whether each row with more threads has a shorter time."""
    cells = sorted(paper.measurements(table).find(series).cells, key=lambda c: c.threads or 0)
    return all(before.value > after.value for before, after in pairwise(cells))


@derivation
def first_faster(paper: Paper, *, table: str, series: str, reference: str) -> Value:
    """The fewest threads with which a column is faster than the reference beside it."""
    found: MeasuredTable = paper.measurements(table)
    host = found.find(reference).cells[0].value
    return min(c.threads or 0 for c in found.find(series).cells if c.value < host)


def _interpolated(paper: Paper, table: str, series: str, size: int) -> float:
    """A time at a size between two of the table's, the time a step taken as linear in between."""
    steps = sorted(ns_per_step(paper, table, series).items())
    return float(np.interp(size, [n for n, _ in steps], [s for _, s in steps])) * size**3 * 1e-6


@derivation
def interpolated_time(paper: Paper, *, table: str, series: str, size: int) -> Value:
    """A time between two sizes of a table, in ms: the time a step is taken as linear in between."""
    return _interpolated(paper, table, series, size)


@derivation
def over_interpolated(
    paper: Paper, *, table: str, series: str, size: int, block: int, static: str
) -> Value:
    """A printed time over the one that another table gives by interpolation at the same size."""
    return cell(paper, table, series, size, block).value / _interpolated(
        paper, static, series, size
    )


@derivation
def least_transfer_time(
    paper: Paper, *, size: int, matrices: int, bytes_per_element: int, chip: str
) -> Value:
    """Milliseconds for so many n×n matrices at all of a chip's memory bandwidth."""
    fact = find_profile(chip).hardware.memory_gb_per_s
    assert fact is not None
    return matrices * bytes_per_element * size**2 / fact.value * 1e-6


@derivation
def transfer_rate_needed(
    paper: Paper, *, size: int, milliseconds: float, matrices: int, bytes_per_element: int
) -> Value:
    """GB/s (10⁹) that move so many n×n matrices in a time."""
    return matrices * bytes_per_element * size**2 / milliseconds * 1e-6
