"""Finds the methods: each folder of algorithms/ holds an algorithm, each of its modules a method.

A module offers a method as METHOD, or several as METHODS; modules without either are what the
methods of the folder share. To add a method, add a module.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING

import gpgpu_legacy.algorithms
from gpgpu_legacy.arguments import as_text
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from gpgpu_legacy.algorithms.matmul.method import Method


DEFAULT_METHOD = "hall-carr-hart-multi"


@cache
def methods() -> tuple[Method, ...]:
    """All methods of all algorithms, oldest first."""
    return tuple(sorted(_methods(), key=lambda method: (method.year, method.paper)))


def _methods() -> Iterator[Method]:
    for module in _modules():
        yield from getattr(module, "METHODS", ())
        if hasattr(module, "METHOD"):
            yield module.METHOD


def _modules() -> Iterator[ModuleType]:
    """The modules of every algorithm's folder."""
    room = gpgpu_legacy.algorithms
    for algorithm in iter_modules(room.__path__, f"{room.__name__}."):
        if algorithm.ispkg:
            package = import_module(algorithm.name)
            for module in iter_modules(package.__path__, f"{package.__name__}."):
                yield import_module(module.name)


def find_method(name: str) -> Method:
    """The method with that name or alias.

    Raises InputError, with the nearest name, where no method has it.
    """
    as_text("name", name, f"a method's name, such as {DEFAULT_METHOD!r}")
    names = {known: method for method in methods() for known in (method.name, *method.aliases)}
    if name in names:
        return names[name]
    close = get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]}?" if close else f"choose from {', '.join(names)}"
    raise InputError(f"there is no method {name}; {hint}")
