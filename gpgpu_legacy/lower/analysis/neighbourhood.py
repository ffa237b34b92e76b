"""Finds Repeats whose passes read each other's results at neighbouring texels, and their reach.

In a relaxation, a filter that runs many times, or a cellular automaton, each fragment reads texels
that other fragments wrote in the pass before, at bounded offsets from its own. Several such passes
can run at a time over overlapping tiles (temporal tiling): a tile enlarged by the offsets has
everything that its own fragments need. Neighbouring tiles then compute some fragments twice. Pass
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
from gpgpu_legacy.plan.textures import Extent, Filter, Rect, Texture, TextureKind, Wrap

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
    written: the textures that the passes write. live: those of them in which an iteration may read,
    or keep, a texel of the rectangle before it writes the texel; in all others, only the steps
    after the Repeat use an iteration's results. wraps: whether, along x and along y, fragments
    beyond the rectangle are those from the other side: lookups repeat there, and the rectangle is
    as long as the texture. Otherwise a texel beyond a texture's edge is the outermost one.
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
    """The facts about a Repeat whose passes read neighbours; None if it cannot be tiled.

    In textures that the Repeat writes, all lookups must be at bounded offsets. repeat: from
    fused_steps.
    """
    passes = tuple(pass_ for member in repeat.body for pass_ in _handled(member))
    place = common_rectangle(passes)
    if place is None or len(passes) < len(repeat.body):
        return None
    (width, height), origins = place
    written = tuple(dict.fromkeys(n for pass_ in passes for n in written_by(pass_)))
    repeats: tuple[set[bool], set[bool]] = (set(), set())

    def found(member: FusedPasses | Pass) -> Lookups | None:
        """The lookups of a member; None if any lookup of a written texture is not near."""
        if not isinstance(member, FusedPasses):
            return ()
        [(pass_, known)] = member.draws
        if pass_.in_quads:
            return None
        forms = lookup_coordinates(pass_, repeat.count, rounds=True)
        lookups: list[Lookup[str]] = []
        for lookup, form, binding in zip(known, forms, pass_.looked_up, strict=True):
            name = binding.texture
            near: Lookup[str] | None = lookup
            if name in written:
                rect = Rect(*origins[name], width, height)
                near = _near(binding, form, plan.texture(name), rect, repeats)
            if near is None or (name in written and name in pass_.targets):
                return None
            lookups.append(near)
        return tuple(lookups)

    lookups = tuple(known for known in map(found, repeat.body) if known is not None)
    if len(lookups) < len(passes) or max(map(len, repeats)) > 1:
        return None
    return Neighbourhood(
        repeat.count,
        passes,
        lookups,
        width,
        height,
        origins,
        tuple(map(_reach, lookups)),
        written,
        frozenset(_live(passes, lookups)),
        (True in repeats[0], True in repeats[1]),
    )


def with_neighbours(
    fused: FusedPasses, around: Neighbourhood, number: int, extents: Mapping[str, Extent]
) -> FusedPasses:
    """A Repeat's pass by itself, with affine lookups of the textures that the Repeat writes.

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
    """A Repeat's member as a pass, if it draws or copies."""
    if isinstance(member, CopyPass):
        yield member
    elif isinstance(member, FusedPasses):
        yield from (pass_ for pass_ in member.passes if isinstance(pass_, FragmentPass))


def _reach(lookups: Lookups) -> Reach:
    near = [lookup for lookup in lookups if isinstance(lookup, NeighbourLookup)]
    sides = [(-lookup.right, lookup.right, -lookup.up, lookup.up) for lookup in near]
    return Reach(*map(max, zip(Reach(), *sides, strict=True)))


def _live(passes: Iterable[FragmentPass | CopyPass], lookups: Iterable[Lookups]) -> Iterator[str]:
    """The textures that passes read, or keep in part, before they have written the rectangle."""
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


def _near(
    binding: Binding,
    form: tuple[Value, Value],
    texture: Texture,
    rect: Rect,
    repeats: tuple[set[bool], set[bool]],
) -> NeighbourLookup[str] | OwnLookup[str] | None:
    """A lookup at the same distance from every fragment's own texel; None for others.

    rect: the rectangle in the texture. repeats: for x and for y, whether lookups of other
    fragments' texels wrap around, over the whole texture; the lookup's own answers are added.
    """
    sampler, extent, offsets = binding.sampler, texture.extent, list[int]()
    if sampler.sole_filter is not Filter.NEAREST:
        return None
    axes = (
        (form[0], (1, 0, 0), sampler.wrap_s, extent.width, rect.x, rect.width),
        (form[1], (0, 1, 0), sampler.wrap_t, extent.height, rect.y, rect.height),
    )
    for (value, slopes, wrap, size, first, length), wrapped in zip(axes, repeats, strict=True):
        texels = nearest_texels(value, 1 if texture.kind is TextureKind.RECT else size)
        if texels is None or texels.slopes != slopes:
            return None
        offset = texels.constant - first
        leaves = texels.constant < 0 or texels.constant + length > size
        wraps = leaves and wrap is Wrap.REPEAT
        if wraps:
            offset = (offset + length // 2) % length - length // 2
        beyond = leaves and wrap not in (Wrap.CLAMP_TO_EDGE, Wrap.CLAMP, Wrap.REPEAT)
        if beyond or (wraps and length < size) or abs(offset) > MOST_REACH:
            return None
        if offset:
            wrapped.add(wraps)
        offsets.append(offset)
    if not any(offsets):
        return OwnLookup(binding.texture)
    return NeighbourLookup(binding.texture, *offsets)
