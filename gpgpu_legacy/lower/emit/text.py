"""Expressions of the lowering IR as text, for any language with infix operators and calls.

A language is a subclass: two tables of its words, and a method for each kind of value that it
spells differently.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from gpgpu_legacy.isa.expressions import (
    Constant,
    Element,
    Expression,
    Given,
    Operation,
    Place,
    PlanePart,
    Swizzle,
)
from gpgpu_legacy.isa.program import Parameter
from gpgpu_legacy.isa.types import COMPARISONS, INT, Components, Operator

ATOM = 9
"""The precedence of a name or a call; operators have lower ones, by the number in their table."""

CHOICE, OR, AND, COMPARISON, BITS, SUM, PRODUCT, SIGN = range(8)
"""Precedences in languages like C; Python's `|` is bitwise."""

INFIX = {
    Operator.ADD: ("+", SUM),
    Operator.SUBTRACT: ("-", SUM),
    Operator.MULTIPLY: ("*", PRODUCT),
    Operator.DIVIDE: ("/", PRODUCT),
    Operator.LESS: ("<", COMPARISON),
    Operator.LESS_EQUAL: ("<=", COMPARISON),
    Operator.GREATER: (">", COMPARISON),
    Operator.GREATER_EQUAL: (">=", COMPARISON),
}
"""The operators that all target languages have."""


FUNCTIONS = {
    Operator.ABSOLUTE: "abs",
    **{
        operator: operator.value
        for operator in (
            Operator.FLOOR,
            Operator.SQRT,
            Operator.EXP,
            Operator.EXP2,
            Operator.LOG2,
            Operator.SIN,
            Operator.COS,
        )
    },
}
"""The functions of languages like C."""


def identifier(words: str) -> str:
    """A name from the letters and digits of a text, with _ for everything between."""
    return "_".join("".join(c if c.isalnum() else " " for c in words).split())


class TextEmitter(ABC):
    """Spells expressions, and records the values that passes must give.

    infix: the operators' signs and precedences. called: the names of operations that are functions.
    """

    infix: ClassVar[Mapping[Operator, tuple[str, int]]]
    called: ClassVar[Mapping[Operator, str]]

    def __init__(self) -> None:
        """Begin with nothing spelled."""
        self.given: dict[tuple[Parameter | PlanePart | Place, int], Given] = {}

    def expression(self, value: Expression) -> str:
        """An expression as text."""
        return self.spelled(value)[0]

    def inside(self, value: Expression, binds: int) -> str:
        """An expression, in parentheses if its precedence is lower than `binds`."""
        text, own = self.spelled(value)
        return f"({text})" if own < binds else text

    def spelled(self, value: Expression) -> tuple[str, int]:
        """The text of an expression, and the precedence of its outermost operator.

        Most kinds of expression are spelled by the method that has their name.
        """
        match value:
            case Operation():
                return self.operation(value)
            case Given():
                self.given.setdefault((value.source, value.draw), value)
                return self.source(value) + self.suffix(value.components, 4), ATOM
            case Swizzle(operands=(vector,), components=components):
                suffix = self.suffix(components, vector.type.width)
                return self.inside(vector, ATOM) + suffix, ATOM
        return getattr(self, type(value).__name__.lower())(value), ATOM

    def operation(self, value: Operation) -> tuple[str, int]:
        """An operation: infix, a function, or spelled by `other`."""
        if value.operator in self.infix:
            return self._infix(value)
        if value.operator in self.called:
            operands = ", ".join(map(self.expression, value.operands))
            return f"{self.called[value.operator]}({operands})", ATOM
        return self.other(value)

    def _infix(self, value: Operation) -> tuple[str, int]:
        sign, binds = self.infix[value.operator]
        left, right = value.operands
        is_negative = isinstance(right, Constant) and right.type == INT and right.values[0] < 0
        if value.operator is Operator.ADD and is_negative:
            sign, right = "-", -right
        loose = binds + (value.operator in COMPARISONS)  # languages differ about two in a row
        return (
            f"{self.operand(value, left, loose)} {sign} {self.operand(value, right, binds + 1)}",
            binds,
        )

    def operand(self, _operation: Operation, value: Expression, binds: int) -> str:
        """An operand of an infix operator."""
        return self.inside(value, binds)

    # What a language spells by itself, beside `read`, `constant` and `compose`; and `call`,
    # `texel`, `fetch` and `sample`, if it has them.

    @abstractmethod
    def suffix(self, components: Components, width: int) -> str:
        """The suffix of a vector of that width that selects components."""

    @abstractmethod
    def source(self, given: Given) -> str:
        """The text of a value that a pass gives, with all its components."""

    @abstractmethod
    def other(self, value: Operation) -> tuple[str, int]:
        """An operation in neither table, and its precedence."""

    def element(self, value: Element) -> str:
        """An element of an array."""
        return value.array.name + "".join(f"[{self.expression(i)}]" for i in value.operands)
