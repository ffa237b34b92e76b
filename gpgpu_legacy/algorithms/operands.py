"""The operands of a product: checked, or random."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.arguments import as_whole
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.memory import require_memory, require_memory_for_size


def product_shape(operands: tuple[F32, ...], options: Options) -> Shape:
    """The shape of the product of operands from `check_operands`."""
    a, b = options.turned(operands[0], operands[1])
    return Shape(a.shape[0], a.shape[1], b.shape[1])


def check_operands(operands: tuple[ArrayLike, ...], options: Options) -> tuple[F32, ...]:
    """A, B and, if `adds` is set, C, as C-contiguous float32 arrays.

    options: with the method's defaults filled in. Raises InputError for operands that are not real
    matrices, whose shapes do not fit, or that the texture format cannot hold.
    """
    first, second = _matrix("A", operands[0]), _matrix("B", operands[1])
    a, b = options.turned(first, second)
    if a.shape[1] != b.shape[0]:
        raise InputError(
            f"A{' transposed' * options.transpose_a} has {a.shape[1]} columns and "
            f"B{' transposed' * options.transpose_b} has {b.shape[0]} rows; they must be equal "
            f"(A is {first.shape[0]}×{first.shape[1]}, B is {second.shape[0]}×{second.shape[1]})"
        )
    if options.is_unorm:
        _in_unit_range("A", first)
        _in_unit_range("B", second)
    if not options.adds:
        return first, second
    third = _matrix("C", operands[2])
    rows, columns = a.shape[0], b.shape[1]
    if third.shape != (rows, columns):
        raise InputError(
            f"C is {third.shape[0]}×{third.shape[1]} and the product is {rows}×{columns}; "
            "give a C of that size"
        )
    return first, second, third


def _matrix(name: str, values: ArrayLike) -> F32:
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(
            f"{name} has rows of different lengths; give all rows one length"
        ) from None
    if array.dtype.kind not in "fiub":
        raise InputError(f"{name} holds {_what(array)}; give real numbers")
    if array.ndim != 2:
        raise InputError(f"{name} has {array.ndim} dimensions; give a matrix, which has 2")
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(array, np.float32)


def _what(array: NDArray[np.generic]) -> str:
    """What an array without real numbers holds, in words."""
    words = {"U": "text", "S": "text", "O": "Python objects", "c": "complex numbers"}
    return words.get(array.dtype.kind, f"values of type {array.dtype}")


def _in_unit_range(name: str, matrix: F32) -> None:
    bad = np.argwhere(~((matrix >= 0.0) & (matrix <= 1.0)))
    if len(bad):
        i, j = bad[0]
        raise InputError(
            f"{name}[{i}, {j}] is {matrix[i, j]}, but unorm8 textures hold 0 to 1; scale the "
            "matrix, or set the texture format to r32f"
        )


def product_bytes(shape: Shape, *, adds: bool = False, checked: bool = False) -> int:
    """About how many bytes a product takes: operands, textures of them, two of C, and the result.

    adds: C is an operand, too. checked: the product is compared with one in float64 afterwards,
    when the textures have gone: of that, the operands, the product, and two arrays to compare.
    """
    c = shape.m * shape.n
    operands = shape.m * shape.l + shape.l * shape.n + adds * c
    computing = _FLOAT_BYTES * (2 * operands + 3 * c)
    comparing = _FLOAT_BYTES * (operands + c) + _DOUBLE_BYTES * (operands + 3 * c)
    return max(computing, checked * comparing)


_FLOAT_BYTES, _DOUBLE_BYTES = 4, 8


def require_product_memory(shape: Shape, options: Options, *, checked: bool = False) -> None:
    """InputError where this machine has too little memory left for a product.

    checked: as for product_bytes.
    """

    def cost(at: Shape) -> int:
        return product_bytes(at, adds=options.adds, checked=checked)

    what = f"a product of {shape.m}×{shape.l} and {shape.l}×{shape.n} matrices"
    if shape.is_square:
        require_memory_for_size(lambda n: cost(Shape(n, n, n)), shape.n, what)
    else:
        require_memory(cost(shape), what, "multiply smaller ones")


def random_operands(
    shape: Shape, options: Options, seed: int, *, checked: bool = False
) -> tuple[F32, ...]:
    """Uniform random operands in [-0.5, 0.5), or in [0, 1) for unorm8 textures; float32.

    Operands that the options declare transposed are transposed. The same seed gives the same
    operands. checked: as for product_bytes. Raises InputError for a negative seed, for sizes that
    no product has, and where there is too little memory for the product.
    """
    require_product_memory(shape.checked(), options, checked=checked)
    generator = np.random.default_rng(as_whole("seed", seed))
    offset = np.float32(0.0 if options.is_unorm else 0.5)

    def uniform(rows: int, columns: int) -> F32:
        values: F32 = generator.random((rows, columns), np.float32)
        values -= offset
        return values

    a, b = uniform(shape.m, shape.l), uniform(shape.l, shape.n)
    product = options.turned(a, b)
    if not options.adds:
        return product
    return (*product, uniform(shape.m, shape.n))
