"""Counts of plans: passes, fragments, instructions, lookups, bytes and invocations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.count.closed_form import recover, same_formula
from gpgpu_legacy.count.instructions import count_instructions
from gpgpu_legacy.count.resources import Resource, resources
from gpgpu_legacy.count.traffic import Counts, fragments_per_pass
from gpgpu_legacy.papers.derive.inputs import Inputs, PlanOrProgramChange, Product, Value
from gpgpu_legacy.plan.plan import ComputePass, FragmentPass
from gpgpu_legacy.plan.textures import Rect

_FLOAT_BYTES = 4

# What can be counted of a product ----------------------------------------------------------------


def _per_fragment(total: int, counts: Counts) -> int | None:
    return total // counts.fragments if counts.fragments and total % counts.fragments == 0 else None


def _instructions_of(product: Product, mnemonic: str) -> int:
    programs = product.plan.programs()
    return sum(i.mnemonic == mnemonic for program in programs for i in program.instructions)


def _memory(counts: Counts) -> int:
    """Lookups and the write of the result; a blend also reads the target."""
    return counts.lookup + counts.fragments + counts.blend


def _of_counts(quantity: Callable[[Counts], int | None]) -> Callable[[Product], int | None]:
    return lambda product: quantity(product.counts)


def _program_length(product: Product) -> int:
    """Instructions of a method's fragment programs, without END."""
    return sum(count_instructions(program).total for program in product.plan.programs())


QUANTITIES: Mapping[str, Callable[[Product], int | None]] = {
    "passes": _of_counts(lambda c: c.passes),
    "fragments_per_pass": lambda product: fragments_per_pass(product.plan),
    "bytes_requested": _of_counts(lambda c: c.bytes_requested),
    "bytes_requested_per_fragment": _of_counts(lambda c: _per_fragment(c.bytes_requested, c)),
    "bytes_and_copies": _of_counts(lambda c: c.bytes_requested + c.copy_bytes),
    "arithmetic": _of_counts(lambda c: c.arithmetic),
    "arithmetic_per_fragment": _of_counts(lambda c: _per_fragment(c.arithmetic, c)),
    "memory_operations_per_fragment": _of_counts(lambda c: _per_fragment(_memory(c), c)),
    "lookups_per_fragment": _of_counts(lambda c: _per_fragment(c.lookup, c)),
    "bytes_per_memory_operation": _of_counts(lambda c: c.bytes_requested // _memory(c)),
    "program_length": _program_length,
    "program_with_end": lambda product: _program_length(product) + 1,
    "arithmetic_and_memory_per_fragment": _of_counts(
        lambda c: _per_fragment(c.arithmetic + _memory(c), c)
    ),
    "multiply_adds": lambda product: _instructions_of(product, "MAD"),
    "additions": lambda product: _instructions_of(product, "ADD"),
    "textures": lambda product: len(product.plan.textures),
    "temporaries": lambda product: max(
        resources(program).count(Resource.TEMPORARIES) for program in product.plan.programs()
    ),
    "invocations": _of_counts(lambda c: c.invocations),
}
"""The countable quantities of a product, by name.

None if passes differ from one another, so that there is no count of one pass or fragment.
"""


def _counted(product: Product, quantity: str) -> int:
    number = QUANTITIES[quantity](product)
    assert number is not None
    return number


@cache
def recovered(method: str, quantity: str, change: PlanOrProgramChange | None) -> Any:
    """The formula in sympy's n and b that a quantity of real plans obeys, or None."""
    count = QUANTITIES[quantity]
    return recover(lambda n, b: count(Product(method, n, b, change=change)))


def _quotient(inputs: Inputs, method: str, of: str, quantity: str) -> Any:
    over, under = (recovered(name, quantity, inputs.change) for name in (method, of))
    return over / under


# Counts and formulas ------------------------------------------------------------------------------


def formula(inputs: Inputs, method: str, quantity: str) -> Value:
    """The formula in n and b that counts of real plans obey, recovered exactly."""
    expression = recovered(method, quantity, inputs.change)
    return None if expression is None else str(expression)


def totals_are_products(inputs: Inputs, table: str) -> Value:
    """Whether each printed total is passes times fragments per pass times the cost per fragment."""
    rows = next(known.rows for known in inputs.paper.tables if known.name == table)
    return all(
        same_formula(f"({row.passes})*({row.fragments_per_pass})*({row.per_fragment})", row.total)
        for row in rows
    )


def count(product: Product, quantity: str, unit: float = 1) -> Value:
    """A count of the plan at (n, b), divided by a unit."""
    total = QUANTITIES[quantity](product)
    return None if total is None else total / unit if unit != 1 else total


def steps_beyond(product: Product) -> Value:
    """The inner iterations of all passes beyond the texels that a side of an operand has."""
    side = math.isqrt(QUANTITIES["fragments_per_pass"](product) or 0)
    return product.counts.passes * (product.block or 1) - side


def geometry_of_a_pass(product: Product, of_a_position: int, of_a_set: int = 0) -> Value:
    """Bytes of a pass's vertices: floats of their positions and of the coordinate sets it has."""
    return max(size for _, size in _geometry(product, of_a_position, of_a_set))


def _geometry(product: Product, of_a_position: int, of_a_set: int) -> Iterator[tuple[int, int]]:
    """The number of runs of each pass, and the bytes of the vertices at its rectangle's corners."""
    for times, pass_ in product.plan.weighted_passes():
        if isinstance(pass_, FragmentPass) and isinstance(pass_.rect, Rect):
            floats = of_a_position + of_a_set * len(pass_.texcoords)
            yield times, _FLOAT_BYTES * floats * len(pass_.rect.corners)


def geometry_share(
    inputs: Inputs,
    product: Product,
    *,
    of_a_position: int,
    of_a_set: int,
    chip: str,
    computation: str,
) -> Value:
    """The time of all passes' vertices over a chip's bus, in percent of a printed time in ms."""
    bus = inputs.fact(chip, "hardware.bus_gb_per_s")
    moved = sum(times * size for times, size in _geometry(product, of_a_position, of_a_set))
    return 100.0 * moved / (bus.value * 1e6) / inputs.number(computation)


def blending_moves_less(product: Product, copies: bool = True) -> Value:
    """Whether a plan that blends moves fewer bytes than one that copies the framebuffer."""
    quantity = "bytes_and_copies" if copies else "bytes_requested"
    blending = replace(product, accumulate=Accumulate.BLEND)
    return _counted(blending, quantity) < _counted(product, quantity)


def each_step_adds(inputs: Inputs, method: str, quantity: str) -> int:
    """The increase of a count per fragment for one more inner iteration, b + 1 for b."""
    more, less = (_counted(inputs.product(method, 24, b), quantity) for b in (3, 2))
    return more - less


def each_step_adds_more(inputs: Inputs, method: str, than: str, quantity: str) -> Value:
    """The difference between two methods in what one iteration adds to a count per fragment."""
    return each_step_adds(inputs, method, quantity) - each_step_adds(inputs, than, quantity)


def besides_the_steps(inputs: Inputs, method: str, quantity: str) -> Value:
    """A count per fragment without the part of the b iterations of the inner loop."""
    total = _counted(inputs.product(method, 24, 2), quantity)
    return total - 2 * each_step_adds(inputs, method, quantity)


def operations_an_instruction(product: Product) -> Value:
    """The product's 2n³ operations, for each arithmetic instruction."""
    return 2 * product.size**3 / product.counts.arithmetic


def percent_of(product: Product, of: str, quantity: str) -> Value:
    """A count of one method at (n, b), in percent of another's."""
    return 100.0 / times_less(product, of, quantity)


def times_less(product: Product, than: str, quantity: str) -> float:
    """A count of another method at (n, b), over this one's."""
    return _counted(replace(product, method=than), quantity) / _counted(product, quantity)


def percent_in_the_limit(inputs: Inputs, method: str, of: str, quantity: str) -> Value:
    """A count of one method in percent of another's, in the limit of large b."""
    return float(100 * _limit(inputs, method, of, quantity))


def quotient_in_the_limit(inputs: Inputs, method: str, of: str, quantity: str) -> Value:
    """The limit of the quotient of two recovered formulas for large b, as a fraction."""
    return str(_limit(inputs, method, of, quantity))


def _limit(inputs: Inputs, method: str, of: str, quantity: str) -> Any:
    from sympy import limit, oo, symbols

    return limit(_quotient(inputs, method, of, quantity), symbols("b", positive=True), oo)


def exact_quotient(inputs: Inputs, method: str, of: str, quantity: str) -> Value:
    """The quotient of two recovered formulas, simplified."""
    from sympy import simplify

    return str(simplify(_quotient(inputs, method, of, quantity)))


def same_at_block(product: Product, other: str, quantity: str) -> Value:
    """Whether two methods have the same count at (n, b)."""
    return _counted(product, quantity) == _counted(replace(product, method=other), quantity)


def counts_more_at_every_block(
    product: Product, than: str, quantity: str, blocks: Sequence[int]
) -> Value:
    """Whether a count of one method is larger than another's at each of these blocks."""
    of_blocks = [replace(product, block=b) for b in blocks]
    return all(
        _counted(one, quantity) > _counted(replace(one, method=than), quantity) for one in of_blocks
    )


def left_out_of_the_total(product: Product) -> Value:
    """Bytes of framebuffer-to-texture copies, in percent of the bytes requested, at (n, b)."""
    return 100.0 * product.counts.copy_bytes / product.counts.bytes_requested


# Kernels ------------------------------------------------------------------------------------------


def terms_beyond(product: Product) -> Value:
    """Terms of an element's sum beyond wA, counted by the kernel's loads, two for each term."""
    return product.counts.global_loads / 2 / product.size**2 - product.size


def loads_of_a_block(product: Product, size: int, block: int) -> Value:
    """Elements that a block's threads load for one product of sub-matrices, divided by b²."""
    blocks = (size // block) ** 3  # products of sub-matrices
    return product.counts.global_loads / blocks / block**2


def uses_of_a_load(product: Product) -> Value:
    """The reads of a kernel from shared memory for each load from global memory."""
    return product.counts.shared_loads / product.counts.global_loads


def threads_of_a_block(product: Product) -> int:
    """Invocations in a work group, as the kernel declares them."""
    return max(math.prod(pass_.kernel.local_size) for _, pass_ in product.plan.weighted_passes()
               if isinstance(pass_, ComputePass))  # fmt: skip


def side_of_a_group(product: Product) -> Value:
    """Invocations along a side of a square work group."""
    return math.isqrt(threads_of_a_block(product))


def sizes_that_do_not_fit(step: int, count: int, block: int) -> Value:
    """The number of the first multiples of a step that are not multiples of a block's side."""
    return sum(step * n % block != 0 for n in range(1, count + 1))


def growth_of_loads(product: Product) -> Value:
    """The power of n with which a kernel's loads grow from n to 2n."""
    twice = replace(product, size=2 * product.size)
    return math.log2(twice.counts.global_loads / product.counts.global_loads)


def stores_of_an_invocation(product: Product) -> Value:
    """Elements of the result that an invocation of a kernel stores, on average."""
    return product.counts.global_stores / product.counts.invocations
