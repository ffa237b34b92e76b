"""Tables of measurements as printed, and beside what was measured here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

from gpgpu_legacy.measure.other_work import busy_notes
from gpgpu_legacy.papers.measured.model import (
    MS_PER_S,
    ROUNDS,
    Measurements,
    Outcome,
    Status,
    interpolated_seconds,
    published_ratio,
    published_seconds,
    quotient,
    rate,
)
from gpgpu_legacy.present.grid import Entry, Grid, Numeral
from gpgpu_legacy.published.papers import Paper
from gpgpu_legacy.published.schema import Interpolation, Key, Quantity, Rate, Ratio
from gpgpu_legacy.published.tables import MeasuredCell, MeasuredTable, Row, Series
from gpgpu_legacy.runtime.registry import reference

Column = tuple[str, Callable[[Row], Entry]]
"""A head, and the entry of a row in that column."""


def grids(paper: Paper, measurements: Measurements | None = None) -> list[Grid]:
    """For each table: the published one, its repairs if any, and ours beside it by executor."""
    made = []
    for table in paper.measured:
        made.append(_published(paper, table))
        made += _repairs(paper, table)
        if measurements is not None:
            made += [
                _beside(paper, table, measurements, executor)
                for executor in measurements.executors(table)
            ]
    return made


def _grid(
    grid_id: str,
    caption: str,
    table: MeasuredTable,
    columns: list[Column],
    notes: tuple[str, ...],
) -> Grid:
    """The table's rows with these columns after the one that identifies them."""
    heads = (table.key.value, *(head for head, _ in columns))
    rows = tuple(
        (_row_name(table, row), *(entry(row) for _, entry in columns)) for row in table.rows
    )
    return Grid(grid_id, caption, heads, rows, notes)


def _row_name(table: MeasuredTable, row: Row) -> int:
    size, block = row
    return size if table.key is Key.SIZE or block is None else block**2


def _timed(table: MeasuredTable) -> list[Series]:
    return [s for s in table.series if s.method is not None and s.quantity is Quantity.TIME]


# As published -----------------------------------------------------------------------------------


def _published(paper: Paper, table: MeasuredTable) -> Grid:
    columns = [_printed_column(series) for series in table.series]
    if table.rate is not Rate.NONE:
        columns += [_rate_column(table, series, "recomputed") for series in _timed(table)]
    columns += [_ratio_column(table, ratio, "recomputed") for ratio in table.ratios]
    for interpolation in table.interpolations:
        columns += _interpolated_columns(paper, table, interpolation)
    caption = f"{paper.short}, {table.where}: {table.caption}"
    return _grid(table.id, caption, table, columns, table.notes)


def _printed_column(series: Series) -> Column:
    head = series.label if series.unit in series.label else f"{series.label}, {series.unit}"
    return head, lambda row: _printed(series.at(*row))


def _printed(cell: MeasuredCell | None) -> Entry:
    """A published number with all its digits."""
    if cell is None:
        return None
    return int(cell.value) if cell.value.is_integer() else Numeral(f"{cell.value:.10g}")


def _rate_column(table: MeasuredTable, series: Series, suffix: str) -> Column:
    """The rate by the published times."""
    head = f"{series.label} {table.rate.value}, {suffix}"
    return head, lambda row: rate(table.rate, row[0], published_seconds(series, row))


def _ratio_column(table: MeasuredTable, ratio: Ratio, suffix: str) -> Column:
    """The speed-up by the published times."""
    return f"{ratio.label}, {suffix}", lambda row: published_ratio(table, ratio, row)


def _interpolated_columns(
    paper: Paper, table: MeasuredTable, interpolation: Interpolation
) -> list[Column]:
    """Times interpolated in another table, and those of a series of this one over them."""
    series = table.find(interpolation.series)

    def time_ms(row: Row) -> Entry:
        seconds = interpolated_seconds(paper, interpolation, row)
        return None if seconds is None else MS_PER_S * seconds

    def ratio(row: Row) -> Entry:
        between = interpolated_seconds(paper, interpolation, row)
        return quotient(published_seconds(series, row), between)

    return [
        (f"{interpolation.label}, interpolated, ms", time_ms),
        (f"{interpolation.series} / {interpolation.label}", ratio),
    ]


def _repairs(paper: Paper, table: MeasuredTable) -> Iterator[Grid]:
    """The damaged numbers of the text and how each was read; no grid where there are none."""
    rows = tuple(
        (series.label, cell.size, cell.printed, f"{cell.value:g}", cell.repaired)
        for series in table.series
        for cell in series.cells
        if cell.repaired
    )
    if rows:
        caption = f"{paper.short}, {table.where}: damaged numbers, repaired."
        heads = ("column", "size", "the text has", "read as", "because")
        yield Grid(f"{table.id}/repairs", caption, heads, rows)


# Beside what was measured here ------------------------------------------------------------------


def _beside(paper: Paper, table: MeasuredTable, measurements: Measurements, executor: str) -> Grid:
    """A table's times beside those of one executor."""
    sources = [(s, measurements.source(table, s, executor)) for s in _timed(table)]
    timed = [(series, source) for series, source in sources if source is not None]
    labels = {series.label for series, _ in timed}
    columns = []
    for series, source in timed:
        columns += [
            (f"{series.label}, {series.unit}, published", _printed_column(series)[1]),
            (f"{series.label}, {series.unit}, {source}", _measured(measurements, series, source)),
        ]
    for series, source in timed if table.rate is not Rate.NONE else ():
        head = f"{series.label} {table.rate.value}, {source}"
        columns += [
            _rate_column(table, series, "published"),
            (head, _measured_rate(table, measurements, series, executor)),
        ]
    for ratio in table.ratios:
        if {ratio.over, ratio.under} <= labels:
            columns += [
                _ratio_column(table, ratio, "published"),
                (f"{ratio.label}, here", _measured_ratio(table, measurements, ratio, executor)),
            ]
    device = measurements.devices[executor]
    caption = f"{paper.short}, {table.where}, beside {executor} on {device}."
    notes = (
        "Times here are of the passes alone, without transfers: medians of "
        f"{ROUNDS.count} runs, or a single run where that takes {ROUNDS.longest_s} s or more.",
        *busy_notes(measurements.busy_share),
        *_not_candidates(table, measurements, executor),
        *(note for s, source in timed for note in _reasons(table, measurements, s, source)),
    )
    return _grid(f"{table.id}/{executor}", caption, table, columns, notes)


def _measured(measurements: Measurements, series: Series, executor: str) -> Callable[[Row], Entry]:
    return lambda row: _time_ms(measurements.find(series, series.at(*row), executor))


def _time_ms(outcome: Outcome | None) -> Entry:
    if outcome is None:
        return None
    if outcome.seconds is None:
        return Numeral(outcome.status.value)
    time_ms = MS_PER_S * outcome.seconds
    return time_ms if time_ms < 1000.0 else round(time_ms)


def _measured_rate(
    table: MeasuredTable, measurements: Measurements, series: Series, executor: str
) -> Callable[[Row], Entry]:
    return lambda row: rate(table.rate, row[0], measurements.seconds(table, series, executor, row))


def _measured_ratio(
    table: MeasuredTable, measurements: Measurements, ratio: Ratio, executor: str
) -> Callable[[Row], Entry]:
    return lambda row: measurements.ratio(table, ratio, executor, row)


def _not_candidates(
    table: MeasuredTable, measurements: Measurements, executor: str
) -> Iterator[str]:
    """A note for every series that the executor may not run."""
    reason = (
        "it is one invocation, and NumPy is vectorised over invocations"
        if executor == reference().name
        else "the executor does not support its passes"
    )
    for series in _timed(table):
        if measurements.source(table, series, executor) is None:
            yield f"{series.label} is not run on {executor}: {reason}."


def _reasons(
    table: MeasuredTable, measurements: Measurements, series: Series, executor: str
) -> Iterator[str]:
    """A note for every group of successive rows that have no time and the same status."""
    rows = [
        (_row_name(table, row), outcome)
        for row in table.rows
        if (outcome := measurements.find(series, series.at(*row), executor))
    ]
    for status, group in groupby(rows, key=lambda row: row[1].status):
        if status is Status.MEASURED:
            continue
        names, outcomes = zip(*group, strict=True)
        listed = ", ".join(dict.fromkeys(map(str, names)))
        first = "for the first, " if len({outcome.reason for outcome in outcomes}) > 1 else ""
        yield (
            f"{series.label} on {executor} at {table.key.value} {listed}: {status.value} "
            f"({first}{outcomes[0].reason})."
        )
