"""The one body of all commands that answer something: options in, a result out.

A command is a function that returns a result. The frame adds the options that say what is shown,
prints the result, draws it, writes it, and exits with its status.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from gpgpu_legacy.cli.commands import STUDY
from gpgpu_legacy.cli.file_options import PICTURE, RECORD, check_files
from gpgpu_legacy.cli.options import REPORT, Command, Group, Option, parameters_in
from gpgpu_legacy.cli.shared import (
    TableFormat,
    app,
    print_json,
    print_tables,
    progress_bar,
    studies,
    writer_to,
)
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from gpgpu_legacy.measure.budget import Budget


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

    quiet: Annotated[bool, Option("Show no progress bars.")] = False


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
        """A progress bar of so many steps; call what it yields after each, with a description."""
        with progress_bar(what, total, quiet=self.quiet) as step:
            yield step

    @contextmanager
    def budget(self, seconds: float | None) -> Iterator[Budget]:
        """A budget for the block, None being without a limit; a line where it took longer."""
        from gpgpu_legacy.measure.budget import Budget

        budget = Budget(inf if seconds is None else seconds)
        yield budget
        if budget.overrun is not None:
            print(f"gpgpu-legacy: {budget.overrun}", file=sys.stderr)


class Answer(Command):
    """A command whose function returns a result, or None where it shows and writes by itself."""

    plot: str | None = None
    picture = PICTURE
    kept: Callable[[], Any] | None = None

    @property
    def frame(self) -> list[type[Any]]:
        """The groups of options that the frame adds."""
        report = [QuietOptions] if REPORT in self.hints else []
        return [*([KeptOptions] if self.kept else []), ShownOptions, *report]

    @property
    def more_parameters(self) -> Sequence[click.Parameter]:
        """The options that the frame adds."""
        added = [parameter for kind in self.frame for parameter in parameters_in(kind)]
        if self.plot is not None:
            drawn = Option("--plot", self.picture, self.plot)
            added.insert(0, drawn.built("plot", Path, required=False, default=None))
        return added

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, and show what it returns."""
        check_files(self.params, ctx.params)
        values = dict(ctx.params)
        given = {
            field.name: values.pop(field.name) for kind in self.frame for field in fields(kind)
        }
        plot, recorded = values.pop("plot", None), given.get("recorded")
        table_format = given["table_format"]
        if given["as_json"] and table_format is not TableFormat.TEXT:
            raise InputError(f"give --json or --format {table_format.value}, not both")
        save = writer_to(given.get("output"))
        if recorded is not None and self.kept is not None:
            self.refuse_beside_recorded(ctx)
            from gpgpu_legacy.serial import read_recorded

            result = read_recorded(recorded, self.kept())
        else:
            if REPORT in self.hints:
                values[REPORT] = Report(given["quiet"], save, plot)
            result = self.call(values)
        if result is None:
            return
        save(result)
        if given["as_json"]:
            print_json(result)
        else:
            print_tables(result.grids(whole=given["whole"]), table_format)
        if plot is not None:
            result.plot(plot)
            print(f"wrote {plot}", file=sys.stderr)
        if status := getattr(result, "status", 0):
            sys.exit(status)

    def refuse_beside_recorded(self, ctx: click.Context) -> None:
        """InputError for what would be run, where --from shows what was."""
        own = {parameter.name for parameter in super().own_parameters}
        for name in own & ctx.params.keys():
            source = ctx.get_parameter_source(str(name))
            if source is click.core.ParameterSource.COMMANDLINE and ctx.params[str(name)]:
                parameter = next(p for p in self.params if p.name == name)
                said = parameter.opts[0] if isinstance(parameter, click.Option) else "WHAT"
                raise InputError(f"--from shows recorded results; leave {said} out")


def answers(
    name: str,
    *,
    plot: str | None = None,
    picture: str = PICTURE,
    kept: Callable[[], Any] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a command of a function that returns a result.

    name: of the command; `study NAME` for a study. plot: what `--plot` draws, for the help; None
    where there is nothing to see. picture: what it draws to. kept: gives the type of
    results in files, for -o and --from.
    """
    group: Group = app
    if name.startswith(f"{STUDY} "):
        group, name = studies, name.removeprefix(f"{STUDY} ")

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        command = Answer(name, function, help=function.__doc__)
        command.plot, command.picture, command.kept = plot, picture, kept
        group.add_command(command)
        return function

    return register
