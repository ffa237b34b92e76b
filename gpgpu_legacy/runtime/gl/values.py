"""The numbers that a fragment pass gives its shader, for all iterations of a Repeat at once.

They are arrays (n, elements, 4) of float32: n is the number of iterations, or 1 where no number
varies. They are computed in float64, as interp/machine.py and plan/interpolation.py compute them
for one iteration, and so have the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np

from gpgpu_legacy.interp.numeric import decode, encode
from gpgpu_legacy.isa.program import Parameter, ParameterSpace
from gpgpu_legacy.lower.emit.glsl import PARAMETERS, attribute_name, parameter_name
from gpgpu_legacy.lower.values import F64, over_iterations, parameter_values
from gpgpu_legacy.plan.interpolation import is_bent, slopes
from gpgpu_legacy.plan.numbers import NumberVec4
from gpgpu_legacy.plan.plan import Corners, FragmentPass
from gpgpu_legacy.plan.textures import Format, Rect, constant_rect
from gpgpu_legacy.runtime.prepared import F32

Wanted = Callable[[str], bool]
Viewport = tuple[int, int, int, int]
"""A rectangle of a framebuffer as OpenGL takes it: x, y, width, height."""


def viewport(rect: Rect) -> Viewport:
    """A rectangle of texels as a viewport."""
    return (rect.x, rect.y, rect.width, rect.height)


def single(values: F32 | F64) -> F32:
    """The values rounded to float32, contiguous; those that are too large become infinite."""
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(values, np.float32)


def clear_values(value: NumberVec4, texel_format: Format, count: int = 1) -> F32:
    """The values of clears, (n, 4), rounded to the format, so that the driver rounds nothing."""
    values = single(over_iterations(value, count))
    return decode(encode(values, texel_format), texel_format)


_Row = TypeVar("_Row")


def of_iteration(rows: Sequence[_Row], iteration: int) -> _Row:
    """The row of an iteration; there is one for each, or one for all."""
    return rows[iteration if len(rows) > 1 else 0]


def byte_rows(values: F32 | F64) -> list[bytes]:
    """Rows (n, …) as OpenGL reads them, in float32."""
    return [row.tobytes() for row in single(values)]


def pass_values(pass_: FragmentPass, count: int, wanted: Wanted) -> Iterator[tuple[str, F32]]:
    """The attributes, parameters, state and rectangle of a pass, by the names of its uniforms.

    count: of iterations. wanted: whether the shader has the uniform of a name. An attribute has two
    planes, one for each triangle of the rectangle.
    """
    yield from _attributes(pass_, count, wanted)
    program = pass_.program
    for parameter in (
        *(Parameter(space, n) for space in PARAMETERS for n in program.parameter_indices(space)),
        *(Parameter(ParameterSpace.STATE, binding=b) for b in program.state_needed),
    ):
        name = parameter_name(parameter)
        if wanted(name):
            values = parameter_values(pass_, parameter, count)
            once = values if values.strides[0] else values[:1]
            yield name, single(once.reshape(-1, 1, 4))
    rect = constant_rect(pass_.rect)
    yield "origin", np.array([(rect.x, rect.y)], np.float32)
    yield "size", np.array([(rect.width, rect.height)], np.float32)


def _attributes(pass_: FragmentPass, count: int, wanted: Wanted) -> Iterator[tuple[str, F32]]:
    rect = constant_rect(pass_.rect)
    for attribute, corners in pass_.interpolated.items():
        name = attribute_name(attribute)
        if not wanted(f"{name}_base"):
            continue
        for part, values in zip(("base", "dx", "dy"), _planes(corners, rect, count), strict=True):
            yield f"{name}_{part}", values


@lru_cache(maxsize=1024)
def _planes(corners: Corners, rect: Rect, count: int) -> tuple[F32, F32, F32]:
    """Bases and slopes along x and y of the triangles' planes: (n, 2, 4); see triangle_planes."""
    numbers = [number for corner in corners for number in corner]
    values = over_iterations(numbers, count).reshape(-1, 4, 4)
    origin, right, far, top = (values[:, n] for n in range(4))
    with np.errstate(all="ignore"):
        bent = is_bent(origin, right, far, top).any(axis=1)[:, None]
        below, above, left, beyond = slopes(origin, right, far, top, (rect.width, rect.height))
        dx = np.stack([below, np.where(bent, above, below)], axis=1)
        dy = np.stack([np.where(bent, beyond, left), left], axis=1)
    return single(np.stack([origin, origin], axis=1)), single(dx), single(dy)
