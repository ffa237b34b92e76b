"""What can be counted of a product, by name, and the formulas that counts obey."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from gpgpu_legacy.count.closed_form import recover
from gpgpu_legacy.count.instructions import count_instructions
from gpgpu_legacy.count.resources import Resource, resources
from gpgpu_legacy.count.traffic import Counts, fragments_per_pass
from gpgpu_legacy.papers.derive.changed_plans import PlanOrProgramChange
from gpgpu_legacy.papers.derive.inputs import Product


def _per_fragment(total: int, counts: Counts) -> int | None:
    return total // counts.fragments if counts.fragments and total % counts.fragments == 0 else None


def _program_length(product: Product) -> int:
    """Instructions of a method's fragment programs, without END."""
    return sum(count_instructions(program).total for program in product.plan.programs())


def _instructions_of(product: Product, mnemonic: str) -> int:
    programs = product.plan.programs()
    return sum(i.mnemonic == mnemonic for program in programs for i in program.instructions)


def _memory(counts: Counts) -> int:
    """Lookups and the write of the result; a blend also reads the target."""
    return counts.lookup + counts.fragments + counts.blend


def _of_counts(quantity: Callable[[Counts], int | None]) -> Callable[[Product], int | None]:
    return lambda product: quantity(product.counts)


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
}
"""What can be counted of a product, by name.

None where passes differ from one another, so that there is no count of one pass or fragment.
"""


@cache
def recovered(method: str, quantity: str, change: PlanOrProgramChange | None) -> Any:
    """The formula that a quantity of real plans obeys, in sympy's n and b; None where none does."""
    count = QUANTITIES[quantity]
    return recover(lambda n, b: count(Product(method, n, b, change=change)))
