"""The command that runs every method in the order of history."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from gpgpu_legacy.algorithms.registry import methods
from gpgpu_legacy.cli.shared import (
    ExecutorName,
    Json,
    Quiet,
    Seed,
    app,
    console,
    print_json,
    progress_bar,
)
from gpgpu_legacy.cli.tables import TABLE_SIZE
from gpgpu_legacy.errors import InputError


@app.command()
def lineage(
    size: Annotated[int, typer.Option(help="n, for n×n matrices.")] = TABLE_SIZE,
    seed: Seed = 0,
    executor: ExecutorName = "auto",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the results as a .json file.")
    ] = None,
    chart: Annotated[
        Path | None, typer.Option("--chart", metavar="PNG", help="Draw a chart of them.")
    ] = None,
    recorded: Annotated[
        Path | None,
        typer.Option("--from", metavar="JSON", help="Draw recorded results; run nothing."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run the product by every method in the order of history, on this machine."""
    from gpgpu_legacy.files import check_folder, read_json, write_text
    from gpgpu_legacy.present.grid import print_text
    from gpgpu_legacy.studies.lineage.model import lineage as run_lineage
    from gpgpu_legacy.studies.lineage.model import lineage_as_json
    from gpgpu_legacy.studies.lineage.plot import draw_lineage
    from gpgpu_legacy.studies.lineage.table import lineage_grid

    if size < 1:
        raise InputError(f"the size is {size}; it must be at least 1")
    for path, suffix in ((output, ".json"), (chart, ".png")):
        if path is not None:
            check_folder(path)
            if path.suffix.lower() != suffix:
                raise InputError(f"{path} should end in {suffix}")
    if recorded is not None:
        if chart is None:
            raise InputError("--from draws recorded results; give --chart, the picture to draw")
        draw_lineage(read_json(recorded, "steps"), chart)
        print(f"wrote {chart}")
        return
    with progress_bar("lineage", len(methods()), quiet=quiet) as step:
        steps = run_lineage(size, seed, executor, progress=step)
    data = lineage_as_json(size, steps)
    if output is not None:
        write_text(output, json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    if chart is not None:
        draw_lineage(data, chart)
    if as_json:
        print_json(data)
    else:
        print_text([lineage_grid(size, steps)], console())
