"""The claims of a paper: of its text, and one for each cell of its tables and matrices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal

from gpgpu_legacy.published.schema import (
    AlternativeEntry,
    Argument,
    ClaimEntry,
    ClaimHead,
    ColumnEntry,
    Derived,
    Key,
    PrintedMatrix,
    PublishedTable,
    Rule,
    last_digit,
)
from gpgpu_legacy.published.tables import MeasuredCell, MeasuredTable, Series
from gpgpu_legacy.serial import as_record

Published = float | int | str | tuple[float, ...] | None
"""A number, several, a formula or a sentence, as printed; None if the paper prints no value."""


class Alternative(Derived, kw_only=True):
    """The same claim recomputed under another assumption.

    assuming: the sentence that states it, which ends with our value and its unit.
    """

    assuming: str
    unit: str
    derive: str


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
    alternatives: tuple[Alternative, ...] = ()
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
        alternatives=tuple(_alternative(each, entry, entry.unit) for each in entry.alternatives),
        reading=None if entry.reading is None else entry.reading.value,
    )


def _alternative(
    entry: AlternativeEntry,
    claim: ClaimEntry | ColumnEntry,
    unit: str,
    place: Mapping[str, Argument] = {},
) -> Alternative:
    """An alternative of a claim. place: further arguments, of a cell."""
    own = entry.derive is not None
    return Alternative(
        assuming=entry.assuming,
        unit=unit if entry.unit is None else entry.unit,
        derive=entry.derive or claim.derive or "",
        arguments={**({} if own else claim.arguments), **entry.arguments, **place},
        over=entry.over if own or entry.over is not None else claim.over,
        times=entry.times if own else claim.times,
    )


def formula_claims(table: PublishedTable) -> Iterator[Claim]:
    """A claim for each column of each row: it is the formula that counts of real plans obey."""
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

    paper: its id. columns: how the cells of a column are recomputed, where they are.
    Raises KeyError if one of these names no column of the tables.
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
    """The claim of a cell that was measured, which nothing can check."""
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
        alternatives=tuple(
            _alternative(each, column, cell.unit, place) for each in column.alternatives
        ),
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
