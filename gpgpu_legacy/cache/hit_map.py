"""Where the reads of a plan hit a cache: by the fragment that makes them, or by what they read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.caches import Memory
from gpgpu_legacy.cache.layout import LINEAR, parse_layout
from gpgpu_legacy.cache.raster import SCAN, parse_raster
from gpgpu_legacy.cache.run import plan_trace
from gpgpu_legacy.cache.simulate import Result, simulate
from gpgpu_legacy.cache.trace import NO_ACCESS, Chunk, Step, Sweep, Trace
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.lower.numba_code import native
from gpgpu_legacy.plan.expand import at_iteration
from gpgpu_legacy.plan.plan import (
    ClearPass,
    FragmentPass,
    Pass,
    Plan,
    Rect,
    Repeat,
    TextureKind,
    constant_rect,
)

I64 = NDArray[np.int64]

_MOST_LINES = 1 << 18  # of a chunk whose repeated rows are written out: 2 MB, as makers have it
_QUAD = ((0, 0), (1, 0), (0, 1), (1, 1))  # the fragments of a quad in their order


@dataclass(frozen=True, slots=True, eq=False)
class HitMap:
    """How many reads there were of each place, and how many of them hit.

    of: what the places are, for people. reads, hits: int64 [rows, columns], row 0 the lowest.
    all_reads, all_hits: of all places together, those that share a line counted once.
    """

    of: str
    reads: I64
    hits: I64
    all_reads: int
    all_hits: int

    @property
    def ratio(self) -> NDArray[np.float64]:
        """Hits over reads, float64 [rows, columns]; NaN where there were no reads."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.hits / self.reads


def hit_map(
    plan: Plan, memory: Memory, *, texture: str | None = None, layout: str = LINEAR.name,
    raster: str = SCAN.name, quads: bool = False, budget_s: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> tuple[Result, HitMap]:  # fmt: skip
    """Where the reads hit in level 1, over all passes, none of which is left out as a repetition.

    Without `texture`, places are the fragments of the rectangle that is drawn last, and counted are
    the reads of all passes that draw a rectangle of its size. With it, places are the texels of
    that texture, and counted are the reads of it; texels that share a line share its numbers.
    Raises InputError as plan_trace does, and for a texture that the plan has not.
    """
    line_bytes = memory.levels[0].line_bytes
    trace = plan_trace(plan, line_bytes, layout=layout, raster=raster, quads=quads)
    reader: _Reader
    if texture is None:
        reader = _Fragments(plan, raster, quads=quads)
    else:
        reader = _Texels(plan, trace, texture, layout)
    passes = _Passes(plan)

    def see(sweep: Sweep, chunk: Chunk, hits: NDArray[np.uint8]) -> None:
        reader.read(passes.of(sweep), chunk, hits)

    result = simulate(
        passes.watched(trace), memory, every_pass=True, budget_s=budget_s, progress=progress,
        misses=see,
    )  # fmt: skip
    return result, reader.seen()


class _Reader(Protocol):
    """What adds up hits by their places."""

    def read(self, drawn: _Drawn, chunk: Chunk, hits: NDArray[np.uint8]) -> None: ...

    def seen(self) -> HitMap: ...


@dataclass(slots=True)
class _Drawn:
    """A pass as it is carried out, and how many of its rows have been read."""

    each: Pass
    rows: int = 0


class _Passes:
    """Which pass of a plan a sweep is, for sweeps of a trace in which no row stands for several."""

    def __init__(self, plan: Plan) -> None:
        steps = (each if isinstance(each, Repeat) else Repeat(1, (each,)) for each in plan.steps)
        bodies = (step.body for step in steps if step.count)
        drawn = (tuple(p for p in body if not isinstance(p, ClearPass)) for body in bodies)
        self.bodies = [body for body in drawn if body]
        self.drawn: dict[int, _Drawn] = {}

    def of(self, sweep: Sweep) -> _Drawn:
        return self.drawn[id(sweep)]

    def watched(self, trace: Trace) -> Trace:
        """The same trace; its sweeps are known here."""
        steps = zip([step for step in trace.steps if step.count], self.bodies, strict=True)
        return replace(trace, steps=tuple(self._step(step, body) for step, body in steps))

    def _step(self, step: Step, body: tuple[Pass, ...]) -> Step:
        def turn(iteration: int) -> tuple[Sweep, ...]:
            made = tuple(
                replace(sweep, chunks=_written_out(sweep)) for sweep in step.turn(iteration)
            )
            self.drawn = {
                id(sweep): _Drawn(at_iteration(each, iteration))
                for sweep, each in zip(made, body, strict=True)
            }
            return made

        return Step(step.count, turn)


def _written_out(sweep: Sweep) -> Callable[[], Iterator[Chunk]]:
    """The sweep's chunks with a row for each of a row's times."""

    def chunks() -> Iterator[Chunk]:
        for chunk in sweep.chunks():
            rows = np.repeat(np.arange(len(chunk.times)), chunk.times)
            most = max(1, _MOST_LINES // max(1, len(chunk.kinds)))
            for first in range(0, len(rows), most):
                lines = chunk.lines[rows[first : first + most]]
                yield Chunk(lines, chunk.kinds, np.ones(len(lines), np.int32))

    return chunks


class _Fragments:
    """Reads by the fragment that made them."""

    def __init__(self, plan: Plan, raster: str, *, quads: bool) -> None:
        drawn = [
            each.rect if isinstance(each.rect, Rect) else each.rect.at(times - 1)
            for times, each in plan.weighted_passes()
            if isinstance(each, FragmentPass)
        ]
        if not drawn:
            arrays = ", ".join(texture.name for texture in plan.textures)
            raise InputError(
                f"{plan.name} draws no fragments; name one of its arrays, {arrays}, with "
                "--hit-map-of"
            )
        self.rect, self.quads = drawn[-1], quads
        size = self.rect.width, self.rect.height
        found = list(parse_raster(raster).positions(*size, quads=quads))
        share = 2 if quads else 1
        self.xs = share * np.concatenate([x for x, _ in found]).astype(np.int64)
        self.ys = share * np.concatenate([y for _, y in found]).astype(np.int64)
        # With room beyond the edges, for the fragments of a quad that are not there.
        self.reads = np.zeros((size[1] + quads, size[0] + quads), np.int64)
        self.hits = np.zeros_like(self.reads)

    def read(self, drawn: _Drawn, chunk: Chunk, hits: NDArray[np.uint8]) -> None:
        """Add up the reads of a chunk."""
        if not isinstance(drawn.each, FragmentPass) or not self._fits(
            constant_rect(drawn.each.rect)
        ):
            return
        rows = slice(drawn.rows, drawn.rows + len(chunk.lines))
        drawn.rows = rows.stop
        of_row = _QUAD if self.quads else _QUAD[:1]
        slots = np.arange(len(chunk.kinds))
        for number, (right, up) in enumerate(of_row):
            taken = slots[(chunk.kinds % 2 == 0) & (slots % len(of_row) == number)]
            places = (self.ys[rows] + up) * self.reads.shape[1] + self.xs[rows] + right
            _by_row(chunk.lines, hits, taken, places, self.reads.reshape(-1), self.hits.reshape(-1))

    def _fits(self, rect: Rect) -> bool:
        return (rect.width, rect.height) == (self.rect.width, self.rect.height)

    def seen(self) -> HitMap:
        """What has been added up."""
        height, width = self.rect.height, self.rect.width
        of = f"the fragments of a rectangle of {width}×{height}"
        reads, hits = self.reads[:height, :width], self.hits[:height, :width]
        return HitMap(of, reads, hits, int(reads.sum()), int(hits.sum()))


class _Texels:
    """Reads of one texture by the line that they were of."""

    def __init__(self, plan: Plan, trace: Trace, name: str, layout: str) -> None:
        known = [texture.name for texture in plan.textures]  # the first regions, in their order
        if name not in known:
            raise InputError(f"{plan.name} has no texture {name}; choose from {', '.join(known)}")
        self.name, self.kind = name, 2 * known.index(name)
        region = trace.regions[known.index(name)]
        texture = plan.texture(name)
        lies = LINEAR if texture.kind is TextureKind.BUFFER else parse_layout(layout)
        placed = lies.place(texture.extent.width, texture.extent.rows, region.element_bytes)
        self.first = region.base // trace.line_bytes
        self.lines = (placed.y[:, None] + placed.x) // trace.line_bytes
        of_region = -(-region.size_bytes // trace.line_bytes)
        self.reads, self.hits = np.zeros(of_region, np.int64), np.zeros(of_region, np.int64)

    def read(self, drawn: _Drawn, chunk: Chunk, hits: NDArray[np.uint8]) -> None:
        """Add up the reads of a chunk."""
        slots = np.flatnonzero(chunk.kinds == self.kind)
        _by_line(chunk.lines, hits, slots, self.first, self.reads, self.hits)

    def seen(self) -> HitMap:
        """What has been added up."""
        of = f"the texels of {self.name}, each by the line that it lies in"
        reads, hits = self.reads[self.lines], self.hits[self.lines]
        return HitMap(of, reads, hits, int(self.reads.sum()), int(self.hits.sum()))


@native
def _by_row(  # noqa: PLR0917
    lines: I64, hits: NDArray[np.uint8], slots: I64, places: I64, reads: I64, found: I64
) -> None:
    """Add the reads of each row, and the hits among them, to the row's place."""
    for row in range(len(lines)):
        for slot in slots:
            if lines[row, slot] != NO_ACCESS:
                reads[places[row]] += 1
                found[places[row]] += hits[row, slot]


@native
def _by_line(  # noqa: PLR0917
    lines: I64, hits: NDArray[np.uint8], slots: I64, first: int, reads: I64, found: I64
) -> None:
    """Add each read, and whether it hit, to its line's place."""
    for row in range(len(lines)):
        for slot in slots:
            if lines[row, slot] != NO_ACCESS:
                reads[lines[row, slot] - first] += 1
                found[lines[row, slot] - first] += hits[row, slot]
