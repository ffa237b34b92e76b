"""Predictions, calibrations and mispredictions as tables and for other programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpgpu_legacy.algorithms.matmul.options import Shape
from gpgpu_legacy.chips.profile import MEASURED, sources
from gpgpu_legacy.predict.model import TRANSFERS, Prediction, Rate, Stage, Term
from gpgpu_legacy.present.grid import Entry, Grid

BINDS, UNKNOWN = "binds", "unknown"


def gflops(shape: Shape, seconds: float | None) -> float | None:
    """2·m·l·n over the seconds, in 10⁹; None where there are none."""
    return 2e-9 * shape.multiply_adds / seconds if seconds else None


# Predictions ------------------------------------------------------------------------------------


def prediction_grids(found: Prediction, shape: Shape, remarks: Sequence[str] = ()) -> list[Grid]:
    """The terms, and what they come to. remarks: said below."""
    chip = found.chip
    rows = tuple(_term_row(found, term) for term in found.terms)
    heads = ("term", "of", "count", "unit", "a second", "ms", "", "from")
    size = f"{shape.m}×{shape.l} by {shape.l}×{shape.n}"
    terms = Grid(
        "terms",
        f"{found.plan}, {size}, on {chip.called}: how long it takes at least.",
        heads,
        rows,
        (*_remarks(found), *_source_notes(found), *remarks),
    )
    return [terms, _sum_grid(found, shape)]


def _term_row(found: Prediction, term: Term) -> tuple[Entry, ...]:
    seconds = term.seconds
    mark = UNKNOWN if seconds is None else BINDS if found.bound is term else ""
    return (
        term.name,
        term.stage.value,
        int(term.count),
        term.unit,
        term.rate.per_s,
        None if seconds is None else 1e3 * seconds,
        mark,
        _origin(term.rate),
    )


def _origin(rate: Rate) -> str:
    """Where a rate comes from: its facts with their sources, or what is missing."""
    if rate.per_s is None:
        return rate.why
    facts = "; ".join(
        f"{name} {fact.value} ({fact.source}, {fact.confidence.value})" for name, fact in rate.facts
    )
    return f"{rate.why}: {facts}" if rate.why else facts


def _remarks(found: Prediction) -> list[str]:
    remarks = []
    bound = found.bound
    if bound is not None:
        remarks.append(
            f"{bound.name} ({bound.stage.value}) binds. Terms of one stage overlap, and the "
            "largest is its time; stages follow one another."
        )
    if found.unknown:
        names = ", ".join(dict.fromkeys(term.name for term in found.unknown))
        remarks.append(f"Not known, and left out of the sum: {names}.")
    return remarks


def _source_notes(found: Prediction) -> list[str]:
    tags = {fact.source for term in found.terms for _, fact in term.rate.facts}
    return [f"{tag}: {text}." for tag, text in {**sources(), **MEASURED}.items() if tag in tags]


def _sum_grid(found: Prediction, shape: Shape) -> Grid:
    def milliseconds(seconds: float | None) -> float | None:
        return None if seconds is None else 1e3 * seconds

    uploads, readbacks = (found.stage_s(stage) for stage in (Stage.UPLOAD, Stage.READBACK))
    row = (
        milliseconds(found.compute_s),
        gflops(shape, found.compute_s),
        milliseconds(uploads),
        milliseconds(readbacks),
        milliseconds(found.total_s),
        _transfer_share(found),
    )
    heads = ("computing, ms", "GFLOPS", "upload, ms", "read-back, ms", "in all, ms", "transfers, %")
    return Grid("sum", "In all, at least.", heads, (row,))


def _transfer_share(found: Prediction) -> float | None:
    total, compute = found.total_s, found.compute_s
    return 100.0 * (total - compute) / total if total and compute is not None else None


def prediction_as_json(found: Prediction, shape: Shape) -> dict[str, Any]:
    """A prediction for other programs; what is not known is None."""
    bound = found.bound
    return {
        "chip": found.chip.name,
        "method": found.plan,
        "shape": [shape.m, shape.l, shape.n],
        "terms": [_term_as_json(found, term) for term in found.terms],
        "binds": None if bound is None else bound.name,
        "unknown": [term.name for term in found.unknown],
        "compute_seconds": found.compute_s,
        "transfer_seconds": None
        if any(t.seconds is None for t in found.terms if t.stage in TRANSFERS)
        else sum(t.seconds or 0.0 for t in found.terms if t.stage in TRANSFERS),
        "seconds": found.total_s,
        "gflops": gflops(shape, found.compute_s),
    }


def _term_as_json(found: Prediction, term: Term) -> dict[str, Any]:
    return {
        "name": term.name,
        "stage": term.stage.value,
        "count": term.count,
        "unit": term.unit,
        "per_second": term.rate.per_s,
        "seconds": term.seconds,
        "binds": found.bound is term,
        "why": term.rate.why,
        "facts": [
            {
                "name": name,
                "value": fact.value,
                "source": fact.source,
                "confidence": fact.confidence.value,
            }
            for name, fact in term.rate.facts
        ],
    }


# Calibrations -----------------------------------------------------------------------------------


# Mispredictions ---------------------------------------------------------------------------------
