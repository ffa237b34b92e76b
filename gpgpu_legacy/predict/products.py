"""Predict a method's product on a chip, which may be this machine, and behind a simulated cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpgpu_legacy.algorithms.matmul.method import Method
from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.chips.check_plan import check_plan
from gpgpu_legacy.chips.profile import Profile, calibrated, calibrated_name, find_profile
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.predict.model import predict
from gpgpu_legacy.predict.prediction import Prediction
from gpgpu_legacy.runtime.registry import AUTO, find_executor

if TYPE_CHECKING:
    from gpgpu_legacy.cache.access import Access
    from gpgpu_legacy.cache.caches import Memory

THIS = "this"
"""The name of the chip that is this machine."""


@dataclass(frozen=True, slots=True)
class CacheModel:
    """Caches to be simulated, and how fragments touch textures through them."""

    memory: Memory
    access: Access

    def memory_bytes(self, plan: Plan) -> int:
        """Bytes that memory serves behind the caches; raises as `cache_run` does."""
        from gpgpu_legacy.cache.run import cache_run, memory_bytes  # imports numba

        return memory_bytes(cache_run(plan, self.memory, self.access))


@dataclass(frozen=True, slots=True)
class ProductPrediction:
    """A prediction for a product. exceeds: the limits of the chip that it exceeds, in words."""

    prediction: Prediction
    shape: Shape
    exceeds: tuple[str, ...]


def predict_product(
    method: Method, shape: Shape, options: Options, chip: str, cache: CacheModel | None = None
) -> ProductPrediction:
    """Predict a product on the chip of that name, or on `this` machine.

    Raises InputError for what the method refuses, for an unknown chip, and for this machine if it
    is not calibrated; and what `predict` raises.
    """
    plan = method.plan(shape, options)
    profile = find_chip(chip, plan)
    served = None if cache is None else cache.memory_bytes(plan)
    prediction = predict(plan, profile, memory_bytes=served)
    return ProductPrediction(prediction, shape, check_plan(plan, profile).excesses)


def find_chip(name: str, plan: Plan) -> Profile:
    """The profile of that name; for `this`, of the executor that `auto` chooses for the plan."""
    if name.strip().lower() != THIS:
        return find_profile(name)
    executor = find_executor(AUTO, plan).name
    for profile in calibrated():
        if profile.name == calibrated_name(executor):
            return profile
    raise InputError(
        f"{executor} is not calibrated on this machine; run "
        f"`gpgpu-legacy calibrate --executor {executor}` first"
    )
