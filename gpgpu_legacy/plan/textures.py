"""The textures of a plan: their formats, the matrices in them, and how they are read."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from functools import cache

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError, described
from gpgpu_legacy.isa.program import Vec4
from gpgpu_legacy.plan.numbers import Finite, Integer, integer_at
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
    B and A of a lookup are: one of these channels, 0 or 1. aliases: GL's names, without GL_.
    """

    name: str
    channels: int
    bits_per_channel: int
    numeric: Numeric
    reads: str
    aliases: tuple[str, ...]

    @property
    def texel_bytes(self) -> int:
        """Bytes of one texel."""
        return self.channels * self.bits_per_channel // 8

    @property
    def places(self) -> tuple[int, ...]:
        """For each stored channel, the first component of a lookup that reads it."""
        return tuple(self.reads.index(channel) for channel in "rgba"[: self.channels])

    @property
    def is_float32(self) -> bool:
        """Whether texels hold float32, so that nothing is rounded to it."""
        return (self.numeric, self.bits_per_channel) == (Numeric.FLOAT, 32)

    @property
    def is_depth(self) -> bool:
        """Whether it holds depths, which lookups may compare."""
        return self.name.startswith("depth")

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
    "depth": "rrr1",
}

_UNORM = {"r8": "unorm8", "r16": "unorm16"}


# GL 1.5, ARB_depth_texture, ARB_texture_rg; ARB_ and ATI_texture_float, APPLE_float_pixels,
# NV_float_buffer; and with initials, as in la8 and l32f.
_SPELLINGS = {
    Numeric.UNORM: "{0}{1} {2}{1} {3}{1} {0}_component{1} {0}_component{1}_arb",
    Numeric.FLOAT: "{0}{1}f {2}{1}f {0}_component{1}f {0}{1}f_arb {0}_float{1}_ati "
    "{0}_float{1}_apple float_{0}{1}_nv",
}


def _aliases(base: str, bits: int, numeric: Numeric) -> tuple[str, ...]:
    short = base if base.startswith("r") else "".join(word[0] for word in base.split("_"))
    sizes = base.replace("_", f"{bits}_")  # GL_LUMINANCE8_ALPHA8
    return tuple(_SPELLINGS[numeric].format(base, bits, short, sizes).split())


FORMATS = {
    name: Format(name, len({*reads} - {*"01"}), *numbers, reads, _aliases(base, *numbers))
    for base, reads in _READS.items()
    for suffix, numbers in _NUMBERS.items()
    for name in [_UNORM.get(base + suffix, base + suffix)]
    if name not in ("depth8", "depth16f")
}
"""The formats by name."""

_NAMED = {name: f for f in FORMATS.values() for name in (f.name, *f.aliases)}


def named_format(name: str) -> Format | None:
    """The format of that name, or of one of GL's; None if there is none."""
    return _NAMED.get(name.strip().lower().removeprefix("gl_"))


def find_format(what: str, name: str) -> Format:
    """The format of that name, or of one of GL's; InputError if there is none.

    what: the parameter that has the name, in messages.
    """
    texel_format = named_format(str(name))
    if texel_format is None:
        raise InputError(f"{what} is {described(name)}; choose from {', '.join(FORMATS)}")
    return texel_format


R16F, R32F, RG32F, RGBA16F, RGBA32F, UNORM8, RGBA8 = map(
    FORMATS.__getitem__, ("r16f", "r32f", "rg32f", "rgba16f", "rgba32f", "unorm8", "rgba8")
)


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
    """The width and height of a texture, in texels, and its numbers of layers and of levels.

    depth: the slices of a 3D texture, the 6 faces of a cube map (+x, -x, +y, -y, +z, -z), else 1.
    Transfers stack the layers: layer 0 has the lowest rows. levels: of a mipmap, each half as wide
    and half as high as the one before, rounded down, but at least 1. They are stacked, too, each
    with room for all layers, its columns to the left.
    """

    width: Size
    height: Size
    depth: Size = 1
    levels: Size = 1

    @property
    def rows(self) -> int:
        """Rows of texels in all layers of all levels together."""
        return self.first_row(self.levels)

    def first_row(self, level: int) -> int:
        """The row with which a level begins."""
        return self.depth * sum(max(1, self.height >> n) for n in range(level))

    def level(self, number: int, kind: TextureKind) -> Extent:
        """The size of a level alone. Slices of a 3D texture are halved, too, but faces are not."""
        width, height, depth = (
            max(1, size >> number) for size in (self.width, self.height, self.depth)
        )
        return Extent(width, height, depth if kind is TextureKind.T3D else self.depth)

    def most_levels(self, kind: TextureKind) -> int:
        """The number of levels down to one texel."""
        sizes = (self.width, self.height, self.depth if kind is TextureKind.T3D else 1)
        return max(sizes).bit_length()


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
        """Bytes of all its texels, in all layers of all levels."""
        levels = (self.extent.level(n, self.kind) for n in range(self.extent.levels))
        return sum(level.width * level.rows for level in levels) * self.format.texel_bytes


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

    def part_in(self, other: Rect) -> Rect:
        """The rectangle that both cover, which may be empty."""
        x, y = max(self.x, other.x), max(self.y, other.y)
        right = min(self.x + self.width, other.x + other.width)
        top = min(self.y + self.height, other.y + other.height)
        return Rect(x, y, max(0, right - x), max(0, top - y))

    @property
    def corners(self) -> tuple[tuple[int, int], ...]:
        """Its four vertices, in the order of Corners."""
        right, top = self.x + self.width, self.y + self.height
        return ((self.x, self.y), (right, self.y), (right, top), (self.x, top))


def full_rect(texture: Texture) -> Rect:
    """The rectangle that covers a texture, in all layers of all levels."""
    return Rect(0, 0, texture.extent.width, texture.extent.rows)


def level_rect(texture: Texture, number: int = 0) -> Rect:
    """The rectangle that covers a level of a texture, in all layers."""
    level = texture.extent.level(number, texture.kind)
    return Rect(0, texture.extent.first_row(number), level.width, level.rows)


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
        return Rect(*(integer_at(number, iteration) for number in rect_numbers(self)))


def rect_numbers(rect: Rect | MovingRect) -> tuple[Integer, Integer, Integer, Integer]:
    """The x, y, width and height of a rectangle."""
    return (rect.x, rect.y, rect.width, rect.height)


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

    @property
    def size_bytes(self) -> int:
        """Bytes of its elements, in float32."""
        return 4 * self.rows * self.columns


@frozen
class Transfer:
    """A transfer from a region of an operand to a rectangle of a texture, or back to a result."""

    matrix: str
    region: Region
    texture: str
    rect: Rect
    packing: Packing


class Filter(Enum):
    """Texture filters: within a level, and between two levels of a mipmap (GL 1.5, table 3.18)."""

    NEAREST = "nearest"
    LINEAR = "linear"
    NEAREST_MIPMAP_NEAREST = "nearest-mipmap-nearest"
    LINEAR_MIPMAP_NEAREST = "linear-mipmap-nearest"
    NEAREST_MIPMAP_LINEAR = "nearest-mipmap-linear"
    LINEAR_MIPMAP_LINEAR = "linear-mipmap-linear"

    @property
    @cache
    def within(self) -> Filter:
        """The filter within a level."""
        return Filter(self.value.partition("-")[0])

    @property
    def between(self) -> Filter | None:
        """The filter between levels; None if one level is read."""
        levels = self.value.partition("-mipmap-")[2]
        return Filter(levels) if levels else None


class Wrap(Enum):
    """What a lookup outside the texture reads (GL 1.5, section 3.8.7).

    CLAMP clamps the coordinate to the texture, so a linear filter at the edge mixes in the border
    colour. CLAMP_TO_EDGE clamps it to the centres of the outer texels, CLAMP_TO_BORDER half a texel
    beyond the texture, where all is border. MIRRORED_REPEAT turns every second copy round, and then
    clamps to the edge. RECT textures do not repeat.
    """

    CLAMP_TO_EDGE = "clamp-to-edge"
    CLAMP = "clamp"
    REPEAT = "repeat"
    CLAMP_TO_BORDER = "clamp-to-border"
    MIRRORED_REPEAT = "mirrored-repeat"

    @property
    def margin(self) -> float | None:
        """How far inside the texture a coordinate is clamped, in texels; None if it is not."""
        return _MARGINS.get(self)

    @property
    def has_border(self) -> bool:
        """Whether a lookup may read the border colour."""
        return self in (Wrap.CLAMP, Wrap.CLAMP_TO_BORDER)


_MARGINS = {
    Wrap.CLAMP_TO_EDGE: 0.5,
    Wrap.CLAMP: 0.0,
    Wrap.CLAMP_TO_BORDER: -0.5,
    Wrap.MIRRORED_REPEAT: 0.5,
}
REPEATING = frozenset({Wrap.REPEAT, Wrap.MIRRORED_REPEAT})
"""The wraps that RECT textures lack."""


class Compare(Enum):
    """How a lookup compares r with a depth (GL 1.5, table 3.22)."""

    LEQUAL = "lequal"
    GEQUAL = "gequal"
    LESS = "less"
    GREATER = "greater"
    EQUAL = "equal"
    NOTEQUAL = "notequal"
    ALWAYS = "always"
    NEVER = "never"

    @property
    def results(self) -> tuple[float, float, float]:
        """The result where r is less than the depth, equal, and greater."""
        return _COMPARED[self]


_COMPARED = {
    compare: (float("<" in holds), float("=" in holds), float(">" in holds))
    for compare, holds in zip(Compare, ("<=", "=>", "<", ">", "=", "<>", "<=>", ""), strict=True)
}


@frozen
class Sampler:
    """How lookups read a texture: its filter, and a wrap mode for each coordinate.

    Cube maps always clamp to the edge. border: the border colour; in a fixed-point texture it is
    clamped to [0, 1]. filter: for a texture that is minified. magnify: for one that is magnified;
    by default the filter within a level. bias: added to the level of detail, as TXB's is. min_lod,
    max_lod: the range of the sum. base_level, max_level: the levels that may be read. compare: how
    shadow targets compare r with depths; None for other targets.
    """

    filter: Filter = Filter.NEAREST
    wrap_s: Wrap = Wrap.CLAMP_TO_EDGE
    wrap_t: Wrap = Wrap.CLAMP_TO_EDGE
    wrap_r: Wrap = Wrap.CLAMP_TO_EDGE
    border: Vec4 = (0.0, 0.0, 0.0, 0.0)
    magnify: Filter | None = None
    bias: Finite = 0.0
    min_lod: Finite = -1000.0
    max_lod: Finite = 1000.0
    base_level: Index = 0
    max_level: Index = 1000
    compare: Compare | None = None

    @property
    def magnifying(self) -> Filter:
        """The filter of a texture that is magnified."""
        return self.magnify or self.filter.within

    @property
    def switch(self) -> float:
        """The level of detail above which a texture is minified, GL's c."""
        is_linear = self.magnifying is Filter.LINEAR and self.filter.within is Filter.NEAREST
        return 0.5 if is_linear and self.filter.between else 0.0

    @property
    def filters(self) -> set[Filter | None]:
        """Nearest, linear or both, as lookups use them within levels and between them."""
        return {self.filter.within, self.filter.between, self.magnifying}

    @property
    def has_lod(self) -> bool:
        """Whether lookups need a level of detail."""
        return self.filter is not self.magnifying

    @property
    def sole_filter(self) -> Filter | None:
        """The filter of all lookups, in level 0; None if there are others, or a comparison."""
        return None if self.has_lod or self.base_level or self.compare else self.filter

    def levels_read(self, extent: Extent, kind: TextureKind) -> range:
        """The levels of a texture that lookups read."""
        most = min(self.max_level + 1, extent.most_levels(kind))
        return range(self.base_level, most if self.filter.between else self.base_level + 1)

    @property
    def to_the_nearest(self) -> Sampler:
        """The sampler that reads the nearest texel, in the nearest level if it reads levels."""
        filter_ = Filter.NEAREST_MIPMAP_NEAREST if self.filter.between else Filter.NEAREST
        s, t, r = (Wrap.CLAMP_TO_EDGE if w.has_border else w for w in self.wraps)
        return replace(
            self, filter=filter_, magnify=None, compare=None, wrap_s=s, wrap_t=t, wrap_r=r
        )

    @property
    def wraps(self) -> tuple[Wrap, Wrap, Wrap]:
        """Along s, t and r."""
        return (self.wrap_s, self.wrap_t, self.wrap_r)


def sampler_problem(sampler: Sampler, kind: TextureKind) -> str | None:
    """The problem of a sampler with a kind of texture, in words that follow the texture's name."""
    if kind is not TextureKind.RECT:
        return None
    repeats = [wrap for wrap in sampler.wraps[:2] if wrap in REPEATING]
    if repeats:
        return (
            f"has the wrap {repeats[0].value}, which RECT textures lack; use {Wrap.CLAMP.value}, "
            f"{Wrap.CLAMP_TO_EDGE.value} or {Wrap.CLAMP_TO_BORDER.value}"
        )
    if sampler.filter.between or sampler.base_level:
        return "reads levels of a mipmap, which RECT textures lack; use nearest or linear"
    return None


DEFAULT_SAMPLER = Sampler()
"""The nearest texel, with coordinates clamped to the edge."""
