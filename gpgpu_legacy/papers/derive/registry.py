"""Finds the functions that recompute claims: the public ones of the modules of this folder.

Parameters are a claim's arguments, by name. A parameter that is called like one of MADE is made by
that method of `Inputs`, of arguments of its own: `product` of a method, a size and a block, `cell`
of a table, a series and a size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, wraps
from importlib import import_module
from inspect import signature
from pkgutil import iter_modules
from types import FunctionType, MappingProxyType
from typing import Any

import gpgpu_legacy.papers.derive
from gpgpu_legacy.papers.derive.inputs import Inputs, Value

Derivation = Callable[..., Value]

MADE = (
    "capability", "cell", "cells", "host", "processor", "product", "profile", "speed_ups", "steps",
)  # fmt: skip
"""The methods of Inputs that make values for the parameters of these names."""


def _derivation(function: Callable[..., Value]) -> Derivation:
    """A function of all inputs and a claim's arguments; TypeError for an argument without use."""
    own = signature(function).parameters
    makers = {n: {*signature(getattr(Inputs, n)).parameters} for n in own if n in MADE}
    known = {*own}.difference(makers).union(*makers.values())

    @wraps(function)
    def derived(inputs: Inputs, **arguments: Any) -> Value:
        if unknown := arguments.keys() - known:
            raise TypeError(f"there is no argument {', '.join(sorted(unknown))}")
        values: dict[str, Any] = {"inputs": inputs, **arguments}
        for name, of in makers.items():
            values[name] = getattr(inputs, name)(**{n: arguments[n] for n in arguments if n in of})
        return function(**{name: values[name] for name in own if name in values})

    return derived


@cache
def derivations() -> Mapping[str, Derivation]:
    """All of them, by name."""
    room = gpgpu_legacy.papers.derive
    modules = [
        import_module(f"{room.__name__}.{entry.name}") for entry in iter_modules(room.__path__)
    ]
    return MappingProxyType(
        {
            name: _derivation(member)
            for module in modules
            for name, member in vars(module).items()
            if isinstance(member, FunctionType)
            and member.__module__ == module.__name__
            and not name.startswith("_")
        }
    )
