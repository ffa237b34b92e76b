"""What each fragment of a pass touches, and where in memory that lies.

lower/affine.py says which coordinates a program looks up, as affine forms of the fragment's
position and the iteration. A texture's layout gives a column and a row a number of bytes each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.layout import LINEAR, Layout
from gpgpu_legacy.cache.trace import REGION_ALIGNMENT, Region
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.ir import Instruction
from gpgpu_legacy.lower.affine import Linear, Value, lookup_coordinates
from gpgpu_legacy.lower.sampling import coordinate_count
from gpgpu_legacy.plan.plan import (
    Binding,
    Blend,
    CopyPass,
    Filter,
    FragmentPass,
    Pass,
    Plan,
    Rect,
    Texture,
    TextureKind,
    Wrap,
    constant_rect,
)

I64 = NDArray[np.int64]

_MOST_REGIONS = 1 << 14  # of which an int16 holds twice the number


# The address space -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class AddressSpace:
    """Where everything lies.

    table: int64, every texture's table of columns, each with the texture's base in it, and its
    table of rows. columns, rows: by the number of the texture, where its tables begin.
    """

    regions: tuple[Region, ...]
    numbers: dict[str, int]
    table: I64
    columns: tuple[int, ...]
    rows: tuple[int, ...]
    line_bytes: int


def address_space(plan: Plan, layout: Layout, line_bytes: int) -> AddressSpace:
    _check_line(plan, line_bytes)
    base = entries = 0
    regions, tables, columns, rows = [], [np.zeros(0, np.int64)], [], []
    for texture in plan.textures:
        extent, texel_bytes = texture.extent, texture.format.texel_bytes
        lies = LINEAR if texture.kind is TextureKind.BUFFER else layout
        placed = lies.place(extent.width, extent.rows, texel_bytes)
        regions.append(Region(texture.name, base, placed.size_bytes, texel_bytes))
        tables += [placed.x + base, placed.y]
        columns.append(entries)
        rows.append(entries + extent.width)
        entries += extent.width + extent.rows
        base += -(-placed.size_bytes // REGION_ALIGNMENT) * REGION_ALIGNMENT
    numbers = {region.name: number for number, region in enumerate(regions)}
    table = np.concatenate(tables)
    return AddressSpace(tuple(regions), numbers, table, tuple(columns), tuple(rows), line_bytes)


def _check_line(plan: Plan, line_bytes: int) -> None:
    texel_bytes = max((t.format.texel_bytes for t in plan.textures), default=1)
    if line_bytes.bit_count() != 1 or line_bytes < texel_bytes:
        raise InputError(
            f"a line of {line_bytes} bytes does not hold whole texels; give a power of two of at "
            f"least {texel_bytes}, the plan's largest texel"
        )
    if len(plan.textures) >= _MOST_REGIONS:
        raise InputError(
            f"the plan has {len(plan.textures)} textures; a trace tells {_MOST_REGIONS - 1} apart, "
            "so let the largest texture be larger"
        )


# What a pass accesses ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TexelAccess:
    """What every fragment of a pass does once: it touches texel (⌊s⌋, ⌊t⌋) of a texture.

    s, t: at the fragment's centre, in terms of fragments counted from 0. repeats: whether s, and t,
    go around; else they are clamped to the texture's edge.
    """

    texture: Texture
    s: Linear
    t: Linear
    writes: bool
    repeats: tuple[bool, bool] = (False, False)


def texel_accesses(plan: Plan, each: Pass, count: int) -> list[TexelAccess]:
    """In the order in which a fragment, or a texel that is copied, makes them."""
    if isinstance(each, CopyPass):
        return [
            _own(plan.texture(each.source), constant_rect(each.source_rect), writes=False),
            _own(plan.texture(each.target), constant_rect(each.target_rect), writes=True),
        ]
    if not isinstance(each, FragmentPass):
        raise InputError(
            f"plan {plan.name} dispatches kernels; a trace of fragments is of plans that draw"
        )
    ways = (True,) if each.blend is Blend.NONE else (False, True)
    return _lookups(plan, each, count) + [
        _own(plan.texture(target), constant_rect(each.rect), writes=writes)
        for target in each.targets
        for writes in ways
    ]


def _own(texture: Texture, rect: Rect, *, writes: bool) -> TexelAccess:
    """Each fragment's own texel, of a rectangle at that place."""
    one = Fraction(1)
    return TexelAccess(
        texture, Linear(Fraction(rect.x), x=one), Linear(Fraction(rect.y), y=one), writes
    )


def _lookups(plan: Plan, each: FragmentPass, count: int) -> list[TexelAccess]:
    """All lookups of a program. They need not chain (lower/chains.py): each pass is by itself."""
    bindings = {binding.unit: binding for binding in each.bindings}
    found = [i for i in each.program.instructions if i.texture is not None]
    forms = lookup_coordinates(each, count)
    return [
        _lookup(plan, each, instruction, bindings[instruction.texture.unit], form)
        for instruction, form in zip(found, forms, strict=True)
        if instruction.texture is not None
    ]


def _lookup(
    plan: Plan, each: FragmentPass, instruction: Instruction, binding: Binding,
    coordinates: tuple[Value, Value],
) -> TexelAccess:  # fmt: skip
    """Raises InputError where the texel that is looked up is not known from here."""
    texture, sampler = plan.texture(binding.texture), binding.sampler
    what = f"{each.program.name or 'a program'}:{instruction.span.line}: {instruction.mnemonic}"
    if sampler.filter is not Filter.NEAREST or texture.kind in _LAYERED:
        how = f"{sampler.filter.value} lookup in a {texture.kind.value} texture"
        raise InputError(
            f"{what} from {texture.name} is a {how}; a trace can follow nearest lookups in RECT, "
            "1D and 2D textures"
        )
    s, t = _in_texels(texture, coordinates)
    if not (isinstance(s, Linear) and isinstance(t, Linear)):
        raise InputError(
            f"{what} from {texture.name} is at coordinates that are not exactly affine in the "
            "fragment's position (made from texels, state or rounded numbers); a trace can follow "
            "those that are"
        )
    wraps = (sampler.wrap_s is Wrap.REPEAT, sampler.wrap_t is Wrap.REPEAT)
    return TexelAccess(texture, _from_first_fragment(s), _from_first_fragment(t), False, wraps)


_LAYERED = (TextureKind.T3D, TextureKind.CUBE)


def _in_texels(texture: Texture, coordinates: tuple[Value, Value]) -> tuple[Value, Value]:
    """Coordinates counted in texels; t of a 1D texture is that of its only row."""
    s, t = coordinates
    if coordinate_count(texture.kind) == 1:
        t = Linear(Fraction(0))
    if texture.kind is TextureKind.RECT:
        return s, t
    width, height = Linear(Fraction(texture.extent.width)), Linear(Fraction(texture.extent.height))
    return s * width, t * height


def _from_first_fragment(form: Linear) -> Linear:
    """A form of fragments counted from 0.5 as one of fragments counted from 0."""
    return replace(form, constant=form.constant + (form.x + form.y) / 2)
