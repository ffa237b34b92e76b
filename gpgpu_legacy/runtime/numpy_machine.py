"""The `numpy` executor: plans on the reference machine. It defines what the others must give."""

from __future__ import annotations

from collections.abc import Mapping

from gpgpu_legacy.interp.kernel import run_compute_pass
from gpgpu_legacy.interp.machine import run_fragment_pass
from gpgpu_legacy.plan.plan import ComputePass, FragmentPass, Pass, Plan
from gpgpu_legacy.runtime.devices import processor_name
from gpgpu_legacy.runtime.executor import (
    ALL_PASSES,
    EVERY_ARITHMETIC,
    F32,
    Capabilities,
    Executor,
    Machine,
    Observer,
    Prepared,
    Result,
)
from gpgpu_legacy.runtime.host import Textures, pass_by_pass, run_on_host
from gpgpu_legacy.runtime.sessions import OneByOne


class NumpyExecutor(Executor):
    """Runs anywhere, in every arithmetic; every operation is rounded."""

    name = "numpy"
    summary = "the reference machine, in NumPy on the CPU"
    capabilities = Capabilities(ALL_PASSES, EVERY_ARITHMETIC, is_reference=True, cpu_rank=4)

    def device(self) -> str:
        """The processor, as the operating system names it."""
        return processor_name()

    def is_hardware(self) -> bool:
        """Never a GPU."""
        return False

    def _prepare(self, plan: Plan, machine: Machine) -> Prepared:
        def session(operands: Mapping[str, F32], observer: Observer | None) -> Result:
            return self._carry_out(plan, operands, machine, observer)

        return OneByOne(plan, machine, session)

    def _carry_out(
        self,
        plan: Plan,
        operands: Mapping[str, F32],
        machine: Machine,
        observer: Observer | None,
    ) -> Result:
        """Carry out a plan; see Executor. Kernels are float32 alone."""

        def carry_out(each: Pass, textures: Textures) -> None:
            if isinstance(each, FragmentPass):
                run_fragment_pass(each, textures, machine.arithmetic)
            elif isinstance(each, ComputePass):
                run_compute_pass(each, textures)

        return run_on_host(plan, operands, pass_by_pass(plan, carry_out), observer)


EXECUTOR = NumpyExecutor()
