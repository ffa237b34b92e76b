"""Finds algorithms and their methods: a folder for each algorithm, a module for each method.

A module offers a method as METHOD, or several as METHODS; modules without either are what the
methods of the folder share. To add a method, add a module; to add an algorithm, add a folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

import gpgpu_legacy.algorithms
from gpgpu_legacy.arguments import as_text
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from gpgpu_legacy.algorithms.matmul.method import Method


MATMUL = "matmul"
DEFAULT_METHOD = "hall-carr-hart-multi"


@cache
def algorithms() -> tuple[str, ...]:
    """The names of all algorithms, in alphabetical order."""
    return tuple(
        sorted(
            folder.name for folder in iter_modules(gpgpu_legacy.algorithms.__path__) if folder.ispkg
        )
    )


@cache
def methods(algorithm: str = MATMUL) -> tuple[Method, ...]:
    """All methods of an algorithm, oldest first; InputError for an unknown algorithm."""
    if algorithm not in algorithms():
        raise InputError(
            f"there is no algorithm {algorithm}; choose from {', '.join(algorithms())}"
        )
    return tuple(sorted(_methods(algorithm), key=lambda method: (method.year, method.paper)))


def _methods(algorithm: str) -> Iterator[Method]:
    package = import_module(f"{gpgpu_legacy.algorithms.__name__}.{algorithm}")
    for entry in iter_modules(package.__path__, f"{package.__name__}."):
        module = import_module(entry.name)
        yield from getattr(module, "METHODS", ())
        if hasattr(module, "METHOD"):
            yield module.METHOD


def find_method(name: str) -> Method:
    """The method of matrix products with that name or alias.

    Raises InputError, with the nearest name, if no method has it.
    """
    as_text("name", name, f"a method's name, such as {DEFAULT_METHOD!r}")
    names = {known: method for method in methods() for known in (method.name, *method.aliases)}
    if name in names:
        return names[name]
    close = get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]}?" if close else f"choose from {', '.join(names)}"
    raise InputError(f"there is no method {name}; {hint}")
