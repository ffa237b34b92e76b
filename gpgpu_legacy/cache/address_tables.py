"""The addresses of a pass as sums of two tables: one of columns and one of rows."""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.raster import Positions
from gpgpu_legacy.cache.texel_accesses import Edges, Form
from gpgpu_legacy.cache.trace import NO_ACCESS
from gpgpu_legacy.lower.analysis.affine import Clamped
from gpgpu_legacy.lower.numba_code import native

I64 = NDArray[np.int64]
Mask = NDArray[np.bool_]

QUAD = ((0, 0), (1, 0), (0, 1), (1, 1))
OUTSIDE = 1 << 60  # bytes; no address reaches it, and two of it do not overflow

Tables = tuple[I64, I64, I64, I64]
"""Two tables [positions along an axis, slots]: the sum of an entry of each is an address, or
another address in the same line. Then, for each position of either axis, the number of its stretch
of equal entries.
"""


# Slots: the accesses of a fragment or quad as arrays ---------------------------------------------


class Axis(NamedTuple):
    """The columns, or the rows, that slots access; every array has one entry per slot.

    forms: int64 [4, slots], the constant and the coefficients of x, y and the iteration. The texel
    is this form, from `least` to `most`, over `denominators`, rounded down, and brought into
    `sizes` by the Edges that `repeats`, `borders`, `taps` and `mirrors` are the fields of. starts:
    where the texture's offsets begin in the address space's table.
    """

    forms: I64
    least: I64
    most: I64
    denominators: I64
    sizes: I64
    repeats: I64
    borders: I64
    taps: I64
    mirrors: I64
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
        leaves |= self.least > -_FAR
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


_FAR = 1 << 62  # of a form that is not clamped


def make_axis(slots: Sequence[tuple[Form, int, Edges, int]]) -> Axis:
    """An axis from each slot's form, size, edges and start."""
    rows = []
    for given, size, edges, start in slots:
        form = given.form if isinstance(given, Clamped) else given
        ends = [given.low.constant, given.high.constant] if isinstance(given, Clamped) else []
        numbers = [form.constant, form.x, form.y, form.iteration, *ends]
        common = lcm(*(number.denominator for number in numbers))
        whole = [int(number * common) for number in numbers]
        rows.append((*whole, *(() if ends else (-_FAR, _FAR)), common, size, *edges, start))
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
    (xs, ys), (forms, least, most, denominators, sizes, repeats, borders, taps, mirrors, starts) = (
        places,
        axis,
    )
    for slot in range(these.size):
        if not these[slot]:
            continue
        constant, x, y = forms[0, slot] + iteration * forms[3, slot], forms[1, slot], forms[2, slot]
        below, size, repeat = denominators[slot], sizes[slot], repeats[slot]
        border, tap, mirror = borders[slot], taps[slot], mirrors[slot]
        lowest, highest = -1 if border else 0, size if border == 2 else size - 1
        entries = table[starts[slot] : starts[slot] + size]
        for place in range(xs.size):
            texel = min(max(constant + x * xs[place] + y * ys[place], least[slot]), most[slot])
            if mirror:  # in halves of a numerator, in which a texel's centre is a whole number
                copies = 4 * size * below
                half = (2 * texel + (mirror - 1) * below) % copies
                half = min(half, copies - half)
                if mirror == 2:
                    half = min(max(half, below), (2 * size - 1) * below) - below
                texel = half // (2 * below)
            elif below != 1:
                texel //= below
            if repeat:
                texel = (texel + tap) % size
            else:
                texel = min(max(texel, lowest), highest) + tap
                if border and not 0 <= texel < size:
                    addresses[slot, place] += OUTSIDE
                    continue
                texel = min(texel, size - 1)
            addresses[slot, place] += entries[np.uint64(texel)]


def settle(across: I64, up: I64, in_line: int) -> None:
    """Change tables [slots, places] so that more entries are equal, and all sums keep their lines.

    If all of a slot's entries in one table have the same offset in a line, that offset is moved to
    the other table. If no two offsets add up to a whole line, the offsets are dropped.
    """
    for here, there in ((across, up), (up, across)):
        places = here & in_line
        least = places.min(axis=1, keepdims=True)
        least[(places != least).any(axis=1)] = 0
        here[:] -= least
        there[:] += least
    dropped = (across & in_line).max(axis=1) + (up & in_line).max(axis=1) <= in_line
    across[dropped] &= ~in_line
    up[dropped] &= ~in_line


def stretches(table: I64) -> I64:
    """For a table [places, slots], int64 [places]: equal neighbours have the same number."""
    numbers = np.zeros(len(table), np.int64)
    numbers[1:] = (table[1:] != table[:-1]).any(axis=1).cumsum()
    return numbers


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
            lines[rows, slot] = address >> shift if address < OUTSIDE else NO_ACCESS
        times[rows] = 1
        rows += 1
    times[rows - 1] += run
    return xs.size, rows


@native
def _differs(across: I64, up: I64, lines: I64, shift: int) -> bool:
    """Whether any address lies in another line than before."""
    for slot in range(lines.size):
        address = across[slot] + up[slot]
        if (address >> shift if address < OUTSIDE else NO_ACCESS) != lines[slot]:
            return True
    return False
