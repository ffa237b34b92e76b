"""Expressions of a kernel: translates each node of the syntax tree to the IR, with its type."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lark import Token, Tree

from gpgpu_legacy.errors import AssemblyError
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
from gpgpu_legacy.kernel.limits import (
    DEEPEST,
    MOST_DIGITS,
    MOST_NESTED,
    MOST_NODES,
    TOO_DEEP,
    nodes_and_levels,
)

# Names --------------------------------------------------------------------------------------------

Symbol = Variable | Uniform | Literal | StorageBuffer | SharedArray
"""The things that a name can mean."""


# The syntax tree ----------------------------------------------------------------------------------

Node = Tree[Token]


def trees(node: Node) -> list[Node]:
    """The children of a node that are nodes."""
    return [child for child in node.children if isinstance(child, Tree)]


def tokens(node: Node) -> list[Token]:
    """The children of a node that are words of the text."""
    return [child for child in node.children if isinstance(child, Token)]


# Types --------------------------------------------------------------------------------------------

_WIDENING = (Type.INT, Type.UINT, Type.FLOAT, Type.DOUBLE)  # GLSL 4.3, section 4.1.10
_FOLD: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}


def integer_literal(kind: Type, value: int) -> Literal:
    """The literal of a number's 32 bits: 4294967295 is -1 as an int."""
    half = 2**31 if kind is Type.INT else 0
    return Literal(kind, (value + half) % 2**32 - half)


def floating_literal(text: str) -> Literal:
    """The literal of a number in the text."""
    lower = text.lower()
    if lower.endswith("lf"):
        return Literal(Type.DOUBLE, float(lower[:-2]))
    return Literal(Type.FLOAT, float(lower.rstrip("f")))


# The reader ---------------------------------------------------------------------------------------

_AXES = "xyz"
_VECTOR_COMPONENTS = "xyzw"


class ExpressionReader:
    """Reads expressions and counts their nodes, with the types that GLSL gives values.

    text, name: of the kernel. local_size: of a work group.
    """

    def __init__(self, text: str, name: str) -> None:
        """Without a name or a node yet, in work groups of one invocation."""
        self.text, self.name = text, name
        self.local_size = (1, 1)
        self.nodes = self.nested = 0
        self._scopes: list[dict[str, Symbol]] = [{}]
        self._names: set[str] = set()

    # Names ----------------------------------------------------------------------------------

    def error(self, problem: str, at: Token | Node) -> AssemblyError:
        """The error for a problem at that position in the text."""
        position = at if isinstance(at, Token) else at.meta
        line, column = getattr(position, "line", 1), getattr(position, "column", 1)
        return AssemblyError(problem, self.text, line or 1, column or 1, self.name)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """A scope of its own for declarations while the block runs."""
        self._scopes.append({})
        yield
        self._scopes.pop()

    def declare(self, token: Token, symbol: Symbol) -> None:
        """Declare a name for a symbol in the innermost scope, where it must be new."""
        if str(token) in self._scopes[-1]:
            raise self.error(f"{token} is declared twice in one scope; give it another name", token)
        self._scopes[-1][str(token)] = symbol

    def variable(self, token: Token, kind: Type) -> Variable:
        """A new private variable, renamed if another scope has a variable of that name."""
        name, number = str(token), 1
        while name in self._names:
            number += 1
            name = f"{token}_{number}"
        self._names.add(name)
        variable = Variable(kind, name)
        self.declare(token, variable)
        return variable

    def lookup(self, token: Token) -> Symbol:
        """The symbol that a name means here."""
        for scope in reversed(self._scopes):
            if str(token) in scope:
                return scope[str(token)]
        raise self.error(f"{token} is not declared; declare it before it is used", token)

    # Constants ------------------------------------------------------------------------------

    def integer(self, token: Token) -> int:
        """The value of an integer in the text; GLSL's have 32 bits."""
        digits = token.rstrip("uU")
        if len(digits) > MOST_DIGITS or int(digits) >= 2**32:
            raise self.error("an integer has at most 32 bits; give a smaller one", token)
        return int(digits)

    def folded(self, expression: Expression, at: Node) -> Literal:
        """The value of a constant expression."""
        match expression:
            case Literal():
                return expression
            case Convert(type=kind, operand=operand):
                value = self.folded(operand, at).value
                return self.literal(kind, value, at)
            case Binary(type=kind, operator=operator, left=left, right=right):
                if operator in _FOLD:
                    operands = self.folded(left, at).value, self.folded(right, at).value
                    return self.literal(kind, _FOLD[operator](*operands), at)
        raise self.error("expected a constant: literals and constants joined by +, - and *", at)

    def literal(self, kind: Type, value: float, at: Node) -> Literal:
        """The literal of a type for a constant's value, which an integer's 32 bits must hold."""
        if not kind.is_integer:
            return Literal(kind, float(value))
        if not abs(value) < 2**32:
            raise self.error("a constant has more than 32 bits; give a smaller one", at)
        return integer_literal(kind, int(value))

    # Operators and conversions --------------------------------------------------------------

    def binary(self, operator: str, left: Expression, right: Expression, node: Node) -> Expression:
        """An operator on operands that are converted to a common type."""
        left, right = self.balance(left, right, node)
        if operator == "%" and not left.type.is_integer:
            raise self.error("% needs integers, as in int(a) % 2", node)
        compares = operator in ("==", "!=", "<", "<=", ">", ">=")
        if left.type is Type.BOOL or (compares and left.type is Type.VEC4):
            raise self.error(
                f"{operator} does not apply to {left.type.value}; convert the operands first", node
            )
        return Binary(Type.BOOL if compares else left.type, operator, left, right)

    def balance(
        self, left: Expression, right: Expression, node: Node
    ) -> tuple[Expression, Expression]:
        """Both operands converted to their common type."""
        if left.type is right.type:
            return left, right
        if Type.VEC4 in (left.type, right.type):
            return self.spread(left, node), self.spread(right, node)
        if Type.BOOL in (left.type, right.type):
            raise self.error(
                "an operator cannot combine a bool with a number; convert one, as in float(b)", node
            )
        wider = max(left.type, right.type, key=_WIDENING.index)
        return self.convert(left, wider, node), self.convert(right, wider, node)

    def spread(self, value: Expression, node: Node) -> Expression:
        """The value as a vec4; a scalar is all of its components."""
        if value.type is Type.VEC4:
            return value
        scalar = self.convert(value, Type.FLOAT, node)
        return Vector((scalar, scalar, scalar, scalar))

    def convert(self, value: Expression, kind: Type, node: Node) -> Expression:
        """GLSL's implicit conversion. A conversion that can lose information must be explicit."""
        if value.type is kind:
            return value
        widens = (
            value.type in _WIDENING
            and kind in _WIDENING
            and _WIDENING.index(value.type) < _WIDENING.index(kind)
        )
        if not widens:
            raise self.error(
                f"a {value.type.value} does not convert to {kind.value} implicitly; write "
                f"{kind.value}(…)",
                node,
            )
        if isinstance(value, Literal):
            if kind.is_integer:
                return integer_literal(kind, int(value.value))
            return Literal(kind, float(value.value))
        return Convert(kind, value)

    # Limits ---------------------------------------------------------------------------------

    def whole(self, node: Node) -> Expression:
        """A whole expression, within the limits."""
        return self.limited(self.expression(node), node)

    def whole_condition(self, node: Node) -> Expression:
        """A whole condition, within the limits."""
        return self.limited(self.condition(node), node)

    def limited(self, expression: Expression, at: Node) -> Expression:
        """The expression, if it is within the limits."""
        nodes, levels = nodes_and_levels(expression)
        if levels > DEEPEST:
            raise self.error(TOO_DEEP, at)
        self.count(nodes, at)
        return expression

    def count(self, nodes: int, at: Token | Node) -> None:
        """Count more nodes of the kernel."""
        self.nodes += nodes
        if self.nodes > MOST_NODES:
            raise self.error(
                f"the kernel has more than {MOST_NODES} operations up to here; split it",
                at,
            )

    # Expressions ----------------------------------------------------------------------------

    def expression(self, node: Node) -> Expression:
        """The expression of a node of the syntax tree."""
        self.nested += 1
        if self.nested > MOST_NESTED:
            raise self.error(TOO_DEEP, node)
        readers: dict[str, Callable[[Node], Expression]] = {
            "name": lambda n: self.name_expression(tokens(n)[0]),
            "integer": lambda n: self.integer_constant(tokens(n)[0]),
            "floating": lambda n: floating_literal(str(tokens(n)[0])),
            "boolean": lambda n: Literal(Type.BOOL, tokens(n)[0] == "true"),
            "construct": self.construct,
            "indexed": lambda n: self.element(n, is_read=True, is_written=False),
            "member": self.member,
            "signed": self.signed,
            "negated": lambda n: Unary(Type.BOOL, "!", self.condition(trees(n)[0])),
            "select": self.select,
            "any_of": lambda n: self.logical("||", n),
            "all_of": lambda n: self.logical("&&", n),
        }
        value = readers.get(node.data, self.chain)(node)
        self.nested -= 1
        return value

    def condition(self, node: Node) -> Expression:
        """An expression that must be a bool."""
        condition = self.expression(node)
        if condition.type is not Type.BOOL:
            raise self.error(
                f"the condition has type {condition.type.value}; it must be bool", node
            )
        return condition

    def integer_constant(self, token: Token) -> Literal:
        return integer_literal(Type.UINT if token[-1] in "uU" else Type.INT, self.integer(token))

    def chain(self, node: Node) -> Expression:
        """Operators of one precedence, associated from the left."""
        first, *rest = node.children
        assert isinstance(first, Tree)
        value = self.expression(first)
        for operator, operand in zip(rest[::2], rest[1::2], strict=True):
            assert isinstance(operand, Tree)
            value = self.binary(str(operator), value, self.expression(operand), node)
        return value

    def logical(self, operator: str, node: Node) -> Expression:
        first, *rest = (self.condition(child) for child in trees(node))
        value: Expression = first
        for operand in rest:
            value = Binary(Type.BOOL, operator, value, operand)
        return value

    def name_expression(self, token: Token) -> Expression:
        symbol = self.lookup(token)
        if isinstance(symbol, StorageBuffer | SharedArray):
            raise self.error(f"{token} is an array; name an element, as in {token}[0]", token)
        return symbol

    def construct(self, node: Node) -> Expression:
        kind, parts = Type(str(tokens(node)[0])), [self.expression(c) for c in trees(node)]
        if kind is not Type.VEC4:
            if len(parts) != 1:
                raise self.error(f"{kind.value}() takes one value, found {len(parts)}", node)
            return parts[0] if parts[0].type is kind else Convert(kind, parts[0])
        parts = parts * 4 if len(parts) == 1 else parts
        if len(parts) != 4:
            raise self.error(f"vec4() takes one value or four, found {len(parts)}", node)
        x, y, z, w = (self.convert(part, Type.FLOAT, node) for part in parts)
        return Vector((x, y, z, w))

    def element(self, node: Node, *, is_read: bool, is_written: bool) -> Element:
        """An element of an array, which its access qualifiers must allow (GLSL 4.3, 4.10)."""
        indices: list[Expression] = []
        base = node
        while base.data == "indexed":
            base, index = trees(base)
            value = self.expression(index)
            if not value.type.is_integer:
                raise self.error(
                    f"the index has type {value.type.value}; it must be int or uint", index
                )
            indices.insert(0, value)
        if base.data != "name":
            raise self.error(
                "only arrays can be indexed; name a storage buffer or a shared array", base
            )
        name = tokens(base)[0]
        symbol = self.lookup(name)
        if isinstance(symbol, StorageBuffer) and len(indices) == 1:
            if is_written and not symbol.is_written:
                raise self.error(
                    f"{name} is readonly; store to another buffer, or leave readonly out", node
                )
            if is_read and not symbol.is_read:
                raise self.error(
                    f"{name} is writeonly; load from another buffer, or leave writeonly out", node
                )
            return Element(Type.FLOAT, Space.BUFFER, symbol.name, tuple(indices), name.line or 0)
        if isinstance(symbol, SharedArray) and len(indices) == len(symbol.extents):
            array = symbol.name
            return Element(symbol.type, Space.SHARED, array, tuple(indices), name.line or 0)
        if not isinstance(symbol, StorageBuffer | SharedArray):
            raise self.error(f"{name} is not an array; leave the index out", node)
        dimensions = len(symbol.extents) if isinstance(symbol, SharedArray) else 1
        expected = f"{dimensions} {'index' if dimensions == 1 else 'indices'}"
        raise self.error(f"{name} takes {expected}, found {len(indices)}", node)

    def member(self, node: Node) -> Expression:
        owner, field = trees(node)[0], str(tokens(node)[-1])
        if owner.data == "name" and str(tokens(owner)[0]).startswith("gl_"):
            return self.built_in(str(tokens(owner)[0]), field, node)
        vector = self.expression(owner)
        if vector.type is not Type.VEC4 or field not in _VECTOR_COMPONENTS:
            raise self.error(
                f"there is no component .{field} here; a vec4 has .x, .y, .z and .w", node
            )
        return Component(vector, _VECTOR_COMPONENTS.index(field))

    def built_in(self, name: str, field: str, node: Node) -> Expression:
        names = {built_in.value: built_in for built_in in BuiltIn}
        if field not in _AXES or not field:
            raise self.error(f"{name} has no component .{field}; it has .x, .y and .z", node)
        if name == "gl_WorkGroupSize":
            return Literal(Type.UINT, (*self.local_size, 1)[_AXES.index(field)])
        if name not in names:
            raise self.error(
                f"{name} is not supported; use {', '.join(names)} or gl_WorkGroupSize", node
            )
        return BuiltInComponent(names[name], _AXES.index(field))

    def signed(self, node: Node) -> Expression:
        operand = self.expression(trees(node)[0])
        return Unary(operand.type, "-", operand) if tokens(node)[0] == "-" else operand

    def select(self, node: Node) -> Expression:
        condition, chosen, other = trees(node)
        left, right = self.balance(self.expression(chosen), self.expression(other), node)
        return Select(left.type, self.condition(condition), left, right)
