"""The tables and matrices that papers print."""

from __future__ import annotations

from dataclasses import dataclass

from gpgpu_legacy.published.schema import (
    CellEntry,
    FormulaRow,
    FormulasEntry,
    Interpolation,
    Key,
    MatrixEntry,
    MeasuredEntry,
    Quantity,
    Rate,
    Ratio,
    SeriesEntry,
    last_digit,
)

Row = tuple[int, int | None]
"""What a row of a table of measurements is about: a size, and a block where rows differ in it."""


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A published table of formulas.

    id: the paper's id, a slash and the table's. quantity: the count that `per_fragment` and `total`
    of its rows are about.
    """

    id: str
    where: str
    caption: str
    quantity: str
    unit: str
    note: str
    rows: tuple[FormulaRow, ...]

    @property
    def name(self) -> str:
        """The id without the paper's."""
        return self.id.partition("/")[2]


@dataclass(frozen=True, slots=True)
class MeasuredCell:
    """A published number, for n×n matrices.

    value: in `unit`; where the text is damaged, `printed` is what it has and `repaired` says how it
    was read. where: its place in the paper. block: b, for b×b threads; None where there are no
    blocks. step: the weight of the last printed digit, 0.01 in 3.57.
    """

    size: int
    block: int | None
    value: float
    unit: str
    where: str
    printed: str
    repaired: str
    step: float = 1.0

    @property
    def threads(self) -> int | None:
        """Threads in a block."""
        return None if self.block is None else self.block**2


@dataclass(frozen=True, slots=True)
class Series:
    """A column of published numbers, and what runs the same here.

    method: this package's; None where nothing is run. executor: the one whose device corresponds to
    the paper's; where it can run, no other does. None for all executors.
    dynamic, beta: options of the method; where beta is not 0, a C is added.
    """

    label: str
    quantity: Quantity
    unit: str
    method: str | None
    executor: str | None
    dynamic: bool
    beta: float
    cells: tuple[MeasuredCell, ...]

    def at(self, size: int, block: int | None) -> MeasuredCell | None:
        """The cell of that size, and of that block where both have one."""
        cells = (cell for cell in self.cells if cell.size == size)
        return next((c for c in cells if None in {block, c.block} or c.block == block), None)


@dataclass(frozen=True, slots=True)
class MeasuredTable:
    """A published table of measurements. id: the paper's id, a slash and the table's."""

    id: str
    where: str
    caption: str
    key: Key
    rate: Rate
    notes: tuple[str, ...]
    series: tuple[Series, ...]
    ratios: tuple[Ratio, ...]
    interpolations: tuple[Interpolation, ...]

    @property
    def name(self) -> str:
        """The id without the paper's."""
        return self.id.partition("/")[2]

    def find(self, label: str) -> Series:
        """The series of that label; KeyError for another."""
        for series in self.series:
            if series.label == label:
                return series
        raise KeyError(f"{self.id} has no series {label}")

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows, in the order they are printed in; the block is None where rows are sizes."""
        cells = (cell for series in self.series for cell in series.cells)
        if self.key is Key.SIZE:
            return tuple(dict.fromkeys((cell.size, None) for cell in cells))
        return tuple(dict.fromkeys((c.size, c.block) for c in cells if c.block is not None))


@dataclass(frozen=True, slots=True)
class PrintedMatrix:
    """A matrix as it is printed, row by row: the digits, as text."""

    id: str
    where: str
    rows: tuple[tuple[str, ...], ...]


def formula_table(paper: str, entry: FormulasEntry) -> PublishedTable:
    """A paper's table of formulas, from its entry in the file."""
    return PublishedTable(
        id=f"{paper}/{entry.id}",
        where=entry.where,
        caption=entry.caption,
        quantity=entry.quantity,
        unit=entry.unit,
        note=entry.note,
        rows=entry.rows,
    )


def measured_table(paper: str, entry: MeasuredEntry) -> MeasuredTable:
    """A paper's table of measurements, from its entry in the file.

    Raises KeyError where a ratio or an interpolation names no series of the table.
    """
    table = MeasuredTable(
        id=f"{paper}/{entry.id}",
        where=entry.where,
        caption=entry.caption,
        key=entry.key,
        rate=entry.rate,
        notes=entry.notes,
        series=tuple(_series(entry.where, series) for series in entry.series),
        ratios=entry.ratios,
        interpolations=entry.interpolations,
    )
    for ratio in table.ratios:
        table.find(ratio.over), table.find(ratio.under)
    for interpolation in table.interpolations:
        table.find(interpolation.series)
    return table


def _series(table: str, entry: SeriesEntry) -> Series:
    place = f"{table}, {entry.where}"
    return Series(
        label=entry.label,
        quantity=entry.quantity,
        unit=entry.unit,
        method=entry.method,
        executor=entry.executor,
        dynamic=entry.dynamic,
        beta=entry.beta,
        cells=tuple(_cell(place, entry, cell) for cell in entry.cells),
    )


def _cell(place: str, series: SeriesEntry, entry: CellEntry) -> MeasuredCell:
    block = series.block if entry.block is None else entry.block
    threads = "" if block is None else f", {block}×{block} threads"
    return MeasuredCell(
        size=entry.size,
        block=block,
        value=float(entry.value),
        unit=series.unit,
        where=f"{place}, {entry.size}×{entry.size}{threads}",
        printed=entry.printed,
        repaired=entry.repaired,
        step=last_digit(entry.value),
    )


def printed_matrix(entry: MatrixEntry) -> PrintedMatrix:
    """A printed matrix, from its entry in the file."""
    return PrintedMatrix(entry.id, entry.where, tuple(tuple(row.split()) for row in entry.rows))
