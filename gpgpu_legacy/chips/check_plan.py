"""Would this plan have loaded on that chip? Its programs, and one row per limit besides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gpgpu_legacy.arguments import as_instance
from gpgpu_legacy.chips.check import check_program
from gpgpu_legacy.chips.profile import Fact, Kind, Profile
from gpgpu_legacy.chips.verdict import (
    ChainNode,
    Outcome,
    Row,
    Verdict,
    both_sides,
    make_row,
    make_side,
    make_verdict,
    number_side,
    unknown_side,
    yes_or_no_sides,
)
from gpgpu_legacy.plan.formats import Numeric
from gpgpu_legacy.plan.plan import Blend, CopyPass, FragmentPass, Plan, written_by
from gpgpu_legacy.plan.textures import Filter, Texture

MIB = 2**20


def check_plan(plan: Plan, chip: Profile) -> Verdict:
    """Compare all that a plan uses with what a chip has: programs, textures, blending, memory.

    Raises InputError for an argument of another type.
    """
    as_instance("plan", plan, Plan)
    as_instance("chip", chip, Profile, "the Profile of a chip, as find_profile returns it")
    rows: list[Row] = []
    nodes: tuple[ChainNode, ...] = ()
    for program in plan.programs():
        of_program = check_program(program, chip)
        rows += of_program.limits
        nodes = max(nodes, of_program.nodes, key=len)
    rows += _kernels(plan, chip)
    rows += _textures(plan, chip)
    rows += _memory(plan, chip)
    return make_verdict(plan.name, chip, rows, nodes)


def _kernels(plan: Plan, chip: Profile) -> Iterator[Row]:
    if plan.dispatches:
        yield make_row("compute kernels", "used", yes_or_no_sides(chip.programs.kernels, chip))
        yield make_row("work groups", "used", (None, unknown_side()))


@dataclass(frozen=True, slots=True)
class _Roles:
    """The textures of a plan by what is done with them. read: looked up, or copied to."""

    read: tuple[Texture, ...]
    drawn: tuple[Texture, ...]
    blended: tuple[Texture, ...]
    filtered: tuple[tuple[Texture, Filter], ...]


def _roles(plan: Plan) -> _Roles:
    read, drawn, blended = list[str](), list[str](), list[str]()
    filtered: list[tuple[str, Filter]] = []
    for _, pass_ in plan.weighted_passes():
        match pass_:
            case FragmentPass():
                read += [b.texture for b in pass_.bindings]
                filtered += [(b.texture, b.sampler.filter) for b in pass_.bindings]
                drawn += pass_.targets
                blended += pass_.targets if pass_.blend is not Blend.NONE else ()
            case CopyPass():
                read += written_by(pass_)
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
    yield from _bits("float blending", blended, formats.float_blending_bits, chip)
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
    kinds = f"{', '.join(used)} of {', '.join(sorted({t.format.name for t in textures}))}"
    if fact is None:
        yield make_row("float textures", kinds, both_sides(unknown_side(), chip))
        return
    others = [t for t in textures if t.kind.value not in fact.value]
    allowed = make_side(_outcome(others), ", ".join(fact.value) or "none", fact)
    yield make_row("float textures", kinds, both_sides(allowed, chip), where=_names(others))


def _float_filters(textures: list[tuple[Texture, Filter]], chip: Profile) -> Iterator[Row]:
    if not textures:
        return
    fact = chip.formats.float_filters
    filters = ", ".join(sorted({kind.value for _, kind in textures}))
    others: list[Texture] = []
    if filters == Filter.NEAREST.value:
        allowed = make_side(Outcome.WITHIN, ", ".join(fact.value) if fact else filters, fact)
    elif fact is None:
        allowed = unknown_side()
    else:
        others = [t for t, kind in textures if kind.value not in fact.value]
        allowed = make_side(_outcome(others), ", ".join(fact.value), fact)
    yield make_row("float filters", filters, both_sides(allowed, chip), where=_names(others))


def _bits(
    limit: str, textures: list[Texture], fact: Fact[int] | None, chip: Profile
) -> Iterator[Row]:
    """The widest channel of the textures, in bits, against the widest that the chip takes."""
    if not textures:
        return
    bits = f"{max(t.format.bits_per_channel for t in textures)} bits"
    if fact is None:
        yield make_row(limit, bits, both_sides(unknown_side(), chip))
        return
    over = [t for t in textures if t.format.bits_per_channel > fact.value]
    allowed = make_side(_outcome(over), f"{fact.value} bits" if fact.value else "none", fact)
    yield make_row(limit, bits, both_sides(allowed, chip), where=_names(over))


def _size(
    limit: str, textures: tuple[Texture, ...], fact: Fact[int] | None, chip: Profile
) -> Iterator[Row]:
    if not textures:
        return
    largest = max(max(t.extent.width, t.extent.height) for t in textures)
    over = [t for t in textures if fact and max(t.extent.width, t.extent.height) > fact.value]
    advice = f"cut the matrices with --largest-texture {fact.value}" if over and fact else ""
    sides = both_sides(number_side(largest, fact), chip)
    yield make_row(limit, largest, sides, where=_names(over), advice=advice)


def _outcome(offenders: list[Texture]) -> Outcome:
    return Outcome.EXCEEDED if offenders else Outcome.WITHIN


def plan_bytes(plan: Plan) -> int:
    """Bytes of all textures, including framebuffers."""
    return sum(t.extent.width * t.extent.rows * t.format.texel_bytes for t in plan.textures)


def _memory(plan: Plan, chip: Profile) -> Iterator[Row]:
    """The memory of the board or, where a chip uses the host's, the share reserved for it."""
    if not plan.textures or chip.kind is Kind.API:
        return
    mib = -(-plan_bytes(plan) // MIB)
    allowed = number_side(mib, chip.hardware.memory_mib)
    yield make_row("memory, MiB", mib, (allowed, allowed))
