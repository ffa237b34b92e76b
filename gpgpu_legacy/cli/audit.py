"""The command about the papers' claims: each recomputed, with a verdict."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from gpgpu_legacy.cli.completion import paper_names
from gpgpu_legacy.cli.options import Argument, Option, Several
from gpgpu_legacy.cli.shared import Quiet, app, progress_bar, warn_if_busy
from gpgpu_legacy.cli.table_output import TableOutput
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.papers.audit.verdict import Verdict
from gpgpu_legacy.published import paper_ids

_PAPERS = ", ".join(paper_ids())
_VERDICTS = ", ".join(verdict.value for verdict in Verdict)


@dataclass(frozen=True)
class RecordOptions:
    """Whether verdicts are recorded, or compared with the recorded ones."""

    strict: Annotated[bool, Option("Exit with code 1 if a verdict differs from its record.")] = (
        False
    )
    record: Annotated[bool, Option("Record the verdicts on all papers, in the checkout.")] = False
    record_to: Annotated[
        Path | None, Option("FILE", "Record them in this file; --record is then not needed.")
    ] = None

    @property
    def is_recorded(self) -> bool:
        return self.record or self.record_to is not None

    def check(self, paper: str | None) -> None:
        """InputError for options that exclude one another."""
        if self.is_recorded and paper is not None:
            raise InputError("--record is for all papers at once; leave the paper's name out")
        if self.is_recorded and self.strict:
            raise InputError("--record makes what --strict compares with; give one of them")


@app.command("audit")
def audit_command(
    *,
    paper: Annotated[
        str | None, Argument("[PAPER]", f"One of {_PAPERS} (default: all).", complete=paper_names)
    ] = None,
    verdict: Annotated[
        Several[Verdict],
        Option("VERDICT …", f"List only claims with this verdict: {_VERDICTS} (default: all)."),
    ] = (),
    recording: RecordOptions,
    measure: Annotated[
        bool, Option("Measure the share of transfers in the time here, by size.")
    ] = False,
    left_out: Annotated[
        bool, Option("Also list the numbers that are not claims, and why.")
    ] = False,
    turn: Annotated[
        bool, Option("Also change the input that each listed claim names, and judge it anew.")
    ] = False,
    to: TableOutput,
    quiet: Quiet = False,
) -> None:
    """Recompute every number and sentence that the papers claim, and give each a verdict."""
    from gpgpu_legacy.papers.audit import model, record, shares, table
    from gpgpu_legacy.published.papers import find_paper, papers

    to.check()
    recording.check(paper)
    target = record.record_path(recording.record_to) if recording.is_recorded else None
    chosen = papers() if paper is None else (find_paper(paper),)
    findings = model.audit(chosen)
    if target is not None:
        record.record(findings, target)
        print(f"recorded {len(findings)} verdicts in {target}", file=sys.stderr)
    listed = [finding for finding in findings if not verdict or finding.verdict in verdict]
    grids = table.audit_grids(findings, listed)
    measured = shares.NOTHING_MEASURED
    if measure:
        with progress_bar("measuring", shares.count_shares(), quiet=quiet) as step:
            measured = shares.measure_shares(progress=step)
        grids.append(shares.shares_grid(measured))
        warn_if_busy(measured.busy_share)
    if turn:
        grids.append(table.turned_grid(listed))
    if left_out:
        grids.append(table.left_out_grid(chosen))
    to.write(grids, lambda: record.audit_record(findings, listed, measured, turn=turn))
    if recording.strict:
        _refuse(record.changes(record.verdicts_of(findings), record.recorded(), chosen))


def _refuse(changes: list[str]) -> None:
    """Exit with 1, naming what changed, if anything did."""
    for line in changes:
        print(f"gpgpu-legacy: {line}", file=sys.stderr)
    if changes:
        sys.exit(1)
