"""A fragment program as frozen data, which an assembler makes from its text.

The names are those of the extension (GL_ARB_fragment_program, revision 28, section 3.11). A program
is a tuple of instructions, each of which reads up to three sources and writes one destination under
a write mask. Instructions of branches and loops, which only NV_fragment_program2 has, make a tree.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from math import copysign

from gpgpu_legacy.decorators import frozen, hashed_once
from gpgpu_legacy.isa.combiners import Combiner, CombinerMode, CombinerSource
from gpgpu_legacy.isa.opcodes import OPCODES, Form, Opcode

COMPONENTS = "xyzw"

Vec4 = tuple[float, float, float, float]


class Selector(Enum):
    """The selectors of a swizzle: x, y, z, w, or the constants 0 and 1 of SWZ."""

    X = 0
    Y = 1
    Z = 2
    W = 3
    ZERO = 4
    ONE = 5


IDENTITY = (Selector.X, Selector.Y, Selector.Z, Selector.W)

SELECTORS = dict(zip(COMPONENTS + "01", Selector, strict=True))
"""The selectors by their letters in program texts."""

Swizzle = tuple[Selector, Selector, Selector, Selector]
"""A selector for each component."""

Mask = tuple[bool, bool, bool, bool]
"""A choice for each component."""


@frozen
class Temporary:
    """A temporary register, declared by TEMP. It is undefined until a program writes it."""

    name: str


class AttributeKind(Enum):
    """The interpolated attributes of a fragment. The values are their names in program texts."""

    COLOR = "color"
    SECONDARY_COLOR = "color.secondary"
    TEXCOORD = "texcoord"
    FOGCOORD = "fogcoord"
    POSITION = "position"


@frozen
class Attribute:
    """An attribute of the fragment. index: the texture coordinate set; 0 for other attributes."""

    kind: AttributeKind
    index: int = 0

    @property
    def text(self) -> str:
        """Its name in program texts."""
        index = f"[{self.index}]" if self.kind is AttributeKind.TEXCOORD else ""
        return f"fragment.{self.kind.value}{index}"


class ParameterSpace(Enum):
    """The source of a program parameter's value."""

    CONSTANT = "constant"
    LOCAL = "program.local"
    ENV = "program.env"
    STATE = "state"


@frozen
class Parameter:  # noqa: PLW1641 — @frozen adds the hash
    """A program parameter: a constant, an element of program.local or program.env, or GL state.

    index: of program.local or program.env. value: of a constant. name: its name in the text, such
    as `step` or `table[2]`; empty if an operand binds it directly. binding: the canonical name of a
    state vector (isa/state_bindings.py), such as `state.matrix.mvp.row[2]`.
    """

    space: ParameterSpace
    index: int = 0
    value: Vec4 = (0.0, 0.0, 0.0, 0.0)
    name: str = ""
    binding: str = ""

    @property
    def text(self) -> str:
        """The name that a program binds it by, unless it is a constant."""
        return self.binding or f"{self.space.value}[{self.index}]"

    def __eq__(self, other: object) -> bool:
        """Whether all fields agree, in constants also the signs of zeros, since RCP of -0 is -∞."""
        if not isinstance(other, Parameter):
            return NotImplemented
        mine, theirs = (
            (p.space, p.index, p.value, p.name, p.binding, [copysign(1.0, v) for v in p.value])
            for p in (self, other)
        )
        return mine == theirs


class ResultKind(Enum):
    """The results that a fragment program can write."""

    COLOR = "color"
    DEPTH = "depth"


@frozen
class ResultRegister:
    """result.color, result.depth or, with OPTION ARB_draw_buffers, result.color[index]."""

    kind: ResultKind
    index: int = 0


SourceRegister = Temporary | Attribute | Parameter
DestinationRegister = Temporary | ResultRegister
Register = SourceRegister | DestinationRegister


@frozen
class Src:
    """A source operand: a register, and a selector and a sign for each component.

    Only the extended swizzle of SWZ mixes signs or selects constants; other operands have one sign
    for all components. A scalar operand selects one component four times. absolute: whether the
    sign is that of the absolute value, which only NV_fragment_program has.
    """

    register: SourceRegister
    swizzle: Swizzle = IDENTITY
    negate: Mask = (False,) * 4
    absolute: bool = False

    @property
    def number(self) -> float | None:
        """The first component, if the operand is a constant; else None."""
        register = self.register
        if not isinstance(register, Parameter) or register.space is not ParameterSpace.CONSTANT:
            return None
        number = [*register.value, 0.0, 1.0][self.swizzle[0].value]
        number = abs(number) if self.absolute else number
        return -number if self.negate[0] else number


@frozen
class Dst:
    """A destination operand: a register and a write mask."""

    register: DestinationRegister
    mask: Mask = (True,) * 4

    @property
    def components(self) -> tuple[int, ...]:
        """The indices of the components that the write mask lets through, in order."""
        return tuple(c for c in range(4) if self.mask[c])


class TextureTarget(Enum):
    """The texture targets. The values are their names in program texts.

    The last three, with OPTION ARB_fragment_program_shadow, compare depths.
    """

    T1D = "1D"
    T2D = "2D"
    T3D = "3D"
    CUBE = "CUBE"
    RECT = "RECT"
    SHADOW1D = "SHADOW1D"
    SHADOW2D = "SHADOW2D"
    SHADOWRECT = "SHADOWRECT"

    @property
    def kind(self) -> TextureTarget:
        """The target of the texture itself."""
        return TextureTarget(self.value.removeprefix("SHADOW"))

    @property
    def is_shadow(self) -> bool:
        """Whether lookups compare r with what they read."""
        return self.kind is not self

    @property
    def coordinates(self) -> int:
        """The number of coordinates, of s, t and r, that a lookup reads."""
        return _COORDINATES.get(self, 3)


SHADOW = "ARB_fragment_program_shadow"
"""The option that a program needs for lookups that compare."""

_COORDINATES = {
    TextureTarget.T1D: 1,
    TextureTarget.T2D: 2,
    TextureTarget.RECT: 2,
}


@frozen
class TextureSource:
    """The texture operands of an instruction, `texture[unit], target`."""

    unit: int
    target: TextureTarget


@frozen
class Span:
    """The position of an instruction in its source text; both numbers count from 1.

    file: the path of an included file; empty for the text itself.
    """

    line: int
    column: int
    file: str = ""


@frozen
class TextureUnit:
    """An enabled texture unit of OpenGL 1.3.

    mode: the value of TEXTURE_ENV_MODE. rgb, alpha: what the mode computes; for COMBINE, what was
    set. color: TEXTURE_ENV_COLOR; None leaves it to the pass, as `state.texenv[number].color`.
    span: the position of the unit's line in the text.
    """

    number: int
    target: TextureTarget
    mode: CombinerMode
    rgb: Combiner
    alpha: Combiner
    color: Vec4 | None
    span: Span = field(compare=False)

    @property
    def sources(self) -> tuple[CombinerSource, ...]:
        """The sources of the arguments of both combiners."""
        return tuple(a.source for a in self.rgb.arguments + self.alpha.arguments)


@frozen
class FixedFunction:
    """The state of a card without programs.

    units: in ascending order. clamped: whether each unit clamps its result to [0, 1].
    """

    units: tuple[TextureUnit, ...]
    clamped: bool


CONDITION = Temporary("CC")
"""The condition code register of NV_fragment_program, 0 at first (section 3.11.3.X).

A component holds the number itself, though a test sees only how it compares with zero.
"""


@frozen
class CodeTest:
    """A test of the condition code.

    relation: a key of RELATIONS; it compares with zero. src: a swizzle of CONDITION. TR and FL are
    EQ and NE of a swizzle that selects zeros.
    """

    relation: str
    src: Src


ALWAYS = CodeTest("EQ", Src(CONDITION, (Selector.ZERO,) * 4))
"""The test TR."""

CLOSES = {"ELSE": ("IF",), "ENDIF": ("IF", "ELSE"), "ENDREP": ("REP",), "ENDLOOP": ("LOOP",)}
"""The instructions that end a block, each with those that may begin it."""

LOOPS = ("REP", "LOOP")
OPENS = ("IF", "ELSE", *LOOPS)
"""The instructions that begin a block."""


@frozen
class Instruction:
    """An instruction.

    mnemonic: without suffixes. dst: None for KIL and the instructions of branches and loops.
    saturate: whether it has `_SAT`. origin: the line that a compiler made it from, as `FILE:LINE:
    TEXT`; empty if there is none. test: the test of the condition code that masks what is written,
    or decides a branch or a KIL; None if there is none. sets_condition: whether it has a C, and so
    writes its result to the condition code, too. precision: R, H, X or empty, the least that the
    text asks of the arithmetic.
    """

    mnemonic: str
    dst: Dst | None
    srcs: tuple[Src, ...]
    texture: TextureSource | None = None
    saturate: bool = False
    span: Span = field(default=Span(0, 0), compare=False)
    origin: str = field(default="", compare=False)
    test: CodeTest | None = None
    sets_condition: bool = False
    precision: str = ""

    @property
    def opcode(self) -> Opcode:
        """Its row of the opcode table."""
        return OPCODES[self.mnemonic]

    @property
    def discards(self) -> bool:
        """Whether it is a KIL, which has no destination."""
        return self.opcode.form is Form.KILL

    @property
    def register(self) -> DestinationRegister | None:
        """The register that it writes."""
        return None if self.dst is None else self.dst.register

    @property
    def components(self) -> tuple[int, ...]:
        """The components that it writes; without a destination, all four."""
        return (0, 1, 2, 3) if self.dst is None else self.dst.components

    def needs_option(self, known: Collection[str] = ()) -> bool:
        """Whether it needs an option of NVIDIA's that is not in `known`."""
        option, tested = self.opcode.option, self.test is not None or self.sets_condition
        return bool(option and option not in known) or (tested and not known)

    @property
    def written(self) -> tuple[tuple[str, int], ...]:
        """The components of temporaries that it writes: the register's name and 0 to 3."""
        registers = (self.register, *[CONDITION] * self.sets_condition)
        names = [r.name for r in registers if isinstance(r, Temporary)]
        return tuple((name, c) for name in names for c in self.components)


Numbered = tuple[int, Instruction]
"""An instruction and its number in the program, from 0."""


@frozen
class Branch:
    """An IF. then: ends with the ELSE, if there is one. The ENDIF comes after the Branch."""

    head: Numbered
    then: Body
    otherwise: Body


@frozen
class Repetition:
    """A REP or a LOOP. body: ends with the ENDREP or ENDLOOP."""

    head: Numbered
    body: Body


Body = tuple["Numbered | Branch | Repetition", ...]
"""Instructions in the order of execution."""


@frozen
class ParameterDeclaration:
    """A PARAM statement: a name and the parameters that it binds, several if it is an array."""

    name: str
    parameters: tuple[Parameter, ...]
    is_array: bool


@frozen
class AttributeDeclaration:
    """An ATTRIB statement. It counts as a binding even if no instruction reads it."""

    name: str
    attribute: Attribute


DRAW_BUFFERS = ("ARB_draw_buffers", "ATI_draw_buffers")
"""The options that let a program write several colours: two names of one extension."""


class Fog(Enum):
    """The fog options (section 3.11.4.5.1). The values are their names in program texts."""

    EXP = "ARB_fog_exp"
    EXP2 = "ARB_fog_exp2"
    LINEAR = "ARB_fog_linear"


FOG_COLOR = "state.fog.color"
FOG_PARAMS = "state.fog.params"  # density, start, end, 1 / (end - start)
FOG_COORDINATE = Attribute(AttributeKind.FOGCOORD)
FOG_INSTRUCTIONS = {Fog.EXP: 3, Fog.EXP2: 4, Fog.LINEAR: 2}
"""The instructions that a fog option adds to a program's own."""


@hashed_once
@dataclass(frozen=True, repr=False)
class Program:
    """An assembled fragment program.

    temporaries, parameters, attributes: the declarations of the text, in its order. name: of the
    program in messages, usually a file's path. options: the names after OPTION, in the order of the
    text. state: the fixed-function state that the program implements; None if it was written as a
    program. names: texture image units and attributes, with their names in the source that it was
    compiled from. Names and spans do not take part in equality: two programs are equal if they
    declare and execute the same.
    """

    instructions: tuple[Instruction, ...]
    temporaries: tuple[str, ...]
    parameters: tuple[ParameterDeclaration, ...] = ()
    name: str = field(default="", compare=False)
    options: tuple[str, ...] = ()
    attributes: tuple[AttributeDeclaration, ...] = ()
    state: FixedFunction | None = None
    names: tuple[tuple[int | Attribute, str], ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        parts = [
            f"{len(self.instructions)} instructions",
            f"{len(self.temporaries)} temporaries",
            *(f"texture[{unit}] {target.value}" for unit, target in self.texture_units.items()),
            *(f"OPTION {option}" for option in self.options),
        ]
        return f"<Program {self.name or 'without a name'}: {', '.join(parts)}>"

    @cached_property
    def body(self) -> Body:
        """The instructions as a tree."""
        return _body(enumerate(self.instructions))[0]

    @cached_property
    def branches(self) -> bool:
        """Whether it has a branch or a loop."""
        return self._has(Form.FLOW)

    @cached_property
    def derives(self) -> bool:
        """Whether it has a DDX or a DDY, so that fragments read their neighbours' values."""
        return self._has(Form.DERIVATIVE)

    def _has(self, form: Form) -> bool:
        return any(i.opcode.form is form for i in self.instructions)

    @property
    def has_separate_colors(self) -> bool:
        """Whether result.color[n] goes to target n. If not, result.color goes to all targets."""
        return any(option in self.options for option in DRAW_BUFFERS)

    def color_number(self, target: int) -> int:
        """The number of the result.color that goes to a target.

        target: its number, from 0.
        """
        return target if self.has_separate_colors else 0

    @cached_property
    def fog(self) -> Fog | None:
        """The fog that is applied to the program's final colour; None without a fog option."""
        return next((mode for mode in Fog if mode.value in self.options), None)

    @cached_property
    def _read(self) -> tuple[SourceRegister, ...]:
        """The distinct registers that instructions read, in the order of their first use."""
        return tuple(dict.fromkeys(src.register for i in self.instructions for src in i.srcs))

    @cached_property
    def attributes_read(self) -> tuple[Attribute, ...]:
        """The distinct attributes that instructions read, in the order of their first use."""
        return tuple(r for r in self._read if isinstance(r, Attribute))

    @cached_property
    def parameters_read(self) -> tuple[Parameter, ...]:
        """The distinct parameters that instructions read, in the order of their first use."""
        return tuple(r for r in self._read if isinstance(r, Parameter))

    @cached_property
    def state_bindings(self) -> tuple[str, ...]:
        """The canonical names of the distinct state vectors that instructions read."""
        read = (r.binding for r in self.parameters_read if r.space is ParameterSpace.STATE)
        return tuple(dict.fromkeys(read))

    @cached_property
    def attributes_needed(self) -> tuple[Attribute, ...]:
        """The attributes that instructions and the fog option read."""
        fog = (FOG_COORDINATE,) if self.fog else ()
        return tuple(dict.fromkeys((*self.attributes_read, *fog)))

    @cached_property
    def state_needed(self) -> tuple[str, ...]:
        """The state vectors that instructions and the fog option read."""
        fog = (FOG_COLOR, FOG_PARAMS) if self.fog else ()
        return tuple(dict.fromkeys((*self.state_bindings, *fog)))

    @cached_property
    def color_outputs(self) -> int:
        """The number of colours that the program needs: 1 + the largest n of result.color[n]."""
        written = [i.register for i in self.instructions]
        results = [r for r in written if isinstance(r, ResultRegister)]
        return max((r.index for r in results if r.kind is ResultKind.COLOR), default=0) + 1

    @property
    def kills(self) -> bool:
        """Whether the program contains KIL, which can discard a fragment."""
        return self._has(Form.KILL)

    @cached_property
    def texture_units(self) -> dict[int, TextureTarget]:
        """The texture target of each texture image unit that the program uses."""
        sources = (i.texture for i in self.instructions if i.texture is not None)
        return {source.unit: source.target for source in sources}

    @cached_property
    def lookup_units(self) -> tuple[int, ...]:
        """The texture image unit of each lookup, in program order."""
        return tuple(i.texture.unit for i in self.instructions if i.texture is not None)

    @cached_property
    def texcoord_sets(self) -> tuple[int, ...]:
        """The texture coordinate sets that instructions read, in ascending order."""
        read = self.attributes_read
        return tuple(sorted(r.index for r in read if r.kind is AttributeKind.TEXCOORD))

    def parameter_indices(self, space: ParameterSpace) -> tuple[int, ...]:
        """The indices of parameters that instructions read, ascending.

        space: program.local or program.env.
        """
        return tuple(sorted({r.index for r in self.parameters_read if r.space is space}))


def _body(numbered: Iterator[Numbered]) -> tuple[Body, tuple[Numbered, ...]]:
    """The instructions up to the one that ends their block, and that one, if there is one."""
    parts: list[Numbered | Branch | Repetition] = []
    for step in numbered:
        match step[1].mnemonic:
            case "IF":
                then, end = _body(numbered)
                otherwise: Body = ()
                if end[0][1].mnemonic == "ELSE":
                    then += end
                    otherwise, end = _body(numbered)
                parts += [Branch(step, then, otherwise), *end]
            case "REP" | "LOOP":
                inner, end = _body(numbered)
                parts.append(Repetition(step, inner + end))
            case word if word in CLOSES:
                return tuple(parts), (step,)
            case _:
                parts.append(step)
    return tuple(parts), ()
