"""The texels that each fragment of a pass accesses, and their addresses in memory.

lower/analysis/affine.py gives the coordinates of a program's lookups as affine forms of the
fragment's position and the iteration. A texture's layout gives the bytes of each column and of each
row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import lcm
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.access import LINEAR, NO_ACCESS, Layout, MemoryRegion, Positions, lay_out
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.lower.analysis.affine import Linear, Value, lookup_coordinates
from gpgpu_legacy.lower.numba_code import native
from gpgpu_legacy.plan.memory import require_memory
from gpgpu_legacy.plan.plan import CopyPass, FragmentPass, Pass, Plan
from gpgpu_legacy.plan.sampling import coordinate_count
from gpgpu_legacy.plan.textures import (
    Extent,
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
    tables, columns, rows, entries = [np.zeros(0, np.int64)], [], [], 0
    for region, one in zip(regions, placed, strict=True):
        tables += [one.x + region.base, one.y]
        columns.append(entries)
        rows.append(entries + len(one.x))
        entries += len(one.x) + len(one.y)
    numbers = {region.name: number for number, region in enumerate(regions)}
    table = np.concatenate(tables)
    return AddressSpace(regions, numbers, table, tuple(columns), tuple(rows), line_bytes)


# What a pass accesses ----------------------------------------------------------------------------


class Edges(NamedTuple):
    """From a floor along an axis to a texel (GL 1.5, sections 3.8.7 and 3.8.8).

    The floor is clamped to the texture's texels. Then `tap` is added; a texel beyond the edge is
    the one at the edge. If the texture repeats, the sum wraps around instead.
    """

    repeats: bool = False
    tap: int = 0


@frozen
class TexelAccess:
    """One access of every fragment of a pass: to texel (⌊s⌋, ⌊t⌋) of a texture, within its edges.

    s, t: at the fragment's centre, as forms of the fragment's position counted from 0. size,
    first_row: of the level that is read, and where it begins.
    """

    texture: Texture
    s: Linear
    t: Linear
    writes: bool
    size: tuple[int, int]
    first_row: int = 0
    edges: tuple[Edges, Edges] = (Edges(), Edges())


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
    return [replace(one, s=one.s.moved(*to), t=one.t.moved(*to)) for one in every]


def _own(texture: Texture, rect: Rect, *, writes: bool) -> TexelAccess:
    """Each fragment's own texel, in a rectangle of the texture."""
    one, size = Fraction(1), (texture.extent.width, texture.extent.rows)
    s, t = Linear(Fraction(rect.x), x=one), Linear(Fraction(rect.y), y=one)
    return TexelAccess(texture, s, t, writes, size)


def _lookups(plan: Plan, pass_: FragmentPass, count: int) -> Iterator[TexelAccess]:
    """A program's lookups; DependentError for a texel that is not known without executing it.

    A linear lookup reads each texel of GL's equations (3.24) and (3.25), weight 0 or not.
    """
    if pass_.program.branches:
        raise DependentError(f"{pass_.program.name} has branches")
    bound = {binding.unit: binding for binding in pass_.bindings}
    lookups = [(i, bound[i.texture.unit]) for i in pass_.program.instructions if i.texture]
    forms = lookup_coordinates(pass_, count)
    for (instruction, binding), coordinates in zip(lookups, forms, strict=True):
        texture, sampler = plan.texture(binding.texture), binding.sampler
        where = f"{pass_.program.name or 'a program'}:{instruction.span.line}"
        what = f"{where}: {instruction.mnemonic} from {texture.name}"
        if texture.kind in _LAYERED or sampler.has_lod:
            raise DependentError(f"{what} chooses a layer or a level")
        level, linear = sampler.base_level, sampler.filter is Filter.LINEAR
        if not {Wrap.CLAMP_TO_EDGE, Wrap.REPEAT}.issuperset(sampler.wraps):
            raise DependentError(f"{what} has a border or mirrors")
        size = texture.extent.level(level, texture.kind)
        here = _in_texels(texture, size, coordinates, what)
        along = linear, linear and coordinate_count(texture.kind) > 1
        axes = zip(here, sampler.wraps, along, strict=False)
        (column, across), (row, up) = (_taps(*axis) for axis in axes)
        sides, first = (size.width, size.height), texture.extent.first_row(level)
        for above, beside in product(up, across):
            yield TexelAccess(texture, column, row, False, sides, first, (beside, above))


def _taps(form: Linear, wrap: Wrap, linear: bool) -> tuple[Linear, list[Edges]]:
    """The form of the first texel that a lookup reads along an axis, and its taps."""
    half = Fraction(1, 2)  # of a fragment to the first one's centre, and of a texel to its edge
    taps = [Edges(wrap is Wrap.REPEAT, tap) for tap in range(1 + linear)]
    return form.moved(half, half, -half * linear), taps


_LAYERED = (TextureKind.T3D, TextureKind.CUBE)


def _in_texels(
    texture: Texture, size: Extent, coordinates: tuple[Value, Value], what: str
) -> tuple[Linear, Linear]:
    """Coordinates in texels of a level of that size; of a 1D texture, t is that of its only row.

    what: the lookup, in words. Raises DependentError for coordinates that are no affine forms.
    """
    s, t = coordinates
    if coordinate_count(texture.kind) == 1:
        t = Linear(Fraction(0))
    if texture.kind is not TextureKind.RECT:
        s, t = s * Linear(Fraction(size.width)), t * Linear(Fraction(size.height))
    if isinstance(s, Linear) and isinstance(t, Linear):
        return s, t
    raise DependentError(
        f"{what} is at coordinates that are not exactly affine in the fragment's position"
    )


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
    is this form over `denominators`, rounded down, and brought into `sizes` by the Edges that
    `repeats` and `taps` are the fields of. starts: where the texture's
    offsets begin in the address space's table.
    """

    forms: I64
    denominators: I64
    sizes: I64
    repeats: I64
    taps: I64
    starts: I64

    def in_quads(self) -> Axis:
        """Four slots for each slot, one per fragment of a quad, as forms of the quad's position."""
        quads = Axis._make(np.repeat(each, len(QUAD), axis=-1) for each in self)
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


def make_axis(slots: Sequence[tuple[Linear, int, Edges, int]]) -> Axis:
    """An axis from each slot's form, size, edges and start."""
    rows = []
    for form, size, edges, start in slots:
        numbers = form.constant, form.x, form.y, form.iteration
        common = lcm(*(number.denominator for number in numbers))
        whole = [int(number * common) for number in numbers]
        rows.append((*whole, common, size, *edges, start))
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
    start: tuple[int, int],
    positions: Positions,
    tables: Tables,
    out: tuple[I64, NDArray[np.int32]],
    shift: int,
) -> tuple[int, int]:
    """Add the rows of positions until the chunk is full.

    start: the number of the first position, and the number of rows so far; returns the same for
    the first position that is left. out: the lines and the times of the rows.
    """
    (first, rows), (xs, ys), (lines, times) = start, positions, out
    across, up = tables
    for position in range(first, xs.size):
        x, y = np.uint64(xs[position]), np.uint64(ys[position])
        if rows and not _differs(across[x], up[y], lines[rows - 1], shift):
            times[rows - 1] += 1
            continue
        if rows == times.size:
            return position, rows
        for slot in range(lines.shape[1]):
            address = across[x, slot] + up[y, slot]
            lines[rows, slot] = address >> shift if address < OUTSIDE else NO_ACCESS
        times[rows] = 1
        rows += 1
    return xs.size, rows


@native
def _differs(across: I64, up: I64, lines: I64, shift: int) -> bool:
    """Whether any address lies in another line than before."""
    for slot in range(lines.size):
        address = across[slot] + up[slot]
        if (address >> shift if address < OUTSIDE else NO_ACCESS) != lines[slot]:
            return True
    return False
