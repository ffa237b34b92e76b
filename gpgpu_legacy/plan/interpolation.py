"""How attributes are interpolated: the planes through their values at a rectangle's corners.

The formulas use operators and NumPy's functions, as the opcodes' definitions do: on numbers and
arrays they compute, on expressions they become code.
"""

from __future__ import annotations

from functools import reduce
from itertools import starmap
from operator import and_
from typing import Any

import numpy as np

from gpgpu_legacy.isa.program import Vec4
from gpgpu_legacy.plan.numbers import constant_vector
from gpgpu_legacy.plan.plan import Corners
from gpgpu_legacy.plan.textures import Rect

AttributePlane = tuple[Vec4, Vec4, Vec4]
"""An interpolated attribute: the base, dx and dy of the vector base + dx·x + dy·y.

(x, y) is the fragment's centre relative to the rectangle: 0.5, 1.5, …
"""

PLANAR_TOLERANCE = 1e-6
"""How far corner values may lie from a plane and still be planar, relative to the largest."""


def is_bent(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Whether the numbers at (0, 0), (W, 0), (W, H) and (0, H) lie in no plane."""
    off = abs(a + c - b - d)
    sizes = (1.0, *map(abs, (a, b, c, d)))
    return reduce(and_, [off > PLANAR_TOLERANCE * size for size in sizes])


def slopes(a: Any, b: Any, c: Any, d: Any, size: tuple[Any, Any]) -> tuple[Any, Any, Any, Any]:
    """The slopes of the numbers: along x below and above, and along y left and right."""
    width, height = size
    return (b - a) / width, (c - d) / width, (d - a) / height, (c - b) / height


def interpolated(base: Any, dx: Any, dy: Any, x: Any, y: Any) -> Any:
    """A number at a fragment's centre, in this order of operations."""
    return base + dx * x + dy * y


def is_above(width: Any, height: Any, x: Any, y: Any) -> Any:
    """Whether the second triangle contains a fragment's centre."""
    return width * y > height * x


def window_position(x: Any, y: Any, origin: tuple[Any, Any]) -> tuple[Any, Any, Any, Any]:
    """fragment.position: window coordinates, depth 0.5 (rectangles are drawn at z = 0), 1/w = 1."""
    return x + origin[0], y + origin[1], np.float32(0.5), np.float32(1.0)


def quad_centre(own: Any, origin: Any, beside: float) -> Any:
    """The centre, along an axis, of a fragment of the quad that contains a given fragment.

    own: the given fragment's centre. origin: of the rectangle. beside: 0 for the first fragment of
    the quad, 1 for the next. Quads begin at even columns and rows of the target.
    """
    return np.floor((own + origin) * 0.5) * 2.0 - origin + (beside + 0.5)


def is_planar(corners: Corners) -> bool:
    """Whether corner values lie in a plane; only for expanded plans, where no number changes."""
    return not any(starmap(is_bent, zip(*map(constant_vector, corners), strict=True)))


def triangle_planes(corners: Corners, rect: Rect) -> list[AttributePlane]:
    """The planes of the two triangles below and above the diagonal from (0, 0) to (W, H).

    They are one plane if the corner values lie in it. A fragment whose centre is on the diagonal,
    y·W = x·H, has the same value in both and uses the first.
    """
    numbers = zip(*map(constant_vector, corners), strict=True)
    rises = [slopes(a, b, c, d, (rect.width, rect.height)) for a, b, c, d in numbers]
    below, above, left, right = zip(*rises, strict=True)
    base = constant_vector(corners[0])
    if is_planar(corners):
        return [(base, below, left)]
    return [(base, below, right), (base, above, left)]
