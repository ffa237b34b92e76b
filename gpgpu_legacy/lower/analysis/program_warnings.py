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
    never looked up, and a unit that has none; and pixel coordinates, from such a set or from
    fragment.position, that go unscaled into a 1D, 2D or 3D texture, whose coordinates run from 0 to
    1. They are followed through all operations that keep them affine, such as MOV and ADD; a
    coordinate that is multiplied by a parameter counts as scaled. The direction into a CUBE texture
    may have any length.
    """
    name = program.name or "the program"
    warnings: list[str] = []

    def warn(array: str, indices: AbstractSet[int], problem: str) -> None:
        """Of elements of an array, if there are any."""
        if indices:
            *others, last = (f"[{index}]" for index in sorted(indices))
            are, them = (f" and {last} are", "them") if others else (f"{last} is", "it")
            text = problem.format(name=name, them=them)
            warnings.append(f"{array}{', '.join(others)}{are} {text}")

    for space, given in ((ParameterSpace.LOCAL, local_set), (ParameterSpace.ENV, env_set)):
        read = set(program.parameter_indices(space))
        warn(space.value, read.difference(given), "never set, and {name} reads 0 there")
        warn(space.value, set(given) - read, "set, but {name} never reads {them}")
    units, bound = program.texture_units.keys(), set(units_bound)
    warn("texture", bound - units, "bound, but {name} never looks {them} up")
    warn("texture", units - bound, "never bound, and {name} reads opaque black there")
    return (*warnings, *_unscaled(program, name, pixel_sets))


def _unscaled(program: Program, name: str, pixel_sets: Collection[int]) -> Iterator[str]:
    """The lookups of normalised textures at pixel coordinates.

    The parameters are left at 0, so that their products have no slope.
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
