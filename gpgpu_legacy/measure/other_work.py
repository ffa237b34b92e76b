"""The processor time that other processes use during a measurement.

The processes that this one has started, such as a browser, count as its own.
"""

from __future__ import annotations

import os
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

BUSY_SHARE = 0.1
"""A measurement warns from this share on.

A run on all cores then takes at least 1 / (1 - 0.1) = 1.11 times as long. On an idle machine the
medians of two measurements differ by less, a few per cent; an idle desktop uses 1 to 3 %.
"""

SHORTEST_S = 0.5
"""Systems count processor time in hundredths of a second: too coarse for anything shorter."""


class OtherWork:
    """Measures the processor time of other processes from its creation on."""

    def __init__(self) -> None:
        """Start now."""
        self._started, self._before = perf_counter(), _others_s()

    def share(self) -> float | None:
        """The part of all cores' time that other processes have used since then, from 0 to 1.

        None if too little time has passed to tell, or if the system does not tell.
        """
        elapsed, after = perf_counter() - self._started, _others_s()
        if self._before is None or after is None or elapsed < SHORTEST_S:
            return None
        share = (after - self._before) / (elapsed * (os.cpu_count() or 1))
        return min(1.0, max(0.0, share))


def busy_warning(share: float | None) -> str | None:
    """A warning in one line if other processes used much of the machine; else None."""
    if share is None or share < BUSY_SHARE:
        return None
    return (
        f"other processes used {100 * share:.0f} % of the processor time during the measurement; "
        "times are too long and ratios may be wrong; measure again when the machine is idle"
    )


def busy_notes(share: float | None) -> tuple[str, ...]:
    """The same warning as notes of a table: one, or none."""
    warning = busy_warning(share)
    return () if warning is None else (f"{warning[:1].upper()}{warning[1:]}.",)


def _others_s() -> float | None:
    """Seconds of processor time that the machine spent on neither this process nor its descendants.

    None on a system that does not show them, such as a sandbox without /proc.
    """
    import psutil

    try:
        times, own = psutil.cpu_times(), psutil.Process()
        family = [own, *own.children(recursive=True)]
        own_s = sum(map(_used_s, family))
    except (OSError, RuntimeError, psutil.Error):
        return None
    kinds = ("user", "nice", "system", "irq", "softirq", "steal")
    return float(sum(getattr(times, kind, 0.0) for kind in kinds) - own_s)


def _used_s(process: psutil.Process) -> float:
    """Seconds of processor time of a process and of its children that have ended; 0 if it has."""
    import psutil

    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    kinds = ("user", "system", "children_user", "children_system")
    return float(sum(getattr(times, kind, 0.0) for kind in kinds))
