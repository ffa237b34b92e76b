"""The kernels and reductions of a Brook text, and what each of their parameters stands for."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError, hint
from gpgpu_legacy.isa.program import Span
from gpgpu_legacy.languages.c.syntax import (
    Declaration,
    Declare,
    For,
    Function,
    Name,
    Struct,
    Typedef,
    Unit,
    walk,
)


@frozen
class ElementType:
    """The type of a stream's elements. fields: names and numbers of components, in order.

    A float type has one field without a name. Each field lies in a texture of its own.
    """

    name: str
    fields: tuple[tuple[str, int], ...]

    @property
    def components(self) -> int:
        """The numbers in an element."""
        return sum(components for _, components in self.fields)


FLOAT_TYPES = tuple(ElementType(f"float{n}" if n > 1 else "float", (("", n),)) for n in range(1, 5))
"""float to float4, by the number of components."""

FLOATS = {element.name: element for element in FLOAT_TYPES} | {"float1": FLOAT_TYPES[0]}
"""The float types by name."""


class ParameterRole(Enum):
    """What a parameter of a kernel stands for, in words."""

    STREAM = "a stream"
    ITERATOR = "an iterator"
    GATHER = "a stream to gather from"
    OUT = "a stream to write"
    REDUCE = "a stream to reduce to"
    NUMBER = "a number or a vector"


WRITTEN = {
    "reduce": ParameterRole.REDUCE,
    "out": ParameterRole.OUT,
    "iter": ParameterRole.ITERATOR,
}
"""The roles of parameters, by the qualifiers that give them."""


@frozen
class KernelParameter:
    """A parameter of a kernel. rank: the dimensions of a gather; 0 for the others."""

    name: str
    type: ElementType
    role: ParameterRole
    rank: int
    at: Span


@dataclass(frozen=True)
class BrookKernel:
    """A kernel, or a reduction if `reduces`. name: the text's name, a colon, and its own."""

    kernels: Kernels
    name: str
    reduces: bool
    function: Function = field(compare=False)
    parameters: tuple[KernelParameter, ...] = field(compare=False)

    @cached_property
    def loop_names(self) -> Set[str]:
        """The names in conditions of its loops, for which the compiler must know values."""
        loops = (node for node in walk(self.function.body) if isinstance(node, For))
        return {
            node.name for loop in loops for node in walk(loop.condition) if isinstance(node, Name)
        }

    def once(self) -> BrookKernel:
        """A reduction as a kernel: it combines each element of its result with one of the input."""
        return replace(self, reduces=False)

    def of(self, *roles: ParameterRole) -> tuple[KernelParameter, ...]:
        """The parameters of these roles, in order."""
        return tuple(p for p in self.parameters if p.role in roles)


class Kernels:
    """The kernels of a text."""

    def __init__(self, unit: Unit, profile: str = "") -> None:
        """unit: the whole text, host code included. profile: as in CompilerOptions."""
        self.unit, self.profile = unit, profile

    @cached_property
    def _structs(self) -> dict[str, Struct]:
        named = {item.name: item for item in self.unit.items if isinstance(item, Struct)}
        for item in self.unit.items:
            if isinstance(item, Typedef) and item.declaration.type.name in named:
                named[item.declaration.name] = named[item.declaration.type.name]
        return named

    @cached_property
    def device(self) -> Unit:
        """The part of the text that kernels may name, without the host's code and types."""
        items = [
            item
            for item in self.unit.items
            if item in self.functions.values()
            or (
                isinstance(item, Declare)
                and any("const" in d.type.qualifiers for d in item.declarations)
            )
            or (isinstance(item, Struct) and self._is_element(item.name))
            or (isinstance(item, Typedef) and self._is_element(item.declaration.type.name))
        ]
        return replace(self.unit, items=tuple(items))

    def _is_element(self, name: str) -> bool:
        try:
            self.type(name)
        except InputError:
            return False
        return True

    @cached_property
    def functions(self) -> dict[str, Function]:
        """The kernels and reductions by name."""
        kernels = dict[str, Function]()
        for function in self.unit.functions:
            if function.type.qualifiers & {"kernel", "reduce"}:
                if function.name in kernels:
                    problem = "a kernel of this name is above"
                    raise self.unit.texts.error(problem, function.at, "give each a name of its own")
                kernels[function.name] = function
        return kernels

    def find(self, name: str = "") -> BrookKernel:
        """The kernel of that name, or the text's only one; InputError if there is none."""
        if not name and len(self.functions) == 1:
            [name] = self.functions
        if name not in self.functions:
            advice = hint(name, self.functions, otherwise="" if self.functions else "write one")
            what = f"kernel {name}" if name else "single kernel"
            raise InputError(f"{self.unit.name} has no {what}; {advice}")
        function = self.functions[name]
        return BrookKernel(
            self, f"{self.unit.name}:{name}", "reduce" in function.type.qualifiers,
            function, tuple(map(self._parameter, function.parameters)),
        )  # fmt: skip

    def type(self, name: str, at: Span | None = None) -> ElementType:
        """The element type of that name: float to float4, or a struct; InputError for others."""
        if name in FLOATS:
            return FLOATS[name]
        if name in self._structs:
            return ElementType(name, tuple(self._fields(self._structs[name])))
        where = f"{self.unit.texts.file(at)}:{at.line}:{at.column}" if at else self.unit.name
        advice = hint(name, [*FLOATS, *self._structs], "expected float to float4, or a struct")
        raise InputError(f"{where}: a stream of {name}; {advice}")

    def _fields(self, struct: Struct) -> list[tuple[str, int]]:
        return [
            (f"{declared.name}{f'.{name}' if name else ''}", components)
            for declared in struct.fields
            for name, components in self.type(declared.type.name, declared.at).fields
        ]

    def _parameter(self, given: Declaration) -> KernelParameter:
        qualifiers = given.type.qualifiers
        rank = len(given.dimensions)
        role = ParameterRole.NUMBER if given.stream is None else ParameterRole.STREAM
        role = ParameterRole.GATHER if rank else role
        for word in qualifiers & WRITTEN.keys():
            role = WRITTEN[word]
        name = given.type.name
        if role is ParameterRole.NUMBER and name.startswith(
            ("int", "half", "fixed", "bool", "double")
        ):
            name = "float" + name.lstrip("abcdefghijklmnopqrstuvwxyz")
        return KernelParameter(given.name, self.type(name, given.at), role, rank, given.at)
