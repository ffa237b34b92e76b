"""The functions that recompute claims, by name, and the values that they return."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Rounded:
    """A number computed from printed ones, with the bounds that their rounding leaves it."""

    value: float
    low: float
    high: float


Value = bool | int | float | str | tuple[float, ...] | Rounded | None
Derivation = Callable[..., Value]

_DERIVATIONS: dict[str, Derivation] = {}


def derivation(function: Derivation) -> Derivation:
    """Register a function, so that claims can name it."""
    _DERIVATIONS[function.__name__] = function
    return function


def derivations() -> Mapping[str, Derivation]:
    """All registered functions, by name."""
    return MappingProxyType(_DERIVATIONS)
