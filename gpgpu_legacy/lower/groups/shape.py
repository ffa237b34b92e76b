"""The shape of work groups that compute tiles of fragments, and the default for fused passes.

Each invocation has a register tile of columns × rows fragments of its group's tile, and executes
all iterations on them, with partial sums in registers. If a lookup of a loop (fused/content.py)
varies along one axis alone, a whole row or column of invocations shares its texels. These are
staged in the group's shared memory, `k_depth` trips at a time. groups/tiling.py makes the code.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain
from math import gcd

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.expressions import Role
from gpgpu_legacy.isa.opcodes import Form
from gpgpu_legacy.isa.statements import For, read_first
from gpgpu_legacy.isa.types import EVERYWHERE
from gpgpu_legacy.lower.analysis.register_tile import demands_of
from gpgpu_legacy.lower.fused.body import fused_body
from gpgpu_legacy.lower.fused.content import Content, ProgramSegment, live_segments
from gpgpu_legacy.lower.lookups import OwnLookup
from gpgpu_legacy.serial import Size


@frozen
class GroupShape:
    """The shape of the code.

    threads: invocations of a group across and up. columns, rows: fragments of an invocation across
    and up, its register tile. k_depth: trips staged at a time. unroll: the number of these that are
    unrolled. adjacent: the number of neighbouring fragments that an invocation has side by side,
    across and up, if its columns and its rows are multiples of it; otherwise see side_by_side.
    Numbers read from a file are checked.
    """

    threads: tuple[Size, Size] = (16, 16)
    columns: Size = 4
    rows: Size = 4
    k_depth: Size = 16
    unroll: Size = 8
    adjacent: Size = 1

    @property
    def tile(self) -> tuple[int, int]:
        """Fragments of a group across and up."""
        return self.threads[0] * self.columns, self.threads[1] * self.rows

    @property
    def side_by_side(self) -> tuple[int, int]:
        """The size, across and up, of each block of neighbouring fragments of an invocation."""
        return gcd(self.adjacent, self.columns), gcd(self.adjacent, self.rows)


@frozen
class Multiprocessors:
    """The properties of a device that decide the default shape.

    count: its multiprocessors; 1 if one group is as good as many. numbers: the most per-fragment
    numbers that an invocation keeps in registers. fragments: the most of an invocation. operations:
    the most operations on single numbers in an invocation's unrolled trips, and in one iteration's
    code for several fragments. A longer body runs many times slower, and the time that drivers take
    to compile it grows with the square of its length.
    """

    count: int = 1
    numbers: int = 128
    fragments: int = 64
    operations: int = 1024

    @staticmethod
    def of_gpu(count: int) -> Multiprocessors:
        """The properties of a GPU, whose driver compiles long code well."""
        return Multiprocessors(count, fragments=128, operations=2048)


_BUSY = 0.9
"""The share of multiprocessors that must have a group; a smaller tile needs more lookups."""


def group_shape(content: Content, size: tuple[int, int], device: Multiprocessors) -> GroupShape:
    """The default shape: the largest tile that leaves no multiprocessor idle.

    size: of the rectangle, across and up. For kinds of passes that were measured there are a few
    shapes; a GPU takes the one that ends first. Otherwise a register tile has as many fragments as
    there is room for their live numbers, and as keep the code short. The tile is halved, along the
    longer side of the group's tile, until there are enough groups.

    In a stencil, each fragment looks up texels that no whole row or column shares. A large tile
    saves no lookup then, and drivers take long to compile it, so an invocation has four fragments.
    On many multiprocessors they are a column, so that neighbouring invocations load neighbouring
    texels together; otherwise they are 2×2, which share the most texels.
    """
    code = sum(map(_operations, _segments(content)))
    most = max(1, device.operations // max(1, code))
    device = replace(device, fragments=min(device.fragments, most))
    if _is_stencil(content) and device.fragments >= _OF_STENCILS:
        square = GroupShape(columns=2, rows=2, adjacent=2)
        column = GroupShape((32, 8), columns=1, rows=4, adjacent=4)
        return _unrolled(content, column if device.count > 1 else square, device)
    shape = _largest(content, size, device)
    while _groups(shape, size) < _BUSY * device.count and (smaller := _halved(shape)):
        shape = smaller
    return _unrolled(content, shape, device)


def _largest(content: Content, size: tuple[int, int], device: Multiprocessors) -> GroupShape:
    """The shape before it is halved: the best measured one, or the largest for the registers."""
    channels = max(content.surfaces[number].format.channels for number in content.owned)
    alive = numbers_alive(content)
    measured = measured_shapes().get((channels, alive), []) if device.count > 1 else []
    fitting = [t for t in measured if t.shape.columns * t.shape.rows <= device.fragments]
    if fitting:
        return min(fitting, key=lambda timed: timed.time(size, device.count)).shape
    room = min(device.fragments, max(1, device.numbers // alive))
    columns = 1 << (room.bit_length() - 1) // 2
    rows = (1 << room.bit_length() - 1) // columns
    adjacent = min(4, columns) if channels == 1 else 1
    return GroupShape((16, 16), columns, rows, _K_DEPTH, _K_DEPTH, adjacent)


@frozen
class _Timed:
    """A measured shape, with all staged trips unrolled.

    alone: a multiprocessor's time for one group. start, one_more: its time for more groups is
    start, plus one_more for every group. Shapes of the same kind of passes have the same unit.
    """

    shape: GroupShape
    alone: float
    start: float
    one_more: float

    def time(self, size: tuple[int, int], multiprocessors: int) -> float:
        """The time of a rectangle: that of the multiprocessor with the most groups."""
        most = -(-_groups(self.shape, size) // multiprocessors)
        return max(self.alone, self.start + most * self.one_more)


@cache
def measured_shapes() -> dict[tuple[int, int], list[_Timed]]:
    """The shapes of group_shapes.toml, by channels and live numbers."""
    text = files("gpgpu_legacy.lower.groups").joinpath("group_shapes.toml").read_text("utf-8")
    shapes: dict[tuple[int, int], list[_Timed]] = {}
    for row in tomllib.loads(text)["shape"]:
        rows = shapes.setdefault((row.pop("channels"), row.pop("numbers")), [])
        times, threads = row.pop("times"), tuple(row.pop("threads"))
        rows.append(_Timed(GroupShape(threads, unroll=row["k_depth"], **row), *times))
    return shapes


_K_DEPTH, _MOST_K_DEPTH = 8, 16

_OF_STENCILS = 4  # fragments of an invocation

_FEWEST_THREADS = 64  # two warps
_FEWEST_FRAGMENTS = 2  # along a side; with one, no lookup is shared


def _groups(shape: GroupShape, size: tuple[int, int]) -> int:
    across, up = (-(-length // part) for length, part in zip(size, shape.tile, strict=True))
    return across * up


def _halved(shape: GroupShape) -> GroupShape | None:
    """A shape with half the tile, staged deeper; None if it would be too small."""
    columns, rows, depth = shape.columns, shape.rows, min(2 * shape.k_depth, _MOST_K_DEPTH)
    shape = replace(shape, k_depth=depth, unroll=depth)
    narrower = (columns // 2, replace(shape, columns=columns // 2))
    lower = (rows // 2, replace(shape, rows=rows // 2))
    is_wide = (shape.tile[0], columns) > (shape.tile[1], rows)
    for left, half in (narrower, lower) if is_wide else (lower, narrower):
        if left >= max(shape.adjacent, _FEWEST_FRAGMENTS):
            return half
    across, up = shape.threads
    if across * up <= _FEWEST_THREADS:
        return None
    return replace(shape, threads=(across // 2, up) if across >= up else (across, up // 2))


def _unrolled(content: Content, shape: GroupShape, device: Multiprocessors) -> GroupShape:
    """The shape with as many trips unrolled as keep the body short."""
    trips = (_operations(segment) for segment in _segments(content) if segment.trips > 1)
    trip = max(1, shape.columns * shape.rows * max(trips, default=0))
    unroll = max(1, min(shape.unroll, device.operations // trip))
    return replace(shape, unroll=1 << (unroll.bit_length() - 1))


@lru_cache(maxsize=256)
def numbers_alive(content: Content) -> int:
    """The most numbers of a fragment that are live together and not shared with others.

    These are its own texels, kept between iterations, and temporaries. If there are loops, only the
    numbers live in them count, since the rest of a program is short by comparison.
    """
    body = fused_body(content)
    carried = sum(variable.role is Role.OWN for variable, _ in read_first(body))
    loops = [statement for statement in body if isinstance(statement, For)]
    alive = max((demand.both for demand in demands_of(loops or body)), default=0)
    return max(1, carried + alive)


def _is_stencil(content: Content) -> bool:
    """Whether there are lookups of other fragments' texels, and all vary along both axes."""
    axes = [
        step.lookup.axes
        for segment in _segments(content)
        for step in segment.steps
        if not isinstance(step.lookup, OwnLookup | None)
    ]
    return bool(axes) and all(both == EVERYWHERE for both in axes)


def _segments(content: Content) -> Iterator[ProgramSegment]:
    """The segments of all draws."""
    return chain.from_iterable(map(live_segments, content.draws))


_DOT_OPERATIONS = 7  # four products and their sums, without contraction


def _operations(segment: ProgramSegment) -> int:
    """Operations on single numbers in a trip for one fragment, without lookups."""
    return sum(
        _DOT_OPERATIONS if step.instruction.opcode.form is Form.VECTOR else len(step.components)
        for step in segment.steps
        if step.lookup is None
    )
