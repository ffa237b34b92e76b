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
from gpgpu_legacy.papers.published.schema import Rate
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

MS_PER_S = 1e3


class Status(Enum):
    """The outcome of a run."""

    MEASURED = "measured"
    NOT_RUN = "not run"
    REFUSED = "refused"


class TimeHere(Record):
    """A product on an executor here. value: in ms, of its passes, without transfers.

    value, rate: None if it was not run. reason: why it was not. first_run: whether the only run was
    the first, since it is long or the budget had no room for more.
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
    ratios: tuple[SpeedUps, ...] = ()

    @property
    def place(self) -> int:
        """The name of the row: the threads of a block, or its size."""
        return self.threads or self.size

    def cell(self, series: str) -> TimedCell | None:
        """The cell of a series; None if the paper has none."""
        return next((cell for cell in self.cells if cell.series == series), None)

    def seconds(self, series: str) -> float | None:
        """A published time; None if the paper has none."""
        cell = self.cell(series)
        return None if cell is None else cell.published / MS_PER_S

    def taken(self, series: str, executor: str | None) -> TimeHere | None:
        """The measurement of a series on an executor; None if there is none."""
        times = (cell.measured for cell in self.cells if cell.series == series)
        return next((t for of in times for t in of if t.executor == executor), None)

    def beside(self, series: Series, executor: str) -> float | None:
        """The time of a series that is shown with an executor's: its own, else the host's."""
        taken = self.taken(series.label, executor) or self.taken(series.label, series.executor)
        return None if taken is None else taken.value

    def number(
        self, series: str, executor: str | None = None, *, rate: bool = False
    ) -> float | None:
        """The published number of a series, or an executor's measurement; or its rate."""
        if executor is not None:
            taken = self.taken(series, executor)
            return None if taken is None else taken.rate if rate else taken.value
        cell = self.cell(series)
        return None if cell is None else cell.recomputed_rate if rate else cell.published


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
        return [series for series in self.published.series if series.method is not None]

    def candidates(self, series: str | None = None) -> list[str]:
        """The executors that may run this series; without one, any series."""
        cells = [c for row in self.rows for c in row.cells if series in {None, c.series}]
        return list(dict.fromkeys(taken.executor for cell in cells for taken in cell.measured))

    def source(self, series: Series, executor: str) -> str | None:
        """The executor whose times are shown with another's: itself, else the host's."""
        candidates = self.candidates(series.label)
        return next((name for name in (executor, series.executor) if name in candidates), None)


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

    name: of the file, after the paper's id. x, y: the words at the axes. level: of a horizontal
    line.
    """

    name: str
    title: str
    table: TimedTable
    x: str
    y: str
    curves: Sequence[PaperCurve]
    level: float | None = None


def plots(paper: str, tables: Tables, executors: Names = ()) -> dict[str, Plot]:
    """The plots of a paper by file name; InputError if it has none.

    executors: those on which anything was run.
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
    places = [row.place for row in plot.table.rows]
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
    colours = {"MulH": _RED, "MulDG": _BLACK, "MulDS": _BLUE}
    times = [curve for own in colours.items() for curve in _times(executors, one, *own)]
    yield Plot("figure-1", "Figure 1", one, _SIZE, "time, ms", times)
    times = [*_times(executors, two, "MulDS", _BLUE), *_times(executors, two, "MulH", _RED)]
    yield Plot("figure-2", "Figure 2, n = 512", two, "threads in a block", "time, ms", times)


def _opengl_compute(tables: Tables, executors: Names) -> Iterator[Plot]:
    [table] = tables
    gflops, speed_up = (
        [row.number(label) for row in table.rows] for label in ("CPU GFLOPS", "speed-up")
    )
    curves = [
        *_times(executors, table, "CPU", _RED, rates=True),
        *_times(executors, table, "GPU", _BLUE, rates=True),
        PaperCurve("CPU, as printed, 4n³/t", gflops, _RED, _PRINTED),
    ]
    yield Plot("gflops", "GFLOPS", table, _SIZE, "GFLOPS", curves)
    ratios = [row.ratios[0] for row in table.rows]
    curves = [
        PaperCurve("published times", [one.recomputed for one in ratios], _BLUE, _PUBLISHED),
        PaperCurve("as printed", speed_up, _BLUE, _PRINTED),
    ]
    for name in table.candidates("GPU"):
        here = [ratio.measured[name] for ratio in ratios]
        curves.append(PaperCurve(f"here, GPU: {name}", here, _GREEN, _measured(executors, name)))
    yield Plot("speed-up", "speed-up", table, _SIZE, "CPU time / GPU time", curves, level=1.0)


_PLOTS: dict[str, Callable[[Tables, Names], Iterator[Plot]]] = {
    "dobravec-bulic-2017": _dobravec_bulic,
    "opengl-compute": _opengl_compute,
}


def _times(
    executors: Names, table: TimedTable, label: str, colour: str, *, rates: bool = False
) -> Iterator[PaperCurve]:
    """The times of a series in ms, published and on each executor; rates: its rates instead."""
    published = [row.number(label, rate=rates) for row in table.rows]
    yield PaperCurve(f"{label}, published{', 2n³/t' * rates}", published, colour, _PUBLISHED)
    for name in table.candidates(label):
        measured = [row.number(label, name, rate=rates) for row in table.rows]
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

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """For each table: the published one, its repairs if any, and ours beside it by executor."""
        paper = find_paper(self.paper)
        grids = []
        for table in self.tables:
            grids += [_published(paper, table), *_repairs(paper, table)]
            candidates = table.candidates()
            grids += [self._beside(paper, table, one) for one in self.devices if one in candidates]
        return grids

    def plot(self, path: Path) -> None:
        """Draw the paper's plots into a folder, which is made if need be."""
        drawn = plots(self.paper, self.tables, [*self.devices])
        short = find_paper(self.paper).short
        write_folder(path, {file: _drawn(plot, short) for file, plot in drawn.items()})

    def _beside(self, paper: Paper, table: TimedTable, executor: str) -> Grid:
        """A table's times beside one executor's times."""
        sources = ((series, table.source(series, executor)) for series in table.timed)
        timed = [(series, source) for series, source in sources if source is not None]
        labels = {series.label for series, _ in timed}
        columns: Columns = {}
        for series, source in timed:
            head = f"{series.label}, {series.unit}"
            columns[f"{head}, published"] = _printed(table, series)
            times = (row.taken(series.label, source) for row in table.rows)
            columns[f"{head}, {source}"] = [*map(_time, times)]
        for series, source in timed:
            columns |= _rates(table, series, "published") | _rates(table, series, source, source)
        for number, ratio in enumerate(table.published.ratios):
            if {ratio.over, ratio.under} <= labels:
                columns |= _ratios(table, number, "published")
                here = [row.ratios[number].measured[executor] for row in table.rows]
                columns[f"{ratio.label}, here"] = here
        reason = (
            "it is one invocation, and NumPy is vectorised over invocations"
            if executor == reference().name
            else "the executor does not support its passes"
        )
        caption = f"{paper.short}, {table.where}, beside {executor} on {self.devices[executor]}."
        notes = (
            "Times here are of the passes alone, without transfers: medians of "
            f"{ROUNDS.count} runs, or a single run where that takes {ROUNDS.longest_s} s or more.",
            *busy_notes(self.busy_share),
            *(
                f"{series.label} is not run on {executor}: {reason}."
                for series in table.timed
                if series.label not in labels
            ),
            *(note for series, source in timed for note in _reasons(table, series, source)),
        )
        return _grid(f"{table.id}/{executor}", caption, table, columns, notes)


Columns = dict[str, Sequence[Entry]]
"""The entries below each head."""


def _grid(
    grid_id: str, caption: str, table: TimedTable, columns: Columns, notes: tuple[str, ...]
) -> Grid:
    """The table's rows with these columns after the one that identifies them."""
    heads = (table.published.key.value, *columns)
    rows = zip((row.place for row in table.rows), *columns.values(), strict=True)
    return Grid(grid_id, caption, heads, tuple(rows), notes)


def _printed(table: TimedTable, series: Series) -> list[Entry]:
    """The published numbers of a series, with all their digits."""
    numbers = (row.number(series.label) for row in table.rows)
    return [
        None if n is None else int(n) if n.is_integer() else Numeral(f"{n:.10g}") for n in numbers
    ]


# As published -----------------------------------------------------------------------------------


def _published(paper: Paper, table: TimedTable) -> Grid:
    published = table.published
    columns: Columns = {}
    for series in published.series:
        head = series.label if series.unit in series.label else f"{series.label}, {series.unit}"
        columns[head] = _printed(table, series)
    for series in table.timed:
        columns |= _rates(table, series, "recomputed")
    for number in range(len(published.ratios)):
        columns |= _ratios(table, number, "recomputed")
    caption = f"{paper.short}, {table.where}: {published.caption}"
    return _grid(table.id, caption, table, columns, published.notes)


def _rates(table: TimedTable, series: Series, suffix: str, executor: str | None = None) -> Columns:
    """The rate, if the table has one, by the published times or by an executor's."""
    kind = table.published.rate
    rates = [row.number(series.label, executor, rate=True) for row in table.rows]
    return {} if kind is Rate.NONE else {f"{series.label} {kind.value}, {suffix}": rates}


def _ratios(table: TimedTable, number: int, suffix: str) -> Columns:
    """The speed-up by the published times."""
    ratios = [row.ratios[number] for row in table.rows]
    return {f"{ratios[0].label}, {suffix}": [ratio.recomputed for ratio in ratios]}


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


def _time(taken: TimeHere | None) -> Entry:
    """The time on an executor, or what became of the run."""
    if taken is None:
        return None
    if taken.value is None:
        return Numeral(taken.status.value)
    return taken.value if taken.value < 1000.0 else round(taken.value)


def _reasons(table: TimedTable, series: Series, executor: str) -> Iterator[str]:
    """A note for every group of successive rows that have no time and the same status."""
    runs = [(row.place, row.taken(series.label, executor)) for row in table.rows]
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
