"""The texels that each fragment of a pass accesses, and their addresses in memory.

lower/analysis/affine.py gives the coordinates of a program's lookups as affine forms of the
fragment's position and the iteration. A texture's layout gives the bytes of each column and of each
row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate, product
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.access import LINEAR, Layout, MemoryRegion, lay_out
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.lower.analysis.affine import Linear, lookup_coordinates
from gpgpu_legacy.plan.memory import require_memory
from gpgpu_legacy.plan.plan import CopyPass, FragmentPass, Pass, Plan
from gpgpu_legacy.plan.sampling import coordinate_count
from gpgpu_legacy.plan.textures import (
    Filter,
    Rect,
    TextureKind,
    Wrap,
    constant_rect,
)

I64 = NDArray[np.int64]

_MOST_REGIONS = 1 << 14  # so that an int16 holds twice the number


class DependentError(InputError):
    """A lookup of which only a run tells the texels."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}, so that its texels are known only in a run; `cache` makes one")


# The address space -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class AddressSpace:
    """Where all textures lie.

    table: int64, for every texture the offsets of its columns, with the texture's base added, and
    those of its rows. columns, rows: where these begin, by the number of the texture.
    """

    regions: tuple[MemoryRegion, ...]
    numbers: dict[str, int]
    table: I64
    columns: tuple[int, ...]
    rows: tuple[int, ...]
    line_bytes: int


_ENTRY_BYTES = 24
"""For each column and row of texels: its start in a texture's table and in the common table."""


def address_space(plan: Plan, layout: Layout, line_bytes: int) -> AddressSpace:
    if len(plan.textures) >= _MOST_REGIONS:
        raise InputError(
            f"the plan has {len(plan.textures)} textures, and a trace holds at most "
            f"{_MOST_REGIONS - 1}; allow larger textures, so that there are fewer"
        )
    sides = sum(texture.extent.width + texture.extent.rows for texture in plan.textures)
    require_memory(
        _ENTRY_BYTES * sides,
        f"the table of addresses of {plan.name}",
        "simulate a smaller plan",
    )
    placed = [
        (LINEAR if texture.kind is TextureKind.BUFFER else layout).place(
            texture.extent.width, texture.extent.rows, texture.format.texel_bytes
        )
        for texture in plan.textures
    ]
    sized = zip(plan.textures, placed, strict=True)
    regions = lay_out(((t.name, p.size_bytes, t.format.texel_bytes) for t, p in sized), line_bytes)
    tables = [np.zeros(0, np.int64)]
    for region, texels in zip(regions, placed, strict=True):
        tables += [texels.x + region.base, texels.y]
    starts = tuple(accumulate(map(len, tables)))
    numbers = {region.name: number for number, region in enumerate(regions)}
    table = np.concatenate(tables)
    return AddressSpace(regions, numbers, table, starts[:-1:2], starts[1::2], line_bytes)


# What a pass accesses ----------------------------------------------------------------------------


@frozen
class Along:
    """The column, or the row, of an access, and where its bytes are.

    It is (constant + x·X + y·Y + iteration·I) / denominator, rounded down, of fragment (X, Y) from
    the rectangle's lower left, within the texture's edges. size: the texels of the level that is
    read. start: where these begin in the address space's table. The floor is clamped to these
    texels. Then `tap` is added; a texel beyond the edge is the one at the edge. If the texture
    repeats, the sum wraps around instead (GL 1.5, sections 3.8.7 and 3.8.8).
    """

    constant: int
    x: int
    y: int
    iteration: int
    denominator: int
    size: int
    start: int
    repeats: bool = False
    tap: int = 0

    def moved(self, x: int, y: int) -> Along:
        """That of the fragment to which a move leads from the first."""
        return replace(self, constant=self.constant + self.x * x + self.y * y)

    def offsets(self, table: I64, x: Any, y: Any, iteration: int) -> Any:
        """The bytes of fragments at these x and y, from a table of an address space."""
        texel = self.constant + self.iteration * iteration + self.x * x + self.y * y
        texel //= self.denominator
        if self.repeats:
            return table[self.start + (texel + self.tap) % self.size]
        last = self.size - 1
        return table[self.start + np.minimum(np.clip(texel, 0, last) + self.tap, last)]

    def move(self, table: I64, size: tuple[int, int], iteration: int) -> int | None:
        """The bytes between its offsets in iteration 0 and those in another iteration.

        size: of the rectangle. None if the distance is not proven to be the same in all
        fragments: a texel that moves may not be clamped or wrap around, and all texels between the
        first and the last must move by the same distance in the table.
        """
        texels, rest = divmod(iteration * self.iteration, self.denominator)
        if rest:
            return None
        if not texels:
            return 0
        ends = self.x * (size[0] - 1), self.y * (size[1] - 1)
        low, high = (
            (self.constant + sum(limit(end, 0) for end in ends)) // self.denominator
            for limit in (min, max)
        )
        if (
            self.repeats
            or min(texels, 0) + low < 0
            or max(texels, 0) + high + self.tap >= self.size
        ):
            return None
        first, end = self.start + self.tap + low, self.start + self.tap + high + 1
        apart = table[first + texels : end + texels] - table[first:end]
        return int(apart[0]) if (apart == apart[0]).all() else None


@frozen
class TexelAccess:
    """One access of every fragment of a pass, to a texel of a texture.

    kind: as of the slots of a Chunk.
    """

    kind: int
    column: Along
    row: Along


def texel_accesses(plan: Plan, pass_: Pass, count: int, space: AddressSpace) -> list[TexelAccess]:
    """The accesses of a fragment, or of a texel of a copy, in their order.

    count: of iterations. Raises InputError for dispatches, and as trace_fragments does.
    """

    def own(name: str, rect: Rect, *, writes: bool) -> TexelAccess:
        """Each fragment's own texel, in a rectangle of the texture."""
        number, extent = space.numbers[name], plan.texture(name).extent
        column = Along(rect.x, 1, 0, 0, 1, extent.width, space.columns[number])
        row = Along(rect.y, 0, 1, 0, 1, extent.rows, space.rows[number])
        return TexelAccess(2 * number + writes, column, row)

    if isinstance(pass_, CopyPass):
        return [
            own(pass_.source, constant_rect(pass_.source_rect), writes=False),
            own(pass_.target, constant_rect(pass_.target_rect), writes=True),
        ]
    if not isinstance(pass_, FragmentPass):
        raise InputError(
            f"plan {plan.name} dispatches kernels; trace_fragments is for plans that draw"
        )
    rect, drawn = constant_rect(pass_.rect), pass_.drawn
    to = drawn.x - rect.x, drawn.y - rect.y  # to the corner of the part in the scissor
    return [
        *(
            replace(access, column=access.column.moved(*to), row=access.row.moved(*to))
            for access in _lookups(plan, pass_, count, space)
        ),
        *(
            own(target, drawn, writes=writes)
            for target in pass_.targets
            for writes in ((False, True) if pass_.blend else (True,))
        ),
    ]


def _lookups(
    plan: Plan, pass_: FragmentPass, count: int, space: AddressSpace
) -> Iterator[TexelAccess]:
    """A program's lookups; DependentError for a texel that is not known without executing it.

    A linear lookup reads each texel of GL's equations (3.24) and (3.25), weight 0 or not.
    """
    if pass_.program.branches:
        raise DependentError(f"{pass_.program.name} has branches")
    lookups = (i for i in pass_.program.instructions if i.texture)
    forms = lookup_coordinates(pass_, count)
    for instruction, binding, coordinates in zip(lookups, pass_.looked_up, forms, strict=True):
        texture, sampler = plan.texture(binding.texture), binding.sampler
        where = f"{pass_.program.name or 'a program'}:{instruction.span.line}"
        what = f"{where}: {instruction.mnemonic} from {texture.name}"
        if texture.kind in _LAYERED or sampler.has_lod:
            raise DependentError(f"{what} chooses a layer or a level")
        if not {Wrap.CLAMP_TO_EDGE, Wrap.REPEAT}.issuperset(sampler.wraps):
            raise DependentError(f"{what} has a border or mirrors")
        number, level = space.numbers[texture.name], sampler.base_level
        size = texture.extent.level(level, texture.kind)
        first_row = space.rows[number] + texture.extent.first_row(level)
        sides = (size.width, space.columns[number]), (size.height, first_row)
        taps = []
        for axis, (coordinate, (side, start)) in enumerate(zip(coordinates, sides, strict=True)):
            is_there = axis < coordinate_count(texture.kind)  # a 1D texture has one row
            form = coordinate if is_there else Linear(Fraction(0))
            texels = form if texture.kind is TextureKind.RECT else form * Linear(Fraction(side))
            if not isinstance(texels, Linear):
                raise DependentError(
                    f"{what} is at coordinates that are not exactly affine in the fragment's "
                    "position"
                )
            filtered = is_there and sampler.filter is Filter.LINEAR
            first = texels.moved(_HALF, _HALF, -_HALF * filtered)
            numbers = first.constant, first.x, first.y, first.iteration
            common = lcm(*(number.denominator for number in numbers))
            constant, x, y, iteration = (int(number * common) for number in numbers)
            repeats = sampler.wraps[axis] is Wrap.REPEAT
            along = Along(constant, x, y, iteration, common, side, start, repeats)
            taps.append([replace(along, tap=tap) for tap in range(1 + filtered)])
        for row, column in product(*reversed(taps)):
            yield TexelAccess(2 * number, column, row)


_HALF = Fraction(1, 2)  # of a fragment to the first one's centre, and of a texel to its edge
_LAYERED = (TextureKind.T3D, TextureKind.CUBE)
