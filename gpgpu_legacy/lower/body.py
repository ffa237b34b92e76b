"""The instructions of a fragment program as GLSL statements, whatever shader they will stand in.

A statement names registers, parameters and attributes by the words of this file; the shaders that
lower/glsl.py and lower/compute.py print around the statements declare them. Everything is float32
and `precise`, in the order that interp/machine.py defines.

In an arithmetic other than fp32 an instruction is computed in float32 and then rounded, where the
NumPy machine computes it in float64 and rounds once. What float32 has exactly comes out alike
(moves, comparisons, sums, differences and products of few bits); the rest may be one step of the
format apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gpgpu_legacy.isa.arithmetic import Arithmetic
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
    Vec4,
)
from gpgpu_legacy.isa.opcodes import OPCODES, Form, Opcode
from gpgpu_legacy.languages.arb.printer import print_instruction

ALL = (0, 1, 2, 3)

# Mesa 22.3 takes -r.x * r.y for a number that is not positive (it looks past the two letters), and
# a comparison with 0 later on is folded away. A sign changed as a bit is no negation to it.
_NEGATED = "negated(float a) { return uintBitsToFloat(floatBitsToUint(a) ^ 0x80000000u); }"

# Mesa takes x * 0.0 for 0, though it is NaN for an infinity, and x + 0.0 for x, though -0 becomes
# 0; `precise` does not forbid that. So an exact shader hides its constants from the compiler:
# nobody sets the uniforms `zero` and `one`, which might be anything.
_ZERO, _ONE = "zero", "one"
_CONSTANT = (
    "constant(float a) { "
    f"return uintBitsToFloat(floatBitsToUint(a) ^ floatBitsToUint({_ZERO})); }}"
)


def zero(*, exact: bool) -> str:
    """The expression of a 0 that a register may get."""
    return _ZERO if exact else "0.0"


def one(*, exact: bool) -> str:
    """The expression of a 1 that a register may get."""
    return _ONE if exact else "1.0"


def position(place: str, *, exact: bool) -> str:
    """The expression of fragment.position at `place`, its x and y, where no rasteriser gives it."""
    depth = f"0.5 + {_ZERO}" if exact else "0.5"
    return f"vec4({place}, {depth}, {one(exact=exact)})"


def with_constants_declared(text: str) -> str:
    """The text of a shader with the uniforms `zero` and `one` declared behind the version."""
    version, _, rest = text.partition("\n")
    if re.search(rf"\b({_ZERO}|{_ONE})\b", rest) is None:
        return text
    return f"{version}\nuniform float {_ZERO} = 0.0, {_ONE} = 1.0;\n{rest}"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """How the shader around the statements does what they cannot do alone.

    lookup: of a texture instruction, the number of its lookup in the program and the expression of
    its coordinates, the expression of the texel. kill: the statement that ends a fragment.
    """

    lookup: Callable[[Instruction, int, str], str]
    kill: str


class Body:
    """A program's statements and the functions that they call."""

    def __init__(
        self,
        program: Program,
        live: Sequence[tuple[int, ...]],
        around: Surroundings,
        arithmetic: Arithmetic,
        *,
        exact: bool,
    ) -> None:
        """live: the components of each instruction that are needed (lower/analysis/liveness.py)."""
        self._around, self._arithmetic, self._exact = around, arithmetic, exact
        self._functions: dict[str, set[int]] = {}
        self._lookups = 0
        self.statements = [
            self._statement(instruction, components)
            for instruction, components in zip(program.instructions, live, strict=True)
        ]
        self.registers = [temporary(name) for name in program.temporaries]

    @property
    def code(self) -> str:
        """The statements without what stands there as a comment."""
        return "\n".join(line for line in self.statements if not line.startswith("//"))

    def functions(self) -> list[str]:
        """The functions that the statements (and `rounded`) call, before any of them."""
        lines = []
        for text, widths in self._functions.items():
            lines += ["float " + self._spelt(text)]
            lines += [_overload(text, width) for width in sorted(widths - {1})]
        return lines

    def rounded(self, expression: str, width: int) -> str:
        """The expression of `width` floats, rounded to the arithmetic."""
        text = self._arithmetic.glsl_function
        return f"{self.called(text, width)}({expression})" if text else expression

    def called(self, text: str, width: int) -> str:
        """The name of a function that is called with vectors of that width."""
        self._functions.setdefault(text, set()).add(width)
        return text.partition("(")[0]

    def _statement(self, instruction: Instruction, components: tuple[int, ...]) -> str:
        row = OPCODES[instruction.mnemonic]
        number = self._lookups
        self._lookups += row.form is Form.SAMPLE
        if not components:
            return f"// {print_instruction(instruction)}"
        if row.form is Form.KILL:
            condition = row.glsl.format(*(self._source(src, ALL) for src in instruction.srcs))
            return f"if ({condition}) {self._around.kill}"
        dst = instruction.dst
        assert dst is not None
        width = len(components)
        expression = self.rounded(self._value(row, instruction, components, number), width)
        if instruction.saturate:
            expression = f"clamp({expression}, 0.0, 1.0)"
        return f"{_destination(dst.register)}{_suffix(components)} = {expression};"

    def _value(
        self, row: Opcode, instruction: Instruction, components: tuple[int, ...], number: int
    ) -> str:
        """The components of an instruction's result that are needed."""
        width = len(components)
        if row.form is Form.SAMPLE:
            [src] = instruction.srcs
            coordinates = row.glsl.format(self._source(src, ALL, is_coordinate=True))
            return self._around.lookup(instruction, number, coordinates) + _suffix(components)
        if row.glsl_function:
            self.called(row.glsl_function, width if row.form is Form.COMPONENTWISE else 1)
        if row.form is Form.COMPONENTWISE:
            contracted = "" if self._exact else row.glsl_contracted
            sources = [self._source(src, components) for src in instruction.srcs]
            return self._spelt(contracted or row.glsl).format(*sources)
        if row.form is Form.SCALAR:
            value = row.glsl.format(*(self._source(src, (0,)) for src in instruction.srcs))
            return value if width == 1 else f"vec{width}({value})"
        sources = [self._source(src, ALL) for src in instruction.srcs]
        return f"({self._spelt(row.glsl).format(*sources)}){_suffix(components)}"

    def _spelt(self, text: str) -> str:
        """A row's text with its `one` and `zero` as uniforms, or as numbers."""
        if self._exact:
            return text
        return re.sub(rf"\b{_ONE}\b", "1.0", re.sub(rf"\b{_ZERO}\b", "0.0", text))

    def _source(self, src: Src, components: tuple[int, ...], *, is_coordinate: bool = False) -> str:
        """The components of an operand that an instruction needs, as a GLSL expression."""
        if isinstance(src.register, Parameter) and src.register.space is ParameterSpace.CONSTANT:
            return self._constant(src, src.register.value, components)
        selectors = [src.swizzle[c] for c in components]
        signs = [src.negate[c] for c in components]
        rounds = not isinstance(src.register, Temporary)
        if isinstance(src.register, Attribute) and is_coordinate:
            rounds = False  # a texture unit takes an attribute as it is interpolated
        if len(set(signs)) > 1 or not _PLAIN.issuperset(selectors):
            parts = [self._component(src, c, rounds=rounds) for c in components]
            return parts[0] if len(parts) == 1 else f"vec{len(parts)}({', '.join(parts)})"
        letters = "".join(COMPONENTS[s.value] for s in selectors)
        name = register_name(src.register)
        text = name if letters == COMPONENTS else f"{name}.{letters}"
        width = len(components)
        text = self.rounded(text, width) if rounds else text
        return f"{self.called(_NEGATED, width)}({text})" if signs[0] else text

    def _component(self, src: Src, component: int, *, rounds: bool) -> str:
        selector, negative = src.swizzle[component], src.negate[component]
        if selector not in _PLAIN:
            text = (one if selector is Selector.ONE else zero)(exact=self._exact)
            return f"{self.called(_NEGATED, 1)}({text})" if negative else text
        text = f"{register_name(src.register)}.{COMPONENTS[selector.value]}"
        text = self.rounded(text, 1) if rounds else text
        return f"{self.called(_NEGATED, 1)}({text})" if negative else text

    def _constant(self, src: Src, value: Vec4, components: tuple[int, ...]) -> str:
        """Selected, rounded and signed here, so that it is printed as a plain number."""
        with np.errstate(over="ignore"):
            given = self._arithmetic.round(np.array(value, np.float32)).tolist()
        numbers = [*given, 0.0, 1.0]
        parts = [
            literal(-numbers[s.value] if src.negate[c] else numbers[s.value])
            for c in components
            for s in (src.swizzle[c],)
        ]
        listed = parts[:1] if len(set(parts)) == 1 else parts
        text = parts[0] if len(parts) == 1 else f"vec{len(parts)}({', '.join(listed)})"
        return f"{self.called(_CONSTANT, len(parts))}({text})" if self._exact else text


_PLAIN = {Selector.X, Selector.Y, Selector.Z, Selector.W}

PARAMETERS = {ParameterSpace.LOCAL: "local", ParameterSpace.ENV: "env"}

ATTRIBUTES = {
    AttributeKind.COLOR: "color",
    AttributeKind.SECONDARY_COLOR: "secondary_color",
    AttributeKind.TEXCOORD: "texcoord",
    AttributeKind.FOGCOORD: "fogcoord",
    AttributeKind.POSITION: "position",
}


def literal(value: float) -> str:
    """A float32 as GLSL reads it back exactly; a denormal, an infinity or a NaN by its bits."""
    with np.errstate(over="ignore"):
        number = np.float32(value)
    if not np.isfinite(number) or 0 < abs(number) < np.finfo(np.float32).tiny:
        return f"uintBitsToFloat({int(number.view(np.uint32)):#x}u)"
    text = repr(float(number))
    return f"({text})" if text.startswith("-") else text


def temporary(name: str) -> str:
    """A GLSL identifier for a temporary, in which `$` and two underscores in a row cannot stand."""
    return "t_" + name.replace("_", "u_").replace("$", "d_")


def attribute_name(attribute: Attribute) -> str:
    """What the shaders call an attribute."""
    name = ATTRIBUTES[attribute.kind]
    return f"{name}{attribute.index}" if attribute.kind is AttributeKind.TEXCOORD else name


def state_name(binding: str) -> str:
    """What the shaders call a vector of state: its canonical name without what GLSL refuses."""
    words = "".join(c if c.isalnum() else " " for c in binding).split()
    return "_".join(words)


def register_name(register: SourceRegister) -> str:
    """What the statements call a source that is no constant."""
    if isinstance(register, Temporary):
        return temporary(register.name)
    if isinstance(register, Attribute):
        return attribute_name(register)
    if register.space is ParameterSpace.STATE:
        return state_name(register.binding)
    return f"{PARAMETERS[register.space]}{register.index}"


def parameters_read(program: Program) -> Iterable[str]:
    """The names of the program's parameters that a pass gives values to."""
    for space, name in PARAMETERS.items():
        yield from (f"{name}{n}" for n in program.parameter_indices(space))
    yield from (state_name(binding) for binding in program.state_bindings)


def result_name(index: int) -> str:
    """What the statements call result.color[index]."""
    return f"result{index}"


def _destination(register: Temporary | ResultRegister) -> str:
    if isinstance(register, Temporary):
        return temporary(register.name)
    return result_name(register.index)  # the depth, which is never needed, does not come here


def _suffix(components: tuple[int, ...]) -> str:
    return "" if components == ALL else "." + "".join(COMPONENTS[c] for c in components)


def _overload(text: str, width: int) -> str:
    """The function on vectors, component by component."""
    name, _, rest = text.partition("(")
    names = [each.split()[-1] for each in rest.partition(")")[0].split(",")]
    heads = ", ".join(f"vec{width} {each}" for each in names)
    calls = (f"{name}({', '.join(f'{each}.{c}' for each in names)})" for c in COMPONENTS[:width])
    return f"vec{width} {name}({heads}) {{ return vec{width}({', '.join(calls)}); }}"
