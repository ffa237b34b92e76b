"""The variables of an invocation, and the block of numbers that a run gives all invocations.

The variables: its position, the rectangle, the addresses of texels. The block begins with the
passes' vectors of four floats each; integers follow: the size of the rectangle, its position in
each texture, the bases of lookups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.expressions import (
    Array,
    Element,
    Expression,
    Given,
    Place,
    Role,
    Variable,
    integer,
    operation,
    read,
)
from gpgpu_legacy.isa.statements import Function
from gpgpu_legacy.isa.types import INT, IVEC2, VEC4, Kind, Operator, type_of
from gpgpu_legacy.lower.fused.content import Advance, Arguments, Content
from gpgpu_legacy.lower.groups.shape import GroupShape
from gpgpu_legacy.lower.lookups import AffineLookup
from gpgpu_legacy.lower.sampling import fetch_function
from gpgpu_legacy.lower.values import given_values
from gpgpu_legacy.plan.plan import varies

CORNER, THREAD = (Variable(name, IVEC2) for name in ("corner", "thread"))
"""The group's first fragment; the invocation's position in the group."""

INVOCATION, FIRST, LAST = (Variable(name, INT) for name in ("invocation", "first", "last"))
"""The invocation's number in its group; the iterations, from the first to below the last."""

EXTENT, BATCH = Variable("extent", IVEC2, Role.UNIFORM), Variable("batch", INT, Role.UNIFORM)
"""The rectangle's width and height; the K-depth, as a variable: a compiler that knew it would
unroll the loops over it.
"""


def size_variable(surface: int) -> Variable:
    """The width of a surface, and its rows in all layers."""
    return Variable(f"size_{surface}", IVEC2, Role.UNIFORM)


def origin_variable(surface: int) -> Variable:
    """The lower left of the rectangle in a surface."""
    return Variable(f"origin_{surface}", IVEC2, Role.UNIFORM)


def base_variable(base: int) -> Variable:
    """The texel that affine lookups with a base are relative to."""
    return Variable(f"base_{base}", IVEC2, Role.UNIFORM)


def texture_array(content: Content, surface: int) -> Array:
    """The array of a surface's texels: vectors of four channels, or numbers."""
    channels = content.surfaces[surface].format.channels
    return Array(f"texture{surface}", type_of(Kind.FLOAT, channels))


def quad_array(surface: int) -> Array:
    """The texels of a surface of one channel as an array of vectors of four neighbours."""
    return Array(f"quads{surface}", VEC4)


def surface_fetch(content: Content, surface: int) -> Function:
    """The function that fetches texels of a surface."""
    array, width = texture_array(content, surface), read(size_variable(surface), 0)
    texel_format = content.surfaces[surface].format
    return fetch_function(surface, texel_format, width, lambda at: Element((at,), array))


def own_element(surface: int, array: Array, at: Sequence[Expression]) -> Element:
    """A texel of a surface's array, by its column and its row in the rectangle.

    The row comes first: with the column first, NVIDIA's driver takes 1.17 times as long for Larson
    and McAllister's product.
    """
    column, row = (place + read(origin_variable(surface), n) for n, place in enumerate(at))
    return Element((row * read(size_variable(surface), 0) + column,), array)


def smaller(a: Expression, b: Expression) -> Expression:
    """The smaller of two integers."""
    return operation(Operator.MINIMUM, a, b)


def clamped(place: Expression, size: Expression) -> Expression:
    """A row or a column; if it is outside 0 to size - 1, the nearest one."""
    return smaller(operation(Operator.MAXIMUM, place, integer(0)), size + -1)


def placed(content: Content, part: Expression, number: Callable[[int], Expression]) -> Expression:
    """A part of an expression at a fragment. number: gives its column or row by the axis."""
    match part:
        case Given(source=Place.CENTRE, components=(axis,)):
            centre: Expression = operation(Operator.TO_FLOAT, number(axis)) + 0.5
            return centre
        case Given(source=Place.ORIGIN, components=(axis,), draw=draw):
            target = content.draws[draw].targets[0]
            return operation(Operator.TO_FLOAT, read(origin_variable(target), axis))
    return part


def texel_number(
    lookup: AffineLookup[int],
    axis: int,
    advance: Advance,
    at: tuple[Expression, ...],
    trip: tuple[Expression, Expression],
) -> Expression:
    """The number of a texel's column or row.

    at: the fragment's (x, y); if it is empty, the result is the part that `trip` adds. trip: the
    iteration and the trip.
    """
    form = (lookup.s, lookup.t)[axis]
    factors = (*(form.x, form.y)[: len(at)], form.iteration, advance[axis])
    total: Expression = integer(0)
    for factor, variable in zip(factors, (*at, *trip), strict=True):
        total = total + variable * factor
    return total + read(base_variable(lookup.base), axis) + form.constant if at else total


def texel_element(
    content: Content,
    lookup: AffineLookup[int],
    advance: Advance,
    at: tuple[Expression, Expression],
    trip: tuple[Expression, Expression],
) -> Expression:
    """A texel from its texture. at: the fragment's (x, y). trip: the iteration and the trip."""
    number = lookup.texture
    s, t = (texel_number(lookup, axis, advance, at, trip) for axis in range(2))
    size = size_variable(number)
    if not lookup.inside:
        s, t = (clamped(value, read(size, axis)) for axis, value in enumerate((s, t)))
    return Element((t * read(size, 0) + s,), texture_array(content, number))


@frozen
class GroupCode:
    """A shader. The buffer of surface n of its Content is at binding n.

    vectors: the block's, in order. trips: those of all loops of an invocation in one iteration.
    fetched: the surfaces that are buffer textures instead, at the units of the same numbers.
    """

    text: str
    shape: GroupShape
    vectors: tuple[Given, ...]
    trips: int
    fetched: tuple[int, ...] = ()


def block_variables(content: Content) -> list[Variable]:
    """The variables in the block after its vectors, each aligned to two numbers."""
    surfaces = ((size_variable(n), origin_variable(n)) for n in range(len(content.surfaces)))
    bases = map(base_variable, range(content.bases))
    return [EXTENT, *chain.from_iterable(surfaces), *bases, BATCH]


def uniform_blocks(code: GroupCode, arguments: Arguments) -> NDArray[np.uint8]:
    """The bytes of the block: (iterations, bytes), or (1, bytes) if all are alike.

    If a parameter, state or an attribute differs between iterations, there are several rows: the
    iterations then run one at a time, each with its row.
    """
    count = arguments.count if any(map(varies, arguments.passes)) else 1
    vectors = np.empty((count, len(code.vectors), 4), "<f4")
    with np.errstate(over="ignore"):
        for number, given in enumerate(code.vectors):
            pass_ = arguments.passes[given.draw]
            vectors[:, number] = given_values(given.source, pass_, count)
    if (vectors.view("<u4") == vectors[:1].view("<u4")).all():
        vectors = vectors[:1]
    sizes = [(extent.width, extent.rows) for extent in arguments.extents]
    surfaces = chain.from_iterable(zip(sizes, arguments.origins, strict=True))
    extent, batch = (arguments.width, arguments.height), (code.shape.k_depth, 0)
    whole = [extent, *surfaces, *arguments.bases, batch]  # as in block_variables
    whole += [(0, 0)] * (len(whole) % 2)  # its size is a multiple of a vector's
    tail = np.array(whole, "<i4").reshape(1, -1).repeat(len(vectors), 0)
    head = vectors.reshape(len(vectors), -1)
    return np.hstack([head.view(np.uint8), tail.view(np.uint8)])
