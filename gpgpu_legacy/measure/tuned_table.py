"""What tuning has found, as a record and as a table."""

from __future__ import annotations

from collections.abc import Sequence

from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.measure.notes import milliseconds
from gpgpu_legacy.measure.other_work import busy_notes
from gpgpu_legacy.measure.platform import this_platform
from gpgpu_legacy.measure.tuned import TunedMethod, is_off, tuned_methods, tuning_file
from gpgpu_legacy.present.grid import Grid, Numeral
from gpgpu_legacy.serial import Record, as_record


class TuningReport(Record):
    """What is kept for this machine. off: whether it is not used, and nothing more is kept.

    file: that keeps it; None where the user has no home. busy_share: the part of the processors'
    time that other processes took during a search that was just made, from 0 to 1.
    """

    file: str | None
    off: bool
    device: str
    driver: str
    kept: tuple[TunedMethod, ...]
    busy_share: float | None = None


class Forgotten(Record):
    """What was forgotten: methods by name, or a damaged file."""

    file: str
    forgotten: tuple[str, ...]


def tuning_report(names: Sequence[str] = (), busy_share: float | None = None) -> TuningReport:
    """What is kept for this machine, of all methods or of these. Raises InputError for others."""
    wanted = {find_method(name).name for name in names}
    platform = this_platform()
    try:
        file = str(tuning_file())
    except InputError:
        file = None
    return as_record(
        TuningReport,
        platform,
        file=file,
        off=is_off(),
        kept=tuple(t for t in tuned_methods() if not wanted or t.method in wanted),
        busy_share=busy_share,
    )


def tuned_grid(report: TuningReport) -> Grid:
    """The ways that are kept for a machine."""
    heads = ("method", "fastest way found", "n", "ms", "by default, ms", "gain", "tried", "on")
    rows = tuple(
        (
            tuned.method,
            str(tuned.way),
            tuned.size,
            milliseconds(tuned.seconds),
            milliseconds(tuned.default_seconds),
            Numeral(f"{tuned.default_seconds / tuned.seconds:.3g}"),
            tuned.trials,
            tuned.date,
        )
        for tuned in report.kept
    )
    notes = (
        "`--executor auto` takes these ways; GPGPU_LEGACY_TUNING=off switches that off.",
        *busy_notes(report.busy_share),
    )
    return Grid("tuned", f"Tuned on {report.device}, {report.driver}.", heads, rows, notes)
