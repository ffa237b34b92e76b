"""Surfaces of generated LLVM code: where their texels lie, and rows of texels near their edges.

A lookup that reads along a row and leaves its texture somewhere is a vector load nearly everywhere.
Tiles that meet no edge contain only that load; others check for the edge.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from llvmlite import ir

from gpgpu_legacy.frozen import frozen
from gpgpu_legacy.lower.emit.llvm_basics import (
    ALIGNMENTS,
    F16,
    F32,
    I8,
    I16,
    I32,
    greater,
    integer,
    lesser,
    load,
)
from gpgpu_legacy.lower.emit.llvm_values import ValueEmitter
from gpgpu_legacy.lower.emit.llvm_words import (
    BASE_WORDS,
    HEADER_WORDS,
    ROW_LENGTH,
    SIZES,
    TEXTURE_WORDS,
    Words,
)
from gpgpu_legacy.lower.fused.content import Advance, Content
from gpgpu_legacy.lower.lookups import AffineLookup
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


class TileSurfaces:
    """The surfaces of one function, for the current tile, iteration and trip.

    x, y: the lower left fragment of the tile. is_inner: whether the tile and its lookups along rows
    certainly lie inside (inner_columns). trip: the number of the loop's trip with which its
    unrolled trips begin, of which `ahead` are emitted. known: what has been emitted for this trip.
    """

    def __init__(self, emit: ValueEmitter, argument: Any, content: Content) -> None:
        """argument: the array of words."""
        self.emit, self.builder, self.tile = emit, emit.builder, emit.tile
        self.words = Words(self.builder, argument)
        surfaces = enumerate(content.surfaces)
        self.surfaces = [self._planes(number, surface.format) for number, surface in surfaces]
        self.bases = [self._base(number) for number in range(content.bases)]
        self.x = self.y = self.iteration = self.trip = integer(0)
        self.ahead = 0
        self.known: dict[Any, Any] = {}
        self.is_inner = False

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
