"""Algorithms in files: a function of somebody's Python, or a plan.json."""

from __future__ import annotations

from pathlib import Path

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.user_code import module_of
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.serialise import read_plan


def from_plan(file: Path) -> Algorithm:
    """The one plan of a file, as an algorithm without parameters."""
    plan = read_plan(file)
    return Algorithm(str(file), lambda: plan)


def from_python(file: Path, function: str = "") -> Algorithm:
    """The function of that name in a file: any callable; without a name, one of the file's own."""
    module = module_of(file)
    own = {
        name: value
        for name, value in vars(module).items()
        if name[0] != "_"
        and callable(value)
        and not isinstance(value, type)
        and getattr(value, "__module__", None) == module.__name__
    }
    if not function:
        function = next(iter(own)) if len(own) == 1 else file.stem.replace("-", "_")
    chosen = own.get(function) or vars(module).get(function)
    if callable(chosen):
        return Algorithm(f"{file}:{function}", chosen, file=file)
    if not own:
        raise InputError(f"{file} has no function; write one that returns a Pipeline")
    raise InputError(
        f"{file} has the functions {', '.join(own)}; name the one that returns a Pipeline, as in "
        f"{file}:{next(iter(own))}"
    )
