"""The Content of fused passes, which decides their code, and the Arguments of a run.

Fused passes (analysis/fusion.py) are a part of a plan: they name textures and contain all numbers.
Their code depends on far less: on a Content, in which textures are numbers and lookups are relative
to bases. `native_content` makes it for native code, and `group_content` for work groups. The
emitters see only the Content, so nothing else can influence the code; passes with equal Contents
share code, however their rectangles, parameters and attributes differ.

Everything else is in the Arguments: the textures and their sizes, the positions of the rectangles,
the bases of lookups, and the passes, which give parameters, attributes and state (lower/values.py).

Loop rerolling recovers the loop from a program that was unrolled. ARB_fragment_program has no
loops, so programs of the time were unrolled by hand or by a script. Their live instructions
(liveness.py) are periodic: the same instructions on the same registers, with lookups that move by
the same number of texels in each trip. Code for the loop is small however long the program is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import lru_cache
from itertools import chain
from typing import Any

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.program import Attribute, Instruction, Program
from gpgpu_legacy.isa.types import Components
from gpgpu_legacy.lower.analysis.fusion import FusedPasses, Lookups, Stretch
from gpgpu_legacy.lower.analysis.liveness import (
    Live,
    by_instruction,
    coordinate_components,
    live_components,
)
from gpgpu_legacy.lower.lookups import (
    AffineLookup,
    DependentLookup,
    Lookup,
)
from gpgpu_legacy.lower.values import bent_attributes
from gpgpu_legacy.plan.framebuffer import Writes
from gpgpu_legacy.plan.plan import CopyPass, FragmentPass, Plan, written_by
from gpgpu_legacy.plan.textures import RGBA32F, Extent, Format, Texture, TextureKind

LEAST_ROWS_TO_STAGE = 16
"""With this many rows, native code stages the texels that rows of fragments share."""

MOST_TOGETHER = 64
"""The most iterations that a work group runs together."""

ROOM = 64
"""The most texels that native code reads and writes past the end of a row: no tile is wider. So a
plane's rows are longer than the texture's by this, and rounded up to a multiple of this.
"""


class UnsupportedError(Exception):
    """Passes for which no code of fused passes is made; they run in another way."""


@frozen
class Surface:
    """A texture, for the code; its number is its position in Content.surfaces.

    owned: it has a rectangle in which fragments read or write their own texels.
    written: some of these passes write it.
    extent: its size, if that is a constant of the code: for dependent lookups, and in native code
    only for those that choose levels of detail or compare.
    Only for native code: followed: texels to the right of the rectangle must be kept; False if
    iterations run one at a time, since that code always keeps them. interleaved: its channels lie
    side by side. reachable: 32-bit texel numbers reach all of it.
    """

    kind: TextureKind
    format: Format
    owned: bool
    written: bool
    extent: Extent | None = None
    followed: bool = False
    interleaved: bool = False
    reachable: bool = True


@frozen
class DrawnProgram:
    """A fragment pass: its program and the facts about each of its lookups, in program order.

    targets: the surfaces of its colours. writes: how its colours get there. bent: the attributes
    that it reads whose corner values do not lie in a plane.
    """

    program: Program
    lookups: tuple[Lookup[int], ...]
    targets: tuple[int, ...]
    writes: Writes
    bent: tuple[Attribute, ...]

    @property
    def discards(self) -> bool:
        """Whether a fragment may write nothing."""
        return self.program.kills or self.writes.alpha_test is not None


@frozen
class Move:
    """A copy: each fragment's own texel, from one surface to another."""

    source: int
    target: int


@frozen
class Content:
    """Everything that decides the code of fused passes.

    surfaces: the owned ones first. bases: the number of bases. tall: whether there are enough rows
    for native code to stage shared texels. once: whether native code runs one iteration at a time.
    together: for work groups, the number of iterations that run together, a power of 2; 1 if they
    run one at a time.
    """

    body: tuple[DrawnProgram | Move, ...]
    surfaces: tuple[Surface, ...]
    bases: int
    tall: bool = False
    once: bool = False
    together: int = 1

    @property
    def draws(self) -> tuple[DrawnProgram, ...]:
        """The fragment passes among its members, in the order of Arguments.passes."""
        return tuple(member for member in self.body if isinstance(member, DrawnProgram))

    @property
    def owned(self) -> tuple[int, ...]:
        """The surfaces in which fragments have texels of their own."""
        return tuple(n for n, surface in enumerate(self.surfaces) if surface.owned)


def refuse_unsupported(content: Content, *, branches: bool = True) -> None:
    """Raise UnsupportedError for passes that the code of fused passes cannot express.

    branches: whether to refuse programs with branches. Those that read their quads are always
    refused.
    """
    for draw in content.draws:
        in_quads = draw.program.derives or any(map(lookup_has_lod, draw.lookups))
        if draw.program.branches and (branches or in_quads):
            raise UnsupportedError("branches")
        if draw.program.fog is not None:
            raise UnsupportedError("fog")
        if draw.bent:
            raise UnsupportedError("two triangles")


@frozen
class Arguments:
    """The arguments of a run for the code of a Content.

    textures, extents: the names and sizes of the surfaces. origins: for each surface, the lower
    left (x, y) of its rectangle, in texels; (0, 0) if it is not owned. bases: the texels (s, t)
    that affine lookups are relative to. width, height: of the rectangles. count: iterations in all.
    passes: those of the Content's draws, as their plan writes them.
    """

    textures: tuple[str, ...]
    extents: tuple[Extent, ...]
    origins: tuple[tuple[int, int], ...]
    bases: tuple[tuple[int, int], ...]
    width: int
    height: int
    count: int
    passes: tuple[FragmentPass, ...]


def native_content(
    fused: FusedPasses, textures: Mapping[str, Texture], interleaved: Collection[str] = ()
) -> tuple[Content, Arguments]:
    """The Content and the Arguments of fused passes for native code.

    textures: the plan's, by name. interleaved: the ones whose channels lie side by side.
    """
    once = fused.alternates or fused.count == 1
    content, arguments = content_of(fused, textures)

    bound = (binding for pass_ in arguments.passes for binding in pass_.bindings)
    detailed = {b.texture for b in bound if not b.sampler.sole_filter}

    def surface(known: Surface, name: str, extent: Extent) -> Surface:
        return replace(
            known,
            extent=extent if name in detailed else None,
            followed=not once
            and name in fused.origins
            and fused.origins[name][0] + fused.width < extent.width,
            interleaved=name in interleaved,
            reachable=extent.rows * (extent.width + 2 * ROOM) < 1 << 31,
        )

    surfaces = tuple(map(surface, content.surfaces, arguments.textures, arguments.extents))
    tall = fused.height >= LEAST_ROWS_TO_STAGE
    return replace(content, surfaces=surfaces, tall=tall, once=once), arguments


def loosened(content: Content, arguments: Arguments) -> tuple[Content, Arguments]:
    """The Content and the Arguments with a base of its own for each affine lookup.

    So passes whose lookups differ only in their offsets share code.
    """
    bases = list[tuple[int, int]]()

    def loose(lookup: Lookup[int]) -> Lookup[int]:
        if not isinstance(lookup, AffineLookup):
            return lookup
        s, t = arguments.bases[lookup.base]
        bases.append((s + lookup.s.constant, t + lookup.t.constant))
        column, row = replace(lookup.s, constant=0), replace(lookup.t, constant=0)
        return replace(lookup, s=column, t=row, inside=False, base=len(bases) - 1)

    body = tuple(
        member if isinstance(member, Move)
        else replace(member, lookups=tuple(map(loose, member.lookups)))
        for member in content.body
    )  # fmt: skip
    given = replace(arguments, bases=tuple(bases))
    return replace(content, body=body, bases=len(bases)), given


def gathered_textures(fused_steps: Iterable[FusedPasses], plan: Plan) -> frozenset[str]:
    """The rgba32f textures that lookups gather texel by texel, and that no pass writes.

    If its channels lie side by side, such a texel takes one load and at most one cache miss; from
    planes it takes four. Affine lookups need planes, since they read rows.
    """
    others = {name for pass_ in plan.as_written for name in written_by(pass_)}
    gathered, others = set[str](), others.union(copy.source for copy in plan.only(CopyPass))
    for fused in fused_steps:
        for lookup in chain.from_iterable(fused.lookups):
            (gathered if isinstance(lookup, DependentLookup) else others).add(lookup.texture)
    return frozenset(n for n in gathered - others if plan.texture(n).format is RGBA32F)


def group_content(fused: FusedPasses, textures: Mapping[str, Texture]) -> tuple[Content, Arguments]:
    """The Content and the Arguments for work groups. textures: the plan's, by name."""
    content, arguments = content_of(fused, textures, aligns=True)
    together = 1 if fused.alternates else min(fused.count, MOST_TOGETHER)
    together = 1 << (together.bit_length() - 1)
    return replace(content, together=together), arguments


def content_of(
    passes: Stretch, textures: Mapping[str, Texture], *, aligns: bool = False
) -> tuple[Content, Arguments]:
    """The Content and the Arguments of passes, for any target.

    Surfaces that dependent lookups read have extents. textures: the plan's, by name. aligns:
    whether to find the aligned lookups.
    """
    origins = passes.origins
    numbers = {name: number for number, name in enumerate(origins)}
    bases: dict[object, tuple[int, int]] = {}

    def number(name: str) -> int:
        return numbers.setdefault(name, len(numbers))

    def numbered(lookup: Any) -> Lookup[int]:
        """A Lookup[str] with its texture's number; an affine one relative to its base."""
        surface = number(lookup.texture)
        if not isinstance(lookup, AffineLookup):
            return replace(lookup, texture=surface)  # type: ignore[no-any-return]
        s, t, texture = lookup.s, lookup.t, textures[lookup.texture]
        slopes = (lookup.texture, s.slopes, t.slopes)
        column, row = bases.setdefault(slopes, (s.constant, t.constant))
        # Four neighbouring texels are then one vector of a storage buffer.
        aligned = aligns and texture.format.channels == 1
        aligned = aligned and not (texture.extent.width % 4 or column % 4)
        return AffineLookup(
            surface,
            replace(s, constant=s.constant - column),
            replace(t, constant=t.constant - row),
            lookup.inside,
            lookup.repeats,
            list(bases).index(slopes),
            aligned,
        )

    def member(pass_: FragmentPass | CopyPass, lookups: Lookups) -> DrawnProgram | Move:
        if isinstance(pass_, CopyPass):
            return Move(number(pass_.source), number(pass_.target))
        return DrawnProgram(
            pass_.program,
            tuple(map(numbered, lookups)),
            tuple(map(number, pass_.targets)),
            pass_.writes,
            bent_attributes(pass_, pass_.program.attributes_read, passes.count),
        )

    body = tuple(map(member, passes.passes, passes.lookups))
    written = {name for pass_ in passes.passes for name in written_by(pass_)}
    looks = chain.from_iterable(passes.lookups)
    dependent = {look.texture for look in looks if isinstance(look, DependentLookup)}

    def surface(name: str) -> Surface:
        texture = textures[name]
        extent = texture.extent if name in dependent else None
        return Surface(texture.kind, texture.format, name in origins, name in written, extent)

    arguments = Arguments(
        tuple(numbers),
        tuple(textures[name].extent for name in numbers),
        tuple(origins.get(name, (0, 0)) for name in numbers),
        tuple(bases.values()),
        passes.width,
        passes.height,
        passes.count,
        tuple(pass_ for pass_, _ in passes.draws),
    )
    return Content(body, tuple(map(surface, numbers)), len(bases)), arguments


# Loop rerolling ----------------------------------------------------------------------------------

LONGEST_PERIOD = 64
LEAST_TRIPS = 4


def lookup_has_lod(lookup: Lookup[int] | None) -> bool:
    """Whether a lookup needs a level of detail."""
    return isinstance(lookup, DependentLookup) and lookup.sampler.has_lod


Advance = tuple[int, int]
"""The movement of a lookup from one trip to the next, in texels: right, and up."""


@frozen
class LiveInstruction:
    """A live instruction: its needed components, and the facts about its lookup if it is one.

    corners: the components that are needed in the corners of a quad. advance: the movement of the
    lookup from trip to trip of its ProgramSegment. number: its position in the program.
    """

    instruction: Instruction
    components: Components
    lookup: Lookup[int] | None
    corners: Components = ()
    advance: Advance = (0, 0)
    number: int = field(default=0, compare=False)


@frozen
class ProgramSegment:
    """Instructions that run `trips` times; in trip i a lookup has moved by i times its advance."""

    steps: tuple[LiveInstruction, ...]
    trips: int = 1


def segments(draw: DrawnProgram, live: Live) -> tuple[ProgramSegment, ...]:
    """A draw's live instructions, rerolled if they repeat and the program has no branches."""
    lookups = by_instruction(draw.program, draw.lookups)
    detailed = tuple(map(lookup_has_lod, draw.lookups))
    corners = coordinate_components(draw.program, detailed, executed=False)
    steps = []
    instructions = zip(draw.program.instructions, live, corners, strict=True)
    for number, (instruction, *needed) in enumerate(instructions):
        if any(needed):
            lookup = lookups.get(number)
            steps.append(LiveInstruction(instruction, needed[0], lookup, needed[1], number=number))
    return (ProgramSegment(tuple(steps)),) if draw.program.branches else tuple(_rerolled(steps))


@lru_cache(maxsize=256)
def live_segments(draw: DrawnProgram) -> tuple[ProgramSegment, ...]:
    """The segments of a draw; a lookup whose texel is known reads no coordinates."""
    known = tuple(not isinstance(lookup, DependentLookup) for lookup in draw.lookups)
    return segments(draw, live_components(draw.program, known))


def _rerolled(steps: list[LiveInstruction]) -> Iterator[ProgramSegment]:
    if not steps:
        return
    start, period, trips = _longest(steps)
    if trips == 1:
        yield ProgramSegment(tuple(steps))
        return
    yield from _rerolled(steps[:start])
    body = [
        replace(step, advance=_advance(_place(step), _place(steps[start + period + i])))
        for i, step in enumerate(steps[start : start + period])
    ]
    yield ProgramSegment(tuple(body), trips)
    yield from _rerolled(steps[start + period * trips :])


def _longest(steps: list[LiveInstruction]) -> tuple[int, int, int]:
    """The start, the period and the trips of the longest repetition; 1 trip if there is none."""
    numbers: dict[object, int] = {}
    kinds = [numbers.setdefault(_kind(step), len(numbers)) for step in steps]
    places = [_place(step) for step in steps]
    best = (0, 1, 1)
    for period in range(1, min(LONGEST_PERIOD, len(steps) // 2) + 1):
        start = 0
        while start + period < len(steps):
            length = _run(places, kinds, start, period)
            trips = length // period + 1
            if trips >= LEAST_TRIPS and trips * period > best[1] * best[2]:
                best = (start, period, trips)
            start += max(1, length)
    return best


def _run(places: list[_Place], kinds: list[int], start: int, period: int) -> int:
    """The number of steps from `start` on that repeat a period later, moved evenly."""
    for i in range(start, len(places) - period):
        advance = _advance(places[i], places[i + period])
        is_even = i < start + period or advance == _advance(places[i - period], places[i])
        if kinds[i] != kinds[i + period] or not is_even:
            return i - start
    return len(places) - period - start


def _kind(step: LiveInstruction) -> object:
    """The part of a step that is the same in all trips."""
    instruction, lookup = step.instruction, step.lookup
    if lookup is None:
        return instruction, step.components, step.corners
    if isinstance(lookup, AffineLookup):  # its base decides its slopes
        affine = (lookup.texture, lookup.base, lookup.inside)
        return replace(instruction, srcs=()), step.components, affine
    return instruction, step.components, step.corners, lookup


_Place = tuple[int, int]
"""The texel that an affine lookup reads in the first fragment, relative to its base."""


def _place(step: LiveInstruction) -> _Place:
    """The place of a step's lookup; (0, 0) if it is no affine lookup."""
    if not isinstance(step.lookup, AffineLookup):
        return 0, 0
    return step.lookup.s.constant, step.lookup.t.constant


def _advance(place: _Place, later: _Place) -> Advance:
    """The movement of a lookup from one place to a later one."""
    return later[0] - place[0], later[1] - place[1]
