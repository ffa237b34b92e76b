"""The reference machine for kernels, without data: which operations happen, and at which addresses.

It is for kernels whose control flow and addresses depend on integers and uniforms only, never on
loaded data (kernel/dependence.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from gpgpu_legacy.interp.kernel import Array, Arrays, Grid, KernelMachine, Listener, Mask
from gpgpu_legacy.kernel.dependence import uniform_loops
from gpgpu_legacy.kernel.ir import Element, For
from gpgpu_legacy.plan.plan import ComputePass, constant_groups

NO_DATA: Array = np.zeros((1, 1, 1, 1), np.float32)
"""What every load returns."""

_ANY_PLACE: Array = np.zeros((1, 1, 1, 1), np.int64)  # the counts do not depend on the index


def uniform_values(pass_: ComputePass) -> dict[str, Any]:
    """The values of a pass's uniforms, by name."""
    return {u.name: u.value for u in pass_.uniforms}


# Addresses --------------------------------------------------------------------------------------


class AccessListener(Protocol):
    """Is notified of every load and store, in program order."""

    def access(self, machine: AddressMachine, element: Element, mask: Mask, *, store: bool) -> None:
        """An access by the invocations of a mask; `machine.flat_index` gives the addresses."""


class AddressMachine(KernelMachine):
    """Reports every load and store of a dispatch to a listener."""

    def __init__(
        self, pass_: ComputePass, grid: Grid, lengths: Mapping[str, int], on_access: AccessListener
    ) -> None:
        """lengths: the number of elements of each buffer, by its name in the kernel."""
        memory = Arrays({name: np.broadcast_to(NO_DATA.flat[0], n) for name, n in lengths.items()})
        super().__init__(pass_.kernel, uniform_values(pass_), grid, memory)
        self.on_access = on_access

    def load(self, element: Element, mask: Mask) -> Array:
        self.on_access.access(self, element, mask, store=False)
        return NO_DATA

    def store(self, element: Element, value: Array, mask: Mask) -> None:
        self.on_access.access(self, element, mask, store=True)


# Counts ----------------------------------------------------------------------------------------


class Tally(Listener, Protocol):
    """A Listener for events that take place `weight` times each."""

    weight: int


class CountingMachine(KernelMachine):
    """Runs all work groups at once, without memory or addresses, and reports to a Tally.

    If the iterations of a loop differ only in data and addresses, its body runs once, with a larger
    weight; only its condition and its step run in every iteration.
    """

    def __init__(self, pass_: ComputePass, tally: Tally) -> None:
        """pass_: a dispatch in which no number changes, of a kernel without data dependence."""
        super().__init__(
            pass_.kernel,
            uniform_values(pass_),
            Grid((0, 0), constant_groups(pass_.groups)),
            Arrays({}),
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
        iterations: list[tuple[Mask, int]] = []
        active = _narrowed(mask, self.scalar(statement.condition, mask))
        while active is None or active.any():
            if iterations and iterations[-1][0] is active:
                iterations[-1] = (active, iterations[-1][1] + 1)
            else:
                iterations.append((active, 1))
            self.statements(statement.step, active)
            active = _narrowed(active, self.scalar(statement.condition, active))
        for body_mask, times in iterations:
            self.tally.weight *= times
            self.statements(statement.body, body_mask)
            self.tally.weight //= times


def _narrowed(mask: Mask, condition: Array) -> Mask:
    """The invocations of a mask where a condition holds; the mask itself if it holds for all."""
    both = condition if mask is None else mask & condition
    same = both.all() if mask is None else (both == mask).all()
    return mask if same else both
