"""Random Cg kernels on the executors, against an evaluator of their syntax trees, bit for bit."""

from __future__ import annotations

import os
from collections.abc import Callable

from drawing import on
from kernel_runs import differing

from gpgpu_legacy.runtime.executor import Executor

KERNELS = int(os.environ.get("KERNELS", "50"))
"""Of each executor; `make differential` tries 4000."""


@on("numpy", "jit", "gl-raster", "gl-compute")
def test_random_kernels_have_the_evaluators_bits(
    name: str, ready: Callable[[str], Executor]
) -> None:
    executor = ready(name)
    for seed in range(KERNELS):
        assert not differing(seed, executor)
        assert not differing(seed, executor, branching=True)
