"""The `numpy` executor: plans on the reference machine. It defines what the others must give."""

from __future__ import annotations

from collections.abc import Mapping

from gpgpu_legacy.interp.kernel import run_compute_pass
from gpgpu_legacy.interp.machine import run_fragment_pass
from gpgpu_legacy.plan.plan import ComputePass, FragmentPass, Pass, Plan
from gpgpu_legacy.runtime.devices import processor_name
from gpgpu_legacy.runtime.executor import (
    ALL_PASSES,
    F32,
    Machine,
    Observer,
    Result,
    require_arithmetic,
)
from gpgpu_legacy.runtime.host import Textures, pass_by_pass, run_on_host


class NumpyExecutor:
    """Runs anywhere, in every arithmetic; every operation is rounded."""

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
        machine: Machine = Machine(),  # noqa: B008 - frozen
        observer: Observer | None = None,
    ) -> Result:
        """Carry out a plan; see Executor. Kernels are float32 alone."""
        if any(isinstance(each, ComputePass) for _, each in plan.weighted_passes()):
            require_arithmetic("a kernel", machine)

        def carry_out(each: Pass, textures: Textures) -> None:
            if isinstance(each, FragmentPass):
                run_fragment_pass(each, textures, machine.arithmetic)
            elif isinstance(each, ComputePass):
                run_compute_pass(each, textures)

        return run_on_host(plan, operands, pass_by_pass(plan, carry_out), observer)


EXECUTOR = NumpyExecutor()
