"""Fragment shaders in GLSL 1.10 to 1.30 and GLSL ES 1.00, as Programs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from gpgpu_legacy.isa.ir import (
    Attribute,
    AttributeKind,
    Parameter,
    ParameterSpace,
    Program,
    ResultKind,
    ResultRegister,
    Span,
)
from gpgpu_legacy.languages.c import syntax as c
from gpgpu_legacy.languages.c.parser import parse
from gpgpu_legacy.languages.glsl.lookups import Lookups
from gpgpu_legacy.languages.glsl.rules import Rules
from gpgpu_legacy.languages.glsl.state import DECLARED, STATE
from gpgpu_legacy.languages.glsl.words import FRAGMENTS
from gpgpu_legacy.languages.shading.bindings import Bindings
from gpgpu_legacy.languages.shading.expressions import Place
from gpgpu_legacy.languages.shading.faults import Fault
from gpgpu_legacy.languages.shading.graph import Graph, Vector
from gpgpu_legacy.languages.shading.mathematics import GLSL
from gpgpu_legacy.languages.shading.types import SamplerType, Type, leaves, size

VERSIONS = (100, 110, 120, 130)

_SETS, _UNITS, _LOCALS, _COLORS = 8, 32, 2048, 8
_VARYING, _READ_ONLY = {"varying", "in"}, {"varying", "in", "uniform"}
_ATTRIBUTES = {
    "gl_FragCoord": AttributeKind.POSITION,
    "gl_Color": AttributeKind.COLOR,
    "gl_SecondaryColor": AttributeKind.SECONDARY_COLOR,
    "gl_FogFragCoord": AttributeKind.FOGCOORD,
}
_VERSION = re.compile(r"^[^\S\n]*#[^\S\n]*version[^\S\n]+(\d+)", re.MULTILINE)
_FLOAT_PRECISION = re.compile(r"\bprecision\s+\w+\s+float\b")
_TYPE = re.compile(r"\b(float|int|bool)([234])(?:x([234]))?\b")
_ELEMENTS = {"float": "", "int": "i", "bool": "b"}


class _Compiler(Rules):
    """Evaluates main, with what it is given and what it leaves bound."""

    def __init__(self, unit: c.Unit, graph: Graph, version: int) -> None:
        self.version = version
        super().__init__(unit, graph)
        self.bindings = Bindings(graph)
        self._lookups = Lookups(graph, self._size)
        self._locals = self._units = 0
        self._sizes: dict[int, Vector] = {}
        self._written: dict[str, set[int]] = {}
        """The numbers of results that are written, by name."""
        indices = {
            x.index.value if isinstance(x.index, c.Number) else None
            for x in c.walk(unit.items)
            if isinstance(x, c.Index) and x.base == c.Name("gl_TexCoord")
        }
        self._sets = [k for k in range(_SETS) if not indices & {k, None}]

    # What a shader is given -----------------------------------------------------------------------

    def declare_global(self, d: c.Declaration) -> None:
        """A variable outside functions, which the outside gives, takes or neither."""
        qualifiers = d.type.qualifiers
        if qualifiers & {"attribute", "flat", "noperspective"}:
            expected = "a fragment shader's varyings are interpolated, in perspective"
            raise Fault(f"{d.name} is {min(qualifiers)}", expected, d.at)
        if d.value is not None or not qualifiers & {*_READ_ONLY, "out"}:
            super().declare_global(d)
            return
        kind = self.sized(d)
        if "uniform" in qualifiers:
            value = self._uniform(d, kind)
        elif "out" in qualifiers:
            value = self.graph.zeros(kind)
        else:
            value = self._varying(d, kind)
        self.declare(d.name, value)

    def _uniform(self, d: c.Declaration, kind: Type) -> Vector:
        """In parameters, one for each vector, column or element, or in units."""
        parts = []
        for leaf, name in leaves(kind, d.name):
            if isinstance(leaf, SamplerType):
                if self._units == _UNITS:
                    raise Fault(f"{name} has no unit", f"{_UNITS} are taken", d.at)
                parts.append(self.bindings.unit(self._units, name))
                self._units += 1
            elif d.at.file == c.BEFORE:
                parts.append(self._state(name, d.at)[: leaf.width])
            else:
                parts.append(self._local(name, d.at)[: leaf.width].of(leaf.kind))
        return self.graph.built(kind, parts)

    def _local(self, name: str, at: Span) -> Vector:
        """The next program parameter."""
        if self._locals == _LOCALS:
            raise Fault(f"{name} has no parameter", f"{_LOCALS} are taken", at)
        self._locals += 1
        return self.bindings.parameter(Parameter(ParameterSpace.LOCAL, self._locals - 1), name)

    def _size(self, unit: int) -> Vector:
        """A parameter of the program's own: the extents of the texture of a unit."""
        if unit not in self._sizes:
            self._sizes[unit] = self._local(f"size_of_{self.bindings.name(unit)}", self.graph.at)
        return self._sizes[unit]

    def _state(self, name: str, at: Span) -> Vector:
        """OpenGL's state, by the name of a built-in uniform's leaf."""
        for pattern, binding in STATE:
            if match := re.fullmatch(pattern, name):
                text, _, swizzle = match.expand(binding).partition(" ")
                parameter = Parameter(ParameterSpace.STATE, binding=f"state.{text}")
                return self.graph.leaf(parameter)[["xyzw".index(x) for x in swizzle or "xyzw"]]
        raise Fault(f"{name} cannot be compiled", "ARB_fragment_program has no such state", at)

    def _varying(self, d: c.Declaration, kind: Type) -> Vector:
        """An attribute; of the text's own varyings, the next free set for each vector."""
        if d.name == "gl_TexCoord":
            sets = range(size(kind) // 4)
            parts = [self.graph.leaf(Attribute(AttributeKind.TEXCOORD, k)) for k in sets]
            return self.graph.built(kind, parts)
        parts = []
        for leaf, name in leaves(kind, d.name):
            if leaf.kind != "float" or isinstance(leaf, SamplerType):
                raise Fault(f"{d.name} is {kind}", "a varying is float", d.at)
            if d.name in _ATTRIBUTES:
                attribute = Attribute(_ATTRIBUTES[d.name])
            elif not self._sets:
                expected = f"{_SETS} texture coordinate sets are taken: join some in a vec4"
                raise Fault(f"there is no room for the varying {d.name}", expected, d.at)
            else:
                attribute = Attribute(AttributeKind.TEXCOORD, self._sets.pop(0))
            parts.append(self.bindings.attribute(attribute, name)[: leaf.width])
        return self.graph.built(kind, parts)

    # What it does ---------------------------------------------------------------------------------

    def call_library(self, name: str, call: c.Call) -> Vector | None:
        """A function of the library, or a lookup."""
        if name.startswith(("texture", "shadow", "texel")):
            values = [self.evaluate(x) for x in call.arguments]
            self.graph.at = call.at
            if (texel := self._lookups.call(name, values, call.at)) is not None:
                return texel
        return super().call_library(name, call)

    def write(self, place: Place, value: Vector) -> None:
        """Assign, if a shader may write there."""
        name = place.variable.name
        if self.scopes[0].get(name) is place.variable:
            found = _READ_ONLY & self.globals[name].type.qualifiers if name in self.globals else ()
            for qualifier in found:
                problem = f"{name} is {qualifier}, which a fragment shader only reads"
                raise Fault(problem, "assign to a variable of its own", place.at)
            self._written.setdefault(name, set()).update(place.part.literals)
        super().write(place, value)

    # What it leaves -------------------------------------------------------------------------------

    def results(self) -> dict[ResultRegister, Vector]:
        """The results that are written."""
        found: dict[ResultRegister, Vector] = {}
        number = 0
        for name, d in self.globals.items():
            is_own = "out" in d.type.qualifiers
            register = ResultRegister(ResultKind.COLOR)
            if is_own and d.type.layout:
                number = self.known(dict(d.type.layout).get("location") or c.Number(0), "this")
            if name == "gl_FragDepth":
                register = ResultRegister(ResultKind.DEPTH)
            if not is_own and name not in ("gl_FragColor", "gl_FragData", "gl_FragDepth"):
                continue
            kind = self.type_of(d)
            first = number if is_own else 0
            for leaf, (part, _) in enumerate(leaves(kind)):
                written = {n - 4 * leaf for n in self._written.get(name, ())} & {*range(4)}
                if written and part.kind != "float":
                    raise Fault(f"{name} is {kind}", "a colour is float", d.at)
                if written:
                    value = self.values[self.scopes[0][name]]
                    own = ResultRegister(register.kind, first + leaf)
                    if own in found or own.index >= _COLORS:
                        raise Fault(f"{name} has no result", "give each colour its own", d.at)
                    found[own] = value[4 * leaf : 4 * leaf + max(written) + 1]
            number += is_own * sum(1 for _ in leaves(kind))
        return found


def compile_text(
    text: str,
    name: str,
    *,
    entry: str = "",
    folder: Path | None = None,
    root: Path | None = None,
    defines: Mapping[str, str] = {},
    lenient: bool = False,
    mathematics: str = GLSL,
) -> Program:
    """The Program of a fragment shader; AssemblyError for a text that is wrong.

    entry: main, if any. folder: of the text, where #include looks. root: a folder around it that
    #include does not leave. defines: macros. lenient: whether a text in GLSL ES needs no precision
    for float. mathematics: of what languages define otherwise.
    """
    number = _VERSION.search(text)
    version = int(number[1]) if number else 110
    own = {"__VERSION__": str(version)} | ({"GL_ES": "1"} if version == 100 else {})
    named = {*re.findall(r"gl_\w+", text)}
    declared = "\n".join(x for x in DECLARED if named & {*re.findall(r"(gl_\w+)[;[ ]", x)})
    unit = parse(
        text, name, folder=folder, root=root, defines=own | {**defines}, before=declared,
        words=FRAGMENTS,
    )  # fmt: skip
    try:
        if version not in VERSIONS:
            known = ", ".join(map(str, VERSIONS))
            raise Fault(f"this is version {version}", f"expected {known}", Span(1, 1))
        if entry not in ("", "main"):
            raise Fault(f"{entry} cannot be the entry", "a shader begins with main", Span(1, 1))
        if version == 100 and not lenient and not _FLOAT_PRECISION.search(text):
            expected = "write `precision mediump float;` first, or take it so: --lenient"
            raise Fault("GLSL ES has no precision of its own for float", expected, Span(1, 1))
        return compile_unit(unit, version, mathematics)
    except Fault as fault:
        problem, expected = (_TYPE.sub(_spelled, x) for x in (fault.problem, fault.expected))
        raise unit.texts.error(problem, fault.at, expected) from None


def _spelled(match: re.Match[str]) -> str:
    """A type as GLSL names it."""
    kind, columns, rows = match.groups()
    if rows:
        return f"mat{columns}" if rows == columns else f"mat{columns}x{rows}"
    return f"{_ELEMENTS[kind]}vec{columns}"


def compile_unit(unit: c.Unit, version: int = 110, mathematics: str = GLSL) -> Program:
    """The Program of a unit's main; it raises Fault."""
    graph = Graph()
    compiler = _Compiler(unit, graph, version)
    compiler.library = compiler.library.by(mathematics)
    functions = [f for f in unit.items if isinstance(f, c.Function) and f.body is not None]
    main = next((f for f in functions if f.name == "main"), None)
    if main is None or main.parameters or main.type.name != "void":
        raise Fault("there is no function main", "expected void main() { … }", Span(1, 1))
    graph.at = main.at
    compiler.run(main, {})
    compiler.bindings.results = compiler.results()
    if not compiler.bindings.results and not graph.kills:
        raise Fault("main has no result", "write gl_FragColor", main.at)
    return compiler.bindings.program(unit)
