"""Would this plan have loaded on that chip? Checks its programs, and one row per other limit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from functools import lru_cache
from itertools import chain

from gpgpu_legacy.chips.check import check_program, feature_row
from gpgpu_legacy.chips.profile import Fact, Profile, ProfileKind
from gpgpu_legacy.chips.verdict import (
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
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.program import Program
from gpgpu_legacy.plan.numbers import numbers_text
from gpgpu_legacy.plan.plan import ComputePass, CopyPass, FragmentPass, Plan, numbered_passes
from gpgpu_legacy.plan.textures import Filter, Numeric, Texture
from gpgpu_legacy.serial import with_fields

MIB = 2**20


def check_plan(plan: Plan, chip: Profile) -> Verdict:
    """Compare the needs of a plan with a chip: programs, textures, blending, memory.

    A row names the passes that use its program, or the textures that exceed its limit.
    """
    uses = _uses(plan)
    checked = [(check_program(program, chip), passes) for program, passes in uses.programs.items()]
    of_programs = [verdict for verdict, _ in checked]
    rows = [_with_passes(row, passes) for own, passes in checked for row in own.limits]
    rows += [*_kernels(uses, chip), *_textures(uses, chip), *_memory(plan, chip)]
    return make_verdict(
        plan.name,
        chip,
        rows,
        nodes=max((own.nodes for own in of_programs), key=len, default=()),
        expanded=(*chain(*(own.expanded for own in of_programs)),),
        compiled=any(own.compiled for own in of_programs),
        pass_count=plan.pass_count,
    )


def _with_passes(row: Row, passes: Iterable[range]) -> Row:
    """The same row, with the passes that use its program, or that exceed its limit."""
    in_order = tuple(sorted(passes, key=lambda numbers: numbers.start))
    return with_fields(row, passes=_text(in_order), pass_count=sum(map(len, in_order)))


_text = lru_cache(maxsize=256)(numbers_text)  # one text for all limits and chips


_ByTexture = dict[Texture, list[range]]


@frozen
class _Uses:
    """The passes of a plan by what they use: programs, kernels and textures.

    dispatches: by the threads of a work group. read: textures that passes look up, or copy to.
    """

    programs: dict[Program, list[range]] = field(default_factory=dict)
    dispatches: dict[int, list[range]] = field(default_factory=dict)
    read: _ByTexture = field(default_factory=dict)
    drawn: _ByTexture = field(default_factory=dict)
    blended: _ByTexture = field(default_factory=dict)
    filtered: dict[Filter, _ByTexture] = field(default_factory=dict)


@lru_cache(maxsize=4)
def _uses(plan: Plan) -> _Uses:
    uses = _Uses()

    def note(by_texture: _ByTexture, names: Iterable[str], numbers: range) -> None:
        for name in dict.fromkeys(names):
            by_texture.setdefault(plan.texture(name), []).append(numbers)

    for numbers, pass_ in numbered_passes(plan):
        match pass_:
            case FragmentPass():
                uses.programs.setdefault(pass_.program, []).append(numbers)
                note(uses.read, (b.texture for b in pass_.bindings), numbers)
                for kind in (Filter.NEAREST, Filter.LINEAR):
                    names = [b.texture for b in pass_.bindings if kind in b.sampler.filters]
                    note(uses.filtered.setdefault(kind, {}), names, numbers)
                note(uses.drawn, pass_.targets, numbers)
                note(uses.blended, pass_.targets if pass_.blend else (), numbers)
            case CopyPass():
                note(uses.read, (pass_.target,), numbers)
            case ComputePass():
                uses.dispatches.setdefault(pass_.kernel.threads, []).append(numbers)
    return uses


def _kernels(uses: _Uses, chip: Profile) -> Iterator[Row]:
    if uses.dispatches:
        kernels = feature_row("compute kernels", chip.programs.kernels, chip)
        yield _with_passes(kernels, chain(*uses.dispatches.values()))
        threads = max(uses.dispatches)
        side = number_side(threads, chip.programs.work_group_threads)
        row = make_row(chip, "threads of a work group", threads, None, side)
        yield _with_passes(row, uses.dispatches[threads])


def _textures(uses: _Uses, chip: Profile) -> Iterator[Row]:
    formats = chip.formats
    if read := _floats(uses.read):
        kinds, names = ({t.kind.value for t in read}, {t.format.name for t in read})
        used = f"{', '.join(sorted(kinds))} of {', '.join(sorted(names))}"
        has = formats.float_texture_kinds
        over = _only(read, lambda t: has is not None and t.kind.value not in has.value)
        yield _row("float textures", used, feature_side(has, lacks=bool(over)), over, chip)
    by_filter = {kind: floats for kind, t in uses.filtered.items() if (floats := _floats(t))}
    if by_filter:
        yield _float_filters(by_filter, chip)
    for limit, used_, bits in (
        ("float framebuffer", uses.drawn, formats.float_target_bits),
        ("float blending", uses.blended, formats.float_blending_bits),
    ):
        if floats := _floats(used_):
            yield _bits(limit, floats, bits, chip)
    largest = formats.largest_target_texels or formats.largest_texture_texels
    yield from _size("texture size", uses.read, formats.largest_texture_texels, chip)
    yield from _size("framebuffer size", uses.drawn, largest, chip)


def _only(used: _ByTexture, exceeds: Callable[[Texture], bool]) -> _ByTexture:
    """The textures among them that exceed a limit."""
    return {texture: numbers for texture, numbers in used.items() if exceeds(texture)}


def _floats(used: _ByTexture) -> _ByTexture:
    return _only(used, lambda t: t.format.numeric is Numeric.FLOAT)


def _float_filters(by_filter: dict[Filter, _ByTexture], chip: Profile) -> Row:
    fact = chip.formats.float_filters
    filters, over = [kind.value for kind in by_filter], _ByTexture()
    if filters == [Filter.NEAREST.value]:  # all chips have it
        side = make_side(Outcome.WITHIN, ", ".join(fact.value if fact else filters), fact)
    else:  # a chip can lack only one of the two
        lacked = (t for kind, t in by_filter.items() if fact and kind.value not in fact.value)
        over = next(lacked, over)
        side = feature_side(fact, lacks=bool(over))
    return _row("float filters", ", ".join(sorted(filters)), side, over, chip)


def _bits(limit: str, used: _ByTexture, fact: Fact[int] | None, chip: Profile) -> Row:
    """The widest channel of the textures, in bits, against the widest that the chip takes."""
    bits = f"{max(t.format.bits_per_channel for t in used)} bits"
    over = _only(used, lambda t: fact is not None and t.format.bits_per_channel > fact.value)
    return _row(limit, bits, feature_side(fact, lacks=bool(over), unit=" bits"), over, chip)


def _size(limit: str, used: _ByTexture, fact: Fact[int] | None, chip: Profile) -> Iterator[Row]:
    def side(texture: Texture) -> int:
        return max(texture.extent.width, texture.extent.height)

    if used:
        largest = max(map(side, used))
        over = _only(used, lambda t: fact is not None and side(t) > fact.value)
        advice = (
            f"use textures of at most {fact.value}×{fact.value} texels" if over and fact else ""
        )
        yield _row(limit, largest, number_side(largest, fact), over, chip, advice=advice)


def _row(
    limit: str, number: int | str, side: Side, over: _ByTexture, chip: Profile, *, advice: str = ""
) -> Row:
    """A row about textures. over: the ones that exceed the limit."""
    names = [texture.name for texture in over]
    where = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    row = make_row(chip, limit, number, side, where=where, advice=advice)
    return _with_passes(row, {numbers for used in over.values() for numbers in used})


def _memory(plan: Plan, chip: Profile) -> Iterator[Row]:
    """The memory of the board or, if the chip uses the host's, the share reserved for it."""
    if plan.textures and chip.kind is not ProfileKind.API:
        mib = -(-plan.texture_bytes // MIB)
        side = number_side(mib, chip.hardware.memory_mib)
        yield make_row(chip, "memory, MiB", mib, side)
