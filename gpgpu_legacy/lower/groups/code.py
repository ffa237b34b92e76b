"""The code of work groups, and the block of numbers that a run gives all invocations.

The block begins with the passes' vectors of four floats each; integers follow: the size of the
rectangle, its position in each texture, the bases of lookups.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.frozen import frozen
from gpgpu_legacy.ir.expressions import (
    Given,
    PlanePart,
    Variable,
)
from gpgpu_legacy.isa.ir import Parameter
from gpgpu_legacy.lower.fused.content import Arguments, Content
from gpgpu_legacy.lower.groups.invocation import (
    BATCH,
    EXTENT,
    base_variable,
    origin_variable,
    size_variable,
)
from gpgpu_legacy.lower.groups.shape import GroupShape
from gpgpu_legacy.lower.values import F64, parameter_values, plane_values
from gpgpu_legacy.plan.plan import FragmentPass, varies

Item = TypeVar("Item")


@frozen
class GroupCode:
    """A shader. The buffer of surface n of its Content is at binding n.

    vectors: the block's, in order. trips: the most in all loops of an invocation in one iteration.
    fetched: the surfaces that are buffer textures instead, at the units of the same numbers.
    """

    text: str
    shape: GroupShape
    vectors: tuple[Given, ...]
    trips: int
    fetched: tuple[int, ...] = ()


def _in_order(
    extent: Item, surfaces: Iterable[tuple[Item, Item]], bases: Iterable[Item], batch: Item
) -> list[Item]:
    """The block's integers. surfaces: of each, the size and the origin."""
    return [extent, *(item for pair in surfaces for item in pair), *bases, batch]


def block_variables(content: Content) -> list[Variable]:
    """The variables in the block after its vectors, each aligned to two numbers."""
    surfaces = [(size_variable(n), origin_variable(n)) for n in range(len(content.surfaces))]
    return _in_order(EXTENT, surfaces, map(base_variable, range(content.bases)), BATCH)


def uniform_blocks(code: GroupCode, arguments: Arguments) -> NDArray[np.uint8]:
    """The bytes of the block: (iterations, bytes), or (1, bytes) if all are alike.

    Several rows mean that a parameter, state or an attribute differs between iterations: then they
    run one at a time, each with its row, and not together.
    """
    vectors = _vectors(code, arguments)
    if (vectors.view("<u4") == vectors[:1].view("<u4")).all():
        vectors = vectors[:1]
    return _with_whole_numbers(vectors, code, arguments)


def uniform_blocks_together(
    code: GroupCode, arguments: Arguments, ranges: NDArray[np.int32], most: int
) -> NDArray[np.uint8]:
    """The bytes of the blocks of several iterations, (n, bytes): of each vector an array of `most`.

    ranges: of iterations, (n, …): the first, and one past the last; each has at most `most`.
    """
    vectors = _vectors(code, arguments)
    numbers = ranges[:, :1] + np.arange(most)
    within = np.minimum(numbers, ranges[:, 1:2] - 1) % len(vectors)
    return _with_whole_numbers(vectors[within].swapaxes(1, 2), code, arguments)


def _vectors(code: GroupCode, arguments: Arguments) -> NDArray[np.float32]:
    """The vectors in each iteration, (n, vectors, 4); n is 1 if no number varies."""
    count = arguments.count if any(map(varies, arguments.passes)) else 1
    vectors = np.empty((count, len(code.vectors), 4), "<f4")
    for number, given in enumerate(code.vectors):
        with np.errstate(over="ignore"):
            vectors[:, number] = _values(given, arguments.passes[given.draw], count)
    return vectors


def _with_whole_numbers(
    vectors: NDArray[np.float32], code: GroupCode, arguments: Arguments
) -> NDArray[np.uint8]:
    """Blocks, from their vectors, (n, …)."""
    sizes = [(extent.width, extent.rows) for extent in arguments.extents]
    surfaces = zip(sizes, arguments.origins, strict=True)
    extent, batch = (arguments.width, arguments.height), (code.shape.k_depth, 0)
    whole = _in_order(extent, surfaces, arguments.bases, batch)
    whole += [(0, 0)] * (len(whole) % 2)  # its size is a multiple of a vector's
    tail = np.array(whole, "<i4").reshape(1, -1).repeat(len(vectors), 0)
    head = np.ascontiguousarray(vectors).reshape(len(vectors), -1)
    return np.hstack([head.view(np.uint8), tail.view(np.uint8)])


def _values(given: Given, pass_: FragmentPass, count: int) -> F64:
    match given.source:
        case Parameter() as parameter:
            return parameter_values(pass_, parameter, count)
        case PlanePart(attribute=attribute, part=part):
            return plane_values(pass_, attribute, count)[:, part]
    raise AssertionError(given)
