"""Prints a Program as canonical text, which assembles to the same Program again."""

from __future__ import annotations

from math import isinf

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.opcodes import OperandKind
from gpgpu_legacy.isa.program import (
    ALWAYS,
    CLOSES,
    COMPONENTS,
    CONDITION,
    IDENTITY,
    OPENS,
    SELECTORS,
    Attribute,
    CodeTest,
    Dst,
    Instruction,
    Parameter,
    ParameterDeclaration,
    ParameterSpace,
    Program,
    Src,
    Temporary,
)
from gpgpu_legacy.languages.arb.limits import HEADER

_LETTERS = {selector: letter for letter, selector in SELECTORS.items()}


def disassemble(program: Program) -> str:
    """The program's canonical text.

    Options and declarations come first, then one instruction per line. Components are the letters
    xyzw, state has its canonical names, and the names that OUTPUT and ALIAS declare are replaced by
    their meanings. The origin of an instruction follows it in a comment, unless the instruction
    before has the same. The names of texture image units in the source are comments in the form of
    NVIDIA's cgc.
    """
    lines, units = [HEADER], program.texture_units
    lines += [
        f"#var sampler{units[unit].kind.value} {name} : : texunit {unit} : -1 : 1"
        for unit, name in program.names
        if isinstance(unit, int) and unit in units
    ]
    lines += [f"OPTION {option};" for option in program.options]
    lines += [f"ATTRIB {a.name} = {a.attribute.text};" for a in program.attributes]
    lines += [_declaration(d) for d in program.parameters]
    if program.temporaries:
        lines.append(f"TEMP {', '.join(program.temporaries)};")
    origin = ""
    depth = 0
    for instruction in program.instructions:
        comment = f"  # {instruction.origin}" if instruction.origin not in {"", origin} else ""
        depth -= instruction.mnemonic in CLOSES
        lines.append("  " * depth + print_instruction(instruction) + comment)
        depth += instruction.mnemonic in OPENS
        origin = instruction.origin
    return "\n".join([*lines, "END", ""])


def _declaration(declaration: ParameterDeclaration) -> str:
    bindings = [_binding(parameter) for parameter in declaration.parameters]
    if not declaration.is_array:
        return f"PARAM {declaration.name} = {bindings[0]};"
    return f"PARAM {declaration.name}[{len(bindings)}] = {{ {', '.join(bindings)} }};"


def _binding(parameter: Parameter) -> str:
    if parameter.space is ParameterSpace.CONSTANT:
        return "{" + ", ".join(_number(v) for v in parameter.value) + "}"
    return parameter.text


def _number(value: float) -> str:
    if isinf(value):  # no other text gives an infinite constant
        return "-1e999" if value < 0 else "1e999"
    return repr(value).removesuffix(".0")


@frozen
class OperandTexts:
    """The operands of an instruction as text.

    destination: empty for KIL and branches. test: of the condition code; empty if there is none.
    sources: a text for each; for SWZ, it includes the selectors. texture: a lookup's image unit and
    target.
    """

    destination: str
    test: str
    sources: tuple[str, ...]
    texture: tuple[str, ...]


def operand_texts(instruction: Instruction) -> OperandTexts:
    """The operands of an instruction in canonical form."""
    dst, texture = instruction.dst, instruction.texture
    is_extended = OperandKind.EXTENDED_SWIZZLE in instruction.opcode.shape
    source = _extended if is_extended else _source
    return OperandTexts(
        _destination(dst) if dst is not None else "",
        "" if instruction.test is None else code_test(instruction.test),
        tuple(source(src) for src in instruction.srcs),
        (f"texture[{texture.unit}]", texture.target.value) if texture is not None else (),
    )


def print_instruction(instruction: Instruction) -> str:
    """One instruction as canonical text, with its semicolon."""
    texts = operand_texts(instruction)
    destination, test = texts.destination, texts.test
    suffix = instruction.precision + "C" * instruction.sets_condition
    suffix += "_SAT" if instruction.saturate else ""
    if test and (destination or instruction.mnemonic == "BRK"):
        test = f"({test})"
    written = " ".join(filter(None, (destination, test)))
    operands = ", ".join(filter(None, (written, *texts.sources, *texts.texture)))
    return f"{instruction.mnemonic}{suffix} {operands}".rstrip() + ";"


def code_test(test: CodeTest) -> str:
    """A test of the condition code, as in `GT.x`."""
    if test.src == ALWAYS.src:
        return "TR" if test == ALWAYS else "FL"
    return test.relation + _source(test.src).removeprefix(CONDITION.name)


def _destination(dst: Dst) -> str:
    register = dst.register
    if isinstance(register, Temporary):
        name = register.name
    else:  # without an index for colour 0, since only OPTION ARB_draw_buffers allows one
        index = f"[{register.index}]" if register.index else ""
        name = f"result.{register.kind.value}{index}"
    if all(dst.mask):
        return name
    return f"{name}.{''.join(COMPONENTS[c] for c in dst.components)}"


def _register(src: Src) -> str:
    register = src.register
    if isinstance(register, Temporary):
        return register.name
    if isinstance(register, Attribute):
        return register.text
    return register.name or _binding(register)


def _source(src: Src) -> str:
    sign, bar = "-" if src.negate[0] else "", "|" if src.absolute else ""
    letters = "".join(_LETTERS[s] for s in src.swizzle)
    if src.swizzle == IDENTITY:
        suffix = ""
    else:
        suffix = "." + (letters[0] if len(set(letters)) == 1 else letters)
    return f"{sign}{bar}{_register(src)}{suffix}{bar}"


def _extended(src: Src) -> str:
    selectors = [
        ("-" if negative else "") + _LETTERS[selector]
        for selector, negative in zip(src.swizzle, src.negate, strict=True)
    ]
    return ", ".join([_register(src), *selectors])
