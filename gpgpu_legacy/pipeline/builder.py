"""The builder of plans: an algorithm written down as textures and passes, in order.

    p = PlanBuilder("jacobi")
    b = p.input("b", n, n)
    x, y = p.texture("x", n, n, initial=0.0), p.texture("y", n, n)
    with p.repeat(passes):
        p.draw("jacobi.fp", {0: x, 1: b}, into=y)
        p.swap(x, y)
    p.output("x", x)
    plan = p.plan()

A mistake is an InputError or a PlanError in the call that makes it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from gpgpu_legacy.decorators import public
from gpgpu_legacy.languages.arb.limits import DEFAULT_LIMITS
from gpgpu_legacy.pipeline.loops import Places, is_until, steps_of
from gpgpu_legacy.pipeline.names import as_brook
from gpgpu_legacy.pipeline.passes import PassBuilder
from gpgpu_legacy.pipeline.storage import Stream
from gpgpu_legacy.plan.expand import settled
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.validate import validate

if TYPE_CHECKING:
    from gpgpu_legacy.languages.brook.kernels import BrookKernel


class PlanBuilder(PassBuilder):
    """Builds a Plan. The caller chooses sizes, so a function that builds a plan is a family of
    plans.

    name: of the plan. Matrices are given row first, textures width first, and row 0 of both is the
    bottom row of GL's window. A number of a pass may be an expression of the iteration that
    `repeat` gives, or a list with a value for each iteration.

    warns: whether to warn about a pass that is probably a mistake.
    """

    @classmethod
    def continuing(cls, plan: Plan) -> Self:
        """A builder that begins with everything in a plan.

        plan: any; PlanError if it is not valid.
        """
        builder = cls(plan.name)
        builder._validator = validate(plan)
        builder._inputs, builder._outputs = list(plan.inputs), list(plan.outputs)
        builder._items, builder._alternating = list(plan.steps), dict.fromkeys(plan.alternating)
        return builder

    @public
    def call(
        self,
        kernel: BrookKernel | str,
        *arguments: Any,
        targets: int = DEFAULT_LIMITS.draw_buffers,
        instructions: int = DEFAULT_LIMITS.instructions,
        profile: str = "",
        **named: Any,
    ) -> Stream | None:
        """Call a kernel or a reduction of a Brook text; see how to use Brook's kernels.

        kernel: `FILE.br:name`, a text with one kernel, or a kernel of Kernels. arguments, named: in
        the order of its parameters, or by their names: streams and their domains, rectangle
        textures, Iterators, numbers and vectors. targets, instructions: what a pass has at most, as
        on a chip; more take several passes. profile: arbfp1, fp40 or ps_3_0, for which a text is
        compiled; without one it branches only where it does not fit a straight line. Returns the
        result of a reduction, a new stream of one element if none is given.
        """
        from gpgpu_legacy.languages.brook.compile import PassLimits
        from gpgpu_legacy.pipeline.calls import call

        code = as_brook(kernel, self._name("kernel", kernel), profile)
        return call(self, code, arguments, named, PassLimits(targets, instructions))

    @property
    def has_loops(self) -> bool:
        """Whether a loop has a condition."""
        return any(is_until(item) for item in self._items)

    def plan(self) -> Plan:
        """The plan as it is now, validated; see `iterations`."""
        places = Places(self._validator.textures)
        steps = tuple(steps_of(self._items, places))
        plan = Plan(
            self.name,
            tuple(self.operands.values()),
            tuple(self._validator.matrices["result"].values()),
            tuple(places.textures.values()),
            tuple(self._inputs),
            steps,
            tuple(  # from the textures that hold their texels after all swaps
                replace(output, texture=places.of(output.texture)) for output in self._outputs
            ),
            tuple(self._alternating),
        )
        if self._is_validated:
            for output in self._outputs:
                self._validator.read(output.texture, "read back")
        else:
            validate(plan)
        return plan if self.iterations is None else settled(plan, self.iterations)
