"""TOML as data, read strictly: what is no TOML is refused, and what would take too long to read.

Numbers are those that a record can hold; what is refused is msgspec's DecodeError, as for JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from math import isinf, isnan
from typing import Any

import msgspec

from gpgpu_legacy.bounded import LARGEST_COUNT

MOST_KEY_PARTS = 16
"""Parts of a dotted key in TOML: `a.b.c` has three. Reading takes the square of it."""


def toml_data(text: str, *, decimals: bool) -> dict[str, Any]:
    """What a TOML text has; DecodeError where it is none, or would take too long to read."""
    import tomllib

    if any(
        line.count(".") >= MOST_KEY_PARTS and _LONG_KEY.search(line) for line in text.split("\n")
    ):
        raise msgspec.DecodeError(f"A key has more than {MOST_KEY_PARTS} parts")
    try:
        data = tomllib.loads(text, parse_float=_decimal if decimals else _float)
    except tomllib.TOMLDecodeError as error:
        raise msgspec.DecodeError(str(error)) from None
    except msgspec.DecodeError:
        raise
    except ValueError:  # of Python's int, which takes the square of the time
        raise msgspec.DecodeError("A whole number has too many digits") from None
    _refuse_long_integers(data.values())
    return data


def _refuse_long_integers(values: Iterable[Any]) -> None:
    """DecodeError for a whole number that TOML promises to no reader: one of more than 64 bits."""
    for value in values:
        kind = type(value)  # tomllib's own types; isinstance would take twice as long
        if kind is dict:
            _refuse_long_integers(value.values())
        elif kind is list:
            _refuse_long_integers(value)
        elif kind is int and not -LARGEST_COUNT - 1 <= value <= LARGEST_COUNT:
            raise msgspec.DecodeError("A whole number has more than 64 bits")


_LONG_KEY = re.compile(
    rf"""(?:(?:(?<![\w-])[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{MOST_KEY_PARTS}}}"""
)


def _float(text: str) -> float:
    """A TOML number with a point; DecodeError for NaN, and for one beyond the range of a double."""
    number = float(text)
    if isnan(number) or (isinf(number) and "inf" not in text):
        raise msgspec.DecodeError(f"{text} is not a number that a record can hold")
    return number


def _decimal(text: str) -> Decimal:
    """The same with its digits; infinities have none."""
    if isinf(_float(text)):
        raise msgspec.DecodeError(f"{text} is not a number with digits")
    return Decimal(text)
