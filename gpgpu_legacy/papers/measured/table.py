"""Published measurements and ours beside them, as tables and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from gpgpu_legacy.papers.measured.model import (
    MS_PER_S,
    Measurements,
    Outcome,
    Status,
    executors_of,
    interpolated_seconds,
    measured_ratio,
    measured_seconds,
    published_ratio,
    published_seconds,
    quotient,
    rate,
)
from gpgpu_legacy.present.grid import Entry, Grid, Numeral
from gpgpu_legacy.published.papers import Paper
from gpgpu_legacy.published.schema import Interpolation, Key, Quantity, Rate
from gpgpu_legacy.published.tables import MeasuredCell, MeasuredTable, Series
from gpgpu_legacy.runtime.registry import reference


def grids(paper: Paper, found: Measurements | None = None) -> list[Grid]:
    """A grid for each table as published, one for its repairs, and one for each executor here."""
    made = []
    for table in paper.measured:
        made.append(_published(paper, table))
        made += _repairs(paper, table)
        if found is not None:
            made += [_beside(paper, table, found, name) for name in executors_of(table, found)]
    return made


def _timed(table: MeasuredTable) -> list[Series]:
    return [s for s in table.series if s.method is not None and s.quantity is Quantity.TIME]


def _row_name(table: MeasuredTable, row: tuple[int, int | None]) -> int:
    size, block = row
    return size if table.key is Key.SIZE or block is None else block**2


def _published(paper: Paper, table: MeasuredTable) -> Grid:
    with_rate = _timed(table) if table.rate is not Rate.NONE else []
    heads = (
        table.key.value,
        *(_head(series) for series in table.series),
        *(f"{series.label} {table.rate.value}, recomputed" for series in with_rate),
        *(f"{ratio.label}, recomputed" for ratio in table.ratios),
        *(
            head
            for each in table.interpolations
            for head in (f"{each.label}, interpolated, ms", f"{each.series} / {each.label}")
        ),
    )
    rows = tuple(
        (
            _row_name(table, row),
            *(_printed(series.at(*row)) for series in table.series),
            *(rate(table.rate, row[0], published_seconds(s, *row)) for s in with_rate),
            *(published_ratio(table, ratio, *row) for ratio in table.ratios),
            *(
                entry
                for each in table.interpolations
                for entry in _interpolation(paper, table, each, row)
            ),
        )
        for row in table.rows
    )
    caption = f"{paper.short}, {table.where}: {table.caption}"
    return Grid(table.id, caption, heads, rows, table.notes)


def _head(series: Series) -> str:
    return series.label if series.unit in series.label else f"{series.label}, {series.unit}"


def _printed(cell: MeasuredCell | None) -> Entry:
    """A published number with all its digits."""
    if cell is None:
        return None
    return int(cell.value) if cell.value.is_integer() else Numeral(f"{cell.value:.10g}")


def _interpolation(
    paper: Paper, table: MeasuredTable, each: Interpolation, row: tuple[int, int | None]
) -> tuple[float | None, float | None]:
    between = interpolated_seconds(paper, each, *row)
    ratio = quotient(published_seconds(table.find(each.series), *row), between)
    return (None if between is None else MS_PER_S * between), ratio


def _repairs(paper: Paper, table: MeasuredTable) -> Iterator[Grid]:
    """What the text has in another form, and how the value was found; nothing where all is well."""
    rows = tuple(
        (series.label, cell.size, cell.printed, f"{cell.value:g}", cell.repaired)
        for series in table.series
        for cell in series.cells
        if cell.repaired
    )
    if rows:
        caption = f"{paper.short}, {table.where}: numbers repaired."
        heads = ("column", "size", "the text has", "read as", "because")
        yield Grid(f"{table.id}/repairs", caption, heads, rows)


def _beside(paper: Paper, table: MeasuredTable, found: Measurements, executor: str) -> Grid:
    """A table's times beside those of one executor."""
    series = [(s, source) for s in _timed(table) if (source := found.source(table, s, executor))]
    labels = {s.label for s, _ in series}
    ratios = [ratio for ratio in table.ratios if {ratio.over, ratio.under} <= labels]
    rated = series if table.rate is not Rate.NONE else []
    heads = (
        table.key.value,
        *(
            head
            for s, source in series
            for head in (f"{s.label}, {s.unit}, published", f"{s.label}, {s.unit}, {source}")
        ),
        *(
            head
            for s, source in rated
            for head in (
                f"{s.label} {table.rate.value}, published",
                f"{s.label} {table.rate.value}, {source}",
            )
        ),
        *(head for r in ratios for head in (f"{r.label}, published", f"{r.label}, here")),
    )
    rows = []
    for row in table.rows:
        entries: list[Entry] = [_row_name(table, row)]
        for each, source in series:
            entries += [_printed(each.at(*row)), _entry(found.find(each, each.at(*row), source))]
        for each, _ in rated:
            here = measured_seconds(table, found, each, executor, row)
            published = published_seconds(each, *row)
            entries += [rate(table.rate, row[0], s) for s in (published, here)]
        for ratio in ratios:
            here = measured_ratio(table, found, ratio, executor, row)
            entries += [published_ratio(table, ratio, *row), here]
        rows.append(tuple(entries))
    caption = f"{paper.short}, {table.where}, beside {executor} on {found.devices[executor]}."
    notes = (
        "Times here are of the passes alone, without transfers.",
        *_left_out(table, found, executor),
        *(note for each, source in series for note in _reasons(table, found, each, source)),
    )
    return Grid(f"{table.id}/{executor}", caption, heads, tuple(rows), notes)


def _entry(outcome: Outcome | None) -> Entry:
    if outcome is None:
        return None
    if outcome.seconds is None:
        return Numeral(outcome.status.value)
    time_ms = MS_PER_S * outcome.seconds
    return time_ms if time_ms < 1000.0 else round(time_ms)


def _left_out(table: MeasuredTable, found: Measurements, executor: str) -> list[str]:
    return [
        f"{series.label} is not run on {executor}: "
        + (
            "it is one invocation, and NumPy is vectorised over invocations."
            if executor == reference().name
            else "it carries out no such pass."
        )
        for series in _timed(table)
        if found.source(table, series, executor) is None
    ]


def _reasons(
    table: MeasuredTable, found: Measurements, series: Series, executor: str
) -> Iterator[str]:
    """A note for every run of rows that have no time for the same sort of reason."""
    rows = [
        (_row_name(table, row), outcome)
        for row in table.rows
        if (outcome := found.find(series, series.at(*row), executor))
    ]
    for status, group in groupby(rows, key=lambda each: each[1].status):
        if status is Status.MEASURED:
            continue
        names, outcomes = zip(*group, strict=True)
        listed = ", ".join(dict.fromkeys(map(str, names)))
        first = "for the first, " if len({each.reason for each in outcomes}) > 1 else ""
        yield (
            f"{series.label} on {executor} at {table.key.value} {listed}: {status.value}"
            f"{' for the budget' if status is Status.NOT_RUN else ''} "
            f"({first}{outcomes[0].reason})."
        )
