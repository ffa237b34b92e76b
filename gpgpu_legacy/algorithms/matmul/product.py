"""The product of two matrices: its parameters, and the common part of all methods.

A method is a function of these parameters and its own. It multiplies; `product` adds the parts that
do not depend on the method: alpha, beta and C0, the reference and the samples.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from gpgpu_legacy.algorithms.algorithm import algorithm
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError, as_positive
from gpgpu_legacy.isa.kernel import Kernel
from gpgpu_legacy.languages.shaders import load_compute_kernel, load_program
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.textures import LARGEST_TEXTURE, Matrix, Rect, Texture, TextureKind

if TYPE_CHECKING:
    from gpgpu_legacy.pipeline.inputs import F64

FIELD = "matrix products"
"""The field of the algorithms that multiply matrices."""

method = partial(algorithm, field=FIELD)
"""Marks a function as an algorithm that multiplies matrices."""

LARGEST_SIZE = 2**24
"""The most rows or columns of a matrix: float32 cannot count more texels, and memory ends long
before.
"""

MOST_UNROLLED = 4096
"""The most iterations of the inner loop that a program unrolls: a row-packed product of 16384²
matrices has that many. The assembler takes seconds for such a program.
"""


@frozen
class Shape:
    """The shape of a matrix product: m×l times l×n."""

    m: int
    l: int  # noqa: E741 - the papers' own letter
    n: int

    @property
    def is_square(self) -> bool:
        """Whether all matrices are n×n."""
        return self.m == self.l == self.n

    @property
    def multiply_adds(self) -> int:
        """The number of multiplications of an element of A by one of B: m·l·n."""
        return self.m * self.l * self.n


class Accumulate(Enum):
    """How the partial sum gets from one pass to the next (Hall, Carr & Hart, Section 3).

    COPY: each pass copies the framebuffer to the texture F, as the paper's listings do.
    PING_PONG: two textures alternate as framebuffer and as F.
    BLEND: the framebuffer adds up; there is no F.
    """

    COPY = "copy"
    PING_PONG = "ping-pong"
    BLEND = "blend"


# Parameters -------------------------------------------------------------------------------------


@frozen
class Sizes:
    """The parameters of every product: alpha·AB of an m×l by an l×n matrix, plus beta·C0.

    C0 is read even if beta is 0, so that a NaN in it propagates; BLAS would not read it.
    """

    n: Annotated[int, "columns of B and of the product"] = 256
    m: Annotated[int | None, "rows of A and of the product; n if it is not given"] = None
    l: Annotated[int | None, "columns of A, rows of B; n if it is not given"] = None  # noqa: E741
    alpha: Annotated[float, "the result is alpha times the product"] = 1.0
    beta: Annotated[float | None, "plus beta times C0; without beta there is no C0"] = None

    @property
    def shape(self) -> Shape:
        """The sizes, checked: InputError for one that is below 1 or too large."""
        given = {"n": self.n, "m": self.m, "l": self.l}
        sizes = {
            name: as_positive(name, self.n if size is None else size)
            for name, size in given.items()
        }
        for name, size in sizes.items():
            if size > LARGEST_SIZE:
                raise InputError(f"{name} is {size}; the largest possible is {LARGEST_SIZE}")
        return Shape(**sizes)

    @property
    def scales(self) -> bool:
        """Whether the result is more than the product AB itself."""
        return self.beta is not None or self.alpha != 1.0


LargestTexture = Annotated[
    int | None, f"width and height of the largest texture, in texels; without it, {LARGEST_TEXTURE}"
]


@frozen
class Stored:
    """How the operands of a product lie in textures.

    A transposed operand is read through transposed texture coordinates. Matrices larger than the
    largest texture are split into tiles.
    """

    transpose_a: Annotated[bool, "A is stored transposed"] = False
    transpose_b: Annotated[bool, "B is stored transposed"] = False
    largest_texture: LargestTexture = None

    @property
    def side(self) -> int:
        """The side of the largest texture, checked."""
        given = self.largest_texture
        return LARGEST_TEXTURE if given is None else as_positive("largest_texture", given)

    def turned(self, a: Any, b: Any) -> tuple[Any, Any]:
        """The factors as they are multiplied, from those as stored, or the other way round."""
        return a.T if self.transpose_a else a, b.T if self.transpose_b else b


UPRIGHT = Stored()
"""Nothing is transposed."""

Block = Annotated[int, "steps of the sum in one pass, the paper's b"]
AccumulateBy = Annotated[Accumulate, "how the partial sum gets from pass to pass"]
AsPrinted = Annotated[bool, "coordinates and groups exactly as the paper prints them"]
CoordinatesFirst = Annotated[
    int | None, "steps whose coordinates are computed before their lookups, to save indirections"
]


# Products ---------------------------------------------------------------------------------------


def product(
    p: PlanBuilder,
    sizes: Sizes,
    stored: Stored = UPRIGHT,
    *,
    scales: bool = False,
    least: float = -0.5,
) -> PlanBuilder:
    """The builder of a product by a method, with its reference, samples and operations.

    p: the method's. scales: whether it applies alpha, beta and C0 itself; otherwise a pass for that
    is appended. least: of the random samples; the largest is 1 more.
    """
    if sizes.scales and not scales:
        p = _with_scale_add(p.plan(), sizes.alpha, sizes.beta)
    p.reference = partial(_expected, sizes, stored)
    p.operations = 2 * sizes.shape.multiply_adds
    p.samples = {
        "A": partial(_uniform, least, stored.transpose_a),
        "B": partial(_uniform, least, stored.transpose_b),
        "C0": partial(_uniform, least, False),
    }
    return p


def _expected(sizes: Sizes, stored: Stored, A: F64, B: F64, C0: F64 | None = None) -> F64:  # noqa: N803
    """The product in float64, from matrices by their names in plans."""
    a, b = stored.turned(A, B)
    result: F64 = sizes.alpha * (a @ b)
    return result if C0 is None or sizes.beta is None else result + sizes.beta * C0


def _uniform(least: float, is_transposed: bool, rng: Any, shape: tuple[int, ...]) -> Any:
    """A random matrix in float32, with elements from `least` to 1 more.

    A transposed one has the same elements, transposed.
    """
    import numpy as np

    values = rng.random(shape[::-1] if is_transposed else shape, np.float32)
    values += np.float32(least)
    return values.T if is_transposed else values


def _with_scale_add(plan: Plan, alpha: float, beta: float | None) -> PlanBuilder:
    """The builder of alpha·P + beta·C0, where P is the result of `plan`; without beta, alpha·P.

    C0 is packed into textures exactly as P is, so this works for every method.
    """
    p, [result] = PlanBuilder.continuing(replace(plan, outputs=())), plan.results
    addend = None if beta is None else p.operand("C0", result.rows, result.columns)
    for output in plan.outputs:
        textures = [product := plan.texture(output.texture)]
        scaled = p.like(product, f"scaled {product.name}")
        if addend is not None:
            textures.append(p.like(product, f"added {product.name}"))
            p.upload(addend, textures[1], region=output.region, packing=output.packing)
        _scale(p, textures, scaled, output.rect, (alpha,) if beta is None else (alpha, beta))
        p.read_back(scaled, result, region=output.region, rect=output.rect, packing=output.packing)
    return p


def _scale(
    p: PlanBuilder,
    textures: list[Texture],
    scaled: Texture,
    rect: Rect,
    factors: tuple[float, ...],
) -> None:
    """Add the pass that scales the product and adds the addend, if that is among the textures."""
    name = "gemm/scale_add" if len(textures) == 2 else "gemm/scale"
    if scaled.kind is not TextureKind.BUFFER:
        units, local = dict(enumerate(textures)), dict(enumerate(factors))
        p.draw(load_program(f"{name}.fp"), units, into=scaled, rect=rect, local=local)
        return
    kernel, extent = load_compute_kernel(f"{name}.comp"), scaled.extent
    uniforms = dict(zip(("alpha", "beta"), factors, strict=False))
    groups = -(-extent.width // kernel.local_size[0]), extent.height
    p.dispatch(kernel, [*textures, scaled], groups, uniforms={"width": extent.width} | uniforms)


def add_operands(p: PlanBuilder, shape: Shape, stored: Stored = UPRIGHT) -> tuple[Matrix, ...]:
    """A and B as callers give them: a transposed one has its rows and columns exchanged."""
    rows_a, columns_a = (shape.l, shape.m) if stored.transpose_a else (shape.m, shape.l)
    rows_b, columns_b = (shape.n, shape.l) if stored.transpose_b else (shape.l, shape.n)
    return p.operand("A", rows_a, columns_a), p.operand("B", rows_b, columns_b)


# Products in buffers ----------------------------------------------------------------------------
#
# Compute methods read A and B from buffers that hold them row after row, and each invocation writes
# one element of C. They differ in the kernel, in the names of its uniforms and in padding.


def padded_to(shape: Shape, rows: int, inner: int, columns: int) -> Shape:
    """The shape with m, l and n padded to multiples of rows, inner and columns."""
    sizes = ((shape.m, rows), (shape.l, inner), (shape.n, columns))
    return Shape(*(-(-size // multiple) * multiple for size, multiple in sizes))


def groups_for(shape: Shape, kernel: Kernel) -> tuple[int, int]:
    """The work groups that cover the columns and the rows of C."""
    columns, rows = kernel.local_size
    return -(-shape.n // columns), -(-shape.m // rows)


class DispatchedProduct(PlanBuilder):
    """The builder of a product in buffers: A and B are uploaded, and C is read back.

    padded: the shape of the buffers, padded with 0 below and to the right. adds: whether the kernel
    adds to C, which then holds C0, or 0 without it.
    """

    def __init__(self, name: str, shape: Shape, padded: Shape, *, adds: bool | None = None) -> None:
        """Make the matrices and the buffers; the method adds the passes."""
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
        """Dispatch an invocation for every element of C."""
        self.dispatch(kernel, self.buffers, groups_for(padded, kernel), uniforms=uniforms)
