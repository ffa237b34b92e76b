"""Would this program have loaded on that chip? One row per limit.

Where a driver has ARB_fragment_program, it offers at least the specification's minima, so a program
that stays within them loads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from gpgpu_legacy.chips.native import NativeCount, NativeUse, count_native, instruction_set
from gpgpu_legacy.chips.profile import Fact, Number, Profile, ProfileKind, find_profile
from gpgpu_legacy.chips.verdict import (
    ChainNode,
    Expanded,
    Outcome,
    Row,
    Side,
    Verdict,
    feature_side,
    make_row,
    make_side,
    make_verdict,
    number_side,
)
from gpgpu_legacy.count.resources import Resource, Resources, Usage, Use, is_arithmetic, resources
from gpgpu_legacy.isa.opcodes import NV_OPTIONS
from gpgpu_legacy.isa.program import COMPONENTS, IDENTITY, Instruction, Program, TextureTarget
from gpgpu_legacy.languages.arb.printer import operand_texts, print_instruction
from gpgpu_legacy.languages.registry import language_of
from gpgpu_legacy.serial import as_record, with_fields


def check_program(program: Program, chip: Profile) -> Verdict:
    """Compare the resources of a program with those of a chip."""
    taken = resources(program)
    known = chip.programs.instruction_set  # where swizzles are lacking
    native = None if known is None or program.state else _count(program, known.value)
    return make_verdict(
        program.name or "the program",
        chip,
        (with_fields(row, program=program.name) for row in _rows(program, taken, native, chip)),
        nodes=tuple(
            as_record(ChainNode, node, line=node.opener.span.line if node.opener else None)
            for node in taken.nodes
        ),
        expanded=_expanded(program, native),
        compiled=any(i.origin for i in program.instructions)
        or language_of("", program.name).compiles,
    )


def _rows(
    program: Program, taken: Resources, native: NativeCount | None, chip: Profile
) -> Iterator[Row]:
    if not program.state:
        yield _language(chip)
        yield from _instructions(program, chip)
    if TextureTarget.RECT in {target.kind for target in program.texture_units.values()}:
        yield feature_row("rectangle textures", chip.formats.rectangle_textures, chip)
    replaced = _COUNTED_NATIVELY if native and chip.kind is ProfileKind.API else ()
    for usage in taken.usages:
        if usage.count > 0 and usage.resource not in replaced:
            yield _environment(usage, chip) if program.state else _limit(usage, taken, chip)
    if native is not None:
        yield from _native_limits(native, taken, chip)


def feature_row(limit: str, fact: Fact[bool] | None, chip: Profile) -> Row:
    """A row on a feature that is used, and that the chip has or lacks."""
    return make_row(chip, limit, "used", feature_side(fact, lacks=not (fact and fact.value)))


def _environment(usage: Usage, chip: Profile) -> Row:
    """A row on texture environments: the units that the chip has, or what units can do."""
    fact = getattr(chip.fixed_function, usage.resource.name.lower())
    number: int | str = usage.count
    if usage.resource is Resource.UNITS:
        side = number_side(usage.count, fact, at_least=chip.kind is ProfileKind.API)
    else:
        number = ", ".join(use.what for use in usage.uses)
        side = feature_side(fact, lacks=not (fact and fact.value))
    over = side.outcome is Outcome.EXCEEDED
    where = _place(usage, usage.first_beyond(fact.value)) if over else ""
    return make_row(chip, usage.resource.value, number, side, where=where)


def _language(chip: Profile) -> Row:
    """Whether the chip has fragment programs, or else an equivalent of this one."""
    fact, language = chip.programs.arb_fragment_program, chip.programs.language
    allowed = language.value if language else None
    outcome, advice = Outcome.UNKNOWN, ""
    if fact is None:
        pass
    elif fact.value:
        outcome = Outcome.WITHIN
    elif chip.programs.operations is not None:
        outcome, advice = Outcome.WITHIN, f"no program: set it up as {allowed}"
    elif chip.kind is ProfileKind.API:
        advice = f"rewrite it in {allowed}"
    else:
        outcome = Outcome.EXCEEDED
    side = make_side(outcome, allowed, fact)
    return make_row(chip, "language", "ARB_fragment_program", side, advice=advice)


def _instructions(program: Program, chip: Profile) -> Iterator[Row]:
    """Options, operations and swizzles, each with the first instruction that the chip lacks."""
    has = chip.programs

    def first(lacking: Callable[[Instruction], bool]) -> Instruction | None:
        return next(filter(lacking, program.instructions), None)

    if used := [option for option in program.options if option in NV_OPTIONS]:
        known = has.options.value if has.options else ()
        lacks = not {*used} <= {*known}
        outcome = Outcome.EXCEEDED if lacks else Outcome.WITHIN
        side = make_side(outcome, ", ".join(known) or "none", has.options)
        where = _line(first(lambda i: lacks and i.needs_option(known)))
        advice = "unroll loops, and choose by CMP instead of branches" if lacks else ""
        yield make_row(chip, "options", ", ".join(used), side, where=where, advice=advice)
    if (operations := has.operations) is not None:
        opcodes = sorted({i.mnemonic for i in program.instructions})
        offender = first(lambda i: i.mnemonic not in operations.value)
        side = feature_side(operations, lacks=offender is not None)
        where, used_ = _line(offender), ", ".join(opcodes) or "none"
        yield make_row(chip, "operations", used_, side, where=where)
    if has.swizzles is not None and not has.swizzles.value:
        offender = first(_is_swizzled)
        side = feature_side(has.swizzles, lacks=offender is not None)
        number = "some" if offender else "none"
        yield make_row(chip, "swizzles", number, side, where=_line(offender))


def _line(offender: Instruction | None) -> str:
    return f"line {offender.span.line}: {offender.mnemonic}" if offender else ""


def _is_swizzled(instruction: Instruction) -> bool:
    """Whether an arithmetic operand is neither the whole register nor one component replicated."""
    return is_arithmetic(instruction) and any(
        src.swizzle != IDENTITY and len({*src.swizzle}) > 1 for src in instruction.srcs
    )


# Resources with a single limit in GL, without a native one.
_ONE_LIMIT = {
    Resource.COORDINATE_SETS,
    Resource.IMAGE_UNITS,
    Resource.LOCAL_PARAMETERS,
    Resource.ENV_PARAMETERS,
    Resource.COLOR_OUTPUTS,
}

# Resources of which a program uses more than its text says where swizzles are lacking.
_COUNTED_NATIVELY = {Resource.ALU_INSTRUCTIONS, Resource.INSTRUCTIONS}


def _limit(usage: Usage, taken: Resources, chip: Profile) -> Row:
    ranges = usage.resource is Resource.INDIRECTIONS
    fewest = taken.renamed_indirections if ranges else usage.count
    sides = _sides(usage, fewest, chip)
    over = (Outcome.EXCEEDED, Outcome.UNKNOWN) if ranges else (Outcome.EXCEEDED,)
    exceeded = (one.allowed for one in sides if one and one.outcome in over)
    tightest = min((n for n in exceeded if isinstance(n, int | float)), default=None)
    where = "" if tightest is None else _place(usage, usage.first_beyond(tightest))
    advice = "" if tightest is None or not ranges else _hoisting(taken, tightest)
    number = _range_text(fewest, usage.count)
    return make_row(chip, usage.resource.value, number, *sides, where=where, advice=advice)


def _range_text(fewest: int, most: int) -> int | str:
    return most if fewest == most else f"{fewest}–{most}"


def _sides(usage: Usage, fewest: int, chip: Profile) -> tuple[Side | None, Side | None]:
    """The count against the driver's limit, and the fewest against the chip's own."""
    name = usage.resource.name.lower()  # named like the fields of Limits
    fact = chip.programs.arb_fragment_program
    has_programs = None if fact is None else fact.value
    advertised: Fact[Number] | None = getattr(chip.advertised, name)
    native: Fact[Number] | None = getattr(chip.native, name)
    if usage.resource in _ONE_LIMIT:
        advertised = native = advertised or native
    is_api = chip.kind is ProfileKind.API
    counted = fewest if is_api and not has_programs else usage.count
    first: Side | None = number_side(counted, advertised, most=usage.count)
    second = None if is_api else number_side(fewest, native, most=usage.count)
    if has_programs and advertised is None:
        minima = find_profile("arbfp1.0-minimum").advertised  # of every implementation
        first = number_side(usage.count, getattr(minima, name), at_least=True)
        if usage.resource in _ONE_LIMIT and not is_api:
            second = first
    elif has_programs is False and not is_api:
        first = None
    if usage.resource in _COUNTED_NATIVELY and chip.programs.instruction_set is not None:
        second = None
    return first, second


# What a chip executes, or an API asks for ---------------------------------------------------


@lru_cache(maxsize=8)
def _count(program: Program, set_name: str) -> NativeCount:
    """A program's native instructions in the instruction set of that name."""
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
            chip,
            f"{'slots of' if is_api else 'native'} {resource.value}",
            _range_text(fewest, most),
            *((side, None) if is_api else (None, side)),
            where=_line(beyond.instruction if beyond else None),
            advice=advice,
        )
        advice = ""


def _expanded(program: Program, native: NativeCount | None) -> tuple[Expanded, ...]:
    """The instructions that take several native ones, each kind with all its lines."""
    kinds: dict[object, list[NativeUse]] = {}
    for use in native.uses if native is not None else ():
        if use.most > is_arithmetic(use.instruction):
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
    if usage.resource is Resource.INDIRECTIONS or use.span is None:
        return use.what
    return f"line {use.span.line}: {use.what}"


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
