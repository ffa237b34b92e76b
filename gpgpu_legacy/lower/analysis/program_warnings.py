"""Warnings about probable mistakes in a program's parameters, textures and coordinates."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from collections.abc import Set as AbstractSet
from typing import cast

from gpgpu_legacy.isa.program import ParameterSpace, Program, TextureTarget
from gpgpu_legacy.lower.analysis.affine import Linear, Value, lookup_coordinates
from gpgpu_legacy.plan.plan import Corners, FragmentPass, Texcoords
from gpgpu_legacy.plan.textures import Rect

_ANY_RECT = Rect(0, 0, 64, 64)  # of any size: a slope does not depend on it
_AXES = {TextureTarget.T1D: 1, TextureTarget.T2D: 2, TextureTarget.T3D: 2}


def program_warnings(
    program: Program,
    *,
    local_set: Collection[int],
    env_set: Collection[int],
    units_bound: Collection[int],
    pixel_sets: Collection[int],
) -> tuple[str, ...]:
    """Warnings about a program and its inputs from a pass, one line each.

    local_set, env_set: the indices of program.local and program.env that are set. units_bound: the
    texture image units that have a texture. pixel_sets: the texture coordinate sets that hold pixel
    coordinates, (0, 0) to (W, H).

    The warnings: a parameter that is read and never set, or set and never read; a texture that is
    never looked up, and a unit that is looked up without one; and pixel coordinates, from such a
    set or from fragment.position, that go unscaled into a 1D, 2D or 3D texture, whose coordinates
    run from 0 to 1. Coordinates are followed through all operations that keep them affine, such as
    MOV and ADD; a product with a parameter counts as scaled. A direction into a CUBE texture may
    have any length.
    """
    name = program.name or "the program"
    spaces = ((ParameterSpace.LOCAL, local_set), (ParameterSpace.ENV, env_set))
    warnings: list[str] = []
    for space, given in spaces:
        read = set(program.parameter_indices(space))
        if unset := _elements(space.value, read.difference(given)):
            warnings.append(f"{unset[0]} never set, and {name} reads 0 there")
        if unread := _elements(space.value, set(given) - read):
            warnings.append(f"{unread[0]} set, but {name} never reads {unread[1]}")
    if idle := _elements("texture", set(units_bound) - program.texture_units.keys()):
        warnings.append(f"{idle[0]} bound, but {name} never looks {idle[1]} up")
    if unbound := _elements("texture", program.texture_units.keys() - set(units_bound)):
        warnings.append(f"{unbound[0]} never bound, and {name} reads opaque black there")
    warnings += _unscaled(program, name, pixel_sets)
    return tuple(warnings)


def _elements(array: str, indices: AbstractSet[int]) -> tuple[str, str] | None:
    """Subject and pronoun of a sentence on elements: `texture[0] is`, `it`; None without any."""
    if not indices:
        return None
    *others, last = (f"[{index}]" for index in sorted(indices))
    if not others:
        return f"{array}{last} is", "it"
    return f"{array}{', '.join(others)} and {last} are", "them"


def _unscaled(program: Program, name: str, pixel_sets: Collection[int]) -> Iterator[str]:
    """Warnings of lookups of normalised textures at pixel coordinates.

    The parameters are left at 0, so that products with them have no slope.
    """
    corners = cast("Corners", tuple((x, y, 0.0, 1.0) for x, y in _ANY_RECT.corners))
    sets = tuple(Texcoords(number, corners) for number in sorted(pixel_sets))
    pass_ = FragmentPass(program, (), ("",), _ANY_RECT, sets)
    lookups = [(i, i.texture.target) for i in program.instructions if i.texture is not None]
    for (instruction, target), coordinates in zip(lookups, lookup_coordinates(pass_), strict=True):
        if any(map(_counts_pixels, coordinates[: _AXES.get(target, 0)])):
            at = instruction.span
            yield (
                f"{name}:{at.line}:{at.column}: {instruction.mnemonic} looks up a {target.value} "
                "texture at pixel coordinates, but its coordinates run from 0 to 1; scale them by "
                "1/size, give texture coordinates, or use a RECT texture"
            )


def _counts_pixels(coordinate: Value) -> bool:
    """Whether a coordinate grows by at least 1 from a fragment to its neighbour."""
    return isinstance(coordinate, Linear) and max(abs(coordinate.x), abs(coordinate.y)) >= 1
