"""The texels that each fragment of a pass accesses, and their addresses in memory.

lower/analysis/affine.py gives the coordinates of a program's lookups as affine forms of the
fragment's position and the iteration. A texture's layout gives the bytes of each column and of each
row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import lcm
from typing import Any

import numpy as np

from gpgpu_legacy.cache.access import I64, LINEAR, Access, MemoryRegion, lay_out
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

_MOST_REGIONS = 1 << 14  # so that an int16 holds twice the number


class DependentError(InputError):
    """Raised for a lookup whose texels are known only in a run."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}, so that its texels are known only in a run; `cache` makes one")


# The address space -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class AddressSpace:
    """Where all textures of a plan lie, and how fragments access them.

    places: for every texture its number, and the bytes of its columns and of its rows, int64; the
    sum of both is a texel's address.
    """

    plan: Plan
    access: Access
    line_bytes: int
    regions: tuple[MemoryRegion, ...]
    places: dict[str, tuple[int, I64, I64]]


def address_space(plan: Plan, access: Access, line_bytes: int) -> AddressSpace:
    if len(plan.textures) >= _MOST_REGIONS:
        raise InputError(
            f"the plan has {len(plan.textures)} textures, and a trace holds at most "
            f"{_MOST_REGIONS - 1}; allow larger textures, so that there are fewer"
        )
    sides = sum(texture.extent.width + texture.extent.rows for texture in plan.textures)
    require_memory(
        2 * np.int64().itemsize * sides,
        f"the table of addresses of {plan.name}",
        "simulate a smaller plan",
    )
    placed = [
        (LINEAR if texture.kind is TextureKind.BUFFER else access.layout).place(
            texture.extent.width, texture.extent.rows, texture.format.texel_bytes
        )
        for texture in plan.textures
    ]
    sized = zip(plan.textures, placed, strict=True)
    regions = lay_out(((t.name, p.size_bytes, t.format.texel_bytes) for t, p in sized), line_bytes)
    places = {
        region.name: (number, texels.x + region.base, texels.y)
        for number, (region, texels) in enumerate(zip(regions, placed, strict=True))
    }
    return AddressSpace(plan, access, line_bytes, regions, places)


# What a pass accesses ----------------------------------------------------------------------------


@frozen
class Along:
    """The column, or the row, of an access, and where its bytes are.

    For fragment (X, Y), counted from the rectangle's lower left, it is (constant + x·X + y·Y +
    iteration·I) / denominator in iteration I, rounded down. places: the bytes of the columns, or of
    the rows, of the level that is read, int64. The number is clamped to these. Then `tap` is added;
    a texel beyond the edge is the one at the edge. If the texture repeats, the sum wraps around
    instead (GL 1.5, sections 3.8.7 and 3.8.8).
    """

    constant: int
    x: int
    y: int
    iteration: int
    denominator: int
    places: I64
    repeats: bool = False
    tap: int = 0

    def moved(self, x: int, y: int) -> Along:
        """The same with fragment (x, y) as the first."""
        return replace(self, constant=self.constant + self.x * x + self.y * y)

    def bytes_at(self, x: Any, y: Any, iteration: int) -> Any:
        """The bytes of fragments at these x and y."""
        texel = self.constant + self.iteration * iteration + self.x * x + self.y * y
        texel //= self.denominator
        if self.repeats:
            return self.places[(texel + self.tap) % len(self.places)]
        last = len(self.places) - 1
        return self.places[np.minimum(np.clip(texel, 0, last) + self.tap, last)]

    def move(self, size: tuple[int, int], iteration: int) -> int | None:
        """The bytes between its places in iteration 0 and those in another iteration.

        size: of the rectangle. None if the distance is not proven to be the same in all
        fragments: a texel that moves may not be clamped or wrap around, and all texels between the
        first and the last must move by the same distance.
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
            or max(texels, 0) + high + self.tap >= len(self.places)
        ):
            return None
        first, end = self.tap + low, self.tap + high + 1
        apart = self.places[first + texels : end + texels] - self.places[first:end]
        return int(apart[0]) if (apart == apart[0]).all() else None


@frozen
class TexelAccess:
    """One access of every fragment of a pass, to a texel of a texture.

    kind: as in a Chunk.
    """

    kind: int
    column: Along
    row: Along


def texel_accesses(space: AddressSpace, pass_: Pass, count: int) -> list[TexelAccess]:
    """The accesses of a fragment, or of a texel of a copy, in their order.

    count: of iterations. Raises InputError for dispatches, and as trace_fragments does.
    """

    def own(name: str, rect: Rect, *, writes: bool) -> TexelAccess:
        """Each fragment's own texel, in a rectangle of the texture."""
        number, columns, rows = space.places[name]
        column, row = Along(rect.x, 1, 0, 0, 1, columns), Along(rect.y, 0, 1, 0, 1, rows)
        return TexelAccess(2 * number + writes, column, row)

    if isinstance(pass_, CopyPass):
        return [
            own(pass_.source, constant_rect(pass_.source_rect), writes=False),
            own(pass_.target, constant_rect(pass_.target_rect), writes=True),
        ]
    if not isinstance(pass_, FragmentPass):
        raise InputError(
            f"plan {space.plan.name} dispatches kernels; trace_fragments is for plans that draw"
        )
    rect, drawn = constant_rect(pass_.rect), pass_.drawn
    to = drawn.x - rect.x, drawn.y - rect.y  # to the corner of the part in the scissor
    return [
        *(
            replace(access, column=access.column.moved(*to), row=access.row.moved(*to))
            for access in _lookups(space, pass_, count)
        ),
        *(
            own(target, drawn, writes=writes)
            for target in pass_.targets
            for writes in ((False, True) if pass_.blend else (True,))
        ),
    ]


def _lookups(space: AddressSpace, pass_: FragmentPass, count: int) -> Iterator[TexelAccess]:
    """A program's lookups; DependentError for a texel that is not known without executing it.

    A linear lookup reads each texel of GL's equations (3.24) and (3.25), weight 0 or not.
    """
    if pass_.program.branches:
        raise DependentError(f"{pass_.program.name} has branches")
    lookups = (i for i in pass_.program.instructions if i.texture)
    forms = lookup_coordinates(pass_, count)
    for instruction, binding, coordinates in zip(lookups, pass_.looked_up, forms, strict=True):
        texture, sampler = space.plan.texture(binding.texture), binding.sampler
        where = f"{pass_.program.name or 'a program'}:{instruction.span.line}"
        what = f"{where}: {instruction.mnemonic} from {texture.name}"
        if texture.kind in _LAYERED or sampler.has_lod:
            raise DependentError(f"{what} chooses a layer or a level")
        if not {Wrap.CLAMP_TO_EDGE, Wrap.REPEAT}.issuperset(sampler.wraps):
            raise DependentError(f"{what} has a border or mirrors")
        number, columns, rows = space.places[texture.name]
        size = texture.extent.level(sampler.base_level, texture.kind)
        rows = rows[texture.extent.first_row(sampler.base_level) :]
        sides = columns[: size.width], rows[: size.height]
        taps = []
        for axis, (coordinate, side) in enumerate(zip(coordinates, sides, strict=True)):
            is_there = axis < coordinate_count(texture.kind)  # a 1D texture has one row
            form = coordinate if is_there else Linear(Fraction(0))
            texels = (
                form if texture.kind is TextureKind.RECT else form * Linear(Fraction(len(side)))
            )
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
            along = Along(constant, x, y, iteration, common, side, repeats)
            taps.append([replace(along, tap=tap) for tap in range(1 + filtered)])
        for row, column in product(*reversed(taps)):
            yield TexelAccess(2 * number, column, row)


_HALF = Fraction(1, 2)  # from a fragment's corner to its centre, and a texel's centre to its edge
_LAYERED = (TextureKind.T3D, TextureKind.CUBE)
