"""Which lookups of fused passes a work group stages in its shared memory, and how deep.

A loop's texel that varies along x alone is wanted by every row of the group's tile, and one that
varies along y alone by every column. Where a program has no loop but is executed for several
iterations, those are the trips.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gpgpu_legacy.lower.content import AffineLookup, Content
from gpgpu_legacy.lower.ir import Array, For, Statement, Texel, all_expressions, trip_count
from gpgpu_legacy.lower.ir_types import VEC4
from gpgpu_legacy.lower.workgroups import GroupShape


@dataclass(frozen=True, slots=True)
class Staged:
    """A lookup of a loop that is staged.

    advance: how it moves from trip to trip. across: whether it varies along x; else along y. slot:
    its number among those that do. channels: of its texture.
    """

    lookup: AffineLookup
    advance: tuple[int, int]
    across: bool
    slot: int
    channels: int

    @property
    def name(self) -> str:
        """The shared array's."""
        return f"{'across' if self.across else 'up'}{self.slot}"

    def length(self, shape: GroupShape) -> int:
        """Elements that a trip stages: texels of four channels, or four neighbours of one."""
        texels = shape.tile[0 if self.across else 1]
        return texels if self.channels == 4 else -(-texels // 4)


@dataclass(frozen=True, slots=True)
class StagedTrips:
    """A loop whose lookups are staged.

    number: among those of the fused passes. count: of its trips; None where they are iterations.
    """

    number: int
    count: int | None
    staged: tuple[Staged, ...]


@dataclass(frozen=True, slots=True)
class Staging:
    """What is staged. shape: as was wanted, with a k_depth for which there is room, or 0.

    loops: by the position of the loop's statement in the body; by None where the trips are the
    iterations.
    """

    shape: GroupShape
    loops: dict[int | None, StagedTrips]

    @property
    def in_order(self) -> list[StagedTrips]:
        """The loops, by number."""
        return list(self.loops.values())

    def arrays(self) -> dict[str, Array]:
        """The shared arrays by name, which loops share."""
        return _arrays(self.in_order, self.shape)


def choose_staging(
    content: Content, body: Sequence[Statement], shape: GroupShape, shared_bytes: int
) -> Staging:
    """What to stage of one iteration's statements, as deep as there is room for it."""
    candidates: list[tuple[int | None, int | None, Sequence[Statement]]] = [
        (position, trip_count(statement), statement.body)
        for position, statement in enumerate(body)
        if isinstance(statement, For)
    ]
    if not candidates and content.together > 1 and len(content.draws) == 1:
        candidates = [(None, None, body)]
    depth = shape.k_depth
    while depth >= 2:
        deep, loops = replace(shape, k_depth=depth), dict[int | None, StagedTrips]()
        for key, count, statements in candidates:
            staged = _staged(content, statements)
            if staged and (count or content.together) >= depth:
                loops[key] = StagedTrips(len(loops), count, staged)
        if loops and _shared_bytes(_arrays(loops.values(), deep)) <= shared_bytes:
            return Staging(replace(deep, unroll=min(shape.unroll, depth)), loops)
        depth //= 2
    return Staging(replace(shape, k_depth=0), {})


def _staged(content: Content, statements: Sequence[Statement]) -> tuple[Staged, ...]:
    found: dict[tuple[AffineLookup, tuple[int, int]], Staged] = {}
    counts = {True: 0, False: 0}
    for texel in all_expressions(statements):
        if not isinstance(texel, Texel) or sum(texel.axes) != 1:
            continue
        key, across = (texel.lookup, texel.advance), texel.axes.x
        if key not in found:
            channels = content.surfaces[texel.lookup.texture].format.channels
            found[key] = Staged(*key, across, counts[across], channels)
            counts[across] += 1
    return tuple(found.values())


def _arrays(loops: Iterable[StagedTrips], shape: GroupShape) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    for trips in loops:
        for staged in trips.staged:
            # One element more, so that invocations of a column fall on different banks.
            length = staged.length(shape) + 1
            if staged.name in arrays:
                length = max(length, arrays[staged.name].extents[1])
            arrays[staged.name] = Array(staged.name, VEC4, (shape.k_depth, length))
    return arrays


def _shared_bytes(arrays: dict[str, Array]) -> int:
    return sum(16 * array.extents[0] * array.extents[1] for array in arrays.values())
