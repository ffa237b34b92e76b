"""The `jit` executor: compute plans as native code on the CPU, compiled by numba."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

import numpy as np

from gpgpu_legacy.interp.numeric import Storage, pack, slices, unpack
from gpgpu_legacy.lower.jit import DTYPES, compile_kernel
from gpgpu_legacy.plan.expand import passes
from gpgpu_legacy.plan.plan import ClearPass, ComputePass, CopyPass, Pass, Plan
from gpgpu_legacy.runtime.devices import processor_name
from gpgpu_legacy.runtime.executor import F32, Machine, Observer, Result, Timings

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
        started = perf_counter()
        textures = {texture.name: Storage(texture) for texture in plan.textures}
        for each_input in plan.inputs:
            rect = each_input.rect
            texels = pack(operands[each_input.matrix], each_input.region, rect, each_input.packing)
            for channel in range(texels.shape[2]):
                textures[each_input.texture].write(channel, slices(rect), texels[..., channel])
        uploaded = perf_counter()
        with ThreadPoolExecutor(_threads()) as pool:
            for number, step in enumerate(passes(plan)):
                _carry_out(step, textures, pool)
                if observer is not None:
                    observer(number, step, lambda name: _texels(textures[name]))
        computed = perf_counter()
        outputs = {m.name: np.zeros((m.rows, m.columns), np.float32) for m in plan.results}
        for output in plan.outputs:
            rows, columns = slices(output.rect)
            texels = _texels(textures[output.texture])[rows, columns]
            unpack(texels, outputs[output.matrix], output.region, output.packing)
        finished = perf_counter()
        timings = Timings(uploaded - started, computed - uploaded, finished - computed)
        return Result(outputs, timings)


def _carry_out(each: Pass, textures: Mapping[str, Storage], pool: ThreadPoolExecutor) -> None:
    if isinstance(each, CopyPass):
        source, target = textures[each.source], textures[each.target]
        target.copy(slices(each.target_rect), source, slices(each.source_rect))
    elif isinstance(each, ClearPass):
        textures[each.target].clear(each.value)
    elif isinstance(each, ComputePass):
        _dispatch(each, textures, pool)


def _dispatch(each: ComputePass, textures: Mapping[str, Storage], pool: ThreadPoolExecutor) -> None:
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


def _texels(storage: Storage) -> F32:
    return np.stack([storage.decoded(c) for c in range(len(storage.planes))], axis=-1)


EXECUTOR = JitExecutor()
