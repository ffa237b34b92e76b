"""A lower bound of the time that a plan takes on a chip: counts over rates, term by term.

A stage is work that overlaps: arithmetic, lookups, memory and writes of fragments happen at once,
so the longest of these terms is the stage's time. Stages follow one another, and their times add
up: drawing or dispatches, copies, clears, the overhead of passes, and the transfers over the bus.
An unknown rate makes its term unknown, never zero; the total then covers the known terms, and says
so.

The bytes of kernels' loads and stores follow the chip's coalescing rule; without a rule, each
buffer moves once per dispatch. A kernel makes the loads and stores that its text has; a vec4 of
consecutive elements is one load. A compiler that merges others may beat such a bound.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial

from gpgpu_legacy.cache.access import Access, parse_access
from gpgpu_legacy.cache.caches import Memory, parse_cache
from gpgpu_legacy.chips.check_plan import check_plan
from gpgpu_legacy.chips.profile import (
    GIVEN,
    LARGEST_FACT,
    Confidence,
    Fact,
    Profile,
    calibrated,
    calibrated_name,
    find_profile,
)
from gpgpu_legacy.chips.verdict import LoadAnswer
from gpgpu_legacy.count.coalescing import RULES, CoalescingRule, transactions
from gpgpu_legacy.count.traffic import count_plan, work_of_pass
from gpgpu_legacy.errors import InputError, PlanError
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.inputs import replay
from gpgpu_legacy.plan.numbers import numbers_text
from gpgpu_legacy.plan.plan import (
    ComputePass,
    Plan,
    kind_of_pass,
    name_of_pass,
    read_by,
    written_by,
)
from gpgpu_legacy.predict.auto import MANY, executor_for
from gpgpu_legacy.predict.prediction import (
    TRANSFERS,
    ChipRate,
    PassTime,
    Prediction,
    Rates,
    Term,
    TimeStage,
    make_prediction,
    make_term,
)
from gpgpu_legacy.predict.work import PlanPart, Work, count_accesses, count_work, parts_of
from gpgpu_legacy.runtime.executor import AUTO
from gpgpu_legacy.serial import with_fields

CHANNELS = 4

CacheModel = Callable[[PlanBuilder], int]
"""A function that gives the bytes that memory serves for a builder's plan."""


def predict(
    plan: Plan, chip: Profile, *, memory_bytes: int | None = None, rule: str | None = None
) -> Prediction:
    """Predict the least time that a plan takes on a chip.

    All bounds of this package come from here: those of commands, audits, rooflines and the log.

    memory_bytes: the memory traffic, copies included, if it is known from a simulated cache; by
    default, each texel that a pass touches is served once per pass. rule: of coalescing, in place
    of the profile's, to see what follows from it. Raises PlanError for a kernel whose control flow
    depends on data (see count_compute_pass), and for memory_bytes on a chip that fuses passes,
    since fused passes make other accesses than the plan.
    """
    transfers, rates = count_plan(replace(plan, steps=())), Rates(chip.hardware)
    if memory_bytes is not None and rates.fuses_passes:
        raise PlanError(
            f"{chip.name} fuses passes and keeps partial sums in registers, so a cache of the "
            "plan's own accesses does not apply to it; choose a chip that runs pass by pass"
        )
    work = count_work(plan, rates)
    memory = rates.memory(plan.texture_bytes)
    terms = [*_drawn(work, rates, memory)]
    if plan.dispatches:
        known = chip.hardware.coalescing
        chosen = RULES[rule] if rule else RULES.get(known.value) if known else None
        dispatches = (
            replace(step, body=tuple(p for p in step.body if isinstance(p, ComputePass)))
            for step in plan.repeats()
        )
        terms += _dispatched(replace(plan, steps=tuple(dispatches)), rates, memory, chosen)
    copy_bytes = work.copy_bytes
    if memory_bytes is not None:
        copy_bytes = 0  # among the served bytes
        served = make_term(TimeStage.DRAW, "memory behind the cache", memory_bytes, "bytes", memory)
        terms = [
            with_fields(served, stage=term.stage) if term.name == "memory" and term.count else term
            for term in terms
        ]
    if chip.hardware.run_us is not None:  # only calibrated profiles have it
        terms.append(
            make_term(
                TimeStage.RUN, "run overhead", 1, "runs", rates.rate(scale=1e6, over="run_us")
            )
        )
    upload, readback = map(rates.transfers, ("upload_gb_per_s", "readback_gb_per_s"))
    terms += [
        make_term(TimeStage.COPY, "copies", copy_bytes, "bytes", memory),
        make_term(TimeStage.CLEAR, "clears", work.clear_bytes, "bytes", memory),
        make_term(
            TimeStage.PASS, "passes", work.passes, "passes", rates.rate(scale=1e6, over="pass_us")
        ),
        make_term(TimeStage.UPLOAD, "upload", transfers.upload_bytes, "bytes", upload),
        make_term(TimeStage.READBACK, "read-back", transfers.readback_bytes, "bytes", readback),
    ]
    return make_prediction(chip.name, plan.name, terms)


# Drawing ----------------------------------------------------------------------------------------


_draw = partial(make_term, TimeStage.DRAW)


def _drawn(work: Work, rates: Rates, memory: ChipRate) -> Iterator[Term]:
    yield _arithmetic(work, rates)
    if work.most_branches:
        yield _draw("branches", work.branches, "branches", rates.branches(work.most_branches))
    yield _by_bits("lookups", work.lookups, "lookups", rates.lookups)
    shared = _occupied(rates.known("shared_memory_gb_per_s"), work.occupancy)
    yield _draw("shared memory", work.shared_bytes, "bytes", shared)
    yield _draw("memory", work.memory_bytes, "bytes", memory)
    for name, counts in (("fill", work.fills), ("blend", work.blends)):
        written = _by_bits(name, counts, "fragments", partial(rates.writes, f"{name}s"))
        yield written if rates.writes_overlap else with_fields(written, stage=TimeStage.WRITE)


def _arithmetic(work: Work, rates: Rates) -> Term:
    """Multiply-adds and dot products, one after another; instructions on a chip of vectors."""
    rate, dots = rates.fragment_arithmetic(), rates.known("dots_g_per_s")
    if rates.instruction_width > 1:
        return _draw("arithmetic", work.instructions, "instructions", rate)
    count, unit = work.components + CHANNELS * work.dots, "multiply-adds"
    if work.dots and dots.per_second is not None and rate.per_second is not None:
        count, unit = work.components + work.dots, "operations"
        seconds = work.components / rate.per_second + work.dots / dots.per_second
        facts = (*rate.facts, *dots.facts)
        rate = ChipRate(count / seconds, facts, "multiply-adds and dot products")
    return _draw("arithmetic", count, unit, _occupied(rate, work.occupancy))


def _occupied(rate: ChipRate, occupancy: float) -> ChipRate:
    """The rate of a chip of which only a part is busy."""
    if rate.per_second is None or occupancy >= 1.0:
        return rate
    why = f"tiles occupy {100 * occupancy:.0f} % of the chip"
    return ChipRate(
        rate.per_second * occupancy, rate.facts, f"{rate.why}, {why}" if rate.why else why
    )


def _by_bits(
    name: str, counts: Counter[int], unit: str, rate_of: Callable[[int], ChipRate]
) -> Term:
    """A term for texels of several sizes, which one unit serves one after another."""
    total = counts.total()
    parts = [(count, rate_of(bits)) for bits, count in sorted(counts.items()) if count]
    rates = [rate for _, rate in parts] or [ChipRate(None)]
    rate = next((rate for rate in rates if rate.per_second is None), rates[0])
    if rate.per_second is not None and len(parts) > 1:
        seconds = sum(count / rate.per_second for count, rate in parts if rate.per_second)
        facts = tuple(dict.fromkeys(fact for rate in rates for fact in rate.facts))
        rate = ChipRate(total / seconds, facts, "texels of two sizes")
    return _draw(name, total, unit, rate)


# Dispatches -------------------------------------------------------------------------------------


def _dispatched(
    plan: Plan, rates: Rates, memory: ChipRate, rule: CoalescingRule | None
) -> Iterator[Term]:
    counts, term = count_plan(plan), partial(make_term, TimeStage.DISPATCH)
    if counts.dispatches == counts.invocations:
        unknown = ChipRate(None, why="the rate of a single invocation is not known")
        yield term("arithmetic", counts.arithmetic, "operations", unknown)
        yield term("memory", counts.bytes_requested, "bytes", unknown)
        return
    arithmetic = rates.known("compute_peak_gflops", "fragment_peak_gflops")  # the same units
    yield term("arithmetic", counts.arithmetic, "operations", arithmetic)
    if rates.hardware.accesses_per_clock is not None:
        started = rates.rate("cores", "core_clock_mhz", "accesses_per_clock", scale=1e6)
        yield term("loads and stores", count_accesses(plan), "accesses", started)
    moved = None
    if rule:
        with suppress(PlanError):  # too long to follow, or of doubles
            moved = transactions(plan, rule)
    if moved is None:
        buffers = sum(
            times * plan.texture(name).size_bytes
            for times, pass_ in plan.weighted_passes()
            for name in {*read_by(pass_), *written_by(pass_)}
        )
        yield term("memory", buffers, "bytes", memory)
        unknown = ChipRate(None, why="the chip's coalescing rule is not known")
        yield term("shared memory", counts.shared_loads + counts.shared_stores, "accesses", unknown)
        return
    yield term("memory", moved.bytes_transacted, "bytes", memory)
    served = moved.shared_requests + moved.shared_replays
    yield term("shared memory", served, "requests", rates.shared_memory())


# This machine, and a simulated cache ------------------------------------------------------------

THIS = "this"
"""The name of the chip that is this machine."""


def memory_behind(memory: Memory, access: Access, p: PlanBuilder) -> int:
    """The bytes to and from memory behind caches; raises as `cache_run` does.

    access: how fragments access textures.
    """
    from gpgpu_legacy.cache.simulate import cache_run, memory_bytes  # imports numba

    return memory_bytes(cache_run(p.plan(), memory, access, partial(replay, p)))


def cache_model(cache: str | None, layout: str, raster: str, in_flight: int) -> CacheModel | None:
    """`memory_behind` a cache, all given by their spellings; None without a cache."""
    access = parse_access(layout, raster, in_flight=in_flight)
    if cache is None:
        return None
    return partial(memory_behind, Memory((parse_cache(cache),)), access)


def predict_plan(
    p: PlanBuilder,
    chip: str,
    cache: CacheModel | None = None,
    pass_us: float | None = None,
) -> Prediction:
    """Predict a plan on the chip of that name, or on `this` machine.

    A block that was not asked for is the largest that loads there, up to the method's default.
    cache: gives the bytes that memory serves, as `cache_model` does. pass_us: the fixed cost of a
    pass, in place of the profile's. Raises InputError for a plan without passes, for an unknown
    chip, for a cost that is not above 0 and for this machine if it is not calibrated; also as
    `predict` and, with a cache, `cache_run` do.
    """
    plan = p.plan()
    if not plan.steps:
        raise InputError(
            f"{plan.name} has no passes, so there is no time to predict; give a size of at least 1"
        )
    profile = find_chip(chip, plan)
    p = as_loaded(p, profile)
    plan = p.plan()
    if pass_us is not None:
        if not 1 / LARGEST_FACT <= pass_us <= LARGEST_FACT:
            raise InputError(f"pass_us is {pass_us:g}; give the microseconds of a pass, as in 5")
        given = Fact(pass_us, GIVEN, Confidence.HIGH)
        profile = with_fields(profile, hardware=with_fields(profile.hardware, pass_us=given))
    served = None if cache is None else cache(p)
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


def as_loaded(p: PlanBuilder, chip: Profile) -> PlanBuilder:
    """The plan with the largest block that loads on a chip, up to the method's default.

    A block that was asked for stays, and so does the default if none loads.
    """
    if p.family is None:
        return p
    algorithm, given = p.family
    block = algorithm.parameters.get("block")
    if not block or block.name in given or not block.default:
        return p

    def with_block(size: int) -> PlanBuilder:
        built: PlanBuilder = algorithm.builder(**given, block=size)
        return built

    def fails(size: int) -> bool:
        return check_plan(with_block(size).plan(), chip).answer is LoadAnswer.DOES_NOT_LOAD

    sizes = sorted(block.choices.values()) or range(1, block.default + 1)
    loading = bisect_left(sizes, True, hi=sizes.index(block.default) + 1, key=fails)
    return with_block(sizes[loading - 1]) if loading else p


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

    Passes that do the same work, in any textures, are predicted together. Each pass is bound by its
    own slowest unit, so the sum can exceed `predict`'s time for the plan, in which all work may
    overlap. Simulated caches, transfers and the overhead of a run are left out.
    """
    groups: dict[Hashable, list[tuple[PlanPart, Prediction]]] = {}
    for part in parts_of(plan, apart=not Rates(chip.hardware).fuses_passes):
        work = tuple(map(work_of_pass, part.plan.as_written))
        group = groups.setdefault((work, part.plan.textures), [])
        group.append((part, predict(part.plan, chip)))
    return tuple(map(_pass_time, groups.values()))


def _pass_time(group: list[tuple[PlanPart, Prediction]]) -> PassTime:
    times = [(part.times, _seconds(prediction)) for part, prediction in group]
    seconds = [times_ * one for times_, one in times if one is not None]
    bottlenecks = defaultdict[str, float](float)
    for part, prediction in group:
        if (term := prediction.bottleneck) is not None and term.seconds is not None:
            bottlenecks[term.name] += part.times * term.seconds
    numbers = sorted((n for part, _ in group for n in part.numbers), key=lambda n: n.start)
    passes = group[0][0].passes
    return PassTime(
        numbers=numbers_text(numbers),
        runs=sum(map(len, numbers)),
        what=tuple(f"{kind_of_pass(p)} {name_of_pass(p)}".rstrip() for p in passes),
        seconds=sum(seconds) if len(seconds) == len(times) else None,
        binds=max(bottlenecks, key=bottlenecks.__getitem__, default=None),
    )


def _seconds(prediction: Prediction) -> float | None:
    """Seconds of a part: without transfers, and without the overhead of a run."""
    there = {term.stage for term in prediction.terms} - TRANSFERS - {TimeStage.RUN}
    times = {stage: prediction.stage_seconds(stage) for stage in TimeStage if stage in there}
    if any(seconds is None for stage, seconds in times.items() if stage is not TimeStage.PASS):
        return None
    return sum(seconds for seconds in times.values() if seconds is not None)
