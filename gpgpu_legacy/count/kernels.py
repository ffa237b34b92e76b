"""What a dispatch does, counted exactly: the reference machine runs its control flow, with no data.

Which invocations do what depends on integers and uniforms alone in these kernels; that is checked
on the kernel first. So nothing is loaded, no address is computed, and what is the same for all
invocations is looked at once. A loop whose iterations all do the same (each but for data and
addresses) is gone through once and multiplied; only its condition and its step are run every time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from gpgpu_legacy.interp.dataless import CountingMachine
from gpgpu_legacy.interp.kernel import Array, Mask
from gpgpu_legacy.kernel.dependence import check_data_independent
from gpgpu_legacy.kernel.ir import Element, Space, Type
from gpgpu_legacy.plan.expand import at_iteration, values_of, varies
from gpgpu_legacy.plan.plan import ComputePass, Plan


@dataclass(frozen=True, slots=True)
class KernelCounts:
    """Totals of one dispatch. Bytes are bytes; the rest are numbers of things.

    invocations: launched, those that a guard throws away included.
    arithmetic: operators on floats and doubles; one on a vec4 is four.
    global_loads, global_stores: elements of buffers, one an active invocation and access.
    shared_loads, shared_stores: elements of shared arrays, in the same way.
    barriers: waits of one invocation: a barrier that a work group of t invocations passes is t.
    bytes_requested: of global loads and stores, as many an element as a texel of the buffer has.
    """

    invocations: int
    arithmetic: int
    global_loads: int
    global_stores: int
    shared_loads: int
    shared_stores: int
    barriers: int
    bytes_requested: int


def distinct_dispatches(
    pass_: ComputePass, count: int, uniforms: Collection[str]
) -> Iterator[tuple[int, ComputePass]]:
    """Of the dispatches of a Repeat, those that differ in work groups or in these uniforms.

    With each, how many of the `count` dispatches are like it in both.
    """
    if not varies(pass_):
        yield count, pass_
        return
    deciding = [uniform.value for uniform in pass_.uniforms if uniform.name in uniforms]
    rows = list(zip(*(values_of(n, count) for n in (*deciding, *pass_.groups)), strict=True))
    first = {row: count - 1 - i for i, row in enumerate(reversed(rows))}
    for row, times in Counter(rows).items():
        one = at_iteration(pass_, first[row])
        assert isinstance(one, ComputePass)
        yield times, one


def count_compute_pass(plan: Plan, pass_: ComputePass) -> KernelCounts:
    """Count one dispatch of a plan, in which no number varies.

    Raises PlanError for a kernel in which a condition or an index depends on loaded data.
    """
    check_data_independent(pass_.kernel)
    bound = {b.binding: plan.texture(b.texture).format.texel_bytes for b in pass_.buffers}
    tally = _Tally(pass_, {b.name: bound[b.binding] for b in pass_.kernel.buffers})
    CountingMachine(pass_, tally).run()
    return tally.counts()


class _Tally:
    """A Listener that counts active invocations; `weight`: how often what it hears takes place."""

    def __init__(self, pass_: ComputePass, element_bytes: dict[str, int]) -> None:
        self.invocations, self.element_bytes = pass_.invocations, element_bytes
        self.weight = 1
        self.totals: Counter[str] = Counter()

    def active(self, mask: Mask) -> int:
        """Invocations of the whole grid in a mask that broadcasts to it, times the weight."""
        if mask is None:
            return self.invocations * self.weight
        return int(np.count_nonzero(mask)) * (self.invocations // mask.size) * self.weight

    def access(self, element: Element, index: Array, mask: Mask, *, store: bool) -> None:
        """See Listener."""
        active = self.active(mask)
        space = "global" if element.space is Space.BUFFER else "shared"
        self.totals[f"{space}_{'stores' if store else 'loads'}"] += active
        if element.space is Space.BUFFER:
            self.totals["bytes_requested"] += active * self.element_bytes[element.array]

    def arithmetic(self, kind: Type, mask: Mask) -> None:
        """See Listener."""
        self.totals["arithmetic"] += self.active(mask) * (4 if kind is Type.VEC4 else 1)

    def barrier(self, mask: Mask) -> None:
        """See Listener."""
        self.totals["barriers"] += self.active(mask)

    def counts(self) -> KernelCounts:
        total = self.totals
        return KernelCounts(
            self.invocations,
            total["arithmetic"],
            total["global_loads"],
            total["global_stores"],
            total["shared_loads"],
            total["shared_stores"],
            total["barriers"],
            total["bytes_requested"],
        )
