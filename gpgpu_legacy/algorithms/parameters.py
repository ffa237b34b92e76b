"""The parameters of functions that build plans: their types, defaults and values given as text."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from gpgpu_legacy.arguments import described
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.numerals import integer_in, real_in

Plain = int | float | str | bool | None
"""A parameter's value, as it is shown and recorded."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of an algorithm, such as a size.

    kind: the type of its values. default: None leaves the value to the algorithm; a parameter
    without a default is `required`. meaning: in words; empty where nobody says.
    """

    name: str
    kind: Any
    default: int | float | str | bool | Enum | None
    meaning: str = ""
    required: bool = False

    @property
    def values(self) -> str:
        """What may be given, in words."""
        kinds = [kind for kind in get_args(self.kind) or (self.kind,) if kind is not type(None)]
        return " or ".join(_in_words(kind) for kind in kinds)

    @property
    def plain_default(self) -> Plain:
        """The default, as a caller would write it."""
        return plainly(self.default)

    @property
    def shown(self) -> str:
        """The default as text; empty where there is none."""
        text = "" if self.default is None else str(self.plain_default)
        return text.lower() if isinstance(self.default, bool) else text

    def parsed(self, value: str, recipe: str) -> Any:
        """A value that is given as text, in the type of the parameter.

        recipe: the name of what is built, for messages. Raises InputError for a text that does not
        fit.
        """
        is_union = get_origin(self.kind) in (Union, UnionType)
        options = get_args(self.kind) if is_union else (self.kind,)
        if NoneType in options and len(options) > 1 and value.lower() == "none":
            return None
        wanted = []
        for option in options:
            choices = _choices(option)
            spelled = {text.lower(): choice for text, choice in choices.items()} | choices
            for text in (value, value.lower()):
                if text in spelled:
                    return spelled[text]
            if choices:
                wanted.append(f"one of {', '.join(choices)}")
            elif isinstance(option, type) and issubclass(option, (Real, str)):
                try:
                    return _PARSED.get(option, option)(value)
                except ValueError:
                    wanted.append("a whole number" if issubclass(option, Integral) else "a number")
        if not wanted:
            raise InputError(
                f"{recipe}: {self.name} cannot be given as text; annotate it with int, float, str, "
                "bool, an Enum or a Literal"
            )
        raise InputError(f"{recipe}: {self.name} is {described(value)}; give {' or '.join(wanted)}")


def _found(number: int | float | None) -> int | float:
    if number is None:
        raise ValueError
    return number


_PARSED: dict[type, Callable[[str], Any]] = {
    int: lambda text: _found(integer_in(text)), float: lambda text: _found(real_in(text))
}  # fmt: skip
"""How the types of numbers are read; others read text by themselves."""


def _in_words(kind: Any) -> str:
    if isinstance(kind, type) and issubclass(kind, Enum):
        return ", ".join(str(member.value) for member in kind)
    if not isinstance(kind, type):
        return str(kind)  # a choice of a Literal
    words = {int: "whole number", float: "number", str: "text", bool: "true, false"}
    return words.get(kind, kind.__name__)


def parameters_of(build: Callable[..., object]) -> tuple[Parameter, ...]:
    """The parameters of a function that builds plans, in its order: those that have a name.

    So neither `*args` nor `**options` is one, nor what can only be given by its position.
    """
    hints = _hints(build)
    try:
        parameters = inspect.signature(build).parameters.values()
    except ValueError as error:  # a function that is not written in Python
        raise InputError(f"{error}; give a function whose parameters have names") from None
    return tuple(
        _parameter(parameter, hints.get(parameter.name))
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    )


def _hints(function: Callable[..., object]) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except Exception:  # somebody's annotations may need what is imported for a type checker alone
        return {}


def _parameter(parameter: inspect.Parameter, hint: Any) -> Parameter:
    required = parameter.default is parameter.empty
    default = None if required else parameter.default
    kind, meaning = hint, ""
    if get_origin(hint) is Annotated:
        kind, *said = get_args(hint)
        meaning = next((text for text in said if isinstance(text, str)), "")
    if kind is None:
        kind = int | float | str if default is None else type(default)
    return Parameter(parameter.name, kind, default, meaning, required)


# Values ---------------------------------------------------------------------------------------


def plainly(value: Any) -> Plain:
    """A parameter as it is shown and recorded: a number, a flag or text."""
    if isinstance(value, Enum):
        value = value.value
    if getattr(value, "shape", None) == ():  # a number of NumPy
        value = value.item()
    return value if isinstance(value, Plain) else str(value)


def _choices(kind: Any) -> dict[str, Any]:
    """The values of a type that has few, by how they are given; none for other types."""
    if get_origin(kind) is Literal:
        return {str(choice): choice for choice in get_args(kind)}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {str(member.value): member for member in kind}
    return _YES_OR_NO if kind is bool else {}


_YES_OR_NO: dict[str, Any] = {
    "true": True, "yes": True, "1": True, "false": False, "no": False, "0": False
}  # fmt: skip
