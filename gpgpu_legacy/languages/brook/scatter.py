"""Scatter: writes to computed addresses, in the order of the elements.

A fragment program cannot choose the texel that it writes to, so Brook scattered on the CPU. Here
the host orders the elements, and a kernel still combines them: in each round, no address twice.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


def scatter_rounds(addresses: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """The numbers of the elements in each round: the first ones to each address, the second ones …

    addresses: of each element, in one dimension.
    """
    left = np.arange(len(addresses))
    while len(left):
        first = np.unique(addresses[left], return_index=True)[1]
        yield left[first]
        left = np.delete(left, first)
