"""The study of rooflines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.cli.completion import chip_names, executor_names
from gpgpu_legacy.cli.frame import Report, answers
from gpgpu_legacy.cli.options import Option, Several
from gpgpu_legacy.cli.shared import BUDGET_S, warn_if_busy
from gpgpu_legacy.cli.words import Size
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from gpgpu_legacy.studies.roofline.here import Here
    from gpgpu_legacy.studies.roofline.result import Roofline


@dataclass(frozen=True)
class RoofOptions:
    """Whose roofs are shown, and how this machine is measured."""

    chip: Annotated[
        Several[str],
        Option(
            "NAME …",
            "See `gpgpu-legacy chips`; `this` is this machine, measured (default: h100-sxm5).",
            complete=chip_names,
        ),
    ] = ()
    recorded: Annotated[
        Several[Path],
        Option("--from", "JSON …", "Add the times that `study lineage` or `bench` recorded."),
    ] = ()
    executor: Annotated[
        Several[str],
        Option(
            "NAME …",
            "Measure these, of `--chip this` (default: all that work here but the reference).",
            complete=executor_names,
        ),
    ] = ()
    budget: Annotated[float, Option("SECONDS", "Measure for so long, for `--chip this`.")] = (
        BUDGET_S
    )


@answers("study roofline", plot="Draw the roofline.")
def roofline_command(size: Size, roof: RoofOptions, report: Report) -> Roofline:
    """Show every method under the roofs of chips, with what was published and measured there.

    With `--chip this`, all methods are measured on this machine's executors, and so are the rates
    of those that `gpgpu-legacy calibrate` has not kept. A point above its roof cannot be right: the
    table names it, and the exit code is 1.
    """
    from gpgpu_legacy.chips.profile import find_profile
    from gpgpu_legacy.predict.model import THIS
    from gpgpu_legacy.studies.roofline import model

    names = list(dict.fromkeys(roof.chip or ["h100-sxm5"]))
    is_here = any(name.strip().lower() == THIS for name in names)
    if roof.executor and not is_here:
        raise InputError("--executor is for this machine; give --chip this, too")
    chips = [find_profile(name) for name in names if name.strip().lower() != THIS]
    reached = [product for path in roof.recorded for product in model.recorded(path)]
    if is_here:
        found = _measure_here(roof, size.n, report)
        chips += found.profiles
        reached += model.measured(found.bench, "measured here")
    return model.roofline(chips, size.n, reached)


def _measure_here(roof: RoofOptions, n: int, report: Report) -> Here:
    from gpgpu_legacy.measure.calibration.model import calibratable
    from gpgpu_legacy.studies.roofline.here import count_steps, measure_here

    executors = calibratable(roof.executor)
    steps = count_steps(executors)
    with report.budget(roof.budget) as budget, report.progress("measuring", steps) as step:
        found = measure_here(executors, n, budget, step)
    warn_if_busy(found.bench.busy_share)
    return found
