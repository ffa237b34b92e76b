"""Emits a graph as a Program: selects, packs and orders the operations, and writes instructions.

Also here: what profiles allow, and the names that a source gives to parameters, units and
attributes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, TypeVar, cast

from gpgpu_legacy.errors import InputError, hint
from gpgpu_legacy.isa.opcodes import NV_OPTIONS, OPCODES, Form
from gpgpu_legacy.isa.program import (
    ALWAYS,
    CONDITION,
    DRAW_BUFFERS,
    IDENTITY,
    SHADOW,
    Attribute,
    CodeTest,
    DestinationRegister,
    Dst,
    Instruction,
    Parameter,
    ParameterDeclaration,
    ParameterSpace,
    Program,
    ResultKind,
    ResultRegister,
    Selector,
    SourceRegister,
    Span,
    Src,
    Swizzle,
    Temporary,
    TextureSource,
    Vec4,
)
from gpgpu_legacy.languages.arb.limits import LONGEST_NAME
from gpgpu_legacy.languages.arb.syntax import words_of
from gpgpu_legacy.languages.c import syntax as c
from gpgpu_legacy.languages.shading.graph import (
    CONSTANT,
    LEAF,
    SAMPLER,
    Fault,
    Graph,
    Literals,
    StraightSegment,
    TooLong,
    Vector,
)
from gpgpu_legacy.languages.shading.packing import Lanes, Pack, Packer, selected
from gpgpu_legacy.languages.shading.registers import Homes, scheduled

_LATEST = 32
"""A number is looked for in so many vectors of constants: more than the chips of the time had."""

COMPARED = Temporary("RC")
"""The temporary compared with 0, as cgc names it: no instruction writes only the condition code."""


def program(
    graph: Graph,
    results: Mapping[ResultRegister, Vector],
    name: str,
    texts: c.Texts,
    *,
    parameters: Iterable[Parameter],
    names: Iterable[tuple[int | Attribute, str]],
) -> Program:
    """The Program that computes results, and the graph's kills.

    results: a vector of fewer than four components leaves the others unwritten; a depth is one
    number. name: the Program's. texts: the source, for the instructions' origins. parameters:
    declared before the constants. names: those of units and attributes in the source.
    """
    lanes: Lanes = {
        register: dict(enumerate(vector.literals, 2 * (register.kind is ResultKind.DEPTH)))
        for register, vector in results.items()
    }
    code = _ProgramCode(graph, lanes)
    instructions = tuple(replace(i, origin=texts.origin(i.span)) for i in code.instructions(graph))
    temporaries = tuple(f"R{number}" for number in range(code.temporaries))
    if any(i.register == COMPARED for i in instructions):
        temporaries += (COMPARED.name,)
    compares = any(i.texture and i.texture.target.is_shadow for i in instructions)
    options = DRAW_BUFFERS[: any(r.index for r in results)] + (SHADOW,) * compares
    newest = max((OPCODES[i.mnemonic].option for i in instructions), default="")
    options += NV_OPTIONS[1:] if len(graph.code) > 1 else (newest,) * bool(newest)
    declared = tuple(
        ParameterDeclaration(p.name, (p,), is_array=False)
        for p in (*parameters, *code.constants.parameters)
    )
    return Program(instructions, temporaries, declared, name, options, names=tuple(names))


class _ProgramCode:
    """The instructions of a graph's segments, and of the branches and loops between them."""

    def __init__(self, graph: Graph, results: Lanes) -> None:
        """results: the last segment writes them."""
        parts = graph.segments
        ends: dict[StraightSegment, Lanes] = {s: {} for s in parts}
        ends[parts[-1]] |= results
        kills: dict[StraightSegment, list[Literals]] = {}
        for segment in parts:
            asked = segment.kills if len(parts) > 1 else graph.kills
            resolved = (tuple(map(graph.resolved, kill)) for kill in asked)
            kills[segment] = [
                kill
                for kill in resolved
                if any((number := graph.number(x)) is None or number < 0 for x in kill)
            ]
            if segment.test:
                ends[segment][COMPARED] = {0: segment.test[0]}
        self._homes = Homes(graph, {s: [*_literals(ends[s]), *chain(*kills[s])] for s in parts})
        self._writers: dict[StraightSegment, _Writer] = {}
        for segment in parts:
            if segment.tested in self._homes.places:
                ends[segment].pop(COMPARED, None)
            own = {
                register: {lane: graph.resolved(x) for lane, x in literals.items()}
                for register, literals in (self._homes.stores(segment) | ends[segment]).items()
            }
            roots = [*_literals(own), *chain(*kills[segment])]
            operations = selected(graph, roots, partial(self._homes.leaf, segment=segment))
            packer = Packer(operations, own, kills[segment])
            self._writers[segment] = _Writer(packer, self._homes.count, self._code(segment))
        writers = self._writers.values()
        known = (numbers for writer in writers for numbers in writer.operands())
        self.constants = _Constants({repr(numbers): numbers for numbers in known})
        self.temporaries = self._homes.count + max(w.schedule.temporaries for w in writers)

    def _code(self, segment: StraightSegment) -> tuple[DestinationRegister, int]:
        """The register and the component that a segment's test compares with 0."""
        code = COMPARED, 0
        return code if segment.tested is None else self._homes.places.get(segment.tested, code)

    def instructions(self, graph: Graph) -> list[Instruction]:
        """All instructions, without branches and loops that contain none."""
        test: CodeTest | None = None
        code: list[Instruction] = []
        for part in graph.code:
            if isinstance(part, StraightSegment):
                writer = self._writers[part]
                code += map(partial(writer.instruction, self.constants), writer.packs)
                if part.test:
                    selector = IDENTITY[self._code(part)[1]]
                    test = CodeTest(part.test[1], Src(CONDITION, (selector,) * 4))
                continue
            srcs: tuple[Src, ...] = ()
            match part.mnemonic:
                case "REP":
                    srcs = (Src(self.constants.trips(part.trips), (Selector.X,) * 4),)
                case "BRK":
                    test = test or ALWAYS
                case "ENDIF" if code[-1].mnemonic == "ELSE":
                    code.pop()
            if part.mnemonic in ("ENDIF", "ENDREP") and code[-1].mnemonic in ("IF", "REP"):
                code.pop()
                continue
            code.append(Instruction(part.mnemonic, None, srcs, span=part.at, test=test))
            test = None
        return code


def _literals(ends: Lanes) -> Iterator[int]:
    return (literal for literals in ends.values() for literal in literals.values())


class _Constants:
    """The numbers of a program, in as few vectors as operands allow. parameters: the vectors."""

    def __init__(self, known: Mapping[str, Sequence[float]]) -> None:
        """known: the numbers of each operand, by their repr."""
        self._vectors: list[list[str]] = []
        """The numbers of each vector, as texts."""
        self._places: dict[str, tuple[int, float]] = {}
        """The vector of an operand's numbers, and their sign there."""
        for text, numbers in sorted(known.items(), key=lambda k: -len(set(map(repr, k[1])))):
            number, sign, missing = min(self._ways(numbers), key=lambda way: len(way[2]))
            self._vectors += [[]] if number == len(self._vectors) else []
            self._vectors[number] += missing
            self._places[text] = number, sign
        self.parameters: list[Parameter] = []
        for texts in self._vectors:
            self._declare((texts + texts[-1:] * 4)[:4])

    def _declare(self, numbers: Sequence[float | str]) -> Parameter:
        value, name = cast(Vec4, tuple(map(float, numbers))), f"c{len(self.parameters)}"
        self.parameters.append(Parameter(ParameterSpace.CONSTANT, value=value, name=name))
        return self.parameters[-1]

    def trips(self, count: int) -> Parameter:
        """A parameter that holds a loop's number of trips."""
        vector = (count,) * 4
        known = [p for p in self.parameters if p.value == vector]
        return known[0] if known else self._declare(vector)

    def operand(self, numbers: Sequence[float]) -> tuple[Parameter, bool, list[int]]:
        """The vector of an operand's numbers, whether it is negated, and the components."""
        vector, sign = self._places[repr(numbers)]
        texts = self._vectors[vector]
        components = [texts.index(repr(sign * number)) for number in numbers]
        return self.parameters[vector], sign < 0, components

    def _ways(self, numbers: Sequence[float]) -> Iterator[tuple[int, float, list[str]]]:
        """Vectors with room for an operand: the vector's number, the sign, and what it lacks."""
        signs = {s: dict.fromkeys(repr(s * n) for n in numbers) for s in (1.0, -1.0)}
        first = max(0, len(self._vectors) - _LATEST)
        for number, vector in enumerate([*self._vectors[first:], []], first):
            for sign, texts in signs.items():
                missing = [text for text in texts if text not in vector]
                if len(vector) + len(missing) <= 4:
                    yield number, sign, missing


class _Writer:
    """Writes the instructions of a segment's packs.

    first: the number of its first temporary. code: the register and the component that its test
    compares with 0.
    """

    def __init__(self, packer: Packer, first: int, code: tuple[DestinationRegister, int]) -> None:
        self._packer, self._first, self._code = packer, first, code
        self.schedule = scheduled(packer)
        self.packs = self.schedule.packs

    def operands(self) -> Iterator[list[float]]:
        """The numbers of each operand that is a constant."""
        groups = (g for pack in self.packs for g in self._packer.groups(pack))
        return filter(None, map(self._numbers, groups))

    def _numbers(self, group: Sequence[int]) -> list[float]:
        """The numbers of constants; none for other operands."""
        operations = self._packer.operations
        return [
            cast(float, operations[literal >> 1].key) * (-1.0 if literal & 1 else 1.0)
            for literal in group
            if operations[literal >> 1].mnemonic == CONSTANT
        ]

    def instruction(self, constants: _Constants, pack: Pack) -> Instruction:
        """The instruction of a pack."""
        packer, first = self._packer, pack.nodes[0]
        operation = packer.operations[first]
        homes = [self._home(node) for node in packer.parts.get(first, pack.nodes)]
        reads = None
        if OPCODES[operation.mnemonic].form in (Form.COMPONENTWISE, Form.DERIVATIVE):
            reads = {lane: k for k, (_, lanes) in enumerate(homes) for lane in lanes}
        srcs = tuple(
            self._source(constants, group, reads or _places(operation.mnemonic, len(group)))
            for group in packer.groups(pack)
        )
        texture = operation.key if isinstance(operation.key, TextureSource) else None
        dst, tested = None, False
        if homes[0][1]:
            written = {lane for _, lanes in homes for lane in lanes}
            mask = (0 in written, 1 in written, 2 in written, 3 in written)
            dst = Dst(homes[0][0], mask)
            tested = dst.register == self._code[0] and self._code[1] in written
        return Instruction(
            operation.mnemonic, dst, srcs, texture, operation.saturate, operation.span,
            sets_condition=tested,
        )  # fmt: skip

    def _source(self, constants: _Constants, group: Sequence[int], reads: Mapping[int, int]) -> Src:
        """An operand. reads: by component of the instruction, the literal's number in the group."""
        numbers = self._numbers(group)
        if numbers:
            register, negative, components = constants.operand(numbers)
        else:
            homes = [self._home(literal >> 1) for literal in group]
            register, negative = homes[0][0], bool(group[0] & 1)
            components = [lanes[0] for _, lanes in homes]
        chosen = {lane: components[k] for lane, k in reads.items()}
        return Src(register, _swizzle(chosen), (negative,) * 4)

    def _home(self, node: int) -> tuple[Any, list[int]]:
        """The register of a node, and its components."""
        if node in self._packer.lanes:
            return self._packer.lanes[node]
        operation = self._packer.operations[node]
        if operation.mnemonic == LEAF:
            register, lane = cast(tuple[SourceRegister, int], operation.key)
            return register, [lane]
        temporary, *lanes = self.schedule.place.get(node, (0,))
        return Temporary(f"R{self._first + temporary}"), lanes


def _places(mnemonic: str, count: int) -> dict[int, int]:
    """The numbers of an operand's scalars, by the component in which an instruction reads them."""
    last = 3 if mnemonic in ("TXP", "TXB", "TXL", "LIT") else count - 1
    return {k: k for k in range(count - 1)} | {last: count - 1}


def _swizzle(chosen: Mapping[int, int]) -> Swizzle:
    """Selectors for the components that are read; the others make the text short."""
    if all(lane == component for lane, component in chosen.items()) and len(chosen) > 1:
        return IDENTITY
    last = chosen[max(chosen)]
    return cast(Swizzle, tuple(IDENTITY[chosen.get(lane, last)] for lane in range(4)))


T = TypeVar("T")

PROFILES = {"arbfp1": False, "fp40": True, "ps_3_0": True}
"""The profiles of the time that may be asked for, and whether they have NVIDIA's instructions."""


def fitted(
    compiled: Callable[..., T],
    profile: str,
    programs: Callable[[T], Iterable[Program]],
) -> T:
    """Compile to a straight line or with branches, as the profile has them.

    Without a profile, the result has branches only if a straight line would be too long.
    compiled: compiles, with the keyword `branching`. profile: a key of PROFILES, or empty;
    InputError for others. programs: gives the programs of a result; Fault if they have NVIDIA's
    instructions and the profile has none.
    """
    if profile and profile not in PROFILES:
        raise InputError(f"there is no profile {profile}; {hint(profile, PROFILES)}")
    try:
        result = compiled(branching=PROFILES.get(profile, False))
    except TooLong as fault:
        if PROFILES.get(profile):
            raise
        if profile:
            problem, _, _ = str(fault).partition(";")
            expected = f"{profile} has no branches: name another profile, or none"
            raise Fault(f"{problem}; {expected}", fault.at) from None
        result = compiled(branching=True)
    for instruction in chain(*(p.instructions for p in programs(result))):
        if not PROFILES.get(profile, True) and OPCODES[instruction.mnemonic].option:
            raise Fault(
                f"{profile} has no derivatives, and no levels of detail that are given; "
                "name another profile, or none",
                instruction.span,
            )
    return result


UNITS = 32
_OF_OPTIONS = (*words_of(NV_OPTIONS), CONDITION.name, COMPARED.name)
"""Names that no parameter can have, as any program may take one of NVIDIA's options."""

_MOST = {ParameterSpace.LOCAL: 2048, ParameterSpace.ENV: 256}


class Bindings:
    """The registers of a compiled program, with the names that its source gives them."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.results: dict[ResultRegister, Vector] = {}
        self._parameters: list[Parameter] = []
        self.names: dict[int | Attribute, str] = {}
        self._taken = {*_OF_OPTIONS}

    def parameter(self, parameter: Parameter, name: str, at: Span) -> Vector:
        """The numbers of a parameter, declared under a name like the one given."""
        _limit(name, parameter.index, _MOST[parameter.space], at)
        parameter = replace(parameter, name=identifier(name, self._taken))
        self._parameters.append(parameter)
        return self.graph.leaf(parameter)

    def attribute(self, attribute: Attribute, name: str, *, after: int = 0) -> Vector:
        """The components of an attribute. after: skip as many; `name` joins the name it has."""
        own = self.names.setdefault(attribute, name)
        if after:
            self.names[attribute] = f"{own}_{name}"
        return self.graph.leaf(attribute)[after:]

    def unit(self, number: int, name: str, at: Span) -> Vector:
        """The sampler of a texture image unit."""
        _limit(name, number, UNITS, at)
        self.names.setdefault(number, name)
        return self.graph.special(SAMPLER, number)

    def program(self, unit: c.Unit, main: c.Function, advice: str) -> Program:
        """The Program that computes the results and the kills of `main`.

        Raises Fault, with the advice, if there are neither.
        """
        if not self.results and not self.graph.kills:
            raise Fault(f"{main.name} has no result; {advice}", main.at)
        return program(
            self.graph, self.results, unit.name, unit.texts,
            parameters=self._parameters, names=self.names.items(),
        )  # fmt: skip


def _limit(name: str, number: int, most: int, at: Span) -> None:
    if number >= most:
        raise Fault(f"{name} has the number {number}; expected 0 to {most - 1}", at)


def identifier(name: str, taken: set[str]) -> str:
    """The name, or a similar one that a program may declare. taken: the names so far; it grows."""
    stem = re.sub(r"\W", "_", name, flags=re.ASCII)[: LONGEST_NAME - 8]
    own, number = stem, 0
    while own in taken or own in words_of() or re.fullmatch(r"[Rc]\d+", own):
        own, number = f"{stem}_{number or ''}", number + 1
    taken.add(own)
    return own
