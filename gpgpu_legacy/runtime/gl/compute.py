"""Prepared plans of `gl-compute`: everything on storage buffers and compute shaders.

A texture of any kind is a storage buffer (runtime/gl/storage.py). A pass that draws becomes a
compute shader (runtime/gl/recorder.py). A dispatch runs its kernel, whose text the driver gets
unchanged; runtime/gl/limits.py describes the risks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpgpu_legacy.lower.groups.shape import Multiprocessors
from gpgpu_legacy.plan.numbers import NumberVec4
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.textures import Transfer
from gpgpu_legacy.runtime.gl.core import GlContext
from gpgpu_legacy.runtime.gl.limits import LLVMPIPE_ITERATIONS, check_limits, is_llvmpipe, limit
from gpgpu_legacy.runtime.gl.prepared import Call, GlPrepared, RecordedSteps
from gpgpu_legacy.runtime.gl.recorder import DeviceLimits, Recorder
from gpgpu_legacy.runtime.gl.storage import TextureBuffers
from gpgpu_legacy.runtime.gl.transfers import DeviceTransfers, Spot, movable
from gpgpu_legacy.runtime.machine import Machine, Tuning

_FLOAT_BITS = 32


class GlComputePrepared(GlPrepared[GlContext]):
    """A plan's buffers and shaders, and its steps recorded as dispatches."""

    def __init__(
        self, context: GlContext, plan: Plan, machine: Machine, *, on_device: bool
    ) -> None:
        """on_device: buffers are in the memory of a device, which packs operands and results."""
        self._on_device = on_device
        self._recordings: dict[bool, Recorder] = {}  # by whether the run is observed
        super().__init__(context, plan, machine)

    def _build(self) -> None:
        check_limits(self.plan, self.context.info)
        on_device = self._on_device
        self._storage = self.keep(TextureBuffers(self.context, self.plan, on_device=on_device))
        self._store = self._storage
        self._make_transfers(self._device_transfers() if on_device else None)
        self._recordings[False] = self._make_recording(apart=False)

    def _device_transfers(self) -> DeviceTransfers:
        plan, storage = self.plan, self._storage

        def is_bits(transfer: Transfer) -> bool:
            """False if a format rounds its values; everything is stored as float32."""
            return storage.textures[transfer.texture].format.bits_per_channel == _FLOAT_BITS

        def spot(transfer: Transfer) -> Spot:
            width = storage.textures[transfer.texture].extent.width
            return Spot(storage.buffers[transfer.texture], width, transfer.rect.x, transfer.rect.y)

        taken = movable(plan, self.context, is_bits, only_in=True)
        return self.keep(DeviceTransfers(self.context, plan, *taken, spot))

    def _clear(self, name: str, value: NumberVec4) -> Call:
        return self._storage.clear(name, value)

    def _make_recording(self, *, apart: bool) -> Recorder:
        """The steps, recorded and compiled."""
        device = _device(self.context, self.machine.tuning)
        most = self.context.info["GL_MAX_TEXTURE_BUFFER_SIZE"]
        if any(t.extent.rows * t.extent.width > most for t in self.plan.textures):
            device = replace(device, fetches=False)
        recording = Recorder(
            self.context, self.parts, self.machine, device, self._storage, apart=apart
        )
        if recording.block_buffer is not None:
            self.keep(recording.block_buffer)
        recording.warm_up()
        self.context.finish()
        return recording

    def _make_ready(self, *, observed: bool) -> None:
        if observed and observed not in self._recordings:
            fused = self._recordings[False]
            recording = self._make_recording(apart=True) if fused.has_fused_passes else fused
            self._recordings[observed] = recording

    def _begin(self, *, observed: bool) -> None:
        self._recordings[observed].uniforms.begin()

    def _steps(self, part: Plan, *, observed: bool) -> Sequence[RecordedSteps]:
        return self._recordings[observed].steps[id(part)]

    def _forget(self) -> None:
        super()._forget()
        self._recordings.clear()


_MULTIPROCESSORS = 64
"""The multiprocessors of a GPU that does not report them."""


def _device(context: GlContext, tuning: Tuning | None) -> DeviceLimits:
    """The properties of the device that decide the code.

    llvmpipe loads from a storage buffer invocation by invocation, each with a test of its own, and
    gathers from a texture for a vector of invocations at once. It takes long to compile long
    shaders.
    """
    info, chosen = context.info, tuning or Tuning()
    software = is_llvmpipe(info)
    processors = Multiprocessors()
    if context.is_hardware:
        count = info.get("GL_SM_COUNT_NV", _MULTIPROCESSORS)
        processors = Multiprocessors.of_gpu(count)
    return DeviceLimits(
        limit(info, "GL_MAX_COMPUTE_SHARED_MEMORY_SIZE"),
        limit(info, "GL_MAX_COMPUTE_SHADER_STORAGE_BLOCKS"),
        processors,
        LLVMPIPE_ITERATIONS if software else None,
        chosen.group,
        fetches=software,
        temporal=chosen.temporal,
        shares_fast=context.is_hardware,
    )
