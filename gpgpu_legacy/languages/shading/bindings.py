"""What a program's parameters, units, attributes and results stand for in its source."""

from __future__ import annotations

import re
from dataclasses import replace

from gpgpu_legacy.isa.opcodes import NV_OPTIONS, RESERVED_WORDS
from gpgpu_legacy.isa.program import (
    CONDITION,
    Attribute,
    Parameter,
    ParameterDeclaration,
    ParameterSpace,
    Program,
    ResultRegister,
    Span,
)
from gpgpu_legacy.languages.arb.limits import LONGEST_NAME
from gpgpu_legacy.languages.arb.syntax import words_of
from gpgpu_legacy.languages.c import syntax as c
from gpgpu_legacy.languages.shading.emit import COMPARED, program
from gpgpu_legacy.languages.shading.faults import Fault
from gpgpu_legacy.languages.shading.graph import SAMPLER, Graph, Vector

UNITS = 32
_OF_OPTIONS = (*words_of(NV_OPTIONS), CONDITION.name, COMPARED.name)
"""What cannot name a parameter of a program that takes one of NVIDIA's options, as any may."""

_MOST = {ParameterSpace.LOCAL: 2048, ParameterSpace.ENV: 256}


class Bindings:
    """The registers of a program that is compiled, with the names that its source gives them."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.results: dict[ResultRegister, Vector] = {}
        self._declarations: list[ParameterDeclaration] = []
        self._names: dict[int | Attribute, str] = {}
        self._taken = {*_OF_OPTIONS}

    def parameter(self, parameter: Parameter, name: str, at: Span) -> Vector:
        """The numbers of a parameter, declared under a name like the one given."""
        _limit(name, parameter.index, _MOST[parameter.space], at)
        own = identifier(name, self._taken)
        parameter = replace(parameter, name=own)
        self._declarations.append(ParameterDeclaration(own, (parameter,), is_array=False))
        return self.graph.leaf(parameter)

    def attribute(self, attribute: Attribute, name: str, *, after: int = 0) -> Vector:
        """The numbers of an attribute, or those after the first, whose name it then joins."""
        own = self._names.setdefault(attribute, name)
        if after:
            self._names[attribute] = f"{own}_{name}"
        return self.graph.leaf(attribute)[after:]

    def unit(self, number: int, name: str, at: Span) -> Vector:
        """The sampler of a texture image unit."""
        _limit(name, number, UNITS, at)
        self._names.setdefault(number, name)
        return self.graph.special(SAMPLER, number)

    def name(self, unit: int) -> str:
        """The name of a unit's sampler."""
        return self._names[unit]

    def program(self, unit: c.Unit) -> Program:
        """The Program that computes the results."""
        return program(
            self.graph, self.results, unit.name, unit.texts,
            parameters=self._declarations, names=self._names.items(),
        )  # fmt: skip


def _limit(name: str, number: int, most: int, at: Span) -> None:
    if number >= most:
        raise Fault(f"{name} has the number {number}", f"expected 0 to {most - 1}", at)


def identifier(name: str, taken: set[str]) -> str:
    """The name, or one like it that a program may declare, and has not; it is taken from now on."""
    stem = re.sub(r"\W", "_", name, flags=re.ASCII)[: LONGEST_NAME - 8]
    own, number = stem, 0
    while own in taken or own in RESERVED_WORDS or re.fullmatch(r"[Rc]\d+", own):
        own, number = f"{stem}_{number or ''}", number + 1
    taken.add(own)
    return own
