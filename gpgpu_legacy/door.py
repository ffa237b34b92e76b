"""The public door: arguments that do not fit a signature are told in one line.

What users call is made `checked`: the package's functions when they are taken from it, and the
methods of its classes. Calls inside the package are not checked.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sized
from contextlib import _GeneratorContextManager
from functools import cache, wraps
from types import FunctionType
from typing import Any, NoReturn, ParamSpec, SupportsFloat, SupportsIndex, TypeVar

from gpgpu_legacy.errors import InputError, UnknownNameError, described, hint

_REST = inspect.Parameter.VAR_POSITIONAL

T = TypeVar("T")
P = ParamSpec("P")

_KINDS: dict[str, tuple[type, str]] = {
    "str": (str, "a text"),
    "Path": (os.PathLike, "a file's name"),
    "bool": (bool, "True or False"),
    "int": (SupportsIndex, "a whole number"),
    "float": (SupportsFloat, "a number"),
    "Sequence": (Sized, "a list"),
    "Mapping[int": (Mapping, "a dict by number, as in {0: …}"),
    "Mapping[str": (Mapping, 'a dict by name, as in {"a": …}'),
    "Mapping[Any": (Mapping, 'a dict, as in {0: …} or {"a": …}'),
    "None": (type(None), ""),
}
"""Types as annotations begin with them, and in words. Other annotations accept everything."""

_OWN = ("Plan", "Program", "PlanBuilder", "Machine", "FigureOptions", "AnimationOptions")
"""Our own classes, which are known by their names, so that none is imported here."""


class Block(_GeneratorContextManager[T]):
    """What a `with` block is made of, which nothing else can be done with."""

    def __getattr__(self, name: str) -> NoReturn:
        """An attribute of what the block would give."""
        own = self.func.__name__
        raise UnknownNameError(
            f"{own} makes a block, which has no {name}; write `with p.{own}(…) as name:`, and go "
            "on with name inside of it"
        )

    def __iter__(self) -> NoReturn:
        """What a `for` asks for."""
        self.__getattr__("iteration of Python")


def block(function: Callable[P, Generator[T, None, None]]) -> Callable[P, Block[T]]:
    """As contextlib.contextmanager, but a use without `with` is told in one line."""

    @wraps(function)
    def call(*given: P.args, **named: P.kwargs) -> Block[T]:
        return Block(function, given, named)

    return call


def opened(value: T) -> T:
    """A public function, checked, or a class with its methods checked."""
    if isinstance(value, FunctionType):
        return checked(value)  # type: ignore[return-value]
    if isinstance(value, type):
        for name in dir(value):
            method = inspect.getattr_static(value, name)
            is_new = isinstance(method, FunctionType) and not hasattr(method, "is_checked")
            if is_new and (name[0] != "_" or name == "__init__"):
                setattr(value, name, checked(method))
    return value


@cache
def checked(function: FunctionType) -> Callable[..., Any]:
    """The function, which raises InputError for arguments that do not fit its signature."""
    signature = inspect.signature(function)
    kinds = {name: p.annotation for name, p in signature.parameters.items()}
    by_kind = {p.kind: name for name, p in signature.parameters.items()}
    more, rest = (by_kind.get(kind, "") for kind in (inspect.Parameter.VAR_KEYWORD, _REST))
    unpacked = str(kinds.get(more)).removeprefix("Unpack[").removesuffix("]")
    words = None if unpacked == "Any" else inspect.unwrap(function).__globals__.get(unpacked)
    if words:
        kinds |= {n: getattr(a, "__forward_arg__", a) for n, a in words.__annotations__.items()}
    known = [name for name in kinds if name not in ("self", more)]

    @wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        own = function.__name__
        what = type(given[0]).__name__ if own == "__init__" else own
        unknown = [name for name in named if name not in kinds]
        if unknown and (words or not more):
            how = hint(unknown[0], known, f"its arguments are {', '.join(known)}")
            raise InputError(f"{what} takes no {unknown[0]}; {how}")
        try:
            bound = signature.bind(*given, **named).arguments
        except TypeError as error:
            problem = str(error).replace("keyword-only ", "")  # as Python 3.12 and later say
            raise InputError(f"{what}: {problem}; write {what}{_written(signature)}") from None
        pairs = [*bound.items(), *bound.get(more, {}).items()]
        for name, value in [*pairs, *((rest, one) for one in bound.get(rest, ()))]:
            is_one = name != more and not (name == rest and isinstance(value, tuple))
            if is_one and (wanted := _wanted(str(kinds.get(name, "Any")), value)):
                raise InputError(f"{what}: {name} is {described(value)}; give {wanted}")
        return function(*given, **named)

    call.is_checked = True  # type: ignore[attr-defined]
    return call


def _written(signature: inspect.Signature) -> str:
    """The parameters that have a place, or that a call must have by name, and dots."""
    shown = [
        f"{p.name}=…" if p.kind is p.KEYWORD_ONLY else p.name
        for p in signature.parameters.values()
        if p.name != "self"
        and (
            p.kind <= p.POSITIONAL_OR_KEYWORD or (p.kind is p.KEYWORD_ONLY and p.default is p.empty)
        )
    ]
    return f"({', '.join([*shown, '…'])})"


def _wanted(annotation: str, value: object) -> str:
    """What to give instead of a value, in words; empty if it fits its annotation."""
    words = []
    for part in _alternatives(annotation):
        kind = next((kind for kind in _KINDS if part.startswith(kind)), "")
        classes = {base.__name__ for base in type(value).__mro__}
        if part in classes or (kind and isinstance(value, _KINDS[kind][0])):
            return ""
        if not kind and part not in _OWN:
            return ""
        words.append(_KINDS[kind][1] if kind else f"a {part.replace('PlanBuilder', 'Pipeline')}")
    return " or ".join(filter(None, words))


def _alternatives(annotation: str) -> Iterator[str]:
    """The types that an annotation joins by |, outside of brackets."""
    depth, start = 0, 0
    for at, letter in enumerate(f"{annotation}|"):
        depth += (letter == "[") - (letter == "]")
        if letter == "|" and not depth:
            yield annotation[start:at].strip()
            start = at + 1
