"""The `gl-compute` executor: everything on storage buffers and compute shaders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.gl.executor import GlExecutor
from gpgpu_legacy.runtime.machine import (
    ALL_PASSES,
    EVERY_ARITHMETIC,
    Capabilities,
    Device,
    Machine,
    Pace,
)
from gpgpu_legacy.runtime.prepared import Prepared

if TYPE_CHECKING:
    from gpgpu_legacy.runtime.gl.core import GlContext


class GlComputeExecutor(GlExecutor):
    """Runs on any OpenGL 4.3 driver, GPU or software, with no window."""

    name = "gl-compute"
    summary = "storage buffers and compute shaders, through OpenGL 4.3"
    capabilities = Capabilities(
        ALL_PASSES,
        EVERY_ARITHMETIC,
        has_driver_functions=True,
        fuses_passes=True,
        tuning=frozenset({"group"}),
    )

    def context(self) -> GlContext:
        """See GlExecutor."""
        from gpgpu_legacy.runtime.gl import core

        return core.compute_context()

    def pace(self, device: Device) -> Pace:
        """Llvmpipe compiles and runs compute shaders slowly; a GPU is fast at both."""
        if device is Device.GPU:
            return Pace(0.28, code_s=2e-3, kept_s=1e-4, kernel_s=0.1, step_s=1e-3, pass_s=1e-5,
                        per_s=1e12, kernels_per_s=1e12, statement_s=1e-7)  # fmt: skip
        return Pace(0.1, code_s=1e-2, kept_s=4e-4, kernel_s=0.1, step_s=1e-3, pass_s=1e-4,
                    per_s=3e8, kernels_per_s=2e8, statement_s=1e-8)  # fmt: skip

    def why_inexact(self, plan: Plan, machine: Machine) -> str:
        """See Executor; a driver may also contract or regroup a kernel's arithmetic."""
        from gpgpu_legacy.runtime.gl.limits import why_inexact

        return why_inexact(plan, self.context().info) or super().why_inexact(plan, machine)

    def stored_bytes(self, plan: Plan) -> int:
        """See GlExecutor."""
        from gpgpu_legacy.runtime.gl.storage import buffers_bytes

        return buffers_bytes(plan)

    def _prepare(self, plan: Plan, machine: Machine) -> Prepared:
        """See Executor.

        Raises PlanError for a plan that exceeds a limit of the device, and for kernels whose loops
        llvmpipe would not finish.
        """
        from gpgpu_legacy.runtime.gl.compute import GlComputePrepared

        context = self.context()
        return GlComputePrepared(context, plan, machine, on_device=context.is_hardware)


EXECUTOR = GlComputeExecutor()
