"""The parameters of functions that build plans: their types, defaults and values given as text.

A parameter of a function whose type is a dataclass stands for the dataclass's fields, so that many
functions can share them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError, as_integer, described, integer_in, real_in

Plain = int | float | str | bool | None
"""A parameter's value, in the form that is shown and recorded."""


@frozen
class AlgorithmParameter:
    """A parameter of an algorithm, such as a size.

    kind: the type of its values. default: None leaves the value to the algorithm; a parameter
    without a default is `required`. meaning: in words; empty if not given. group: the
    parameter of the function whose dataclass has it; empty if it is the function's own.
    """

    name: str
    kind: Any
    default: int | float | str | bool | Enum | None
    meaning: str = ""
    required: bool = False
    group: str = ""

    @property
    def values(self) -> str:
        """The allowed values, in words."""
        words = {int: "whole number", float: "number", str: "text", bool: "true, false"}
        return " or ".join(
            words.get(kind) or ", ".join(_choices(kind)) or kind.__name__
            for kind in self.kinds
            if kind is not NoneType
        )

    @property
    def plain_default(self) -> Plain:
        """The default, as a caller would write it."""
        return plainly(self.default)

    @property
    def kinds(self) -> tuple[Any, ...]:
        """The types that a value may have."""
        is_union = get_origin(self.kind) in (Union, UnionType)
        return get_args(self.kind) if is_union else (self.kind,)

    @property
    def choices(self) -> dict[str, Any]:
        """The values to choose from, in the caller's spelling; none if there are too many."""
        return {text: value for kind in self.kinds for text, value in _choices(kind).items()}

    def checked(self, value: Any, recipe: str) -> Any:
        """A value in the type of the parameter, from text or from a Python value.

        recipe: the name of the algorithm, for messages. Raises InputError for one that does not
        fit.
        """
        if isinstance(value, str):
            return self._parsed(value, recipe)
        kinds = [kind for kind in self.kinds if kind is not NoneType]
        if len(kinds) != 1 or (value is None and len(self.kinds) > 1):
            return value
        kind, name, plain = kinds[0], f"{recipe}: {self.name}", plainly(value)
        if choices := list(dict.fromkeys(_choices(kind).values())):
            for choice in choices:
                if plainly(choice) == plain and type(plainly(choice)) is type(plain):
                    return choice
            known = ", ".join(str(plainly(choice)) for choice in choices)
            raise InputError(f"{name} is {described(value)}; choose from {known}")
        if kind is int:
            return as_integer(name, value)
        if kind is float and not isinstance(value, Real):
            raise InputError(f"{name} is {described(value)}; it must be a number")
        return float(value) if kind is float else value

    def _parsed(self, value: str, recipe: str) -> Any:
        options = self.kinds
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
                reads = integer_in if issubclass(option, Integral) else real_in
                parsed = value if issubclass(option, str) else reads(value)
                if parsed is not None:
                    return parsed
                wanted.append("a whole number" if reads is integer_in else "a number")
        if not wanted:
            raise InputError(
                f"{recipe}: {self.name} cannot be given as text; annotate it with int, float, str, "
                "bool, an Enum or a Literal"
            )
        raise InputError(f"{recipe}: {self.name} is {described(value)}; give {' or '.join(wanted)}")


def parameters_of(build: Callable[..., object]) -> tuple[AlgorithmParameter, ...]:
    """The named parameters of a function that builds plans, in its order.

    These exclude `*args`, `**options` and positional-only parameters.
    """
    hints = _hints(build)
    try:
        signature = inspect.signature(build).parameters.values()
    except ValueError as error:  # a function that is not written in Python
        raise InputError(f"{error}; give a function whose parameters have names") from None
    parameters: list[AlgorithmParameter] = []
    for parameter in signature:
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            continue
        name, hint = parameter.name, hints.get(parameter.name)
        if isinstance(hint, type) and is_dataclass(hint):
            types = _hints(hint)
            for field in fields(hint):
                parameters.append(_parameter(field.name, types[field.name], field.default, name))
        else:
            parameters.append(_parameter(name, hint, parameter.default))
    return tuple(parameters)


def arguments_of(
    build: Callable[..., object],
    parameters: Mapping[str, AlgorithmParameter],
    given: Mapping[str, Any],
) -> dict[str, Any]:
    """The keywords that a function is called with for these values of its parameters."""
    kinds = _hints(build)
    alone = {name: value for name, value in given.items() if not parameters[name].group}
    groups = dict.fromkeys(one.group for one in parameters.values() if one.group)
    return alone | {
        group: kinds[group](**{n: v for n, v in given.items() if parameters[n].group == group})
        for group in groups
    }


def _hints(function: Callable[..., object]) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except Exception:  # annotations may need names that are imported only for a type checker
        return {}


def _parameter(name: str, hint: Any, default: Any, group: str = "") -> AlgorithmParameter:
    required = default is MISSING or default is inspect.Parameter.empty
    default = None if required else default
    kind, meaning = hint, ""
    if get_origin(hint) is Annotated:
        kind, *said = get_args(hint)
        meaning = next((text for text in said if isinstance(text, str)), "")
    if kind is None:
        kind = int | float | str if default is None else type(default)
    return AlgorithmParameter(name, kind, default, meaning, required, group)


# Values ---------------------------------------------------------------------------------------


def plainly(value: Any) -> Plain:
    """A parameter in the form that is shown and recorded: a number, a flag or text."""
    if isinstance(value, Enum):
        value = value.value
    if getattr(value, "shape", None) == ():  # a number of NumPy
        value = value.item()
    return value if isinstance(value, Plain) else str(value)


def titled(name: str, parameters: Mapping[str, Plain]) -> str:
    """A plan's name with its informative parameters: sizes, words and set flags."""
    shown = ", ".join(
        f"{parameter} = {value}"
        for parameter, value in parameters.items()
        if type(value) in {int, str} or value is True
    )
    return f"{name}{': ' * bool(shown)}{shown}"


def _choices(kind: Any) -> dict[str, Any]:
    """The values of a type that has few, in the caller's spelling; none for other types."""
    if get_origin(kind) is Literal:
        return {str(choice): choice for choice in get_args(kind)}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {str(member.value): member for member in kind}
    return _YES_OR_NO if kind is bool else {}


_YES_OR_NO: dict[str, Any] = {
    "true": True, "yes": True, "1": True, "false": False, "no": False, "0": False
}  # fmt: skip
