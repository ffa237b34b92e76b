"""Loads and stores of generated LLVM code: texels, their staged copies, numbers of the table.

A lookup that does not vary along x is a scalar, loaded once per row of fragments and broadcast. One
that does not vary along y is shared by the rows; if there are many rows it is staged: copied once
for all of them, in panels as wide as a tile, in the order in which the tiles read it.

A lookup that reads along a row, and may leave its texture, is a vector load nearly everywhere.
Tiles that meet no edge contain only that load; others check for the edge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache, partial
from operator import add, truediv
from typing import Any

from llvmlite import ir

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.expressions import Given
from gpgpu_legacy.isa.types import ALONG_X, ALONG_Y, EVERYWHERE
from gpgpu_legacy.lower.emit.llvm_basics import (
    BASE_WORDS,
    COUNT,
    F16,
    F32,
    FIRST,
    HEADER_WORDS,
    I8,
    I16,
    I32,
    I64,
    LAST,
    MOST_PLANES,
    PANEL,
    ROW_LENGTH,
    SIZES,
    STAGED,
    TABLE,
    TEXTURE_WORDS,
    WIDTH,
    X_FIRST,
    X_LAST,
    Emitted,
    channels_of,
    counted,
    joined,
)
from gpgpu_legacy.lower.emit.llvm_values import TileValue, ValueEmitter, floats, once, stored
from gpgpu_legacy.lower.fused.content import Advance, Content
from gpgpu_legacy.lower.lookups import AffineLookup
from gpgpu_legacy.lower.sampling import size_variables
from gpgpu_legacy.plan.encoding import levels_of
from gpgpu_legacy.plan.textures import Format, Numeric

_ELEMENTS = {
    (Numeric.FLOAT, 32): F32,
    (Numeric.FLOAT, 16): F16,
    (Numeric.UNORM, 8): I8,
    (Numeric.UNORM, 16): I16,
}


def stored_element(texel_format: Format) -> Any:
    """The element type of a texture's planes."""
    return _ELEMENTS[texel_format.numeric, texel_format.bits_per_channel]


@frozen
class AffineChannel:
    """A channel of an affine lookup, which moves by `advance` in each of `trips` trips."""

    lookup: AffineLookup[int]
    channel: int
    advance: Advance
    trips: int


@frozen
class Planes:
    """A surface in memory: its planes, its sizes in texels, the rectangle's origin in it.

    starts: the number of columns at which a vector begins that lies inside.
    """

    planes: list[Emitted]
    row_length: Emitted
    sizes: list[Emitted]
    starts: Emitted
    origin: list[Emitted]

    def place(self, channel: int, column: Emitted, line: Emitted) -> Emitted:
        """The address of a texel's channel."""
        return self.planes[channel].at(line * self.row_length + column)


def meets_edges(lookup: AffineLookup[int], advance: Advance) -> bool:
    """Whether a lookup reads along rows, and leaves its texture at the same columns in each row."""
    in_a_row = lookup.s.x == 1 and not lookup.s.y and not lookup.t.x
    return in_a_row and not lookup.inside and advance == (0, 0)


def within(index: Emitted, size: Emitted, *, repeats: bool) -> Emitted:
    """The number of the texel that a lookup reads at an index; a repeating one goes once around."""
    if repeats:
        up, down, below, above = index + size, index - size, index < 0, index >= size
        index = below.choose(up, above.choose(down, index))
    return index.at_most(size - 1).at_least(0)


class StagedChannels(dict[AffineChannel, tuple[int, int]]):
    """The positions of staged channels: first all of one trip, then all of the next.

    A channel's position is its row in the first trip, and the number of rows per trip.
    """

    rows = 0
    """The rows of an iteration, each of tile.width numbers."""

    def add(self, channels: Iterable[AffineChannel]) -> None:
        """Assign positions to the channels of a loop's body."""
        new = [channel for channel in dict.fromkeys(channels) if channel not in self]
        for number, channel in enumerate(new):
            self[channel] = (self.rows + number, len(new))
        self.rows += sum(channel.trips for channel in new)


class TileMemory:
    """Loads and stores of one function for the current tile, iteration and trip.

    x, y: the lower left fragment of the tile. is_inner: whether the tile and its lookups along rows
    certainly lie inside (inner_columns). trips: the number of trips of the enclosing loop. trip:
    the first of the unrolled trips. ahead: how far the emitted trip is from it. known: the values
    already emitted for this trip.
    """

    def __init__(
        self,
        emit: ValueEmitter,
        words: Emitted,
        content: Content,
        staging: StagedChannels,
        table: dict[Given, int],
    ) -> None:
        """words: the function's argument. table: the columns of numbers; more may be added."""
        self.emit, self.builder, self.tile = emit, emit.builder, emit.tile
        self.content, self.staging, self.table, self.words = content, staging, table, words
        surfaces = enumerate(content.surfaces)
        self.surfaces = [self._planes(number, surface.format) for number, surface in surfaces]
        after = HEADER_WORDS + len(self.surfaces) * TEXTURE_WORDS
        self.bases = [
            (words[first], words[first + 1])
            for first in range(after, after + content.bases * BASE_WORDS, BASE_WORDS)
        ]
        self.x = self.y = self.trip = self.integer(0)
        self.ahead, self.trips = 0, 1
        self.sizes = {  # of surfaces along s, t and r, as 32-bit integers
            (size.variable, axis): self.emit.uniform(extent.trunc(I32))
            for number, surface in enumerate(self.surfaces)
            for axis, (size, extent) in enumerate(
                zip(size_variables(number), surface.sizes, strict=True)
            )
        }
        self.known: dict[Any, Any] = {}
        self.is_inner = False
        self.table_at, self.panel = words[TABLE].pointer(F32), words
        self.first, self.last, self.count = words[FIRST], words[LAST], words[COUNT]
        self.width, self.x_last = words[WIDTH], words[X_LAST]
        self.iteration = self.first

    def integer(self, number: int) -> Emitted:
        """A 64-bit integer."""
        return Emitted(self.builder, I64(number))

    # Surfaces

    def _planes(self, number: int, texel_format: Format) -> Planes:
        first, element = HEADER_WORDS + number * TEXTURE_WORDS, stored_element(texel_format)
        planes = [self.words[first + c].pointer(element) for c in range(texel_format.channels)]
        *sizes, x, y = [self.words[first + word] for word in range(SIZES, TEXTURE_WORDS)]
        row_length, starts = self.words[first + ROW_LENGTH], sizes[0] - (self.tile.lanes - 1)
        return Planes(planes, row_length, sizes, starts.at_least(0), [x, y])

    def affine(self, lookup: AffineLookup[int], axis: int, advance: int) -> tuple[Emitted, int]:
        """A coordinate at the tile's first fragment: an emitted value, and a constant to add."""
        form = (lookup.s, lookup.t)[axis]
        factors = (*form.slopes, advance)

        def total() -> Emitted:
            total = self.bases[lookup.base][axis]
            variables = (self.x, self.y, self.iteration, self.trip)
            for factor, variable in zip(factors, variables, strict=True):
                total = total + variable * factor if factor else total
            return total

        key = ("affine", lookup.base, axis, factors)
        return once(self.known, key, total), form.constant + self.ahead * advance

    def coordinates(self, channel: AffineChannel) -> Callable[[int, int], list[Emitted]]:
        """The function from a row and a lane of the tile to the column and the row to read.

        These may lie beyond the texture's edges.
        """
        forms = (channel.lookup.s, channel.lookup.t)
        starts = [self.affine(channel.lookup, axis, by) for axis, by in enumerate(channel.advance)]
        return lambda row, lane: [
            total + (constant + form.y * row + form.x * lane)
            for form, (total, constant) in zip(forms, starts, strict=True)
        ]

    def gathered(self, places: Sequence[Emitted]) -> Emitted:
        """One number from each place."""
        values = [place.load() for place in places]
        gathered = self.emit.undefined(values[0].type)
        for lane, value in enumerate(values):
            gathered = gathered.insert_element(value, I32(lane))
        return floats(gathered)

    def inner_columns(
        self, lookups: Iterable[AffineLookup[int]], first: Emitted, last: Emitted
    ) -> tuple[Emitted, Emitted]:
        """The range of columns, between first and last, in which all tiles are inner ones.

        lookups: those that meet edges.
        """
        width, low, high = self.tile.width, first, last
        for lookup in lookups:
            s, constant = self.affine(replace(lookup, s=replace(lookup.s, x=0)), 0, 0)
            left, size = s + constant, self.surfaces[lookup.texture].sizes[0]
            low, high = low.at_least(left.neg()), high.at_most(size - left)
        inside = first + (low - first + (width - 1)) // width * width
        tiles = (high - inside).at_least(0) // width
        return inside, inside + tiles * width

    def near_edges(self, channel: AffineChannel, row: int, vector: int) -> Emitted:
        """Neighbouring texels of a row. They may lie beyond an edge, but few vectors do."""
        b, lookup, lanes = self.builder, channel.lookup, self.tile.lanes
        surface = self.surfaces[lookup.texture]
        column, line = self.coordinates(channel)(row, vector * lanes)
        line = within(line, surface.sizes[1], repeats=lookup.repeats[1])
        first = surface.planes[channel.channel].at(line * surface.row_length)
        if self.is_inner and meets_edges(lookup, channel.advance):
            return self._vector(first.at(column))
        is_whole = column.compare("icmp_unsigned", "<", surface.starts)
        with b.if_else(is_whole.value) as (whole, cut):
            with whole:
                texels = self._vector(first.at(column))
                in_whole = b.block
            with cut:
                size, repeats = surface.sizes[0], lookup.repeats[0]
                columns = [column + lane for lane in range(lanes)]
                inside = [within(number, size, repeats=repeats) for number in columns]
                gathered = self.gathered([first.at(number) for number in inside])
                in_cut = b.block
        return joined((texels, in_whole), (gathered, in_cut))

    def _vector(self, place: Emitted) -> Emitted:
        """Neighbouring stored numbers."""
        return floats(place.read(self.emit.vector_of(place.type.pointee)))

    # Own texels

    def own(self, number: int, channel: int) -> TileValue:
        """A channel of the fragments' own texels in a surface."""
        return TileValue(
            EVERYWHERE, lambda r, v: self._vector(self._own_place(number, channel, r, v))
        )

    def put_own(self, number: int, channel: int, value: TileValue) -> None:
        """Store a channel of the fragments' own texels in a surface.

        The last tile of a row runs over its end. Texels there are kept: they belong to a larger
        texture, or to later columns.
        """
        surface = self.content.surfaces[number]
        element, keeps = stored_element(surface.format), self.content.once or surface.followed
        for row, vector in self.tile.places:
            numbers = stored(self.emit.at(value, row, vector), element)
            place = self._own_place(number, channel, row, vector)
            if keeps and not self.is_inner:
                before = place.read(numbers.type)
                in_columns = once(self.known, ("lanes", vector), partial(self._in_columns, vector))
                numbers = in_columns.choose(numbers, before)
            place.write(numbers)

    def _in_columns(self, vector: int) -> Emitted:
        """For each lane, whether it is in the columns to compute."""
        left = (self.x_last - (self.x + vector * self.tile.lanes)).trunc(I32)
        return self.emit.lanes < self.emit.splat(left)

    def _own_place(self, number: int, channel: int, row: int, vector: int) -> Emitted:
        surface = self.surfaces[number]
        left, lower = surface.origin
        y, x = self.y + lower + row, self.x + left + vector * self.tile.lanes
        return surface.place(channel, x, y)

    # Affine lookups

    def texel(self, channel: AffineChannel) -> TileValue:
        """A channel of an affine lookup, for this iteration and trip."""
        load = self._staged if channel in self.staging else self._loaded
        return once(self.known, (channel, self.ahead), partial(load, channel))

    def _loaded(self, channel: AffineChannel) -> TileValue:
        lookup, lanes, coordinates = channel.lookup, self.tile.lanes, self.coordinates(channel)
        surface, in_a_row = self.surfaces[lookup.texture], lookup.s.x == 1 and not lookup.t.x

        def place(row: int, lane: int) -> Emitted:
            column, line = coordinates(row, lane)
            if not lookup.inside:
                column = within(column, surface.sizes[0], repeats=lookup.repeats[0])
                line = within(line, surface.sizes[1], repeats=lookup.repeats[1])
            return surface.place(channel.channel, column, line)

        def loaded(row: int, vector: int) -> Emitted:
            first = vector * lanes
            if not lookup.axes.x:
                return floats(place(row, 0).load())
            if in_a_row and lookup.inside:
                return self._vector(place(row, first))
            if in_a_row:
                return self.near_edges(channel, row, vector)
            if lookup.inside:
                return self.gathered(self._lanes_inside(channel, row, vector))
            return self.gathered([place(row, first + lane) for lane in range(lanes)])

        return self.decoded(lookup.texture, TileValue(lookup.axes, loaded))

    def _lanes_inside(self, channel: AffineChannel, row: int, vector: int) -> list[Emitted]:
        """The address that each lane reads, for a lookup that never leaves its texture.

        Lanes past the rectangle read where its last column does.
        """
        lookup, lanes = channel.lookup, self.tile.lanes
        surface, right, up = self.surfaces[lookup.texture], lookup.s.x, lookup.t.x
        column_0 = replace(lookup, s=replace(lookup.s, x=0), t=replace(lookup.t, x=0))
        column, line = self.coordinates(replace(channel, lookup=column_0))(row, 0)
        first = surface.place(channel.channel, column, line)

        def offsets() -> list[Emitted]:
            last, a_column = self.width - 1, surface.row_length * up + right
            columns = [self.x + (vector * lanes + lane) for lane in range(lanes)]
            inside = [column.at_most(last) for column in columns]
            return [column * a_column for column in inside]

        key = ("offsets", lookup.texture, right, up, vector)
        return [first.at(offset) for offset in once(self.known, key, offsets)]

    def decoded(self, number: int, texels: TileValue) -> TileValue:
        """The value that a lookup reads for this stored number."""
        texel_format = self.content.surfaces[number].format
        if texel_format.numeric is not Numeric.UNORM:
            return texels
        return self.emit.map(truediv, texels, self.emit.constant(levels_of(texel_format)))

    # Staged texels

    def stage(self) -> None:
        """Copy the staged texels for columns of tiles, iteration after iteration."""
        b, columns = self.builder, (self.words[X_FIRST], self.words[X_LAST])
        with (
            counted(b, self.first, self.last) as self.iteration,
            counted(b, *columns, self.tile.width) as self.x,
        ):
            self.begin_panel()
            for channel in self.staging:
                with counted(b, 0, channel.trips) as self.trip:
                    self.known = {}
                    texel = self._loaded(channel)
                    for vector in range(self.tile.vectors):
                        place = self._staged_place(channel, vector)
                        place.write(self.emit.at(texel, 0, vector))

    def begin_panel(self) -> None:
        """Locate the staged texels for the column of tiles at x, for iteration 0."""
        width, words = self.tile.width, self.words
        number = self.x // width
        before = words[FIRST] * (self.staging.rows * width)
        offset = number * words[PANEL] - before
        self.panel = words[STAGED].pointer(F32).at(offset)

    def _staged(self, channel: AffineChannel) -> TileValue:
        """The texels that `stage` copied: decoded, and the same for all rows."""
        return TileValue(
            ALONG_X, lambda _, vector: self._vector(self._staged_place(channel, vector))
        )

    def _staged_place(self, channel: AffineChannel, vector: int) -> Emitted:
        width = self.tile.width
        row, a_trip = self.staging[channel]
        strides = a_trip * width if channel.trips > 1 else 0

        def first() -> Emitted:
            offset = self.iteration * (self.staging.rows * width)
            return self.panel.at(offset + self.trip * strides if strides else offset)

        start = once(self.known, ("staged", strides), first)
        return start.at((row + self.ahead * a_trip) * width + vector * self.tile.lanes)

    # Fetched texels

    def fetch(self, number: int, column: TileValue, row: TileValue) -> Callable[[int], TileValue]:
        """The function from 0 to 3 to what lookups read as R, G, B or A of a fetched texel.

        column, row: 32-bit integers inside the texture.
        """
        length = self.emit.uniform(self.surfaces[number].row_length.trunc(I32))
        texels = self.emit.map(lambda x, y, length: y * length + x, column, row, length)
        surface = self.content.surfaces[number]
        whole = self._whole(number, texels) if surface.interleaved else []

        def component(component: int) -> TileValue:
            source = surface.format.reads[component]
            if source in "01":
                return self.emit.constant(float(source))
            channel = "rgba".index(source)
            return whole[channel] if whole else self._fetched(number, channel, texels)

        return component

    def _numbers(self, texels: TileValue, row: int, vector: int) -> list[Emitted]:
        """The numbers of texels as 64-bit integers: one for each lane if they differ along x."""
        number = texels.cell(row, vector)
        if not texels.axes.x:
            return [number.zext(I64)]
        lanes = [number.extract_element(I32(lane)) for lane in range(self.tile.lanes)]
        return [lane.zext(I64) for lane in lanes]

    def _fetched(self, number: int, channel: int, texels: TileValue) -> TileValue:
        """A channel of fetched texels of a surface that has it as a plane."""
        plane = self.surfaces[number].planes[channel]

        def loaded(row: int, vector: int) -> Emitted:
            places = [plane.at(texel) for texel in self._numbers(texels, row, vector)]
            return self.gathered(places) if texels.axes.x else floats(places[0].load())

        return self.decoded(number, TileValue(texels.axes, loaded))

    def _whole(self, number: int, texels: TileValue) -> list[TileValue]:
        """All channels of fetched texels, where a texel's channels lie side by side."""
        # The numbers of half texels, of 8 bytes: the largest scale of an index in an address.
        halves = self.emit.map(lambda number: number + number, texels)
        half_texels = self.surfaces[number].planes[0].bitcast(I64.as_pointer())
        four = ir.VectorType(F32, MOST_PLANES)

        @cache
        def loaded(row: int, vector: int) -> list[Emitted]:
            places = [half_texels.at(half) for half in self._numbers(halves, row, vector)]
            return channels_of([place.read(four) for place in places])

        def channel(number: int) -> TileValue:
            return TileValue(texels.axes, lambda row, vector: loaded(row, vector)[number])

        return list(map(channel, range(MOST_PLANES)))

    # Numbers

    def number(self, given: Given) -> TileValue:
        """A component of a value that a pass gives, from the table, for this iteration."""

        def loaded() -> TileValue:
            column = self.table.setdefault(given, len(self.table))
            return self.emit.uniform(self.table_at[self.count * column + self.iteration])

        return once(self.known, given, loaded)

    def centre(self, axis: int) -> TileValue:
        """The fragments' centres along an axis, by their distance from the rectangle's corner."""
        lanes = self.tile.lanes

        def columns(_: int, vector: int) -> Emitted:
            first = (self.x + vector * lanes).trunc(I32)
            return (self.emit.splat(first) + self.emit.lanes).sitofp(self.emit.vector_of(F32))

        def rows(row: int, _: int) -> Emitted:
            return (self.y + row).sitofp(F32)

        def centres() -> TileValue:
            whole = TileValue(ALONG_Y, rows) if axis else TileValue(ALONG_X, columns)
            return self.emit.map(add, whole, self.emit.constant(0.5))

        return once(self.known, ("centre", axis), centres)

    def origin(self, number: int, axis: int) -> TileValue:
        """The lower left of the rectangle in a surface, as a float."""
        return self.emit.uniform(self.surfaces[number].origin[axis].sitofp(F32))
