"""The times of a run, as they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpgpu_legacy.serial import Record

if TYPE_CHECKING:
    from gpgpu_legacy.runtime.prepared import Timings


class Seconds(Record, frozen=True, kw_only=True):
    """Seconds of a run's parts. prepare: of preparing the plan, once for all of its runs."""

    prepare: float
    compute: float
    upload: float
    readback: float


def seconds_of(timings: Timings) -> Seconds:
    """The timings of a run as a record."""
    return Seconds(
        prepare=timings.prepare_s,
        compute=timings.compute_s,
        upload=timings.upload_s,
        readback=timings.readback_s,
    )
