"""What a caller of a method may choose: the shape of the product, and the options.

It is apart from method.py because the command line's help needs it, and no plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gpgpu_legacy.plan.formats import LARGEST_TEXTURE


@dataclass(frozen=True, slots=True)
class Shape:
    """The product of an m×l matrix with an l×n matrix. Any of them may be 0."""

    m: int
    l: int  # noqa: E741 - the papers' own letter
    n: int

    @property
    def multiply_adds(self) -> int:
        """Multiplications of one element of A with one of B that the product needs."""
        return self.m * self.l * self.n


class Accumulate(Enum):
    """How the partial sum gets from one pass to the next (Hall, Carr & Hart, Section 3).

    COPY: the framebuffer is copied to the texture F after each pass, as the listings have it.
    PING_PONG: two textures take turns as framebuffer and as F.
    BLEND: the framebuffer adds, and there is no F.
    """

    COPY = "copy"
    PING_PONG = "ping-pong"
    BLEND = "blend"


@dataclass(frozen=True, slots=True)
class Options:
    """What a caller may choose; None leaves the choice to the method.

    block: the paper's b, iterations of the inner loop in one pass.
    texture_format: the name of a format that textures and framebuffer are kept in.
    transpose_a, transpose_b: the operand is given transposed, and read so by its coordinates.
    as_printed: the paper's literal texture coordinates, in place of the ones it meant.
    largest_texture: width and height, in texels, of the largest texture; larger matrices are cut.
    dynamic: shared arrays are one-dimensional, as where their size is known only at the launch.
    alpha, beta, adds: the result is alpha·AB, plus beta·C where `adds` says that a C is given. C is
    read even where beta is 0, so that a NaN in it shows; BLAS would not read it.
    coordinates_first: how many steps' coordinates a program computes before it looks up, so that it
    takes few texture indirections; None for the order as it is printed.
    """

    block: int | None = None
    accumulate: Accumulate | None = None
    texture_format: str | None = None
    transpose_a: bool = False
    transpose_b: bool = False
    as_printed: bool = False
    largest_texture: int = LARGEST_TEXTURE
    dynamic: bool = False
    alpha: float = 1.0
    beta: float = 0.0
    adds: bool = False
    coordinates_first: int | None = None

    @property
    def scales(self) -> bool:
        """Whether the result is anything but the product itself."""
        return self.adds or self.alpha != 1.0
