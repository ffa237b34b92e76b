"""What compute methods share: matrices in storage buffers, and dispatches over a product.

All compute methods read A and B from buffers that hold them row after row, and each invocation
writes one element of C. They differ in the kernel, in the names of its uniforms and in padding.
"""

from __future__ import annotations

from gpgpu_legacy.algorithms.matmul.product import Shape, add_addend, add_operands, add_result
from gpgpu_legacy.kernel.ir import Kernel
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.textures import Rect


def padded_to(shape: Shape, rows: int, inner: int, columns: int) -> Shape:
    """The shape, padded to multiples of these."""
    sizes = ((shape.m, rows), (shape.l, inner), (shape.n, columns))
    return Shape(*(-(-size // multiple) * multiple for size, multiple in sizes))


def groups_for(size: int, local_size: int) -> int:
    """How many work groups of `local_size` invocations cover `size` elements along one axis."""
    return -(-size // local_size)


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
            operands = (*operands, add_addend(self, shape))
        zero = 0.0 if adds is False else None
        self.buffers = (
            self.texture("A", padded.l, padded.m, kind="BUFFER"),
            self.texture("B", padded.n, padded.l, kind="BUFFER"),
            self.texture("C", padded.n, padded.m, kind="BUFFER", initial=zero),
        )
        for matrix, buffer in zip(operands, self.buffers, strict=False):
            self.upload(matrix, buffer)
        self.read_back(self.buffers[2], add_result(self, shape), rect=Rect(0, 0, shape.n, shape.m))

    def multiply(self, kernel: Kernel, padded: Shape, **uniforms: float) -> None:
        """A dispatch with an invocation for every element of C."""
        local_x, local_y = kernel.local_size
        groups = groups_for(padded.n, local_x), groups_for(padded.m, local_y)
        self.dispatch(kernel, self.buffers, groups, uniforms=uniforms)
