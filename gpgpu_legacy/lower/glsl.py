"""A fragment program printed as a GLSL fragment shader, instruction for instruction.

Every texture is a sampler2D, whatever its kind: its layers lie one above the other, and a lookup
that the rasteriser does not place is fetched by integer (lower/sampling.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from gpgpu_legacy.isa.arithmetic import ARITHMETICS, FP32, Arithmetic
from gpgpu_legacy.isa.ir import (
    Attribute,
    AttributeKind,
    Fog,
    Instruction,
    Program,
    TextureTarget,
)
from gpgpu_legacy.lower.body import (
    Body,
    Surroundings,
    attribute_name,
    parameters_read,
    result_name,
    state_name,
    with_constants_declared,
    zero,
)
from gpgpu_legacy.lower.lookups import Decisions, Folded, undecided
from gpgpu_legacy.lower.sampling import (
    Unit,
    fetch_name,
    lookup_function,
    lookup_name,
    missing_channels,
)
from gpgpu_legacy.lower.values import given_corners, iterations_of
from gpgpu_legacy.plan.expand import corners_at
from gpgpu_legacy.plan.formats import RGBA32F, Format, Numeric
from gpgpu_legacy.plan.interpolation import is_planar
from gpgpu_legacy.plan.plan import Corners, FragmentPass, Plan
from gpgpu_legacy.plan.textures import Extent, Sampler, TextureKind

VERSION = "#version 400 core"

ORIGIN = "// A fragment program, instruction for instruction."
"""What it is called does not stand there: in a file's name anything may, the end of a comment, too.
Names of registers are letters, digits, _ and $."""

COPY_FRAGMENT_SHADER = f"""{VERSION}
// Texel for texel, offset from the target's rectangle to the source's.
uniform sampler2D source;
uniform ivec2 offset;
out vec4 color;
void main() {{
    color = texelFetch(source, ivec2(gl_FragCoord.xy) + offset, 0);
}}
"""

FOG_COORDINATE = Attribute(AttributeKind.FOGCOORD)
FOG_COLOR, FOG_PARAMS = "state.fog.color", "state.fog.params"
_POSITION = Attribute(AttributeKind.POSITION)


@dataclass(frozen=True, slots=True)
class ShaderKey:
    """What a pass's shader depends on; passes with equal keys share one.

    lookups, live: see Decisions. places: how many the folded lookups refer to.
    units: the textures and samplers bound. Their sizes are printed into the shader, as drivers do
    better with a constant than with a uniform.
    targets: the formats of the targets. A colour is rounded to an 8-bit or a 16-bit one here, since
    drivers differ in how they do it.
    bent: the attributes that the program reads, or its fog, whose corner values do not lie in a
    plane; each triangle has its own.
    exact: multiply and add are kept apart, and constants are hidden from the compiler; otherwise a
    multiply-add may be rounded once, and a product with a constant 0 be 0. Either way everything is
    `precise`: no compiler reorders a sum.
    """

    program: Program
    lookups: tuple[Folded | None, ...]
    live: tuple[tuple[int, ...], ...]
    places: int
    units: tuple[Unit, ...]
    targets: tuple[Format, ...]
    bent: tuple[Attribute, ...]
    exact: bool
    arithmetic: Arithmetic = FP32


def shader_key(
    plan: Plan,
    each: FragmentPass,
    decisions: Decisions,
    *,
    exact: bool,
    arithmetic: Arithmetic = FP32,
) -> ShaderKey:
    """The key of a pass as its plan writes it, and of what was decided on it."""
    units = []
    for binding in each.bindings:
        texture = plan.texture(binding.texture)
        units.append(
            Unit(binding.unit, texture.kind, texture.extent, binding.sampler, texture.format)
        )
    read = {*each.program.attributes_read, *([FOG_COORDINATE] if each.program.fog else [])}
    given = {a: corners for a, corners in given_corners(each).items() if a in read}
    iterations = iterations_of(plan, each)
    return ShaderKey(
        each.program,
        decisions.lookups,
        decisions.live,
        len(decisions.places),
        tuple(units),
        tuple(plan.texture(name).format for name in each.targets),
        tuple(a for a, corners in given.items() if _is_bent(corners, iterations)),
        exact,
        arithmetic,
    )


_ASSUMED_WIDTH = 256


def program_key(
    program: Program,
    units: Mapping[int, tuple[Extent, Sampler]] | None = None,
    *,
    exact: bool = True,
    arithmetic: Arithmetic = FP32,
) -> ShaderKey:
    """The key of a program alone, with no plan around it: for reading, not for running.

    units: extents and samplers of textures; one that is not given is 256 texels in each direction,
    nearest, clamped to its edge. Targets are rgba32f.
    """
    decisions = undecided(program)
    textures = []
    for number, target in sorted(program.texture_units.items()):
        extent, sampler = (units or {}).get(number) or (_assumed_extent(target), Sampler())
        kind = TextureKind(target.value)
        textures.append(Unit(number, kind, extent, sampler, RGBA32F))
    targets = (RGBA32F,) * program.color_outputs
    return ShaderKey(
        program,
        decisions.lookups,
        decisions.live,
        0,
        tuple(textures),
        targets,
        (),
        exact,
        arithmetic,
    )


def _assumed_extent(target: TextureTarget) -> Extent:
    n = _ASSUMED_WIDTH
    other = {
        TextureTarget.T1D: Extent(n, 1),
        TextureTarget.T3D: Extent(n, n, n),
        TextureTarget.CUBE: Extent(n, n, 6),
    }
    return other.get(target, Extent(n, n))


def _is_bent(corners: Corners, iterations: int) -> bool:
    """Whether corner values leave the plane in the first iteration or the last.

    How far they are from it is affine in the iteration, so it is greatest in one of these.
    """
    return not all(is_planar(corners_at(corners, i)) for i in {0, iterations - 1})


def vertex_shader(places: int = 0) -> str:
    """The GLSL text that draws a pass's rectangle as a strip of 4 vertices.

    Uniforms: `placeN_corners` for each place, in the plan's order of corners.
    """
    lines = [VERSION, "// The rectangle is the viewport: (0, 0), (W, 0), (0, H), (W, H) in turn."]
    for n in range(places):
        lines += [f"uniform vec2 place{n}_corners[4];", f"out vec2 place{n};"]
    lines += ["void main() {", "    int right = gl_VertexID & 1, top = gl_VertexID >> 1;"]
    if places:
        lines.append("    int corner = top == 0 ? right : 3 - right;")
    lines += [f"    place{n} = place{n}_corners[corner];" for n in range(places)]
    lines += ["    gl_Position = vec4(2 * right - 1, 2 * top - 1, 0.0, 1.0);", "}", ""]
    return "\n".join(lines)


@lru_cache(maxsize=256)
def fragment_shader(key: ShaderKey) -> str:
    """The GLSL text, made once a key. An instruction of which nothing is needed is a comment.

    Uniforms, as far as the code that is left reads them: `NAME_base`, `_dx`, `_dy`, the plane of
    each attribute over the rectangle, or an array of the two triangles' planes; `origin` and
    `size`, the rectangle's corner and extent; `localN`, `envN`, the vectors of state by the names
    that lower/body.py gives them, and `textureN`.
    """
    units = {unit.number: unit for unit in key.units}

    def lookup(instruction: Instruction, number: int, coordinates: str) -> str:
        assert instruction.texture is not None
        unit = units[instruction.texture.unit]
        folded = key.lookups[number]
        if folded is None:
            return f"{lookup_name(unit.number)}({coordinates})"
        return _decoded(_placed(folded, unit), unit, exact=key.exact)

    pieces = Pieces(key, Surroundings(lookup, "discard;"))
    body = pieces.body
    lines = [VERSION, ORIGIN]
    lines += [f"in vec2 place{n};" for n in range(key.places)]
    lines += ["uniform vec2 origin;"] if pieces.needs_place else []
    lines += ["uniform vec2 size;"] if pieces.needs_size else []
    lines += pieces.uniforms()
    for unit in key.units:
        is_looked_up = pieces.reads(lookup_name(unit.number))
        if is_looked_up or pieces.reads(f"texture{unit.number}"):
            lines.append(f"uniform sampler2D texture{unit.number};")
        if is_looked_up:
            fetch = f"texelFetch(texture{unit.number}, texel, 0)"
            fetch = _decoded(fetch, unit, exact=key.exact)
            lines.append(f"vec4 {fetch_name(unit.number)}(ivec2 texel) {{ return {fetch}; }}")
            lines += lookup_function(unit, missing_channels(exact=key.exact))
    lines += [f"layout(location = {n}) out vec4 target{n};" for n in range(len(key.targets))]
    start = ["    vec2 fragment = gl_FragCoord.xy - origin;"] if pieces.needs_place else []
    if pieces.reads("position"):
        start.append("    vec4 position = gl_FragCoord;")
    stores = [
        line
        for number in range(len(key.targets))
        for line in (*pieces.colour(number), f"    target{number} = colour{number};")
    ]
    lines += [*body.functions(), "", "void main() {", *start, *pieces.statements(), *stores]
    return with_constants_declared("\n".join([*lines, "}", ""]))


def _decoded(texel: str, unit: Unit, *, exact: bool) -> str:
    """A texel as the format defines it: k / 255, where drivers may give k times a rounded 1/255."""
    if unit.format.numeric is not Numeric.UNORM or not exact:
        return texel
    levels = f"{2**unit.format.bits_per_channel - 1}.0"
    return f"(floor({texel} * {levels} + 0.5) / {levels})"


def _placed(lookup: Folded, unit: Unit) -> str:
    """A folded lookup is one `texture` at its place, the fast way on every driver."""
    place, extent = f"place{lookup.place}", unit.extent
    if lookup.right or lookup.up:
        place += f" + vec2({lookup.right / extent.width!r}, {lookup.up / extent.height!r})"
    return f"texture(texture{unit.number}, {place})"


class Pieces:
    """What shaders of every stage have in common: parameters, attributes, statements, colours."""

    def __init__(self, key: ShaderKey, around: Surroundings) -> None:
        self.key, self.program = key, key.program
        self.body = Body(key.program, key.live, around, key.arithmetic, exact=key.exact)
        self._code = self.body.code
        self._fog = self._fog_factor()
        self._colours = [self._colour(number) for number in range(len(key.targets))]
        read = {*key.program.attributes_read, *([FOG_COORDINATE] if key.program.fog else [])}
        self._interpolated = [
            a
            for a in sorted(read - {_POSITION}, key=attribute_name)
            if self.reads(attribute_name(a)) or (key.program.fog and a == FOG_COORDINATE)
        ]

    @property
    def needs_place(self) -> bool:
        """Whether the statements read `fragment`, the fragment's centre in the rectangle."""
        return bool(self._interpolated)

    @property
    def needs_size(self) -> bool:
        """Whether the statements read `size`, the rectangle's extent."""
        return any(attribute in self.key.bent for attribute in self._interpolated)

    def reads(self, name: str) -> bool:
        """Whether the statements that are left have that name in them."""
        return re.search(rf"\b{name}\b", self._code) is not None

    def uniforms(self) -> list[str]:
        """The declarations of attributes, parameters and state."""
        lines = []
        for attribute in self._interpolated:
            count = "[2]" if attribute in self.key.bent else ""
            name = attribute_name(attribute)
            names = ", ".join(f"{name}_{part}{count}" for part in ("base", "dx", "dy"))
            lines.append(f"uniform vec4 {names};")
        parameters = [name for name in parameters_read(self.program) if self.reads(name)]
        if self.program.fog is not None:
            parameters += [state_name(FOG_COLOR), state_name(FOG_PARAMS)]
        return lines + [f"uniform vec4 {name};" for name in dict.fromkeys(parameters)]

    def statements(self) -> list[str]:
        """Attributes at the fragment, `fragment` being its place; registers; instructions."""
        lines = []
        if self.needs_size:
            lines += [
                "    ivec2 doubled = ivec2(fragment * 2.0), extent = ivec2(size);",
                "    int side = doubled.y * extent.x > doubled.x * extent.y ? 1 : 0;",
            ]
        for attribute in self._interpolated:
            name, side = attribute_name(attribute), "[side]" if attribute in self.key.bent else ""
            base, dx, dy = (f"{name}_{part}{side}" for part in ("base", "dx", "dy"))
            lines.append(
                f"    precise vec4 {name} = {base} + {dx} * fragment.x + {dy} * fragment.y;"
            )
            if attribute == FOG_COORDINATE:
                rest = ", ".join(missing_channels(exact=self.key.exact)[1:])
                lines.append(f"    {name}.yzw = vec3({rest});")
        registers = [name for name in self.body.registers if self.reads(name)]
        registers += [result_name(number) for number in range(self._results)]
        nothing = zero(exact=self.key.exact)
        lines += [f"    precise vec4 {name} = vec4({nothing});" for name in registers]
        return [*lines, *(f"    {line}" for line in self.body.statements), *self._fog]

    def colour(self, number: int) -> list[str]:
        """Statements after which `colourN` is what target N is to hold."""
        return self._colours[number]

    @property
    def _results(self) -> int:
        return max(self.program.color_outputs, self._separate and len(self.key.targets))

    @property
    def _separate(self) -> bool:
        """Whether each target has a colour of its own; else all of them have the first."""
        return self.program.has_separate_colors

    def _fog_factor(self) -> list[str]:
        if self.program.fog is None:
            return []
        expression = self.body.rounded(_FOG_FACTORS[self.program.fog], 1)
        params = state_name(FOG_PARAMS)
        return [
            f"    precise float fog = clamp({expression.format(params=params)}, 0.0, 1.0);",
        ]

    def _colour(self, number: int) -> list[str]:
        """Fog, then the rounding to what the target stores."""
        target = self.key.targets[number]
        result, colour = result_name(number if self._separate else 0), f"colour{number}"
        fixed_point = target.numeric is Numeric.UNORM
        lines = [f"    precise vec4 {colour} = {result};"]
        if self.program.fog is not None:
            behind = f"{state_name(FOG_COLOR)}.rgb"
            lines.append(f"    {colour} = clamp({colour}, 0.0, 1.0);")
            if fixed_point:
                behind = f"clamp({behind}, 0.0, 1.0)"
            mixed = self.body.rounded(f"fog * {colour}.rgb + (1.0 - fog) * {behind}", 3)
            lines.append(f"    {colour}.rgb = {mixed};")
        if fixed_point:
            levels = f"{2**target.bits_per_channel - 1}.0"
            lines += [
                f"    {colour} = clamp({colour}, 0.0, 1.0) * {levels} + 0.5;",
                f"    {colour} = floor({colour}) / {levels};",
            ]
        elif (stored := self.as_stored(colour, target, 4)) != colour:
            lines.append(f"    {colour} = {stored};")
        return lines

    def as_stored(self, expression: str, target: Format, width: int = 1) -> str:
        """The expression rounded to a float format of 16 bits, or as it is for one of 32."""
        if target.bits_per_channel == 32:
            return expression
        return f"{self.body.called(_TO_HALF, width)}({expression})"


_FOG_FACTORS = {
    Fog.EXP: "exp(-({params}.x * fogcoord.x))",
    Fog.EXP2: "exp(-(({params}.x * fogcoord.x) * ({params}.x * fogcoord.x)))",
    Fog.LINEAR: "({params}.z - fogcoord.x) * {params}.w",
}

_TO_HALF = ARITHMETICS["fp16"].glsl_function.replace("quantize", "to_half", 1)
