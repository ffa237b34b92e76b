"""How fragments access textures: the addresses of texels, and the order of the fragments.

A GPU hides the latency of memory behind other fragments: it starts many, and each waits for its
lookup while the next makes the same one. Fragments in flight model that interleaving, without
times: a number of neighbours in raster order start together. All make their first access in turn,
then their second, and so on up to their writes; then the next ones start. With quads, that number
of quads starts together, and a quad's four fragments still make each access in turn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError, as_positive, described
from gpgpu_legacy.lower.numba_code import native
from gpgpu_legacy.plan.memory import require_memory

# Layouts -----------------------------------------------------------------------------------------
#
# Texture layouts: linear, blocked, in Morton order, in blocks of blocks.
#
# All layouts are separable: texel (i, j) lies x[i] + y[j] bytes after the texture's first byte, so
# two short tables are enough. Row 0 comes first; the layers of a 3D texture or of a cube map lie
# one above the other (plan.Extent.rows). The two-level layout is the 6D blocking of Hakura &
# Gupta, "The Design and Analysis of a Cache Architecture for Texture Mapping" (1997).


I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
Side = tuple[int, int]
"""Width and height of a block or tile, in texels or fragments."""

LONGEST_SIDE = 8192
"""The longest side of a block or tile: that of the largest texture (plan/textures.py)."""


@frozen
class Placement:
    """Where the texels of one texture lie, in bytes.

    x: int64 [width]; y: int64 [rows]; texel (i, j) begins at x[i] + y[j]. size_bytes: of the
    texture, padding included.
    """

    x: I64
    y: I64
    size_bytes: int


@frozen
class Layout:
    """A texture layout by its canonical name.

    blocks: the sides of the blocks, small ones first, each a multiple of the one before; empty for
    linear. morton: whether texels are in Morton order instead.
    """

    name: str
    blocks: tuple[Side, ...] = ()
    morton: bool = False

    def place(self, width: int, rows: int, texel_bytes: int) -> Placement:
        """The placement of a texture of width × rows texels.

        A blocked texture is padded to whole blocks. A Morton one is padded to powers of two; the
        low bits common to both sides are interleaved, x lowest, and the other bits of the longer
        side lie above them.
        """
        x, y = np.arange(width, dtype=np.int64), np.arange(rows, dtype=np.int64)
        if self.morton:
            bits = (width - 1).bit_length(), (rows - 1).bit_length()
            common, texels = min(bits), 1 << sum(bits)
            x, y = _spread(x, common, 0), _spread(y, common, 1)
        else:
            x, y, texels = _blocked(x, y, self.blocks)
        return Placement(x * texel_bytes, y * texel_bytes, texels * texel_bytes)


def _blocked(x: I64, y: I64, blocks: tuple[Side, ...]) -> tuple[I64, I64, int]:
    """Offsets in texels of columns and rows, and the size of the padded texture in texels."""
    largest = blocks[-1] if blocks else (1, 1)
    whole = (-(-len(x) // largest[0]) * largest[0], -(-len(y) // largest[1]) * largest[1])
    across, up = np.zeros_like(x), np.zeros_like(y)
    width, height = 1, 1
    for outer_width, outer_height in (*blocks, whole):
        across += x % outer_width // width * (width * height)
        up += y % outer_height // height * (outer_width * height)
        width, height = outer_width, outer_height
    return across, up, width * height


def _spread(values: I64, common: int, first: int) -> I64:
    """Bit k of each value at 2k + first for the common bits; the higher bits above all of these."""
    spread = values >> common << (2 * common)
    for bit in range(common):
        spread |= (values >> bit & 1) << (2 * bit + first)
    return spread


LINEAR = Layout("linear")
_SIX_D = Layout("6d", ((4, 4), (32, 32)))
_LAYOUTS = {layout.name: layout for layout in (LINEAR, Layout("morton", morton=True), _SIX_D)}
_LAYOUT_FORMS = (
    "linear (row after row); WxH (blocks of that size, such as 4x4 or 8x8, row by row); morton "
    "(the bits of x and y interleaved); 6d (4x4 blocks in 32x32 blocks); 6d:WxH,WxH (small blocks "
    "in large blocks, of those sizes)"
)


def parse_layout(text: str) -> Layout:
    """The layout with that spelling, such as its `name`; InputError for an unknown one."""
    wanted = text.strip().lower()
    if wanted in _LAYOUTS:
        return _LAYOUTS[wanted]
    blocks = _read_sides(wanted.removeprefix("6d:"), "a block")
    if len(blocks) != 1 + wanted.startswith("6d:"):
        raise InputError(f"there is no texture layout {text!r}; choose from {_LAYOUT_FORMS}")
    if blocks == _SIX_D.blocks:
        return _SIX_D
    small, large = blocks[0], blocks[-1]
    names = [f"{width}x{height}" for width, height in blocks]
    if large[0] % small[0] or large[1] % small[1]:
        raise InputError(
            f"blocks of {names[1]} do not hold whole blocks of {names[0]}; make the large sides "
            "multiples of the small ones, as in 6d:4x4,32x32"
        )
    return Layout("6d:" * (len(blocks) - 1) + ",".join(names), blocks)


def _read_sides(text: str, what: str) -> tuple[Side, ...]:
    """Widths and heights from WxH,WxH; none for another form, InputError for sides out of range."""
    sides = []
    for part in text.split(","):
        match = re.fullmatch(r"([0-9]{1,9})x([0-9]{1,9})", part)
        if match is None:
            return ()
        width, height = int(match[1]), int(match[2])
        if min(width, height) < 1 or max(width, height) > LONGEST_SIDE:
            raise InputError(f"{what} of {part} is out of range; its sides are 1 to {LONGEST_SIDE}")
        sides.append((width, height))
    return tuple(sides)


# Raster orders -----------------------------------------------------------------------------------
#
# The order of a rectangle's fragments: scan lines, tiles, or along a curve.
#
# With quads it is an order of squares of 2 × 2 fragments, the first of which lies at the
# rectangle's lower left. Morton and Hilbert order run over the enclosing square with power-of-two
# sides, and skip everything outside the rectangle.


Positions = tuple[I32, I32]
"""x and y of fragments, or of quads, from (0, 0) at the rectangle's lower left."""

_POSITION_BYTES = 64
"""About the bytes that ordering a position along a curve takes."""


class Order(Enum):
    """The kinds of order."""

    SCAN = "scan"
    TILED = "tiled"
    MORTON = "morton"
    HILBERT = "hilbert"


@frozen
class Raster:
    """An order of fragments by its canonical name; tile: in fragments, only for TILED."""

    name: str
    order: Order
    tile: Side = (1, 1)

    def positions(
        self, width: int, height: int, part: slice = slice(None), *, quads: bool = False
    ) -> Positions:
        """The positions of a rectangle's fragments in order, or a part of them.

        With quads, the positions of its quads: quad (i, j) holds the fragments from (2i, 2j) on,
        except those outside the rectangle. The arrays must not be written to.
        """
        share = 2 if quads else 1
        across, up = -(-width // share), -(-height // share)
        if self.order in _QUARTERS:
            x, y = _along_curve(self.order, across, up)
            return x[part], y[part]
        is_tiled = self.order is Order.TILED
        tile = (self.tile[0] // share, self.tile[1] // share) if is_tiled else (across, up)
        if across * up > _MOST_KEPT:
            return _in_tiles(tile, across, up, part)
        x, y = _all_in_tiles(tile, across, up)
        return x[part], y[part]


def _in_tiles(tile: Side, across: int, up: int, part: slice) -> Positions:
    """A part of the positions, tile by tile; tiles end at the right and the upper edge."""
    wide, tall = tile
    numbers = np.arange(*part.indices(across * up), dtype=np.int32)
    band, numbers = np.divmod(numbers, across * tall)
    column, numbers = np.divmod(numbers, wide * np.minimum(tall, up - band * tall))
    y, x = np.divmod(numbers, np.minimum(wide, across - column * wide))
    return column * wide + x, band * tall + y


_MOST_KEPT = 1 << 22  # 32 MB


@lru_cache(maxsize=2)  # a draw's and a copy's, which alternate
def _all_in_tiles(tile: Side, across: int, up: int) -> Positions:
    return _in_tiles(tile, across, up, slice(None))


_QUARTERS = {
    Order.MORTON: ((0, 1, 0, 1), (0, 0, 1, 1), (0, 0, 0, 0), (0, 0, 0, 0)),
    Order.HILBERT: ((0, 0, 1, 1), (0, 1, 1, 0), (1, 0, 0, 1), (0, 0, 0, 1)),
}
"""The quarters of a square in the order of a curve, as four rows of flags: whether each quarter is
right; is upper; has its curve mirrored in the diagonal; and has it then turned by half a turn.
"""


@lru_cache(maxsize=2)
def _along_curve(order: Order, width: int, height: int) -> Positions:
    """The positions along a curve: squares are divided, and those that lie outside are left out."""
    require_memory(
        _POSITION_BYTES * width * height,
        f"the order of {width}×{height} fragments",
        "simulate a smaller plan",
    )
    right, upper, mirrors, turns = np.array(_QUARTERS[order], np.int32)
    x, y, mirrored, turned = np.zeros((4, 1, 1), np.int32)
    side = 1 << (max(width, height) - 1).bit_length()
    while side > 1:
        side //= 2
        across = x + side * (np.where(mirrored, upper, right) ^ turned)
        up = y + side * (np.where(mirrored, right, upper) ^ turned)
        inside = (across < width) & (up < height)
        divided = across, up, mirrored ^ mirrors, turned ^ turns
        x, y, mirrored, turned = (part[inside][:, None] for part in divided)
    return x[:, 0], y[:, 0]


_RASTERS = {o.value: Raster(o.value, o) for o in Order if o is not Order.TILED}
SCAN = _RASTERS["scan"]
_RASTER_FORMS = (
    "scan (row after row); tiled:WxH (tiles of that size, such as tiled:8x8, row by row); morton "
    "(along a Z curve); hilbert (along a Hilbert curve)"
)


def parse_raster(text: str) -> Raster:
    """The order with that spelling, such as its `name`; InputError for an unknown one."""
    wanted = text.strip().lower()
    if wanted in _RASTERS:
        return _RASTERS[wanted]
    sides = _read_sides(wanted.removeprefix("tiled:"), "a tile")
    if len(sides) != 1:
        raise InputError(f"there is no raster order {text!r}; choose from {_RASTER_FORMS}")
    [(width, height)] = sides
    return Raster(f"tiled:{width}x{height}", Order.TILED, sides[0])


# Accesses ----------------------------------------------------------------------------------------


MOST_IN_FLIGHT = 1 << 16
QUAD = ((0, 0), (1, 0), (0, 1), (1, 1))
MOST_LINES = 1 << 20  # of a chunk: 8 MB


class Tables(NamedTuple):
    """Addresses: in slot s, fragment f accesses columns[x[f], s] + rows[y[f], s].

    columns, rows: bytes, int64 [_, slots]. x, y: int32 [fragments], or [batches, fragments]. A
    fragment whose x is NO_ACCESS has no access, and a sum of NO_ACCESS is none.
    """

    columns: I64
    rows: I64
    x: I32
    y: I32


def one_by_one(addresses: I64) -> Tables:
    """The tables of fragments with these addresses, int64 [fragments, slots]."""
    numbers = np.arange(len(addresses), dtype=np.int32)
    return Tables(addresses, np.zeros((1, addresses.shape[1]), np.int64), numbers, 0 * numbers)


@frozen
class Access:
    """A texture layout and a raster order.

    quads: rasterise 2×2 quads, whose four fragments take each access in turn. in_flight: the number
    of fragments, or quads, in flight, from 1 to MOST_IN_FLIGHT; with 1 each is done before the
    next. Raises InputError for any other number, and if quads do not fill the tiles of the raster
    order.
    """

    layout: Layout = LINEAR
    raster: Raster = SCAN
    quads: bool = False
    in_flight: int = 1

    def __post_init__(self) -> None:
        width, height = self.raster.tile
        if self.quads and self.raster.order is Order.TILED and (width % 2 or height % 2):
            raise InputError(
                f"quads of 2x2 fragments do not fill tiles of {width}x{height}; give the tiles "
                "even sides, or leave --quads out"
            )
        if as_positive("in_flight", self.in_flight) > MOST_IN_FLIGHT:
            raise InputError(
                f"in_flight is {described(self.in_flight)}; it must be at most {MOST_IN_FLIGHT}"
            )

    @property
    def lanes(self) -> int:
        """The number of fragments that make each access in turn: 4 with quads, else 1."""
        return 4 if self.quads else 1

    def of_area(self, fragments: int) -> Access:
        """The access with at most `fragments` in flight."""
        return replace(self, in_flight=max(1, min(self.in_flight, fragments)))

    def rows_of_chunk(self, slots: int) -> int:
        """The rows of a chunk: whole batches of at most MOST_LINES lines in all, or one batch."""
        return max(1, MOST_LINES // slots // self.in_flight) * self.in_flight

    def chunks(
        self,
        size: Side,
        kinds: Sequence[int],
        line_bytes: int,
        tables_of: Callable[[I32, I32], Tables],
    ) -> Iterator[Chunk]:
        """The accesses of a rectangle's fragments.

        size: of the rectangle. kinds: of a fragment's slots, as of Chunk. tables_of: the addresses
        of fragments by their x and y.
        """
        (width, height), lanes, shift = size, self.lanes, line_bytes.bit_length() - 1
        share, most = (2 if self.quads else 1), self.rows_of_chunk(len(kinds) * lanes)
        right, upper = np.array(QUAD[:lanes], np.int32).T
        for first in range(0, -(-width // share) * -(-height // share), most):
            part = slice(first, first + most)
            xs, ys = self.raster.positions(width, height, part, quads=self.quads)
            x, y = (share * xs[:, None] + right).ravel(), (share * ys[:, None] + upper).ravel()
            outside = (x >= width) | (y >= height)
            columns, rows, x, y = tables_of(np.minimum(x, width - 1), np.minimum(y, height - 1))
            x[outside] = NO_ACCESS
            batch = self.in_flight * lanes
            whole = len(x) // batch * batch
            for some in (slice(whole), slice(whole, None)):  # the last batch may be smaller
                shape = -1, min(batch, x[some].size)
                if shape[1]:
                    tables = Tables(columns, rows, x[some].reshape(shape), y[some].reshape(shape))
                    yield _in_turn(tables, kinds, shift, lanes)

    def __str__(self) -> str:
        """The raster order and the layout, by name, and the number in flight."""
        quads = " in quads" if self.quads else ""
        in_flight = f", {self.in_flight} in flight" if self.in_flight > 1 else ""
        return f"{self.raster.name}{quads}, {self.layout.name}{in_flight}"


DEFAULT_ACCESS = Access()
"""Linear textures, and fragments that come one by one in scan order."""


def parse_access(
    layout: str = LINEAR.name,
    raster: str = SCAN.name,
    *,
    quads: bool = False,
    in_flight: int = 1,
) -> Access:
    """An Access from the spellings of a layout and a raster order; InputError for unknown ones.

    quads, in_flight: as in Access.
    """
    return Access(parse_layout(layout), parse_raster(raster), quads, in_flight)


# Traces ------------------------------------------------------------------------------------------
#
# The memory accesses of a plan, in order: the contract between makers and readers of traces.
#
# An AccessTrace is an address space of regions (one for each texture or buffer) and steps. A step
# has one or more iterations (those of a Repeat); an iteration is one or more passes; a pass yields
# its accesses in Chunks, so that no whole trace is ever in memory. fragments.py and kernels.py make
# traces of plans, and other code may make its own. simulate.py reads them.


NO_ACCESS = -1
REGION_ALIGNMENT = 4096


@frozen
class MemoryRegion:
    """A texture or buffer in the address space: its first byte, and its size with padding.

    element_bytes: the bytes of one access, a texel or an array's element.
    """

    name: str
    base: int
    size_bytes: int
    element_bytes: int

    @property
    def end(self) -> int:
        """The first byte after it."""
        return self.base + self.size_bytes


def lay_out(arrays: Iterable[tuple[str, int, int]], line_bytes: int) -> tuple[MemoryRegion, ...]:
    """Regions one after another, each with a name, a size and the size of an element.

    Raises InputError for lines that are not a power of two or do not hold an element.
    """
    regions, base = [], 0
    for name, size_bytes, element_bytes in arrays:
        regions.append(MemoryRegion(name, base, size_bytes, element_bytes))
        base += -(-size_bytes // REGION_ALIGNMENT) * REGION_ALIGNMENT
    largest = max((region.element_bytes for region in regions), default=1)
    if line_bytes.bit_count() != 1 or line_bytes < largest:
        raise InputError(
            f"a line of {line_bytes} bytes does not hold whole elements; give a power of two of at "
            f"least {largest}, the size of the plan's largest texel or number"
        )
    return tuple(regions)


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Accesses in order: the rows of `lines` one after another, each repeated `times` times.

    lines: int64 [rows, slots], the line of each access: its address over the trace's `line_bytes`.
    NO_ACCESS if a row has no access in a slot (a masked invocation, a fragment outside its
    rectangle). kinds: int16 [slots], twice the number of the region, plus one if the access is a
    write. times: int32 [rows], at least 1. A repeated row stands for several fragments (quads, work
    groups) that access the same lines in the same order. together: the fragments, or quads, of a
    row: all make an access in turn, then the next.
    """

    lines: I64
    kinds: NDArray[np.int16]
    times: I32
    together: int = 1


def _in_turn(tables: Tables, kinds: Sequence[int], shift: int, lanes: int) -> Chunk:
    """The chunk of batches of fragments, of which each has its own x and y in the tables."""
    batches, fragments = tables.x.shape
    lines = np.empty((batches, len(kinds) * fragments), np.int64)
    times = np.zeros(batches, np.int32)
    rows = _fill(tables, shift, lines, times)
    slots = np.repeat(np.array(kinds, np.int16), fragments)
    return Chunk(lines[:rows], slots, times[:rows], fragments // lanes)


@native
def _fill(tables: Tables, shift: int, lines: I64, times: I32) -> int:
    """Fill in a row for each batch that differs from the one before it; returns their number."""
    columns, rows, x, y = tables
    batches, fragments = x.shape
    count = 0
    for batch in range(batches):
        same = count > 0
        for f in range(fragments):
            column, row = x[batch, f], y[batch, f]
            for slot in range(columns.shape[1]):
                line = NO_ACCESS
                if column != NO_ACCESS:
                    line = (columns[column, slot] + rows[row, slot]) >> shift
                at = slot * fragments + f
                lines[count, at] = line
                same = same and lines[count - 1, at] == line
        if not same:
            count += 1
        times[count - 1] += 1
    return count


@frozen
class PassTrace:
    """The accesses of one pass, in one iteration.

    accesses: their number in all chunks. chunks: makes the chunks, again at each call; each but the
    last holds whole batches. drawn: width and height of the rectangle of fragments that it draws,
    in raster order; None if it draws none.
    """

    accesses: int
    chunks: Callable[[], Iterator[Chunk]]
    drawn: tuple[int, int] | None = None


@frozen
class Step:
    """Passes that run `count` times, one iteration after another.

    passes: those of an iteration, by its number from 0. shifts: for the given iteration, the bytes
    by which each region's addresses exceed those of iteration 0, by the number of the region;
    regions without accesses are left out. None if the iteration is not iteration 0 shifted. Shifts
    are proven from coordinates and layout, never observed.
    """

    count: int
    passes: Callable[[int], tuple[PassTrace, ...]]
    shifts: Callable[[int], dict[int, int] | None] = lambda iteration: {} if not iteration else None

    def accesses(self, iteration: int) -> int:
        """The accesses of all passes of an iteration."""
        return sum(pass_.accesses for pass_ in self.passes(iteration))


@frozen
class AccessTrace:
    """All accesses of a plan.

    line_bytes: the granule of the chunks' lines, a power of two and at least as long as any access.
    A cache with longer lines sees several granules as one line. of_inputs: whether accesses depend
    on data, and are those of a run.
    """

    name: str
    regions: tuple[MemoryRegion, ...]
    steps: tuple[Step, ...]
    line_bytes: int
    of_inputs: bool = False

    @property
    def end(self) -> int:
        """The first byte after all regions."""
        return max((region.end for region in self.regions), default=0)
