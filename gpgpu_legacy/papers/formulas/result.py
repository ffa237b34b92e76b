"""The papers' tables of formulas: counts of plans beside the printed formulas, and times."""

from __future__ import annotations

from collections.abc import Callable

from gpgpu_legacy.count.traffic import Counts
from gpgpu_legacy.measure.timing import Rounds, busy_notes
from gpgpu_legacy.present.grid import Entry, Formula, Grid, RecordedResult
from gpgpu_legacy.published.papers import papers
from gpgpu_legacy.published.schema import PublishedTable
from gpgpu_legacy.serial import Record

MEASURED = "measured"
"""The id of the grid of times."""

ROUNDS = Rounds(count=3, most_runs=1, longest_s=1.0)


class CheckedCell(Record):
    """A column of a row: its value at (n, b), the published formula and the recovered one.

    value: None if passes differ from one another. counted: the formula that counts of real plans
    obey; None if they obey none of the papers' kind. agrees: whether the two are the same for all n
    and b.
    """

    value: int | None
    published: str
    counted: str | None
    agrees: bool


class CheckedRow(Record):
    """A row of a regenerated table.

    counts: all counts of the plan at (n, b). program_length: instructions of the method's only
    fragment program, lookups included.
    """

    method: str
    label: str
    passes: CheckedCell
    fragments_per_pass: CheckedCell
    per_fragment: CheckedCell
    total: CheckedCell
    counts: Counts
    lookups_per_fragment: int
    program_length: int

    @property
    def agrees(self) -> bool:
        """Whether every column agrees."""
        return all(cell.agrees for cell in self.cells)

    @property
    def cells(self) -> tuple[CheckedCell, ...]:
        """The four columns that the papers print."""
        return self.passes, self.fragments_per_pass, self.per_fragment, self.total


class CheckedTable(Record):
    """A published table, by its id, with its rows regenerated."""

    id: str
    rows: tuple[CheckedRow, ...]

    @property
    def published(self) -> PublishedTable:
        """The table as it is published."""
        return next(t for paper in papers() for t in paper.tables if t.id == self.id)


class MethodCost(Record):
    """The counts of a method at n×n.

    bytes_transacted: what memory transactions move, by the name of the coalescing rule; None where
    the rule does not apply, since the method draws fragments, or where they cannot be counted.
    """

    method: str
    year: int | None
    block: int | None
    counts: Counts
    bytes_transacted: dict[str, int | None]


class MethodTime(Record):
    """A method on an executor here.

    seconds: of its passes alone, the median of its runs. gflops: 2n³ operations over the seconds.
    gigabytes_per_s: GB (10⁹ bytes) that its instructions request, over the seconds. Both rates are
    None where the seconds are 0. first_run: whether the seconds are of a single run, the first.
    """

    method: str
    executor: str
    device: str
    seconds: float
    gflops: float | None
    gigabytes_per_s: float | None
    first_run: bool = False


class MethodNotRun(Record):
    """A method that was not run on an executor, and why."""

    method: str
    executor: str
    reason: str


class MethodTimes(Record):
    """The measurements, by method and executor.

    busy_share: the part of the processors' time that other processes took meanwhile, from 0 to 1;
    None where it is not known.
    """

    measured: tuple[MethodTime, ...] = ()
    not_run: tuple[MethodNotRun, ...] = ()
    busy_share: float | None = None


NOTHING_TIMED = MethodTimes()


class FormulaTables(RecordedResult, kw_only=True):
    """Tables at size n and block b, and the costs of every method if they were counted.

    Package, commit, driver and date are known where anything was timed.
    """

    size: int
    block: int
    tables: tuple[CheckedTable, ...]
    methods: tuple[MethodCost, ...] = ()
    times: MethodTimes = NOTHING_TIMED

    def __repr__(self) -> str:
        names = ", ".join(table.id for table in self.tables)
        return f"<tables: {names} at n = {self.size}, b = {self.block}>"

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """A grid for each table, one of every method's costs and one of the times, if any."""
        result = [self._analysis(table) for table in self.tables]
        if self.methods:
            result.append(self._every_method())
        if self.times.measured or self.times.not_run:
            result.append(self._measured())
        return result

    def _analysis(self, table: CheckedTable) -> Grid:
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
                "none found" if row.total.counted is None else Formula(row.total.counted),
                row.agrees,
                *(value(row) for _, value in own),
            )
            for row in table.rows
        )
        paper = next(p for p in papers() if published.id.startswith(p.id))
        number = published.id.rsplit("-", 1)[-1]
        caption = (
            f"{paper.short}, Table {number} ({published.where}): {published.caption} "
            f"Values at n = {self.size}, b = {self.block}."
        )
        return Grid(published.id, caption, heads, rows, (published.note, *_differences(table)))

    def _every_method(self) -> Grid:
        heads = (
            "method",
            "year",
            "b",
            "draws or dispatches",
            "arithmetic",
            "lookups or loads",
            "bytes requested",
            "multiply-adds / byte",
            "shared loads",
            *(f"bytes transacted, {name}" for name in self.methods[0].bytes_transacted),
        )
        rows = tuple(
            (
                cost.method,
                str(cost.year),
                cost.block,
                cost.counts.draws + cost.counts.dispatches,
                cost.counts.arithmetic,
                cost.counts.lookup + cost.counts.global_loads,
                cost.counts.bytes_requested,
                self.size**3 / cost.counts.bytes_requested,
                cost.counts.shared_loads or None,
                *cost.bytes_transacted.values(),
            )
            for cost in self.methods
        )
        note = (
            "Bytes transacted are those of global memory by a chip's coalescing rule: cc1.1 is the "
            "guide's of compute capability 1.1; cc1-least is the least of any chip of 1.x, for "
            "the GeForce 9400M, whose published times refute cc1.1; fermi is the Quadro 4000's. "
            "Fragment methods have none; for a method "
            "with a single invocation they are counted only if it is short."
        )
        caption = f"Every method, counted at n = {self.size}."
        return Grid("every-method", caption, heads, rows, (note,))

    def _measured(self) -> Grid:
        heads = ("method", "executor", "seconds", "GFLOPS", "GB/s requested", "device")
        rows = tuple(
            (m.method, m.executor, m.seconds, m.gflops, m.gigabytes_per_s, m.device)
            for m in self.times.measured
        )
        caption = (
            f"Measured here at n = {self.size}, b = {self.block}, the framebuffer copied to F."
        )
        notes = (
            f"Seconds cover the passes alone: medians of {ROUNDS.count} runs, or a single run "
            f"where that takes {ROUNDS.longest_s:g} s or more. GFLOPS are 2n³ over the seconds, "
            "and GB/s are Table 1's bytes (10⁹) over the seconds.",
            *(f"{m.method} on {m.executor} is not run: {m.reason}." for m in self.times.not_run),
            *busy_notes(self.times.busy_share),
        )
        return Grid(MEASURED, caption, heads, rows, notes)


_OWN_COLUMNS: dict[str, tuple[tuple[str, Callable[[CheckedRow], Entry]], ...]] = {
    "bytes_requested": (
        ("copied, bytes", lambda row: row.counts.copy_bytes),
        ("geometry, bytes", lambda row: row.counts.geometry_bytes),
    ),
    "arithmetic": (
        ("lookups / fragment", lambda row: row.lookups_per_fragment),
        ("program with END", lambda row: row.program_length + 1),
    ),
}


def _differences(table: CheckedTable) -> list[str]:
    """A line for every column that does not agree, with both formulas."""
    heads = ("passes", "fragments / pass", f"{table.published.unit} / fragment", "total")
    return [
        f"{row.method}, {head}: published {cell.published}, counted {cell.counted}."
        for row in table.rows
        for head, cell in zip(heads, row.cells, strict=True)
        if not cell.agrees
    ]
