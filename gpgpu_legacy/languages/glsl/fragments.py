"""Fragment shaders in GLSL 1.10 to 1.30 and GLSL ES 1.00, as Programs.

GLSL ES asks a text for a precision (4.5.3) and restricts loops and indices (Appendix A); drivers
often did not. The name of a lookup (8.7) gives the texture's kind, the treatment of the
coordinates, and the level.
"""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import replace
from functools import partial
from typing import Any

from gpgpu_legacy.isa.program import (
    Attribute,
    AttributeKind,
    Parameter,
    ParameterSpace,
    Program,
    ResultKind,
    ResultRegister,
    Span,
    TextureTarget,
)
from gpgpu_legacy.languages.c import syntax as c
from gpgpu_legacy.languages.c.parser import parse
from gpgpu_legacy.languages.glsl.rules import Rules
from gpgpu_legacy.languages.glsl.state import DECLARED, STATE
from gpgpu_legacy.languages.glsl.words import FRAGMENTS, SAMPLERS
from gpgpu_legacy.languages.language import DEFAULT_OPTIONS, CompilerOptions
from gpgpu_legacy.languages.shading.emit import Bindings, fitted
from gpgpu_legacy.languages.shading.expressions import Assignable, described
from gpgpu_legacy.languages.shading.graph import Fault, Graph, Vector
from gpgpu_legacy.languages.shading.library import GLSL, unit_of
from gpgpu_legacy.languages.shading.types import SamplerType, Type, leaves, size


def check_restrictions(unit: c.Unit, *, has_precision: bool) -> None:
    """Raise Fault at the first construct that a GLSL ES implementation may refuse."""
    if not has_precision:
        raise Fault(
            "GLSL ES has no precision of its own for float; "
            "write `precision mediump float;` first, or take it so: --lenient",
            Span(1, 1),
        )
    nodes = [*c.walk(unit.items)]
    known = {
        x.name
        for x in nodes
        if isinstance(x, c.Declaration) and x.value and "const" in x.type.qualifiers
    }
    _check_indices(unit.items, known)


def _check_indices(tree: Any, known: Set[str]) -> None:
    """Raise Fault at an index or a loop that A.4 or A.5 does not allow.

    known: the names of constants, and of the indices of the loops around.
    """
    if isinstance(tree, c.For):
        known = known | {_index(tree, known)}
    if isinstance(tree, c.Index) and not _constant(tree.index, known):
        raise Fault(
            "GLSL ES need not take this index (A.5); use constants and loops' indices, or take "
            "it so: --lenient",
            tree.index.at,
        )
    for part in c.parts_of(tree):
        _check_indices(part, known)


def _constant(x: c.Expression | None, known: Set[str]) -> bool:
    """Whether an expression names only known constants and functions."""
    called = {id(call.function) for call in c.walk(x) if isinstance(call, c.Call)}
    names = (n for n in c.walk(x) if isinstance(n, c.Name) and id(n) not in called)
    return x is not None and all(name.name in known for name in names)


def _index(loop: c.For, known: Set[str]) -> str:
    """The name of a loop's index; Fault for a loop that A.4 does not allow."""
    step = loop.step.assignment if isinstance(loop.step, c.Postfix) else loop.step
    match loop.start, loop.condition, step:
        case (
            c.Declare((c.Declaration(name=name, value=first),)),
            c.Binary("<" | ">" | "<=" | ">=" | "==" | "!=", c.Name(left), last),
            c.Assign("+=" | "-=", c.Name(target), by),
        ) if (
            name == left == target
            and all(_constant(x, known) for x in (first, last, by))
            and c.Name(name) not in (getattr(x, "target", None) for x in c.walk(loop.body))
        ):
            return name
    raise Fault(
        "GLSL ES need not take this loop (A.4); write for (int i = CONSTANT; i < CONSTANT; i++), "
        "or take it so: --lenient",
        loop.at,
    )


_NAME = re.compile(
    r"(texture|shadow)(1D|2D|3D|Cube|2DRect)?(Proj)?(Lod|Grad)?(Offset)?(?:ARB|EXT)?"
)
_MNEMONICS = {None: "TEX", "Proj": "TXP", "Bias": "TXB", "Lod": "TXL", "Grad": "TXD"}
_BASE = -1000.0
"""A bias so low that every lookup reads the base level: OpenGL clamps the level."""


VERSIONS = (100, 110, 120, 130, 140, 150, 330)

_SETS, _COLORS = 8, 8
_READ_ONLY = {"varying", "in", "uniform"}
_ATTRIBUTES = {
    "gl_FragCoord": AttributeKind.POSITION,
    "gl_Color": AttributeKind.COLOR,
    "gl_SecondaryColor": AttributeKind.SECONDARY_COLOR,
    "gl_FogFragCoord": AttributeKind.FOGCOORD,
    "gl_TexCoord": AttributeKind.TEXCOORD,
}
_VERSION = re.compile(r"^[^\S\n]*#[^\S\n]*version[^\S\n]+(\d+)", re.MULTILINE)
_FLOAT_PRECISION = re.compile(r"\bprecision\s+\w+\s+float\b")
_OF_ES = re.compile(r"#\s*ifdef\s+GL_ES\b.*?#\s*endif", re.DOTALL)
_TYPE = re.compile(r"\b(float|int|bool)([234])(?:x([234]))?\b")
_ELEMENTS = {"float": "", "int": "i", "bool": "b"}


class ShaderCompiler(Rules):
    """Evaluates main, with its inputs and results bound to registers."""

    def __init__(self, unit: c.Unit, graph: Graph, version: int) -> None:
        self.version = version
        super().__init__(unit, graph)
        self.bindings = Bindings(graph)
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
        self._used: dict[Attribute, int] = {}
        """How many components of texture coordinate sets the text's own varyings have."""

    # What a shader is given -----------------------------------------------------------------------

    def declare_global(self, d: c.Declaration) -> None:
        """Declare a variable outside functions: an input, a result, or neither."""
        qualifiers = d.type.qualifiers
        if qualifiers & {"attribute", "flat", "noperspective"}:
            raise Fault(
                f"{d.name} is {min(qualifiers)}; "
                "a fragment shader's varyings are interpolated, in perspective",
                d.at,
            )
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
        """A uniform: a parameter for each vector, column or element, a unit for each sampler."""
        parts = []
        for leaf, name in leaves(kind, d.name):
            if isinstance(leaf, SamplerType):
                parts.append(self.bindings.unit(self._units, name, d.at))
                self._units += 1
            elif d.at.file == c.BEFORE:
                parts.append(self._state(name, d.at)[: leaf.width])
            else:
                parts.append(self._local(name, d.at)[: leaf.width].of(leaf.kind))
        return self.graph.built(kind, parts)

    def _local(self, name: str, at: Span) -> Vector:
        """The next program parameter."""
        self._locals += 1
        parameter = Parameter(ParameterSpace.LOCAL, self._locals - 1)
        return self.bindings.parameter(parameter, name, at)

    def _state(self, name: str, at: Span) -> Vector:
        """OpenGL's state, by the name of a built-in uniform's leaf; Fault if there is none."""
        for pattern, binding in STATE:
            if match := re.fullmatch(pattern, name):
                text, _, swizzle = match.expand(binding).partition(" ")
                parameter = Parameter(ParameterSpace.STATE, binding=f"state.{text}")
                return self.graph.leaf(parameter)[["xyzw".index(x) for x in swizzle or "xyzw"]]
        raise Fault(f"{name} cannot be compiled; ARB_fragment_program has no such state", at)

    def _varying(self, d: c.Declaration, kind: Type) -> Vector:
        """A varying: a built-in attribute, or for each vector of the text's own a set with room."""
        parts = []
        for number, (leaf, name) in enumerate(leaves(kind, d.name)):
            if leaf.kind != "float":
                raise Fault(f"{d.name} is {kind}; a varying is float", d.at)
            if d.name in _ATTRIBUTES:
                value = self.graph.leaf(Attribute(_ATTRIBUTES[d.name], number))
            elif self._sets:
                attribute = Attribute(AttributeKind.TEXCOORD, self._sets.pop(0))
                value = self.bindings.attribute(attribute, name)
                self._used[attribute] = size(leaf)
            elif shared := [a for a, n in self._used.items() if n + size(leaf) <= 4]:
                first = self._used[shared[0]]
                value = self.bindings.attribute(shared[0], name, after=first)
                self._used[shared[0]] += size(leaf)
            else:
                raise Fault(
                    f"there is no room for the varying {d.name}; "
                    f"{_SETS} texture coordinate sets are taken: join some in a vec4",
                    d.at,
                )
            parts.append(value[: size(leaf)])
        return self.graph.built(kind, parts)

    # What it does ---------------------------------------------------------------------------------

    def call_library(self, name: str, call: c.Call) -> Vector | None:
        """Call a function of the library, or look up a texel."""
        if name.startswith(("texture", "shadow", "texel")):
            values = [self.evaluate(x) for x in call.arguments]
            self.graph.at = call.at
            if (texel := self._look_up(name, values, call.at)) is not None:
                return texel
        return super().call_library(name, call)

    # Lookups (8.7) --------------------------------------------------------------------------------

    def _look_up(self, name: str, values: list[Vector], at: Span) -> Vector | None:
        """The result of a lookup's call; None if the name is no lookup's."""
        match = _NAME.fullmatch(name)
        if match is None and name not in ("texelFetch", "texelFetchOffset", "textureSize"):
            return None
        if len(values) < 2 - (name == "textureSize"):
            raise Fault(f"{name} is given too little; expected a sampler and coordinates", at)
        kind = values[0].type
        if not isinstance(kind, SamplerType) or kind.target is None:
            raise Fault(f"{name} is given {described(values[0])}; expected a sampler", at)
        unit, target = unit_of(self.graph, values[0]), kind.target
        if match is None:
            return self._texel(name, unit, target, values[1:], at)
        width = target.coordinates
        function, shape, is_projected, level, moves = match.groups()
        expected = f"sampler{shape or ''}{'Shadow' if function == 'shadow' else ''}"
        if shape and SAMPLERS[expected] is not target:
            raise Fault(f"{name} is given {described(values[0])}; expected {expected}", at)
        widths = {width + 1, 4} if is_projected else {width}
        levels = {None: 0, "Lod": 1, "Grad": 2}[level]
        more = len(values) - 2 - bool(moves) - levels
        slopes = values[2:4] if level == "Grad" else []
        fits = all(len(slope) == target.kind.coordinates for slope in slopes)
        if more not in {0, int(not level)} or len(values[1]) not in widths or not fits:
            given = ", ".join(map(described, values[1:]))
            raise Fault(f"{name} is given {given}; expected {min(widths)} coordinates", at)
        place, *others = values[1], *(v.of("float") for v in values[2:])
        last = [others.pop(0) for _ in range(levels)]
        if level == "Lod" and last[0].constant == (0.0,):
            level, last = "Bias", [self.graph.numbers(_BASE)]
        plain = place[:width]
        if is_projected and values[2:]:
            plain = plain / place[-1]
        elif is_projected:
            level, last = "Proj", [place[-1]]
        if moves:
            plain = plain + self._coordinates(unit, target, others.pop(0))
        if others:
            level, last = "Bias", others
        coordinates = self.graph.join(plain, *last)
        texel = self.graph.look_up(unit, target, coordinates, _MNEMONICS[level])
        return texel[:1] if target.is_shadow and function == "texture" else texel

    def _texel(
        self, name: str, unit: int, target: TextureTarget, values: list[Vector], at: Span
    ) -> Vector:
        """The result of a lookup by a texel's number, or of a question for the texture's size."""
        width, asks = target.coordinates, name == "textureSize"
        places = [] if asks else [values[0], *values[2:]]
        most = 1 if asks else 2 + (name == "texelFetchOffset")
        if len(values) > most or any(len(place) != width for place in places):
            given = ", ".join(map(described, values))
            raise Fault(f"{name} is given {given}; expected {width} coordinates", at)
        if asks:
            return self._extents(unit, target).of("int")
        texel = sum((place.of("float") for place in places[1:]), places[0].of("float")) + 0.5
        return self.graph.look_up(unit, target, self._coordinates(unit, target, texel))

    def _extents(self, unit: int, target: TextureTarget) -> Vector:
        """The extents of a unit's texture in texels: a parameter of the program's own."""
        if unit not in self._sizes:
            self._sizes[unit] = self._local(f"size_of_{self.bindings.names[unit]}", self.graph.at)
        return self._sizes[unit][: 2 if target is TextureTarget.CUBE else target.kind.coordinates]

    def _coordinates(self, unit: int, target: TextureTarget, texels: Vector) -> Vector:
        """A number of texels as coordinates."""
        return texels if target is TextureTarget.RECT else texels / self._extents(unit, target)

    def write(self, place: Assignable, value: Vector) -> None:
        """Assign, if a shader may write there."""
        name = place.variable.name
        if self.scopes[0].get(name) is place.variable:
            qualifiers = self.globals[name].type.qualifiers if name in self.globals else ()
            for qualifier in _READ_ONLY.intersection(qualifiers):
                raise Fault(
                    f"{name} is {qualifier}, which a fragment shader only reads; "
                    "assign to a variable of its own",
                    place.at,
                )
            if "out" in qualifiers:
                numbers = (n for _, part in place.parts for n in part.literals)
                self._written.setdefault(name, set()).update(numbers)
        super().write(place, value)

    # What it leaves -------------------------------------------------------------------------------

    def results(self) -> dict[ResultRegister, Vector]:
        """The results that are written."""
        results: dict[ResultRegister, Vector] = {}
        free = 0
        for name, d in self.globals.items():
            written = self._written.get(name, ())
            if location := written and dict(d.type.layout).get("location"):
                free = self.known(location, "this location")
            kind = ResultKind.DEPTH if name == "gl_FragDepth" else ResultKind.COLOR
            number, start = free, 0
            for leaf in self.values[self.scopes[0][name]].leaves() if written else ():
                lanes = [n - start for n in written if start <= n < start + len(leaf)]
                register = ResultRegister(kind, number)
                fits = 0 <= number < _COLORS and register not in results
                if lanes and not (fits and leaf.kind == "float"):
                    raise Fault(
                        f"{name} cannot be result {number}; "
                        f"expected floats, for one of {_COLORS} colours each",
                        d.at,
                    )
                if lanes:
                    results[register] = leaf[: max(lanes) + 1]
                number, start = number + 1, start + len(leaf)
            free = free if kind is ResultKind.DEPTH else number
        return results


def compile_text(text: str, name: str, options: CompilerOptions = DEFAULT_OPTIONS) -> Program:
    """The Program of a fragment shader; AssemblyError for a text that is wrong."""
    version, own = version_of(text)
    named = {*re.findall(r"gl_\w+", text)}
    declared = "\n".join(x for x in DECLARED if named & {*re.findall(r"(gl_\w+)[;[ ]", x)})
    macros = replace(options, defines=own | {**options.defines})
    unit = parse(text, name, macros, before=declared, words=FRAGMENTS)
    compiled = partial(compile_unit, unit, version, options.mathematics or GLSL)
    try:
        if version not in VERSIONS:
            known = ", ".join(map(str, VERSIONS))
            raise Fault(f"this is version {version}; expected {known}", Span(1, 1))
        if options.entry not in ("", "main"):
            raise Fault(
                f"{options.entry} cannot be the entry; a shader begins with main", Span(1, 1)
            )
        if version == 100 and not options.lenient:
            check_restrictions(unit, has_precision=bool(_FLOAT_PRECISION.search(text)))
        return fitted(compiled, options.profile, lambda program: [program])
    except Fault as fault:
        raise unit.texts.error(_TYPE.sub(_spelled, str(fault)), fault.at) from None


def version_of(text: str) -> tuple[int, dict[str, str]]:
    """The version of a text, guessed if the text does not say it, and its predefined macros."""
    number = _VERSION.search(text)
    is_es = not number and _FLOAT_PRECISION.search(_OF_ES.sub("", text))
    version = int(number[1]) if number else 100 if is_es else 110
    return version, {"__VERSION__": str(version)} | ({"GL_ES": "1"} if version == 100 else {})


def _spelled(match: re.Match[str]) -> str:
    """A type as GLSL names it."""
    kind, columns, rows = match.groups()
    if rows:
        return f"mat{columns}" if rows == columns else f"mat{columns}x{rows}"
    return f"{_ELEMENTS[kind]}vec{columns}"


def compile_unit(
    unit: c.Unit, version: int = 110, mathematics: str = GLSL, *, branching: bool = False
) -> Program:
    """The Program of a unit's main. branching: whether it may branch. Raises Fault."""
    graph = Graph(branching=branching)
    compiler = ShaderCompiler(unit, graph, version)
    compiler.library = replace(compiler.library, mathematics=mathematics)
    main = next((f for f in unit.functions if f.name == "main"), None)
    if main is None or main.parameters or main.type.name != "void":
        raise Fault("there is no function main; expected void main() { … }", Span(1, 1))
    graph.at = main.at
    compiler.run(main, {})
    compiler.bindings.results = compiler.results()
    return compiler.bindings.program(unit, main, "write gl_FragColor")
