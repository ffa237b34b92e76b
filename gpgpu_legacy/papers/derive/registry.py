"""What recomputes a claim, by name, and what it may give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Rounded:
    """A number made of printed ones: its value, and how far their last digits let it be off."""

    value: float
    low: float
    high: float


Value = bool | int | float | str | tuple[float, ...] | Rounded | None
Derivation = Callable[..., Value]

_DERIVATIONS: dict[str, Derivation] = {}


def derivation(function: Derivation) -> Derivation:
    """Let claims name this function."""
    _DERIVATIONS[function.__name__] = function
    return function


def derivations() -> Mapping[str, Derivation]:
    """What claims may name."""
    return MappingProxyType(_DERIVATIONS)
