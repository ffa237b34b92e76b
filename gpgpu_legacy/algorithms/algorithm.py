"""An algorithm: who published it for graphics hardware, and the function that builds its plan."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from gpgpu_legacy.arguments import as_callable, as_instance, as_integer, as_text
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.pipeline.builder import PlanBuilder

SHIPPED_IN = "gpgpu_legacy"
"""The package that an algorithm of our own comes from."""


@dataclass(frozen=True, slots=True)
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
    def plain_default(self) -> int | float | str | bool | None:
        """The default, as a caller would write it."""
        default = self.default.value if isinstance(self.default, Enum) else self.default
        return default if isinstance(default, int | float | str | None) else str(default)

    @property
    def shown(self) -> str:
        """The default as text; empty where there is none."""
        text = "" if self.default is None else str(self.plain_default)
        return text.lower() if isinstance(self.default, bool) else text


def _in_words(kind: Any) -> str:
    if isinstance(kind, type) and issubclass(kind, Enum):
        return ", ".join(str(member.value) for member in kind)
    if not isinstance(kind, type):
        return str(kind)  # a choice of a Literal
    words = {int: "whole number", float: "number", str: "text", bool: "true, false"}
    return words.get(kind, kind.__name__)


@dataclass(frozen=True, slots=True)
class Algorithm:
    """An algorithm in passes, as somebody published it for the graphics hardware of the time.

    name: on the command line, as in `bitonic-sort`. field: what it belongs to, such as `sorting`.
    source: who published it for such hardware, where and when. year: of that; None if unknown.
    summary: what it computes, in one line. build: builds the plan; its keyword parameters, with
    their defaults, are the algorithm's. `Annotated[int, "the meaning"]` says what one is. The
    builder has the reference function and sample inputs.
    aliases: other names. lacked: what the hardware or API of the day did not offer. package: that
    it comes from.
    """

    name: str
    year: int | None
    field: str
    source: str
    summary: str
    build: Callable[..., PlanBuilder]
    aliases: tuple[str, ...] = ()
    lacked: str = ""
    package: str = SHIPPED_IN

    def __post_init__(self) -> None:
        """InputError for a field of another type."""
        for field in ("name", "field", "source", "summary", "lacked", "package"):
            as_text(field, getattr(self, field), "text")
        if self.year is not None:
            as_integer("year", self.year)
        for alias in as_instance("aliases", self.aliases, tuple):
            as_text("an alias", alias, "text")
        if not self.name or as_callable("build", self.build) is None:
            raise InputError("an algorithm has a name and a function that builds it; give both")

    @property
    def explanation(self) -> str:
        """How it works, in paragraphs: the docstring of the module that builds it."""
        module = sys.modules.get(getattr(self.build, "__module__", ""))
        return "" if module is None else inspect.getdoc(module) or ""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What its plans depend on, in the order in which `build` lists it."""
        return parameters_of(self.build)


def parameters_of(build: Callable[..., object]) -> tuple[Parameter, ...]:
    """The parameters of a function that builds plans, in its order: those that have a name.

    So neither `*args` nor `**options` is one, nor what can only be given by its position.
    """
    hints = _hints(build)
    return tuple(
        _parameter(parameter, hints.get(parameter.name))
        for parameter in inspect.signature(build).parameters.values()
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
