"""The regenerated tables as the JSON of `tables` has them."""

from __future__ import annotations

from collections.abc import Sequence

from gpgpu_legacy.count.traffic import Counts
from gpgpu_legacy.measure.platform import this_platform
from gpgpu_legacy.papers.formulas.model import MethodCost, Row, Table
from gpgpu_legacy.papers.formulas.timing import NOTHING_TIMED, Measured, MethodTimes, NotRun
from gpgpu_legacy.serial import Record, Recorded, as_record, provenance


class RowRecord(Record):
    """A row at the size and block of the tables.

    published, counted: the formulas of the total, in n and b; counted is None where counts obey no
    formula of that kind. passes … total: None where passes differ. agrees: in every column.
    """

    method: str
    passes: int | None
    fragments_per_pass: int | None
    per_fragment: int | None
    total: int | None
    published: str
    counted: str | None
    agrees: bool
    copy_bytes: int
    geometry_bytes: int
    lookups_per_fragment: int
    program_length: int
    measured: tuple[Measured, ...]


class TableRecord(Record):
    """A table, by the id of the published one."""

    id: str
    rows: tuple[RowRecord, ...]


class CostRecord(Record):
    """What a method costs. bytes_transacted: by the name of the coalescing rule."""

    method: str
    year: int
    block: int | None
    counts: Counts
    bytes_transacted: dict[str, int | None]


class FormulaTables(Recorded, kw_only=True):
    """All tables at size n and block b, and the costs of every method where they were counted.

    Package, commit, driver and date are known where anything was timed. not_run: the methods that
    have no time on an executor. busy_share: as MethodTimes has it.
    """

    size: int | None
    block: int | None
    tables: tuple[TableRecord, ...]
    methods: tuple[CostRecord, ...] = ()
    not_run: tuple[NotRun, ...] = ()
    busy_share: float | None = None


def record_of(
    tables: Sequence[Table],
    costs: Sequence[MethodCost] = (),
    times: MethodTimes = NOTHING_TIMED,
) -> FormulaTables:
    """Regenerated tables as a record, with what was timed beside the rows."""
    is_timed = bool(times.measured or times.not_run)
    return as_record(
        FormulaTables,
        times,
        **(provenance(this_platform().driver) if is_timed else {}),
        size=tables[0].size if tables else None,
        block=tables[0].block if tables else None,
        tables=tuple(
            TableRecord(id=table.published.id, rows=tuple(_row(row, times) for row in table.rows))
            for table in tables
        ),
        methods=tuple(
            as_record(
                CostRecord,
                cost,
                cost.method,
                method=cost.method.name,
                bytes_transacted=dict(cost.transacted),
            )
            for cost in costs
        ),
    )


def _row(row: Row, times: MethodTimes) -> RowRecord:
    return as_record(
        RowRecord,
        row,
        row.counts,
        passes=row.passes.value,
        fragments_per_pass=row.fragments_per_pass.value,
        per_fragment=row.per_fragment.value,
        total=row.total.value,
        published=row.total.published,
        counted=None if row.total.counted is None else str(row.total.counted),
        measured=tuple(m for m in times.measured if m.method == row.method),
    )
