"""What runs a plan where nobody names an executor."""

from __future__ import annotations

from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.runtime.registry import in_auto_order, reference

SMALL_WORK = 1 << 24
"""Instructions, over all fragments, up to which the reference machine is done before another
executor has compiled the programs."""


def candidates(plan: Plan, machine: Machine) -> list[Executor]:
    """The executors that `auto` takes for a plan: where one has no room for it, the next may."""
    if not plan.dispatches:
        counts = count_plan(plan)
        if counts.arithmetic + counts.lookup + counts.kill <= SMALL_WORK:
            return [reference()]
    return list(in_auto_order(plan, machine))
