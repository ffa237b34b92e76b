"""What literals stand for, and how C divides integers."""

from __future__ import annotations

import re
from decimal import Decimal
from math import inf, isfinite, nextafter
from struct import pack, unpack

PRECEDENCE = {
    operator: level
    for level, operators in enumerate(
        ("||", "^^", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %")
    )
    for operator in operators.split()
}
"""The operators between two operands: those that bind least first."""

_NUMBER = re.compile(r"(0x[0-9a-f]+|[0-9.]+(?:e[+-]?\d+)?)([a-z]*)")
_ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|([\s\S]))")
_ESCAPES = dict(zip(b"abfnrtv", b"\a\b\f\n\r\t\v", strict=True))


def text_of(literal: str) -> bytes:
    """What a literal in quotes stands for."""

    def byte(match: re.Match[bytes]) -> bytes:
        code, octal, letter = match.groups()
        if letter:
            return bytes([_ESCAPES.get(letter[0], letter[0])])
        return bytes([(int(code, 16) if code else int(octal, 8)) & 255])

    return _ESCAPE.sub(byte, literal.lstrip("L")[1:-1].encode())


def number_of(literal: str) -> tuple[int | float, str]:
    """The value of a number or a character, and the suffix, in lower case.

    A suffix has a U, too, where C makes an integer unsigned for its number alone: one of 32 or 64
    bits that is not decimal.
    """
    if literal.endswith("'"):
        code = text_of(literal)[0]
        return code - (code >> 7 << 8), ""
    match = _NUMBER.fullmatch(literal.lower())
    assert match
    digits, suffix = match.groups()
    octal = re.match("0[0-7]*", digits)  # up to an 8 or a 9, as strtol and so Brook's compiler
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
    """A double that rounds to the float32 nearest to the digits: not one amid two, if inexact."""
    double = float(digits)
    if not double or not isfinite(double) or unpack("q", pack("d", double))[0] & 0xFFFFFFF:
        return double
    error = int(Decimal(digits).compare(Decimal(double)))
    return nextafter(double, error * inf) if error else double


def quotient(a: int, b: int) -> int:
    """A quotient of ints, rounded towards zero."""
    return a // b if (a < 0) == (b < 0) else -(-a // b)


def remainder(a: int, b: int) -> int:
    """What `quotient` leaves: it has the sign of a."""
    return a - b * quotient(a, b)
