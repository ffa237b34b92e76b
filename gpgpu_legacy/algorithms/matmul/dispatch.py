"""Matrices in storage buffers, and the dispatches of a kernel over a product.

The compute methods all read A and B from buffers that hold them row after row and write an element
of the product an invocation; they differ in the kernel, in what its uniforms are called, and in
what the matrices' sizes are padded to.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpgpu_legacy.algorithms.matmul.matrices import product_operands, result_matrix
from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.kernel.ir import Kernel
from gpgpu_legacy.plan.formats import R32F
from gpgpu_legacy.plan.plan import (
    ONE_PER_TEXEL,
    BufferBinding,
    ComputePass,
    Extent,
    Input,
    Matrix,
    Number,
    Output,
    Plan,
    Rect,
    Region,
    Step,
    Texture,
    TextureKind,
    UniformValue,
)


@dataclass(frozen=True, slots=True)
class Padding:
    """What the rows of A, the inner dimension and the columns of B are padded to multiples of."""

    rows: int = 1
    inner: int = 1
    columns: int = 1

    def padded(self, shape: Shape) -> Shape:
        """The shape with its padding."""
        return Shape(
            round_up(shape.m, self.rows),
            round_up(shape.l, self.inner),
            round_up(shape.n, self.columns),
        )


def round_up(size: int, multiple: int) -> int:
    """The next multiple that is no smaller."""
    return -(-size // multiple) * multiple


def groups_for(size: int, local_size: int) -> int:
    """Work groups that cover so many elements along one axis."""
    return -(-size // local_size)


def buffer(name: str, rows: int, columns: int, *, zero: bool = False) -> Texture:
    """A buffer that holds a matrix row after row."""
    initial = (0.0, 0.0, 0.0, 0.0) if zero else None
    return Texture(name, TextureKind.BUFFER, Extent(columns, rows), R32F, initial)


def uniforms(**values: Number) -> tuple[UniformValue, ...]:
    """A pass's uniforms, by name."""
    return tuple(UniformValue(name, value) for name, value in values.items())


def bindings(*textures: str) -> tuple[BufferBinding, ...]:
    """Buffers at the binding points 0, 1, 2, …"""
    return tuple(BufferBinding(i, name) for i, name in enumerate(textures))


def load_into(matrix: Matrix, texture: Texture) -> Input:
    """The transfer that puts a whole matrix into the upper left of a buffer, zeros around it."""
    region = Region(0, 0, matrix.rows, matrix.columns)
    rect = Rect(0, 0, texture.extent.width, texture.extent.height)
    return Input(matrix.name, region, texture.name, rect, ONE_PER_TEXEL)


def read_from(matrix: Matrix, texture: Texture) -> Output:
    """The transfer that reads a whole matrix back from the upper left of a buffer."""
    region = Region(0, 0, matrix.rows, matrix.columns)
    rect = Rect(0, 0, matrix.columns, matrix.rows)
    return Output(matrix.name, region, texture.name, rect, ONE_PER_TEXEL)


def product_plan(
    name: str, shape: Shape, options: Options, padded: Shape, steps: tuple[Step, ...]
) -> Plan:
    """A plan whose steps read the buffers A and B and write C, all of the padded shape."""
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
    """The dispatch of an invocation for every element of C."""
    across, up = kernel.local_size
    return ComputePass(
        kernel,
        bindings("A", "B", "C"),
        uniforms(**values),
        (groups_for(padded.n, across), groups_for(padded.m, up)),
    )
