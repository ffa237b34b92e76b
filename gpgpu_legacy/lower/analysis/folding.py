"""Lookups folded into varyings: the rasteriser interpolates their coordinates, not the program.

A lookup can be folded if its coordinates are affine and lie on texel centres: interpolated from the
corners, however roughly, they still choose the same texel. Lookups that march along a row or a
column share one varying and differ by a whole number of texels. What computed their coordinates is
then dead, unless something else reads it.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpgpu_legacy.isa.ir import Program
from gpgpu_legacy.lower.analysis.affine import TexelForm, Value, lookup_coordinates
from gpgpu_legacy.lower.analysis.fusion import whole_texels
from gpgpu_legacy.lower.analysis.liveness import live_components
from gpgpu_legacy.lower.values import iterations_of
from gpgpu_legacy.plan.numbers import Affine
from gpgpu_legacy.plan.plan import Binding, FragmentPass, Plan
from gpgpu_legacy.plan.textures import Extent, Rect

MOST_VARYINGS = 8  # that a shader may have: a quarter of what OpenGL 4.0 promises


@dataclass(frozen=True, slots=True)
class Varying:
    """Coordinates that the rasteriser interpolates, for lookups in textures of one extent.

    s, t: which texels they are the centres of.
    """

    s: TexelForm
    t: TexelForm
    extent: Extent

    def corners(self, rect: Rect) -> tuple[Affine, ...]:
        """Both, as parts of the extent, at the corners (0, 0), (W, 0), (W, H), (0, H)."""
        corners = ((0, 0), (rect.width, 0), (rect.width, rect.height), (0, rect.height))
        return tuple(
            Affine(_twice_centre(form, x, y) / (2 * size), form.iteration / size)
            for x, y in corners
            for form, size in ((self.s, self.extent.width), (self.t, self.extent.height))
        )


def _twice_centre(form: TexelForm, x: int, y: int) -> int:
    """Twice the coordinate at a corner of the rectangle: half a fragment from a fragment's centre.

    Whole, so that parts of an extent are rounded once.
    """
    return 2 * (form.constant + form.x * x + form.y * y) + 1 - form.x - form.y


@dataclass(frozen=True, slots=True)
class Folded:
    """A lookup at a varying: the number of it, and how many texels right and up of it."""

    varying: int
    right: int
    up: int


@dataclass(frozen=True, slots=True)
class Decisions:
    """What is to be done with a pass's program.

    lookups: for each lookup in program order, how it is folded; None where it is not.
    live: for each instruction, the components of its result that anything needs.
    varyings: what the folded lookups refer to.
    """

    lookups: tuple[Folded | None, ...]
    live: tuple[tuple[int, ...], ...]
    varyings: tuple[Varying, ...]


def decide(plan: Plan, pass_: FragmentPass, *, folding: bool = True) -> Decisions:
    """Decide for a pass as its plan writes it.

    folding: whether lookups may be folded at all; not where an arithmetic rounds coordinates more
    than float32 does, nor where no rasteriser is at work.
    """
    if not folding:
        return undecided(pass_.program)
    iterations = iterations_of(plan, pass_)
    bound = {b.unit: b for b in pass_.bindings}
    varyings: list[Varying] = []
    lookups = [
        _folded(plan, bound[unit], coordinates, varyings)
        for unit, coordinates in zip(
            pass_.program.lookup_units, lookup_coordinates(pass_, iterations), strict=True
        )
    ]
    folded = tuple(lookup is not None for lookup in lookups)
    return Decisions(tuple(lookups), live_components(pass_.program, folded), tuple(varyings))


def undecided(program: Program) -> Decisions:
    """For a program alone: nothing is folded, and only what is dead is left out."""
    count = len(program.lookup_units)
    return Decisions((None,) * count, live_components(program, (False,) * count), ())


def _folded(
    plan: Plan, binding: Binding, coordinates: tuple[Value, Value], varyings: list[Varying]
) -> Folded | None:
    """A lookup folded, if it reads one texel of a rectangle texture, at that texel's centre.

    It is at a varying that differs by whole texels, or at a new one while there is room for it.
    """
    texture = plan.texture(binding.texture)
    texels = whole_texels(texture, binding.sampler, coordinates)
    if texels is None:
        return None
    (s, t), extent = texels, texture.extent
    for number, varying in enumerate(varyings):
        right, up = _distance(s, varying.s), _distance(t, varying.t)
        if varying.extent == extent and right is not None and up is not None:
            return Folded(number, right, up)
    if len(varyings) == MOST_VARYINGS:
        return None
    varyings.append(Varying(s, t, extent))
    return Folded(len(varyings) - 1, 0, 0)


def _distance(form: TexelForm, other: TexelForm) -> int | None:
    """How many texels one is from the other, where that is the same in all fragments."""
    return form.constant - other.constant if form.slopes == other.slopes else None
