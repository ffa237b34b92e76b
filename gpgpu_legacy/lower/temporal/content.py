"""The content that decides the code of temporal tiling, and the choice of its shape.

A work group computes several iterations by itself, on a tile of fragments. It begins with all
texels that these iterations depend on. So on each side the tile is wider than its stored part, by
the reach of an iteration times the iterations. Fragments near the tile's edge lack neighbours, and
their values become meaningless, one reach further in with each iteration; nothing reads them.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.lower.analysis.neighbourhood import Neighbourhood, Reach
from gpgpu_legacy.lower.fused.content import (
    Arguments,
    Content,
    UnsupportedError,
    content_of,
    live_segments,
)
from gpgpu_legacy.lower.lookups import NeighbourLookup
from gpgpu_legacy.plan.plan import varies
from gpgpu_legacy.plan.textures import Texture


@frozen
class TemporalShape:
    """The shape of the code.

    threads: invocations of a group across and up. columns, rows: fragments of an invocation, every
    threads[0]-th across and neighbours up. iterations: the number that run together.
    """

    threads: tuple[int, int]
    columns: int
    rows: int
    iterations: int

    @property
    def tile(self) -> tuple[int, int]:
        """Fragments that a group computes, across and up."""
        return self.threads[0] * self.columns, self.threads[1] * self.rows

    def margins(self, reach: Reach) -> tuple[tuple[int, int], tuple[int, int]]:
        """The fragments at the tile's edges that are not stored: left and right, below and above.

        reach: of an iteration.
        """
        n = self.iterations
        return (n * reach.left, n * reach.right), (n * reach.down, n * reach.up)

    def stored(self, reach: Reach) -> tuple[int, int]:
        """Fragments of the tile that are stored, across and up; none if one is not positive."""
        (left, right), (down, up) = self.margins(reach)
        width, height = self.tile
        return width - left - right, height - down - up


Sides = tuple[bool, bool]
"""A fact about the two sides of an axis: the low one, and the high one."""


@frozen
class TemporalContent:
    """Everything that decides the code, except the shape of its tiles.

    content, reach: of one iteration. wraps: along x and y, whether fragments beyond the rectangle
    are those from the other side. ends: along x and y, the sides on which textures with neighbour
    lookups end at the rectangle; on other sides, texels around the rectangle stay as they are.
    live: the surfaces in which an iteration reads, or keeps, earlier texels.
    """

    content: Content
    reach: Reach
    wraps: tuple[bool, bool]
    ends: tuple[Sides, Sides]
    live: tuple[int, ...]

    @property
    def near(self) -> tuple[int, ...]:
        """The surfaces in which neighbours' texels are read."""
        return tuple(sorted({look.texture for look in near_lookups(self.content)}))

    @property
    def keeps(self) -> tuple[Sides, Sides]:
        """The sides along x and y on which texels around the rectangle stay as they are."""
        along_x, along_y = (
            (False, False) if wraps else (not low, not high)
            for wraps, (low, high) in zip(self.wraps, self.ends, strict=True)
        )
        return along_x, along_y


def temporal_content(
    around: Neighbourhood, textures: Mapping[str, Texture]
) -> tuple[TemporalContent, Arguments]:
    """The TemporalContent and the Arguments of a Neighbourhood. textures: the plan's, by name.

    Raises UnsupportedError if only some of the textures end with the rectangle, for numbers that
    differ between iterations, and for programs that are rerolled into a loop.
    """
    content, arguments = content_of(around, textures)
    loops = any(part.trips > 1 for draw in content.draws for part in live_segments(draw))
    if loops or any(map(varies, around.passes)):
        raise UnsupportedError("loops, or numbers that vary")
    numbers = {name: n for n, name in enumerate(arguments.textures)}
    live = tuple(sorted(numbers[name] for name in around.live))
    ends = {
        ((x == 0, x + around.width == extent.width), (y == 0, y + around.height == extent.height))
        for n in {look.texture for look in near_lookups(content)}
        for (x, y), extent in ((arguments.origins[n], arguments.extents[n]),)
    }
    if len(ends) > 1:
        raise UnsupportedError("textures of which some have more around the rectangle")
    sides = next(iter(ends), ((False, False), (False, False)))
    return TemporalContent(content, around.reach, around.wraps, sides, live), arguments


def near_lookups(content: Content) -> list[NeighbourLookup[int]]:
    """The lookups of neighbours."""
    looks = (look for draw in content.draws for look in draw.lookups)
    return [look for look in looks if isinstance(look, NeighbourLookup)]


def shared_padding(shape: TemporalShape, content: Content) -> int:
    """The most elements by which lookups reach past either end of a tile's shared array."""
    reaches = (abs(n.up) * shape.tile[0] + abs(n.right) for n in near_lookups(content))
    return max(reaches, default=0)


def shared_length(shape: TemporalShape, content: Content) -> int:
    """Elements of the shared array of a surface."""
    width, height = shape.tile
    return width * height + 2 * shared_padding(shape, content)


@frozen
class GroupRoom:
    """The resources of a device for a work group.

    shared_bytes: of shared memory. storage_blocks: the number of buffers. gains: whether shared
    memory is so much faster than textures that tiles are worth the work on their edges.
    """

    shared_bytes: int
    storage_blocks: int
    gains: bool

    def takes(self, content: TemporalContent, shape: TemporalShape) -> bool:
        """Whether a shape fits, and leaves fragments to store."""
        surfaces = content.content.surfaces
        floats = sum(surfaces[n].format.channels for n in content.near)
        return (
            _FLOAT_BYTES * floats * shared_length(shape, content.content) <= self.shared_bytes
            and len(surfaces) + len(content.live) <= self.storage_blocks
            and min(shape.stored(content.reach)) > 0
        )


_FLOAT_BYTES = 4

# The constants of `cost`, fitted to two sweeps of 110 shapes in all on one H100
# (driver 580, 200 passes of Jacobi's relaxation: ten operations, n = 1024, 2048, 4096). The
# unit is the time in which memory moves a number, 1.6 ps. Large groups are slower: fewer of them
# are resident, and more invocations wait at a barrier. With several columns, or with more than five
# rows, a fragment takes 1.2 to 1.6 times as long.
_WORK, _WORK_OF_A_KIBI_TILE, _USUAL_OPERATIONS = 0.22, 0.065, 10.0
_EDGE_LOADS = 0.1  # the cost of a texel that another tile loads, too: a cache has it
_DISPATCH = 14e-6 / 1.6e-12  # a dispatch on the host, which runs ahead of the device
_LEAST_GAIN = 1.25  # where the model predicts less, a sweep measured none

_THREADS, _ROWS, _MOST_PASSES = ((32, 8), (64, 8), (64, 16), (32, 4)), (4, 5, 2), 16


def usual_shape(
    content: TemporalContent, fragments: int, count: int, room: GroupRoom
) -> TemporalShape | None:
    """The default shape; None if none fits, or passes run faster one at a time.

    fragments: of the rectangle. count: of iterations.
    """
    if not room.gains:
        return None
    most = min(count, max(1, _MOST_PASSES // len(content.content.body)))
    shapes = [
        TemporalShape(threads, 1, rows, iterations)
        for threads in _THREADS
        for rows in _ROWS
        for iterations in range(1, most + 1)
    ]
    fitting = [shape for shape in shapes if room.takes(content, shape)]
    best = min(fitting, key=lambda shape: cost(content, fragments, shape), default=None)
    alone = max(_WORK * _operations(content) + sum(_traffic(content)), _DISPATCH / fragments)
    if best is None or _LEAST_GAIN * cost(content, fragments, best) > alone:
        return None
    return best


def cost(content: TemporalContent, fragments: int, shape: TemporalShape) -> float:
    """The modelled cost of a pass, per stored fragment."""
    loads, stores = _traffic(content)
    passes = shape.iterations * len(content.content.body)
    width, height = shape.tile
    across, up = shape.stored(content.reach)
    computed = width * height / (across * up)
    work = _WORK + _WORK_OF_A_KIBI_TILE * width * height / 1024
    moved = (loads + stores + _EDGE_LOADS * loads * (computed - 1)) / passes
    device = work * _operations(content) * computed + moved
    return max(device, _DISPATCH / fragments / passes)


def _operations(content: TemporalContent) -> float:
    """Operations on single numbers, including lookups, of an average pass; 1 for a typical one.

    If a program draws to one channel, compilers remove nearly all work for the others.
    """
    total = 0
    for draw in content.content.draws:
        wanted = max(content.content.surfaces[n].format.channels for n in draw.targets)
        for segment in live_segments(draw):
            widths = (min(wanted, len(step.components)) for step in segment.steps)
            total += segment.trips * sum(widths)
    return total / len(content.content.body) / _USUAL_OPERATIONS


def _traffic(content: TemporalContent) -> tuple[int, int]:
    """The numbers that an iteration loads and stores per fragment, if each is moved once."""
    surfaces = content.content.surfaces
    stores = sum(surfaces[n].format.channels for n in content.live)
    others = sum(surface.format.channels for surface in surfaces if not surface.written)
    return stores + others, stores
