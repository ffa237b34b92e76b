"""The papers that the package knows, with their tables and claims, read from the .toml files here.

A claim is a statement of the text, or a cell of a table or a matrix.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation
from functools import cache
from importlib.resources import files

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.papers.published.schema import (
    CellEntry,
    Citation,
    ClaimEntry,
    ClaimHead,
    ColumnEntry,
    Key,
    MeasuredEntry,
    MeasuredHead,
    PaperEntry,
    PrintedMatrix,
    PublishedTable,
    Rule,
    SeriesEntry,
    SeriesHead,
    last_digit,
)
from gpgpu_legacy.serial import Record, as_record, from_toml, with_fields

Row = tuple[int, int | None]
"""The size of a row of measurements, and its block if rows differ in that."""


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

    Raises KeyError if a ratio names no series of the table.
    """
    series = tuple(
        as_record(Series, one, cells=tuple(_cell(entry.where, one, cell) for cell in one.cells))
        for one in entry.series
    )
    table = as_record(MeasuredTable, entry, id=f"{paper}/{entry.id}", series=series)
    for ratio in table.ratios:
        table.find(ratio.over), table.find(ratio.under)
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


Published = float | int | str | tuple[float, ...] | None
"""A number, several, a formula or a sentence, as printed; None if the paper prints no value."""


class Claim(ClaimHead, kw_only=True):
    """Something that a paper prints and that can be right or wrong.

    quote: the words around it, abridged. reading: the number that words stand for, 2 for twofold.
    tolerance: how far ours may be off, half of the last printed digit unless the data says more.
    derive: the function of papers/derive/ that recomputes it, with these arguments; None if there
    is no such function. rests_on: the assumption under which it agrees. reason: why ours differs,
    or why it is not checked. repaired: how a damaged text was read. source: the text that it
    quotes, if that is not the paper. turned_by: a change of an input that takes the agreement away.
    cause: what decides it, if several claims share that.
    """

    published: Published
    rule: Rule
    tolerance: float
    reading: Published = None

    @property
    def is_of_text(self) -> bool:
        """Whether it stands in the text; claims of tables and matrices are named by their cells."""
        return "/" not in self.id and "[" not in self.id

    @property
    def expected(self) -> Published:
        """The value to compare ours with: the published one, or the number that words stand for."""
        return self.published if self.reading is None else self.reading


def text_claim(entry: ClaimEntry) -> Claim:
    """A claim of the text, from its entry in the file."""
    number = entry.published if entry.reading is None else entry.reading
    tolerance = entry.tolerance
    if tolerance is None:
        tolerance = 0.5 if number is None else number.step / 2
    return as_record(
        Claim,
        entry,
        published=None if entry.published is None else entry.published.value,
        rule=entry.rule or (Rule.EQUAL if entry.derive else Rule.NONE),
        tolerance=tolerance,
        reading=None if entry.reading is None else entry.reading.value,
    )


def formula_claims(table: PublishedTable) -> Iterator[Claim]:
    """A claim for each column of each row: counts of real plans obey its formula."""
    for row in table.rows:
        for column, quantity in table.quantities.items():
            yield Claim(
                id=f"{table.name}/{row.label}/{column}",
                where=f"{table.name.replace('-', ' ').capitalize()}, {row.label}, {column}",
                quote=table.caption,
                published=str(getattr(row, column)),
                rule=Rule.FORMULA,
                tolerance=0.0,
                derive="formula",
                arguments={"method": row.method, "quantity": quantity},
                turned_by=row.turned_by.get(column),
                rests_on=row.rests_on.get(column, ""),
                cause=row.cause if column in row.rests_on else f"{table.name}/{row.label}",
            )


def cell_claims(
    paper: str, tables: Iterable[MeasuredTable], columns: Iterable[ColumnEntry]
) -> Iterator[Claim]:
    """A claim for each cell of the tables of measurements.

    paper: its id. columns: the columns whose cells are recomputed, and how. Raises KeyError if one
    of these names no column of the tables.
    """
    known = {(column.table, column.series): column for column in columns}
    for table in tables:
        for series in table.series:
            column = known.pop((table.name, series.label), None)
            for cell in series.cells:
                claim = _measurement(paper, table, series, cell)
                by_block = table.key is Key.THREADS
                yield (
                    claim if column is None else _recomputed(claim, cell, column, by_block=by_block)
                )
    if known:
        names = ", ".join(f"{table}/{series}" for table, series in sorted(known))
        raise KeyError(f"no table has the columns {names}, which `cells` name")


def _measurement(paper: str, table: MeasuredTable, series: Series, cell: MeasuredCell) -> Claim:
    """The claim of a measured cell, which nothing can check."""
    here = f" `gpgpu-legacy tables --paper {paper}` runs the same here and shows both."
    name = f"{table.name}/{series.label}/{cell.size}"
    if table.key is Key.THREADS and cell.threads is not None:
        name += f"/{cell.threads} threads"
    return as_record(
        Claim,
        cell,
        id=name,
        quote=cell.printed,
        published=cell.value,
        rule=Rule.NONE,
        tolerance=cell.step / 2,
        cause=f"{table.name}/{series.label}",
        reason="It is a time on a machine that is not here." + (here if series.method else ""),
    )


def _recomputed(claim: Claim, cell: MeasuredCell, column: ColumnEntry, *, by_block: bool) -> Claim:
    """The claim of a cell that is recomputed, at its size, and at its block where rows have one."""
    place = {"size": cell.size} | ({"block": cell.block} if cell.block and by_block else {})
    return as_record(
        Claim,
        column,
        claim,
        where=claim.where,
        cause=column.cause or claim.cause,
        arguments={**column.arguments, **place},
    )


def element_claims(matrix: PrintedMatrix) -> Iterator[Claim]:
    """A claim for each element of a printed matrix, recomputed by its function."""
    for i, row in enumerate(matrix.digits):
        for j, digits in enumerate(row):
            yield as_record(
                Claim,
                matrix,
                id=f"{matrix.id}[{i + 1},{j + 1}]",
                where=f"{matrix.where}, row {i + 1}, column {j + 1}",
                quote=digits,
                published=float(digits),
                rule=Rule.EQUAL,
                tolerance=last_digit(Decimal(digits)) / 2 + matrix.rounding,
                cause=matrix.cause or matrix.id,
                arguments={"row": i, "column": j, **matrix.arguments},
            )


class Paper(Citation, kw_only=True):
    """A paper: its citation, and what it prints.

    claims: of the text, then of the tables and matrices, cell by cell.
    """

    tables: tuple[PublishedTable, ...]
    measured: tuple[MeasuredTable, ...]
    matrices: tuple[PrintedMatrix, ...]
    claims: tuple[Claim, ...]

    def measurements(self, name: str) -> MeasuredTable:
        """The table of measurements of that name; KeyError for another."""
        for table in self.measured:
            if table.name == name:
                return table
        raise KeyError(f"{self.id} has no table of measurements {name}")

    def matrix(self, name: str) -> PrintedMatrix:
        """The printed matrix of that name; KeyError for another."""
        for matrix in self.matrices:
            if matrix.id == name:
                return matrix
        raise KeyError(f"{self.id} has no matrix {name}")

    def claim(self, name: str) -> Claim:
        """The claim of that id; KeyError for another."""
        for claim in self.claims:
            if claim.id == name:
                return claim
        raise KeyError(f"{self.id} has no claim {name}")


@cache
def papers() -> tuple[Paper, ...]:
    """All papers in the package: those with formulas first, then by the names of their files."""
    folder = files("gpgpu_legacy.papers.published")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".toml"))
    read = [read_paper(folder.joinpath(name).read_text("utf-8"), name) for name in names]
    return tuple(sorted(read, key=lambda paper: not paper.tables))


def find_paper(name: str) -> Paper:
    """The paper of that id; InputError, with the known ids, for another."""
    for paper in papers():
        if paper.id == name:
            return paper
    known = ", ".join(paper.id for paper in papers())
    raise InputError(f"there is no paper {name}; choose from {known}")


def read_paper(text: str, name: str) -> Paper:
    """A paper from the text of its file; name: of the file, in messages.

    Raises InputError, in one line with the place in the file, for a text that is not a paper's
    data.
    """
    entry = from_toml(text, PaperEntry, name, decimals=True)
    try:
        return _paper(entry)
    except (KeyError, ValueError, InvalidOperation) as fault:
        raise InputError(f"{name}: {fault.args[0]}") from fault


def _paper(entry: PaperEntry) -> Paper:
    tables = tuple(with_fields(table, id=f"{entry.id}/{table.id}") for table in entry.tables)
    measured = tuple(measured_table(entry.id, table) for table in entry.measured)
    claims = (
        *map(text_claim, entry.claims),
        *(claim for table in tables for claim in formula_claims(table)),
        *cell_claims(entry.id, measured, entry.columns),
        *(claim for matrix in entry.matrices for claim in element_claims(matrix)),
    )
    return as_record(Paper, entry, tables=tables, measured=measured, claims=claims)
