"""The resources that a program uses, counted by the rules of the specification.

In GL_ARB_fragment_program, revision 28, section 3.11.3.6 says what counts towards which limit,
section 3.11.6 and issue (24) define texture indirections, and section 3.11.4.5.1 says what fog
costs. The counts are those that a driver reports through GetProgramiv. The limits are in chips/.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache
from math import copysign, inf
from struct import pack, unpack
from typing import TypeVar

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.combiners import DOT_PRODUCTS, UNCLAMPED, CombinerMode
from gpgpu_legacy.isa.execute import parts_read
from gpgpu_legacy.isa.opcodes import CostClass
from gpgpu_legacy.isa.program import (
    FOG_INSTRUCTIONS,
    Attribute,
    AttributeKind,
    FixedFunction,
    Instruction,
    Parameter,
    ParameterSpace,
    Program,
    ResultKind,
    ResultRegister,
    Span,
    Temporary,
)


class Resource(Enum):
    """The limited resources, by name.

    COORDINATE_SETS, IMAGE_UNITS, LOCAL_PARAMETERS, ENV_PARAMETERS, COLOR_OUTPUTS and UNITS are
    limits on an index: `texcoord[7]` needs eight sets, even if the program reads no other. Texture
    environments have UNITS and the resources after it, and no others.
    """

    ALU_INSTRUCTIONS = "ALU instructions"
    TEXTURE_INSTRUCTIONS = "texture instructions"
    INSTRUCTIONS = "instructions in all"
    INDIRECTIONS = "texture indirections"
    TEMPORARIES = "temporaries"
    PARAMETERS = "parameters"
    ATTRIBUTES = "attributes"
    COORDINATE_SETS = "coordinate sets"
    IMAGE_UNITS = "image units"
    LOCAL_PARAMETERS = "local parameters"
    ENV_PARAMETERS = "env parameters"
    COLOR_OUTPUTS = "colour outputs"
    UNITS = "texture units"
    COMBINE = "combine functions"
    DOT3 = "dot products"
    CROSSBAR = "crossbar sources"
    UNCLAMPED = "unclamped colours"


@frozen
class Use:
    """One use of a resource.

    what: the instruction, register or binding. number: the count up to and including this use, from
    1. span: the instruction that uses it, or the first that binds it; None for a declaration.
    """

    what: str
    number: int
    span: Span | None = None


@dataclass(frozen=True)
class Usage:
    """A program's uses of one resource. surcharge: added to the count by its fog option."""

    resource: Resource
    uses: tuple[Use, ...]
    surcharge: int = 0

    @cached_property
    def count(self) -> int:
        """The count that a limit applies to."""
        return max((use.number for use in self.uses), default=0) + self.surcharge

    def first_beyond(self, limit: float) -> Use | None:
        """The first use beyond a limit; None if there is none, or if only fog exceeds the limit."""
        return next((use for use in self.uses if use.number + self.surcharge > limit), None)


@frozen
class Node:
    """A node of the texture dependency chain: lookups that do not depend on each other, then ALU
    instructions.

    number: counted from 1. start: the index of its first instruction.
    opener: the texture instruction that opens the node; None for the first node. is_result: whether
    its result, not its coordinate, forced the new node. register: the temporary of either. The
    previous node wrote the coordinate, or an ALU instruction of it touched the result (issue 24).
    touched_by: the instruction of the previous node that touched the temporary last.
    first_lookup: the first lookup of the previous node; None if that node has none.
    least: the number of the earliest node that could hold the opener if coordinates were computed
    as early as possible and temporaries were not reused.
    """

    number: int
    start: int
    opener: Instruction | None = None
    is_result: bool = False
    register: str = ""
    touched_by: Instruction | None = None
    first_lookup: Instruction | None = None
    least: int = 1

    @property
    def avoidable(self) -> bool:
        """Whether reordering instructions or renaming temporaries would avoid this node."""
        return self.number > self.least

    @property
    def why(self) -> str:
        """Why the node exists, in one line."""
        if self.opener is None or self.touched_by is None:
            return "the program begins"
        at, by = self.opener.span.line, self.touched_by
        if self.is_result:
            return (
                f"line {at}: {self.opener.mnemonic} writes {self.register}, which "
                f"{by.mnemonic} of line {by.span.line} uses in the same node"
            )
        verb = "tests" if self.opener.discards else "looks up at"
        return (
            f"line {at}: {self.opener.mnemonic} {verb} {self.register}, which "
            f"{by.mnemonic} of line {by.span.line} writes in the same node"
        )

    @property
    def advice(self) -> str:
        """How to avoid the node, in one line; empty if it cannot be avoided."""
        if not self.avoidable or self.opener is None or self.touched_by is None:
            return ""
        if self.is_result:
            return f"look up into another temporary than {self.register}"
        before = self.first_lookup or self.opener
        return (
            f"compute the coordinate of line {self.touched_by.span.line} into a temporary of its "
            f"own, ahead of the lookup of line {before.span.line}"
        )


@frozen
class Resources:
    """The resources that a program uses.

    nodes: the texture dependency chain; as many nodes as texture indirections.
    renamed_indirections: those of a driver that renames temporaries, in the order of the text.
    least_indirections: the texture indirections left if coordinates are computed as early as
    possible and temporaries are not reused.
    """

    usages: tuple[Usage, ...]
    nodes: tuple[Node, ...]
    renamed_indirections: int
    least_indirections: int

    def usage(self, resource: Resource) -> Usage:
        """The program's uses of one resource."""
        usages = (usage for usage in self.usages if usage.resource is resource)
        return next(usages, Usage(resource, ()))

    def count(self, resource: Resource) -> int:
        """How much of one resource the program uses."""
        return self.usage(resource).count


@lru_cache(maxsize=64)
def resources(program: Program) -> Resources:
    """Count the resources that a program uses."""
    if program.state:
        return Resources(tuple(_environments(program.state)), (), 1, 1)
    counted = program.instructions
    lookups = [i for i in counted if not is_arithmetic(i)]
    least = _least_nodes(program)
    nodes = _texture_nodes(program, least)
    declared = (p for declaration in program.parameters for p in declaration.parameters)
    bound = [*_bound(program, declared, Parameter)]
    varying = [*_bound(program, (d.attribute for d in program.attributes), Attribute)]
    written = [(i.dst.register, i.span) for i in counted if i.dst]

    def of_space(space: ParameterSpace) -> Iterator[Use]:
        return (Use(p.text, p.index + 1, span) for p, span in bound if p.space is space)

    uses: dict[Resource, Iterable[Use]] = {
        Resource.ALU_INSTRUCTIONS: _instructions(i for i in counted if is_arithmetic(i)),
        Resource.TEXTURE_INSTRUCTIONS: _instructions(lookups),
        Resource.INSTRUCTIONS: _instructions(counted),
        Resource.INDIRECTIONS: (
            Use(n.why, n.number, n.opener.span if n.opener else None) for n in nodes
        ),
        Resource.TEMPORARIES: (Use(name, n) for n, name in enumerate(program.temporaries, 1)),
        # Constants differ by value, others by binding.
        Resource.PARAMETERS: _distinct((_parameter_name(p), span) for p, span in bound),
        Resource.ATTRIBUTES: _distinct((a.text, span) for a, span in varying),
        Resource.COORDINATE_SETS: (
            Use(a.text, a.index + 1, span)
            for a, span in varying
            if a.kind is AttributeKind.TEXCOORD
        ),
        Resource.IMAGE_UNITS: (
            Use(f"texture[{i.texture.unit}]", i.texture.unit + 1, i.span)
            for i in lookups
            if i.texture
        ),
        Resource.LOCAL_PARAMETERS: of_space(ParameterSpace.LOCAL),
        Resource.ENV_PARAMETERS: of_space(ParameterSpace.ENV),
        Resource.COLOR_OUTPUTS: (
            Use(f"result.color[{r.index}]", r.index + 1, span)
            for r, span in written
            if isinstance(r, ResultRegister) and r.kind is ResultKind.COLOR
        ),
    }
    fog: dict[Resource, int] = {}  # what its option adds (section 3.11.4.5.1)
    if program.fog is not None:
        added = FOG_INSTRUCTIONS[program.fog]
        fog = {
            Resource.ALU_INSTRUCTIONS: added,
            Resource.INSTRUCTIONS: added,
            Resource.TEMPORARIES: 1,
            Resource.ATTRIBUTES: 1,
            Resource.PARAMETERS: 2,
        }
    usages = tuple(Usage(of, tuple(all_uses), fog.get(of, 0)) for of, all_uses in uses.items())
    return Resources(usages, nodes, _renamed_nodes(program), max(least.values(), default=1))


def _environments(state: FixedFunction) -> Iterator[Usage]:
    """The resources of texture environments, by section 3.8.13 of OpenGL 1.3 and its extensions."""
    named = (Use(f"TEXTURE{unit.number}", unit.number + 1, unit.span) for unit in state.units)
    functions = [
        (combiner.function, unit.span)
        for unit in state.units
        if unit.mode is CombinerMode.COMBINE
        for combiner in (unit.rgb, unit.alpha)
    ]
    crossed = (
        (source.name, unit.span)
        for unit in state.units
        for source in unit.sources
        if isinstance(source.value, int)
    )
    dot3 = ((f.name, span) for f, span in functions if f in DOT_PRODUCTS)
    yield Usage(Resource.UNITS, tuple(named))
    yield Usage(Resource.COMBINE, _distinct((f.name, span) for f, span in functions))
    yield Usage(Resource.DOT3, _distinct(dot3))
    yield Usage(Resource.CROSSBAR, _distinct(crossed))
    yield Usage(Resource.UNCLAMPED, () if state.clamped else (Use(UNCLAMPED, 1),))


def is_arithmetic(instruction: Instruction) -> bool:
    """Whether the grammar calls it an ALUInstruction; KIL is a TexInstruction."""
    return instruction.opcode.cost is CostClass.ARITHMETIC


def _instructions(instructions: Iterable[Instruction]) -> Iterator[Use]:
    return (Use(i.mnemonic, number, i.span) for number, i in enumerate(instructions, 1))


_Register = TypeVar("_Register", Parameter, Attribute)

# Bindings -----------------------------------------------------------------------------------


def _bound(
    program: Program, declared: Iterable[_Register], kind: type[_Register]
) -> Iterator[tuple[_Register, Span | None]]:
    """Every binding of a kind, first in declarations, read or not, then in instructions."""
    yield from ((register, None) for register in declared)
    for instruction in program.instructions:
        for src in instruction.srcs:
            if isinstance(src.register, kind):
                yield src.register, instruction.span


def _distinct(bindings: Iterable[tuple[str, Span | None]]) -> tuple[Use, ...]:
    uses: dict[str, Use] = {}
    for name, span in bindings:
        uses.setdefault(name, Use(name, len(uses) + 1, span))
    return tuple(uses.values())


@lru_cache(maxsize=4096)
def _parameter_name(parameter: Parameter) -> str:
    """A parameter's binding; constants that are equal in float32 have the same text."""
    if parameter.space is not ParameterSpace.CONSTANT:
        return parameter.text
    return "{" + ", ".join(f"{_float32(value):.9g}" for value in parameter.value) + "}"


def _float32(value: float) -> float:
    """The value rounded to float32, without NumPy, which takes long to import; -0 is 0."""
    try:
        (rounded,) = unpack("f", pack("f", value))
    except OverflowError:
        return copysign(inf, value)
    return float(rounded) + 0.0


# Texture indirections -----------------------------------------------------------------------


def _texture_nodes(program: Program, least: dict[int, int]) -> tuple[Node, ...]:
    """The nodes of the texture dependency chain, as issue (24) counts them.

    Write masks and swizzles are ignored, as there. A program without lookups has one node. least:
    from `_least_nodes`.
    """
    nodes = [Node(1, 0)]
    # Of this node, by temporary: the last instruction that wrote it, and the last ALU instruction
    # that touched it.
    outputs: dict[str, Instruction] = {}
    alu: dict[str, Instruction] = {}
    first_lookup: Instruction | None = None
    for index, instruction in enumerate(program.instructions):
        registers = (src.register for src in instruction.srcs)
        read = [r.name for r in registers if isinstance(r, Temporary)]
        result = instruction.written[0][0] if instruction.written else ""
        if is_arithmetic(instruction):
            alu.update((name, instruction) for name in (*read, result) if name)
        else:
            coordinate = next((name for name in read if name in outputs), "")
            touched_by = outputs[coordinate] if coordinate else alu.get(result)
            if touched_by is not None:
                register = coordinate or result
                opening = (instruction, not coordinate, register, touched_by, first_lookup)
                nodes.append(Node(len(nodes) + 1, index, *opening, least[index]))
                outputs, alu, first_lookup = {}, {}, None
            first_lookup = first_lookup or instruction
        if result:
            outputs[result] = instruction
    return tuple(nodes)


def _renamed_nodes(program: Program) -> int:
    """The number of nodes by true dependences alone, as issue (24) allows native counts.

    In the order of the text, only a lookup that reads a value written in its node opens another.
    """
    number, written = 1, set[tuple[str, int]]()
    for instruction in program.instructions:
        read = frozenset().union(*parts_read(instruction).values())
        if read & written and not is_arithmetic(instruction):
            number, written = number + 1, set()
        written.update(instruction.written)
    return number


def _least_nodes(program: Program) -> dict[int, int]:
    """The earliest node that could hold each lookup, by the lookup's index in the program.

    Dependences are tracked by component. A value computed from attributes and parameters exists in
    node 1; a lookup is one node after the values that its coordinate is computed from.
    """
    known: dict[tuple[str, int], int] = {}
    least: dict[int, int] = {}
    for index, instruction in enumerate(program.instructions):
        read = parts_read(instruction)
        level = {
            c: max((known.get(part, 0) for part in parts), default=0) for c, parts in read.items()
        }
        if is_arithmetic(instruction):
            available = {c: max(node, 1) for c, node in level.items()}
        else:
            node = max(level.values(), default=0) + 1
            least[index], available = node, dict.fromkeys(range(4), node)
        known.update((part, available[part[1]]) for part in instruction.written)
    return least
