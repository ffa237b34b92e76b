"""Where the reads of a plan hit a cache: by the reading fragment, or by the texel read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.access import DEFAULT_ACCESS, Access
from gpgpu_legacy.cache.address_tables import QUAD
from gpgpu_legacy.cache.caches import Memory
from gpgpu_legacy.cache.run import plan_trace
from gpgpu_legacy.cache.simulate import Progress, Simulated, simulate
from gpgpu_legacy.cache.texel_accesses import place_texture
from gpgpu_legacy.cache.trace import NO_ACCESS, AccessTrace, Chunk, PassTrace
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.lower.numba_code import native
from gpgpu_legacy.memory import require_memory
from gpgpu_legacy.plan.plan import FragmentPass, Plan
from gpgpu_legacy.plan.textures import Rect

I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class HeatMap:
    """The reads of each place, and the number of them that hit.

    of: the kind of places, for people. reads, hits: int64 [rows, columns], row 0 the lowest.
    all_reads, all_hits: sums in which places that share a line count once.
    """

    of: str
    reads: I64
    hits: I64
    all_reads: int
    all_hits: int

    @property
    def ratio(self) -> NDArray[np.float64]:
        """Hits over reads, float64 [rows, columns]; NaN if there were no reads."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.hits / self.reads


def heat_map(
    plan: Plan,
    memory: Memory,
    access: Access = DEFAULT_ACCESS,
    *,
    texture: str | None = None,
    progress: Progress = lambda _: None,
) -> tuple[Simulated, HeatMap]:
    """Where the reads of a plan hit level 1, over all passes; every pass is simulated.

    Without `texture`, places are the fragments of the rectangle drawn last, and the map counts the
    reads of all passes that draw a rectangle of its size. With it, places are the texels of that
    texture, and the map counts its reads; texels that share a line share its numbers. Raises
    InputError as plan_trace does, and for a texture that the plan does not have.
    """
    trace = plan_trace(plan, memory.levels[0].line_bytes, access)
    counter = (
        _FragmentCounter(plan, access)
        if texture is None
        else _TexelCounter(plan, trace, texture, access)
    )
    result = simulate(trace, memory, progress=progress, misses=counter.add)
    return result, counter.heat_map()


_BYTES_A_PLACE = 48
"""Bytes for a fragment or texel: its x and y as int32 and as int64, its reads and hits."""


def _require_memory(places: int, noun: str) -> None:
    require_memory(_BYTES_A_PLACE * places, f"a heat map of {places} {noun}", "map a smaller plan")


class _FragmentCounter:
    """Reads by the fragment that made them."""

    def __init__(self, plan: Plan, access: Access) -> None:
        drawn = [
            pass_.rect if isinstance(pass_.rect, Rect) else pass_.rect.at(times - 1)
            for times, pass_ in plan.weighted_passes()
            if isinstance(pass_, FragmentPass)
        ]
        if not plan.steps:
            raise InputError(f"{plan.name} has no passes to map; give a size of at least 1")
        if not drawn:
            arrays = ", ".join(texture.name for texture in plan.textures)
            raise InputError(
                f"{plan.name} draws no fragments; name one of its arrays, {arrays}, as in "
                f"--heat-map {plan.textures[0].name}=FILE.png"
            )
        self.quads, self.counted = access.quads, 0
        self.pass_: PassTrace | None = None
        width, height = self.size = drawn[-1].width, drawn[-1].height
        _require_memory(width * height, "fragments")
        positions = list(access.raster.positions(width, height, quads=self.quads))
        side = 2 if self.quads else 1
        self.xs = side * np.concatenate([x for x, _ in positions]).astype(np.int64)
        self.ys = side * np.concatenate([y for _, y in positions]).astype(np.int64)
        # With a margin for the fragments of a quad outside the rectangle.
        self.reads = np.zeros((height + self.quads, width + self.quads), np.int64)
        self.hits = np.zeros_like(self.reads)

    def add(self, pass_: PassTrace, chunk: Chunk, hits: NDArray[np.uint8]) -> None:
        """Count the reads of a chunk, whose rows come after those of the pass's other chunks."""
        if pass_.drawn != self.size:
            return
        first = self.counted if pass_ is self.pass_ else 0
        self.pass_, self.counted = pass_, first + len(chunk.lines)
        rows = slice(first, self.counted)
        of_row = QUAD if self.quads else QUAD[:1]
        slots = np.arange(len(chunk.kinds))
        for number, (right, up) in enumerate(of_row):
            taken = slots[(chunk.kinds % 2 == 0) & (slots % len(of_row) == number)]
            places = (self.ys[rows] + up) * self.reads.shape[1] + self.xs[rows] + right
            of_slots = np.broadcast_to(places[:, None], chunk.lines.shape)
            _add(chunk.lines, hits, taken, of_slots, self.reads.reshape(-1), self.hits.reshape(-1))

    def heat_map(self) -> HeatMap:
        """The reads of each fragment."""
        width, height = self.size
        of = f"the fragments of a rectangle of {width}×{height}"
        reads, hits = self.reads[:height, :width], self.hits[:height, :width]
        return HeatMap(of, reads, hits, int(reads.sum()), int(hits.sum()))


class _TexelCounter:
    """Reads of one texture, by line."""

    def __init__(self, plan: Plan, trace: AccessTrace, name: str, access: Access) -> None:
        known = [texture.name for texture in plan.textures]  # the first regions, in their order
        if name not in known:
            raise InputError(f"{plan.name} has no texture {name}; choose from {', '.join(known)}")
        self.name, self.kind = name, 2 * known.index(name)
        region = trace.regions[known.index(name)]
        texture = plan.texture(name)
        _require_memory(texture.extent.width * texture.extent.rows, "texels")
        placed = place_texture(texture, access.layout)
        self.first = region.base // trace.line_bytes
        self.lines = (placed.y[:, None] + placed.x) // trace.line_bytes
        of_region = -(-region.size_bytes // trace.line_bytes)
        self.reads, self.hits = np.zeros(of_region, np.int64), np.zeros(of_region, np.int64)

    def add(self, pass_: PassTrace, chunk: Chunk, hits: NDArray[np.uint8]) -> None:
        """Count the reads of a chunk."""
        slots = np.flatnonzero(chunk.kinds == self.kind)
        _add(chunk.lines, hits, slots, chunk.lines - self.first, self.reads, self.hits)

    def heat_map(self) -> HeatMap:
        """The reads of each texel's line."""
        of = f"the texels of {self.name}, each by the line that it lies in"
        reads, hits = self.reads[self.lines], self.hits[self.lines]
        return HeatMap(of, reads, hits, int(self.reads.sum()), int(self.hits.sum()))


@native
def _add(  # noqa: PLR0917
    lines: I64, hits: NDArray[np.uint8], slots: I64, places: I64, reads: I64, all_hits: I64
) -> None:
    """Add each read of these slots, and whether it hit, to its place; places: as `lines`."""
    for row in range(len(lines)):
        for slot in slots:
            if lines[row, slot] != NO_ACCESS:
                reads[places[row, slot]] += 1
                all_hits[places[row, slot]] += hits[row, slot]
