"""The tables of measurements that papers print."""

from __future__ import annotations

from gpgpu_legacy.published.schema import (
    CellEntry,
    Key,
    MeasuredEntry,
    MeasuredHead,
    SeriesEntry,
    SeriesHead,
    last_digit,
)
from gpgpu_legacy.serial import Record, as_record

Row = tuple[int, int | None]
"""The case of a row of measurements: a size, and a block if rows differ in it."""


class MeasuredCell(Record):
    """A published number, for n×n matrices.

    value: in `unit`; if the text is damaged, `printed` has its words and `repaired` says how it was
    read. where: its place in the paper. block: b, for b×b threads; None where there are no blocks.
    step: the weight of the last printed digit, 0.01 in 3.57.
    """

    size: int
    block: int | None
    value: float
    unit: str
    where: str
    printed: str
    repaired: str
    step: float

    @property
    def threads(self) -> int | None:
        """Threads in a block."""
        return None if self.block is None else self.block**2


class Series(SeriesHead, kw_only=True):
    """A column of published numbers."""

    cells: tuple[MeasuredCell, ...]

    def at(self, size: int, block: int | None) -> MeasuredCell | None:
        """The cell of that size, and of that block where both have one."""
        cells = (cell for cell in self.cells if cell.size == size)
        return next((c for c in cells if None in {block, c.block} or c.block == block), None)


class MeasuredTable(MeasuredHead, kw_only=True):
    """A published table of measurements. id: the paper's id, a slash and the table's."""

    series: tuple[Series, ...]

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


def measured_table(paper: str, entry: MeasuredEntry) -> MeasuredTable:
    """A paper's table of measurements, from its entry in the file.

    Raises KeyError if a ratio or an interpolation names no series of the table.
    """
    series = tuple(
        as_record(Series, each, cells=tuple(_cell(entry.where, each, cell) for cell in each.cells))
        for each in entry.series
    )
    table = as_record(MeasuredTable, entry, id=f"{paper}/{entry.id}", series=series)
    for ratio in table.ratios:
        table.find(ratio.over), table.find(ratio.under)
    for interpolation in table.interpolations:
        table.find(interpolation.series)
    return table


def _cell(table: str, series: SeriesEntry, entry: CellEntry) -> MeasuredCell:
    block = series.block if entry.block is None else entry.block
    threads = "" if block is None else f", {block}×{block} threads"
    return as_record(
        MeasuredCell,
        entry,
        series,
        block=block,
        value=float(entry.value),
        where=f"{table}, {series.where}, {entry.size}×{entry.size}{threads}",
        step=last_digit(entry.value),
    )
