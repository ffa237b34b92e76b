"""The tables of the papers: published, derived, counted and measured."""

from __future__ import annotations

from collections.abc import Sequence

from gpgpu_legacy.page.cells import CellLine, Cells, tables_of
from gpgpu_legacy.page.recordings import Time
from gpgpu_legacy.page.section import PageSection, rendered
from gpgpu_legacy.papers.audit.result import recorded
from gpgpu_legacy.papers.audit.verdict import AuditVerdict
from gpgpu_legacy.present.grid import plain
from gpgpu_legacy.published.papers import papers

_COLUMNS = ("derived", "counted", "measured")


NAME = "tables"
"""The name of the section."""


def make_section(here: Sequence[Time] = ()) -> PageSection:
    """All tables, complete without a script; the script only chooses the cells to show.

    here: times from this machine, for a report.
    """
    verdicts = recorded()
    html = rendered(
        "sections/tables.html.j2",
        papers=[(paper, tables_of(paper, verdicts, here)) for paper in papers()],
        columns=columns_of,
        bars=bars_of,
        plain=plain,
        differing=lambda table: sum(
            line.claim.entry.verdict is AuditVerdict.DIFFERS for line in table.lines
        ),
        number=getattr,
    )
    return PageSection(NAME, "The tables", html, data={}, scripts=("sections/tables.js",))


def columns_of(table: Cells) -> list[str]:
    """The columns that have an entry in at least one line."""

    def has(line: CellLine, column: str) -> bool:
        return getattr(line, column) is not None

    return ["published", *(c for c in _COLUMNS if any(has(line, c) for line in table.lines))]


def bars_of(table: Cells) -> dict[str, list[tuple[CellLine, float]]]:
    """By column, the lines of formulas, each with its part of the largest."""
    lines = [(line, line.value) for line in table.lines if line.value is not None]
    return {
        column: [(line, value / most) for line, value in lines if line.column == column]
        for column in dict.fromkeys(line.column for line, _ in lines)
        if (most := max(value for line, value in lines if line.column == column))
    }
