"""Swizzles, write masks and extended swizzles (spec, sections 3.11.4.1, 3.11.4.3 and 3.11.5.28)."""

from __future__ import annotations

from lark import Token

from gpgpu_legacy.isa.ir import COMPONENTS, Selector, Src
from gpgpu_legacy.isa.opcodes import OPCODES
from gpgpu_legacy.languages.arb.bindings import Elements
from gpgpu_legacy.languages.arb.diagnostics import FaultError, shortened
from gpgpu_legacy.languages.arb.syntax import Constant, Path, WrittenOperand, quoted

OPERANDS = "3.11.4.1"
DESTINATIONS = "3.11.4.3"

_Selectors = tuple[Selector, Selector, Selector, Selector]

_LETTERS = {letter: Selector(i % 4) for i, letter in enumerate(COMPONENTS + "rgba")}
_CONSTANT_SELECTORS = {"0": Selector.ZERO, "1": Selector.ONE}
_ALPHABETS = (frozenset(COMPONENTS), frozenset("rgba"))


def letters(rest: Elements, what: str, section: str) -> list[Selector]:
    """The components that a suffix names, one for each letter.

    rest: the suffix, which must be one element. what: `a swizzle` or `a write mask`, for messages.
    """
    element = rest[0]
    at = element.token
    if element.first is not None:
        problem = f"{what} takes no index, found {shortened(element.name)}[...]"
        raise FaultError(problem, "leave the brackets out", section, at)
    if not any(alphabet.issuperset(element.name) for alphabet in _ALPHABETS):
        problem = f".{shortened(element.name)} is not {what}"
        expected = f"{what} is made of x, y, z, w or of r, g, b, a, not both"
        raise FaultError(problem, expected, section, at)
    if len(rest) > 1:
        problem = f"unexpected .{shortened(rest[1].name)}; nothing may follow {what}"
        raise FaultError(problem, "leave it out", section, rest[1].token)
    return [_LETTERS[letter] for letter in element.name]


def write_mask(rest: Elements) -> tuple[bool, bool, bool, bool]:
    """The components that a destination's suffix lets through; all without a suffix."""
    if not rest:
        return (True, True, True, True)
    indices = [s.value for s in letters(rest, "a write mask", DESTINATIONS)]
    if indices != sorted(set(indices)):
        name = rest[0].name
        alphabet = COMPONENTS if name[0] in COMPONENTS else "rgba"
        ordered = "".join(alphabet[i] for i in sorted(set(indices)))
        problem = f".{shortened(name)} is not a write mask"
        expected = f"it names each component once, in the order {alphabet}: write .{ordered}"
        raise FaultError(problem, expected, DESTINATIONS, rest[0].token)
    return (0 in indices, 1 in indices, 2 in indices, 3 in indices)


def swizzle(rest: Elements, *, scalar: bool) -> _Selectors:
    """The selectors of a swizzle: one letter, replicated, or four; a scalar operand has one."""
    selected = letters(rest, "a swizzle", OPERANDS)
    if len(selected) == 1:
        return (selected[0],) * 4
    if len(selected) == 4 and not scalar:
        return (selected[0], selected[1], selected[2], selected[3])
    wanted = "1 letter" if scalar else "1 or 4 letters"
    problem = f".{shortened(rest[0].name)} has {len(selected)} letters"
    at = rest[0].token
    raise FaultError(problem, f"a swizzle has {wanted} here", OPERANDS, at)


def extended_swizzle(src: Src, operands: tuple[WrittenOperand, ...]) -> Src:
    """The source with the selectors and signs that the four operands of SWZ give."""
    texts = [_selector_text(operand) for operand in operands]
    named = [text for text in texts if text not in _CONSTANT_SELECTORS]
    for text, operand in zip(texts, operands, strict=True):
        if text in named and (text in COMPONENTS) != (named[0] in COMPONENTS):
            problem = f"unexpected {text!r} after {named[0]!r}"
            expected = "an extended swizzle is made of x, y, z, w or of r, g, b, a, not both"
            raise FaultError(problem, expected, OPCODES["SWZ"].spec, operand.token)
    x, y, z, w = (_CONSTANT_SELECTORS.get(text) or _LETTERS[text] for text in texts)
    nx, ny, nz, nw = (operand.sign == "-" for operand in operands)
    return Src(src.register, (x, y, z, w), (nx, ny, nz, nw))


def _selector_text(operand: WrittenOperand) -> str:
    """The letter, 0 or 1 that one operand of an extended swizzle names."""
    item = operand.item
    if isinstance(item, Path):
        alone = len(item.elements) == 1 and item.elements[0].first is None
        if alone and item.elements[0].name in _LETTERS:
            return item.elements[0].name
    elif isinstance(item, Constant) and not item.is_vector:
        written = item.token if operand.suffix is None else ""
        if written in _CONSTANT_SELECTORS:
            return str(written)
    token = operand.token if isinstance(item, Token) else item.token
    problem = f"unexpected {quoted(token)}"
    expected = "an extended swizzle is made of 0, 1 and components, each perhaps with a sign"
    raise FaultError(problem, expected, OPCODES["SWZ"].spec, token)
