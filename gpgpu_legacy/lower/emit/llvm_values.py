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
from functools import partial, reduce
from itertools import product
from typing import Any

import numpy as np
from llvmlite import ir

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.expressions import Operation
from gpgpu_legacy.isa.types import (
    COMPARISONS,
    DTYPES,
    EVERYWHERE,
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
    I64,
    element_of,
    integer,
    like,
    number_of,
)
from gpgpu_legacy.lower.emit.llvm_math import VECTOR_FUNCTIONS, vector_function
from gpgpu_legacy.lower.emit.text import INFIX
from gpgpu_legacy.lower.fused.content import UnsupportedError

APPROXIMATE = frozenset({Operator.EXP2, Operator.LOG2, Operator.SIN, Operator.COS, Operator.POWER})
"""Operations for which two libraries may give neighbouring results; an exact run has none."""


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


class TileValue:
    """A number on a tile: one LLVM value for each row and each vector over which it varies."""

    __slots__ = ("_cells", "_emit", "axes", "splats")

    def __init__(self, axes: Axes, emit: Callable[[int, int], Any]) -> None:
        """emit: the value of a row and a vector, 0 for an axis along which it does not vary."""
        self.axes, self._emit = axes, emit
        self._cells: dict[tuple[int, int], Any] = {}
        self.splats: dict[int, Any] = {}  # by row, where it is the same along x

    def cell(self, row: int, vector: int) -> Any:
        """The value of one vector of one row, which is emitted once."""
        place = (row if self.axes.y else 0, vector if self.axes.x else 0)
        if place not in self._cells:
            self._cells[place] = self._emit(*place)
        return self._cells[place]


class ValueEmitter:
    """LLVM instructions for values of one tile, at one place of one function."""

    def __init__(
        self,
        module: ir.Module,
        builder: ir.IRBuilder,
        tile: TileShape,
        *,
        exact: bool,
        fuses: bool = False,
    ) -> None:
        """fuses: whether the processor has fused multiply-adds."""
        self.module, self.builder, self.tile, self.exact = module, builder, tile, exact
        self.fuses = fuses

    # Making values

    def vector_of(self, element: Any) -> Any:
        """The type of a vector of lanes."""
        return ir.VectorType(element, self.tile.lanes)

    def splat(self, value: Any) -> Any:
        """The value in all lanes."""
        lanes = self.tile.lanes
        if isinstance(value, ir.Constant):
            return ir.Constant(self.vector_of(value.type), [value] * lanes)
        undefined = ir.Constant(self.vector_of(value.type), ir.Undefined)
        one = self.builder.insert_element(undefined, value, ir.Constant(I32, 0))
        zeros = ir.Constant(ir.VectorType(I32, lanes), [0] * lanes)
        return self.builder.shuffle_vector(one, undefined, zeros)

    def at(self, grid: TileValue, row: int, vector: int, *, in_lanes: bool) -> Any:
        """The value of one vector of one row: a vector of lanes, or a scalar where it may be."""
        value = grid.cell(row, vector)
        if not in_lanes or grid.axes.x:
            return value
        r = row if grid.axes.y else 0
        if r not in grid.splats:
            grid.splats[r] = self.splat(value)
        return grid.splats[r]

    def uniform(self, value: Any) -> TileValue:
        """A scalar that is the same everywhere."""
        return TileValue(NOWHERE, lambda *_: value)

    def emit_now(self, grids: Sequence[TileValue]) -> None:
        """Emit all parts of the values here: a row of all of them, then the next row."""
        for row, grid, vector in product(range(self.tile.rows), grids, range(self.tile.vectors)):
            grid.cell(row, vector)

    def constant(self, value: float | int | bool, kind: Kind = Kind.FLOAT) -> TileValue:
        """A number."""
        with np.errstate(over="ignore"):
            number = getattr(np, DTYPES[kind])(value).item()
        return self.uniform(ir.Constant(ELEMENTS[kind], number))

    def map(self, instruction: Callable[..., Any], *grids: TileValue) -> TileValue:
        """An instruction on scalars or vectors, for each row and vector along which values vary."""
        axes = union(grid.axes for grid in grids)
        return TileValue(
            axes, lambda r, v: instruction(*(self.at(g, r, v, in_lanes=axes.x) for g in grids))
        )

    def everywhere(self, grid: TileValue) -> TileValue:
        """A TileValue as one that may differ everywhere."""
        return TileValue(EVERYWHERE, lambda r, v: self.at(grid, r, v, in_lanes=True))

    # Operations

    def operation(self, operation: Operation, operands: Sequence[TileValue]) -> TileValue:
        """An operation of the IR on its operands; raises UnsupportedError if there is none."""
        return self.map(self.instruction(operation), *operands)

    def instruction(self, operation: Operation) -> Callable[..., Any]:
        """An operation on scalars or vectors of LLVM; raises UnsupportedError if there is none."""
        operator, kind = operation.operator, operation.operands[-1].type.kind
        if self.exact and operator in APPROXIMATE:
            raise UnsupportedError(f"{operator.value} to the last bit")
        if operator is Operator.CONVERT:
            return partial(_converted, self.builder, kind, operation.type.kind)
        instruction = _INSTRUCTIONS[kind].get(operator)
        if instruction is None:
            raise UnsupportedError(operator.value)
        return partial(
            instruction, self, ("contract",) if operation.contracts and not self.exact else ()
        )

    def function(self, name: str, *values: Any) -> Any:
        """A function of LLVM's own; of those that call the C library, vectors have one of ours."""
        kind, suffix = values[0].type, "f32"
        if isinstance(kind, ir.VectorType):
            if self.fuses and name in VECTOR_FUNCTIONS:
                return vector_function(name, self.module, self.builder, values)
            suffix = f"v{kind.count}f32"
        function = self.module.declare_intrinsic(
            f"llvm.{name}.{suffix}", fnty=ir.FunctionType(kind, [v.type for v in values])
        )
        return self.builder.call(function, values)

    def floats(self, value: Any) -> Any:
        """Stored numbers as floats; a level stays a level."""
        element, kind = element_of(value.type), like(value.type, F32)
        if element == F32:
            return value
        convert = self.builder.uitofp if element in (I8, I16) else self.builder.fpext
        return convert(value, kind)

    def stored(self, value: Any, element: Any) -> Any:
        """Floats as stored numbers; numbers that are stored already are kept."""
        kind = like(value.type, element)
        if element == F32:
            return value
        convert = self.builder.fptoui if element in (I8, I16) else self.builder.fptrunc
        return convert(value, kind)


# The table of instructions ---------------------------------------------------------------------

_Flags = tuple[str, ...]
_Instruction = Callable[..., Any]
"""From the emitter, its flags and the operands, scalars or vectors of lanes, to the result."""


def _named(name: str) -> _Instruction:
    return lambda emit, flags, *values: getattr(emit.builder, name)(*values, flags=flags)


def _function(name: str) -> _Instruction:
    return lambda emit, _, *values: emit.function(name, *values)


def _comparison(sign: str, comparison: str) -> _Instruction:
    return lambda emit, _, a, b: getattr(emit.builder, comparison)(sign, a, b)


def _int_choice(sign: str) -> _Instruction:
    """The one of two integers for which the comparison with the other holds."""
    return lambda emit, _, a, b: emit.builder.select(emit.builder.icmp_signed(sign, a, b), a, b)


def _select(emit: ValueEmitter, _: _Flags, condition: Any, a: Any, b: Any) -> Any:
    return emit.builder.select(condition, a, b)


def _saturated(emit: ValueEmitter, _: _Flags, value: Any) -> Any:
    """Clamped to [0, 1]; NaN and -0 become 0, as on the reference machine."""
    b = emit.builder
    zero, one = (number_of(value.type, number) for number in (0.0, 1.0))
    low = b.select(b.fcmp_ordered(">", value, zero), value, zero)
    return b.select(b.fcmp_ordered("<=", low, one), low, one)


def _halved(emit: ValueEmitter, _: _Flags, value: Any) -> Any:
    return emit.floats(emit.stored(value, F16))


def _quotient(*, signed: bool) -> _Instruction:
    """A division that no processor traps at; it goes towards 0, by 0 it is 0, and it wraps."""

    def instruction(emit: ValueEmitter, _: _Flags, a: Any, b: Any) -> Any:
        build, least = emit.builder, number_of(b.type, int(signed))
        # By 0, and of integers with a sign by -1, the quotient is the product.
        traps = build.icmp_unsigned("<=", build.add(b, least), least)
        divisor = build.select(traps, number_of(b.type, 1), b)
        quotient = (build.sdiv if signed else build.udiv)(a, divisor)
        return build.select(traps, build.mul(a, b), quotient)

    return instruction


def _remainder(quotient: _Instruction) -> _Instruction:
    return lambda emit, _, a, b: emit.builder.sub(a, emit.builder.mul(quotient(emit, _, a, b), b))


def _converted(builder: ir.IRBuilder, source: Kind, target: Kind, value: Any) -> Any:
    """A number of another kind; a float beyond an integer's range is its nearest, NaN is 0."""
    kind, of_floats = like(value.type, ELEMENTS[target]), source in (Kind.FLOAT, Kind.DOUBLE)
    if target is Kind.BOOL:
        compare = builder.fcmp_unordered if of_floats else builder.icmp_signed
        return value if source is Kind.BOOL else compare("!=", value, number_of(value.type, 0))
    if of_floats and target in (Kind.INT, Kind.UINT):
        name = f"llvm.fpto{'s' if target is Kind.INT else 'u'}i.sat"
        function = builder.module.declare_intrinsic(
            name, [kind, value.type], ir.FunctionType(kind, [value.type])
        )
        return builder.call(function, [value])
    if value.type == kind:
        return value
    if of_floats:
        return (builder.fpext if target is Kind.DOUBLE else builder.fptrunc)(value, kind)
    if target in (Kind.INT, Kind.UINT):
        return builder.zext(value, kind)
    return (builder.sitofp if source is Kind.INT else builder.uitofp)(value, kind)


def _to_int(emit: ValueEmitter, _: _Flags, value: Any) -> Any:
    return emit.builder.fptosi(value, like(value.type, I32))


def _to_float(emit: ValueEmitter, _: _Flags, value: Any) -> Any:
    return emit.builder.sitofp(value, like(value.type, F32))


_SIGNS = {operator: INFIX[operator][0] for operator in COMPARISONS}


def _comparisons(comparison: str, differ: str = "") -> dict[Operator, _Instruction]:
    """All six by a method of the builder's. differ: that for NOT_EQUAL, if it is another one."""
    return {
        **{operator: _comparison(sign, comparison) for operator, sign in _SIGNS.items()},
        Operator.EQUAL: _comparison("==", comparison),
        Operator.NOT_EQUAL: _comparison("!=", differ or comparison),
    }


_OF_DOUBLES: dict[Operator, _Instruction] = {
    Operator.ADD: _named("fadd"),
    Operator.SUBTRACT: _named("fsub"),
    Operator.MULTIPLY: _named("fmul"),
    Operator.DIVIDE: _named("fdiv"),
    Operator.NEGATE: _named("fneg"),
    Operator.SELECT: _select,
    **_comparisons("fcmp_ordered", "fcmp_unordered"),
}
_OF_INTEGERS: dict[Operator, _Instruction] = {
    Operator.ADD: _named("add"),
    Operator.SUBTRACT: _named("sub"),
    Operator.MULTIPLY: _named("mul"),
    Operator.NEGATE: lambda emit, _, a: emit.builder.neg(a),
    Operator.SELECT: _select,
}

_SIGNED, _UNSIGNED = (_quotient(signed=signed) for signed in (True, False))

_INSTRUCTIONS: dict[Kind, dict[Operator, _Instruction]] = {
    Kind.DOUBLE: _OF_DOUBLES,
    Kind.FLOAT: {
        **_OF_DOUBLES,
        Operator.ABSOLUTE: _function("fabs"),
        Operator.FLOOR: _function("floor"),
        Operator.SQRT: _function("sqrt"),
        Operator.EXP2: _function("exp2"),
        Operator.LOG2: _function("log2"),
        Operator.POWER: _function("pow"),
        Operator.SIN: _function("sin"),
        Operator.COS: _function("cos"),
        Operator.IS_NAN: lambda emit, _, a: emit.builder.fcmp_unordered("uno", a, a),
        Operator.SATURATE: _saturated,
        Operator.HALF: _halved,
        Operator.TO_INT: _to_int,
    },
    Kind.INT: {
        **_OF_INTEGERS,
        **_comparisons("icmp_signed"),
        Operator.DIVIDE: _SIGNED,
        Operator.REMAINDER: _remainder(_SIGNED),
        Operator.MINIMUM: _int_choice("<"),
        Operator.MAXIMUM: _int_choice(">"),
        Operator.TO_FLOAT: _to_float,
    },
    Kind.UINT: {
        **_OF_INTEGERS,
        **_comparisons("icmp_unsigned"),
        Operator.DIVIDE: _UNSIGNED,
        Operator.REMAINDER: _remainder(_UNSIGNED),
    },
    Kind.BOOL: {
        **_comparisons("icmp_unsigned"),
        Operator.AND: _named("and_"),
        Operator.OR: _named("or_"),
        Operator.NOT: lambda emit, _, value: emit.builder.not_(value),
    },
}
"""The emitters of operations, by the kind of their last operand."""


# Loops -------------------------------------------------------------------------------------------


class CarryingLoop:
    """A loop of at least one trip, with values carried from trip to trip.

    Between `begin` and `end` its body is emitted; `number` counts from `first` in steps of `step`.
    """

    def __init__(self, emit: ValueEmitter, first: Any, step: int) -> None:
        """first: a 64-bit integer of LLVM; step: a number."""
        self._emit, self._first, self._step = emit, first, step
        self._carried: list[tuple[TileValue, TileValue]] = []

    def begin(self, starts: Sequence[TileValue]) -> list[TileValue]:
        """Open the loop; returns the carried values at the beginning of a trip."""
        b = self._emit.builder
        before = [self._emit.everywhere(start) for start in starts]
        self._emit.emit_now(before)
        self._before, self._body = b.block, b.append_basic_block()
        b.branch(self._body)
        b.position_at_end(self._body)
        self.number = b.phi(I64)
        vector = self._emit.vector_of(F32)
        phis = [TileValue(EVERYWHERE, lambda r, v: b.phi(vector)) for _ in starts]
        self._emit.emit_now(phis)
        self._carried = list(zip(before, phis, strict=True))
        return phis

    def end(self, last: Any, ends: Sequence[TileValue], left: TileValue | None = None) -> None:
        """Close it: go on while the next number is below `last`, but not if all fragments have
        `left`.
        """
        b = self._emit.builder
        following, tile = b.add(self.number, integer(self._step)), self._emit.tile
        self.number.add_incoming(self._first, self._before)
        self.number.add_incoming(following, b.block)
        for (start, phi), end in zip(self._carried, ends, strict=True):
            for r, v in product(range(tile.rows), range(tile.vectors)):
                phi.cell(r, v).add_incoming(start.cell(r, v), self._before)
                phi.cell(r, v).add_incoming(self._emit.at(end, r, v, in_lanes=True), b.block)
        after, goes_on = b.append_basic_block(), b.icmp_signed("<", following, last)
        if left is not None:
            places = product(range(tile.rows), range(tile.vectors))
            gone = reduce(b.and_, [self._emit.at(left, r, v, in_lanes=True) for r, v in places])
            mask = ir.IntType(tile.lanes)
            all_gone = b.icmp_signed("==", b.bitcast(gone, mask), ir.Constant(mask, -1))
            goes_on = b.and_(goes_on, b.not_(all_gone))
        b.cbranch(goes_on, self._body, after)
        b.position_at_end(after)
