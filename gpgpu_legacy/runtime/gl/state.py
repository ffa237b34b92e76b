"""Setting OpenGL's state by the names of state vectors: materials, lights, matrices, fog."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import product
from math import acos, degrees
from types import SimpleNamespace

import numpy as np

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.frozen import frozen
from gpgpu_legacy.isa.ir import Vec4
from gpgpu_legacy.isa.state import parse_vector
from gpgpu_legacy.runtime.gl.headers import GL
from gpgpu_legacy.runtime.gl.values import single

Setter = Callable[[SimpleNamespace, Vec4], object]
"""Gives a vector of OpenGL's state its value."""

_SetIndexed = Callable[[SimpleNamespace, int, Vec4], object]
"""The same for a light or a texture unit, by its index; other state has index 0."""

_FACES = {"front": GL.FRONT, "back": GL.BACK}
_COLORS = {"ambient": GL.AMBIENT, "diffuse": GL.DIFFUSE, "specular": GL.SPECULAR}
_MATERIALS = {**_COLORS, "emission": GL.EMISSION, "shininess": GL.SHININESS}
_LIGHT_VECTORS = {**_COLORS, "position": GL.POSITION}
_ATTENUATION = (
    GL.CONSTANT_ATTENUATION,
    GL.LINEAR_ATTENUATION,
    GL.QUADRATIC_ATTENUATION,
    GL.SPOT_EXPONENT,
)


def _vector_by(function: str, *names: int) -> _SetIndexed:
    return lambda gl, _, value: getattr(gl, function)(*names, value)


def _light_vector(name: int) -> _SetIndexed:
    return lambda gl, light, value: gl.glLightfv(GL.LIGHT0 + light, name, value)


def _set_attenuation(gl: SimpleNamespace, light: int, value: Vec4) -> None:
    for name, number in zip(_ATTENUATION, value, strict=True):
        gl.glLightf(GL.LIGHT0 + light, name, number)


def _set_spot(gl: SimpleNamespace, light: int, value: Vec4) -> None:
    """OpenGL takes the cutoff as an angle in degrees, the state vector has its cosine."""
    cosine = min(1.0, max(-1.0, value[3]))
    gl.glLightfv(GL.LIGHT0 + light, GL.SPOT_DIRECTION, value)
    gl.glLightf(GL.LIGHT0 + light, GL.SPOT_CUTOFF, degrees(acos(cosine)))


def _set_texture_environment(gl: SimpleNamespace, unit: int, value: Vec4) -> None:
    gl.glActiveTexture(GL.TEXTURE0 + unit)
    gl.glTexEnvfv(GL.TEXTURE_ENV, GL.TEXTURE_ENV_COLOR, value)


def _set_fog(gl: SimpleNamespace, _: int, value: Vec4) -> None:
    """OpenGL itself computes the fourth of the parameters, 1 / (end - start)."""
    for name, number in zip((GL.FOG_DENSITY, GL.FOG_START, GL.FOG_END), value, strict=False):
        gl.glFogf(name, number)


def _set_depth_range(gl: SimpleNamespace, _: int, value: Vec4) -> None:
    """OpenGL itself computes the third component, far - near."""
    near, far = value[:2]
    if not (0.0 <= near <= 1.0 and 0.0 <= far <= 1.0):
        raise PlanError(
            f"state.depth.range = ({near}, {far}): OpenGL clamps both to [0, 1]; give them so"
        )
    gl.glDepthRange(near, far)


_SETTERS: Mapping[tuple[str, ...], _SetIndexed] = {
    **{
        ("material", face, name): _vector_by("glMaterialfv", number, parameter)
        for (face, number), (name, parameter) in product(_FACES.items(), _MATERIALS.items())
    },
    **{("light", name): _light_vector(vector) for name, vector in _LIGHT_VECTORS.items()},
    ("light", "attenuation"): _set_attenuation,
    ("light", "spot", "direction"): _set_spot,
    ("lightmodel", "ambient"): _vector_by("glLightModelfv", GL.LIGHT_MODEL_AMBIENT),
    ("texenv", "color"): _set_texture_environment,
    ("fog", "color"): _vector_by("glFogfv", GL.FOG_COLOR),
    ("fog", "params"): _set_fog,
    ("depth", "range"): _set_depth_range,
}


@lru_cache(maxsize=1024)
def setter(binding: str) -> Setter | None:
    """The setter of a state vector, by its canonical name; None if OpenGL cannot set it."""
    row = matrix_row(binding)
    if row is not None:
        return row.set
    names, indices = parse_vector(binding)
    set_value = _SETTERS.get(names)
    if set_value is None:
        return None
    index = indices[0] if indices else 0
    return lambda gl, value: set_value(gl, index, value)


# Matrices ----------------------------------------------------------------------------------------


@frozen
class MatrixRow:
    """A row of one of OpenGL's matrices. unit: the texture unit whose matrix it is, or 0."""

    mode: int
    unit: int
    row: int

    def set(self, gl: SimpleNamespace, value: Vec4) -> None:
        """Set the row; the other rows stay as they are."""
        self._choose(gl)
        columns = np.zeros(16, np.float32)  # not all drivers give the transposed matrix
        gl.glGetFloatv(GL.CURRENT_MATRIX, columns)
        columns[self.row :: 4] = single(np.array(value))
        gl.glLoadMatrixf(columns)

    def reset(self, gl: SimpleNamespace) -> None:
        """Make the whole matrix the identity again."""
        self._choose(gl)
        gl.glLoadIdentity()

    def _choose(self, gl: SimpleNamespace) -> None:
        """Make the matrix the current one."""
        gl.glActiveTexture(GL.TEXTURE0 + self.unit)
        gl.glMatrixMode(self.mode)


@lru_cache(maxsize=1024)
def matrix_row(binding: str) -> MatrixRow | None:
    """The row of a matrix that a state vector is; None if it is no row, or cannot be set."""
    match parse_vector(binding):
        case ("matrix", "modelview", "row"), (0, row):
            return MatrixRow(GL.MODELVIEW, 0, row)
        case ("matrix", "projection", "row"), (row,):
            return MatrixRow(GL.PROJECTION, 0, row)
        case ("matrix", "texture", "row"), (unit, row):
            return MatrixRow(GL.TEXTURE, unit, row)
        case ("matrix", "program", "row"), (number, row):
            return MatrixRow(GL.MATRIX0 + number, 0, row)
    return None
