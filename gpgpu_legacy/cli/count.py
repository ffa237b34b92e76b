"""The commands `count` and `check`: what a plan or a program costs, and whether it loads."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.cli.completion import chip_names
from gpgpu_legacy.cli.draw_options import parse_size
from gpgpu_legacy.cli.frame import answers
from gpgpu_legacy.cli.options import Option, Several
from gpgpu_legacy.cli.program_files import assembled, program_files
from gpgpu_legacy.cli.shared import CHIP_HELP
from gpgpu_legacy.cli.words import Job
from gpgpu_legacy.errors import AssemblyError, InputError

if TYPE_CHECKING:
    from gpgpu_legacy.api.check import CheckedPrograms
    from gpgpu_legacy.api.count import Count
    from gpgpu_legacy.api.program_count import ProgramCount
    from gpgpu_legacy.chips.verdict import Verdict
    from gpgpu_legacy.isa.ir import Program


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
    if program_files(job.words):
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

    files = program_files(job.words)
    if files:
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
