"""The contract of executors, and the registry of them.

An executor prepares a plan once and runs it any number of times. `Executor.prepare` generates and
compiles a plan's code, allocates its memory, and returns a Prepared (runtime/prepared.py).
`Executor.run` is prepare and run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from time import perf_counter
from typing import ClassVar

import gpgpu_legacy.runtime.executors
from gpgpu_legacy.count.instructions import executions
from gpgpu_legacy.decorators import public
from gpgpu_legacy.errors import ExecutorUnavailableError, InputError, PlanError
from gpgpu_legacy.isa.arithmetic import FP32
from gpgpu_legacy.plan.expand import without_tables
from gpgpu_legacy.plan.memory import require_memory
from gpgpu_legacy.plan.plan import Pass, Plan
from gpgpu_legacy.plan.validate import validate
from gpgpu_legacy.runtime.exactness import (
    DataPath,
    flushed_by,
    in_words,
    inexact_among,
    instructions_of,
    paths_of,
    thread_keeps_denormals,
)
from gpgpu_legacy.runtime.machine import Capabilities, Device, Machine, Pace, names_of
from gpgpu_legacy.runtime.prepared import F32, Observer, Prepared, RunResult

MOST_EXECUTED = 1 << 30
"""Instructions that a fragment may execute; a few nested loops may ask for days of work."""


class Executor(ABC):
    """Something that runs plans: a CPU, or a GPU through an API of its time.

    The registry finds every module of runtime/executors that defines an EXECUTOR.
    """

    name: ClassVar[str]
    """Its name on the command line."""
    summary: ClassVar[str]
    """Its description, in a line."""
    capabilities: ClassVar[Capabilities]

    @abstractmethod
    def device(self) -> str:
        """The device, in words; ExecutorUnavailableError if the executor cannot run here."""

    is_started: bool = False
    """Whether its libraries are loaded, and its context made, in this process."""

    def status(self) -> tuple[bool, str]:
        """Whether it can run here, and its device or the reason why not."""
        try:
            return True, self.device()
        except ExecutorUnavailableError as error:
            return False, str(error)

    def is_hardware(self) -> bool:
        """Whether the device is a GPU; ExecutorUnavailableError if the executor cannot run here."""
        return False

    def pace(self, device: Device) -> Pace:
        """Its approximate speed on a device."""
        return Pace()

    @abstractmethod
    def memory_bytes(self, plan: Plan) -> int:
        """About how many bytes of the host's memory a prepared plan and its results take.

        plan: valid. The operands are the caller's and do not count.
        """

    @abstractmethod
    def _prepare(self, plan: Plan, machine: Machine) -> Prepared:
        """Prepare a validated plan without Tables, on a machine whose arithmetic it supports."""

    def prepare(self, plan: Plan, machine: Machine = Machine()) -> Prepared:
        """Prepare a plan to run: validate it, generate and compile code, allocate memory.

        Raises PlanError for a plan that is not valid, for passes and arithmetics that the executor
        does not support, for a program that may execute too many instructions, for an exact run
        that the device cannot do, and for sizes beyond its limits; InputError if the machine has
        too little memory left.
        """
        started = perf_counter()
        validate(plan)
        missing = plan.kinds - self.capabilities.passes
        if missing:
            raise PlanError(
                f"plan {plan.name} has {names_of(missing)}, which {self.name} does not run"
            )
        for program in plan.programs():
            most = sum(executions(program)) if program.branches else 0
            if most > MOST_EXECUTED and self is not reference():
                raise PlanError(
                    f"{program.name} may execute {most} instructions for a fragment, and "
                    f"{self.name} would not stop it; make fewer trips, or run it on numpy"
                )
        self._require_arithmetic(machine, kernels=plan.dispatches)
        self._require_exactness(plan, machine)
        require_memory(
            self.memory_bytes(plan),
            f"plan {plan.name} on {self.name}",
            "make its matrices and textures smaller",
        )
        prepared = self._prepare(without_tables(plan), machine)
        prepared.prepare_s = perf_counter() - started
        self.is_started = True
        return prepared

    def run(
        self,
        plan: Plan,
        operands: Mapping[str, F32],
        machine: Machine = Machine(),
        observer: Observer | None = None,
    ) -> RunResult:
        """Prepare a plan, run it once and close it. operands, observer: as for Prepared.run."""
        with self.prepare(plan, machine) as prepared:
            return prepared.run(operands, observer)

    def why_inexact(self, plan: Plan, machine: Machine) -> str:
        """Why an exact run would not give the reference's bits here, in words; empty if it would.

        Raises ExecutorUnavailableError if the executor cannot run here.
        """
        if not self.capabilities.exact:
            return f"{self.name} leaves rounding to the driver"
        if inexact := self.inexact_among(instructions_of(plan)):
            return f"the bits of {' and '.join(sorted(inexact))} are those of {self.device()}"
        if not machine.denormals or machine.arithmetic.rounds:  # no denormals of float32 matter
            return ""
        flushed = self.flushed_paths()
        if not flushed & paths_of(plan):
            return ""
        return f"denormals are {in_words(flushed)} by {self.device()}"

    def flushed_paths(self) -> frozenset[DataPath]:
        """The data paths on which the device flushes denormals; measured once a process.

        The CPU keeps them, unless a library has made this thread flush.
        """
        if not self.capabilities.is_of_host:
            return flushed_by(self.run)
        return frozenset() if thread_keeps_denormals() else frozenset(DataPath)

    def inexact_among(self, instructions: frozenset[str]) -> frozenset[str]:
        """Those of the instructions for which the device's bits differ from the reference's.

        instructions: opcodes, options of fog and blends (runtime/exactness.py). Each is measured
        once a process.
        """
        if not self.capabilities.has_driver_functions:
            return frozenset()
        return inexact_among(instructions, self._run_as_if_exact, reference().run)

    def _run_as_if_exact(self, plan: Plan, operands: Mapping[str, F32]) -> RunResult:
        """Run a plan by the code of an exact run, even if its bits may be wrong."""
        with self._prepare(plan, Machine(exact=True)) as prepared:
            return prepared.run(operands)

    def _require_exactness(self, plan: Plan, machine: Machine) -> None:
        if not machine.exact or not (why := self.why_inexact(plan, machine)):
            return
        others = " or ".join(
            peer.name for peer in able(plan) if not peer.why_inexact(plan, machine)
        )
        accepting = replace(machine, denormals=False)
        accept = "" if self.why_inexact(plan, accepting) else ", with --flush-denormals"
        raise PlanError(
            f"{self.name} cannot run {plan.name} exactly, for {why}; run it without exact{accept}, "
            f"or exactly on {others or 'another machine'}"
        )

    def _require_arithmetic(self, machine: Machine, *, kernels: bool) -> None:
        wanted, has = machine.arithmetic.name, self.capabilities.arithmetics
        if self.capabilities.is_reference and not kernels:
            return  # it rounds to any arithmetic
        if wanted not in (has & {FP32.name} if kernels else has):
            raise PlanError(
                f"{'a kernel' if kernels else self.name} computes in {FP32.name}, not in {wanted}; "
                "for fragment programs, `gpgpu-legacy doctor` lists the executors with --arithmetic"
            )


# All executors -----------------------------------------------------------------------------------

AUTO = "auto"


@cache
def executors() -> tuple[Executor, ...]:
    """All executors, the reference first, then by name."""
    modules = (
        import_module(f"{gpgpu_legacy.runtime.executors.__name__}.{module.name}")
        for module in iter_modules(gpgpu_legacy.runtime.executors.__path__)
    )
    instances = [module.EXECUTOR for module in modules if hasattr(module, "EXECUTOR")]
    return tuple(sorted(instances, key=lambda e: (not e.capabilities.is_reference, e.name)))


def reference() -> Executor:
    """The executor that defines the results of all others; it runs anywhere."""
    return executors()[0]


def survey() -> list[tuple[Executor, bool, str]]:
    """Every executor: whether it works here, and its device or the reason why not."""
    return [(executor, *executor.status()) for executor in executors()]


def available() -> list[Executor]:
    """The executors that can run here."""
    return [executor for executor, works, _ in survey() if works]


def able(plan: Plan) -> list[Executor]:
    """The executors that can run here and support every kind of pass of the plan."""
    kinds = plan.kinds
    return [executor for executor in available() if kinds <= executor.capabilities.passes]


def executor_names() -> tuple[str, ...]:
    """The names that a caller may give: `auto`, then every executor."""
    return (AUTO, *(executor.name for executor in executors()))


@public
def find_executor(name: str, plan: Plan | None = None) -> Executor:
    """The executor of that name, which can run on this machine.

    name: as `gpgpu-legacy doctor` lists it. plan: to be run. Raises InputError for an unknown name,
    including `auto`, and for an executor that does not support the plan's passes,
    ExecutorUnavailableError for one that cannot run here.
    """
    by_name = {executor.name: executor for executor in executors()}
    if name not in by_name:
        raise InputError(f"there is no executor {name}; choose from {', '.join(executor_names())}")
    executor = by_name[name]
    kinds = plan.kinds if plan else frozenset[type[Pass]]()
    missing = kinds - executor.capabilities.passes
    if missing:
        fit = ", ".join(e.name for e in executors() if kinds <= e.capabilities.passes)
        raise InputError(f"{name} does not run {names_of(missing)}; choose from {fit}")
    executor.device()
    return executor
