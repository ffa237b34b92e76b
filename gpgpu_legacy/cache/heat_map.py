"""Where the reads of a plan hit a cache: by the fragment that makes them, or by what they read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.access import DEFAULT_ACCESS, Access
from gpgpu_legacy.cache.caches import Memory
from gpgpu_legacy.cache.layout import LINEAR
from gpgpu_legacy.cache.run import plan_trace
from gpgpu_legacy.cache.simulate import Result, simulate
from gpgpu_legacy.cache.trace import NO_ACCESS, Chunk, PassTrace, Step, Trace
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.lower.numba_code import native
from gpgpu_legacy.memory import require_memory
from gpgpu_legacy.plan.expand import at_iteration
from gpgpu_legacy.plan.plan import ClearPass, FragmentPass, Pass, Plan, Repeat
from gpgpu_legacy.plan.textures import Rect, TextureKind, constant_rect

I64 = NDArray[np.int64]

_MOST_LINES = 1 << 18  # of a chunk whose repeated rows are written out: 2 MB, as makers have it
_QUAD = ((0, 0), (1, 0), (0, 1), (1, 1))  # the fragments of a quad in their order


@dataclass(frozen=True, slots=True, eq=False)
class HeatMap:
    """How many reads each place had, and how many of them hit.

    of: what the places are, for people. reads, hits: int64 [rows, columns], row 0 the lowest.
    all_reads, all_hits: sums in which places that share a line count once.
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


def heat_map(
    plan: Plan,
    memory: Memory,
    access: Access = DEFAULT_ACCESS,
    *,
    texture: str | None = None,
    budget_s: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> tuple[Result, HeatMap]:
    """Where the reads of a plan hit level 1, over all passes; every pass is simulated.

    Without `texture`, places are the fragments of the rectangle drawn last, and the map counts the
    reads of all passes that draw a rectangle of its size. With it, places are the texels of that
    texture, and the map counts its reads; texels that share a line share its numbers. Raises
    InputError as plan_trace does, and for a texture that the plan does not have.
    """
    trace = plan_trace(plan, memory.levels[0].line_bytes, access)
    counter: _Counter
    if texture is None:
        counter = _FragmentCounter(plan, access)
    else:
        counter = _TexelCounter(plan, trace, texture, access)
    passes = _Passes(plan)

    def count(pass_: PassTrace, chunk: Chunk, hits: NDArray[np.uint8]) -> None:
        counter.add(passes.of(pass_), chunk, hits)

    result = simulate(
        passes.watched(trace), memory, every_pass=True, budget_s=budget_s, progress=progress,
        misses=count,
    )  # fmt: skip
    return result, counter.heat_map()


class _Counter(Protocol):
    """Adds up reads and hits by their places."""

    def add(self, drawn: _Drawn, chunk: Chunk, hits: NDArray[np.uint8]) -> None: ...

    def heat_map(self) -> HeatMap: ...


@dataclass(slots=True)
class _Drawn:
    """A pass in one iteration, and how many of its rows have been counted."""

    pass_: Pass
    rows: int = 0


class _Passes:
    """Which pass of a plan a PassTrace is of. Rows of the traces are unrolled: none is repeated."""

    def __init__(self, plan: Plan) -> None:
        steps = (step if isinstance(step, Repeat) else Repeat(1, (step,)) for step in plan.steps)
        bodies = (step.body for step in steps if step.count)
        drawn = (tuple(p for p in body if not isinstance(p, ClearPass)) for body in bodies)
        self.bodies = [body for body in drawn if body]
        self.drawn: dict[int, _Drawn] = {}

    def of(self, pass_: PassTrace) -> _Drawn:
        return self.drawn[id(pass_)]

    def watched(self, trace: Trace) -> Trace:
        """The same trace, whose passes `of` knows."""
        steps = zip([step for step in trace.steps if step.count], self.bodies, strict=True)
        return replace(trace, steps=tuple(self._step(step, body) for step, body in steps))

    def _step(self, step: Step, body: tuple[Pass, ...]) -> Step:
        def passes(iteration: int) -> tuple[PassTrace, ...]:
            traces = tuple(
                replace(trace, chunks=_unrolled(trace)) for trace in step.passes(iteration)
            )
            self.drawn = {
                id(trace): _Drawn(at_iteration(pass_, iteration))
                for trace, pass_ in zip(traces, body, strict=True)
            }
            return traces

        return Step(step.count, passes, steady=step.steady)


def _unrolled(trace: PassTrace) -> Callable[[], Iterator[Chunk]]:
    """The chunks of a pass, with repeated rows written out."""

    def chunks() -> Iterator[Chunk]:
        for chunk in trace.chunks():
            rows = np.repeat(np.arange(len(chunk.times)), chunk.times)
            batches = _MOST_LINES // max(1, len(chunk.kinds)) // chunk.in_flight
            most = max(1, batches) * chunk.in_flight
            for first in range(0, len(rows), most):
                lines = chunk.lines[rows[first : first + most]]
                yield replace(chunk, lines=lines, times=np.ones(len(lines), np.int32))

    return chunks


_BYTES_A_PLACE = 48
"""Of a fragment or a texel: where it is, as int32 and int64 in both directions, reads and hits."""


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
                f"{plan.name} draws no fragments; name one of its arrays, {arrays}, with "
                "--heat-map-of"
            )
        self.rect, self.quads = drawn[-1], access.quads
        size = self.rect.width, self.rect.height
        _require_memory(self.rect.area, "fragments")
        positions = list(access.raster.positions(*size, quads=self.quads))
        side = 2 if self.quads else 1
        self.xs = side * np.concatenate([x for x, _ in positions]).astype(np.int64)
        self.ys = side * np.concatenate([y for _, y in positions]).astype(np.int64)
        # With room beyond the edges, for the fragments of a quad outside the rectangle.
        self.reads = np.zeros((size[1] + self.quads, size[0] + self.quads), np.int64)
        self.hits = np.zeros_like(self.reads)

    def add(self, drawn: _Drawn, chunk: Chunk, hits: NDArray[np.uint8]) -> None:
        """Count the reads of a chunk."""
        pass_ = drawn.pass_
        if not isinstance(pass_, FragmentPass) or not self._fits(constant_rect(pass_.rect)):
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

    def heat_map(self) -> HeatMap:
        """The reads of each fragment."""
        height, width = self.rect.height, self.rect.width
        of = f"the fragments of a rectangle of {width}×{height}"
        reads, hits = self.reads[:height, :width], self.hits[:height, :width]
        return HeatMap(of, reads, hits, int(reads.sum()), int(hits.sum()))


class _TexelCounter:
    """Reads of one texture, by line."""

    def __init__(self, plan: Plan, trace: Trace, name: str, access: Access) -> None:
        known = [texture.name for texture in plan.textures]  # the first regions, in their order
        if name not in known:
            raise InputError(f"{plan.name} has no texture {name}; choose from {', '.join(known)}")
        self.name, self.kind = name, 2 * known.index(name)
        region = trace.regions[known.index(name)]
        texture = plan.texture(name)
        lies = LINEAR if texture.kind is TextureKind.BUFFER else access.layout
        _require_memory(texture.extent.width * texture.extent.rows, "texels")
        placed = lies.place(texture.extent.width, texture.extent.rows, region.element_bytes)
        self.first = region.base // trace.line_bytes
        self.lines = (placed.y[:, None] + placed.x) // trace.line_bytes
        of_region = -(-region.size_bytes // trace.line_bytes)
        self.reads, self.hits = np.zeros(of_region, np.int64), np.zeros(of_region, np.int64)

    def add(self, drawn: _Drawn, chunk: Chunk, hits: NDArray[np.uint8]) -> None:
        """Count the reads of a chunk."""
        slots = np.flatnonzero(chunk.kinds == self.kind)
        _by_line(chunk.lines, hits, slots, self.first, self.reads, self.hits)

    def heat_map(self) -> HeatMap:
        """The reads of each texel's line."""
        of = f"the texels of {self.name}, each by the line that it lies in"
        reads, hits = self.reads[self.lines], self.hits[self.lines]
        return HeatMap(of, reads, hits, int(self.reads.sum()), int(self.hits.sum()))


@native
def _by_row(  # noqa: PLR0917
    lines: I64, hits: NDArray[np.uint8], slots: I64, places: I64, reads: I64, all_hits: I64
) -> None:
    """Add the reads of each row, and the hits among them, to the row's place."""
    for row in range(len(lines)):
        for slot in slots:
            if lines[row, slot] != NO_ACCESS:
                reads[places[row]] += 1
                all_hits[places[row]] += hits[row, slot]


@native
def _by_line(  # noqa: PLR0917
    lines: I64, hits: NDArray[np.uint8], slots: I64, first: int, reads: I64, all_hits: I64
) -> None:
    """Add each read, and whether it hit, to its line's place."""
    for row in range(len(lines)):
        for slot in slots:
            if lines[row, slot] != NO_ACCESS:
                reads[lines[row, slot] - first] += 1
                all_hits[lines[row, slot] - first] += hits[row, slot]
