"""The command about the arithmetic of the time: the errors of products, and their bounds."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpgpu_legacy.cli.completion import arithmetic_names, method_names
from gpgpu_legacy.cli.groups import grouped
from gpgpu_legacy.cli.shared import (
    ARITHMETICS,
    METHOD_HELP,
    SIZE_HELP,
    Quiet,
    Seed,
    TextureFormat,
    app,
    check_plot,
    plot_option,
    progress_bar,
)
from gpgpu_legacy.cli.table_output import TableOutput
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.numerals import naturals_in

if TYPE_CHECKING:
    from gpgpu_legacy.studies.precision.model import Case


@dataclass(frozen=True, slots=True)
class CaseOptions:
    """The products to measure: all combinations of methods, formats, arithmetics and sizes."""

    size: Annotated[
        list[int] | None,
        typer.Option(metavar="N …", help=f"{SIZE_HELP} (default: 16 64 256)."),
    ] = None
    sizes: Annotated[str | None, typer.Option(hidden=True)] = None
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME …",
            help=f"{METHOD_HELP[:-1]} (default: all that draw).",
            autocompletion=method_names,
        ),
    ] = None
    arithmetic: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME …",
            help=f"One or several of {ARITHMETICS} (default: all).",
            autocompletion=arithmetic_names,
        ),
    ] = None
    texture_format: TextureFormat = None

    def cases(self) -> list[Case]:
        from gpgpu_legacy.studies.precision.model import SIZES, cases

        return cases(
            self.method or (),
            _arithmetics(self.arithmetic),
            self.texture_format,
            sorted({*(self.size or ()), *_sizes(self.sizes)}) or SIZES,
        )


@app.command()
@grouped
def precision(
    chosen: CaseOptions,
    tables: TableOutput,
    seed: Seed = 0,
    plot: Annotated[Path | None, plot_option("Draw error and bound against n.")] = None,
    quiet: Quiet = False,
) -> None:
    """Measure the error of each fragment method by arithmetic and size, and give its bound.

    Every operation is rounded to the arithmetic, on the reference executor; the product is compared
    with one in float64. Fixed-point formats are measured twice: with matrices in [0, 1), and with
    matrices scaled so that the sums fit.
    """
    from gpgpu_legacy.studies.precision.model import measure
    from gpgpu_legacy.studies.precision.plot import draw_precision
    from gpgpu_legacy.studies.precision.table import precision_grids, precision_record

    tables.check()
    check_plot(plot)
    cases = chosen.cases()
    with progress_bar("measuring", len(cases), quiet=quiet) as step:
        measured = list(measure(cases, seed, step))
    if plot is not None:
        draw_precision(measured, plot)
        print(f"wrote {plot}", file=sys.stderr)
    tables.write(precision_grids(measured), lambda: precision_record(measured, seed))


def _arithmetics(texts: list[str] | None) -> list[str]:
    """The names of --arithmetic; with commas between, as they go on working for one version."""
    names = [_names(text) for text in texts or ()]
    for several in names:
        if len(several) > 1:
            print(
                "gpgpu-legacy: commas in --arithmetic are deprecated; write --arithmetic "
                f"{' '.join(several)}",
                file=sys.stderr,
            )
    return [name for several in names for name in several]


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _sizes(text: str | None) -> list[int]:
    """The sizes of --sizes, which goes on working for one version."""
    if text is None:
        return []
    print("gpgpu-legacy: --sizes is deprecated; write --size, as in --size 16 64", file=sys.stderr)
    sizes = naturals_in(text, text.count(",") + 1)
    if sizes is None:
        raise InputError(f"--sizes is {text!r}; give whole numbers, as in --size 16 64 256")
    return list(sizes)
