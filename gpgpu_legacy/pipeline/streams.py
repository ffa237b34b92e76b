"""Streams: Brook's arrays of 1 to 4 dimensions, as textures of a plan."""

from __future__ import annotations

from collections.abc import Iterator as Iterating
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from math import prod
from typing import Any

from gpgpu_legacy.decorators import frozen, public
from gpgpu_legacy.errors import InputError, as_positive, as_whole, hint, shape_in_words
from gpgpu_legacy.languages.brook.kernels import FLOAT_TYPES, FLOATS, ElementType
from gpgpu_legacy.languages.brook.places import StreamPlace, rectangle
from gpgpu_legacy.pipeline.storage import Sample, StorageBuilder
from gpgpu_legacy.plan.textures import (
    Matrix,
    Packing,
    Rect,
    Region,
    Texture,
    TextureKind,
    Transfer,
)

_FORMATS = ("r32f", "rg32f", "rgba32f", "rgba32f")
"""The formats of fields, by the number of components."""


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


class StreamBuilder(StorageBuilder):
    """Streams beside textures and matrices."""

    def __init__(self, name: str) -> None:
        """name: of the plan."""
        super().__init__(name)
        self._spares: dict[str, Texture] = {}

    @public
    def stream(
        self,
        name: str,
        type: ElementType | str,
        extents: int | Sequence[int],
        *,
        given: bool = False,
        sample: Sample | None = None,
    ) -> Stream:
        """A stream, which kernels read and write: see `call`.

        name: of the stream, and of its textures. type: float, float2, float3 or float4, or the type
        of a struct. extents: the outermost dimension first, as in Brook's `<20, 10>`. given: it is
        an input of the plan: an array of the extents, and last of the components if there are
        several. sample: makes an input to try.
        """
        element = type if isinstance(type, ElementType) else _float(type)
        given_extents = extents if isinstance(extents, Sequence) else [extents]
        shape = tuple(as_positive("an extent", extent) for extent in given_extents)[::-1]
        width, height = rectangle(name, shape)
        textures = tuple(
            self.texture(
                f"{name}.{field}" if field else name, width, height, format=_FORMATS[size - 1]
            )
            for field, size in element.fields
        )
        stream = Stream(name, element, textures, StreamPlace.whole(shape, width))
        if given:
            rows, columns, array_shape = _matrix(stream)
            matrix = self.operand(name, rows, columns, shape=array_shape)
            for transfer in _transfers(stream, matrix):
                self._inputs.append(transfer)
                self._validator.upload(transfer)
            if sample is not None:
                self.samples[name] = sample
        return stream

    @public
    def fresh(self, name: str) -> str:
        """A name that no texture has yet.

        name: what it begins with.
        """
        numbers = (f"{name}.{n}" for n in count(1))
        return next(n for n in numbers if n not in self._validator.textures)

    @public
    def spare(self, texture: Texture) -> Texture:
        """A texture to write what is read at the same time; one for each.

        texture: what it is like.
        """
        if texture.name not in self._spares:
            name, size = self.fresh(texture.name), texture.extent
            format_ = texture.format.name
            self._spares[texture.name] = self.texture(name, size.width, size.height, format=format_)
        return self._spares[texture.name]

    def as_stream(self, given: Any, element: ElementType) -> Stream:
        """A stream, or a rectangle texture as one of rows and columns, whose first channels count.

        given: the stream or texture. element: the wanted type, if a texture has as many channels.
        """
        if isinstance(given, Stream):
            for texture in given.textures:
                self._known(texture)
            return given
        texture = self._known(given)
        if texture.kind is not TextureKind.RECT:
            raise InputError(
                f"texture {texture.name} is {texture.kind.value}; only RECT textures are streams"
            )
        shape = (texture.extent.width, texture.extent.height)
        channels = texture.format.channels
        if len(element.fields) != 1 or element.components > channels:
            element = FLOAT_TYPES[channels - 1]
        return Stream(texture.name, element, (texture,), StreamPlace.whole(shape))

    @public
    def output(self, name: str, texture: Any, *sizes: Any, **how: Any) -> None:
        """A matrix that the plan gives back: a whole stream, or a texture after the last pass.

        name: of the output. texture: where it is, or a stream. By default all texels: (height,
        width) of a texture with one channel, (height, width, channels) of one with more.
        sizes: rows and columns, if the matrix is packed or padded. how: rect, packing and shape.
        rect: (x, y, width, height), for a part. packing, shape: as for `input`.
        """
        if not isinstance(texture, Stream):
            super().output(name, texture, *sizes, **how)
            return
        if not texture.place.is_whole:
            raise InputError(f"output {name} is a domain of {texture.name}; give the whole stream")
        stream = self.as_stream(texture, texture.type)
        rows, columns, shape = _matrix(stream)
        for transfer in _transfers(stream, self.result(name, rows, columns, shape=shape)):
            self._validator.read_back(transfer)
            self._outputs.append(transfer)


def _float(name: str) -> ElementType:
    if name not in FLOATS:
        raise InputError(f"a stream of {name}; {hint(str(name), FLOATS)}")
    return FLOATS[name]


def _matrix(stream: Stream) -> tuple[int, int, tuple[int, ...]]:
    """Rows and columns of the matrix of a stream, a row for each row of texels if all are full."""
    components, extent = stream.type.components, stream.textures[0].extent
    shape = (*stream.extents, components) if components > 1 else stream.extents
    total = prod(stream.extents)
    is_full = total == extent.width * extent.height
    rows = extent.height if is_full else 1
    return rows, total * components // rows, shape


def _transfers(stream: Stream, matrix: Matrix) -> Iterating[Transfer]:
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
