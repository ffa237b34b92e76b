"""Values of a tile of fragments as LLVM instructions, and the operations of the IR on them.

A tile is `rows` rows by `vectors` vectors of `lanes` neighbouring fragments. A TileValue holds one
LLVM value for each row and each vector over which it varies: vectors of lanes where it differs from
column to column, scalars where it does not. Each is emitted when it is first requested, so that the
requests decide how many are alive at a time.

Every operation is rounded to float32. If contraction is allowed, a multiply-add may be rounded once
(LLVM's `contract`); nothing is reordered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import product
from operator import eq, ge, gt, le, lt, ne
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.expressions import Operation
from gpgpu_legacy.isa.types import (
    COMPARISONS,
    DTYPES,
    NOWHERE,
    Axes,
    Kind,
    Operator,
    union,
)
from gpgpu_legacy.lower.emit.llvm_basics import (
    ELEMENTS,
    F16,
    F32,
    I8,
    I16,
    I32,
    Emitted,
    call,
    element_of,
    integers,
    intrinsic,
    like,
)
from gpgpu_legacy.lower.emit.llvm_math import VECTOR_FUNCTIONS
from gpgpu_legacy.lower.emit.text import INFIX
from gpgpu_legacy.lower.fused.content import UnsupportedError

APPROXIMATE = {
    Operator.EXP2: "exp2",
    Operator.LOG2: "log2",
    Operator.SIN: "sin",
    Operator.COS: "cos",
    Operator.POWER: "pow",
}
"""Operations for which two libraries may give neighbouring results, with LLVM's names. Exact code
has none of them.
"""


@frozen
class TileShape:
    """The shape of the code: rows and vectors of a tile, lanes of a vector."""

    rows: int
    vectors: int
    lanes: int

    @property
    def width(self) -> int:
        """Fragments across."""
        return self.vectors * self.lanes

    @property
    def places(self) -> list[tuple[int, int]]:
        """The row and the number of every vector."""
        return list(product(range(self.rows), range(self.vectors)))


Value = TypeVar("Value")


def once(known: dict[Any, Any], key: Any, emit: Callable[[], Value]) -> Value:
    """The value that is known under a key. If there is none, it is emitted now."""
    if key not in known:
        known[key] = emit()
    value: Value = known[key]
    return value


class TileValue:
    """A number on a tile: one LLVM value for each row and each vector over which it varies."""

    def __init__(self, axes: Axes, emit: Callable[[int, int], Emitted]) -> None:
        """emit: gives the value for a row and a vector; both are 0 where it does not vary."""
        self.axes, self._emit = axes, cache(emit)
        self.splats: dict[int, Emitted] = {}  # by row, where it is the same along x

    def cell(self, row: int, vector: int) -> Emitted:
        """The value of one vector of one row, which is emitted once."""
        return self._emit(row if self.axes.y else 0, vector if self.axes.x else 0)


class ValueEmitter:
    """LLVM instructions for values of one tile, at one place of one function."""

    def __init__(
        self, builder: ir.IRBuilder, tile: TileShape, *, exact: bool, fuses: bool = False
    ) -> None:
        """fuses: whether the processor has fused multiply-adds."""
        self.builder, self.tile, self.exact, self.fuses = builder, tile, exact, fuses

    # Making values

    def vector_of(self, element: Any) -> Any:
        """The type of a vector of lanes."""
        return ir.VectorType(element, self.tile.lanes)

    def undefined(self, element: Any) -> Emitted:
        """A vector of lanes with undefined values."""
        return Emitted(self.builder, ir.Constant(self.vector_of(element), ir.Undefined))

    @property
    def lanes(self) -> Emitted:
        """The number of each lane."""
        return Emitted(self.builder, integers(range(self.tile.lanes)))

    def splat(self, value: Emitted) -> Emitted:
        """The value in all lanes."""
        lanes, undefined = self.tile.lanes, self.undefined(value.type)
        if isinstance(value.value, ir.Constant):
            return Emitted(self.builder, ir.Constant(undefined.type, [value.value] * lanes))
        first = undefined.insert_element(value, I32(0))
        return first.shuffle_vector(undefined, integers([0] * lanes))

    def at(self, grid: TileValue, row: int, vector: int) -> Emitted:
        """The value of one vector of one row, as a vector of lanes."""
        value = grid.cell(row, vector)
        if grid.axes.x:
            return value
        return once(grid.splats, row if grid.axes.y else 0, lambda: self.splat(value))

    def uniform(self, value: Emitted) -> TileValue:
        """A scalar that is the same everywhere."""
        return TileValue(NOWHERE, lambda *_: value)

    def emit_now(self, grids: Sequence[TileValue]) -> None:
        """Emit all parts of the values here: a row of all of them, then the next row."""
        for row, grid, vector in product(range(self.tile.rows), grids, range(self.tile.vectors)):
            grid.cell(row, vector)

    def constant(self, value: float | int | bool, kind: Kind = Kind.FLOAT) -> TileValue:
        """A number that is the same everywhere."""
        with np.errstate(over="ignore"):
            number = getattr(np, DTYPES[kind])(value).item()
        return self.uniform(Emitted(self.builder, ir.Constant(ELEMENTS[kind], number)))

    def map(self, instruction: Callable[..., Emitted], *grids: TileValue) -> TileValue:
        """An instruction on scalars or vectors, for each row and vector along which values vary."""
        axes = union(grid.axes for grid in grids)
        at = self.at if axes.x else TileValue.cell
        return TileValue(axes, lambda r, v: instruction(*(at(g, r, v) for g in grids)))

    # Operations

    def instruction(self, operation: Operation) -> Callable[..., Emitted]:
        """The function that emits an operation on scalars or vectors.

        Raises UnsupportedError if there is none.
        """
        operator, kind = operation.operator, operation.operands[-1].type.kind
        if operator in APPROXIMATE:
            if self.exact:
                raise UnsupportedError(f"{operator.value} to the last bit")
            return partial(self._approximate, APPROXIMATE[operator])
        if operator is Operator.CONVERT:
            return partial(_converted, kind, operation.type.kind)
        instruction = _INSTRUCTIONS[kind].get(operator)
        if instruction is None:
            raise UnsupportedError(operator.value)
        if callable(instruction):
            return instruction
        flags = ("contract",) if operation.contracts and not self.exact else ()
        return lambda first, *others: getattr(first, instruction)(*others, flags=flags)

    def _approximate(self, name: str, *values: Emitted) -> Emitted:
        """Vectors use our own functions, since LLVM calls the C library once per lane."""
        is_ours = self.fuses and isinstance(values[0].type, ir.VectorType)
        return VECTOR_FUNCTIONS[name](*values) if is_ours else intrinsic(name, *values)


def floats(value: Emitted) -> Emitted:
    """Stored numbers as floats. A level keeps its number: it is not decoded."""
    element, kind = element_of(value.type), like(value.type, F32)
    if element == F32:
        return value
    return value.uitofp(kind) if element in (I8, I16) else value.fpext(kind)


def stored(value: Emitted, element: Any) -> Emitted:
    """Floats as stored numbers of that element type. Levels are not encoded: they are whole."""
    kind = like(value.type, element)
    if element == F32:
        return value
    return value.fptoui(kind) if element in (I8, I16) else value.fptrunc(kind)


# The table of instructions ---------------------------------------------------------------------

_Instruction = str | Callable[..., Emitted]
"""An instruction of LLVM's that takes flags, or a function of operands, scalars or vectors."""


def _saturated(value: Emitted) -> Emitted:
    """Clamped to [0, 1]; NaN and -0 become 0, as on the reference machine."""
    low = value.at_least(0.0)
    return (low <= 1.0).choose(low, 1.0)


def _quotient(is_signed: bool, a: Emitted, b: Emitted) -> Emitted:
    """A quotient that never traps: it is rounded towards 0, is 0 for a divisor of 0, and wraps."""
    least = int(is_signed)
    # By 0, and for signed integers by -1, the quotient is the product.
    traps = (b + least).compare("icmp_unsigned", "<=", least)
    divisor = traps.choose(1, b)
    quotient = a // divisor if is_signed else a.udiv(divisor)
    return traps.choose(a * b, quotient)


def _remainder(is_signed: bool, a: Emitted, b: Emitted) -> Emitted:
    return a - b * _quotient(is_signed, a, b)


def _unsigned(sign: str, a: Emitted, b: Emitted) -> Emitted:
    return a.compare("icmp_unsigned", sign, b)


def _converted(source: Kind, target: Kind, value: Emitted) -> Emitted:
    """A number of another kind. A float out of range becomes the nearest integer, NaN becomes 0."""
    kind, of_floats = like(value.type, ELEMENTS[target]), source in (Kind.FLOAT, Kind.DOUBLE)
    if target is Kind.BOOL:
        return value if source is Kind.BOOL else value != 0
    if of_floats and target in (Kind.INT, Kind.UINT):
        name = f"llvm.fpto{'s' if target is Kind.INT else 'u'}i.sat"
        function = value.builder.module.declare_intrinsic(
            name, [kind, value.type], ir.FunctionType(kind, [value.type])
        )
        return call(value.builder, function, value)
    if value.type == kind:
        return value
    if of_floats:
        return value.fpext(kind) if target is Kind.DOUBLE else value.fptrunc(kind)
    if target in (Kind.INT, Kind.UINT):
        return value.zext(kind)
    return value.sitofp(kind) if source is Kind.INT else value.uitofp(kind)


_COMPARISONS: dict[Operator, _Instruction] = {
    Operator.LESS: lt,
    Operator.LESS_EQUAL: le,
    Operator.GREATER: gt,
    Operator.GREATER_EQUAL: ge,
    Operator.EQUAL: eq,
    Operator.NOT_EQUAL: ne,
}
_UNSIGNED = {operator: partial(_unsigned, INFIX[operator][0]) for operator in COMPARISONS}
_OF_DOUBLES: dict[Operator, _Instruction] = {
    Operator.ADD: "fadd",
    Operator.SUBTRACT: "fsub",
    Operator.MULTIPLY: "fmul",
    Operator.DIVIDE: "fdiv",
    Operator.NEGATE: "fneg",
    Operator.SELECT: "select",
    **_COMPARISONS,
}
_OF_INTEGERS: dict[Operator, _Instruction] = {
    Operator.ADD: "add",
    Operator.SUBTRACT: "sub",
    Operator.MULTIPLY: "mul",
    Operator.NEGATE: lambda a: a.neg(),
    Operator.SELECT: "select",
    **_COMPARISONS,
}
_INSTRUCTIONS: dict[Kind, dict[Operator, _Instruction]] = {
    Kind.DOUBLE: _OF_DOUBLES,
    Kind.FLOAT: {
        **_OF_DOUBLES,
        Operator.ABSOLUTE: partial(intrinsic, "fabs"),
        Operator.FLOOR: partial(intrinsic, "floor"),
        Operator.SQRT: partial(intrinsic, "sqrt"),
        Operator.IS_NAN: lambda a: a.compare("fcmp_unordered", "uno", a),
        Operator.SATURATE: _saturated,
        Operator.HALF: lambda a: floats(stored(a, F16)),
        Operator.TO_INT: lambda a: a.fptosi(like(a.type, I32)),
    },
    Kind.INT: {
        **_OF_INTEGERS,
        Operator.DIVIDE: partial(_quotient, True),
        Operator.REMAINDER: partial(_remainder, True),
        Operator.MINIMUM: Emitted.at_most,
        Operator.MAXIMUM: Emitted.at_least,
        Operator.TO_FLOAT: lambda a: a.sitofp(like(a.type, F32)),
    },
    Kind.UINT: {
        **_OF_INTEGERS,
        **_UNSIGNED,
        Operator.DIVIDE: partial(_quotient, False),
        Operator.REMAINDER: partial(_remainder, False),
    },
    Kind.BOOL: {
        **_COMPARISONS,
        **_UNSIGNED,
        Operator.AND: "and_",
        Operator.OR: "or_",
        Operator.NOT: lambda a: a.not_(),
    },
}
"""The instructions of operations, by the kind of their last operand."""
