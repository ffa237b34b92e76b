"""A program as a GLSL fragment shader to keep: the source's names, real samplers, no sizes.

A lookup is one `texture` call, and its filter and wrap are the state of the texture or the sampler.
Exact shaders fetch texels by their numbers, nearest and clamped to the edge, and compute attributes
from planes, since rasterisers differ in both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.execute import ALL
from gpgpu_legacy.isa.expressions import (
    Constant,
    Expression,
    Fetch,
    Given,
    Operation,
    Place,
    PlanePart,
    Read,
    Role,
    Sample,
    Variable,
    components,
    read,
)
from gpgpu_legacy.isa.program import (
    Attribute,
    AttributeKind,
    Parameter,
    Program,
    ResultRegister,
    TextureSource,
    TextureTarget,
)
from gpgpu_legacy.isa.statements import (
    Assign,
    Call,
    Declare,
    Statement,
    all_expressions,
    read_first,
)
from gpgpu_legacy.isa.types import COMPARISONS, FLOAT, Components, Kind, Operator, type_of
from gpgpu_legacy.lower.emit.glsl import (
    PLANE_PARTS,
    Dialect,
    GlslEmitter,
    attribute_name,
    literal,
    parameter_name,
    shader_text,
)
from gpgpu_legacy.lower.emit.glsl_fragment import GLSL, GLSL_ES
from gpgpu_legacy.lower.emit.hosts import host_code
from gpgpu_legacy.lower.emit.targets import Input, Translation, TranslationTarget
from gpgpu_legacy.lower.emit.text import ATOM, SIGN, identifier
from gpgpu_legacy.lower.lowering import (
    attribute_of,
    attribute_value,
    attribute_variable,
    attributes_read,
    result_variable,
)
from gpgpu_legacy.lower.programs import (
    ProgramLowering,
    joined,
    program_statements,
    result_registers,
    source_line,
)
from gpgpu_legacy.lower.sampling import LayerCode, SampledUnit, lookup_function
from gpgpu_legacy.plan.textures import FORMATS, RGBA32F, Compare, Sampler, TextureKind

PLAIN = Dialect(("#version 330 core",), precise="")
_OPAQUE = ("sampler3D", "samplerCube", "sampler2DArray", "sampler2DShadow")
PLAIN_ES = replace(
    GLSL_ES, header=(*GLSL_ES.header, *(f"precision highp {kind};" for kind in _OPAQUE))
)

_KINDS = {
    TextureTarget.T1D: ("sampler2D", "a 1D texture as a 2D one of height 1"),
    TextureTarget.T2D: ("sampler2D", "a 2D texture"),
    TextureTarget.T3D: ("sampler3D", "a 3D texture"),
    TextureTarget.CUBE: ("samplerCube", "a cube map"),
    TextureTarget.RECT: ("sampler2D", "a RECT texture as a 2D one; s and t count texels"),
}
"""The type of a sampler, and what its texture has to be."""

_MOST = {"texture image unit": (16, 16), "uniform vector": (256, 224), "colour": (8, 4)}
"""What every OpenGL 3.3 and every WebGL2 promise a fragment shader."""

_WORDS = """
active asm atomic_uint attribute bool break bvec2 bvec3 bvec4 case cast centroid class coherent
common const continue default discard dmat2 dmat3 dmat4 do double dvec2 dvec3 dvec4 else enum extern
external false filter fixed flat float for fvec2 fvec3 fvec4 goto half highp hvec2 hvec3 hvec4 if
iimage2D image2D in inline inout input int interface invariant isampler2D ivec2 ivec3 ivec4 layout
long lowp main mat2 mat3 mat4 mediump namespace noinline noperspective out output packed partition
patch precise precision public readonly resource restrict return sample sampler1D sampler2D
sampler2DArray sampler2DRect sampler2DShadow sampler3D samplerBuffer samplerCube shared short sizeof
smooth static struct subroutine superp switch template texture this true typedef uimage2D uint
uniform union unsigned using usampler2D uvec2 uvec3 uvec4 varying vec2 vec3 vec4 void volatile while
writeonly zero one corner quotient root negated constant saturated power abs clamp cos exp exp2
floor floatBitsToUint inversesqrt isnan log2 max min sin sqrt texelFetch textureSize uintBitsToFloat
""".split()  # noqa: SIM905 - a list of as many strings is less legible
"""Words of GLSL and GLSL ES, and names that shaders use."""


def glsl_translation(program: Program, *, es: bool = False, exact: bool = False) -> Translation:
    """The shader of a program, in GLSL 3.30 (exact: 4.00) or in GLSL ES 3.00.

    Raises InputError, with the instruction's place, for what OpenGL 3.3 or WebGL2 may lack.
    """
    dialect = PLAIN_ES if es else GLSL if exact else PLAIN
    translation = _Translator(program, dialect, exact=exact).translation()
    uniforms = {given.source for given in translation.inputs if isinstance(given.source, Parameter)}
    used: dict[str, set[object]] = {what: set() for what in _MOST}
    for instruction in program.instructions:
        registers = [src.register for src in instruction.srcs]
        registers = [replace(r, name="") for r in registers if isinstance(r, Parameter)]
        used["uniform vector"] |= uniforms.intersection(registers)
        if instruction.texture is not None:
            used["texture image unit"].add(instruction.texture.unit)
        if isinstance(instruction.register, ResultRegister):
            used["colour"] |= {*range(instruction.register.index + 1)}
        for what, most in _MOST.items():
            if len(used[what]) > most[es]:
                at = instruction.span
                raise InputError(
                    f"{at.file or program.name}:{at.line}:{at.column}: {instruction.mnemonic} uses "
                    f"{what} {most[es] + 1} of the program, and {'WebGL2' if es else 'OpenGL 3.3'} "
                    f"promises {most[es]}; use fewer, or split it"
                )
    return translation


TARGETS = (
    TranslationTarget(
        "glsl",
        "a fragment shader for OpenGL 3.3, with the source's names",
        lambda program, exact: glsl_translation(program, exact=exact),
        "moderngl",
        partial(host_code, is_page=False),
    ),
    TranslationTarget(
        "glsl-es",
        "the same for WebGL2 and OpenGL ES 3.0",
        lambda program, exact: glsl_translation(program, es=True, exact=exact),
        "webgl",
        partial(host_code, is_page=True),
    ),
)


class _Translator(GlslEmitter):
    """Spells a program's statements under the names of its source."""

    def __init__(self, program: Program, dialect: Dialect, *, exact: bool) -> None:
        super().__init__(dialect, exact=exact)
        self.program = program
        self._taken = set(_WORDS)
        self._names: dict[object, str] = {}
        self._inputs: dict[object, Input] = {}

    # Names

    def own(self, key: object, wanted: str) -> str:
        """The name of an input or a variable of the program: the wanted one, if it is free."""
        if key not in self._names:
            stem = identifier(wanted)
            if not stem[:1].isalpha() or stem.startswith(("gl_", "webgl_")):
                stem = f"d{stem}"
            name, number = stem, 1
            while name in self._taken or name.rstrip("0123456789") in _SERIES:
                name, number = f"{stem}_{number}", number + 1
            self._taken.add(name)
            self._names[key] = name
        return self._names[key]

    def name(self, variable: Variable) -> str:
        match variable.role:
            case Role.TEMPORARY:
                return self.own(variable.name, variable.name)
            case Role.RESULT:
                name = "result" if variable.name == "color" else variable.name
                return self.own(variable, f"{name}{variable.number or ''}")
            case Role.ATTRIBUTE:
                given = self._inputs.get(attribute_of(variable))
                return given.name if given else "gl_FragCoord"
        return super().name(variable)

    def _name_inputs(self, statements: Sequence[Statement]) -> None:
        """Name all that the application gives, and find out how many components of it are read."""
        program = self.program
        parameters = (p for declared in program.parameters for p in declared.parameters)
        known: dict[object, str] = {replace(p, name=""): p.name for p in parameters}
        known |= {a.attribute: a.name for a in program.attributes} | dict(program.names)
        source: Parameter | Attribute
        widths: dict[Parameter | Attribute, int] = {}
        for value in all_expressions(statements):
            if isinstance(value, Call):  # its own names hide those of samplers
                inside = (s.variable for s in value.function.body if isinstance(s, Declare))
                self._taken |= {v.name for v in (*value.function.parameters, *inside)}
            match value:
                case Given(source=Parameter() as source):
                    pass
                case Read(variable=Variable(role=Role.ATTRIBUTE) as variable):
                    source = attribute_of(variable)
                case _:
                    continue
            widths[source] = max(widths.get(source, 0), 1 + max(value.components))
        widths.pop(_POSITION, None)
        for source, width in widths.items():
            if isinstance(source, Parameter):
                wanted, needed = parameter_name(source), width
            else:
                wanted, needed = attribute_name(source), 4 if self.exact else width
            kind = type_of(Kind.FLOAT, needed).word
            name = self.own(source, known.get(source) or wanted)
            self._inputs[source] = Input(name, kind, needed, source, source.text)
        for unit, target in sorted(program.texture_units.items()):
            name = self.own(unit, known.get(unit) or f"texture{unit}")
            kind, meaning = self._sampler(target)
            self._inputs[unit] = Input(name, kind, 1, unit, f"unit {unit}: {meaning}")

    def _sampler(self, target: TextureTarget) -> tuple[str, str]:
        """The type of the sampler, and the texture and the state that it needs."""
        kind, meaning = _KINDS[target.kind]
        if self.exact and target is TextureTarget.CUBE:
            kind, meaning = "sampler2DArray", "a cube map as layers +x, -x, +y, -y, +z, -z"
        if target.is_shadow:
            kind = kind if self.exact else "sampler2DShadow"
            meaning += f" of depths, {'not ' * self.exact}in compare mode <="
        fetched = "fetched, as by nearest and clamp-to-edge"
        return kind, f"{meaning}; {fetched if self.exact else 'filter and wrap are its own'}"

    # Spelling

    def spelled(self, value: Expression) -> tuple[str, int]:
        if isinstance(value, Given) and isinstance(value.source, Parameter):
            return self._narrowed(self._inputs[value.source], value.components), ATOM
        return super().spelled(value)

    def _narrowed(self, given: Input, wanted: Components) -> str:
        """Components of an input, which may be a number."""
        if given.width > 1:
            return given.name + self.suffix(wanted, given.width)
        return given.name if len(wanted) == 1 else f"vec{len(wanted)}({given.name})"

    def read(self, value: Read) -> str:
        if value.variable.name == "sizes":
            size = f"textureSize({self._inputs[value.variable.number].name}, 0)"
            return size + self.suffix(value.components, 3)
        if value.variable.role is Role.ATTRIBUTE:
            given = self._inputs.get(attribute_of(value.variable))
            if given is not None:
                return self._narrowed(given, value.components)
        return super().read(value)

    def source(self, given: Given) -> str:
        if isinstance(given.source, PlanePart):
            return f"{self._inputs[given.source.attribute].name}_{PLANE_PARTS[given.source.part]}"
        assert given.source is Place.CENTRE
        return "gl_FragCoord"

    def fetch(self, fetch: Fetch) -> str:
        at = ", ".join(map(self.expression, fetch.operands))
        name = self._inputs[fetch.texture].name
        return f"texelFetch({name}, ivec{len(fetch.operands)}({at}), 0)"

    def sample(self, sample: Sample) -> str:
        target, name = sample.texture.target, self._inputs[sample.texture.unit].name
        *place, bias = sample.operands
        at = [self.expression(part) for part in place[: target.kind.coordinates]]
        if target.kind is TextureTarget.T1D:
            at.append("0.5")
        vector = None if target.kind is TextureTarget.T1D else joined(place[: len(at)])
        where = self.expression(vector) if vector else f"vec{len(at)}({', '.join(at)})"
        if target.kind is TextureTarget.RECT:
            where = f"{where} / vec2(textureSize({name}, 0))"
        if target.is_shadow:
            where = f"vec3({where}, {self.expression(place[2])})"
        biased = "" if bias == _NO_BIAS else f", {self.expression(bias)}"
        texel = f"texture({name}, {where}{biased})"
        if target.is_shadow:
            texel = f"vec4(vec3({texel}), 1.0)"
        return texel + self.suffix(sample.components, 4)

    def operation(self, value: Operation) -> tuple[str, int]:
        if not self.exact and value.operator is Operator.ADD:
            left, right = value.operands
            if isinstance(right, Operation) and right.operator is Operator.NEGATE:
                difference = (left, right.operands[0])
                value = replace(value, operands=difference, operator=Operator.SUBTRACT)
        return super().operation(value)

    def operand(self, operation: Operation, value: Expression, binds: int) -> str:
        """An operand. A vector of equal numbers is one number beside another vector."""
        if not self.exact and isinstance(value, Constant) and len({*map(repr, value.values)}) == 1:
            widths = [part.type.width for part in operation.operands if part is not value]
            if widths == [value.type.width] and operation.operator not in COMPARISONS:
                return literal(value.values[0])
        return super().operand(operation, value, binds)

    def other(self, value: Operation) -> tuple[str, int]:
        if value.operator is Operator.NEGATE and not self.exact:
            return f"-{self.inside(value.operands[0], SIGN + 1)}", SIGN
        return super().other(value)

    # The shader

    def translation(self) -> Translation:
        """The whole translation."""
        parts = list(program_statements(self.program, _Lookups(fetches=self.exact)))
        flat = [statement for _, statements in parts for statement in statements]
        self._name_inputs(flat)
        colours = map(result_variable, range(self.program.color_outputs))
        results = list(dict.fromkeys([*colours, *result_registers(self.program)]))
        ends = [Declare(result, read(result)) for result in results]
        early = [variable for variable, _ in read_first([*flat, *ends])]
        attributes = map(attribute_of, attributes_read(flat) if self.exact else ())
        planes = (attribute_variable(a) for a in attributes if a != _POSITION)
        body = self.block([Declare(variable, attribute_value(variable)) for variable in planes])
        written = dict.fromkeys(v for v in early if v.role in (Role.TEMPORARY, Role.RESULT))
        for variable in written:
            zeros = Constant((0.0,) * variable.type.width, variable.type)
            colour = _is_colour(variable)
            first = Assign(variable, ALL, zeros) if colour else Declare(variable, zeros)
            body += self.block([first])
        line = ""
        for instruction, statements in parts:
            if instruction is not None and source_line(instruction) != line:
                line = source_line(instruction)
                body.append(f"    // {_comment(line)}")
            body += self.block(list(_declared(statements, written)))
        return self._around(body, results)

    def _around(self, body: Sequence[str], results: Sequence[Variable]) -> Translation:
        uniforms, functions = self.head()
        inputs = tuple(self._inputs.values())
        lines = [*self.dialect.header, f"// {_comment(self.program.name)}", ""]
        for given in inputs:
            is_attribute = isinstance(given.source, Attribute)
            names, kind = given.name, "in" if is_attribute else "uniform"
            meaning = given.meaning
            if is_attribute and self.exact:
                names, kind = ", ".join(f"{given.name}_{part}" for part in PLANE_PARTS), "uniform"
                meaning += ": base + dx * x + dy * y at a pixel's centre"
            lines.append(f"{kind} {given.type} {names};  // {meaning}")
        lines += [f"{line}  // for the compiler's eyes" for line in uniforms]
        for number, name in [(v.number, self.name(v)) for v in results if _is_colour(v)]:
            lines.append(f"layout(location = {number}) out vec4 {name};  // result.color[{number}]")
            lines += [f"precise {name};"] * bool(self.dialect.precise)
        depth = [f"    gl_FragDepth = {self.name(v)}.z;" for v in results if not _is_colour(v)]
        text = shader_text([*lines, *functions], [*body, *depth])
        return Translation(self.program, text, self.dialect.header, inputs, self.exact)


_NO_BIAS = Constant((0.0,), FLOAT)
_POSITION = Attribute(AttributeKind.POSITION)
_SERIES = {"part", "argument", "lookup", "lod", "select_less", "select_less_equal"}
"""Names that shaders use with numbers after them."""


def _is_colour(variable: Variable) -> bool:
    return variable.role is Role.RESULT and variable.name == "color"


def _declared(
    statements: Sequence[Statement], written: dict[Variable, None]
) -> Iterator[Statement]:
    """The statements, in which each register is declared where it is first written."""
    for statement in statements:
        if isinstance(statement, Assign) and not (
            _is_colour(variable := statement.variable) or variable in written
        ):
            written[variable] = None
            if len(statement.components) == variable.type.width:
                yield Declare(variable, statement.value)
                continue
            yield Declare(variable)
        yield statement


def _comment(text: str) -> str:
    """A text that is safe in a comment, in every host: it neither ends nor continues it."""
    plain = "".join(c if " " <= c <= "~" and c != "\\" else " " for c in text)
    return plain.replace('"""', "'").replace("</", "< /").rstrip()


class _Lookups(ProgramLowering):
    """Lowers lookups, which read no more coordinates than their targets have.

    fetches: whether they fetch the nearest texel, clamped to the edge.
    """

    def __init__(self, *, fetches: bool) -> None:
        super().__init__()
        self.fetches = fetches

    def texel(
        self, source: TextureSource, coordinates: Sequence[Expression], wanted: Components
    ) -> Expression:
        number, target = source.unit, source.target
        given = tuple(coordinates[: target.coordinates])
        if not self.fetches:
            return super().texel(source, [*given, coordinates[3]], wanted)
        sampler, texel_format = Sampler(), RGBA32F
        if target.is_shadow:
            sampler, texel_format = Sampler(compare=Compare.LEQUAL), FORMATS["depth32f"]
        unit = SampledUnit(number, TextureKind(target.kind.value), None, sampler, texel_format)
        return components(Call(given, lookup_function(number, unit, code=LayerCode)), wanted)
