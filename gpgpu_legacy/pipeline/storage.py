"""The textures, streams and matrices of a plan that is being built, and transfers between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from math import prod
from typing import Any, TypedDict, Unpack, cast

from gpgpu_legacy.decorators import frozen, public
from gpgpu_legacy.errors import (
    InputError,
    as_member,
    as_positive,
    as_whole,
    described,
    hint,
    kind_of,
    shape_in_words,
)
from gpgpu_legacy.languages.brook.kernels import FLOAT_TYPES, FLOATS, ElementType
from gpgpu_legacy.languages.brook.places import StreamPlace, rectangle
from gpgpu_legacy.pipeline.values import Values
from gpgpu_legacy.plan.textures import (
    ONE_PER_TEXEL,
    R32F,
    RGBA32F,
    Extent,
    Format,
    Matrix,
    Packing,
    Rect,
    Region,
    Texture,
    TextureKind,
    Transfer,
    find_format,
    level_rect,
    quadrants,
)
from gpgpu_legacy.plan.validate import Validator


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


# Packings ----------------------------------------------------------------------------------------


CHANNELS = 4


def row_of(channels: int) -> Packing:
    """The packing of that many consecutive elements of a row into the channels of a texel."""
    return Packing(tuple((0, column) for column in range(channels)), column_step=channels)


ROW_OF_FOUR = row_of(CHANNELS)


@frozen
class Packed:
    """How a matrix lies in a texture of width × height texels. format: the default one."""

    packing: Packing
    width: int
    height: int
    format: Format


def packed(name: str, rows: int, columns: int, channels: int = CHANNELS) -> Packed:
    """The layout of a matrix in a texture, by the name of its packing.

    name: one (an element a texel), quadrants (in r, g, b and a: Hall, Carr & Hart 2003, equation
    (8)) or rows (consecutive elements of a row). channels: of a texel, for rows. Raises InputError
    for another name.
    """
    across, up = -(-columns // 2), -(-rows // 2)
    known = {
        "one": Packed(ONE_PER_TEXEL, columns, rows, R32F),
        "quadrants": Packed(quadrants(up, across), across, up, RGBA32F),
        "rows": Packed(row_of(channels), -(-columns // channels), rows, RGBA32F),
    }
    if name not in known:
        raise InputError(
            f"packing is {described(name)}; choose from {', '.join(known)}, or give a Packing"
        )
    return known[name]


# Textures and matrices ---------------------------------------------------------------------------


Sample = Callable[[Any, tuple[int, ...]], Any]
"""A function of a NumPy random generator and a shape that returns an input to try."""

Reference = Callable[..., Any]
"""A function of the inputs by name, as float64, that returns the output or a mapping of outputs."""


_FORMATS = ("r32f", "rg32f", "rgba32f", "rgba32f")
"""The formats of a stream's fields, by the number of components."""


class TextureKeywords(TypedDict, total=False):
    """The properties of a texture besides its size; see StorageBuilder.texture."""

    format: str
    kind: str
    depth: int | None
    levels: int
    initial: Any


class StorageBuilder:
    """A builder of textures, streams, operands and results, each checked when it is added.

    reference: computes the outputs from the inputs in another way; None if there is none. samples:
    functions that make inputs to try, by name. operations: the nominal number of floating-point
    operations, such as 2n³, for GFLOPS; None if not given. parameters: the values with which the
    function that built it was called. family: the algorithm that built it, with the parameters that
    the user gave; None for a plan built by hand. iterations: of its loops with a condition, in the
    order in which they begin; None if the conditions end them.
    """

    def __init__(self, name: str) -> None:
        """name: of the plan."""
        self.name = name
        self.reference: Reference | None = None
        self.samples: dict[str, Sample] = {}
        self.operations: int | None = None
        self.parameters: Mapping[str, int | float | str | bool | None] = {}
        self.iterations: tuple[int, ...] | None = None
        self.family: tuple[Any, Mapping[str, Any]] | None = None
        self._inputs: list[Transfer] = []
        self._outputs: list[Transfer] = []
        self._alternating: dict[tuple[str, str], None] = {}
        self._validator = Validator(self.name)
        self._spares: dict[str, Texture] = {}

    @property
    def operands(self) -> Mapping[str, Matrix]:
        """The inputs by name."""
        return self._validator.matrices["operand"]

    @public
    def texture(
        self, name: str, width: int, height: int, **how: Unpack[TextureKeywords]
    ) -> Texture:
        """A texture of that many texels; passes draw to it and look it up.

        name: its own in the plan. width, height: in texels, of a layer. how: format, kind, depth,
        levels and initial, as follows.

        format: one of FORMATS in plan/textures.py, or one of GL's names for it; r32f if it is not
        given. kind: as programs look it up: RECT, the default, 2D, 1D, 3D, CUBE; BUFFER for
        kernels. depth: layers, of a 3D texture; a CUBE has its 6 faces. levels: of a mipmap;
        `upload` or `generate_mipmap` fills them. initial: every texel's value at the start, a
        number or four; without it, a pass must write the texture before it is read.
        """
        size = (as_positive("width", width), as_positive("height", height))
        initial = how.get("initial")
        value = None if initial is None else Values(None).vector("initial", initial)
        kind, layers = _layers(how)
        texture = Texture(
            name,
            kind,
            Extent(*size, layers, as_positive("levels", how.get("levels", 1))),
            find_format("format", how.get("format", "r32f")),
            cast("Any", value),
        )
        self._validator.add(texture)
        return texture

    @public
    def operand(
        self, name: str, rows: int, columns: int, *, shape: tuple[int, ...] | None = None
    ) -> Matrix:
        """A matrix that the plan is given; `upload` transfers it, and `input` does both.

        name: of the input. rows, columns: of the matrix. shape: of the caller's array; (rows,
        columns) if None.
        """
        matrix = _matrix(name, rows, columns, shape)
        self._validator.add_matrix("operand", matrix)
        return matrix

    @public
    def result(
        self, name: str, rows: int, columns: int, *, shape: tuple[int, ...] | None = None
    ) -> Matrix:
        """A matrix that the plan gives back; `read_back` fills it, and `output` does both.

        name: of the output. rows, columns: of the matrix. shape: of the caller's array; (rows,
        columns) if None.
        """
        matrix = _matrix(name, rows, columns, shape)
        self._validator.add_matrix("result", matrix)
        return matrix

    @public
    def upload(
        self,
        matrix: Matrix,
        texture: Texture,
        *,
        region: Region | None = None,
        rect: Any = None,
        packing: Packing | str = "one",
        level: int = 0,
    ) -> None:
        """Transfer a region of an operand to a rectangle of a texture, before the first pass.

        matrix: what `operand` returned. texture: where it goes. region: of the matrix; by default
        all of it. rect: (x, y, width, height) in texels; by default the whole level. packing: how
        elements lie in texels, as for `input`. level: of a mipmap. Texels that it does not fill
        are 0.
        """
        area = level_rect(self._known(texture), as_whole("level", level)) if rect is None else rect
        self._upload(self._transfer(matrix, texture, region, area, packing))

    @public
    def read_back(
        self,
        texture: Texture,
        matrix: Matrix,
        *,
        region: Region | None = None,
        rect: Any = None,
        packing: Packing | str = "one",
    ) -> None:
        """Transfer a rectangle of a texture to a region of a result, after the last pass.

        texture: where it is. matrix: what `result` returned. region, rect, packing: as for
        `upload`.
        """
        self._read_back(self._transfer(matrix, texture, region, rect, packing))

    @public
    def input(
        self,
        name: str,
        rows: int,
        columns: int,
        *,
        packing: str = "one",
        shape: tuple[int, ...] | None = None,
        sample: Sample | None = None,
        **texture: Unpack[TextureKeywords],
    ) -> Texture:
        """A matrix that the plan is given, and the texture that holds it.

        name: of the input. rows, columns: of the matrix. packing: one (an element a texel),
        quadrants, rows (four elements of a row a texel), or image (an array (rows, columns, 4), a
        pixel a texel); in a format of fewer channels, a texel has fewer elements. shape: of the
        caller's array if it differs, such as (n,) for a vector. sample: makes an input to try; by
        default, it is uniform in [0, 1). texture: the keywords of `texture`. The rows of a 3D
        texture or a CUBE are those of all layers, one layer after another.
        """
        channels = find_format("format", texture.get("format", RGBA32F.name)).channels
        way, rows, columns, shape = _layout(packing, rows, columns, shape, channels)
        matrix = self.operand(name, rows, columns, shape=shape)
        _, layers = _layers(texture)
        if way.height % layers:
            raise InputError(
                f"input {name} has {way.height} rows of texels for {layers} layers; give as many "
                "rows for each, one layer after another"
            )
        texture.setdefault("format", way.format.name)
        target = self.texture(name, way.width, way.height // layers, **texture)
        self.upload(matrix, target, packing=way.packing)
        if sample is not None:
            self.samples[name] = sample
        return target

    @public
    def output(
        self,
        name: str,
        texture: Any,
        rows: int | None = None,
        columns: int | None = None,
        *,
        packing: str | None = None,
        shape: tuple[int, ...] | None = None,
        rect: Any = None,
    ) -> None:
        """A matrix that the plan gives back: a whole stream, or a texture after the last pass.

        name: of the output. texture: the texture or the stream that holds it. By default, all
        texels are given back: (height, width) of a texture with one channel, (height, width,
        channels) of one with more. rows, columns: if the matrix is packed or padded. rect: (x, y,
        width, height), for a part. packing, shape: as for `input`.
        """
        if isinstance(texture, Stream):
            if not texture.place.is_whole:
                raise InputError(
                    f"output {name} is a domain of {texture.name}; give the whole stream"
                )
            self._transfer_stream(name, texture, self.result, self._read_back)
            return
        texture = self._known(texture)
        area = _area(texture, rect)
        if packing is None:
            packing = "one" if texture.format.channels == 1 else "image"
        way, rows, columns, shape = _layout(
            packing, area.height if rows is None else rows,
            area.width if columns is None else columns, shape, texture.format.channels,
        )  # fmt: skip
        matrix = self.result(name, rows, columns, shape=shape)
        self.read_back(texture, matrix, rect=area, packing=way.packing)

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
        of a struct. extents: the outermost dimension first, as in Brook's `<20, 10>`. given:
        whether it is an input of the plan. Its array has the shape of the extents and, last, of the
        components if there are several. sample: makes an input to try.
        """
        element = type if isinstance(type, ElementType) else FLOATS.get(type)
        if element is None:
            raise InputError(f"a stream of {type}; {hint(str(type), FLOATS)}")
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
            self._transfer_stream(name, stream, self.operand, self._upload)
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
        """The spare texture of a given one: a pass can write one of them while it reads the other.

        texture: the given one. Its spare has the same size and format, and is made once.
        """
        if texture.name not in self._spares:
            self._spares[texture.name] = self.like(texture, self.fresh(texture.name))
        return self._spares[texture.name]

    def like(self, texture: Texture, name: str, **how: Any) -> Texture:
        """A new texture with the size, format and kind of another.

        texture: the other one, which may be of another plan. name: of the new one. how: depth,
        levels and initial, as for `texture`.
        """
        size, kind = texture.extent, texture.kind.value
        return self.texture(
            name, size.width, size.height, format=texture.format.name, kind=kind, **how
        )

    def as_stream(self, given: Any, element: ElementType) -> Stream:
        """A stream as it is, or a RECT texture as a stream of rows and columns.

        given: the stream or texture. element: the wanted type, in a texture's first channels. If it
        has too few, the stream's type has all of them.
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

    def _transfer_stream(
        self,
        name: str,
        stream: Stream,
        add: Callable[..., Matrix],
        transfer: Callable[[Transfer], None],
    ) -> None:
        """Transfer a stream to or from a matrix that `add` adds.

        The matrix has a row for each row of texels if all of these are full, and otherwise one row.
        There is a transfer for each field, and for each row of texels if they are not full.
        """
        components, extent = stream.type.components, self._known(stream.textures[0]).extent
        shape = (*stream.extents, components) if components > 1 else stream.extents
        total, width = prod(shape), extent.width * components
        rows = extent.height if total == width * extent.height else 1
        matrix = add(name, rows, total // rows, shape=shape)
        before = 0
        for texture, (_, size) in zip(stream.textures, stream.type.fields, strict=True):
            padding = [(0, matrix.columns)] * (texture.format.channels - size)
            offsets = tuple((0, before + c) for c in range(size))
            packing = Packing((*offsets, *padding), column_step=components)
            before += size
            for row in range(0, extent.height, rows):
                columns = min(width, matrix.columns - row * width)
                region = Region(0, row * width, rows, columns)
                rect = Rect(0, row, columns // components, rows)
                transfer(Transfer(name, region, texture.name, rect, packing))

    def _upload(self, transfer: Transfer) -> None:
        self._validator.upload(transfer)
        self._inputs.append(transfer)

    def _read_back(self, transfer: Transfer) -> None:
        self._validator.transfer("result", transfer)
        self._outputs.append(transfer)

    def _known(self, texture: object) -> Texture:
        if not isinstance(texture, Texture):
            raise InputError(
                f"a texture is wanted, but {kind_of(texture)} is given; give what p.texture or "
                "p.input returned"
            )
        if self._validator.textures.get(texture.name) != texture:
            raise InputError(
                f"texture {texture.name} is not of pipeline {self.name}; give one of its own"
            )
        return texture

    def _transfer(
        self,
        matrix: Matrix,
        texture: Texture,
        region: Region | None,
        rect: Any,
        packing: Packing | str,
    ) -> Transfer:
        texture = self._known(texture)
        region = region or Region(0, 0, matrix.rows, matrix.columns)
        area = _area(texture, rect)
        if isinstance(packing, str):
            channels = texture.format.channels
            packing = packed(packing, region.rows, region.columns, channels).packing
        return Transfer(matrix.name, region, texture.name, area, packing)


def _layers(how: TextureKeywords) -> tuple[TextureKind, int]:
    """The kind of a texture and its number of layers."""
    kind, depth = as_member("kind", how.get("kind", "RECT"), TextureKind), how.get("depth")
    if depth is None:
        return kind, 6 if kind is TextureKind.CUBE else 1
    return kind, as_positive("depth", depth)


def _matrix(name: str, rows: int, columns: int, shape: tuple[int, ...] | None) -> Matrix:
    if shape is not None:
        shape = tuple(as_whole("a size of the shape", size) for size in shape)
    return Matrix(name, as_whole("rows", rows), as_whole("columns", columns), shape)


def _layout(
    packing: str, rows: int, columns: int, shape: tuple[int, ...] | None, channels: int
) -> tuple[Packed, int, int, tuple[int, ...] | None]:
    """How a matrix lies in a texture, its rows and columns, and the shape of the caller's array."""
    as_positive("rows", rows)
    as_positive("columns", columns)
    if packing != "image":
        return packed(packing, rows, columns, channels), rows, columns, shape
    shape = (rows, columns, channels) if shape is None else shape
    columns *= channels
    return packed("rows", rows, columns, channels), rows, columns, shape


def _area(texture: Texture, given: Any) -> Rect:
    """The rectangle of a transfer, which is constant; by default the whole first level."""
    rect = level_rect(texture) if given is None else Values(None).rect("rect", given)
    return rect if isinstance(rect, Rect) else rect.at(0)
