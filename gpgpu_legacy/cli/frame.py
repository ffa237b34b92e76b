"""The one body of all commands: options in, a result out, or files.

A command is a function that returns a result, or the files that it wrote. The frame adds the
options that say what is shown, prints the result, draws it, writes it, and exits with its status.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from enum import Enum
from functools import cached_property
from itertools import count
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from gpgpu_legacy.cli.commands import STUDY, app, studies
from gpgpu_legacy.cli.options import PICTURE, RECORD, REPORT, Command, Option, parameters_in
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.numerals import natural_in

if TYPE_CHECKING:
    from gpgpu_legacy.measure.budget import Budget
    from gpgpu_legacy.present.grid import Grid


class TableFormat(Enum):
    """How tables are written."""

    TEXT = "text"
    MARKDOWN = "markdown"
    CSV = "csv"
    LATEX = "latex"


@dataclass(frozen=True)
class ShownOptions:
    """What is shown of a result."""

    as_json: Annotated[bool, Option("--json", "Print JSON, for other programs.")] = False
    whole: Annotated[bool, Option("--all", "Show everything, not only what decides.")] = False
    table_format: Annotated[TableFormat, Option("--format", "How to write the tables.")] = (
        TableFormat.TEXT
    )


@dataclass(frozen=True)
class KeptOptions:
    """Results in files."""

    output: Annotated[
        Path | None,
        Option("-o", "--output", RECORD, "Write the results to this file, as they come."),
    ] = None
    recorded: Annotated[
        Path | None, Option("--from", "JSON", "Show recorded results; run nothing.")
    ] = None


@dataclass(frozen=True)
class QuietOptions:
    """What is said while a command runs."""

    quiet: Annotated[bool, Option("Show no progress.")] = False


@dataclass(frozen=True)
class Report:
    """What a command says and keeps while it runs.

    save: writes what there is of a result, where -o names a file. plot: the file of --plot.
    """

    quiet: bool
    save: Callable[[object], None]
    plot: Path | None = None

    @contextmanager
    def progress(self, what: str, total: int) -> Iterator[Callable[[str], None]]:
        """Progress of so many steps, in a line on a terminal that each step writes anew.

        Yields what is called after each step, with a description.
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
    def budget(self, seconds: float | None) -> Iterator[Budget]:
        """A budget for the block, None being without a limit; a line where it took longer."""
        from gpgpu_legacy.measure.budget import Budget

        budget = Budget(inf if seconds is None else seconds)
        yield budget
        if budget.overrun is not None:
            print(f"gpgpu-legacy: {budget.overrun}", file=sys.stderr)


class Answer(Command):
    """A command whose function returns a result, or the files that it wrote."""

    plot: str | None = None
    picture = PICTURE
    kept: Callable[[], Any] | None = None
    writes = False

    @property
    def frame(self) -> list[type[Any]]:
        """The groups of options that the frame adds."""
        shown = [] if self.writes else [ShownOptions]
        report = [QuietOptions] if REPORT in self.hints else []
        return [*([KeptOptions] if self.kept else []), *shown, *report]

    @cached_property
    def params(self) -> list[click.Parameter]:  # type: ignore[override]
        """The options and arguments of the function, and the options that the frame adds."""
        added = [parameter for kind in self.frame for parameter in parameters_in(kind)]
        if self.plot is not None:
            drawn = Option("--plot", self.picture, self.plot)
            added.insert(0, drawn.built("plot", Path, required=False, default=None))
        return [*self.own_parameters, *added]

    def call(self, values: dict[str, Any]) -> Any:
        """Run the command, and show what it returns."""
        given = {
            field.name: values.pop(field.name) for kind in self.frame for field in fields(kind)
        }
        plot = values.pop("plot") if self.plot else None
        output = given.get("output")
        table_format = given.get("table_format", TableFormat.TEXT)
        if given.get("as_json") and table_format is not TableFormat.TEXT:
            raise InputError(f"give --json or --format {table_format.value}, not both")
        from gpgpu_legacy import serial

        def save(record: object) -> None:
            if output is not None:
                serial.write_json(output, record)

        if given.get("recorded") is not None and self.kept is not None:
            self.refuse_beside_recorded(click.get_current_context())
            result = serial.read_recorded(given["recorded"], self.kept())
        else:
            if REPORT in self.hints:
                values[REPORT] = Report(given["quiet"], save, plot)
            result = super().call(values)
        if self.writes:
            for path in result:
                print(f"wrote {path}")
            return
        save(result)
        if given["as_json"]:
            print(serial.json_text(result), end="")
        else:
            print_tables(result.grids(whole=given["whole"]), table_format)
        if plot is not None:
            result.plot(plot)
            print(f"wrote {plot}", file=sys.stderr)
        if status := getattr(result, "status", 0):
            sys.exit(status)

    def refuse_beside_recorded(self, ctx: click.Context) -> None:
        """InputError for what would be run, where --from shows what was."""
        for parameter in self.own_parameters:
            name = str(parameter.name)
            is_given = ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
            if is_given and ctx.params[name]:
                said = parameter.opts[0] if isinstance(parameter, click.Option) else "WHAT"
                raise InputError(f"--from shows recorded results; leave {said} out")


def print_tables(grids: list[Grid], table_format: TableFormat) -> None:
    """Print tables, as wide as $COLUMNS, the terminal, or 160 columns.

    Where NO_COLOR is set, they are plain characters alone.
    """
    from gpgpu_legacy.present import grid
    from gpgpu_legacy.present.latex import as_latex

    if table_format is not TableFormat.TEXT:
        written = {
            TableFormat.MARKDOWN: grid.as_markdown,
            TableFormat.CSV: grid.as_csv,
            TableFormat.LATEX: as_latex,
        }
        print(written[table_format](grids), end="")
        return
    from rich.console import Console

    terminal = sys.stdout.isatty()
    console = Console(
        highlight=False,
        markup=False,
        emoji=False,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
        width=None if terminal else natural_in(os.environ.get("COLUMNS", "")) or 160,
        soft_wrap=not terminal,
    )
    grid.print_text(grids, console)


def answers(
    name: str,
    *,
    plot: str | None = None,
    picture: str = PICTURE,
    kept: Callable[[], Any] | None = None,
    writes: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a command of a function that returns a result.

    name: of the command; `study NAME` for a study. plot: what `--plot` draws, for the help; None
    where there is nothing to see. picture: what it draws to. kept: gives the type of
    results in files, for -o and --from. writes: whether it returns the files that it wrote.
    """
    group = app
    if name.startswith(f"{STUDY} "):
        group, name = studies, name.removeprefix(f"{STUDY} ")

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        command = Answer(name, function, help=function.__doc__)
        command.plot, command.picture, command.kept, command.writes = plot, picture, kept, writes
        group.add_command(command)
        return function

    return register
