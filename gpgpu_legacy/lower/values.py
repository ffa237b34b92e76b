"""The values that a pass gives its program, in all iterations of a Repeat at once.

Code is generated once for many passes, and reads these values from a table of native code or a
block of uniforms. Each number is computed as plan/expand.py computes it in its iteration: in
float64, and in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.isa.expressions import Place, PlanePart
from gpgpu_legacy.isa.program import Attribute, AttributeKind, Parameter, ParameterSpace
from gpgpu_legacy.isa.state import state_vector
from gpgpu_legacy.plan.expand import at_iteration, corners_at
from gpgpu_legacy.plan.interpolation import is_planar, slopes
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
"""The value of a parameter that a pass does not set."""


def iterations_of(plan: Plan, pass_: FragmentPass) -> int:
    """The number of times that a plan runs a pass; 1 if all its iterations are alike."""
    if not varies(pass_):
        return 1
    return max(1, sum(times for times, other in plan.weighted_passes() if other is pass_))


def over_iterations(numbers: Sequence[Number], count: int) -> F64:
    """Numbers in each of `count` iterations: (count, len(numbers)).

    The shape is (1, len(numbers)) if no number varies.
    """
    if not any(isinstance(number, PerIteration) for number in numbers):
        return np.array([numbers], np.float64)
    return np.stack([_number_values(number, count) for number in numbers], axis=-1)


def _number_values(number: Number, count: int) -> F64:
    if isinstance(number, Affine):
        return number.base + number.step * np.arange(count, dtype=np.float64)
    if isinstance(number, Table):
        return np.array(number.values[:count], np.float64)
    return np.broadcast_to(np.float64(number), (count,))


def vector_values(vector: NumberVec4, count: int) -> F64:
    """A vector in each of `count` iterations: (count, 4)."""
    return np.broadcast_to(over_iterations(vector, count), (count, 4))


def parameter_values(pass_: FragmentPass, parameter: Parameter, count: int) -> F64:
    """A program parameter, or a vector of state, in each of `count` iterations: (count, 4).

    pass_: as its plan writes it. parameter: no constant of the program's text. Raises InputError
    for unknown state.
    """
    if parameter.space is ParameterSpace.STATE:
        return _state_vectors(pass_, parameter.binding, count)
    return vector_values(pass_.parameters.get(parameter.text, NO_PARAMETER), count)


def given_values(source: Parameter | PlanePart | Place, pass_: FragmentPass, count: int) -> F64:
    """A value that a pass gives, and no position, in each of `count` iterations: (count, 4)."""
    match source:
        case Parameter():
            return parameter_values(pass_, source, count)
        case PlanePart(attribute=attribute, part=part):
            return _plane_values(pass_, attribute, count)[:, part]
    raise AssertionError(source)


def _state_vectors(pass_: FragmentPass, binding: str, count: int) -> F64:
    """A vector of state in each of `count` iterations: (count, 4).

    It is derived from other state (isa/state.py), iteration by iteration if any of that varies.
    """
    varying = any(isinstance(n, PerIteration) for given in pass_.state for n in given.value)
    passes = (at_iteration(pass_, i) for i in range(count if varying else 1))
    vectors = np.array([state_vector(binding, state_values(p)) for p in passes], np.float64)
    return np.broadcast_to(vectors.reshape(-1, 4), (count, 4))


def _plane_values(pass_: FragmentPass, attribute: Attribute, count: int) -> F64:
    """An attribute's base, dx and dy in each of `count` iterations: (count, 3, 4).

    The attribute is base + dx·x + dy·y, where (x, y) is the fragment's centre relative to the
    rectangle. pass_: as its plan writes it. attribute: its corner values lie in a plane; without
    values it has its default.
    """
    corners = pass_.corners.get(attribute)
    default = np.array([ATTRIBUTE_DEFAULTS[attribute.kind], NO_PARAMETER, NO_PARAMETER])
    if corners is None:
        return np.broadcast_to(default, (count, 3, 4))
    rect = constant_rect(pass_.rect)
    a, b, c, d = (vector_values(corner, count) for corner in corners)
    dx, _, dy, _ = slopes(a, b, c, d, (rect.width, rect.height))
    planes = np.stack([a, dx, dy], axis=1)
    if attribute.kind is AttributeKind.FOGCOORD:
        planes[:, :, 1:] = default[:, 1:]
    return planes + 0.0  # a -0 becomes 0


def bent_attributes(
    pass_: FragmentPass, read: Iterable[Attribute], count: int
) -> tuple[Attribute, ...]:
    """The attributes in `read` whose corner values leave their plane in some iteration.

    If corner values are Affine, so is their distance from the plane: it is greatest in the first
    iteration or the last.
    """

    def is_bent(corners: Corners) -> bool:
        tables = any(isinstance(number, Table) for corner in corners for number in corner)
        iterations = range(count) if tables else {0, count - 1}
        return not all(is_planar(corners_at(corners, i)) for i in iterations)

    given = pass_.corners
    return tuple(a for a in read if a in given and is_bent(given[a]))
