"""The textures of a plan: their formats, the matrices in them, and how they are read."""

from __future__ import annotations

from enum import Enum

from gpgpu_legacy.frozen import frozen
from gpgpu_legacy.isa.ir import Vec4
from gpgpu_legacy.plan.numbers import Integer, integer_at
from gpgpu_legacy.serial import Index, Size

LARGEST_TEXTURE = 8192
"""The default limit on a texture's width and height, in texels. All drivers of the last ten years
allow it. The GeForce4 of Hall, Carr & Hart's Section 4 allowed 2048."""


class Numeric(Enum):
    """How a channel stores a number: in floating point, or as unsigned fixed point in [0, 1]."""

    FLOAT = "float"
    UNORM = "unorm"


@frozen
class Format:
    """A texel format.

    channels: the numbers that a texel stores, the first ones of r, g, b, a. reads: what the R, G,
    B and A of a lookup are: one of these channels, 0 or 1.
    """

    name: str
    channels: int
    bits_per_channel: int
    numeric: Numeric
    reads: str

    @property
    def texel_bytes(self) -> int:
        """Bytes of one texel."""
        return self.channels * self.bits_per_channel // 8

    @property
    def places(self) -> tuple[int, ...]:
        """The first component of a lookup that is each stored channel."""
        return tuple(self.reads.index(channel) for channel in "rgba"[: self.channels])

    @property
    def is_drawn_to(self) -> bool:
        """Whether passes draw to it: to R, RG and RGBA, as in ARB_texture_rg."""
        return self.reads == "rgba"[: self.channels] + "0001"[self.channels :]


_NUMBERS = {
    "8": (8, Numeric.UNORM),
    "16": (16, Numeric.UNORM),
    "16f": (16, Numeric.FLOAT),
    "32f": (32, Numeric.FLOAT),
}

# GL 1.5, table 3.20; ARB_texture_rg for one and two channels that are neither grey nor alpha.
_READS = {
    "r": "r001",
    "rg": "rg01",
    "rgba": "rgba",
    "alpha": "000r",
    "luminance": "rrr1",
    "luminance_alpha": "rrrg",
    "intensity": "rrrr",
}

_UNORM = {"r8": "unorm8", "r16": "unorm16"}

FORMATS = {
    name: Format(name, len({*reads} - {*"01"}), *numbers, reads)
    for base, reads in _READS.items()
    for suffix, numbers in _NUMBERS.items()
    for name in [_UNORM.get(base + suffix, base + suffix)]
}
"""The formats by name."""

_FAMILIAR = ("r16f", "r32f", "rg32f", "rgba16f", "rgba32f", "unorm8", "rgba8")
R16F, R32F, RG32F, RGBA16F, RGBA32F, UNORM8, RGBA8 = map(FORMATS.__getitem__, _FAMILIAR)


class TextureKind(Enum):
    """How a texture is addressed. The values are the texture targets as programs spell them.

    RECT has unnormalised coordinates, one level and no repeat; 1D, 2D, 3D and CUBE have normalised
    coordinates. Passes draw to RECT and 2D textures. BUFFER is a storage buffer: kernels index it
    as an array, row after row, and no sampler reads it.
    """

    RECT = "RECT"
    T1D = "1D"
    T2D = "2D"
    T3D = "3D"
    CUBE = "CUBE"
    BUFFER = "BUFFER"


@frozen
class Extent:
    """The width and height of a texture, in texels, and its number of layers.

    depth: the slices of a 3D texture, the 6 faces of a cube map (+x, -x, +y, -y, +z, -z), else 1.
    Transfers stack the layers: layer 0 has the lowest rows.
    """

    width: Size
    height: Size
    depth: Size = 1

    @property
    def rows(self) -> int:
        """Rows of texels in all layers together."""
        return self.height * self.depth


@frozen
class Texture:
    """A texture or a storage buffer; also a framebuffer, if a pass draws to it.

    kind: how it is addressed. format: the channels of a texel and their bits. initial: the value of
    every texel at the start of a run; None leaves texels undefined.
    """

    name: str
    kind: TextureKind
    extent: Extent
    format: Format
    initial: Vec4 | None = None

    @property
    def size_bytes(self) -> int:
        """Bytes of all its texels, in all layers."""
        return self.extent.width * self.extent.rows * self.format.texel_bytes


@frozen
class Rect:
    """A rectangle of texels or fragments: its lower left corner, its width and its height."""

    x: Index
    y: Index
    width: Size
    height: Size

    @property
    def area(self) -> int:
        """The number of texels that it covers."""
        return self.width * self.height

    @property
    def corners(self) -> tuple[tuple[int, int], ...]:
        """Its four vertices, in the order of Corners."""
        right, top = self.x + self.width, self.y + self.height
        return ((self.x, self.y), (right, self.y), (right, top), (self.x, top))


def full_rect(texture: Texture) -> Rect:
    """The rectangle that covers a texture, in all layers."""
    return Rect(0, 0, texture.extent.width, texture.extent.rows)


@frozen
class MovingRect:
    """A rectangle of a Repeat that moves or changes its size from iteration to iteration.

    In a file, all rectangles of passes have this form; `moving` marks a MovingRect in which, by
    chance, no number changes.
    """

    x: Integer
    y: Integer
    width: Integer
    height: Integer

    def at(self, iteration: int) -> Rect:
        """The rectangle in the given iteration, counted from 0."""
        numbers = (self.x, self.y, self.width, self.height)
        return Rect(*(integer_at(number, iteration) for number in numbers))


def constant_rect(rect: Rect | MovingRect) -> Rect:
    """The rectangle itself; only for expanded plans, where no rectangle moves."""
    assert isinstance(rect, Rect)
    return rect


@frozen
class Region:
    """A rectangle of matrix elements: first row, first column, numbers of rows and columns."""

    row: Index
    column: Index
    rows: Index
    columns: Index


@frozen
class Packing:
    """Which matrix elements the channels of a texel hold.

    Channel c of texel (i, j) holds element (offsets[c][0] + row_step·i, offsets[c][1] +
    column_step·j) of the region. A channel whose element is outside the region is padding: an
    input fills it with 0, and an output drops it.

    transposed: an input transposes the region before it packs it, and an output transposes it
    back. The transfer does it, so it costs no pass.
    """

    offsets: tuple[tuple[Index, Index], ...]
    row_step: Size = 1
    column_step: Size = 1
    transposed: bool = False


ONE_PER_TEXEL = Packing(((0, 0),))
"""One element in each texel."""


def quadrants(rows: int, columns: int) -> Packing:
    """The packing that puts the four quadrants of a matrix into r, g, b and a.

    It is equation (8) of Hall, Carr & Hart 2003. rows, columns: the size of a quadrant, which is
    the size of the texture in texels.
    """
    return Packing(((0, 0), (0, columns), (rows, 0), (rows, columns)))


@frozen
class Matrix:
    """A matrix that a plan reads or computes, by name.

    shape: the shape in which callers give and get it, with the elements in row-major order: (n,)
    for a vector, (H, W, 4) for an image whose matrix is H × 4W; by default (rows, columns).
    """

    name: str
    rows: Index
    columns: Index
    shape: tuple[Index, ...] | None = None

    @property
    def array_shape(self) -> tuple[int, ...]:
        """The shape of the array that callers give or get."""
        return (self.rows, self.columns) if self.shape is None else self.shape


@frozen
class Transfer:
    """A transfer from a region of an operand to a rectangle of a texture, or back to a result."""

    matrix: str
    region: Region
    texture: str
    rect: Rect
    packing: Packing


class Filter(Enum):
    """Texture filters. Textures have one level, so minification, magnification and bias are one."""

    NEAREST = "nearest"
    LINEAR = "linear"


class Wrap(Enum):
    """What a lookup outside the texture reads (GL 1.5, section 3.8.7).

    CLAMP clamps the coordinate to the texture, so a linear filter at the edge mixes in the border
    colour, (0, 0, 0, 0). CLAMP_TO_EDGE clamps it to the centres of the outer texels. RECT textures
    do not repeat.
    """

    CLAMP_TO_EDGE = "clamp-to-edge"
    CLAMP = "clamp"
    REPEAT = "repeat"


@frozen
class Sampler:
    """How lookups read a texture: its filter, and a wrap mode for each coordinate.

    Cube maps always clamp to the edge.
    """

    filter: Filter = Filter.NEAREST
    wrap_s: Wrap = Wrap.CLAMP_TO_EDGE
    wrap_t: Wrap = Wrap.CLAMP_TO_EDGE
    wrap_r: Wrap = Wrap.CLAMP_TO_EDGE


DEFAULT_SAMPLER = Sampler()
"""The nearest texel, with coordinates clamped to the edge."""
