"""Rows of texels near the edges of textures, as LLVM instructions.

A lookup that reads along a row and leaves its texture somewhere is a vector load nearly everywhere.
Tiles that meet no edge contain only that load; others check for the edge.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from gpgpu_legacy.lower.emit.llvm_values import ALIGNMENTS, greater, integer, lesser, load
from gpgpu_legacy.lower.fused.content import Advance
from gpgpu_legacy.lower.lookups import AffineLookup

if TYPE_CHECKING:
    from gpgpu_legacy.lower.emit.llvm_memory import AffineChannel, TileMemory


class Edges:
    """The position of a TileMemory's tile between the edges of textures.

    is_inner: whether the tile and its lookups along rows certainly lie inside (inner_columns).
    """

    def __init__(self, memory: TileMemory) -> None:
        """Starts with nothing known about the tile."""
        self._memory, self.is_inner = memory, False

    def inner_columns(
        self, lookups: Iterable[AffineLookup[int]], first: Any, last: Any
    ) -> tuple[Any, Any]:
        """The range of the columns from first to last in which whole tiles are inner ones.

        lookups: those that meet edges.
        """
        memory = self._memory
        b, width, low, high = memory.builder, integer(memory.tile.width), first, last
        for lookup in lookups:
            s, constant = memory.affine(replace(lookup, s=replace(lookup.s, x=0)), 0, 0)
            left, size = b.add(s, integer(constant)), memory.surfaces[lookup.texture].sizes[0]
            low, high = greater(b, low, b.neg(left)), lesser(b, high, b.sub(size, left))
        before = b.add(b.sub(low, first), b.sub(width, integer(1)))
        inside = b.add(first, b.mul(b.sdiv(before, width), width))
        tiles = b.sdiv(greater(b, b.sub(high, inside), integer(0)), width)
        return inside, b.add(inside, b.mul(tiles, width))

    def loaded(self, channel: AffineChannel, row: int, vector: int) -> Any:
        """Neighbouring texels of a row, which may lie beyond an edge; few vectors do."""
        memory = self._memory
        b, lookup, lanes = memory.builder, channel.lookup, memory.tile.lanes
        surface = memory.surfaces[lookup.texture]
        s, constant = memory.affine(lookup, 0, channel.advance[0])
        column = b.add(s, integer(constant + lookup.s.y * row + vector * lanes))
        t, up = memory.affine(lookup, 1, channel.advance[1])
        line = b.add(t, integer(up + lookup.t.y * row))
        line = within(b, line, surface.sizes[1], repeats=lookup.repeats[1])
        first = b.gep(surface.planes[channel.channel], [b.mul(line, surface.row_length)])
        kind, align = memory.emit.vector_of(surface.element), ALIGNMENTS[surface.element]
        if self.is_inner and meets_edges(lookup, channel.advance):
            return memory.emit.floats(load(b, b.gep(first, [column]), kind, align))
        with b.if_else(b.icmp_unsigned("<", column, surface.starts)) as (whole, cut):
            with whole:
                texels = memory.emit.floats(load(b, b.gep(first, [column]), kind, align))
                in_whole = b.block
            with cut:
                columns = [b.add(column, integer(lane)) for lane in range(lanes)]
                size, repeats = surface.sizes[0], lookup.repeats[0]
                inside = [within(b, number, size, repeats=repeats) for number in columns]
                gathered = memory.gathered([b.gep(first, [number]) for number in inside])
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
