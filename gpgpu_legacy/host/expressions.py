"""Expressions of the host's C, as Python code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpgpu_legacy.errors import hint
from gpgpu_legacy.host.library import CONSTANTS, SIGNATURES
from gpgpu_legacy.host.memory import HostError, Memory
from gpgpu_legacy.host.types import (
    ANY_STREAM,
    BY_CODE,
    DOUBLE,
    FLOAT,
    INT,
    SCALARS,
    TIMEVAL,
    ULONG,
    VOID,
    Array,
    Function,
    Pointer,
    Record,
    Scalar,
    Stream,
    Type,
    vector,
)
from gpgpu_legacy.host.values import (
    COMPARISONS,
    Place,
    Value,
    added,
    anchored,
    binary,
    converted,
    decayed,
    literal,
    loaded,
    settled,
    signed,
    stored,
    usual,
)
from gpgpu_legacy.languages.c import syntax as c

FUNCTIONS_AT = 1 << 60
"""The first of the numbers that stand for functions."""


class Expressions:
    """Compiles expressions in the scopes of one program.

    kernels: for each parameter of a kernel, whether it is written.
    """

    def __init__(
        self,
        unit: c.Unit,
        memory: Memory,
        kernels: Mapping[str, Sequence[bool]],
    ) -> None:
        self.unit, self.memory, self.kernels = unit, memory, kernels
        self.types: dict[str, Type] = {**SCALARS, "timeval": TIMEVAL, "timezone": TIMEVAL}
        self.scopes: list[dict[str, Place | Value]] = [
            {name: literal(number, kind) if isinstance(kind, Scalar) else Value(str(number), kind)
             for name, (kind, number) in CONSTANTS.items()}, {}
        ]  # fmt: skip
        self.functions: dict[str, tuple[str, Function]] = {}

    def at(self, node: Any, compile_: Callable[[Any], Any]) -> Any:
        """What the function makes of a node; its HostError is said with the node's place."""
        try:
            return compile_(node)
        except HostError as fault:
            raise self.unit.texts.error(str(fault), node.at) from None

    # Types --------------------------------------------------------------------------------------

    def shaped(
        self, name: c.TypeName, pointers: int = 0, dimensions: Sequence[c.Expression | None] = ()
    ) -> Type:
        """A type with its pointers and dimensions."""
        kind = self.types.get(name.name) or vector(name.name)
        if kind is None:
            advice = hint(name.name, self.types, "declare it")
            raise HostError(f"there is no type {name.name}; {advice}")
        for _ in range(pointers + name.pointers):
            kind = Pointer(kind)
        for dimension in reversed([*dimensions, *name.dimensions]):
            kind = Array(kind, self.constant(dimension) if dimension else 0)
        return kind

    def constant(self, e: c.Expression) -> int:
        """The number that an expression is."""
        number = converted(self.value(e), INT).constant
        if number is None:
            raise self.unit.texts.error("this must be known before the program runs", e.at)
        return int(number)

    def declared(self, d: c.Declaration, *, decays: bool = False) -> Type:
        """The type of what is declared. decays: an array is a pointer to its first element."""
        if d.prototype is not None:
            return Pointer(self.function(d.type, d.pointers, d.prototype))
        kind = self.shaped(d.type, d.pointers, d.dimensions[decays:])
        if decays:
            return Pointer(kind) if d.dimensions else decayed(Value("", kind)).type
        return kind

    def function(
        self, result: c.TypeName, pointers: int, parameters: Sequence[c.Declaration]
    ) -> Function:
        """The type of a function."""
        return Function(self.shaped(result, pointers), tuple(map(self.parameter, parameters)))

    def parameter(self, d: c.Declaration) -> Type:
        """The type of a parameter."""
        return self.declared(d, decays=True) if d.stream is None else Stream(d.type.name)

    # Values and places ----------------------------------------------------------------------------

    def value(self, e: c.Expression) -> Value:
        """The value of an expression."""
        value: Value = self.at(e, getattr(self, f"_{type(e).__name__.lower()}", self._held))
        return value

    def place(self, e: c.Expression) -> Place:
        """The place that an expression names."""
        place = self.at(e, self._place)
        if not isinstance(place, Place):
            raise self.unit.texts.error("this cannot be assigned to; name a variable", e.at)
        return place

    def condition(self, e: c.Expression) -> str:
        """The code of an expression's truth."""
        match e:
            case c.Binary(operator="&&" | "||"):
                word = "and" if e.operator == "&&" else "or"
                return f"({self.condition(e.left)} {word} {self.condition(e.right)})"
            case c.Unary(operator="!"):
                return f"(not {self.condition(e.operand)})"
        value = self.value(e)
        if not isinstance(value.type, Scalar | Pointer):
            raise self.unit.texts.error(f"a {value.type} is neither true nor false", e.at)
        is_truth = isinstance(e, c.Binary) and e.operator in COMPARISONS
        return settled(value) if is_truth else f"({settled(value)} != 0)"

    def _held(self, e: c.Expression) -> Value:
        place = self._place(e)
        if place is None:
            raise HostError("this has no value here")
        return decayed(loaded(place)) if isinstance(place, Place) else place

    def _place(self, e: c.Expression) -> Any:  # noqa: PLR0911
        match e:
            case c.Name():
                for scope in reversed(self.scopes):
                    if e.name in scope:
                        return scope[e.name]
                if e.name in self.functions:
                    number = FUNCTIONS_AT + [*self.functions].index(e.name)
                    return Place(str(number), self.functions[e.name][1])
                names = {*self.functions, *self.kernels, *SIGNATURES}.union(*self.scopes)
                raise HostError(f"there is no {e.name}; {hint(e.name, names, 'declare it')}")
            case c.String():
                text = Array(SCALARS["char"], len(e.value) + 1)
                return Place(str(self.memory.literal(e.value)), text)
            case c.Unary(operator="*"):
                return self._target(self.value(e.operand))
            case c.Index():
                return self._target(binary("+", self.value(e.base), self.value(e.index)))
            case c.Member():
                base = self._target(self.value(e.base)) if e.arrow else self._place(e.base)
                if isinstance(base, Place):
                    field, offset = self._field(e, base.type)
                    return Place(added(base.code, "+", offset), field)
        return None

    @staticmethod
    def _target(pointer: Value) -> Place:
        if isinstance(pointer.type, Stream):
            return Place(pointer.code, pointer.type, is_local=True)
        if not isinstance(pointer.type, Pointer):
            raise HostError(f"a {pointer.type} is no pointer")
        return Place(settled(pointer), pointer.type.target)

    @staticmethod
    def _field(e: c.Member, kind: Type) -> tuple[Type, int]:
        """The type and offset of a member."""
        name, fields = e.name, kind.fields if isinstance(kind, Record) else {}
        if name not in fields:
            advice = hint(name, fields, "" if fields else "it is no struct")
            raise HostError(f"a {kind} has no member {name}; {advice}")
        return fields[name]

    def _member(self, e: c.Member) -> Value:
        place = self._place(e)
        if place is not None:
            return decayed(loaded(place))
        base = self.value(e.base)
        kind, offset = self._field(e, base.type)
        if not isinstance(kind, Scalar | Pointer):
            raise HostError("the struct has no name; store it in a variable first")
        return Value(f"unpack_from('={kind.code}', {base.code}, {offset})[0]", kind)

    # Kinds of expressions -------------------------------------------------------------------------

    @staticmethod
    def _number(e: c.Number) -> Value:
        if isinstance(e.value, float):
            return literal(e.value, FLOAT if "f" in e.suffix else DOUBLE)
        bits, unsigned = e.value.bit_length(), "u" in e.suffix
        is_long = "l" in e.suffix or bits > 32
        return literal(e.value, BY_CODE["iIqQ"[2 * is_long + (unsigned or bits in {32, 64})]])

    def _unary(self, e: c.Unary) -> Value:
        match e.operator:
            case "*":
                return self._held(e)
            case "&":
                place = self._place(e.operand)
                if isinstance(place, Place):
                    return Value(place.code, place.type if place.is_local else Pointer(place.type))
                raise HostError("this has no address; name a variable")
            case "!":
                return Value(self.condition(e), INT)
            case "++" | "--":
                return self._assign(c.Assign(f"{e.operator[0]}=", e.operand, c.Number(1), e.at))
        return signed(e.operator, self.value(e.operand))

    def _postfix(self, e: c.Postfix) -> Value:
        first, again = anchored(self.place(e.operand))
        old = loaded(first)
        if not isinstance(old.type, Scalar | Pointer):
            raise HostError(f"there is no {e.operator} of a {old.type}")
        new = converted(binary(e.operator[0], loaded(again), literal(1, INT)), first.type)
        return replace(old, code=f"({settled(old)}, {stored(again, new)})[0]")

    def _binary(self, e: c.Binary) -> Value:
        if e.operator in {"&&", "||"}:
            return Value(self.condition(e), INT)
        return binary(e.operator, self.value(e.left), self.value(e.right))

    def _conditional(self, e: c.Conditional) -> Value:
        yes, no = self.value(e.yes), self.value(e.no)
        kind = no.type if isinstance(yes.type, Scalar) else yes.type
        if isinstance(yes.type, Scalar) and isinstance(no.type, Scalar):
            kind = usual(yes.type, no.type)
        a, b = (settled(converted(one, kind)) for one in (yes, no))
        return Value(f"({a} if {self.condition(e.condition)} else {b})", kind)

    def _comma(self, e: c.Comma) -> Value:
        values = [self.value(item) for item in e.items]
        code = f"({', '.join(map(settled, values))})[-1]"
        return Value(code, values[-1].type)

    def _assign(self, e: c.Assign) -> Value:
        place, value = self.assignment(e)
        return Value(stored(place, value), place.type)

    def assignment(self, e: c.Assign) -> tuple[Place, Value]:
        """Where an assignment stores, and what."""
        place = self.place(e.target)
        if e.operator == "=":
            return place, converted(self.value(e.value), place.type)
        first, again = anchored(place)
        value = self.at(e, lambda e: binary(e.operator[:-1], loaded(first), self.value(e.value)))
        return again, converted(value, place.type)

    def _cast(self, e: c.Cast) -> Value:
        return converted(self.value(e.operand), self.shaped(e.type), cast=True)

    def _sizeof(self, e: c.SizeOf) -> Value:
        if isinstance(e.operand, c.TypeName):
            size = self.shaped(e.operand).size
        else:
            size = (self._place(e.operand) or self.value(e.operand)).type.size
        return literal(size, ULONG)

    # Calls --------------------------------------------------------------------------------------

    def _call(self, e: c.Call) -> Value:
        function = e.function
        if isinstance(function, c.TypeName):
            return self._constructed(function, e.arguments)
        if isinstance(function, c.Member) and function.name == "domain":
            stream, *corners = [self.value(one) for one in (function.base, *e.arguments)]
            code = ", ".join((stream.code, *map(self.plain, corners)))
            return Value(f"stream_domain({code})", stream.type)
        name = function.name if isinstance(function, c.Name) else ""
        letters = SIGNATURES.get(name)
        if name in self.kernels:
            return self._kernel(name, e)
        if name in self.functions:
            code, of = self.functions[name]
            return Value(self._called(e, code, of.parameters), of.result)
        if letters is None:
            pointer = self.value(function)
            kind = getattr(pointer.type, "target", None)
            if not isinstance(kind, Function):
                raise HostError(f"this is no function: {pointer.type}")
            code = f"function({settled(pointer)})"
            return Value(self._called(e, code, kind.parameters), kind.result)
        given = letters[1:].rstrip(".")
        kinds = [_LETTERS.get(letter) for letter in given]
        if letters[-1] == ".":
            kinds += [None for _ in e.arguments[len(given) :]]
        code = self._called(e, f"{name}_", kinds, given)
        return Value(code, _LETTERS[letters[0]], letters[0] != "f")

    def _called(self, e: c.Call, code: str, kinds: Sequence[Type | None], letters: str = "") -> str:
        if len(kinds) != len(e.arguments):
            raise HostError(f"this takes {len(kinds)} arguments, not {len(e.arguments)}")
        codes = []
        for one, kind, letter in zip(e.arguments, kinds, letters.ljust(len(kinds)), strict=True):
            if letter == "n":  # the name of an operation
                codes.append(repr(getattr(one, "name", "")))
                continue
            value = self.value(one)
            if kind is None and isinstance(value.type, Record | Stream):
                raise self.unit.texts.error(f"a {value.type} cannot be given here", one.at)
            given = settled(value if kind is None else converted(value, kind))
            codes.append(f"{_TAKEN.get(letter, '')}({given})")
        return f"{code}({', '.join(codes)})"

    def _constructed(self, name: c.TypeName, arguments: Sequence[c.Expression]) -> Value:
        kind, values = self.shaped(name), [self.value(one) for one in arguments]
        if len(values) == 1:
            return converted(values[0], kind, cast=True)
        if not isinstance(kind, Record) or not kind.lanes or len(values) != len(kind.fields):
            raise HostError(f"a {kind} cannot be made of {len(values)} values")
        lanes = ", ".join(settled(converted(value, kind.lanes)) for value in values)
        return Value(f"pack({kind.form!r}, {lanes})", kind)

    @staticmethod
    def plain(value: Value) -> str:
        """The code of a number, a stream, or the tuple of a vector's numbers."""
        if isinstance(value.type, Record) and value.type.lanes:
            return f"unpack({value.type.form!r}, {value.code})"
        return settled(value)

    def _kernel(self, name: str, e: c.Call) -> Value:
        """A kernel's call. A reduction's result that is no stream is stored in a variable."""
        written, codes = self.kernels[name], [repr(name)]
        place: Place | None = None
        if len(e.arguments) != len(written):
            raise HostError(f"{name} takes {len(written)} arguments, not {len(e.arguments)}")
        for one, is_result in zip(e.arguments, written, strict=True):
            value = self.value(one)
            if is_result and not isinstance(value.type, Stream):
                place = self.place(one)
            codes.append("None" if place and is_result else self.plain(value))
        code = f"kernel({', '.join(codes)})"
        if place is None:
            return Value(code, VOID)
        kind = place.type
        if isinstance(kind, Record) and kind.lanes:
            code = f"pack({kind.form!r}, *{code})"
        return Value(stored(place, Value(code, kind)), VOID)


_TAKEN = {"s": "string", "F": "function"}
"""What takes from memory what an argument leads to."""

_FLOAT4 = vector("float4")
assert _FLOAT4
_LETTERS: dict[str, Type] = {
    **BY_CODE, "P": Pointer(VOID), "s": Pointer(SCALARS["char"]), "v": VOID, "4": _FLOAT4,
    "F": Pointer(VOID), "S": ANY_STREAM,
}  # fmt: skip
