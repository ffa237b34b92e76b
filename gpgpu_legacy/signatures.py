"""Which argument of a call does not fit the signature: asked only of calls that have failed.

So a wrong type is named wherever nothing else has refused it, and a call that is right pays
nothing.
"""

from __future__ import annotations

import collections.abc
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, Unpack, get_args, get_origin, get_type_hints

from gpgpu_legacy.arguments import described, with_article
from gpgpu_legacy.errors import InputError, UnknownKeywordError


def misfit(
    function: Callable[..., Any], given: Sequence[Any], named: Mapping[str, Any], error: Exception
) -> InputError | None:
    """The error that names the first argument which does not fit; None if all do.

    error: what the call has raised. After `__post_init__`, the arguments are the fields.
    """
    try:
        if function.__name__ == "__post_init__":
            hints = get_type_hints(type(given[0]), include_extras=True)
            values = {f.name: getattr(given[0], f.name) for f in fields(given[0]) if f.init}
            return _first_misfit(values, hints)
        values = dict(inspect.signature(function).bind(*given, **named).arguments)
        hints = get_type_hints(function, include_extras=True)
        for name, hint in tuple(hints.items()):
            if get_origin(hint) is Unpack:  # of a TypedDict, which has a hint for each keyword
                values |= values.pop(name, {})
                hints |= get_type_hints(*get_args(hint))
        return _refused_keyword(function, named, error) or _first_misfit(values, hints)
    except Exception:  # of annotations that only a type checker can look up
        return None


def _first_misfit(values: Mapping[str, Any], hints: Mapping[str, Any]) -> InputError | None:
    for name, value in values.items():
        hint = hints.get(name, Any)
        if not _fits(value, hint):
            return InputError(f"{name} is {described(value)}; give {_in_words(hint)}")
    return None


def _refused_keyword(
    function: Callable[..., Any], named: Mapping[str, Any], error: Exception
) -> InputError | None:
    """The error for a keyword that was handed on to what does not have it."""
    for word in named if isinstance(error, TypeError) else ():
        if f"unexpected keyword argument '{word}'" in str(error):
            return UnknownKeywordError(
                f"{function.__name__}() got an unexpected keyword argument {word!r}"
            )
    return None


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value may be what an annotation says; what cannot be told, may be."""
    origin, parts = get_origin(kind), get_args(kind)
    if isinstance(origin, _ALIASES):
        return _fits(value, origin.__value__)
    check = _CHECKS.get(origin)
    if check is not None:
        return check(value, parts)
    wanted = _NUMBERS.get(kind, origin or kind)
    if wanted is None:
        return value is None
    if not isinstance(wanted, type) or wanted is Any or _is_protocol(wanted):
        return True
    if isinstance(value, bool) and kind in _NUMBERS:
        return False
    kinds = getattr(getattr(value, "dtype", None), "kind", "f")  # of what is an array
    return isinstance(value, wanted) and kinds in "biuf"


_ALIASES: Any = getattr(typing, "TypeAliasType", ())
"""What `type X[T] = …` makes, since Python 3.12: NumPy's NDArray is one."""

_NUMBERS: dict[Any, Any] = {int: Integral, float: Real}
"""What may be given for a number: NumPy's are among them, and bools are not."""

_CHECKS: dict[Any, Callable[[Any, tuple[Any, ...]], bool]] = {
    Annotated: lambda value, parts: _fits(value, parts[0]),
    Union: lambda value, parts: any(_fits(value, part) for part in parts),
    UnionType: lambda value, parts: any(_fits(value, part) for part in parts),
    Literal: lambda value, parts: any(type(value) is type(p) and value == p for p in parts),
    collections.abc.Callable: lambda value, _: callable(value),
    tuple: lambda value, parts: isinstance(value, tuple | list) and _items_fit(value, parts),
}
"""How a value is held against an annotation of that origin."""


def _items_fit(values: Sequence[Any], kinds: tuple[Any, ...]) -> bool:
    if Ellipsis in kinds:
        return all(_fits(value, kinds[0]) for value in values)
    return len(values) == len(kinds) and all(map(_fits, values, kinds))


def _is_protocol(kind: type) -> bool:
    """Whether only a type checker can say what fits, as with ArrayLike."""
    return bool(getattr(kind, "_is_protocol", False)) and kind.__module__ != "collections.abc"


def _in_words(kind: Any) -> str:
    origin, parts = get_origin(kind), get_args(kind)
    if isinstance(origin, _ALIASES):
        return _in_words(origin.__value__)
    if origin is Annotated:
        return _in_words(parts[0])
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(map(_in_words, parts)))
    if origin is Literal:
        return " or ".join(map(repr, parts))
    wanted = origin or kind
    if getattr(wanted, "__name__", "") == "ndarray":
        return "an array of real numbers"
    return _WORDS.get(wanted) or with_article(getattr(wanted, "__name__", str(wanted)))


_WORDS: dict[Any, str] = {
    None: "None", NoneType: "None", collections.abc.Callable: "a function", int: "an integer",
    float: "a real number", str: "text", bool: "True or False",
}  # fmt: skip
