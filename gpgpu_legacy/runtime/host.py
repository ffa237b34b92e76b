"""A run in the host's own memory, whatever carries out its drawing and its kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from time import perf_counter

import numpy as np

from gpgpu_legacy.interp.numeric import Storage, pack, slices
from gpgpu_legacy.plan.expand import passes
from gpgpu_legacy.plan.plan import (
    ClearPass,
    CopyPass,
    Pass,
    Plan,
    Texture,
    constant_rect,
    constant_vector,
)
from gpgpu_legacy.runtime.executor import F32, Observer, Result, Timings
from gpgpu_legacy.runtime.transfers import read_back

Textures = Mapping[str, Storage]
CarryOut = Callable[[Pass, Textures], None]


def run_on_host(
    plan: Plan,
    operands: Mapping[str, F32],
    work: Callable[[Textures], Iterator[Pass]],
    observer: Observer | None,
    make: Callable[[Texture], Storage] = Storage,
) -> Result:
    """Fill textures, do the work on them, read the results back.

    work: given the textures by name, does what the plan says and yields what the observer is to be
    told of, pass by pass. make: makes a texture's storage.
    """
    started = perf_counter()
    textures = {texture.name: make(texture) for texture in plan.textures}
    for each in plan.inputs:
        texels = pack(operands[each.matrix], each.region, each.rect, each.packing)
        for channel in range(texels.shape[2]):
            textures[each.texture].write(channel, slices(each.rect), texels[..., channel])
    uploaded = perf_counter()
    for number, done in enumerate(work(textures)):
        if observer is not None:
            observer(number, done, lambda name: _texels(textures[name]))
    computed = perf_counter()
    outputs = read_back(plan, lambda name, rect: _texels(textures[name])[slices(rect)])
    finished = perf_counter()
    return Result(outputs, Timings(uploaded - started, computed - uploaded, finished - computed))


def pass_by_pass(plan: Plan, carry_out: CarryOut) -> Callable[[Textures], Iterator[Pass]]:
    """The work of a plan as its expansion has it, for `run_on_host`.

    carry_out: called with each pass that is neither a copy nor a clear.
    """

    def work(textures: Textures) -> Iterator[Pass]:
        for each in passes(plan):
            if not copied_or_cleared(each, textures):
                carry_out(each, textures)
            yield each

    return work


def copied_or_cleared(each: Pass, textures: Textures) -> bool:
    """Carry out a pass that is a copy or a clear; false where it is neither."""
    if isinstance(each, CopyPass):
        source, target = textures[each.source], textures[each.target]
        target.copy(
            slices(constant_rect(each.target_rect)), source, slices(constant_rect(each.source_rect))
        )
        return True
    if isinstance(each, ClearPass):
        textures[each.target].clear(constant_vector(each.value))
        return True
    return False


def _texels(storage: Storage) -> F32:
    return np.stack([storage.decoded(c) for c in range(len(storage.planes))], axis=-1)
