"""The command that measures this machine's ceilings."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from gpgpu_legacy.cli.options import Option
from gpgpu_legacy.cli.shared import (
    ROUNDS,
    Json,
    MeasuredExecutors,
    Quiet,
    app,
    check_output,
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
    from gpgpu_legacy.measure.calibration.model import (
        calibratable,
        calibrate,
        check_kept,
        count_steps,
        write_calibration,
    )
    from gpgpu_legacy.measure.calibration.table import (
        CalibrationsRecord,
        calibration_grid,
        calibration_record,
    )

    check_output(output, ".toml")
    wanted = calibratable(executor)
    if output is not None and len(wanted) != 1:
        raise InputError("--output holds one profile; name one executor with --executor")
    if output is None:
        check_kept(wanted)
    done = []
    with (
        time_limit(budget) as limit,
        progress_bar("calibrating", len(wanted) * count_steps(repeat), quiet=quiet) as step,
    ):
        for number, runner in enumerate(wanted):
            share = limit.share(len(wanted) - number)
            calibration = calibrate(runner, runs=repeat, budget=share, progress=step)
            done.append((calibration, write_calibration(calibration, output)))
            warn_if_busy(calibration.busy_share)
    profiles = tuple(calibration_record(calibration, path) for calibration, path in done)
    grids = [calibration_grid(calibration) for calibration, _ in done]
    show(CalibrationsRecord(profiles=profiles), grids, as_json)
    for _, path in done if not as_json else ():
        print(f"wrote {path}", file=sys.stderr)
