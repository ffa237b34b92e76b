"""Expressions of the lowering IR as LLVM instructions: a TileValue for each component in demand.

A lookup that fetches one texel is emitted where it is called. One that filters several is a
function of LLVM's own, which is called: so a program of many such lookups stays small.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from llvmlite import ir

from gpgpu_legacy.ir.expressions import (
    Compose,
    Constant,
    Expression,
    Fetch,
    Given,
    Operation,
    Place,
    PlanePart,
    Read,
    Swizzle,
    Texel,
    Variable,
)
from gpgpu_legacy.ir.statements import Call, Declare, Function, all_expressions, walk
from gpgpu_legacy.ir.types import EVERYWHERE, Components
from gpgpu_legacy.isa.ir import Parameter
from gpgpu_legacy.lower.emit.llvm_basics import F32, I64
from gpgpu_legacy.lower.emit.llvm_memory import AffineChannel, FetchedTexel, Scalar, TileMemory
from gpgpu_legacy.lower.emit.llvm_values import TileShape, TileValue
from gpgpu_legacy.lower.lookups import AffineLookup, DependentLookup
from gpgpu_legacy.lower.sampling import size_variables

Component = tuple[Variable, int]
"""A component of a variable, which has a TileValue."""


class FunctionContext:
    """The environment of the expressions of one LLVM function.

    sizes: of the surfaces that lookups fetch from. trips: of the loop around.
    """

    def __init__(self, memory: TileMemory, lookups: LookupFunctions) -> None:
        """At the function's beginning."""
        self.memory, self.lookups, self.trips = memory, lookups, 1
        found = (look for draw in memory.content.draws for look in draw.lookups)
        fetched = {look.texture for look in found if isinstance(look, DependentLookup)}
        self.sizes: dict[Component, TileValue] = {
            (size.variable, axis): grid
            for number in sorted(fetched)
            for axis, (size, grid) in enumerate(
                zip(size_variables(number), memory.sizes(number), strict=True)
            )
        }

    def called(self, function: Function, arguments: list[TileValue]) -> Scope:
        """The body of a function of the IR, with its arguments bound."""
        bound = ((parameter, 0) for parameter in function.parameters)
        values = dict(zip(bound, arguments, strict=True))
        declared = {
            statement.variable: statement.value
            for statement in function.body
            if isinstance(statement, Declare) and statement.value is not None
        }
        scope = Scope(self, self.sizes | values, declared)
        if not _fetches(function):  # its values follow from one another, in chains too long to nest
            for value in declared.values():
                if value.type.width == 1:
                    self.memory.emit.emit_now([scope.component(value, 0)])
        return scope


class LookupFunctions:
    """The LLVM functions of a module that filter: of the words and the coordinates, a texel."""

    def __init__(
        self, module: ir.Module, memory: Callable[[Any, TileShape], TileMemory], lanes: int
    ) -> None:
        """memory: what a function reads."""
        self._module, self._memory, self._lanes = module, memory, lanes
        self._functions: dict[tuple[str, Components], Any] = {}

    def function(self, function: Function, channels: Components) -> Any:
        """The one that gives these channels, as a structure of vectors."""
        key = (function.name, channels)
        if key not in self._functions:
            self._functions[key] = self._emitted(function, channels)
        return self._functions[key]

    def _emitted(self, function: Function, channels: Components) -> Any:
        vector = ir.VectorType(F32, self._lanes)
        coordinates = [vector] * len(function.parameters)
        texel = ir.LiteralStructType([vector] * len(channels))
        kind = ir.FunctionType(texel, [I64.as_pointer(), *coordinates])
        name = "_".join(map(str, (function.name, *channels)))
        emitted = ir.Function(self._module, kind, name)
        emitted.linkage = "internal"
        memory = self._memory(emitted, TileShape(1, 1, self._lanes))
        arguments = [_one(argument) for argument in emitted.args[1:]]
        body = FunctionContext(memory, self).called(function, arguments)
        result = ir.Constant(texel, ir.Undefined)
        for number, channel in enumerate(channels):
            grid = body.component(function.result, channel)
            value = memory.emit.at(grid, 0, 0, in_lanes=True)
            result = memory.builder.insert_value(result, value, number)
        memory.builder.ret(result)
        return emitted


class Scope:
    """Expressions of one statement, or of one call of a function, component by component.

    Shared parts are emitted once. values: of components of variables. declared: the expressions of
    the block's variables, which are emitted where they are read.
    """

    def __init__(
        self,
        context: FunctionContext,
        values: Mapping[Component, TileValue],
        declared: Mapping[Variable, Expression],
    ) -> None:
        """Nothing emitted yet."""
        self._context, self._memory = context, context.memory
        self._values, self._declared = values, declared
        self._grids: dict[tuple[int, int], TileValue] = {}
        self._calls: dict[int, Scope] = {}
        self._filtered: dict[tuple[int, Components], dict[int, TileValue]] = {}
        self._texels: dict[int, FetchedTexel] = {}

    def component(self, value: Expression, index: int) -> TileValue:
        """A component of an expression, or the number for all components."""
        if value.type.width == 1:
            index = 0
        key = (id(value), index)
        grid = self._grids.get(key)
        if grid is None:
            grid = self._grids[key] = self._component(value, index)
        return grid

    def _component(self, value: Expression, index: int) -> TileValue:  # noqa: PLR0911 - a case each
        match value:
            case Operation(operands=operands):
                grids = [self.component(operand, index) for operand in operands]
                return self._memory.emit.operation(value, grids)
            case Read(variable=variable, components=wanted):
                if variable in self._declared:
                    return self.component(self._declared[variable], wanted[index])
                return self._values[variable, wanted[index]]
            case Constant(values=numbers):
                return self._memory.emit.constant(numbers[index], value.type.kind)
            case Compose(operands=parts):
                return self.component(parts[index], 0)
            case Swizzle(operands=(Call() as call,), components=wanted):
                return self._called(call, wanted, wanted[index])
            case Swizzle(operands=(vector,), components=wanted):
                return self.component(vector, wanted[index])
            case Given():
                return self._given(value, index)
            case Texel(lookup=AffineLookup() as lookup, components=wanted, advance=advance):
                trips = self._context.trips
                return self._memory.texel(AffineChannel(lookup, wanted[index], advance, trips))
            case Call():
                return self._called(value, tuple(range(value.type.width)), index)
            case Fetch():
                return self._fetched(value, index)
        raise AssertionError(value)

    def _given(self, given: Given, index: int) -> TileValue:
        memory, component = self._memory, given.components[index]
        match given.source:
            case Place.CENTRE:
                return memory.centre(component)
            case Place.ORIGIN:
                return memory.origin(memory.content.draws[given.draw].targets[0], component)
            case PlanePart(attribute=attribute, part=part):
                return memory.number(Scalar(given.draw, attribute, component, part))
            case Parameter() as parameter:
                return memory.number(Scalar(given.draw, parameter, component))
        raise AssertionError(given)

    def _called(self, call: Call, wanted: Components, channel: int) -> TileValue:
        """A channel of a function's result, of which these are wanted."""
        if _fetches(call.function) > 1:
            key = (id(call), wanted)
            if key not in self._filtered:
                self._filtered[key] = self._filter(call, wanted)
            return self._filtered[key][channel]
        if id(call) not in self._calls:
            arguments = [self.component(argument, 0) for argument in call.operands]
            self._calls[id(call)] = self._context.called(call.function, arguments)
        return self._calls[id(call)].component(call.function.result, channel)

    def _filter(self, call: Call, wanted: Components) -> dict[int, TileValue]:
        emit, builder = self._memory.emit, self._memory.builder
        arguments = [self.component(argument, 0) for argument in call.operands]
        function = self._context.lookups.function(call.function, wanted)

        def texel(row: int, vector: int) -> Any:
            given = [emit.at(argument, row, vector, in_lanes=True) for argument in arguments]
            return builder.call(function, [self._memory.words.array, *given])

        texels = TileValue(EVERYWHERE, texel)

        def channel_of(number: int) -> TileValue:
            return TileValue(
                EVERYWHERE, lambda r, v: builder.extract_value(texels.cell(r, v), number)
            )

        return {channel: channel_of(number) for number, channel in enumerate(wanted)}

    def _fetched(self, fetch: Fetch, index: int) -> TileValue:
        if id(fetch) not in self._texels:
            column, row = (self.component(operand, 0) for operand in fetch.operands)
            self._texels[id(fetch)] = self._memory.fetch(fetch.texture, column, row)
        return self._texels[id(fetch)].component(index)


def _one(vector: Any) -> TileValue:
    """The TileValue of a tile that is one vector."""
    return TileValue(EVERYWHERE, lambda *_: vector)


def _fetches(function: Function) -> int:
    """The number of texels that it fetches."""
    parts = [*all_expressions(function.body), *walk(function.result)]
    return len({id(part) for part in parts if isinstance(part, Fetch)})
