"""Finds Repeats whose passes read each other's results at neighbouring texels, and the reach.

A relaxation, a filter that runs many times, a cellular automaton: each fragment reads texels at
bounded offsets from its own, which other fragments wrote in the pass before. Such passes can be run
several at a time over overlapping tiles (temporal tiling): a tile enlarged by the offsets has
everything that its own fragments need; neighbouring tiles then compute some fragments twice. Pass
fusion (analysis/fusion.py) is the case in which all offsets are 0.

The analysis looks only at coordinates. It knows which texel lies beyond an edge: the outermost one
if the texture is clamped, the one from the other side if it repeats. Texels outside the passes'
rectangle are never written, and keep their values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.lower.analysis.affine import TexelForm, Value, lookup_coordinates, nearest_texels
from gpgpu_legacy.lower.analysis.fusion import (
    FusedPasses,
    Lookups,
    Stretch,
    UnfusedRepeat,
    common_rectangle,
    stays,
)
from gpgpu_legacy.lower.lookups import AffineLookup, Lookup, NeighbourLookup, OwnLookup
from gpgpu_legacy.plan.plan import Binding, CopyPass, FragmentPass, Pass, Plan, written_by
from gpgpu_legacy.plan.textures import Extent, Filter, Rect, TextureKind, Wrap

MOST_REACH = 16
"""The longest reach of a lookup, in texels: a tile with wider edges is nearly all edge."""


class Reach(NamedTuple):
    """The longest reach of lookups from a fragment's own texel, in texels, to each side."""

    left: int = 0
    right: int = 0
    down: int = 0
    up: int = 0


@frozen
class Neighbourhood(Stretch):
    """A Repeat whose passes read one another's results at bounded offsets.

    Lookups of textures that the Repeat writes are OwnLookups and NeighbourLookups.
    reaches: of each pass, into textures that the Repeat writes; a copy has none.
    written: the textures that they write. live: the ones of these in which an iteration may read,
    or keep, a texel of the rectangle before writing it; in all others, only the steps after the
    Repeat use an iteration's results. wraps: whether, along x and along y, fragments beyond the
    rectangle are those from the other side: lookups repeat there, and the rectangle is as long as
    the texture. If it does not wrap, a texel beyond a texture's edge is the outermost one.
    """

    reaches: tuple[Reach, ...]
    written: tuple[str, ...]
    live: frozenset[str]
    wraps: tuple[bool, bool]

    @property
    def reach(self) -> Reach:
        """The reach of a whole iteration."""
        return Reach(*map(sum, zip(*self.reaches, strict=True)))


def neighbourhood(repeat: UnfusedRepeat, plan: Plan) -> Neighbourhood | None:
    """The facts about a Repeat whose passes read neighbours; None if any lookup is unbounded.

    Lookups of textures that no pass of it writes may be unbounded. repeat: of the plan's fused
    steps.
    """
    passes = tuple(pass_ for member in repeat.body for pass_ in _handled(member))
    if len(passes) != len(repeat.body):
        return None
    place = common_rectangle(passes)
    if place is None:
        return None
    (width, height), origins = place
    written = tuple(dict.fromkeys(n for pass_ in passes for n in written_by(pass_)))
    finder = _Finder(plan, repeat.count, {n: Rect(*origins[n], width, height) for n in written})
    made = [finder.lookups(member) for member in repeat.body]
    found = tuple(lookups for lookups in made if lookups is not None)
    wraps = (finder.wraps(0), finder.wraps(1))
    if len(found) != len(made) or None in wraps:
        return None
    return Neighbourhood(
        repeat.count,
        passes,
        found,
        width,
        height,
        origins,
        tuple(map(_reach, found)),
        written,
        frozenset(_live(passes, found)),
        (bool(wraps[0]), bool(wraps[1])),
    )


def with_neighbours(
    fused: FusedPasses, around: Neighbourhood, number: int, extents: Mapping[str, Extent]
) -> FusedPasses:
    """A Repeat's pass by itself, with affine lookups of what the Repeat writes.

    number: of the pass in the Repeat's body. extents: of textures, by name.
    """
    rect = Rect(0, 0, around.width, around.height)

    def affine(lookup: Lookup[str]) -> Lookup[str]:
        match lookup:
            case NeighbourLookup(name, right, up):
                x, y = around.origins[name][0] + right, around.origins[name][1] + up
            case OwnLookup(name):
                x, y = around.origins[name]
            case _:
                return lookup
        s, t = TexelForm(x, x=1), TexelForm(y, y=1)
        inside = stays((s, t), extents[name], rect, around.count)
        return AffineLookup(name, s, t, inside, around.wraps)

    return replace(fused, lookups=(tuple(map(affine, around.lookups[number])),))


def _handled(member: FusedPasses | Pass) -> Iterator[FragmentPass | CopyPass]:
    """A Repeat's member as a pass, if it is of a kind that is handled."""
    if isinstance(member, CopyPass):
        yield member
    elif isinstance(member, FusedPasses):
        yield from (pass_ for pass_ in member.passes if isinstance(pass_, FragmentPass))


def _reach(lookups: Lookups) -> Reach:
    whole = Reach()
    for lookup in lookups:
        if isinstance(lookup, NeighbourLookup):
            right, up = lookup.right, lookup.up
            sides = (-right, right, -up, up)
            whole = Reach(*map(max, whole, sides))
    return whole


def _live(passes: Iterable[FragmentPass | CopyPass], lookups: Iterable[Lookups]) -> Iterator[str]:
    """The textures that passes read, or keep in part, before they have written all of it."""
    written = set[str]()
    for pass_, known in zip(passes, lookups, strict=True):
        targets = set(written_by(pass_))
        if isinstance(pass_, CopyPass):
            read, kept = {pass_.source}, False
        else:
            near = (OwnLookup, NeighbourLookup)
            read = {lookup.texture for lookup in known if isinstance(lookup, near)}
            kept = pass_.keeps
        yield from (read | targets if kept else read) - written
        written |= targets


_Step = tuple[int, bool]
"""A lookup's offset along an axis, and whether it wraps around, over the whole texture."""


class _Finder:
    """Finds the facts about lookups."""

    def __init__(self, plan: Plan, count: int, rects: dict[str, Rect]) -> None:
        """rects: the rectangle in each texture that is written."""
        self.plan, self.count, self.rects = plan, count, rects
        self._steps: tuple[list[_Step], list[_Step]] = ([], [])

    def wraps(self, axis: int) -> bool | None:
        """Whether lookups repeat along an axis; None if only some do."""
        moves = {repeats for offset, repeats in self._steps[axis] if offset}
        return None if len(moves) > 1 else True in moves

    def lookups(self, member: FusedPasses | Pass) -> Lookups | None:
        """The lookups of a member; None if any lookup of a written texture is not near."""
        if not isinstance(member, FusedPasses):
            return ()
        [(pass_, known)] = member.draws
        if pass_.in_quads:
            return None
        bindings = {binding.unit: binding for binding in pass_.bindings}
        forms = lookup_coordinates(pass_, self.count, rounds=True)
        lookups: list[Lookup[str]] = []
        for lookup, form, unit in zip(known, forms, pass_.program.lookup_units, strict=True):
            if bindings[unit].texture not in self.rects:
                lookups.append(lookup)
                continue
            near = self._near(bindings[unit], form)
            if near is None or near.texture in pass_.targets:
                return None
            lookups.append(near)
        return tuple(lookups)

    def _near(
        self, binding: Binding, form: tuple[Value, Value]
    ) -> NeighbourLookup[str] | OwnLookup[str] | None:
        texture, rect, sampler = (
            self.plan.texture(binding.texture),
            self.rects[binding.texture],
            binding.sampler,
        )
        if sampler.sole_filter is not Filter.NEAREST:
            return None
        normalised = texture.kind is not TextureKind.RECT
        sides = (
            (texture.extent.width, rect.x, rect.width),
            (texture.extent.height, rect.y, rect.height),
        )
        offsets: list[int] = []
        for axis, (size, first, length) in enumerate(sides):
            texels = nearest_texels(form[axis], size if normalised else 1)
            wrap = (sampler.wrap_s, sampler.wrap_t)[axis]
            step = _step(texels, axis, (size, first, length), wrap)
            if step is None:
                return None
            self._steps[axis].append(step)
            offsets.append(step[0])
        right, up = offsets
        if not right and not up:
            return OwnLookup(binding.texture)
        return NeighbourLookup(binding.texture, right, up)


def _step(
    texels: TexelForm | None, axis: int, side: tuple[int, int, int], wrap: Wrap
) -> _Step | None:
    """Texel indices along an axis relative to the fragment's own; None if they vary.

    side: the texture's length, the start of the rectangle in it, and the rectangle's length.
    """
    size, first, length = side
    slopes = (1, 0, 0) if axis == 0 else (0, 1, 0)
    if texels is None or texels.slopes != slopes:
        return None
    offset = texels.constant - first
    leaves = texels.constant < 0 or texels.constant + length > size
    repeats = leaves and wrap is Wrap.REPEAT
    if repeats:
        if length < size:
            return None
        offset = (offset + length // 2) % length - length // 2
    beyond = leaves and wrap not in (Wrap.CLAMP_TO_EDGE, Wrap.CLAMP, Wrap.REPEAT)
    return None if beyond or abs(offset) > MOST_REACH else (offset, repeats)
