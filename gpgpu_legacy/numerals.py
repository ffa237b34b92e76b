"""Numbers that people write: in ASCII digits, as any language writes them.

Python's int and float take more: 1_000, the digits of other scripts, line breaks around a number.
And they raise ValueError for what isdigit accepts, such as ².
"""

from __future__ import annotations

import re

MOST_DIGITS = 20
"""Digits of a whole number that is read: 64 bits have no more, and no size is as large."""

_WHOLE = re.compile(rf" *[+-]?[0-9]{{1,{MOST_DIGITS}}} *")
_REAL = re.compile(
    r" *[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan) *", re.IGNORECASE
)


def integer_in(text: str) -> int | None:
    """The whole number that a text is, of at most 20 digits; None for another text."""
    return int(text) if _WHOLE.fullmatch(text) else None


def natural_in(text: str) -> int | None:
    """The whole number, 0 or more and without a sign, that a text is; None for another text."""
    return None if text.strip(" ")[:1] in {"+", "-"} else integer_in(text)


def naturals_in(text: str, count: int) -> tuple[int, ...] | None:
    """That many whole numbers, 0 or more, with commas between them; None for another text."""
    numbers = [natural_in(part) for part in text.split(",", count)]
    known = tuple(number for number in numbers if number is not None)
    return known if len(known) == len(numbers) == count else None


def real_in(text: str) -> float | None:
    """The number that a text is, NaN and the infinities among them; None for another text."""
    return float(text) if _REAL.fullmatch(text) else None
