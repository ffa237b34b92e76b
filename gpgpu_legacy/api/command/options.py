"""click's options and arguments, made from annotations.

A parameter becomes an option or an argument of the command if its annotation has an Option, an
Argument, or the words of an Option. If its type is a dataclass, each field becomes one, and the
command receives an instance.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from inspect import Parameter
from itertools import chain
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import click
from click.shell_completion import CompletionItem

from gpgpu_legacy.errors import InputError, integer_in, real_in

T = TypeVar("T")

Several = tuple[T, ...]
"""The values of an option or an argument that may be given several times: `Several[int]`."""

WRITTEN = frozenset({"--animate", "--heat-map", "--output", "--plot", "--record"})
"""The options whose files are written; the words of all others may name files that are read."""


PICTURE, FILM, RECORD = "FILE.png|svg|pdf", "FILE.png|gif", "FILE.json"
"""Placeholders of files in the help: a chart, a picture that may be animated, and results."""

Names = Iterator[tuple[str, str]]
"""Values of an option, each with a short description."""


class Option:
    """The words of an option, in an annotation.

    words: its names, if they differ from its parameter's; the placeholder of its value; the help;
    and the function that lists the values which a shell offers.
    """

    def __init__(self, *words: Any) -> None:
        self.words = words


class Argument(Option):
    """An argument, in an annotation."""


def parameters_in(group: Any) -> Iterator[click.Parameter]:
    """The options and arguments of a dataclass's fields."""
    types = get_type_hints(group, include_extras=True)
    for field in fields(group):
        yield built(field.name, types[field.name], field.default)


def built(name: str, annotation: Any, default: Any) -> click.Parameter:
    """The option or the argument of a parameter of this name, annotation and default.

    A flag that is True by default also has a --no- form.
    """
    kind, *words = get_args(annotation)
    is_argument = isinstance(words[0], Argument)
    if isinstance(words[0], Option):
        words = [*words[0].words]
    *usage, said = (word for word in words if isinstance(word, str))
    names = [word for word in usage if word.startswith("-")]
    metavar = next((word for word in usage if word not in names), None)
    if NoneType in get_args(kind):
        kind, _ = get_args(kind)
    is_several, type_ = _type(kind)
    more: dict[str, Any] = {"type": type_, "required": default in {MISSING, Parameter.empty}}
    if not more["required"]:
        more["default"] = getattr(default, "value", default)
    if callable(offered := words[-1]):
        more["shell_complete"] = lambda _context, _parameter, start: [
            CompletionItem(name, help=about) for name, about in offered() if name.startswith(start)
        ]
    if is_argument:
        count = -1 if is_several else 1
        return click.Argument([name], metavar=metavar, nargs=count, help=said, **more)
    if is_several and isinstance(type_, NumberType):
        metavar = f"{metavar},…"
        more["callback"] = lambda _context, _option, values: tuple(chain.from_iterable(values))
    elif is_several:
        metavar = f"{metavar} …"
    plain = f"--{name.replace('_', '-')}"
    if default is True:
        plain += f"/--no-{plain[2:]}"
    return click.Option(
        [name, *(names or [plain])],
        metavar=metavar,
        multiple=is_several,
        is_flag=kind is bool or None,  # False would allow a required option without a value
        show_default=True,
        help=said,
        **more,
    )


# Types ------------------------------------------------------------------------------------------


@dataclass(eq=False)
class NumberType(click.ParamType[Any]):
    """A number in ASCII digits; several in one word, between commas, if many are allowed."""

    name: str
    read: Callable[[str], float | None]

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The number, or the numbers; a default is a number already."""
        words = str(value).split(",") if param.multiple else [str(value)]
        numbers = [self.read(word) for word in words]
        if None in numbers:
            self.fail(f"{value!r} is not a {self.name}", param, ctx)
        return numbers if param.multiple else numbers[0]


class _Member(click.Choice[Any]):
    """A member of an enumeration, by its value; or one of a few words."""

    def normalize_choice(self, choice: Any, ctx: Any) -> str:
        """The text for a member on the command line."""
        return str(getattr(choice, "value", choice))


_TYPES: dict[Any, Any] = {
    str: click.STRING,
    bool: click.BOOL,
    int: NumberType("whole number", integer_in),
    float: NumberType("number", real_in),
    Path: click.Path(path_type=Path, readable=False),
}


def _type(kind: Any) -> tuple[bool, Any]:
    """Whether several are taken, and the type of each for click."""
    args = get_args(kind)
    if args[1:] == (...,):
        return True, _type(args[0])[1]
    if get_origin(kind) is tuple:
        return False, click.Tuple([_TYPES[part] for part in args])
    return False, _TYPES.get(kind) or _Member(args or kind)


# Files ------------------------------------------------------------------------------------------


def check_files(parameters: Iterable[click.Parameter], values: Mapping[str, Any]) -> None:
    """Raise InputError if a command would write a file twice, or over one that it reads.

    Also for a file that cannot be written, or lacks an ending of its option's FILE.a|b.
    parameters: those of the command. values: what is given for each, by its name.
    """
    from gpgpu_legacy.files import check_distinct, check_not_read, check_writable

    written: dict[str, Path] = {}
    read: dict[str, Path] = {}
    for parameter in parameters:
        value = values[str(parameter.name)]
        _, _, endings = str(parameter.metavar).partition(".")
        for number, word in enumerate(value if isinstance(value, tuple) else (value,), 1):
            name = f"{parameter.get_error_hint(None)} {number if number > 1 else ''}".rstrip()
            path = word if isinstance(word, Path) else Path(str(word).rpartition("=")[2])
            if WRITTEN.isdisjoint(parameter.opts):
                if os.path.isfile(path):  # noqa: PTH113 - of any name, however long
                    read[name] = path
            elif word:
                written[name] = path
                if endings:
                    check_writable(path)
                    if path.suffix.lower()[1:] not in endings.split("|"):
                        raise InputError(f"{path} should end in .{endings.replace('|', ' or .')}")
    check_distinct(written)
    for path in written.values():
        check_not_read(path, read)


# Completion --------------------------------------------------------------------------------------


PROGRAM = "gpgpu-legacy"


def chip_names() -> Names:
    """Chips and APIs: ours, and those that were calibrated here."""
    from gpgpu_legacy.chips.profile import calibrated, profiles

    chips = (*profiles(), *calibrated())
    return ((name, chip.title) for chip in chips for name in (chip.name, *chip.aliases))


def executor_names() -> Names:
    """Executors, whether they work here or not, and `auto`."""
    from gpgpu_legacy.runtime.executor import AUTO, executors

    yield AUTO, "what is expected to be done first"
    yield from ((executor.name, executor.summary) for executor in executors())


def target_names() -> Names:
    """The targets of `translate`."""
    from gpgpu_legacy.lower.emit.targets import targets

    return ((target.name, target.summary) for target in targets())


def host_names() -> Names:
    """The hosts that draw translated shaders."""
    from gpgpu_legacy.lower.emit.targets import targets

    return ((target.host, f"draws {target.name}") for target in targets() if target.host)


def algorithm_names() -> Names:
    """Algorithms: ours, and those of other packages."""
    from gpgpu_legacy.algorithms.registry import all_algorithms

    return ((algorithm.name, algorithm.summary) for algorithm in all_algorithms())


def arithmetic_names() -> Names:
    """The arithmetics of the time."""
    from gpgpu_legacy.isa.arithmetic import ARITHMETICS

    return ((name, "") for name in ARITHMETICS)
