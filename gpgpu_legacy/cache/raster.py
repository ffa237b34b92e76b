"""The order of a rectangle's fragments: scan lines, tiles, or along a curve.

With quads it is an order of squares of 2 × 2 fragments, the first of which lies at the rectangle's
lower left. Morton and Hilbert order run over the enclosing square with power-of-two sides, and skip
everything outside the rectangle.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.layout import Side, Spelling, read_sides, read_spelling
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.lower.numba_code import native

I32 = NDArray[np.int32]
Positions = tuple[I32, I32]
"""x and y of fragments, or of quads, from (0, 0) at the rectangle's lower left."""

CHUNK_POSITIONS = 1 << 16
_MOST_KEPT = 1 << 22  # 32 MB; longer orders are generated each time


class Order(Enum):
    """The kinds of order."""

    SCAN = "scan"
    TILED = "tiled"
    MORTON = "morton"
    HILBERT = "hilbert"


@dataclass(frozen=True, slots=True)
class Raster:
    """An order of fragments by its canonical name; tile: in fragments, only for TILED."""

    name: str
    order: Order
    tile: Side = (1, 1)

    def check(self, *, quads: bool) -> None:
        """Raise InputError if quads do not fill the tiles."""
        if quads and self.order is Order.TILED and (self.tile[0] % 2 or self.tile[1] % 2):
            raise InputError(
                f"quads of 2x2 fragments do not fill tiles of {self.tile[0]}x{self.tile[1]}; "
                "give the tiles even sides, or leave --quads out"
            )

    def positions(self, width: int, height: int, *, quads: bool = False) -> Iterator[Positions]:
        """The positions of a rectangle's fragments in order, at most CHUNK_POSITIONS at a time.

        With quads, the positions of its quads: quad (i, j) holds the fragments from (2i, 2j) on,
        except those outside the rectangle. Each array is int32 and must not be written to. Raises
        InputError if quads do not fill the tiles.
        """
        self.check(quads=quads)
        share = 2 if quads else 1
        across, up = -(-width // share), -(-height // share)
        tile = (self.tile[0] // share, self.tile[1] // share)
        tile = tile if self.order is Order.TILED else (across, up)
        if across * up <= _MOST_KEPT:
            return iter(_kept(self.order, tile, across, up))
        return _generate(self.order, tile, across, up)


@lru_cache(maxsize=2)  # a draw's and a copy's, which alternate
def _kept(order: Order, tile: Side, width: int, height: int) -> tuple[Positions, ...]:
    return tuple(_generate(order, tile, width, height))


def _generate(order: Order, tile: Side, width: int, height: int) -> Iterator[Positions]:
    place, curved = 0, order in {Order.MORTON, Order.HILBERT}
    end = _enclosing((width, height)) ** 2 if curved else width * height
    while place < end:
        xs, ys = np.empty(CHUNK_POSITIONS, np.int32), np.empty(CHUNK_POSITIONS, np.int32)
        if curved:
            place, count = _along_curve(place, order is Order.HILBERT, (width, height), xs, ys)
        else:
            count = _in_tiles(place, (width, height), tile, xs, ys)
            place += count
        if count:
            yield xs[:count], ys[:count]


@native
def _enclosing(size: Side) -> int:
    """The side of the smallest square with power-of-two sides that holds the rectangle."""
    side = 1
    while side < max(size[0], size[1]):
        side *= 2
    return side


@native
def _in_tiles(first: int, size: Side, tile: Side, xs: I32, ys: I32) -> int:
    """Fill in the positions from number `first` on; returns their number.

    Tiles at the right and upper edges are cut off, so `first` is located by rows of tiles, then
    tiles, then rows in the tile.
    """
    (width, height), (tile_width, tile_height) = size, tile
    of_band = width * tile_height
    bottom = first // of_band * tile_height
    tall, left_over = min(tile_height, height - bottom), first % of_band
    left = left_over // (tile_width * tall) * tile_width
    wide, left_over = min(tile_width, width - left), left_over % (tile_width * tall)
    x, y = left_over % wide, left_over // wide
    count = min(xs.size, width * height - first)
    for n in range(count):
        xs[n], ys[n] = left + x, bottom + y
        x += 1
        if x < wide:
            continue
        x, y = 0, y + 1
        if y < tall:
            continue
        y, left = 0, left + tile_width
        if left >= width:
            left, bottom = 0, bottom + tile_height
            tall = min(tile_height, height - bottom)
        wide = min(tile_width, width - left)
    return count


@native
def _along_curve(place: int, hilbert: bool, size: Side, xs: I32, ys: I32) -> tuple[int, int]:
    """Fill in the positions from an index on the curve on; returns the next index, and their
    number.

    If a position lies outside, the whole aligned square that begins there may lie outside too; it
    is skipped in one step.
    """
    (width, height), side, count = size, _enclosing(size), 0
    while place < side * side and count < xs.size:
        x, y = _on_curve(place, hilbert, side)
        if x < width and y < height:
            xs[count], ys[count] = x, y
            count, place = count + 1, place + 1
            continue
        bits = 1
        while place % (1 << 2 * bits) == 0 and (
            x >> bits << bits >= width or y >> bits << bits >= height
        ):
            bits += 1
        place += 1 << 2 * (bits - 1)
    return place, count


@native
def _on_curve(place: int, hilbert: bool, side: int) -> tuple[int, int]:
    """The quarters of a square come as lower left, lower right, upper left, upper right.

    On a Hilbert curve they come as lower left, upper left, upper right, lower right. It is built
    from small squares to large ones: the first quarter of each is the smaller curve mirrored in its
    diagonal, the last one mirrored in the other.
    """
    x, y, half = 0, 0, 1
    while half < side:
        right, up = place & 1, place >> 1 & 1
        if hilbert:
            right, up = up, right ^ up
            if not up:
                x, y = (half - 1 - y, half - 1 - x) if right else (y, x)
        x, y = x + half * right, y + half * up
        place, half = place >> 2, half * 2
    return x, y


# Spellings ---------------------------------------------------------------------------------------


def _read_tiles(text: str) -> Raster | None:
    sides = read_sides(text.removeprefix("tiled:"), "a tile")
    if sides is None:
        return None
    return Raster(f"tiled:{sides[0]}x{sides[1]}", Order.TILED, sides)


SCAN = Raster("scan", Order.SCAN)
_MORTON, _HILBERT = Raster("morton", Order.MORTON), Raster("hilbert", Order.HILBERT)

RASTERS: tuple[Spelling[Raster], ...] = (
    Spelling("scan", "row after row", {SCAN.name: SCAN}.get),
    Spelling("tiled:WxH", "tiles of that size, such as tiled:8x8, row by row", _read_tiles),
    Spelling("morton", "along a Z curve", {_MORTON.name: _MORTON}.get),
    Spelling("hilbert", "along a Hilbert curve", {_HILBERT.name: _HILBERT}.get),
)
"""All orders; names and help come from here."""


def parse_raster(text: str) -> Raster:
    """The order with that spelling, such as its `name`; InputError for an unknown one."""
    return read_spelling("raster order", text, RASTERS)
