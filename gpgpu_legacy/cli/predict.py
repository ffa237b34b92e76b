"""Commands about time: predict it, compare predictions with measurements, calibrate, rooflines."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.cli.completion import chip_names, executor_names
from gpgpu_legacy.cli.frame import answers
from gpgpu_legacy.cli.options import Option, Several
from gpgpu_legacy.cli.shared import (
    BUDGET_S,
    CACHE_HELP,
    IN_FLIGHT_HELP,
    LAYOUT_HELP,
    PAPER_SIZE,
    RASTER_HELP,
    Json,
    PaperSize,
    PredictedChip,
    Quiet,
    app,
    draw,
    plot_option,
    progress_bar,
    show,
    time_limit,
    warn_if_busy,
)
from gpgpu_legacy.cli.words import Job
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from gpgpu_legacy.predict.mispredictions import Mispredictions
    from gpgpu_legacy.predict.plans import CacheModel
    from gpgpu_legacy.predict.prediction import Prediction
    from gpgpu_legacy.studies.roofline.here import Here


@dataclass(frozen=True)
class CacheOptions:
    """The cache that a plan's accesses go through."""

    cache: Annotated[str | None, Option("SPEC", f"Simulate this cache. {CACHE_HELP}")] = None
    raster: Annotated[str | None, Option("ORDER", f"{RASTER_HELP[:-1]} (default: scan).")] = None
    layout: Annotated[str | None, Option("LAYOUT", f"{LAYOUT_HELP[:-1]} (default: linear).")] = None
    in_flight: Annotated[int | None, Option("N", f"{IN_FLIGHT_HELP[:-1]} (default: 1).")] = None

    def model(self) -> CacheModel | None:
        if self.cache is None:
            if self.raster is None and self.layout is None and self.in_flight is None:
                return None
            raise InputError(
                "--raster, --layout and --in-flight describe a simulated cache; give --cache, too"
            )
        from gpgpu_legacy.cache.access import parse_access
        from gpgpu_legacy.cache.caches import Memory, parse_cache
        from gpgpu_legacy.predict.plans import CacheModel

        memory = Memory((parse_cache(self.cache),))
        in_flight = 1 if self.in_flight is None else self.in_flight
        return CacheModel(memory, parse_access(self.layout, self.raster, in_flight=in_flight))


@answers("predict")
def predict_command(job: Job, chip: PredictedChip, through: CacheOptions) -> Prediction:
    """Predict the least time that a plan can take on a chip, and its bottleneck.

    `--chip this` stands for the executor that `auto` would choose here; run
    `gpgpu-legacy calibrate` once before. With --cache, memory serves the misses of that simulated
    cache; without it, memory serves each texel that a pass touches once per pass.
    """
    from gpgpu_legacy.predict.plans import predict_plan

    return predict_plan(job.pipeline(), chip, through.model())


@dataclass(frozen=True)
class RoofOptions:
    """Whose roofs are shown, and at which size."""

    chip: Annotated[
        Several[str],
        Option(
            "NAME …",
            "See `gpgpu-legacy chips`; `this` is this machine, measured (default: h100-sxm5).",
            complete=chip_names,
        ),
    ] = ()
    size: PaperSize = None
    recorded: Annotated[
        Several[Path],
        Option("--from", "JSON …", "Add the times that `lineage` or `bench` recorded."),
    ] = ()


@dataclass(frozen=True)
class HereOptions:
    """How this machine is measured."""

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


@app.command("roofline")
def roofline_command(
    roof: RoofOptions,
    here: HereOptions,
    plot: Annotated[Path | None, plot_option("Draw the roofline, too.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show every method under the roofs of chips, with what was published and measured there.

    With `--chip this`, all methods are measured on this machine's executors, and so are the rates
    of those that `gpgpu-legacy calibrate` has not kept. A point above its roof cannot be right: the
    command names it and exits with code 1.
    """
    from gpgpu_legacy.chips.profile import find_profile
    from gpgpu_legacy.predict.plans import THIS
    from gpgpu_legacy.studies.roofline import model, table
    from gpgpu_legacy.studies.roofline.plot import draw_roofline

    names = list(dict.fromkeys(roof.chip or ["h100-sxm5"]))
    size = PAPER_SIZE if roof.size is None else roof.size
    is_here = any(name.strip().lower() == THIS for name in names)
    if here.executor and not is_here:
        raise InputError("--executor is for this machine; give --chip this, too")
    chips = [find_profile(name) for name in names if name.strip().lower() != THIS]
    products = [product for path in roof.recorded for product in model.recorded(path)]
    if is_here:
        found = _measure_here(here, size, quiet=quiet)
        chips += found.profiles
        products += model.measured(found.bench, "measured here")
    result = model.roofline(chips, size, products)
    show(result, table.roofline_grids(result), as_json)
    draw(result, draw_roofline, plot)
    above = [(point, panel) for panel in result.panels for point in panel.above]
    for point, panel in above:
        print(f"gpgpu-legacy: {table.above_text(point, panel)}", file=sys.stderr)
    if above:
        sys.exit(1)


def _measure_here(here: HereOptions, size: int, *, quiet: bool) -> Here:
    from gpgpu_legacy.measure.calibration.model import calibratable
    from gpgpu_legacy.studies.roofline.here import count_steps, measure_here

    executors = calibratable(here.executor)
    with (
        time_limit(here.budget) as budget,
        progress_bar("measuring", count_steps(executors), quiet=quiet) as step,
    ):
        found = measure_here(executors, size, budget, step)
    warn_if_busy(found.bench.busy_share)
    return found


@answers("study mispredictions")
def mispredictions_command() -> Mispredictions:
    """Compare predicted with published and measured times, with the reason for each difference.

    The exit code is 1 if a prediction differs from the recorded one.
    """
    from gpgpu_legacy.predict.mispredictions import compare_all

    return compare_all()
