"""The papers' measured tables: as printed, recomputed, and with our own measurements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from gpgpu_legacy.measure.timing import Rounds, busy_notes
from gpgpu_legacy.papers.measured.table import Status, TimedRow, TimedTable, TimeHere, quotient
from gpgpu_legacy.present.grid import Entry, Grid, Numeral, RecordedResult
from gpgpu_legacy.published.papers import Paper, find_paper
from gpgpu_legacy.published.schema import Rate
from gpgpu_legacy.published.tables import Series
from gpgpu_legacy.runtime.executor import reference

ROUNDS = Rounds(count=3, most_runs=1, longest_s=0.25)


class MeasuredTables(RecordedResult, kw_only=True):
    """All tables of measurements of a paper. devices: by executor, where anything was run.

    Package, commit, driver and date are known where anything was run. busy_share: the part of the
    processors' time that other processes took meanwhile, from 0 to 1; None where it is not known.
    """

    paper: str
    budget_s: float | None = None
    spent_s: float | None = None
    busy_share: float | None = None
    devices: Mapping[str, str] = {}
    tables: tuple[TimedTable, ...]

    def __repr__(self) -> str:
        return f"<tables: {', '.join(table.id for table in self.tables)}>"

    def executors(self, table: TimedTable) -> list[str]:
        """The executors that may run a series of the table."""
        names = table.candidates(*(series.label for series in table.published.series))
        return [name for name in self.devices if name in names]

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """For each table: the published one, its repairs if any, and ours beside it by executor."""
        paper = find_paper(self.paper)
        made = []
        for table in self.tables:
            made += [_published(paper, table), *_repairs(paper, table)]
            made += [self._beside(paper, table, executor) for executor in self.executors(table)]
        return made

    def plot(self, path: Path) -> None:
        """Draw the paper's plots into a folder, which is made if need be."""
        from gpgpu_legacy.papers.measured.plot import write_plots

        write_plots(self.paper, self.tables, [*self.devices], path)

    def _beside(self, paper: Paper, table: TimedTable, executor: str) -> Grid:
        """A table's times beside one executor's times."""
        sources = [(series, table.source(series, executor)) for series in table.timed]
        timed = [(series, source) for series, source in sources if source is not None]
        columns: list[Column] = []
        for series, source in timed:
            head = f"{series.label}, {series.unit}"
            columns += [
                (f"{head}, published", _printed(table, series)),
                (f"{head}, {source}", [_time(line, series, source) for line in table.rows]),
            ]
        for series, source in timed if table.published.rate is not Rate.NONE else ():
            columns += [
                _rate_column(table, series, "published"),
                _rate_column(table, series, source, source),
            ]
        labels = {series.label for series, _ in timed}
        for number, ratio in enumerate(table.published.ratios):
            if {ratio.over, ratio.under} <= labels:
                here = [line.ratios[number].measured[executor] for line in table.rows]
                columns += [
                    _ratio_column(table, number, "published"),
                    (f"{ratio.label}, here", here),
                ]
        caption = f"{paper.short}, {table.where}, beside {executor} on {self.devices[executor]}."
        notes = (
            "Times here are of the passes alone, without transfers: medians of "
            f"{ROUNDS.count} runs, or a single run where that takes {ROUNDS.longest_s} s or more.",
            *busy_notes(self.busy_share),
            *_not_candidates(table, executor),
            *(note for series, source in timed for note in _reasons(table, series, source)),
        )
        return _grid(f"{table.id}/{executor}", caption, table, columns, notes)


Column = tuple[str, Sequence[Entry]]
"""A head, and the entries below it."""


def _grid(
    grid_id: str, caption: str, table: TimedTable, columns: list[Column], notes: tuple[str, ...]
) -> Grid:
    """The table's rows with these columns after the one that identifies them."""
    heads = (table.published.key.value, *(head for head, _ in columns))
    places = (line.place for line in table.rows)
    rows = tuple(zip(places, *(entries for _, entries in columns), strict=True))
    return Grid(grid_id, caption, heads, rows, notes)


def _printed(table: TimedTable, series: Series) -> list[Entry]:
    """The published numbers of a series, with all their digits."""
    numbers = (line.number(series.label) for line in table.rows)
    return [
        None if n is None else int(n) if n.is_integer() else Numeral(f"{n:.10g}") for n in numbers
    ]


# As published -----------------------------------------------------------------------------------


def _published(paper: Paper, table: TimedTable) -> Grid:
    published = table.published
    columns: list[Column] = []
    for series in published.series:
        head = series.label if series.unit in series.label else f"{series.label}, {series.unit}"
        columns.append((head, _printed(table, series)))
    if published.rate is not Rate.NONE:
        columns += [_rate_column(table, series, "recomputed") for series in table.timed]
    columns += [_ratio_column(table, n, "recomputed") for n, _ in enumerate(published.ratios)]
    for one in published.interpolations:
        between = [line.interpolated[one.label] for line in table.rows]
        times = [line.number(one.series) for line in table.rows]
        columns += [
            (f"{one.label}, interpolated, ms", between),
            (f"{one.series} / {one.label}", list(map(quotient, times, between))),
        ]
    caption = f"{paper.short}, {table.where}: {published.caption}"
    return _grid(table.id, caption, table, columns, published.notes)


def _rate_column(
    table: TimedTable, series: Series, suffix: str, executor: str | None = None
) -> Column:
    """The rate by the published times, or by an executor's."""
    head = f"{series.label} {table.published.rate.value}, {suffix}"
    return head, [line.number(series.label, executor, rate=True) for line in table.rows]


def _ratio_column(table: TimedTable, number: int, suffix: str) -> Column:
    """The speed-up by the published times."""
    ratios = [line.ratios[number] for line in table.rows]
    return f"{ratios[0].label}, {suffix}", [ratio.recomputed for ratio in ratios]


def _repairs(paper: Paper, table: TimedTable) -> Iterator[Grid]:
    """The damaged numbers of the text and how each was read; no grid if there are none."""
    rows = tuple(
        (series.label, cell.size, cell.printed, f"{cell.value:g}", cell.repaired)
        for series in table.published.series
        for cell in series.cells
        if cell.repaired
    )
    if rows:
        caption = f"{paper.short}, {table.where}: damaged numbers, repaired."
        heads = ("column", "size", "the text has", "read as", "because")
        yield Grid(f"{table.id}/repairs", caption, heads, rows)


# Beside our measurements ---------------------------------------------------------------------


def _time(line: TimedRow, series: Series, executor: str) -> Entry:
    """The time on an executor, or what became of the run."""
    taken = _taken(line, series, executor)
    if taken is None or taken.value is None:
        return None if taken is None else Numeral(taken.status.value)
    return taken.value if taken.value < 1000.0 else round(taken.value)


def _taken(line: TimedRow, series: Series, executor: str) -> TimeHere | None:
    cell = line.cell(series.label)
    return None if cell is None else cell.on(executor)


def _not_candidates(table: TimedTable, executor: str) -> Iterator[str]:
    """A note for every series that the executor may not run."""
    reason = (
        "it is one invocation, and NumPy is vectorised over invocations"
        if executor == reference().name
        else "the executor does not support its passes"
    )
    for series in table.timed:
        if table.source(series, executor) is None:
            yield f"{series.label} is not run on {executor}: {reason}."


def _reasons(table: TimedTable, series: Series, executor: str) -> Iterator[str]:
    """A note for every group of successive rows that have no time and the same status."""
    runs = [(line.place, _taken(line, series, executor)) for line in table.rows]
    known = [(place, taken) for place, taken in runs if taken is not None]
    for status, group in groupby(known, key=lambda run: run[1].status):
        if status is Status.MEASURED:
            continue
        names, runs_alike = zip(*group, strict=True)
        listed = ", ".join(dict.fromkeys(map(str, names)))
        first = "for the first, " if len({taken.reason for taken in runs_alike}) > 1 else ""
        yield (
            f"{series.label} on {executor} at {table.published.key.value} {listed}: "
            f"{status.value} ({first}{runs_alike[0].reason})."
        )
