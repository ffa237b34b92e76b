"""The command that measures this machine's ceilings."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from gpgpu_legacy.cli.file_options import check_output
from gpgpu_legacy.cli.options import Option
from gpgpu_legacy.cli.shared import (
    ROUNDS,
    Json,
    MeasuredExecutors,
    Quiet,
    app,
    progress_bar,
    show,
    time_limit,
    warn_if_busy,
)
from gpgpu_legacy.errors import InputError


@app.command("calibrate")
def calibrate_command(
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
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure this machine's ceilings, and keep them as the profile of a chip.

    The profile of an executor is called this-NAME and is kept in the user's data folder; the
    environment variable GPGPU_LEGACY_PROFILES names another folder.
    """
    from gpgpu_legacy.measure.calibration import model, table

    if output is not None:
        check_output(output, ".toml")
    wanted = model.calibratable(executor)
    if output is not None and len(wanted) != 1:
        raise InputError("--output holds one profile; name one executor with --executor")
    if output is None:
        model.check_kept(wanted)
    done = []
    with (
        time_limit(budget) as limit,
        progress_bar("calibrating", len(wanted) * model.count_steps(repeat), quiet=quiet) as step,
    ):
        for number, runner in enumerate(wanted):
            share = limit.share(len(wanted) - number)
            calibration = model.calibrate(runner, runs=repeat, budget=share, progress=step)
            done.append((calibration, model.write_calibration(calibration, output)))
            warn_if_busy(calibration.busy_share)
    profiles = tuple(table.calibration_record(calibration, path) for calibration, path in done)
    grids = [table.calibration_grid(calibration) for calibration, _ in done]
    show(table.CalibrationsRecord(profiles=profiles), grids, as_json)
    for _, path in done if not as_json else ():
        print(f"wrote {path}", file=sys.stderr)
