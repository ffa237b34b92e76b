"""The lineage in a few sentences, with numbers that come out of plans; `code` is in backticks."""

from __future__ import annotations

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.registry import products
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.plan.plan import ComputePass

_SIZE = 1024


def story() -> list[str]:
    """What the methods learned from one another, in paragraphs."""
    every = products()
    by_year = {
        year: max(_per_byte(method) for method in every if method.year == year)
        for year in (2001, 2003)
    }
    sharing = [method for method in every if _shares(method)]
    shared = sorted(map(_per_byte, sharing))
    return [
        f"From {every[0].year} to {sharing[-1].year}, the methods learned "
        f"above all to fetch less: they do {by_year[2001]:.2f} multiply-adds per byte in 2001, "
        f"{by_year[2003]:.2f} in 2003, and {shared[0]:.0f} to {shared[-1]:.0f} where shared memory "
        "holds a tile.",
        "The scheme of 2003 never died. The browser frameworks of 2018 still pack 2×2 elements "
        "into an RGBA texel and use the same swizzled multiply-adds, but in one pass over the "
        "whole sum: `packed-2x2`.",
    ]


def _per_byte(method: Algorithm) -> float:
    """Multiply-adds for each byte that instructions ask for."""
    return _SIZE**3 / count_plan(method.plan(n=_SIZE)).bytes_requested


def _shares(method: Algorithm) -> bool:
    """Whether its kernels have shared arrays."""
    passes = (pass_ for _, pass_ in method.plan(n=1).weighted_passes())
    return any(isinstance(pass_, ComputePass) and pass_.kernel.shared for pass_ in passes)
