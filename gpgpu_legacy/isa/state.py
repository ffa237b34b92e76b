"""The values of GL state: the caller's, GL's initial values, and values derived from both.

Section 3.11.3.2 of the extension says what is derived from what; the initial values are those of
the GL 1.5 specification, section 6.2. State vectors go by their canonical names
(isa/state_bindings.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.program import Vec4
from gpgpu_legacy.isa.state_bindings import ROWS, BindingError, StateBinding, StateElement, resolve

# Values that the caller gives -----------------------------------------------------------------

_ELEMENT = re.compile(r"([A-Za-z]+)(?:\[([0-9]{1,9})\])?")


def canonical_state(given: Mapping[str, object]) -> dict[str, Vec4]:
    """State values by canonical name, from the caller's names and values.

    A name may omit `state.`, `front` and an index of 0. A value is one number or up to four (the
    missing ones are 0, 0, 1, as in a program's constants). The value of a whole matrix is 4×4, row
    first, and multiplies column vectors. Values are rounded to float32, as GL stores them. Raises
    InputError for a name that binds no state and for a value of another shape.
    """
    values: dict[str, Vec4] = {}
    for name, value in given.items():
        binding = _given_binding(name)
        rows = [value] if binding.is_single else _matrix_rows(name, value, len(binding.vectors))
        for vector, row in zip(binding.vectors, rows, strict=True):
            values[vector] = _given_vector(name, row)
    return values


def _given_binding(name: str) -> StateBinding:
    elements = [StateElement("state")]
    for part in name.removeprefix("state.").split("."):
        match = _ELEMENT.fullmatch(part)
        if match is None:
            raise InputError(
                f"state {name!r} is not a state binding; write it as in light[0].position"
            )
        elements.append(StateElement(match[1], None if match[2] is None else int(match[2])))
    try:
        binding = resolve(elements, lambda limit: 4 if limit == ROWS else 10**9)
    except BindingError as error:
        raise InputError(f"state {name!r}: {error}") from None
    if binding.length != len(elements):
        raise InputError(f"state {name!r} has a swizzle; name the vector without a swizzle")
    return binding


def _matrix_rows(name: str, value: object, count: int) -> list[object]:
    rows = _numbers(value)
    if rows.shape != (count, 4):
        raise InputError(f"state {name!r} is a matrix; give {count} rows of 4 numbers")
    return list(rows)


def _given_vector(name: str, value: object) -> Vec4:
    numbers = _numbers(value)
    if numbers.ndim != 1 or not 1 <= len(numbers) <= 4:
        raise InputError(f"state {name!r} is {value!r}; give 1 to 4 numbers")
    return _rounded([*numbers, *(0.0, 0.0, 0.0, 1.0)[len(numbers) :]])


def _numbers(value: object) -> _Matrix:
    """The numbers in a value; an empty array if there is anything else in it."""
    try:
        return np.atleast_1d(np.asarray(value, np.float64))
    except (TypeError, ValueError):
        return np.empty(0)


# Values of bindings ------------------------------------------------------------------------------

_BLACK: Vec4 = (0.0, 0.0, 0.0, 1.0)
_WHITE: Vec4 = (1.0, 1.0, 1.0, 1.0)
_NOTHING: Vec4 = (0.0, 0.0, 0.0, 0.0)

_INITIAL: Mapping[str, Vec4] = {
    "material.ambient": (0.2, 0.2, 0.2, 1.0),
    "material.diffuse": (0.8, 0.8, 0.8, 1.0),
    "material.specular": _BLACK,
    "material.emission": _BLACK,
    "material.shininess": _BLACK,
    "light.ambient": _BLACK,
    "light.diffuse": _BLACK,
    "light.specular": _BLACK,
    "light.position": (0.0, 0.0, 1.0, 0.0),
    "light.attenuation": (1.0, 0.0, 0.0, 0.0),
    "light.spot.direction": (0.0, 0.0, -1.0, -1.0),
    "lightmodel.ambient": (0.2, 0.2, 0.2, 1.0),
    "texenv.color": _NOTHING,
    "fog.color": _NOTHING,
    "fog.params": (1.0, 0.0, 1.0, 1.0),
    "depth.range": (0.0, 1.0, 1.0, 1.0),
}
"""GL's initial values, by name without the face of a material."""

_Matrix = NDArray[np.float64]


def state_vector(binding: str, given: Mapping[str, Vec4]) -> Vec4:
    """The value of a state vector, by its canonical name, rounded to float32.

    given: values by canonical name, from canonical_state; missing ones have GL's initial values.
    State that depends on other state is derived (section 3.11.3.2) unless it is given itself;
    1/(end - start) of the fog and far - near of the depth range are always derived. Light positions
    and directions are in eye coordinates. The inverse of a singular matrix, which the specification
    leaves undefined, is the identity. Raises InputError if the name is not a state vector's.
    """
    names, indices = parse_vector(binding)
    value = given.get(binding)
    if value is None:
        value = _derived(names, indices, given)
    if names == ("fog", "params"):
        density, start, end, _ = value
        value = (density, start, end, 1.0 / (end - start) if end != start else 1.0)
    if names == ("depth", "range"):
        near, far, _, _ = value
        value = (near, far, far - near, 1.0)
    return _rounded(value)


def _rounded(vector: Iterable[float]) -> Vec4:
    with np.errstate(over="ignore"):
        x, y, z, w = (float(np.float32(component)) for component in vector)
    return (x, y, z, w)


def _derived(  # noqa: PLR0911 - a case each
    names: tuple[str, ...], indices: tuple[int, ...], given: Mapping[str, Vec4]
) -> Vec4:
    """The value of a state vector that is not given: GL's initial value, or a derived one."""

    def state(name: str) -> Vec4:
        return state_vector(f"state.{name}", given)

    match names:
        case ("material", _, part):
            return _INITIAL[f"material.{part}"]
        case ("light", "half"):
            return _half_angle(state(f"light[{indices[0]}].position"))
        case ("light", "diffuse" | "specular") if not indices[0]:
            return _WHITE
        case ("lightmodel", face, _):  # the scene colour a_cs·a_cm + e_cm with the diffuse alpha
            ambient, emission, diffuse = (
                state(f"material.{face}.{part}") for part in ("ambient", "emission", "diffuse")
            )
            scene = state("lightmodel.ambient")
            r, g, b = (scene[i] * ambient[i] + emission[i] for i in range(3))
            return (r, g, b, diffuse[3])
        case ("lightprod", face, part):
            light, material = state(f"light[{indices[0]}].{part}"), state(f"material.{face}.{part}")
            r, g, b = (light[i] * material[i] for i in range(3))
            return (r, g, b, material[3])
        case ("matrix", name, *modifier, _):
            number = f"[{indices[0]}]" if len(indices) > 1 else ""
            matrix = _matrix(".".join(("state.matrix", name + number, *modifier)), given)
            x, y, z, w = matrix[indices[-1]].tolist()
            return (x, y, z, w)
    return _INITIAL[".".join(names)]


def parse_vector(binding: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The names after `state` in a state vector's canonical name, and all of its indices.

    Raises InputError if the name is not a state vector's.
    """
    resolved = _given_binding(binding)
    if not resolved.is_single or resolved.vectors != (binding,):
        raise InputError(
            f"{binding} is not the canonical name of a state vector; did you mean "
            f"{resolved.vectors[0]}?"
        )
    parts = [_ELEMENT.fullmatch(part) for part in binding.split(".")[1:]]
    names = tuple(part[1] for part in parts if part)
    return names, tuple(int(part[2]) for part in parts if part and part[2])


def _half_angle(position: Vec4) -> Vec4:
    """The infinite half-angle vector: normalize(normalize(position) + (0, 0, 1)), w = 1."""
    x, y, z, w = position
    eye = np.array([x, y, z]) / (w or 1.0)
    x, y, z = _normalized(_normalized(eye) + np.array([0.0, 0.0, 1.0])).tolist()
    return (x, y, z, 1.0)


def _normalized(vector: _Matrix) -> _Matrix:
    length = np.linalg.norm(vector)
    return vector if length == 0.0 else vector / length


def _matrix(name: str, given: Mapping[str, Vec4]) -> _Matrix:
    """A matrix by its canonical name, without `.row[n]`. Given rows override derived ones."""
    base, _, modifier = name.rpartition(".")
    match modifier:
        case "inverse":
            matrix = _inverse(_matrix(base, given))
        case "transpose":
            matrix = _matrix(base, given).T.copy()
        case "invtrans":
            matrix = _inverse(_matrix(base, given)).T.copy()
        case "mvp":
            projection = _matrix("state.matrix.projection", given)
            matrix = projection @ _matrix("state.matrix.modelview[0]", given)
        case _:
            matrix = np.eye(4)
    for row in range(4):
        matrix[row] = given.get(f"{name}.row[{row}]", matrix[row])
    return matrix


def _inverse(matrix: _Matrix) -> _Matrix:
    try:
        return np.linalg.inv(matrix).astype(np.float64)
    except np.linalg.LinAlgError:
        return np.eye(4)
