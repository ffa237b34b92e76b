"""Random kernels in three languages on all executors, against a C compiler's float32."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from drawing import on
from kernel_runs import LANGUAGES, differences

from gpgpu_legacy.runtime.executor import Executor

KERNELS = int(os.environ.get("KERNELS", "16"))
"""Of each language and executor, as straight lines and with branches; `make differential`: 1000."""


@pytest.mark.parametrize("language", LANGUAGES)
@on("numpy", "jit", "gl-raster", "gl-compute")
def test_random_kernels_have_a_c_compilers_bits(
    name: str, language: str, ready: Callable[[str], Executor]
) -> None:
    for branching in (False, True):
        assert not differences(range(KERNELS), ready(name), language, branching=branching)
