"""The command `cache`: plans through simulated caches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.cli.frame import Report, answers
from gpgpu_legacy.cli.options import PICTURE, Option, Several
from gpgpu_legacy.cli.shared import (
    CACHE_HELP,
    IN_FLIGHT_HELP,
    LAYOUT_HELP,
    RASTER_HELP,
    SimulationBudget,
)
from gpgpu_legacy.cli.words import Jobs
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from gpgpu_legacy.api.cache import CacheCurve, CacheRun, CacheSweep, Case
    from gpgpu_legacy.cache.access import Access
    from gpgpu_legacy.cache.caches import Memory

DEFAULT_CACHE = "8K,4way,64B"


class Writes(Enum):
    """What a write that misses does."""

    NO_ALLOCATE = "no-allocate"
    ALLOCATE = "allocate"


@dataclass(frozen=True)
class MemoryOptions:
    """The caches to simulate, each with the same second level and the same writes."""

    cache: Annotated[Several[str], Option("SPEC …", CACHE_HELP)] = (DEFAULT_CACHE,)
    second_level: Annotated[
        str | None,
        Option("SPEC", "A second level behind it, shared by all textures; spelled as --cache."),
    ] = None
    per_texture: Annotated[bool, Option("Give each texture a first level of its own.")] = False
    writes: Annotated[
        Writes | None, Option("Whether a write that misses fills a line (default: no-allocate).")
    ] = None
    seed: Annotated[int, Option("SEED", "Seed of random replacement.")] = 0

    def memories(self) -> list[Memory]:
        """A memory for each cache."""
        from gpgpu_legacy.cache.caches import Memory, parse_cache

        behind = () if self.second_level is None else (parse_cache(self.second_level),)
        allocate = self.writes is Writes.ALLOCATE
        return [
            Memory((parse_cache(text), *behind), self.per_texture, allocate, self.seed)
            for text in self.cache
        ]


@dataclass(frozen=True)
class AccessOptions:
    """How fragments touch textures: all combinations of orders, layouts and numbers in flight."""

    raster: Annotated[Several[str], Option("ORDER …", RASTER_HELP)] = ("scan",)
    quads: Annotated[
        bool, Option("Draw in quads: the 2×2 fragments of a quad make each access in turn.")
    ] = False
    layout: Annotated[Several[str], Option("LAYOUT …", LAYOUT_HELP)] = ("linear",)
    in_flight: Annotated[Several[int], Option("N,…", IN_FLIGHT_HELP)] = (1,)

    def accesses(self) -> list[Access]:
        """The orders, layouts and numbers in flight, combined."""
        from gpgpu_legacy.cache.access import parse_access

        return [
            parse_access(layout, raster, quads=self.quads, in_flight=in_flight)
            for raster, layout, in_flight in product(self.raster, self.layout, self.in_flight)
        ]


@answers("cache", plot="Plot the sweep, or with --curve the curves.")
def cache_command(
    *,
    jobs: Jobs,
    memories: MemoryOptions,
    accesses: AccessOptions,
    every_pass: Annotated[
        bool, Option("Also simulate the iterations that provably repeat.")
    ] = False,
    budget: SimulationBudget = None,
    curve: Annotated[
        bool, Option("Count the misses of fully associative caches of every size.")
    ] = False,
    heat_map: Annotated[
        Path | None,
        Option(PICTURE, "Draw a heat map: where the reads hit, by fragment."),
    ] = None,
    heat_map_of: Annotated[
        str | None, Option("TEXTURE", "Draw it by the texels of this texture instead.")
    ] = None,
    report: Report,
) -> CacheRun | CacheSweep | CacheCurve:
    """Simulate lookups and writes through a cache: hits, misses, bytes from memory.

    Parameters, --cache, --raster, --layout and --in-flight take several values; every combination
    is simulated. Kernels' buffers and shared arrays go through the cache in the same way.
    """
    from gpgpu_legacy.api import cache
    from gpgpu_legacy.api.cache_plot import check_sweep, draw_heat_map

    if heat_map_of is not None and heat_map is None:
        raise InputError("--heat-map-of names a texture; name the picture with --heat-map")
    if heat_map is not None and report.plot is not None:
        raise InputError("--heat-map draws one run, which has no other plot; leave --plot out")
    if curve and (heat_map or every_pass or memories.second_level or memories.per_texture):
        raise InputError(
            "--curve is about caches of every size; leave --heat-map, --every-pass, "
            "--second-level and --per-texture out"
        )
    if curve and memories.writes is Writes.NO_ALLOCATE:
        raise InputError(
            "--curve counts writes that fill lines, since without filling there is no single "
            "curve; leave --writes out or give allocate"
        )
    cases = cache.cases_of(jobs.pipelines(), accesses.accesses(), memories.memories())
    if heat_map is not None and len(cases) > 1:
        raise InputError("--heat-map draws one run; give each parameter and option one value")
    if report.plot is not None and not curve:
        check_sweep([case.not_run("") for case in cases])
    with report.budget(budget) as within, _progress(cases, report) as watch:
        if curve:
            return cache.cache_curves(cases, within, watch)
        if heat_map is None:
            return cache.cache_sweep(cases, within, watch, every_pass=every_pass)
        run, heat = cache.cache_map(cases[0], heat_map_of, within, watch(cases[0]))
    draw_heat_map(run, heat, heat_map)
    print(f"wrote {heat_map}", file=sys.stderr)
    return run


@contextmanager
def _progress(
    cases: Sequence[Case], report: Report
) -> Iterator[Callable[[Case], Callable[[float], None]]]:
    """A bar with a hundred steps a case; it yields what makes each simulation's callback."""
    with report.progress("simulating", 100 * len(cases)) as step:

        def of(case: Case) -> Callable[[float], None]:
            reported = 0

            def fraction(done: float) -> None:
                nonlocal reported
                while reported < min(100, int(100 * done)):
                    reported += 1
                    step(str(case))

            return fraction

        yield of
