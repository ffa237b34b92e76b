"""The values of literals, and of the expressions of #if."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from math import inf, isfinite, nextafter
from operator import add, and_, eq, ge, gt, le, lt, mul, ne, or_, sub, xor
from struct import pack, unpack

PRECEDENCE = {
    operator: level
    for level, operators in enumerate(
        ("||", "^^", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %")
    )
    for operator in operators.split()
}
"""The precedence of each binary operator: 0 for the one that binds least."""

_NUMBER = re.compile(r"(0x[0-9a-f]+|[0-9.]+(?:e[+-]?\d+)?)([a-z]*)")
_ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|([\s\S]))")
_ESCAPES = dict(zip(b"abfnrtv", b"\a\b\f\n\r\t\v", strict=True))


def text_of(literal: str) -> bytes:
    """The bytes of a literal in quotes, with its escapes resolved."""

    def byte(match: re.Match[bytes]) -> bytes:
        code, octal, letter = match.groups()
        if letter:
            return bytes([_ESCAPES.get(letter[0], letter[0])])
        return bytes([(int(code, 16) if code else int(octal, 8)) & 255])

    return _ESCAPE.sub(byte, literal.lstrip("L")[1:-1].encode())


def number_of(literal: str) -> tuple[int | float, str]:
    """The value of a number or a character, and the suffix, in lower case.

    The suffix also has a U where C makes an integer unsigned because of its size: one of 64 bits,
    or an octal or hexadecimal one of 32 bits without an L.
    """
    if literal.endswith("'"):
        code = text_of(literal)[0]
        return code - (code >> 7 << 8), ""
    match = _NUMBER.fullmatch(literal.lower())
    assert match
    digits, suffix = match.groups()
    octal = re.match("0[0-7]*", digits)  # ends before an 8 or a 9, as in strtol and Brook
    if digits.startswith("0x"):
        value = int(digits, 16)
    elif not digits.isdecimal() or suffix in {"f", "h", "x"}:
        return (rounded_once if suffix == "f" else float)(digits), suffix
    else:
        value = int(octal[0], 8) if octal else int(digits)
    bits = value.bit_length()
    is_unsigned = bits >= 64 or (octal and bits == 32 and "l" not in suffix)
    return value, suffix + "U" * bool(is_unsigned)


def rounded_once(digits: str) -> float:
    """A double that rounds to the float32 nearest to the digits.

    If it lies midway between two float32 numbers but is inexact, it is moved towards the digits.
    """
    double = float(digits)
    if not double or not isfinite(double) or unpack("q", pack("d", double))[0] & 0xFFFFFFF:
        return double
    error = int(Decimal(digits).compare(Decimal(double)))
    return nextafter(double, error * inf) if error else double


def quotient(a: int, b: int) -> int:
    """A quotient of ints, rounded towards zero."""
    return a // b if (a < 0) == (b < 0) else -(-a // b)


def remainder(a: int, b: int) -> int:
    """The remainder of `quotient`, with the sign of a."""
    return a - b * quotient(a, b)


def shifted(a: int, by: int) -> int:
    """An int shifted left, or right by a negative number, as in GCC's #if."""
    by = max(-64, min(by, 64))
    return a << by if by > 0 else a >> -by


# The value of an #if ------------------------------------------------------------------------------

_WORD = re.compile(r"'(?:[^'\\]|\\.[^']*)'|\w+|<<|>>|&&|\|\||[<>=!]=|\S")
_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "|": or_, "^": xor, "&": and_, "==": eq, "!=": ne, "<": lt, ">": gt, "<=": le, ">=": ge,
    "<<": shifted, ">>": lambda a, b: shifted(a, -b), "+": add, "-": sub, "*": mul,
    "/": quotient, "%": remainder,
}  # fmt: skip


class _Unsigned(int):
    """An unsigned integer."""


def _wrapped(number: int, *of: int) -> int:
    """The number in 64 bits; unsigned if one of its operands is. of: the operands."""
    number &= (1 << 64) - 1
    if any(isinstance(one, _Unsigned) for one in of):
        return _Unsigned(number)
    return number - (number >> 63 << 64)


class Condition:
    """An #if's expression, with macros expanded. Each method reads a part and returns its value."""

    def __init__(self, text: str) -> None:
        self._words = [*_WORD.findall(text)[::-1]]
        self._skipped = 0  # how many of the enclosing parts are not evaluated

    def value(self) -> int:
        """The expression's value; ValueError or ArithmeticError for a text that has none."""
        number = self._choice()
        if self._words:
            raise ValueError
        return number

    def _is(self, word: str) -> bool:
        """Whether the next word is this one, which is then read."""
        return self._words[-1:] == [word] and bool(self._words.pop())

    def _part(self, read: Callable[[], int], *, counts: bool) -> int:
        self._skipped += not counts
        part = read()
        self._skipped -= not counts
        return part

    def _choice(self) -> int:
        condition = self._binary(0)
        if not self._is("?"):
            return condition
        yes = self._part(self._choice, counts=condition != 0)
        if not self._is(":"):
            raise ValueError
        no = self._part(self._choice, counts=condition == 0)
        return _wrapped(yes if condition else no, yes, no)

    def _binary(self, least: int) -> int:
        a = self._unary()
        while self._words and PRECEDENCE.get(self._words[-1], -1) >= least:
            operator = self._words.pop()
            counts = operator not in {"&&", "||"} or bool(a) is (operator == "&&")
            b = self._part(partial(self._binary, PRECEDENCE[operator] + 1), counts=counts)
            if operator in {"&&", "||"}:
                a = +bool(b if counts else a)
                continue
            of: tuple[int, ...] = (a,)
            if operator not in {"<<", ">>"}:
                of = a, b = _wrapped(a, a, b), _wrapped(b, a, b)
            if self._skipped and operator in {"/", "%"}:
                b = b or 1
            result = _OPERATORS[operator](a, b)
            a = _wrapped(result, *(() if isinstance(result, bool) else of))
        return a

    def _unary(self) -> int:
        word = self._words.pop() if self._words else ""
        if word == "(":
            inner = self._choice()
            if not self._is(")"):
                raise ValueError
            return inner
        if word in {"!", "-", "+", "~"}:
            number = self._unary()
            if word == "!":
                return +(not number)
            return _wrapped({"-": -number, "+": number, "~": ~number}[word], number)
        if word[:1].isalpha() or word[:1] == "_":
            return 0  # a name that is no macro
        literal, suffix = number_of(word)
        if not isinstance(literal, int) or literal.bit_length() > 64 or set(suffix) - {*"uUl"}:
            raise ValueError
        is_unsigned = literal >> 63 > 0 or ("u" in word.lower() and word[0] != "'")
        return _Unsigned(literal) if is_unsigned else literal
