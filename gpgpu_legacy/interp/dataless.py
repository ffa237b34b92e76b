"""The reference machine for kernels, without data: which operations happen, and at which addresses.

It is for kernels whose control flow and addresses depend on integers and uniforms only, never on
loaded data (kernel/dependence.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.interp.kernel import (
    Array,
    KernelListener,
    KernelMachine,
    Mask,
    WorkGroups,
    narrowed,
)
from gpgpu_legacy.kernel.dependence import uniform_loops
from gpgpu_legacy.kernel.ir import (
    RANGES,
    Assign,
    Binary,
    BuiltInComponent,
    Convert,
    Element,
    Expression,
    For,
    Literal,
    Statement,
    Unary,
    Uniform,
    Variable,
    walk,
)
from gpgpu_legacy.plan.plan import ComputePass, constant_groups

NO_DATA: Array = np.zeros((1, 1, 1, 1), np.float32)
"""What every load returns."""

_ANY_PLACE: Array = np.zeros((1, 1, 1, 1), np.int64)  # the counts do not depend on the index


def uniform_values(pass_: ComputePass) -> dict[str, Any]:
    """The values of a pass's uniforms, by name."""
    return {u.name: u.value for u in pass_.uniforms}


MOST_STEPS = 2**22
"""Statements of a batch of work groups that are followed one by one, in a minute or two; one that
only some invocations execute counts for more, with their number."""

_STEP_INVOCATIONS = 1 << 12


class _Follower(KernelMachine):
    """Follows control flow, as far as may be."""

    steps = 0

    def statements(self, statements: tuple[Statement, ...], mask: Mask) -> None:
        self.steps += len(statements) * (
            1 + (0 if mask is None else mask.size // _STEP_INVOCATIONS)
        )
        if self.steps > MOST_STEPS:
            raise PlanError(
                f"{self.kernel.name}: more than {MOST_STEPS} steps of its loops would have to be "
                "followed one by one; choose a smaller size"
            )
        super().statements(statements, mask)


# Addresses --------------------------------------------------------------------------------------


class AccessListener(Protocol):
    """Is notified of every load and store, in program order."""

    def access(self, machine: AddressMachine, element: Element, mask: Mask, *, store: bool) -> None:
        """An access by the invocations of a mask; `machine.flat_index` gives the addresses."""


class AddressMachine(_Follower):
    """Reports every load and store of a dispatch to a listener."""

    def __init__(
        self,
        pass_: ComputePass,
        grid: WorkGroups,
        lengths: Mapping[str, int],
        on_access: AccessListener,
    ) -> None:
        """lengths: the number of elements of each buffer, by its name in the kernel."""
        buffers = {name: np.broadcast_to(NO_DATA.flat[0], n) for name, n in lengths.items()}
        super().__init__(pass_.kernel, uniform_values(pass_), grid, buffers)
        self.on_access = on_access

    def load(self, element: Element, mask: Mask) -> Array:
        self.on_access.access(self, element, mask, store=False)
        return NO_DATA

    def store(self, element: Element, value: Array, mask: Mask) -> None:
        self.on_access.access(self, element, mask, store=True)


# Counts ----------------------------------------------------------------------------------------


class KernelTally(KernelListener, Protocol):
    """A KernelListener for events that take place `weight` times each."""

    weight: int


class CountingMachine(_Follower):
    """Runs all work groups at once, without memory or addresses, and reports to a KernelTally.

    If the iterations of a loop differ only in data and addresses, its body runs once, with a larger
    weight. Then the trips follow from its first and last number, if it counts up or down to a
    limit; else its condition and its step run in every iteration.
    """

    def __init__(self, pass_: ComputePass, tally: KernelTally) -> None:
        """pass_: a dispatch in which no number changes, of a kernel without data dependence."""
        super().__init__(
            pass_.kernel,
            uniform_values(pass_),
            WorkGroups((0, 0), constant_groups(pass_.groups)),
            {},
            tally,
        )
        self.tally = tally
        self.uniform_loops = uniform_loops(pass_.kernel)

    def load(self, element: Element, mask: Mask) -> Array:
        self.tally.access(element, _ANY_PLACE, mask, store=False)
        return NO_DATA

    def store(self, element: Element, value: Array, mask: Mask) -> None:
        self.tally.access(element, _ANY_PLACE, mask, store=True)

    def loop(self, statement: For, mask: Mask) -> None:
        """Run a uniform loop: first all its conditions and steps, then its body once per mask."""
        if id(statement) not in self.uniform_loops:
            super().loop(statement, mask)
            return
        self.statements(statement.start, mask)
        iterations = self.counted(statement, mask)
        if iterations is None:
            iterations = self.followed(statement, mask)
        for body_mask, times in iterations:
            self.tally.weight *= times
            self.statements(statement.body, body_mask)
            self.tally.weight //= times

    def followed(self, loop: For, mask: Mask) -> list[tuple[Mask, int]]:
        """Masks in order, and for how many trips each holds, trip by trip."""
        iterations: list[tuple[Mask, int]] = []
        active = narrowed(mask, self.scalar(loop.condition, mask))
        while active is None or active.any():
            if iterations and iterations[-1][0] is active:
                iterations[-1] = (active, iterations[-1][1] + 1)
            else:
                iterations.append((active, 1))
            self.statements(loop.step, active)
            active = narrowed(active, self.scalar(loop.condition, active))
        return iterations

    def counted(self, loop: For, mask: Mask) -> list[tuple[Mask, int]] | None:
        """The same at once, and the variables after the loop; None where that cannot be told."""
        steps = dict(_steps(loop.step))
        condition = loop.condition
        if len(steps) < len(loop.step) or not isinstance(condition, Binary):
            return None
        left, operator, right = condition.left, condition.operator, condition.right
        if isinstance(right, Variable) and right.name in steps:
            left, operator, right = right, _MIRRORED.get(operator, ""), left
        known = all(_is_whole(e, steps) for e in (right, *(size for size, _ in steps.values())))
        if not known or not isinstance(left, Variable) or left.name not in steps:
            return None
        if operator not in _MIRRORED:
            return None
        ends = self.trips(left, operator, self.wide(right, mask), steps[left.name], mask)
        if ends is None:
            return None
        trips = ends if mask is None else np.where(mask, ends, 0)
        for name, step in steps.items():
            before = self.variables[name]
            assert isinstance(before, np.ndarray)
            after = before.astype(np.int64) + self.growth(step, mask) * trips
            self.variables[name] = after.astype(before.dtype)
        lengths = [int(n) for n in np.unique(trips) if n > 0]
        pairs = zip(lengths, [0, *lengths], strict=False)
        return [(narrowed(mask, trips >= length), length - last) for length, last in pairs]

    def trips(
        self, variable: Variable, operator: str, limit: Array, step: _Step, mask: Mask
    ) -> Array | None:
        """How often each invocation goes round; None where a number wraps around, or for ever."""
        start, growth = self.wide(variable, mask), self.growth(step, mask)
        sign = 1 if operator in ("<", "<=") else -1
        room = sign * (limit - start) + (operator in ("<=", ">="))
        toward = sign * growth
        stays = room <= 0 if mask is None else (room <= 0) | ~mask
        if not (stays | (toward > 0)).all():
            return None
        trips = np.where(stays, 0, -(-room // np.where(toward > 0, toward, 1)))
        low, high = RANGES[variable.type]
        end = start + growth * trips
        inside = (low <= end) & (end <= high)
        return trips if (stays | inside).all() else None

    def wide(self, expression: Expression, mask: Mask) -> Array:
        return self.scalar(expression, mask).astype(np.int64)

    def growth(self, step: _Step, mask: Mask) -> Array:
        size, sign = step
        return sign * self.wide(size, mask)


_Step = tuple[Expression, int]
"""What is added to a variable, or, if the sign is -1, subtracted."""

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _steps(statements: tuple[Statement, ...]) -> Iterator[tuple[str, _Step]]:
    """The statements that add to an integer or subtract from it."""
    for statement in statements:
        match statement:
            case Assign(
                target=Variable(name=name) as target,
                value=Binary(operator="+" | "-" as operator, left=left, right=right),
            ) if left == target and target.type.is_integer:
                yield name, (right, 1 if operator == "+" else -1)


def _is_whole(expression: Expression, changed: Mapping[str, _Step]) -> bool:
    """Whether an integer is made of integers alone, without those that change."""
    return all(
        part.type.is_integer
        and isinstance(part, _IN_WHOLE_NUMBERS)
        and not (isinstance(part, Variable) and part.name in changed)
        for part in walk(expression)
    )


_IN_WHOLE_NUMBERS = Variable | Literal | Uniform | BuiltInComponent | Unary | Convert | Binary
