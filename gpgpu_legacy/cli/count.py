"""The verbs `count`, `check` and `predict`: what a plan costs, and whether it loads."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.cli.completion import chip_names
from gpgpu_legacy.cli.frame import answers
from gpgpu_legacy.cli.options import Option, Several
from gpgpu_legacy.cli.shared import CACHE_HELP, CHIP_HELP, IN_FLIGHT_HELP, LAYOUT_HELP, RASTER_HELP
from gpgpu_legacy.cli.words import Job, assembled, parse_size
from gpgpu_legacy.errors import AssemblyError, InputError

if TYPE_CHECKING:
    from gpgpu_legacy.api.check import CheckedPrograms
    from gpgpu_legacy.api.count import Count
    from gpgpu_legacy.api.program_count import ProgramCount
    from gpgpu_legacy.chips.verdict import Verdict
    from gpgpu_legacy.isa.ir import Program
    from gpgpu_legacy.predict.model import CacheModel
    from gpgpu_legacy.predict.prediction import Prediction


@answers("count")
def count_command(
    job: Job,
    over: Annotated[
        Several[str],
        Option("NAME …", "Recover formulas in these parameters, as in n; log2 of them included."),
    ] = (),
    formats: Annotated[
        Several[str],
        Option(
            "--texels",
            "[UNIT|target=]FORMAT …",
            "For FILE.fp: of a unit's or the target's texels (default: rgba32f).",
        ),
    ] = (),
    size: Annotated[
        str | None, Option("WxH", "For FILE.fp: count a rectangle of W×H fragments, too.")
    ] = None,
) -> Count | ProgramCount:
    """Count instructions, bytes and passes of a plan, or of a fragment of a program FILE.fp.

    With --over, the plan is built and counted at several sizes, and a formula is solved for exactly
    and checked at sizes that took no part.
    """
    if job.programs():
        from gpgpu_legacy.api.program_count import count_program

        if over:
            raise InputError(f"{job.what} has no parameters to find formulas in; leave --over out")
        pairs = (text.rpartition("=")[::2] for text in formats)
        chosen = {place.strip(): name.strip() for place, name in pairs}
        area = None if size is None else parse_size(size)
        return count_program(assembled(Path(job.what)), chosen, area)
    if formats or size is not None:
        option = "--texels" if formats else "--size"
        raise InputError(f"{option} is for a program FILE.fp; a plan has its own, so leave it out")
    from gpgpu_legacy.api.count import count

    return count(job.pipeline(), over, job.algorithm)


@answers("check")
def check_command(
    job: Job,
    chip: Annotated[
        str | None, Option("NAME", f"A chip of the time. {CHIP_HELP}", complete=chip_names)
    ] = None,
) -> Verdict | CheckedPrograms:
    """Say whether a plan, or programs FILE.fp, would have loaded on a chip, and why not.

    Programs without a chip are assembled, and the resources that they use are told. The exit code
    is 2 if a program does not assemble, and 1 if something does not load.
    """
    from gpgpu_legacy.api.check import check, check_programs

    if files := job.programs():
        return check_programs(map(_program_or_faults, files), chip)
    if chip is None:
        raise InputError("give the chip that the plan is checked for, as in --chip radeon-9700")
    return check(job.pipeline(), chip)


def _program_or_faults(file: Path) -> Program | AssemblyError:
    try:
        return assembled(file)
    except AssemblyError as error:
        print(error, file=sys.stderr)
        return error


@dataclass(frozen=True)
class CacheOptions:
    """The cache that a plan's accesses go through."""

    cache: Annotated[str | None, Option("SPEC", f"Simulate this cache. {CACHE_HELP}")] = None
    raster: Annotated[str, Option("ORDER", RASTER_HELP)] = "scan"
    layout: Annotated[str, Option("LAYOUT", LAYOUT_HELP)] = "linear"
    in_flight: Annotated[int, Option("N", IN_FLIGHT_HELP)] = 1

    def model(self) -> CacheModel | None:
        if self.cache is None:
            if self == CacheOptions():
                return None
            raise InputError(
                "--raster, --layout and --in-flight describe a simulated cache; give --cache, too"
            )
        from gpgpu_legacy.cache.access import parse_access
        from gpgpu_legacy.cache.caches import Memory, parse_cache
        from gpgpu_legacy.predict.model import CacheModel

        memory = Memory((parse_cache(self.cache),))
        access = parse_access(self.layout, self.raster, in_flight=self.in_flight)
        return CacheModel(memory, access)


@answers("predict")
def predict_command(
    job: Job,
    chip: Annotated[
        str,
        Option("NAME", "See `gpgpu-legacy chips`; `this` is this machine.", complete=chip_names),
    ],
    through: CacheOptions,
) -> Prediction:
    """Predict the least time that a plan can take on a chip, and its bottleneck.

    `--chip this` stands for the executor that `auto` would choose here; run
    `gpgpu-legacy calibrate` once before. With --cache, memory serves the misses of that simulated
    cache; without it, memory serves each texel that a pass touches once per pass.
    """
    from gpgpu_legacy.predict.model import predict_plan

    return predict_plan(job.pipeline(), chip, through.model())
