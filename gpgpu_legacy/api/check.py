"""The reports of `gpgpu-legacy check`: resources and verdicts of programs, or their faults.

This module imports no executor, so that checking a program is quick.
"""

from __future__ import annotations

from gpgpu_legacy.chips.verdict import Verdict
from gpgpu_legacy.count.resources import resources
from gpgpu_legacy.errors import AssemblyError, Diagnostic
from gpgpu_legacy.isa.ir import Program
from gpgpu_legacy.present.grid import Grid
from gpgpu_legacy.serial import Record, as_record


class FaultyProgram(Record, kw_only=True):
    """A program that does not assemble, with its faults in the order of the text."""

    program: str
    assembles: bool = False
    diagnostics: tuple[Diagnostic, ...]


class CheckedProgram(Record, kw_only=True):
    """A program that assembles, and how much it uses of each resource that chips limit."""

    program: str
    assembles: bool = True
    resources: dict[str, int]


class JudgedProgram(Verdict, kw_only=True):
    """The same, and the verdict of a chip."""

    program: str
    assembles: bool = True
    resources: dict[str, int]


ProgramReport = FaultyProgram | CheckedProgram | JudgedProgram


class CheckedPrograms(Record):
    """The reports of all programs of a call, in order."""

    programs: tuple[ProgramReport, ...]


def faulty(error: AssemblyError) -> FaultyProgram:
    """The faults of a program that does not assemble."""
    return FaultyProgram(program=error.name, diagnostics=error.diagnostics)


def checked(program: Program, verdict: Verdict | None = None) -> ProgramReport:
    """The resources that a program uses; with a verdict, whether it loads on the verdict's chip."""
    taken = resources_by_name(program)
    if verdict is None:
        return CheckedProgram(program=program.name, resources=taken)
    return as_record(JudgedProgram, verdict, program=program.name, resources=taken)


def resources_by_name(program: Program) -> dict[str, int]:
    """How much a program uses of each resource that chips limit, by the resource's name."""
    return {
        usage.resource.value.lower().replace(" ", "_"): usage.count
        for usage in resources(program).usages
    }


def resources_grid(program: Program) -> Grid:
    """The resources as a table; notes say why each node of the texture dependency chain begins."""
    taken = resources(program)
    rows = tuple((usage.resource.value, usage.count) for usage in taken.usages if usage.count)
    opened = tuple(f"Node {node.number}: {node.why}." for node in taken.nodes[1:])
    return Grid(
        "resources", f"The resources that {program.name} uses", ("resource", "number"), rows, opened
    )
