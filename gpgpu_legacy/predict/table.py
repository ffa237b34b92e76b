"""Predictions as tables and as a record."""

from __future__ import annotations

from gpgpu_legacy.algorithms.matmul.options import Shape
from gpgpu_legacy.chips.profile import all_sources
from gpgpu_legacy.chips.table import name_and_unit, value_text
from gpgpu_legacy.predict.prediction import Prediction, Rate, RateFact, Stage, Term
from gpgpu_legacy.predict.products import ProductPrediction
from gpgpu_legacy.present.grid import Entry, Grid
from gpgpu_legacy.serial import Record


class TermRecord(Record, frozen=True, kw_only=True):
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


class PredictionRecord(Record, frozen=True, kw_only=True):
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


def prediction_record(product: ProductPrediction) -> PredictionRecord:
    """A prediction for other programs."""
    prediction, shape = product.prediction, product.shape
    bottleneck = prediction.bottleneck
    return PredictionRecord(
        chip=prediction.chip.name,
        method=prediction.plan,
        shape=(shape.m, shape.l, shape.n),
        terms=term_records(prediction),
        binds=None if bottleneck is None else bottleneck.name,
        unknown=tuple(term.name for term in prediction.unknown),
        compute_seconds=prediction.compute_s,
        transfer_seconds=prediction.transfer_s,
        seconds=prediction.total_s,
        gflops=shape.gflops(prediction.compute_s),
        exceeds=product.exceeds,
    )


def term_records(prediction: Prediction) -> tuple[TermRecord, ...]:
    """The terms of a prediction for other programs."""
    return tuple(_term_record(prediction, term) for term in prediction.terms)


def _term_record(prediction: Prediction, term: Term) -> TermRecord:
    return TermRecord(
        name=term.name,
        stage=term.stage,
        count=term.count,
        unit=term.unit,
        per_second=term.rate.per_s,
        seconds=term.seconds,
        binds=prediction.bottleneck is term,
        why=term.rate.why,
        facts=term.rate.facts,
    )


# Tables -----------------------------------------------------------------------------------------


def prediction_grids(product: ProductPrediction) -> list[Grid]:
    """The terms, and their total."""
    shape = product.shape
    what = f"{product.prediction.plan}, {shape.m}×{shape.l} by {shape.l}×{shape.n}"
    terms = terms_grid(product.prediction, what, product.exceeds)
    return [terms, _total_grid(product.prediction, shape)]


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
        milliseconds(term.seconds),
        "unknown" if term.seconds is None else mark,
        _origin(term.rate),
    )


def milliseconds(seconds: float | None) -> float | None:
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


def _total_grid(prediction: Prediction, shape: Shape) -> Grid:
    uploads, readbacks = (prediction.stage_s(stage) for stage in (Stage.UPLOAD, Stage.READBACK))
    row = (
        milliseconds(prediction.compute_s),
        shape.gflops(prediction.compute_s),
        milliseconds(uploads),
        milliseconds(readbacks),
        milliseconds(prediction.total_s),
        transfer_share(prediction),
    )
    heads = ("compute, ms", "GFLOPS", "upload, ms", "read-back, ms", "total, ms", "transfers, %")
    return Grid("sum", "The total, a lower bound.", heads, (row,))


def transfer_share(prediction: Prediction) -> float | None:
    """The part of the total that transfers take, in per cent; None if it is not known."""
    total, compute = prediction.total_s, prediction.compute_s
    return 100.0 * (total - compute) / total if total and compute is not None else None
