"""What tuning has found, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from gpgpu_legacy.measure.tuned import Kept
from gpgpu_legacy.present.grid import Grid, Numeral


def kept_grid(kept: Sequence[Kept], device: str) -> Grid:
    """The ways that are kept for a device."""
    heads = ("method", "fastest way found", "n", "ms", "by default, ms", "gain", "tried", "on")
    rows = tuple(
        (
            each.method,
            str(each.way),
            each.size,
            Numeral(f"{1e3 * each.seconds:.4g}"),
            Numeral(f"{1e3 * each.default_seconds:.4g}"),
            Numeral(f"{each.default_seconds / each.seconds:.3g}"),
            each.trials,
            each.date,
        )
        for each in kept
    )
    notes = ("`--executor auto` takes these ways; GPGPU_LEGACY_TUNING=off switches that off.",)
    return Grid("tuned", f"Tuned on {device}.", heads, rows, notes)
