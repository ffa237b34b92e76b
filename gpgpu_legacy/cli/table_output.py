"""Options that say how tables are written, and their writer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.cli.options import Option
from gpgpu_legacy.cli.shared import Json, OutputFile, TableFormat, console
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from gpgpu_legacy.present.grid import Grid


@dataclass(frozen=True)
class TableOutput:
    """The format of tables, and the file that they go to; stdout without one."""

    table_format: Annotated[TableFormat, Option("--format", "How to write the tables.")] = (
        TableFormat.TEXT
    )
    output: OutputFile = None
    as_json: Json = False

    def check(self) -> None:
        """InputError where the options exclude one another, or the file's folder is missing."""
        from gpgpu_legacy.files import check_writable

        if self.as_json and self.table_format is not TableFormat.TEXT:
            raise InputError(f"give --json or --format {self.table_format.value}, not both")
        if self.output is not None:
            check_writable(self.output)

    def write(self, grids: list[Grid], record: Callable[[], object]) -> None:
        """Write the grids, or what `record` gives as JSON."""
        from gpgpu_legacy.files import write_text
        from gpgpu_legacy.present import grid
        from gpgpu_legacy.present.latex import as_latex
        from gpgpu_legacy.serial import json_text

        if self.table_format is TableFormat.TEXT and self.output is None and not self.as_json:
            grid.print_text(grids, console())
            return
        writers: dict[TableFormat, Callable[[], str]] = {
            TableFormat.TEXT: lambda: grid.as_text(grids),
            TableFormat.MARKDOWN: lambda: grid.as_markdown(grids),
            TableFormat.CSV: lambda: grid.as_csv(grids),
            TableFormat.LATEX: lambda: as_latex(grids),
        }
        text = json_text(record()) if self.as_json else writers[self.table_format]()
        if self.output is None:
            sys.stdout.write(text)
        else:
            write_text(self.output, text)
