"""The verbs `count`, `check`, `predict` and `cache`: the cost of a plan, and whether it loads."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from gpgpu_legacy.api.command.frame import Report, answers, up_to
from gpgpu_legacy.api.command.options import PICTURE, Several, chip_names
from gpgpu_legacy.api.command.words import (
    CACHE,
    CHIP,
    AccessOptions,
    AnyTime,
    Caches,
    Job,
    Jobs,
    Layouts,
    ManyInFlight,
    Rasters,
    Seed,
    assembled,
)
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import AssemblyError, InputError

if TYPE_CHECKING:
    from gpgpu_legacy.api.cache import CacheRun, CacheSweep, Simulation
    from gpgpu_legacy.api.check import CheckedPrograms, ProgramCount
    from gpgpu_legacy.api.count import Count
    from gpgpu_legacy.chips.verdict import Verdict
    from gpgpu_legacy.isa.program import Program
    from gpgpu_legacy.predict.prediction import Prediction


@answers("count")
def count_command(
    job: Job,
    over: Annotated[
        Several[str],
        "NAME",
        "Recover formulas in these parameters, such as n, and their log2.",
    ] = (),
    formats: Annotated[
        Several[str],
        "--texels",
        "[UNIT|target=]FORMAT",
        "For FILE.fp: of a unit's or the target's texels (default: rgba32f).",
    ] = (),
) -> Count | ProgramCount:
    """Count instructions, bytes and passes of a plan, or of a fragment of a program FILE.fp.

    With --over, the plan is built and counted at several sizes; formulas are solved for exactly,
    and checked at other sizes.
    """
    if job.programs():
        from gpgpu_legacy.api.check import count_program

        if over:
            raise InputError(f"{job.what} has no parameters to find formulas in; leave --over out")
        pairs = (text.rpartition("=")[::2] for text in formats)
        chosen = {place.strip(): name.strip() for place, name in pairs}
        return count_program(assembled(job.what), chosen)
    if formats:
        raise InputError("--texels is for a program FILE.fp; a plan has its own, so leave it out")
    return job.pipeline().count(over)


@answers("check")
def check_command(
    job: Job,
    chip: Annotated[str | None, CHIP] = None,
) -> Verdict | CheckedPrograms:
    """Say whether a plan, or programs FILE.fp, would have loaded on a chip, and why not.

    Without a chip, programs are assembled, and their resources are listed. The exit code
    is 2 if a program does not assemble, and 1 if something does not load.
    """
    from gpgpu_legacy.api.check import check_programs

    if files := job.programs():
        return check_programs(map(_program_or_faults, files), chip)
    if chip is None:
        raise InputError("give the chip that the plan is checked for, as in --chip radeon-9700")
    return job.pipeline().check(chip)


def _program_or_faults(file: str) -> Program | AssemblyError:
    try:
        return assembled(file)
    except AssemblyError as error:
        print(error, file=sys.stderr)
        return error


@answers("predict")
def predict_command(
    *,
    job: Job,
    chip: Annotated[
        str,
        "NAME",
        "See `gpgpu-legacy chips`; `this` is this machine.",
        chip_names,
    ],
    access: AccessOptions,
    cache: Annotated[str | None, CACHE] = None,
    pass_us: Annotated[
        float | None, "N", "The fixed cost of a pass in microseconds, if the chip's is not known."
    ] = None,
) -> Prediction:
    """Predict the least time that a plan can take on a chip, and its bottleneck.

    `--chip this` is this machine with the executor that `auto` would choose; run `gpgpu-legacy
    calibrate` once before. A block that you do not give is the largest that loads on the chip, up
    to the method's default. With --cache, memory serves the misses of that simulated cache; without
    it, memory serves each texel once in each pass that reads it.
    """
    if cache is None and access != AccessOptions():
        raise InputError(
            "--raster, --layout and --in-flight describe a simulated cache; give --cache, too"
        )
    return job.pipeline().predict(
        chip,
        cache=cache,
        raster=access.raster,
        layout=access.layout,
        in_flight=access.in_flight,
        pass_us=pass_us,
    )


@frozen
class CacheOptions:
    """Caches with the same second level and writes, and the ways that fragments access them."""

    cache: Caches = ("8K,4way,64B",)
    second_level: Annotated[
        str | None,
        "SPEC",
        "A second level behind it, shared by all textures; spelled like --cache.",
    ] = None
    per_texture: Annotated[bool, "Give each texture a first level of its own."] = False
    writes: Annotated[
        Literal["no-allocate", "allocate"] | None,
        "Whether a write that misses fills a line (default: no-allocate).",
    ] = None
    seed: Seed = 0
    raster: Rasters = ("scan",)
    quads: Annotated[
        bool, "Draw in quads: the 2×2 fragments of a quad make each access in turn."
    ] = False
    layout: Layouts = ("linear",)
    in_flight: ManyInFlight = (1,)

    def cases(self, jobs: Jobs) -> list[Simulation]:
        """All combinations of plans, caches and orders of accesses."""
        from gpgpu_legacy.api.cache import distinct, simulation

        swept = product(jobs.cases(), self.raster, self.layout, self.in_flight, self.cache)
        return distinct(
            simulation(
                p,
                cache,
                inputs=arrays,
                second_level=self.second_level,
                per_texture=self.per_texture,
                writes=self.writes or "no-allocate",
                seed=self.seed,
                quads=self.quads,
                raster=raster,
                layout=layout,
                in_flight=in_flight,
            )
            for (p, arrays), raster, layout, in_flight, cache in swept
        )


@answers("cache", plot="Plot the sweep.")
def cache_command(
    *,
    jobs: Jobs,
    options: CacheOptions,
    every_pass: Annotated[bool, "Also simulate the iterations that provably repeat."] = False,
    budget: AnyTime = None,
    heat_map: Annotated[
        Path | None, PICTURE, "Draw a heat map: where the reads hit, by fragment."
    ] = None,
    report: Report,
) -> CacheRun | CacheSweep:
    """Simulate lookups and writes through a cache: hits, misses, bytes from memory.

    Parameters, --cache, --raster, --layout and --in-flight take several values; every combination
    is simulated. Kernels' buffers and shared arrays go through the cache in the same way.
    """
    from gpgpu_legacy.api import cache
    from gpgpu_legacy.api.cache_plot import across_of, draw_heat_map

    if heat_map is not None and report.plot is not None:
        raise InputError("--heat-map draws one run, which has no other plot; leave --plot out")
    cases = options.cases(jobs)
    if heat_map is not None and len(cases) > 1:
        raise InputError("--heat-map draws one run; give each parameter and option one value")
    if report.plot is not None:
        across_of([case.not_run("").varied for case in cases])
    with report.work("simulating", 100 * len(cases), budget) as within:

        def watch(case: Simulation) -> Callable[[float], None]:
            reach = up_to(100, within.tell)
            return lambda done: reach(str(case), 100 * done)

        if heat_map is None:
            return cache.cache_sweep(cases, within, watch, every_pass=every_pass)
        progress = within.until_spent(watch(cases[0]))
        run, heat = cache.cache_map(cases[0], progress)
    draw_heat_map(heat, run.title(), heat_map)
    print(f"wrote {heat_map}", file=sys.stderr)
    return run
