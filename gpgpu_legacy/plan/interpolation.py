"""Values at a rectangle's corners, interpolated over it: the planes that attributes lie in."""

from __future__ import annotations

from dataclasses import dataclass

from gpgpu_legacy.isa.ir import Vec4
from gpgpu_legacy.plan.plan import Corners, NumberVec4, Rect, constant_vector


@dataclass(frozen=True, slots=True)
class Plane:
    """An attribute over a rectangle: base + dx·x + dy·y, a vector each.

    x and y are the fragment's centre relative to the rectangle: 0.5, 1.5, …
    """

    base: Vec4
    dx: Vec4
    dy: Vec4


PLANAR_TOLERANCE = 1e-6
"""How far corner values may be from a plane and still lie in it, relative to the largest."""


def is_planar(corners: Corners) -> bool:
    """Whether corner values of an expanded plan lie in a plane."""
    for a, b, c, d in zip(*(constant_vector(corner) for corner in corners), strict=True):
        if abs(a + c - b - d) > PLANAR_TOLERANCE * max(1.0, abs(a), abs(b), abs(c), abs(d)):
            return False
    return True


def plane(corners: Corners, rect: Rect) -> Plane:
    """The plane through expanded corner values that lie in one."""
    origin, right, _, top = corners
    return Plane(
        constant_vector(origin),
        _slope(origin, right, rect.width),
        _slope(origin, top, rect.height),
    )


def triangle_planes(corners: Corners, rect: Rect) -> tuple[Plane, Plane]:
    """The planes of the triangles right of and above the diagonal from (0, 0) to (W, H).

    Where the corner values lie in one plane, both are that plane. A fragment whose centre lies on
    the diagonal, y·W = x·H, gets the same from both, and takes the first.
    """
    if is_planar(corners):
        whole = plane(corners, rect)
        return whole, whole
    origin, right, far, top = corners
    base = constant_vector(origin)
    lower = Plane(base, _slope(origin, right, rect.width), _slope(right, far, rect.height))
    upper = Plane(base, _slope(top, far, rect.width), _slope(origin, top, rect.height))
    return lower, upper


def _slope(start: NumberVec4, end: NumberVec4, length: int) -> Vec4:
    x, y, z, w = (
        (b - a) / length for a, b in zip(constant_vector(start), constant_vector(end), strict=True)
    )
    return (x, y, z, w)
