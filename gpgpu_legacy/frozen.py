"""Value objects: the one decorator of classes that hold fields and never change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

C = TypeVar("C")


@dataclass_transform(frozen_default=True)
def frozen(value: type[C]) -> type[C]:
    """The class as a dataclass whose objects are immutable, equal by their fields, and slotted."""
    return dataclass(frozen=True, slots=True)(value)
