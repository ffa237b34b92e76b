"""All executors, and the one that `auto` takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from operator import itemgetter
from pkgutil import iter_modules
from typing import TYPE_CHECKING

import gpgpu_legacy.runtime.executors
from gpgpu_legacy.errors import ExecutorUnavailableError, InputError
from gpgpu_legacy.plan.plan import Pass, Plan
from gpgpu_legacy.runtime.machine import FRAGMENT_PASSES, Machine, names_of

if TYPE_CHECKING:
    from gpgpu_legacy.runtime.executor import Executor

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
    """The executor that defines what the others must give; it runs anywhere."""
    return next(executor for executor in executors() if executor.capabilities.is_reference)


def survey() -> list[tuple[Executor, bool, str]]:
    """Every executor: whether it works here, and its device or why not."""
    rows = []
    for executor in executors():
        try:
            rows.append((executor, True, executor.device()))
        except ExecutorUnavailableError as error:
            rows.append((executor, False, str(error)))
    return rows


def available() -> list[Executor]:
    """The executors that can run here."""
    return [executor for executor, works, _ in survey() if works]


def able(plan: Plan) -> list[Executor]:
    """The executors that can run here and have every kind of pass of the plan."""
    kinds = plan.kinds
    return [executor for executor in available() if kinds <= executor.capabilities.passes]


def exact_executors(plan: Plan, machine: Machine) -> list[Executor]:
    """The executors that can run the plan here with the reference's bits."""
    return [executor for executor in able(plan) if not executor.why_inexact(plan, machine)]


def executor_names() -> tuple[str, ...]:
    """The names that a caller may give: `auto`, then every executor."""
    return (AUTO, *(executor.name for executor in executors()))


def find_executor(name: str, plan: Plan | None = None, machine: Machine | None = None) -> Executor:
    """The executor of that name, which can run on this machine.

    name: `auto` is the first that supports all kinds of pass in the plan: a GPU's executors come
    before the CPU's. A plan that runs in a single invocation stays off the GPU.
    plan: what is to run; without one, a plan of fragment passes. machine: how `auto` is to run it;
    an exact one leaves out what cannot be exact here.
    Raises InputError for an unknown name and for an executor that does not support the plan's
    passes, ExecutorUnavailableError for one that cannot run here.
    """
    by_name = {executor.name: executor for executor in executors()}
    kinds = plan.kinds if plan else frozenset[type[Pass]]()
    if name == AUTO:
        return next(in_auto_order(plan, machine))
    if name not in by_name:
        raise InputError(f"there is no executor {name}; choose from {', '.join(executor_names())}")
    executor = by_name[name]
    missing = kinds - executor.capabilities.passes
    if missing:
        fit = ", ".join(e.name for e in executors() if kinds <= e.capabilities.passes)
        raise InputError(f"{name} does not run {names_of(missing)}; choose from {fit}")
    executor.device()
    return executor


def in_auto_order(plan: Plan | None = None, machine: Machine | None = None) -> Iterator[Executor]:
    """The executors that `auto` takes for a plan: where one refuses it, the next may not.

    machine: an exact one leaves out what cannot be exact here. The reference, which refuses no
    valid plan, comes last.
    """
    for executor in _in_order_of_speed(plan):
        inexact = plan and machine and machine.exact and executor.why_inexact(plan, machine)
        if not inexact or executor.capabilities.is_reference:
            yield executor


def _in_order_of_speed(plan: Plan | None) -> Iterator[Executor]:
    kinds = plan.kinds if plan else FRAGMENT_PASSES
    fit = [executor for executor in executors() if kinds <= executor.capabilities.passes]
    if plan is None or not plan.is_sequential:
        on_a_gpu = _in_order((e.capabilities.gpu_rank, e) for e in fit)
        yield from (e for e in on_a_gpu if _works(e) and e.is_hardware())
    yield from (e for e in _in_order((e.capabilities.cpu_rank, e) for e in fit) if _works(e))


def _in_order(ranked: Iterable[tuple[int | None, Executor]]) -> list[Executor]:
    with_rank = [(rank, executor) for rank, executor in ranked if rank is not None]
    return [executor for _, executor in sorted(with_rank, key=itemgetter(0))]


def _works(executor: Executor) -> bool:
    try:
        executor.device()
    except ExecutorUnavailableError:
        return False
    return True
