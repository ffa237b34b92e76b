"""All executors, and those that work here."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import gpgpu_legacy.runtime.executors
from gpgpu_legacy.errors import ExecutorUnavailableError, InputError
from gpgpu_legacy.plan.plan import Pass, Plan
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.machine import names_of

AUTO = "auto"


@cache
def executors() -> tuple[Executor, ...]:
    """All executors, the reference first, then by name."""
    modules = (
        import_module(f"{gpgpu_legacy.runtime.executors.__name__}.{module.name}")
        for module in iter_modules(gpgpu_legacy.runtime.executors.__path__)
    )
    instances = [module.EXECUTOR for module in modules if hasattr(module, "EXECUTOR")]
    ordered = tuple(sorted(instances, key=lambda e: (not e.capabilities.is_reference, e.name)))
    for executor in ordered:
        executor.peers = ordered
    return ordered


def reference() -> Executor:
    """The executor that defines the results of all others; it runs anywhere."""
    return next(executor for executor in executors() if executor.capabilities.is_reference)


def survey() -> list[tuple[Executor, bool, str]]:
    """Every executor: whether it works here, and its device or the reason why not."""
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


def executor_names() -> tuple[str, ...]:
    """The names that a caller may give: `auto`, then every executor."""
    return (AUTO, *(executor.name for executor in executors()))


def find_executor(name: str, plan: Plan | None = None) -> Executor:
    """The executor of that name, which can run on this machine.

    plan: to be run. Raises InputError for an unknown name, including `auto`, and for an executor
    that does not support the plan's passes, ExecutorUnavailableError for one that cannot run here.
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
