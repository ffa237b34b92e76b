"""The numbers that a fragment pass gives its shader, for all iterations of a Repeat at once.

Each is an array (n, elements, 4) float32: n is the number of iterations, or 1 where no number in it
varies. They are computed in float64 as interp/machine.py and plan/interpolation.py do one by
one, so that the bits are theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.interp.numeric import decode, encode
from gpgpu_legacy.isa.fog import FOG_COLOR, FOG_COORDINATE, FOG_PARAMS
from gpgpu_legacy.isa.ir import Attribute, AttributeKind, ParameterSpace
from gpgpu_legacy.lower.emit.glsl import PARAMETERS, attribute_name, state_name
from gpgpu_legacy.lower.values import (
    F64,
    NO_PARAMETER,
    given_corners,
    gives_varying_state,
    over_iterations,
    state_vectors,
)
from gpgpu_legacy.plan.formats import Format
from gpgpu_legacy.plan.interpolation import PLANAR_TOLERANCE
from gpgpu_legacy.plan.numbers import NumberVec4
from gpgpu_legacy.plan.plan import ATTRIBUTE_DEFAULTS, Corners, FragmentPass
from gpgpu_legacy.plan.textures import Rect, constant_rect

F32 = NDArray[np.float32]
Wanted = Callable[[str], bool]


def single(values: F64) -> F32:
    """Rounded to float32, in one piece; what is too large becomes infinite."""
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(values, np.float32)


def clear_values(value: NumberVec4, texel_format: Format, count: int = 1) -> F32:
    """What clears set texels to, (n, 4), rounded to the format so that no driver has to."""
    values = single(over_iterations(value, count))
    return decode(encode(values, texel_format), texel_format)


def in_iteration(values: F32 | F64, iteration: int) -> list[float]:
    """The vector of one iteration, of (n, 4) or, where all have the same, (1, 4)."""
    vector: list[float] = values[iteration if len(values) > 1 else 0].tolist()
    return vector


def pass_values(each: FragmentPass, count: int, wanted: Wanted) -> Iterator[tuple[str, F32]]:
    """The attributes, parameters and state that a shader reads, by the names of its uniforms.

    count: the iterations. wanted: whether the shader has the uniform of a name. An attribute's
    planes are two, those of the rectangle's triangles.
    """
    yield from _attributes(each, count, wanted)
    for space, given in ((ParameterSpace.LOCAL, each.locals), (ParameterSpace.ENV, each.env)):
        vectors: dict[int, NumberVec4] = {p.index: p.value for p in given}
        for index in each.program.parameter_indices(space):
            name = f"{PARAMETERS[space]}{index}"
            if wanted(name):
                vector = over_iterations(vectors.get(index, NO_PARAMETER), count)
                yield name, single(vector.reshape(-1, 1, 4))
    yield from _state(each, count, wanted)


def _attributes(each: FragmentPass, count: int, wanted: Wanted) -> Iterator[tuple[str, F32]]:
    given, rect = given_corners(each), constant_rect(each.rect)
    fog = (FOG_COORDINATE,) if each.program.fog is not None else ()
    for attribute in dict.fromkeys((*each.program.attributes_read, *fog)):
        name = attribute_name(attribute)
        if attribute.kind is AttributeKind.POSITION or not wanted(f"{name}_base"):
            continue
        corners = given.get(attribute) or _default_corners(attribute)
        for part, values in zip(("base", "dx", "dy"), _planes(corners, rect, count), strict=True):
            yield f"{name}_{part}", values


def _default_corners(attribute: Attribute) -> Corners:
    value = ATTRIBUTE_DEFAULTS[attribute.kind]
    return (value, value, value, value)


@lru_cache(maxsize=1024)
def _planes(corners: Corners, rect: Rect, count: int) -> tuple[F32, F32, F32]:
    """Bases and slopes along x and y of the triangles' planes: (n, 2, 4); see triangle_planes."""
    numbers = [number for corner in corners for number in corner]
    values = over_iterations(numbers, count).reshape(-1, 4, 4)
    origin, right, far, top = (values[:, n] for n in range(4))
    with np.errstate(all="ignore"):
        largest = np.maximum(1.0, np.abs(values).max(axis=1))
        off = np.abs(origin + far - right - top) > PLANAR_TOLERANCE * largest
        bent = off.any(axis=1)[:, None]
        across, up = (right - origin) / rect.width, (top - origin) / rect.height
        dx = np.stack([across, np.where(bent, (far - top) / rect.width, across)], axis=1)
        dy = np.stack([np.where(bent, (far - right) / rect.height, up), up], axis=1)
    return single(np.stack([origin, origin], axis=1)), single(dx), single(dy)


def _state(each: FragmentPass, count: int, wanted: Wanted) -> Iterator[tuple[str, F32]]:
    fog = (FOG_COLOR, FOG_PARAMS) if each.program.fog is not None else ()
    names = {binding: state_name(binding) for binding in (*each.program.state_bindings, *fog)}
    read = {binding: name for binding, name in names.items() if wanted(name)}
    if not read:
        return
    iterations = count if gives_varying_state(each) else 1
    for binding, name in read.items():
        yield name, single(state_vectors(each, binding, iterations).reshape(-1, 1, 4))
