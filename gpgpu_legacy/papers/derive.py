"""How the papers' claims are recomputed: functions of plans, counts, chips and other cells.

A claim of papers/*.toml names one of these functions and its arguments. Each takes the paper first
and gives a number, a few numbers, a text, a yes or no, or a number with the bounds that the
rounding of printed times leaves it. What can be counted or looked up is counted or looked up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.algorithms.method import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.bench.run import run
from gpgpu_legacy.bench.sdk_example import ORDER, drawn_inputs
from gpgpu_legacy.count.closed_form import recover
from gpgpu_legacy.count.instructions import count_instructions
from gpgpu_legacy.count.resources import Resource, resources
from gpgpu_legacy.count.traffic import Counts, count_plan, fragments_per_pass
from gpgpu_legacy.hardware.fit import AS_WRITTEN, fit
from gpgpu_legacy.hardware.profile import UNLIMITED, find_profile
from gpgpu_legacy.papers.schema import MeasuredTable, Paper
from gpgpu_legacy.plan.formats import FORMATS
from gpgpu_legacy.plan.plan import LARGEST_TEXTURE, ComputePass, Plan


@dataclass(frozen=True, slots=True)
class Rounded:
    """A number made of printed ones: its value, and how far their last digits let it be off."""

    value: float
    low: float
    high: float


Value = bool | int | float | str | tuple[float, ...] | Rounded | None
Derivation = Callable[..., Value]

_DERIVATIONS: dict[str, Derivation] = {}


def derivation(function: Derivation) -> Derivation:
    """Let claims name this function."""
    _DERIVATIONS[function.__name__] = function
    return function


def derivations() -> Mapping[str, Derivation]:
    """What claims may name."""
    return MappingProxyType(_DERIVATIONS)


# Printed times and rates --------------------------------------------------------------------------


def _cell(paper: Paper, table: str, series: str, size: int, block: int | None = None) -> Rounded:
    cell = paper.measurements(table).find(series).at(size, block)
    if cell is None:
        raise KeyError(f"{paper.id} has no cell {table}/{series}/{size}")
    half = cell.step / 2
    return Rounded(cell.value, max(cell.value - half, 0.0), cell.value + half)


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
    return _cell(paper, table, series, size, block).value


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
    time = _cell(paper, table, series, size)
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
    return 100.0 * _rate(paper, table, series, size).value / _peak(chip)


def _peak(chip: str) -> float:
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
        _cell(paper, table, over, size, over_block), _cell(paper, table, under, size, under_block)
    )


def _speed_ups(paper: Paper, table: str, over: str, under: str) -> dict[int, Rounded]:
    return {
        size: _quotient(_cell(paper, table, over, size), _cell(paper, table, under, size))
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
    found = [
        _cell(paper, table, over, n).value - _cell(paper, table, under, n).value for n in sizes
    ]
    return all(before < after for before, after in pairwise(found))


@derivation
def sizes_of(paper: Paper, *, table: str) -> Value:
    """The sizes of a table's rows."""
    return tuple(float(size) for size, _ in paper.measurements(table).rows)


@derivation
def largest_size(paper: Paper, *, tables: Sequence[str]) -> Value:
    """The largest size in these tables."""
    return max(size for name in tables for size, _ in paper.measurements(name).rows)


def _ns_per_step(paper: Paper, table: str, series: str) -> dict[int, float]:
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
    steps = {n: _quotient(_cell(paper, table, series, n), _exactly(n**3 * 1e-6)) for n in sizes}
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
    steps = _ns_per_step(paper, table, series)
    return steps[size] / float(np.median(list(steps.values())))


@derivation
def sizes_out_of_line(
    paper: Paper, *, table: str, series: str, factor: float, per: int = 1
) -> Value:
    """The sizes whose time a step is above the median of the table by a factor, in units of per."""
    steps = _ns_per_step(paper, table, series)
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
    steps = sorted(_ns_per_step(paper, table, series).items())
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
    return _cell(paper, table, series, size, block).value / _interpolated(
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


# What is done, by the counts of plans -------------------------------------------------------------


def _options(method: str, block: int | None, *, as_printed: bool = False) -> Options:
    """A method as it is printed: with the copy of the framebuffer, where there is a choice."""
    refuses = find_method(method).refuses
    return Options(
        block=None if "block" in refuses else block,
        accumulate=None if "accumulate" in refuses else Accumulate.COPY,
        as_printed=as_printed,
    )


@cache
def _plan(method: str, size: int, block: int | None = None, *, as_printed: bool = False) -> Plan:
    options = _options(method, block, as_printed=as_printed)
    return find_method(method).plan(Shape(size, size, size), options)


@cache
def _counts(
    method: str, size: int, block: int | None = None, *, as_printed: bool = False
) -> Counts:
    return count_plan(_plan(method, size, block, as_printed=as_printed))


def _a_fragment(total: int, counts: Counts) -> int | None:
    return total // counts.fragments if total % counts.fragments == 0 else None


def _program_length(method: str, n: int, b: int) -> int:
    return sum(count_instructions(each).total for each in _plan(method, n, b).programs())


def _memory(counts: Counts) -> int:
    """Lookups, and the write of the result; a blend reads what was there as well."""
    return counts.lookup + counts.fragments + counts.blend


_QUANTITIES: dict[str, Callable[[str, int, int], int | None]] = {
    "passes": lambda m, n, b: _counts(m, n, b).passes,
    "fragments_per_pass": lambda m, n, b: fragments_per_pass(_plan(m, n, b)),
    "bytes_requested": lambda m, n, b: _counts(m, n, b).bytes_requested,
    "bytes_requested_per_fragment": lambda m, n, b: _a_fragment(
        _counts(m, n, b).bytes_requested, _counts(m, n, b)
    ),
    "bytes_and_copies": lambda m, n, b: (
        _counts(m, n, b).bytes_requested + _counts(m, n, b).copy_bytes
    ),
    "arithmetic": lambda m, n, b: _counts(m, n, b).arithmetic,
    "arithmetic_per_fragment": lambda m, n, b: _a_fragment(
        _counts(m, n, b).arithmetic, _counts(m, n, b)
    ),
    "memory_operations_per_fragment": lambda m, n, b: _a_fragment(
        _memory(_counts(m, n, b)), _counts(m, n, b)
    ),
    "lookups_per_fragment": lambda m, n, b: _a_fragment(_counts(m, n, b).lookup, _counts(m, n, b)),
    "bytes_per_memory_operation": lambda m, n, b: (
        _counts(m, n, b).bytes_requested // _memory(_counts(m, n, b))
    ),
    "geometry_bytes_per_pass": lambda m, n, b: (
        _counts(m, n, b).geometry_bytes // _counts(m, n, b).passes
    ),
    "program_length": _program_length,
    "program_with_end": lambda m, n, b: _program_length(m, n, b) + 1,
    "arithmetic_and_memory_per_fragment": lambda m, n, b: _a_fragment(
        _counts(m, n, b).arithmetic + _memory(_counts(m, n, b)), _counts(m, n, b)
    ),
    "textures": lambda m, n, b: len(_plan(m, n, b).textures),
    "temporaries": lambda m, n, b: max(
        resources(program).found(Resource.TEMPORARIES) for program in _plan(m, n, b).programs()
    ),
}


@cache
def _recovered(method: str, quantity: str) -> Any:
    return recover(lambda n, b: _QUANTITIES[quantity](method, n, b))


@derivation
def formula(paper: Paper, *, method: str, quantity: str) -> Value:
    """The formula in n and b that the counts of real plans obey, recovered exactly."""
    found = _recovered(method, quantity)
    return None if found is None else str(found)


@derivation
def count(
    paper: Paper, *, method: str, quantity: str, size: int, block: int, unit: float = 1
) -> Value:
    """A count of the plan at (n, b), in units of so many."""
    found = _QUANTITIES[quantity](method, size, block)
    return None if found is None else found / unit if unit != 1 else found


@derivation
def each_step_adds(paper: Paper, *, method: str, quantity: str) -> Value:
    """What one more iteration of the inner loop, b + 1 for b, adds to a count a fragment."""
    return _added(method, quantity)


def _added(method: str, quantity: str) -> int:
    at = _QUANTITIES[quantity]
    more, less = at(method, 24, 3), at(method, 24, 2)
    assert more is not None and less is not None
    return more - less


@derivation
def each_step_adds_more(paper: Paper, *, method: str, than: str, quantity: str) -> Value:
    """By how much one more iteration adds more to a count than it does in another method."""
    return _added(method, quantity) - _added(than, quantity)


@derivation
def besides_the_steps(paper: Paper, *, method: str, quantity: str) -> Value:
    """What is left of a count a fragment when the b iterations are taken off."""
    found = _QUANTITIES[quantity](method, 24, 2)
    assert found is not None
    return found - 2 * _added(method, quantity)


@derivation
def percent_of(
    paper: Paper, *, method: str, of: str, quantity: str, size: int, block: int
) -> Value:
    """A count of one method in percent of another's, at (n, b)."""
    return 100.0 / _times(of, method, quantity, size, block)


@derivation
def times_less(
    paper: Paper, *, method: str, than: str, quantity: str, size: int, block: int
) -> Value:
    """How many times as much another method counts, at (n, b)."""
    return _times(than, method, quantity, size, block)


def _times(method: str, than: str, quantity: str, size: int, block: int) -> float:
    over, under = (_QUANTITIES[quantity](m, size, block) for m in (method, than))
    assert over is not None and under is not None
    return over / under


@derivation
def percent_in_the_limit(paper: Paper, *, method: str, of: str, quantity: str) -> Value:
    """A count of one method in percent of another's, as b grows: the limit of both formulas."""
    from sympy import limit, oo, symbols

    b = symbols("b", positive=True)
    return float(100 * limit(_recovered(method, quantity) / _recovered(of, quantity), b, oo))


@derivation
def quotient_in_the_limit(paper: Paper, *, method: str, of: str, quantity: str) -> Value:
    """The limit, as b grows, of the quotient of two recovered formulas: a fraction."""
    from sympy import limit, oo, symbols

    b = symbols("b", positive=True)
    return str(limit(_recovered(method, quantity) / _recovered(of, quantity), b, oo))


@derivation
def exact_quotient(paper: Paper, *, method: str, of: str, quantity: str) -> Value:
    """The quotient of two recovered formulas, simplified."""
    from sympy import simplify

    return str(simplify(_recovered(method, quantity) / _recovered(of, quantity)))


@derivation
def same_at_block(
    paper: Paper, *, method: str, other: str, quantity: str, size: int, block: int
) -> Value:
    """Whether two methods count the same at (n, b)."""
    at = _QUANTITIES[quantity]
    return at(method, size, block) == at(other, size, block)


@derivation
def counts_more_at_every_block(
    paper: Paper, *, method: str, than: str, quantity: str, size: int, blocks: Sequence[int]
) -> Value:
    """Whether one method counts more than another at each of these blocks."""
    at = _QUANTITIES[quantity]
    return all((at(method, size, b) or 0) > (at(than, size, b) or 0) for b in blocks)


@derivation
def left_out_of_the_total(paper: Paper, *, method: str, size: int, block: int) -> Value:
    """Percent by which framebuffer-to-texture copies add to the bytes requested, at (n, b)."""
    counts = _counts(method, size, block)
    return 100.0 * counts.copy_bytes / counts.bytes_requested


@derivation
def loads_of_an_element(paper: Paper, *, method: str, size: int) -> Value:
    """How often a kernel loads each element of A and of B from global memory, on average."""
    return _counts(method, size, None).global_loads / (2 * size**2)


@derivation
def terms_beyond(paper: Paper, *, method: str, size: int) -> Value:
    """Terms of one element's sum beyond wA, by the kernel's loads: two a term."""
    return _counts(method, size, None).global_loads / 2 / size**2 - size


@derivation
def loads_of_a_block(paper: Paper, *, method: str, size: int, block: int) -> Value:
    """Elements that the threads of a block load for one product of sub-matrices, in units of b²."""
    plan = find_method(method).plan(Shape(size, size, size), Options(block=block))
    blocks = (size // block) ** 3  # products of sub-matrices
    return count_plan(plan).global_loads / blocks / block**2


@derivation
def threads_of_a_block(paper: Paper, *, method: str, size: int, block: int | None = None) -> Value:
    """Invocations of a work group, by the kernel's declaration."""
    return _threads(method, size, block)


def _threads(method: str, size: int, block: int | None) -> int:
    plan = find_method(method).plan(Shape(size, size, size), Options(block=block))
    return max(math.prod(p.kernel.local_size) for _, p in plan.weighted_passes()
               if isinstance(p, ComputePass))  # fmt: skip


@derivation
def invocations(paper: Paper, *, method: str, size: int, as_printed: bool = False) -> Value:
    """Invocations that a method launches at n×n; as printed, whole batches of work groups."""
    return _counts(method, size, None, as_printed=as_printed).invocations


@derivation
def dispatches_what_it_needs(paper: Paper, *, method: str, size: int) -> Value:
    """Whether a method, dispatched as printed, launches one invocation an element at n×n."""
    return _counts(method, size, None, as_printed=True).invocations == size**2


@derivation
def side_of_a_group(paper: Paper, *, method: str, size: int) -> Value:
    """Invocations along each side of a square work group."""
    return math.isqrt(_threads(method, size, None))


@derivation
def growth_of_loads(paper: Paper, *, method: str, size: int) -> Value:
    """The power of n by which a kernel's loads grow, from n to 2n."""
    one, other = (_counts(method, n, None).global_loads for n in (size, 2 * size))
    return math.log2(other / one)


@derivation
def least_time_as_printed(paper: Paper, *, method: str, size: int, chip: str) -> Value:
    """Milliseconds that a method's arithmetic, dispatched as printed, takes at a chip's peak."""
    return _counts(method, size, None, as_printed=True).arithmetic / _peak(chip) * 1e-6


@derivation
def rate_as_printed(paper: Paper, *, method: str, table: str, series: str, size: int) -> Value:
    """GFLOPS that a printed time asks for, if all that is dispatched as printed is carried out."""
    operations = _counts(method, size, None, as_printed=True).arithmetic
    return operations * 1e-6 / _cell(paper, table, series, size).value


@derivation
def loop_ends(paper: Paper, *, width: int) -> Value:
    """Whether `a <= aEnd` with aEnd = aBegin + wA - 1 can become false in 32 unsigned bits.

    aBegin is 0 in the first row of work groups, and no number is above the largest.
    """
    largest = int(np.iinfo(np.uint32).max)
    return (width - 1) % (largest + 1) < largest


@derivation
def loads_of_an_iteration(paper: Paper, *, method: str, size: int, step: int) -> Value:
    """Elements of B that an invocation loads in one turn of a loop that goes on by `step`."""
    counts = _counts(method, size, None)
    sums = counts.global_loads - size**2  # the result's old value is loaded once an element
    return sums / 2 / size**2 / (size / step)


# Transfers and bandwidth --------------------------------------------------------------------------

MEGA = {"decimal": 10**6, "binary": 2**20}
GIGA = {"decimal": 10**9, "binary": 2**30}


@derivation
def transfer_time(
    paper: Paper, *, method: str, size: int, block: int, megabytes_per_s: float, megabyte: str
) -> Value:
    """Milliseconds of a plan's uploads and read-back at a rate, in one kind of megabyte."""
    return _transfer_ms(method, size, block, megabytes_per_s * MEGA[megabyte])


def _transfer_ms(method: str, size: int, block: int, bytes_per_s: float) -> float:
    counts = _counts(method, size, block)
    return 1e3 * (counts.upload_bytes + counts.readback_bytes) / bytes_per_s


@derivation
def compute_time(paper: Paper, *, size: int, gflops: float, giga: str, unit_s: float) -> Value:
    """Time of 2n³ operations at a rate, in units of so many seconds."""
    return _compute_s(size, gflops, giga) / unit_s


def _compute_s(size: int, gflops: float, giga: str) -> float:
    return 2 * size**3 / (gflops * GIGA[giga])


@derivation
def transfer_share_of_printed(paper: Paper, *, transfer: str, computation: str) -> Value:
    """Percent of the total that transfer is, by two times that the paper prints."""
    one, other = paper.claim(transfer).published, paper.claim(computation).published
    assert isinstance(one, int | float) and isinstance(other, int | float)
    return 100.0 * one / (one + other)


@derivation
def transfer_share(
    paper: Paper, *, method: str, size: int, block: int, megabytes_per_s: float, gflops: float
) -> Value:
    """Percent of the total that transfer is, both times recomputed in decimal units."""
    transfer = _transfer_ms(method, size, block, megabytes_per_s * MEGA["decimal"])
    return 100.0 * transfer / (transfer + 1e3 * _compute_s(size, gflops, "decimal"))


@derivation
def transfer_share_at_peak(
    paper: Paper, *, method: str, size: int, block: int, megabytes_per_s: float, chip: str
) -> Value:
    """Percent of the total that transfer is, where the computation goes at a chip's peak."""
    transfer = _transfer_ms(method, size, block, megabytes_per_s * MEGA["decimal"])
    return 100.0 * transfer / (transfer + 1e3 * _compute_s(size, _peak(chip), "decimal"))


@derivation
def upload_rate_for_the_average(
    paper: Paper, *, method: str, size: int, block: int, average: float, readback: float
) -> Value:
    """MB/s at which uploads have to go for an average over uploads and a slower read-back."""
    counts = _counts(method, size, block)
    seconds = (counts.upload_bytes + counts.readback_bytes) / average
    return counts.upload_bytes / (seconds - counts.readback_bytes / readback)


@derivation
def average_rate(
    paper: Paper, *, method: str, size: int, block: int, upload: float, readback: float
) -> Value:
    """MB/s of a plan's transfers in the mean, uploads and read-back at rates of their own."""
    counts = _counts(method, size, block)
    seconds = counts.upload_bytes / upload + counts.readback_bytes / readback
    return (counts.upload_bytes + counts.readback_bytes) / seconds


@derivation
def printed_headroom(paper: Paper, *, needed: str, available: str) -> Value:
    """Percent that one printed number leaves of another."""
    one, other = paper.claim(needed).published, paper.claim(available).published
    assert isinstance(one, int | float) and isinstance(other, int | float)
    return 100.0 * (1.0 - one / other)


@derivation
def bandwidth_needed(
    paper: Paper, *, method: str, size: int, block: int, giga: str, seconds: float | None = None,
    gflops: float | None = None, copies: bool = False,
) -> Value:  # fmt: skip
    """GB/s for a plan's bytes in a time that is given, or that 2n³ operations take at a rate."""
    counts = _counts(method, size, block)
    moved = counts.bytes_requested + (counts.copy_bytes if copies else 0)
    return _bandwidth(moved, giga, _taken(size, seconds, gflops))


def _bandwidth(moved: int, giga: str, seconds: float) -> float:
    return moved / seconds / GIGA[giga]


def _taken(size: int, seconds: float | None, gflops: float | None) -> float:
    """Seconds that are given, or that 2n³ operations take at a rate."""
    return seconds if seconds is not None else _compute_s(size, gflops or 1.0, "decimal")


@derivation
def headroom(
    paper: Paper, *, method: str, size: int, block: int, chip: str, giga: str,
    seconds: float | None = None, gflops: float | None = None,
) -> Value:  # fmt: skip
    """Percent of a chip's bandwidth that is left over by what a plan needs."""
    fact = find_profile(chip).hardware.memory_gb_per_s
    assert fact is not None
    moved = _counts(method, size, block).bytes_requested
    needed = _bandwidth(moved, giga, _taken(size, seconds, gflops))
    return 100.0 * (1.0 - needed / fact.value)


@derivation
def texture_megabytes(paper: Paper, *, texture_format: str, texels: int, megabyte: str) -> Value:
    """Size of a square texture in one kind of megabyte."""
    return FORMATS[texture_format].texel_bytes * texels**2 / MEGA[megabyte]


@derivation
def largest_matrix(
    paper: Paper, *, method: str, megabytes: int, megabyte: str, bytes_per_element: int
) -> Value:
    """The largest n whose matrices, one for each texture of the plan, fit so much memory."""
    textures = len(_plan(method, 8, 2).textures)
    return math.isqrt(megabytes * MEGA[megabyte] // (textures * bytes_per_element))


@derivation
def product(paper: Paper, *, factors: Sequence[float]) -> Value:
    """The product of numbers that the paper prints apart."""
    return math.prod(factors)


# Chips --------------------------------------------------------------------------------------------


@derivation
def chip_fact(paper: Paper, *, chip: str, fact: str) -> Value:
    """A number of a chip's profile: `hardware.memory_mib`."""
    section, _, name = fact.partition(".")
    found = getattr(getattr(find_profile(chip), section), name)
    value: float = found.value
    return value


@derivation
def is_unlimited(paper: Paper, *, chip: str, fact: str) -> Value:
    """Whether a chip's or an API's profile has no limit there."""
    return chip_fact(paper, chip=chip, fact=fact) == UNLIMITED


@derivation
def cores_a_multiprocessor(paper: Paper, *, chip: str) -> Value:
    """Cores of a chip over its multiprocessors."""
    hardware = find_profile(chip).hardware
    assert hardware.cores is not None and hardware.multiprocessors is not None
    return hardware.cores.value / hardware.multiprocessors.value


@derivation
def clock_ghz(paper: Paper, *, chip: str) -> Value:
    """The clock of a chip's cores, or of the chip where they have none of their own, in GHz."""
    hardware = find_profile(chip).hardware
    clock = hardware.shader_clock_mhz or hardware.core_clock_mhz
    assert clock is not None
    return 1e-3 * clock.value


@derivation
def largest_block(paper: Paper, *, method: str, chip: str, size: int) -> Value:
    """The largest b whose program, as it is written, loads by a chip's or an API's limits."""
    options = _options(method, None)
    found = fit(find_method(method), find_profile(chip), Shape(size, size, size), options).found
    return min(each.value or 0 for each in found if each.variant == AS_WRITTEN)


@derivation
def largest_square_block(paper: Paper, *, threads: int) -> Value:
    """The largest b with no more than so many threads in b×b."""
    return math.isqrt(threads)


@derivation
def smallest_block_run(paper: Paper, *, table: str, series: str) -> Value:
    """The smallest b that the paper itself ran."""
    return min(cell.block or 0 for cell in paper.measurements(table).find(series).cells)


# Caches and rounding ------------------------------------------------------------------------------


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
    steps = _ns_per_step(paper, table, series)
    slower = steps[size] / steps[neighbour]
    return _pages(size, page_bytes) / _pages(neighbour, page_bytes) >= slower


@derivation
def places_that_differ(paper: Paper, *, claim: str) -> Value:
    """How many decimal places another claim of the paper says to differ."""
    places = paper.claim(claim).expected
    assert isinstance(places, tuple)
    return len(places)


@derivation
def decimals_that_differ(paper: Paper, *, size: int) -> Value:
    """The decimal places at which float32 sums of n products of numbers in [0, 1) differ.

    Of a sum of n/4, the mean: from the place where one rounding shows, to that of √n halves of one.
    """
    spacing = float(np.spacing(np.float32(size / 4)))
    return tuple(float(math.ceil(-math.log10(e))) for e in (spacing * math.sqrt(size) / 2, spacing))


# Equations and listings ---------------------------------------------------------------------------


@derivation
def wrong_elements_as_printed(paper: Paper, *, method: str, size: int) -> Value:
    """Elements of an n×n product that come out wrong by the printed texture coordinates, run."""
    rows = np.arange(1.0, size**2 + 1.0).reshape(size, size)
    columns = rows[::-1].T + 0.5
    got = run(rows, columns, method, executor="numpy", as_printed=True).product
    return int(np.sum(got != (rows @ columns).astype(np.float32)))


@derivation
def operations_of(paper: Paper, *, equation: str) -> Value:
    """What an equation's operator does, once a channel: `R2 = R1.abgr * R0.ggab`."""
    _, first, operator, second = equation.replace(" = ", " ").split()
    channels = len(first.partition(".")[2])
    assert channels == len(second.partition(".")[2])
    return f"{channels} {'multiplications' if operator == '*' else 'additions'}"


@derivation
def spelled_out(paper: Paper, *, equation: str, lines: Sequence[str]) -> Value:
    """Whether the lines are the equation channel by channel."""
    result, first, operator, second = equation.replace(" = ", " ").split()
    (x, xs), (y, ys) = (each.split(".") for each in (first, second))
    made = [
        f"{result}.{c} = {x}.{a} {operator} {y}.{b}" for c, a, b in zip("rgba", xs, ys, strict=True)
    ]
    return made == list(lines)


@derivation
def quadrant_product(paper: Paper, *, terms: Sequence[Sequence[str]]) -> Value:
    """Whether a sum of swizzled products of quadrants is the product of the matrices.

    terms: swizzles of X and of Y; r, g, b and a are the quadrants A, B, C, D and E, F, G, H.
    """
    generator = np.random.default_rng(0)
    x, y = (generator.integers(-8, 8, (8, 8)).astype(np.float64) for _ in range(2))
    parts = [dict(zip("rgba", _quadrants(each), strict=True)) for each in (x, y)]
    channels = [
        sum(parts[0][first[c]] @ parts[1][second[c]] for first, second in terms) for c in range(4)
    ]
    return all(np.array_equal(a, b) for a, b in zip(channels, _quadrants(x @ y), strict=True))


def _quadrants(matrix: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    half = len(matrix) // 2
    above, below = matrix[:half], matrix[half:]
    return [above[:, :half], above[:, half:], below[:, :half], below[:, half:]]


@derivation
def cleared_is_accumulated(paper: Paper, *, cleared: str, accumulated: str) -> Value:
    """Whether the register that a listing clears is the one that it adds to."""
    return cleared.partition(" = ")[0] == accumulated.partition(" = ")[0]


@derivation
def swizzles_of(paper: Paper, *, method: str) -> Value:
    """The swizzles of a program's multiply-adds in their order, as it is run here."""
    program = _plan(method, 8, 1).programs()[0]
    found = [i.srcs[:2] for i in program.instructions if i.mnemonic == "MAD"]
    return " ".join(
        "".join("rgba"[selector.value] for selector in src.swizzle)
        for pair in found
        for src in pair
    )


# The SDK's printed example ------------------------------------------------------------------------


def _printed_matrix(paper: Paper, name: str) -> NDArray[np.float64]:
    return np.array([[float(digits) for digits in row] for row in paper.matrix(name).rows])


def _scalars(paper: Paper) -> NDArray[np.float64]:
    """α and β by least squares, from the paper's printed matrices."""
    a, b, c, after = (_printed_matrix(paper, name) for name in ("A", "B", "C", "result"))
    columns = np.stack([(a @ b).ravel(), c.ravel()], axis=1)
    return np.asarray(np.linalg.lstsq(columns, after.ravel(), rcond=None)[0], np.float64)


@derivation
def scalar(paper: Paper, *, index: int) -> Value:
    """α (0) or β (1): what least squares find in the printed result, to six decimals."""
    return round(float(_scalars(paper)[index]), 6)


@derivation
def scalar_residual(paper: Paper) -> Value:
    """The largest error that the scalars of least squares leave in an element of the result."""
    a, b, c, after = (_printed_matrix(paper, name) for name in ("A", "B", "C", "result"))
    alpha, beta = _scalars(paper)
    return float(np.abs(alpha * (a @ b) + beta * c - after).max())


@derivation
def drawn(paper: Paper, *, matrix: str, row: int, column: int, seed: int) -> Value:
    """An element of A, B or C as glibc's random numbers after srand(seed) give it."""
    found = dict(zip("ABC", drawn_inputs(seed), strict=True))[matrix]
    return float(found[row, column])


@derivation
def inputs_drawn_alike(paper: Paper, *, seed: int) -> Value:
    """How many printed elements of A, B and C are the drawn ones to the last printed digit."""
    return sum(
        f"{value:.6g}" == digits
        for name, matrix in zip("ABC", drawn_inputs(seed), strict=True)
        for row, texts in zip(matrix, paper.matrix(name).rows, strict=True)
        for value, digits in zip(row, texts, strict=True)
    )


@derivation
def example_result(paper: Paper, *, row: int, column: int, seed: int) -> Value:
    """An element of α·AB + β·C, of the drawn inputs and the scalars of least squares, rounded."""
    a, b, c = (each.astype(np.float64) for each in drawn_inputs(seed, ORDER))
    alpha, beta = np.round(_scalars(paper), 4)
    return float((alpha * (a @ b) + beta * c)[row, column])


@derivation
def asymmetric_elements(paper: Paper, *, matrix: str) -> Value:
    """Elements above the diagonal that are not equal to their mirror images."""
    found = _printed_matrix(paper, matrix)
    return int(np.sum(np.triu(found != found.T)))


@derivation
def vector_bits(paper: Paper, *, texture_format: str) -> Value:
    """Bits of four floats together."""
    return 8 * FORMATS[texture_format].texel_bytes


@derivation
def floats_together(paper: Paper, *, texture_format: str) -> Value:
    """Floats in a texel, or a register, of that format."""
    return FORMATS[texture_format].channels


@derivation
def largest_texture_matrix(paper: Paper, *, texels: int, sides: int) -> Value:
    """The largest n in one texture, where each texel holds sides × sides elements."""
    return sides * min(texels, LARGEST_TEXTURE)
