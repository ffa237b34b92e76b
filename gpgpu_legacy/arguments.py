"""Checks of arguments: an error in one line names the argument, what it is and what it must be.

Each check returns the value in the type that it is declared with, so that NumPy's numbers pass.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields, replace
from enum import Enum
from numbers import Real
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")
E = TypeVar("E", bound=Enum)
D = TypeVar("D", bound="DataclassInstance")

LONGEST_VALUE = 40
"""Characters of a value that messages quote; of a longer one they name the type."""


def as_instance(name: str, value: object, kind: type[T], give: str = "") -> T:
    """The value, which must be of that class. give: what to give in its place, in words."""
    if not isinstance(value, kind):
        raise InputError(f"{name} is {kind_of(value)}; give {give or with_article(kind.__name__)}")
    return value


def as_text(name: str, value: object, give: str) -> str:
    """The value as a str; NumPy's is one, whose bytes are no UTF-8.

    give: what to give in its place, in words.
    """
    if not isinstance(value, str):
        raise InputError(f"{name} is {described(value)}; give {give}")
    return str.__str__(value)  # what `str(value)` says is another text for an Enum


def as_path(name: str, value: Any) -> Path:
    """The value as a path, which must be one that a file system may have."""
    try:
        path = Path(value)
        if b"\0" in os.fsencode(path):
            raise ValueError
    except (TypeError, ValueError):
        raise InputError(f"{name} is {described(value)}; give the path of a file") from None
    return path


def as_integer(name: str, value: Any) -> int:
    """The value as an int. Bools and floats are refused, 3.0 among them."""
    try:
        if isinstance(value, bool):
            raise TypeError
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


def as_real(name: str, value: Any) -> float:
    """The value as a float. Bools are refused."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{name} is {described(value)}; it must be a real number")
    return float(value)


def as_flag(name: str, value: Any) -> bool:
    """The value as a bool; NumPy's bool is one."""
    if isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b":
        return bool(value)
    raise InputError(f"{name} is {described(value)}; it must be True or False")


def as_mapping(name: str, value: object, give: str) -> Mapping[Any, Any]:
    """The value, which must be a mapping. give: what to give in its place, in words."""
    if not isinstance(value, Mapping):
        raise InputError(f"{name} is {kind_of(value)}; give {give}")
    return value


def as_callable(name: str, value: T) -> T:
    """The value, which must be a function or None."""
    if value is not None and not callable(value):
        raise InputError(f"{name} is {described(value)}; give a function, or leave it out")
    return value


def as_member(name: str, value: object, kind: type[E]) -> E:
    """The member of an Enum that the value is, or is the value of."""
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(str(choice.value) for choice in kind)
        raise InputError(f"{name} is {described(value)}; choose from {known}") from None


def merged(
    function: str, name: str, given: D | None, kind: type[D], keywords: Mapping[str, Any]
) -> D:
    """The value object that was given as argument `name`, with the keywords filled in.

    kind: its class; without an object, a default one takes the keywords. Raises InputError for
    an object of another class, where it and a keyword say different things, and for a keyword that
    `function` does not have.
    """
    for keyword in keywords.keys() - {field.name for field in fields(kind)}:
        raise TypeError(f"{function}() got an unexpected keyword argument {keyword!r}")
    if given is None:
        return kind(**keywords)
    as_instance(name, given, kind)
    defaults = kind()
    for keyword, value in keywords.items():
        there, default = getattr(given, keyword), getattr(defaults, keyword)
        if not _same(there, default) and not _same(there, value):
            raise InputError(
                f"{keyword} is {described(value)} by itself and {described(there)} in {name}; "
                "give it once"
            )
    return replace(given, **keywords)


def _same(one: object, other: object) -> bool:
    try:
        return one is other or bool(one == other)
    except ValueError:  # arrays, which are compared element by element
        return False


def described(value: object) -> str:
    """The value as a message quotes it: its repr, or for a long one its type."""
    try:
        quoted = repr(value)
    except Exception:
        return kind_of(value)
    if "\n" in quoted or len(quoted) > LONGEST_VALUE:
        return kind_of(value)
    return quoted


def shape_in_words(shape: tuple[int, ...]) -> str:
    """The shape of an array in messages: `3×4`, `a vector of 5`, `a single number`."""
    if len(shape) == 1:
        return f"a vector of {shape[0]}"
    return "×".join(map(str, shape)) or "a single number"


def kind_of(value: object) -> str:
    """The type of a value in words, such as `an int`."""
    return "None" if value is None else with_article(type(value).__name__)


def with_article(name: str) -> str:
    """`a Plan`, `an Executor`."""
    return f"an {name}" if name[0] in "aeiouAEIOU" or name == "ndarray" else f"a {name}"
