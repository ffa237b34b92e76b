"""Expressions of a kernel: from nodes of the syntax tree to the IR, with GLSL's types."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gpgpu_legacy.errors import AssemblyError
from gpgpu_legacy.isa.ir import Span
from gpgpu_legacy.kernel.ir import (
    Binary,
    BuiltIn,
    BuiltInComponent,
    Component,
    Convert,
    Element,
    Expression,
    Literal,
    Select,
    SharedArray,
    Space,
    StorageBuffer,
    Type,
    Unary,
    Uniform,
    Variable,
    Vector,
)
from gpgpu_legacy.kernel.limits import DEEPEST, MOST_NODES, TOO_DEEP, nodes_and_levels
from gpgpu_legacy.languages.c import syntax as c
from gpgpu_legacy.languages.diagnostics import meant

Symbol = Variable | Uniform | Literal | StorageBuffer | SharedArray
"""The things that a name can mean."""

TYPES = {kind.value: kind for kind in Type} | {"float4": Type.VEC4}
"""The types by their names in the syntax tree."""

_WIDENING = (Type.INT, Type.UINT, Type.FLOAT, Type.DOUBLE)  # GLSL 4.3, section 4.1.10
_SUFFIXES = {"u": Type.UINT, "f": Type.FLOAT, "lf": Type.DOUBLE}
_FOLD: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_AXES = "xyz"
_COMPONENTS = "xyzw"
_INVARIANT = "gl_WorkGroupSize"


def integer_literal(kind: Type, value: int) -> Literal:
    """The literal of a number's 32 bits: 4294967295 is -1 as an int."""
    half = 2**31 if kind is Type.INT else 0
    return Literal(kind, (value + half) % 2**32 - half)


class ExpressionReader:
    """Reads expressions and counts their nodes, with the types that GLSL gives values.

    texts: of the kernel. local_size: of a work group.
    """

    def __init__(self, texts: c.Texts) -> None:
        """Without a name or a node yet, in work groups of one invocation."""
        self.texts = texts
        self.local_size = (1, 1)
        self.nodes = 0
        self._scopes: list[dict[str, Symbol]] = [{}]
        self._names: set[str] = set()

    # Names ----------------------------------------------------------------------------------------

    def error(self, problem: str, at: Span, expected: str = "") -> AssemblyError:
        """The error for a problem at that place."""
        return self.texts.error(problem, at, expected)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """A scope of its own for declarations while the block runs."""
        self._scopes.append({})
        yield
        self._scopes.pop()

    def declare(self, name: str, symbol: Symbol, at: Span) -> None:
        """Declare a name for a symbol in the innermost scope, where it must be new."""
        if name in self._scopes[-1]:
            raise self.error(f"{name} is declared twice in one scope", at, "give it another name")
        self._scopes[-1][name] = symbol

    def variable(self, name: str, kind: Type, at: Span) -> Variable:
        """A new private variable, renamed if another scope has a variable of that name."""
        own, number = name, 1
        while own in self._names:
            number += 1
            own = f"{name}_{number}"
        self._names.add(own)
        variable = Variable(kind, own)
        self.declare(name, variable, at)
        return variable

    def find(self, name: c.Name) -> Symbol:
        """The symbol that a name means here."""
        for scope in reversed(self._scopes):
            if name.name in scope:
                return scope[name.name]
        known = (known for scope in self._scopes for known in scope)
        expected = meant(name.name, known) or "declare it first"
        raise self.error(f"{name.name} is not declared", name.at, expected)

    # Constants ------------------------------------------------------------------------------------

    def folded(self, expression: Expression, at: Span) -> Literal:
        """The value of a constant expression."""
        match expression:
            case Literal():
                return expression
            case Convert(type=kind, operand=operand):
                return self.literal(kind, self.folded(operand, at).value, at)
            case Binary(type=kind, operator=operator, left=left, right=right) if operator in _FOLD:
                operands = self.folded(left, at).value, self.folded(right, at).value
                return self.literal(kind, _FOLD[operator](*operands), at)
        expected = "expected literals and constants joined by +, - and *"
        raise self.error("this is no constant", at, expected)

    def literal(self, kind: Type, value: float, at: Span) -> Literal:
        """The literal of a type for a constant's value, which an integer's 32 bits must hold."""
        if not kind.is_integer:
            return Literal(kind, float(value))
        if not abs(value) < 2**32:
            raise self.error("a constant has more than 32 bits", at, "give a smaller one")
        return integer_literal(kind, int(value))

    def number(self, x: c.Number) -> Literal:
        """The number of a literal; an integer may use all 32 bits."""
        is_integer = isinstance(x.value, int)
        kind = _SUFFIXES.get(x.suffix, Type.INT if is_integer else Type.FLOAT)
        if kind.is_integer is not is_integer:
            raise self.error(f"no number ends with {x.suffix}", x.at, "an integer may, with u")
        return self.literal(kind, x.value, x.at)

    # Operators and conversions --------------------------------------------------------------------

    def binary(self, operator: str, left: Expression, right: Expression, at: Span) -> Expression:
        """An operator on operands that are converted to a common type."""
        if operator not in (*"+-*/%", *_COMPARISONS):
            raise self.error(f"kernels have no {operator}", at, "use arithmetic")
        left, right = self.balance(left, right, at)
        if operator == "%" and not left.type.is_integer:
            raise self.error("% needs integers", at, "as in int(a) % 2")
        compares = operator in _COMPARISONS
        if left.type is Type.BOOL or (compares and left.type is Type.VEC4):
            problem = f"{operator} does not apply to {left.type.value}"
            raise self.error(problem, at, "convert the operands first")
        return Binary(Type.BOOL if compares else left.type, operator, left, right)

    def balance(
        self, left: Expression, right: Expression, at: Span
    ) -> tuple[Expression, Expression]:
        """Both operands converted to their common type."""
        if left.type is right.type:
            return left, right
        if Type.VEC4 in (left.type, right.type):
            return self.spread(left, at), self.spread(right, at)
        if Type.BOOL in (left.type, right.type):
            problem = "an operator cannot combine a bool with a number"
            raise self.error(problem, at, "convert one, as in float(b)")
        wider = max(left.type, right.type, key=_WIDENING.index)
        return self.convert(left, wider, at), self.convert(right, wider, at)

    def spread(self, value: Expression, at: Span) -> Expression:
        """The value as a vec4; a scalar is all of its components."""
        if value.type is Type.VEC4:
            return value
        scalar = self.convert(value, Type.FLOAT, at)
        return Vector((scalar, scalar, scalar, scalar))

    def convert(self, value: Expression, kind: Type, at: Span) -> Expression:
        """GLSL's implicit conversion. A conversion that can lose information must be explicit."""
        if value.type is kind:
            return value
        if value.type not in _WIDENING or kind not in _WIDENING[_WIDENING.index(value.type) :]:
            problem = f"a {value.type.value} does not convert to {kind.value} implicitly"
            raise self.error(problem, at, f"write {kind.value}(…)")
        return (
            self.literal(kind, value.value, at)
            if isinstance(value, Literal)
            else Convert(kind, value)
        )

    # Limits ---------------------------------------------------------------------------------------

    def whole(self, x: c.Expression) -> Expression:
        """A whole expression, within the limits."""
        return self.limited(self.expression(x), x.at)

    def limited(self, expression: Expression, at: Span) -> Expression:
        """The expression, if it is within the limits."""
        nodes, levels = nodes_and_levels(expression)
        if levels > DEEPEST:
            raise self.error(TOO_DEEP, at)
        self.count(nodes, at)
        return expression

    def count(self, nodes: int, at: Span) -> None:
        """Count more nodes of the kernel."""
        self.nodes += nodes
        if self.nodes > MOST_NODES:
            problem = f"the kernel has more than {MOST_NODES} operations up to here"
            raise self.error(problem, at, "split it")

    # Expressions ----------------------------------------------------------------------------------

    def expression(self, x: c.Expression) -> Expression:  # noqa: PLR0911, PLR0912 - a kind each
        """The expression of a node of the syntax tree."""
        match x:
            case c.Name(name="true" | "false"):
                return Literal(Type.BOOL, x.name == "true")
            case c.Name():
                symbol = self.find(x)
                if isinstance(symbol, StorageBuffer | SharedArray):
                    problem = f"{x.name} is an array"
                    raise self.error(problem, x.at, f"name an element, as in {x.name}[0]")
                return symbol
            case c.Number():
                return self.number(x)
            case c.Call(function=c.TypeName(name=name)) if name in TYPES:
                return self.construct(TYPES[name], x)
            case c.Index():
                return self.element(x, is_read=True, is_written=False)
            case c.Member(base=c.Name(name=name), arrow=False) if name.startswith("gl_"):
                return self.built_in(name, x)
            case c.Member():
                vector = self.expression(x.base)
                if vector.type is not Type.VEC4 or x.arrow or x.name not in [*_COMPONENTS]:
                    problem = f"a {vector.type.value} has no .{x.name}"
                    raise self.error(problem, x.at, "a vec4 has .x, .y, .z and .w")
                return Component(vector, _COMPONENTS.index(x.name))
            case c.Unary(operator="!"):
                return Unary(Type.BOOL, "!", self.condition(x.operand))
            case c.Unary(operator="+"):
                return self.expression(x.operand)
            case c.Unary(operator="-"):
                operand = self.expression(x.operand)
                return Unary(operand.type, "-", operand)
            case c.Conditional():
                sides = self.expression(x.yes), self.expression(x.no)
                yes, no = self.balance(*sides, x.at)
                return Select(yes.type, self.condition(x.condition), yes, no)
            case c.Binary(operator="&&" | "||"):
                sides = self.condition(x.left), self.condition(x.right)
                return Binary(Type.BOOL, x.operator, *sides)
            case c.Binary():
                sides = self.expression(x.left), self.expression(x.right)
                return self.binary(x.operator, *sides, x.at)
            case c.Call(function=c.Name(name=name)):
                expected = "kernels have operators and constructors"
                raise self.error(f"there is no function {name}", x.at, expected)
        raise self.error("this has no value in a kernel", x.at, "expected a number or a condition")

    def condition(self, x: c.Expression) -> Expression:
        """An expression that must be a bool."""
        condition = self.expression(x)
        if condition.type is not Type.BOOL:
            problem = f"the condition has type {condition.type.value}"
            raise self.error(problem, x.at, "it must be bool")
        return condition

    def construct(self, kind: Type, call: c.Call) -> Expression:
        parts = [self.expression(argument) for argument in call.arguments]
        if len(parts) not in ((1, 4) if kind is Type.VEC4 else (1,)):
            takes = "one value or four" if kind is Type.VEC4 else "one value"
            problem = f"{kind.value}() takes {takes}, found {len(parts)}"
            raise self.error(problem, call.at)
        if kind is not Type.VEC4:
            return parts[0] if parts[0].type is kind else Convert(kind, parts[0])
        x, y, z, w = (self.convert(p, Type.FLOAT, call.at) for p in parts * (4 // len(parts)))
        return Vector((x, y, z, w))

    def element(self, x: c.Index, *, is_read: bool, is_written: bool) -> Element:
        """An element of an array, which its access qualifiers must allow (GLSL 4.3, 4.10)."""
        indices: list[Expression] = []
        base: c.Expression | c.TypeName = x
        while isinstance(base, c.Index):
            index = self.expression(base.index)
            if not index.type.is_integer:
                problem = f"the index has type {index.type.value}"
                raise self.error(problem, base.index.at, "it must be int or uint")
            indices.insert(0, index)
            base = base.base
        symbol = self.find(base) if isinstance(base, c.Name) else None
        if not isinstance(symbol, StorageBuffer | SharedArray):
            problem = f"{base.name if isinstance(base, c.Name) else 'this'} is not an array"
            raise self.error(problem, base.at, "leave the index out")
        name = symbol.name
        dimensions = 1 if isinstance(symbol, StorageBuffer) else len(symbol.extents)
        if len(indices) != dimensions:
            problem = f"{name} takes {dimensions} {'index' if dimensions == 1 else 'indices'}"
            raise self.error(f"{problem}, found {len(indices)}", base.at)
        if isinstance(symbol, SharedArray):
            return Element(symbol.type, Space.SHARED, name, tuple(indices), base.at.line)
        if is_written and not symbol.is_written:
            expected = "store to another buffer, or leave readonly out"
            raise self.error(f"{name} is readonly", base.at, expected)
        if is_read and not symbol.is_read:
            expected = "load from another buffer, or leave writeonly out"
            raise self.error(f"{name} is writeonly", base.at, expected)
        return Element(Type.FLOAT, Space.BUFFER, name, tuple(indices), base.at.line)

    def built_in(self, name: str, x: c.Member) -> Expression:
        names = {built_in.value: built_in for built_in in BuiltIn}
        if x.name not in [*_AXES]:
            raise self.error(f"{name} has no component .{x.name}", x.at, "it has .x, .y and .z")
        if name == _INVARIANT:
            return Literal(Type.UINT, (*self.local_size, 1)[_AXES.index(x.name)])
        if name not in names:
            expected = f"use {', '.join(names)} or {_INVARIANT}"
            raise self.error(f"{name} is not supported", x.base.at, expected)
        return BuiltInComponent(names[name], _AXES.index(x.name))
