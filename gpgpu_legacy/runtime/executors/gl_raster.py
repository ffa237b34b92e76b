"""The `gl-raster` executor: plans as they were meant, rectangles drawn into framebuffers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.gl.executor import GlExecutor
from gpgpu_legacy.runtime.machine import (
    EVERY_ARITHMETIC,
    FRAGMENT_PASSES,
    Capabilities,
    Device,
    Machine,
    Pace,
)
from gpgpu_legacy.runtime.prepared import Prepared

if TYPE_CHECKING:
    from gpgpu_legacy.runtime.gl.core import GlContext


class GlRasterExecutor(GlExecutor):
    """Runs on any OpenGL 4.0 driver, GPU or software, with no window."""

    name = "gl-raster"
    summary = "framebuffers and fragment shaders, through OpenGL"
    capabilities = Capabilities(FRAGMENT_PASSES, EVERY_ARITHMETIC, has_driver_functions=True)

    def context(self) -> GlContext:
        """See GlExecutor."""
        from gpgpu_legacy.runtime.gl import core

        return core.context()

    def pace(self, device: Device) -> Pace:
        """A driver starts slowly and draws fast; llvmpipe draws on the cores of the CPU."""
        if device is Device.GPU:
            return Pace(0.16, code_s=8e-4, kept_s=1e-4, step_s=1e-3, pass_s=2e-5, per_s=6.5e10)
        return Pace(0.06, code_s=6e-4, kept_s=5e-5, step_s=1e-3, pass_s=1e-4, per_s=1.2e9)

    def _prepare(self, plan: Plan, machine: Machine) -> Prepared:
        """Prepare a plan; PlanError if a texture is too large here."""
        from gpgpu_legacy.runtime.gl.raster import GlRasterPrepared

        context = self.context()
        return GlRasterPrepared(context, plan, machine, on_device=context.is_hardware)


EXECUTOR = GlRasterExecutor()
