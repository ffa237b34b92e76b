"""A graph as a Program: select, pack, order, and write the instructions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from gpgpu_legacy.isa.ir import (
    DRAW_BUFFERS,
    IDENTITY,
    SHADOW,
    Attribute,
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
    Vec4,
)
from gpgpu_legacy.isa.opcodes import OPCODES, Form
from gpgpu_legacy.languages.c.syntax import Texts
from gpgpu_legacy.languages.shading.graph import CONSTANT, LEAF, Graph, Vector
from gpgpu_legacy.languages.shading.packing import Pack, Packer
from gpgpu_legacy.languages.shading.schedule import scheduled
from gpgpu_legacy.languages.shading.selection import selected

Swizzle = tuple[Selector, Selector, Selector, Selector]
_LATEST = 32
"""Vectors of constants in which a number is looked for: more than the chips of the time had."""

_SELECTORS = (Selector.X, Selector.Y, Selector.Z, Selector.W)


def program(
    graph: Graph,
    results: Mapping[ResultRegister, Vector],
    name: str,
    texts: Texts,
    *,
    parameters: Sequence[ParameterDeclaration] = (),
    names: Iterable[tuple[int | Attribute, str]] = (),
) -> Program:
    """The Program that computes results, and the graph's kills.

    A vector of fewer than four components leaves the others unwritten; a depth is one number.
    texts: where the instructions come from. parameters: declared first; the constants follow.
    names: of units and attributes.
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
    instructions = tuple(
        replace(made, origin=texts.origin(made.span))
        for made in map(writer.instruction, writer.schedule.packs)
    )
    temporaries = tuple(f"R{number}" for number in range(writer.schedule.temporaries))
    made = (ParameterDeclaration(p.name, (p,), is_array=False) for p in writer.parameters)
    compares = any(i.texture and i.texture.target.is_shadow for i in instructions)
    options = DRAW_BUFFERS[: any(r.index for r in results)] + (SHADOW,) * compares
    declared = (*parameters, *made)
    return Program(instructions, temporaries, declared, name, options, names=tuple(names))


def _may_kill(graph: Graph, literal: int) -> bool:
    number = graph.number(literal)
    return number is None or number < 0


class _Writer:
    """Instructions of packs."""

    def __init__(self, packer: Packer) -> None:
        self._packer = packer
        self.schedule = scheduled(packer)
        self._constants: list[list[str]] = []
        """The numbers of the program, as texts, in as few vectors as the operands allow."""
        self._found: dict[str, tuple[int, float]] = {}
        """The vector of an operand's numbers, and their sign there."""
        groups = [g for pack in self.schedule.packs for g in packer.groups(pack)]
        known = {repr(numbers): numbers for numbers in map(self._numbers, groups) if numbers}
        for text, numbers in sorted(known.items(), key=lambda k: -len(set(map(repr, k[1])))):
            number, sign, missing = min(self._ways(numbers), key=lambda way: len(way[2]))
            self._constants += [[]] if number == len(self._constants) else []
            self._constants[number] += missing
            self._found[text] = number, sign
        values = [tuple(map(float, (v + v[-1:] * 4)[:4])) for v in self._constants]
        self.parameters = [
            Parameter(ParameterSpace.CONSTANT, value=cast(Vec4, value), name=f"c{k}")
            for k, value in enumerate(values)
        ]

    def _ways(self, numbers: Sequence[float]) -> Iterator[tuple[int, float, list[str]]]:
        """The latest vectors, and a new one, with a sign of the numbers and those that it lacks."""
        signs = {s: dict.fromkeys(repr(s * n) for n in numbers) for s in (1.0, -1.0)}
        first = max(0, len(self._constants) - _LATEST)
        for number, vector in enumerate([*self._constants[first:], []], first):
            for sign, texts in signs.items():
                missing = [text for text in texts if text not in vector]
                if len(vector) + len(missing) <= 4:
                    yield number, sign, missing

    def _numbers(self, group: Sequence[int]) -> list[float]:
        """The numbers of constants; none for other operands."""
        operations = self._packer.operations
        return [
            cast(float, operations[literal >> 1].key) * (-1.0 if literal & 1 else 1.0)
            for literal in group
            if operations[literal >> 1].mnemonic == CONSTANT
        ]

    def instruction(self, pack: Pack) -> Instruction:
        """One instruction."""
        packer, first = self._packer, pack.nodes[0]
        operation = packer.operations[first]
        homes = [self._home(node) for node in packer.parts.get(first, pack.nodes)]
        reads = None
        if OPCODES[operation.mnemonic].form is Form.COMPONENTWISE:
            reads = {lane: k for k, (_, lanes) in enumerate(homes) for lane in lanes}
        srcs = tuple(
            self._source(group, reads or _places(operation.mnemonic, len(group)))
            for group in packer.groups(pack)
        )
        texture = operation.key if isinstance(operation.key, TextureSource) else None
        dst = None
        if homes[0][1]:
            written = {lane for _, lanes in homes for lane in lanes}
            mask = (0 in written, 1 in written, 2 in written, 3 in written)
            dst = Dst(homes[0][0], mask)
        return Instruction(
            operation.mnemonic, dst, srcs, texture, operation.saturate, operation.span
        )

    def _source(self, group: Sequence[int], reads: Mapping[int, int]) -> Src:
        """An operand. reads: for each component of the instruction a literal of the group."""
        numbers = self._numbers(group)
        if numbers:
            vector, sign = self._found[repr(numbers)]
            register, negative = self.parameters[vector], sign < 0
            texts = self._constants[vector]
            components = [texts.index(repr(sign * number)) for number in numbers]
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
        return Temporary(f"R{temporary}"), lanes


def _places(mnemonic: str, count: int) -> dict[int, int]:
    """The components in which an instruction reads the scalars of an operand, by component."""
    last = 3 if mnemonic in ("TXP", "TXB", "LIT") else count - 1
    return {k: k for k in range(count - 1)} | {last: count - 1}


def _swizzle(chosen: Mapping[int, int]) -> Swizzle:
    """Selectors for the components that are read; the others take what reads best."""
    if all(lane == component for lane, component in chosen.items()) and len(chosen) > 1:
        return IDENTITY
    last = chosen[max(chosen)]
    return cast(Swizzle, tuple(_SELECTORS[chosen.get(lane, last)] for lane in range(4)))
