"""The values that a pass gives its program, in all iterations of a Repeat at once.

Code is generated once for many passes, and reads these values from a table of native code or a
block of uniforms. Each number is computed as by plan/expand.py in its iteration: in float64, and in
the same order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.isa.ir import Attribute, AttributeKind, Parameter, ParameterSpace
from gpgpu_legacy.isa.state import state_vector
from gpgpu_legacy.plan.expand import at_iteration, corners_at
from gpgpu_legacy.plan.interpolation import is_planar
from gpgpu_legacy.plan.numbers import Affine, Number, NumberVec4, PerIteration, Table
from gpgpu_legacy.plan.plan import (
    ATTRIBUTE_DEFAULTS,
    Corners,
    FragmentPass,
    Plan,
    state_values,
    varies,
)
from gpgpu_legacy.plan.textures import constant_rect

F64 = NDArray[np.float64]

NO_PARAMETER = (0.0, 0.0, 0.0, 0.0)
"""The defaults for values that a pass does not give."""


def given_corners(pass_: FragmentPass) -> dict[Attribute, Corners]:
    """The attributes that a pass gives values to at its corners."""
    given = {Attribute(AttributeKind.TEXCOORD, t.set): t.corners for t in pass_.texcoords}
    return given | {Attribute(a.kind): a.corners for a in pass_.attributes}


def iterations_of(plan: Plan, pass_: FragmentPass) -> int:
    """The number of distinct iterations of a pass: 1 if all are alike."""
    if not varies(pass_):
        return 1
    return max(1, sum(times for times, each in plan.weighted_passes() if each is pass_))


def number_values(number: Number, count: int) -> F64:
    """A number in each of `count` iterations: (count,), or a single value if it is constant."""
    if isinstance(number, Affine):
        return number.base + number.step * np.arange(count, dtype=np.float64)
    if isinstance(number, Table):
        return np.array(number.values[:count], np.float64)
    return np.broadcast_to(np.float64(number), (count,))


def over_iterations(numbers: Sequence[Number], count: int) -> F64:
    """The values of numbers: (count, len(numbers)), or (1, len(numbers)) if none varies."""
    if not any(isinstance(number, PerIteration) for number in numbers):
        return np.array([numbers], np.float64)
    affine = [(number.base, number.step) for number in numbers if isinstance(number, Affine)]
    if len(affine) == len(numbers):
        bases, steps = np.array(affine, np.float64).T
        values: F64 = bases + steps * np.arange(count, dtype=np.float64)[:, None]
        return values
    return np.stack([number_values(number, count) for number in numbers], axis=-1)


def vector_values(vector: NumberVec4, count: int) -> F64:
    """A vector in each of `count` iterations: (count, 4)."""
    return np.broadcast_to(over_iterations(vector, count), (count, 4))


def parameter_values(pass_: FragmentPass, parameter: Parameter, count: int) -> F64:
    """A parameter that is not a constant of the program's text, or a vector of state: (count, 4).

    pass_: as its plan writes it. Raises InputError for unknown state.
    """
    if parameter.space is ParameterSpace.STATE:
        return state_vectors(pass_, parameter.binding, count)
    given = pass_.locals if parameter.space is ParameterSpace.LOCAL else pass_.env
    vectors = {each.index: each.value for each in given}
    return vector_values(vectors.get(parameter.index, NO_PARAMETER), count)


def state_vectors(pass_: FragmentPass, binding: str, count: int) -> F64:
    """A vector of state in each of `count` iterations: (count, 4).

    State is derived from other state (isa/state.py), iteration by iteration if any varies.
    """
    if gives_varying_state(pass_):
        passes = (at_iteration(pass_, iteration) for iteration in range(count))
        values = (state_values(each) for each in passes if isinstance(each, FragmentPass))
        return np.array([state_vector(binding, each) for each in values]).reshape(count, 4)
    vector = state_vector(binding, state_values(pass_))
    return np.broadcast_to(np.array(vector, np.float64), (count, 4))


def gives_varying_state(pass_: FragmentPass) -> bool:
    """Whether any number of the state that a pass gives differs from iteration to iteration."""
    return any(isinstance(number, PerIteration) for given in pass_.state for number in given.value)


def plane_values(pass_: FragmentPass, attribute: Attribute, count: int) -> F64:
    """An attribute over the rectangle, base + dx·x + dy·y: (count, 3, 4), the base first.

    x and y are the fragment's centre relative to the rectangle. pass_: as its plan writes it; the
    attribute's corner values lie in a plane. Attributes without values have their defaults.
    """
    corners = given_corners(pass_).get(attribute)
    default = np.array([ATTRIBUTE_DEFAULTS[attribute.kind], NO_PARAMETER, NO_PARAMETER])
    if corners is None:
        return np.broadcast_to(default, (count, 3, 4))
    rect = constant_rect(pass_.rect)
    origin, right, _, top = (vector_values(corner, count) for corner in corners)
    planes = np.stack([origin, (right - origin) / rect.width, (top - origin) / rect.height], axis=1)
    if attribute.kind is AttributeKind.FOGCOORD:
        planes[:, :, 1:] = default[:, 1:]
    return planes + 0.0  # a -0 becomes 0


def is_flat(corners: Corners, count: int = 1) -> bool:
    """Whether corner values lie in a plane in all of `count` iterations; exactly, if any varies.

    Affine values lie there in all iterations if their bases and their steps do.
    """
    numbers = [number for corner in corners for number in corner]
    if not any(isinstance(number, PerIteration) for number in numbers):
        return is_planar(corners)
    if any(isinstance(number, Table) for number in numbers):
        return all(is_planar(corners_at(corners, iteration)) for iteration in range(count))
    for component in zip(*corners, strict=True):
        a, b, c, d = (_base_and_step(number) for number in component)
        if any(p + r - q - s for p, q, r, s in zip(a, b, c, d, strict=True)):
            return False
    return True


def _base_and_step(number: Number) -> tuple[float, float]:
    assert not isinstance(number, Table)
    return (number.base, number.step) if isinstance(number, Affine) else (number, 0.0)
