"""Words of a call as values, without pydantic where they are plain.

Typer converts values with pydantic, whose import takes a third of the time of a short command. The
conversions here are those of str, int, float, Path and enumerations, and of lists and tuples of
them. Everything else is left to Typer. A word that does not fit is an InputError.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

import typer

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.numerals import integer_in, real_in

T = TypeVar("T")


def convert_plainly(command: Any) -> None:
    """Make the parameters of a command convert plain words by themselves.

    It does so where Typer has a place for a conversion; other versions of Typer, which may not
    need pydantic at all, are left as they are.
    """
    for parameter in (*command.params, command.get_help_option(typer.Context(command))):
        descriptor = getattr(parameter, "type_descriptor", None)
        if descriptor is None or getattr(parameter, "_runtime_param", parameter) is not None:
            continue
        convert = _converter(descriptor.annotation)
        if convert is not None and not _has_more(descriptor.parameter_info):
            parameter._runtime_param = _Plain(convert, _plain_types(descriptor.annotation))


@dataclass(frozen=True, slots=True)
class _Plain:
    """Replaces Typer's conversion of a parameter.

    types: those of the words: one, or one for each word of a tuple.
    """

    convert: Callable[[Any], Any]
    types: tuple[type, ...]

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        try:
            return self.convert(value)
        except (TypeError, ValueError):
            raise InputError(_complaint(self.types, value, param)) from None


def _complaint(types: tuple[type, ...], value: Any, param: Any) -> str:
    """Which word does not fit, and what would."""
    words = list(value) if isinstance(value, list | tuple) else [value]
    kinds = types if len(types) == len(words) else types[:1] * len(words)
    is_argument = param.param_type_name == "argument"
    name = (param.metavar or param.name) if is_argument else param.opts[-1]
    for index, (word, kind) in enumerate(zip(words, kinds, strict=True)):
        convert = _converter(kind)
        try:
            if convert is not None:
                convert(word)
        except (TypeError, ValueError):
            follows = param.multiple and index > 0  # after a value that fits
            return f"{name} is {word!r}; {_expected(kind)}" + (
                f"; arguments stand before {name}" if follows else ""
            )
    return f"{name} is {value!r}, which does not fit"


def _expected(kind: type) -> str:
    if issubclass(kind, Enum):
        return f"choose from {', '.join(str(member.value) for member in kind)}"
    wanted = {
        int: "give a whole number",
        float: "give a number",
        Path: "give a file without zero bytes in its name",
    }
    return wanted.get(kind, f"give a {kind.__name__}")


def _plain_types(annotation: Any) -> tuple[type, ...]:
    """The types of the words that an annotation stands for."""
    return get_args(annotation) if get_origin(annotation) is not None else (annotation,)


def _converter(annotation: Any) -> Callable[[Any], Any] | None:
    """What converts words to a type; None where that is left to Typer."""
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return annotation if issubclass(annotation, Enum) else _PLAIN.get(annotation)
    parts = [_converter(part) for part in get_args(annotation)]
    if get_origin(annotation) is list and len(parts) == 1 and parts[0] is not None:
        item = parts[0]
        return lambda values: [item(value) for value in values]
    if get_origin(annotation) is tuple and parts and None not in parts:
        return lambda values: tuple(
            part(value)  # type: ignore[misc]
            for part, value in zip(parts, values, strict=True)
        )
    return None


def _as_str(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _as_bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _as_int(value: Any) -> int:
    return value if isinstance(value, int) else _found(integer_in(value))


def _as_float(value: Any) -> float:
    return float(value) if isinstance(value, float | int) else _found(real_in(value))


def _found(number: T | None) -> T:
    if number is None:
        raise ValueError
    return number


def _as_path(value: Any) -> Path:
    if "\0" in str(value):
        raise ValueError
    return Path(value)


_PLAIN: dict[type, Callable[[Any], Any]] = {
    str: _as_str, bool: _as_bool, int: _as_int, float: _as_float, Path: _as_path
}  # fmt: skip


def _has_more(info: typer.models.ParameterInfo) -> bool:
    """Whether a parameter has checks or conversions of its own, which only Typer knows."""
    plain = typer.models.OptionInfo()
    return any(
        getattr(info, name, None) != getattr(plain, name, None)
        for name in (
            "parser", "click_type", "min", "max", "clamp", "formats", "mode", "exists",
            "file_okay", "dir_okay", "writable", "readable", "resolve_path", "allow_dash",
            "path_type", "case_sensitive",
        )
    )  # fmt: skip
