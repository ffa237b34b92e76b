"""The papers that the package knows, read from published/*.toml."""

from __future__ import annotations

from decimal import InvalidOperation
from functools import cache
from importlib.resources import files

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.published.claims import (
    Claim,
    cell_claims,
    element_claims,
    formula_claims,
    text_claim,
)
from gpgpu_legacy.published.schema import Citation, PaperEntry, PrintedMatrix, PublishedTable
from gpgpu_legacy.published.tables import MeasuredTable, measured_table
from gpgpu_legacy.serial import as_record, from_toml, with_fields


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
    folder = files("gpgpu_legacy.published")
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
