"""The command that measures this machine's ceilings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.cli.frame import Report, answers
from gpgpu_legacy.cli.options import Option, check_output
from gpgpu_legacy.cli.shared import ROUNDS, MeasuredExecutors, warn_if_busy
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from gpgpu_legacy.measure.calibration.model import Calibrations


@answers("calibrate")
def calibrate_command(
    report: Report,
    executor: MeasuredExecutors = (),
    repeat: Annotated[int, Option("ROUNDS", "Rounds of all ceilings.")] = ROUNDS,
    budget: Annotated[
        float | None,
        Option(
            "SECONDS",
            "Stop after this time, all executors together (default: no limit, for a profile "
            "that is kept); each ceiling is run once in any case.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        Option("-o", "--output", "FILE", "Write the profile of one executor to this .toml file."),
    ] = None,
) -> Calibrations:
    """Measure this machine's ceilings, and keep them as the profile of a chip.

    The profile of an executor is called this-NAME and is kept in the user's data folder; the
    environment variable GPGPU_LEGACY_PROFILES names another folder.
    """
    from gpgpu_legacy.measure.calibration import model

    if output is not None:
        check_output(output, ".toml")
    wanted = model.calibratable(executor)
    if output is not None and len(wanted) != 1:
        raise InputError("--output holds one profile; name one executor with --executor")
    if output is None:
        model.check_kept(wanted)
    done = []
    steps = len(wanted) * model.count_steps(repeat)
    with report.budget(budget) as limit, report.progress("calibrating", steps) as step:
        for number, runner in enumerate(wanted):
            share = limit.share(len(wanted) - number)
            found = model.calibrate(runner, runs=repeat, budget=share, progress=step)
            done.append(model.write_calibration(runner, found, output))
            warn_if_busy(found.busy_share)
    return model.Calibrations(profiles=tuple(done))
