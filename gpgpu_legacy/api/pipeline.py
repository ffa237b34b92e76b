"""A pipeline: a builder of plans together with all that can be done with the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

from numpy.typing import ArrayLike

from gpgpu_legacy.api.keywords import MachineKeywords
from gpgpu_legacy.api.plan_run import PlanRun, run_plan, sample_inputs
from gpgpu_legacy.count.traffic import Counts, count_plan
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.runtime.executor import Machine, Observer
from gpgpu_legacy.runtime.registry import AUTO


class Pipeline(PlanBuilder):
    """Anyone's algorithm in passes: built call by call, then run, counted, checked and drawn.

    >>> p = Pipeline("double")
    >>> x, y = p.input("x", 1, 3), p.texture("y", 3, 1)
    >>> p.draw('''!!ARBfp1.0
    ... TEMP r;
    ... TEX r, fragment.position, texture[0], RECT;
    ... ADD result.color, r, r;
    ... END''', {0: x}, into=y)
    >>> p.output("y", y)
    >>> p.run(x=[[1, 2, 3]]).y
    array([[2., 4., 6.]], dtype=float32)
    """

    parameters: Mapping[str, Any] = {}
    """The values of the parameters that a recipe built it with."""

    @classmethod
    def of(cls, builder: PlanBuilder) -> Self:
        """The same plan, with the verbs."""
        pipeline = cls(builder.name)
        pipeline.__dict__.update(builder.__dict__)
        return pipeline

    def run(
        self,
        inputs: Mapping[str, ArrayLike] | None = None,
        *,
        executor: str = AUTO,
        machine: Machine | None = None,
        repeat: int = 1,
        seed: int = 0,
        observer: Observer | None = None,
        **named: Any,
    ) -> PlanRun:
        """Run it on arrays by name: `p.run(b=B)`, or `p.run({"b": B})`.

        Without any input, it runs on samples, which depend on `seed`. The rest is as for
        `run_plan`, `exact` and `arithmetic` among the keywords.
        """
        plan = self.plan()
        how: MachineKeywords = {}
        for key in MachineKeywords.__annotations__:
            if key in named and key not in {matrix.name for matrix in plan.operands}:
                how[key] = named.pop(key)  # type: ignore[literal-required]
        given = {**(inputs or {}), **named} or sample_inputs(plan, self.samples, seed)
        result = run_plan(
            plan, given, executor=executor, machine=machine, repeat=repeat, observer=observer, **how
        )
        return replace(result, reference=self.reference, parameters=dict(self.parameters))

    def count(self) -> Counts:
        """What the plan costs: passes, fragments, instructions and bytes."""
        return count_plan(self.plan())
