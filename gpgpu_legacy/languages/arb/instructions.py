"""Instruction statements to Instructions: registers, swizzles and masks (section 3.11.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from lark import Token

from gpgpu_legacy.isa.opcodes import NV_OPTIONS, OPCODES, RELATIONS, SOURCES, OperandKind
from gpgpu_legacy.isa.program import (
    ALWAYS,
    COMPONENTS,
    CONDITION,
    IDENTITY,
    SELECTORS,
    SHADOW,
    CodeTest,
    Dst,
    Instruction,
    Mask,
    Parameter,
    ParameterDeclaration,
    ParameterSpace,
    ResultRegister,
    Selector,
    SourceRegister,
    Src,
    Swizzle,
    Temporary,
    TextureSource,
    TextureTarget,
)
from gpgpu_legacy.languages.arb import bindings
from gpgpu_legacy.languages.arb.bindings import VARIABLES, Elements, Symbols
from gpgpu_legacy.languages.arb.limits import AssemblerLimits
from gpgpu_legacy.languages.arb.syntax import (
    OPERANDS_OF,
    Path,
    PathElement,
    WrittenConstant,
    WrittenOperand,
    form,
    mnemonic_of,
    quoted,
)
from gpgpu_legacy.languages.diagnostics import (
    FaultError,
    Text,
    meant,
    shortened,
)

# Swizzles and masks -------------------------------------------------------------------------------

OPERANDS = "3.11.4.1"
DESTINATIONS = "3.11.4.3"

_SELECTORS = SELECTORS | dict(zip("rgba", IDENTITY, strict=True))
_ALPHABETS = (frozenset(COMPONENTS), frozenset("rgba"))


def letters(rest: Elements, what: str, section: str) -> list[Selector]:
    """The components that a suffix names, one for each letter.

    rest: the suffix, which must be one element. what: `a swizzle` or `a write mask`, for messages.
    """
    element = rest[0]
    at = element.token
    if element.first is not None:
        raise FaultError(
            f"{what} takes no index, found {shortened(element.name)}[...]",
            "leave the brackets out",
            section,
            at,
        )
    if not any(alphabet.issuperset(element.name) for alphabet in _ALPHABETS):
        raise FaultError(
            f".{shortened(element.name)} is not {what}",
            f"{what} is made of x, y, z, w or of r, g, b, a, not both",
            section,
            at,
        )
    if len(rest) > 1:
        raise FaultError(
            f"unexpected .{shortened(rest[1].name)}; nothing may follow {what}",
            "leave it out",
            section,
            rest[1].token,
        )
    return [_SELECTORS[letter] for letter in element.name]


def write_mask(rest: Elements) -> Mask:
    """The components that a destination's write mask lets through; all without a mask."""
    if not rest:
        return (True,) * 4
    indices = [s.value for s in letters(rest, "a write mask", DESTINATIONS)]
    ordered = sorted(set(indices))
    if indices != ordered:
        name = rest[0].name
        alphabet = COMPONENTS if name[0] in COMPONENTS else "rgba"
        mended = "".join(alphabet[i] for i in ordered)
        raise FaultError(
            f".{shortened(name)} is not a write mask",
            f"it names each component once, in the order {alphabet}: write .{mended}",
            DESTINATIONS,
            rest[0].token,
        )
    return (0 in indices, 1 in indices, 2 in indices, 3 in indices)


def swizzle(rest: Elements, *, scalar: bool) -> Swizzle:
    """The selectors of a swizzle: one letter, replicated, or four; a scalar operand has one."""
    selected = letters(rest, "a swizzle", OPERANDS)
    if len(selected) == 1:
        return (selected[0],) * 4
    if len(selected) == 4 and not scalar:
        return (selected[0], selected[1], selected[2], selected[3])
    wanted = "1 letter" if scalar else "1 or 4 letters"
    raise FaultError(
        f".{shortened(rest[0].name)} has {len(selected)} letters",
        f"a swizzle has {wanted} here",
        OPERANDS,
        rest[0].token,
    )


def extended_swizzle(src: Src, operands: Sequence[WrittenOperand]) -> Src:
    """The source with the selectors and signs that the four operands of SWZ give."""
    for operand in operands:
        if operand.word not in _SELECTORS:
            token = operand.token if isinstance(operand.item, Token) else operand.item.token
            raise FaultError(
                f"unexpected {quoted(token)}",
                "an extended swizzle is made of 0, 1 and components, each perhaps with a sign",
                OPCODES["SWZ"].spec,
                token,
            )
    texts = [operand.word for operand in operands]
    named = [text for text in texts if text.isalpha()]
    for text, operand in zip(texts, operands, strict=True):
        if text in named and (text in COMPONENTS) != (named[0] in COMPONENTS):
            raise FaultError(
                f"unexpected {text!r} after {named[0]!r}",
                "an extended swizzle is made of x, y, z, w or of r, g, b, a, not both",
                OPCODES["SWZ"].spec,
                operand.token,
            )
    x, y, z, w = (_SELECTORS[text] for text in texts)
    nx, ny, nz, nw = (operand.sign == "-" for operand in operands)
    return Src(src.register, (x, y, z, w), (nx, ny, nz, nw))


# Instruction statements to Instructions -----------------------------------------------------------

ARRAYS = "3.11.4.2"
TEXTURES = "3.11.6"
TESTS_SECTION = "3.11.4.3"

_FIXED_TESTS = {"TR": ALWAYS, "FL": replace(ALWAYS, relation="NE")}
_TESTS = (*RELATIONS, *_FIXED_TESTS)
"""The tests of the condition code: relations to 0, and two that read no code."""

_TARGETS = {target.value: target for target in TextureTarget}


class InstructionReader:
    """Interprets the instruction statements of one program, in order."""

    def __init__(
        self, text: Text, symbols: Symbols, options: Sequence[str], limits: AssemblerLimits
    ) -> None:
        """options: the options that the program has declared so far."""
        self.text, self.symbols, self.options, self.limits = text, symbols, options, limits
        self.tests = False
        """Whether an instruction has set the condition code."""
        self.targets: dict[int, TextureTarget] = {}
        """The target of each texture image unit that an instruction has used."""

    def instruction(
        self,
        token: Token,
        operands: Sequence[WrittenOperand],
        test: Path | None,
        read: Sequence[Token],
    ) -> Instruction:
        """The instruction of a statement; FaultError if it breaks a rule of the specification.

        token: the opcode, with its suffixes. test: in parentheses after the first operand. read:
        the statement's tokens, up to its semicolon.
        """
        mnemonic = mnemonic_of(token)
        kinds = OPERANDS_OF[mnemonic]
        span = self.text.position(token)
        tested = None if test is None else self.code_test(test)
        if kinds == [OperandKind.VECTOR] and (bare := self.bare_test(operands[0])):
            return Instruction(mnemonic, None, (), span=span, test=bare)
        if len(operands) != len(kinds):
            raise _wrong_count(token, operands, read)
        written = zip(operands, kinds, strict=True)
        dst = self.destination(operands[0]) if kinds[0] is OperandKind.DESTINATION else None
        sources = [self.source(*one) for one in written if one[1] in SOURCES]
        if OperandKind.EXTENDED_SWIZZLE in kinds:
            sources = [extended_swizzle(sources[0], operands[-4:])]
        has_texture = OperandKind.TEXTURE_TARGET in kinds
        texture = self.texture(*operands[-2:]) if has_texture else None
        suffixes = token[len(mnemonic) :].removesuffix("_SAT")
        self.tests |= "C" in suffixes
        return Instruction(
            mnemonic,
            dst,
            tuple(sources),
            texture,
            token.endswith("_SAT"),
            span,
            test=tested,
            sets_condition="C" in suffixes,
            precision=suffixes.removesuffix("C"),
        )

    def bare_test(self, operand: WrittenOperand) -> CodeTest | None:
        """The test that an operand of KIL or IF names; None if it is a vector."""
        path = operand.item
        if operand.sign or not self.nvidia or not isinstance(path, Path):
            return None
        return self.code_test(path) if path.elements[0].name in _TESTS else None

    def code_test(self, path: Path) -> CodeTest:
        """A test of the condition code, as in GT.x."""
        head, *rest = path.elements
        if head.name not in _TESTS or head.first is not None:
            raise FaultError(
                f"{shortened(head.name)} is not a test of the condition code",
                f"{meant(head.name, _TESTS)}expected one of {', '.join(_TESTS)}, as in GT.x",
                TESTS_SECTION,
                head.token,
            )
        if head.name in _FIXED_TESTS:
            return _FIXED_TESTS[head.name]
        selectors = swizzle(rest, scalar=False) if rest else IDENTITY
        if not self.tests:
            raise FaultError(
                "no instruction before it sets the condition code",
                "give one the suffix C, as in MOVC R0, R0;",
                TESTS_SECTION,
                head.token,
            )
        return CodeTest(head.name, Src(CONDITION, selectors))

    @property
    def nvidia(self) -> bool:
        """Whether the program has an option of NVIDIA's."""
        return any(option in NV_OPTIONS for option in self.options)

    def destination(self, operand: WrittenOperand) -> Dst:
        item = operand.item
        if operand.sign is not None or not isinstance(item, Path):
            raise FaultError(
                f"{quoted(operand.token)} cannot be written to",
                "a destination is a temporary or a result register, without a sign",
                DESTINATIONS,
                operand.token,
            )
        register, rest = self.register(item.elements)
        if not isinstance(register, Temporary | ResultRegister) or register == CONDITION:
            raise FaultError(
                f"{shortened(item.elements[0].name)} cannot be written",
                "a destination is a temporary or a result register",
                DESTINATIONS,
                item.token,
            )
        return Dst(register, write_mask(rest))

    def source(self, operand: WrittenOperand, kind: OperandKind) -> Src:
        item = operand.item
        register: SourceRegister | ResultRegister
        rest: Elements
        if isinstance(item, Path):
            register, rest = self.register(item.elements)
        elif isinstance(item, WrittenConstant):
            register = Parameter(ParameterSpace.CONSTANT, value=item.value)
            rest = () if item.suffix is None else (PathElement(item.suffix, None, None),)
        else:
            raise FaultError(
                f"unexpected {quoted(item)}", "expected a register or a constant", OPERANDS, item
            )
        if isinstance(register, ResultRegister) or (self.nvidia and register == CONDITION):
            raise FaultError(
                f"{shortened(item.token)} is a result and can only be written",
                "keep the value in a temporary and read that",
                bindings.RESULTS,
                item.token,
            )
        token = operand.sign or (rest[0].token if rest else None)
        if kind is OperandKind.REGISTER and token is not None:
            raise FaultError(
                f"unexpected {quoted(token)}",
                "the extended swizzle carries the signs, as in SWZ R0, R1, -x, y, 0, 1;",
                OPCODES["SWZ"].spec,
                token,
            )
        is_scalar = kind is OperandKind.SCALAR
        signs = (operand.sign == "-",) * 4
        if is_scalar and self.nvidia and isinstance(item, WrittenConstant) and not item.is_vector:
            return Src(register, (Selector.X,) * 4, signs, operand.absolute)
        if is_scalar and not rest:
            raise FaultError(
                "a scalar operand needs one component",
                "name it, as in R0.x" if isinstance(item, Path) else "name it, as in {2}.x",
                OPERANDS,
                operand.token,
            )
        selectors = swizzle(rest, scalar=is_scalar) if rest else IDENTITY
        return Src(register, selectors, signs, operand.absolute)

    def texture(self, image_unit: WrittenOperand, operand: WrittenOperand) -> TextureSource:
        match image_unit:
            case WrittenOperand(
                sign=None, item=Path(elements=(PathElement(name="texture", last=None) as named,))
            ):
                unit = bindings.single_index(named, self.limits.texture_image_units, TEXTURES)
            case _:
                raise FaultError(
                    f"unexpected {quoted(image_unit.token)}",
                    "expected a texture image unit, as in texture[0]",
                    TEXTURES,
                    image_unit.token,
                )
        at, text = operand.token, operand.word
        if operand.sign is not None or text not in _TARGETS:
            raise FaultError(
                f"unexpected {quoted(at)}",
                f"{meant(at, _TARGETS)}expected a texture target: {', '.join(_TARGETS)}",
                TEXTURES,
                at,
            )
        target = _TARGETS[text]
        if target.is_shadow and SHADOW not in self.options:
            expected = "add that option after the header, or use another target"
            raise FaultError(f"{text} needs OPTION {SHADOW}", expected, TEXTURES, at)
        before = self.targets.setdefault(unit, target)
        if before is not target:
            raise FaultError(
                f"texture[{unit}] is used as {text} here and as {before.value} above",
                "a unit has one target; use another unit",
                TEXTURES,
                at,
            )
        return TextureSource(unit, target)

    def register(self, elements: Elements) -> tuple[SourceRegister | ResultRegister, Elements]:
        """The register that a path names, and the elements that follow."""
        head = elements[0]
        match head.name:
            case "fragment":
                return bindings.attribute(elements, self.limits)
            case "result":
                return bindings.result(elements, self.limits, self.options)
            case "program" | "state":
                bound, is_single, rest = bindings.parameters(elements, self.limits)
                if is_single:
                    return bound[0], rest
                raise FaultError(
                    f"an operand reads one parameter, not {several_vectors(bound)}",
                    "name one, as in program.env[0] or state.matrix.mvp.row[0]",
                    OPERANDS,
                    head.token,
                )
            case "texture":
                raise FaultError(
                    f"unexpected {quoted(head.token)}",
                    "a texture is read by TEX, TXP and TXB; expected a register or a constant",
                    OPERANDS,
                    head.token,
                )
        symbol = self.symbols.lookup(head.token)
        if isinstance(symbol, ParameterDeclaration):
            return element_of(symbol, head), elements[1:]
        bindings.no_index(head, VARIABLES)
        return symbol, elements[1:]


def _wrong_count(
    token: Token, operands: Sequence[WrittenOperand], read: Sequence[Token]
) -> FaultError:
    """The fault of a wrong number of operands, at the surplus comma or at the semicolon."""
    mnemonic = mnemonic_of(token)
    count = len(OPERANDS_OF[mnemonic])
    names = ", ".join(kind.value for kind in OPCODES[mnemonic].shape)
    plural = "s" if count > 1 else ""
    problem = f"{mnemonic} takes {count} operand{plural} ({names}), found {len(operands)}"
    at = read[-1]
    if len(operands) > count:
        extra = operands[count].token
        at = next(before for before, token in pairwise(read) if token is extra)
    return FaultError(problem, f"as in {form(token)}", OPCODES[mnemonic].spec, at)


def several_vectors(bound: Sequence[Parameter]) -> str:
    """How messages describe a binding of several vectors."""
    return f"{len(bound)} vectors (a range or a matrix)"


def element_of(declaration: ParameterDeclaration, use: PathElement) -> Parameter:
    """The parameter that an operand reads from a PARAM, by index if it is an array."""
    if not declaration.is_array:
        bindings.no_index(use, ARRAYS)
        return declaration.parameters[0]
    size = len(declaration.parameters)
    if use.first is None or use.last is not None:
        raise FaultError(
            f"{shortened(use.name)} is an array",
            f"name one element, from {use.name}[0] to {use.name}[{size - 1}]",
            ARRAYS,
            use.token,
        )
    index = bindings.checked_index(use.first, size, use.name, ARRAYS)
    return declaration.parameters[index]
