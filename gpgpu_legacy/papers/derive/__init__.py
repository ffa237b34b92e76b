"""How the papers' claims are recomputed: functions of plans, counts, chips and other cells.

A claim of published/*.toml names one of these functions and its arguments. Each takes the paper
first and gives a number, a few numbers, a text, a yes or no, or a number with the bounds that the
rounding of printed times leaves it. What can be counted or looked up is counted or looked up.
"""

from gpgpu_legacy.papers.derive import (
    caches,
    chips,
    counts,
    equations,
    rounding,
    sdk_example,
    times,
    transfers,
)
from gpgpu_legacy.papers.derive.registry import Rounded, Value, derivations

__all__ = [
    "Rounded",
    "Value",
    "caches",
    "chips",
    "counts",
    "derivations",
    "equations",
    "rounding",
    "sdk_example",
    "times",
    "transfers",
]
