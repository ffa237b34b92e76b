"""What an executor is, and where the executors are found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

import gpgpu_legacy.runtime
from gpgpu_legacy.errors import ExecutorUnavailableError, InputError, PlanError
from gpgpu_legacy.isa.arithmetic import FP32, Arithmetic
from gpgpu_legacy.plan.plan import (
    ClearPass,
    ComputePass,
    CopyPass,
    FragmentPass,
    Pass,
    Plan,
)

if TYPE_CHECKING:
    from gpgpu_legacy.lower.workgroups import GroupShape

F32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Tuning:
    """The shape that lowered code is to have; None leaves it to the executor's own rule.

    group: of a work group, where gl-compute prints fragment programs. tile: rows and vectors
    across of jit's tiles of fragments.
    """

    group: GroupShape | None = None
    tile: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Machine:
    """How a run is done.

    exact: multiply and add are rounded apart and nothing is reordered, as the numpy executor
    always does; otherwise a device may contract a multiply-add.
    arithmetic: to which numbers fragment programs round; kernels are float32 throughout.
    tuning: a shape for the code, which changes times and no result; an executor may pass it over.
    """

    exact: bool = False
    arithmetic: Arithmetic = FP32
    tuning: Tuning | None = None


def require_arithmetic(executor: str, machine: Machine, able: Iterable[str] = (FP32.name,)) -> None:
    """Raise PlanError where an executor has not the arithmetic that a run asks for.

    able: the names of those that it has.
    """
    names = tuple(able)
    if machine.arithmetic.name not in names:
        raise PlanError(
            f"{executor} computes in {' or '.join(names)}, not in {machine.arithmetic.name}; "
            "numpy, gl-raster and gl-compute have every arithmetic, for fragment programs"
        )


@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds of one run: matrices to textures, the passes, textures to matrices."""

    upload_s: float
    compute_s: float
    readback_s: float


@dataclass(frozen=True, slots=True)
class Result:
    """What a run gives: the matrices that the plan makes, by name, and how long it took."""

    outputs: Mapping[str, F32]
    timings: Timings


Observer = Callable[[int, Pass, Callable[[str], F32]], None]
"""Called after each pass with its number from 0, the pass, and a function that reads a texture
by name: (H, W, channels) float32, row 0 first. Reading leaves the run as it was."""


class Executor(Protocol):
    """Carries out plans. A file of this folder that has an EXECUTOR is found by the registry."""

    @property
    def name(self) -> str:
        """What the command line calls it."""

    @property
    def summary(self) -> str:
        """What it is, in a line."""

    @property
    def passes(self) -> frozenset[type[Pass]]:
        """The kinds of pass that it carries out."""

    def device(self) -> str:
        """The device it runs on, in words; ExecutorUnavailableError where it cannot run here."""

    def is_hardware(self) -> bool:
        """Whether that device is a GPU; ExecutorUnavailableError where it cannot run here."""

    def run(
        self,
        plan: Plan,
        operands: Mapping[str, F32],
        machine: Machine = Machine(),
        observer: Observer | None = None,
    ) -> Result:
        """Carry out a validated plan on float32 operands of the shapes that the plan names."""


@cache
def executors() -> tuple[Executor, ...]:
    """All executors, those that need the least first."""
    modules = (
        import_module(f"{gpgpu_legacy.runtime.__name__}.{module.name}")
        for module in iter_modules(gpgpu_legacy.runtime.__path__)
    )
    found = [module.EXECUTOR for module in modules if hasattr(module, "EXECUTOR")]
    return tuple(sorted(found, key=lambda e: (e.name != "numpy", e.name)))


def survey() -> list[tuple[Executor, bool, str]]:
    """Every executor: whether it works here, and its device or why not."""
    found = []
    for executor in executors():
        try:
            found.append((executor, True, executor.device()))
        except ExecutorUnavailableError as error:
            found.append((executor, False, str(error)))
    return found


def available() -> list[Executor]:
    """The executors that can run here."""
    return [executor for executor, works, _ in survey() if works]


_AUTO = "auto"
_ON_A_GPU = ("gl-compute", "gl-raster")
_ON_THE_CPU = ("jit", "gl-raster", "gl-compute", "numpy")  # the last one runs anywhere


def executor_names() -> tuple[str, ...]:
    """What may be asked for by name: `auto`, then every executor."""
    return (_AUTO, *(executor.name for executor in executors()))


def find_executor(name: str, plan: Plan | None = None) -> Executor:
    """The executor of that name, ready to run.

    `auto` is the first that can carry out the plan: gl-compute or gl-raster on a GPU, else jit,
    else OpenGL in software, else numpy. What runs in a single invocation is a host's program, and
    stays off the GPU. Without a plan, one of fragment passes is meant.
    Raises InputError for an unknown name or one that cannot carry out the plan's passes,
    ExecutorUnavailableError where it cannot run here.
    """
    by_name = {executor.name: executor for executor in executors()}
    kinds = frozenset(type(each) for _, each in plan.weighted_passes()) if plan else frozenset()
    if name == _AUTO:
        needed = kinds if plan else FRAGMENT_PASSES
        fit = {each.name: each for each in executors() if needed <= each.passes}
        on_a_gpu = [] if plan and _is_sequential(plan) else [fit[n] for n in _ON_A_GPU if n in fit]
        on_the_cpu = [fit[n] for n in _ON_THE_CPU if n in fit]
        gpu = (e for e in on_a_gpu if _works(e) and e.is_hardware())
        return next(gpu, None) or next(e for e in on_the_cpu if _works(e))
    if name not in by_name:
        raise InputError(f"there is no executor {name}; choose from {', '.join(executor_names())}")
    executor = by_name[name]
    if not kinds <= executor.passes:
        able = ", ".join(e.name for e in executors() if kinds <= e.passes)
        missing = " and ".join(sorted(_KINDS[kind] for kind in kinds - executor.passes))
        raise InputError(f"{name} carries out no {missing}; choose from {able}")
    executor.device()
    return executor


def _is_sequential(plan: Plan) -> bool:
    """Whether nothing in it could run in parallel."""
    passes = [each for _, each in plan.weighted_passes()]
    return bool(passes) and all(isinstance(p, ComputePass) and p.invocations == 1 for p in passes)


FRAGMENT_PASSES: frozenset[type[Pass]] = frozenset({FragmentPass, CopyPass, ClearPass})
ALL_PASSES = FRAGMENT_PASSES | {ComputePass}
_KINDS: dict[type[Pass], str] = {
    FragmentPass: "fragment passes",
    CopyPass: "copies",
    ClearPass: "clears",
    ComputePass: "compute passes",
}


def able(plan: Plan) -> list[Executor]:
    """The executors that can run here and carry out every pass of the plan."""
    kinds = frozenset(type(each) for _, each in plan.weighted_passes())
    return [executor for executor in available() if kinds <= executor.passes]


def _works(executor: Executor) -> bool:
    try:
        executor.device()
    except ExecutorUnavailableError:
        return False
    return True
