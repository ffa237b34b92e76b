"""A fragment program printed as a GLSL fragment shader, instruction for instruction."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpgpu_legacy.asm.printer import print_instruction
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
from gpgpu_legacy.lower.lookups import Decisions, Folded
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

    lookups, live: see Decisions. places: how many the folded lookups refer to.
    sizes: width and height of the texture bound to each unit. They are printed into the shader, as
    drivers do better with a constant than with a uniform.
    levels: how many steps above 0 the target's format has, for a fixed-point one: the colour is
    rounded to them here, since drivers differ in how they do it. None for float.
    exact: multiply and add are kept apart; otherwise a multiply-add may be rounded once. Either way
    everything is `precise`: no compiler reorders a sum or drops an addition of 0.
    """

    program: Program
    lookups: tuple[Folded | None, ...]
    live: tuple[tuple[int, ...], ...]
    places: int
    sizes: tuple[tuple[int, Extent], ...]
    levels: int | None
    exact: bool


def shader_key(plan: Plan, each: FragmentPass, decisions: Decisions, *, exact: bool) -> ShaderKey:
    """The key of a pass as its plan writes it, and of what was decided on it."""
    target = plan.texture(each.target).format
    levels = 2**target.bits_per_channel - 1 if target.numeric is Numeric.UNORM else None
    sizes = tuple((b.unit, plan.texture(b.texture).extent) for b in each.bindings)
    places = len(decisions.places)
    return ShaderKey(each.program, decisions.lookups, decisions.live, places, sizes, levels, exact)


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


def fragment_shader(key: ShaderKey) -> str:
    """The GLSL text. An instruction of which nothing is needed stands there as a comment.

    Uniforms: `texcoordN_base`, `_dx`, `_dy` (the plane over the rectangle of each set that is still
    read), `origin` (the rectangle's corner), `localN`, `envN` and `textureN`.
    """
    return _Printer(key).text()


class _Printer:
    def __init__(self, key: ShaderKey) -> None:
        self.program, self.key = key.program, key
        self.sizes = dict(key.sizes)
        self.lookups = iter(key.lookups)
        body = [
            self._instruction(instruction, components)
            for instruction, components in zip(key.program.instructions, key.live, strict=True)
        ]
        self.body = [f"    {line}" for line in body]
        self.code = "\n".join(line for line in body if not line.startswith("//"))

    def text(self) -> str:
        texcoords = [n for n in self.program.texcoord_sets if self._reads(f"texcoord{n}")]
        lines = [VERSION, f"// {self.program.name}"]
        lines += [f"in vec2 place{n};" for n in range(self.key.places)]
        if texcoords:
            lines.append("uniform vec2 origin;")
        for n in texcoords:
            lines.append(f"uniform vec4 texcoord{n}_base, texcoord{n}_dx, texcoord{n}_dy;")
        for space, name in PARAMETERS.items():
            indices = self.program.parameter_indices(space)
            lines += [f"uniform vec4 {name}{n};" for n in indices if self._reads(f"{name}{n}")]
        units = [unit for unit in self.program.texture_units if self._reads(f"texture{unit}")]
        lines += [f"uniform sampler2D texture{unit};" for unit in units]
        lines += ["out vec4 color;", "", "void main() {"]
        if texcoords:
            lines.append("    vec2 fragment = gl_FragCoord.xy - origin;")
        lines += [
            f"    precise vec4 texcoord{n} = "
            f"texcoord{n}_base + texcoord{n}_dx * fragment.x + texcoord{n}_dy * fragment.y;"
            for n in texcoords
        ]
        names = [_temporary(name) for name in self.program.temporaries]
        lines += [f"    precise vec4 {name} = vec4(0.0);" for name in names if self._reads(name)]
        lines.append("    precise vec4 result_color = vec4(0.0);")
        return "\n".join([*lines, *self.body, *self._color(), "}", ""])

    def _reads(self, name: str) -> bool:
        """Whether the code that is left has that name in it."""
        return re.search(rf"\b{name}\b", self.code) is not None

    def _color(self) -> list[str]:
        levels = self.key.levels
        if levels is None:
            return ["    color = result_color;"]
        return [
            f"    precise vec4 scaled = clamp(result_color, 0.0, 1.0) * {levels}.0 + 0.5;",
            f"    color = floor(scaled) / {levels}.0;",
        ]

    def _instruction(self, instruction: Instruction, components: tuple[int, ...]) -> str:
        """The components of an instruction that are needed, as a GLSL statement."""
        row = OPCODES[instruction.mnemonic]
        lookup = next(self.lookups) if row.form is Form.SAMPLE else None
        if not components:
            return f"// {print_instruction(instruction)}"
        dst = instruction.dst
        assert dst is not None
        letters = "".join(COMPONENTS[c] for c in components)
        if row.form is Form.COMPONENTWISE:
            sources = [_source(src, components) for src in instruction.srcs]
            contracted = "" if self.key.exact else row.glsl_contracted
            expression = (contracted or row.glsl).format(*sources)
        else:
            vector = (
                self._lookup(instruction, lookup)
                if row.form is Form.SAMPLE
                else f"({row.glsl.format(*(_source(s, (0, 1, 2, 3)) for s in instruction.srcs))})"
            )
            expression = vector if len(letters) == 4 else f"{vector}.{letters}"
        if instruction.saturate:
            expression = f"clamp({expression}, 0.0, 1.0)"
        register = dst.register
        name = "result_color" if isinstance(register, ResultRegister) else _temporary(register.name)
        suffix = "" if len(letters) == 4 else f".{letters}"
        return f"{name}{suffix} = {expression};"

    def _lookup(self, instruction: Instruction, lookup: Folded | None) -> str:
        """A folded lookup is one `texture` at its place, the fast way on every driver.

        The others clamp and fetch by integer, the exact way.
        """
        assert instruction.texture is not None
        sampler = f"texture{instruction.texture.unit}"
        extent = self.sizes[instruction.texture.unit]
        if lookup is None:
            coordinate = _source(instruction.srcs[0], (0, 1))
            last = f"vec2({extent.width - 1}.0, {extent.height - 1}.0)"
            # Not clamp: max first takes a NaN to 0 on drivers that pick the other operand.
            texel = f"ivec2(min(max(floor({coordinate}), vec2(0.0)), {last}))"
            return f"texelFetch({sampler}, {texel}, 0)"
        place = f"place{lookup.place}"
        if lookup.right or lookup.up:
            place += f" + vec2({lookup.right / extent.width!r}, {lookup.up / extent.height!r})"
        return f"texture({sampler}, {place})"


PARAMETERS = {ParameterSpace.LOCAL: "local", ParameterSpace.ENV: "env"}


def _temporary(name: str) -> str:
    """A GLSL identifier for a temporary, in which `$` and two underscores in a row cannot stand."""
    return "t_" + name.replace("_", "u_").replace("$", "d_")


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
