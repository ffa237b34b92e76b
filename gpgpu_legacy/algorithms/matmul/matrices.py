"""The matrices of a product, by the names that plans give them."""

from __future__ import annotations

from dataclasses import replace

from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.plan.textures import Matrix


def operand_matrices(shape: Shape, options: Options) -> tuple[Matrix, ...]:
    """A, B and, if `adds` is set, the C that is added, in the shapes in which callers give them.

    A transposed operand has its rows and columns exchanged. The C that is added is called C0 in
    plans, since C is the result.
    """
    rows_a, columns_a = (shape.l, shape.m) if options.transpose_a else (shape.m, shape.l)
    rows_b, columns_b = (shape.n, shape.l) if options.transpose_b else (shape.l, shape.n)
    product = (Matrix("A", rows_a, columns_a), Matrix("B", rows_b, columns_b))
    return (*product, Matrix("C0", shape.m, shape.n)) if options.adds else product


def product_operands(shape: Shape, options: Options) -> tuple[Matrix, ...]:
    """A and B alone, for plans to which a further pass adds C."""
    return operand_matrices(shape, replace(options, adds=False))


def result_matrix(shape: Shape) -> Matrix:
    """C, the product."""
    return Matrix("C", shape.m, shape.n)
