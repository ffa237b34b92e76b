"""The types of a kernel's expressions: literals, constants, and GLSL's implicit conversions."""

from __future__ import annotations

from collections.abc import Callable

from lark import Token

from gpgpu_legacy.kernel.ir import Binary, Convert, Expression, Literal, Type, Vector
from gpgpu_legacy.kernel.limits import MOST_DIGITS
from gpgpu_legacy.kernel.scopes import Scopes
from gpgpu_legacy.kernel.trees import Node

_WIDENING = (Type.INT, Type.UINT, Type.FLOAT, Type.DOUBLE)  # GLSL 4.3, section 4.1.10


class Conversions(Scopes):
    """Gives values the types that GLSL gives them, or says why they have none."""

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
    """The literal of a number as the text has it."""
    lower = text.lower()
    if lower.endswith("lf"):
        return Literal(Type.DOUBLE, float(lower[:-2]))
    return Literal(Type.FLOAT, float(lower.rstrip("f")))
