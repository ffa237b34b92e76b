"""The regenerated tables of formulas, and the methods' costs and times, as tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpgpu_legacy.measure.other_work import busy_notes
from gpgpu_legacy.papers.formulas.model import MethodCost, Row, Table
from gpgpu_legacy.papers.formulas.timing import NOTHING_TIMED, ROUNDS, MethodTimes
from gpgpu_legacy.present.grid import Entry, Formula, Grid
from gpgpu_legacy.published.papers import papers

MEASURED = "measured"
"""The id of the grid of what was timed."""


def grids(
    tables: Sequence[Table],
    costs: Sequence[MethodCost] = (),
    times: MethodTimes = NOTHING_TIMED,
) -> list[Grid]:
    """A grid for each table, one of every method's costs and one of what was timed, if any."""
    result = [_analysis(table) for table in tables]
    if costs:
        result.append(_every_method(costs, tables[0]))
    if times.measured or times.not_run:
        result.append(_measured(times, tables[0]))
    return result


_OWN_COLUMNS: dict[str, tuple[tuple[str, Callable[[Row], Entry]], ...]] = {
    "bytes_requested": (
        ("copied, bytes", lambda row: row.counts.copy_bytes),
        ("geometry, bytes", lambda row: row.counts.geometry_bytes),
    ),
    "arithmetic": (
        ("lookups / fragment", lambda row: row.lookups_per_fragment),
        ("program with END", lambda row: row.program_length + 1),
    ),
}


def _analysis(table: Table) -> Grid:
    published = table.published
    own = _OWN_COLUMNS[published.quantity]
    heads = (
        "method",
        "passes",
        "fragments / pass",
        f"{published.unit} / fragment",
        f"total {published.unit}",
        "published total",
        "recovered total",
        "agrees",
        *(head for head, _ in own),
    )
    rows = tuple(
        (
            row.method,
            *(cell.value for cell in row.cells),
            Formula(row.total.published),
            Formula(str(row.total.counted)) if row.total.counted is not None else "none found",
            row.agrees,
            *(value(row) for _, value in own),
        )
        for row in table.rows
    )
    paper = next(p for p in papers() if published.id.startswith(p.id))
    number = published.id.rsplit("-", 1)[-1]
    caption = (
        f"{paper.short}, Table {number} ({published.where}): {published.caption} "
        f"Values at n = {table.size}, b = {table.block}."
    )
    return Grid(published.id, caption, heads, rows, (published.note, *_differences(table)))


def _differences(table: Table) -> list[str]:
    """A line for every column that does not agree, with both formulas."""
    heads = ("passes", "fragments / pass", f"{table.published.unit} / fragment", "total")
    return [
        f"{row.method}, {head}: published {cell.published}, counted {cell.counted}."
        for row in table.rows
        for head, cell in zip(heads, row.cells, strict=True)
        if not cell.agrees
    ]


def _every_method(costs: Sequence[MethodCost], table: Table) -> Grid:
    rules = [name for name, _ in costs[0].transacted]
    heads = (
        "method",
        "year",
        "b",
        "passes or dispatches",
        "arithmetic",
        "lookups or loads",
        "bytes requested",
        "multiply-adds / byte",
        "shared loads",
        *(f"bytes transacted, {name}" for name in rules),
    )
    rows = tuple(
        (
            cost.method.name,
            str(cost.method.year),
            cost.block,
            cost.counts.passes + cost.counts.dispatches,
            cost.counts.arithmetic,
            cost.counts.lookup + cost.counts.global_loads,
            cost.counts.bytes_requested,
            table.size**3 / cost.counts.bytes_requested,
            cost.counts.shared_loads or None,
            *(transacted for _, transacted in cost.transacted),
        )
        for cost in costs
    )
    notes = (
        "Bytes transacted are those of global memory by a chip's coalescing rule: cc1.1 is the "
        "GeForce 9400M's, fermi the Quadro 4000's. Fragment methods have none; for a method "
        "with a single invocation they are counted only if it is short.",
    )
    return Grid("every-method", f"Every method, counted at n = {table.size}.", heads, rows, notes)


def _measured(times: MethodTimes, table: Table) -> Grid:
    heads = ("method", "executor", "seconds", "GFLOPS", "GB/s requested", "device")
    rows = tuple(
        (m.method, m.executor, m.seconds, m.gflops, m.gigabytes_per_s, m.device)
        for m in times.measured
    )
    caption = f"Measured here at n = {table.size}, b = {table.block}, the framebuffer copied to F."
    notes = (
        f"Seconds cover the passes alone: medians of {ROUNDS.count} runs, or a single run where "
        f"that takes {ROUNDS.longest_s:g} s or more. GFLOPS are 2n³ over the seconds, and GB/s are "
        "Table 1's bytes (10⁹) over the seconds.",
        *(f"{left.method} on {left.executor} is not run: {left.reason}." for left in times.not_run),
        *busy_notes(times.busy_share),
    )
    return Grid(MEASURED, caption, heads, rows, notes)
