"""Would this plan have loaded on that chip? Checks its programs, and one row per other limit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from functools import lru_cache
from itertools import chain
from math import prod
from typing import Any

from gpgpu_legacy.chips.check import check_counted
from gpgpu_legacy.chips.profile import Fact, Profile, ProfileKind
from gpgpu_legacy.chips.verdict import (
    UNKNOWN_SIDE,
    ChainNode,
    Expanded,
    Outcome,
    Row,
    Side,
    Verdict,
    both_sides,
    make_row,
    make_side,
    make_verdict,
    number_side,
    yes_or_no_sides,
)
from gpgpu_legacy.count.resources import Resources, resources
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.program import Program
from gpgpu_legacy.plan.numbers import numbers_text
from gpgpu_legacy.plan.plan import ComputePass, CopyPass, FragmentPass, Plan, numbered_passes
from gpgpu_legacy.plan.textures import Filter, Numeric, Texture
from gpgpu_legacy.serial import with_fields

MIB = 2**20

TEXTURE_SIZE, TARGET_SIZE = "texture size", "framebuffer size"
"""The limits of width and height: of textures that are read, and of textures drawn to."""


def check_plan(plan: Plan, chip: Profile) -> Verdict:
    """Compare the needs of a plan with a chip: programs, textures, blending, memory.

    A row names the passes that use its program, or the textures that exceed its limit.
    """
    return check_on_each(plan, (chip,))[0]


def check_on_each(plan: Plan, chips: Iterable[Profile]) -> tuple[Verdict, ...]:
    """The verdicts on a plan on several chips; its programs' resources are counted once."""
    uses = _uses(plan)
    programs = [(program, resources(program), passes) for program, passes in uses.programs.items()]
    return tuple(_verdict(plan, uses, programs, chip) for chip in chips)


_Programs = list[tuple[Program, Resources, list[range]]]
"""The programs of a plan, their resources, and their passes."""


def _verdict(plan: Plan, uses: _Uses, programs: _Programs, chip: Profile) -> Verdict:
    rows: list[Row] = []
    nodes: tuple[ChainNode, ...] = ()
    expanded: tuple[Expanded, ...] = ()
    compiled = False
    for program, taken, passes in programs:
        of_program = check_counted(program, taken, chip)
        rows += (_with_passes(row, passes) for row in of_program.limits)
        nodes = max(nodes, of_program.nodes, key=len)
        expanded += of_program.expanded
        compiled |= of_program.compiled
    rows += _kernels(uses.dispatches, chip)
    rows += _textures(plan, uses, chip)
    rows += _memory(plan, chip)
    verdict = make_verdict(plan.name, chip, rows, nodes, expanded, pass_count=plan.pass_count)
    return with_fields(verdict, compiled=compiled)


def _kernels(dispatches: dict[int, list[range]], chip: Profile) -> Iterator[Row]:
    if dispatches:
        kernels = yes_or_no_sides(chip.programs.kernels, chip)
        threads = max(dispatches)
        side = number_side(threads, chip.programs.work_group_threads)
        every = sorted(chain(*dispatches.values()), key=lambda numbers: numbers.start)
        yield _with_passes(make_row("compute kernels", "used", kernels), every)
        yield _with_passes(
            make_row("threads of a work group", threads, (None, side)), dispatches[threads]
        )


def _with_passes(row: Row, passes: Sequence[range]) -> Row:
    """The same row, with the passes that use its program, or that exceed its limit."""
    count = sum(map(len, passes))
    return with_fields(row, passes=_text(tuple(passes)), pass_count=count)


_text = lru_cache(maxsize=256)(numbers_text)  # one text for all limits and chips


_ByTexture = dict[str, list[range]]


@frozen
class _Uses:
    """The passes of a plan by what they use: programs, kernels, and textures by their names.

    dispatches: by the threads of a work group. read: textures that passes look up, or copy to.
    """

    programs: dict[Program, list[range]] = field(default_factory=dict)
    dispatches: dict[int, list[range]] = field(default_factory=dict)
    read: _ByTexture = field(default_factory=dict)
    drawn: _ByTexture = field(default_factory=dict)
    blended: _ByTexture = field(default_factory=dict)
    filtered: dict[Filter, _ByTexture] = field(default_factory=dict)


def _uses(plan: Plan) -> _Uses:
    uses = _Uses()

    def note(by_texture: _ByTexture, names: Iterable[str], numbers: range) -> None:
        for name in dict.fromkeys(names):
            by_texture.setdefault(name, []).append(numbers)

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
                threads = prod(pass_.kernel.local_size)
                uses.dispatches.setdefault(threads, []).append(numbers)
    return uses


@frozen
class _Textures:
    """Textures that are used in one way, with the passes that do so."""

    textures: tuple[Texture, ...]
    passes: _ByTexture

    @classmethod
    def of(cls, plan: Plan, used: _ByTexture) -> _Textures:
        """The plan's textures that are used in this way."""
        return cls(tuple(map(plan.texture, used)), used)

    def __bool__(self) -> bool:
        return bool(self.textures)

    def only(self, exceeds: Callable[[Texture], bool]) -> _Textures:
        """The textures among them that exceed a limit."""
        return _Textures(tuple(filter(exceeds, self.textures)), self.passes)

    @property
    def floats(self) -> _Textures:
        """The textures among them that hold floats."""
        return self.only(lambda t: t.format.numeric is Numeric.FLOAT)

    @property
    def names(self) -> str:
        """Up to four of their names in words, and the number of others."""
        names = list(dict.fromkeys(t.name for t in self.textures))
        return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")

    @property
    def outcome(self) -> Outcome:
        """The advice if these exceed a limit."""
        return Outcome.EXCEEDED if self.textures else Outcome.WITHIN

    @property
    def numbers(self) -> list[range]:
        """The passes that use them, in order."""
        used = {n for t in self.textures for n in self.passes[t.name]}
        return sorted(used, key=lambda numbers: numbers.start)


def _textures(plan: Plan, uses: _Uses, chip: Profile) -> Iterator[Row]:
    formats = chip.formats
    read, drawn, blended = (
        _Textures.of(plan, used) for used in (uses.read, uses.drawn, uses.blended)
    )
    floats = {kind: _Textures.of(plan, used).floats for kind, used in uses.filtered.items()}
    yield from _float_textures(read.floats, chip)
    yield from _float_filters({k: t for k, t in floats.items() if t}, chip)
    yield from _bits("float framebuffer", drawn.floats, formats.float_target_bits, chip)
    yield from _bits("float blending", blended.floats, formats.float_blending_bits, chip)
    yield from _size(TEXTURE_SIZE, read, formats.largest_texture_texels, chip)
    largest = formats.largest_target_texels or formats.largest_texture_texels
    yield from _size(TARGET_SIZE, drawn, largest, chip)


def _float_textures(read: _Textures, chip: Profile) -> Iterator[Row]:
    if not read:
        return
    fact = chip.formats.float_texture_kinds
    used = sorted({t.kind.value for t in read.textures})
    kinds = f"{', '.join(used)} of {', '.join(sorted({t.format.name for t in read.textures}))}"
    over = read.only(lambda t: fact is not None and t.kind.value not in fact.value)
    words = ", ".join(fact.value) if fact else ""
    yield _row("float textures", kinds, _side(over, words, fact), over, chip)


def _side(over: _Textures, words: str, fact: Fact[Any] | None) -> Side:
    """What a chip has, in words, as a limit that these textures exceed."""
    return make_side(over.outcome, words or "none", fact) if fact else UNKNOWN_SIDE


def _float_filters(by_filter: dict[Filter, _Textures], chip: Profile) -> Iterator[Row]:
    if not by_filter:
        return
    fact = chip.formats.float_filters
    filters = ", ".join(sorted(kind.value for kind in by_filter))
    over = _Textures((), {})
    if list(by_filter) == [Filter.NEAREST]:
        side = make_side(Outcome.WITHIN, ", ".join(fact.value) if fact else filters, fact)
    else:
        # A chip can lack only one filter: there are two, and all chips have nearest.
        has = fact.value if fact else tuple(kind.value for kind in by_filter)
        others = (textures for kind, textures in by_filter.items() if kind.value not in has)
        over = next(others, over)
        side = _side(over, ", ".join(has), fact)
    yield _row("float filters", filters, side, over, chip)


def _bits(limit: str, used: _Textures, fact: Fact[int] | None, chip: Profile) -> Iterator[Row]:
    """The widest channel of the textures, in bits, against the widest that the chip takes."""
    if not used:
        return
    bits = f"{max(t.format.bits_per_channel for t in used.textures)} bits"
    over = used.only(lambda t: fact is not None and t.format.bits_per_channel > fact.value)
    words = f"{fact.value} bits" if fact and fact.value else ""
    yield _row(limit, bits, _side(over, words, fact), over, chip)


def _size(limit: str, used: _Textures, fact: Fact[int] | None, chip: Profile) -> Iterator[Row]:
    if not used:
        return
    largest = max(map(_side_of, used.textures))
    over = used.only(lambda t: fact is not None and _side_of(t) > fact.value)
    advice = f"use textures of at most {fact.value}×{fact.value} texels" if over and fact else ""
    yield _row(limit, largest, number_side(largest, fact), over, chip, advice=advice)


def _side_of(texture: Texture) -> int:
    return max(texture.extent.width, texture.extent.height)


def _row(
    limit: str, number: int | str, side: Side, over: _Textures, chip: Profile, *, advice: str = ""
) -> Row:
    """A row about textures. over: the ones that exceed the limit."""
    row = make_row(limit, number, both_sides(side, chip), where=over.names, advice=advice)
    return _with_passes(row, over.numbers)


def _memory(plan: Plan, chip: Profile) -> Iterator[Row]:
    """The memory of the board or, if the chip uses the host's, the share reserved for it."""
    if not plan.textures or chip.kind is ProfileKind.API:
        return
    mib = -(-plan.texture_bytes // MIB)
    allowed = number_side(mib, chip.hardware.memory_mib)
    yield make_row("memory, MiB", mib, (allowed, allowed))
