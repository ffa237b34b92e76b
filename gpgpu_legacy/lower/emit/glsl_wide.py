"""Expressions in double, as GLSL: for instructions whose results are rounded.

In another arithmetic than fp32 the reference machine computes an instruction in float64 and rounds
its result once. A float is too narrow for that: a product of two fp24 numbers has 34 digits.
"""

from __future__ import annotations

from abc import abstractmethod

from gpgpu_legacy.ir.expressions import (
    Compose,
    Expression,
    Operation,
    Read,
    Swizzle,
    Variable,
)
from gpgpu_legacy.ir.types import Kind, Operator
from gpgpu_legacy.ir.walks import walk
from gpgpu_legacy.lower.emit.text import INFIX, SUM, TextEmitter

_INFIX = {operator: sign for operator, (sign, binds) in INFIX.items() if binds >= SUM}
_CALLED = (
    *(Operator.ABSOLUTE, Operator.FLOOR, Operator.SQRT),
    *(Operator.MINIMUM, Operator.MAXIMUM),
)


def rounds(value: Expression) -> bool:
    """Whether an expression has an operation whose result a float need not hold."""
    return any(
        isinstance(part, Operation)
        and part.type.kind is Kind.FLOAT
        and (part.operator in _INFIX or part.operator is Operator.SQRT)
        for part in walk(value)
    )


def wide_type(width: int) -> str:
    """GLSL's name of a vector of doubles."""
    return "double" if width == 1 else f"dvec{width}"


class WideEmitter(TextEmitter):
    """Spells expressions in double, too. wide_variables: the ones declared as doubles."""

    def __init__(self) -> None:
        """Nothing declared yet."""
        super().__init__()
        self.wide_variables: set[Variable] = set()

    @abstractmethod
    def name(self, variable: Variable) -> str:
        """The name of a variable."""

    def wide(self, value: Expression) -> str:  # noqa: PLR0911 - a case each
        """An expression in double; operations without a double form are converted."""
        match value:
            case Operation(operator=operator, operands=operands) if value.type.kind is Kind.FLOAT:
                parts = [self.wide(operand) for operand in operands]
                if operator in _INFIX:
                    return f"({parts[0]} {_INFIX[operator]} {parts[1]})"
                if operator in _CALLED:
                    return f"{self.called[operator]}({', '.join(parts)})"
                if operator is Operator.NEGATE and rounds(value):
                    return f"(-{parts[0]})"
            case Compose(operands=operands) if rounds(value):
                same = all(operand is operands[0] for operand in operands)
                parts = [self.wide(part) for part in (operands[:1] if same else operands)]
                return f"{wide_type(value.type.width)}({', '.join(parts)})"
            case Swizzle(operands=(vector,), components=components) if rounds(vector):
                return f"{self.wide(vector)}{self.suffix(components, vector.type.width)}"
            case Read(variable=variable, components=components) if variable in self.wide_variables:
                return self.name(variable) + self.suffix(components, variable.type.width)
        return f"{wide_type(value.type.width)}({self.expression(value)})"
