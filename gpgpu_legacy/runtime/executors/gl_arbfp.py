"""The `gl-arbfp` executor: plans on the driver's own ARB_fragment_program."""

from __future__ import annotations

from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.machine import FRAGMENT_PASSES, Capabilities, Machine
from gpgpu_legacy.runtime.prepared import Prepared


class GlArbfpExecutor(Executor):
    """Runs where the driver offers GL_ARB_fragment_program to a compatibility context.

    The driver decides the arithmetic: llvmpipe rounds a multiply-add twice, as the numpy executor
    does, a GPU may round it once, and a program cannot choose. So exact runs are refused. The
    driver also decides how a colour becomes 8 bits: llvmpipe gives the nearest of the 256 values,
    an H100 sometimes the one below it.
    """

    name = "gl-arbfp"
    summary = "the driver's own ARB_fragment_program, through EGL"
    capabilities = Capabilities(FRAGMENT_PASSES, exact=False, runs_driver_programs=True)

    def device(self) -> str:
        """The renderer and the version of its driver; see Executor."""
        from gpgpu_legacy.runtime import gl_arbfp_context

        return gl_arbfp_context.context().device_name

    def is_hardware(self) -> bool:
        """Whether the renderer is a GPU; see Executor."""
        from gpgpu_legacy.runtime import gl_arbfp_context

        return gl_arbfp_context.context().is_hardware

    def memory_bytes(self, plan: Plan) -> int:
        """Packed texels and results; textures, too, where a software renderer draws."""
        from gpgpu_legacy.runtime.transfers import bytes_beside_gl

        return bytes_beside_gl(plan, plan.texture_bytes, self.is_hardware)

    def _prepare(self, plan: Plan, machine: Machine) -> Prepared:
        """Prepare a plan; see Executor.

        Raises PlanError where the driver refuses a program, a texture's size or its format, and
        where a pass gives a value to state that OpenGL derives from other state.
        """
        from gpgpu_legacy.runtime import gl_arbfp_context
        from gpgpu_legacy.runtime.gl_arbfp import GlArbfpPrepared, NothingToDo

        if not plan.textures:
            return NothingToDo(plan, machine)
        return GlArbfpPrepared(gl_arbfp_context.context(), plan, machine)


EXECUTOR = GlArbfpExecutor()
