"""The published times of MulH, from the data of the paper."""

from __future__ import annotations

from gpgpu_legacy.published.papers import find_paper
from gpgpu_legacy.studies.host_anomaly.simulation import METHOD

_PAPER = "dobravec-bulic-2017"
_TABLE = "section-3-2"


def published_times() -> dict[int, float]:
    """The host's published times by size, in ms: from Section 3.2, then from the tables."""
    paper = find_paper(_PAPER)
    tables = sorted(paper.measured, key=lambda table: not table.id.endswith(_TABLE))
    times: dict[int, float] = {}
    for table in tables:
        for series in table.series:
            if series.method == METHOD:
                for cell in series.cells:
                    times.setdefault(cell.size, cell.value)
    return times
