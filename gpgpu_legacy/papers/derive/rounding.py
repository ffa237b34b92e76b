"""What float32 sums leave of a result's last decimal places."""

from __future__ import annotations

import math

import numpy as np

from gpgpu_legacy.papers.derive.registry import Value, derivation
from gpgpu_legacy.published.papers import Paper


@derivation
def places_that_differ(paper: Paper, *, claim: str) -> Value:
    """How many decimal places another claim of the paper says to differ."""
    places = paper.claim(claim).expected
    assert isinstance(places, tuple)
    return len(places)


@derivation
def decimals_that_differ(paper: Paper, *, size: int) -> Value:
    """The decimal places at which float32 sums of n products of numbers in [0, 1) differ.

    Of a sum of n/4, the mean: from the place where one rounding shows, to that of √n halves of one.
    """
    spacing = float(np.spacing(np.float32(size / 4)))
    return tuple(float(math.ceil(-math.log10(e))) for e in (spacing * math.sqrt(size) / 2, spacing))
