"""The decimal places in which float32 sums differ."""

from __future__ import annotations

import math

import numpy as np

from gpgpu_legacy.papers.derive.inputs import Inputs
from gpgpu_legacy.papers.derive.registry import Value, derivation


@derivation
def places_that_differ(inputs: Inputs, *, claim: str) -> Value:
    """The number of decimal places that differ according to another claim of the paper."""
    places = inputs.paper.claim(claim).expected
    assert isinstance(places, tuple)
    return len(places)


@derivation
def decimals_that_differ(inputs: Inputs, *, size: int) -> Value:
    """The decimal places at which float32 sums of n products of numbers in [0, 1) differ.

    For a sum of n/4, which is the mean: from the place of the error that n roundings are expected
    to leave, √n halves of the spacing of floats, to that of a single spacing.
    """
    spacing = float(np.spacing(np.float32(size / 4)))
    return tuple(float(math.ceil(-math.log10(e))) for e in (spacing * math.sqrt(size) / 2, spacing))
