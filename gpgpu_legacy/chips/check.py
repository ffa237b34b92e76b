"""Would this program have loaded on that chip? One row per limit.

Where a driver has ARB_fragment_program, it offers at least the specification's minima, so a program
that stays within them loads.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache

from gpgpu_legacy.chips.native import NativeCount, NativeUse, count_native, instruction_set
from gpgpu_legacy.chips.profile import Fact, Limits, Number, Profile, ProfileKind, find_profile
from gpgpu_legacy.chips.verdict import (
    ChainNode,
    Expanded,
    Outcome,
    Row,
    Sides,
    Verdict,
    both_sides,
    make_row,
    make_side,
    make_verdict,
    number_side,
    yes_or_no_sides,
)
from gpgpu_legacy.count.resources import Resource, Resources, Usage, Use, resources
from gpgpu_legacy.isa.opcodes import NV_OPTIONS, OPCODES, CostClass
from gpgpu_legacy.isa.program import COMPONENTS, IDENTITY, Instruction, Program, TextureTarget
from gpgpu_legacy.languages.arb.printer import operand_texts, print_instruction
from gpgpu_legacy.languages.registry import language_of
from gpgpu_legacy.serial import as_record, with_fields


def check_program(program: Program, chip: Profile) -> Verdict:
    """Compare the resources of a program with those of a chip."""
    return check_counted(program, resources(program), chip)


def check_counted(program: Program, taken: Resources, chip: Profile) -> Verdict:
    """The same for a program whose resources are known."""
    known = chip.programs.instruction_set  # where swizzles are lacking
    native = None if known is None or program.state else _count(program, known.value)
    nodes = tuple(
        as_record(ChainNode, node, line=node.opener.span.line if node.opener else None)
        for node in taken.nodes
    )
    rows = (with_fields(row, program=program.name) for row in _rows(program, taken, native, chip))
    verdict = make_verdict(
        program.name or "the program", chip, rows, nodes, _expanded(program, native)
    )
    is_compiled = any(i.origin for i in program.instructions)
    return with_fields(verdict, compiled=is_compiled or language_of("", program.name).compiles)


def _rows(
    program: Program, taken: Resources, native: NativeCount | None, chip: Profile
) -> Iterator[Row]:
    if not program.state:
        yield _language(program, chip)
        yield from _options(program, chip)
        yield from _operations(program, chip)
        yield from _swizzles(program, chip)
    if TextureTarget.RECT in {target.kind for target in program.texture_units.values()}:
        sides = yes_or_no_sides(chip.formats.rectangle_textures, chip)
        yield make_row("rectangle textures", "used", sides)
    replaced = _COUNTED_NATIVELY if native and chip.kind is ProfileKind.API else ()
    for usage in taken.usages:
        if usage.count > 0 and usage.resource not in replaced:
            yield _environment(usage, chip) if program.state else _limit(usage, taken, chip)
    if native is not None:
        yield from _native_limits(native, taken, chip)


def _environment(usage: Usage, chip: Profile) -> Row:
    """A row on texture environments: the units that the chip has, or what units can do."""
    fact = getattr(chip.fixed_function, usage.resource.name.lower())
    number: int | str = usage.count
    if usage.resource is Resource.UNITS:
        sides = both_sides(
            number_side(usage.count, fact, at_least=chip.kind is ProfileKind.API), chip
        )
    else:
        number = ", ".join(use.what for use in usage.uses)
        sides = yes_or_no_sides(fact, chip)
    row = make_row(usage.resource.value, number, sides)
    if row.outcome is not Outcome.EXCEEDED:
        return row
    return with_fields(row, where=_place(usage, usage.first_beyond(fact.value)))


def _language(program: Program, chip: Profile) -> Row:
    """Whether the chip has fragment programs, or else an equivalent of this one."""
    fact, language = chip.programs.arb_fragment_program, chip.programs.language
    allowed = language.value if language else None
    advice = ""
    if fact is None:
        outcome = Outcome.UNKNOWN
    elif fact.value:
        outcome = Outcome.WITHIN
    elif chip.programs.operations is not None:
        outcome, advice = Outcome.WITHIN, f"no program: set it up as {allowed}"
    elif chip.kind is ProfileKind.API:
        outcome, advice = Outcome.UNKNOWN, f"rewrite it in {allowed}"
    else:
        outcome = Outcome.EXCEEDED
    sides = both_sides(make_side(outcome, allowed, fact), chip)
    return make_row("language", "ARB_fragment_program", sides, advice=advice)


def _options(program: Program, chip: Profile) -> Iterator[Row]:
    """Branches and condition codes, with the first that the chip lacks."""
    used, fact = [o for o in program.options if o in NV_OPTIONS], chip.programs.options
    if not used:
        return
    known = fact.value if fact else ()
    lacks = [option for option in used if option not in known]
    offender = next((i for i in program.instructions if lacks and i.needs_option(known)), None)
    outcome = Outcome.EXCEEDED if lacks else Outcome.WITHIN
    sides = both_sides(make_side(outcome, ", ".join(known) or "none", fact), chip)
    advice = "unroll loops, and choose by CMP instead of branches" if lacks else ""
    yield make_row("options", ", ".join(used), sides, where=_line(offender), advice=advice)


def _operations(program: Program, chip: Profile) -> Iterator[Row]:
    fact = chip.programs.operations
    if fact is None:
        return
    opcodes = ", ".join(sorted({i.mnemonic for i in program.instructions})) or "none"
    offender = next((i for i in program.instructions if i.mnemonic not in fact.value), None)
    sides = both_sides(make_side(_outcome(offender), ", ".join(fact.value), fact), chip)
    yield make_row("operations", opcodes, sides, where=_line(offender))


def _swizzles(program: Program, chip: Profile) -> Iterator[Row]:
    fact = chip.programs.swizzles
    if fact is None or fact.value:
        return
    offender = next((i for i in program.instructions if _is_swizzled(i)), None)
    sides = both_sides(make_side(_outcome(offender), "none", fact), chip)
    used = "some" if offender else "none"
    yield make_row("swizzles", used, sides, where=_line(offender))


def _outcome(offender: Instruction | None) -> Outcome:
    return Outcome.EXCEEDED if offender else Outcome.WITHIN


def _line(offender: Instruction | None) -> str:
    return f"line {offender.span.line}: {offender.mnemonic}" if offender else ""


def _is_swizzled(instruction: Instruction) -> bool:
    """Whether an arithmetic operand is neither the whole register nor one component replicated."""
    if OPCODES[instruction.mnemonic].cost is not CostClass.ARITHMETIC:
        return False
    return any(src.swizzle != IDENTITY and len({*src.swizzle}) > 1 for src in instruction.srcs)


# Resources with a single limit in GL, without a native one.
_ONE_LIMIT = {
    Resource.COORDINATE_SETS,
    Resource.IMAGE_UNITS,
    Resource.LOCAL_PARAMETERS,
    Resource.ENV_PARAMETERS,
    Resource.COLOR_OUTPUTS,
}


# Resources that a program uses more of, where swizzles are lacking, than its text says.
_COUNTED_NATIVELY = {Resource.ALU_INSTRUCTIONS, Resource.INSTRUCTIONS}


def _limit(usage: Usage, taken: Resources, chip: Profile) -> Row:
    ranges = usage.resource is Resource.INDIRECTIONS
    fewest = taken.renamed_indirections if ranges else usage.count
    sides = _sides(usage, fewest, chip)
    over = (Outcome.EXCEEDED, Outcome.UNKNOWN) if ranges else (Outcome.EXCEEDED,)
    exceeded = (one.allowed for one in sides if one and one.outcome in over)
    tightest = min((n for n in exceeded if isinstance(n, int | float)), default=None)
    where = "" if tightest is None else _place(usage, usage.first_beyond(tightest))
    advice = ""
    if tightest is not None and ranges:
        advice = _hoisting(taken, tightest)
    number = usage.count if fewest == usage.count else f"{fewest}–{usage.count}"
    return make_row(usage.resource.value, number, sides, where=where, advice=advice)


def _sides(usage: Usage, fewest: int, chip: Profile) -> Sides:
    """The count against the driver's limit, and what the chip itself may take fewer of."""
    name = usage.resource.name.lower()  # named like the fields of Limits
    has_programs = chip.programs.arb_fragment_program
    advertised: Fact[Number] | None = getattr(chip.advertised, name)
    native: Fact[Number] | None = getattr(chip.native, name)
    if usage.resource in _ONE_LIMIT:
        advertised = native = advertised or native
    is_api = chip.kind is ProfileKind.API and not (has_programs and has_programs.value)
    sides: Sides = (
        number_side(fewest if is_api else usage.count, advertised, most=usage.count),
        number_side(fewest, native, most=usage.count),
    )
    if has_programs is not None and has_programs.value and advertised is None:
        least = number_side(usage.count, getattr(_minima(), name), at_least=True)
        sides = least, least if usage.resource in _ONE_LIMIT else sides[1]
    elif chip.kind is ProfileKind.CHIP and has_programs is not None and not has_programs.value:
        sides = None, sides[1]
    if usage.resource in _COUNTED_NATIVELY and chip.programs.instruction_set is not None:
        sides = sides[0], None
    return (sides[0], None) if chip.kind is ProfileKind.API else sides


@cache
def _minima() -> Limits:
    """The minima of every implementation of ARB_fragment_program."""
    return find_profile("arbfp1.0-minimum").advertised


# What a chip executes, or an API asks for ---------------------------------------------------


@lru_cache(maxsize=8)
def _count(program: Program, set_name: str) -> NativeCount:
    """Its native instructions, the same wherever that instruction set is."""
    return count_native(program, instruction_set(set_name))


def _native_limits(native: NativeCount, taken: Resources, chip: Profile) -> Iterator[Row]:
    fog = taken.usage(Resource.ALU_INSTRUCTIONS).surcharge
    moves = sum(use.moves for use in native.uses)
    is_api = chip.kind is ProfileKind.API
    lacking = chip.title if is_api else "the chip"
    advice = f"{moves} of the most are moves, for swizzles that {lacking} lacks" if moves else ""
    limits = chip.advertised if is_api else chip.native
    for resource, fact, others in (
        (Resource.ALU_INSTRUCTIONS, limits.alu_instructions, fog),
        (Resource.INSTRUCTIONS, limits.instructions, fog + native.lookups),
    ):
        fewest, most = native.fewest + others, native.most + others
        side = number_side(fewest, fact, most=most)
        beyond = None
        if fact is not None and side.outcome is not Outcome.WITHIN:
            beyond = native.first_beyond(fact.value - others)
        yield make_row(
            f"{'slots of' if is_api else 'native'} {resource.value}",
            fewest if fewest == most else f"{fewest}–{most}",
            (side, None) if is_api else (None, side),
            where=_line(beyond.instruction if beyond else None),
            advice=advice,
        )
        advice = ""


def _expanded(program: Program, native: NativeCount | None) -> tuple[Expanded, ...]:
    """The instructions that take several native ones, each kind with all its lines."""
    kinds: dict[object, list[NativeUse]] = {}
    for use in native.uses if native is not None else ():
        if use.most > (OPCODES[use.instruction.mnemonic].cost is CostClass.ARITHMETIC):
            kinds.setdefault(_kind(use), []).append(use)
    return tuple(
        as_record(
            Expanded,
            uses[0],
            program=program.name,
            lines=tuple(use.instruction.span.line for use in uses),
            instruction=print_instruction(uses[0].instruction).removesuffix(";"),
            operands=tuple(_operands(uses[0])),
        )
        for uses in kinds.values()
    )


def _kind(use: NativeUse) -> object:
    """The common form of instructions that differ only in registers."""
    instruction = use.instruction
    target = instruction.texture.target if instruction.texture else None
    swizzles = tuple((src.swizzle, src.negate) for src in instruction.srcs)
    return instruction.mnemonic, target, swizzles, use.moved, use.fewest, use.most


def _operands(use: NativeUse) -> Iterator[str]:
    """The operands that are moved, with their pieces."""
    sources = operand_texts(use.instruction).sources
    for moved in use.moved:
        pieces = " + ".join("".join(COMPONENTS[c] for c in piece) for piece in moved.pieces)
        yield f"{sources[moved.number]}: {pieces}"


def _place(usage: Usage, use: Use | None) -> str:
    if use is None:
        return f"with {usage.surcharge} for fog"
    if usage.resource is Resource.INDIRECTIONS:
        return use.what
    line = f"line {use.span.line}: " if use.span is not None else ""
    return line + use.what


def _hoisting(taken: Resources, allowed: float) -> str:
    """Advice about too many indirections."""
    least, renamed = taken.least_indirections, taken.renamed_indirections
    if least >= len(taken.nodes):
        return "each depends on lookups of the node before; no order of instructions needs fewer"
    first = next(node for node in taken.nodes if node.avoidable)
    enough = "" if least <= allowed else f", still more than {allowed:g}"
    advice = f"{first.advice}, and so on; at least {least} would remain{enough}"
    if renamed == len(taken.nodes):
        return advice
    ours = f"{len(taken.nodes)} as the API counts, {renamed} if the driver renames temporaries"
    return f"{ours}{', and only then may it load' * (renamed <= allowed)}; {advice}"
