"""What compute methods share: matrices in storage buffers, and dispatches over a product.

All compute methods read A and B from buffers that hold them row after row, and each invocation
writes one element of C. They differ in the kernel, in the names of its uniforms and in padding.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpgpu_legacy.algorithms.matmul.matrices import product_operands, result_matrix
from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.kernel.ir import Kernel
from gpgpu_legacy.plan.formats import R32F
from gpgpu_legacy.plan.numbers import Number
from gpgpu_legacy.plan.plan import BufferBinding, ComputePass, Plan, Step, UniformValue
from gpgpu_legacy.plan.textures import (
    ONE_PER_TEXEL,
    Extent,
    Input,
    Matrix,
    Output,
    Rect,
    Region,
    Texture,
    TextureKind,
)


@dataclass(frozen=True, slots=True)
class Padding:
    """The rows of A, the inner dimension and the columns of B are padded to multiples of these."""

    rows: int = 1
    inner: int = 1
    columns: int = 1

    def padded(self, shape: Shape) -> Shape:
        """The shape with padding."""
        return Shape(
            round_up(shape.m, self.rows),
            round_up(shape.l, self.inner),
            round_up(shape.n, self.columns),
        )


def round_up(size: int, multiple: int) -> int:
    """The smallest multiple that is at least `size`."""
    return -(-size // multiple) * multiple


def groups_for(size: int, local_size: int) -> int:
    """How many work groups of `local_size` invocations cover `size` elements along one axis."""
    return -(-size // local_size)


def buffer(name: str, rows: int, columns: int, *, zero: bool = False) -> Texture:
    """A storage buffer for a matrix, row after row. zero: it is filled with 0 before a run."""
    initial = (0.0, 0.0, 0.0, 0.0) if zero else None
    return Texture(name, TextureKind.BUFFER, Extent(columns, rows), R32F, initial)


def uniforms(**values: Number) -> tuple[UniformValue, ...]:
    """The uniforms of a pass."""
    return tuple(UniformValue(name, value) for name, value in values.items())


def bindings(*textures: str) -> tuple[BufferBinding, ...]:
    """Buffers bound at the binding points 0, 1, 2, …"""
    return tuple(BufferBinding(i, name) for i, name in enumerate(textures))


def load_into(matrix: Matrix, texture: Texture) -> Input:
    """The transfer of a whole matrix to a buffer, padded with 0 below and to the right."""
    region = Region(0, 0, matrix.rows, matrix.columns)
    rect = Rect(0, 0, texture.extent.width, texture.extent.height)
    return Input(matrix.name, region, texture.name, rect, ONE_PER_TEXEL)


def read_from(matrix: Matrix, texture: Texture) -> Output:
    """The transfer that reads a whole matrix back from a buffer and drops the padding."""
    region = Region(0, 0, matrix.rows, matrix.columns)
    rect = Rect(0, 0, matrix.columns, matrix.rows)
    return Output(matrix.name, region, texture.name, rect, ONE_PER_TEXEL)


def product_plan(
    name: str, shape: Shape, options: Options, padded: Shape, steps: tuple[Step, ...]
) -> Plan:
    """The plan of a product whose steps read the buffers A and B and write the buffer C.

    padded: the shape that the buffers have.
    """
    operands, result = product_operands(shape, options), result_matrix(shape)
    a, b = buffer("A", padded.m, padded.l), buffer("B", padded.l, padded.n)
    c = buffer("C", padded.m, padded.n)
    return Plan(
        name,
        operands,
        (result,),
        (a, b, c),
        (load_into(operands[0], a), load_into(operands[1], b)),
        steps,
        (read_from(result, c),),
    )


def one_dispatch(kernel: Kernel, padded: Shape, **values: Number) -> ComputePass:
    """A dispatch with an invocation for every element of C. values: the uniforms by name."""
    local_x, local_y = kernel.local_size
    return ComputePass(
        kernel,
        bindings("A", "B", "C"),
        uniforms(**values),
        (groups_for(padded.n, local_x), groups_for(padded.m, local_y)),
    )
