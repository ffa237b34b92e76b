"""The reference machine for kernels without data: what is done, and where, but not to what.

It is for kernels in which data decides nothing (kernel/dependence.py): which invocations do what,
and which elements they reach, depends on integers and uniforms alone.
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
"""What every load gives where no data is followed."""

_ANY_PLACE: Array = np.zeros((1, 1, 1, 1), np.int64)  # an index that counts do not depend on


def values_of(pass_: ComputePass) -> dict[str, Any]:
    """A pass's uniforms by name."""
    return {u.name: u.value for u in pass_.uniforms}


# Where ------------------------------------------------------------------------------------------


class AccessListener(Protocol):
    """Told of every load and store, in program order."""

    def access(self, machine: AddressMachine, element: Element, mask: Mask, *, store: bool) -> None:
        """One access by the invocations of a mask; `machine.place` says where."""


class AddressMachine(KernelMachine):
    """It reports where it would load and store."""

    def __init__(
        self, pass_: ComputePass, grid: Grid, lengths: Mapping[str, int], told: AccessListener
    ) -> None:
        """lengths: elements of the buffers, by their names in the kernel."""
        memory = Arrays({name: np.broadcast_to(NO_DATA.flat[0], n) for name, n in lengths.items()})
        super().__init__(pass_.kernel, values_of(pass_), grid, memory)
        self.told = told

    def load(self, element: Element, mask: Mask) -> Array:
        self.told.access(self, element, mask, store=False)
        return NO_DATA

    def store(self, element: Element, value: Array, mask: Mask) -> None:
        self.told.access(self, element, mask, store=True)


# How often -------------------------------------------------------------------------------------


class Tally(Listener, Protocol):
    """Told what there is, as often as `weight` says."""

    weight: int


class CountingMachine(KernelMachine):
    """On all work groups at once, without memory or addresses: it tells a Tally what there is.

    A loop whose iterations all do the same (each but for data and addresses) is gone through once
    and multiplied; only its condition and its step are run every time.
    """

    def __init__(self, pass_: ComputePass, tally: Tally) -> None:
        """each: a dispatch in which no number is Affine and data decides nothing."""
        super().__init__(
            pass_.kernel,
            values_of(pass_),
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
        """A uniform loop: all its steps first, then its body once for each mask it had."""
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
    """The invocations of the mask for which the condition holds; the mask itself where all do."""
    both = condition if mask is None else mask & condition
    same = both.all() if mask is None else (both == mask).all()
    return mask if same else both
