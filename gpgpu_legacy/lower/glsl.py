"""A fragment program printed as a GLSL fragment shader, instruction for instruction."""

from __future__ import annotations

from dataclasses import dataclass

from gpgpu_legacy.isa.ir import (
    COMPONENTS,
    Attribute,
    AttributeKind,
    Instruction,
    Parameter,
    ParameterSpace,
    Program,
    ResultRegister,
    Selector,
    SourceRegister,
    Src,
    Temporary,
)
from gpgpu_legacy.isa.opcodes import OPCODES, Form
from gpgpu_legacy.lower.affine import (
    lookup_coordinates,
    sets_that_only_choose_texels,
    texel_centred,
)
from gpgpu_legacy.plan.formats import Numeric
from gpgpu_legacy.plan.plan import Extent, FragmentPass, Plan

VERSION = "#version 400 core"

COPY_FRAGMENT_SHADER = f"""{VERSION}
// Texel for texel, offset from the target's rectangle to the source's.
uniform sampler2D source;
uniform ivec2 offset;
out vec4 color;
void main() {{
    color = texelFetch(source, ivec2(gl_FragCoord.xy) + offset, 0);
}}
"""


@dataclass(frozen=True, slots=True)
class ShaderKey:
    """What a pass's shader depends on; passes with equal keys share one.

    centred: for each lookup in program order, whether its coordinates are proved to lie on
    texel centres. Such a lookup is one `texture` with a normalised coordinate, the fast way on
    every driver; the others clamp and fetch by integer, the exact way.
    interpolated: the texture coordinate sets that the rasteriser may interpolate its own way,
    since they only choose texels; the others are evaluated as interp/machine.py defines.
    sizes: width and height of the texture bound to each unit. They are printed into the shader, as
    drivers do better with a constant than with a uniform.
    levels: how many steps above 0 the target's format has, for a fixed-point one: the colour is
    rounded to them here, since drivers differ in how they do it. None for float.
    exact: multiply and add are kept apart.
    """

    program: Program
    centred: tuple[bool, ...]
    interpolated: frozenset[int]
    sizes: tuple[tuple[int, Extent], ...]
    levels: int | None
    exact: bool


def shader_key(plan: Plan, each: FragmentPass, *, exact: bool) -> ShaderKey:
    """The key of a pass as its plan writes it."""
    target = plan.texture(each.target).format
    unorm = target.numeric is Numeric.UNORM
    levels = 2**target.bits_per_channel - 1 if unorm else None
    coordinates = lookup_coordinates(each)
    centred = tuple(texel_centred(s) and texel_centred(t) for s, t in coordinates)
    interpolated = sets_that_only_choose_texels(each.program, centred)
    sizes = tuple((b.unit, plan.texture(b.texture).extent) for b in each.bindings)
    return ShaderKey(each.program, centred, interpolated, sizes, levels, exact)


def vertex_shader(interpolated: frozenset[int] = frozenset()) -> str:
    """The GLSL text that draws a pass's rectangle as a strip of 4 vertices.

    Uniforms: `texcoordN_corners` for each interpolated set, in the plan's order of corners.
    """
    sets = sorted(interpolated)
    lines = [VERSION, "// The rectangle is the viewport: (0, 0), (W, 0), (0, H), (W, H) in turn."]
    for n in sets:
        lines += [f"uniform vec4 texcoord{n}_corners[4];", f"out vec4 texcoord{n};"]
    lines += ["void main() {", "    int right = gl_VertexID & 1, top = gl_VertexID >> 1;"]
    if sets:
        lines.append("    int corner = top == 0 ? right : 3 - right;")
    lines += [f"    texcoord{n} = texcoord{n}_corners[corner];" for n in sets]
    lines += ["    gl_Position = vec4(2 * right - 1, 2 * top - 1, 0.0, 1.0);", "}", ""]
    return "\n".join(lines)


def fragment_shader(key: ShaderKey) -> str:
    """The GLSL text.

    Uniforms: `texcoordN_base`, `_dx`, `_dy` (the set's plane over the rectangle) for each set that
    is not interpolated, `origin` (the rectangle's corner), `localN`, `envN` and `textureN`.
    """
    return _Printer(key).text()


class _Printer:
    def __init__(self, key: ShaderKey) -> None:
        self.program, self.key = key.program, key
        self.lookups = iter(key.centred)
        self.sizes = dict(key.sizes)
        self.evaluated = [n for n in key.program.texcoord_sets if n not in key.interpolated]

    def text(self) -> str:
        precise = "precise " if self.key.exact else ""
        lines = [VERSION, f"// {self.program.name}", *self._uniforms(), "out vec4 color;", ""]
        lines.append("void main() {")
        if self.evaluated:
            lines.append("    vec2 fragment = gl_FragCoord.xy - origin;")
        lines += [
            f"    precise vec4 texcoord{n} = "
            f"texcoord{n}_base + texcoord{n}_dx * fragment.x + texcoord{n}_dy * fragment.y;"
            for n in self.evaluated
        ]
        lines += [
            f"    {precise}vec4 {_temporary(name)} = vec4(0.0);"
            for name in self.program.temporaries
        ]
        lines.append(f"    {precise}vec4 result_color = vec4(0.0);")
        lines += [f"    {self._instruction(i)}" for i in self.program.instructions]
        return "\n".join([*lines, *self._color(), "}", ""])

    def _color(self) -> list[str]:
        levels = self.key.levels
        if levels is None:
            return ["    color = result_color;"]
        return [
            f"    precise vec4 scaled = clamp(result_color, 0.0, 1.0) * {levels}.0 + 0.5;",
            f"    color = floor(scaled) / {levels}.0;",
        ]

    def _uniforms(self) -> list[str]:
        lines = [f"in vec4 texcoord{n};" for n in sorted(self.key.interpolated)]
        if self.evaluated:
            lines.append("uniform vec2 origin;")
        for n in self.evaluated:
            lines.append(f"uniform vec4 texcoord{n}_base, texcoord{n}_dx, texcoord{n}_dy;")
        for space, name in PARAMETERS.items():
            lines += [f"uniform vec4 {name}{n};" for n in self.program.parameter_indices(space)]
        for unit in self.program.texture_units:
            lines.append(f"uniform sampler2D texture{unit};")
        return lines

    def _instruction(self, instruction: Instruction) -> str:
        row = OPCODES[instruction.mnemonic]
        dst = instruction.dst
        assert dst is not None
        letters = "".join(COMPONENTS[c] for c in dst.components)
        if row.form is Form.COMPONENTWISE:
            sources = [_source(src, dst.components) for src in instruction.srcs]
            expression = row.glsl.format(*sources)
        else:
            sources = [_source(src, (0, 1, 2, 3)) for src in instruction.srcs]
            inner = row.glsl.format(*sources)
            vector = self._lookup(instruction, inner) if row.form is Form.SAMPLE else f"({inner})"
            expression = vector if len(letters) == 4 else f"{vector}.{letters}"
        if instruction.saturate:
            expression = f"clamp({expression}, 0.0, 1.0)"
        register = dst.register
        name = "result_color" if isinstance(register, ResultRegister) else _temporary(register.name)
        suffix = "" if len(letters) == 4 else f".{letters}"
        return f"{name}{suffix} = {expression};"

    def _lookup(self, instruction: Instruction, coordinate: str) -> str:
        assert instruction.texture is not None
        sampler = f"texture{instruction.texture.unit}"
        extent = self.sizes[instruction.texture.unit]
        place = f"({coordinate}).xy" if not coordinate.isidentifier() else f"{coordinate}.xy"
        if next(self.lookups):
            scale = f"vec2({1.0 / extent.width!r}, {1.0 / extent.height!r})"
            return f"texture({sampler}, {place} * {scale})"
        last = f"ivec2({extent.width - 1}, {extent.height - 1})"
        return f"texelFetch({sampler}, clamp(ivec2(floor({place})), ivec2(0), {last}), 0)"


PARAMETERS = {ParameterSpace.LOCAL: "local", ParameterSpace.ENV: "env"}


def _temporary(name: str) -> str:
    """A GLSL identifier for a temporary: `$` and double underscores are not allowed in one."""
    return "t_" + name.replace("_", "_u").replace("$", "_d")


def _register(register: SourceRegister) -> str:
    if isinstance(register, Temporary):
        return _temporary(register.name)
    if isinstance(register, Attribute):
        if register.kind is AttributeKind.TEXCOORD:
            return f"texcoord{register.index}"
        return "gl_FragCoord"
    return _parameter(register)


def _parameter(parameter: Parameter) -> str:
    if parameter.space is ParameterSpace.CONSTANT:
        return f"vec4({', '.join(repr(value) for value in parameter.value)})"
    return f"{PARAMETERS[parameter.space]}{parameter.index}"


def _source(src: Src, components: tuple[int, ...]) -> str:
    """The components of an operand that an instruction needs, as a GLSL expression."""
    selectors = [src.swizzle[c] for c in components]
    signs = [src.negate[c] for c in components]
    constant = Selector.ZERO in selectors or Selector.ONE in selectors
    if constant or len(set(signs)) > 1:
        parts = [_component(src, c) for c in components]
        return parts[0] if len(parts) == 1 else f"vec{len(parts)}({', '.join(parts)})"
    letters = "".join(COMPONENTS[s.value] for s in selectors)
    name = _register(src.register)
    text = name if letters == COMPONENTS else f"{name}.{letters}"
    return f"(-{text})" if signs[0] else text


def _component(src: Src, component: int) -> str:
    selector = src.swizzle[component]
    constants = {Selector.ZERO: "0.0", Selector.ONE: "1.0"}
    text = constants.get(selector) or f"{_register(src.register)}.{COMPONENTS[selector.value]}"
    return f"-{text}" if src.negate[component] else text
