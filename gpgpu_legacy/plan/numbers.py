"""Numbers of a pass: constants, or, in a Repeat, values that change from iteration to iteration."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Annotated, cast

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.program import Vec4
from gpgpu_legacy.serial import Meta

LARGEST_INTEGER = 2**53
"""Up to here every integer is a double, so that every reader of JSON reads the same number."""

Exact = Annotated[int, Meta(ge=-LARGEST_INTEGER, le=LARGEST_INTEGER)]
Finite = Exact | float


@frozen
class Affine:
    """A number that grows by `step` with each iteration of a Repeat: base + step·iteration."""

    base: Finite
    step: Finite

    def at(self, iteration: int) -> float:
        """The value in the given iteration, counted from 0."""
        return self.base + self.step * iteration


@frozen
class Table:
    """A number with a value for each iteration of a Repeat: values[iteration]."""

    values: tuple[float, ...]

    def at(self, iteration: int) -> float:
        """The value in the given iteration, counted from 0."""
        return self.values[iteration]


PerIteration = Affine | Table
"""A number of a Repeat that changes from iteration to iteration."""

Number = float | PerIteration
"""A number of a pass: a constant, or, in a Repeat, one that changes from iteration to iteration."""

NumberVec4 = tuple[Number, Number, Number, Number]
Integer = int | PerIteration
"""An integer of a pass. All values of a PerIteration are integers too."""


def integer_at(value: Integer, iteration: int) -> int:
    """The value of an integer in the given iteration, counted from 0."""
    return int(value.at(iteration)) if isinstance(value, PerIteration) else value


def constant_vector(values: NumberVec4) -> Vec4:
    """The vector itself; only for expanded plans, where no number changes."""
    return cast("Vec4", values)


_MOST_SHOWN = 4
_MOST_IN_ORDER = 10_000


def numbers_text(numbers: Iterable[range]) -> str:
    """Numbers of passes in words: `1`, `2–9`, `1, 3, 5, … 99`."""
    in_order = tuple(numbers)
    if sum(map(len, in_order)) <= _MOST_IN_ORDER:  # one by one, so that ranges can be joined
        in_order = tuple(range(n, n + 1) for n in sorted({*chain(*in_order)}))
    parts: list[range] = []
    for one in in_order:
        step = one[0] - parts[-1][-1] if parts else 0
        goes_on = step > 0 and all(len(p) == 1 or p.step == step for p in (parts[-1], one))
        parts.append(range(parts.pop()[0], one[-1] + 1, step) if goes_on else one)
    shown = list(map(_part_text, parts[:_MOST_SHOWN]))
    if len(parts) > _MOST_SHOWN:
        shown.append(f"… {parts[-1][-1]}")
    return ", ".join(shown)


def _part_text(numbers: range) -> str:
    if len(numbers) > 1 and numbers.step == 1:
        return f"{numbers[0]}–{numbers[-1]}"
    rest = [f"… {numbers[-1]}"] if len(numbers) > 3 else []
    return ", ".join([*map(str, numbers[:3]), *rest])
