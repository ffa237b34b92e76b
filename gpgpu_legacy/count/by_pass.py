"""What each pass of a plan costs; passes that do the same work are counted together."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from gpgpu_legacy.count.traffic import POSITIONS_ALONE, Accounting, Counts, count_repeated
from gpgpu_legacy.plan.pass_names import PassNumbers, numbered_passes
from gpgpu_legacy.plan.plan import ClearPass, ComputePass, CopyPass, FragmentPass, Pass, Plan
from gpgpu_legacy.plan.textures import MovingRect, Rect


@dataclass(frozen=True, slots=True)
class PassCounts:
    """The cost of the passes of a plan that do the same work, all together.

    pass_: the first of them, as the plan writes it. numbers: of all of them. counts: what they cost
    together.
    """

    pass_: Pass
    numbers: tuple[PassNumbers, ...]
    counts: Counts

    @property
    def runs(self) -> int:
        """How many passes they are."""
        return sum(numbers.count for numbers in self.numbers)


def count_by_pass(plan: Plan, accounting: Accounting = POSITIONS_ALONE) -> tuple[PassCounts, ...]:
    """The cost of each pass of a plan, in the order in which they first run.

    Passes do the same work if they draw rectangles of one size with the same program and textures;
    where the rectangles lie, the parameters and the coordinates make no difference. Together with
    what transfers and initial values cost, the counts add up to those of the plan. Raises PlanError
    as count_plan does.
    """
    groups: dict[Hashable, list[tuple[PassNumbers, Pass]]] = {}
    for numbers, pass_ in numbered_passes(plan):
        groups.setdefault(work_of_pass(pass_), []).append((numbers, pass_))
    return tuple(
        PassCounts(
            group[0][1],
            tuple(numbers for numbers, _ in group),
            sum(
                (count_repeated(plan, pass_, n.count, accounting) for n, pass_ in group),
                Counts(vertex_bytes=accounting.vertex_bytes),
            ),
        )
        for group in groups.values()
    )


def work_of_pass(pass_: Pass) -> Hashable:
    """What decides the cost of a pass, with the textures that it reads and writes.

    Passes do the same work if it is equal.
    """
    match pass_:
        case FragmentPass():
            textures = (pass_.bindings, pass_.targets, pass_.blend)
            return (pass_.program, *textures, _size(pass_.rect))
        case CopyPass():
            return (pass_.source, pass_.target, _size(pass_.source_rect))
        case ClearPass():
            return (pass_.target,)
        case ComputePass():
            return replace(pass_, independent=False)


def _size(rect: Rect | MovingRect) -> Hashable:
    return (rect.width, rect.height)
