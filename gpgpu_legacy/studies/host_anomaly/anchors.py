"""Other sizes in place of the fit's anchor, and how far a stride prefetcher would have helped them.

The DTLB penalty rests on one size, the anchor, at which the DTLB holds a column of B. Steps down
its columns are also short enough for a stride prefetcher of the time, while those at the other
sizes of the fit are not. So does another anchor give the same penalties?
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gpgpu_legacy.studies.host_anomaly.outliers import find_outliers
from gpgpu_legacy.studies.host_anomaly.penalties import ANCHOR, FIT_SIZES, Penalties, fit
from gpgpu_legacy.studies.host_anomaly.simulation import WORD_BYTES, HostMisses


@dataclass(frozen=True, slots=True)
class Anchor:
    """The fit with this size in place of the anchor; with none where `simulated` is None.

    published_ns: of an iteration at that size. prefetchable: the fraction of the steps down a
    column that a stride prefetcher could follow.
    """

    simulated: HostMisses | None
    published_ns: float | None
    prefetchable: float
    penalties: Penalties


def anchors(
    simulated: Mapping[int, HostMisses],
    published_ms: Mapping[int, float],
    reach_bytes: int,
    page_bytes: int,
) -> tuple[Anchor, ...]:
    """The fit with each size below its others as its anchor, and without any.

    simulated: those that may be anchors, and FIT_SIZES. Empty where some of these have no published
    times.
    """
    others = [n for n in FIT_SIZES if n != ANCHOR]
    if not all(n in simulated and n in published_ms for n in FIT_SIZES):
        return ()
    outliers = find_outliers(published_ms)
    candidates = [
        n for n in sorted(simulated) if n in published_ms and n < min(others) and n not in outliers
    ]
    rest = [simulated[n] for n in others]
    without = Anchor(None, None, 0.0, fit(rest, published_ms))
    return (
        *(
            Anchor(
                simulated[n],
                published_ms[n] * 1e6 / n**3,
                prefetchable(n, reach_bytes, page_bytes),
                fit([simulated[n], *rest], published_ms),
            )
            for n in candidates
        ),
        without,
    )


def prefetchable(size: int, reach_bytes: int, page_bytes: int) -> float:
    """The fraction of the steps down B's columns that are no longer than this, and within a page.

    B begins with a page.
    """
    if size * WORD_BYTES > reach_bytes:
        return 0.0
    pages = np.arange(size * size).reshape(size, size) * WORD_BYTES // page_bytes
    return float(np.mean(pages[1:] == pages[:-1]))
