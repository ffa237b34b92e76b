"""The papers' measured tables, shown and drawn: as printed, recomputed, and with our own times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import groupby
from math import nan
from pathlib import Path
from typing import Any, NamedTuple

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.files import Write, check_output_folder, write_folder
from gpgpu_legacy.measure.timing import Rounds, busy_notes
from gpgpu_legacy.papers.published.papers import MeasuredTable, Paper, Series, find_paper
from gpgpu_legacy.papers.published.schema import Quantity, Rate
from gpgpu_legacy.present.grid import Entry, Grid, Numeral, RecordedResult
from gpgpu_legacy.present.plot import (
    COLOURS,
    add_head,
    figure_of,
    label_lines,
    new_figure,
    set_plain_numbers,
    set_powers_of_two,
    style_axes,
)
from gpgpu_legacy.runtime.executor import reference
from gpgpu_legacy.serial import Record


class Status(Enum):
    """The outcome of a run."""

    MEASURED = "measured"
    NOT_RUN = "not run"
    REFUSED = "refused"


class TimeHere(Record):
    """A product on an executor here. value: in ms, of its passes, without transfers.

    value, rate: None if it was not run, with the reason. first_run: whether the only run was the
    first, since it is long or the budget had no room for more.
    """

    executor: str
    status: Status
    value: float | None = None
    rate: float | None = None
    reason: str | None = None
    first_run: bool = False


class TimedCell(Record):
    """A published number, and our own measurements."""

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
    measured: tuple[TimeHere, ...]

    def on(self, executor: str) -> TimeHere | None:
        """The measurement on an executor; None if it was not a candidate."""
        return next((taken for taken in self.measured if taken.executor == executor), None)


class SpeedUps(Record):
    """A speed-up by the published times, and by each executor's times here."""

    label: str
    recomputed: float | None
    measured: dict[str, float | None]


class TimedRow(Record):
    """A row: its size, and the threads of a block where these tell rows apart."""

    size: int
    threads: int | None
    cells: tuple[TimedCell, ...]
    ratios: tuple[SpeedUps, ...]

    @property
    def place(self) -> int:
        """The name of the row: the threads of a block, or its size."""
        return self.threads or self.size

    def cell(self, series: str) -> TimedCell | None:
        """The cell of a series; None if the paper has none."""
        return next((cell for cell in self.cells if cell.series == series), None)

    def number(
        self, series: str, executor: str | None = None, *, rate: bool = False
    ) -> float | None:
        """The published number of a series, or an executor's measurement; or its rate."""
        cell = self.cell(series)
        if cell is None:
            return None
        if executor is None:
            return cell.recomputed_rate if rate else cell.published
        taken = cell.on(executor)
        if taken is None:
            return None
        return taken.rate if rate else taken.value


class TimedTable(Record):
    """A table, by the id of the published one."""

    id: str
    where: str
    rows: tuple[TimedRow, ...]

    @property
    def published(self) -> MeasuredTable:
        """The table as it is published."""
        paper, _, name = self.id.partition("/")
        return find_paper(paper).measurements(name)

    @property
    def timed(self) -> list[Series]:
        """The series of times of products."""
        series = self.published.series
        return [s for s in series if s.method is not None and s.quantity is Quantity.TIME]

    def candidates(self, *series: str) -> list[str]:
        """The executors that may run one of these series."""
        cells = (cell for line in self.rows for cell in line.cells if cell.series in series)
        return list(dict.fromkeys(taken.executor for cell in cells for taken in cell.measured))

    def source(self, series: Series, executor: str) -> str | None:
        """The executor whose times are shown with another's: itself, else the host's."""
        return source_of(series, self.candidates(series.label), executor)


def source_of(series: Series, candidates: Sequence[str], executor: str) -> str | None:
    """The candidate whose times of a series are shown with an executor's."""
    return next((name for name in (executor, series.executor) if name in candidates), None)


def quotient(over: float | None, under: float | None) -> float | None:
    """One time over another; None if one of them is missing or 0."""
    return over / under if over and under else None


# The papers' plots --------------------------------------------------------------------------------

Tables = Sequence[TimedTable]
Names = Sequence[str]

_RED, _BLACK, _BLUE, _GREEN = COLOURS[2], COLOURS[0], COLOURS[1], COLOURS[3]
_SIZE = "size n of the n×n matrices"
_MARKS = ("s", "^", "D", "v")
_LINES = ("--", "-.", ":", (0, (6, 2, 1, 2, 1, 2)))

_PUBLISHED: dict[str, Any] = {"marker": "o", "linewidth": 2.0, "markersize": 5.0}
_PRINTED: dict[str, Any] = {"linestyle": ":"}


class PaperCurve(NamedTuple):
    """A line with a value for each row of a table; a gap where it is missing or 0."""

    label: str
    values: Sequence[float | None]
    colour: str
    style: Mapping[str, Any]


class Plot(NamedTuple):
    """A plot of a paper over the rows of a table.

    name: of the file, after the paper's id. x, y: the words at the axes. level: of a line across.
    """

    name: str
    title: str
    table: TimedTable
    x: str
    y: str
    curves: Sequence[PaperCurve]
    level: float | None = None


def plots(paper: str, tables: Tables, executors: Names = ()) -> dict[str, Plot]:
    """The plots of a paper by file; InputError if it has none.

    executors: where anything was run.
    """
    if paper not in _PLOTS:
        raise InputError(f"{paper} has no plots; choose from {', '.join(sorted(_PLOTS))}")
    return {f"{paper}-{plot.name}.png": plot for plot in _PLOTS[paper](tables, executors)}


def check_plots(paper: str, tables: Tables, folder: Path) -> None:
    """Raise InputError if the paper has no plots, or they cannot be written to the folder."""
    check_output_folder(folder, tuple(plots(paper, tables)))


def _drawn(plot: Plot, paper: str) -> Write:
    figure = new_figure()
    axes = figure.subplots()
    style_axes(axes)
    places = [line.place for line in plot.table.rows]
    for label, values, colour, style in plot.curves:
        if any(values):
            axes.plot(places, [v or nan for v in values], color=colour, label=label, **style)
    if plot.level is not None:
        axes.axhline(plot.level, color="#888888", linewidth=0.8)
    axes.set_xlabel(plot.x)
    axes.set_ylabel(plot.y)
    set_powers_of_two(axes, places)
    axes.set_yscale("log")
    set_plain_numbers(axes)
    label_lines(axes)
    add_head(figure, f"{paper}, {plot.title}")
    return figure_of(figure, ".png")


def _dobravec_bulic(tables: Tables, executors: Names) -> Iterator[Plot]:
    one, two, *_ = tables
    labels = (series.label for series in one.published.series)
    colours = zip(labels, (_RED, _BLACK, _BLUE, _GREEN), strict=False)
    times = [curve for own in colours for curve in _times(executors, one, *own)]
    yield Plot("figure-1", "Figure 1", one, _SIZE, "time, ms", times)
    times = [*_times(executors, two, "MulDS", _BLUE), *_times(executors, two, "MulH", _RED)]
    yield Plot("figure-2", "Figure 2, n = 512", two, "threads in a block", "time, ms", times)


def _opengl_compute(tables: Tables, executors: Names) -> Iterator[Plot]:
    [table] = tables
    printed = {
        label: [line.number(label) for line in table.rows] for label in ("CPU GFLOPS", "speed-up")
    }
    yield Plot(
        "gflops",
        "GFLOPS",
        table,
        _SIZE,
        "GFLOPS",
        [
            *_times(executors, table, "CPU", _RED, rates=True),
            *_times(executors, table, "GPU", _BLUE, rates=True),
            PaperCurve("CPU, as printed, 4n³/t", printed["CPU GFLOPS"], _RED, _PRINTED),
        ],
    )
    ratios = [line.ratios[0] for line in table.rows]
    here = [
        PaperCurve(
            f"here, GPU: {name}",
            [ratio.measured[name] for ratio in ratios],
            _GREEN,
            _measured(executors, name),
        )
        for name in table.candidates("GPU")
    ]
    yield Plot(
        "speed-up",
        "speed-up",
        table,
        _SIZE,
        "CPU time / GPU time",
        [
            PaperCurve("published times", [one.recomputed for one in ratios], _BLUE, _PUBLISHED),
            PaperCurve("as printed", printed["speed-up"], _BLUE, _PRINTED),
            *here,
        ],
        level=1.0,
    )


_PLOTS: dict[str, Callable[[Tables, Names], Iterator[Plot]]] = {
    "dobravec-bulic-2017": _dobravec_bulic,
    "opengl-compute": _opengl_compute,
}


def _times(
    executors: Names, table: TimedTable, label: str, colour: str, *, rates: bool = False
) -> Iterator[PaperCurve]:
    """The times of a series in ms, published and on each executor; or what rates follow."""
    published = [line.number(label, rate=rates) for line in table.rows]
    yield PaperCurve(f"{label}, published{', 2n³/t' * rates}", published, colour, _PUBLISHED)
    for name in table.candidates(label):
        measured = [line.number(label, name, rate=rates) for line in table.rows]
        yield PaperCurve(f"{label}, here on {name}", measured, colour, _measured(executors, name))


def _measured(executors: Names, name: str) -> dict[str, Any]:
    """The line and the marks of an executor."""
    order = executors.index(name)
    return {
        "marker": _MARKS[order % len(_MARKS)],
        "linestyle": _LINES[order % len(_LINES)],
        "linewidth": 1.1,
        "markersize": 4.5,
        "markerfacecolor": "white",
    }


# The tables ---------------------------------------------------------------------------------------

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

    def executors(self, table: TimedTable) -> list[str]:
        """The executors that may run a series of the table."""
        names = table.candidates(*(series.label for series in table.published.series))
        return [name for name in self.devices if name in names]

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """For each table: the published one, its repairs if any, and ours beside it by executor."""
        paper = find_paper(self.paper)
        grids = []
        for table in self.tables:
            grids += [_published(paper, table), *_repairs(paper, table)]
            grids += [self._beside(paper, table, executor) for executor in self.executors(table)]
        return grids

    def plot(self, path: Path) -> None:
        """Draw the paper's plots into a folder, which is grids if need be."""
        drawn = plots(self.paper, self.tables, [*self.devices])
        short = find_paper(self.paper).short
        write_folder(path, {file: _drawn(plot, short) for file, plot in drawn.items()})

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
