"""Loads and stores of generated LLVM code: texels, their staged copies, numbers of the table.

A lookup that does not vary along x is a scalar, loaded once per row of fragments and broadcast. One
that does not vary along y is shared by the rows; if there are many rows it is staged: copied once
for all of them, in panels as wide as a tile, in the order in which the tiles read it.

A lookup that reads along a row and leaves its texture somewhere is a vector load nearly everywhere.
Tiles that meet no edge contain only that load; others check for the edge.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from llvmlite import ir

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.program import Attribute, Parameter
from gpgpu_legacy.isa.types import ALONG_X, ALONG_Y, EVERYWHERE
from gpgpu_legacy.lower.emit.llvm_basics import (
    ALIGNMENTS,
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
    CountedLoop,
    Words,
    channels_of,
    greater,
    integer,
    integers,
    lesser,
    load,
    store,
)
from gpgpu_legacy.lower.emit.llvm_values import TileValue, ValueEmitter
from gpgpu_legacy.lower.fused.content import Advance, Content
from gpgpu_legacy.lower.lookups import AffineLookup
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
    """A channel of an affine lookup, which moves by `advance` in each trip."""

    lookup: AffineLookup[int]
    channel: int
    advance: Advance
    trips: int


@frozen
class Planes:
    """A surface in memory: its planes, its sizes in texels, the rectangle's origin in it.

    starts: at how many of its columns a vector begins that lies inside.
    """

    planes: tuple[Any, ...]
    row_length: Any
    sizes: tuple[Any, ...]
    starts: Any
    origin: tuple[Any, Any]
    element: Any


def meets_edges(lookup: AffineLookup[int], advance: Advance) -> bool:
    """Whether it reads a row as it goes, and how far beyond an edge is the same for all rows."""
    in_a_row = lookup.s.x == 1 and not lookup.s.y and not lookup.t.x
    return in_a_row and not lookup.inside and advance == (0, 0)


def within(b: ir.IRBuilder, index: Any, size: Any, *, repeats: bool) -> Any:
    """The number of the texel that a lookup finds there; where it repeats, once around."""
    if repeats:
        up, down = b.add(index, size), b.sub(index, size)
        below, above = (
            b.icmp_signed(*than) for than in (("<", index, integer(0)), (">=", index, size))
        )
        index = b.select(below, up, b.select(above, down, index))
    return greater(b, lesser(b, index, b.sub(size, integer(1))), integer(0))


@frozen
class Scalar:
    """A number in the code's table, with a value for each iteration.

    draw: the fused program that needs it. source, component: of a parameter or an attribute; for an
    attribute, coefficient is 0 for the base of its plane, 1 for dx and 2 for dy.
    """

    draw: int
    source: Parameter | Attribute
    component: int
    coefficient: int = 0


class StagedChannels:
    """The positions of staged channels: first all of one trip, then all of the next."""

    def __init__(self) -> None:
        self.rows = 0  # of tile.width numbers, in an iteration
        self._places: dict[AffineChannel, tuple[int, int]] = {}

    def add(self, channels: Sequence[AffineChannel]) -> None:
        """Assign positions to the channels of a loop's body."""
        new = [channel for channel in dict.fromkeys(channels) if channel not in self._places]
        for number, channel in enumerate(new):
            self._places[channel] = (self.rows + number, len(new))
        self.rows += sum(channel.trips for channel in new)

    def __iter__(self) -> Iterator[AffineChannel]:
        return iter(self._places)

    def __contains__(self, channel: AffineChannel) -> bool:
        return channel in self._places

    def place(self, channel: AffineChannel) -> tuple[int, int]:
        """Its row in the first trip, and the number of rows per trip."""
        return self._places[channel]


class TileMemory:
    """Loads and stores of one function for the current tile, iteration and trip.

    x, y: the lower left fragment of the tile. is_inner: whether the tile and its lookups along rows
    certainly lie inside (inner_columns). trip: the number of the loop's trip with which its
    unrolled trips begin, of which `ahead` are emitted. known: what has been emitted for this trip.
    """

    def __init__(
        self,
        emit: ValueEmitter,
        argument: Any,
        content: Content,
        staging: StagedChannels,
        table: dict[Scalar, int],
    ) -> None:
        """argument: the array of words. table: the columns of scalars, of which more may come."""
        self.emit, self.builder, self.tile = emit, emit.builder, emit.tile
        self.content, self.staging, self.table = content, staging, table
        self.words = words = Words(self.builder, argument)
        surfaces = enumerate(content.surfaces)
        self.surfaces = [self._planes(number, surface.format) for number, surface in surfaces]
        self.bases = [self._base(number) for number in range(content.bases)]
        self.x = self.y = self.trip = integer(0)
        self.ahead = 0
        self.known: dict[Any, Any] = {}
        self.is_inner = False
        self.table_at, self.panel = words.address(TABLE, F32), None
        self.first, self.last = words.integer(FIRST), words.integer(LAST)
        self.count, self.width = words.integer(COUNT), words.integer(WIDTH)
        self.x_last = words.integer(X_LAST)
        self.iteration = self.first

    # Surfaces

    def _planes(self, number: int, texel_format: Format) -> Planes:
        first, element = HEADER_WORDS + number * TEXTURE_WORDS, stored_element(texel_format)
        planes = [self.words.address(first + c, element) for c in range(texel_format.channels)]
        width, height, depth, x, y = (
            self.words.integer(first + word) for word in range(SIZES, TEXTURE_WORDS)
        )
        row_length = self.words.integer(first + ROW_LENGTH)
        b, starts = self.builder, self.builder.sub(width, integer(self.tile.lanes - 1))
        starts = b.select(b.icmp_signed(">", starts, integer(0)), starts, integer(0))
        return Planes(tuple(planes), row_length, (width, height, depth), starts, (x, y), element)

    def _base(self, number: int) -> tuple[Any, Any]:
        first = HEADER_WORDS + len(self.surfaces) * TEXTURE_WORDS + number * BASE_WORDS
        return self.words.integer(first), self.words.integer(first + 1)

    def affine(self, lookup: AffineLookup[int], axis: int, advance: int) -> tuple[Any, int]:
        """A coordinate at the tile's first fragment: what is computed of it, and a constant."""
        form = (lookup.s, lookup.t)[axis]
        factors = (form.x, form.y, form.iteration, advance)
        key = ("affine", lookup.base, axis, factors)
        if key not in self.known:
            total = self.bases[lookup.base][axis]
            variables = (self.x, self.y, self.iteration, self.trip)
            for factor, variable in zip(factors, variables, strict=True):
                if factor:
                    times = self.builder.mul(variable, integer(factor))
                    total = self.builder.add(total, times)
            self.known[key] = total
        return self.known[key], form.constant + self.ahead * advance

    def gathered(self, places: Sequence[Any]) -> Any:
        """One number from each place."""
        b, first = self.builder, self.builder.load(places[0])
        gathered = ir.Constant(self.emit.vector_of(first.type), ir.Undefined)
        values = [first, *(b.load(place) for place in places[1:])]
        for lane, value in enumerate(values):
            gathered = b.insert_element(gathered, value, ir.Constant(I32, lane))
        return self.emit.floats(gathered)

    def inner_columns(
        self, lookups: Iterable[AffineLookup[int]], first: Any, last: Any
    ) -> tuple[Any, Any]:
        """The range of the columns from first to last in which whole tiles are inner ones.

        lookups: those that meet edges.
        """
        b, width, low, high = self.builder, integer(self.tile.width), first, last
        for lookup in lookups:
            s, constant = self.affine(replace(lookup, s=replace(lookup.s, x=0)), 0, 0)
            left, size = b.add(s, integer(constant)), self.surfaces[lookup.texture].sizes[0]
            low, high = greater(b, low, b.neg(left)), lesser(b, high, b.sub(size, left))
        before = b.add(b.sub(low, first), b.sub(width, integer(1)))
        inside = b.add(first, b.mul(b.sdiv(before, width), width))
        tiles = b.sdiv(greater(b, b.sub(high, inside), integer(0)), width)
        return inside, b.add(inside, b.mul(tiles, width))

    def near_edges(self, channel: AffineChannel, row: int, vector: int) -> Any:
        """Neighbouring texels of a row, which may lie beyond an edge; few vectors do."""
        b, lookup, lanes = self.builder, channel.lookup, self.tile.lanes
        surface = self.surfaces[lookup.texture]
        s, constant = self.affine(lookup, 0, channel.advance[0])
        column = b.add(s, integer(constant + lookup.s.y * row + vector * lanes))
        t, up = self.affine(lookup, 1, channel.advance[1])
        line = b.add(t, integer(up + lookup.t.y * row))
        line = within(b, line, surface.sizes[1], repeats=lookup.repeats[1])
        first = b.gep(surface.planes[channel.channel], [b.mul(line, surface.row_length)])
        kind, align = self.emit.vector_of(surface.element), ALIGNMENTS[surface.element]
        if self.is_inner and meets_edges(lookup, channel.advance):
            return self.emit.floats(load(b, b.gep(first, [column]), kind, align))
        with b.if_else(b.icmp_unsigned("<", column, surface.starts)) as (whole, cut):
            with whole:
                texels = self.emit.floats(load(b, b.gep(first, [column]), kind, align))
                in_whole = b.block
            with cut:
                columns = [b.add(column, integer(lane)) for lane in range(lanes)]
                size, repeats = surface.sizes[0], lookup.repeats[0]
                inside = [within(b, number, size, repeats=repeats) for number in columns]
                gathered = self.gathered([b.gep(first, [number]) for number in inside])
                in_cut = b.block
        either = b.phi(texels.type)
        either.add_incoming(texels, in_whole)
        either.add_incoming(gathered, in_cut)
        return either

    # Own texels

    def own(self, number: int, channel: int) -> TileValue:
        """A channel of the fragments' own texels in a surface."""
        element = self.surfaces[number].element
        kind = self.emit.vector_of(element)

        def loaded(row: int, vector: int) -> Any:
            place = self._own_place(number, channel, row, vector)
            return self.emit.floats(load(self.builder, place, kind, ALIGNMENTS[element]))

        return TileValue(EVERYWHERE, loaded)

    def put_own(self, number: int, channel: int, value: TileValue) -> None:
        """Store it.

        The last tile of a row runs over its end. Texels there are kept: they belong to a larger
        texture, or to later columns.
        """
        element = self.surfaces[number].element
        align = ALIGNMENTS[element]
        for row in range(self.tile.rows):
            for vector in range(self.tile.vectors):
                stored = self.emit.at(value, row, vector, in_lanes=True)
                stored = self.emit.stored(stored, element)
                place = self._own_place(number, channel, row, vector)
                followed = self.content.once or self.content.surfaces[number].followed
                if followed and not self.is_inner:
                    before = load(self.builder, place, stored.type, align)
                    stored = self.builder.select(self._in_columns(vector), stored, before)
                store(self.builder, stored, place, align)

    def _in_columns(self, vector: int) -> Any:
        """For each lane, whether it is in the columns to compute."""
        if ("lanes", vector) not in self.known:
            b, lanes = self.builder, self.tile.lanes
            left = b.trunc(b.sub(self.x_last, b.add(self.x, integer(vector * lanes))), I32)
            self.known["lanes", vector] = b.icmp_signed("<", integers(lanes), self.emit.splat(left))
        return self.known["lanes", vector]

    def _own_place(self, number: int, channel: int, row: int, vector: int) -> Any:
        b, surface = self.builder, self.surfaces[number]
        left, lower = surface.origin
        y = b.add(b.add(self.y, lower), integer(row))
        x = b.add(b.add(self.x, left), integer(vector * self.tile.lanes))
        return b.gep(surface.planes[channel], [b.add(b.mul(y, surface.row_length), x)])

    # Affine lookups

    def texel(self, channel: AffineChannel) -> TileValue:
        """A channel of an affine lookup, for this iteration and trip."""
        key = (channel, self.ahead)
        if key not in self.known:
            is_staged = channel in self.staging
            self.known[key] = self._staged(channel) if is_staged else self._loaded(channel)
        texel: TileValue = self.known[key]
        return texel

    def _loaded(self, channel: AffineChannel) -> TileValue:
        lookup, b, lanes = channel.lookup, self.builder, self.tile.lanes
        surface = self.surfaces[lookup.texture]
        s, s_constant = self.affine(lookup, 0, channel.advance[0])
        t, t_constant = self.affine(lookup, 1, channel.advance[1])
        in_a_row = lookup.s.x == 1 and not lookup.t.x
        kind, align = self.emit.vector_of(surface.element), ALIGNMENTS[surface.element]

        def place(row: int, lane: int) -> Any:
            right = s_constant + lookup.s.y * row + lookup.s.x * lane
            up = t_constant + lookup.t.y * row + lookup.t.x * lane
            column, line = b.add(s, integer(right)), b.add(t, integer(up))
            if not lookup.inside:
                column = within(b, column, surface.sizes[0], repeats=lookup.repeats[0])
                line = within(b, line, surface.sizes[1], repeats=lookup.repeats[1])
            texel = b.add(b.mul(line, surface.row_length), column)
            return b.gep(surface.planes[channel.channel], [texel])

        def loaded(row: int, vector: int) -> Any:
            first = vector * lanes
            if not lookup.axes.x:
                return self.emit.floats(b.load(place(row, 0)))
            if in_a_row and lookup.inside:
                return self.emit.floats(load(b, place(row, first), kind, align))
            if in_a_row:
                return self.near_edges(channel, row, vector)
            if lookup.inside:
                return self.gathered(self._lanes_inside(channel, row, vector))
            return self.gathered([place(row, first + lane) for lane in range(lanes)])

        return self.decoded(lookup.texture, TileValue(lookup.axes, loaded))

    def _lanes_inside(self, channel: AffineChannel, row: int, vector: int) -> list[Any]:
        """Where each lane of a lookup that never leaves its texture reads; lanes past the rectangle
        read where its last column does.
        """
        b, lookup, lanes = self.builder, channel.lookup, self.tile.lanes
        surface, right, up = self.surfaces[lookup.texture], lookup.s.x, lookup.t.x
        column_0 = replace(lookup, s=replace(lookup.s, x=0), t=replace(lookup.t, x=0))
        parts = []
        for axis, form in enumerate((lookup.s, lookup.t)):
            computed, constant = self.affine(column_0, axis, channel.advance[axis])
            parts.append(b.add(computed, integer(constant + form.y * row)))
        texel = b.add(b.mul(parts[1], surface.row_length), parts[0])
        first = b.gep(surface.planes[channel.channel], [texel])
        key = ("offsets", lookup.texture, right, up, vector)
        if key not in self.known:
            last = b.sub(self.width, integer(1))
            a_column = b.add(b.mul(surface.row_length, integer(up)), integer(right))
            columns = [b.add(self.x, integer(vector * lanes + lane)) for lane in range(lanes)]
            inside = [lesser(b, x, last) for x in columns]
            self.known[key] = [b.mul(x, a_column) for x in inside]
        return [b.gep(first, [lane]) for lane in self.known[key]]

    def decoded(self, number: int, stored: TileValue) -> TileValue:
        """The value that a lookup reads for this stored number."""
        texel_format = self.content.surfaces[number].format
        if texel_format.numeric is not Numeric.UNORM:
            return stored
        return self.emit.map(self.builder.fdiv, stored, self.emit.constant(levels_of(texel_format)))

    # Staged ones

    def stage(self) -> None:
        """Copy the staged texels for columns of tiles, iteration after iteration."""
        b, columns = self.builder, (self.words.integer(X_FIRST), self.words.integer(X_LAST))
        with (
            CountedLoop(b, self.first, self.last) as self.iteration,
            CountedLoop(b, *columns, self.tile.width) as self.x,
        ):
            self.begin_panel()
            for channel in self.staging:
                with CountedLoop(b, integer(0), integer(channel.trips)) as self.trip:
                    self.known = {}
                    texel = self._loaded(channel)
                    for vector in range(self.tile.vectors):
                        place = self._staged_place(channel, vector)
                        value = self.emit.at(texel, 0, vector, in_lanes=True)
                        store(b, value, place, 4)

    def begin_panel(self) -> None:
        """Locate the staged texels for the column of tiles at x, for iteration 0."""
        b, words = self.builder, self.words
        number = b.udiv(self.x, integer(self.tile.width))
        skipped = integer(self.staging.rows * self.tile.width)
        before = b.mul(words.integer(FIRST), skipped)
        offset = b.sub(b.mul(number, words.integer(PANEL)), before)
        self.panel = b.gep(words.address(STAGED, F32), [offset])

    def _staged(self, channel: AffineChannel) -> TileValue:
        """The texels that `stage` copied: decoded, and the same for all rows."""
        kind = self.emit.vector_of(F32)
        return TileValue(
            ALONG_X,
            lambda _, vector: load(self.builder, self._staged_place(channel, vector), kind, 4),
        )

    def _staged_place(self, channel: AffineChannel, vector: int) -> Any:
        b, width = self.builder, self.tile.width
        row, a_trip = self.staging.place(channel)
        key = ("staged", a_trip if channel.trips > 1 else 0)
        if key not in self.known:
            offset = b.mul(self.iteration, integer(self.staging.rows * width))
            if channel.trips > 1:
                offset = b.add(offset, b.mul(self.trip, integer(a_trip * width)))
            self.known[key] = b.gep(self.panel, [offset])
        offset = (row + self.ahead * a_trip) * width + vector * self.tile.lanes
        return b.gep(self.known[key], [integer(offset)])

    # Fetched ones

    def sizes(self, number: int) -> list[TileValue]:
        """The sizes of a surface along s, t and r, as 32-bit integers."""
        b = self.builder
        return [self.emit.uniform(b.trunc(size, I32)) for size in self.surfaces[number].sizes]

    def fetch(self, number: int, column: TileValue, row: TileValue) -> FetchedTexel:
        """The texel at a column and a row inside, which are 32-bit integers."""
        b = self.builder
        length = self.emit.uniform(b.trunc(self.surfaces[number].row_length, I32))
        texels = self.emit.map(lambda x, y, n: b.add(b.mul(y, n), x), column, row, length)
        return FetchedTexel(self, number, texels)

    def channel(self, number: int, channel: int, texels: TileValue) -> TileValue:
        """A channel of the texels of these numbers, in a surface that has it as a plane."""
        b, plane = self.builder, self.surfaces[number].planes[channel]

        def loaded(row: int, vector: int) -> Any:
            places = [b.gep(plane, [texel]) for texel in self._numbers(texels, row, vector)]
            if texels.axes.x:
                return self.gathered(places)
            return self.emit.floats(b.load(places[0]))

        return self.decoded(number, TileValue(texels.axes, loaded))

    def whole_texels(self, number: int, texels: TileValue) -> list[TileValue]:
        """The channels of the texels of these numbers, if a texel's channels lie side by side."""
        b, first = self.builder, self.surfaces[number].planes[0]
        # Of halves of a texel, 8 bytes: the most by which an address scales a number.
        halves = self.emit.map(lambda n: b.add(n, n), texels)
        half_texels = b.bitcast(first, I64.as_pointer())

        four = ir.VectorType(F32, MOST_PLANES)

        def loaded(row: int, vector: int) -> list[Any]:
            places = [b.gep(half_texels, [half]) for half in self._numbers(halves, row, vector)]
            return channels_of(b, [load(b, place, four, 4) for place in places])

        whole = TileValue(texels.axes, loaded)

        def channel(number: int) -> TileValue:
            return TileValue(texels.axes, lambda row, vector: whole.cell(row, vector)[number])

        return [channel(number) for number in range(MOST_PLANES)]

    def _numbers(self, texels: TileValue, row: int, vector: int) -> list[Any]:
        """The numbers of texels, of each lane if they differ along x, as 64-bit integers."""
        b, number = self.builder, self.emit.at(texels, row, vector, in_lanes=texels.axes.x)
        if not texels.axes.x:
            return [b.zext(number, I64)]
        lanes = [b.extract_element(number, ir.Constant(I32, i)) for i in range(self.tile.lanes)]
        return [b.zext(lane, I64) for lane in lanes]

    # Numbers

    def number(self, scalar: Scalar) -> TileValue:
        """A number of the table, for this iteration."""
        if scalar not in self.known:
            b, column = self.builder, self.table.setdefault(scalar, len(self.table))
            offset = b.add(b.mul(self.count, integer(column)), self.iteration)
            self.known[scalar] = self.emit.uniform(b.load(b.gep(self.table_at, [offset])))
        number: TileValue = self.known[scalar]
        return number

    def centre(self, axis: int) -> TileValue:
        """The fragments' centres along an axis, by their distance from the rectangle's corner."""
        if ("centre", axis) not in self.known:
            whole = self._rows() if axis else self._columns()
            half = self.emit.constant(0.5)
            self.known["centre", axis] = self.emit.map(self.builder.fadd, whole, half)
        centre: TileValue = self.known["centre", axis]
        return centre

    def _columns(self) -> TileValue:
        b, lanes = self.builder, self.tile.lanes
        numbers = integers(lanes)

        def columns(_: int, vector: int) -> Any:
            first = b.trunc(b.add(self.x, integer(vector * lanes)), I32)
            return b.sitofp(b.add(self.emit.splat(first), numbers), self.emit.vector_of(F32))

        return TileValue(ALONG_X, columns)

    def _rows(self) -> TileValue:
        b = self.builder
        return TileValue(ALONG_Y, lambda row, _: b.sitofp(b.add(self.y, integer(row)), F32))

    def origin(self, number: int, axis: int) -> TileValue:
        """The lower left of the rectangle in a surface, as a float."""
        return self.emit.uniform(self.builder.sitofp(self.surfaces[number].origin[axis], F32))


class FetchedTexel:
    """Texels fetched by their numbers, component by component on demand."""

    def __init__(self, memory: TileMemory, number: int, texels: TileValue) -> None:
        """number: of the surface."""
        self._memory, self._number, self._texels = memory, number, texels
        self._whole: list[TileValue] = []

    def component(self, component: int) -> TileValue:
        """What lookups read as R, G, B or A."""
        memory, surface = self._memory, self._memory.content.surfaces[self._number]
        source = surface.format.reads[component]
        if source in "01":
            return memory.emit.constant(float(source))
        channel = "rgba".index(source)
        if not surface.interleaved:
            return memory.channel(self._number, channel, self._texels)
        if not self._whole:
            self._whole = memory.whole_texels(self._number, self._texels)
        return self._whole[channel]
