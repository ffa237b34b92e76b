"""Counts of plans, and printed numbers: their trends, and the rates that follow."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from gpgpu_legacy.count.closed_form import recover, same_formula
from gpgpu_legacy.count.instructions import count_instructions
from gpgpu_legacy.count.resources import Resource, resources
from gpgpu_legacy.count.traffic import Counts, fragments_per_pass
from gpgpu_legacy.papers.derive.inputs import Inputs, Product, Rounded, Value
from gpgpu_legacy.papers.published.papers import MeasuredCell
from gpgpu_legacy.papers.published.schema import PlanChange
from gpgpu_legacy.plan.plan import FragmentPass
from gpgpu_legacy.plan.textures import Rect

_FLOAT_BYTES = 4

# What can be counted of a product ----------------------------------------------------------------

_SUMS: Mapping[str, Callable[[Counts], int]] = {
    "memory_operations": lambda c: c.lookup + c.fragments + c.blend,
    "arithmetic_and_memory": lambda c: c.arithmetic + c.lookup + c.fragments + c.blend,
    "bytes_and_copies": lambda c: c.bytes_requested + c.copy_bytes,
}
"""Memory operations are lookups and writes of results; a blend also reads the target."""


def _instructions(product: Product, mnemonic: str = "") -> int:
    programs = product.plan.programs()
    if not mnemonic:
        return sum(count_instructions(program).total for program in programs)
    return sum(i.mnemonic == mnemonic for program in programs for i in program.instructions)


def _threads(product: Product) -> int:
    return max(math.prod(kernel.local_size) for kernel in product.plan.kernels())


def _steps_beyond(product: Product) -> int:
    side = math.isqrt(fragments_per_pass(product.plan) or 0)
    return product.counts.draws * (product.block or 1) - side


_OF_PRODUCTS: Mapping[str, Callable[[Product], int | None]] = {
    "operations": lambda product: 2 * product.size**3,
    "moved_bytes": lambda product: product.moved_bytes,
    "fragments_per_pass": lambda product: fragments_per_pass(product.plan),
    "program_length": _instructions,
    "program_with_end": lambda product: _instructions(product) + 1,
    "multiply_adds": lambda product: _instructions(product, "MAD"),
    "additions": lambda product: _instructions(product, "ADD"),
    "steps_beyond": _steps_beyond,
    "threads_of_a_block": _threads,
    "side_of_a_block": lambda product: math.isqrt(_threads(product)),
    "textures": lambda product: len(product.plan.textures),
    "texture_bytes": lambda product: max(t.size_bytes for t in product.plan.textures),
    "bytes_of_all_textures": lambda product: sum(t.size_bytes for t in product.plan.textures),
    "temporaries": lambda product: max(
        resources(program).count(Resource.TEMPORARIES) for program in product.plan.programs()
    ),
}
"""Operations are those of the product, 2n³; steps beyond are inner iterations of all passes for
which a column of the operands has no texel."""


def count(product: Product, quantity: str, unit: float = 1) -> Any:
    """A count of the plan at (n, b), divided by a unit.

    quantity: a name of _OF_PRODUCTS or _SUMS, or a field of `Counts`. With `_per_fragment` or
    `_per_memory_operation`, the number for each. None if passes differ from one another, so that
    there is no count of one pass or fragment.
    """
    if unit != 1:
        return count(product, quantity) / unit
    if quantity in _OF_PRODUCTS:
        return _OF_PRODUCTS[quantity](product)
    name, _, unit_name = quantity.partition("_per_")
    if not unit_name:
        return _SUMS[name](product.counts) if name in _SUMS else getattr(product.counts, name)
    total, by = count(product, name), count(product, f"{unit_name}s")
    return total // by if total is not None and by and total % by == 0 else None


@cache
def recovered(method: str, quantity: str, change: PlanChange | None) -> Any:
    """The formula in sympy's n and b that a quantity of real plans obeys, or None."""
    return recover(lambda n, b: count(Product(method, n, b, change=change), quantity))


# Counts and formulas ------------------------------------------------------------------------------


def formula(inputs: Inputs, method: str, quantity: str, limit: bool = False) -> Any:
    """The formula in n and b that counts of real plans obey, recovered exactly.

    limit: for large b.
    """
    expression = recovered(method, quantity, inputs.change.plan)
    if not limit:
        return expression
    import sympy

    return sympy.limit(expression, sympy.symbols("b", positive=True), sympy.oo)


def totals_are_products(inputs: Inputs, table: str) -> Value:
    """Whether each printed total is passes times fragments per pass times the cost per fragment."""
    rows = next(known.rows for known in inputs.paper.tables if known.name == table)
    return all(
        same_formula(f"({row.passes})*({row.fragments_per_pass})*({row.per_fragment})", row.total)
        for row in rows
    )


def geometry(
    product: Product, of_a_position: int, of_a_set: int = 0, all_passes: bool = False
) -> Value:
    """Bytes of the vertices of a pass, or of all, at the corners of its rectangle.

    of_a_position, of_a_set: floats of a position and of each coordinate set that the pass has.
    """
    bytes_of = [
        (times, _FLOAT_BYTES * len(p.rect.corners) * (of_a_position + of_a_set * len(p.texcoords)))
        for times, p in product.plan.weighted_passes()
        if isinstance(p, FragmentPass) and isinstance(p.rect, Rect)
    ]
    return sum(n * size for n, size in bytes_of) if all_passes else max(b for _, b in bytes_of)


def _at(inputs: Inputs, method: str, quantity: str) -> tuple[int, int]:
    """A count with two and with three iterations of the inner loop."""
    two, three = (count(inputs.product(method, 24, block), quantity) for block in (2, 3))
    return two, three


def each_step_adds(inputs: Inputs, method: str, quantity: str, less: str = "") -> int:
    """The increase of a count per fragment for one more inner iteration, b + 1 for b.

    less: a method whose increase is subtracted.
    """
    two, three = _at(inputs, method, quantity)
    return three - two - (each_step_adds(inputs, less, quantity) if less else 0)


def besides_the_steps(inputs: Inputs, method: str, quantity: str) -> Value:
    """A count per fragment without the part of the b iterations of the inner loop."""
    two, three = _at(inputs, method, quantity)
    return 3 * two - 2 * three


def sizes_that_do_not_fit(step: int, count: int, block: int) -> Value:
    """The number of the first multiples of a step that are not multiples of a block's side."""
    return sum(step * n % block != 0 for n in range(1, count + 1))


_Quotients = Mapping[int, Rounded]
_Steps = Mapping[int, float]
"""The nanoseconds of a step, by size."""


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
    """The exponent of n in the work of a product whose matrices are split into parts each way.

    products: the number of products of parts that it takes.
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
    """A time at a size that a table lacks, in ms, by the time per step at a size that it has."""
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
