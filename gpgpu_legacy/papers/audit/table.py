"""The audit as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gpgpu_legacy.papers.audit.model import Finding, printed, shown
from gpgpu_legacy.papers.audit.turning import turned, words
from gpgpu_legacy.papers.audit.verdict import Verdict
from gpgpu_legacy.present.grid import Entry, Grid, Numeral, pretty
from gpgpu_legacy.published.papers import Paper
from gpgpu_legacy.published.schema import Rule


def audit_grids(findings: Sequence[Finding], listed: Sequence[Finding]) -> list[Grid]:
    """A table of verdicts for each paper, then the number of claims with each verdict.

    findings: all of them, which are counted. listed: those that the tables show.
    """
    by_paper = {
        paper: [finding for finding in listed if finding.paper.id == paper]
        for paper in dict.fromkeys(finding.paper.id for finding in findings)
    }
    return [*(_verdicts(part) for part in by_paper.values() if part), summary_grid(findings)]


def _verdicts(findings: Sequence[Finding]) -> Grid:
    paper = findings[0].paper
    heads = ("claim", "where", "published", "computed", "unit", "verdict", "why")
    rows = tuple(
        (
            finding.claim.id,
            _place(finding),
            _value(finding, printed(finding.claim.published)),
            _value(finding, shown(finding.computed)),
            finding.claim.unit or "–",
            finding.verdict.value,
            _why(finding),
        )
        for finding in findings
    )
    return Grid(paper.id, f"{paper.short}: its claims, recomputed.", heads, rows)


def _place(finding: Finding) -> str:
    """Where a claim stands and, of the text, in which words."""
    claim = finding.claim
    return f"{claim.where}: “{claim.quote}”" if claim.is_of_text and claim.quote else claim.where


def _value(finding: Finding, text: str) -> Numeral:
    """A value for the table; formulas are written as they are in other tables."""
    return Numeral((pretty(text) if finding.claim.rule is Rule.FORMULA else text) or "–")


def _why(finding: Finding) -> str:
    claim = finding.claim
    is_shared = finding.verdict is Verdict.DIFFERS and claim.cause
    cause = f"cause: {claim.cause}" if is_shared else ""
    repaired = f"restored: {claim.repaired}" if claim.repaired else ""
    turns = f"turned by {change}" if (change := words(claim)) else ""
    return "; ".join(part for part in (finding.reason, cause, repaired, turns) if part) or "–"


def turned_grid(findings: Sequence[Finding]) -> Grid:
    """What each of these findings becomes after the change of an input that its claim names."""
    heads = ("claim", "computed", "changed input", "computed then", "verdict then")
    rows = tuple(
        (
            finding.name,
            _value(finding, shown(finding.computed)),
            words(finding.claim),
            _value(finding, shown(after.computed)),
            after.verdict.value,
        )
        for finding in findings
        if (after := turned(finding)) is not None
    )
    return Grid("turned", "Claims after the change of an input.", heads, rows)


def summary_grid(findings: Sequence[Finding]) -> Grid:
    """The number of claims with each verdict, a row for each paper."""
    counts = Counter((finding.paper.id, finding.verdict) for finding in findings)
    papers = {finding.paper.id: finding.paper for finding in findings}
    causes = {
        name: len(
            {f.cause for f in findings if f.paper.id == name and f.verdict is Verdict.DIFFERS}
        )
        for name in papers
    }
    numbers = [[*(counts[name, verdict] for verdict in Verdict), causes[name]] for name in papers]
    names = [paper.short for paper in papers.values()]
    if len(names) > 1:
        names.append("all")
        numbers.append([sum(column) for column in zip(*numbers, strict=True)])
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (name, *row, sum(row[:-1])) for name, row in zip(names, numbers, strict=True)
    )
    heads = ("paper", *(verdict.value for verdict in Verdict), "causes", "claims")
    note = (
        "agrees: ours is the printed value, to its last digit unless the claim has another "
        "tolerance. rests-on: it agrees under an assumption, which is named. "
        "possible: it keeps a bound that ours sets, which does not confirm it. "
        "unchecked: nothing here decides it. causes: of all that differs; claims that differ for "
        "one reason count once."
    )
    return Grid("verdicts", "Verdicts.", heads, rows, (note,))


def left_out_grid(papers: Sequence[Paper]) -> Grid:
    """The numbers that are no claims, and why."""
    rows = tuple(
        (paper.id, left.where, ", ".join(left.numbers), left.reason)
        for paper in papers
        for left in paper.left_out
    )
    return Grid("left-out", "Left out.", ("paper", "where", "numbers", "why"), rows)
