"""Kernels' loads of vectors: a vec4 of four consecutive elements is one load."""

from __future__ import annotations

from dataclasses import replace

from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.ir.expressions import (
    Compose,
    Constant,
    Element,
    Expression,
    constant,
)
from gpgpu_legacy.ir.kernel import applied
from gpgpu_legacy.ir.statements import with_expressions
from gpgpu_legacy.ir.types import Operator
from gpgpu_legacy.plan.plan import ComputePass, Pass, Plan

_ZERO = constant(0.0)


def count_accesses(plan: Plan) -> int:
    """The loads and stores of buffers by all invocations of a plan; one for each such vec4."""
    steps = (replace(step, body=tuple(map(_narrowed, step.body))) for step in plan.repeats())
    counts = count_plan(replace(plan, steps=tuple(steps)))
    return counts.global_loads + counts.global_stores


def _narrowed(pass_: Pass) -> Pass:
    if not isinstance(pass_, ComputePass):
        return pass_
    body = tuple(with_expressions(statement, _first_alone) for statement in pass_.kernel.body)
    return replace(pass_, kernel=replace(pass_.kernel, body=body))


def _first_alone(expression: Expression) -> Expression:
    """The expression, or such a vec4 with its first element alone."""
    match expression:
        case Compose(operands=(Element(operands=(place,)) as first, *others)):
            after = (applied(Operator.ADD, place, Constant((n,), place.type)) for n in (1, 2, 3))
            if others == [replace(first, operands=(index,)) for index in after]:
                return Compose((first, _ZERO, _ZERO, _ZERO))
    return expression
