"""What every executor does with its results: from textures back to matrices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpgpu_legacy.interp.numeric import unpack
from gpgpu_legacy.plan.plan import Plan, Rect
from gpgpu_legacy.runtime.executor import F32


def zero_results(plan: Plan) -> dict[str, F32]:
    """The matrices that a plan makes, by name, before anything is read into them."""
    return {m.name: np.zeros((m.rows, m.columns), np.float32) for m in plan.results}


def read_back(plan: Plan, read: Callable[[str, Rect], F32]) -> dict[str, F32]:
    """The matrices that a plan makes, by name; zero where no output covers them.

    read: gives a rectangle of a texture, (height, width, channels) float32.
    """
    results = zero_results(plan)
    for output in plan.outputs:
        texels = read(output.texture, output.rect)
        unpack(texels, results[output.matrix], output.region, output.packing)
    return results
