"""The tables of measurements as the JSON of `tables` has them. Times are in the published unit."""

from __future__ import annotations

from collections.abc import Mapping

from gpgpu_legacy.measure.platform import this_platform
from gpgpu_legacy.papers.measured.model import (
    MS_PER_S,
    Measurements,
    Status,
    interpolated_seconds,
    published_ratio,
    rate,
)
from gpgpu_legacy.published.papers import Paper
from gpgpu_legacy.published.schema import Quantity
from gpgpu_legacy.published.tables import MeasuredCell, MeasuredTable, Row, Series
from gpgpu_legacy.serial import Record, Recorded, as_record, provenance


class MeasuredRecord(Record):
    """A cell on an executor here. value, rate: None where it was not run, for the reason.

    first_run: whether the value is of a single run, the first.
    """

    executor: str
    status: Status
    value: float | None
    rate: float | None
    reason: str | None
    first_run: bool


class CellRecord(Record):
    """A published number, and what was measured here."""

    series: str
    method: str | None
    block: int | None
    dynamic: bool
    published: float
    unit: str
    where: str
    printed: str | None
    repaired: str | None
    recomputed_rate: float | None
    measured: tuple[MeasuredRecord, ...]


class RatioRecord(Record):
    """A speed-up by the published times, and by those of each executor here."""

    label: str
    recomputed: float | None
    measured: dict[str, float | None]


class RowRecord(Record):
    """A row: its size, and the threads of a block where these tell rows apart."""

    size: int
    threads: int | None
    cells: tuple[CellRecord, ...]
    ratios: tuple[RatioRecord, ...]
    interpolated: dict[str, float | None]


class TableRecord(Record):
    """A table, by the id of the published one."""

    id: str
    where: str
    rows: tuple[RowRecord, ...]


class MeasuredTables(Recorded, kw_only=True):
    """All tables of measurements of a paper. devices: by executor, where anything was run.

    Package, commit, driver and date are known where anything was run. busy_share: the part of the
    processors' time that other processes took meanwhile, from 0 to 1; None where it is not known.
    """

    paper: str
    budget_s: float | None = None
    spent_s: float | None = None
    busy_share: float | None = None
    devices: Mapping[str, str] = {}
    measured_tables: tuple[TableRecord, ...]


def record_of(paper: Paper, measurements: Measurements | None = None) -> MeasuredTables:
    """A paper's tables of measurements as a record, with those made here beside."""
    return as_record(
        MeasuredTables,
        measurements,
        **(provenance(this_platform().driver) if measurements else {}),
        paper=paper.id,
        measured_tables=tuple(
            as_record(
                TableRecord,
                table,
                rows=tuple(_row(paper, table, row, measurements) for row in table.rows),
            )
            for table in paper.measured
        ),
    )


def _row(
    paper: Paper,
    table: MeasuredTable,
    row: Row,
    measurements: Measurements | None,
) -> RowRecord:
    size, block = row
    cells = [(series, series.at(size, block)) for series in table.series]
    between = {i.label: interpolated_seconds(paper, i, row) for i in table.interpolations}
    return RowRecord(
        size=size,
        threads=None if block is None else block**2,
        cells=tuple(_cell(table, s, cell, measurements) for s, cell in cells if cell is not None),
        ratios=tuple(
            RatioRecord(
                label=ratio.label,
                recomputed=published_ratio(table, ratio, row),
                measured={}
                if measurements is None
                else {
                    name: measurements.ratio(table, ratio, name, row)
                    for name in measurements.executors(table)
                },
            )
            for ratio in table.ratios
        ),
        interpolated={
            label: None if seconds is None else MS_PER_S * seconds
            for label, seconds in between.items()
        },
    )


def _cell(
    table: MeasuredTable, series: Series, cell: MeasuredCell, measurements: Measurements | None
) -> CellRecord:
    is_timed = series.quantity is Quantity.TIME and series.method is not None
    return as_record(
        CellRecord,
        cell,
        series,
        series=series.label,
        published=cell.value,
        printed=cell.printed or None,
        repaired=cell.repaired or None,
        recomputed_rate=rate(table.rate, cell.size, cell.value / MS_PER_S) if is_timed else None,
        measured=_measured(table, series, cell, measurements) if measurements and is_timed else (),
    )


def _measured(
    table: MeasuredTable, series: Series, cell: MeasuredCell, measurements: Measurements
) -> tuple[MeasuredRecord, ...]:
    return tuple(
        as_record(
            MeasuredRecord,
            outcome,
            executor=name,
            value=None if outcome.seconds is None else MS_PER_S * outcome.seconds,
            rate=rate(table.rate, cell.size, outcome.seconds),
            reason=outcome.reason or None,
            first_run=outcome.is_first_run,
        )
        for name in measurements.candidates[table.id, series.label]
        if (outcome := measurements.find(series, cell, name)) is not None
    )
