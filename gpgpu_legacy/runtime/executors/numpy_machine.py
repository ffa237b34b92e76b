"""The `numpy` executor: plans on the reference machine. It defines the results of all others."""

from __future__ import annotations

from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.devices import processor_name
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.machine import (
    ALL_PASSES,
    EVERY_ARITHMETIC,
    Capabilities,
    Device,
    Machine,
    Pace,
)
from gpgpu_legacy.runtime.prepared import Prepared


class NumpyExecutor(Executor):
    """Runs anywhere, in every arithmetic; it rounds every operation. Kernels are float32 only."""

    name = "numpy"
    summary = "the reference machine, in NumPy on the CPU"
    capabilities = Capabilities(ALL_PASSES, EVERY_ARITHMETIC, is_reference=True, is_of_host=True)

    def device(self) -> str:
        """The processor, as the operating system names it."""
        return processor_name()

    def pace(self, device: Device) -> Pace:
        """Each instruction of a pass, or statement of a kernel, is a NumPy operation."""
        return Pace(
            pass_s=2.5e-4, instruction_s=2.5e-5, per_s=3e8, kernels_per_s=6e8, statement_s=5e-6
        )

    def memory_bytes(self, plan: Plan) -> int:
        """Textures and results; passes run in bands of rows, which need little memory."""
        from gpgpu_legacy.runtime.transfers import results_bytes

        return plan.texture_bytes + results_bytes(plan)

    def _prepare(self, plan: Plan, machine: Machine) -> Prepared:
        from gpgpu_legacy.runtime.host import PassByPassPrepared

        return PassByPassPrepared(plan, machine)


EXECUTOR = NumpyExecutor()
