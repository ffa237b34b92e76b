"""Cg's evaluator, and the compiler of its fragment programs.

Cg's lookups may say in their names how many components they give. The parameters and results of an
entry function are bound by semantics.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

from gpgpu_legacy.isa.program import (
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
from gpgpu_legacy.languages.diagnostics import meant
from gpgpu_legacy.languages.language import DEFAULT_OPTIONS, CompilerOptions
from gpgpu_legacy.languages.shading.emit import UNITS, Bindings, fitted
from gpgpu_legacy.languages.shading.evaluate import Evaluator
from gpgpu_legacy.languages.shading.graph import UNREADABLE, Fault, Graph, Vector
from gpgpu_legacy.languages.shading.library import CG, Library
from gpgpu_legacy.languages.shading.loops import is_out
from gpgpu_legacy.languages.shading.types import SamplerType, StructType, Type, leaves, size

_SHORT = re.compile(r"[fhx]([1-4])(tex\w+)")
"""A lookup's name after the number of components that it gives, such as f3tex2D."""

_REFUSED = {
    r"(un)?pack_(2half|2ushort|4u?byte)":
     "fragment programs of 2003 have floats without access to their bits",
    r"noise": "no chip of the time computes noise: look it up in a texture",
    r"tex(1D|2D|3D|CUBE|RECT)cmpbias":
     "ARB_fragment_program has no comparison with a bias: use tex2Dbias",
}  # fmt: skip


class CgEvaluator(Evaluator):
    """Evaluates functions of Cg, and of Brook's kernels."""

    library = Library(__package__, _REFUSED)

    def call_library(self, name: str, call: c.Call) -> Vector | None:
        """Call a function of the library; a lookup gives as many components as its name says."""
        match = _SHORT.fullmatch(name)
        result = super().call_library(match[2] if match else name, call)
        return result[: int(match[1])] if match and result else result


_SETS, _COLORS = 8, 8
_TEXCOORDS, _TEXTURES = ("TEXCOORD", "TEX"), ("TEXUNIT", "S")
_ATTRIBUTES = {
    _TEXCOORDS: [Attribute(AttributeKind.TEXCOORD, k) for k in range(_SETS)],
    ("COLOR", "COL"): [Attribute(AttributeKind.COLOR), Attribute(AttributeKind.SECONDARY_COLOR)],
    ("WPOS", "VPOS"): [Attribute(AttributeKind.POSITION)],
    ("FOG",): [Attribute(AttributeKind.FOGCOORD)],
}
_INPUTS = {
    f"{name}{k}": attribute
    for names, attributes in _ATTRIBUTES.items()
    for name in names
    for k, attribute in enumerate(attributes)
}
_DEPTH = ResultRegister(ResultKind.DEPTH)
_OUTPUTS = {
    f"{name}{k}": ResultRegister(ResultKind.COLOR, k)
    for name in ("COLOR", "COL", "SV_TARGET")
    for k in range(_COLORS)
} | {"DEPTH0": _DEPTH}
_REGISTER = re.compile(r"([A-Z]*)(\d{1,9})")


def _numbered(semantic: str) -> str:
    """A semantic in capitals, with a 0 if it has no number."""
    name = semantic.upper()
    return f"{name}{'0' if name and not name[-1].isdigit() else ''}"


def _register(semantic: str) -> tuple[str, int]:
    """The name and the number of a semantic such as TEXUNIT3; empty and 0 for other semantics."""
    match = _REGISTER.fullmatch(semantic.upper())
    return (match[1], int(match[2])) if match else ("", 0)


class CgCompiler(CgEvaluator):
    """Evaluates an entry function with its parameters bound."""

    def __init__(self, unit: c.Unit, graph: Graph) -> None:
        super().__init__(unit, graph)
        self.bindings = Bindings(graph)
        self._next = self._most = 0

    def bound(self, function: c.Function) -> dict[str, Vector]:
        """A value for each parameter of the entry function that is not `out`."""
        declared = [*self.globals.values(), *function.parameters]
        structs = (self.types.get(d.type.name) for d in function.parameters)
        declared += (f for kind in structs if isinstance(kind, StructType) for f in kind.fields)
        taken = {_numbered(text) for d in declared for text in (d.semantic, d.register)}
        self._sets, self._units = (
            {k for k in range(count) if taken.isdisjoint(f"{name}{k}" for name in names)}
            for count, names in ((_SETS, _TEXCOORDS), (UNITS, _TEXTURES))
        )
        return {
            p.name: self._given(p, self.sized(p))
            for p in function.parameters
            if "out" not in p.type.qualifiers
        }

    def _given(self, p: c.Declaration, kind: Type) -> Vector:
        """The value of a parameter, or of a field of one."""
        if p.value is not None:
            return self.initialised(p.value, kind)
        samplers = [isinstance(leaf, SamplerType) for leaf, _ in leaves(kind)]
        if "uniform" in p.type.qualifiers or all(samplers):
            return self.uniform(p, kind)
        if isinstance(kind, StructType):
            fields = zip(kind.fields, kind.types, strict=True)
            return self.graph.built(kind, (self._given(field, t) for field, t in fields))
        return self._varying(p, kind)

    def declare_global(self, d: c.Declaration) -> None:
        """Declare a variable outside functions: a uniform, unless it is static or has a value."""
        is_uniform = d.value is None and "static" not in d.type.qualifiers
        self._declare(d, self.uniform(d, self.sized(d)) if is_uniform else None)

    def uniform(self, declaration: c.Declaration, kind: Type) -> Vector:
        """A uniform: the next parameters, one a vector, row or element; a unit for a sampler."""
        stem, first = _register(declaration.register or declaration.semantic)
        if stem == "C":
            self._next = first
        parts = []
        for asked, (leaf, name) in enumerate(leaves(kind, declaration.name), first):
            if isinstance(leaf, SamplerType):
                number = asked if stem in _TEXTURES else min(self._units, default=UNITS)
                parts.append(self.bindings.unit(number, name, declaration.at))
                self._units.discard(number)
                continue
            space, number = ParameterSpace.ENV, asked
            if stem != "ENV":
                space, number, self._next = ParameterSpace.LOCAL, self._next, self._next + 1
            own = self.bindings.parameter(Parameter(space, number), name, declaration.at)
            parts.append(own[: leaf.width])
        self._next = self._most = max(self._next, self._most)
        return self.graph.built(kind, parts)

    def _varying(self, p: c.Declaration, kind: Type) -> Vector:
        """A varying: the attribute of its semantic, or the next free texture coordinate set."""
        stem, first = _register(_numbered(p.semantic))
        parts = []
        for number, (leaf, _) in enumerate(leaves(kind), first):
            if isinstance(leaf, SamplerType):
                raise Fault(f"{p.name} is {kind}; expected numbers, or a sampler", p.at)
            name = f"{stem}{number}" if p.semantic else f"TEXCOORD{min(self._sets, default=_SETS)}"
            if name not in _INPUTS:
                expected = meant(name, _INPUTS) or "expected TEXCOORD0 to 7, COLOR, WPOS or FOG"
                why = f"{p.semantic} is not an input; {expected}"
                if not p.semantic:
                    why = f"no texture coordinate set is left for {p.name}; 8 are taken"
                unreadable = self.graph.special(UNREADABLE, (why, p.at))
                return self.graph.built(kind, [unreadable] * size(kind))
            if _INPUTS[name].kind is AttributeKind.TEXCOORD:
                self._sets.discard(_INPUTS[name].index)
            parts.append(self.bindings.attribute(_INPUTS[name], p.name)[: leaf.width])
        return self.graph.built(kind, parts)

    def give(self, value: Vector, d: c.Declaration) -> None:
        """Write a value to the result that its declaration names, or to the next free colour."""
        if isinstance(value.shape, StructType):
            for number, field in enumerate(value.shape.fields):
                self.give(value.item(number), field)
            return
        results = self.bindings.results
        free = (r for r in _OUTPUTS.values() if r not in {*results, _DEPTH})
        register = _OUTPUTS.get(_numbered(d.semantic)) if d.semantic else next(free, None)
        if register is None:
            expected = meant(d.semantic.upper(), _OUTPUTS) or "expected COLOR0 to COLOR7 or DEPTH"
            raise Fault(f"{d.semantic or d.name} is not a result; {expected}", d.at)
        if register in results:
            raise Fault(f"{d.name} writes a result again; give each its own semantic", d.at)
        vector = self.as_vector(value, d.at)
        if register.kind is ResultKind.COLOR:
            results[register] = vector.smeared(4) if len(vector) == 1 else vector
        elif vector.constant != (0.0,):  # a depth that someone wrote
            results[register] = vector[-1]


PREDEFINED = """
struct fragout { half4 col : COLOR; float depth : DEPTH; };
struct fragout_float { float4 col : COLOR; float depth : DEPTH; };
struct vf30 { float4 HPOS : POSITION, COL0 : COLOR0, COL1 : COLOR1, TEX0 : TEX0, TEX1 : TEX1,
  TEX2 : TEX2, TEX3 : TEX3, TEX4 : TEX4, TEX5 : TEX5, TEX6 : TEX6, TEX7 : TEX7, WPOS : WPOS;
  float FOGC : FOG; };
"""
"""The connectors that Cg 1.1's fp30 profile knew by name."""


def compile_text(text: str, name: str, options: CompilerOptions = DEFAULT_OPTIONS) -> Program:
    """The Program of a text's entry function; AssemblyError for a text that is wrong."""
    unit = parse(text, name, options, before=PREDEFINED)
    compiled = partial(compile_unit, unit, options.entry, options.mathematics or CG)
    try:
        return fitted(compiled, options.profile, lambda program: [program])
    except Fault as fault:
        raise unit.texts.error(str(fault), fault.at) from None


def compile_unit(
    unit: c.Unit, entry: str = "", mathematics: str = CG, *, branching: bool = False
) -> Program:
    """The Program of a unit's entry function: the named one, or main, or the only one.

    mathematics: as in CompilerOptions. branching: whether the Program may branch; else it is a
    straight line. Raises Fault.
    """
    graph = Graph(branching=branching)
    compiler = CgCompiler(unit, graph)
    compiler.library = replace(compiler.library, mathematics=mathematics)
    function = _entry(unit, entry)
    graph.at = function.at
    values = compiler.run(function, compiler.bound(function))
    if "return" in values:
        semantic = function.semantic
        result = c.Declaration(function.type, function.name, semantic=semantic, at=function.at)
        compiler.give(values["return"], result)
    for p in function.parameters:
        if is_out(p):
            compiler.give(values[p.name], p)
    return compiler.bindings.program(unit, function, "return a colour")


def _entry(unit: c.Unit, entry: str) -> c.Function:
    functions = unit.functions
    names = [f.name for f in functions]
    if entry or "main" in names:
        chosen = [f for f in functions if f.name == (entry or "main")]
        if not chosen:
            expected = meant(entry, names) or f"choose from {', '.join(names)}"
            raise Fault(f"there is no function {entry}; {expected}", Span(1, 1))
        return chosen[-1]
    marked = [f for f in functions if f.semantic or any(p.semantic for p in f.parameters)]
    candidates = marked or functions
    if len(candidates) != 1:
        several = ", ".join(f.name for f in candidates) or "none"
        raise Fault(f"there is no function main; name one of: {several}", Span(1, 1))
    return candidates[0]
