"""The `gl-compute` executor: everything on storage buffers and compute shaders."""

from __future__ import annotations

from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.machine import ALL_PASSES, EVERY_ARITHMETIC, Capabilities, Machine
from gpgpu_legacy.runtime.prepared import Prepared


class GlComputeExecutor(Executor):
    """Runs on any OpenGL 4.3 driver, GPU or software, with no window."""

    name = "gl-compute"
    summary = "storage buffers and compute shaders, through OpenGL 4.3"
    capabilities = Capabilities(
        ALL_PASSES,
        EVERY_ARITHMETIC,
        has_driver_functions=True,
        fuses_passes=True,
        tuning=frozenset({"group"}),
        gpu_rank=1,
        cpu_rank=3,
    )

    def device(self) -> str:
        """The GL renderer and version; ExecutorUnavailableError where there is no OpenGL 4.3."""
        from gpgpu_legacy.runtime import gl

        return gl.compute_context().device_name

    def is_hardware(self) -> bool:
        """Whether the renderer is a GPU."""
        from gpgpu_legacy.runtime import gl

        return gl.compute_context().is_hardware

    def why_inexact(self, plan: Plan, machine: Machine) -> str:
        """See Executor; a driver may also contract or regroup what a kernel computes."""
        from gpgpu_legacy.runtime import gl
        from gpgpu_legacy.runtime.gl_limits import why_inexact

        return why_inexact(plan, gl.compute_context().info) or super().why_inexact(plan, machine)

    def memory_bytes(self, plan: Plan) -> int:
        """Packed texels and results; buffers, too, where a software renderer computes."""
        from gpgpu_legacy.runtime.gl_storage import buffers_bytes
        from gpgpu_legacy.runtime.transfers import bytes_beside_gl

        return bytes_beside_gl(plan, buffers_bytes(plan), self.is_hardware)

    def _prepare(self, plan: Plan, machine: Machine) -> Prepared:
        """See Executor.

        Raises PlanError for a plan that exceeds a limit of the device, and for kernels whose loops
        llvmpipe would not finish.
        """
        from gpgpu_legacy.runtime import gl
        from gpgpu_legacy.runtime.gl_compute import GlComputePrepared

        context = gl.compute_context()
        return GlComputePrepared(context, plan, machine, on_device=context.is_hardware)


EXECUTOR = GlComputeExecutor()
