"""The command about the arithmetic of the time: the errors of products, and their bounds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.cli.completion import arithmetic_names, method_names
from gpgpu_legacy.cli.options import Option, Several
from gpgpu_legacy.cli.shared import (
    ARITHMETICS,
    METHOD_HELP,
    SIZE_HELP,
    Quiet,
    Seed,
    TextureFormat,
    app,
    draw,
    plot_option,
    progress_bar,
)
from gpgpu_legacy.cli.table_output import TableOutput

if TYPE_CHECKING:
    from gpgpu_legacy.studies.precision.model import Case


@dataclass(frozen=True)
class CaseOptions:
    """The products to measure: all combinations of methods, formats, arithmetics and sizes."""

    size: Annotated[Several[int], Option("N …", f"{SIZE_HELP} (default: 16 64 256).")] = ()
    method: Annotated[
        Several[str],
        Option("NAME …", f"{METHOD_HELP[:-1]} (default: all that draw).", complete=method_names),
    ] = ()
    arithmetic: Annotated[
        Several[str],
        Option(
            "NAME …", f"One or several of {ARITHMETICS} (default: all).", complete=arithmetic_names
        ),
    ] = ()
    texture_format: TextureFormat = None

    def cases(self) -> list[Case]:
        from gpgpu_legacy.studies.precision.model import SIZES, cases

        return cases(
            self.method,
            self.arithmetic,
            self.texture_format,
            sorted({*self.size}) if self.size else SIZES,
        )


@app.command()
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
    from gpgpu_legacy.studies.precision import model, table
    from gpgpu_legacy.studies.precision.plot import draw_precision

    tables.check()
    cases = chosen.cases()
    with progress_bar("measuring", len(cases), quiet=quiet) as step:
        measured = list(model.measure(cases, seed, step))
    draw(measured, draw_precision, plot)
    tables.write(table.precision_grids(measured), lambda: table.precision_record(measured, seed))
