"""The reference machine for kernels without data: the operations that happen, and their addresses.

It is for kernels whose control flow and addresses depend on integers and uniforms only, never on
loaded data (isa/kernel.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.interp.kernel import (
    Array,
    KernelMachine,
    Mask,
    WorkGroups,
    merged,
    narrowed,
)
from gpgpu_legacy.isa.expressions import Element, Operation, Read
from gpgpu_legacy.isa.kernel import RANGES, uniform_loops
from gpgpu_legacy.isa.statements import Assign, Loop, Statement, walk
from gpgpu_legacy.isa.types import Operator
from gpgpu_legacy.plan.plan import ComputePass, constant_groups

NO_DATA: Array = np.zeros((1, 1, 1, 1), np.float32)
"""The result of every load."""

MOST_STEPS = 2**22
"""Statements of a batch of work groups that are followed one by one, in a minute or two; a
statement that only some invocations execute counts more, by their number.
"""

_STEP_INVOCATIONS = 1 << 12


class DatalessMachine(KernelMachine):
    """Follows control flow, within the limit; loads and stores are reported, and touch nothing."""

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

    def access(self, element: Element, mask: Mask, *, store: bool) -> None:
        """A load or a store by the invocations of a mask."""
        raise NotImplementedError

    def load(self, element: Element, mask: Mask) -> Array:
        self.access(element, mask, store=False)
        return NO_DATA

    def store(self, element: Element, value: Array, mask: Mask) -> None:
        self.access(element, mask, store=True)


# Addresses --------------------------------------------------------------------------------------


class AccessListener(Protocol):
    """Receives every load and store, in program order."""

    def access(self, machine: AddressMachine, element: Element, mask: Mask, *, store: bool) -> None:
        """An access by the invocations of a mask; `machine.flat_index` gives the addresses."""


class AddressMachine(DatalessMachine):
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
        super().__init__(pass_.kernel, pass_.uniform_values, grid, buffers)
        self.on_access = on_access

    def access(self, element: Element, mask: Mask, *, store: bool) -> None:
        self.on_access.access(self, element, mask, store=store)


# Counts ----------------------------------------------------------------------------------------


class CountingMachine(DatalessMachine):
    """Runs all work groups at once. weight: how often each operation, access and barrier happens.

    If the iterations of a loop differ only in data and addresses, its body runs once, with a larger
    weight. Then the trips follow from its first and last number, if it counts up or down to a
    limit, and all invocations alike; else its condition and its step run in every iteration.
    """

    weight = 1

    def __init__(self, pass_: ComputePass) -> None:
        """pass_: a dispatch in which no number changes, of a kernel without data dependence."""
        grid = WorkGroups((0, 0), constant_groups(pass_.groups))
        super().__init__(pass_.kernel, pass_.uniform_values, grid, {})
        self.uniform_loops = uniform_loops(pass_.kernel)

    def loop(self, statement: Loop, mask: Mask) -> None:
        """Run a uniform loop: first all its conditions and steps, then its body once per mask."""
        if id(statement) not in self.uniform_loops:
            super().loop(statement, mask)
            return
        self.statements(statement.start, mask)
        iterations = self.counted(statement, mask)
        if iterations is None:
            iterations = self.followed(statement, mask)
        for body_mask, times in iterations:
            self.weight *= times
            self.statements(statement.body, body_mask)
            self.weight //= times

    def followed(self, loop: Loop, mask: Mask) -> list[tuple[Mask, int]]:
        """Masks in order, with the number of trips for which each holds, found trip by trip."""
        iterations: list[tuple[Mask, int]] = []
        active = narrowed(mask, self.value(loop.condition, mask))
        while active is None or active.any():
            if iterations and iterations[-1][0] is active:
                iterations[-1] = (active, iterations[-1][1] + 1)
            else:
                iterations.append((active, 1))
            self.statements(loop.step, active)
            active = narrowed(active, self.value(loop.condition, active))
        return iterations

    def counted(self, loop: Loop, mask: Mask) -> list[tuple[Mask, int]] | None:
        """The same in one step, with the variable after the loop; None if that is not possible."""
        match loop.condition, loop.step:
            case (
                Operation(operands=(Read() as counter, limit), operator=operator),
                (Assign(value=Operation(operands=(step, by), operator=sign)) as assign,),
            ) if (
                counter == step
                and counter.variable == assign.variable
                and (operator in _BEYOND and sign in (Operator.ADD, Operator.SUBTRACT))
            ):
                name = counter.variable.name
            case _:
                return None
        if any(
            not part.type.is_integer or isinstance(part, Element) or part == counter
            for value in (limit, by)
            for part in walk(value)
        ):
            return None
        before = self.variables[name]
        numbers = [before, self.value(limit, mask), self.value(by, mask)]
        if any(number.size > 1 for number in numbers):
            return None
        start, end, move = (int(number.item()) for number in numbers)
        move = -move if sign is Operator.SUBTRACT else move
        rises = operator in (Operator.LESS, Operator.LESS_EQUAL)
        if move == 0 or (move > 0) != rises:
            return None
        trips = len(range(start, end + _BEYOND[operator], move))
        low, high = RANGES[counter.type.kind]
        if not low <= start + trips * move <= high:
            return None
        after = np.full_like(before, start + trips * move)
        self.variables[name] = merged(mask, after, before)
        return [(mask, trips)] if trips else []


_BEYOND = {
    Operator.LESS: 0,
    Operator.GREATER: 0,
    Operator.LESS_EQUAL: 1,
    Operator.GREATER_EQUAL: -1,
}
"""By how much the first number beyond a limit differs from it."""
