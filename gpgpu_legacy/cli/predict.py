"""The command that predicts times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.cli.frame import answers
from gpgpu_legacy.cli.options import Option
from gpgpu_legacy.cli.shared import (
    CACHE_HELP,
    IN_FLIGHT_HELP,
    LAYOUT_HELP,
    RASTER_HELP,
    PredictedChip,
)
from gpgpu_legacy.cli.words import Job
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from gpgpu_legacy.predict.model import CacheModel
    from gpgpu_legacy.predict.prediction import Prediction


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
        from gpgpu_legacy.predict.model import CacheModel

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
    from gpgpu_legacy.predict.model import predict_plan

    return predict_plan(job.pipeline(), chip, through.model())
