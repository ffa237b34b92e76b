"""Lookups folded into varyings: the rasteriser interpolates their coordinates, not the program.

A lookup can be folded if its coordinates are affine and lie on texel centres: interpolated from the
corners, however roughly, they still choose the same texel. Lookups along a row or a column share
one varying and differ by a whole number of texels. The instructions that computed their coordinates
are then dead, unless others read them.
"""

from __future__ import annotations

from gpgpu_legacy.frozen import frozen
from gpgpu_legacy.isa.ir import Program
from gpgpu_legacy.lower.analysis.affine import TexelForm, Value, lookup_coordinates
from gpgpu_legacy.lower.analysis.fusion import whole_texels
from gpgpu_legacy.lower.analysis.liveness import live_components
from gpgpu_legacy.lower.values import iterations_of
from gpgpu_legacy.plan.numbers import Affine
from gpgpu_legacy.plan.plan import Binding, FragmentPass, Plan
from gpgpu_legacy.plan.textures import Extent, Rect

MOST_VARYINGS = 8  # of a shader: a quarter of OpenGL 4.0's minimum


@frozen
class Varying:
    """Coordinates that the rasteriser interpolates, for lookups in textures of one extent.

    s, t: the texels whose centres they are.
    """

    s: TexelForm
    t: TexelForm
    extent: Extent

    def corners(self, rect: Rect) -> tuple[Affine, ...]:
        """Both, as fractions of the extent, at the corners (0, 0), (W, 0), (W, H), (0, H)."""
        corners = ((0, 0), (rect.width, 0), (rect.width, rect.height), (0, rect.height))
        return tuple(
            Affine(_twice_centre(form, x, y) / (2 * size), form.iteration / size)
            for x, y in corners
            for form, size in ((self.s, self.extent.width), (self.t, self.extent.height))
        )


def _twice_centre(form: TexelForm, x: int, y: int) -> int:
    """Twice the coordinate at a corner of the rectangle, half a fragment from a centre.

    An integer, so that fractions of an extent are rounded once.
    """
    return 2 * (form.constant + form.x * x + form.y * y) + 1 - form.x - form.y


@frozen
class Folded:
    """A lookup at a varying: its number, and the texels to the right of it and above."""

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
    live: tuple[tuple[int, ...], ...]
    varyings: tuple[Varying, ...]


def decide(plan: Plan, pass_: FragmentPass, *, folding: bool = True) -> Decisions:
    """Decide for a pass as its plan writes it.

    folding: whether lookups may be folded at all; not if an arithmetic rounds coordinates more than
    float32, nor without a rasteriser.
    """
    if not folding or pass_.in_quads:
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
    """For a program alone: nothing is folded, and only dead instructions are left out."""
    count = len(program.lookup_units)
    return Decisions((None,) * count, live_components(program, (False,) * count), ())


def _folded(
    plan: Plan, binding: Binding, coordinates: tuple[Value, Value], varyings: list[Varying]
) -> Folded | None:
    """A lookup folded, if it reads one texel of a rectangle texture, at that texel's centre.

    It uses a varying at a distance of whole texels, or a new one while there is room.
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
    """The distance of the two in texels, if it is the same in all fragments."""
    return form.constant - other.constant if form.slopes == other.slopes else None
