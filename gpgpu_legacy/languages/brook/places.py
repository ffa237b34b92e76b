"""Where the elements of a stream lie in its textures, and how a program finds them.

The elements lie row after row in a rectangle. A stream of one or two dimensions that fits a texture
lies in it as it is. All others need address translation (Buck et al. 2004, Section 4.2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import prod
from operator import mul
from typing import TYPE_CHECKING

from gpgpu_legacy.errors import InputError, shape_in_words

if TYPE_CHECKING:
    from gpgpu_legacy.languages.shading.graph import Graph, Vector

WIDEST = 8192
"""The most texels along either side of a texture."""

SIDE = 2048
"""The most texels along either side of a texture whose stream needs address translation. Chips of
2004 allowed so many, and float32 computes with so few indices exactly.
"""


def rectangle(name: str, extents: tuple[int, ...]) -> tuple[int, int]:
    """The width and height of the textures of a stream; InputError for one that is too large.

    extents: x first. The rectangle has no texels to spare if the number of elements has a divisor
    that fits.
    """
    total, columns = prod(extents), extents[0]
    if not 1 <= len(extents) <= 4:
        raise InputError(f"stream {name} has {len(extents)} dimensions; give it 1 to 4")
    if columns <= WIDEST and total // columns <= WIDEST:
        return columns, total // columns
    if total > SIDE**2:
        raise InputError(
            f"stream {name} of {shape_in_words(extents[::-1])} fits no texture as it is, and has "
            f"more than {SIDE**2} elements; make it smaller"
        )
    width = next((w for w in range(SIDE, (total - 1) // SIDE, -1) if total % w == 0), SIDE)
    return width, -(-total // width)


@dataclass(frozen=True)
class StreamPlace:
    """The elements of a stream, or of a domain of it, in textures. All tuples have x first.

    shape: the whole stream's. width: its textures'. start: the domain's first element. extents: the
    domain's.
    """

    shape: tuple[int, ...]
    width: int
    start: tuple[int, ...]
    extents: tuple[int, ...]

    @classmethod
    def whole(cls, shape: tuple[int, ...], width: int = 0) -> StreamPlace:
        """All of a stream. width: its textures'; if it is 0, the stream's own."""
        return cls(shape, width or shape[0], (0,) * len(shape), shape)

    @property
    def is_direct(self) -> bool:
        """Whether an element's index is its texel."""
        return len(self.shape) <= 2 and self.width == self.shape[0]

    @property
    def is_whole(self) -> bool:
        """Whether the domain is the whole stream."""
        return self.extents == self.shape

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """The distance, in elements, of a step along each dimension."""
        return (1, *accumulate(self.shape[:-1], mul))

    @property
    def rect(self) -> tuple[int, int, int, int]:
        """The x, y, width and height of the texels around the domain; just the domain if direct."""
        if self.is_direct:
            (x, y), (width, height) = ((*pair, fill)[:2] for pair, fill in (
                (self.start, 0), (self.extents, 1)))  # fmt: skip
            return x, y, width, height
        last = [s + n - 1 for s, n in zip(self.start, self.extents, strict=True)]
        first_row, last_row = (
            sum(map(mul, at, self.strides)) // self.width for at in (self.start, last)
        )
        return 0, first_row, self.width, last_row + 1 - first_row

    def domain(self, start: tuple[int, ...], end: tuple[int, ...]) -> StreamPlace | None:
        """The part of this domain from start up to end; None if it is not inside."""
        fits = len(start) == len(end) == len(self.shape) and all(
            0 <= a < b <= n for a, b, n in zip(start, end, self.extents, strict=True)
        )
        if not fits:
            return None
        extents = tuple(b - a for a, b in zip(start, end, strict=True))
        return replace(
            self, extents=extents, start=tuple(map(sum, zip(self.start, start, strict=True)))
        )

    def texel(self, graph: Graph, index: Vector, *, is_whole: bool = False) -> Vector:
        """The texture coordinates of an element; a fraction of the index is rounded.

        index: in the domain; a texture that needs no translation clamps an index outside. is_whole:
        whether the index has no fraction.
        """
        middle = 0.0 if is_whole and not self.is_direct else 0.5
        moves = [start + middle for start in self.start]
        moved = index + graph.numbers(*moves) if any(moves) else index
        if self.is_direct:
            return graph.join(moved, moved) if len(moved) == 1 else moved
        whole = moved if is_whole else graph.op("FLR", moved)
        if self.width == self.shape[0]:
            rows = graph.numbers(*(s / self.width for s in self.strides[1:]))
            row = graph.dot(whole[1:], rows)
            return graph.join(moved[:1] + 0.5 if is_whole else moved[:1], row + 0.5)
        linear = graph.dot(whole, graph.numbers(*self.strides)) if len(whole) > 1 else whole
        row = graph.op("FLR", linear * (1 / self.width) + 0.5 / self.width)
        return graph.join(linear - row * float(self.width), row) + 0.5

    def element(self, graph: Graph, texel: Vector) -> Vector:
        """The index, in the domain, of the element at a texel that needs translation."""
        pixel = texel - 0.5
        rest, digits = pixel[1], [pixel[0]]
        if self.width != self.shape[0]:
            rest, digits = rest * float(self.width) + pixel[0], []
        for extent in self.shape[len(digits) : -1]:
            above = graph.op("FLR", rest * (1 / extent) + 0.5 / extent)
            digits.append(rest - above * float(extent))
            rest = above
        return graph.join(*digits, rest) - graph.numbers(*map(float, self.start))

    def ratios(self, other: StreamPlace) -> tuple[Fraction, ...]:
        """Elements of this domain for each element of the other one, along each dimension."""
        return tuple(map(Fraction, self.extents, other.extents))
