"""The textures that a program is given: targets, arrays of texels, samplers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gpgpu_legacy.arguments import kind_of
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.isa.ir import Program, TextureTarget
from gpgpu_legacy.languages.arb.limits import DEFAULT_LIMITS
from gpgpu_legacy.pipeline.inputs import as_numbers
from gpgpu_legacy.pipeline.samplers import as_sampler
from gpgpu_legacy.pipeline.values import indexed
from gpgpu_legacy.plan.formats import RGBA32F
from gpgpu_legacy.plan.plan import Binding
from gpgpu_legacy.plan.textures import Extent, Texture, TextureKind

Textures = Mapping[int, Sequence[Any]]

_AXES = {
    TextureTarget.T1D: ("W",),
    TextureTarget.T2D: ("H", "W"),
    TextureTarget.RECT: ("H", "W"),
    TextureTarget.T3D: ("D", "H", "W"),
    TextureTarget.CUBE: ("6", "N", "N"),
}

_TARGET_NAMES = {"RECTANGLE": "RECT", "RECTANGLE_ARB": "RECT", "CUBE_MAP": "CUBE"}

_MISSING = (0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class BoundTexture:
    """A texture that the program looks up. texels: (rows, 4 · width), layer above layer."""

    binding: Binding
    texture: Texture
    texels: F32


def bound_textures(program: Program, given: Mapping[int, Sequence[Any]]) -> list[BoundTexture]:
    """The textures that the program looks up; the others are checked and left out."""
    bound = {
        unit: _texture(unit, texture, program.texture_units.get(unit))
        for unit, texture in indexed("textures", given, DEFAULT_LIMITS.texture_image_units).items()
    }
    for unit, target in program.texture_units.items():
        if unit not in bound:
            axes = ", ".join(_AXES[target])
            raise InputError(
                f"textures lacks unit {unit}, which the program looks up as {target.value}; give "
                f"it an array [{axes}, 4]"
            )
    return [bound[unit] for unit in sorted(program.texture_units)]


def _texture(unit: int, given: Sequence[Any], looked_up: TextureTarget | None) -> BoundTexture:
    name = f"textures[{unit}]"
    if not isinstance(given, tuple | list) or len(given) < 2:
        raise InputError(
            f"{name} is {kind_of(given)}{' of fewer than 2' * isinstance(given, tuple | list)}; "
            "give (target, array) or (target, array, sampler)"
        )
    target = _target(name, given[0])
    if looked_up not in (None, target):
        assert looked_up is not None
        raise InputError(
            f"{name} is {target.value}, and the program looks it up as {looked_up.value}; give a "
            f"{looked_up.value} texture"
        )
    sampler = as_sampler(name, given[2:], target)
    texels = _texels(name, given[1], target)
    *layers, height, width, _ = (1, 1, *texels.shape)[-max(3, texels.ndim) :]
    extent = Extent(width, height, layers[0] if layers else 1)
    label = f"texture[{unit}]"
    texture = Texture(label, TextureKind(target.value), extent, RGBA32F)
    rows = np.ascontiguousarray(texels.reshape(extent.rows, 4 * extent.width))
    return BoundTexture(Binding(unit, label, sampler), texture, rows)


def _target(name: str, given: object) -> TextureTarget:
    try:
        return TextureTarget(_target_word(given) if isinstance(given, str) else given)
    except ValueError:
        known = ", ".join(target.value for target in TextureTarget)
        raise InputError(f"the target of {name} is {given!r}; choose from {known}") from None


def _target_word(text: str) -> str:
    """The assembly language's word for a target, which may be given by GL's name."""
    word = text.strip().upper().removeprefix("GL_").removeprefix("TEXTURE_")
    return _TARGET_NAMES.get(word, word)


def _texels(name: str, given: ArrayLike, target: TextureTarget) -> F32:
    """The array as float32 with an axis of four channels."""
    axes = _AXES[target]
    wanted = f"an array [{', '.join(axes)}, 4]"
    array = as_numbers(name, given, wanted)
    if array.ndim == len(axes):
        array = array[..., None]
    if array.ndim != len(axes) + 1 or not 1 <= array.shape[-1] <= 4:
        raise InputError(f"{name} has the shape {array.shape}; {target.value} takes {wanted}")
    if not array.size:
        raise InputError(f"{name} has the shape {array.shape}, which has no texel; give {wanted}")
    if target is TextureTarget.CUBE and (array.shape[0] != 6 or array.shape[1] != array.shape[2]):
        raise InputError(f"{name} has the shape {array.shape}; a CUBE is six squares, {wanted}")
    texels = np.empty((*array.shape[:-1], 4), np.float32)
    texels[...] = _MISSING
    with np.errstate(over="ignore"):
        texels[..., : array.shape[-1]] = array
    return texels
