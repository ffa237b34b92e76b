"""The command about the arithmetic of the time: how far products are from the true ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from gpgpu_legacy.cli.shared import (
    ARITHMETICS,
    METHOD_HELP,
    Json,
    OutputFile,
    Quiet,
    Seed,
    TableFormat,
    TablesAs,
    TextureFormat,
    app,
    console,
    progress_bar,
)
from gpgpu_legacy.errors import InputError


@app.command()
def precision(
    size: Annotated[
        list[int] | None, typer.Option(help="n, for n×n matrices; may be given several times.")
    ] = None,
    sizes: Annotated[
        str | None, typer.Option(metavar="N,N", help="Several sizes (default: 16,64,256).")
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help=f"{METHOD_HELP} Several times for several; all that draw without it."),
    ] = None,
    arithmetic: Annotated[
        str | None,
        typer.Option(metavar="NAME,NAME", help=f"Of {ARITHMETICS}; all without it."),
    ] = None,
    texture_format: TextureFormat = None,
    seed: Seed = 0,
    plot: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Draw error and bound against n.")
    ] = None,
    table_format: TablesAs = TableFormat.TEXT,
    output: OutputFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure the error of each fragment method by arithmetic and size, and give its bound.

    Every operation is rounded to the arithmetic, on the reference executor; the product is compared
    with one in float64. Fixed-point numbers are tried both as they come and scaled so that sums
    fit.
    """
    from gpgpu_legacy.files import check_folder, write_text
    from gpgpu_legacy.present import grid
    from gpgpu_legacy.studies.precision.model import SIZES, cases, measure
    from gpgpu_legacy.studies.precision.plot import draw_precision
    from gpgpu_legacy.studies.precision.table import precision_grids

    for path in (output, plot):
        if path is not None:
            check_folder(path)
    if plot is not None and plot.suffix.lower() != ".png":
        raise InputError(f"{plot} should end in .png")
    wanted = cases(
        method or (),
        () if arithmetic is None else _names(arithmetic),
        texture_format,
        sorted({*(size or ()), *_sizes(sizes)}) or SIZES,
    )
    with progress_bar("measuring", len(wanted), quiet=quiet) as step:
        found = list(measure(wanted, seed, step))
    if plot is not None:
        draw_precision(found, plot)
        print(f"wrote {plot}", file=sys.stderr)
    grids = precision_grids(found)
    kind = TableFormat.JSON if as_json else table_format
    if kind is TableFormat.TEXT and output is None:
        grid.print_text(grids, console())
        return
    data = {"seed": seed, "measurements": [each.as_json() for each in found]}
    writers: dict[TableFormat, Callable[[], str]] = {
        TableFormat.TEXT: lambda: grid.as_text(grids),
        TableFormat.MARKDOWN: lambda: grid.as_markdown(grids),
        TableFormat.CSV: lambda: grid.as_csv(grids),
        TableFormat.LATEX: lambda: grid.as_latex(grids),
        TableFormat.JSON: lambda: json.dumps(data, indent=2, allow_nan=False) + "\n",
    }
    text = writers[kind]()
    if output is None:
        sys.stdout.write(text)
    else:
        write_text(output, text)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _sizes(text: str | None) -> list[int]:
    if text is None:
        return []
    parts = _names(text)
    if not all(part.isdecimal() for part in parts):
        raise InputError(f"--sizes is {text!r}; give whole numbers, as in --sizes 16,64,256")
    return [int(part) for part in parts]
