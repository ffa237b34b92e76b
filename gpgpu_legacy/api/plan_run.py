"""A plan on an executor: run on arrays, timed, counted, and compared with a reference function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from gpgpu_legacy.api.keywords import MachineKeywords, as_machine
from gpgpu_legacy.api.prepared import prepared, run_repeatedly
from gpgpu_legacy.api.seconds import Seconds
from gpgpu_legacy.count.traffic import Counts, count_plan
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.measure.rounds import as_repeat
from gpgpu_legacy.pipeline.inputs import as_operands
from gpgpu_legacy.pipeline.reference import Reference, expected, largest_error
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.predict.auto import candidates as of_auto
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.runtime.prepared import Observer, Prepared, Timings
from gpgpu_legacy.runtime.registry import AUTO, find_executor
from gpgpu_legacy.serial import Record, as_record

DEFAULT_MACHINE = Machine()

SMALL_WORK = 1 << 24
"""Instructions, over all fragments, up to which the reference machine is done before another
executor has compiled the programs."""


class OutputRecord(Record):
    """A result as it is written. min, max: None for one with a NaN or an infinity."""

    shape: tuple[int, ...]
    min: float | None
    max: float | None


class PlanRunRecord(Record):
    """A run as it is written. max_error: None without a reference, and where it is not finite."""

    plan: str
    parameters: dict[str, int | float | str | bool | None]
    executor: str
    device: str
    arithmetic: str
    seconds: Seconds
    counts: Counts
    outputs: dict[str, OutputRecord]
    max_error: float | None


@dataclass(frozen=True, repr=False)
class PlanRun:
    """The results of a plan, with what is known about how they were computed.

    outputs: float32 by name, in the shapes of the plan's results; an output is an attribute too,
    as in `run.x`. seconds: of preparing the plan, next to nothing where it was prepared already
    (api/prepared.py), and the medians over all measured runs of upload, compute and readback.
    counts: of the plan; they do not depend on the executor. executor, device: what it ran on, by
    name and in words. arithmetic: the name of the format that operations were rounded to. inputs:
    float32, by name. parameters: that the plan was built with.
    """

    plan: Plan
    executor: str
    device: str
    arithmetic: str
    seconds: Timings
    inputs: Mapping[str, F32]
    outputs: Mapping[str, F32]
    reference: Reference | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        outputs = ", ".join(
            f"{name} {'×'.join(map(str, values.shape))}" for name, values in self.outputs.items()
        )
        return (
            f"<PlanRun {self.plan.name}: {outputs} from {self.executor} ({self.device}), "
            f"{1e3 * self.seconds.compute_s:.4g} ms>"
        )

    def _repr_html_(self) -> str:
        """Its outputs, times and counts, as tables for a notebook."""
        from gpgpu_legacy.api.plan_run_table import run_grids
        from gpgpu_legacy.present.html import grids_html

        return grids_html(run_grids(self.record(), self.plan.name))

    def __getattr__(self, name: str) -> F32:
        """An output by its name."""
        outputs = self.__dict__.get("outputs", {})
        if name not in outputs:
            raise AttributeError(
                f"this run has no output {name}; its outputs are {', '.join(outputs) or 'none'}"
            )
        return outputs[name]  # type: ignore[no-any-return]

    @cached_property
    def counts(self) -> Counts:
        """What the plan costs."""
        return count_plan(self.plan)

    @cached_property
    def max_error(self) -> float | None:
        """The largest difference from the reference function, over its largest magnitude.

        None without a reference. NaN where a NaN or an infinity takes part.
        """
        if self.reference is None:
            return None
        return largest_error(self.outputs, expected(self.plan, self.reference, self.inputs))

    def record(self, *, check: bool = True) -> PlanRunRecord:
        """The run as it is written. check: whether to compute the error from the reference."""
        error = self.max_error if check else None
        return as_record(
            PlanRunRecord,
            self,
            plan=self.plan.name,
            seconds=as_record(Seconds, self.seconds),
            outputs={name: _output_record(values) for name, values in self.outputs.items()},
            max_error=None if error is None or not isfinite(error) else error,
        )


def _output_record(values: F32) -> OutputRecord:
    finite = bool(values.size) and bool(np.isfinite(values).all())
    return OutputRecord(
        shape=values.shape,
        min=float(values.min()) if finite else None,
        max=float(values.max()) if finite else None,
    )


def run_plan(
    plan: Plan,
    inputs: Mapping[str, ArrayLike] | None = None,
    *,
    executor: str = AUTO,
    machine: Machine | None = None,
    repeat: int = 1,
    observer: Observer | None = None,
    **keywords: Unpack[MachineKeywords],
) -> PlanRun:
    """Run a plan on arrays, by name, of the shapes of its operands; they become float32.

    executor: its name. `auto` chooses the reference machine for small work, else the fastest
    executor that can run the plan.
    machine: how the run computes. Its fields may be given as keywords: `exact=True` gives the
    reference's bits or refuses; `arithmetic` names the format that results of instructions are
    rounded to.
    repeat: how often the plan, prepared once, is run for the medians of its times; if it is more
    than once, another run precedes them and is not measured.
    observer: called after each pass of a run that is not measured if there are several.

    Raises InputError for arrays that do not fit, PlanError where the executor cannot run the plan,
    and ExecutorUnavailableError where the executor cannot run on this machine.
    """
    given = as_operands(plan, inputs or {})
    how, repeat = as_machine(machine, keywords), as_repeat(repeat)
    with prepared_for(plan, executor, how) as (chosen, ready):
        result = run_repeatedly(ready, given, repeat, observer)
    shapes = {matrix.name: matrix.array_shape for matrix in plan.results}
    return PlanRun(
        plan=plan,
        executor=chosen.name,
        device=chosen.device(),
        arithmetic=how.arithmetic.name,
        seconds=result.timings,
        inputs=given,
        outputs={n: values.reshape(shapes[n]) for n, values in result.outputs.items()},
    )


@contextmanager
def prepared_for(
    plan: Plan, executor: str = AUTO, machine: Machine = DEFAULT_MACHINE
) -> Iterator[tuple[Executor, Prepared]]:
    """A plan, prepared on the executor of that name, or on the first that takes it."""
    candidates = _candidates(plan, executor, machine)
    with ExitStack() as held:
        for candidate in candidates:
            try:
                ready = held.enter_context(prepared(candidate, plan, machine))
            except PlanError:  # what one has no room for, the next may have
                if candidate is candidates[-1]:
                    raise
                continue
            yield candidate, ready
            return


def _candidates(plan: Plan, executor: str, machine: Machine) -> list[Executor]:
    return of_auto(plan, machine) if executor == AUTO else [find_executor(executor, plan)]
