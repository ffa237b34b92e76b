"""The accesses of a plan that draws: each pass's lookups and writes, fragment by fragment.

Fragments come one after another in raster order; a fragment's lookups in program order, then its
write. With quads the fragments of a quad take each access in turn, in the order (0, 0), (1, 0),
(0, 1), (1, 1); those outside of the rectangle are not there. A blended write is a read, then a
write. Several targets are written in turn. A fragment that KIL may discard is counted as one that
lives. A copy reads, then writes each texel, in row order whatever the raster. Clears, uploads and
initial values make no accesses.

Nothing is run. lower/affine.py says which coordinates a program looks up, as affine forms of the
fragment's position and the iteration; a texture's layout makes of a column and of a row a number of
bytes each, so a table for each axis of the rectangle gives every address of a pass as a sum of two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.layout import LINEAR, Layout
from gpgpu_legacy.cache.raster import SCAN, Positions, Raster
from gpgpu_legacy.cache.trace import NO_ACCESS, REGION_ALIGNMENT, Chunk, Region, Step, Sweep, Trace
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.ir import Instruction
from gpgpu_legacy.lower.affine import Linear, Value, lookup_coordinates
from gpgpu_legacy.lower.numba_code import native
from gpgpu_legacy.lower.sampling import coordinate_count
from gpgpu_legacy.plan.expand import at_iteration, moves, varies
from gpgpu_legacy.plan.plan import (
    Binding,
    Blend,
    ClearPass,
    CopyPass,
    Filter,
    FragmentPass,
    Pass,
    Plan,
    Rect,
    Repeat,
    Texture,
    TextureKind,
    Wrap,
    constant_rect,
)

I64 = NDArray[np.int64]
Mask = NDArray[np.bool_]

MOST_ROWS = 1 << 16
MOST_LINES = 1 << 18  # of a chunk: 2 MB, which stay in a core's cache until they are read
MOST_ENTRIES = 1 << 25  # of the tables for a whole rectangle: 256 MB
_QUAD = ((0, 0), (1, 0), (0, 1), (1, 1))
_OUTSIDE = 1 << 60  # bytes; no address reaches it, and two of it do not overflow
_MOST_REGIONS = 1 << 14  # of which an int16 holds twice the number


def trace_fragments(
    plan: Plan, *, layout: Layout, raster: Raster, quads: bool = False, line_bytes: int = 64
) -> Trace:
    """The trace of a validated plan of fragment passes, copies and clears.

    Regions are all textures of the plan in its order, buffers always linear. A row of a chunk is a
    fragment, a quad, or a texel copied. Chunks have at most MOST_ROWS rows and MOST_LINES lines,
    and keep them: a chunk need not be used up before the next is made. A Repeat is a step with a
    turn an iteration. A pass of it whose rectangle or lookups are not affine in the iteration is
    analysed for each one.

    Raises InputError for a lookup whose texel is not known without running the program, for
    dispatches, for tiles that quads do not fill, and for `line_bytes` that is no power of two or
    smaller than a texel.
    """
    raster.check(quads=quads)
    space = _space(plan, layout, line_bytes)
    steps = []
    for step in plan.steps:
        count, body = (step.count, step.body) if isinstance(step, Repeat) else (1, (step,))
        drawn = [each for each in body if count and not isinstance(each, ClearPass)]
        passes = tuple(_repeated(plan, each, count, space, (raster, quads)) for each in drawn)
        if passes:
            steps.append(_step(count, passes))
    order = f"{raster.name} in quads" if quads else raster.name
    return Trace(plan.name, space.regions, tuple(steps), line_bytes, order, layout.name)


# The address space -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Space:
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


def _space(plan: Plan, layout: Layout, line_bytes: int) -> _Space:
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
    return _Space(tuple(regions), numbers, table, tuple(columns), tuple(rows), line_bytes)


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
class _Access:
    """What every fragment of a pass does once: it touches texel (⌊s⌋, ⌊t⌋) of a texture.

    s, t: at the fragment's centre, in terms of fragments counted from 0. repeats: whether s, and t,
    go around; else they are clamped to the texture's edge.
    """

    texture: Texture
    s: Linear
    t: Linear
    writes: bool
    repeats: tuple[bool, bool] = (False, False)


def _accesses(plan: Plan, each: Pass, count: int) -> list[_Access]:
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


def _own(texture: Texture, rect: Rect, *, writes: bool) -> _Access:
    """Each fragment's own texel, of a rectangle at that place."""
    one = Fraction(1)
    return _Access(
        texture, Linear(Fraction(rect.x), x=one), Linear(Fraction(rect.y), y=one), writes
    )


def _lookups(plan: Plan, each: FragmentPass, count: int) -> list[_Access]:
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
) -> _Access:  # fmt: skip
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
    return _Access(texture, _from_first_fragment(s), _from_first_fragment(t), False, wraps)


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


# Slots: the accesses of a fragment or quad as arrays ---------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Axis:
    """The columns, or the rows, that slots touch; every array has an entry a slot.

    forms: int64 [4, slots], the constant and what is added for each x, y and iteration; the texel
    is the sum over `denominators`, rounded down, and clamped to `sizes` or, if it `repeats`, taken
    modulo it. starts: of the texture's table in the address space's.
    """

    forms: I64
    denominators: I64
    sizes: I64
    repeats: Mask
    starts: I64

    def in_quads(self) -> _Axis:
        """Four slots for each, one a fragment of a quad, in terms of the quad's position."""
        constant, x, y, iteration = np.repeat(self.forms, len(_QUAD), axis=1)
        right, up = np.tile(np.array(_QUAD, np.int64).T, self.forms.shape[1])
        return _Axis(
            np.stack([constant + right * x + up * y, 2 * x, 2 * y, iteration]),
            np.repeat(self.denominators, len(_QUAD)),
            np.repeat(self.sizes, len(_QUAD)),
            np.repeat(self.repeats, len(_QUAD)),
            np.repeat(self.starts, len(_QUAD)),
        )

    def add_offsets(
        self, addresses: I64, these: Mask, table: I64, places: tuple[I64, I64], iteration: int
    ) -> None:
        """Add what this axis comes to, in bytes, to addresses [slots, places] of these slots.

        places: x and y of each.
        """
        others = (self.denominators, self.sizes, self.repeats, self.starts)
        _add_offsets(addresses, these, table, places, (iteration, self.forms, *others))

    def moves(self, table: I64, size: tuple[int, int], iteration: int) -> list[int] | None:
        """By how many bytes each slot's offsets of iteration 0 are moved in another one.

        size: of the rectangle. None where it is not shown that a slot's move is the same in all
        fragments: a texel that differs may not be clamped, nor go around, and all those between the
        first and the last that the slot touches must be as far apart in the table.
        """
        constant, x, y, step = self.forms
        ends = (x * (size[0] - 1), y * (size[1] - 1))
        low = (constant + sum(np.minimum(end, 0) for end in ends)) // self.denominators
        high = (constant + sum(np.maximum(end, 0) for end in ends)) // self.denominators
        texels, rest = np.divmod(iteration * step, self.denominators)
        leaves = (np.minimum(texels, 0) + low < 0) | (np.maximum(texels, 0) + high >= self.sizes)
        if (rest != 0).any() or ((texels != 0) & (leaves | self.repeats)).any():
            return None
        first, last = (self.starts + low).tolist(), (self.starts + high).tolist()
        found = [
            _distance(table, *where) if where[2] else 0
            for where in zip(first, last, texels.tolist(), strict=True)
        ]
        return None if None in found else [each for each in found if each is not None]


def _distance(table: I64, first: int, last: int, texels: int) -> int | None:
    """How far entries are apart that lie `texels` apart in a table; None where that differs."""
    if first == last:
        return int(table[first + texels]) - int(table[first])
    apart = table[first + texels : last + texels + 1] - table[first : last + 1]
    return int(apart[0]) if (apart == apart[0]).all() else None


def _axis(
    forms: Sequence[Linear], sizes: Sequence[int], repeats: Sequence[bool], starts: Sequence[int]
) -> _Axis:
    coefficients = [(form.constant, form.x, form.y, form.iteration) for form in forms]
    common = [lcm(*(each.denominator for each in form)) for form in coefficients]
    whole = [
        [int(each * denominator) for each in form]
        for form, denominator in zip(coefficients, common, strict=True)
    ]
    return _Axis(
        np.ascontiguousarray(np.array(whole, np.int64).T),
        np.array(common, np.int64),
        np.array(sizes, np.int64),
        np.array(repeats, np.bool_),
        np.array(starts, np.int64),
    )


# Passes ------------------------------------------------------------------------------------------


_Tables = tuple[I64, I64, I64, I64]
"""Two tables [places of an axis, slots] of which an entry of each adds up to an address, or to
another one in its line; for each place of either axis the number of its stretch, in which all
entries are alike."""


@dataclass(frozen=True, slots=True, eq=False)
class _Pass:
    """A pass of a step, in all of its iterations.

    axes: of a fragment's slots. kinds: of the slots of a row, a fragment's or a quad's.
    """

    label: str
    size: tuple[int, int]
    axes: tuple[_Axis, _Axis]
    kinds: NDArray[np.int16]
    raster: Raster
    quads: bool
    space: _Space

    def sweep(self, iteration: int, count: int) -> Sweep:
        """One iteration of the pass."""
        label = f"{self.label}, turn {iteration + 1} of {count}" if count > 1 else self.label
        accesses = self.size[0] * self.size[1] * len(self.axes[0].sizes)
        return Sweep(label, accesses, lambda: self.chunks(iteration))

    def moves(self, iteration: int) -> Iterator[tuple[int, int | None]]:
        """Of each slot, the region and by how many bytes its addresses are moved, if that is so."""
        regions = (self.kinds[:: len(_QUAD)] if self.quads else self.kinds) // 2
        across, up = (axis.moves(self.space.table, self.size, iteration) for axis in self.axes)
        if across is None or up is None:
            yield 0, None
            return
        yield from (
            (region, a + b) for region, a, b in zip(regions.tolist(), across, up, strict=True)
        )

    def chunks(self, iteration: int) -> Iterator[Chunk]:
        """The accesses of an iteration."""
        slots, shift = len(self.kinds), self.space.line_bytes.bit_length() - 1
        most = max(1, min(MOST_ROWS, MOST_LINES // slots))
        lines, times = _room(most, slots)
        rows = 0
        for positions, tables in self.tables(iteration):
            first, end = 0, len(positions[0])
            while first < end:
                first, rows = _walk((first, rows), positions, tables, (lines, times), shift)
                if first < end:
                    yield Chunk(lines, self.kinds, times)
                    lines, times = _room(most, slots)
                    rows = 0
        yield Chunk(lines[:rows], self.kinds, times[:rows])

    def tables(self, iteration: int) -> Iterator[tuple[Positions, _Tables]]:
        """Positions in order, with tables for them.

        Where tables for the whole rectangle were too large, there are some for the columns and rows
        of each stretch of positions. A slot of which a column or a row depends on both x and y has
        no such tables; then one that holds every address of a few positions takes their place.
        """
        share = 2 if self.quads else 1
        width, height = (-(-side // share) for side in self.size)
        axes = tuple(axis.in_quads() if self.quads else axis for axis in self.axes)
        positions = self.raster.positions(*self.size, quads=self.quads)
        if any(((axis.forms[1] != 0) & (axis.forms[2] != 0)).any() for axis in axes):
            yield from self._one_by_one(axes, positions, iteration)
        elif (width + height) * len(self.kinds) <= MOST_ENTRIES:
            xs, ys = np.arange(width, dtype=np.int64), np.arange(height, dtype=np.int64)
            tables = self._separate(axes, xs, ys, iteration)
            for each in positions:
                yield each, tables
        else:
            for each in positions:
                (columns, xs), (rows, ys) = (np.unique(side, return_inverse=True) for side in each)
                tables = self._separate(
                    axes, columns.astype(np.int64), rows.astype(np.int64), iteration
                )
                yield (xs.astype(np.int32), ys.astype(np.int32)), tables

    def _separate(self, axes: tuple[_Axis, ...], xs: I64, ys: I64, iteration: int) -> _Tables:
        """Tables for these columns and these rows."""
        across, up, table = self._outside(xs, 0), self._outside(ys, 1), self.space.table
        for axis in axes:
            upwards = axis.forms[2] != 0
            axis.add_offsets(across, ~upwards, table, (xs, np.zeros_like(xs)), iteration)
            axis.add_offsets(up, upwards, table, (np.zeros_like(ys), ys), iteration)
        _settle(across, up, self.space.line_bytes - 1)
        across = np.ascontiguousarray(across.T)
        up = np.ascontiguousarray(up.T)
        return across, up, _stretches(across), _stretches(up)

    def _one_by_one(
        self, axes: tuple[_Axis, ...], positions: Iterator[Positions], iteration: int
    ) -> Iterator[tuple[Positions, _Tables]]:
        slots, table = len(self.kinds), self.space.table
        at_once, every = max(1, MOST_LINES // slots), np.ones(slots, np.bool_)
        nothing, only = np.zeros((1, slots), np.int64), np.zeros(1, np.int64)
        for xs, ys in positions:
            for first in range(0, len(xs), at_once):
                x, y = (each[first : first + at_once].astype(np.int64) for each in (xs, ys))
                addresses = self._outside(x, 0) + self._outside(y, 1)
                for axis in axes:
                    axis.add_offsets(addresses, every, table, (x, y), iteration)
                numbers = np.arange(len(x), dtype=np.int32)
                whole = np.ascontiguousarray(addresses.T)
                tables = whole, nothing, numbers.astype(np.int64), only
                yield (numbers, np.zeros_like(numbers)), tables

    def _outside(self, places: I64, axis: int) -> I64:
        """int64 [slots, places]: _OUTSIDE where a quad's fragment lies beyond the rectangle."""
        if not self.quads:
            return np.zeros((len(self.kinds), len(places)), np.int64)
        step = np.tile(np.array(_QUAD, np.int64)[:, axis], len(self.kinds) // len(_QUAD))
        return np.where(2 * places + step[:, None] >= self.size[axis], _OUTSIDE, 0)


@dataclass(frozen=True, slots=True, eq=False)
class _Changing:
    """A pass of a step that is another in each iteration, or the same object where it is alike."""

    at: tuple[_Pass, ...]

    def sweep(self, iteration: int, count: int) -> Sweep:
        """See _Pass."""
        return self.at[iteration].sweep(iteration, count)

    def moves(self, iteration: int) -> Iterator[tuple[int, int | None]]:
        """See _Pass; of one that differs from the first nothing is known."""
        here = self.at[iteration]
        for region, moved in here.moves(0):
            yield region, moved if here is self.at[0] else None


def _room(rows: int, slots: int) -> tuple[I64, NDArray[np.int32]]:
    return np.empty((rows, slots), np.int64), np.empty(rows, np.int32)


def _repeated(
    plan: Plan, each: Pass, count: int, space: _Space, order: tuple[Raster, bool]
) -> _Pass | _Changing:
    """A pass in all of its iterations."""
    if not moves(each):
        try:
            return _pass(plan, each, count, space, order)
        except InputError:  # not affine over all iterations: it may be in each of them
            if not varies(each):
                raise
    known: dict[object, _Pass] = {}
    at = []
    for iteration in range(count):
        now = at_iteration(each, iteration)
        what = _what_decides(now)
        if what not in known:
            known[what] = _pass(plan, now, 1, space, order)
        at.append(known[what])
    return _Changing(tuple(at))


def _what_decides(each: Pass) -> object:
    """All that may vary in a pass and makes a difference to its accesses."""
    if isinstance(each, FragmentPass):
        return each.rect, each.texcoords, each.locals, each.env
    return each


def _pass(plan: Plan, each: Pass, count: int, space: _Space, order: tuple[Raster, bool]) -> _Pass:
    accesses = _accesses(plan, each, count)
    raster, quads = (SCAN, False) if isinstance(each, CopyPass) else order
    numbers = [space.numbers[access.texture.name] for access in accesses]
    kinds = [2 * n + access.writes for n, access in zip(numbers, accesses, strict=True)]
    extents = [access.texture.extent for access in accesses]
    columns = _axis(
        [access.s for access in accesses],
        [extent.width for extent in extents],
        [access.repeats[0] for access in accesses],
        [space.columns[number] for number in numbers],
    )
    rows = _axis(
        [access.t for access in accesses],
        [extent.rows for extent in extents],
        [access.repeats[1] for access in accesses],
        [space.rows[number] for number in numbers],
    )
    rect = constant_rect(each.target_rect) if isinstance(each, CopyPass) else _rect(each)
    by_row = np.repeat(np.array(kinds, np.int16), len(_QUAD) if quads else 1)
    size = (rect.width, rect.height)
    return _Pass(_label(each), size, (columns, rows), by_row, raster, quads, space)


def _rect(each: Pass) -> Rect:
    assert isinstance(each, FragmentPass)
    return constant_rect(each.rect)


def _label(each: Pass) -> str:
    if isinstance(each, CopyPass):
        return f"copy of {each.source} to {each.target}"
    assert isinstance(each, FragmentPass)
    return f"{each.program.name or 'a program'} to {', '.join(each.targets)}"


def _step(count: int, passes: tuple[_Pass | _Changing, ...]) -> Step:
    def turn(iteration: int) -> tuple[Sweep, ...]:
        return tuple(each.sweep(iteration, count) for each in passes)

    def shifts(iteration: int) -> dict[int, int] | None:
        found: dict[int, int] = {}
        for each in passes:
            for region, moved in each.moves(iteration):
                if moved is None or found.setdefault(region, moved) != moved:
                    return None
        return found

    return Step(count, turn, shifts)


# The kernels -------------------------------------------------------------------------------------


@native
def _add_offsets(
    addresses: I64,
    these: Mask,
    table: I64,
    places: tuple[I64, I64],
    axis: tuple[int, I64, I64, I64, Mask, I64],
) -> None:
    """As _Axis.add_offsets; axis: the iteration, then the axis's fields in order."""
    (xs, ys), (iteration, forms, denominators, sizes, repeats, starts) = places, axis
    for slot in range(these.size):
        if not these[slot]:
            continue
        constant, x, y = forms[0, slot] + iteration * forms[3, slot], forms[1, slot], forms[2, slot]
        below, size, repeat = denominators[slot], sizes[slot], repeats[slot]
        entries = table[starts[slot] : starts[slot] + size]
        for place in range(xs.size):
            texel = constant + x * xs[place] + y * ys[place]
            if below != 1:
                texel //= below
            if repeat:
                texel %= size
            texel = min(max(texel, 0), size - 1)
            addresses[slot, place] += entries[np.uint64(texel)]


@native
def _settle(across: I64, up: I64, in_line: int) -> None:
    """Change tables [slots, places] so that more entries are alike, and all sums keep their lines.

    Where all of a slot's entries in one table lie at one place of a line, that place goes over to
    the other table. Where no two places add up to a whole line, the places are dropped.
    """
    for slot in range(across.shape[0]):
        _move_place(across[slot], up[slot], in_line)
        _move_place(up[slot], across[slot], in_line)
        if _places(across[slot], in_line)[1] + _places(up[slot], in_line)[1] <= in_line:
            for entries in (across[slot], up[slot]):
                for n in range(entries.size):
                    entries[n] &= ~in_line


@native
def _move_place(here: I64, there: I64, in_line: int) -> None:
    """Move the place in a line, where all entries of `here` have the same one, to `there`."""
    least, most = _places(here, in_line)
    if least == most:
        for n in range(here.size):
            here[n] -= least
        for n in range(there.size):
            there[n] += least


@native
def _places(entries: I64, in_line: int) -> tuple[int, int]:
    """The least and the greatest place in their lines that entries have."""
    least, most = in_line, 0
    for entry in entries:
        place = entry & in_line
        least, most = min(least, place), max(most, place)
    return least, most


def _stretches(table: I64) -> I64:
    """For a table [places, slots], int64 [places]: one number for neighbours that are alike."""
    numbers = np.zeros(len(table), np.int64)
    _number_stretches(table, numbers)
    return numbers


@native
def _number_stretches(table: I64, numbers: I64) -> None:
    for place in range(1, table.shape[0]):
        alike = True
        for slot in range(table.shape[1]):
            alike = alike and table[place, slot] == table[place - 1, slot]
        numbers[place] = numbers[place - 1] + (not alike)


@native
def _walk(
    start: tuple[int, int],
    positions: Positions,
    tables: _Tables,
    out: tuple[I64, NDArray[np.int32]],
    shift: int,
) -> tuple[int, int]:
    """Add the rows of positions until there is no room for another.

    start: the number of the first position to take, and how many rows there are; returned is the
    same of the first one that is left. out: the lines and the times of the rows.
    """
    (first, rows), (xs, ys), (lines, times) = start, positions, out
    across, up, stretch_across, stretch_up = tables
    at_x, at_y, run = -1, -1, 0
    for position in range(first, xs.size):
        x, y = np.uint64(xs[position]), np.uint64(ys[position])
        if stretch_across[x] == at_x and stretch_up[y] == at_y:
            run += 1
            continue
        changed = not rows or _differs(across[x], up[y], lines[rows - 1], shift)
        if changed and rows == times.size:
            times[rows - 1] += run
            return position, rows
        at_x, at_y = stretch_across[x], stretch_up[y]
        if not changed:
            run += 1
            continue
        if rows:
            times[rows - 1] += run
        run = 0
        for slot in range(lines.shape[1]):
            address = across[x, slot] + up[y, slot]
            lines[rows, slot] = address >> shift if address < _OUTSIDE else NO_ACCESS
        times[rows] = 1
        rows += 1
    times[rows - 1] += run
    return xs.size, rows


@native
def _differs(across: I64, up: I64, lines: I64, shift: int) -> bool:
    """Whether any address lies in another line than before."""
    for slot in range(lines.size):
        address = across[slot] + up[slot]
        if (address >> shift if address < _OUTSIDE else NO_ACCESS) != lines[slot]:
            return True
    return False
