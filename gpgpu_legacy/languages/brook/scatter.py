"""Scatter: writes to computed addresses, in the order of the elements.

A fragment program cannot choose the texel that it writes to, so Brook scattered on the CPU. Here
the host orders the elements, and a kernel still combines them: in each round, no address twice.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def scatter_rounds(addresses: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """The numbers of the elements in each round: the first ones to each address, the second ones …

    addresses: of each element, in one dimension.
    """
    order = np.argsort(addresses, kind="stable")
    ordered = addresses[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))
    rounds = np.empty_like(order)
    rounds[order] = np.arange(len(order)) - np.repeat(starts, np.diff([*starts, len(order)]))
    return [np.flatnonzero(rounds == n) for n in range(int(rounds.max(initial=-1)) + 1)]
