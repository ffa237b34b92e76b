"""Texture lookups as functions of the lowering IR: from coordinates to texels (plan/sampling.py).

The addressing of a driver's sampler differs from driver to driver, and its filter has weights of
8 bits. So these functions compute both in float32. A texture lies in one array of rows, its layers
one above the other, as in transfers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.expressions import (
    Expression,
    Fetch,
    Read,
    Variable,
    component,
    compose,
    constant,
    expression,
    integer,
    operation,
    read,
)
from gpgpu_legacy.isa.statements import Call, Declare, Function, Statement, uncontracted
from gpgpu_legacy.isa.types import FLOAT, INT, Kind, Operator, type_of
from gpgpu_legacy.lower.framebuffer import as_decoded, as_read
from gpgpu_legacy.lower.lowering import LOD
from gpgpu_legacy.plan.sampling import (
    Sampling,
    TextureLevel,
    border_of,
    coordinate_count,
    level_of,
    parameter_count,
    sloping,
)
from gpgpu_legacy.plan.textures import RGBA32F, Extent, Filter, Format, Sampler, TextureKind


@frozen
class SampledUnit:
    """The key of a lookup's code: a texture and its sampler.

    number: of the texture image unit, or of the surface; a Fetch names its texture by it. extent:
    None if the code must work for textures of any size; it then reads the size from size_variables.
    """

    number: int
    kind: TextureKind
    extent: Extent | None
    sampler: Sampler
    format: Format


def fetch_function(
    number: int, texel_format: Format, width: Expression, texel: Callable[[Expression], Expression]
) -> Function:
    """The function fetch`number`: the R, G, B and A at a column and a row of an array.

    width: of a row, in texels. texel: from a texel's number to its stored channels.
    """
    column, row = (read(Variable(name, INT)) for name in ("column", "row"))
    result = as_read(texel(row * width + column), texel_format)
    return Function(f"fetch{number}", (column.variable, row.variable), (), result)


def size_variables(number: int) -> tuple[Read, ...]:
    """The sizes along s, t and r of a texture whose extent the code does not know."""
    variable = Variable("sizes", type_of(Kind.INT, 3), number=number)
    return tuple(Read(variable, (axis,)) for axis in range(3))


@lru_cache(maxsize=256)
def lookup_function(
    number: int, unit: SampledUnit, *, decodes: bool = False, code: type[LookupCode] | None = None
) -> Function:
    """The function lookup`number`: from s, t and r, as many as the lookup reads, to the texel.

    With levels of detail its last two parameters are λ without biases, and the bias.
    decodes: whether to pass the result of a Fetch through as_decoded. code: the class that builds
    the lookup; by default LookupCode.
    """
    lookup, sampler = (code or LookupCode)(unit, number, decodes=decodes), unit.sampler
    place = _place(unit)
    if not sampler.has_lod:
        texel = lookup.in_level(sampler.filter, lookup.level(sampler.base_level), place)
        return lookup.function("lookup", place, texel, sampler.filter)
    more = [_number(name) for name in ("lod", "bias")]
    texel = lookup.detailed(place, *more)
    return lookup.function("lookup", [*place, *more], texel, sampler.filter.between)


def place_function(number: int, unit: SampledUnit) -> Function:
    """The function from a lookup's coordinates to the nearest texel's column and row.

    With levels of detail it also has the last two parameters of lookup_function. The row counts
    through all layers and levels.
    """
    nearest = replace(unit, sampler=unit.sampler.to_the_nearest, format=RGBA32F)
    return lookup_function(number, nearest, code=PlaceCode)


def lod_function(number: int, unit: SampledUnit) -> Function:
    """The function lod`number`: from coordinates in a quad to λ without biases.

    Its parameters are s, t and r, as many as the kind reads, in the fragments (0, 0), (1, 0) and
    (0, 1) each.
    """
    code = LookupCode(unit, number, decodes=False)
    count = coordinate_count(unit.kind)
    points = [_place(unit, name)[:count] for name in ("", "right_", "up_")]
    lod = code.level_of_detail(points)
    parameters = tuple(part.variable for point in points for part in point)
    return Function(f"lod{number}", parameters, tuple(code.statements), lod)


def lookup_arguments(
    coordinates: Sequence[Any], number: int, unit: SampledUnit
) -> tuple[Expression, ...]:
    """The arguments of the function lookup`number`.

    coordinates: as the opcode's row gives them. Unless they give a level of detail that the lookup
    needs, the program reads it from LOD, which must be assigned before.
    """
    place = tuple(coordinates[: parameter_count(unit.kind, unit.sampler)])
    if not unit.sampler.has_lod:
        return place
    lod: Expression = read(LOD)
    for slopes in coordinates[4:]:
        points = sloping(unit.kind, place, slopes)
        given = tuple(expression(v) for point in points for v in point)
        lod = Call(given, lod_function(number, unit)) if slopes else constant(0.0)
    return (*place, lod, expression(coordinates[3]))


def _place(unit: SampledUnit, prefix: str = "") -> list[Read]:
    """The parameters of a lookup's function for its coordinates."""
    names = "str"[: parameter_count(unit.kind, unit.sampler)]
    return [_number(prefix + name) for name in names]


def _number(name: str) -> Read:
    """A float parameter."""
    return read(Variable(name, FLOAT))


class LookupCode(Sampling):
    """A lookup as the statements of a function; each statement names a value."""

    def __init__(self, unit: SampledUnit, number: int, *, decodes: bool) -> None:
        self.unit, self.number, self.decodes = unit, number, decodes
        self.statements: list[Statement] = []
        super().__init__(unit.kind, unit.sampler, unit.extent)

    def border(self) -> Expression:
        texel_format = self.unit.format
        return as_read(compose(border_of(self.sampler, texel_format)), texel_format)

    def function(
        self,
        name: str,
        given: Sequence[Read],
        result: Expression,
        filter_: Filter | None,
    ) -> Function:
        """The function from these parameters to a texel.

        filter_: of the texel. After a linear filter or a comparison, a channel that is 0 or 1 in
        all texels of the format becomes that constant.
        """
        reads = self.unit.format.reads
        if (filter_ is Filter.LINEAR or self.sampler.compare) and reads != "rgba":
            result = compose(
                constant(float(source)) if source in "01" else component(result, channel)
                for channel, source in enumerate(reads)
            )
        parameters = tuple(part.variable for part in given)
        return Function(f"{name}{self.number}", parameters, tuple(self.statements), result)

    def let(self, name: str, value: Any) -> Expression:
        """Declare a variable and read it. Each operation of its value is rounded by itself."""
        whole = uncontracted(expression(value))
        variable = Variable(name, whole.type)
        self.statements.append(Declare(variable, whole))
        return read(variable, axes=whole.axes)

    def limited(self, name: str, value: Any, low: Any, high: Any) -> Expression:
        least = self.let(f"{name}_least", operation(Operator.SELECT, value > low, value, low))
        return self.let(f"{name}_most", operation(Operator.SELECT, least < high, least, high))

    def to_int(self, value: Expression) -> Expression:
        return operation(Operator.TO_INT, value)

    def to_float(self, size: Any, more: float = 0.0) -> Expression:
        if not isinstance(size, Expression):
            return constant(size + more)
        whole = operation(Operator.TO_FLOAT, size)
        return operation(Operator.ADD, whole, more) if more else whole

    def fetched(self, name: str, column: Expression, row: Any, first_row: Any) -> Expression:
        texel: Expression = Fetch((column, expression(row + first_row, Kind.INT)), self.unit.number)
        return self.let(name, as_decoded(texel, self.unit.format) if self.decodes else texel)

    def level(self, number: Any) -> TextureLevel:
        """A level of the texture. number: an integer, or an expression that computes one."""
        extent, kind = self.unit.extent, self.unit.kind
        if extent is None:
            return TextureLevel(size_variables(self.unit.number), 0)
        if isinstance(number, int):
            return level_of(extent, kind, number)
        levels = [level_of(extent, kind, n) for n in range(extent.levels)]
        columns = zip(*((*level.sizes, level.first_row) for level in levels), strict=True)
        *sizes, first_row = (
            self.let(f"chosen{n}", _chosen(number, column)) for n, column in enumerate(columns)
        )
        return TextureLevel(tuple(sizes), first_row)

    def in_levels(self, filter_: Filter, numbers: Any, place: Sequence[Any]) -> Expression:
        inner, given = type(self)(self.unit, self.number, decodes=self.decodes), _place(self.unit)
        number = _number("number")
        texel = inner.in_level(filter_, inner.level(number), given)
        function = inner.function(filter_.value, [*given, number], texel, filter_)
        return Call((*place, expression(numbers)), function)


class PlaceCode(LookupCode):
    """Lookups that give the texel's column and row in place of its channels."""

    def fetched(self, name: str, column: Expression, row: Any, first_row: Any) -> Expression:
        return self.let(name, compose((column, expression(row + first_row, Kind.INT))))


class LayerCode(LookupCode):
    """Lookups in textures of unknown extents, whose layers are fetched by their numbers."""

    def first_row(self, slice_: Any, level: TextureLevel) -> Any:
        return slice_

    def fetched(self, name: str, column: Expression, row: Any, first_row: Any) -> Expression:
        layer = [first_row] if isinstance(first_row, Expression) else []
        place = (expression(at, Kind.INT) for at in (column, row, *layer))
        texel = Fetch(tuple(place), self.unit.number)
        return self.let(name, as_read(texel, self.unit.format))


def _chosen(number: Expression, values: Sequence[int]) -> Expression:
    """The value at index `number`, by nested selections."""
    *others, last = (integer(value) for value in values)
    value: Expression = last
    for n, other in reversed([*enumerate(others)]):
        value = operation(Operator.SELECT, number <= float(n), other, value)
    return value
