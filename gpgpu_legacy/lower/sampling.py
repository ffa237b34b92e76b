"""Texture lookups as functions of the lowering IR: from coordinates to texels.

A sampler's own addressing differs from driver to driver, and its filter has weights of 8 bits. So
these functions compute both in float32, in the order of interp/sampler.py. A texture lies in one
array of rows, its layers one above the other, as in transfers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from gpgpu_legacy.frozen import frozen
from gpgpu_legacy.isa.ir import TextureTarget
from gpgpu_legacy.lower.ir import (
    Constant,
    Declare,
    Expression,
    Fetch,
    Function,
    Read,
    Statement,
    Variable,
    all_of,
    component,
    compose,
    constant,
    expression,
    operation,
    read,
    uncontracted,
)
from gpgpu_legacy.lower.ir_types import FLOAT, INT, Kind, Operator, type_of
from gpgpu_legacy.lower.lowering import as_decoded
from gpgpu_legacy.plan.textures import Extent, Filter, Format, Sampler, TextureKind, Wrap


@frozen
class Unit:
    """The key of a lookup's code: a texture and its sampler.

    number: of the texture image unit, or of the surface; the texture's in a Fetch. extent: None if
    the code must work for textures of any size, which it then reads from size_variables.
    """

    number: int
    kind: TextureKind
    extent: Extent | None
    sampler: Sampler
    format: Format

    @property
    def sizes(self) -> tuple[Expression, ...]:
        """Along s, t and r, in texels, as whole numbers."""
        if self.extent is None:
            return size_variables(self.number)
        extent = self.extent
        return tuple(constant(n, Kind.INT) for n in (extent.width, extent.height, extent.depth))


def as_read(texel: Expression, texel_format: Format) -> Expression:
    """The R, G, B and A that a lookup reads, from the channels that a texel stores."""
    if texel_format.reads == "rgba":
        return texel
    return compose(
        constant(float(source)) if source in "01" else component(texel, "rgba".index(source))
        for source in texel_format.reads
    )


def fetch_function(
    number: int, texel_format: Format, width: Expression, texel: Callable[[Expression], Expression]
) -> Function:
    """The function of that number: the R, G, B and A at a column and a row of an array.

    width: of a row. texel: the stored channels of the texel with a number.
    """
    column, row = (Read(Variable(name, INT), (0,)) for name in ("column", "row"))
    result = as_read(texel(row * width + column), texel_format)
    return Function(f"fetch{number}", (column.variable, row.variable), (), result)


def coordinate_count(kind: TextureKind) -> int:
    """The number of s, t and r that a lookup in a texture of that kind reads."""
    return TextureTarget(kind.value).coordinates


def size_variables(number: int) -> tuple[Read, ...]:
    """The sizes along s, t and r of a texture whose extent the code does not know."""
    variable = Variable("sizes", type_of(Kind.INT, 3), number=number)
    return tuple(Read(variable, (axis,)) for axis in range(3))


def lookup_function(number: int, unit: Unit, *, decodes: bool = False) -> Function:
    """The function of that number: from s, t and r, as many as the kind reads, to the texel.

    decodes: whether to pass the result of a Fetch through as_decoded.
    """
    return _Lookup(unit, decodes=decodes).function(number)


def select(condition: Any, chosen: Any, other: Any) -> Expression:
    """Condition ? chosen : other."""
    return operation(Operator.SELECT, condition, chosen, other)


class _Lookup:
    """Makes the statements of a function, each of which names a value."""

    def __init__(self, unit: Unit, *, decodes: bool) -> None:
        self.statements: list[Statement] = []
        self.unit, self.sizes, self.decodes = unit, unit.sizes, decodes

    def let(self, name: str, value: Any) -> Expression:
        """The variable of that name, with its value: rounded by itself."""
        whole = uncontracted(expression(value))
        variable = Variable(name, whole.type)
        self.statements.append(Declare(variable, whole))
        return read(variable, axes=whole.axes)

    def function(self, number: int) -> Function:
        count = coordinate_count(self.unit.kind)
        parameters = tuple(Variable(name, FLOAT) for name in "str"[:count])
        coordinates = [Read(parameter, (0,)) for parameter in parameters]
        result = self.texel(coordinates)
        return Function(f"lookup{number}", parameters, tuple(self.statements), result)

    def texel(self, coordinates: Sequence[Expression]) -> Expression:
        sampler = self.unit.sampler
        wraps = (sampler.wrap_s, sampler.wrap_t, sampler.wrap_r)
        layer: Expression = constant(0, Kind.INT)
        if self.unit.kind is TextureKind.CUBE:
            layer, *coordinates = self.face(*coordinates)
            wraps = (Wrap.CLAMP_TO_EDGE,) * 3
        axes = [
            _Axis(self, name, self.scaled(coordinate, size, wrap), size, wrap)
            for name, coordinate, size, wrap in zip(
                "ijk", coordinates, self.sizes, wraps, strict=False
            )
        ]
        if sampler.filter is Filter.NEAREST:
            return self.fetched([axis.nearest() for axis in axes], layer)
        return self.blended([axis.linear() for axis in axes], layer)

    def scaled(self, coordinate: Expression, size: Expression, wrap: Wrap) -> Expression:
        """A coordinate in texels; if the texture repeats, of its fraction."""
        if wrap is Wrap.REPEAT:
            coordinate = coordinate - operation(Operator.FLOOR, coordinate)
        return coordinate if self.unit.kind is TextureKind.RECT else coordinate * _as_float(size)

    def fetched(self, indices: Sequence[Expression], layer: Expression) -> Expression:
        """The texel at an index along each axis."""
        row: Expression = indices[1] if len(indices) > 1 else constant(0, Kind.INT)
        if len(indices) > 2:
            layer = indices[2]
        texel = Fetch((indices[0], row + layer * self.sizes[1]), self.unit.number)
        return as_decoded(texel, self.unit.format) if self.decodes else texel

    def blended(self, taps: Sequence[_Taps], layer: Expression) -> Expression:
        """The sum over all pairs of texels, s running fastest."""
        total: Expression | None = None
        for n, reversed_ends in enumerate(product((0, 1), repeat=len(taps))):
            ends = reversed_ends[::-1]
            chosen = [tap.index[end] for tap, end in zip(taps, ends, strict=True)]
            texel = fetched = self.let(f"texel{n}", self.fetched(chosen, layer))
            inside = [tap.inside[end] for tap, end in zip(taps, ends, strict=True) if tap.inside]
            if inside:
                texel = select(all_of(inside), texel, compose([0.0] * 4))
            weight = taps[0].weight[ends[0]]
            for tap, end in zip(taps[1:], ends[1:], strict=True):
                weight = weight * tap.weight[end]
            weighted = weight * texel
            total = self.let(f"sum{n}", weighted if total is None else total + weighted)
        assert total is not None
        # What is 0 or 1 in every texel is not weighted.
        return compose(
            component(fetched if source in "01" else total, channel)
            for channel, source in enumerate(self.unit.format.reads)
        )

    def face(self, x: Expression, y: Expression, z: Expression) -> list[Expression]:
        """The face that a direction selects, and the coordinates on it."""
        let = self.let
        along_x, along_y, along_z = (
            let(f"along_{name}", operation(Operator.ABSOLUTE, value))
            for name, value in zip("xyz", (x, y, z), strict=True)
        )
        both = operation(Operator.AND, along_z >= along_x, along_z >= along_y)
        on_z = let("on_z", both)
        on_y = let(
            "on_y",
            operation(Operator.AND, operation(Operator.NOT, on_z), along_y >= along_x),
        )
        major = let("major", select(on_z, along_z, select(on_y, along_y, along_x)))

        def chosen(name: str, z_way: Any, y_way: Any, x_way: Any) -> Expression:
            return let(name, select(on_z, z_way, select(on_y, y_way, x_way)))

        def sides(value: Expression, negative: int) -> Expression:
            low, high = constant(negative, Kind.INT), constant(negative - 1, Kind.INT)
            return select(value < 0.0, low, high)

        face = chosen("face", sides(z, 5), sides(y, 3), sides(x, 1))
        across = chosen("across", select(z < 0.0, -x, x), x, select(x < 0.0, z, -z))
        up = chosen("up", -y, select(y < 0.0, -z, z), -y)
        return [
            face,
            let("face_s", (across / major + 1.0) * 0.5),
            let("face_t", (up / major + 1.0) * 0.5),
        ]


@frozen
class _Taps:
    """Two texels along an axis: indices, weights, and whether they are inside, if that varies."""

    index: tuple[Expression, Expression]
    weight: tuple[Expression, Expression]
    inside: tuple[Expression, ...] = ()


class _Axis:
    """One coordinate of a lookup, in texels."""

    def __init__(
        self, block: _Lookup, name: str, texels: Expression, size: Expression, wrap: Wrap
    ) -> None:
        self.let, self.name, self.wrap = block.let, name, wrap
        self.size = size
        self.texels = self.let(f"{name}_texels", texels)

    def nearest(self) -> Expression:
        """The texel that a coordinate falls on; NaN falls on texel 0."""
        at = self.let(f"{self.name}_floor", operation(Operator.FLOOR, self.texels))
        inside = self.limited(at, constant(0.0), _as_float(self.size, -1.0))
        return self.let(self.name, operation(Operator.TO_INT, inside))

    def limited(self, value: Expression, low: Expression, high: Expression) -> Expression:
        """Clamped, by choices that take a NaN to the lower end."""
        least = self.let(f"{self.name}_least", select(value > low, value, low))
        return select(least < high, least, high)

    def linear(self) -> _Taps:
        """The two texels whose centres are nearest; NaN is half a texel."""
        name, let, texels = self.name, self.let, self.texels
        texels = let(
            f"{name}_number", select(operation(Operator.IS_NAN, texels), constant(0.5), texels)
        )
        if self.wrap is not Wrap.REPEAT:
            border = constant(0.5 if self.wrap is Wrap.CLAMP_TO_EDGE else 0.0)
            high = _as_float(self.size, -border.values[0])
            texels = let(f"{name}_inside", self.limited(texels, border, high))
        low = let(f"{name}_low", operation(Operator.FLOOR, texels - 0.5))
        weight = let(f"{name}_weight1", (texels - 0.5) - low)
        first = let(f"{name}0", operation(Operator.TO_INT, low))
        second = let(f"{name}1", first + 1)
        weights = (let(f"{name}_weight0", constant(1.0) - weight), weight)
        zero, last = constant(0, Kind.INT), self.size + -1
        if self.wrap is Wrap.REPEAT:
            first, second = select(first < zero, last, first), select(second > last, zero, second)
            return _Taps((first, second), weights)
        inside = (first >= zero, second <= last) if self.wrap is Wrap.CLAMP else ()
        ends = (
            operation(Operator.MAXIMUM, first, zero),
            operation(Operator.MINIMUM, second, last),
        )
        return _Taps(ends, weights, inside)


def _as_float(size: Expression, more: float = 0.0) -> Expression:
    """A size as a float, plus a number."""
    if isinstance(size, Constant):
        return constant(size.values[0] + more)
    whole = operation(Operator.TO_FLOAT, size)
    total: Expression = whole + more if more else whole
    return total
