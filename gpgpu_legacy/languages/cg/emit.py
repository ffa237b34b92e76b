"""A graph as a Program: select, pack, order, and write the instructions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from gpgpu_legacy.isa.ir import (
    DRAW_BUFFERS,
    IDENTITY,
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
    Src,
    Temporary,
    TextureSource,
)
from gpgpu_legacy.isa.opcodes import OPCODES, Form
from gpgpu_legacy.languages.cg.graph import CONSTANT, LEAF, Graph, Vector
from gpgpu_legacy.languages.cg.packing import Pack, Packer, operand_groups
from gpgpu_legacy.languages.cg.schedule import scheduled
from gpgpu_legacy.languages.cg.selection import selected

Swizzle = tuple[Selector, Selector, Selector, Selector]
_SELECTORS = (Selector.X, Selector.Y, Selector.Z, Selector.W)


def program(
    graph: Graph,
    results: Mapping[ResultRegister, Vector],
    name: str,
    parameters: Sequence[ParameterDeclaration] = (),
) -> Program:
    """The Program that computes results, and the graph's kills.

    A vector of fewer than four components leaves the others unwritten; a depth is one number.
    parameters: declared first; the constants follow.
    """
    lanes = {
        register: {
            (2 if register.kind is ResultKind.DEPTH else lane): literal
            for lane, literal in enumerate(vector.literals)
        }
        for register, vector in results.items()
    }
    kills = [kill for kill in graph.kills if any(_may_kill(graph, literal) for literal in kill)]
    roots = [x for literals in lanes.values() for x in literals.values()]
    roots += [x for kill in kills for x in kill]
    packer = Packer(selected(graph, roots), lanes, kills)
    writer = _Writer(packer)
    instructions = tuple(writer.instruction(pack) for pack in writer.schedule.packs)
    separate = any(r.index for r in results if r.kind is ResultKind.COLOR)
    temporaries = tuple(f"R{number}" for number in range(writer.schedule.temporaries))
    declared = (*parameters, *writer.constants.declarations())
    options = DRAW_BUFFERS[:1] if separate else ()
    return Program(instructions, temporaries, declared, name, options)


def _may_kill(graph: Graph, literal: int) -> bool:
    number = graph.number(literal)
    return number is None or number < 0


class _Constants:
    """The numbers of a program in as few vectors as the operands allow."""

    def __init__(self) -> None:
        self.vectors: list[list[float]] = []

    def add(self, numbers: Iterable[float]) -> None:
        """Make sure that one vector has all these numbers, or all negated."""
        wanted = list({repr(number): number for number in numbers}.values())
        best: tuple[int, list[float], list[float]] | None = None
        for vector in self.vectors:
            held = [repr(number) for number in vector]
            for sign in (1.0, -1.0):
                missing = [sign * n for n in wanted if repr(sign * n) not in held]
                fits = len(vector) + len(missing) <= 4
                if fits and (best is None or len(missing) < best[0]):
                    best = len(missing), vector, missing
        if best is None:
            self.vectors.append(wanted)
        else:
            best[1].extend(best[2])

    def find(self, numbers: Sequence[float]) -> tuple[int, tuple[int, ...], bool]:
        """The vector that has the numbers, their components, and whether they are negated."""
        for index, vector in enumerate(self.vectors):
            held = [repr(number) for number in vector]
            for sign in (1.0, -1.0):
                wanted = [repr(sign * number) for number in numbers]
                if set(wanted) <= set(held):
                    return index, tuple(map(held.index, wanted)), sign < 0
        raise AssertionError("all constants were added")

    def parameter(self, index: int) -> Parameter:
        """A vector as a parameter; numbers after its last repeat it."""
        vector = self.vectors[index]
        x, y, z, w = (*vector, *vector[-1:] * (4 - len(vector)))
        return Parameter(ParameterSpace.CONSTANT, value=(x, y, z, w), name=f"c{index}")

    def declarations(self) -> tuple[ParameterDeclaration, ...]:
        """A PARAM for each vector."""
        made = map(self.parameter, range(len(self.vectors)))
        return tuple(ParameterDeclaration(p.name, (p,), is_array=False) for p in made)


class _Writer:
    """Instructions of packs."""

    def __init__(self, packer: Packer) -> None:
        self._packer = packer
        self.schedule = scheduled(packer)
        self.constants = _Constants()
        groups = [g for pack in self.schedule.packs for g in self._groups(pack)]
        known = [[self._number(x) for x in group if self._is_constant(x)] for group in groups]
        for numbers in sorted(filter(None, known), key=lambda n: -len(set(map(repr, n)))):
            self.constants.add(numbers)

    def _groups(self, pack: Pack) -> list[tuple[int, ...]]:
        """The operands of a pack by place: of each lane, or of an operation with vectors."""
        operations = [self._packer.operations[node] for node in pack.nodes]
        groups = operand_groups(operations[0])
        if groups is not None:
            return groups
        return list(zip(*(operation.operands for operation in operations), strict=True))

    def _is_constant(self, literal: int) -> bool:
        return self._packer.operations[literal >> 1].mnemonic == CONSTANT

    def _number(self, literal: int) -> float:
        value = self._packer.operations[literal >> 1].key
        assert isinstance(value, float)
        return -value if literal & 1 else value

    def instruction(self, pack: Pack) -> Instruction:
        """One instruction."""
        packer, first = self._packer, pack.nodes[0]
        operation = packer.operations[first]
        row = OPCODES[operation.mnemonic]
        groups = self._groups(pack)
        lanes = self._lanes(pack)
        if row.form is Form.COMPONENTWISE:
            order = [(lane, k) for k, node in enumerate(pack.nodes) for lane in lanes[node]]
        else:
            order = [(k, k) for k in range(4)]
        srcs = tuple(
            self._source(group, _positions(operation.mnemonic, group, order)) for group in groups
        )
        texture = operation.key if isinstance(operation.key, TextureSource) else None
        dst = None
        if row.form is not Form.KILL:
            written = {lane for numbers in lanes.values() for lane in numbers}
            mask = (0 in written, 1 in written, 2 in written, 3 in written)
            dst = Dst(self._destination(first), mask)
        return Instruction(
            operation.mnemonic, dst, srcs, texture, operation.saturate, operation.span
        )

    def _lanes(self, pack: Pack) -> dict[int, list[int]]:
        """The components that each node of a pack is written to."""
        place, lanes = self.schedule.place, self._packer.lanes
        nodes = self._packer.parts.get(pack.nodes[0], pack.nodes)
        return {
            node: lanes[node][1] if node in lanes else [place[node][1]] if node in place else []
            for node in nodes
        }

    def _destination(self, node: int) -> Temporary | ResultRegister:
        if node in self._packer.lanes:
            return self._packer.lanes[node][0]
        node = self._packer.parts.get(node, [node])[0]
        return Temporary(f"R{self.schedule.place[node][0]}")

    def _source(self, group: Sequence[int], positions: Mapping[int, int]) -> Src:
        """An operand. positions: for each component of the instruction a literal of the group."""
        if self._is_constant(group[0]):
            index, found, negative = self.constants.find([self._number(x) for x in group])
            register: SourceRegister = self.constants.parameter(index)
            components = dict(enumerate(found))
        else:
            homes = [self._home(literal >> 1) for literal in group]
            register, negative = homes[0][0], bool(group[0] & 1)
            components = {k: component for k, (_, component) in enumerate(homes)}
        chosen = {lane: components[k] for lane, k in positions.items()}
        return Src(register, _swizzle(chosen), (negative,) * 4)

    def _home(self, node: int) -> tuple[SourceRegister, int]:
        operation = self._packer.operations[node]
        if operation.mnemonic == LEAF:
            return cast(tuple[SourceRegister, int], operation.key)
        temporary, lane = self.schedule.place[node]
        return Temporary(f"R{temporary}"), lane


def _positions(
    mnemonic: str, group: Sequence[int], order: Sequence[tuple[int, int]]
) -> dict[int, int]:
    """Which literal of a group each component of an instruction reads."""
    if OPCODES[mnemonic].form is Form.COMPONENTWISE:
        return dict(order)
    places = list(range(len(group)))
    if mnemonic in ("TXP", "TXB", "LIT"):  # their last is w
        places[-1] = 3
    return dict(zip(places, range(len(group)), strict=True))


def _swizzle(chosen: Mapping[int, int]) -> Swizzle:
    """Selectors for the components that are read; the others take what reads best."""
    if all(lane == component for lane, component in chosen.items()) and len(chosen) > 1:
        return IDENTITY
    if len(chosen) == 1 or len(set(chosen.values())) == 1:
        (only,) = set(chosen.values())
        return (_SELECTORS[only],) * 4
    last = max(chosen)
    x, y, z, w = (_SELECTORS[chosen.get(lane, chosen[last])] for lane in range(4))
    return (x, y, z, w)
