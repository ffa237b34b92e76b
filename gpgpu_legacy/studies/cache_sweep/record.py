"""What `gpgpu-legacy cache --json` prints: runs, sweeps and curves as records."""

from __future__ import annotations

from typing import Any

from gpgpu_legacy.algorithms.matmul.options import Accumulate
from gpgpu_legacy.cache.simulate import LevelTally
from gpgpu_legacy.serial import UNSET, Record, Unset, as_record
from gpgpu_legacy.studies.cache_sweep.model import (
    Case,
    Curve,
    NotRun,
    Planned,
    Product,
    Run,
    Sweep,
)


class SubjectRecord(Record, kw_only=True):
    """Which plan went through a cache, and how.

    Of a product by a method: method, size (n, where all matrices are n×n), shape (M, L and N) and
    the method's options. Of any other plan: plan and parameters. raster, layout, in_flight: None
    for kernels, which have none.
    """

    method: str | Unset = UNSET
    size: int | Unset | None = UNSET
    shape: tuple[int, int, int] | Unset = UNSET
    block: int | Unset | None = UNSET
    tile: int | Unset | None = UNSET
    accumulate: Accumulate | Unset | None = UNSET
    texture_format: str | Unset | None = UNSET
    plan: str | Unset = UNSET
    parameters: dict[str, int | float | str | bool | None] | Unset = UNSET
    raster: str | None
    layout: str | None
    quads: bool
    in_flight: int | None


class RegionRecord(Record):
    """The accesses of one texture or buffer; hits are those in level 1."""

    accesses: int
    hits: int
    misses: int
    reads: int
    read_hits: int
    writes: int
    write_hits: int
    bytes_requested: int
    bytes_from_memory: int
    bytes_to_memory: int


class RunRecord(SubjectRecord, kw_only=True):
    """One plan through one cache.

    iterations: of the plan's passes, of which iterations_simulated were simulated,
    iterations_repeated proven to repeat others, and iterations_left_out not reached within the
    budget.
    by_texture: by the name of the texture or buffer. hit_ratio: None without accesses. seconds: of
    the simulation.
    """

    cache: str
    second_level: str | None
    per_texture: bool
    write_policy: str
    seed: int
    accesses: int
    hits: int
    misses: int
    hit_ratio: float | None
    bytes_requested: int
    bytes_from_memory: int
    bytes_to_memory: int
    levels: tuple[LevelTally, ...]
    by_texture: dict[str, RegionRecord]
    iterations: int
    iterations_simulated: int
    iterations_repeated: int
    iterations_left_out: int
    accesses_left_out: int
    exact: bool
    seconds: float


class NotRunRecord(SubjectRecord, kw_only=True):
    """A case without a result, and why."""

    cache: str
    reason: str


class SweepRecord(Record):
    """All runs of a sweep."""

    runs: tuple[RunRecord, ...]
    not_run: tuple[NotRunRecord, ...]


class CurvePoint(Record):
    """A size of cache at which the misses fall, and the misses from there on."""

    bytes: int
    lines: int
    misses: int
    miss_ratio: float


class CurveRecord(SubjectRecord, kw_only=True):
    """Misses of every fully associative LRU cache. cold_misses: those in a cache of any size."""

    line_bytes: int
    accesses: int
    write_policy: str = "allocate"
    cold_misses: int
    curve: tuple[CurvePoint, ...]
    seconds: float


class CurvesRecord(Record):
    """All curves of a sweep."""

    curves: tuple[CurveRecord, ...]
    not_run: tuple[NotRunRecord, ...]


def run_record(run: Run) -> RunRecord:
    """A run as it is printed."""
    result, memory = run.result, run.case.memory
    first, *second = memory.levels
    return as_record(
        RunRecord,
        result,
        memory,
        run,
        **_subject(run.case),
        cache=str(first),
        second_level=str(second[0]) if second else None,
        write_policy="allocate" if memory.allocate else "no-allocate",
        hit_ratio=result.hit_ratio if result.accesses else None,
        by_texture={
            tally.name: as_record(RegionRecord, tally, misses=tally.accesses - tally.hits)
            for tally in result.regions
        },
    )


def sweep_record(sweep: Sweep[Run]) -> SweepRecord | RunRecord:
    """A sweep as it is printed; a single case is printed as its run alone."""
    if sweep.only is not None:
        return run_record(sweep.only)
    return SweepRecord(
        runs=tuple(map(run_record, sweep.runs)), not_run=tuple(map(_not_run, sweep.not_run))
    )


def _curve_record(curve: Curve) -> CurveRecord:
    """A curve as it is printed: one line, then every size at which the misses fall."""
    distances = curve.distances
    sizes, counts = distances.curve()
    return as_record(
        CurveRecord,
        distances,
        curve,
        **_subject(curve.case),
        cold_misses=distances.cold,
        curve=tuple(
            CurvePoint(
                bytes=lines * distances.line_bytes,
                lines=lines,
                misses=misses,
                miss_ratio=misses / max(1, distances.accesses),
            )
            for lines, misses in zip(sizes.tolist(), counts.tolist(), strict=True)
        ),
    )


def curves_record(curves: Sweep[Curve]) -> CurvesRecord | CurveRecord:
    """Curves as they are printed; a single curve is printed alone."""
    if curves.only is not None:
        return _curve_record(curves.only)
    return CurvesRecord(
        curves=tuple(map(_curve_record, curves.runs)),
        not_run=tuple(map(_not_run, curves.not_run)),
    )


def _subject(case: Case) -> dict[str, Any]:
    """The fields of a SubjectRecord."""
    access = case.access
    how = {
        "raster": None if case.of_kernels else access.raster.name,
        "layout": None if case.of_kernels else access.layout.name,
        "quads": access.quads,
        "in_flight": None if case.of_kernels else access.in_flight,
    }
    match case.subject:
        case Product(shape=shape, options=options):
            return {
                "method": case.subject.name,
                "size": shape.n if shape.is_square else None,
                "shape": (shape.m, shape.l, shape.n),
                "block": options.block,
                "tile": options.tile,
                "accumulate": options.accumulate,
                "texture_format": options.texture_format,
                **how,
            }
        case Planned(parameters=parameters):
            return {"plan": case.subject.name, "parameters": dict(parameters), **how}


def _not_run(not_run: NotRun) -> NotRunRecord:
    return NotRunRecord(
        **_subject(not_run.case), cache=str(not_run.case.memory.levels[0]), reason=not_run.reason
    )
