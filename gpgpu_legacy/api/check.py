"""Would it have loaded? A plan on a chip, or programs, whose faults and resources are told, too.

This module imports no executor, so that checking a program is quick.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gpgpu_legacy.chips.profile import find_profile
from gpgpu_legacy.chips.verdict import Verdict
from gpgpu_legacy.count.resources import Resource, resources
from gpgpu_legacy.errors import AssemblyError, Diagnostic
from gpgpu_legacy.isa.ir import Program
from gpgpu_legacy.present.grid import Grid
from gpgpu_legacy.present.result import Result
from gpgpu_legacy.serial import Record, with_fields

if TYPE_CHECKING:
    from gpgpu_legacy.pipeline.builder import PlanBuilder


def check(p: PlanBuilder, chip: str) -> Verdict:
    """Whether a plan would have loaded on the chip of that name; InputError for an unknown one."""
    from gpgpu_legacy.chips.check_plan import check_plan

    verdict = check_plan(p.plan(), find_profile(chip))
    return with_fields(verdict, parameters=dict(p.parameters))


# Programs ---------------------------------------------------------------------------------------


class Taken(Record):
    """How much a program uses of each resource that chips limit, by the resource's name.

    nodes: why each node of its texture dependency chain begins, after the first.
    """

    resources: dict[str, int]
    nodes: tuple[str, ...]

    def grid(self, program: str) -> Grid:
        """What it uses. program: its name."""
        rows = tuple((one.value, n) for one in Resource if (n := self.resources.get(_key(one))))
        caption = f"The resources that {program} uses"
        return Grid("resources", caption, ("resource", "number"), rows, self.nodes)


def taken_by(program: Program) -> Taken:
    """What a program uses."""
    taken = resources(program)
    return Taken(
        resources={_key(usage.resource): usage.count for usage in taken.usages},
        nodes=tuple(f"Node {node.number}: {node.why}." for node in taken.nodes[1:]),
    )


def _key(resource: Resource) -> str:
    return resource.value.lower().replace(" ", "_")


class CheckedProgram(Record):
    """A program: its faults, in the order of the text, or what it uses. verdict: of a chip."""

    program: str
    diagnostics: tuple[Diagnostic, ...] = ()
    taken: Taken | None = None
    verdict: Verdict | None = None


class CheckedPrograms(Result):
    """The programs of a call, in order."""

    programs: tuple[CheckedProgram, ...]

    @property
    def status(self) -> int:
        """The exit code of a command: 2 if one does not assemble, 1 if one does not load."""
        return max(
            2 if one.diagnostics else one.verdict.status if one.verdict else 0
            for one in self.programs
        )

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """The verdicts or, without a chip, what the programs use."""
        grids: list[Grid] = []
        for one in self.programs:
            if one.verdict is not None:
                grids += one.verdict.grids(whole=whole)
            elif one.taken is not None:
                grids.append(one.taken.grid(one.program))
        return grids


def check_programs(
    programs: Iterable[Program | AssemblyError], chip: str | None = None
) -> CheckedPrograms:
    """What each of these programs uses, and whether it would have loaded on a chip.

    programs: those that do not assemble as the errors that say why.
    """
    from gpgpu_legacy.chips.check import check_program

    profile = None if chip is None else find_profile(chip)
    return CheckedPrograms(
        programs=tuple(
            CheckedProgram(program=one.name, diagnostics=one.diagnostics)
            if isinstance(one, AssemblyError)
            else CheckedProgram(
                program=one.name,
                taken=taken_by(one),
                verdict=None if profile is None else check_program(one, profile),
            )
            for one in programs
        )
    )
