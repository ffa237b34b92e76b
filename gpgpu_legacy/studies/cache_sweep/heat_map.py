"""What a heat map of hits shows: ratios of squares of places, and the colours of these."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.cache.heat_map import HeatMap

LONGEST_SIDE = 1024
"""Squares of a side; of larger maps, a square has several places."""

NO_READS = (200, 200, 200)
ANCHORS = ((59, 15, 112), (140, 41, 129), (222, 73, 104), (254, 159, 109), (252, 253, 191))
"""Colours of the scale from the lowest hit ratio to the highest; between two, halves are mixed."""


def shown_ratios(heat: HeatMap) -> tuple[NDArray[np.float64], int]:
    """Hits over reads of each square, NaN where there are no reads, and how many places is a side.

    It is 1 unless the map has more than LONGEST_SIDE rows or columns.
    """
    side = -(-max(heat.reads.shape) // LONGEST_SIDE)
    reads, hits = (_sums(counts, side) for counts in (heat.reads, heat.hits))
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio: NDArray[np.float64] = hits / reads
    return ratio, side


def _sums(values: NDArray[np.int64], side: int) -> NDArray[np.int64]:
    rows, columns = (np.arange(0, length, side) for length in values.shape)
    summed: NDArray[np.int64] = np.add.reduceat(np.add.reduceat(values, rows, 0), columns, 1)
    return summed
