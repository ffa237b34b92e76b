"""A pipeline whose textures stay: each step goes on from what the step before has left in them."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import replace

from numpy.typing import ArrayLike

from gpgpu_legacy.api.prepared import prepared
from gpgpu_legacy.api.run import in_shape
from gpgpu_legacy.door import block
from gpgpu_legacy.errors import UnknownNameError, as_positive
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.inputs import as_operands, matrices_of, operands_of
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.predict import auto
from gpgpu_legacy.runtime.executor import AUTO
from gpgpu_legacy.runtime.machine import DEFAULT_MACHINE, Machine
from gpgpu_legacy.runtime.prepared import Prepared

_RUNS = 1000
"""The steps that `auto` chooses for: many, since the plan stays prepared."""


class OpenPlan:
    """A plan that is run step by step; `Pipeline.open` makes it.

    steps: how many it has done. outputs: by name, after the last step; none before the first.
    """

    def __init__(self, plan: Plan, ready: Prepared, given: Mapping[str, F32]) -> None:
        """given: the inputs of the first step."""
        self.steps = 0
        self.outputs: dict[str, F32] = {}
        self._plan, self._ready, self._given = plan, ready, given

    def __repr__(self) -> str:
        return f"<State {self._plan.name} after {self.steps} steps>"

    def __getitem__(self, name: str) -> F32:
        """An output by its name, after the last step."""
        if name not in self.outputs:
            names = ", ".join(self.outputs) or "none before the first step"
            raise UnknownNameError(f"this state has no output {name}; its outputs are {names}")
        return self.outputs[name]

    def step(self, count: int = 1, **inputs: ArrayLike) -> dict[str, F32]:
        """Run the plan `count` times more; returns the outputs.

        inputs: by name, in place of what their textures hold before the first of these times.
        Raises InputError for inputs that do not fit.
        """
        times = as_positive("count", count)
        given = _some(self._plan, inputs)
        if self.steps == 0:
            given = {**self._given, **given}
        result = self._ready.run(given, resume=self.steps > 0, times=times)
        self.steps += times
        self.outputs = in_shape(self._plan, result.outputs)
        return self.outputs


def _some(plan: Plan, inputs: Mapping[str, ArrayLike]) -> dict[str, F32]:
    """Some of a plan's inputs, checked."""
    matrices_of(plan, "input", plan.operands, inputs)
    operands = tuple(matrix for matrix in plan.operands if matrix.name in inputs)
    transfers = tuple(input_ for input_ in plan.inputs if input_.matrix in inputs)
    return as_operands(replace(plan, operands=operands, inputs=transfers), inputs)


@block
def opened(
    p: PlanBuilder,
    inputs: Mapping[str, ArrayLike] | None = None,
    *,
    executor: str = AUTO,
    machine: Machine = DEFAULT_MACHINE,
    seed: int = 0,
) -> Generator[OpenPlan, None, None]:
    """A plan, prepared, whose textures stay from step to step until the block ends.

    inputs, executor, machine, seed: as for `run`.
    """
    plan = p.plan()
    given = operands_of(p, plan, inputs, seed)
    executors = auto.executors_for(executor, plan, machine)(_RUNS)
    with prepared(plan, executors, machine) as (_, ready):
        yield OpenPlan(plan, ready, given)
