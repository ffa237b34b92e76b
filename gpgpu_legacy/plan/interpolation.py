"""How attributes are interpolated: the planes through their values at a rectangle's corners."""

from __future__ import annotations

from gpgpu_legacy.frozen import frozen
from gpgpu_legacy.isa.ir import Vec4
from gpgpu_legacy.plan.numbers import NumberVec4, constant_vector
from gpgpu_legacy.plan.plan import Corners
from gpgpu_legacy.plan.textures import Rect


@frozen
class AttributePlane:
    """An interpolated attribute: the vector base + dx·x + dy·y.

    (x, y) is the fragment's centre relative to the rectangle: 0.5, 1.5, …
    """

    base: Vec4
    dx: Vec4
    dy: Vec4


PLANAR_TOLERANCE = 1e-6
"""How far corner values may lie from a plane and still be planar, relative to the largest."""


def is_planar(corners: Corners) -> bool:
    """Whether corner values lie in a plane; only for expanded plans, where no number changes."""
    for a, b, c, d in zip(*(constant_vector(corner) for corner in corners), strict=True):
        if abs(a + c - b - d) > PLANAR_TOLERANCE * max(1.0, abs(a), abs(b), abs(c), abs(d)):
            return False
    return True


def plane(corners: Corners, rect: Rect) -> AttributePlane:
    """The plane of corner values that `is_planar` accepts, over a rectangle."""
    origin, right, _, top = corners
    return AttributePlane(
        constant_vector(origin),
        _slope(origin, right, rect.width),
        _slope(origin, top, rect.height),
    )


def triangle_planes(corners: Corners, rect: Rect) -> tuple[AttributePlane, AttributePlane]:
    """The planes of the two triangles below and above the diagonal from (0, 0) to (W, H).

    Both are the same plane if the corner values lie in one. A fragment whose centre is on the
    diagonal, y·W = x·H, has the same value in both and uses the first.
    """
    if is_planar(corners):
        whole = plane(corners, rect)
        return whole, whole
    origin, right, far, top = corners
    base = constant_vector(origin)
    lower = AttributePlane(base, _slope(origin, right, rect.width), _slope(right, far, rect.height))
    upper = AttributePlane(base, _slope(top, far, rect.width), _slope(origin, top, rect.height))
    return lower, upper


def _slope(start: NumberVec4, end: NumberVec4, length: int) -> Vec4:
    x, y, z, w = (
        (b - a) / length for a, b in zip(constant_vector(start), constant_vector(end), strict=True)
    )
    return (x, y, z, w)
