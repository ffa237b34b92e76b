"""Products behind simulated caches: the cases that studies sweep over."""

from __future__ import annotations

from gpgpu_legacy.algorithms.parameters import Plain
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.cache.caches import Memory, parse_cache
from gpgpu_legacy.chips.profile import Confidence, Fact, Profile
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.predict.model import memory_behind, predict
from gpgpu_legacy.predict.prediction import TimeStage
from gpgpu_legacy.serial import Line, with_fields
from gpgpu_legacy.studies.shared.cache_rows import Setting

NO_CACHE, PERFECT = "none", "perfect"
"""Without a cache, memory serves every lookup; a perfect one takes each texel once per pass."""

CLOCKS = (1, 2, 3, 4)
"""The clocks of a lookup, from one to four.

One is as in Hall, Carr & Hart's text, whose lookups are instructions without a penalty; four is
what is remembered, without a source, for texels of four floats.
"""


class Served(Setting):
    """A product, by method and parameters, in a setting of cache, raster order and layout."""

    method: Line
    parameters: dict[str, Plain]

    @property
    def product(self) -> PlanBuilder:
        """The builder of its plan."""
        return find_product(self.method).builder(**self.parameters)


def memory_bytes(case: Served) -> int | None:
    """The bytes to and from memory, by exact simulation; None for a perfect cache."""
    if case.cache == PERFECT:
        return None
    if case.cache == NO_CACHE:
        return count_plan(case.product.plan()).bytes_requested
    return memory_behind(Memory((parse_cache(case.cache),)), case.access, case.product)


def unit_seconds(plan: Plan, chip: Profile, total: int | None) -> dict[str, float]:
    """The seconds of each unit that draws, by `predict`; the slowest is the limit.

    total: bytes to and from memory; None if each texel is taken once per pass. Raises InputError
    for a chip that lacks a rate.
    """
    seconds = {}
    for term in predict(plan, chip, memory_bytes=total).terms:
        if term.stage is TimeStage.DRAW:
            if term.seconds is None:
                raise InputError(f"{chip.name} has no rate of {term.name}: {term.why}")
            seconds[term.name.split()[0]] = term.seconds
    return seconds


def with_clocks(chip: Profile, clocks: int) -> Profile:
    """The chip with lookups of this many clocks, for texels of any size."""
    fact = Fact(clocks, "assumed", Confidence.HIGH)
    assumed = {f"lookup_clocks_{bits}_bits": fact for bits in (32, 128)}
    measured = dict.fromkeys(f"lookups_{bits}_bits_g_per_s" for bits in (32, 128))
    return with_fields(chip, hardware=with_fields(chip.hardware, **assumed, **measured))
