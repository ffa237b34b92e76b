"""Predictions beside published and measured times, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpgpu_legacy.present.grid import Grid

if TYPE_CHECKING:
    from gpgpu_legacy.predict.mispredictions import Mispredictions


def mispredictions_grid(log: Mispredictions) -> Grid:
    """The log: predicted and actual times, their ratio, and the reason for it."""
    heads = (
        "chip", "method", "n", "b", "predicted, ms", "actual, ms", "predicted / actual",
        "bottleneck", "actual time from", "reason",
    )  # fmt: skip
    rows = tuple(
        (
            row.chip,
            row.method,
            row.size,
            row.block,
            1e3 * row.predicted_seconds,
            1e3 * row.found_seconds,
            row.ratio,
            row.binds,
            row.where,
            row.reason if row.holds else f"WAS {row.recorded_ratio:.3g}: {row.reason}",
        )
        for row in log.mispredictions
    )
    notes = (
        "A prediction is a lower bound. A ratio under 1 is time that the model does not explain; "
        "a ratio over 1 is a bound that does not hold.",
    )
    return Grid("mispredictions", "Predicted against published and measured.", heads, rows, notes)
