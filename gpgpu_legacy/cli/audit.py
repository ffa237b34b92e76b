"""The command about the papers' claims: each recomputed, with a verdict."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpgpu_legacy.cli.shared import (
    Json,
    OutputFile,
    Quiet,
    TableFormat,
    TablesAs,
    app,
    console,
    progress_bar,
)
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.papers.audit.verdict import Verdict
from gpgpu_legacy.published import paper_ids

if TYPE_CHECKING:
    from gpgpu_legacy.papers.audit.table import Share
    from gpgpu_legacy.present.grid import Grid

_PAPERS = ", ".join(paper_ids())
_SHARE_PAPER, _SHARE_CLAIM = "hall-carr-hart-2003", "section-5.1-11-percent"


@app.command("audit")
def audit_command(
    paper: Annotated[
        str | None, typer.Argument(metavar="[PAPER]", help=f"One of {_PAPERS}; all without it.")
    ] = None,
    verdict: Annotated[
        list[Verdict] | None,
        typer.Option(help="List only these; may be given several times."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 where a verdict is not as recorded.")
    ] = False,
    record: Annotated[
        bool, typer.Option("--record", help="Record the verdicts of all papers as they are now.")
    ] = False,
    measure: Annotated[
        bool, typer.Option("--measure", help="Measure what share transfers have here, over n.")
    ] = False,
    left_out: Annotated[
        bool, typer.Option("--left-out", help="List the numbers that are no claims, too.")
    ] = False,
    table_format: TablesAs = TableFormat.TEXT,
    output: OutputFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Recompute every number and sentence that the papers claim, and give each a verdict."""
    from gpgpu_legacy.files import check_folder, write_text
    from gpgpu_legacy.papers.audit import model as audit
    from gpgpu_legacy.papers.audit import table as report
    from gpgpu_legacy.published.papers import find_paper, papers

    if output is not None:
        check_folder(output)
    if record and paper is not None:
        raise InputError("--record is of all papers; leave the name out")
    if record and strict:
        raise InputError("--record makes what --strict compares with; give one of them")
    chosen = papers() if paper is None else (find_paper(paper),)
    found = audit.audit(chosen)
    if record:
        path = Path(audit.__file__).parent / audit.RECORD
        write_text(path, audit.record_text(audit.record_of(found)))
        print(f"recorded {len(found)} verdicts", file=sys.stderr)
    listed = [each for each in found if not verdict or each.verdict in verdict]
    shares: list[Share] = []
    if measure:
        with progress_bar("measuring", report.count_shares(), quiet=quiet) as step:
            shares = report.measure_shares(progress=step)
    grids = report.audit_grids(found, listed)
    if shares:
        published = find_paper(_SHARE_PAPER).claim(_SHARE_CLAIM).published
        assert isinstance(published, int | float)
        grids.append(report.shares_grid(shares, published))
    if left_out:
        grids.append(report.left_out_grid(chosen))
    kind = TableFormat.JSON if as_json else table_format
    _write(grids, lambda: report.audit_as_json(found, listed, shares), kind, output)
    if strict:
        _refuse_changes(audit.changes(found, audit.recorded(), chosen))


def _write(
    grids: list[Grid], data: Callable[[], object], kind: TableFormat, output: Path | None
) -> None:
    from gpgpu_legacy.files import write_text
    from gpgpu_legacy.present import grid

    if kind is TableFormat.TEXT and output is None:
        grid.print_text(grids, console())
        return
    writers: dict[TableFormat, Callable[[], str]] = {
        TableFormat.TEXT: lambda: grid.as_text(grids),
        TableFormat.MARKDOWN: lambda: grid.as_markdown(grids),
        TableFormat.CSV: lambda: grid.as_csv(grids),
        TableFormat.LATEX: lambda: grid.as_latex(grids),
        TableFormat.JSON: lambda: json.dumps(data(), indent=2, allow_nan=False) + "\n",
    }
    text = writers[kind]()
    if output is None:
        sys.stdout.write(text)
    else:
        write_text(output, text)


def _refuse_changes(changed: list[str]) -> None:
    """Exit with 1, naming what changed, if anything did."""
    if not changed:
        return
    for line in changed:
        print(f"gpgpu-legacy: {line}", file=sys.stderr)
    raise typer.Exit(1)
