"""Counts of plans: passes, fragments, instructions, lookups, bytes and invocations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from gpgpu_legacy.count.closed_form import recover, same_formula
from gpgpu_legacy.count.instructions import count_instructions
from gpgpu_legacy.count.resources import Resource, resources
from gpgpu_legacy.count.traffic import Counts, fragments_per_pass
from gpgpu_legacy.papers.derive.inputs import Inputs, PlanOrProgramChange, Product, Value
from gpgpu_legacy.plan.plan import ComputePass, FragmentPass
from gpgpu_legacy.plan.textures import Rect

_FLOAT_BYTES = 4

# What can be counted of a product ----------------------------------------------------------------

_SUMS: Mapping[str, Callable[[Counts], int]] = {
    "memory_operations": lambda c: c.lookup + c.fragments + c.blend,
    "arithmetic_and_memory": lambda c: c.arithmetic + c.lookup + c.fragments + c.blend,
    "bytes_and_copies": lambda c: c.bytes_requested + c.copy_bytes,
    "moved_bytes": lambda c: c.upload_bytes + c.readback_bytes,
}
"""Memory operations are lookups and writes of results; a blend also reads the target."""


def _instructions(product: Product, mnemonic: str = "") -> int:
    programs = product.plan.programs()
    if not mnemonic:
        return sum(count_instructions(program).total for program in programs)
    return sum(i.mnemonic == mnemonic for program in programs for i in program.instructions)


def _threads(product: Product) -> int:
    passes = (pass_ for _, pass_ in product.plan.weighted_passes())
    return max(math.prod(p.kernel.local_size) for p in passes if isinstance(p, ComputePass))


def _steps_beyond(product: Product) -> int:
    side = math.isqrt(fragments_per_pass(product.plan) or 0)
    return product.counts.draws * (product.block or 1) - side


_OF_PRODUCTS: Mapping[str, Callable[[Product], int | None]] = {
    "operations": lambda product: 2 * product.size**3,
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

    quantity: one of these, or a field of its counts. With `_per_fragment` or
    `_per_memory_operation`, the number for each. None if passes differ from one another, so that
    there is no count of one pass or fragment.
    """
    if unit != 1:
        return count(product, quantity) / unit
    if quantity in _OF_PRODUCTS:
        return _OF_PRODUCTS[quantity](product)
    name, _, each = quantity.partition("_per_")
    if not each:
        return _SUMS[name](product.counts) if name in _SUMS else getattr(product.counts, name)
    total, by = count(product, name), count(product, f"{each}s")
    return total // by if total is not None and by and total % by == 0 else None


@cache
def recovered(method: str, quantity: str, change: PlanOrProgramChange | None) -> Any:
    """The formula in sympy's n and b that a quantity of real plans obeys, or None."""
    return recover(lambda n, b: count(Product(method, n, b, change=change), quantity))


# Counts and formulas ------------------------------------------------------------------------------


def formula(inputs: Inputs, method: str, quantity: str, limit: bool = False) -> Any:
    """The formula in n and b that counts of real plans obey, recovered exactly.

    limit: for large b.
    """
    expression = recovered(method, quantity, inputs.change)
    if not limit:
        return expression
    from sympy import limit as limit_of
    from sympy import oo, symbols

    return limit_of(expression, symbols("b", positive=True), oo)


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


def _at(inputs: Inputs, method: str, quantity: str, block: int) -> int:
    total: int = count(inputs.product(method, 24, block), quantity)
    return total


def each_step_adds(inputs: Inputs, method: str, quantity: str, less: str = "") -> int:
    """The increase of a count per fragment for one more inner iteration, b + 1 for b.

    less: a method whose increase is subtracted.
    """
    more = _at(inputs, method, quantity, 3) - _at(inputs, method, quantity, 2)
    return more - each_step_adds(inputs, less, quantity) if less else more


def besides_the_steps(inputs: Inputs, method: str, quantity: str) -> Value:
    """A count per fragment without the part of the b iterations of the inner loop."""
    return _at(inputs, method, quantity, 2) - 2 * each_step_adds(inputs, method, quantity)


def sizes_that_do_not_fit(step: int, count: int, block: int) -> Value:
    """The number of the first multiples of a step that are not multiples of a block's side."""
    return sum(step * n % block != 0 for n in range(1, count + 1))
