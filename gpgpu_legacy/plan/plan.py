"""The plan: what an algorithm does to its textures, pass by pass.

Everything else in the package reads plans: executors run them, the counter counts them, caches are
simulated with them, figures show them. A plan names no executor and no machine.

Conventions. Matrices are indexed row first: element (i, j) is in row i and column j. Textures are
indexed x first: texel (i, j) is at x = j, y = i, its centre is (j + 0.5, i + 0.5), and row 0 of a
texture is the bottom row of GL's window. Rectangles are measured in texels.
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
    """A number that grows by `step` with each iteration of a Repeat: base + step·iteration."""

    base: float
    step: float

    def at(self, iteration: int) -> float:
        """The value in the given iteration, counted from 0."""
        return self.base + self.step * iteration


@dataclass(frozen=True, slots=True)
class Table:
    """A number with a value for each iteration of a Repeat: values[iteration]."""

    values: tuple[float, ...]

    def at(self, iteration: int) -> float:
        """The value in the given iteration, counted from 0."""
        return self.values[iteration]


PerIteration = Affine | Table
"""A number of a Repeat that changes from iteration to iteration."""

Number = float | PerIteration
"""A number of a pass: a constant, or, in a Repeat, one that changes from iteration to iteration."""

NumberVec4 = tuple[Number, Number, Number, Number]
Integer = int | PerIteration
"""An integer of a pass. All values of a PerIteration are integers too."""


# Textures and the matrices in them -----------------------------------------------------------


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


@dataclass(frozen=True, slots=True)
class Extent:
    """The width and height of a texture, in texels, and its number of layers.

    depth: the slices of a 3D texture, the 6 faces of a cube map (+x, -x, +y, -y, +z, -z), else 1.
    Transfers stack the layers: layer 0 has the lowest rows.
    """

    width: int
    height: int
    depth: int = 1

    @property
    def rows(self) -> int:
        """Rows of texels in all layers together."""
        return self.height * self.depth


@dataclass(frozen=True, slots=True)
class Texture:
    """A texture. It is a framebuffer as well, if a pass draws to it.

    initial: the value of every texel at the start of a run; None leaves the texels undefined.
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
        """How many texels it covers."""
        return self.width * self.height

    @property
    def corners(self) -> tuple[tuple[int, int], ...]:
        """Its four vertices, in the order of Corners."""
        right, top = self.x + self.width, self.y + self.height
        return ((self.x, self.y), (right, self.y), (right, top), (self.x, top))


@dataclass(frozen=True, slots=True)
class MovingRect:
    """A rectangle of a Repeat that moves or changes its size from iteration to iteration."""

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
    """The value of an integer in the given iteration, counted from 0."""
    return int(value.at(iteration)) if isinstance(value, PerIteration) else value


def constant_rect(rect: Rect | MovingRect) -> Rect:
    """The rectangle itself; only for expanded plans, where no rectangle moves."""
    assert isinstance(rect, Rect)
    return rect


@dataclass(frozen=True, slots=True)
class Region:
    """A rectangle of matrix elements: its first row and column, and how many of each it has."""

    row: int
    column: int
    rows: int
    columns: int


@dataclass(frozen=True, slots=True)
class Packing:
    """Which matrix elements the channels of a texel hold.

    Channel c of texel (i, j) holds element (offsets[c][0] + row_step·i, offsets[c][1] +
    column_step·j) of the region. A channel whose element is outside the region is padding: an
    input fills it with 0, and an output drops it.

    transposed: an input transposes the region before it packs it, and an output transposes it
    back. The transfer does it, so it costs no pass.
    """

    offsets: tuple[tuple[int, int], ...]
    row_step: int = 1
    column_step: int = 1
    transposed: bool = False


ONE_PER_TEXEL = Packing(((0, 0),))
"""One element in each texel."""


def quadrants(rows: int, columns: int) -> Packing:
    """The packing that puts the four quadrants of a matrix into r, g, b and a.

    It is equation (8) of Hall, Carr & Hart 2003. rows, columns: the size of a quadrant, which is
    the size of the texture in texels.
    """
    return Packing(((0, 0), (0, columns), (rows, 0), (rows, columns)))


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix that a plan reads or computes, by name."""

    name: str
    rows: int
    columns: int


@dataclass(frozen=True, slots=True)
class Input:
    """A transfer before the first pass: from a region of an operand to a rectangle of a texture."""

    matrix: str
    region: Region
    texture: str
    rect: Rect
    packing: Packing


@dataclass(frozen=True, slots=True)
class Output:
    """A transfer after the last pass: from a rectangle of a texture to a region of a result."""

    matrix: str
    region: Region
    texture: str
    rect: Rect
    packing: Packing


# Passes --------------------------------------------------------------------------------------


class Filter(Enum):
    """Texture filters. Textures have one level, so minification, magnification and bias are one."""

    NEAREST = "nearest"
    LINEAR = "linear"


class Wrap(Enum):
    """What a coordinate outside of the texture reads (GL 1.5, section 3.8.7).

    CLAMP clamps the coordinate to the texture, so a linear filter at the edge mixes in the border
    colour, (0, 0, 0, 0). CLAMP_TO_EDGE clamps it to the centres of the outer texels. RECT textures
    do not repeat.
    """

    CLAMP_TO_EDGE = "clamp-to-edge"
    CLAMP = "clamp"
    REPEAT = "repeat"


@dataclass(frozen=True, slots=True)
class Sampler:
    """How lookups read a texture: its filter, and a wrap mode for each coordinate.

    Cube maps always clamp to the edge.
    """

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
"""Vectors at the corners of the target rectangle, in the order (0, 0), (W, 0), (W, H), (0, H)."""


@dataclass(frozen=True, slots=True)
class Texcoords:
    """A texture coordinate set, by its values at the corners of the target rectangle.

    If the four values lie in a plane, each coordinate is an affine function of the fragment's
    position. If not, the rectangle is drawn as two triangles, split along the diagonal from (0, 0)
    to (W, H), and each triangle has its own plane.
    """

    set: int
    corners: Corners


@dataclass(frozen=True, slots=True)
class AttributeCorners:
    """A colour, or the fog coordinate in x, by its values at the corners; see Texcoords."""

    kind: AttributeKind
    corners: Corners


ATTRIBUTE_DEFAULTS: Mapping[AttributeKind, Vec4] = {
    AttributeKind.COLOR: (1.0, 1.0, 1.0, 1.0),
    AttributeKind.SECONDARY_COLOR: (0.0, 0.0, 0.0, 1.0),
    AttributeKind.TEXCOORD: (0.0, 0.0, 0.0, 1.0),
    AttributeKind.FOGCOORD: (0.0, 0.0, 0.0, 1.0),
}
"""The attributes that a pass does not give: GL's initial current values."""


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
    """How a fragment's colour is written: NONE replaces, ADD is glBlendFunc(GL_ONE, GL_ONE)."""

    NONE = "none"
    ADD = "add"


@dataclass(frozen=True, slots=True)
class FragmentPass:
    """A pass that draws one rectangle: the program runs once for each fragment of `rect`.

    texcoords, attributes: a missing one has its value in ATTRIBUTE_DEFAULTS.
    locals, env: the values of program.local[n] and program.env[n]; a missing one is 0.
    state: values of GL state; a missing one has GL's initial value.
    also: the targets of result.color[1], result.color[2] and so on (ARB_draw_buffers), of the same
    size and kind as `target`.
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
        """All targets, those of result.color[0], result.color[1] and so on."""
        return (self.target, *self.also)


@dataclass(frozen=True, slots=True)
class CopyPass:
    """A pass that copies a rectangle of one texture to one of the same size in another texture."""

    source: str
    source_rect: Rect | MovingRect
    target: str
    target_rect: Rect | MovingRect


@dataclass(frozen=True, slots=True)
class ClearPass:
    """A pass that sets every texel of a texture, in all layers, to one value."""

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
    """A pass that dispatches groups[0] × groups[1] work groups of a kernel, along x and y.

    independent: it neither reads nor writes an element that the pass before it wrote, so a device
    may overlap the two.
    """

    kernel: Kernel
    buffers: tuple[BufferBinding, ...]
    uniforms: tuple[UniformValue, ...]
    groups: tuple[Integer, Integer]
    independent: bool = False

    @property
    def invocations(self) -> int:
        """Invocations of the whole dispatch; only for a dispatch in which no number changes."""
        groups_x, groups_y = constant_groups(self.groups)
        return groups_x * groups_y * self.kernel.threads

    def textures(self, *, written: bool) -> tuple[str, ...]:
        """The textures that the kernel may write, or, without `written`, may read."""
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
    """The GL state that a pass sets, by canonical name; only for passes of expanded plans."""
    return {state.binding: constant_vector(state.value) for state in pass_.state}


def constant_groups(groups: tuple[Integer, Integer]) -> tuple[int, int]:
    """Work groups along x and y; only for expanded plans, where no number changes."""
    groups_x, groups_y = groups
    assert not isinstance(groups_x, PerIteration)
    assert not isinstance(groups_y, PerIteration)
    return groups_x, groups_y


@dataclass(frozen=True, slots=True)
class Repeat:
    """A loop: the passes of the body run `count` times, in order.

    A number in the body is a constant, Affine in the iteration, or a Table with a value for each
    iteration. That holds for texture coordinates and other attributes, parameters, state, clear
    values, uniforms, rectangles (as MovingRect) and numbers of work groups.
    """

    count: int
    body: tuple[Pass, ...]


Step = Pass | Repeat
"""An item of a plan."""


@dataclass(frozen=True, slots=True)
class Plan:
    """An algorithm at one size: operands, textures, steps in the order in which they run, results.

    inputs are transferred before the first step, outputs after the last one. Elements of a result
    that no output covers are 0.
    """

    name: str
    operands: tuple[Matrix, ...]
    results: tuple[Matrix, ...]
    textures: tuple[Texture, ...]
    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    outputs: tuple[Output, ...]

    def texture(self, name: str) -> Texture:
        """The texture of that name; KeyError if the plan has none."""
        for texture in self.textures:
            if texture.name == name:
                return texture
        raise KeyError(name)

    def weighted_passes(self) -> Iterator[tuple[int, Pass]]:
        """Each pass as the plan writes it, with how many times it runs: at least once."""
        for step in self.steps:
            if isinstance(step, Repeat):
                for pass_ in step.body if step.count else ():
                    yield step.count, pass_
            else:
                yield 1, step

    @property
    def kinds(self) -> frozenset[type[Pass]]:
        """The kinds of pass that run."""
        return frozenset(type(pass_) for _, pass_ in self.weighted_passes())

    @property
    def dispatches(self) -> bool:
        """Whether kernels are dispatched."""
        return ComputePass in self.kinds

    @property
    def is_sequential(self) -> bool:
        """Whether nothing can run in parallel: every pass is a kernel in a single invocation."""
        passes = [pass_ for _, pass_ in self.weighted_passes()]
        return bool(passes) and all(
            isinstance(p, ComputePass) and p.groups == (1, 1) and p.kernel.threads == 1
            for p in passes
        )

    def programs(self) -> tuple[Program, ...]:
        """The distinct programs of the plan, in the order of their first use."""
        programs = [p.program for _, p in self.weighted_passes() if isinstance(p, FragmentPass)]
        return tuple(dict.fromkeys(programs))


def constant_vector(values: NumberVec4) -> Vec4:
    """The vector itself; only for expanded plans, where no number changes."""
    x, y, z, w = values
    assert not isinstance(x, PerIteration) and not isinstance(y, PerIteration)
    assert not isinstance(z, PerIteration) and not isinstance(w, PerIteration)
    return (x, y, z, w)
