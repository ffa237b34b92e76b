"""What a caller of a method chooses: the shape of the product, and options.

They are apart from method.py because the command line's help needs them without any plan.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from gpgpu_legacy.arguments import as_integer, as_member
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.formats import FORMATS, LARGEST_TEXTURE, Numeric

LARGEST_SIZE = 2**24
"""The most rows or columns of a matrix: float32 numbers texels no further, and memory ends long
before."""


MOST_UNROLLED = 4096
"""The most iterations of the inner loop that a program unrolls: a row-packed product of 16384²
matrices has so many. The assembler takes seconds for such a program."""


@dataclass(frozen=True)
class Shape:
    """The shape of a matrix product: m×l times l×n. Sizes may be 0."""

    m: int
    l: int  # noqa: E741 - the papers' own letter
    n: int

    @property
    def is_square(self) -> bool:
        """Whether all matrices are n×n."""
        return self.m == self.l == self.n

    @property
    def multiply_adds(self) -> int:
        """How many elements of A are multiplied by elements of B: m·l·n."""
        return self.m * self.l * self.n

    @classmethod
    def square(cls, n: int) -> Shape:
        """The shape of an n×n product."""
        return cls(n, n, n)

    def gflops(self, seconds: float | None) -> float | None:
        """2·m·l·n operations over the seconds, in 10⁹/s; None where either is 0 or missing."""
        if seconds is None or seconds <= 0.0 or not self.multiply_adds:
            return None
        return 2e-9 * self.multiply_adds / seconds

    def checked(self) -> Shape:
        """The shape with Python's ints.

        Raises InputError for sizes that are negative, too large, or not integers.
        """
        sizes = [as_integer(f"shape.{size}", getattr(self, size)) for size in ("m", "l", "n")]
        shape = Shape(*sizes)
        if min(sizes) < 0:
            raise InputError(f"{shape} has a negative size; sizes are at least 0")
        if max(sizes) > LARGEST_SIZE:
            raise InputError(
                f"the sizes are {shape.m}, {shape.l}, {shape.n}; the largest possible is "
                f"{LARGEST_SIZE}"
            )
        return shape


class Accumulate(Enum):
    """How the partial sum gets from one pass to the next (Hall, Carr & Hart, Section 3).

    COPY: each pass copies the framebuffer to the texture F, as the paper's listings do.
    PING_PONG: two textures alternate as framebuffer and as F.
    BLEND: the framebuffer adds up; there is no F.
    """

    COPY = "copy"
    PING_PONG = "ping-pong"
    BLEND = "blend"


@dataclass(frozen=True)
class Options:
    """What a caller chooses. None leaves the choice to the method.

    block: iterations of the inner loop that one pass unrolls, the paper's b; at least 1.
    accumulate: how partial sums get from pass to pass.
    texture_format: the name of the format of textures and framebuffer (plan/formats.py).
    transpose_a, transpose_b: the operand is stored transposed; the method reads it through
    transposed texture coordinates.
    as_printed: use the texture coordinates exactly as the paper prints them, in place of the ones
    it meant.
    largest_texture: the largest width and height of a texture, in texels. Larger matrices are
    split into tiles.
    dynamic: declare shared arrays one-dimensional, as CUDA does where a launch sets their size.
    alpha, beta, adds: the result is alpha·AB, plus beta·C if `adds` is set. C is read even if beta
    is 0, so that a NaN in it shows in the result; BLAS would not read it.
    coordinates_first: for how many iterations at a time a program computes coordinates before it
    looks up, to save texture indirections. None keeps the order that the paper prints.
    tile: the side of the squares of the framebuffer, in texels, that are drawn one after another,
    each in all of its passes; at least 1. None leaves it to the method.
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
    tile: int | None = None

    @property
    def scales(self) -> bool:
        """Whether the result is anything but the product AB itself."""
        return self.adds or self.alpha != 1.0

    @property
    def is_unorm(self) -> bool:
        """Whether textures hold 0 to 1, in steps."""
        texels = FORMATS.get(self.texture_format or "")
        return texels is not None and texels.numeric is Numeric.UNORM

    def turned(self, a: Any, b: Any) -> tuple[Any, Any]:
        """The factors as they are multiplied of those that are given, or the other way round."""
        return a.T if self.transpose_a else a, b.T if self.transpose_b else b

    def checked(self) -> Options:
        """The options with Python's numbers; InputError for a size that is no integer, and for an
        unknown way to accumulate.
        """
        given = {name: getattr(self, name) for name in SIZES}
        sizes: dict[str, Any] = {
            name: as_integer(name, size) for name, size in given.items() if size is not None
        }
        way = self.accumulate and as_member("accumulate", self.accumulate, Accumulate)
        return replace(
            self, accumulate=way, alpha=float(self.alpha), beta=float(self.beta), **sizes
        )


SIZES = {"block": "", "largest_texture": " texel", "coordinates_first": "", "tile": " texel"}
"""The options that are whole numbers of at least 1, and of what."""
