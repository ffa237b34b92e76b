"""Texture lookups as GLSL functions: from coordinates to texels that are fetched by integer.

A sampler's own addressing differs from driver to driver, and its filter has weights of 8 bits. So
these functions compute both in float32, in the order of interp/sampler.py. A texture lies in one
array of rows, its layers one above the other, as in transfers; the shader around says how a texel
is fetched from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from gpgpu_legacy.lower.body import one, zero
from gpgpu_legacy.plan.formats import Format
from gpgpu_legacy.plan.textures import Extent, Filter, Sampler, TextureKind, Wrap


@dataclass(frozen=True, slots=True)
class Unit:
    """What the code of a lookup depends on: the texture and the sampler at a unit.

    The channels that the format lacks read as 0, 0, 1.
    """

    number: int
    kind: TextureKind
    extent: Extent
    sampler: Sampler
    format: Format


def coordinate_count(kind: TextureKind) -> int:
    """How many of s, t and r a lookup in a texture of that kind reads."""
    return _COORDINATES[kind]


_COORDINATES = {
    TextureKind.RECT: 2,
    TextureKind.T1D: 1,
    TextureKind.T2D: 2,
    TextureKind.T3D: 3,
    TextureKind.CUBE: 3,
}


def lookup_name(number: int) -> str:
    """The function that looks a unit's texture up at s, t and r."""
    return f"lookup{number}"


def fetch_name(number: int) -> str:
    """The function that the shader around provides: the texel at (column, row)."""
    return f"fetch{number}"


def missing_channels(*, exact: bool) -> tuple[str, ...]:
    """The expressions of r, g, b and a where a format lacks them."""
    nothing = zero(exact=exact)
    return (nothing, nothing, nothing, one(exact=exact))


def lookup_function(unit: Unit, missing: Sequence[str]) -> list[str]:
    """The lines of `vec4 lookupN(vec4 at)`, which calls `vec4 fetchN(ivec2 texel)`.

    missing: the expressions of r, g, b and a where the format lacks them.
    """
    lines = [f"vec4 {lookup_name(unit.number)}(vec4 at) {{"]
    axes = [
        _Axis("s", "at.x", unit.extent.width, unit.sampler.wrap_s),
        _Axis("t", "at.y", unit.extent.height, unit.sampler.wrap_t),
        _Axis("r", "at.z", unit.extent.depth, unit.sampler.wrap_r),
    ][: coordinate_count(unit.kind)]
    layer = ""
    if unit.kind is TextureKind.CUBE:
        lines += _CUBE
        axes = [
            _Axis("s", "on_face.x", unit.extent.width, Wrap.CLAMP_TO_EDGE),
            _Axis("t", "on_face.y", unit.extent.height, Wrap.CLAMP_TO_EDGE),
        ]
        layer = f"face * {unit.extent.height}"
    normalised = unit.kind is not TextureKind.RECT
    for axis in axes:
        lines.append(axis.texels(normalised=normalised))
    if unit.sampler.filter is Filter.NEAREST:
        lines += [axis.nearest() for axis in axes]
        place = _texel([f"{axis.name}0" for axis in axes], unit.extent.height, layer)
        return [*lines, f"    return {fetch_name(unit.number)}({place});", "}"]
    for axis in axes:
        lines += axis.linear()
    return [*lines, *_blended(unit, axes, layer, missing), "}"]


@dataclass(frozen=True, slots=True)
class _Axis:
    """One coordinate of a lookup: its name, where it comes from, the texels along it, its wrap."""

    name: str
    source: str
    size: int
    wrap: Wrap

    def texels(self, *, normalised: bool) -> str:
        """`u` in texels, of the fraction of the coordinate where it repeats."""
        coordinate = self.source
        if self.wrap is Wrap.REPEAT:
            coordinate = f"({coordinate} - floor({coordinate}))"
        scale = f" * {self.size}.0" if normalised and self.size > 1 else ""
        return f"    precise float {self.name} = {coordinate}{scale};"

    def nearest(self) -> str:
        """The texel that a coordinate falls on.

        Not clamp: max first takes a NaN to 0 on drivers that pick the other operand.
        """
        clamped = f"min(max(floor({self.name}), 0.0), {self.size - 1}.0)"
        return f"    int {self.name}0 = int({clamped});"

    def linear(self) -> list[str]:
        """Two texels with their weights; `inside` says whether each is in the texture."""
        n, last = self.name, self.size - 1
        lines = [f"    if ((floatBitsToUint({n}) & 0x7fffffffu) > 0x7f800000u) {n} = 0.5;"]
        if self.wrap is not Wrap.REPEAT:
            border = 0.5 if self.wrap is Wrap.CLAMP_TO_EDGE else 0.0
            lines.append(f"    {n} = min(max({n}, {border}), {self.size - border});")
        lines += [
            f"    precise float {n}_low = floor({n} - 0.5);",
            f"    precise float {n}_weight1 = ({n} - 0.5) - {n}_low;",
            f"    precise float {n}_weight0 = 1.0 - {n}_weight1;",
            f"    int {n}0 = int({n}_low), {n}1 = {n}0 + 1;",
        ]
        if self.wrap is Wrap.CLAMP:
            lines.append(f"    bool {n}_inside0 = {n}0 >= 0, {n}_inside1 = {n}1 <= {last};")
        if self.wrap is Wrap.REPEAT:
            lines.append(f"    {n}0 = {n}0 < 0 ? {last} : {n}0; {n}1 = {n}1 > {last} ? 0 : {n}1;")
        else:
            lines.append(f"    {n}0 = max({n}0, 0); {n}1 = min({n}1, {last});")
        return lines


_CUBE = [
    "    precise vec3 along = abs(at.xyz);",
    "    precise bool on_z = along.z >= along.x && along.z >= along.y;",
    "    precise bool on_y = !on_z && along.y >= along.x;",
    "    precise float major = on_z ? along.z : on_y ? along.y : along.x;",
    "    int face = on_z ? (at.z < 0.0 ? 5 : 4) : on_y ? (at.y < 0.0 ? 3 : 2)"
    " : (at.x < 0.0 ? 1 : 0);",
    "    float across = on_z ? (at.z < 0.0 ? -at.x : at.x) : on_y ? at.x"
    " : (at.x < 0.0 ? at.z : -at.z);",
    "    float up = on_y ? (at.y < 0.0 ? -at.z : at.z) : -at.y;",
    "    precise vec2 on_face = (vec2(across, up) / major + 1.0) * 0.5;",
]


def _texel(indices: list[str], height: int, layer: str) -> str:
    """The place of a texel, (column, row), from its index along each axis."""
    row = indices[1] if len(indices) > 1 else "0"
    if len(indices) > 2:
        layer = f"{indices[2]} * {height}"
    return f"ivec2({indices[0]}, {f'{row} + {layer}' if layer else row})"


def _blended(unit: Unit, axes: list[_Axis], layer: str, missing: Sequence[str]) -> list[str]:
    """The sum over all pairs of texels, s running fastest."""
    lines = ["    precise vec4 sum, texel;"]
    fastest_last = product((0, 1), repeat=len(axes))
    for number, ends in enumerate(tuple(reversed(each)) for each in fastest_last):
        place = _texel(
            [f"{axis.name}{end}" for axis, end in zip(axes, ends, strict=True)],
            unit.extent.height,
            layer,
        )
        weights = " * ".join(
            f"{axis.name}_weight{end}" for axis, end in zip(axes, ends, strict=True)
        )
        lines.append(f"    texel = {fetch_name(unit.number)}({place});")
        guards = [
            f"{axis.name}_inside{end}"
            for axis, end in zip(axes, ends, strict=True)
            if axis.wrap is Wrap.CLAMP
        ]
        if guards:
            lines.append(f"    if (!({' && '.join(guards)})) texel = vec4({missing[0]});")
        lines.append(f"    sum {'+=' if number else '='} ({weights}) * texel;")
    # What the format lacks is no texel to be weighted.
    lacked = "rgba"[unit.format.channels :]
    if lacked:
        lines.append(f"    sum.{lacked} = vec4({', '.join(missing)}).{lacked};")
    return [*lines, "    return sum;"]
