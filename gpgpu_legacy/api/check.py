"""Would a plan or a program have loaded on a chip? Also programs' faults, resources and costs.

This module imports neither executors nor NumPy, so that checking or counting a program is quick.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from gpgpu_legacy.chips.profile import find_profile
from gpgpu_legacy.chips.verdict import Verdict
from gpgpu_legacy.count.instructions import BOUNDS, count_instructions, executions, lookups_by_unit
from gpgpu_legacy.count.resources import Resource, resources
from gpgpu_legacy.errors import AssemblyError, Diagnostic, InputError
from gpgpu_legacy.isa.opcodes import OPCODES
from gpgpu_legacy.isa.program import Program, TextureTarget
from gpgpu_legacy.languages.texenv.stages import stages
from gpgpu_legacy.plan.textures import RGBA32F, find_format
from gpgpu_legacy.present.grid import Entry, Grid, Result
from gpgpu_legacy.serial import Record, as_record, fields_of, with_fields

if TYPE_CHECKING:
    from gpgpu_legacy.pipeline.builder import PlanBuilder


def check(p: PlanBuilder, chip: str) -> Verdict:
    """Whether a plan would have loaded on the chip of that name; InputError for an unknown one."""
    from gpgpu_legacy.chips.check_plan import check_plan

    verdict = check_plan(p.plan(), find_profile(chip))
    return with_fields(verdict, parameters=dict(p.parameters))


# Programs ---------------------------------------------------------------------------------------


class Taken(Record):
    """A program's use of each resource that chips limit, by the resource's name.

    renamed_indirections: the texture indirections if a driver renames temporaries. nodes: why each
    node of the texture dependency chain begins, after the first.
    """

    resources: dict[str, int]
    renamed_indirections: int
    nodes: tuple[str, ...]

    def grid(self, program: str) -> Grid:
        """The table of resources. program: the name in its caption."""
        rows = tuple((one.value, n) for one in Resource if (n := self.resources.get(_key(one))))
        caption = f"The resources that {program} uses"
        fewer = f"{self.renamed_indirections} indirections if a driver renames temporaries."
        is_range = self.renamed_indirections <= len(self.nodes)
        notes = (*self.nodes, *[f"The chip may need only {fewer}"] * is_range)
        return Grid("resources", caption, ("resource", "number"), rows, notes)


def taken_by(program: Program) -> Taken:
    """The resources of a program."""
    taken = resources(program)
    return Taken(
        resources={_key(usage.resource): usage.count for usage in taken.usages},
        renamed_indirections=taken.renamed_indirections,
        nodes=tuple(f"Node {node.number}: {node.why}." for node in taken.nodes[1:]),
    )


def _key(resource: Resource) -> str:
    return resource.value.lower().replace(" ", "_")


class CheckedProgram(Record):
    """A program's faults, in the order of the text, or its resources and a chip's verdict."""

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
        """The verdicts or, without a chip, the programs' resources."""
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
    """The resources of each program, and whether it would have loaded on a chip.

    programs: each a program, or the error if it does not assemble.
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


# What a fragment of a program costs -------------------------------------------------------------

TARGET = "target"


class FragmentCounts(Record):
    """Instructions by cost class, and bytes, of one fragment.

    A lookup requests a texel of its texture's format, and each written colour one texel of the
    target.
    """

    arithmetic: int
    lookup: int
    kill: int
    instructions: int
    bytes_looked_up: int
    bytes_written: int
    bytes_requested: int


class UnitCounts(Record):
    """The lookups of a texture image unit in a fragment, and the bytes they request."""

    unit: int
    target: TextureTarget
    format: str
    lookups: int
    bytes: int


class ProgramCount(Result):
    """The instructions and bytes of a fragment of a program, and the program's resources.

    opcodes: the instructions by opcode; of texture environments, those of the equivalent program.
    stages: the state of each texture environment. branches: whether the program branches, so that
    the numbers are upper bounds.
    """

    program: str
    per_fragment: FragmentCounts
    opcodes: dict[str, int]
    units: tuple[UnitCounts, ...]
    stages: tuple[str, ...]
    target_format: str
    taken: Taken
    branches: bool = False

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """Instructions, bytes and resources. whole: by opcode and by unit, too."""
        counts = fields_of(self.per_fragment)
        rows: tuple[tuple[Entry, ...], ...] = tuple(
            (name.replace("_", " "), number) for name, number in counts.items()
        )
        kills = self.per_fragment.kill > 0
        stages = "A stage of each unit is one operation, whatever instructions say the same:"
        notes = [stages, *self.stages] if self.stages else []
        if self.branches:
            notes.append(BOUNDS)
        if kills:
            notes.append("KIL is counted as if it discarded no fragment.")
        caption = f"{self.program}: instructions and bytes"
        grids = [Grid("counts", caption, ("", "per fragment"), rows, tuple(notes))]
        if whole:
            rows = tuple((name, OPCODES[name].cost.value, n) for name, n in self.opcodes.items())
            of = " of the program that says the same" if self.stages else ""
            grids.append(
                Grid("opcodes", f"By opcode{of}", ("opcode", "cost", "per fragment"), rows)
            )
        if whole and self.units:
            heads = ("unit", "target", "format", "lookups", "bytes per fragment")
            rows = tuple(
                (str(unit.unit), unit.target.value, unit.format, unit.lookups, unit.bytes)
                for unit in self.units
            )
            grids.append(Grid("units", "Lookups by unit", heads, rows))
        return [*grids, self.taken.grid(self.program)]


def count_program(program: Program, formats: Mapping[str, str] | None = None) -> ProgramCount:
    """Count one fragment of a program.

    formats: the format of a unit's texels ("0"), of the target's ("target") and of all others ("");
    rgba32f if it is not given. Raises InputError for an unknown format and for a unit that the
    program does not look up.
    """
    named = {"": RGBA32F.name, **(formats or {})}
    given = {place: find_format("a format", name) for place, name in named.items()}
    known = {"", TARGET, *map(str, program.texture_units)}
    for place in given:
        if place not in known:
            places = " or ".join(sorted(known - {""}))
            raise InputError(f"the program has no unit {place!r}; give the format of {places}")
    target, opcodes = given.get(TARGET, given[""]), Counter[str]()
    for instruction, times in zip(program.instructions, executions(program), strict=True):
        opcodes[instruction.mnemonic] += times
    units = tuple(
        UnitCounts(
            unit=unit,
            target=program.texture_units[unit],
            format=(texels := given.get(str(unit), given[""])).name,
            lookups=lookups,
            bytes=lookups * texels.texel_bytes,
        )
        for unit, lookups in lookups_by_unit(program)
    )
    counts = count_instructions(program)
    looked_up, written = sum(u.bytes for u in units), program.color_outputs * target.texel_bytes
    fragment = as_record(
        FragmentCounts,
        counts,
        instructions=counts.total,
        bytes_looked_up=looked_up,
        bytes_written=written,
        bytes_requested=looked_up + written,
    )
    return ProgramCount(
        program=program.name,
        per_fragment=fragment,
        opcodes={name: opcodes[name] for name in OPCODES if name in opcodes},
        units=units,
        stages=tuple(stages(program).values()),
        target_format=target.name,
        taken=taken_by(program),
        branches=program.branches,
    )
