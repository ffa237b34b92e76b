"""Checks of arguments, and numbers that people write.

An error of one line names the argument, its value and what it must be.

NumPy's integers become Python's.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from difflib import get_close_matches
from enum import Enum
from operator import index
from typing import Any, TypeVar

from gpgpu_legacy.errors import InputError

E = TypeVar("E", bound=Enum)

LONGEST_VALUE = 40
"""Characters of a value that messages quote; for a longer one they name the type."""


def as_integer(name: str, value: Any) -> int:
    """The value as an int. Floats are refused, even 3.0."""
    try:
        return index(value)
    except TypeError:
        raise InputError(f"{name} is {described(value)}; it must be an integer") from None


def as_positive(name: str, value: Any) -> int:
    """The value as an int of at least 1."""
    number = as_integer(name, value)
    if number < 1:
        raise InputError(f"{name} is {described(number)}; it must be at least 1")
    return number


def as_whole(name: str, value: Any) -> int:
    """The value as an int of at least 0."""
    number = as_integer(name, value)
    if number < 0:
        raise InputError(f"{name} is {described(number)}; it must be at least 0")
    return number


def as_member(name: str, value: object, kind: type[E]) -> E:
    """The member of an Enum that the value is, or is the value of."""
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(str(choice.value) for choice in kind)
        raise InputError(f"{name} is {described(value)}; choose from {known}") from None


def hint(name: str, known: Collection[str], otherwise: str = "") -> str:
    """Advice for an unknown name: the nearest name, or else, by default, a list of all."""
    close = get_close_matches(name, known, n=1)
    return f"did you mean {close[0]}?" if close else otherwise or f"choose from {', '.join(known)}"


def described(value: object) -> str:
    """The value for a message: its repr, or for a long one its type."""
    quoted = repr(value)
    return kind_of(value) if "\n" in quoted or len(quoted) > LONGEST_VALUE else quoted


def shape_in_words(shape: tuple[int, ...]) -> str:
    """The shape of an array in messages: `3×4`, `a vector of 5`, `a single number`."""
    if len(shape) == 1:
        return f"a vector of {shape[0]}"
    return "×".join(map(str, shape)) or "a single number"


def kind_of(value: object) -> str:
    """The type of a value in words, such as `an int`."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeiouAEIOU" or name == "ndarray" else f"a {name}"


# Numbers in texts -------------------------------------------------------------------------------

MOST_DIGITS = 20
"""Digits of a whole number in a text: 64 bits have no more, and no size is as large."""

_WHOLE = re.compile(rf" *[+-]?[0-9]{{1,{MOST_DIGITS}}} *")
_REAL = re.compile(
    r" *[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan) *", re.IGNORECASE
)


def integer_in(text: str) -> int | None:
    """The whole number in a text, of at most 20 digits; None for another text."""
    return int(text) if _WHOLE.fullmatch(text) else None


def natural_in(text: str) -> int | None:
    """The whole number in a text, 0 or more and without a sign; None for another text."""
    return None if text.strip(" ")[:1] in {"+", "-"} else integer_in(text)


def naturals_in(text: str, count: int) -> tuple[int, ...] | None:
    """That many whole numbers, 0 or more, with commas between them; None for another text."""
    numbers = [natural_in(part) for part in text.split(",", count)]
    known = tuple(number for number in numbers if number is not None)
    return known if len(known) == len(numbers) == count else None


def real_in(text: str) -> float | None:
    """The number in a text, which may be NaN or an infinity; None for another text."""
    return float(text) if _REAL.fullmatch(text) else None
