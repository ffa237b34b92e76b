"""The texels that each fragment of a pass accesses, and their addresses in memory.

lower/analysis/affine.py gives the coordinates of a program's lookups as affine forms of the
fragment's position and the iteration. A texture's layout gives the bytes of each column and of each
row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate, product
from math import lcm
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.access import LINEAR, NO_ACCESS, Layout, MemoryRegion, Positions, lay_out
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.lower.analysis.affine import Linear, lookup_coordinates
from gpgpu_legacy.lower.numba_code import native
from gpgpu_legacy.plan.memory import require_memory
from gpgpu_legacy.plan.plan import CopyPass, FragmentPass, Pass, Plan
from gpgpu_legacy.plan.sampling import coordinate_count
from gpgpu_legacy.plan.textures import (
    Filter,
    Rect,
    Texture,
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
    """The column, or the row, of an access: ⌊form⌋ within the texture's edges.

    form: at the fragment's centre, of the fragment's position counted from 0. size, first: the
    texels of the level that is read, and where it begins. The floor is clamped to these texels.
    Then `tap` is added; a texel beyond the edge is the one at the edge. If the texture repeats, the
    sum wraps around instead (GL 1.5, sections 3.8.7 and 3.8.8).
    """

    form: Linear
    size: int
    first: int = 0
    repeats: bool = False
    tap: int = 0

    def moved(self, by: tuple[Fraction, Fraction]) -> Along:
        """That of the fragment to which a move leads from the first."""
        return replace(self, form=self.form.moved(*by))


@frozen
class TexelAccess:
    """One access of every fragment of a pass, to a texel of a texture."""

    texture: Texture
    column: Along
    row: Along
    writes: bool


def texel_accesses(plan: Plan, pass_: Pass, count: int) -> list[TexelAccess]:
    """The accesses of a fragment, or of a texel of a copy, in their order.

    count: of iterations. Raises InputError for dispatches, and as trace_fragments does.
    """
    if isinstance(pass_, CopyPass):
        return [
            _own(plan.texture(pass_.source), constant_rect(pass_.source_rect), writes=False),
            _own(plan.texture(pass_.target), constant_rect(pass_.target_rect), writes=True),
        ]
    if not isinstance(pass_, FragmentPass):
        raise InputError(
            f"plan {plan.name} dispatches kernels; trace_fragments is for plans that draw"
        )
    ways = (False, True) if pass_.blend else (True,)
    own = (
        _own(plan.texture(target), constant_rect(pass_.rect), writes=writes)
        for target in pass_.targets
        for writes in ways
    )
    every = [*_lookups(plan, pass_, count), *own]
    if pass_.scissor is None:
        return every
    rect, drawn = constant_rect(pass_.rect), pass_.drawn

    # From the rectangle's corner to that of its part in the scissor.
    to = Fraction(drawn.x - rect.x), Fraction(drawn.y - rect.y)
    return [replace(a, column=a.column.moved(to), row=a.row.moved(to)) for a in every]


def _own(texture: Texture, rect: Rect, *, writes: bool) -> TexelAccess:
    """Each fragment's own texel, in a rectangle of the texture."""
    one = Fraction(1)
    column = Along(Linear(Fraction(rect.x), x=one), texture.extent.width)
    row = Along(Linear(Fraction(rect.y), y=one), texture.extent.rows)
    return TexelAccess(texture, column, row, writes)


def _lookups(plan: Plan, pass_: FragmentPass, count: int) -> Iterator[TexelAccess]:
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
        size = texture.extent.level(sampler.base_level, texture.kind)
        sides, firsts = (size.width, size.height), (0, texture.extent.first_row(sampler.base_level))
        taps = []
        for axis, (coordinate, side) in enumerate(zip(coordinates, sides, strict=True)):
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
            along = Along(first, side, firsts[axis], sampler.wraps[axis] is Wrap.REPEAT)
            taps.append([replace(along, tap=tap) for tap in range(1 + filtered)])
        for row, column in product(*reversed(taps)):
            yield TexelAccess(texture, column, row, False)


_HALF = Fraction(1, 2)  # of a fragment to the first one's centre, and of a texel to its edge
_LAYERED = (TextureKind.T3D, TextureKind.CUBE)


# Tables ------------------------------------------------------------------------------------------


Mask = NDArray[np.bool_]

QUAD = ((0, 0), (1, 0), (0, 1), (1, 1))
OUTSIDE = 1 << 60  # bytes; no address reaches it, and two of it do not overflow

Tables = tuple[I64, I64]
"""Two tables [positions along an axis, slots]: the sum of an entry of each is an address."""


# Slots: the accesses of a fragment or quad as arrays ---------------------------------------------


class Axis(NamedTuple):
    """The columns, or the rows, that slots access; every array has one entry per slot.

    forms: int64 [4, slots], the constant and the coefficients of x, y and the iteration. The texel
    is this form over `denominators`, rounded down, and brought into `sizes` by `repeats` and `taps`
    as of Along. starts: where the texture's offsets begin in the address space's table.
    """

    forms: I64
    denominators: I64
    sizes: I64
    repeats: I64
    taps: I64
    starts: I64

    def in_quads(self) -> Axis:
        """Four slots for each slot, one per fragment of a quad, as forms of the quad's position."""
        quads = Axis._make(np.repeat(field, len(QUAD), axis=-1) for field in self)
        constant, x, y, iteration = quads.forms
        right, up = np.tile(np.array(QUAD, np.int64).T, self.forms.shape[1])
        forms = np.stack([constant + right * x + up * y, 2 * x, 2 * y, iteration])
        return quads._replace(forms=forms)

    def moves(self, table: I64, size: tuple[int, int], iteration: int) -> list[int] | None:
        """The bytes between each slot's offsets in iteration 0 and those in another iteration.

        size: of the rectangle. None if the distance is not proven to be the same in all
        fragments: a texel that moves may not be clamped or wrap around, and all texels between the
        first and the last that the slot touches must move by the same distance in the table.
        """
        constant, x, y, step = self.forms
        ends = (x * (size[0] - 1), y * (size[1] - 1))
        low = (constant + sum(np.minimum(end, 0) for end in ends)) // self.denominators
        high = (constant + sum(np.maximum(end, 0) for end in ends)) // self.denominators
        texels, rest = np.divmod(iteration * step, self.denominators)
        leaves = (np.minimum(texels, 0) + low < 0) | (
            np.maximum(texels, 0) + high + self.taps >= self.sizes
        )
        if (rest != 0).any() or ((texels != 0) & (leaves | self.repeats)).any():
            return None
        first, last = ((self.starts + self.taps + end).tolist() for end in (low, high))
        distances = [
            _distance(table, *where) if where[2] else 0
            for where in zip(first, last, texels.tolist(), strict=True)
        ]
        return None if None in distances else [n for n in distances if n is not None]


def _distance(table: I64, first: int, last: int, texels: int) -> int | None:
    """The distance between entries `texels` apart in a table; None if it varies."""
    if first == last:
        return int(table[first + texels]) - int(table[first])
    apart = table[first + texels : last + texels + 1] - table[first : last + 1]
    return int(apart[0]) if (apart == apart[0]).all() else None


def make_axis(slots: Sequence[tuple[Along, int]]) -> Axis:
    """An axis from each slot's column or row, and where its texture begins in the table."""
    rows = []
    for along, start in slots:
        form = along.form
        numbers = form.constant, form.x, form.y, form.iteration
        common = lcm(*(number.denominator for number in numbers))
        whole = [int(number * common) for number in numbers]
        rows.append((*whole, common, along.size, along.repeats, along.tap, start + along.first))
    columns = np.ascontiguousarray(np.array(rows, np.int64).T)
    return Axis(columns[:4], *columns[4:])


# The kernels -------------------------------------------------------------------------------------


@native
def add_offsets(  # noqa: PLR0917 - numba takes them by position
    axis: Axis, addresses: I64, these: Mask, table: I64, places: tuple[I64, I64], iteration: int
) -> None:
    """Add an axis's offsets, in bytes, to addresses [slots, places] of these slots.

    places: x and y of each place.
    """
    (xs, ys), (forms, denominators, sizes, repeats, taps, starts) = (
        places,
        axis,
    )
    for slot in range(these.size):
        if not these[slot]:
            continue
        constant, x, y = forms[0, slot] + iteration * forms[3, slot], forms[1, slot], forms[2, slot]
        below, size, repeat = denominators[slot], sizes[slot], repeats[slot]
        tap = taps[slot]
        entries = table[starts[slot] : starts[slot] + size]
        for place in range(xs.size):
            texel = constant + x * xs[place] + y * ys[place]
            if below != 1:
                texel //= below
            if repeat:
                texel = (texel + tap) % size
            else:
                texel = min(min(max(texel, 0), size - 1) + tap, size - 1)
            addresses[slot, place] += entries[np.uint64(texel)]


@native
def walk(
    positions: Positions,
    tables: Tables,
    lines: I64,
    times: NDArray[np.int32],
    shift: int,
) -> int:
    """Fill in a row for each position that accesses other lines than the one before.

    lines, times: room for as many rows as positions. Returns the number of rows.
    """
    (xs, ys), (across, up) = positions, tables
    rows = 0
    for position in range(xs.size):
        x, y = np.uint64(xs[position]), np.uint64(ys[position])
        if rows and not _differs(across[x], up[y], lines[rows - 1], shift):
            times[rows - 1] += 1
            continue
        for slot in range(lines.shape[1]):
            address = across[x, slot] + up[y, slot]
            lines[rows, slot] = address >> shift if address < OUTSIDE else NO_ACCESS
        times[rows] = 1
        rows += 1
    return rows


@native
def _differs(across: I64, up: I64, lines: I64, shift: int) -> bool:
    """Whether any address lies in another line than before."""
    for slot in range(lines.size):
        address = across[slot] + up[slot]
        if (address >> shift if address < OUTSIDE else NO_ACCESS) != lines[slot]:
            return True
    return False
