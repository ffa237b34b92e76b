"""The `gl-arbfp` executor: plans on the driver's own ARB_fragment_program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.gl.executor import GlExecutor
from gpgpu_legacy.runtime.machine import FRAGMENT_PASSES, Capabilities, Machine
from gpgpu_legacy.runtime.prepared import Prepared

if TYPE_CHECKING:
    from gpgpu_legacy.runtime.gl.compatibility import Context


class GlArbfpExecutor(GlExecutor):
    """Runs where the driver offers GL_ARB_fragment_program to a compatibility context.

    The driver decides the arithmetic: llvmpipe rounds a multiply-add twice, as the numpy executor
    does, a GPU may round it once, and a program cannot choose. So exact runs are refused. The
    driver also decides how a colour becomes 8 bits: llvmpipe gives the nearest of the 256 values,
    an H100 sometimes the one below it.
    """

    name = "gl-arbfp"
    summary = "the driver's own ARB_fragment_program, through EGL"
    capabilities = Capabilities(FRAGMENT_PASSES, exact=False, runs_driver_programs=True)

    def context(self) -> Context:
        """See GlExecutor."""
        from gpgpu_legacy.runtime.gl import compatibility

        return compatibility.context()

    def _prepare(self, plan: Plan, machine: Machine) -> Prepared:
        """Prepare a plan; see Executor.

        Raises PlanError if the driver refuses a program, a texture's size or its format, and if a
        pass sets state that OpenGL derives from other state.
        """
        from gpgpu_legacy.runtime.gl.arbfp import GlArbfpPrepared

        return GlArbfpPrepared(self.context(), plan, machine)


EXECUTOR = GlArbfpExecutor()
