"""Decorators for value objects, and for the functions and classes that users call.

`@frozen` marks a class that holds fields and never changes. `@public` marks what users call:
arguments that do not fit its signature raise an error of one line. Each combination of argument
types is checked once; later calls with the same types cost one look-up.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Generator, Mapping, Sized
from contextlib import _GeneratorContextManager
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any, NoReturn, ParamSpec, SupportsFloat, TypeVar, dataclass_transform

from gpgpu_legacy.errors import InputError, UnknownNameError, described, hint

C = TypeVar("C")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")


@dataclass_transform(frozen_default=True)
def frozen(value: type[C]) -> type[C]:
    """The class as a dataclass whose objects are immutable, equal by their fields, and slotted."""
    return dataclass(frozen=True, slots=True)(value)


def hashed_once(value: type[C]) -> type[C]:
    """Make a frozen dataclass without slots compute the hash of each object once.

    Its objects are keys of many caches.
    """
    own = value.__hash__

    def once(self: Any) -> int:
        kept: dict[str, int] = self.__dict__
        if "_hash" not in kept:
            kept["_hash"] = own(self)
        return kept["_hash"]

    value.__hash__ = once  # type: ignore[method-assign]
    return value


# Calls by users ---------------------------------------------------------------------------------

_KINDS: dict[str, tuple[Any, str]] = {
    "str": (str, "a text"),
    "Path": (os.PathLike, "a file's name"),
    "bool": (bool, "True or False"),
    "float": (SupportsFloat, "a number"),
    "Sequence": (Sized, "a list"),
    "Mapping[int": (Mapping, "a dict by number, as in {0: …}"),
    "Mapping[str": (Mapping, 'a dict by name, as in {"a": …}'),
    "Mapping[Any": (Mapping, 'a dict, as in {0: …} or {"a": …}'),
    "None": (type(None), ""),
    "PlanBuilder": ((), "a Pipeline"),
    **{name: ((), f"a {name}") for name in ("Plan", "Program", "Machine", "FigureOptions")},
}
"""By the beginning of an annotation, its type, and the type in words. The package's own types are
known by their names alone.
"""

_ANY = (object, "")
"""For other annotations, which accept anything."""


class WithBlock(_GeneratorContextManager[T]):
    """A context manager that can be used only in a `with` statement."""

    def __getattr__(self, name: str) -> NoReturn:
        """Raise UnknownNameError, with the advice to write a `with` statement."""
        own = self.func.__name__
        raise UnknownNameError(
            f"{own} makes a block, which has no {name}; write `with p.{own}(…) as name:`, and go "
            "on with name inside of it"
        )

    def __iter__(self) -> NoReturn:
        """Raise UnknownNameError, as __getattr__ does."""
        self.__getattr__("iteration of Python")


def block(function: Callable[P, Generator[T, None, None]]) -> Callable[P, WithBlock[T]]:
    """Do as contextlib.contextmanager does, with an error of one line for a use without `with`."""

    @wraps(function)
    def call(*given: P.args, **named: P.kwargs) -> WithBlock[T]:
        return WithBlock(function, given, named)

    return call


def public(value: F) -> F:
    """Make a function or method raise InputError for arguments that do not fit its signature.

    Of a class, the constructor is checked. Only the types and the names of arguments matter.
    """
    if isinstance(value, type):
        value.__init__ = public(value.__init__)  # type: ignore[misc]
        return value
    fitting = set[tuple[object, ...]]()

    @wraps(value)
    def call(*given: Any, **named: Any) -> Any:
        types = (*map(type, given), *named, *map(type, named.values()))
        if types not in fitting:
            _check(value, given, named)
            if len(fitting) == _MOST:
                fitting.clear()
            fitting.add(types)
        return value(*given, **named)

    return call  # type: ignore[return-value]


_MOST = 1000  # combinations of types that are remembered


def _check(function: Callable[..., Any], given: tuple[Any, ...], named: Mapping[str, Any]) -> None:
    """Raise InputError for arguments that do not fit the function's signature."""
    signature = inspect.signature(function)
    every = [p for p in signature.parameters.values() if p.name != "self"]
    parameters = [p for p in every if p.kind is not p.VAR_POSITIONAL]
    more = next((p for p in parameters if p.kind is p.VAR_KEYWORD), None)
    home = inspect.unwrap(function).__globals__
    words = home.get(str(more and more.annotation)[len("Unpack[") : -1])
    kinds = {p.name: str(p.annotation) for p in parameters if p is not more or not words}
    if words:
        kinds |= {name: kind.__forward_arg__ for name, kind in words.__annotations__.items()}
    own = function.__name__
    what = type(given[0]).__name__ if own == "__init__" else own
    for name in named:
        if name not in kinds and (words or not more):
            how = hint(name, kinds, f"its arguments are {', '.join(kinds)}")
            raise InputError(f"{what} takes no {name}; {how}")
    try:
        bound = signature.bind(*given, **named).arguments
    except TypeError as error:
        needed = [
            f"{p.name}=…" if p.kind is p.KEYWORD_ONLY else p.name
            for p in parameters
            if p.default is p.empty and p is not more
        ]
        how = ", ".join([*needed, "…"])
        problem = str(error).replace("keyword-only ", "")  # as Python 3.12 and later say
        raise InputError(f"{what}: {problem}; write {what}({how})") from None
    for name, value in {**bound, **named}.items():
        if wanted := _wanted(kinds.get(name, ""), value):
            raise InputError(f"{what}: {name} is {described(value)}; give {wanted}")


def _wanted(annotation: str, value: object) -> str:
    """What to give instead of a value, in words; empty if it fits its annotation."""
    words, names = [], {base.__name__ for base in type(value).__mro__}
    for part, kind, word in _alternatives(annotation):
        if isinstance(value, kind) or part in names:
            return ""
        words.append(word)
    return " or ".join(filter(None, words))


@cache
def _alternatives(annotation: str) -> list[tuple[str, Any, str]]:
    """The types that an annotation joins by |: each as it is written, then its entry in _KINDS."""
    return [
        (part, *next((k for begin, k in _KINDS.items() if part.startswith(begin)), _ANY))
        for part in annotation.split(" | ")
    ]
