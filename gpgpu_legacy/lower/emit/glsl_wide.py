"""Expressions in double, as GLSL: what instructions compute where their results are rounded.

In another arithmetic than fp32 the reference machine computes an instruction in float64 and rounds
its result once. A float is too narrow for that: a product of two fp24 numbers has 34 digits.
"""

from __future__ import annotations

from collections.abc import Callable

from gpgpu_legacy.lower.emit.text import INFIX, SUM
from gpgpu_legacy.lower.ir import Compose, Expression, Operation, Read, Swizzle, Variable, walk
from gpgpu_legacy.lower.ir_types import Kind, Operator

_INFIX = {operator: sign for operator, (sign, binds) in INFIX.items() if binds >= SUM}
_CALLED = {
    Operator.ABSOLUTE: "abs",
    Operator.FLOOR: "floor",
    Operator.SQRT: "sqrt",
    Operator.MINIMUM: "min",
    Operator.MAXIMUM: "max",
}


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


class WideText:
    """Spells expressions in double.

    narrow: spells an expression of floats. suffix: what selects components of a vector.
    """

    def __init__(
        self,
        narrow: Callable[[Expression], str],
        suffix: Callable[[tuple[int, ...], int], str],
        name: Callable[[Variable], str],
    ) -> None:
        """Nothing declared yet."""
        self._narrow, self._suffix, self._name = narrow, suffix, name
        self.variables: set[Variable] = set()
        """Those that are declared as doubles."""

    def spelled(self, value: Expression) -> str:  # noqa: PLR0911 - a case each
        """An expression; what no operation of doubles computes is converted."""
        match value:
            case Operation(operator=operator, operands=operands) if value.type.kind is Kind.FLOAT:
                parts = [self.spelled(operand) for operand in operands]
                if operator in _INFIX:
                    return f"({parts[0]} {_INFIX[operator]} {parts[1]})"
                if operator in _CALLED:
                    return f"{_CALLED[operator]}({', '.join(parts)})"
                if operator is Operator.NEGATE and rounds(value):
                    return f"(-{parts[0]})"
            case Compose(operands=operands) if rounds(value):
                same = all(operand is operands[0] for operand in operands)
                parts = [self.spelled(part) for part in (operands[:1] if same else operands)]
                return f"{wide_type(value.type.width)}({', '.join(parts)})"
            case Swizzle(operands=(vector,), components=components) if rounds(vector):
                return f"{self.spelled(vector)}{self._suffix(components, vector.type.width)}"
            case Read(variable=variable, components=components) if variable in self.variables:
                return self._name(variable) + self._suffix(components, variable.type.width)
        return f"{wide_type(value.type.width)}({self._narrow(value)})"
