"""The commands about the papers: their tables, the audit of their claims, and the report."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.api.command.frame import Report, answers
from gpgpu_legacy.api.command.options import Argument, Names, Several
from gpgpu_legacy.api.command.words import PAPER_BLOCK, PAPER_SIZE, TABLES_BUDGET_S, Seconds, split
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.papers.audit.verdict import AuditVerdict
from gpgpu_legacy.papers.published import paper_ids

if TYPE_CHECKING:
    from gpgpu_legacy.papers.audit.result import Audit
    from gpgpu_legacy.papers.formulas import FormulaTables
    from gpgpu_legacy.papers.measured_table import MeasuredTables

_PAPER = "hall-carr-hart-2003"
_PAPERS = ", ".join(paper_ids())
_VERDICTS = ", ".join(verdict.value for verdict in AuditVerdict)
_POINT = f"n={PAPER_SIZE} block={PAPER_BLOCK}"

Measure = Annotated[bool, "Run the methods on this machine, and time them."]


def _paper_names() -> Names:
    return ((name, "") for name in paper_ids())


def _point(given: dict[str, str]) -> tuple[int, int]:
    """The values of the words n=N and block=B, or the paper's."""
    from gpgpu_legacy.algorithms.registry import DEFAULT_PRODUCT, find_product

    for name in given.keys() - {"n", "block"}:
        raise InputError(f"tables of formulas are of n and block; leave {name} out")
    point = find_product(DEFAULT_PRODUCT).settings(given)
    return point.get("n", PAPER_SIZE), point.get("block", PAPER_BLOCK)


@answers("tables", plot="Draw the paper's plots into this folder.", picture="DIR")
def tables_command(
    *,
    words: Annotated[
        Several[str],
        Argument(
            "[PAPER] [n=N block=B]",
            f"One of {_PAPERS} (default: {_PAPER}); where formulas are evaluated (default: "
            f"{_POINT}).",
            _paper_names,
        ),
    ] = (),
    every_method: Annotated[bool, "Also count every other method, 2001 to 2018."] = False,
    measure: Measure = True,
    budget: Seconds = TABLES_BUDGET_S,
    report: Report,
) -> FormulaTables | MeasuredTables:
    """Regenerate a paper's tables, with our own counts and times beside them."""
    from gpgpu_legacy.papers import measuring
    from gpgpu_legacy.papers.measured_table import check_plots
    from gpgpu_legacy.papers.published.papers import find_paper

    whats, given = split(words)
    if len(whats) > 1:
        raise InputError(f"{' and '.join(whats)} are given; name one paper")
    paper = find_paper(whats[0] if whats else _PAPER)
    if report.plot is not None:
        check_plots(paper.id, measuring.measured_tables(paper).tables, report.plot)
    if paper.tables:
        return _formula_tables(paper.id, given, budget if measure else None, report, every_method)
    if every_method or given:
        raise InputError(
            f"{paper.id} has measurements, of sizes of its own; leave "
            f"{', '.join(given) or '--every-method'} out"
        )
    if not measure:
        return measuring.measured_tables(paper)
    with report.work("measuring", measuring.count_runs(paper), budget) as within:
        return measuring.measure_paper(paper, within)


def _formula_tables(
    paper: str, given: dict[str, str], budget_s: float | None, report: Report, every: bool
) -> FormulaTables:
    """A paper's tables of formulas. budget_s: seconds for measuring; None to measure nothing."""
    from gpgpu_legacy.papers import formulas

    size, block = _point(given)
    times = None
    if budget_s is not None:
        benchmark = formulas.benchmark_of(size, block)
        with report.work("measuring", benchmark.steps, budget_s) as budget:
            times = benchmark.measure(budget)
    return formulas.formula_tables(size, block, paper, times, every=every)


@answers("audit")
def audit_command(
    *,
    paper: Annotated[
        str | None, Argument("[PAPER]", f"One of {_PAPERS} (default: all).", _paper_names)
    ] = None,
    verdict: Annotated[
        Several[AuditVerdict],
        "VERDICT",
        f"List claims with this verdict: {_VERDICTS} (default: what differs).",
    ] = (),
    strict: Annotated[bool, "Exit with code 1 if a verdict differs from its record."] = (False),
    recorded: Annotated[
        Path | None, "--record", "FILE", "Record the verdicts on all papers in this file."
    ] = None,
    turn: Annotated[
        bool, "Also change the input that each claim names, and judge it again."
    ] = False,
) -> Audit:
    """Recompute every number and sentence that the papers claim, and give each a verdict.

    --all lists all claims, and the numbers that are not claims.
    """
    from gpgpu_legacy.files import check_writable
    from gpgpu_legacy.papers.audit import model, result
    from gpgpu_legacy.papers.published.papers import find_paper, papers
    from gpgpu_legacy.serial import write_json

    if recorded is not None:
        if paper is not None:
            raise InputError("--record is for all papers at once; leave the paper's name out")
        if strict:
            raise InputError("--record writes what --strict compares with; give one of them")
        check_writable(recorded)
    chosen = papers() if paper is None else (find_paper(paper),)
    findings = model.recalled_audit(chosen)
    if recorded is not None:
        write_json(recorded, result.verdicts_of(findings))
        print(f"recorded {len(findings)} verdicts in {recorded}", file=sys.stderr)
    changes = (
        result.changes(result.verdicts_of(findings), result.recorded(), chosen) if strict else ()
    )
    return result.audit_of(findings, verdict, changes, turn=turn)


@answers("report", writes=True)
def report_command(
    *,
    words: Annotated[
        Several[str],
        Argument("[n=N block=B]", f"Where formulas are evaluated (default: {_POINT})."),
    ] = (),
    folder: Annotated[Path, "-o", "--output", "DIR", "The folder to write."] = Path("report"),
    measure: Measure = True,
    report: Report,
) -> Iterator[Path]:
    """Write a folder with the tables, the figures, the timings and a page that shows them all."""
    from gpgpu_legacy.page.report import write_report
    from gpgpu_legacy.papers.formulas import benchmark_of

    whats, given = split(words)
    for what in whats:
        raise InputError(f"a report covers all papers; leave {what} out")
    size, block = _point(given)
    benchmark = benchmark_of(size, block) if measure else None
    with report.progress("measuring", benchmark.steps if benchmark else 0) as step:
        yield write_report(folder, size, block, benchmark, progress=step)
