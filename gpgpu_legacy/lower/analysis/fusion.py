"""Pass fusion: finds the Repeats whose fragments read back only their own results.

In a blocked product every pass reads the partial sum of the pass before it at its own texel,
through a copy, through two textures that alternate, or through a blending framebuffer. No value
goes from fragment to fragment, so all iterations of one fragment can run one after another with the
partial sum in registers. The analysis looks only at coordinates. A single pass becomes FusedPasses
of one iteration.

In a pass that is drawn, a lookup can be folded into a varying if its coordinates are affine and lie
on texel centres. However roughly the rasteriser interpolates the varying, the lookup chooses the
same texel. Lookups along a row or a column share one varying and differ by a whole number of
texels. The instructions that computed their coordinates are then dead, unless others read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.program import Program
from gpgpu_legacy.lower.analysis.affine import TexelForm, Value, chosen_texels, lookup_coordinates
from gpgpu_legacy.lower.analysis.liveness import Live, live_components
from gpgpu_legacy.lower.lookups import AffineLookup, DependentLookup, Lookup, OwnLookup
from gpgpu_legacy.lower.values import iterations_of
from gpgpu_legacy.plan.numbers import Affine
from gpgpu_legacy.plan.plan import Binding, CopyPass, FragmentPass, Pass, Plan, Repeat, written_by
from gpgpu_legacy.plan.textures import (
    Extent,
    Filter,
    Rect,
    Sampler,
    Texture,
    TextureKind,
    Wrap,
    constant_rect,
)

Lookups = tuple[Lookup[str], ...]
"""The lookups of a pass, in program order; a copy has none."""


@frozen
class Stretch:
    """Repeated passes over rectangles of one size.

    passes: as the plan writes them. lookups: for each pass, the facts about its lookups. origins:
    by name, the lower left of the rectangle in each texture that is written or read as a register.
    """

    count: int
    passes: tuple[FragmentPass | CopyPass, ...]
    lookups: tuple[Lookups, ...]
    width: int
    height: int
    origins: Mapping[str, tuple[int, int]]

    @property
    def draws(self) -> Iterator[tuple[FragmentPass, Lookups]]:
        """The fragment passes, with their lookups."""
        for pass_, lookups in zip(self.passes, self.lookups, strict=True):
            if isinstance(pass_, FragmentPass):
                yield pass_, lookups


@frozen
class FusedPasses(Stretch):
    """Passes in which no fragment reads another's results; no lookup is a NeighbourLookup.

    alternates: they belong to an UnfusedRepeat, whose iterations run one at a time.
    """

    alternates: bool = False


@frozen
class UnfusedRepeat:
    """A Repeat that is not fused: its passes run in turn in each iteration."""

    count: int
    body: tuple[FusedPasses | Pass, ...]


def fused_steps(plan: Plan, *, apart: bool = False) -> Iterator[FusedPasses | UnfusedRepeat | Pass]:
    """The plan's steps in order: each fused, unfused, or a plain pass if it cannot be either.

    apart: keep every pass by itself, even if it could be fused.
    """
    for step in plan.steps_at_most:
        if not isinstance(step, Repeat):
            yield _fused(plan, (step,), 1) or step
        elif step.count:
            whole = None if apart else _fused(plan, step.body, step.count)
            alone = ((pass_, _fused(plan, (pass_,), step.count)) for pass_ in step.body)
            yield whole or UnfusedRepeat(
                step.count,
                tuple(replace(one, alternates=True) if one else pass_ for pass_, one in alone),
            )


def moved_alone(copy: CopyPass, count: int) -> FusedPasses | None:
    """A copy of an UnfusedRepeat as FusedPasses; None within one texture, where order matters."""
    (source, from_), (target, to) = rectangles(copy)
    if source == target:
        return None
    origins = {source: (from_.x, from_.y), target: (to.x, to.y)}
    return FusedPasses(count, (copy,), ((),), to.width, to.height, origins, alternates=True)


Steps = Sequence[FusedPasses | UnfusedRepeat | Pass]


def all_fused(steps: Steps) -> Iterator[FusedPasses]:
    """The fused passes among steps, including those in unfused repeats."""
    for step in steps:
        members = step.body if isinstance(step, UnfusedRepeat) else (step,)
        yield from (member for member in members if isinstance(member, FusedPasses))


def _fused(plan: Plan, body: tuple[Pass, ...], count: int) -> FusedPasses | None:
    """These passes, fused; None if that is impossible."""
    passes = tuple(
        pass_
        for pass_ in body
        if isinstance(pass_, CopyPass) or (isinstance(pass_, FragmentPass) and not pass_.scissor)
    )
    if len(passes) < len(body) or not any(isinstance(p, FragmentPass) for p in passes):
        return None
    place = common_rectangle(passes)
    if place is None:
        return None
    (width, height), origins = place
    written = {n for pass_ in body for n in written_by(pass_)}
    facts = (_lookups(plan, pass_, origins, written, count) for pass_ in passes)
    lookups = tuple(known for known in facts if known is not None)
    if len(lookups) < len(passes):
        return None
    return FusedPasses(count, passes, lookups, width, height, origins)


def common_rectangle(
    passes: Iterable[FragmentPass | CopyPass],
) -> tuple[tuple[int, int], dict[str, tuple[int, int]]] | None:
    """The common size of the rectangles, and each texture's origin; None if they differ."""
    rects = [placed for pass_ in passes for placed in rectangles(pass_)]
    origins = {name: (rect.x, rect.y) for name, rect in rects}
    sizes = {(rect.width, rect.height) for _, rect in rects}
    if len(sizes) != 1 or any(origins[name] != (rect.x, rect.y) for name, rect in rects):
        return None
    return sizes.pop(), origins


def rectangles(pass_: FragmentPass | CopyPass) -> list[tuple[str, Rect]]:
    """The textures that a pass writes, or copies from, each with its rectangle."""
    if isinstance(pass_, FragmentPass):
        return [(target, constant_rect(pass_.rect)) for target in pass_.targets]
    return [
        (pass_.source, constant_rect(pass_.source_rect)),
        (pass_.target, constant_rect(pass_.target_rect)),
    ]


def _lookups(
    plan: Plan,
    pass_: FragmentPass | CopyPass,
    origins: dict[str, tuple[int, int]],
    written: set[str],
    count: int,
) -> Lookups | None:
    """The facts about a pass's lookups; None if one reads another fragment's results."""
    if isinstance(pass_, CopyPass):
        return ()
    facts: list[Lookup[str]] = []
    forms = lookup_coordinates(pass_, count)
    for coordinates, binding in zip(forms, pass_.looked_up, strict=True):
        name, sampler = binding.texture, binding.sampler
        texture = plan.texture(name)
        texels = None if pass_.in_quads else whole_texels(texture, sampler, coordinates)
        if name in written:
            x, y = origins[name]
            if texels != (TexelForm(x, x=1), TexelForm(y, y=1)):
                return None
            facts.append(OwnLookup(name))
        elif texels is None:
            facts.append(DependentLookup(name, sampler))
        else:
            inside = stays(texels, texture.extent, constant_rect(pass_.rect), count)
            facts.append(AffineLookup(name, *texels, inside))
    return tuple(facts)


def whole_texels(
    texture: Texture, sampler: Sampler, coordinates: tuple[Value, Value]
) -> tuple[TexelForm, TexelForm] | None:
    """The column and the row of a lookup's texel; None unless it reads one at its centre."""
    if texture.kind is not TextureKind.RECT or sampler.sole_filter is not Filter.NEAREST:
        return None
    s, t = map(chosen_texels, coordinates)
    clamps = sampler.wrap_s is sampler.wrap_t is Wrap.CLAMP_TO_EDGE
    return (s, t) if clamps and s is not None and t is not None else None


def stays(forms: tuple[TexelForm, TexelForm], extent: Extent, rect: Rect, count: int) -> bool:
    """Whether texel indices lie in the texture for all fragments of all iterations."""
    for form, size in zip(forms, (extent.width, extent.height), strict=True):
        ends = [form.x * (rect.width - 1), form.y * (rect.height - 1), form.iteration * (count - 1)]
        low = form.constant + sum(min(0, end) for end in ends)
        high = form.constant + sum(max(0, end) for end in ends)
        if low < 0 or high > size - 1:
            return False
    return True


# Lookups folded into varyings ---------------------------------------------------------------------

MOST_VARYINGS = 8  # of a shader: a quarter of OpenGL 4.0's minimum


@frozen
class Varying:
    """Coordinates that the rasteriser interpolates, for lookups in textures of one extent.

    s, t: the texels at whose centres the coordinates lie.
    """

    s: TexelForm
    t: TexelForm
    extent: Extent

    def corners(self, rect: Rect) -> tuple[Affine, ...]:
        """Fractions of the extent for s and t, at the corners (0, 0), (W, 0), (W, H), (0, H)."""
        corners = ((0, 0), (rect.width, 0), (rect.width, rect.height), (0, rect.height))
        values = []
        for x, y in corners:
            for form, size in ((self.s, self.extent.width), (self.t, self.extent.height)):
                # A corner is half a fragment from a centre. Twice the coordinate is an integer, so
                # that fractions of an extent are rounded once.
                twice = 2 * (form.constant + form.x * x + form.y * y) + 1 - form.x - form.y
                values.append(Affine(twice / (2 * size), form.iteration / size))
        return tuple(values)


@frozen
class Folded:
    """A lookup that is folded into a varying.

    varying: its number. right, up: the distance of the lookup's texel from the varying's.
    """

    varying: int
    right: int
    up: int


@frozen
class Decisions:
    """The decisions about a pass's program.

    lookups: for each lookup in program order, its folding; None if it is not folded.
    live: for each instruction, the components of its result that are needed.
    varyings: of the folded lookups.
    """

    lookups: tuple[Folded | None, ...]
    live: Live
    varyings: tuple[Varying, ...]


def decide(plan: Plan, pass_: FragmentPass, *, folding: bool = True) -> Decisions:
    """Decide which lookups of a pass are folded.

    pass_: as its plan writes it. folding: False if the arithmetic rounds coordinates more than
    float32 does, or if there is no rasteriser.
    """
    if not folding or pass_.in_quads:
        return undecided(pass_.program)
    varyings: list[Varying] = []

    def fold(binding: Binding, coordinates: tuple[Value, Value]) -> Folded | None:
        """Fold a lookup into a varying that is whole texels away, or a new one if there is room."""
        texture = plan.texture(binding.texture)
        texels = whole_texels(texture, binding.sampler, coordinates)
        if texels is None:
            return None
        (s, t), extent = texels, texture.extent
        for number, varying in enumerate(varyings):
            base = varying.s, varying.t
            if varying.extent == extent and [f.slopes for f in base] == [s.slopes, t.slopes]:
                return Folded(number, s.constant - base[0].constant, t.constant - base[1].constant)
        if len(varyings) == MOST_VARYINGS:
            return None
        varyings.append(Varying(s, t, extent))
        return Folded(len(varyings) - 1, 0, 0)

    forms = lookup_coordinates(pass_, iterations_of(plan, pass_))
    lookups = tuple(map(fold, pass_.looked_up, forms))
    folded = tuple(lookup is not None for lookup in lookups)
    return Decisions(lookups, live_components(pass_.program, folded), tuple(varyings))


def undecided(program: Program) -> Decisions:
    """The decisions that fold nothing, and only leave out dead instructions."""
    count = len(program.lookup_units)
    return Decisions((None,) * count, live_components(program, (False,) * count), ())
