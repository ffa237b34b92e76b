"""Fused passes as LLVM IR: tiles of fragments, with all iterations of a tile in registers.

Decisions are made elsewhere: lower/fused/body.py makes the statements of a fragment, and
analysis/register_tile.py chooses the size of a tile.

A module has functions of one argument, an array of 64-bit words (llvm_basics.py): `stage_piece` for
columns of tiles, and `run_piece` for a rectangle of fragments, each for a range of iterations.
Everything that differs between fused passes of one Content is among the words, or in the table that
one of them points to.

An expression has a TileValue for each component that is read. A lookup of one texel is emitted
where it is called. A lookup that filters several texels is an LLVM function, so that a program with
many of them stays small.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial, reduce
from operator import and_
from typing import Any

from llvmlite import ir

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.expressions import (
    Compose,
    Constant,
    Expression,
    Fetch,
    Given,
    Operation,
    Place,
    Read,
    Role,
    Swizzle,
    Texel,
    Variable,
)
from gpgpu_legacy.isa.statements import (
    Assign,
    Call,
    Declare,
    For,
    Function,
    If,
    Statement,
    all_expressions,
    computes,
    read_first,
    trip_count,
    walk,
)
from gpgpu_legacy.isa.types import ALONG_X, EVERYWHERE, Components
from gpgpu_legacy.lower.analysis.register_tile import instruction_count, register_tile
from gpgpu_legacy.lower.emit.llvm_basics import (
    DEPTH,
    F16,
    F32,
    FIRST,
    I64,
    LAST,
    X_FIRST,
    X_LAST,
    Y_FIRST,
    Y_LAST,
    Emitted,
    counted,
    index_of,
)
from gpgpu_legacy.lower.emit.llvm_basics import call as emit_call
from gpgpu_legacy.lower.emit.llvm_memory import (
    AffineChannel,
    StagedChannels,
    TileMemory,
    meets_edges,
    stored_element,
)
from gpgpu_legacy.lower.emit.llvm_values import (
    TileShape,
    TileValue,
    ValueEmitter,
    once,
)
from gpgpu_legacy.lower.fused.body import fused_body
from gpgpu_legacy.lower.fused.content import Content, UnsupportedError, refuse_unsupported
from gpgpu_legacy.lower.lookups import AffineLookup

Component = tuple[Variable, int]
"""A component of a variable, which has a TileValue."""


class _Scope:
    """The statements of a tile, or the body of a called function, emitted component by component.

    Parts that a statement shares are emitted once. values: those of variables' components.
    declared: the expressions of the block's variables; each is emitted where it is read.
    """

    def __init__(self, module: _Module, memory: TileMemory) -> None:
        self.module, self.memory, self.emit = module, memory, memory.emit
        self.values: dict[Component, TileValue] = {}
        self.declared: dict[Variable, Expression] = {}
        self.shared: dict[Any, Any] = {}

    def called(self, function: Function, arguments: list[TileValue]) -> _Scope:
        """The body of a function of the IR, with its arguments bound."""
        scope = _Scope(self.module, self.memory)
        bound = ((parameter, 0) for parameter in function.parameters)
        scope.values = self.memory.sizes | dict(zip(bound, arguments, strict=True))
        scope.declared = {
            statement.variable: statement.value
            for statement in function.body
            if isinstance(statement, Declare) and statement.value is not None
        }
        if not _fetches(function):  # its values follow from one another, in chains too long to nest
            for value in scope.declared.values():
                if value.type.width == 1:
                    self.emit.emit_now([scope.component(value, 0)])
        return scope

    # Expressions

    def component(self, value: Expression, index: int) -> TileValue:
        """A component of an expression. A number is the same for every component."""
        if value.type.width == 1:
            index = 0
        return once(self.shared, (id(value), index), partial(self._component, value, index))

    def _component(self, value: Expression, index: int) -> TileValue:  # noqa: PLR0911 - a case each
        match value:
            case Operation(operands=operands):
                grids = [self.component(operand, index) for operand in operands]
                return self.emit.map(self.emit.instruction(value), *grids)
            case Read(variable=variable, components=wanted):
                if variable in self.declared:
                    return self.component(self.declared[variable], wanted[index])
                return self.values[variable, wanted[index]]
            case Constant(values=numbers):
                return self.emit.constant(numbers[index], value.type.kind)
            case Compose(operands=parts):
                return self.component(parts[index], 0)
            case Swizzle(operands=(Call() as call,), components=wanted):
                return self._called(call, wanted, wanted[index])
            case Swizzle(operands=(vector,), components=wanted):
                return self.component(vector, wanted[index])
            case Given():
                return self._given(value, index)
            case Texel(lookup=AffineLookup() as lookup, components=wanted, advance=advance):
                channel = AffineChannel(lookup, wanted[index], advance, self.memory.trips)
                return self.memory.texel(channel)
            case Call():
                return self._called(value, tuple(range(value.type.width)), index)
            case Fetch(texture=number):
                column, row = (self.component(operand, 0) for operand in value.operands)
                fetch = partial(self.memory.fetch, number, column, row)
                return once(self.shared, ("texel", id(value)), fetch)(index)
        raise AssertionError(value)

    def _given(self, given: Given, index: int) -> TileValue:
        memory, component = self.memory, given.components[index]
        if given.source is Place.CENTRE:
            return memory.centre(component)
        if given.source is Place.ORIGIN:
            return memory.origin(memory.content.draws[given.draw].targets[0], component)
        return memory.number(replace(given, components=(component,)))

    def _called(self, call: Call, wanted: Components, channel: int) -> TileValue:
        """One channel of a call's result. wanted: all channels that are read of it."""
        function = call.function
        arguments = [self.component(argument, 0) for argument in call.operands]
        if _fetches(function) <= 1:
            body = partial(self.called, function, arguments)
            return once(self.shared, id(call), body).component(function.result, channel)

        def texel(row: int, vector: int) -> Emitted:
            given = [self.emit.at(value, row, vector) for value in arguments]
            lookup = self.module.lookup(function, wanted)
            return emit_call(self.emit.builder, lookup, self.memory.words, *given)

        texels = once(self.shared, (id(call), wanted), partial(TileValue, EVERYWHERE, texel))
        number = wanted.index(channel)
        return TileValue(EVERYWHERE, lambda r, v: texels.cell(r, v).extract_value(number))

    # Statements

    def run(self) -> None:
        """All iterations on the tile."""
        memory, content = self.memory, self.memory.content
        carried = [(v, c) for v, c in read_first(self.module.statements) if v.role is Role.OWN]
        starts = [memory.own(variable.number, c) for variable, c in carried]
        self.values, memory.known = dict(zip(carried, starts, strict=True)), {}
        if content.once:
            self.emit.emit_now(starts)
            self.block(self.module.statements)
        else:
            with self._carrying(carried, memory.first, memory.last) as memory.iteration:
                self.block(self.module.statements)
        memory.known = {}
        for (variable, channel), value in self.values.items():
            if variable.role is Role.OWN and content.surfaces[variable.number].written:
                memory.put_own(variable.number, channel, value)

    def block(self, statements: Sequence[Statement]) -> None:
        """Emit statements in order, but a lookup where its texel is first read."""
        waiting: list[TileValue] = []
        for statement in statements:
            match statement:
                case Assign(variable=variable, components=wanted, value=value):
                    self.shared = {}
                    parts = [self.component(value, index) for index in range(len(wanted))]
                    if computes(value):
                        self.emit.emit_now(parts)
                    else:
                        waiting += parts
                    self.values.update(zip([(variable, c) for c in wanted], parts, strict=True))
                case Declare(variable=variable, value=Expression() as value):
                    self.declared[variable] = value
                case For():
                    self.emit.emit_now(waiting)
                    self.loop(statement)
                case _:
                    raise AssertionError(statement)
        self.emit.emit_now(waiting)

    def loop(self, loop: For) -> None:
        """Emit a loop of several trips at a time, then the remaining trips.

        If its body ends with an If, all fragments of the tile leave the loop together, once the
        condition holds for each.
        """
        memory, known, trips = self.memory, self.memory.known, trip_count(loop)
        body, last, leaves = loop.body, loop.body[-1], None
        unrolled = min(trips, max(1, UNROLLED // instruction_count(body)))
        if isinstance(last, If):
            body, unrolled, leaves = body[:-1], 1, last.condition
        else:
            memory.trips = trips
        whole = trips // unrolled * unrolled
        carried = [(variable, c) for variable, c, _ in loop.carried]
        with self._carrying(carried, 0, whole, unrolled, leaves) as memory.trip:
            memory.known = dict(known) if leaves else {}
            for memory.ahead in range(unrolled):
                self.block(body)
        memory.trip, memory.known = memory.integer(whole), {}
        for memory.ahead in range(trips - whole):
            self.block(body)
        memory.trips = 1
        memory.trip, memory.ahead, memory.known = memory.integer(0), 0, known

    @contextmanager
    def _carrying(
        self,
        places: Sequence[Component],
        first: Any,
        last: Any,
        step: int = 1,
        leaves: Expression | None = None,
    ) -> Iterator[Emitted]:
        """A loop of at least one trip around what is emitted in a `with` block; yields the number.

        places: the components whose values go from trip to trip. first, last: numbers or 64-bit
        integers of LLVM. The loop counts from `first` in steps, and goes on while the next number
        is below `last`. leaves: a condition that ends it earlier, once it holds for all fragments.
        """
        emit, b, tile = self.emit, self.emit.builder, self.emit.tile
        starts = [TileValue(EVERYWHERE, partial(emit.at, self.values[place])) for place in places]
        emit.emit_now(starts)
        before, body = b.block, b.append_basic_block()
        b.branch(body)
        b.position_at_end(body)
        number = Emitted(b, b.phi(I64))
        number.value.add_incoming(index_of(first), before)
        vector = emit.vector_of(F32)
        phis = [TileValue(EVERYWHERE, lambda *_: Emitted(b, b.phi(vector))) for _ in places]
        emit.emit_now(phis)
        self.values.update(zip(places, phis, strict=True))
        yield number
        following = number + step
        number.value.add_incoming(following.value, b.block)
        for place, start, phi in zip(places, starts, phis, strict=True):
            for cell in tile.places:
                joined = phi.cell(*cell).value
                joined.add_incoming(start.cell(*cell).value, before)
                joined.add_incoming(emit.at(self.values[place], *cell).value, b.block)
        after, goes_on = b.append_basic_block(), following < last
        if leaves:
            self.shared = {}
            left = self.component(leaves, 0)
            gone = reduce(and_, [emit.at(left, *cell) for cell in tile.places])
            goes_on = goes_on & (gone.bitcast(ir.IntType(tile.lanes)) == -1).not_()
        b.cbranch(goes_on.value, body, after)
        b.position_at_end(after)


def _fetches(function: Function) -> int:
    """The number of texels that a function fetches."""
    parts = [*all_expressions(function.body), *walk(function.result)]
    return len({id(part) for part in parts if isinstance(part, Fetch)})


UNROLLED = 32  # about how many program instructions the body of an unrolled loop has


@frozen
class VectorUnit:
    """The properties of the processor that decide the code's shape.

    lanes: the floats of a vector. registers: the number of vector registers. halves: whether it has
    instructions that convert float16. fuses: whether it has fused multiply-adds.
    """

    lanes: int
    registers: int
    halves: bool = True
    fuses: bool = False


@frozen
class Code:
    """The code of a Content.

    text: LLVM IR. table: the components whose values are in the table, all iterations of the first
    before those of the second. staged: the rows that one iteration stages, of `tile.width` numbers
    each. instructions: the program instructions of one iteration for one fragment.
    """

    text: str
    tile: TileShape
    table: tuple[Given, ...]
    staged: int
    instructions: int


def emit_fused_passes(
    content: Content, processor: VectorUnit, *, exact: bool, tile: tuple[int, int] | None = None
) -> Code:
    """The code of a Content. Raises UnsupportedError for cases left to the reference machine.

    tile: the wanted rows and vectors, instead of register_tile's choice.
    """
    refuse_unsupported(content, branches=False)
    for surface in content.surfaces:
        if stored_element(surface.format) == F16 and not processor.halves:
            raise UnsupportedError(surface.format.name)
        if not surface.reachable:
            raise UnsupportedError("2³¹ texels")
    return _Module(content, processor, exact=exact, tile=tile).code()


# Modules and functions -----------------------------------------------------------------------


_NOTHING = ir.VoidType()


class _Module:
    """The module of a Content: the common part of its functions."""

    def __init__(
        self, content: Content, processor: VectorUnit, *, exact: bool, tile: tuple[int, int] | None
    ) -> None:
        self.content, self.exact, self.fuses = content, exact, processor.fuses
        self.statements = fused_body(content, as_level=True)
        self.staging = _staging(self.statements) if content.tall else StagedChannels()
        carried = sum(content.surfaces[number].format.channels for number in content.owned)
        rows, vectors = register_tile(self.statements, carried, processor.registers, tile)
        self.tile = TileShape(rows, vectors, processor.lanes)
        self.table: dict[Given, int] = {}
        self.module = ir.Module("fused passes")

    def code(self) -> Code:
        row = replace(self.tile, rows=1)
        self._run_function([self._tiles_function(tile) for tile in dict.fromkeys((self.tile, row))])
        memory, _ = self._begin(self._function("stage_piece"), row)
        memory.stage()
        memory.builder.ret_void()
        instructions = instruction_count(self.statements)
        return Code(str(self.module), self.tile, tuple(self.table), self.staging.rows, instructions)

    def _function(self, name: str, *more: Any, result: Any = _NOTHING) -> Any:
        kind = ir.FunctionType(result, [I64.as_pointer(), *more])
        return ir.Function(self.module, kind, name)

    def _begin(self, function: Any, tile: TileShape) -> tuple[TileMemory, list[Emitted]]:
        """Begin a function. Returns its memory, and its arguments after the words.

        The stack is aligned to whole vectors: a vector across two cache lines takes twice as long
        to load.
        """
        function.attributes.alignstack = 4 * tile.lanes
        builder = ir.IRBuilder(function.append_basic_block())
        words, *more = [Emitted(builder, argument) for argument in function.args]
        emit = ValueEmitter(builder, tile, exact=self.exact, fuses=self.fuses)
        return TileMemory(emit, words, self.content, self.staging, self.table), more

    def lookup(self, function: Function, channels: Components) -> Any:
        """The LLVM function of a lookup that filters.

        It takes the words and the coordinates, and returns a structure with a vector for each of
        the channels.
        """
        name = "_".join(map(str, (function.name, *channels)))
        if name in self.module.globals:
            return self.module.globals[name]
        vector = ir.VectorType(F32, self.tile.lanes)
        texel = ir.LiteralStructType([vector] * len(channels))
        emitted = self._function(name, *[vector] * len(function.parameters), result=texel)
        emitted.linkage = "internal"
        memory, coordinates = self._begin(emitted, TileShape(1, 1, self.tile.lanes))
        arguments = [TileValue(EVERYWHERE, lambda *_, at=at: at) for at in coordinates]
        body = _Scope(self, memory).called(function, arguments)
        result = Emitted(memory.builder, ir.Constant(texel, ir.Undefined))
        for number, channel in enumerate(channels):
            grid = body.component(function.result, channel)
            result = result.insert_value(memory.emit.at(grid, 0, 0), number)
        memory.builder.ret(result.value)
        return emitted

    def _tiles_function(self, tile: TileShape) -> Any:
        """The function that runs tiles of that shape in a range of columns, rows and iterations.

        Invariant values are loaded once, before the loops. If texels are staged, it runs all rows
        of a column of tiles before the next column; otherwise it runs row after row.
        """
        function = self._function(f"tiles_of_{tile.rows}", *[I64] * 6)
        function.linkage = "internal"
        function.attributes.add("noinline")
        memory, arguments = self._begin(function, tile)
        x_first, x_last, y_first, y_last, memory.first, memory.last = arguments
        b, rows = memory.builder, (y_first, y_last, tile.rows)
        if self.staging.rows:
            with counted(b, x_first, x_last, tile.width) as memory.x:
                memory.begin_panel()
                with counted(b, *rows) as memory.y:
                    _Scope(self, memory).run()
        else:
            with counted(b, *rows) as memory.y:
                self._emit_columns(memory, x_first, x_last)
        b.ret_void()
        return function

    def _emit_columns(self, memory: TileMemory, x_first: Emitted, x_last: Emitted) -> None:
        """The tiles between two columns.

        Short code is emitted twice: for tiles whose lookups along rows all lie inside, and for the
        tiles before and after them, which check for the edges.
        """
        b, width = memory.builder, memory.tile.width
        if not self.content.once or instruction_count(self.statements) > UNROLLED:
            with counted(b, x_first, x_last, width) as memory.x:
                _Scope(self, memory).run()
            return
        texels = [part for part in all_expressions(self.statements) if isinstance(part, Texel)]
        near = [texel.lookup for texel in texels if meets_edges(texel.lookup, texel.advance)]
        x_inside, x_after = memory.inner_columns(dict.fromkeys(near), x_first, x_last)
        with counted(b, 0 if near else 1, 3) as part:
            is_first, is_second = part == 0, part == 1
            start = is_first.choose(x_first, is_second.choose(x_inside, x_after))
            end = is_first.choose(x_inside.at_most(x_last), x_last)
            with b.if_else(is_second.value) as (inner, outer):
                for memory.is_inner, branch in ((True, inner), (False, outer)):
                    with branch:
                        last = x_after if memory.is_inner else end
                        with counted(b, start, last, width) as memory.x:
                            _Scope(self, memory).run()

    def _run_function(self, tiles: Sequence[Any]) -> None:
        """Emit `run_piece`: whole tiles first, then the remaining rows, one at a time.

        The last tile of a row runs over its end: textures have room there (runtime/native.py).
        """
        function = self._function("run_piece")
        b = ir.IRBuilder(function.append_basic_block())
        words = Emitted(b, function.args[0])
        columns = words[X_FIRST], words[X_LAST]
        last, depth, y_last = words[LAST], words[DEPTH], words[Y_LAST]
        with counted(b, words[FIRST], last, depth) as first:
            end, y = (first + depth).at_most(last), words[Y_FIRST]
            for function_of_tiles, height in zip(tiles, (self.tile.rows, 1), strict=False):
                left = y_last - y
                top = y + (left - left % height)
                emit_call(b, function_of_tiles, words, *columns, y, top, first, end)
                y = top
        b.ret_void()


def _staging(statements: Iterable[Statement]) -> StagedChannels:
    """The channels to stage: those that vary along x and are the same for all rows."""
    staging = StagedChannels()
    for statement in statements:
        trips = trip_count(statement) if isinstance(statement, For) else 1
        staging.add(
            [
                AffineChannel(texel.lookup, channel, texel.advance, trips)
                for texel in all_expressions([statement])
                if isinstance(texel, Texel) and texel.axes == ALONG_X
                for channel in texel.components
            ]
        )
    return staging
