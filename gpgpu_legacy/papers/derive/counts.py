"""Counts of plans: passes, fragments, instructions, lookups, bytes and invocations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.papers.derive.inputs import Inputs, Product
from gpgpu_legacy.papers.derive.quantities import QUANTITIES, recovered
from gpgpu_legacy.papers.derive.registry import Value, derivation, of_product
from gpgpu_legacy.papers.derive.times import printed_number
from gpgpu_legacy.plan.plan import ComputePass, FragmentPass
from gpgpu_legacy.plan.textures import Rect

_FLOAT_BYTES = 4


def _at(inputs: Inputs, quantity: str, method: str, size: int, block: int) -> int | None:
    """A quantity of a product at (n, b)."""
    return QUANTITIES[quantity](inputs.product(method, size, block))


def _recovered(inputs: Inputs, method: str, quantity: str) -> Any:
    return recovered(method, quantity, inputs.change)


def _quotient(inputs: Inputs, method: str, of: str, quantity: str) -> Any:
    return _recovered(inputs, method, quantity) / _recovered(inputs, of, quantity)


@derivation
def formula(inputs: Inputs, method: str, quantity: str) -> Value:
    """The formula in n and b that counts of real plans obey, recovered exactly."""
    expression = _recovered(inputs, method, quantity)
    return None if expression is None else str(expression)


@derivation
def totals_are_products(inputs: Inputs, table: str) -> Value:
    """Whether each printed total is passes times fragments per pass times the cost per fragment."""
    from sympy import prod, simplify, symbols, sympify

    names = {name: symbols(name, positive=True) for name in ("n", "b")}
    rows = next(known.rows for known in inputs.paper.tables if known.name == table)
    for row in rows:
        columns = (row.passes, row.fragments_per_pass, row.per_fragment, row.total)
        *factors, total = (sympify(text, locals=names) for text in columns)
        if simplify(prod(factors) - total) != 0:
            return False
    return True


@of_product
def count(
    inputs: Inputs, product: Product, quantity: str, unit: float = 1,
    accumulate: str = Accumulate.COPY.value,
) -> Value:  # fmt: skip
    """A count of the plan at (n, b), divided by a unit."""
    product = replace(product, accumulate=Accumulate(accumulate))
    total = QUANTITIES[quantity](product)
    return None if total is None else total / unit if unit != 1 else total


@of_product
def geometry_of_a_pass(
    inputs: Inputs, product: Product, of_a_position: int, of_a_set: int = 0,
    accumulate: str = Accumulate.COPY.value,
) -> Value:  # fmt: skip
    """Bytes of a pass's vertices: floats of their positions and of the coordinate sets it has."""
    product = replace(product, accumulate=Accumulate(accumulate))
    return max(size for _, size in _geometry(product, of_a_position, of_a_set))


def _geometry(product: Product, of_a_position: int, of_a_set: int) -> Iterator[tuple[int, int]]:
    """How often each pass runs, and the bytes of the vertices at its rectangle's corners."""
    for times, pass_ in product.plan.weighted_passes():
        if isinstance(pass_, FragmentPass) and isinstance(pass_.rect, Rect):
            floats = of_a_position + of_a_set * len(pass_.texcoords)
            yield times, _FLOAT_BYTES * floats * len(pass_.rect.corners)


@of_product
def geometry_share(
    inputs: Inputs, product: Product, *, of_a_position: int, of_a_set: int,
    chip: str, computation: str,
) -> Value:  # fmt: skip
    """The time of all passes' vertices over a chip's bus, in percent of a printed time in ms."""
    bus = inputs.fact(chip, "hardware.bus_gb_per_s")
    moved = sum(times * size for times, size in _geometry(product, of_a_position, of_a_set))
    return 100.0 * moved / (bus.value * 1e6) / printed_number(inputs, computation)


@of_product
def blending_moves_less(inputs: Inputs, product: Product, copies: bool = True) -> Value:
    """Whether a plan that blends moves fewer bytes than one that copies the framebuffer."""
    blending = replace(product, accumulate=Accumulate.BLEND)
    quantity = QUANTITIES["bytes_and_copies" if copies else "bytes_requested"]
    return (quantity(blending) or 0) < (quantity(product) or 0)


@derivation
def each_step_adds(inputs: Inputs, method: str, quantity: str) -> int:
    """What one more iteration of the inner loop, b + 1 for b, adds to a count per fragment."""
    more, less = (_at(inputs, quantity, method, 24, b) for b in (3, 2))
    assert more is not None and less is not None
    return more - less


@derivation
def each_step_adds_more(inputs: Inputs, method: str, than: str, quantity: str) -> Value:
    """How much more one iteration adds to a count per fragment than in another method."""
    return each_step_adds(inputs, method, quantity) - each_step_adds(inputs, than, quantity)


@derivation
def besides_the_steps(inputs: Inputs, method: str, quantity: str) -> Value:
    """A count per fragment without what the b iterations of the inner loop add to it."""
    total = _at(inputs, quantity, method, 24, 2)
    assert total is not None
    return total - 2 * each_step_adds(inputs, method, quantity)


@of_product
def operations_an_instruction(inputs: Inputs, product: Product) -> Value:
    """The product's 2n³ operations, for each arithmetic instruction."""
    return 2 * product.size**3 / product.counts.arithmetic


@derivation
def percent_of(
    inputs: Inputs, *, method: str, of: str, quantity: str, size: int, block: int
) -> Value:
    """A count of one method at (n, b), in percent of another's."""
    return 100.0 / times_less(inputs, method, of, quantity, size=size, block=block)


@derivation
def times_less(
    inputs: Inputs, method: str, than: str, quantity: str, *, size: int, block: int
) -> float:
    """A count of another method at (n, b), over this one's."""
    over, under = (_at(inputs, quantity, name, size, block) for name in (than, method))
    assert over is not None and under is not None
    return over / under


@derivation
def percent_in_the_limit(inputs: Inputs, method: str, of: str, quantity: str) -> Value:
    """A count of one method in percent of another's, in the limit of large b."""
    return float(100 * _limit(inputs, method, of, quantity))


@derivation
def quotient_in_the_limit(inputs: Inputs, method: str, of: str, quantity: str) -> Value:
    """The limit of the quotient of two recovered formulas for large b, as a fraction."""
    return str(_limit(inputs, method, of, quantity))


def _limit(inputs: Inputs, method: str, of: str, quantity: str) -> Any:
    from sympy import limit, oo, symbols

    return limit(_quotient(inputs, method, of, quantity), symbols("b", positive=True), oo)


@derivation
def exact_quotient(inputs: Inputs, method: str, of: str, quantity: str) -> Value:
    """The quotient of two recovered formulas, simplified."""
    from sympy import simplify

    return str(simplify(_quotient(inputs, method, of, quantity)))


@derivation
def same_at_block(
    inputs: Inputs, *, method: str, other: str, quantity: str, size: int, block: int
) -> Value:
    """Whether two methods have the same count at (n, b)."""
    ours, theirs = (_at(inputs, quantity, m, size, block) for m in (method, other))
    return ours == theirs


@derivation
def counts_more_at_every_block(
    inputs: Inputs, *, method: str, than: str, quantity: str, size: int, blocks: Sequence[int]
) -> Value:
    """Whether a count of one method is larger than another's at each of these blocks."""
    at = partial(_at, inputs, quantity)
    return all((at(method, size, b) or 0) > (at(than, size, b) or 0) for b in blocks)


@of_product
def left_out_of_the_total(inputs: Inputs, product: Product) -> Value:
    """Bytes of framebuffer-to-texture copies, in percent of the bytes requested, at (n, b)."""
    return 100.0 * product.counts.copy_bytes / product.counts.bytes_requested


@of_product
def terms_beyond(inputs: Inputs, product: Product) -> Value:
    """Terms of an element's sum beyond wA, counted by the kernel's loads, two for each term."""
    return product.counts.global_loads / 2 / product.size**2 - product.size


@derivation
def loads_of_a_block(inputs: Inputs, method: str, size: int, block: int) -> Value:
    """Elements that a block's threads load for one product of sub-matrices, divided by b²."""
    blocks = (size // block) ** 3  # products of sub-matrices
    return inputs.product(method, size, block).counts.global_loads / blocks / block**2


@of_product
def uses_of_a_load(inputs: Inputs, product: Product) -> Value:
    """How often a kernel reads, from shared memory, what it loads once from global memory."""
    return product.counts.shared_loads / product.counts.global_loads


@derivation
def threads_of_a_block(inputs: Inputs, method: str, size: int, block: int | None = None) -> int:
    """Invocations in a work group, as the kernel declares them."""
    plan = inputs.product(method, size, block).plan
    return max(math.prod(pass_.kernel.local_size) for _, pass_ in plan.weighted_passes()
               if isinstance(pass_, ComputePass))  # fmt: skip


@derivation
def invocations(
    inputs: Inputs, method: str, size: int, block: int | None = None, as_printed: bool = False
) -> Value:
    """Invocations that a method launches at n×n, or that its listing launches as printed."""
    product = inputs.printed(method, size) if as_printed else inputs.product(method, size, block)
    return product.counts.invocations


@derivation
def sizes_that_do_not_fit(inputs: Inputs, step: int, count: int, block: int) -> Value:
    """How many of the first multiples of a step are no multiples of a block's side."""
    return sum(step * n % block != 0 for n in range(1, count + 1))


@derivation
def side_of_a_group(inputs: Inputs, method: str, size: int) -> Value:
    """Invocations along a side of a square work group."""
    return math.isqrt(threads_of_a_block(inputs, method, size))


@derivation
def growth_of_loads(inputs: Inputs, method: str, size: int) -> Value:
    """The power of n with which a kernel's loads grow from n to 2n."""
    one, other = (inputs.product(method, n).counts.global_loads for n in (size, 2 * size))
    return math.log2(other / one)


@of_product
def stores_of_an_invocation(inputs: Inputs, product: Product) -> Value:
    """Elements of the result that an invocation of a kernel stores, on average."""
    return product.counts.global_stores / product.counts.invocations
