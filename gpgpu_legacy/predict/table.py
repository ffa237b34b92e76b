"""Predictions of plans and of products as tables and as records."""

from __future__ import annotations

from typing import Any

from gpgpu_legacy.algorithms.matmul.options import Shape
from gpgpu_legacy.chips.profile import all_sources
from gpgpu_legacy.chips.table import name_and_unit, value_text
from gpgpu_legacy.predict.plans import PassTime, PlanPrediction
from gpgpu_legacy.predict.prediction import Prediction, Rate, RateFact, Stage, Term
from gpgpu_legacy.present.grid import Entry, Grid
from gpgpu_legacy.serial import Record, as_record


class TermRecord(Record):
    """A term of a prediction. seconds, per_second: None if the rate is not known.

    binds: whether it is the bottleneck. why: how the rate follows from the facts, or what is
    missing.
    """

    name: str
    stage: Stage
    count: float
    unit: str
    per_second: float | None
    seconds: float | None
    binds: bool
    why: str
    facts: tuple[RateFact, ...]


class PredictionRecord(Record):
    """A prediction for a product; what is not known is None.

    shape: m, l and n, for m×l by l×n. binds: the bottleneck, a term's name. unknown: the names of
    terms whose rate is not known. exceeds: the chip's limits that the plan exceeds.
    """

    chip: str
    method: str
    shape: tuple[int, int, int]
    terms: tuple[TermRecord, ...]
    binds: str | None
    unknown: tuple[str, ...]
    compute_seconds: float | None
    transfer_seconds: float | None
    seconds: float | None
    gflops: float | None
    exceeds: tuple[str, ...]


class PlanPredictionRecord(Record):
    """A prediction for any plan; the fields are those of PredictionRecord.

    memory_bytes: what memory serves behind a simulated cache; None without one. passes: each bound
    by its own slowest unit.
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
    passes: tuple[PassTime, ...]
    exceeds: tuple[str, ...]


def prediction_record(predicted: PlanPrediction, shape: Shape) -> PredictionRecord:
    """The prediction of a product of that shape for other programs."""
    return PredictionRecord(
        **_in_both(predicted),
        method=predicted.plan.name,
        shape=(shape.m, shape.l, shape.n),
        gflops=shape.gflops(predicted.prediction.compute_s),
    )


def plan_prediction_record(predicted: PlanPrediction) -> PlanPredictionRecord:
    """The prediction of a plan for other programs."""
    return PlanPredictionRecord(
        **_in_both(predicted),
        plan=predicted.plan.name,
        memory_bytes=predicted.memory_bytes,
        passes=predicted.passes,
    )


def _in_both(predicted: PlanPrediction) -> dict[str, Any]:
    """The fields that both records have."""
    prediction = predicted.prediction
    bottleneck = prediction.bottleneck
    return {
        "chip": prediction.chip.name,
        "terms": tuple(_term_record(prediction, term) for term in prediction.terms),
        "binds": None if bottleneck is None else bottleneck.name,
        "unknown": tuple(term.name for term in prediction.unknown),
        "compute_seconds": prediction.compute_s,
        "transfer_seconds": prediction.transfer_s,
        "seconds": prediction.total_s,
        "exceeds": predicted.exceeds,
    }


def _term_record(prediction: Prediction, term: Term) -> TermRecord:
    binds = prediction.bottleneck is term
    return as_record(TermRecord, term, term.rate, per_second=term.rate.per_s, binds=binds)


# Tables -----------------------------------------------------------------------------------------


def prediction_grids(predicted: PlanPrediction, shape: Shape) -> list[Grid]:
    """The terms of a product of that shape, and their total."""
    what = f"{predicted.plan.name}, {shape.m}×{shape.l} by {shape.l}×{shape.n}"
    terms = terms_grid(predicted.prediction, what, predicted.exceeds)
    return [terms, _total_grid(predicted.prediction, shape)]


def plan_prediction_grids(predicted: PlanPrediction) -> list[Grid]:
    """The terms of a plan, its passes, and the total."""
    prediction = predicted.prediction
    terms = terms_grid(prediction, predicted.plan.name, predicted.exceeds)
    return [terms, _passes_grid(predicted), _total_grid(prediction)]


def _passes_grid(predicted: PlanPrediction) -> Grid:
    rows = tuple(
        (one.numbers, one.runs, " and ".join(one.what), _milliseconds(one.seconds), one.binds)
        for one in predicted.passes
    )
    notes = (
        "Passes that do the same work are one row, and each is bound by its own slowest unit, "
        "without a simulated cache.",
    )
    caption = f"{predicted.plan.name}: the least time of its passes"
    return Grid("passes", caption, ("passes", "runs", "what", "ms", "bottleneck"), rows, notes)


def terms_grid(prediction: Prediction, what: str, exceeds: tuple[str, ...]) -> Grid:
    """The terms. what: is predicted. exceeds: the limits of the chip that it exceeds, in words."""
    chip = prediction.chip
    loads = [f"It does not load on {chip.called}: {', '.join(exceeds)}."] if exceeds else []
    return Grid(
        "terms",
        f"{what}, on {chip.called}: a lower bound on the time.",
        ("term", "stage", "count", "unit", "per second", "ms", "", "from"),
        tuple(_term_row(prediction, term) for term in prediction.terms),
        (*_remarks(prediction), *_source_notes(prediction), *loads),
    )


def _term_row(prediction: Prediction, term: Term) -> tuple[Entry, ...]:
    mark = "bottleneck" if prediction.bottleneck is term else ""
    return (
        term.name,
        term.stage.value,
        int(term.count),
        term.unit,
        term.rate.per_s,
        _milliseconds(term.seconds),
        "unknown" if term.seconds is None else mark,
        _origin(term.rate),
    )


def _milliseconds(seconds: float | None) -> float | None:
    """Seconds in milliseconds."""
    return None if seconds is None else 1e3 * seconds


def _origin(rate: Rate) -> str:
    """Where a rate comes from: its facts with their sources, or what is missing."""
    if rate.per_s is None:
        return rate.why
    facts = "; ".join(map(_fact_text, rate.facts))
    return f"{rate.why}: {facts}" if rate.why else facts


def _fact_text(fact: RateFact) -> str:
    """A fact with its source: `core clock 412 MHz (W, high)`."""
    name, unit = name_and_unit(fact.name)
    value = f"{name} {value_text(fact.value)}{' ' if unit else ''}{unit}"
    return f"{value} ({fact.source}, {fact.confidence.value})"


def _remarks(prediction: Prediction) -> list[str]:
    remarks = []
    bottleneck = prediction.bottleneck
    if bottleneck is not None:
        remarks.append(
            f"The bottleneck is {bottleneck.name} ({bottleneck.stage.value}). Terms of one stage "
            "overlap, and the longest is the stage's time; stages follow one another."
        )
    if prediction.unknown:
        names = ", ".join(dict.fromkeys(term.name for term in prediction.unknown))
        remarks.append(f"Not known, and not in the total: {names}.")
    return remarks


def _source_notes(prediction: Prediction) -> list[str]:
    tags = {fact.source for term in prediction.terms for fact in term.rate.facts}
    return [f"{tag}: {text}." for tag, text in all_sources().items() if tag in tags]


def _total_grid(prediction: Prediction, shape: Shape | None = None) -> Grid:
    """The times of all terms together. shape: of a product, whose GFLOPS are told, too."""
    total, compute = prediction.total_s, prediction.compute_s
    entries: dict[str, Entry] = {
        "compute, ms": _milliseconds(compute),
        **({"GFLOPS": shape.gflops(compute)} if shape else {}),
        "upload, ms": _milliseconds(prediction.stage_s(Stage.UPLOAD)),
        "read-back, ms": _milliseconds(prediction.stage_s(Stage.READBACK)),
        "total, ms": _milliseconds(total),
        "transfers, %": 100.0 * (total - compute) / total
        if total and compute is not None
        else None,
    }
    heads, row = tuple(entries), tuple(entries.values())
    return Grid("sum", "The total, a lower bound.", heads, (row,))
