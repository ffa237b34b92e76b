"""The builder of plans: an algorithm written down as textures and passes, in order.

    p = PlanBuilder("jacobi")
    b = p.input("b", n, n)
    x, y = p.texture("x", n, n, initial=0.0), p.texture("y", n, n)
    with p.repeat(passes):
        p.draw("jacobi.fp", {0: x, 1: b}, into=y)
        p.swap(x, y)
    p.output("x", x)
    plan = p.plan()

A mistake raises an InputError or a PlanError in the call that makes it.
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
    """A builder of a plan.

    The caller chooses the sizes, so a function that builds a plan describes a family of plans.
    Matrices are given row first, textures width first, and row 0 of both is the bottom row of GL's
    window. A number of a pass may be an expression of the iteration that `repeat` gives, or a list
    with a value for each iteration.

    name: of the plan. warns: whether to warn about a pass that is probably a mistake.
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
        """Call a kernel or a reduction of a Brook text.

        kernel: `FILE.br:name`, a text with one kernel, or a BrookKernel. arguments, named: in the
        order of its parameters, or by their names: streams and their domains, rectangle textures,
        Iterators, numbers and vectors. targets, instructions: the most that a pass may have, as on
        a chip; a kernel with more takes several passes. profile: arbfp1, fp40 or ps_3_0, for which
        a text is compiled; without one, a program branches only where straight-line code does not
        fit. Returns the result of a reduction, by default a new stream of one element.
        """
        from gpgpu_legacy.languages.brook.compile import PassLimits
        from gpgpu_legacy.pipeline.calls import call

        code = as_brook(kernel, self._name("kernel", kernel), profile)
        return call(self, code, arguments, named, PassLimits(targets, instructions))

    @property
    def has_loops(self) -> bool:
        """Whether any loop has a condition."""
        return any(is_until(item) for item in self._items)

    def plan(self) -> Plan:
        """The plan as it is now, validated; its loops end after `iterations`, if these are set."""
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
