"""Predictions of plans as tables and as a record."""

from __future__ import annotations

from gpgpu_legacy.plan.pass_names import kind_of_pass, name_of_pass, numbers_text
from gpgpu_legacy.predict.plans import PassTime, PlanPrediction, predict_passes
from gpgpu_legacy.predict.prediction import Prediction, Stage
from gpgpu_legacy.predict.table import (
    TermRecord,
    milliseconds,
    term_records,
    terms_grid,
    transfer_share,
)
from gpgpu_legacy.present.grid import Grid
from gpgpu_legacy.serial import Record


class PassTimeRecord(Record, frozen=True, kw_only=True):
    """The least time of passes that do the same work, all together.

    numbers: of the passes, from 1, in words. what: each of them does; several, if they are fused.
    seconds: None if it is not known. binds: the name of the term that takes most of it.
    """

    numbers: str
    runs: int
    what: tuple[str, ...]
    seconds: float | None
    binds: str | None


class PlanPredictionRecord(Record, frozen=True, kw_only=True):
    """A prediction for a plan; what is not known is None.

    binds: the bottleneck, a term's name. unknown: the names of terms whose rate is not known.
    memory_bytes: what memory serves behind a simulated cache; None without one. passes: each bound
    by its own slowest unit. exceeds: the chip's limits that the plan exceeds.
    """

    chip: str
    plan: str
    terms: tuple[TermRecord, ...]
    binds: str | None
    unknown: tuple[str, ...]
    compute_seconds: float | None
    transfer_seconds: float | None
    seconds: float | None
    memory_bytes: int | None
    passes: tuple[PassTimeRecord, ...]
    exceeds: tuple[str, ...]


def plan_prediction_record(predicted: PlanPrediction) -> PlanPredictionRecord:
    """A prediction for other programs."""
    prediction = predicted.prediction
    bottleneck = prediction.bottleneck
    return PlanPredictionRecord(
        chip=prediction.chip.name,
        plan=prediction.plan,
        terms=term_records(prediction),
        binds=None if bottleneck is None else bottleneck.name,
        unknown=tuple(term.name for term in prediction.unknown),
        compute_seconds=prediction.compute_s,
        transfer_seconds=prediction.transfer_s,
        seconds=prediction.total_s,
        memory_bytes=predicted.memory_bytes,
        passes=tuple(map(_pass_record, predict_passes(predicted.plan, prediction.chip))),
        exceeds=predicted.exceeds,
    )


def _pass_record(time: PassTime) -> PassTimeRecord:
    return PassTimeRecord(
        numbers=numbers_text(time.numbers),
        runs=time.runs,
        what=tuple(f"{kind_of_pass(p)} {name_of_pass(p)}".rstrip() for p in time.passes),
        seconds=time.seconds,
        binds=time.binds,
    )


# Tables -----------------------------------------------------------------------------------------


def plan_prediction_grids(predicted: PlanPrediction) -> list[Grid]:
    """The terms, the passes, and the total."""
    prediction = predicted.prediction
    return [
        terms_grid(prediction, prediction.plan, predicted.exceeds),
        _passes_grid(predicted),
        _total_grid(prediction),
    ]


def _passes_grid(predicted: PlanPrediction) -> Grid:
    records = map(_pass_record, predict_passes(predicted.plan, predicted.prediction.chip))
    rows = tuple(
        (one.numbers, one.runs, " and ".join(one.what), milliseconds(one.seconds), one.binds)
        for one in records
    )
    notes = (
        "Passes that do the same work are one row, and each is bound by its own slowest unit, "
        "without a simulated cache.",
    )
    caption = f"{predicted.prediction.plan}: the least time of its passes"
    return Grid("passes", caption, ("passes", "runs", "what", "ms", "bottleneck"), rows, notes)


def _total_grid(prediction: Prediction) -> Grid:
    uploads, readbacks = (prediction.stage_s(stage) for stage in (Stage.UPLOAD, Stage.READBACK))
    times = (prediction.compute_s, uploads, readbacks, prediction.total_s)
    heads = ("compute, ms", "upload, ms", "read-back, ms", "total, ms", "transfers, %")
    row = (*map(milliseconds, times), transfer_share(prediction))
    return Grid("sum", "The total, a lower bound.", heads, (row,))
