"""Would this program, or this plan, have loaded on that chip? One row a limit.

A driver advertises limits and the chip has its own: both are asked, side by side. A limit that is
not known is never taken for passed; the answer then is "as far as is known". Where a driver has
ARB_fragment_program, it gives at least the specification's minima, and what keeps to them passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any

from gpgpu_legacy.arguments import as_instance
from gpgpu_legacy.chips.profile import Fact, Kind, Limits, Profile, find_profile
from gpgpu_legacy.count.resources import Node, Resource, Resources, Usage, Use, resources
from gpgpu_legacy.isa.ir import IDENTITY, Instruction, Program, Selector, Src, TextureTarget
from gpgpu_legacy.isa.opcodes import OPCODES, Cost
from gpgpu_legacy.plan.formats import Numeric
from gpgpu_legacy.plan.plan import (
    Blend,
    ComputePass,
    CopyPass,
    Filter,
    FragmentPass,
    Plan,
    Texture,
    written_by,
)

MIB = 2**20


class Outcome(Enum):
    """How one limit stands."""

    WITHIN = "within"
    EXCEEDED = "exceeded"
    UNKNOWN = "unknown"


class Answer(Enum):
    """What the limits say together."""

    LOADS = "loads"
    AS_FAR_AS_KNOWN = "loads, as far as is known"
    DOES_NOT_LOAD = "does not load"


@dataclass(frozen=True, slots=True)
class Side:
    """A limit as one side has it: the driver that advertises it, or the chip.

    allowed: a number, or words; None where it is not known. at_least: it may be more.
    """

    outcome: Outcome
    allowed: float | str | None = None
    at_least: bool = False
    fact: Fact[Any] | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One limit: what was found of it, and what is allowed.

    A side is None where it has no such limit. where: what goes over the limit first. advice: how to
    keep within it. program: which program it is about, where it is about one.
    """

    limit: str
    found: int | str
    advertised: Side | None
    native: Side | None
    where: str = ""
    advice: str = ""
    program: str = ""

    @property
    def outcome(self) -> Outcome:
        """The worse of both sides."""
        return _worst(side.outcome for side in (self.advertised, self.native) if side)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer, with a row for every limit that the subject comes under.

    subject: the program's or the plan's name. nodes: of the texture dependency chain of the program
    that has most of them.
    """

    subject: str
    chip: Profile
    rows: tuple[Row, ...]
    nodes: tuple[Node, ...] = ()

    @property
    def answer(self) -> Answer:
        """What both sides say: what exceeds a native limit cannot run on the chip."""
        return _answer(row.outcome for row in self.rows)

    @property
    def advertised(self) -> Answer:
        """What the driver would say."""
        return _answer(row.advertised.outcome for row in self.rows if row.advertised)

    @property
    def native(self) -> Answer:
        """What the chip itself would say."""
        return _answer(row.native.outcome for row in self.rows if row.native)

    @property
    def exceeded(self) -> tuple[Row, ...]:
        """The rows that are over a limit."""
        return tuple(row for row in self.rows if row.outcome is Outcome.EXCEEDED)

    @property
    def unknown(self) -> tuple[Row, ...]:
        """The rows in which a limit is not known."""
        sides = ((row, (row.advertised, row.native)) for row in self.rows)
        return tuple(
            r for r, both in sides if any(s and s.outcome is Outcome.UNKNOWN for s in both)
        )


def _worst(outcomes: Iterable[Outcome]) -> Outcome:
    found = set(outcomes)
    for outcome in (Outcome.EXCEEDED, Outcome.UNKNOWN):
        if outcome in found:
            return outcome
    return Outcome.WITHIN


def _answer(outcomes: Iterable[Outcome]) -> Answer:
    return {
        Outcome.EXCEEDED: Answer.DOES_NOT_LOAD,
        Outcome.UNKNOWN: Answer.AS_FAR_AS_KNOWN,
        Outcome.WITHIN: Answer.LOADS,
    }[_worst(outcomes)]


# Programs -----------------------------------------------------------------------------------


def check_program(program: Program, chip: Profile) -> Verdict:
    """Compare what a program takes with what a chip has."""
    as_instance("chip", chip, Profile, "the Profile of a chip, as find_profile returns it")
    taken = resources(program)
    rows = tuple(_program_rows(program, taken, chip))
    return Verdict(program.name or "the program", chip, rows, taken.nodes)


def _program_rows(program: Program, taken: Resources, chip: Profile) -> Iterator[Row]:
    yield _language(program, chip)
    yield from _operations(program, chip)
    yield from _swizzles(program, chip)
    if TextureTarget.RECT in program.texture_units.values():
        yield _yes_or_no("rectangle textures", chip.formats.rectangle_textures, chip, program.name)
    for usage in taken.usages:
        if usage.count > 0:
            yield _limit(usage, taken, chip, program.name)


def _language(program: Program, chip: Profile) -> Row:
    """Whether fragment programs exist there; where not, whether something stands for this one."""
    fact, language = chip.programs.arb_fragment_program, chip.programs.language
    allowed = language.value if language else None
    advice = ""
    if fact is None:
        outcome = Outcome.UNKNOWN
    elif fact.value:
        outcome = Outcome.WITHIN
    elif chip.programs.operations is not None:
        outcome, advice = Outcome.WITHIN, f"not as a program: to be set up as {allowed}"
    elif chip.kind is Kind.API:
        outcome, advice = Outcome.UNKNOWN, f"to be written again in {allowed}"
    else:
        outcome = Outcome.EXCEEDED
    side = Side(outcome, allowed, fact=fact)
    return Row("language", "ARB_fragment_program", *_both(side, chip), "", advice, program.name)


def _operations(program: Program, chip: Profile) -> Iterator[Row]:
    fact = chip.programs.operations
    if fact is None:
        return
    strange = next((i for i in program.instructions if i.mnemonic not in fact.value), None)
    outcome = Outcome.EXCEEDED if strange else Outcome.WITHIN
    found = ", ".join(sorted({i.mnemonic for i in program.instructions})) or "none"
    where = f"line {strange.span.line}: {strange.mnemonic}" if strange else ""
    side = Side(outcome, ", ".join(fact.value), fact=fact)
    yield Row("operations", found, *_both(side, chip), where, program=program.name)


def _swizzles(program: Program, chip: Profile) -> Iterator[Row]:
    fact = chip.programs.swizzles
    if fact is None or fact.value:
        return
    strange = next((i for i in program.instructions if _is_swizzled(i)), None)
    outcome = Outcome.EXCEEDED if strange else Outcome.WITHIN
    where = f"line {strange.span.line}: {strange.mnemonic}" if strange else ""
    side = Side(outcome, "none", fact=fact)
    found = "some" if strange else "none"
    yield Row("swizzles", found, *_both(side, chip), where, program=program.name)


def _is_swizzled(instruction: Instruction) -> bool:
    """Whether an arithmetic operand is other than whole, or its alpha replicated."""
    if OPCODES[instruction.mnemonic].cost is not Cost.ARITHMETIC:
        return False
    return any(src.swizzle not in (IDENTITY, _ALPHA) for src in instruction.srcs if _reads(src))


_ALPHA = (Selector.W,) * 4


def _reads(src: Src) -> bool:
    """Whether it reads more than one component, so that their order matters."""
    return len(set(src.swizzle)) > 1


_FIELDS = {
    Resource.ALU_INSTRUCTIONS: "alu_instructions",
    Resource.TEXTURE_INSTRUCTIONS: "texture_instructions",
    Resource.INSTRUCTIONS: "instructions",
    Resource.INDIRECTIONS: "indirections",
    Resource.TEMPORARIES: "temporaries",
    Resource.PARAMETERS: "parameters",
    Resource.ATTRIBUTES: "attributes",
    Resource.COORDINATE_SETS: "coordinate_sets",
    Resource.IMAGE_UNITS: "image_units",
    Resource.LOCAL_PARAMETERS: "local_parameters",
    Resource.ENV_PARAMETERS: "env_parameters",
    Resource.COLOR_OUTPUTS: "color_outputs",
}

# What GL has one limit of, with no native one beside it.
_ONE_LIMIT = {
    Resource.COORDINATE_SETS,
    Resource.IMAGE_UNITS,
    Resource.LOCAL_PARAMETERS,
    Resource.ENV_PARAMETERS,
    Resource.COLOR_OUTPUTS,
}


def _limit(usage: Usage, taken: Resources, chip: Profile, program: str) -> Row:
    advertised, native = _sides(usage, chip)
    tightest = min(
        (
            side.allowed
            for side in (advertised, native)
            if side and side.outcome is Outcome.EXCEEDED and isinstance(side.allowed, int | float)
        ),
        default=None,
    )
    where = "" if tightest is None else _place(usage, usage.first_beyond(tightest))
    advice = ""
    if tightest is not None and usage.resource is Resource.INDIRECTIONS:
        advice = _hoisting(taken, tightest)
    return Row(
        usage.resource.value, usage.count, advertised, native, where, advice, program
    )  # fmt: skip


def _sides(usage: Usage, chip: Profile) -> tuple[Side | None, Side | None]:
    name = _FIELDS[usage.resource]
    has_programs = chip.programs.arb_fragment_program
    advertised: Fact[float] | None = getattr(chip.advertised, name)
    native: Fact[float] | None = getattr(chip.native, name)
    if usage.resource in _ONE_LIMIT:
        advertised = native = advertised or native
    sides: tuple[Side | None, Side | None]
    sides = _side(usage.count, advertised), _side(usage.count, native)
    if has_programs is not None and has_programs.value and advertised is None:
        least = _side(usage.count, getattr(_minima(), name), at_least=True)
        sides = least, least if usage.resource in _ONE_LIMIT else sides[1]
    elif chip.kind is Kind.CHIP and has_programs is not None and not has_programs.value:
        sides = None, sides[1]
    return (sides[0], None) if chip.kind is Kind.API else sides


@cache
def _minima() -> Limits:
    """What every implementation of ARB_fragment_program gives."""
    return find_profile("arbfp1.0-minimum").advertised


def _side(found: int, fact: Fact[Any] | None, *, at_least: bool = False) -> Side:
    if fact is None:
        return Side(Outcome.UNKNOWN)
    if found <= fact.value:
        return Side(Outcome.WITHIN, fact.value, at_least, fact)
    more = at_least or (fact.up_to is not None and found <= fact.up_to)
    return Side(Outcome.UNKNOWN if more else Outcome.EXCEEDED, fact.value, more, fact)


def _both(side: Side, chip: Profile) -> tuple[Side | None, Side | None]:
    """The same on both sides; an API has no native one."""
    return side, None if chip.kind is Kind.API else side


def _place(usage: Usage, use: Use | None) -> str:
    if use is None:
        return f"with {usage.surcharge} for fog"
    if usage.resource is Resource.INDIRECTIONS:
        return use.what
    line = f"line {use.span.line}: " if use.span is not None else ""
    return line + use.what


def _hoisting(taken: Resources, allowed: float) -> str:
    """What to do about too many indirections."""
    least = taken.least_indirections
    if least >= len(taken.nodes):
        return "each depends on lookups of the node before; no order of instructions needs fewer"
    first = next(node for node in taken.nodes if node.avoidable)
    enough = "" if least <= allowed else f", still more than {allowed:g}"
    return f"{first.advice}, and so on; {least} would be left at the least{enough}"


# Plans --------------------------------------------------------------------------------------


def check_plan(plan: Plan, chip: Profile) -> Verdict:
    """Compare all that a plan uses with what a chip has: programs, textures, blending, memory."""
    rows: list[Row] = []
    nodes: tuple[Node, ...] = ()
    for program in plan.programs():
        verdict = check_program(program, chip)
        rows += verdict.rows
        nodes = max(nodes, verdict.nodes, key=len)
    rows += _kernels(plan, chip)
    rows += _textures(plan, chip)
    rows += _memory(plan, chip)
    return Verdict(plan.name, chip, tuple(rows), nodes)


def _kernels(plan: Plan, chip: Profile) -> Iterator[Row]:
    if any(isinstance(each, ComputePass) for _, each in plan.weighted_passes()):
        yield _yes_or_no("compute kernels", chip.programs.kernels, chip)
        yield Row("work groups", "used", None, Side(Outcome.UNKNOWN))


def _yes_or_no(limit: str, fact: Fact[bool] | None, chip: Profile, program: str = "") -> Row:
    side = Side(Outcome.UNKNOWN)
    if fact is not None:
        outcome = Outcome.WITHIN if fact.value else Outcome.EXCEEDED
        side = Side(outcome, "yes" if fact.value else "none", fact=fact)
    return Row(limit, "used", *_both(side, chip), program=program)


@dataclass(frozen=True, slots=True)
class _Roles:
    """Which textures a plan looks up or copies to, which it draws to, and how."""

    read: tuple[Texture, ...]
    drawn: tuple[Texture, ...]
    blended: tuple[Texture, ...]
    filtered: tuple[tuple[Texture, Filter], ...]


def _roles(plan: Plan) -> _Roles:
    read, drawn, blended = list[str](), list[str](), list[str]()
    filtered: list[tuple[str, Filter]] = []
    for _, each in plan.weighted_passes():
        match each:
            case FragmentPass():
                read += [b.texture for b in each.bindings]
                filtered += [(b.texture, b.sampler.filter) for b in each.bindings]
                drawn += each.targets
                blended += each.targets if each.blend is not Blend.NONE else ()
            case CopyPass():
                read += written_by(each)
    return _Roles(
        tuple(map(plan.texture, dict.fromkeys(read))),
        tuple(map(plan.texture, dict.fromkeys(drawn))),
        tuple(map(plan.texture, dict.fromkeys(blended))),
        tuple((plan.texture(name), kind) for name, kind in dict.fromkeys(filtered)),
    )


def _textures(plan: Plan, chip: Profile) -> Iterator[Row]:
    roles, formats = _roles(plan), chip.formats
    yield from _float_textures([t for t in roles.read if _is_float(t)], chip)
    yield from _float_filters([(t, f) for t, f in roles.filtered if _is_float(t)], chip)
    targets = [t for t in roles.drawn if _is_float(t)]
    yield from _bits("float framebuffer", targets, formats.float_target_bits, chip)
    blended = [t for t in roles.blended if _is_float(t)]
    yield from _bits("blending in floats", blended, formats.float_blending_bits, chip)
    yield from _size("texture size", roles.read, formats.largest_texture_texels, chip)
    largest = formats.largest_target_texels or formats.largest_texture_texels
    yield from _size("framebuffer size", roles.drawn, largest, chip)


def _is_float(texture: Texture) -> bool:
    return texture.format.numeric is Numeric.FLOAT


def _names(textures: Iterable[Texture]) -> str:
    names = list(dict.fromkeys(t.name for t in textures))
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _float_textures(textures: list[Texture], chip: Profile) -> Iterator[Row]:
    if not textures:
        return
    fact = chip.formats.float_texture_kinds
    used = sorted({t.kind.value for t in textures})
    found = f"{', '.join(used)} of {', '.join(sorted({t.format.name for t in textures}))}"
    if fact is None:
        side, strange = Side(Outcome.UNKNOWN), list[Texture]()
    else:
        strange = [t for t in textures if t.kind.value not in fact.value]
        outcome = Outcome.EXCEEDED if strange else Outcome.WITHIN
        side = Side(outcome, ", ".join(fact.value) or "none", fact=fact)
    yield Row("float textures", found, *_both(side, chip), _names(strange))


def _float_filters(textures: list[tuple[Texture, Filter]], chip: Profile) -> Iterator[Row]:
    if not textures:
        return
    fact = chip.formats.float_filters
    found = ", ".join(sorted({kind.value for _, kind in textures}))
    strange: list[Texture] = []
    if found == Filter.NEAREST.value:
        side = Side(Outcome.WITHIN, ", ".join(fact.value) if fact else found, fact=fact)
    elif fact is None:
        side = Side(Outcome.UNKNOWN)
    else:
        strange = [t for t, kind in textures if kind.value not in fact.value]
        outcome = Outcome.EXCEEDED if strange else Outcome.WITHIN
        side = Side(outcome, ", ".join(fact.value), fact=fact)
    yield Row("filters of floats", found, *_both(side, chip), _names(strange))


def _bits(
    limit: str, textures: list[Texture], fact: Fact[int] | None, chip: Profile
) -> Iterator[Row]:
    """Bits of a channel of the widest texture, against those that the chip can do it with."""
    if not textures:
        return
    found = max(t.format.bits_per_channel for t in textures)
    over = [t for t in textures if fact is not None and t.format.bits_per_channel > fact.value]
    side = Side(Outcome.UNKNOWN)
    if fact is not None:
        allowed = f"{fact.value} bits" if fact.value else "none"
        side = Side(Outcome.EXCEEDED if over else Outcome.WITHIN, allowed, fact=fact)
    yield Row(limit, f"{found} bits", *_both(side, chip), _names(over))


def _size(
    limit: str, textures: tuple[Texture, ...], fact: Fact[int] | None, chip: Profile
) -> Iterator[Row]:
    if not textures:
        return
    found = max(max(t.extent.width, t.extent.height) for t in textures)
    over = [t for t in textures if fact and max(t.extent.width, t.extent.height) > fact.value]
    advice = f"cut the matrices with --largest-texture {fact.value}" if over and fact else ""
    yield Row(limit, found, *_both(_side(found, fact), chip), _names(over), advice)


def plan_bytes(plan: Plan) -> int:
    """Bytes of all textures, framebuffers among them."""
    return sum(t.extent.width * t.extent.rows * t.format.texel_bytes for t in plan.textures)


def _memory(plan: Plan, chip: Profile) -> Iterator[Row]:
    """The memory of the board; where the host's serves, the share that is given away."""
    if not plan.textures or chip.kind is Kind.API:
        return
    found = -(-plan_bytes(plan) // MIB)
    side = _side(found, chip.hardware.memory_mib)
    yield Row("memory, MiB", found, side, side)
