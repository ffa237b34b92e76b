"""Walks over expressions: their parts, their parts changed, and the multiply-adds among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from gpgpu_legacy.ir.expressions import Composite, Expression, Operation
from gpgpu_legacy.ir.types import Operator


def multiply_add(value: Expression) -> tuple[Expression, Expression, Expression] | None:
    """The factors and the addend of a multiply-add that may be rounded once; None for others.

    A sum of two products is not one: which of them would be rounded by itself is undefined.
    """
    if not _contracts(value, Operator.ADD):
        return None
    product, addend = value.operands
    if not _contracts(product, Operator.MULTIPLY) or _contracts(addend, Operator.MULTIPLY):
        return None
    a, b = product.operands
    return a, b, addend


def _contracts(value: Expression, operator: Operator) -> bool:
    return isinstance(value, Operation) and value.operator is operator and value.contracts


def uncontracted(value: Expression, *operands: Expression) -> Expression:
    """The expression with every operation rounded by itself, but for those within operands."""

    def apart(part: Expression) -> Expression:
        if isinstance(part, Operation) and part.contracts:
            return replace(part, contracts=False)
        return part

    return rebuilt(value, apart, operands)


def rebuilt(
    value: Expression,
    change: Callable[[Expression], Expression],
    kept: Iterable[Expression] = (),
) -> Expression:
    """The expression with each part changed, inner ones first, but for those that are kept."""
    done = {id(part): part for part in kept}

    def again(part: Expression) -> Expression:
        if id(part) not in done:
            made = part
            if isinstance(part, Composite):
                new = tuple(map(again, part.operands))
                if any(a is not b for a, b in zip(new, part.operands, strict=True)):
                    made = part.with_operands(new)
            done[id(part)] = change(made)
        return done[id(part)]

    return again(value)


def walk(value: Expression) -> Iterator[Expression]:
    """An expression and all its subexpressions."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += part.operands
