"""The matrices of a product, as its plan names them."""

from __future__ import annotations

from dataclasses import replace

from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.plan.plan import Matrix


def operand_matrices(shape: Shape, options: Options) -> tuple[Matrix, ...]:
    """A, B and, where it is added, C before: as they are given.

    A transposed operand has its rows and columns exchanged. C before is called C0 in plans, for C
    is the result.
    """
    rows_a, columns_a = (shape.l, shape.m) if options.transpose_a else (shape.m, shape.l)
    rows_b, columns_b = (shape.n, shape.l) if options.transpose_b else (shape.l, shape.n)
    product = (Matrix("A", rows_a, columns_a), Matrix("B", rows_b, columns_b))
    return (*product, Matrix("C0", shape.m, shape.n)) if options.adds else product


def product_operands(shape: Shape, options: Options) -> tuple[Matrix, ...]:
    """A and B alone, for a plan to which the addition of C is a pass of its own."""
    return operand_matrices(shape, replace(options, adds=False))


def result_matrix(shape: Shape) -> Matrix:
    """C, the product."""
    return Matrix("C", shape.m, shape.n)
