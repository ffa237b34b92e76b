"""The `jit` executor: plans as native code on the CPU, by LLVM."""

from __future__ import annotations

from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.devices import processor, thread_count
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.machine import ALL_PASSES, Capabilities, Device, Machine, Pace
from gpgpu_legacy.runtime.prepared import Prepared


class JitExecutor(Executor):
    """Uses all cores of the processor; an exact run gives the numpy executor's bits."""

    name = "jit"
    summary = "native code on all cores of the CPU, compiled by LLVM"
    capabilities = Capabilities(
        ALL_PASSES, fuses_passes=True, tuning=frozenset({"tile"}), is_of_host=True
    )

    def device(self) -> str:
        """The processor, as the operating system names it, and how many threads work."""
        return processor()

    def pace(self, device: Device) -> Pace:
        """Measured on two cores of an AMD EPYC; most of it is LLVM's work."""
        rate = 1e10 * thread_count()
        return Pace(
            start_s=0.1,
            code_s=1.9e-3,
            kept_s=2e-4,
            kernel_s=0.08,
            kept_kernel_s=0.01,
            step_s=2e-3,
            pass_s=2e-5,
            per_s=rate,
            kernels_per_s=rate,
            statement_s=1e-9,
        )

    def memory_bytes(self, plan: Plan) -> int:
        """Textures, with room at the end of their rows, and results."""
        from gpgpu_legacy.runtime.native import roomy_bytes
        from gpgpu_legacy.runtime.transfers import results_bytes

        return sum(map(roomy_bytes, plan.textures)) + results_bytes(plan)

    def _prepare(self, plan: Plan, machine: Machine) -> Prepared:
        """Raises PlanError for a kernel that is not compiled."""
        from gpgpu_legacy.runtime.jit import JitPrepared

        return JitPrepared(plan, machine)


EXECUTOR = JitExecutor()
