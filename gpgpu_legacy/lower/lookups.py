"""Decisions on a pass, from what is known to be affine: lookups folded, dead instructions left out.

A lookup whose coordinates are affine and lie on texel centres can be placed by the rasteriser: its
coordinates are interpolated from the corners, however roughly, and still choose the same texel.
Lookups that march along a row or a column share one interpolated place and differ by a whole number
of texels. What computed their coordinates is then dead, unless something else sees it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from gpgpu_legacy.isa.dependences import Parts, all_parts_read
from gpgpu_legacy.isa.ir import Instruction, Program, ResultKind, ResultRegister
from gpgpu_legacy.lower.analysis.affine import Texels, Value, chosen_texels, lookup_coordinates
from gpgpu_legacy.lower.values import iterations_of
from gpgpu_legacy.plan.numbers import Affine
from gpgpu_legacy.plan.plan import Binding, FragmentPass, Plan
from gpgpu_legacy.plan.textures import Extent, Filter, Rect, TextureKind, Wrap

MOST_PLACES = 8  # interpolated vectors a shader may have: a quarter of what OpenGL 4.0 promises


@dataclass(frozen=True, slots=True)
class Place:
    """Coordinates that the rasteriser interpolates, for lookups in textures of one extent.

    s, t: which texels they are the centres of.
    """

    s: Texels
    t: Texels
    extent: Extent

    def corners(self, rect: Rect) -> tuple[Affine, ...]:
        """Both, as parts of the extent, at the corners (0, 0), (W, 0), (W, H), (0, H)."""
        places = ((0, 0), (rect.width, 0), (rect.width, rect.height), (0, rect.height))
        return tuple(
            Affine(_twice_centre(form, x, y) / (2 * size), form.iteration / size)
            for x, y in places
            for form, size in ((self.s, self.extent.width), (self.t, self.extent.height))
        )


def _twice_centre(form: Texels, x: int, y: int) -> int:
    """Twice the coordinate at a corner of the rectangle: half a fragment from a fragment's centre.

    Whole, so that parts of an extent are rounded once.
    """
    return 2 * (form.constant + form.x * x + form.y * y) + 1 - form.x - form.y


@dataclass(frozen=True, slots=True)
class Folded:
    """A lookup placed by the rasteriser: the number of its place, and texels right and up of it."""

    place: int
    right: int
    up: int


@dataclass(frozen=True, slots=True)
class Decisions:
    """What is to be done with a pass's program.

    lookups: for each lookup in program order, how it is folded; None where it is not.
    live: for each instruction, the components of its result that anything needs.
    places: what the folded lookups refer to.
    """

    lookups: tuple[Folded | None, ...]
    live: tuple[tuple[int, ...], ...]
    places: tuple[Place, ...]


def decide(plan: Plan, each: FragmentPass, *, folding: bool = True) -> Decisions:
    """Decide for a pass as its plan writes it.

    folding: whether lookups may be folded at all; not where an arithmetic rounds coordinates more
    than float32 does, nor where no rasteriser is at work.
    """
    if not folding:
        return undecided(each.program)
    iterations = iterations_of(plan, each)
    bound = {b.unit: b for b in each.bindings}
    units = [i.texture.unit for i in each.program.instructions if i.texture is not None]
    places: list[Place] = []
    lookups = [
        _fold_if_placed(plan, bound[unit], coordinates, places)
        for unit, coordinates in zip(units, lookup_coordinates(each, iterations), strict=True)
    ]
    return Decisions(tuple(lookups), live_components(each.program, lookups), tuple(places))


def undecided(program: Program) -> Decisions:
    """For a program alone: nothing is folded, and only what is dead is left out."""
    lookups: list[Folded | None] = [None for i in program.instructions if i.texture is not None]
    return Decisions(tuple(lookups), live_components(program, lookups), ())


def _fold_if_placed(
    plan: Plan, binding: Binding, coordinates: tuple[Value, Value], places: list[Place]
) -> Folded | None:
    """A lookup folded if a rectangle texture is read on its texels' centres, and one texel."""
    texture, sampler = plan.texture(binding.texture), binding.sampler
    clamps = sampler.wrap_s is sampler.wrap_t is Wrap.CLAMP_TO_EDGE
    if texture.kind is not TextureKind.RECT or sampler.filter is not Filter.NEAREST or not clamps:
        return None
    s, t = map(chosen_texels, coordinates)
    if s is None or t is None:
        return None
    return _fold(s, t, texture.extent, places)


def _fold(s: Texels, t: Texels, extent: Extent, places: list[Place]) -> Folded | None:
    """The place that differs by whole texels, or a new one while there is room for it."""
    for number, place in enumerate(places):
        right, up = _distance(s, place.s), _distance(t, place.t)
        if place.extent == extent and right is not None and up is not None:
            return Folded(number, right, up)
    if len(places) == MOST_PLACES:
        return None
    places.append(Place(s, t, extent))
    return Folded(len(places) - 1, 0, 0)


def _distance(form: Texels, other: Texels) -> int | None:
    """How many texels one is from the other, where that is the same in all fragments."""
    return form.constant - other.constant if form.slopes == other.slopes else None


def live_components(
    program: Program, lookups: Sequence[object | None]
) -> tuple[tuple[int, ...], ...]:
    """For each instruction the components of its result that reach the program's results.

    lookups: for each lookup, None where its coordinates are read; else what is known of it.
    Found backwards: a component is needed where a later instruction that is itself needed reads it
    before it is written again. A discard is a result; the depth, which goes nowhere, is none.
    """
    return _live(program, tuple(lookup is not None for lookup in lookups))


@lru_cache(maxsize=256)
def _live(program: Program, known: tuple[bool, ...]) -> tuple[tuple[int, ...], ...]:
    needed: set[tuple[str, int]] = set()
    folded = list(known)
    live: list[tuple[int, ...]] = []
    for instruction in reversed(program.instructions):
        is_folded = instruction.texture is not None and folded.pop()
        components = _needed(instruction, needed)
        live.append(components)
        if components and not is_folded:
            needed |= temporaries_read(instruction, components)
    return tuple(reversed(live))


def _needed(instruction: Instruction, needed: set[tuple[str, int]]) -> tuple[int, ...]:
    """The components of a result that are needed; what it writes is from here on not."""
    dst = instruction.dst
    if dst is None:
        return (0, 1, 2, 3)
    if isinstance(dst.register, ResultRegister):
        return dst.components if dst.register.kind is ResultKind.COLOR else ()
    name = dst.register.name
    components = tuple(c for c in dst.components if (name, c) in needed)
    needed -= {(name, c) for c in components}
    return components


def temporaries_read(instruction: Instruction, components: tuple[int, ...]) -> Parts:
    """The components of temporaries that these components of the result are made from.

    Textures have one level, so a bias changes nothing.
    """
    return all_parts_read(instruction, components, bias=False)
