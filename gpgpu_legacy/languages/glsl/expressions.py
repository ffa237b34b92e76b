"""Expressions of a kernel, from nodes of the syntax tree to the IR, with GLSL's types."""

from __future__ import annotations

from collections import ChainMap
from itertools import combinations
from typing import TypeVar

from gpgpu_legacy.isa.expressions import (
    FOLDED,
    Array,
    BuiltIn,
    Choice,
    Compose,
    Constant,
    Element,
    Expression,
    Invocation,
    Operation,
    Read,
    Swizzle,
    Variable,
    components,
    read,
)
from gpgpu_legacy.isa.kernel import StorageBuffer, applied
from gpgpu_legacy.isa.program import Span
from gpgpu_legacy.isa.types import BOOL, DOUBLE, FLOAT, INT, UINT, VEC4, Operator, Type
from gpgpu_legacy.languages.c import syntax as c
from gpgpu_legacy.languages.diagnostics import meant

MOST_NODES = 2**13
"""The most variables, numbers, operators and accesses of a kernel, each counted as often as it is
evaluated: they take half a minute to compile. The largest kernel here has about 200.
"""

DEEPEST = 150
"""How deeply an expression is nested, by `levels`. Python reads 200 nested brackets, and walks over
expressions recurse.
"""

TOO_DEEP = "statements or expressions are nested too deeply; use variables in between"


def levels(expression: Expression) -> int:
    """The levels that an expression counts for: the brackets around it in generated code."""
    match expression:
        case Element(operands=indices):
            return 3 + len(indices)
        case Choice():
            return 3
        case Operation(operator=Operator.CONVERT | Operator.DIVIDE | Operator.REMAINDER):
            return 2
        case Operation() | Swizzle() | Compose():
            return 1
    return 0


Symbol = Variable | Constant | StorageBuffer | Array
"""The things that a name can mean: a private variable or a uniform, a const, an array."""

E = TypeVar("E", bound=Expression)

TYPES = {type_.word: type_ for type_ in (BOOL, INT, UINT, FLOAT, DOUBLE, VEC4)} | {"float4": VEC4}
"""The types by their names in the syntax tree."""

_FALSE, _TRUE = Constant((False,), BOOL), Constant((True,), BOOL)
_WIDENING = (INT, UINT, FLOAT, DOUBLE)  # GLSL 4.3, section 4.1.10
_SUFFIXES = {"u": UINT, "f": FLOAT, "lf": DOUBLE}
_OPERATORS = {
    "+": Operator.ADD,
    "-": Operator.SUBTRACT,
    "*": Operator.MULTIPLY,
    "/": Operator.DIVIDE,
    "%": Operator.REMAINDER,
    "==": Operator.EQUAL,
    "!=": Operator.NOT_EQUAL,
    "<": Operator.LESS,
    "<=": Operator.LESS_EQUAL,
    ">": Operator.GREATER,
    ">=": Operator.GREATER_EQUAL,
}
_COMPONENTS = (*"xyzw",)
_BUILT_INS = {built_in.value: built_in for built_in in BuiltIn}


class ExpressionReader:
    """Reads expressions and counts their nodes, with the types that GLSL gives values.

    names: the symbols of names, in the innermost scope first. local_size: a work group's.
    """

    def __init__(self, texts: c.Texts) -> None:
        """Begin without names and nodes, in work groups of one invocation. texts: the kernel's."""
        self.error = texts.error
        self.names: ChainMap[str, Symbol] = ChainMap()
        self.local_size = (1, 1)
        self.nodes = 0
        self._variables: set[str] = set()

    # Names ----------------------------------------------------------------------------------------

    def declare(self, name: str, symbol: Symbol, at: Span) -> None:
        """Declare a name for a symbol in the innermost scope, where it must be new."""
        if name in self.names.maps[0]:
            raise self.error(f"{name} is declared twice in one scope; give it another name", at)
        self.names[name] = symbol

    def variable(self, name: str, kind: Type, at: Span) -> Variable:
        """A new private variable, renamed if another scope has a variable of that name."""
        own, number = name, 1
        while own in self._variables:
            number += 1
            own = f"{name}_{number}"
        self._variables.add(own)
        variable = Variable(own, kind)
        self.declare(name, variable, at)
        return variable

    def find(self, x: c.Name) -> Symbol:
        """The symbol that a name means here."""
        if x.name not in self.names:
            expected = meant(x.name, self.names) or "declare it first"
            raise self.error(f"{x.name} is not declared", x.at, expected)
        return self.names[x.name]

    # Constants ------------------------------------------------------------------------------------

    def folded(self, expression: Expression, at: Span) -> Constant:
        """The value of a constant expression."""
        match expression:
            case Constant():
                return expression
            case Operation(operator=operator, operands=operands, type=kind) if (
                operator is Operator.CONVERT or operator in FOLDED
            ):
                values = (self.folded(operand, at).values[0] for operand in operands)
                return self.literal(kind, FOLDED.get(operator, float)(*values), at)
        raise self.error("expected a constant: literals and constants joined by +, - and *", at)

    def literal(self, kind: Type, value: float, at: Span) -> Constant:
        """The literal of a constant's value. 32 bits must hold an integer: 2³² - 1 is -1."""
        if not kind.is_integer:
            return Constant((float(value),), kind)
        if not abs(value) < 2**32:
            raise self.error("a constant has more than 32 bits; give a smaller one", at)
        half = 2**31 if kind == INT else 0
        return Constant(((int(value) + half) % 2**32 - half,), kind)

    def number(self, x: c.Number) -> Constant:
        """The constant of a literal; an integer is an int unless its suffix is u."""
        is_integer = isinstance(x.value, int)
        kind = _SUFFIXES.get(x.suffix.rstrip("U"), INT if is_integer else FLOAT)
        if kind.is_integer is not is_integer:
            raise self.error(f"this number does not end with {x.suffix}; leave it out", x.at)
        return self.literal(kind, x.value, x.at)

    # Operators and conversions --------------------------------------------------------------------

    def binary(self, operator: str, left: Expression, right: Expression, at: Span) -> Expression:
        """An operator on operands that are converted to a common type."""
        left, right = self.balance(left, right, at)
        kind, compares = left.type, operator[0] in "=!<>"
        if operator not in _OPERATORS:
            raise self.error(f"kernels have no {operator}; use arithmetic", at)
        if operator == "%" and not kind.is_integer:
            raise self.error("% needs integers, as in int(a) % 2", at)
        if kind == BOOL or (compares and kind == VEC4):
            raise self.error(
                f"{operator} does not apply to {kind.word}; convert the operands first", at
            )
        return applied(_OPERATORS[operator], left, right, type_=BOOL if compares else kind)

    def balance(
        self, left: Expression, right: Expression, at: Span
    ) -> tuple[Expression, Expression]:
        """Both operands converted to their common type."""
        if left.type == right.type:
            return left, right
        if VEC4 in (left.type, right.type):
            return self.construct(VEC4, [left], at), self.construct(VEC4, [right], at)
        if BOOL in (left.type, right.type):
            raise self.error(
                "an operator cannot combine a bool with a number; convert one, as in float(b)", at
            )
        wider = max(left.type, right.type, key=_WIDENING.index)
        return self.convert(left, wider, at), self.convert(right, wider, at)

    def convert(self, value: Expression, kind: Type, at: Span) -> Expression:
        """GLSL's implicit conversion. A conversion that can lose information must be explicit."""
        if value.type == kind:
            return value
        if (value.type, kind) not in combinations(_WIDENING, 2):
            raise self.error(
                f"a {value.type.word} does not convert to {kind.word} implicitly; write "
                f"{kind.word}(…)",
                at,
            )
        if isinstance(value, Constant):
            return self.literal(kind, value.values[0], at)
        return applied(Operator.CONVERT, value, type_=kind)

    # Limits ---------------------------------------------------------------------------------------

    def whole(self, x: c.Expression) -> Expression:
        """A whole expression, within the limits."""
        return self.limited(self.expression(x), x.at)

    def limited(self, expression: E, at: Span) -> E:
        """The expression, if it is within the limits.

        A part that is used in several places, as for the components of a vector, counts once for
        each. So the number of nodes may grow exponentially.
        """
        waiting: list[tuple[Expression, int]] = [(expression, levels(expression))]
        while waiting:
            node, level = waiting.pop()
            if level > DEEPEST:
                raise self.error(TOO_DEEP, at)
            self.count(1, at)
            waiting += [(part, level + levels(part)) for part in node.operands]
        return expression

    def count(self, nodes: int, at: Span) -> None:
        """Count more nodes of the kernel."""
        self.nodes += nodes
        if self.nodes > MOST_NODES:
            raise self.error(
                f"the kernel has more than {MOST_NODES} operations up to here; split it", at
            )

    # Expressions ----------------------------------------------------------------------------------

    def expression(self, x: c.Expression) -> Expression:  # noqa: PLR0911, PLR0912 - a kind each
        """The expression of a node of the syntax tree."""
        match x:
            case c.Name("true" | "false" as name):
                return _TRUE if name == "true" else _FALSE
            case c.Name(name):
                symbol = self.find(x)
                if isinstance(symbol, StorageBuffer | Array):
                    raise self.error(f"{name} is an array; name an element, as in {name}[0]", x.at)
                return read(symbol) if isinstance(symbol, Variable) else symbol
            case c.Number():
                return self.number(x)
            case c.Call(c.TypeName(name), arguments) if name in TYPES:
                parts = [self.expression(argument) for argument in arguments]
                return self.construct(TYPES[name], parts, x.at)
            case c.Call(c.Name(name)):
                raise self.error(f"there is no function {name}; use operators", x.at)
            case c.Index():
                return self.element(x, is_read=True, is_written=False)
            case c.Member(c.Name("gl_WorkGroupSize"), "x" | "y" | "z" as axis, False):
                return Constant(((*self.local_size, 1)[_COMPONENTS.index(axis)],), UINT)
            case c.Member(c.Name(name), "x" | "y" | "z" as axis, False) if name in _BUILT_INS:
                return Invocation(_BUILT_INS[name], _COMPONENTS.index(axis))
            case c.Member(c.Name(name), field) if name.startswith("gl_"):
                expected = f"use .x, .y or .z of {', '.join(_BUILT_INS)} or gl_WorkGroupSize"
                raise self.error(f"{name}.{field} is not supported", x.at, expected)
            case c.Member(base, field, arrow):
                vector = self.expression(base)
                if vector.type != VEC4 or arrow or field not in _COMPONENTS:
                    raise self.error(
                        f"there is no component .{field} here; a vec4 has .x, .y, .z and .w", x.at
                    )
                wanted = (_COMPONENTS.index(field),)
                is_read = isinstance(vector, Read)
                return components(vector, wanted) if is_read else Swizzle((vector,), wanted)
            case c.Unary("!", operand):
                return applied(Operator.NOT, self.condition(operand))
            case c.Unary("-" | "+" as operator, operand):
                value = self.expression(operand)
                return applied(Operator.NEGATE, value) if operator == "-" else value
            case c.Conditional(condition, left, right):
                yes, no = self.balance(self.expression(left), self.expression(right), x.at)
                return Choice((self.condition(condition), yes, no))
            case c.Binary("&&", left, right):
                return Choice((self.condition(left), self.condition(right), _FALSE))
            case c.Binary("||", left, right):
                return Choice((self.condition(left), _TRUE, self.condition(right)))
            case c.Binary(operator, left, right):
                return self.binary(operator, self.expression(left), self.expression(right), x.at)
        raise self.error("this has no value in a kernel; expected a number or a condition", x.at)

    def condition(self, x: c.Expression) -> Expression:
        """An expression that must be a bool."""
        condition = self.expression(x)
        if condition.type != BOOL:
            raise self.error(f"the condition has type {condition.type.word}; it must be bool", x.at)
        return condition

    def construct(self, kind: Type, parts: list[Expression], at: Span) -> Expression:
        """A value of a type from its parts; a vec4 has its only part in all components."""
        if len(parts) == 1 and parts[0].type == kind:
            return parts[0]
        if kind == VEC4 and len(parts) in (1, 4):
            numbers = (self.convert(part, FLOAT, at) for part in parts * (4 // len(parts)))
            return Compose(tuple(numbers))
        if kind == VEC4 or len(parts) != 1:
            raise self.error(
                f"{kind.word}() takes one value, or four for a vec4, found {len(parts)}", at
            )
        return applied(Operator.CONVERT, parts[0], type_=kind)

    def element(self, x: c.Index, *, is_read: bool, is_written: bool) -> Element:
        """An element of an array, which its access qualifiers must allow (GLSL 4.3, 4.10)."""
        indices: tuple[Expression, ...] = ()
        base: c.Expression | c.TypeName = x
        while isinstance(base, c.Index):
            index = self.expression(base.index)
            if not index.type.is_integer:
                raise self.error(
                    f"the index has type {index.type.word}; it must be int or uint", base.index.at
                )
            base, indices = base.base, (index, *indices)
        array = self.find(base) if isinstance(base, c.Name) else None
        if not isinstance(array, StorageBuffer | Array):
            raise self.error("this is not an array; leave the index out", base.at)
        name = array.name
        dimensions = len(array.extents) if isinstance(array, Array) else 1
        if len(indices) != dimensions:
            expected = "1 index" if dimensions == 1 else f"{dimensions} indices"
            raise self.error(f"{name} takes {expected}, found {len(indices)}", base.at)
        if isinstance(array, Array):
            return Element(indices, array, base.at.line)
        if is_written and not array.is_written:
            expected = "store to another buffer, or leave readonly out"
            raise self.error(f"{name} is readonly", base.at, expected)
        if is_read and not array.is_read:
            expected = "load from another buffer, or leave writeonly out"
            raise self.error(f"{name} is writeonly", base.at, expected)
        return Element(indices, array.array, base.at.line)
