"""Predict any plan on a chip, which may be this machine, and behind a simulated cache."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpgpu_legacy.chips.check_plan import check_plan
from gpgpu_legacy.chips.profile import Profile, calibrated, calibrated_name, find_profile
from gpgpu_legacy.count.by_pass import work_of_pass
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.pass_names import kind_of_pass, name_of_pass, numbers_text
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.predict.auto import MANY, executor_for
from gpgpu_legacy.predict.model import predict
from gpgpu_legacy.predict.parts import Part, parts_of
from gpgpu_legacy.predict.prediction import TRANSFERS, PassTime, Prediction, Stage
from gpgpu_legacy.predict.rates import Rates
from gpgpu_legacy.runtime.registry import AUTO
from gpgpu_legacy.serial import with_fields

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


def predict_plan(p: PlanBuilder, chip: str, cache: CacheModel | None = None) -> Prediction:
    """Predict a plan on the chip of that name, or on `this` machine.

    Raises InputError for a plan without passes, for an unknown chip and for this machine if it is
    not calibrated, and what `predict` and, with a cache, `cache_run` raise.
    """
    plan = p.plan()
    if not plan.steps:
        raise InputError(
            f"{plan.name} has no passes, so there is no time to predict; give a size of at least 1"
        )
    profile = find_chip(chip, plan)
    served = None if cache is None else cache.memory_bytes(plan)
    prediction = predict(plan, profile, memory_bytes=served)
    seconds = prediction.compute_seconds
    return with_fields(
        prediction,
        parameters=dict(p.parameters),
        gflops=1e-9 * p.operations / seconds if p.operations and seconds else None,
        passes=predict_passes(plan, profile),
        exceeds=check_plan(plan, profile).excesses,
        memory_bytes=prediction.memory_bytes if served is None else served,
    )


def find_chip(name: str, plan: Plan) -> Profile:
    """The profile of that name; for `this`, of the executor that `auto` chooses for the plan."""
    if name.strip().lower() != THIS:
        return find_profile(name)
    executor = executor_for(AUTO, plan, runs=MANY).name
    for profile in calibrated():
        if profile.name == calibrated_name(executor):
            return profile
    raise InputError(
        f"{executor} is not calibrated on this machine; run "
        f"`gpgpu-legacy calibrate --executor {executor}` first"
    )


# By pass ----------------------------------------------------------------------------------------


def predict_passes(plan: Plan, chip: Profile) -> tuple[PassTime, ...]:
    """The least time of each pass of a plan on a chip, in the order in which they first run.

    Passes that do the same work, in whatever textures, are predicted together. Each pass is bound
    by its own slowest unit, so the passes can take longer than `predict` says of the plan, where
    all work may overlap. They are timed without a simulated cache, without transfers and without
    the overhead of a run.
    """
    groups: dict[Hashable, list[tuple[Part, Prediction]]] = {}
    for part in parts_of(plan, apart=not Rates(chip.hardware).fuses_passes):
        work = tuple(work_of_pass(pass_) for _, pass_ in part.plan.weighted_passes())
        group = groups.setdefault((work, part.plan.textures), [])
        group.append((part, predict(part.plan, chip)))
    return tuple(map(_pass_time, groups.values()))


def _pass_time(group: list[tuple[Part, Prediction]]) -> PassTime:
    times = [(part.times, _seconds(prediction)) for part, prediction in group]
    seconds = [times_ * one for times_, one in times if one is not None]
    bottlenecks: dict[str, float] = {}
    for part, prediction in group:
        if (term := prediction.bottleneck) is not None and term.seconds is not None:
            before = bottlenecks.get(term.name, 0.0)
            bottlenecks[term.name] = before + part.times * term.seconds
    numbers = sorted((n for part, _ in group for n in part.numbers), key=lambda n: n.first)
    passes = group[0][0].passes
    return PassTime(
        numbers=numbers_text(numbers),
        runs=sum(n.count for n in numbers),
        what=tuple(f"{kind_of_pass(p)} {name_of_pass(p)}".rstrip() for p in passes),
        seconds=sum(seconds) if len(seconds) == len(times) else None,
        binds=max(bottlenecks, key=bottlenecks.__getitem__, default=None),
    )


def _seconds(prediction: Prediction) -> float | None:
    """Seconds of a part: without transfers, and without the overhead of a run."""
    there = {term.stage for term in prediction.terms} - TRANSFERS - {Stage.RUN}
    times = {stage: prediction.stage_seconds(stage) for stage in Stage if stage in there}
    if any(seconds is None for stage, seconds in times.items() if stage is not Stage.PASS):
        return None
    return sum(seconds for seconds in times.values() if seconds is not None)
