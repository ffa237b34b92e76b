"""The textures and matrices of a plan that is being built, and the transfers between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from gpgpu_legacy.decorators import frozen, public
from gpgpu_legacy.errors import InputError, as_member, as_positive, as_whole, described, kind_of
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

if TYPE_CHECKING:
    from gpgpu_legacy.pipeline.reference import Reference


# Packings ----------------------------------------------------------------------------------------


CHANNELS = 4


def row_of(channels: int) -> Packing:
    """So many consecutive elements of a row in the channels of a texel."""
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
    """A matrix by the name of a packing.

    one: an element a texel. quadrants: the four quadrants in r, g, b and a (Hall, Carr & Hart 2003,
    equation (8)). rows: elements of a row in as many channels. Raises InputError for another name.
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


class StorageBuilder:
    """Textures, operands and results, each checked when it is added.

    reference: computes the outputs from the inputs in another way; None if there is none. samples:
    makes inputs to try, by name. operations: the nominal number of floating-point operations, such
    as 2n³, for GFLOPS; None if not given. parameters: the values that the function which built it
    was called with. family: the algorithm that built it, with the parameters that the user gave;
    None for a plan built by hand. iterations: of its loops with a condition, in the order in which
    they begin; None if they end by it.
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

    @property
    def operands(self) -> Mapping[str, Matrix]:
        """The inputs by name."""
        return self._validator.operands

    @public
    def texture(
        self,
        name: str,
        width: int,
        height: int,
        *,
        format: str = "r32f",
        kind: str = "RECT",
        depth: int | None = None,
        levels: int = 1,
        initial: Any = None,
    ) -> Texture:
        """A texture of that many texels; passes draw to it and look it up.

        name: its own in the plan. width, height: in texels, of a layer. depth: layers, of a 3D
        texture; a CUBE has its 6 faces. format: one of FORMATS in plan/textures.py, or one of GL's
        names for it. kind: as programs look it up: RECT, 2D, 1D, 3D, CUBE; BUFFER for kernels.
        levels: of a mipmap; `upload` or `generate_mipmap` fills them. initial: every texel's value
        at the start, a number or four; without it, a pass must write the texture before it is read.
        """
        size = (as_positive("width", width), as_positive("height", height))
        value = None if initial is None else Values(None).vector("initial", initial)
        texture_kind = as_member("kind", kind, TextureKind)
        layers = _layers(texture_kind, depth)
        texture = Texture(
            name,
            texture_kind,
            Extent(*size, layers, as_positive("levels", levels)),
            find_format("format", format),
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
        self._validator.add_operand(matrix)
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
        self._validator.add_result(matrix)
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
        if rect is None:
            whole = level_rect(self._known(texture), as_whole("level", level))
            rect = (whole.x, whole.y, whole.width, whole.height)
        self._inputs.append(Transfer(*self._transfer(matrix, texture, region, rect, packing)))
        self._validator.upload(self._inputs[-1])

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
        output = Transfer(*self._transfer(matrix, texture, region, rect, packing))
        self._validator.read_back(output)
        self._outputs.append(output)

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
        **texture: Any,
    ) -> Texture:
        """A matrix that the plan is given, and the texture that holds it.

        name: of the input. rows, columns: of the matrix. packing: one (an element a texel),
        quadrants, rows (four of a row), or image: an array (rows, columns, 4), a texel for each
        pixel; of fewer channels, as many of a row or pixel. shape: of the caller's array if it
        differs, such as (n,) for a vector. sample: makes an input to try; by default, it is uniform
        in [0, 1). texture: the keywords of `texture`. Of a 3D texture or a CUBE, the rows are those
        of all layers, one layer after another.
        """
        channels = find_format("format", texture.get("format", RGBA32F.name)).channels
        way, rows, columns, shape = _layout(packing, rows, columns, shape, channels)
        matrix = self.operand(name, rows, columns, shape=shape)
        kind = as_member("kind", texture.get("kind", "RECT"), TextureKind)
        layers = _layers(kind, texture.get("depth"))
        if way.height % layers:
            raise InputError(
                f"input {name} has {way.height} rows of texels for {layers} layers; give as many "
                "rows for each, one layer after another"
            )
        height = way.height // layers
        target = self.texture(name, way.width, height, **{"format": way.format.name, **texture})
        self.upload(matrix, target, packing=way.packing)
        if sample is not None:
            self.samples[name] = sample
        return target

    def output(
        self,
        name: str,
        texture: Texture,
        rows: int | None = None,
        columns: int | None = None,
        *,
        packing: str | None = None,
        shape: tuple[int, ...] | None = None,
        rect: Any = None,
    ) -> None:
        """A matrix that the plan gives back, from a texture as it is after the last pass.

        By default all texels: (height, width) of a texture with one channel, (height, width,
        channels) of one with more. rect: (x, y, width, height), for a part. rows, columns, packing,
        shape: as for `input`, if the matrix is packed or padded.
        """
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
    ) -> tuple[str, Region, str, Rect, Packing]:
        texture = self._known(texture)
        region = region or Region(0, 0, matrix.rows, matrix.columns)
        area = _area(texture, rect)
        if isinstance(packing, str):
            channels = texture.format.channels
            packing = packed(packing, region.rows, region.columns, channels).packing
        return matrix.name, region, texture.name, area, packing


def _layers(kind: TextureKind, depth: int | None) -> int:
    """The layers of a texture that is made with that depth, or without one."""
    if depth is None:
        return 6 if kind is TextureKind.CUBE else 1
    return as_positive("depth", depth)


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
