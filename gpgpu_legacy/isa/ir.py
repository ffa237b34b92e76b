"""A fragment program as frozen data: what assembling its text gives.

The names are the extension's own (GL_ARB_fragment_program, revision 28, section 3.11). A program
is straight-line: a tuple of instructions, each reading up to three sources and writing one
destination under a mask.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

COMPONENTS = "xyzw"

Vec4 = tuple[float, float, float, float]


class Selector(Enum):
    """What one component of a source operand reads: a component, or SWZ's constants 0 and 1."""

    X = 0
    Y = 1
    Z = 2
    W = 3
    ZERO = 4
    ONE = 5


IDENTITY = (Selector.X, Selector.Y, Selector.Z, Selector.W)


@dataclass(frozen=True, slots=True)
class Temporary:
    """A register declared by TEMP; undefined until it is written."""

    name: str


class AttributeKind(Enum):
    """The fragment's interpolated attributes, by the name that the text gives them."""

    COLOR = "color"
    SECONDARY_COLOR = "color.secondary"
    TEXCOORD = "texcoord"
    FOGCOORD = "fogcoord"
    POSITION = "position"


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of the fragment; `index` is the texture coordinate set, else 0."""

    kind: AttributeKind
    index: int = 0


class ParameterSpace(Enum):
    """Where the value of a program parameter comes from."""

    CONSTANT = "constant"
    LOCAL = "program.local"
    ENV = "program.env"
    STATE = "state"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A program parameter: a constant of the text, an element of program.local or program.env, or
    a vector of GL state.

    `name` is what the text calls it (`step`, or `table[2]`), empty where it is written in place.
    `binding` is a state vector's canonical name (isa/state_bindings.py), such as
    `state.matrix.mvp.row[2]`.
    """

    space: ParameterSpace
    index: int = 0
    value: Vec4 = (0.0, 0.0, 0.0, 0.0)
    name: str = ""
    binding: str = ""


class ResultKind(Enum):
    """What a fragment program may write besides its temporaries."""

    COLOR = "color"
    DEPTH = "depth"


@dataclass(frozen=True, slots=True)
class ResultRegister:
    """result.color, result.depth, or result.color[index] under OPTION ARB_draw_buffers."""

    kind: ResultKind
    index: int = 0


SourceRegister = Temporary | Attribute | Parameter
DestinationRegister = Temporary | ResultRegister


@dataclass(frozen=True, slots=True)
class Src:
    """A source operand: a register, four selectors and four signs.

    An ordinary operand has one sign for all four components and no constant selector; SWZ's
    extended swizzle may mix them. A scalar operand selects one component four times.
    """

    register: SourceRegister
    swizzle: tuple[Selector, Selector, Selector, Selector] = IDENTITY
    negate: tuple[bool, bool, bool, bool] = (False, False, False, False)


@dataclass(frozen=True, slots=True)
class Dst:
    """A destination: a register and the components that the write mask lets through."""

    register: DestinationRegister
    mask: tuple[bool, bool, bool, bool] = (True, True, True, True)

    @property
    def components(self) -> tuple[int, ...]:
        """The indices of the components written, in order."""
        return tuple(c for c in range(4) if self.mask[c])


class TextureTarget(Enum):
    """The texture targets of the extension, spelled as the text spells them."""

    T1D = "1D"
    T2D = "2D"
    T3D = "3D"
    CUBE = "CUBE"
    RECT = "RECT"


@dataclass(frozen=True, slots=True)
class TextureSource:
    """The last two operands of a texture instruction: `texture[unit], target`."""

    unit: int
    target: TextureTarget


@dataclass(frozen=True, slots=True)
class Span:
    """Where an instruction stands in its source text; both numbers count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction. `mnemonic` is without `_SAT`; `dst` is None for KIL alone."""

    mnemonic: str
    dst: Dst | None
    srcs: tuple[Src, ...]
    texture: TextureSource | None = None
    saturate: bool = False
    span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True, slots=True)
class ParameterDeclaration:
    """A PARAM statement: a name and the parameters it binds (several where it is an array)."""

    name: str
    parameters: tuple[Parameter, ...]
    is_array: bool


@dataclass(frozen=True, slots=True)
class AttributeDeclaration:
    """An ATTRIB statement. It counts as a binding whether or not an instruction reads it."""

    name: str
    attribute: Attribute


DRAW_BUFFERS = ("ARB_draw_buffers", "ATI_draw_buffers")
"""The options that let a program write several colours: one extension under two names."""


class Fog(Enum):
    """The fog application options (spec, section 3.11.4.5.1), by their names in the text."""

    EXP = "ARB_fog_exp"
    EXP2 = "ARB_fog_exp2"
    LINEAR = "ARB_fog_linear"


@dataclass(frozen=True)
class Program:
    """An assembled fragment program.

    `options` are the names after OPTION, in the order of the text. `name` says where the text came
    from and takes no part in equality, nor do the spans: two programs are equal when they declare
    the same and do the same.
    """

    instructions: tuple[Instruction, ...]
    temporaries: tuple[str, ...]
    parameters: tuple[ParameterDeclaration, ...] = ()
    name: str = field(default="", compare=False)
    options: tuple[str, ...] = ()
    attributes: tuple[AttributeDeclaration, ...] = ()

    def __hash__(self) -> int:
        """Of what equality compares; computed once, for programs are keys of many tables."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(
            (self.instructions, self.temporaries, self.parameters, self.options, self.attributes)
        )

    @property
    def has_separate_colors(self) -> bool:
        """Whether result.color[n] goes to target n; else result.color goes to all targets."""
        return any(option in self.options for option in DRAW_BUFFERS)

    @cached_property
    def fog(self) -> Fog | None:
        """The fog that is applied to the program's final colour."""
        return next((mode for mode in Fog if mode.value in self.options), None)

    @cached_property
    def attributes_read(self) -> tuple[Attribute, ...]:
        """The attributes that instructions read, each once, in the order of first reading."""
        registers = (src.register for i in self.instructions for src in i.srcs)
        return tuple(dict.fromkeys(r for r in registers if isinstance(r, Attribute)))

    @cached_property
    def state_bindings(self) -> tuple[str, ...]:
        """The state vectors that instructions read, by canonical name, each once."""
        registers = (src.register for i in self.instructions for src in i.srcs)
        return tuple(
            dict.fromkeys(
                r.binding
                for r in registers
                if isinstance(r, Parameter) and r.space is ParameterSpace.STATE
            )
        )

    @cached_property
    def color_outputs(self) -> int:
        """How many colours it may write: 1 more than the largest index of result.color[n]."""
        written = (i.dst.register for i in self.instructions if i.dst is not None)
        colors = [
            r.index for r in written if isinstance(r, ResultRegister) and r.kind is ResultKind.COLOR
        ]
        return max(colors, default=0) + 1

    @property
    def kills(self) -> bool:
        """Whether it may discard a fragment."""
        return any(i.dst is None for i in self.instructions)

    @cached_property
    def texture_units(self) -> dict[int, TextureTarget]:
        """The target that the program uses each texture image unit with, by unit."""
        sources = (i.texture for i in self.instructions if i.texture is not None)
        return {source.unit: source.target for source in sources}

    @cached_property
    def texcoord_sets(self) -> tuple[int, ...]:
        """The texture coordinate sets that the program reads, in ascending order."""
        read = self.attributes_read
        return tuple(sorted(r.index for r in read if r.kind is AttributeKind.TEXCOORD))

    def parameter_indices(self, space: ParameterSpace) -> tuple[int, ...]:
        """The elements of program.local or program.env that instructions read, ascending."""
        return self._parameter_indices[space]

    @cached_property
    def _parameter_indices(self) -> dict[ParameterSpace, tuple[int, ...]]:
        registers = [src.register for i in self.instructions for src in i.srcs]
        read = [r for r in registers if isinstance(r, Parameter)]
        return {
            space: tuple(sorted({r.index for r in read if r.space is space}))
            for space in ParameterSpace
        }
