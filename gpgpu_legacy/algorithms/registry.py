"""Finds algorithms: our own, in the folders here, and those of other packages.

A module of a folder offers an algorithm as ALGORITHM, a method of matrix products as METHOD, or
several as METHODS; what has none of them is what the others share. Another package offers its
algorithms by entry points (installed.py). To add an algorithm, add a module.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING

import gpgpu_legacy.algorithms
from gpgpu_legacy.errors import GpgpuLegacyWarning, InputError

if TYPE_CHECKING:
    from gpgpu_legacy.algorithms.algorithm import Algorithm
    from gpgpu_legacy.algorithms.installed import Unavailable
    from gpgpu_legacy.algorithms.matmul.method import Method


MATMUL = "matmul"
DEFAULT_METHOD = "hall-carr-hart-multi"


# Matrix products --------------------------------------------------------------------------------


@cache
def methods() -> tuple[Method, ...]:
    """All methods of matrix products, oldest first."""
    found: list[Method] = []
    for module in _modules(MATMUL):
        found += getattr(module, "METHODS", ())
        if hasattr(module, "METHOD"):
            found.append(module.METHOD)
    return tuple(sorted(found, key=lambda method: (method.year, method.paper)))


def find_method(name: str) -> Method:
    """The method of matrix products with that name or alias.

    Raises InputError, with the nearest name, if no method has it.
    """
    names = {known: method for method in methods() for known in (method.name, *method.aliases)}
    if name not in names:
        raise InputError(f"there is no method {name}; {_hint(name, names)}")
    return names[name]


# Algorithms -------------------------------------------------------------------------------------


@cache
def shipped_algorithms() -> tuple[Algorithm, ...]:
    """The algorithms of this package, methods of matrix products among them, oldest first."""
    from gpgpu_legacy.algorithms.products import as_algorithm

    found = [
        module.ALGORITHM
        for folder in iter_modules(gpgpu_legacy.algorithms.__path__)
        if folder.ispkg
        for module in _modules(folder.name)
        if hasattr(module, "ALGORITHM")
    ]
    return _by_year([*found, *map(as_algorithm, methods())])


def all_algorithms() -> tuple[Algorithm, ...]:
    """The algorithms of this package and of all others that are installed, oldest first.

    What another package offers and cannot be used is a GpgpuLegacyWarning, once a process.
    """
    from gpgpu_legacy.algorithms.installed import installed

    there = installed(shipped_algorithms())
    _warn(there.unavailable)
    return _by_year([*shipped_algorithms(), *there.algorithms])


def unavailable_algorithms() -> tuple[Unavailable, ...]:
    """What other packages offer and cannot be used, with the reasons."""
    from gpgpu_legacy.algorithms.installed import installed

    return installed(shipped_algorithms()).unavailable


def find_algorithm(name: str) -> Algorithm:
    """The algorithm with that name or alias; underscores stand for hyphens.

    Our own come first, and other packages are only looked at where none of ours has the name.
    Raises InputError, with the nearest name, if no algorithm has it.
    """
    wanted = name.replace("_", "-")
    names = _names(shipped_algorithms())
    if wanted in names:
        return names[wanted]
    names = _names(all_algorithms())
    if wanted in names:
        return names[wanted]
    for one in unavailable_algorithms():
        if wanted == one.name:
            raise InputError(one.text)
    raise InputError(f"there is no algorithm {name}; {_hint(wanted, names)}")


# What they share --------------------------------------------------------------------------------


def _modules(folder: str) -> Iterator[ModuleType]:
    package = import_module(f"{gpgpu_legacy.algorithms.__name__}.{folder}")
    for entry in iter_modules(package.__path__, f"{package.__name__}."):
        yield import_module(entry.name)


def _by_year(algorithms: list[Algorithm]) -> tuple[Algorithm, ...]:
    """Those without a year last."""
    return tuple(sorted(algorithms, key=lambda a: (a.year is None, a.year or 0, a.source, a.name)))


def _names(algorithms: tuple[Algorithm, ...]) -> dict[str, Algorithm]:
    """The algorithms by name and by alias; an alias never hides a name."""
    names = {alias: one for one in reversed(algorithms) for alias in one.aliases}
    names.update((one.name, one) for one in algorithms)
    return {name.replace("_", "-"): algorithm for name, algorithm in names.items()}


def _hint(name: str, names: dict[str, Method] | dict[str, Algorithm]) -> str:
    close = get_close_matches(name, names, n=1)
    return f"did you mean {close[0]}?" if close else f"choose from {', '.join(names)}"


@cache
def _warn(unavailable: tuple[Unavailable, ...]) -> None:
    for one in unavailable:
        warnings.warn(one.text, GpgpuLegacyWarning, stacklevel=3)
