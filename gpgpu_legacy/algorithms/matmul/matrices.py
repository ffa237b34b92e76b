"""The matrices of a product, by the names that plans give them."""

from __future__ import annotations

from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.textures import Matrix


def add_operands(
    p: PlanBuilder, shape: Shape, options: Options, *, addend: bool = False
) -> tuple[Matrix, ...]:
    """A, B and, if `addend` and `adds` are set, the C that is added, as callers give them.

    A transposed operand has its rows and columns exchanged. The C that is added is called C0 in
    plans, since C is the result.
    """
    rows_a, columns_a = (shape.l, shape.m) if options.transpose_a else (shape.m, shape.l)
    rows_b, columns_b = (shape.n, shape.l) if options.transpose_b else (shape.l, shape.n)
    product = p.operand("A", rows_a, columns_a), p.operand("B", rows_b, columns_b)
    return (*product, p.operand("C0", shape.m, shape.n)) if addend and options.adds else product


def add_result(p: PlanBuilder, shape: Shape) -> Matrix:
    """C, the product."""
    return p.result("C", shape.m, shape.n)
