"""Commands as click has them, made of functions whose parameters are annotated.

A parameter that is annotated with an Option or an Argument is one of the command; so is one that is
annotated with the words of an Option. So is each field of a dataclass that is a parameter's type:
the command then receives an instance.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import click
from click.shell_completion import CompletionItem

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.numerals import integer_in, real_in
from gpgpu_legacy.present.plain import spelled_plainly

T = TypeVar("T")

Several = tuple[T, ...]
"""The values of an option or an argument that may be given several times: `Several[int]`."""

REPORT = "report"
"""The parameter of a command that is no option: what a frame tells the command."""

WRITTEN = frozenset({"--animate", "--heat-map", "--output", "--plot", "--record"})
"""The options whose files are written; the words of all others may name files that are read."""


PICTURE, FILM, RECORD = "FILE.png|svg|pdf", "FILE.png|gif", "JSON"
"""What stands in the help for a picture that has lines, for one that may move, and for results."""

Names = Iterator[tuple[str, str]]
"""Names that may stand somewhere, each with a word about it."""


class Option:
    """An option, in an annotation, in the words with which the help shows it.

    words: its names, where they are not that of its parameter; what stands for its value; and last,
    what the help says. complete: the names that a shell offers. complete_after: the same, from the
    words before and the beginning of this one.
    """

    def __init__(
        self,
        *words: str,
        complete: Callable[[], Names] | None = None,
        complete_after: Callable[[Sequence[str], str], Names] | None = None,
    ) -> None:
        *usage, said = words
        self.names = [word for word in usage if word.startswith("-")]
        value = next((word for word in usage if not word.startswith("-")), None)
        self.more: dict[str, Any] = {"metavar": value, "help": said}
        offered = complete_after or (complete and (lambda _before, _start: complete()))
        if offered:
            self.more["shell_complete"] = lambda context, _parameter, start: [
                CompletionItem(name, help=said)
                for name, said in offered(context.obj or (), start)
                if name.startswith(start)
            ]

    def built(self, name: str, kind: Any, **more: Any) -> click.Parameter:
        """The option, of a parameter of this name and type; a flag that is set may be unset."""
        plain = f"--{name.replace('_', '-')}"
        if more.get("default") is True:
            plain += f"/--no-{plain[2:]}"
        is_several = _is_several(kind)
        type_ = _type(get_args(kind)[0] if is_several else kind)
        if is_several and isinstance(type_, _Number):
            type_ = _Numbers(type_)
            more["callback"] = lambda _context, _option, values: tuple(chain.from_iterable(values))
        return click.Option(
            [name, *(self.names or [plain])],
            multiple=is_several,
            type=type_,
            is_flag=kind is bool or None,  # False would let a required option stand without a value
            show_default=True,
            **self.more,
            **more,
        )


class Argument(Option):
    """An argument, in an annotation."""

    def built(self, name: str, kind: Any, **more: Any) -> click.Parameter:
        """The argument, of a parameter of this name and type."""
        kind, count = (get_args(kind)[0], -1) if _is_several(kind) else (kind, 1)
        return click.Argument([name], nargs=count, type=_type(kind), **self.more, **more)


# Types ------------------------------------------------------------------------------------------


class _Number(click.ParamType[Any]):
    """A number in ASCII digits."""

    def __init__(self, name: str, read: Callable[[str], float | None]) -> None:
        self.name, self.read = name, read

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The number; a default is one already."""
        number = self.read(value) if isinstance(value, str) else value
        return self.fail(f"{value!r} is no {self.name}", param, ctx) if number is None else number


class _Numbers(click.ParamType[Any]):
    """Numbers with commas between them, in one word."""

    def __init__(self, number: _Number) -> None:
        self.number, self.name = number, number.name

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The numbers; a default is one already."""
        parts = value.split(",") if isinstance(value, str) else [value]
        return [self.number.convert(part, param, ctx) for part in parts]


class _Member(click.Choice[Any]):
    """A member of an enumeration, by its value."""

    def normalize_choice(self, choice: Any, ctx: Any) -> str:
        """What is typed for a member."""
        return str(getattr(choice, "value", choice))


_TYPES: dict[Any, Any] = {
    str: click.STRING,
    bool: click.BOOL,
    int: _Number("whole number", integer_in),
    float: _Number("number", real_in),
    Path: click.Path(path_type=Path, readable=False),
}


def _is_several(kind: Any) -> bool:
    return get_args(kind)[1:] == (...,)


def _type(kind: Any) -> Any:
    """The type of a parameter for click."""
    if get_origin(kind) is tuple:
        return click.Tuple([_TYPES[part] for part in get_args(kind)])
    return _TYPES.get(kind) or _Member(kind)


# Commands ---------------------------------------------------------------------------------------


class Command(click.Command):
    """A command, in which an option may be followed by several values, or be given several times.

    Words that cannot be further values are arguments: a program after `--texture 0=a.png`.
    """

    def __init__(self, name: str, callback: Callable[..., None], **given: Any) -> None:
        super().__init__(name, callback=callback, **given)
        self.function = callback
        del self.params  # they take long to build, and a list of commands does without

    @cached_property
    def groups(self) -> dict[str, Any]:
        """The parameters that are dataclasses of options, with their types."""
        hints = self.hints.items()
        return {key: hint for key, hint in hints if is_dataclass(hint) and key != REPORT}

    @cached_property
    def params(self) -> list[click.Parameter]:  # type: ignore[override]
        """The options and arguments."""
        return self.own_parameters

    @property
    def own_parameters(self) -> list[click.Parameter]:
        """The options and arguments that the function asks for."""
        own: list[click.Parameter] = []
        for key, parameter in inspect.signature(self.function).parameters.items():
            if key in self.groups:
                own += parameters_in(self.groups[key])
            elif get_args(self.hints[key]):
                own.append(_built(key, self.hints[key], parameter.default))
        return own

    @cached_property
    def hints(self) -> dict[str, Any]:
        """The annotations of the function's parameters; what it returns may not be known here."""
        hints = {k: v for k, v in self.function.__annotations__.items() if k != "return"}
        stub = type("Parameters", (), {"__annotations__": hints})
        return get_type_hints(stub, self.function.__globals__, include_extras=True)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat the option before each further value, as the parser expects it."""
        ctx.obj = args
        return super().parse_args(ctx, list(_repeated(args, self._lists)))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, if none of its files gets in the way of another."""
        check_files(self.params, ctx.params)
        return self.call(dict(ctx.params))

    def call(self, values: dict[str, Any]) -> Any:
        """Call the function with the values of its options, those of a group in one object."""
        for name, kind in self.groups.items():
            values[name] = kind(**{field.name: values.pop(field.name) for field in fields(kind)})
        return self.function(**values)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """What may stand next, for a shell: among others, a further value of an option."""
        options = [word for word in ctx.obj if word.startswith("-")]
        option = self._lists.get(options[-1]) if options else None
        if option is None or incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return option.shell_complete(ctx, incomplete)

    def get_help(self, ctx: click.Context) -> str:
        """The help, in characters that stdout has."""
        return printable_help(super().get_help(ctx))

    @property
    def _lists(self) -> dict[str, click.Parameter]:
        """The options that take several values, by name."""
        return {name: p for p in self.params if p.multiple for name in p.opts}


def parameters_in(group: Any) -> list[click.Parameter]:
    """The options and arguments that a dataclass stands for."""
    types = get_type_hints(group, include_extras=True)
    return [_built(field.name, types[field.name], field.default) for field in fields(group)]


def _built(name: str, annotation: Any, default: Any) -> click.Parameter:
    kind, *said = get_args(annotation)
    option = Option(*said) if isinstance(said[0], str) else said[0]
    if isinstance(kind, UnionType):
        (kind,) = (part for part in get_args(kind) if part is not NoneType)
    is_needed = default in {MISSING, inspect.Parameter.empty}
    given = {} if is_needed else {"default": getattr(default, "value", default)}
    built: click.Parameter = option.built(name, kind, required=is_needed, **given)
    return built


def _repeated(args: Iterable[str], lists: Mapping[str, click.Parameter]) -> Iterator[str]:
    option, values = "", 0
    for word in args:
        if word.startswith("-") and integer_in(word) is None:
            option, values = word, 0
        else:
            if option in lists and values and _fits(lists[option], word):
                yield option
            values += 1
        yield word


def _fits(option: click.Parameter, word: str) -> bool:
    """Whether a word may be a further value of an option; else it is an argument of the command."""
    has_names = "=" in (option.metavar or "")
    if has_names or "=" in word:
        return has_names and "=" in word
    is_number = all(integer_in(part) is not None for part in word.split(","))
    return is_number or not isinstance(option.type, _Numbers)


def printable_help(text: str) -> str:
    """A text in characters that stdout has: click would write UTF-8 to an ASCII one."""
    return spelled_plainly(text, sys.stdout.encoding or "utf-8")


# Files ------------------------------------------------------------------------------------------


def check_files(parameters: Iterable[Any], values: Mapping[str, Any]) -> None:
    """InputError where a command would write a file twice, or over one that it reads.

    So it is for a picture or results whose names end otherwise, or that have no folder.
    parameters: those of the command. values: what is given for each, by its name.
    """
    written: dict[str, Path] = {}
    read: dict[str, Path] = {}
    shapes = {}
    for parameter in parameters:
        is_written = not WRITTEN.isdisjoint(parameter.opts)
        for number, path in enumerate(_paths(values.get(parameter.name))):
            name = _spelled(parameter) + f" {number + 1}" * bool(number)
            if is_written:
                written[name], shapes[path] = path, parameter.metavar
            elif os.path.isfile(path):  # noqa: PTH113 - of any name, however long
                read[name] = path
    if not written:
        return
    from gpgpu_legacy.files import check_distinct, check_not_read

    check_distinct(written)
    for path, shape in shapes.items():
        check_not_read(path, read)
        if shape == RECORD:
            check_output(path, ".json")
        if shape == FILM:
            check_output(path, ".png", ".gif")
        if shape == PICTURE:
            from gpgpu_legacy.present.plot import check_figure

            check_figure(path)


def check_output(path: Path, *suffixes: str) -> None:
    """InputError for a file to write with another suffix, or in no folder."""
    from gpgpu_legacy.files import check_writable

    check_writable(path)
    if path.suffix.lower() not in suffixes:
        raise InputError(f"{path} should end in {' or '.join(suffixes)}")


def _paths(value: Any) -> Iterator[Path]:
    """The paths that a value may stand for: its own, or what NAME=FILE gives."""
    if isinstance(value, list | tuple):
        for each in value:
            yield from _paths(each)
    elif isinstance(value, Path):
        yield value
    elif isinstance(value, str) and value:
        _, _, file = value.rpartition("=")
        yield Path(file)


def _spelled(parameter: Any) -> str:
    """How the help calls an option or an argument."""
    if parameter.param_type_name == "option":
        return str(max(parameter.opts, key=len))
    return str(parameter.metavar or parameter.name.upper()).split()[0].strip("[].")
