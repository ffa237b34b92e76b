"""What compute methods share: matrices in storage buffers, and dispatches over a product.

All compute methods read A and B from buffers that hold them row after row, and each invocation
writes one element of C. They differ in the kernel, in the names of its uniforms and in padding.
"""

from __future__ import annotations

from gpgpu_legacy.algorithms.matmul.product import Shape, add_operands
from gpgpu_legacy.kernel.ir import Kernel
from gpgpu_legacy.pipeline.builder import PlanBuilder


def padded_to(shape: Shape, rows: int, inner: int, columns: int) -> Shape:
    """The shape, padded to multiples of these."""
    sizes = ((shape.m, rows), (shape.l, inner), (shape.n, columns))
    return Shape(*(-(-size // multiple) * multiple for size, multiple in sizes))


def groups_for(shape: Shape, kernel: Kernel) -> tuple[int, int]:
    """How many work groups cover the columns and the rows of C."""
    columns, rows = kernel.local_size
    return -(-shape.n // columns), -(-shape.m // rows)


class DispatchedProduct(PlanBuilder):
    """The builder of a product in buffers: A and B are uploaded, and C is read back.

    padded: the shape that the buffers have; they are padded with 0 below and to the right.
    adds: whether the kernel adds to C, and if so, whether that holds C0; without it, it holds 0.
    """

    def __init__(self, name: str, shape: Shape, padded: Shape, *, adds: bool | None = None) -> None:
        """The matrices and buffers; the passes are the method's."""
        super().__init__(name)
        operands = add_operands(self, shape)
        if adds:
            operands = (*operands, self.operand("C0", shape.m, shape.n))
        zero = 0.0 if adds is False else None
        self.buffers = (
            self.texture("A", padded.l, padded.m, kind="BUFFER"),
            self.texture("B", padded.n, padded.l, kind="BUFFER"),
            self.texture("C", padded.n, padded.m, kind="BUFFER", initial=zero),
        )
        for matrix, buffer in zip(operands, self.buffers, strict=False):
            self.upload(matrix, buffer)
        c = self.result("C", shape.m, shape.n)
        self.read_back(self.buffers[2], c, rect=(0, 0, shape.n, shape.m))

    def multiply(self, kernel: Kernel, padded: Shape, **uniforms: float) -> None:
        """A dispatch with an invocation for every element of C."""
        self.dispatch(kernel, self.buffers, groups_for(padded, kernel), uniforms=uniforms)
