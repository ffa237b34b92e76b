"""The slice of a program that computes possibly affine lookup coordinates.

That depends on the program alone, so it is found once, and a pass runs only these instructions.
The program is executed on values that record their dependences.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar, cast

from gpgpu_legacy.frozen import frozen
from gpgpu_legacy.isa.execute import Components, Domain, execute_instruction
from gpgpu_legacy.isa.ir import (
    Attribute,
    AttributeKind,
    DestinationRegister,
    Instruction,
    Parameter,
    ParameterSpace,
    Program,
    SourceRegister,
    Temporary,
)
from gpgpu_legacy.isa.opcodes import Symbol

AFFINE = {"add", "subtract", "multiply", "divide", "negative"}
"""The operations that can keep a value affine."""


class Unknown(Symbol):
    """An unknown value; operations on it return it."""

    __slots__ = ()

    def operate(self, name: str, operands: tuple[Any, ...]) -> Unknown:
        return self


UNKNOWN = Unknown()

V = TypeVar("V", bound=Symbol)


class Coordinates(Domain[V | Unknown], Generic[V]):
    """Values from which coordinates are computed; texels and saturated values are unknown.

    coordinates: s and t of the lookups executed since they were last taken away.
    """

    def __init__(self) -> None:
        self.coordinates: list[tuple[V | Unknown, V | Unknown]] = []
        self._temporaries: dict[str, list[V | Unknown]] = {}

    @abstractmethod
    def given(self, register: Attribute | Parameter, component: int) -> V | Unknown:
        """A component of an attribute, or of a parameter that is neither a constant nor state."""

    def read(
        self, register: SourceRegister, components: Components, *, coordinate: bool
    ) -> V | Unknown:
        (component,) = components
        if isinstance(register, Temporary):
            return self._temporary(register)[component]
        if isinstance(register, Attribute):
            return self.given(register, component)
        if register.space is ParameterSpace.CONSTANT:
            return self.constant(register.value[component])
        if register.space is ParameterSpace.STATE:
            return UNKNOWN
        return self.given(register, component)

    def store(
        self, register: DestinationRegister, components: Components, value: V | Unknown
    ) -> None:
        (component,) = components
        if isinstance(register, Temporary):
            self._temporary(register)[component] = value

    def look_up(
        self, instruction: Instruction, coordinates: Sequence[V | Unknown], components: Components
    ) -> dict[Components, V | Unknown]:
        s, t, *_ = coordinates
        self.coordinates.append((s, t))
        return {(c,): UNKNOWN for c in components}

    def discard(self, condition: V | Unknown) -> None:
        """No coordinate depends on it."""

    def saturated(self, value: V | Unknown) -> Unknown:
        return UNKNOWN

    def rounded(self, value: Any) -> V | Unknown:
        """A value, or a number of the opcode's own."""
        if not isinstance(value, Symbol):
            return self.constant(float(value))
        return cast("V | Unknown", value)

    def _temporary(self, register: Temporary) -> list[V | Unknown]:
        """A register's components; 0 before the first write."""
        if register.name not in self._temporaries:
            self._temporaries[register.name] = [self.constant(0.0)] * 4
        return self._temporaries[register.name]


@dataclass(frozen=True, slots=True, eq=False)
class _Possible(Symbol):
    """A possibly affine value, computed only by operations that can preserve that.

    parts: the values that it is computed from. made_by: the number of the instruction that computes
    it; None for a part of an expression. read: its attribute or parameter, if it is one. A value
    refers to its parts and does not copy them, so that long programs stay cheap.
    """

    parts: tuple[_Possible, ...] = ()
    made_by: int | None = None
    read: Attribute | Parameter | None = None

    def operate(self, name: str, operands: tuple[Any, ...]) -> _Possible | Unknown:
        if name in AFFINE and all(isinstance(operand, _Possible) for operand in operands):
            return _Possible(operands)
        return UNKNOWN


class _Possibilities(Coordinates[_Possible]):
    """The values that may be affine. number: of the current instruction."""

    number = 0

    def store(
        self, register: DestinationRegister, components: Components, value: _Possible | Unknown
    ) -> None:
        made = _Possible((value,), self.number) if isinstance(value, _Possible) else value
        super().store(register, components, made)

    def constant(self, number: float) -> _Possible:
        return _Possible()

    def given(self, register: Attribute | Parameter, component: int) -> _Possible | Unknown:
        if isinstance(register, Attribute):
            is_place = register.kind is AttributeKind.POSITION and component < 2
            if not is_place and register.kind is not AttributeKind.TEXCOORD:
                return UNKNOWN
        return _Possible(read=register)


@frozen
class Slice:
    """The slice of a program that computes possibly affine coordinates, and its inputs.

    instructions: their numbers, including the lookups. lookups: for each lookup whether s, and
    whether t, may be affine.
    """

    instructions: frozenset[int]
    lookups: tuple[tuple[bool, bool], ...]
    texcoords: frozenset[int]
    locals: frozenset[int]
    env: frozenset[int]
    position: bool


@lru_cache(maxsize=256)
def affine_slice(program: Program) -> Slice:
    """The slice of a program that computes possibly affine coordinates."""
    domain, made_by = _Possibilities(), set[int]()
    lookups: list[tuple[bool, bool]] = []
    used: list[_Possible] = []
    for number, instruction in enumerate(program.instructions):
        domain.number = number
        execute_instruction(instruction, domain)
        if instruction.texture is None:
            continue
        s, t = domain.coordinates.pop()
        possible = [value for value in (s, t) if isinstance(value, _Possible)]
        if possible:
            made_by.add(number)
            used += possible
        lookups.append((isinstance(s, _Possible), isinstance(t, _Possible)))
    values = _with_parts(used)
    made_by |= {value.made_by for value in values if value.made_by is not None}
    reads = {value.read for value in values if value.read is not None}
    attributes = [a for a in reads if isinstance(a, Attribute)]
    parameters = [p for p in reads if isinstance(p, Parameter)]
    return Slice(
        frozenset(made_by),
        tuple(lookups),
        frozenset(a.index for a in attributes if a.kind is AttributeKind.TEXCOORD),
        frozenset(p.index for p in parameters if p.space is ParameterSpace.LOCAL),
        frozenset(p.index for p in parameters if p.space is ParameterSpace.ENV),
        any(a.kind is AttributeKind.POSITION for a in attributes),
    )


def _with_parts(values: Iterable[_Possible]) -> set[_Possible]:
    """The values, and all values that they are computed from."""
    found: set[_Possible] = set()
    left = list(values)
    while left:
        value = left.pop()
        if value not in found:
            found.add(value)
            left += value.parts
    return found
