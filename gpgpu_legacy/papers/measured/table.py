"""A measured table of a paper, each published number with our own measurements."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from gpgpu_legacy.published.papers import find_paper
from gpgpu_legacy.published.schema import Quantity
from gpgpu_legacy.published.tables import MeasuredTable, Series
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
    """A row: its size, and the threads of a block where these tell rows apart.

    interpolated: ms between two sizes of another table, by label.
    """

    size: int
    threads: int | None
    cells: tuple[TimedCell, ...]
    ratios: tuple[SpeedUps, ...]
    interpolated: dict[str, float | None]

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
