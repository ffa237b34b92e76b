"""Finds the functions that recompute claims. To add one, write it in a module of this folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, wraps
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Any, TypeVar

import gpgpu_legacy.papers.derive
from gpgpu_legacy.papers.derive.inputs import Inputs


@dataclass(frozen=True, slots=True)
class Rounded:
    """A number computed from printed ones, with the bounds that their rounding leaves it."""

    value: float
    low: float
    high: float


Value = bool | int | float | str | tuple[float, ...] | Rounded | None
Derivation = Callable[..., Value]
D = TypeVar("D", bound=Derivation)

_MARK = "recomputes_claims"


def derivation(function: D) -> D:
    """Mark a function, so that claims can name it."""
    setattr(function, _MARK, True)
    return function


def of_product(function: Callable[..., Value]) -> Derivation:
    """Mark a function of a product, so that claims can name it and the product's method and size.

    block: None where the claim names none.
    """

    @derivation
    @wraps(function)
    def derived(
        inputs: Inputs, method: str, size: int, block: int | None = None, **others: Any
    ) -> Value:
        return function(inputs, inputs.product(method, size, block), **others)

    return derived


@cache
def derivations() -> Mapping[str, Derivation]:
    """All functions so marked in the modules of this folder, by name."""
    room = gpgpu_legacy.papers.derive
    modules = [
        import_module(f"{room.__name__}.{entry.name}") for entry in iter_modules(room.__path__)
    ]
    members = (member for module in modules for member in vars(module).items())
    return MappingProxyType({name: value for name, value in members if hasattr(value, _MARK)})
