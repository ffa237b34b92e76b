"""Calibrations as records and as tables."""

from __future__ import annotations

from pathlib import Path

from gpgpu_legacy.measure.calibration.model import Calibration, Ceiling
from gpgpu_legacy.measure.other_work import busy_notes
from gpgpu_legacy.present.grid import Grid, Numeral
from gpgpu_legacy.serial import Record, as_record


class CalibrationRecord(Record):
    """What was measured of one executor. name, file: of its profile. ceilings: by field."""

    name: str
    executor: str
    device: str
    file: str
    ceilings: dict[str, Ceiling]
    busy_share: float | None


class CalibrationsRecord(Record):
    """What `calibrate` gives."""

    profiles: tuple[CalibrationRecord, ...]


def calibration_record(calibration: Calibration, file: Path) -> CalibrationRecord:
    """A calibration whose profile was written to a file."""
    return as_record(CalibrationRecord, calibration, name=calibration.profile.name, file=str(file))


def calibration_grid(calibration: Calibration) -> Grid:
    """What was measured of one executor."""
    rows = tuple(
        (name, c.median, c.lowest, c.highest, Numeral("first") if c.first_run else c.runs)
        for name, c in calibration.ceilings.items()
    )
    heads = ("ceiling", "median", "lowest", "highest", "runs")
    caption = f"{calibration.profile.name}: {calibration.profile.title}."
    return Grid("calibration", caption, heads, rows, busy_notes(calibration.busy_share))
