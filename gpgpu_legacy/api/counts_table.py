"""What a fragment of a program executes and requests, as a record and as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from gpgpu_legacy.api.check import resources_by_name, resources_grid
from gpgpu_legacy.count.instructions import count_instructions
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.ir import Program, TextureTarget
from gpgpu_legacy.isa.opcodes import OPCODES
from gpgpu_legacy.plan.formats import FORMATS, RGBA32F, Format
from gpgpu_legacy.present.grid import Grid
from gpgpu_legacy.serial import Record, as_record, fields_of

TARGET = "target"


@dataclass(frozen=True)
class Formats:
    """The texel formats that bytes are counted with: of the textures, by unit, and the target."""

    textures: Mapping[int, Format]
    target: Format


def formats_of(program: Program, given: Mapping[str, str]) -> Formats:
    """Formats from names. given: by unit ("0"), of the target ("target"), of all others ("").

    Raises InputError for an unknown format and for a unit that the program does not look up.
    """
    for name in given.values():
        if name not in FORMATS:
            raise InputError(f"there is no format {name}; choose from {', '.join(FORMATS)}")
    known = {"", TARGET, *(str(unit) for unit in program.texture_units)}
    for place in given.keys() - known:
        units = " or ".join(sorted(known - {""}))
        raise InputError(f"the program has no unit {place!r}; give the format of {units}")
    default = given.get("", RGBA32F.name)
    textures = {u: FORMATS[given.get(str(u), default)] for u in sorted(program.texture_units)}
    return Formats(textures, FORMATS[given.get(TARGET, default)])


class FragmentCounts(Record):
    """Instructions by cost class, and bytes: of one fragment, or of many.

    A lookup requests one texel of its texture's format; each colour written, one of the target's.
    """

    arithmetic: int
    lookup: int
    kill: int
    instructions: int
    bytes_looked_up: int
    bytes_written: int
    bytes_requested: int

    def times(self, fragments: int) -> FragmentCounts:
        """The counts of that number of fragments."""
        counts: dict[str, int] = fields_of(self)
        return FragmentCounts(**{name: count * fragments for name, count in counts.items()})


class UnitCounts(Record):
    """The lookups of a texture image unit in a fragment, and the bytes they request."""

    unit: int
    target: TextureTarget
    format: str
    lookups: int
    bytes: int


class ProgramCounts(Record):
    """What a fragment of a program executes and requests, and the resources that it uses."""

    program: str
    per_fragment: FragmentCounts
    opcodes: dict[str, int]
    units: tuple[UnitCounts, ...]
    target_format: str
    resources: dict[str, int]


class RectangleCounts(ProgramCounts):
    """The counts of a fragment and of a whole rectangle. size: its width and height in pixels."""

    size: tuple[int, int]
    fragments: int
    total: FragmentCounts


def count_program(
    program: Program, formats: Formats, size: tuple[int, int] | None = None
) -> ProgramCounts:
    """Count one fragment of a program; with a size, also a rectangle of fragments."""
    units = _units(program, formats)
    fragment = _fragment(program, formats, sum(unit.bytes for unit in units))
    opcodes = Counter(instruction.mnemonic for instruction in program.instructions)
    counts = ProgramCounts(
        program=program.name,
        per_fragment=fragment,
        opcodes={name: opcodes[name] for name in OPCODES if name in opcodes},
        units=units,
        target_format=formats.target.name,
        resources=resources_by_name(program),
    )
    if size is None:
        return counts
    area = size[0] * size[1]
    return as_record(RectangleCounts, counts, size=size, fragments=area, total=fragment.times(area))


def _fragment(program: Program, formats: Formats, looked_up: int) -> FragmentCounts:
    counts = count_instructions(program)
    written = program.color_outputs * formats.target.texel_bytes
    return as_record(
        FragmentCounts,
        counts,
        instructions=counts.total,
        bytes_looked_up=looked_up,
        bytes_written=written,
        bytes_requested=looked_up + written,
    )


def _units(program: Program, formats: Formats) -> tuple[UnitCounts, ...]:
    lookups = Counter(i.texture.unit for i in program.instructions if i.texture is not None)
    return tuple(
        UnitCounts(
            unit=unit,
            target=target,
            format=formats.textures[unit].name,
            lookups=lookups[unit],
            bytes=lookups[unit] * formats.textures[unit].texel_bytes,
        )
        for unit, target in sorted(program.texture_units.items())
    )


def counts_grids(program: Program, counts: ProgramCounts) -> list[Grid]:
    """The counts of a program as tables, and the resources that it uses."""
    grids = [_instructions_grid(program, counts), _opcodes_grid(counts)]
    if counts.units:
        grids.append(_units_grid(counts))
    return [*grids, resources_grid(program)]


def _instructions_grid(program: Program, counts: ProgramCounts) -> Grid:
    columns = [fields_of(counts.per_fragment)]
    heads = ["", "per fragment"]
    if isinstance(counts, RectangleCounts):
        columns.append(fields_of(counts.total))
        heads.append(f"{counts.size[0]}×{counts.size[1]} fragments")
    rows = tuple(
        (name.replace("_", " "), *(column[name] for column in columns)) for name in columns[0]
    )
    notes = ("KIL is counted as if it discarded no fragment.",) if program.kills else ()
    caption = f"{program.name}: instructions and bytes"
    return Grid("counts", caption, tuple(heads), rows, notes)


def _opcodes_grid(counts: ProgramCounts) -> Grid:
    rows = tuple((name, OPCODES[name].cost.value, n) for name, n in counts.opcodes.items())
    return Grid("opcodes", "By opcode", ("opcode", "cost", "per fragment"), rows)


def _units_grid(counts: ProgramCounts) -> Grid:
    heads = ("unit", "target", "format", "lookups", "bytes per fragment")
    rows = tuple(
        (str(unit.unit), unit.target.value, unit.format, unit.lookups, unit.bytes)
        for unit in counts.units
    )
    return Grid("units", "Lookups by unit", heads, rows)
