"""The one body of all commands: options in, a result out, or files.

A command is a function that returns a result, or the files that it wrote. The frame adds the
options for the output, prints the result, draws it, and exits with its status.
"""

from __future__ import annotations

import inspect
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cached_property
from importlib import import_module
from itertools import count
from math import inf
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_type_hints

import click
from click.shell_completion import CompletionItem

from gpgpu_legacy.api.command.options import (
    PICTURE,
    PROGRAM,
    RECORD,
    NumberType,
    built,
    check_files,
    parameters_in,
)
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError, hint, integer_in, natural_in

if TYPE_CHECKING:
    from gpgpu_legacy.measure.timing import Budget
    from gpgpu_legacy.present.grid import Grid
    from gpgpu_legacy.serial import Recorded


# The commands ------------------------------------------------------------------------------------


SECTIONS: dict[str, dict[str, str]] = {
    "Verbs": {
        "run": "run",
        "count": "count",
        "check": "count",
        "predict": "count",
        "cache": "count",
        "bench": "bench",
        "trace": "run",
        "figure": "run",
        "page": "run",
        "dump": "run",
    },
    "Programs": dict.fromkeys(("exec", "translate", "disassemble"), "programs"),
    "Papers": dict.fromkeys(("tables", "audit", "report"), "papers"),
    "More": {
        "examples": "lists",
        "algorithms": "lists",
        "chips": "lists",
        "fit": "lists",
        "tune": "bench",
        "calibrate": "bench",
        "doctor": "lists",
        "study": "",
    },
}
"""The file of each command, by heading."""

STUDY = "study"
"""The group of the studies."""

PACKAGE = Path(__file__).parents[2]

STUDIES = {
    module.name.replace("_", "-"): module.name
    for module in iter_modules([str(PACKAGE / "studies")])
    if not module.ispkg
}
"""The file of each study."""


class Commands(click.Group):
    """A group of commands; a call imports only its own command's file.

    The help lists each command with the first sentence of its docstring. These are read from the
    files as text, since importing all of them would take a second.
    """

    def __init__(
        self, name: str, room: str, sections: Mapping[str, Mapping[str, str]], **given: Any
    ) -> None:
        """room: the package of the files. sections: the file of each command, by heading."""
        super().__init__(name, **given)
        self.room, self.sections = room, sections
        self.files = {name: file for section in sections.values() for name, file in section.items()}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Show the help if no command is given."""
        return super().parse_args(ctx, args or ["--help"])

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands in their order."""
        return list(self.files)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name; None if there is none."""
        if file := self.files.get(cmd_name):
            import_module(f"gpgpu_legacy.{self.room}.{file}")
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called; an error for an unknown name suggests the nearest."""
        if args[0] not in self.files and not args[0].startswith("-"):
            raise InputError(f"there is no command {args[0]}; {hint(args[0], self.files)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings."""
        width = max(map(len, self.files))
        for heading, names in self.sections.items():
            rows = [(name.ljust(width), self.first_sentence(name, 1000)) for name in names]
            with formatter.section(heading):
                formatter.write_dl(rows)

    def first_sentence(self, name: str, limit: int) -> str:
        """The first sentence of a command's help, cut to that many letters."""
        if not (file := self.files[name]):
            return studies.get_short_help_str(limit)
        text = (PACKAGE / self.room / f"{file}.py").read_text("utf-8")
        begin = rf"^def {name.replace('-', '_')}_command\("
        [said] = re.findall(rf'{begin}.*?"""(.*?)"""', text, re.DOTALL | re.MULTILINE)
        return click.Command(name, help=said).get_short_help_str(limit)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands that begin with the incomplete word, and the options."""
        names = [name for name in self.files if name.startswith(incomplete)]
        items = [CompletionItem(name, help=self.first_sentence(name, 45)) for name in names]
        return [*items, *click.Command.shell_complete(self, ctx, incomplete)]


ANYWHERE = {
    "--debug": ("", "Show the traceback of an error; it may be anywhere in a call."),
    "--lenient": (
        "",
        "Take what a language forbids but drivers took: white space and comments before a "
        "program's header, GLSL ES without a precision for float. It, too, may be anywhere.",
    ),
    "--mathematics": (
        "NAME",
        "What functions of Cg, HLSL and GLSL are where these languages differ: cg, direct3d9 or "
        "glsl (default: the text's own); anywhere, too.",
    ),
    "--profile": (
        "NAME",
        "What Cg, HLSL, GLSL and Brook are compiled for: arbfp1 has no branches, fp40 and ps_3_0 "
        "branch as the text does (default: branches where a text needs them); anywhere, too.",
    ),
}
"""Options that may be anywhere in a call: the placeholder of the value, if any, and the help."""

app = Commands(
    PROGRAM,
    "cli",
    SECTIONS,
    params=[
        click.Option(
            [name], metavar=metavar or None, is_flag=not metavar, expose_value=False, help=said
        )
        for name, (metavar, said) in ANYWHERE.items()
    ],
    context_settings={"max_content_width": 100},
    help="A historical GPGPU shader emulator: fragment programs and matrix products, from 2001 on."
    " `gpgpu-legacy COMMAND --help` explains a command.",
)
click.version_option(None, "--version", "-V", package_name=PROGRAM, message="%(prog)s %(version)s")(
    app
)

studies = Commands(
    STUDY,
    "studies",
    {"Studies": STUDIES},
    help="Answer a question beyond the verbs, with a table and a picture.",
)
app.add_command(studies)


# The frame ---------------------------------------------------------------------------------------


R = TypeVar("R", bound="Recorded")


@frozen
class ShownOptions:
    """The options for the output of a result."""

    as_json: Annotated[bool, "--json", "Print JSON, for other programs."] = False
    whole: Annotated[bool, "--all", "Show everything, not only the deciding rows."] = False
    table_format: Annotated[
        Literal["text", "markdown", "csv", "latex"], "--format", "The format of the tables."
    ] = "text"

    def __post_init__(self) -> None:
        if self.as_json and self.table_format != "text":
            raise InputError(f"give --json or --format {self.table_format}, not both")

    def show(self, result: Any) -> None:
        """Print a result."""
        if self.as_json:
            print(result.as_json(), end="")
        elif self.table_format == "text":
            self._print(result.grids(whole=self.whole))
        else:
            from gpgpu_legacy.present.grid import as_csv, as_latex, as_markdown

            written = {"markdown": as_markdown, "csv": as_csv, "latex": as_latex}
            print(written[self.table_format](result.grids(whole=self.whole)), end="")

    def _print(self, grids: list[Grid]) -> None:
        """Print tables, as wide as $COLUMNS, the terminal, or 160 columns.

        If NO_COLOR is set, they have no colours.
        """
        from rich.console import Console

        from gpgpu_legacy.present.grid import print_text

        console = Console(
            highlight=False,
            emoji=False,
            color_system=None if os.environ.get("NO_COLOR") else "auto",
            width=None if sys.stdout.isatty() else natural_in(os.environ.get("COLUMNS", "")) or 160,
        )
        print_text(grids, console)


@frozen
class Report:
    """The progress of a command."""

    quiet: Annotated[bool, "Show no progress."] = False

    @property
    def plot(self) -> Path | None:
        """The file of --plot."""
        path: Path | None = click.get_current_context().params["plot"]
        return path

    @contextmanager
    def progress(self, what: str, total: int) -> Iterator[Callable[[str], None]]:
        """Progress of a number of steps, in a line on a terminal that each step rewrites.

        Yields the function to call after each step, with a description.
        """
        if self.quiet or total == 0 or not sys.stderr.isatty():
            yield lambda _: None
            return
        steps, columns = count(), shutil.get_terminal_size().columns - 1

        def step(description: str) -> None:
            said = f"{next(steps)}/{total} {description or what}"[:columns].ljust(columns)
            print(f"\r{said}", end="", file=sys.stderr, flush=True)

        step(what)
        try:
            yield step
        finally:
            print(f"\r{' ' * columns}\r", end="", file=sys.stderr, flush=True)

    @contextmanager
    def work(self, what: str, total: int, seconds: float | None) -> Iterator[Budget]:
        """Yield a budget for the block, which reports its steps; print a line if it was overrun.

        seconds: None for no limit.
        """
        from gpgpu_legacy.measure.timing import Budget

        with self.progress(what, total) as step:
            budget = Budget(inf if seconds is None else seconds, tell=step)
            yield budget
        if budget.overrun is not None:
            print(f"gpgpu-legacy: {budget.overrun}", file=sys.stderr)


def up_to(total: int, step: Callable[[str], object]) -> Callable[[str, float], None]:
    """A function that reports steps with a description, at most `total` times."""
    told = 0

    def reach(description: str, number: float) -> None:
        nonlocal told
        while told < min(total, int(number)):
            told += 1
            step(description)

    return reach


@frozen
class Kept(Report):
    """The progress of a command whose results are kept in files."""

    output: Annotated[
        Path | None,
        "-o",
        "--output",
        RECORD,
        "Write the results to this file, as they come.",
    ] = None
    recorded: Annotated[Path | None, "--from", "JSON", "Show recorded results; run nothing."] = None

    def save(self, record: object) -> None:
        """Write the results so far, if -o names a file."""
        if self.output is not None:
            from gpgpu_legacy.serial import write_json

            write_json(self.output, record)

    def read(self, kind: type[R]) -> R | None:
        """The results in the file of --from; None without it.

        Raises InputError if the command line also says what to run.
        """
        from gpgpu_legacy.serial import read_recorded

        if self.recorded is None:
            return None
        context = click.get_current_context()
        for parameter in context.command.params:
            name = str(parameter.name)
            is_given = context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
            if is_given and context.params[name] and name not in _ABOUT_RESULTS:
                said = parameter.opts[0] if isinstance(parameter, click.Option) else "WHAT"
                raise InputError(f"--from shows recorded results; leave {said} out")
        return read_recorded(self.recorded, kind)


_ABOUT_RESULTS = {"plot", *(field.name for kind in (ShownOptions, Kept) for field in fields(kind))}


class Command(click.Command):
    """A command whose function returns a result, or the files that it wrote.

    An option may be followed by several values, or be given several times. Words that cannot be
    further values are arguments: a program after `--texture 0=a.png`.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        plot: str | None = None,
        picture: str = PICTURE,
        *,
        writes: bool = False,
    ) -> None:
        """The arguments of `answers`."""
        super().__init__(name, callback=function, help=function.__doc__)
        self.function, self.plot, self.picture, self.writes = function, plot, picture, writes
        del self.params  # they are slow to build, and a list of commands does not need them

    @cached_property
    def hints(self) -> dict[str, Any]:
        """The annotations of the function's parameters, and of the frame's own options."""
        hints = {k: v for k, v in self.function.__annotations__.items() if k != "return"}
        stub = type("Parameters", (), {"__annotations__": hints})
        added = {} if self.writes else {"presentation": ShownOptions}
        return get_type_hints(stub, self.function.__globals__, include_extras=True) | added

    @cached_property
    def params(self) -> list[click.Parameter]:  # type: ignore[override]
        """The options and arguments."""
        params: list[click.Parameter] = []
        parameters = inspect.signature(self.function).parameters
        for name, kind in self.hints.items():
            if is_dataclass(kind):
                params += parameters_in(kind)
            else:
                params.append(built(name, kind, parameters[name].default))
        if self.plot is not None:
            params.append(built("plot", Annotated[Path, self.picture, self.plot], None))
        return params

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat the option before each further value, as the parser expects it."""
        ctx.obj = args
        return super().parse_args(ctx, list(_repeated(args, self._lists)))

    def invoke(self, ctx: click.Context) -> Any:
        """Check that no file overwrites another, call the function, and show the result."""
        check_files(self.params, ctx.params)
        values = dict(ctx.params)
        for name, kind in self.hints.items():
            if is_dataclass(kind):
                given = {field.name: values.pop(field.name) for field in fields(kind)}
                values[name] = kind(**given)  # type: ignore[operator]
        shown = values.pop("presentation", None)
        plot = values.pop("plot") if self.plot else None
        result = self.function(**values)
        if shown is None:
            for path in result:
                print(f"wrote {path}")
            return
        if isinstance(kept := values.get("report"), Kept):
            kept.save(result)
        shown.show(result)
        if plot is not None:
            result.plot(plot)
            print(f"wrote {plot}", file=sys.stderr)
        ctx.exit(getattr(result, "status", 0))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The shell's completions for the next word, including further values of an option."""
        options = [word for word in ctx.obj if word.startswith("-")]
        option = self._lists.get(options[-1]) if options else None
        if option is None or incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return option.shell_complete(ctx, incomplete)

    @property
    def _lists(self) -> dict[str, click.Parameter]:
        """The options that take several values, by name."""
        return {name: p for p in self.params if p.multiple for name in p.opts}


def _repeated(args: Iterable[str], lists: Mapping[str, click.Parameter]) -> Iterator[str]:
    option, values = "", 0
    words = iter(args)
    for word in words:
        if word == "--":
            yield from (word, *words)
            return
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
    return is_number or not isinstance(option.type, NumberType)


def answers(name: str, **more: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a command of a function that returns a result.

    name: the command's; `study NAME` for a study. plot: the help of `--plot`; None without a
    picture. picture: the file formats. writes: whether it returns the files that it wrote.
    """
    group = studies if name.startswith(STUDY) else app

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        group.add_command(Command(name.removeprefix(f"{STUDY} "), function, **more))
        return function

    return register
