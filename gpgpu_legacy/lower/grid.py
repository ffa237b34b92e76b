"""Values of a tile of fragments as LLVM instructions: what the opcodes' own meanings leave behind.

A tile is `rows` rows by `strips` strips of `lanes` neighbouring fragments. A Grid holds one LLVM
value for each row and strip over which it varies: vectors of lanes where it differs from column to
column, scalars where it does not. Grids have the operators and ufuncs in which isa/opcodes.py is
written, so running an opcode's `evaluate` on them emits its code.

Every operation is rounded to float32. Where contraction is allowed, a product that is added may be
rounded once (LLVM's `contract`); nothing is reordered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

from gpgpu_legacy.lower.content import UnsupportedError

F32, F16, I8 = ir.FloatType(), ir.HalfType(), ir.IntType(8)
I32, I64 = ir.IntType(32), ir.IntType(64)


@dataclass(frozen=True, slots=True)
class Tile:
    """The shape of the code: rows and strips of a tile, lanes of a vector."""

    rows: int
    strips: int
    lanes: int

    @property
    def width(self) -> int:
        """Fragments across."""
        return self.strips * self.lanes


class Grid:
    """A value of a tile: one LLVM value for each row and strip over which it varies."""

    __slots__ = ("along_x", "along_y", "cells", "emit", "splats")

    def __init__(self, emit: Emitter, cells: list[list[Any]], along_x: bool, along_y: bool):
        self.emit, self.cells = emit, cells
        self.along_x, self.along_y = along_x, along_y
        self.splats: dict[int, Any] = {}

    def at(self, row: int, strip: int, *, vector: bool) -> Any:
        """The value in one cell, as a vector of lanes or as it is."""
        r = row if self.along_y else 0
        value = self.cells[r][strip if self.along_x else 0]
        if not vector or self.along_x:
            return value
        if r not in self.splats:
            self.splats[r] = self.emit.splat(value)
        return self.splats[r]

    # Arithmetic, as the opcodes' meanings use it.

    def __add__(self, other: Any) -> Grid:
        return self.emit.binary("fadd", self, other)

    def __sub__(self, other: Any) -> Grid:
        return self.emit.binary("fsub", self, other)

    def __mul__(self, other: Any) -> Grid:
        return self.emit.binary("fmul", self, other)

    def __truediv__(self, other: Any) -> Grid:
        return self.emit.binary("fdiv", self, other)

    def __neg__(self) -> Grid:
        return self.emit.map(lambda b, a: b.fneg(a), self)

    def __lt__(self, other: Any) -> Grid:
        return self.emit.compare("<", self, other)

    def __le__(self, other: Any) -> Grid:
        return self.emit.compare("<=", self, other)

    def __gt__(self, other: Any) -> Grid:
        return self.emit.compare(">", self, other)

    def __ge__(self, other: Any) -> Grid:
        return self.emit.compare(">=", self, other)

    def __or__(self, other: Any) -> Grid:
        return self.emit.map(lambda b, a, c: b.or_(a, c), self, other)

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **options: Any) -> Grid:
        name = ufunc.__name__
        made = UFUNCS.get(name)
        if made is None or method != "__call__" or options:
            raise UnsupportedError(name)
        if self.emit.exact and name in APPROXIMATE:
            raise UnsupportedError(f"{name} to the last bit")
        return made(self.emit, *operands)

    def __array_function__(self, function: Any, _: Any, operands: Any, options: Any) -> Grid:
        if function is not np.where or options or len(operands) != 3:
            raise UnsupportedError(function.__name__)
        return self.emit.select(*operands)


def _intrinsic(name: str) -> Callable[..., Grid]:
    return lambda emit, *operands: emit.call(name, *operands)


def _operator(name: str) -> Callable[..., Grid]:
    return lambda emit, a, b: emit.binary(name, a, b)


def _comparison(name: str) -> Callable[..., Grid]:
    return lambda emit, a, b: emit.compare(name, a, b)


def _minimum(emit: Emitter, a: Any, b: Any) -> Grid:
    """The smaller, or NaN where either is NaN; with a positive number of its own, a selection."""
    if isinstance(b, np.floating) and b > 0.0:
        return emit.select(emit.grid(b) < a, b, a)
    return emit.call("llvm.minimum", a, b)


UFUNCS: dict[str, Callable[..., Grid]] = {
    "add": _operator("fadd"),
    "subtract": _operator("fsub"),
    "multiply": _operator("fmul"),
    "divide": _operator("fdiv"),
    "negative": lambda emit, a: -emit.grid(a),
    "less": _comparison("<"),
    "less_equal": _comparison("<="),
    "greater": _comparison(">"),
    "greater_equal": _comparison(">="),
    "absolute": _intrinsic("llvm.fabs"),
    "floor": _intrinsic("llvm.floor"),
    "sqrt": _intrinsic("llvm.sqrt"),
    "minimum": _minimum,
    "maximum": _intrinsic("llvm.maximum"),
    "exp2": _intrinsic("llvm.exp2"),
    "log2": _intrinsic("llvm.log2"),
    "sin": _intrinsic("llvm.sin"),
    "cos": _intrinsic("llvm.cos"),
    "power": _intrinsic("llvm.pow"),
}

APPROXIMATE = frozenset({"exp2", "log2", "sin", "cos", "power"})
"""Ufuncs of which two libraries may give neighbouring results; an exact run has none of them."""


class Emitter:
    """LLVM instructions for Grids of one tile, at one place of one function."""

    def __init__(self, module: ir.Module, builder: ir.IRBuilder, tile: Tile, *, exact: bool):
        self.module, self.builder, self.tile = module, builder, tile
        self.exact, self.flags = exact, () if exact else ("contract",)

    # Making values

    def vector_of(self, scalar: Any) -> Any:
        return ir.VectorType(scalar, self.tile.lanes)

    def splat(self, value: Any) -> Any:
        lanes = self.tile.lanes
        if isinstance(value, ir.Constant):
            return ir.Constant(self.vector_of(value.type), [value] * lanes)
        undefined = ir.Constant(self.vector_of(value.type), ir.Undefined)
        one = self.builder.insert_element(undefined, value, ir.Constant(I32, 0))
        zeros = ir.Constant(ir.VectorType(I32, lanes), [0] * lanes)
        return self.builder.shuffle_vector(one, undefined, zeros)

    def grid(self, value: Any) -> Grid:
        """A Grid, or a number as one that is the same everywhere."""
        if isinstance(value, Grid):
            return value
        return Grid(self, [[ir.Constant(F32, float(np.float32(value)))]], False, False)

    def make(self, along_x: bool, along_y: bool, cell: Callable[[int, int], Any]) -> Grid:
        rows = range(self.tile.rows if along_y else 1)
        strips = range(self.tile.strips if along_x else 1)
        return Grid(self, [[cell(r, s) for s in strips] for r in rows], along_x, along_y)

    def map(self, operation: Callable[..., Any], *operands: Any) -> Grid:
        """An operation of scalars or vectors on Grids, in each cell that they tell apart."""
        grids = [self.grid(operand) for operand in operands]
        along_x, along_y = any(g.along_x for g in grids), any(g.along_y for g in grids)
        return self.make(
            along_x,
            along_y,
            lambda r, s: operation(self.builder, *(g.at(r, s, vector=along_x) for g in grids)),
        )

    def everywhere(self, value: Grid) -> Grid:
        """A value as one that may differ in every cell."""
        return self.make(True, True, lambda r, s: value.at(r, s, vector=True))

    def binary(self, name: str, a: Any, b: Any) -> Grid:
        flags = () if name == "fdiv" else self.flags
        return self.map(lambda builder, x, y: getattr(builder, name)(x, y, flags=flags), a, b)

    def compare(self, operator: str, a: Any, b: Any) -> Grid:
        return self.map(lambda builder, x, y: builder.fcmp_ordered(operator, x, y), a, b)

    def call(self, name: str, *operands: Any) -> Grid:
        """A function of LLVM's own, by name."""
        return self.map(lambda b, *values: self.intrinsic(b, name, *values), *operands)

    def intrinsic(self, builder: ir.IRBuilder, name: str, *values: Any) -> Any:
        kind = values[0].type
        suffix = f"v{kind.count}f32" if isinstance(kind, ir.VectorType) else "f32"
        function = self.module.declare_intrinsic(
            f"{name}.{suffix}", fnty=ir.FunctionType(kind, [v.type for v in values])
        )
        return builder.call(function, values)

    def select(self, condition: Any, a: Any, b: Any) -> Grid:
        """Condition ? a : b."""
        return self.map(lambda builder, c, x, y: builder.select(c, x, y), condition, a, b)

    def saturated(self, value: Grid) -> Grid:
        """Clamped to [0, 1]; NaN and -0 become 0, as on the reference machine."""
        low = self.select(value > 0.0, value, 0.0)
        return self.select(low <= 1.0, low, 1.0)

    def exactly(self, name: str, a: Any, b: Any) -> Grid:
        """An operation that is contracted with no other."""
        return self.map(lambda builder, x, y: getattr(builder, name)(x, y), a, b)


class Counted:
    """`for number in range(first, last, step)` around what is emitted in a `with` block."""

    def __init__(self, builder: ir.IRBuilder, first: Any, last: Any, step: int = 1) -> None:
        """first, last: 64-bit integers of LLVM; step: a number."""
        self._builder, self._first, self._last, self._step = builder, first, last, step

    def __enter__(self) -> Any:
        b, before = self._builder, self._builder.block
        self._head = b.append_basic_block()
        body, self._after = b.append_basic_block(), b.append_basic_block()
        b.branch(self._head)
        b.position_at_end(self._head)
        self._number = b.phi(I64)
        self._number.add_incoming(self._first, before)
        b.cbranch(b.icmp_signed("<", self._number, self._last), body, self._after)
        b.position_at_end(body)
        return self._number

    def __exit__(self, *_: object) -> None:
        b = self._builder
        self._number.add_incoming(b.add(self._number, integer(self._step)), b.block)
        b.branch(self._head)
        b.position_at_end(self._after)


class Turning:
    """A loop that is carried out at least once, with values that go from turn to turn.

    Between `begin` and `end` its body is emitted; `number` counts from `first` in steps of `step`.
    """

    def __init__(self, emit: Emitter, first: Any, step: int) -> None:
        """first: a 64-bit integer of LLVM; step: a number."""
        self._emit, self._first, self._step = emit, first, step
        self._carried: list[tuple[Grid, Grid]] = []

    def begin(self, starts: list[Grid]) -> list[Grid]:
        """Open the loop; gives the carried values as they are at the beginning of a turn."""
        b = self._emit.builder
        before = [self._emit.everywhere(start) for start in starts]
        self._before, self._body = b.block, b.append_basic_block()
        b.branch(self._body)
        b.position_at_end(self._body)
        self.number = b.phi(I64)
        vector = self._emit.vector_of(F32)
        phis = [self._emit.make(True, True, lambda r, s: b.phi(vector)) for _ in starts]
        self._carried = list(zip(before, phis, strict=True))
        return phis

    def end(self, last: Any, ends: list[Grid]) -> None:
        """Close it: go on while the next number is below `last`."""
        b = self._emit.builder
        following = b.add(self.number, integer(self._step))
        self.number.add_incoming(self._first, self._before)
        self.number.add_incoming(following, b.block)
        for (start, phi), value in zip(self._carried, ends, strict=True):
            for r, row in enumerate(phi.cells):
                for s, cell in enumerate(row):
                    cell.add_incoming(start.cells[r][s], self._before)
                    cell.add_incoming(value.at(r, s, vector=True), b.block)
        after = b.append_basic_block()
        b.cbranch(b.icmp_signed("<", following, last), self._body, after)
        b.position_at_end(after)


def integer(value: int) -> ir.Constant:
    """A 64-bit integer."""
    return ir.Constant(I64, value)


def load(builder: ir.IRBuilder, place: Any, kind: Any, align: int) -> Any:
    """What stands at a place, as a value of that type."""
    value = builder.load(builder.bitcast(place, kind.as_pointer()))
    value.align = align
    return value


def store(builder: ir.IRBuilder, value: Any, place: Any, align: int) -> None:
    """Put a value at a place."""
    builder.store(value, builder.bitcast(place, value.type.as_pointer()), align=align)
