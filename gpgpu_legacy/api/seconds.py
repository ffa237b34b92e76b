"""The times of a run, as they are written."""

from __future__ import annotations

from gpgpu_legacy.serial import Record


class Seconds(Record, rename=lambda name: name.removesuffix("_s")):
    """A run's Timings. prepare_s: of preparing the plan, once for all of its runs."""

    prepare_s: float
    compute_s: float
    upload_s: float
    readback_s: float
