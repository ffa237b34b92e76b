"""Fragment programs: the parameters of an entry function bound by semantics, and its results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gpgpu_legacy.isa.ir import (
    Attribute,
    AttributeKind,
    Parameter,
    ParameterDeclaration,
    ParameterSpace,
    Program,
    ResultKind,
    ResultRegister,
    Span,
)
from gpgpu_legacy.isa.opcodes import RESERVED_WORDS
from gpgpu_legacy.languages.c import syntax as c
from gpgpu_legacy.languages.c.parser import parse
from gpgpu_legacy.languages.cg.emit import program
from gpgpu_legacy.languages.cg.evaluate import Evaluator
from gpgpu_legacy.languages.cg.faults import Fault
from gpgpu_legacy.languages.cg.graph import Graph, Vector
from gpgpu_legacy.languages.cg.types import (
    Aggregate,
    ArrayType,
    Numbers,
    SamplerType,
    SamplerValue,
    StructType,
    Type,
    Unreadable,
    Value,
    item_types,
)
from gpgpu_legacy.languages.diagnostics import meant

_INPUTS = {
    "COLOR": Attribute(AttributeKind.COLOR),
    "COL": Attribute(AttributeKind.COLOR),
    "COLOR0": Attribute(AttributeKind.COLOR),
    "COL0": Attribute(AttributeKind.COLOR),
    "COLOR1": Attribute(AttributeKind.SECONDARY_COLOR),
    "COL1": Attribute(AttributeKind.SECONDARY_COLOR),
    "WPOS": Attribute(AttributeKind.POSITION),
    "VPOS": Attribute(AttributeKind.POSITION),
    "FOG": Attribute(AttributeKind.FOGCOORD),
    "FOGC": Attribute(AttributeKind.FOGCOORD),
    "FOGP": Attribute(AttributeKind.FOGCOORD),
}
_SETS = 8
_INPUTS |= {
    f"{name}{k}": Attribute(AttributeKind.TEXCOORD, k)
    for name in ("TEXCOORD", "TEX")
    for k in range(_SETS)
}
_INPUTS |= {name: Attribute(AttributeKind.TEXCOORD) for name in ("TEXCOORD", "TEX")}
_OUTPUTS = {
    f"{name}{k}": ResultRegister(ResultKind.COLOR, k)
    for name in ("COLOR", "COL", "SV_TARGET")
    for k in range(8)
}
_OUTPUTS |= {name: ResultRegister(ResultKind.COLOR) for name in ("COLOR", "COL", "SV_TARGET")}
_OUTPUTS |= {name: ResultRegister(ResultKind.DEPTH) for name in ("DEPTH", "DEPR", "DEPTH0")}
_REGISTER = re.compile(r"([a-zA-Z]+)(\d+)")


class _Compiler(Evaluator):
    """Evaluates an entry function with its parameters bound."""

    def __init__(self, unit: c.Unit, graph: Graph) -> None:
        super().__init__(unit, graph)
        self.declarations: list[ParameterDeclaration] = []
        self._next = self._most = 0
        self._units: set[int] = set()
        self._sets: set[int] = set()

    # Inputs ---------------------------------------------------------------------------------------

    def bound(self, function: c.Function) -> dict[str, Value]:
        """A value for each parameter that the outside gives."""
        for p in self._bindings(function):
            attribute = _INPUTS.get(p.semantic.upper())
            if attribute is not None and attribute.kind is AttributeKind.TEXCOORD:
                self._sets.add(attribute.index)
            unit = self._register(p, ("texunit", "s", "t"))
            if unit is not None:
                self._units.add(unit)
        return {
            p.name: self._given(p, self.type_of(p))
            for p in function.parameters
            if "out" not in p.type.qualifiers
        }

    def _given(self, p: c.Declaration, kind: Type) -> Value:
        """The value of a parameter, or of a field of one."""
        if p.value is not None:
            return self.initialised(p.value, kind)
        if "uniform" in p.type.qualifiers or _is_sampler(kind):
            return self.uniform(p, kind)
        if isinstance(kind, StructType):
            fields = zip(kind.fields, kind.types, strict=True)
            return Aggregate(kind, tuple(self._given(field, t) for field, t in fields))
        return self._varying(p, kind)

    def _bindings(self, function: c.Function) -> Iterator[c.Declaration]:
        yield from self.globals.values()
        for p in function.parameters:
            yield p
            kind = self.type_of(p)
            if isinstance(kind, StructType):
                yield from kind.fields

    def _register(self, p: c.Declaration, letters: tuple[str, ...]) -> int | None:
        """The number of `: register(s0)`, `: TEXUNIT0` or `: C5`, if it has these letters."""
        match = _REGISTER.fullmatch(p.register or p.semantic)
        return int(match[2]) if match and match[1].lower() in letters else None

    def uniform(self, declaration: c.Declaration, kind: Type) -> Value:
        at = self._register(declaration, ("c",))
        if at is not None:
            self._next = at
        value = self._bound(kind, identifier(declaration.name), declaration)
        self._next = self._most = max(self._next, self._most)
        return value

    def _bound(self, kind: Type, name: str, at: c.Declaration) -> Value:
        """A value in parameters from the next on, a vector, a row or an element each."""
        if isinstance(kind, SamplerType):
            unit = self._register(at, ("texunit", "s", "t"))
            if unit is None:
                unit = next(k for k in range(len(self._units) + 1) if k not in self._units)
                self._units.add(unit)
            return SamplerValue(unit, kind)
        if isinstance(kind, ArrayType) and kind.length is None:
            raise Fault(f"{at.name} has no length", "give it one", at.at)
        if isinstance(kind, Numbers):
            return self._parameters((kind,), name, is_array=False)[0]
        if not isinstance(kind, ArrayType | StructType):
            raise Fault(f"{at.name} is {kind}", "expected numbers or samplers", at.at)
        types = item_types(kind)
        if isinstance(types[0], Numbers) and not isinstance(kind, StructType):
            return Aggregate(kind, self._parameters(types, name, is_array=True))
        names: Sequence[object] = range(len(types))
        if isinstance(kind, StructType):
            names = [field.name for field in kind.fields]
        items = (self._bound(t, f"{name}_{part}", at) for t, part in zip(types, names, strict=True))
        return Aggregate(kind, tuple(items))

    def _parameters(
        self, types: Sequence[Type], name: str, *, is_array: bool
    ) -> tuple[Vector, ...]:
        """The next elements of program.local, declared under a name."""
        parameters = tuple(
            Parameter(
                ParameterSpace.LOCAL, self._next + k, name=f"{name}[{k}]" if is_array else name
            )
            for k in range(len(types))
        )
        self._next += len(types)
        self.declarations.append(ParameterDeclaration(name, parameters, is_array))
        return tuple(
            self.graph.leaf(parameter)[: kind.width].of(kind.kind)
            for parameter, kind in zip(parameters, types, strict=True)
            if isinstance(kind, Numbers)
        )

    def _varying(self, p: c.Declaration, kind: Type) -> Value:
        """A value that is interpolated, found by its semantic, or else in the next free set."""
        semantic = p.semantic
        types = item_types(kind) if isinstance(kind, ArrayType) else (kind,)
        if not all(isinstance(t, Numbers) for t in types):
            raise Fault(f"{p.name} is {kind}", "expected numbers, or a sampler", p.at)
        attribute = _INPUTS.get(semantic.upper())
        if attribute is None:
            if semantic.upper() in ("POSITION", "PSIZE"):
                return Unreadable(f"{p.name} has the semantic {semantic}")
            if semantic:
                near = meant(semantic.upper(), _INPUTS) or "expected TEXCOORD0, COLOR, WPOS or FOG"
                raise Fault(f"{semantic} is not an input", near.strip(), p.at)
            free = [k for k in range(_SETS) if k not in self._sets]
            if not free:
                raise Fault(f"{p.name} finds no texture coordinates", f"{_SETS} are there", p.at)
            attribute = Attribute(AttributeKind.TEXCOORD, free[0])
        sets = range(attribute.index, attribute.index + len(types))
        self._sets.update(sets)
        items = tuple(
            self.graph.attribute(Attribute(attribute.kind, k))[: t.width].of(t.kind)
            for k, t in zip(sets, types, strict=True)
            if isinstance(t, Numbers)
        )
        return Aggregate(kind, items) if isinstance(kind, ArrayType) else items[0]

    # Results --------------------------------------------------------------------------------------

    def results(
        self, function: c.Function, values: dict[str, Value]
    ) -> dict[ResultRegister, Vector]:
        """The results that a function writes, by their semantics."""
        written: dict[ResultRegister, Vector] = {}
        if "return" in values:
            self._result(values["return"], function.semantic, function.name, function.at, written)
        for p in function.parameters:
            if p.type.qualifiers & {"out", "inout"}:
                self._result(values[p.name], p.semantic, p.name, p.at, written)
        if not written and not self.graph.kills:
            raise Fault(f"{function.name} has no result", "return a colour", function.at)
        return written

    def _result(
        self,
        value: Value,
        semantic: str,
        name: str,
        at: Span,
        written: dict[ResultRegister, Vector],
    ) -> None:
        if isinstance(value, Aggregate) and isinstance(value.type, StructType):
            for field, item in zip(value.type.fields, value.items, strict=True):
                self._result(item, field.semantic, field.name, field.at, written)
            return
        free = (f"COLOR{k}" for k in range(8) if _OUTPUTS[f"COLOR{k}"] not in written)
        register = _OUTPUTS.get(semantic.upper() or next(free, ""))
        if register is None:
            near = meant(semantic.upper(), _OUTPUTS) or "expected COLOR or DEPTH"
            raise Fault(f"{semantic} is not a result", near.strip(), at)
        if register in written:
            raise Fault(f"{name} writes a result again", "give each its own semantic", at)
        vector = self.as_vector(value, at)
        if register.kind is ResultKind.DEPTH and vector.constant == (0.0,):
            return  # no one wrote it
        if register.kind is ResultKind.DEPTH:
            vector = vector[min(2, len(vector) - 1)]
        elif len(vector) == 1:
            vector = vector.smeared(4)
        written[register] = vector


PREDEFINED = """
struct fragout { half4 col : COLOR; float depth : DEPTH; };
struct fragout_float { float4 col : COLOR; float depth : DEPTH; };
struct vf30 { float4 HPOS : POSITION, COL0 : COLOR0, COL1 : COLOR1, TEX0 : TEX0, TEX1 : TEX1,
  TEX2 : TEX2, TEX3 : TEX3, TEX4 : TEX4, TEX5 : TEX5, TEX6 : TEX6, TEX7 : TEX7, WPOS : WPOS;
  float FOGC : FOG; };
"""
"""The connectors that Cg 1.1's fp30 profile knew by name."""


def compile_text(
    text: str,
    name: str,
    *,
    entry: str = "",
    folder: Path | None = None,
    root: Path | None = None,
    defines: Mapping[str, str] = {},
) -> Program:
    """The Program of a text's entry function; AssemblyError for a text that is wrong.

    folder: of the text, where #include looks. root: a folder around it that #include does not
    leave. defines: macros.
    """
    unit = parse(text, name, folder=folder, root=root, defines=defines, before=PREDEFINED)
    try:
        return compile_unit(unit, entry)
    except Fault as fault:
        raise unit.texts.error(fault.problem, fault.at, fault.expected) from None


def compile_unit(unit: c.Unit, entry: str = "") -> Program:
    """The Program of a unit's entry function: the named one, or main, or the only one.

    It raises Fault.
    """
    graph = Graph()
    compiler = _Compiler(unit, graph)
    function = _entry(unit, entry)
    graph.at = function.at
    values = compiler.run(function, compiler.bound(function))
    results = compiler.results(function, values)
    return program(graph, results, unit.name, compiler.declarations)


def _entry(unit: c.Unit, entry: str) -> c.Function:
    functions = [f for f in unit.items if isinstance(f, c.Function) and f.body is not None]
    names = [f.name for f in functions]
    if entry or "main" in names:
        chosen = [f for f in functions if f.name == (entry or "main")]
        if not chosen:
            near = meant(entry, names) or f"choose from {', '.join(names)}"
            raise Fault(f"there is no function {entry}", near.strip(), Span(1, 1))
        return chosen[-1]
    marked = [f for f in functions if f.semantic or any(p.semantic for p in f.parameters)]
    candidates = marked or functions
    if len(candidates) != 1:
        found = ", ".join(f.name for f in candidates) or "none"
        raise Fault("there is no function main", f"name one of: {found}", Span(1, 1))
    return candidates[0]


def identifier(name: str) -> str:
    """The name as one that programs may declare."""
    return f"{name}_" if name in RESERVED_WORDS or re.fullmatch(r"[Rc]\d+", name) else name


def _is_sampler(kind: Type) -> bool:
    return isinstance(kind, SamplerType) or (isinstance(kind, ArrayType) and _is_sampler(kind.item))
