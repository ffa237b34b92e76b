"""A fragment program of a pass as GLSL, instruction for instruction: drawn, or as a compute shader.

In a fragment shader every texture is a sampler2D, whatever its kind: its layers lie one above the
other. A lookup that is not folded into a varying is fetched by integer coordinates
(lower/sampling.py). GLSL ES 3.00, the language of WebGL2, is a dialect without `fma` and without
`precise`, so that a compiler may contract and reorder freely. Exact shaders still hide constants:
the uniform `zero` is 0 if nothing sets it.

A compute shader has one invocation per fragment. Its textures and targets are arrays of floats in
storage buffers, and a discarded fragment is one that does not store (lower/fragments.py).
"""

from __future__ import annotations

from functools import lru_cache

from gpgpu_legacy.isa.expressions import Array, Fetch, Given, Place, PlanePart, Texel, Variable
from gpgpu_legacy.isa.program import Attribute, Parameter
from gpgpu_legacy.isa.statements import Call
from gpgpu_legacy.lower.emit.glsl import (
    PLANE_PARTS,
    Dialect,
    GlslEmitter,
    attribute_name,
    shader_text,
    variable_name,
)
from gpgpu_legacy.lower.fragments import (
    TARGET_WIDTH,
    FoldedLookup,
    ShaderKey,
    fragment_statements,
    stored_colours,
    target_array,
    target_variable,
    unit_array,
    unit_fetch,
)
from gpgpu_legacy.lower.sampling import size_variables

GLSL = Dialect(("#version 400 core",))

ORIGIN = "// A fragment program, instruction for instruction."
"""The program's name is left out: a file's name may contain anything, even the end of a comment.
Names of registers are letters, digits, _ and $."""


class PassEmitter(GlslEmitter):
    """The common part of the shaders of an unfused pass.

    bent: the attributes that have a plane for each triangle. looked_up: the units whose texels the
    statements read.
    """

    def __init__(self, key: ShaderKey, dialect: Dialect) -> None:
        """Begin with nothing spelled."""
        super().__init__(dialect, key.arithmetic, exact=key.exact)
        self.bent, self.units = key.bent, {unit.number: unit for unit in key.units}
        self.looked_up = set[int]()

    def source(self, given: Given) -> str:
        """The name of a value; of a bent attribute, the plane of the fragment's triangle."""
        name = super().source(given)
        if isinstance(given.source, PlanePart) and given.source.attribute in self.bent:
            return f"{name}[side]"
        return name

    @property
    def attributes(self) -> dict[Attribute, None]:
        """The attributes whose planes the statements read."""
        planes = (source for source, _ in self.given if isinstance(source, PlanePart))
        return dict.fromkeys(plane.attribute for plane in planes)

    @property
    def needs_place(self) -> bool:
        """Whether the statements read `fragment`, the fragment's centre in the rectangle."""
        return any(source is Place.CENTRE for source, _ in self.given)

    @property
    def needs_size(self) -> bool:
        """Whether the shader needs `size`, the rectangle's extent, to tell its triangles apart."""
        return any(attribute in self.bent for attribute in self.attributes)

    def shader(self, first: list[str], inputs: list[str], start: list[str], body: list[str]) -> str:
        """The shader's text.

        first, inputs: the declarations before and after those of a pass's uniforms. start, body:
        the statements of main before and after those that find the fragment's triangle.
        """
        (uniforms, functions), given = self.head(), list[str]()
        for attribute in self.attributes:
            count = "[2]" if attribute in self.bent else ""
            name = attribute_name(attribute)
            names = ", ".join(f"{name}_{part}{count}" for part in PLANE_PARTS)
            given.append(f"uniform vec4 {names};")
        vectors = [g for g in self.given.values() if isinstance(g.source, Parameter)]
        given += [f"uniform vec4 {self.source(vector)};" for vector in vectors]
        head = [*self.dialect.header, ORIGIN, *uniforms, *first, *given, *inputs, *functions]
        if self.needs_size:
            start += [
                "    ivec2 doubled = ivec2(fragment * 2.0), extent = ivec2(size);",
                "    int side = doubled.y * extent.x > doubled.x * extent.y ? 1 : 0;",
            ]
        return shader_text(head, [*start, *body])


class _FragmentEmitter(PassEmitter):
    """Texels come from samplers."""

    def fetch(self, fetch: Fetch) -> str:
        place = f"ivec2({', '.join(map(self.expression, fetch.operands))})"
        return f"texelFetch({self.sampler(fetch.texture)}, {place}, 0)"

    def texel(self, texel: Texel[FoldedLookup]) -> str:
        """A folded lookup is one `texture` at its varying, which is fast on every driver."""
        folded, unit = texel.lookup.folded, texel.lookup.unit
        at, extent = f"varying{folded.varying}", unit.extent
        assert extent is not None, "a lookup is folded in a texture whose size is known"
        if folded.right or folded.up:
            at += f" + vec2({folded.right / extent.width!r}, {folded.up / extent.height!r})"
        return f"texture({self.sampler(unit.number)}, {at}){self.suffix(texel.components, 4)}"

    def sampler(self, unit: int) -> str:
        self.looked_up.add(unit)
        return f"texture{unit}"


def size_name(unit: int) -> str:
    """The shader's name for the size of the texture at a unit, if the code does not know it."""
    return variable_name(size_variables(unit)[0].variable)


@lru_cache(maxsize=256)
def fragment_shader(key: ShaderKey, dialect: Dialect = GLSL) -> str:
    """The text of a pass's fragment shader, made once per key and dialect.

    A dead instruction becomes a comment. These are the uniforms, if the code reads them:
    `NAME_base`, `NAME_dx` and `NAME_dy`, the plane of each attribute over the rectangle, or arrays
    of the two triangles' planes; `origin` and `size`, the rectangle's corner and extent; `localN`,
    `envN` and the vectors of state (parameter_name); `textureN`. A texture whose size the code does
    not know also has the ivec3 of size_name: its width, its height and its layers.
    """
    emitter = _FragmentEmitter(key, dialect)
    body = emitter.block(fragment_statements(key, rasterised=True))
    targets = range(len(key.targets))
    first = [
        *(f"in vec2 varying{n};" for n in range(key.varyings)),
        *["uniform vec2 origin;"] * emitter.needs_place,
        *["uniform vec2 size;"] * emitter.needs_size,
    ]
    inputs = []
    for n in sorted(emitter.looked_up):
        inputs.append(f"uniform sampler2D texture{n};")
        if emitter.units[n].extent is None:
            inputs.append(f"uniform ivec3 {size_name(n)};")
    inputs += [f"layout(location = {n}) out vec4 target{n};" for n in targets]
    start = ["    vec2 fragment = gl_FragCoord.xy - origin;"] * emitter.needs_place
    body += [f"    target{n} = {emitter.name(target_variable(n))};" for n in targets]
    return emitter.shader(first, inputs, start, body)


def vertex_shader(varyings: int = 0, dialect: Dialect = GLSL) -> str:
    """The text of the vertex shader that draws a pass's rectangle as a strip of 4 vertices.

    Uniforms: `varyingN_corners` for each varying, in the plan's order of corners.
    """
    names = [f"varying{n}" for n in range(varyings)]
    lines = [
        *dialect.header,
        "// The rectangle is the viewport: (0, 0), (W, 0), (0, H), (W, H) in turn.",
        *(f"uniform vec2 {name}_corners[4];\nout vec2 {name};" for name in names),
        "void main() {",
        "    int right = gl_VertexID & 1, top = gl_VertexID >> 1;",
        *["    int corner = top == 0 ? right : 3 - right;"] * bool(names),
        *(f"    {name} = {name}_corners[corner];" for name in names),
        "    gl_Position = vec4(2 * right - 1, 2 * top - 1, 0.0, 1.0);",
        "}\n",
    ]
    return "\n".join(lines)


GLSL_ES = Dialect(
    (
        "#version 300 es",
        "precision highp float;",
        "precision highp int;",
        "precision highp sampler2D;",
    ),
    precise="",
    initialises=False,
)


COMPUTE = Dialect(("#version 430 core",))

GROUP = (8, 8)
"""Invocations of a work group across and up."""


@lru_cache(maxsize=256)
def compute_shader(key: ShaderKey, *, scissored: bool = False) -> str:
    """The text of a pass's compute shader, made once per key.

    No lookup may be folded, since there is no rasteriser. Buffers, by binding: the textures of
    key.units in order, then the targets in order. Each holds its texels' channels as float32, row
    after row and layer after layer; 8-bit channels are numbers in [0, 1]. Uniforms: `origin` and
    `size`, the rectangle in the target; `target_width` in texels; if scissored, the corners of the
    `scissor` in the rectangle; the others are those of fragment_shader.
    """
    assert key.varyings == 0
    emitter = _BufferEmitter(key, COMPUTE)
    statements = fragment_statements(key, rasterised=False)
    body = emitter.block([*statements, *stored_colours(key)])
    first = [
        f"layout(local_size_x = {GROUP[0]}, local_size_y = {GROUP[1]}) in;",
        "uniform vec2 origin, size;",
        f"uniform {declared(TARGET_WIDTH)};",
        *["uniform vec4 scissor;"] * scissored,
    ]
    inputs = [
        buffer(binding, "readonly ", unit_array(unit))
        for binding, unit in enumerate(key.units)
        if unit.number in emitter.looked_up
    ]
    targets = range(len(key.targets))
    inputs += [buffer(len(key.units) + n, "", target_array(n)) for n in targets]
    start = [
        "    vec2 fragment = vec2(gl_GlobalInvocationID.xy) + 0.5;",
        "    if (fragment.x > size.x || fragment.y > size.y) return;",
        *["    if (clamp(fragment, scissor.xy, scissor.zw) != fragment) return;"] * scissored,
    ]
    return emitter.shader(first, inputs, start, body)


def declared(variable: Variable) -> str:
    """A variable that the shader itself declares: its type and its name."""
    return f"{variable.type.word} {variable.name}"


def buffer(binding: int, access: str, array: Array) -> str:
    """The declaration of a storage buffer that holds an array."""
    layout = f"layout(std430, binding = {binding})"
    block = f"{array.name.title()} {{ {array.element.word} {array.name}[]; }};"
    return f"{layout} {access}buffer {block}"


class _BufferEmitter(PassEmitter):
    """Texels come from storage buffers."""

    def fetch(self, fetch: Fetch) -> str:
        self.looked_up.add(fetch.texture)
        return self.expression(Call(fetch.operands, unit_fetch(self.units[fetch.texture])))
