"""Dependences of results: the components of temporaries that each component is computed from.

An instruction is executed on sets instead of numbers; every operation unites its operands' sets. So
a dot product of three components does not depend on the fourth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from gpgpu_legacy.isa.execute import ALL, Components, Domain, execute_instruction
from gpgpu_legacy.isa.opcodes import Symbol
from gpgpu_legacy.isa.program import (
    DestinationRegister,
    Instruction,
    Register,
    Temporary,
    TextureSource,
)

Parts = frozenset[tuple[str, int]]
"""Components of temporaries: the register's name and 0 to 3."""


@lru_cache(maxsize=1024)
def parts_read(instruction: Instruction) -> Mapping[int, Parts]:
    """The components of temporaries that each component of the result depends on.

    The operand of a KIL and the test of a branch count for all four. Of an instruction that sets
    the condition code, its dependences count, too.
    """
    domain = _MadeOf()
    execute_instruction(instruction, domain)
    return domain.parts


class _Value(Symbol):
    """A value of which only its dependences are known."""

    __slots__ = ("parts",)

    def __init__(self, parts: Parts) -> None:
        self.parts = parts

    def operate(self, name: str, operands: tuple[Any, ...]) -> _Value:
        return _united(operands)


_NOTHING = _Value(frozenset())


@lru_cache(maxsize=4096)
def _components(name: str, components: Components) -> _Value:
    return _Value(frozenset((name, c) for c in components))


def _united(values: Iterable[Any]) -> _Value:
    """The union of the values' dependences; numbers have none."""
    return _Value(_NOTHING.parts.union(*[v.parts for v in values if type(v) is _Value]))


class _MadeOf(Domain[_Value]):
    """parts: the dependences of each component of the result."""

    def __init__(self) -> None:
        self.parts: dict[int, Parts] = {}

    def constant(self, number: float) -> _Value:
        return _NOTHING

    def read(self, register: Register, components: Components, *, coordinate: bool) -> _Value:
        if not isinstance(register, Temporary):
            return _NOTHING
        return _components(register.name, components)

    def store(self, register: DestinationRegister, components: Components, value: _Value) -> None:
        self.parts |= {c: self.parts.get(c, value.parts) | value.parts for c in components}

    def look_up(
        self, source: TextureSource, coordinates: Sequence[Any], components: Components
    ) -> dict[Components, _Value]:
        target, bias = source.target, coordinates[3]
        slopes = (
            v for given in coordinates[4:] for s in given for v in s[: target.kind.coordinates]
        )
        return {components: _united([*coordinates[: target.coordinates], bias, *slopes])}

    def discard(self, condition: _Value) -> None:
        self.parts = dict.fromkeys(ALL, condition.parts)

    leave = discard

    def in_quad(self, fetched: Callable[[], _Value]) -> Sequence[_Value]:
        return [fetched()] * 3

    def saturated(self, value: _Value) -> _Value:
        return value

    def rounded(self, value: Any) -> _Value:
        return value if type(value) is _Value else _NOTHING

    def compose(self, values: Sequence[Any]) -> _Value:
        return _united(values)

    def replicated(self, value: _Value, components: Components) -> dict[Components, _Value]:
        return {components: value}
