"""The `numpy` executor: plans on the reference machine. It defines what the others must give."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter

import numpy as np

from gpgpu_legacy.interp.kernel import run_compute_pass
from gpgpu_legacy.interp.machine import run_fragment_pass
from gpgpu_legacy.interp.numeric import Storage, pack, slices, unpack
from gpgpu_legacy.plan.expand import passes
from gpgpu_legacy.plan.plan import ClearPass, ComputePass, CopyPass, Pass, Plan
from gpgpu_legacy.runtime.devices import processor_name
from gpgpu_legacy.runtime.executor import ALL_PASSES, F32, Machine, Observer, Result, Timings


class NumpyExecutor:
    """Runs anywhere; arithmetic is float32 with every operation rounded."""

    name = "numpy"
    summary = "the reference machine, in NumPy on the CPU"
    passes = ALL_PASSES

    def device(self) -> str:
        """The processor, as the operating system names it."""
        return processor_name()

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
        """Carry out a plan; see Executor."""
        started = perf_counter()
        textures = {texture.name: Storage(texture) for texture in plan.textures}
        for each in plan.inputs:
            texels = pack(operands[each.matrix], each.region, each.rect, each.packing)
            for channel in range(texels.shape[2]):
                textures[each.texture].write(channel, slices(each.rect), texels[..., channel])
        uploaded = perf_counter()
        for number, step in enumerate(passes(plan)):
            _carry_out(step, textures)
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


def _carry_out(each: Pass, textures: Mapping[str, Storage]) -> None:
    if isinstance(each, CopyPass):
        source, target = textures[each.source], textures[each.target]
        target.copy(slices(each.target_rect), source, slices(each.source_rect))
    elif isinstance(each, ClearPass):
        textures[each.target].clear(each.value)
    elif isinstance(each, ComputePass):
        run_compute_pass(each, textures)
    else:
        run_fragment_pass(each, textures)


def _texels(storage: Storage) -> F32:
    return np.stack([storage.decoded(c) for c in range(len(storage.planes))], axis=-1)


EXECUTOR = NumpyExecutor()
