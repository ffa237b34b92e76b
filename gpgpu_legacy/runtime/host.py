"""A run in the host's own memory, whatever carries out its drawing and its kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter

import numpy as np

from gpgpu_legacy.interp.numeric import Storage, pack, slices
from gpgpu_legacy.plan.expand import passes
from gpgpu_legacy.plan.plan import ClearPass, CopyPass, Pass, Plan
from gpgpu_legacy.runtime.executor import F32, Observer, Result, Timings
from gpgpu_legacy.runtime.transfers import read_back

Textures = Mapping[str, Storage]


def run_on_host(
    plan: Plan,
    operands: Mapping[str, F32],
    carry_out: Callable[[Pass, Textures], None],
    observer: Observer | None,
) -> Result:
    """Fill textures, carry out the passes, read the results back.

    carry_out: called with each pass that is neither a copy nor a clear, and the textures by name.
    """
    started = perf_counter()
    textures = {texture.name: Storage(texture) for texture in plan.textures}
    for each in plan.inputs:
        texels = pack(operands[each.matrix], each.region, each.rect, each.packing)
        for channel in range(texels.shape[2]):
            textures[each.texture].write(channel, slices(each.rect), texels[..., channel])
    uploaded = perf_counter()
    for number, step in enumerate(passes(plan)):
        if isinstance(step, CopyPass):
            source, target = textures[step.source], textures[step.target]
            target.copy(slices(step.target_rect), source, slices(step.source_rect))
        elif isinstance(step, ClearPass):
            textures[step.target].clear(step.value)
        else:
            carry_out(step, textures)
        if observer is not None:
            observer(number, step, lambda name: _texels(textures[name]))
    computed = perf_counter()
    outputs = read_back(plan, lambda name, rect: _texels(textures[name])[slices(rect)])
    finished = perf_counter()
    return Result(outputs, Timings(uploaded - started, computed - uploaded, finished - computed))


def _texels(storage: Storage) -> F32:
    return np.stack([storage.decoded(c) for c in range(len(storage.planes))], axis=-1)
