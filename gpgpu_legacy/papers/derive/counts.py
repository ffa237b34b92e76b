"""Counts of plans: passes, fragments, instructions, lookups, bytes and invocations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.count.closed_form import recover
from gpgpu_legacy.count.instructions import count_instructions
from gpgpu_legacy.count.resources import Resource, resources
from gpgpu_legacy.count.traffic import Accounting, Counts, count_plan, fragments_per_pass
from gpgpu_legacy.papers.derive.registry import Value, derivation
from gpgpu_legacy.papers.derive.times import cell, peak_gflops
from gpgpu_legacy.plan.plan import ComputePass, Plan
from gpgpu_legacy.published.papers import Paper

_FLOAT_BYTES = 4


def options_of(method: str, block: int | None, *, as_printed: bool = False) -> Options:
    """A method's options as the paper has it: with the framebuffer's copy, if it is optional."""
    refuses = find_method(method).refuses
    return Options(
        block=None if "block" in refuses else block,
        accumulate=None if "accumulate" in refuses else Accumulate.COPY,
        as_printed=as_printed,
    )


@cache
def plan_of(method: str, size: int, block: int | None = None, *, as_printed: bool = False) -> Plan:
    """The plan of an n×n product, as the paper has it."""
    options = options_of(method, block, as_printed=as_printed)
    return find_method(method).plan(Shape(size, size, size), options)


@cache
def counts_of(
    method: str, size: int, block: int | None = None, *, as_printed: bool = False
) -> Counts:
    """The counts of such a plan."""
    return count_plan(plan_of(method, size, block, as_printed=as_printed))


def _per_fragment(total: int, counts: Counts) -> int | None:
    return total // counts.fragments if counts.fragments and total % counts.fragments == 0 else None


def _program_length(method: str, n: int, b: int) -> int:
    """Instructions of a method's fragment programs, without END."""
    return sum(count_instructions(program).total for program in plan_of(method, n, b).programs())


def _instructions_of(method: str, n: int, b: int, mnemonic: str) -> int:
    programs = plan_of(method, n, b).programs()
    return sum(i.mnemonic == mnemonic for program in programs for i in program.instructions)


def _memory(counts: Counts) -> int:
    """Lookups and the write of the result; a blend also reads the target."""
    return counts.lookup + counts.fragments + counts.blend


_QUANTITIES: Mapping[str, Callable[[str, int, int], int | None]] = {
    "passes": lambda m, n, b: counts_of(m, n, b).passes,
    "fragments_per_pass": lambda m, n, b: fragments_per_pass(plan_of(m, n, b)),
    "bytes_requested": lambda m, n, b: counts_of(m, n, b).bytes_requested,
    "bytes_requested_per_fragment": lambda m, n, b: _per_fragment(
        counts_of(m, n, b).bytes_requested, counts_of(m, n, b)
    ),
    "bytes_and_copies": lambda m, n, b: (
        counts_of(m, n, b).bytes_requested + counts_of(m, n, b).copy_bytes
    ),
    "arithmetic": lambda m, n, b: counts_of(m, n, b).arithmetic,
    "arithmetic_per_fragment": lambda m, n, b: _per_fragment(
        counts_of(m, n, b).arithmetic, counts_of(m, n, b)
    ),
    "memory_operations_per_fragment": lambda m, n, b: _per_fragment(
        _memory(counts_of(m, n, b)), counts_of(m, n, b)
    ),
    "lookups_per_fragment": lambda m, n, b: _per_fragment(
        counts_of(m, n, b).lookup, counts_of(m, n, b)
    ),
    "bytes_per_memory_operation": lambda m, n, b: (
        counts_of(m, n, b).bytes_requested // _memory(counts_of(m, n, b))
    ),
    "program_length": _program_length,
    "program_with_end": lambda m, n, b: _program_length(m, n, b) + 1,
    "arithmetic_and_memory_per_fragment": lambda m, n, b: _per_fragment(
        counts_of(m, n, b).arithmetic + _memory(counts_of(m, n, b)), counts_of(m, n, b)
    ),
    "multiply_adds": lambda m, n, b: _instructions_of(m, n, b, "MAD"),
    "additions": lambda m, n, b: _instructions_of(m, n, b, "ADD"),
    "textures": lambda m, n, b: len(plan_of(m, n, b).textures),
    "temporaries": lambda m, n, b: max(
        resources(program).count(Resource.TEMPORARIES) for program in plan_of(m, n, b).programs()
    ),
}
"""What can be counted of a plan, by name, from a method, a size and a block.

None where passes differ from one another, so that there is no count of one pass or fragment.
"""


@cache
def _recovered(method: str, quantity: str) -> Any:
    """The formula that a quantity of real plans obeys, in sympy's n and b; None where none does."""
    return recover(lambda n, b: _QUANTITIES[quantity](method, n, b))


@derivation
def formula(paper: Paper, *, method: str, quantity: str) -> Value:
    """The formula in n and b that counts of real plans obey, recovered exactly."""
    expression = _recovered(method, quantity)
    return None if expression is None else str(expression)


@derivation
def totals_are_products(paper: Paper, *, table: str) -> Value:
    """Whether each printed total is passes times fragments per pass times the cost per fragment."""
    from sympy import prod, simplify, symbols, sympify

    names = {name: symbols(name, positive=True) for name in ("n", "b")}
    rows = next(known.rows for known in paper.tables if known.name == table)
    for row in rows:
        columns = (row.passes, row.fragments_per_pass, row.per_fragment, row.total)
        *factors, total = (sympify(text, locals=names) for text in columns)
        if simplify(prod(factors) - total) != 0:
            return False
    return True


@derivation
def count(
    paper: Paper, *, method: str, quantity: str, size: int, block: int, unit: float = 1
) -> Value:
    """A count of the plan at (n, b), divided by a unit."""
    total = _QUANTITIES[quantity](method, size, block)
    return None if total is None else total / unit if unit != 1 else total


@derivation
def geometry_of_a_pass(
    paper: Paper, *, method: str, size: int, block: int, of_a_position: int, of_a_set: int = 0,
    accumulate: str = Accumulate.COPY.value,
) -> Value:  # fmt: skip
    """Bytes of a pass's vertices: floats of the positions and of the coordinate sets it reads."""
    options = replace(options_of(method, block), accumulate=Accumulate(accumulate))
    plan = find_method(method).plan(Shape(size, size, size), options)
    sets = max(resources(program).count(Resource.COORDINATE_SETS) for program in plan.programs())
    counts = count_plan(plan, Accounting(_FLOAT_BYTES * (of_a_position + of_a_set * sets)))
    return counts.geometry_bytes // counts.passes


@derivation
def each_step_adds(paper: Paper, *, method: str, quantity: str) -> Value:
    """What one more iteration of the inner loop, b + 1 for b, adds to a count per fragment."""
    return _added(method, quantity)


def _added(method: str, quantity: str) -> int:
    at = _QUANTITIES[quantity]
    more, less = at(method, 24, 3), at(method, 24, 2)
    assert more is not None and less is not None
    return more - less


@derivation
def each_step_adds_more(paper: Paper, *, method: str, than: str, quantity: str) -> Value:
    """How much more one iteration adds to a count per fragment than in another method."""
    return _added(method, quantity) - _added(than, quantity)


@derivation
def besides_the_steps(paper: Paper, *, method: str, quantity: str) -> Value:
    """A count per fragment without what the b iterations of the inner loop add to it."""
    total = _QUANTITIES[quantity](method, 24, 2)
    assert total is not None
    return total - 2 * _added(method, quantity)


@derivation
def percent_of(
    paper: Paper, *, method: str, of: str, quantity: str, size: int, block: int
) -> Value:
    """A count of one method at (n, b), in percent of another's."""
    return 100.0 / _times(of, method, quantity, size, block)


@derivation
def times_less(
    paper: Paper, *, method: str, than: str, quantity: str, size: int, block: int
) -> Value:
    """A count of another method at (n, b), over this one's."""
    return _times(than, method, quantity, size, block)


def _times(method: str, than: str, quantity: str, size: int, block: int) -> float:
    over, under = (_QUANTITIES[quantity](m, size, block) for m in (method, than))
    assert over is not None and under is not None
    return over / under


@derivation
def percent_in_the_limit(paper: Paper, *, method: str, of: str, quantity: str) -> Value:
    """A count of one method in percent of another's, in the limit of large b."""
    from sympy import limit, oo, symbols

    b = symbols("b", positive=True)
    return float(100 * limit(_recovered(method, quantity) / _recovered(of, quantity), b, oo))


@derivation
def quotient_in_the_limit(paper: Paper, *, method: str, of: str, quantity: str) -> Value:
    """The limit of the quotient of two recovered formulas for large b, as a fraction."""
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
    """Whether two methods have the same count at (n, b)."""
    at = _QUANTITIES[quantity]
    return at(method, size, block) == at(other, size, block)


@derivation
def counts_more_at_every_block(
    paper: Paper, *, method: str, than: str, quantity: str, size: int, blocks: Sequence[int]
) -> Value:
    """Whether a count of one method is larger than another's at each of these blocks."""
    at = _QUANTITIES[quantity]
    return all((at(method, size, b) or 0) > (at(than, size, b) or 0) for b in blocks)


@derivation
def left_out_of_the_total(paper: Paper, *, method: str, size: int, block: int) -> Value:
    """Bytes of framebuffer-to-texture copies, in percent of the bytes requested, at (n, b)."""
    counts = counts_of(method, size, block)
    return 100.0 * counts.copy_bytes / counts.bytes_requested


@derivation
def loads_of_an_element(paper: Paper, *, method: str, size: int) -> Value:
    """How often a kernel loads each element of A and B from global memory, on average."""
    return counts_of(method, size, None).global_loads / (2 * size**2)


@derivation
def terms_beyond(paper: Paper, *, method: str, size: int) -> Value:
    """Terms of an element's sum beyond wA, counted by the kernel's loads, two for each term."""
    return counts_of(method, size, None).global_loads / 2 / size**2 - size


@derivation
def loads_of_a_block(paper: Paper, *, method: str, size: int, block: int) -> Value:
    """Elements that a block's threads load for one product of sub-matrices, divided by b²."""
    plan = find_method(method).plan(Shape(size, size, size), Options(block=block))
    blocks = (size // block) ** 3  # products of sub-matrices
    return count_plan(plan).global_loads / blocks / block**2


@derivation
def threads_of_a_block(paper: Paper, *, method: str, size: int, block: int | None = None) -> Value:
    """Invocations in a work group, as the kernel declares them."""
    return _threads(method, size, block)


def _threads(method: str, size: int, block: int | None) -> int:
    plan = find_method(method).plan(Shape(size, size, size), Options(block=block))
    return max(math.prod(pass_.kernel.local_size) for _, pass_ in plan.weighted_passes()
               if isinstance(pass_, ComputePass))  # fmt: skip


@derivation
def invocations(paper: Paper, *, method: str, size: int, as_printed: bool = False) -> Value:
    """Invocations that a method launches at n×n, or that its listing launches as printed."""
    return counts_of(method, size, None, as_printed=as_printed).invocations


@derivation
def dispatches_what_it_needs(paper: Paper, *, method: str, size: int) -> Value:
    """Whether a listing, dispatched as printed, launches one invocation for each element."""
    return counts_of(method, size, None, as_printed=True).invocations == size**2


@derivation
def side_of_a_group(paper: Paper, *, method: str, size: int) -> Value:
    """Invocations along a side of a square work group."""
    return math.isqrt(_threads(method, size, None))


@derivation
def growth_of_loads(paper: Paper, *, method: str, size: int) -> Value:
    """The power of n with which a kernel's loads grow from n to 2n."""
    one, other = (counts_of(method, n, None).global_loads for n in (size, 2 * size))
    return math.log2(other / one)


@derivation
def least_time_as_printed(paper: Paper, *, method: str, size: int, chip: str) -> Value:
    """Milliseconds that all arithmetic of a listing, dispatched as printed, takes at peak rate."""
    return counts_of(method, size, None, as_printed=True).arithmetic / peak_gflops(chip) * 1e-6


@derivation
def rate_as_printed(paper: Paper, *, method: str, table: str, series: str, size: int) -> Value:
    """GFLOPS that a printed time implies, if everything dispatched as printed is executed."""
    operations = counts_of(method, size, None, as_printed=True).arithmetic
    return operations * 1e-6 / cell(paper, table, series, size).value


@derivation
def stores_of_an_invocation(paper: Paper, *, method: str, size: int) -> Value:
    """Elements of the result that an invocation of a kernel stores, on average."""
    counts = counts_of(method, size, None)
    return counts.global_stores / counts.invocations


@derivation
def loop_ends(paper: Paper, *, width: int) -> Value:
    """Whether `a <= aEnd` with aEnd = aBegin + wA - 1 can become false in 32 unsigned bits.

    aBegin is 0 in the first row of work groups. No unsigned number exceeds the largest one.
    """
    largest = int(np.iinfo(np.uint32).max)
    return (width - 1) % (largest + 1) < largest


@derivation
def loads_of_an_iteration(paper: Paper, *, method: str, size: int, step: int) -> Value:
    """Elements of B that an invocation loads in one iteration of a loop with this step."""
    counts = counts_of(method, size, None)
    sums = counts.global_loads - size**2  # the result's old value is loaded once an element
    return sums / 2 / size**2 / (size / step)
