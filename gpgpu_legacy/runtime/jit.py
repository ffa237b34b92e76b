"""The `jit` executor: compute plans as native code on the CPU, compiled by numba."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from gpgpu_legacy.lower.jit import DTYPES, compile_kernel
from gpgpu_legacy.plan.plan import ClearPass, ComputePass, CopyPass, Pass, Plan
from gpgpu_legacy.runtime.devices import processor_name
from gpgpu_legacy.runtime.executor import F32, Machine, Observer, Result
from gpgpu_legacy.runtime.host import Textures, run_on_host

_CHUNKS = 8  # a thread, so that a thread that is late leaves work to the others


class JitExecutor:
    """Work groups on all the processor's cores; the numpy executor's results, bit for bit.

    What is undefined in GLSL is undefined here: kernels that reach outside of a buffer are to be
    tried on the numpy executor, which checks.
    """

    name = "jit"
    summary = "compute passes as native code on all cores of the CPU, compiled by numba"
    passes: frozenset[type[Pass]] = frozenset({ComputePass, CopyPass, ClearPass})

    def device(self) -> str:
        """The processor, as the operating system names it, and how many threads work."""
        threads = _threads()
        return f"{processor_name()}, {threads} thread{'s' * (threads > 1)}"

    def is_hardware(self) -> bool:
        """Never a GPU."""
        return False

    def run(
        self,
        plan: Plan,
        operands: Mapping[str, F32],
        machine: Machine = Machine(),  # noqa: B008 - always exact
        observer: Observer | None = None,
    ) -> Result:
        """Carry out a plan; see Executor. Raises PlanError for a kernel that is not compiled."""
        for _, each in plan.weighted_passes():
            if isinstance(each, ComputePass):
                compile_kernel(each.kernel)
        with ThreadPoolExecutor(_threads()) as pool:

            def carry_out(each: Pass, textures: Textures) -> None:
                if isinstance(each, ComputePass):
                    _dispatch(each, textures, pool)

            return run_on_host(plan, operands, carry_out, observer)


def _dispatch(each: ComputePass, textures: Textures, pool: ThreadPoolExecutor) -> None:
    """One dispatch, its work groups in chunks; a single chunk needs no other thread."""
    names = {b.binding: b.texture for b in each.buffers}
    buffers = [textures[names[b.binding]].planes[0].reshape(-1) for b in each.kernel.buffers]
    given = {u.name: u.value for u in each.uniforms}
    uniforms = [getattr(np, DTYPES[u.type])(given[u.name]) for u in each.kernel.uniforms]
    across, up = each.groups
    groups, work_groups = across * up, compile_kernel(each.kernel)
    chunk = -(-groups // (_threads() * _CHUNKS))

    def run(first: int) -> None:
        last = min(first + chunk, groups)
        work_groups(*buffers, *uniforms, each.kernel.local_size[0], across, first, last)

    chunks = range(0, groups, max(chunk, 1))
    if len(chunks) <= 1:
        for first in chunks:
            run(first)
        return
    for _ in pool.map(run, chunks):
        pass


def _threads() -> int:
    """The processors that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


EXECUTOR = JitExecutor()
