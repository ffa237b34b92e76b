"""What commands share: the application, common options, printing and progress bars."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import click

from gpgpu_legacy.cli.commands import SECTIONS, STUDIES, STUDY, Commands
from gpgpu_legacy.cli.completion import (
    PROGRAM,
    arithmetic_names,
    chip_names,
    completion_options,
    executor_names,
)
from gpgpu_legacy.cli.file_options import PICTURE
from gpgpu_legacy.cli.options import Option, Several
from gpgpu_legacy.numerals import natural_in

if TYPE_CHECKING:
    from rich.console import Console

    from gpgpu_legacy.present.grid import Grid
    from gpgpu_legacy.runtime.machine import Machine

R = TypeVar("R")


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from gpgpu_legacy.provenance import package_version

        print(f"{PROGRAM} {package_version() or '(not installed)'}")
        context.exit()


def _flag(*names: str, **more: Any) -> click.Option:
    """An option of the application itself."""
    return click.Option(names, is_flag=True, expose_value=False, **more)


app = Commands(
    PROGRAM,
    SECTIONS,
    params=[
        _flag("--version", "-V", is_eager=True, callback=_print_version, help="Show the version."),
        _flag("--debug", help="Show the traceback of an error; it may stand anywhere in a call."),
        *completion_options(),
    ],
    context_settings={"max_content_width": 100},
    help="A historical GPGPU shader emulator: fragment programs and matrix products, from 2001 on."
    " `gpgpu-legacy COMMAND --help` explains a command.",
)


studies = Commands(
    STUDY,
    {"Studies": dict.fromkeys(STUDIES, "studies")},
    help="Answer a question beyond the verbs, with a table and a picture.",
)
app.add_command(studies)


def console() -> Console:
    """A console for tables, as wide as $COLUMNS, the terminal, or 160 columns.

    Where NO_COLOR is set, it writes plain characters alone.
    """
    from rich.console import Console

    terminal = sys.stdout.isatty()
    wide = natural_in(os.environ.get("COLUMNS", "")) or 160
    return Console(
        highlight=False,
        markup=False,
        emoji=False,
        color_system=None if _is_plain() else "auto",
        width=None if terminal else wide,
        soft_wrap=not terminal,
    )


def print_json(record: object) -> None:
    """Print a record, or a dataclass, as JSON; NaN and the infinities are null."""
    from gpgpu_legacy.serial import json_text

    print(json_text(record), end="")


def show(record: object, grids: list[Grid], as_json: bool) -> None:
    """Print a record as JSON, or the tables that say the same."""
    if as_json:
        print_json(record)
    else:
        print_tables(grids)


class TableFormat(Enum):
    """How tables are written."""

    TEXT = "text"
    MARKDOWN = "markdown"
    CSV = "csv"
    LATEX = "latex"


def print_tables(grids: list[Grid], table_format: TableFormat = TableFormat.TEXT) -> None:
    """Print tables."""
    from gpgpu_legacy.present import grid

    match table_format:
        case TableFormat.TEXT:
            grid.print_text(grids, console())
        case TableFormat.MARKDOWN:
            print(grid.as_markdown(grids), end="")
        case TableFormat.CSV:
            print(grid.as_csv(grids), end="")
        case TableFormat.LATEX:
            from gpgpu_legacy.present.latex import as_latex

            print(as_latex(grids), end="")


def plot_option(shows: str) -> Any:
    """The option `--plot`, the same for every picture that has lines. shows: what it shows."""
    return Option("--plot", PICTURE, shows)


def writer_to(path: Path | None) -> Callable[[object], None]:
    """A function that writes a record to this file as JSON, whole, each time it is called.

    Without a file it does nothing. It serves results that are saved as they come in.
    """

    def write(record: object) -> None:
        if path is not None:
            from gpgpu_legacy.serial import write_json

            write_json(path, record)

    return write


def warn_if_busy(share: float | None) -> None:
    """A line on stderr where other processes used much of the machine during a measurement.

    share: the part of the processors' time that they used, from 0 to 1; None if unknown.
    """
    from gpgpu_legacy.measure.other_work import busy_warning

    warning = busy_warning(share)
    if warning is not None:
        print(f"gpgpu-legacy: {warning}", file=sys.stderr)


@contextmanager
def progress_bar(what: str, total: int, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A progress bar on a terminal. Yields a function to call after each step.

    Without steps there is no bar. Where NO_COLOR is set, it is a line without escape codes.
    """
    if quiet or total == 0 or not sys.stderr.isatty():
        yield lambda _: None
        return
    if _is_plain():
        with _plain_bar(what, total) as plain_step:
            yield plain_step
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
        TimeElapsedColumn(),
    )  # fmt: skip
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    with bar as progress:
        task = progress.add_task(what, total=total)

        def step(description: str) -> None:
            progress.update(task, advance=1, description=description or what)

        yield step


def _is_plain() -> bool:
    """Whether the user wants no escape codes."""
    return bool(os.environ.get("NO_COLOR"))


@contextmanager
def _plain_bar(what: str, total: int) -> Iterator[Callable[[str], None]]:
    """Progress in one line that carriage returns rewrite."""
    done, wide = 0, 0

    def show(text: str) -> None:
        nonlocal wide
        print(f"\r{text.ljust(wide)}", end="", file=sys.stderr, flush=True)
        wide = len(text)

    def step(description: str) -> None:
        nonlocal done
        done += 1
        show(f"{description or what} {done}/{total}")

    show(f"{what} 0/{total}")
    try:
        yield step
    finally:
        show("")
        print("\r", end="", file=sys.stderr, flush=True)


PAPER_SIZE, PAPER_BLOCK = 1024, 32  # the example of Hall, Carr & Hart's Section 5.3
QUICK_SIZE = 256  # for what computes or simulates a product: any executor answers within seconds
ROUNDS, BUDGET_S = 5, 60.0  # of measurements; a test compares them with those of measure/

# The names of isa/arithmetic.py, which imports NumPy; a test holds them to it.
ARITHMETICS = "fp32, fp24, fp16, fx12, rc9"


# Options that several commands have -----------------------------------------------------------

BLOCK_HELP = "The paper's b, the steps of the sum in one pass"
ExecutorName = Annotated[
    str, Option("NAME", "What runs it; see `gpgpu-legacy doctor`.", complete=executor_names)
]
CHIP_HELP = "See `gpgpu-legacy chips`."
ChipName = Annotated[str, Option("NAME", CHIP_HELP, complete=chip_names)]
PredictedChip = Annotated[
    str, Option("NAME", "See `gpgpu-legacy chips`; `this` is this machine.", complete=chip_names)
]
OutputFile = Annotated[Path | None, Option("-o", "--output", "FILE", "Write to this file.")]
Quiet = Annotated[bool, Option("Show no progress bars.")]
CACHE_HELP = (
    "Size, ways, line and policy (lru, fifo, random, plru, random-plru), such as 8K,4way,64B or "
    "32K,fully,128B,fifo."
)
RASTER_HELP = "Raster order: scan, tiled:WxH (or WxH), morton, hilbert."
LAYOUT_HELP = "Layout of textures: linear, WxH blocks, morton, 6d, 6d:WxH,WxH."
IN_FLIGHT_HELP = (
    "Let so many fragments be in flight: each makes its first lookup, then each its second, lastly "
    "each its write."
)
SIZE_HELP = "Multiply N×N matrices"
MeasuredExecutors = Annotated[
    Several[str],
    Option(
        "NAME …",
        "See `gpgpu-legacy doctor` (default: all that work here but the reference).",
        complete=executor_names,
    ),
]
BenchBudget = Annotated[
    float,
    Option(
        "SECONDS", "Stop after this time, preparation included; the cheapest job runs in any case."
    ),
]
SimulationBudget = Annotated[
    float | None,
    Option(
        "SECONDS", "Stop after this time (default: no limit, since a simulation measures nothing)."
    ),
]
Seed = Annotated[int, Option("SEED", "Seed of the random matrices.")]


@dataclass(frozen=True)
class MachineOptions:
    """What runs a plan, and how it computes."""

    executor: ExecutorName = "auto"
    exact: Annotated[bool, Option("Give numpy's bits, or refuse.")] = False
    flush_denormals: Annotated[
        bool, Option("With --exact: accept a device that takes denormals for 0.")
    ] = False
    arithmetic: Annotated[
        str,
        Option(
            "NAME",
            f"Round every operation to this format: {ARITHMETICS}.",
            complete=arithmetic_names,
        ),
    ] = "fp32"

    def machine(self) -> Machine:
        """The options as a Machine; InputError for an unknown arithmetic."""
        from gpgpu_legacy.isa.arithmetic import find_arithmetic
        from gpgpu_legacy.runtime.machine import Machine

        arithmetic = find_arithmetic(self.arithmetic)
        return Machine(self.exact, arithmetic, denormals=not self.flush_denormals)
