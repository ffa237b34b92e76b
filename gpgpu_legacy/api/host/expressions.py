"""Expressions of the host's C, as Python code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpgpu_legacy.api.host.memory import MOST_BYTES, HostError, ProgramMemory, in_words
from gpgpu_legacy.api.host.streams import COMBINATIONS
from gpgpu_legacy.api.host.values import (
    BY_CODE,
    COMPARISONS,
    DOUBLE,
    FLOAT,
    INT,
    KERNEL,
    LONG,
    SCALARS,
    ULONG,
    VECTORS,
    VOID,
    CArray,
    CFunction,
    CScalar,
    CStruct,
    Lvalue,
    Pointer,
    StreamType,
    Type,
    Value,
    added,
    anchored,
    binary,
    converted,
    element,
    folded,
    fresh,
    literal,
    loaded,
    pointer,
    settled,
    signed,
    stored,
    usual,
)
from gpgpu_legacy.errors import GpgpuLegacyError, hint
from gpgpu_legacy.languages.c import syntax as c


@dataclass(eq=False)
class ExpressionCompiler:
    """Compiles expressions in the scopes of one program.

    kernels: for each parameter of a kernel, whether it is written.
    """

    unit: c.Unit
    memory: ProgramMemory
    kernels: Mapping[str, Sequence[bool]]

    def __post_init__(self) -> None:
        self.error = self.unit.texts.error
        self.types: dict[str, Type] = {**SCALARS, **VECTORS, "string": KERNEL}
        self.scopes: list[dict[str, Lvalue | Value]] = [
            {
                name: Value(repr(name), KERNEL, constant=name)
                for name in (*self.kernels, *COMBINATIONS)
            }
        ]
        self.functions, self.named = dict[str, Lvalue](), set[str]()
        self.objects: list[str] | None = None  # in a function, their names; else None

    def at(self, node: Any, compile_: Callable[[Any], Any]) -> Any:
        """Compile a node with a function, whose errors get the place of the node."""
        try:
            return compile_(node)
        except (GpgpuLegacyError, MemoryError):
            raise
        except Exception as fault:
            raise self.error(in_words(fault), node.at) from fault

    # Types --------------------------------------------------------------------------------------

    def shaped(
        self, name: c.TypeName, pointers: int = 0, dimensions: Sequence[c.Expression | None] = ()
    ) -> Type:
        """A type with its pointers and dimensions."""
        kind = self.types.get(name.name)
        if kind is None:
            advice = hint(name.name, self.types, "declare it")
            raise HostError(f"there is no type {name.name}; {advice}")
        for _ in range(pointers):
            kind = Pointer(kind)
        for dimension in reversed(dimensions):
            kind = self.sized(CArray(kind, self.constant(dimension) if dimension else 0))
        return kind

    def sized(self, kind: Type) -> Type:
        """The type; HostError if a program has no room for an object of it."""
        if not 0 <= kind.size <= MOST_BYTES:
            raise HostError(f"{kind} has {kind.size} bytes; at most {MOST_BYTES} are there")
        return kind

    def new(self, kind: Type) -> str:
        """The code of the address of a new object."""
        if self.objects is None:
            return str(self.memory.new(kind.size))
        name = fresh()
        self.objects.append(name)
        return f"({name} := {name} or new({kind.size}))"

    def constant(self, e: c.Expression) -> int:
        """The value of a constant expression; an error for any other."""
        number = converted(self.value(e), LONG).constant
        if number is None:
            raise self.error("this must be known before the program runs", e.at)
        return int(number)

    def declared(self, d: c.Declaration, *, decays: bool = False) -> Type:
        """The type of a declaration. decays: whether an array becomes a pointer to its start."""
        if d.prototype is not None:
            return Pointer(self.function(d.type, d.pointers, d.prototype))
        kind = self.shaped(d.type, d.pointers, d.dimensions[decays:])
        if decays and d.dimensions:
            return Pointer(kind)
        return Pointer(kind.element) if decays and isinstance(kind, CArray) else kind

    def function(
        self, result: c.TypeName, pointers: int, parameters: Sequence[c.Declaration]
    ) -> CFunction:
        """The type of a function."""
        return CFunction(self.shaped(result, pointers), tuple(map(self.parameter, parameters)))

    def parameter(self, d: c.Declaration) -> Type:
        """The type of a parameter."""
        return self.declared(d, decays=True) if d.stream is None else StreamType(d.type.name)

    # Values and places ----------------------------------------------------------------------------

    def value(self, e: c.Expression) -> Value:
        """The value of an expression."""
        return loaded(self.resolved(e))

    def resolved(self, e: c.Expression) -> Lvalue | Value:
        """The place that an expression names, or its value."""
        place: Lvalue | Value = self.at(e, getattr(self, f"_{type(e).__name__.lower()}"))
        return place

    def place(self, e: c.Expression) -> Lvalue:
        """The place that an expression names; an error if it cannot be assigned to."""
        place = self.resolved(e)
        if not isinstance(place, Lvalue) or place.constant is not None:
            raise self.error("this cannot be assigned to; name a variable", e.at)
        return place

    def truth(self, e: c.Expression) -> Value:
        """An expression as a condition: its code is true or false in Python."""
        match e:
            case c.Binary(operator="&&" | "||"):
                word = "and" if e.operator == "&&" else "or"
                a, b = self.truth(e.left), self.truth(e.right)
                return folded(Value(f"({a.code} {word} {b.code})", INT), a, b)
            case c.Unary(operator="!"):
                a = self.truth(e.operand)
                return folded(Value(f"(not {a.code})", INT), a)
        value = self.value(e)
        if not isinstance(value.type, CScalar | Pointer):
            raise self.error(f"a {value.type} is neither true nor false", e.at)
        is_truth = isinstance(e, c.Binary) and e.operator in COMPARISONS
        return value if is_truth else folded(Value(f"({settled(value)} != 0)", INT), value)

    # Kinds of expressions -------------------------------------------------------------------------

    def _name(self, e: c.Name) -> Lvalue | Value:
        for scope in reversed(self.scopes):
            if e.name in scope:
                return scope[e.name]
        if e.name in self.functions:
            self.named.add(e.name)
            return self.functions[e.name]
        names = {*self.functions}.union(*self.scopes)
        raise HostError(f"there is no {e.name}; {hint(e.name, names, 'declare it')}")

    def _string(self, e: c.String) -> Lvalue:
        text = CArray(SCALARS["char"], len(e.value) + 1)
        return Lvalue(str(self.memory.literal(e.value)), text)

    def _index(self, e: c.Index) -> Lvalue:
        return self._target(element(self.resolved(e.base), self.value(e.index)))

    @staticmethod
    def _target(pointer: Value) -> Lvalue:
        if isinstance(pointer.type, StreamType):
            return Lvalue(pointer.code, pointer.type, is_local=True)
        if not isinstance(pointer.type, Pointer):
            raise HostError(f"a {pointer.type} is no pointer")
        code, target = settled(pointer), pointer.type.target
        if isinstance(target, CFunction):
            code = f"functions[{code}, {target.signature!r}]"
        return Lvalue(code, target)

    def _member(self, e: c.Member) -> Lvalue:
        base = self._target(self.value(e.base)) if e.arrow else self.resolved(e.base)
        if isinstance(base, Value):
            base = Lvalue(base.code, base.type)
        name, fields = e.name, base.type.fields if isinstance(base.type, CStruct) else {}
        if name not in fields:
            advice = hint(name, fields, "" if fields else "it is no struct")
            raise HostError(f"a {base.type} has no member {name}; {advice}")
        kind, offset = fields[name]
        return Lvalue(added(base.code, offset), kind)

    @staticmethod
    def _braces(e: c.Braces) -> Value:
        raise HostError("this has no value here")

    @staticmethod
    def _number(e: c.Number) -> Value:
        if isinstance(e.value, float):
            return literal(e.value, FLOAT if "f" in e.suffix else DOUBLE)
        is_unsigned = "u" in e.suffix.lower()
        bits = e.value.bit_length() + (not is_unsigned)
        if bits > 64:
            raise HostError("this integer has more than 64 bits")
        return literal(e.value, BY_CODE["iIqQ"[2 * ("l" in e.suffix or bits > 32) + is_unsigned]])

    def _unary(self, e: c.Unary) -> Lvalue | Value:
        match e.operator:
            case "*":
                return self._target(self.value(e.operand))
            case "&":
                place = self.resolved(e.operand)
                if isinstance(place.type, CFunction):
                    return loaded(place)
                if isinstance(place, Lvalue):
                    return Value(place.code, place.type) if place.is_local else pointer(place)
                raise HostError("this has no address; name a variable")
            case "!":
                return self.truth(e)
        return signed(e.operator, self.value(e.operand))

    def _postfix(self, e: c.Postfix) -> Value:
        first, again = anchored(self.place(e.assignment.target))
        old = loaded(first)
        new = converted(
            binary(e.assignment.operator[0], loaded(again), literal(1, INT)), first.type
        )
        return replace(old, code=f"({settled(old)}, {stored(again, new)})[0]")

    def _binary(self, e: c.Binary) -> Value:
        if e.operator in {"&&", "||"}:
            return self.truth(e)
        return binary(e.operator, self.value(e.left), self.value(e.right))

    def _conditional(self, e: c.Conditional) -> Value:
        yes, no = self.value(e.yes), self.value(e.no)
        kind, other = yes.type, no.type
        if isinstance(kind, CScalar):
            kind = usual(kind, other) if isinstance(other, CScalar) else other
        a, b = (converted(one, kind) for one in (yes, no))
        truth = self.truth(e.condition)
        code = f"({settled(a)} if {truth.code} else {settled(b)})"
        return folded(Value(code, kind), truth, a, b)

    def _comma(self, e: c.Comma) -> Value:
        values = [self.value(item) for item in e.items]
        code = f"({', '.join(map(settled, values))})[-1]"
        return Value(code, values[-1].type)

    def _assign(self, e: c.Assign) -> Value:
        place, value = self.assignment(e)
        return Value(stored(place, value), place.type)

    def assignment(self, e: c.Assign) -> tuple[Lvalue, Value]:
        """The place of an assignment, and the value that it stores there."""
        place = self.place(e.target)
        if e.operator == "=":
            return place, converted(self.value(e.value), place.type)
        first, again = anchored(place)
        value = self.at(e, lambda e: binary(e.operator[:-1], loaded(first), self.value(e.value)))
        return again, converted(value, place.type)

    def _cast(self, e: c.Cast) -> Value:
        return converted(self.value(e.operand), self.declared(e.type), cast=True)

    def _sizeof(self, e: c.SizeOf) -> Value:
        of = e.operand
        kind = self.declared(of) if isinstance(of, c.Declaration) else self.resolved(of).type
        return literal(kind.size, ULONG)

    # Calls --------------------------------------------------------------------------------------

    def _call(self, e: c.Call) -> Value:
        function = e.function
        if isinstance(function, c.TypeName):
            return self._constructed(function, e.arguments)
        if isinstance(function, c.Member) and function.name == "domain":
            stream, *corners = [self.value(one) for one in (function.base, *e.arguments)]
            code = ", ".join((stream.code, *(self.plain(corner, LONG) for corner in corners)))
            return Value(f"stream_domain({code})", stream.type)
        callee = self.resolved(function)
        if callee.type == KERNEL:
            return self._kernel(callee.constant, e)
        if isinstance(loaded(callee).type, Pointer):
            callee = self._target(loaded(callee))
        of = callee.type
        if not isinstance(of, CFunction):
            raise HostError(f"this is no function: {of}")
        kinds: list[Type | None] = [*of.parameters]
        if kinds[-1:] == [VOID]:
            kinds[-1:] = [None] * (len(e.arguments) + 1 - len(kinds))
        if len(kinds) != len(e.arguments):
            raise HostError(f"this takes {len(kinds)} arguments, not {len(e.arguments)}")
        given = ", ".join(map(self._given, e.arguments, kinds))
        return self._kept(f"{callee.code}({given})", of.result)

    def _kept(self, code: str, kind: Type) -> Value:
        """A value of this code. The code of a struct gives bytes, which a new object stores."""
        if isinstance(kind, CStruct):
            code = f"write({code}, {self.new(kind)})"
        return Value(code, kind)

    def _given(self, e: c.Expression, kind: Type | None) -> str:
        """The code of an argument. kind: None for any number or pointer."""
        value = self.value(e)
        if kind is None and not isinstance(value.type, CScalar | Pointer):
            raise self.error(f"a {value.type} cannot be given here", e.at)
        return settled(value if kind is None else converted(value, kind))

    def _constructed(self, name: c.TypeName, arguments: Sequence[c.Expression]) -> Value:
        kind, values = self.shaped(name), [self.value(one) for one in arguments]
        if len(values) == 1:
            return converted(values[0], kind, cast=True)
        if not isinstance(kind, CStruct) or not kind.lanes or len(values) != len(kind.fields):
            raise HostError(f"a {kind} cannot be made of {len(values)} values")
        lanes = ", ".join(settled(converted(value, kind.lanes)) for value in values)
        return self._kept(f"pack({kind.form!r}, {lanes})", kind)

    @staticmethod
    def plain(value: Value, to: CScalar = FLOAT) -> str:
        """The code of a number, a stream, or the tuple of a vector's numbers."""
        kind = value.type
        if isinstance(kind, CStruct) and kind.lanes:
            return f"unpack({kind.form!r}, read({value.code}, {kind.size}))"
        return value.code if isinstance(kind, StreamType) else settled(converted(value, to))

    def _kernel(self, name: str, e: c.Call) -> Value:
        """A kernel's call. A reduction to a number or a vector stores it in a variable."""
        written, codes = self.kernels.get(name, ()), [repr(name)]
        place: Lvalue | None = None
        if len(e.arguments) != len(written):
            raise HostError(f"{name} takes {len(written)} arguments, not {len(e.arguments)}")
        for one, is_result in zip(e.arguments, written, strict=True):
            value = self.value(one)
            code = self.plain(value)
            if is_result and not isinstance(value.type, StreamType):
                place, code = self.place(one), "None"
            codes.append(code)
        code = f"kernel({', '.join(codes)})"
        if place is None:
            return Value(code, VOID)
        if isinstance(place.type, CStruct):
            return Value(f"write(pack({place.type.form!r}, *{code}), {place.code})", VOID)
        number = Value(code, FLOAT, is_exact=False)  # so that rounding it refuses a vector
        return Value(stored(place, converted(number, place.type)), VOID)
