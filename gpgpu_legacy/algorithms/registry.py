"""Finds the methods: every module of matmul/ that has a METHOD, or METHODS."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

import gpgpu_legacy.algorithms.matmul
from gpgpu_legacy.arguments import as_text
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from gpgpu_legacy.algorithms.matmul.method import Method


DEFAULT_METHOD = "hall-carr-hart-multi"


@cache
def methods() -> tuple[Method, ...]:
    """All methods, in the order of history."""
    modules = (
        import_module(f"{gpgpu_legacy.algorithms.matmul.__name__}.{module.name}")
        for module in iter_modules(gpgpu_legacy.algorithms.matmul.__path__)
    )
    found = [
        method
        for module in modules
        for method in getattr(module, "METHODS", [getattr(module, "METHOD", None)])
        if method is not None
    ]
    return tuple(sorted(found, key=lambda m: (m.year, m.paper)))


def find_method(name: str) -> Method:
    """The method of that name or alias; InputError, with the nearest names, where there is none."""
    as_text("name", name, f"a method's name, such as {DEFAULT_METHOD!r}")
    names = {known: method for method in methods() for known in (method.name, *method.aliases)}
    if name in names:
        return names[name]
    close = get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]}?" if close else f"choose from {', '.join(names)}"
    raise InputError(f"there is no method {name}; {hint}")
