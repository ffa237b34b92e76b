"""Which passes are fused: those of a Repeat whose fragments read back only what they wrote.

In a blocked product every pass reads the partial sum of the pass before it at its own texel, by way
of a copy, of two textures that alternate, or of a blending framebuffer. No value goes from fragment
to fragment, so all iterations of one fragment can run one after another with the partial sum in
registers. The analysis looks at coordinates alone; a single pass is FusedPasses of one iteration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from gpgpu_legacy.lower.analysis.affine import Texels, Value, chosen_texels, lookup_coordinates
from gpgpu_legacy.plan.plan import (
    Binding,
    ClearPass,
    ComputePass,
    CopyPass,
    FragmentPass,
    Pass,
    Plan,
    Repeat,
    written_by,
)
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


@dataclass(frozen=True, slots=True)
class OwnLookup:
    """A lookup of the fragment's own texel in a texture that the passes write: a register."""

    texture: str


@dataclass(frozen=True, slots=True)
class AffineLookup:
    """A lookup at whole texels that are affine in position and iteration.

    inside: it never leaves the texture. repeats: whether it comes back in from the other side along
    s and t, at most once; else it has the outermost texel.
    """

    texture: str
    s: Texels
    t: Texels
    inside: bool
    repeats: tuple[bool, bool] = (False, False)


@dataclass(frozen=True, slots=True)
class DependentLookup:
    """A lookup at coordinates of which nothing is known: the program's arithmetic gives them."""

    binding: Binding


@dataclass(frozen=True, slots=True)
class NeighbourLookup:
    """A lookup, in a texture that a Repeat writes, near the fragment's own texel.

    right, up: how many texels away from it, in every fragment of every iteration.
    """

    texture: str
    right: int
    up: int


Lookup = OwnLookup | AffineLookup | DependentLookup | NeighbourLookup


@dataclass(frozen=True, slots=True)
class Draw:
    """A fragment pass, with what is known of each of its lookups, in program order.

    None of fused passes is a NeighbourLookup; analysis/neighbourhood.py finds those.
    """

    pass_: FragmentPass
    lookups: tuple[Lookup, ...]


@dataclass(frozen=True, slots=True)
class Move:
    """A fused copy: each fragment's own texel, from one texture to another."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class FusedPasses:
    """Passes over rectangles of one size, which repeat; no fragment reads another's results.

    passes: as the plan writes them; body: what they come to.
    origins: for each texture that is written, or read as a register, the lower left of its
    rectangle, by name.
    alternates: they are of an UnfusedRepeat, whose iterations are run one at a time.
    """

    count: int
    passes: tuple[Pass, ...]
    body: tuple[Draw | Move, ...]
    width: int
    height: int
    origins: tuple[tuple[str, int, int], ...]
    alternates: bool = False


@dataclass(frozen=True, slots=True)
class UnfusedRepeat:
    """A Repeat that is not fused: its passes run one after another in each iteration."""

    count: int
    body: tuple[FusedPasses | Pass, ...]


def fused_steps(plan: Plan, *, apart: bool = False) -> Iterator[FusedPasses | UnfusedRepeat | Pass]:
    """The plan's steps in order: fused and unfused, and as passes what is no drawing.

    apart: every pass by itself, even if it could be fused.
    """
    for step in plan.steps:
        if not isinstance(step, Repeat):
            yield _fused(plan, (step,), 1) or step
        elif step.count:
            whole = None if apart else _fused(plan, step.body, step.count)
            yield whole or UnfusedRepeat(step.count, tuple(_members(plan, step)))


def _members(plan: Plan, step: Repeat) -> Iterator[FusedPasses | Pass]:
    """The passes of a Repeat that is not fused, each by itself."""
    for pass_ in step.body:
        alone = _fused(plan, (pass_,), step.count)
        yield pass_ if alone is None else replace(alone, alternates=True)


def moved_alone(copy: CopyPass, count: int) -> FusedPasses | None:
    """A copy of an UnfusedRepeat by itself; None within one texture, where order matters."""
    (source, from_), (target, to) = rectangles(copy)
    if source == target:
        return None
    origins = ((source, from_.x, from_.y), (target, to.x, to.y))
    body = (Move(source, target),)
    return FusedPasses(count, (copy,), body, to.width, to.height, origins, alternates=True)


Steps = Sequence[FusedPasses | UnfusedRepeat | Pass]


def all_fused(steps: Steps) -> Iterator[FusedPasses]:
    """The fused passes among them, those of unfused repeats too."""
    for step in steps:
        members = step.body if isinstance(step, UnfusedRepeat) else (step,)
        yield from (member for member in members if isinstance(member, FusedPasses))


def _fused(plan: Plan, body: tuple[Pass, ...], count: int) -> FusedPasses | None:
    """These passes, fused; None where they cannot be."""
    if not any(isinstance(pass_, FragmentPass) for pass_ in body):
        return None
    if any(isinstance(pass_, ClearPass | ComputePass) for pass_ in body):
        return None
    place = common_rectangle(body)
    if place is None:
        return None
    (width, height), origins = place
    written = {n for pass_ in body for n in written_by(pass_)}
    made = [_member(plan, pass_, origins, written, count) for pass_ in body]
    if any(member is None for member in made):
        return None
    members = tuple(member for member in made if member is not None)
    named = tuple((name, x, y) for name, (x, y) in origins.items())
    return FusedPasses(count, body, members, width, height, named)


def common_rectangle(
    passes: Iterable[Pass],
) -> tuple[tuple[int, int], dict[str, tuple[int, int]]] | None:
    """The size of all passes' rectangles, and where each texture's lies; None where they differ."""
    rects = [placed for pass_ in passes for placed in rectangles(pass_)]
    origins = {name: (rect.x, rect.y) for name, rect in rects}
    sizes = {(rect.width, rect.height) for _, rect in rects}
    if len(sizes) != 1 or any(origins[name] != (rect.x, rect.y) for name, rect in rects):
        return None
    return sizes.pop(), origins


def rectangles(pass_: Pass) -> list[tuple[str, Rect]]:
    """The textures that a pass writes, or copies from, each with its rectangle."""
    if isinstance(pass_, FragmentPass):
        return [(target, constant_rect(pass_.rect)) for target in pass_.targets]
    assert isinstance(pass_, CopyPass)
    return [
        (pass_.source, constant_rect(pass_.source_rect)),
        (pass_.target, constant_rect(pass_.target_rect)),
    ]


def _member(
    plan: Plan, pass_: Pass, origins: dict[str, tuple[int, int]], written: set[str], count: int
) -> Draw | Move | None:
    if isinstance(pass_, CopyPass):
        return Move(pass_.source, pass_.target)
    assert isinstance(pass_, FragmentPass)
    bindings = {binding.unit: binding for binding in pass_.bindings}
    found: list[Lookup] = []
    forms = lookup_coordinates(pass_, count)
    for coordinates, unit in zip(forms, pass_.program.lookup_units, strict=True):
        binding = bindings[unit]
        lookup = _lookup(plan, pass_, binding, coordinates, count)
        if binding.texture in written:
            x, y = origins[binding.texture]
            if not isinstance(lookup, AffineLookup) or not _is_own(lookup, x, y):
                return None
            lookup = OwnLookup(binding.texture)
        found.append(lookup)
    return Draw(pass_, tuple(found))


def _lookup(
    plan: Plan,
    pass_: FragmentPass,
    binding: Binding,
    coordinates: tuple[Value, Value],
    count: int,
) -> Lookup:
    texture = plan.texture(binding.texture)
    texels = whole_texels(texture, binding.sampler, coordinates)
    if texels is None:
        return DependentLookup(binding)
    inside = stays(texels, texture.extent, constant_rect(pass_.rect), count)
    return AffineLookup(binding.texture, *texels, inside)


def whole_texels(
    texture: Texture, sampler: Sampler, coordinates: tuple[Value, Value]
) -> tuple[Texels, Texels] | None:
    """The column and the row that a lookup reads, if it reads one texel at that texel's centre."""
    if texture.kind is not TextureKind.RECT or sampler.filter is not Filter.NEAREST:
        return None
    s, t = map(chosen_texels, coordinates)
    clamps = sampler.wrap_s is sampler.wrap_t is Wrap.CLAMP_TO_EDGE
    return (s, t) if clamps and s is not None and t is not None else None


def _is_own(lookup: AffineLookup, x: int, y: int) -> bool:
    return lookup.s == Texels(x, x=1) and lookup.t == Texels(y, y=1)


def stays(forms: tuple[Texels, Texels], extent: Extent, rect: Rect, count: int) -> bool:
    """Whether texel numbers lie in the texture at all fragments of all iterations."""
    for form, size in zip(forms, (extent.width, extent.height), strict=True):
        ends = [form.x * (rect.width - 1), form.y * (rect.height - 1), form.iteration * (count - 1)]
        low = form.constant + sum(min(0, end) for end in ends)
        high = form.constant + sum(max(0, end) for end in ends)
        if low < 0 or high > size - 1:
            return False
    return True
