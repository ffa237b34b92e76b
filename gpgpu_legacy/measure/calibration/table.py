"""A calibration as a table and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpgpu_legacy.present.grid import Grid

if TYPE_CHECKING:
    from gpgpu_legacy.measure.calibration.model import Calibration


def calibration_grid(made: Calibration) -> Grid:
    """What was measured of one executor."""
    rows = tuple((c.name, c.value, c.lowest, c.highest, c.runs) for c in made.ceilings)
    heads = ("ceiling", "median", "lowest", "highest", "runs")
    caption = f"{made.profile.name}: {made.profile.title}."
    return Grid("calibration", caption, heads, rows)


def calibration_as_json(made: Calibration, path: str) -> dict[str, Any]:
    """A calibration for other programs."""
    return {
        "name": made.profile.name,
        "executor": made.executor,
        "device": made.device,
        "file": path,
        "ceilings": {
            c.name: {"median": c.value, "lowest": c.lowest, "highest": c.highest, "runs": c.runs}
            for c in made.ceilings
        },
    }
