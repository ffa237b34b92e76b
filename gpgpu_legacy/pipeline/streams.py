"""Streams: Brook's arrays of 1 to 4 dimensions, as textures of a plan."""

from __future__ import annotations

from collections.abc import Iterator as Iterating
from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError, as_whole, shape_in_words
from gpgpu_legacy.languages.brook.kernels import ElementType
from gpgpu_legacy.languages.brook.places import StreamPlace
from gpgpu_legacy.plan.textures import Matrix, Packing, Rect, Region, Texture, Transfer


@frozen
class Stream:
    """A stream of a plan, or a domain of one.

    textures: one for each field of the element type. place: where the elements lie in them.
    """

    name: str
    type: ElementType
    textures: tuple[Texture, ...]
    place: StreamPlace

    @property
    def extents(self) -> tuple[int, ...]:
        """The elements along each dimension, the outermost one first."""
        return self.place.extents[::-1]

    def domain(self, start: int | Sequence[int], end: int | Sequence[int]) -> Stream:
        """The elements from `start` up to `end`, which is left out.

        As in Brook, x comes first: `domain((3, 5), (9, 10))` of a matrix has columns 3 to 8 of rows
        5 to 9.
        """
        first, last = (
            tuple(as_whole(name, n) for n in (at if isinstance(at, Sequence) else [at]))
            for name, at in (("start", start), ("end", end))
        )
        place = self.place.domain(first, last)
        if place is None:
            raise InputError(
                f"the domain from {start} to {end} is not in stream {self.name} of "
                f"{shape_in_words(self.extents)}; give indices inside, x first"
            )
        return replace(self, place=place)


@frozen
class Iterator:
    """A stream of numbers that no memory holds, from `start` up to `end`, which is left out.

    extents: the outermost dimension first. Component c of the value runs along dimension c, x
    first; if there is one dimension, all components run along it.
    """

    extents: tuple[int, ...]
    start: Any
    end: Any


def matrix_of(stream: Stream) -> tuple[int, int, tuple[int, ...]]:
    """Rows and columns of the matrix of a stream, a row for each row of texels if all are full."""
    components, extent = stream.type.components, stream.textures[0].extent
    shape = (*stream.extents, components) if components > 1 else stream.extents
    total = prod(stream.extents)
    is_full = total == extent.width * extent.height
    rows = extent.height if is_full else 1
    return rows, total * components // rows, shape


def transfers_of(stream: Stream, matrix: Matrix) -> Iterating[Transfer]:
    """One for each field; of a rectangle that is not full, one for each row of texels."""
    components, extent = stream.type.components, stream.textures[0].extent
    width = extent.width * components
    before = 0
    for texture, (_, size) in zip(stream.textures, stream.type.fields, strict=True):
        padding = [(0, matrix.columns)] * (texture.format.channels - size)
        offsets = tuple((0, before + c) for c in range(size))
        packing = Packing((*offsets, *padding), column_step=components)
        before += size
        if matrix.rows == extent.height:
            region = Region(0, 0, matrix.rows, matrix.columns)
            rect = Rect(0, 0, extent.width, extent.height)
            yield Transfer(matrix.name, region, texture.name, rect, packing)
            continue
        for row in range(extent.height):
            columns = min(width, matrix.columns - row * width)
            region = Region(0, row * width, 1, columns)
            rect = Rect(0, row, columns // components, 1)
            yield Transfer(matrix.name, region, texture.name, rect, packing)
