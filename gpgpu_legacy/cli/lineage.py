"""The command that runs every method in the order of history."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.cli.options import Option, Several
from gpgpu_legacy.cli.shared import (
    PAPER_SIZE,
    SIZE_HELP,
    ExecutorName,
    Json,
    Quiet,
    ResultsFile,
    Seed,
    app,
    plot_option,
    progress_bar,
    show,
    time_limit,
    warn_if_busy,
    writer_to,
)
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from gpgpu_legacy.studies.lineage.record import Lineage


@dataclass(frozen=True)
class LineageOptions:
    """What `lineage` runs."""

    size: Annotated[int, Option("N", f"{SIZE_HELP}.")] = PAPER_SIZE
    seed: Seed = 0
    executor: ExecutorName = "auto"
    budget: Annotated[
        float | None,
        Option("SECONDS", "Stop after this time (default: no limit, for a table of every method)."),
    ] = None


@dataclass(frozen=True)
class LineageFiles:
    """What `lineage` writes and reads."""

    output: ResultsFile = None
    plot: Annotated[Path | None, plot_option("Draw GFLOPS by method.")] = None
    recorded: Annotated[
        Several[Path],
        Option("--from", "JSON …", "Draw recorded results side by side with --plot; run nothing."),
    ] = ()


@app.command("lineage")
def lineage_command(
    what: LineageOptions, files: LineageFiles, as_json: Json = False, quiet: Quiet = False
) -> None:
    """Run every method on this machine, in the order of history.

    All methods run in turn, round by round, and so do the libraries that are their ceilings.
    """
    from gpgpu_legacy.studies.lineage import plot, record, table

    if files.recorded:
        if files.plot is None:
            raise InputError("--from draws recorded results; name the picture with --plot")
        plot.draw_lineage([record.read_lineage(path) for path in files.recorded], files.plot)
        print(f"wrote {files.plot}")
        return
    result = _measure(what, files.output, quiet=quiet)
    if files.plot is not None:
        plot.draw_lineage([result], files.plot)
    show(result, [table.lineage_grid(result)], as_json)


def _measure(what: LineageOptions, output: Path | None, *, quiet: bool) -> Lineage:
    from gpgpu_legacy.studies.lineage.model import count_steps, lineage

    with (
        time_limit(what.budget) as budget,
        progress_bar("lineage", count_steps(), quiet=quiet) as step,
    ):
        result = lineage(
            what.size, what.seed, what.executor, budget, progress=step, save=writer_to(output)
        )
        warn_if_busy(result.busy_share)
    return result
