"""The operations of a dispatch, counted exactly by running its control flow without any data.

The control flow of countable kernels depends only on integers and uniforms, which is checked first.
So the counter loads nothing, computes no address, and computes values that all invocations share
only once. If the iterations of a loop differ only in data and addresses, its body runs once and its
counts are multiplied; only its condition and its step run in every iteration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import fields
from typing import ClassVar, Self

import numpy as np

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.interp.dataless import CountingMachine
from gpgpu_legacy.interp.kernel import Mask
from gpgpu_legacy.isa.expressions import Element
from gpgpu_legacy.isa.kernel import check_data_independent
from gpgpu_legacy.isa.types import Type
from gpgpu_legacy.plan.expand import at_iteration, values_of
from gpgpu_legacy.plan.plan import ComputePass, Plan, varies


class Additive:
    """Counts, a dataclass, that are added up field by field."""

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]]

    def __add__(self, other: Self) -> Self:
        """The sum of both."""
        names = self.__match_args__
        return type(self)(*(getattr(self, name) + getattr(other, name) for name in names))

    def times(self, count: int) -> Self:
        """What `count` repetitions cost."""
        return type(self)(*(getattr(self, name) * count for name in self.__match_args__))


@frozen
class KernelCounts:
    """Totals of one dispatch.

    invocations: all launched ones, including those that exit at a guard.
    arithmetic: operations on floats and doubles; an operation on a vec4 counts as four.
    global_loads, global_stores: elements of storage buffers, one for each access of each active
    invocation.
    shared_loads, shared_stores: elements of shared arrays, counted in the same way.
    barriers: waits of single invocations; a barrier that a work group of t invocations passes
    counts as t.
    bytes_requested: the bytes of the global loads and stores.
    """

    invocations: int
    arithmetic: int
    global_loads: int
    global_stores: int
    shared_loads: int
    shared_stores: int
    barriers: int
    bytes_requested: int

    @property
    def accesses(self) -> int:
        """Loads and stores, of both kinds."""
        stores = self.global_stores + self.shared_stores
        return self.global_loads + self.shared_loads + stores


def distinct_dispatches(
    pass_: ComputePass, count: int, uniforms: Collection[str]
) -> Iterator[tuple[int, ComputePass]]:
    """The dispatches of a Repeat that differ in work groups or in the named uniforms.

    Yields one dispatch of each kind with the number of dispatches like it.
    """
    if not varies(pass_):
        yield count, pass_
        return
    controlling = [uniform.value for uniform in pass_.uniforms if uniform.name in uniforms]
    rows = list(zip(*(values_of(n, count) for n in (*controlling, *pass_.groups)), strict=True))
    first = {row: count - 1 - i for i, row in enumerate(reversed(rows))}
    for row, times in Counter(rows).items():
        yield times, at_iteration(pass_, first[row])


def count_compute_pass(plan: Plan, pass_: ComputePass) -> KernelCounts:
    """Count one dispatch of a plan, in which no number changes from iteration to iteration.

    Raises PlanError for a kernel in which a condition or an index depends on loaded data.
    """
    check_data_independent(pass_.kernel)
    bound = {b.binding: plan.texture(b.texture).format.texel_bytes for b in pass_.buffers}
    tally = _Tally(pass_, {b.name: bound[b.binding] for b in pass_.kernel.buffers})
    tally.run()
    return tally.counts()


class _Tally(CountingMachine):
    """Counts active invocations."""

    def __init__(self, pass_: ComputePass, element_bytes: dict[str, int]) -> None:
        super().__init__(pass_)
        self.invocations, self.element_bytes = pass_.invocations, element_bytes
        self.totals: Counter[str] = Counter()

    def active(self, mask: Mask) -> int:
        """The active invocations of the whole grid, times the weight."""
        if mask is None:
            return self.invocations * self.weight
        return int(np.count_nonzero(mask)) * (self.invocations // mask.size) * self.weight

    def access(self, element: Element, mask: Mask, *, store: bool) -> None:
        active = self.active(mask)
        space = "shared" if element.array.is_shared else "global"
        self.totals[f"{space}_{'stores' if store else 'loads'}"] += active
        if not element.array.is_shared:
            self.totals["bytes_requested"] += active * self.element_bytes[element.array.name]

    def arithmetic(self, type_: Type, mask: Mask) -> None:
        self.totals["arithmetic"] += self.active(mask) * type_.width

    def barrier(self, mask: Mask) -> None:
        self.totals["barriers"] += self.active(mask)

    def counts(self) -> KernelCounts:
        _, *names = (field.name for field in fields(KernelCounts))
        return KernelCounts(self.invocations, *(self.totals[name] for name in names))
