"""A plan through a cache: makes its trace and simulates it in a memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.access import (
    DEFAULT_ACCESS,
    NO_ACCESS,
    QUAD,
    Access,
    AccessTrace,
    Chunk,
    PassTrace,
)
from gpgpu_legacy.cache.caches import Memory
from gpgpu_legacy.cache.fragments import trace_fragments
from gpgpu_legacy.cache.kernels import trace_kernels
from gpgpu_legacy.cache.recorded import Replay
from gpgpu_legacy.cache.simulate import Progress, RegionTally, Simulated, simulate
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.expand import at_iteration
from gpgpu_legacy.plan.memory import require_memory
from gpgpu_legacy.plan.plan import FragmentPass, Plan


def plan_trace(
    plan: Plan, line_bytes: int, access: Access = DEFAULT_ACCESS, replay: Replay | None = None
) -> AccessTrace:
    """The accesses of a validated plan, in lines of `line_bytes` bytes.

    replay: runs a plan that draws, if its lookups depend on data.

    A plan of dispatches has no raster order, no texture layout and no fragments in flight. Raises
    InputError if `access` chooses any for such a plan, and if the plan's accesses depend on data.
    """
    if not plan.dispatches:
        return trace_fragments(plan, access, line_bytes=line_bytes, replay=replay)
    if access != DEFAULT_ACCESS:
        raise InputError(
            f"{plan.name} dispatches kernels, which have neither a raster order nor quads nor a "
            "texture layout, and no fragments in flight; leave --raster, --quads, --in-flight and "
            "--layout out"
        )
    return trace_kernels(plan, line_bytes=line_bytes)


def cache_run(
    plan: Plan,
    memory: Memory,
    access: Access = DEFAULT_ACCESS,
    replay: Replay | None = None,
    *,
    every_pass: bool = False,
    progress: Progress = lambda _: None,
) -> Simulated:
    """Simulate a plan's accesses in a memory; see `plan_trace` for replay, and `simulate`.

    Raises InputError as plan_trace does.
    """
    trace = plan_trace(plan, memory.levels[0].line_bytes, access, replay)
    return simulate(trace, memory, every_pass=every_pass, progress=progress)


def memory_bytes(result: Simulated) -> int:
    """Bytes to and from memory, as opposed to bytes that instructions request."""
    return result.bytes_from_memory + result.bytes_to_memory


def operand_tallies(plan: Plan, result: Simulated) -> tuple[RegionTally, ...]:
    """The tallies of the textures that hold the operands."""
    operands = {source.texture for source in plan.inputs}
    return tuple(tally for tally in result.regions if tally.name in operands)


# Heat maps ---------------------------------------------------------------------------------------


I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class HeatMap:
    """The reads of each fragment, and the number of them that hit.

    reads, hits: int64 [rows, columns] of the rectangle, row 0 the lowest.
    """

    reads: I64
    hits: I64

    @property
    def ratio(self) -> NDArray[np.float64]:
        """Hits over reads, float64 [rows, columns]; NaN if there were no reads."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.hits / self.reads


def heat_map(
    plan: Plan,
    memory: Memory,
    access: Access = DEFAULT_ACCESS,
    replay: Replay | None = None,
    *,
    progress: Progress = lambda _: None,
) -> tuple[Simulated, HeatMap]:
    """Where the reads of a plan hit level 1, over all passes; every pass is simulated.

    The fragments are those of the rectangle drawn last, and the map counts the reads of all passes
    that draw a rectangle of its size. Raises InputError as plan_trace does, and for a plan that
    draws nothing.
    """
    trace = plan_trace(plan, memory.levels[0].line_bytes, access, replay)
    counter = _FragmentCounter(plan, access)
    result = simulate(trace, memory, progress=progress, misses=counter.add)
    return result, counter.heat_map()


_BYTES_A_FRAGMENT = 48
"""Its x and y as int32 and as int64, its reads and hits."""


class _FragmentCounter:
    """Reads by the fragment that made them."""

    def __init__(self, plan: Plan, access: Access) -> None:
        drawn = [
            now.drawn
            for times, pass_ in plan.weighted_passes()
            if isinstance(now := at_iteration(pass_, times - 1), FragmentPass)
        ]
        if not drawn:
            raise InputError(f"{plan.name} draws no fragments, so there is nothing to map")
        self.quads, self.counted = access.quads, 0
        self.pass_: PassTrace | None = None
        width, height = self.size = drawn[-1].width, drawn[-1].height
        require_memory(
            _BYTES_A_FRAGMENT * width * height,
            f"a heat map of {width * height} fragments",
            "map a smaller plan",
        )
        side = 2 if self.quads else 1
        places = access.raster.positions(width, height, quads=self.quads)
        self.xs, self.ys = (side * along for along in places)
        # With a margin for the fragments of a quad outside the rectangle.
        self.reads, self.hits = np.zeros((2, height + self.quads, width + self.quads), np.int64)

    def add(self, pass_: PassTrace, chunk: Chunk, hits: NDArray[np.uint8]) -> None:
        """Count the reads of a chunk, whose rows come after those of the pass's other chunks."""
        if pass_.drawn != self.size:
            return
        first = self.counted if pass_ is self.pass_ else 0
        self.pass_, self.counted = pass_, first + len(chunk.lines) * chunk.together
        ys, xs = self.ys[first : self.counted], self.xs[first : self.counted]
        lanes = len(QUAD) if self.quads else 1
        reads = (chunk.lines != NO_ACCESS) & (chunk.kinds % 2 == 0)
        for counts, counted in (self.reads, reads), (self.hits, reads & (hits > 0)):
            of_turns = counted.reshape(len(reads), -1, chunk.together, lanes).sum(axis=1)
            for (right, up), number in zip(QUAD, of_turns.reshape(-1, lanes).T, strict=False):
                counts[ys + up, xs + right] += number  # no two of these places are the same

    def heat_map(self) -> HeatMap:
        """The reads of each fragment."""
        width, height = self.size
        return HeatMap(self.reads[:height, :width], self.hits[:height, :width])
