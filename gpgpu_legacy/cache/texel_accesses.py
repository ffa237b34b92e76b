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
from math import ceil, floor, log2
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.layout import LINEAR, Layout
from gpgpu_legacy.cache.trace import MemoryRegion, lay_out
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.lower.analysis.affine import Clamped, Linear, Value, lookup_coordinates
from gpgpu_legacy.memory import require_memory
from gpgpu_legacy.plan.plan import CopyPass, FragmentPass, Pass, Plan
from gpgpu_legacy.plan.sampling import LEAST_RHO2, MOST_BIAS, MOST_RHO2, coordinate_count
from gpgpu_legacy.plan.textures import (
    Filter,
    Rect,
    Sampler,
    Texture,
    TextureKind,
    Wrap,
    constant_rect,
)

I64 = NDArray[np.int64]
Form = Linear | Clamped

_MOST_REGIONS = 1 << 14  # so that an int16 holds twice the number


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

    The floor is clamped to the texture's texels; with a `border` of 1 to the texel before them,
    too, with one of 2 also to that after them. Then `tap` is added. A texel of the border is no
    access; any other beyond the edge is the one at the edge. If the texture repeats, the sum wraps
    around instead. mirror: 1 if every second copy is turned round, and 2 if a linear filter then
    clamps.
    """

    repeats: bool = False
    border: int = 0
    tap: int = 0
    mirror: int = 0


@dataclass(frozen=True, slots=True)
class TexelAccess:
    """One access of every fragment of a pass: to texel (⌊s⌋, ⌊t⌋) of a texture, within its edges.

    s, t: at the fragment's centre, as forms of the fragment's position counted from 0. size,
    first_row: of the level that is read, and where it begins.
    """

    texture: Texture
    s: Form
    t: Form
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
    """A program's lookups; InputError for a texel that is not known without executing it.

    A linear lookup reads each texel of GL's equations (3.24) and (3.25), weight 0 or not.
    """
    if pass_.program.branches:
        raise InputError(f"{pass_.program.name} has branches; a trace can follow programs without")
    bound = {binding.unit: binding for binding in pass_.bindings}
    lookups = [(i, bound[i.texture.unit]) for i in pass_.program.instructions if i.texture]
    forms = lookup_coordinates(pass_, count)
    for (instruction, binding), coordinates in zip(lookups, forms, strict=True):
        texture, sampler = plan.texture(binding.texture), binding.sampler
        where = f"{pass_.program.name or 'a program'}:{instruction.span.line}"
        what = f"{where}: {instruction.mnemonic} from {texture.name}"
        if texture.kind in _LAYERED:
            raise InputError(
                f"{what} is a lookup in a {texture.kind.value} texture; a trace can follow those "
                "in RECT, 1D and 2D textures"
            )
        if instruction.mnemonic in ("TXB", "TXL") and sampler.has_lod:
            raise InputError(f"{what} has a bias; a trace can follow lookups without")
        in_base = _in_texels(texture, sampler.base_level, coordinates, what)
        if sampler.has_lod and any(isinstance(form, Clamped) for form in in_base):
            raise InputError(
                f"{what} is at clamped coordinates, and chooses a level by their slopes; a trace "
                "can follow clamps in one level"
            )
        s, t = (form.form if isinstance(form, Clamped) else form for form in in_base)
        for level, filter_ in levels_looked_up(texture, sampler, ((s.x, t.x), (s.y, t.y))):
            size = texture.extent.level(level, texture.kind)
            here = _in_texels(texture, level, coordinates, what)
            linear = filter_ is Filter.LINEAR
            along = linear, linear and coordinate_count(texture.kind) > 1
            axes = zip(here, sampler.wraps, along, strict=False)
            (column, across), (row, up) = (_taps(*axis) for axis in axes)
            sides, first = (size.width, size.height), texture.extent.first_row(level)
            for above, beside in product(up, across):
                yield TexelAccess(texture, column, row, False, sides, first, (beside, above))


def levels_looked_up(
    texture: Texture, sampler: Sampler, slopes: Sequence[Sequence[Fraction]]
) -> Iterator[tuple[int, Filter]]:
    """The levels that a lookup without a bias reads, each with the filter within it.

    slopes: along x and along y, of s and of t in texels of the first level that may be read.
    """
    if not sampler.has_lod:
        yield sampler.base_level, sampler.filter
        return
    rho2 = max(sum(float(slope) ** 2 for slope in each) for each in slopes)
    lod = 0.5 * log2(min(max(rho2, LEAST_RHO2), MOST_RHO2))
    lod += min(max(sampler.bias, -MOST_BIAS), MOST_BIAS)
    lod = min(max(lod, sampler.min_lod), sampler.max_lod)
    levels, within = sampler.levels_read(texture.extent, texture.kind), sampler.filter.within
    above = min(max(lod, 0.0), len(levels) - 1.0)
    if within is not sampler.magnifying and lod <= sampler.switch:
        yield levels[0], sampler.magnifying
    elif sampler.filter.between is Filter.LINEAR:
        for whole in (floor(above), min(floor(above) + 1, len(levels) - 1)):
            yield levels[whole], within
    else:
        yield levels[ceil(above + 0.5) - 1], within


def _taps(form: Form, wrap: Wrap, linear: bool) -> tuple[Form, list[Edges]]:
    """The form of the first texel that a lookup reads along an axis, and its taps."""
    half = Fraction(1, 2)  # of a fragment to the first one's centre, and of a texel to its edge
    border = 2 if wrap is Wrap.CLAMP_TO_BORDER else int(linear and wrap is Wrap.CLAMP)
    mirror = (1 + linear) * (wrap is Wrap.MIRRORED_REPEAT)
    taps = [Edges(wrap is Wrap.REPEAT, border, tap, mirror) for tap in range(1 + linear)]
    return form.moved(half, half, -half * linear), taps


_LAYERED = (TextureKind.T3D, TextureKind.CUBE)


def _in_texels(
    texture: Texture, level: int, coordinates: tuple[Value, Value], what: str
) -> tuple[Form, Form]:
    """Coordinates in texels of a level; for a 1D texture, t is that of its only row.

    what: the lookup, in words. Raises InputError for coordinates that are no affine forms.
    """
    s, t = coordinates
    if coordinate_count(texture.kind) == 1:
        t = Linear(Fraction(0))
    if texture.kind is not TextureKind.RECT:
        size = texture.extent.level(level, texture.kind)
        s, t = s * Linear(Fraction(size.width)), t * Linear(Fraction(size.height))
    if isinstance(s, Form) and isinstance(t, Form):
        return s, t
    raise InputError(
        f"{what} is at coordinates that are not exactly affine in the fragment's position "
        "(made from texels, state or rounded numbers); a trace can follow those that are, and "
        "clamps of them"
    )
