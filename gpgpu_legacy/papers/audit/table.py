"""The audit as tables and as JSON, and the transfer's share measured beside the printed one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gpgpu_legacy.papers.audit.model import Finding, printed, shown
from gpgpu_legacy.papers.audit.verdict import Verdict
from gpgpu_legacy.present.grid import Entry, Grid, Numeral, pretty
from gpgpu_legacy.published.papers import Paper
from gpgpu_legacy.published.schema import Rule

# The verdicts -----------------------------------------------------------------------------------


def audit_grids(found: Sequence[Finding], listed: Sequence[Finding]) -> list[Grid]:
    """A table of verdicts a paper, then how many there are of each.

    found: all of them, which are counted. listed: those that the tables show.
    """
    papers = list(dict.fromkeys(each.paper.id for each in found))
    tables = [_verdicts([e for e in listed if e.paper.id == paper]) for paper in papers
              if any(e.paper.id == paper for e in listed)]  # fmt: skip
    return [*tables, summary_grid(found)]


def _verdicts(found: Sequence[Finding]) -> Grid:
    paper = found[0].paper
    heads = ("claim", "where", "published", "computed", "unit", "verdict", "why")
    rows = tuple(
        (
            each.claim.id,
            each.claim.where,
            _set(each, printed(each.claim.published)),
            _set(each, shown(each.computed)),
            each.claim.unit or "–",
            each.verdict.value,
            _why(each),
        )
        for each in found
    )
    return Grid(paper.id, f"{paper.short}: what it claims, recomputed.", heads, rows)


def _set(found: Finding, text: str) -> Numeral:
    """A value for the table, a formula as formulas are set there."""
    return Numeral((pretty(text) if found.claim.rule is Rule.FORMULA else text) or "–")


def _why(found: Finding) -> str:
    repaired = f"repaired in print: {found.claim.repaired}" if found.claim.repaired else ""
    return "; ".join(part for part in (found.reason, repaired) if part) or "–"


def summary_grid(found: Sequence[Finding]) -> Grid:
    """How many claims have each verdict, a paper a row."""
    counts = Counter((each.paper.id, each.verdict) for each in found)
    papers = {each.paper.id: each.paper for each in found}
    numbers = [[counts[name, verdict] for verdict in Verdict] for name in papers]
    names = [paper.short for paper in papers.values()]
    if len(names) > 1:
        names.append("all")
        numbers.append([sum(column) for column in zip(*numbers, strict=True)])
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (name, *row, sum(row)) for name, row in zip(names, numbers, strict=True)
    )
    heads = ("paper", *(verdict.value for verdict in Verdict), "claims")
    note = (
        "agrees: ours is the printed value, to its last digit where nothing else is said. "
        "rests-on: it agrees under an assumption, which is named. "
        "unchecked: nothing here decides it."
    )
    return Grid("verdicts", "Verdicts.", heads, rows, (note,))


def left_out_grid(papers: Sequence[Paper]) -> Grid:
    """The numbers that are no claims, and why."""
    rows = tuple(
        (paper.id, each.where, ", ".join(each.numbers), each.reason)
        for paper in papers
        for each in paper.left_out
    )
    return Grid("left-out", "Left out.", ("paper", "where", "numbers", "why"), rows)
