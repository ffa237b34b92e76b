"""The types of values that are read from files: each with the bounds that it keeps.

A reader that declares them has checked them, and whoever computes with them need not.
"""

from __future__ import annotations

from typing import Annotated, TypeVar

import msgspec

T = TypeVar("T")

MOST_ITEMS = 2**14
"""Items of a list: rows of a table that somebody could still look at."""

LARGEST = 1e15
"""Of a number: of any time, rate or ratio. Its inverse is the smallest. So quotients and products
of a few of them stay far from the ends of a double's range."""

LARGEST_COUNT = 2**63 - 1
"""Of a whole number: what 64 bits hold."""

LARGEST_SIZE = 2**31 - 1
"""Of a size, an index or a count."""

Meta = msgspec.Meta
"""Bounds of a value: `Annotated[int, Meta(ge=1, le=8)]`."""

Positive = Annotated[float, Meta(ge=1 / LARGEST, le=LARGEST)]
"""A number above 0."""

NotNegative = Annotated[float, Meta(ge=0, le=LARGEST)]
"""A number, 0 or more."""

Limit = Annotated[float, Meta(ge=0)]
"""What somebody asked for, such as a budget: nothing is computed of it."""

Spread = tuple[NotNegative, NotNegative]
"""The least and the largest of several numbers."""

Share = Annotated[float, Meta(ge=0, le=1)]
"""A part of a whole."""

PositiveInt = Annotated[int, Meta(ge=1, le=LARGEST_COUNT)]
"""A whole number above 0."""

Size = Annotated[int, Meta(ge=1, le=LARGEST_SIZE)]
"""The side of a matrix, or a part of it."""

Index = Annotated[int, Meta(ge=0, le=LARGEST_SIZE)]
"""The index of a row or of a texel, or a count."""

Whole = Annotated[int, Meta(ge=0, le=LARGEST_COUNT)]
"""A whole number, 0 or more."""

Several = Annotated[tuple[T, ...], Meta(max_length=MOST_ITEMS)]
"""A list that is not endless: `Several[Row]`."""

ONE_LINE = r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*(?![\s\S])"
"""The pattern of text without line breaks and control characters."""

OneLine = Annotated[str, Meta(pattern=ONE_LINE)]
"""Text without line breaks and control characters."""

MOST_CHARACTERS = 500
"""Characters of a name or a title."""

Line = Annotated[OneLine, Meta(max_length=MOST_CHARACTERS)]
"""A name, a title or a reason: not endless, and of one line."""
