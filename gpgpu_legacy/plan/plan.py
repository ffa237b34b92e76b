"""The plan: what an algorithm does to which textures, pass by pass.

Everything else in the package reads plans: executors run them, the counter counts them, figures
are drawn from them. A plan names no executor and no machine.

Conventions. Matrices are row first: element (i, j) is row i, column j. Textures are x first:
texel (i, j) lies at x = j, y = i, its centre at (j + 0.5, i + 0.5), and row 0 of a texture is the
bottom row of GL's window. Rectangles are in texels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from gpgpu_legacy.isa.ir import AttributeKind, Program, Vec4
from gpgpu_legacy.plan.formats import Format

if TYPE_CHECKING:
    from gpgpu_legacy.kernel.ir import Kernel


@dataclass(frozen=True, slots=True)
class Affine:
    """A number that changes from one iteration of a Repeat to the next: base + step·iteration."""

    base: float
    step: float

    def at(self, iteration: int) -> float:
        """The value in the given iteration, counted from 0."""
        return self.base + self.step * iteration


@dataclass(frozen=True, slots=True)
class Table:
    """A number that has a value of its own in each iteration of a Repeat: values[iteration]."""

    values: tuple[float, ...]

    def at(self, iteration: int) -> float:
        """The value in the given iteration, counted from 0."""
        return self.values[iteration]


PerIteration = Affine | Table
"""What a number may be in a Repeat where it is not the same in all of its iterations."""

Number = float | PerIteration
NumberVec4 = tuple[Number, Number, Number, Number]
Integer = int | PerIteration
"""A whole number in a Repeat: all values of a PerIteration one are whole too."""


# Textures and the matrices in them -----------------------------------------------------------


class TextureKind(Enum):
    """How a texture is addressed; those that programs look up are spelled as the text spells them.

    RECT: unnormalised coordinates, one level, no repeat. 1D, 2D, 3D and CUBE: normalised ones. A
    plan draws into RECT and 2D textures. BUFFER: not by a sampler but by a kernel, as an array in
    which row follows row.
    """

    RECT = "RECT"
    T1D = "1D"
    T2D = "2D"
    T3D = "3D"
    CUBE = "CUBE"
    BUFFER = "BUFFER"


@dataclass(frozen=True, slots=True)
class Extent:
    """Width and height of a texture, in texels, and its layers.

    depth: the slices of a 3D texture, 6 for a cube map's faces (+x, -x, +y, -y, +z, -z), else 1. In
    transfers the layers lie one above the other: `rows` rows of texels in all.
    """

    width: int
    height: int
    depth: int = 1

    @property
    def rows(self) -> int:
        """Rows of texels over all layers."""
        return self.height * self.depth


@dataclass(frozen=True, slots=True)
class Texture:
    """A texture, and a framebuffer too where a pass targets it.

    initial: the value of every texel when a run begins; None leaves them undefined.
    """

    name: str
    kind: TextureKind
    extent: Extent
    format: Format
    initial: Vec4 | None = None


@dataclass(frozen=True, slots=True)
class Rect:
    """A rectangle of texels or fragments: its lower left corner, its width and its height."""

    x: int
    y: int
    width: int
    height: int

    @property
    def area(self) -> int:
        """The number of texels in it."""
        return self.width * self.height

    @property
    def corners(self) -> tuple[tuple[int, int], ...]:
        """The vertices that it is drawn by, in the order of Corners."""
        right, top = self.x + self.width, self.y + self.height
        return ((self.x, self.y), (right, self.y), (right, top), (self.x, top))


@dataclass(frozen=True, slots=True)
class MovingRect:
    """A rectangle in a Repeat that changes place or size from one iteration to the next."""

    x: Integer
    y: Integer
    width: Integer
    height: Integer

    def at(self, iteration: int) -> Rect:
        """The rectangle in the given iteration, counted from 0."""
        return Rect(
            integer_at(self.x, iteration),
            integer_at(self.y, iteration),
            integer_at(self.width, iteration),
            integer_at(self.height, iteration),
        )


def integer_at(value: Integer, iteration: int) -> int:
    """A whole number of a Repeat in one iteration, counted from 0."""
    return int(value.at(iteration)) if isinstance(value, PerIteration) else value


def constant_rect(rect: Rect | MovingRect) -> Rect:
    """A rectangle of an expanded plan, in which none moves."""
    assert isinstance(rect, Rect)
    return rect


@dataclass(frozen=True, slots=True)
class Region:
    """A rectangle of matrix elements: its first row and column, and how many of each."""

    row: int
    column: int
    rows: int
    columns: int


@dataclass(frozen=True, slots=True)
class Packing:
    """Which element of a region each channel of a texel holds.

    Channel c of texel (i, j) holds element (offsets[c][0] + row_step·i, offsets[c][1] +
    column_step·j) of the region. Where that lies outside the region, an input reads 0 and an
    output drops the value: that is the padding.

    transposed: the region is transposed before it is packed, so that its element (i, j) lies where
    (j, i) would; an output is transposed back. It is part of the transfer, and costs no pass.
    """

    offsets: tuple[tuple[int, int], ...]
    row_step: int = 1
    column_step: int = 1
    transposed: bool = False


ONE_PER_TEXEL = Packing(((0, 0),))


def quadrants(rows: int, columns: int) -> Packing:
    """The four quadrants of a matrix in r, g, b, a: Hall, Carr & Hart's equation (8).

    rows, columns: the size of one quadrant, which is the size of the texture.
    """
    return Packing(((0, 0), (0, columns), (rows, 0), (rows, columns)))


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix that a plan reads or makes, by name."""

    name: str
    rows: int
    columns: int


@dataclass(frozen=True, slots=True)
class Input:
    """A region of an input matrix, sent to a rectangle of a texture before the first pass."""

    matrix: str
    region: Region
    texture: str
    rect: Rect
    packing: Packing


@dataclass(frozen=True, slots=True)
class Output:
    """A rectangle of a texture, read back after the last pass into a region of a matrix."""

    matrix: str
    region: Region
    texture: str
    rect: Rect
    packing: Packing


# Passes --------------------------------------------------------------------------------------


class Filter(Enum):
    """Texture filters. There is one level: minified or magnified, biased or not, is the same."""

    NEAREST = "nearest"
    LINEAR = "linear"


class Wrap(Enum):
    """What a coordinate outside the texture reads (GL 1.5, section 3.8.7).

    CLAMP clamps the coordinate to the texture, so that a linear filter at its edge takes half of
    the border colour, (0, 0, 0, 0). A RECT texture does not repeat.
    """

    CLAMP_TO_EDGE = "clamp-to-edge"
    CLAMP = "clamp"
    REPEAT = "repeat"


@dataclass(frozen=True, slots=True)
class Sampler:
    """How a lookup reads its texture; a wrap for each coordinate. Cube maps clamp to the edge."""

    filter: Filter = Filter.NEAREST
    wrap_s: Wrap = Wrap.CLAMP_TO_EDGE
    wrap_t: Wrap = Wrap.CLAMP_TO_EDGE
    wrap_r: Wrap = Wrap.CLAMP_TO_EDGE


@dataclass(frozen=True, slots=True)
class Binding:
    """A texture bound to a texture image unit."""

    unit: int
    texture: str
    sampler: Sampler = Sampler()


Corners = tuple[NumberVec4, NumberVec4, NumberVec4, NumberVec4]
"""Values at the corners of the target rectangle, in the order (0, 0), (W, 0), (W, H), (0, H)."""


@dataclass(frozen=True, slots=True)
class Texcoords:
    """A texture coordinate set, by its values at the corners of the target rectangle.

    Where they lie in a plane, each coordinate is affine in the fragment's position. Where they do
    not, the rectangle is drawn as two triangles, split from (0, 0) to (W, H), each with its plane.
    """

    set: int
    corners: Corners


@dataclass(frozen=True, slots=True)
class AttributeCorners:
    """A colour or the fog coordinate (its x), by its values at the corners, as Texcoords are."""

    kind: AttributeKind
    corners: Corners


ATTRIBUTE_DEFAULTS: Mapping[AttributeKind, Vec4] = {
    AttributeKind.COLOR: (1.0, 1.0, 1.0, 1.0),
    AttributeKind.SECONDARY_COLOR: (0.0, 0.0, 0.0, 1.0),
    AttributeKind.TEXCOORD: (0.0, 0.0, 0.0, 1.0),
    AttributeKind.FOGCOORD: (0.0, 0.0, 0.0, 1.0),
}
"""What a program reads where a pass gives no value: GL's initial current values."""


@dataclass(frozen=True, slots=True)
class StateValue:
    """A state vector's value in a pass, by its canonical name (isa/state_bindings.py)."""

    binding: str
    value: NumberVec4


@dataclass(frozen=True, slots=True)
class ParameterValue:
    """The value of program.local[index] or program.env[index] in a pass."""

    index: int
    value: NumberVec4


class Blend(Enum):
    """What becomes of a fragment's colour. ADD is glBlendFunc(GL_ONE, GL_ONE)."""

    NONE = "none"
    ADD = "add"


@dataclass(frozen=True, slots=True)
class FragmentPass:
    """One rectangle drawn: the program runs once for every fragment of `rect` in the target.

    texcoords, attributes: those not given are ATTRIBUTE_DEFAULTS. locals, env: parameters not given
    are 0. state: what is not given has GL's initial value.
    also: further targets, for result.color[1] on, of the first one's size; ARB_draw_buffers.
    A fragment that KIL discards writes to no target.
    """

    program: Program
    bindings: tuple[Binding, ...]
    target: str
    rect: Rect | MovingRect
    texcoords: tuple[Texcoords, ...] = ()
    locals: tuple[ParameterValue, ...] = ()
    env: tuple[ParameterValue, ...] = ()
    blend: Blend = Blend.NONE
    attributes: tuple[AttributeCorners, ...] = ()
    state: tuple[StateValue, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def targets(self) -> tuple[str, ...]:
        """All targets: of result.color[0], result.color[1] and so on."""
        return (self.target, *self.also)


@dataclass(frozen=True, slots=True)
class CopyPass:
    """A rectangle of one texture copied to a rectangle of the same size in another."""

    source: str
    source_rect: Rect | MovingRect
    target: str
    target_rect: Rect | MovingRect


@dataclass(frozen=True, slots=True)
class ClearPass:
    """Every texel of a texture set to one value."""

    target: str
    value: NumberVec4 = (0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class BufferBinding:
    """A texture of kind BUFFER at one of a kernel's binding points."""

    binding: int
    texture: str


@dataclass(frozen=True, slots=True)
class UniformValue:
    """The value of a kernel's uniform in a pass."""

    name: str
    value: Number


@dataclass(frozen=True, slots=True)
class ComputePass:
    """One dispatch: the kernel runs for groups[0] × groups[1] work groups.

    independent: it neither reads nor writes an element that the pass before it wrote, so a device
    may let the two overlap.
    """

    kernel: Kernel
    buffers: tuple[BufferBinding, ...]
    uniforms: tuple[UniformValue, ...]
    groups: tuple[Integer, Integer]
    independent: bool = False

    @property
    def invocations(self) -> int:
        """Threads of the whole dispatch, of an expanded plan."""
        across, up = constant_groups(self.groups)
        return across * up * self.kernel.threads

    def textures(self, *, written: bool) -> tuple[str, ...]:
        """The textures that the kernel may write, or else those that it may read."""
        access = {b.binding: b.is_written if written else b.is_read for b in self.kernel.buffers}
        return tuple(b.texture for b in self.buffers if access.get(b.binding))


Pass = FragmentPass | CopyPass | ClearPass | ComputePass


def written_by(pass_: Pass) -> tuple[str, ...]:
    """The textures that a pass writes to."""
    match pass_:
        case ComputePass():
            return pass_.textures(written=True)
        case FragmentPass():
            return pass_.targets
    return (pass_.target,)


def read_by(pass_: Pass) -> tuple[str, ...]:
    """The textures that a pass looks up, copies from or loads from."""
    match pass_:
        case FragmentPass():
            return tuple(binding.texture for binding in pass_.bindings)
        case CopyPass():
            return (pass_.source,)
        case ComputePass():
            return pass_.textures(written=False)
    return ()


def state_values(pass_: FragmentPass) -> dict[str, Vec4]:
    """The state that a pass of an expanded plan gives, by canonical name."""
    return {given.binding: constant_vector(given.value) for given in pass_.state}


def constant_groups(groups: tuple[Integer, Integer]) -> tuple[int, int]:
    """Work groups along x and y of an expanded plan, in which no number varies."""
    across, up = groups
    assert not isinstance(across, PerIteration)
    assert not isinstance(up, PerIteration)
    return across, up


@dataclass(frozen=True, slots=True)
class Repeat:
    """A body of passes that runs `count` times.

    A number in it is a constant, Affine in the iteration, or a Table with a value an iteration:
    of texture coordinates and attributes, parameters, state, clear values and uniforms, and of
    rectangles (MovingRect) and work groups.
    """

    count: int
    body: tuple[Pass, ...]


Step = Pass | Repeat


@dataclass(frozen=True, slots=True)
class Plan:
    """An algorithm at a size: matrices in, textures, steps in order, matrices out.

    A matrix in `results` that no output covers is zero there.
    """

    name: str
    operands: tuple[Matrix, ...]
    results: tuple[Matrix, ...]
    textures: tuple[Texture, ...]
    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    outputs: tuple[Output, ...]

    def texture(self, name: str) -> Texture:
        """The texture of that name; KeyError where there is none."""
        for texture in self.textures:
            if texture.name == name:
                return texture
        raise KeyError(name)

    def weighted_passes(self) -> Iterator[tuple[int, Pass]]:
        """Each pass that runs, as it is written, with the number of times that it does."""
        for step in self.steps:
            if isinstance(step, Repeat):
                for pass_ in step.body if step.count else ():
                    yield step.count, pass_
            else:
                yield 1, step

    def programs(self) -> tuple[Program, ...]:
        """The different programs of the plan, in the order of their first use."""
        programs = [p.program for _, p in self.weighted_passes() if isinstance(p, FragmentPass)]
        return tuple(dict.fromkeys(programs))


def constant_vector(values: NumberVec4) -> Vec4:
    """A vector of an expanded plan, in which no number varies."""
    x, y, z, w = values
    assert not isinstance(x, PerIteration) and not isinstance(y, PerIteration)
    assert not isinstance(z, PerIteration) and not isinstance(w, PerIteration)
    return (x, y, z, w)
