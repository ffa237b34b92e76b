"""Predictions beside measurements, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpgpu_legacy.present.grid import Grid

if TYPE_CHECKING:
    from gpgpu_legacy.predict.mispredictions import Compared


def mispredictions_grid(rows: Sequence[Compared]) -> Grid:
    """The log: what was predicted, what was published or measured, how far apart, and why."""
    heads = (
        "chip", "method", "n", "b", "predicted, ms", "found, ms", "predicted / found", "binds",
        "found in", "reason",
    )  # fmt: skip
    made = tuple(
        (
            row.case.chip,
            row.case.method,
            row.case.size,
            row.case.block,
            1e3 * row.predicted_s,
            1e3 * row.case.seconds,
            row.ratio,
            row.binds,
            row.case.where,
            row.case.reason if row.holds else f"WAS {row.case.ratio:.3g}: {row.case.reason}",
        )
        for row in rows
    )
    notes = (
        "A prediction is a bound from below: a ratio under 1 is time that no bound explains, one "
        "over 1 a bound that does not hold.",
    )
    return Grid("mispredictions", "Predicted against published and measured.", heads, made, notes)


def mispredictions_as_json(rows: Sequence[Compared]) -> dict[str, Any]:
    """The log for other programs."""
    return {
        "mispredictions": [
            {
                "chip": row.case.chip,
                "method": row.case.method,
                "size": row.case.size,
                "block": row.case.block,
                "predicted_seconds": row.predicted_s,
                "found_seconds": row.case.seconds,
                "ratio": row.ratio,
                "recorded_ratio": row.case.ratio,
                "holds": row.holds,
                "binds": row.binds,
                "kind": row.case.kind.value,
                "where": row.case.where,
                "reason": row.case.reason,
            }
            for row in rows
        ]
    }
