"""Mappings, indices, vectors and arrays among the arguments of a drawing, checked."""

from __future__ import annotations

from operator import index
from typing import Any, SupportsIndex, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.ir import Vec4
from gpgpu_legacy.languages.arb.limits import DEFAULT_LIMITS

_COUNTS = {
    "textures": DEFAULT_LIMITS.texture_image_units,
    "texcoords": DEFAULT_LIMITS.texture_coordinate_sets,
    "local": DEFAULT_LIMITS.local_parameters,
    "env": DEFAULT_LIMITS.environment_parameters,
}


def as_index(name: str, value: SupportsIndex) -> int:
    """The index of a texture image unit, a texture coordinate set or a parameter, in range."""
    number = index(value)
    if not 0 <= number < _COUNTS[name]:
        raise InputError(f"{name}[{number}] is given; indices are 0 to {_COUNTS[name] - 1}")
    return number


def as_numbers(name: str, values: ArrayLike, wanted: str) -> NDArray[Any]:
    """An array of real numbers. wanted: what to give instead, in words."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(f"{name} has rows of different lengths; give {wanted}") from None
    if array.dtype.kind not in "fiub":
        raise InputError(f"{name} holds {_dtype(array)}, not real numbers; give {wanted}")
    return array


def _dtype(array: NDArray[Any]) -> str:
    return {"O": "objects", "U": "text", "S": "bytes", "c": "complex numbers"}.get(
        array.dtype.kind, f"{array.dtype} values"
    )


def as_vec4(name: str, values: ArrayLike) -> Vec4:
    """Four numbers as Python floats."""
    array = as_numbers(name, values, "four numbers")
    if array.shape != (4,):
        size = f"{array.size} numbers" if array.ndim == 1 else f"the shape {array.shape}"
        raise InputError(f"{name} has {size}; give four numbers")
    return cast("Vec4", tuple(float(v) for v in array))
