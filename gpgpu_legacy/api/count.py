"""What a plan costs, in total, by pass and as formulas; and what a fragment of a program costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.parameters import Plain, titled
from gpgpu_legacy.api.check import Taken, taken_by
from gpgpu_legacy.count.by_pass import PassCounts, count_by_pass
from gpgpu_legacy.count.formulas import ClosedForm, formulas
from gpgpu_legacy.count.instructions import count_instructions
from gpgpu_legacy.count.traffic import ADDITIVE, Counts, count_plan
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.ir import Program, TextureTarget
from gpgpu_legacy.isa.opcodes import OPCODES
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.expand import rect_numbers
from gpgpu_legacy.plan.formats import FORMATS, RGBA32F
from gpgpu_legacy.plan.numbers import PerIteration
from gpgpu_legacy.plan.pass_names import kind_of_pass, name_of_pass, numbers_text
from gpgpu_legacy.plan.plan import CopyPass, FragmentPass, Pass, read_by, written_by
from gpgpu_legacy.present.grid import Entry, Formula, Grid
from gpgpu_legacy.present.result import Result
from gpgpu_legacy.serial import Record, as_record, fields_of

# Plans ------------------------------------------------------------------------------------------


class PassCount(Record):
    """Passes of a plan that do the same work, and what they cost together.

    numbers: of the passes, from 1, in words. kind: draw, copy, clear or dispatch. program: the file
    name of the program or kernel. size: of the rectangle in texels, `8×varying` where it changes in
    a Repeat; empty for a clear and a dispatch.
    """

    numbers: str
    runs: int
    kind: str
    program: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    size: str
    counts: Counts


class Count(Result):
    """What a plan costs. parameters: that it was built with.

    operations: those that the algorithm states, such as 2n³; None if it states none. formulas: by
    the name of the count, in the parameters of `over`; both are empty if none were asked for.
    """

    plan: str
    parameters: dict[str, Plain]
    operations: int | None
    total: Counts
    passes: tuple[PassCount, ...]
    over: tuple[str, ...]
    formulas: dict[str, ClosedForm]

    def __repr__(self) -> str:
        return f"<Count {self.plan}: {self.total!r}>"

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """The totals and, if they were asked for, the formulas. whole: the passes, too."""
        grids = [self._totals()]
        if whole:
            grids.append(self._passes())
        return [*grids, self._formulas()] if self.formulas else grids

    def _totals(self) -> Grid:
        counts = {name: getattr(self.total, name) for name in ADDITIVE}
        named = {"operations": self.operations, **counts}
        rows = tuple((_words(name), count) for name, count in named.items() if count)
        caption = f"{titled(self.plan, self.parameters)}: counts"
        return Grid("counts", caption, ("count", "total"), rows)

    def _passes(self) -> Grid:
        shown = [n for n in _OF_A_PASS if any(getattr(p.counts, n) for p in self.passes)]
        heads = ("passes", "runs", "what", "from", "to", "size", *map(_words, shown))
        rows = tuple(
            (
                one.numbers,
                one.runs,
                f"{one.kind} {one.program}".rstrip(),
                ", ".join(one.reads),
                ", ".join(one.writes),
                one.size,
                *(getattr(one.counts, name) for name in shown),
            )
            for one in self.passes
        )
        caption = f"{self.plan}: passes that do the same work, counted together"
        return Grid("passes", caption, heads, rows)

    def _formulas(self) -> Grid:
        rows = tuple(
            (_words(name), *_formula_entries(form))
            for name, form in self.formulas.items()
            if form.formula != "0"
        )
        caption = f"{self.plan}: formulas in {' and '.join(self.over)}"
        notes = ("Formulas are exact: solved for at some sizes, and checked at others.",)
        return Grid("formulas", caption, ("count", "formula", "for"), rows, notes)


_OF_A_PASS = (
    "fragments", "arithmetic", "lookup", "invocations", "bytes_requested", "copy_bytes",
    "clear_bytes",
)  # fmt: skip


def count(p: PlanBuilder, over: Sequence[str] = (), algorithm: Algorithm | None = None) -> Count:
    """Count a plan, in total and by pass.

    over: parameters of the algorithm that built it, in which formulas are recovered: its plans are
    made and counted at several sizes. Raises what count_plan raises, and InputError for parameters
    that there are not.
    """
    plan = p.plan()
    return Count(
        plan=plan.name,
        parameters=dict(p.parameters),
        operations=p.operations,
        total=count_plan(plan),
        passes=tuple(map(_pass_count, count_by_pass(plan))),
        over=tuple(over),
        formulas=_recovered(p, over, algorithm) if over else {},
    )


def _recovered(
    p: PlanBuilder, over: Sequence[str], algorithm: Algorithm | None
) -> dict[str, ClosedForm]:
    known = {} if algorithm is None else algorithm.parameters
    for name in over:
        if algorithm is None or name not in known:
            has = ", ".join(known) or "none"
            raise InputError(f"{p.name} has no parameter {name}; its parameters are {has}")
    family = algorithm
    assert family is not None
    given = {n: v for n, v in p.parameters.items() if v != known[n].plain_default}
    values = [p.parameters[name] for name in over]
    at = tuple(value for value in values if type(value) is int and value > 0)
    return formulas(
        lambda **sizes: family.plan(**{**given, **sizes}),
        over,
        at=at if len(at) == len(over) else None,
    ).formulas


def _pass_count(group: PassCounts) -> PassCount:
    return as_record(
        PassCount,
        group,
        numbers=numbers_text(group.numbers),
        kind=kind_of_pass(group.pass_),
        program=name_of_pass(group.pass_),
        reads=tuple(dict.fromkeys(read_by(group.pass_))),
        writes=tuple(dict.fromkeys(written_by(group.pass_))),
        size=_size_text(group.pass_),
    )


def _size_text(pass_: Pass) -> str:
    match pass_:
        case FragmentPass(rect=rect) | CopyPass(source_rect=rect):
            *_, width, height = rect_numbers(rect)
            sides = ("varying" if isinstance(n, PerIteration) else str(n) for n in (width, height))
            return "×".join(sides)
    return ""


def _words(name: str) -> str:
    """The name of a count for people: `copy bytes`."""
    return name.replace("_", " ")


def _formula_entries(form: ClosedForm) -> tuple[Entry, Entry]:
    if form.formula is None:
        return "no closed form found", None
    return Formula(form.formula), form.holds_for


# Programs ---------------------------------------------------------------------------------------

TARGET = "target"


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
        return FragmentCounts(**{name: number * fragments for name, number in counts.items()})


class UnitCounts(Record):
    """The lookups of a texture image unit in a fragment, and the bytes they request."""

    unit: int
    target: TextureTarget
    format: str
    lookups: int
    bytes: int


class ProgramCount(Result):
    """What a fragment of a program executes and requests, and the resources that it uses.

    size, total: of a rectangle of fragments, in pixels; None if none was asked for.
    """

    program: str
    per_fragment: FragmentCounts
    opcodes: dict[str, int]
    units: tuple[UnitCounts, ...]
    target_format: str
    taken: Taken
    size: tuple[int, int] | None = None
    total: FragmentCounts | None = None

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """Instructions, bytes and resources. whole: by opcode and by unit, too."""
        grids = [self._instructions()]
        if whole:
            rows = tuple((name, OPCODES[name].cost.value, n) for name, n in self.opcodes.items())
            grids.append(Grid("opcodes", "By opcode", ("opcode", "cost", "per fragment"), rows))
        if whole and self.units:
            grids.append(self._units())
        return [*grids, self.taken.grid(self.program)]

    def _instructions(self) -> Grid:
        columns = {"per fragment": fields_of(self.per_fragment)}
        if self.size is not None and self.total is not None:
            columns[f"{self.size[0]}×{self.size[1]} fragments"] = fields_of(self.total)
        rows = tuple(
            (_words(name), *(column[name] for column in columns.values()))
            for name in fields_of(self.per_fragment)
        )
        kills = self.per_fragment.kill > 0
        notes = ("KIL is counted as if it discarded no fragment.",) if kills else ()
        return Grid(
            "counts", f"{self.program}: instructions and bytes", ("", *columns), rows, notes
        )

    def _units(self) -> Grid:
        heads = ("unit", "target", "format", "lookups", "bytes per fragment")
        rows = tuple(
            (str(unit.unit), unit.target.value, unit.format, unit.lookups, unit.bytes)
            for unit in self.units
        )
        return Grid("units", "Lookups by unit", heads, rows)


def count_program(
    program: Program,
    formats: Mapping[str, str] | None = None,
    size: tuple[int, int] | None = None,
) -> ProgramCount:
    """Count one fragment of a program; with a size, also a rectangle of fragments.

    formats: of texels, by unit ("0"), of the target ("target"), of all others (""), which is
    rgba32f if it is not given. Raises InputError for an unknown format and for a unit that the
    program does not look up.
    """
    given = {"": RGBA32F.name, **(formats or {})}
    _check_formats(program, given)
    texels = {unit: FORMATS[given.get(str(unit), given[""])] for unit in program.texture_units}
    target = FORMATS[given.get(TARGET, given[""])]
    lookups = Counter(i.texture.unit for i in program.instructions if i.texture is not None)
    opcodes = Counter(instruction.mnemonic for instruction in program.instructions)
    units = tuple(
        UnitCounts(
            unit=unit,
            target=kind,
            format=texels[unit].name,
            lookups=lookups[unit],
            bytes=lookups[unit] * texels[unit].texel_bytes,
        )
        for unit, kind in sorted(program.texture_units.items())
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
        target_format=target.name,
        taken=taken_by(program),
        size=size,
        total=None if size is None else fragment.times(size[0] * size[1]),
    )


def _check_formats(program: Program, given: Mapping[str, str]) -> None:
    for name in given.values():
        if name not in FORMATS:
            raise InputError(f"there is no format {name}; choose from {', '.join(FORMATS)}")
    known = {"", TARGET, *(str(unit) for unit in program.texture_units)}
    for place in given.keys() - known:
        units = " or ".join(sorted(known - {""}))
        raise InputError(f"the program has no unit {place!r}; give the format of {units}")
