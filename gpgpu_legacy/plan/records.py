"""The format of plan.json, a record for each object in it: version 1.

A record has the fields of the class of the same name in plan/plan.py or plan/textures.py, and a
field that has a default there may be left out here. Steps and passes have a "kind" besides. The
description of a record is that of its object in plan.schema.json. docs/reference/plan-json.md
explains the format.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from gpgpu_legacy.bounded import Meta, OneLine
from gpgpu_legacy.isa.ir import AttributeKind
from gpgpu_legacy.plan.plan import Blend
from gpgpu_legacy.plan.textures import Filter, TextureKind, Wrap
from gpgpu_legacy.serial import Document, Record

LARGEST_INTEGER = 2**53
"""Up to here every integer is a double, so that every reader of JSON reads the same number."""

LARGEST_SIZE = 2**31 - 1
"""Of a size, an index or a count. Limits that machines set are in plan/limits.py."""

Name = Annotated[OneLine, Meta(max_length=200)]
"""Of one line, since messages quote it."""

Size = Annotated[int, Meta(ge=1, le=LARGEST_SIZE)]
Index = Annotated[int, Meta(ge=0, le=LARGEST_SIZE)]
Exact = Annotated[int, Meta(ge=-LARGEST_INTEGER, le=LARGEST_INTEGER)]
Finite = Exact | float
Constant = Finite | Literal["NaN", "Infinity", "-Infinity"]
ConstantVector = tuple[Constant, Constant, Constant, Constant]


class _Object(Record, omit_defaults=True):
    """Leaves fields out that have their defaults."""


class Affine(_Object):
    """A number of a Repeat that grows by `step` with each iteration: base + step·iteration."""

    base: Finite
    step: Finite


Number = Constant | Affine | list[Constant]
"""A constant; in a Repeat also an Affine, or a list with a value for each iteration.

A list is no tuple, so that reading tells it from a vector."""

Vector = tuple[Number, Number, Number, Number]
Corners = tuple[Vector, Vector, Vector, Vector]
Integer = Exact | Affine | list[Finite]
"""As a Number; every value is whole."""


class Matrix(_Object):
    """A matrix that the plan reads or computes, of float32.

    rows, columns: its size; elements are in row-major order. shape: of the array that callers give
    or get, with as many elements; rows × columns where it is left out.
    """

    name: Name
    rows: Index
    columns: Index
    shape: tuple[Index, ...] | None = None


class Extent(_Object):
    """The width and height of a texture, in texels, and its number of layers.

    depth: the slices of a 3D texture, the 6 faces of a cube map (+x, -x, +y, -y, +z, -z), else 1.
    """

    width: Size
    height: Size
    depth: Size = 1


FormatName = Literal["r16f", "rgba16f", "r32f", "rgba32f", "unorm8", "rgba8"]
"""The names of FORMATS (plan/formats.py)."""


class Texture(_Object):
    """A texture, or a storage buffer (kind BUFFER).

    kind: how it is addressed, as programs spell it. format: the channels of a texel and their bits.
    initial: the value of every texel at the start of a run; undefined where it is left out.
    """

    name: Name
    kind: TextureKind
    extent: Extent
    format: FormatName
    initial: ConstantVector | None = None


class Region(_Object):
    """A rectangle of matrix elements: its first row and column, and how many of each it has."""

    row: Index
    column: Index
    rows: Index
    columns: Index


class Rectangle(_Object):
    """A rectangle of texels that never moves: its lower left corner, width and height."""

    x: Index
    y: Index
    width: Size
    height: Size


class Packing(_Object):
    """Which matrix elements the channels of a texel hold.

    Channel c of the texel in row i and column j of the rectangle holds element (offsets[c][0] +
    row_step·i, offsets[c][1] + column_step·j) of the region. A channel whose element is outside the
    region is padding: 0 in inputs, dropped in outputs. transposed: the region is transposed before
    it is packed, and back after it is unpacked.
    """

    offsets: tuple[tuple[Index, Index], ...]
    row_step: Size = 1
    column_step: Size = 1
    transposed: bool = False


class Transfer(_Object):
    """An input, from a region of an operand to a rectangle of a texture; or an output, back.

    matrix, texture: their names.
    """

    matrix: Name
    region: Region
    texture: Name
    rect: Rectangle
    packing: Packing


class Rect(_Object):
    """The rectangle of texels that a pass covers: its lower left corner, width and height.

    moving: true for a MovingRect in which, by chance, no number changes.
    """

    x: Integer
    y: Integer
    width: Integer
    height: Integer
    moving: bool = False


class Sampler(_Object):
    """How lookups read a texture: its filter, and a wrap mode for each coordinate."""

    filter: Filter = Filter.NEAREST
    wrap_s: Wrap = Wrap.CLAMP_TO_EDGE
    wrap_t: Wrap = Wrap.CLAMP_TO_EDGE
    wrap_r: Wrap = Wrap.CLAMP_TO_EDGE


class Binding(_Object):
    """A texture, by its name, bound to texture[unit].

    sampler: where it is left out, the nearest texel is read, and coordinates clamp to the edge.
    """

    unit: Index
    texture: Name
    sampler: Sampler | None = None


class Texcoords(_Object):
    """fragment.texcoord[set], by its values at the corners of the pass's rectangle.

    corners: in the order (0, 0), (W, 0), (W, H), (0, H).
    """

    set: Index
    corners: Corners


class AttributeCorners(_Object):
    """fragment.color, fragment.color.secondary or fragment.fogcoord, by its values at the corners.

    kind: what follows `fragment.`; texture coordinates and the position are not given so.
    """

    kind: AttributeKind
    corners: Corners


class ParameterValue(_Object):
    """The value of program.local[index] or program.env[index]."""

    index: Index
    value: Vector


class StateValue(_Object):
    """The value of a vector of GL state, by its full name, as in state.matrix.mvp.row[0]."""

    binding: Name
    value: Vector


class FragmentPass(_Object, tag_field="kind", tag="FragmentPass"):
    """A pass that draws one rectangle: the program runs once for each fragment of `rect`.

    program: its name in `programs`. bindings: the textures that it looks up. targets: the names of
    the textures of result.color[0], result.color[1] and so on. locals, env: program.local and
    program.env; what is missing is 0. blend: `none` replaces a texel, `add` adds to it. attributes,
    state: what is missing has GL's initial value.
    """

    program: Name
    targets: tuple[Name, ...]
    rect: Rect
    bindings: tuple[Binding, ...] = ()
    texcoords: tuple[Texcoords, ...] = ()
    locals: tuple[ParameterValue, ...] = ()
    env: tuple[ParameterValue, ...] = ()
    blend: Blend = Blend.NONE
    attributes: tuple[AttributeCorners, ...] = ()
    state: tuple[StateValue, ...] = ()


class CopyPass(_Object, tag_field="kind", tag="CopyPass"):
    """A pass that copies a rectangle of one texture to one of the same size in another texture."""

    source: Name
    source_rect: Rect
    target: Name
    target_rect: Rect


class ClearPass(_Object, tag_field="kind", tag="ClearPass"):
    """A pass that sets every texel of a texture, in all layers, to one value."""

    target: Name
    value: Vector


class BufferBinding(_Object):
    """A texture of kind BUFFER, by its name, at one of a kernel's binding points."""

    binding: Index
    texture: Name


class UniformValue(_Object):
    """The value of a kernel's uniform; true or false for one of type bool."""

    name: Name
    value: bool | Constant | Affine | list[bool | Constant]


class ComputePass(_Object, tag_field="kind", tag="ComputePass"):
    """A pass that dispatches groups[0] × groups[1] work groups of a kernel, along x and y.

    kernel: its name in `kernels`. independent: the pass neither reads nor writes an element that
    the pass before it wrote, so that a device may overlap the two.
    """

    kernel: Name
    groups: tuple[Integer, Integer]
    buffers: tuple[BufferBinding, ...] = ()
    uniforms: tuple[UniformValue, ...] = ()
    independent: bool = False


Pass = FragmentPass | CopyPass | ClearPass | ComputePass


class Repeat(_Object, tag_field="kind", tag="Repeat"):
    """A loop: the passes of the body run `count` times, in order."""

    count: Index
    body: tuple[Pass, ...]


class Plan(Document, omit_defaults=True):
    """An algorithm at one size: its programs, textures, and the passes in the order they run in.

    programs: the text of each fragment program, by a name of its own; in ARB_fragment_program 1.0.
    kernels: the text of each compute kernel, likewise; in the subset of GLSL 4.3. inputs are
    transferred before the first step, outputs after the last one. Elements of a result that no
    output covers are 0.
    """

    SCHEMA: ClassVar[str] = "gpgpu_legacy.plan"
    WHAT: ClassVar[str] = "a plan"

    schema: Literal["gpgpu_legacy.plan"]
    version: Literal[1]
    name: Name
    programs: Mapping[Name, str] = {}
    kernels: Mapping[Name, str] = {}
    operands: tuple[Matrix, ...] = ()
    results: tuple[Matrix, ...] = ()
    textures: tuple[Texture, ...] = ()
    inputs: tuple[Transfer, ...] = ()
    steps: tuple[Pass | Repeat, ...] = ()
    outputs: tuple[Transfer, ...] = ()


NAMED: Mapping[str, Any] = {
    "Name": Name,
    "Size": Size,
    "Index": Index,
    "Finite": Finite,
    "Constant": Constant,
    "Number": Number,
    "Integer": Integer,
    "Vector": Vector,
    "Corners": Corners,
}
"""The types that have a definition of their own in plan.schema.json, besides the records."""
