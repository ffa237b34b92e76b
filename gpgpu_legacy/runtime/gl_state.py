"""How OpenGL is told its state: materials, lights, matrices, fog, by the names of state vectors."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from ctypes import Array, c_float
from functools import lru_cache
from math import acos, degrees
from types import SimpleNamespace

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.isa.ir import Vec4
from gpgpu_legacy.runtime.gl_headers import GL

_Setter = Callable[[SimpleNamespace, Sequence[str], Vec4], None]

_FACES = {"front": GL.FRONT, "back": GL.BACK}
_COLORS = {
    "ambient": GL.AMBIENT,
    "diffuse": GL.DIFFUSE,
    "specular": GL.SPECULAR,
    "emission": GL.EMISSION,
    "position": GL.POSITION,
}
_MATRICES = {"modelview": GL.MODELVIEW, "projection": GL.PROJECTION, "texture": GL.TEXTURE}
_MATRIX_ROW = (
    r"state\.matrix\.(modelview(?=\[0\])|projection|texture|program)(?:\[(\d+)\])?\.row\[([0-3])\]"
)


def _set_material(gl: SimpleNamespace, where: Sequence[str], value: Vec4) -> None:
    gl.glMaterialfv(_FACES[where[0]], _COLORS[where[1]], _vector(value))


def _set_shininess(gl: SimpleNamespace, where: Sequence[str], value: Vec4) -> None:
    gl.glMaterialf(_FACES[where[0]], GL.SHININESS, value[0])


def _set_light(gl: SimpleNamespace, where: Sequence[str], value: Vec4) -> None:
    gl.glLightfv(GL.LIGHT0 + int(where[0]), _COLORS[where[1]], _vector(value))


def _set_attenuation(gl: SimpleNamespace, where: Sequence[str], value: Vec4) -> None:
    for name, each in zip(
        (
            *(GL.CONSTANT_ATTENUATION, GL.LINEAR_ATTENUATION),
            *(GL.QUADRATIC_ATTENUATION, GL.SPOT_EXPONENT),
        ),
        value,
        strict=True,
    ):
        gl.glLightf(GL.LIGHT0 + int(where[0]), name, each)


def _set_spot(gl: SimpleNamespace, where: Sequence[str], value: Vec4) -> None:
    """OpenGL takes the cutoff as an angle in degrees, the state vector has its cosine."""
    light, cosine = GL.LIGHT0 + int(where[0]), min(1.0, max(-1.0, value[3]))
    gl.glLightfv(light, GL.SPOT_DIRECTION, _vector(value))
    gl.glLightf(light, GL.SPOT_CUTOFF, degrees(acos(cosine)))


def _set_texture_environment(gl: SimpleNamespace, where: Sequence[str], value: Vec4) -> None:
    gl.glActiveTexture(GL.TEXTURE0 + int(where[0]))
    gl.glTexEnvfv(GL.TEXTURE_ENV, GL.TEXTURE_ENV_COLOR, _vector(value))


def _set_fog(gl: SimpleNamespace, where: Sequence[str], value: Vec4) -> None:
    """The fourth of the parameters, 1 / (end - start), is OpenGL's own work."""
    gl.glFogf(GL.FOG_DENSITY, value[0])
    gl.glFogf(GL.FOG_START, value[1])
    gl.glFogf(GL.FOG_END, value[2])


def _set_depth_range(gl: SimpleNamespace, where: Sequence[str], value: Vec4) -> None:
    """The third component, far - near, is OpenGL's own work."""
    near, far = value[:2]
    if not (0.0 <= near <= 1.0 and 0.0 <= far <= 1.0):
        raise PlanError(
            f"state.depth.range = ({near}, {far}): OpenGL clamps both to [0, 1]; give them so"
        )
    gl.glDepthRange(near, far)


def _set_matrix_row(gl: SimpleNamespace, where: Sequence[str], value: Vec4) -> None:
    """One row of a matrix; the other rows stay as they are."""
    kind, number, row = where[0], int(where[1] or 0), int(where[2])
    _choose_matrix(gl, kind, number)
    columns = (c_float * 16)()  # not all drivers give the transposed matrix
    gl.glGetFloatv(GL.CURRENT_MATRIX, columns)
    columns[row::4] = list(value)
    gl.glLoadMatrixf(columns)


def reset(gl: SimpleNamespace, binding: str) -> None:
    """Make the matrix that a binding is a row of, if it is one, the identity again."""
    match = re.fullmatch(_MATRIX_ROW, binding)
    if match is not None:
        _choose_matrix(gl, match[1], int(match[2] or 0))
        gl.glLoadIdentity()


def _choose_matrix(gl: SimpleNamespace, kind: str, number: int) -> None:
    """Make it the current one."""
    gl.glActiveTexture(GL.TEXTURE0 + (number if kind == "texture" else 0))
    gl.glMatrixMode(_MATRICES.get(kind, GL.MATRIX0 + number))


_STATE: Mapping[str, _Setter] = {
    r"state\.material\.(front|back)\.(ambient|diffuse|specular|emission)": _set_material,
    r"state\.material\.(front|back)\.shininess": _set_shininess,
    r"state\.light\[(\d+)\]\.(ambient|diffuse|specular|position)": _set_light,
    r"state\.light\[(\d+)\]\.attenuation": _set_attenuation,
    r"state\.light\[(\d+)\]\.spot\.direction": _set_spot,
    r"state\.lightmodel\.ambient": (
        lambda gl, _, value: gl.glLightModelfv(GL.LIGHT_MODEL_AMBIENT, _vector(value))
    ),
    r"state\.texenv\[(\d+)\]\.color": _set_texture_environment,
    r"state\.fog\.color": lambda gl, _, value: gl.glFogfv(GL.FOG_COLOR, _vector(value)),
    r"state\.fog\.params": _set_fog,
    r"state\.depth\.range": _set_depth_range,
    _MATRIX_ROW: _set_matrix_row,
}


def _vector(value: Vec4) -> Array[c_float]:
    return (c_float * 4)(*value)


@lru_cache(maxsize=1024)
def setter(binding: str) -> Callable[[SimpleNamespace, Vec4], None] | None:
    """What gives a vector of OpenGL's state its value; None where OpenGL cannot be told it."""
    for pattern, set_value in _STATE.items():
        match = re.fullmatch(pattern, binding)
        if match is not None:
            where = match.groups()
            return lambda gl, value: set_value(gl, where, value)
    return None
