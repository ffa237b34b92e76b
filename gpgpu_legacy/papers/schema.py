"""The shape of papers/*.toml, and its reader.

A paper has tables of formulas (`table`), tables of measurements (`measured`), or both.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib.resources import files
from typing import Any

from gpgpu_legacy.errors import InputError


@dataclass(frozen=True, slots=True)
class Formulas:
    """A published row, in n and b, column by column."""

    passes: str
    fragments_per_pass: str
    per_fragment: str
    total: str


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """A row of a published table: the method as this package names it, and as the paper does."""

    method: str
    label: str
    formulas: Formulas


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A published table. `quantity` names the count that its last columns are about."""

    id: str
    where: str
    caption: str
    quantity: str
    unit: str
    note: str
    rows: tuple[PublishedRow, ...]


class Quantity(Enum):
    """What a column of measurements is of."""

    TIME = "time"
    RATE = "rate"
    RATIO = "ratio"


class Key(Enum):
    """What tells the rows of a table of measurements apart."""

    SIZE = "size"
    THREADS = "threads"


class Rate(Enum):
    """What is derived from a time and the size, to stand beside it."""

    NONE = ""
    GFLOPS = "GFLOPS"
    NS_PER_STEP = "ns / step"


@dataclass(frozen=True, slots=True)
class MeasuredCell:
    """A published number, for n×n matrices.

    value: in `unit`, repaired where `repaired` says how; `printed` is then what the text has.
    where: its place in the paper. block: b, for b×b threads; None where there are no blocks.
    """

    size: int
    block: int | None
    value: float
    unit: str
    where: str
    printed: str
    repaired: str

    @property
    def threads(self) -> int | None:
        """Threads in a block."""
        return None if self.block is None else self.block**2


@dataclass(frozen=True, slots=True)
class Series:
    """A column of published numbers, and what runs the same here.

    method: this package's; None where nothing is run. executor: the one whose device plays the
    part of the paper's, alone where it can run; None for all.
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
        found = (cell for cell in self.cells if cell.size == size)
        return next((c for c in found if None in {block, c.block} or c.block == block), None)


@dataclass(frozen=True, slots=True)
class Ratio:
    """A speed-up: the times of one series over those of another, both named by label."""

    label: str
    over: str
    under: str


@dataclass(frozen=True, slots=True)
class Interpolation:
    """Times of a series in another table, brought to the size of this table's `series`."""

    label: str
    series: str
    table: str
    of: str


@dataclass(frozen=True, slots=True)
class MeasuredTable:
    """A published table of measurements."""

    id: str
    where: str
    caption: str
    key: Key
    rate: Rate
    notes: tuple[str, ...]
    series: tuple[Series, ...]
    ratios: tuple[Ratio, ...]
    interpolations: tuple[Interpolation, ...]

    def find(self, label: str) -> Series:
        """The series of that label."""
        return next(series for series in self.series if series.label == label)

    @property
    def rows(self) -> tuple[tuple[int, int | None], ...]:
        """Size and block of each row, as printed; block is None where the rows are sizes."""
        cells = (cell for series in self.series for cell in series.cells)
        if self.key is Key.SIZE:
            return tuple(dict.fromkeys((cell.size, None) for cell in cells))
        return tuple(dict.fromkeys((c.size, c.block) for c in cells if c.block is not None))


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper: its citation (`short` is how a text refers to it), and what it printed."""

    id: str
    short: str
    authors: str
    title: str
    source: str
    tables: tuple[PublishedTable, ...]
    measured: tuple[MeasuredTable, ...]


@cache
def papers() -> tuple[Paper, ...]:
    """All papers in the package: those with formulas first, then by the names of their files."""
    folder = files("gpgpu_legacy.papers")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".toml"))
    read = [_paper(tomllib.loads(folder.joinpath(n).read_text("utf-8"))) for n in names]
    return tuple(sorted(read, key=lambda paper: not paper.tables))


def find_paper(name: str) -> Paper:
    """The paper of that id; InputError, with the ids there are, for another."""
    for paper in papers():
        if paper.id == name:
            return paper
    known = ", ".join(paper.id for paper in papers())
    raise InputError(f"there is no paper {name}; choose from {known}")


def _paper(data: dict[str, Any]) -> Paper:
    return Paper(
        id=data["id"],
        short=data["short"],
        authors=data["authors"],
        title=data["title"],
        source=data["source"],
        tables=tuple(_table(data["id"], table) for table in data.get("table", ())),
        measured=tuple(_measured(data["id"], table) for table in data.get("measured", ())),
    )


def _table(paper: str, data: dict[str, Any]) -> PublishedTable:
    rows = tuple(_row(row) for row in data["row"])
    return PublishedTable(
        id=f"{paper}/{data['id']}",
        where=data["where"],
        caption=data["caption"],
        quantity=data["quantity"],
        unit=data["unit"],
        note=data["note"],
        rows=rows,
    )


def _row(data: dict[str, Any]) -> PublishedRow:
    names = ("passes", "fragments_per_pass", "per_fragment", "total")
    return PublishedRow(data["method"], data["label"], Formulas(*(data[name] for name in names)))


def _measured(paper: str, data: dict[str, Any]) -> MeasuredTable:
    return MeasuredTable(
        id=f"{paper}/{data['id']}",
        where=data["where"],
        caption=data["caption"],
        key=Key(data["key"]),
        rate=Rate(data["rate"]),
        notes=tuple(data["notes"]),
        series=tuple(_series(data["where"], series) for series in data["series"]),
        ratios=tuple(Ratio(**ratio) for ratio in data.get("ratio", ())),
        interpolations=tuple(
            Interpolation(**{**each, "table": f"{paper}/{each['table']}"})
            for each in data.get("interpolation", ())
        ),
    )


def _series(table: str, data: dict[str, Any]) -> Series:
    place = f"{table}, {data['where']}"
    return Series(
        label=data["label"],
        quantity=Quantity(data["quantity"]),
        unit=data["unit"],
        method=data.get("method"),
        executor=data.get("executor"),
        dynamic=data.get("dynamic", False),
        beta=data.get("beta", 0.0),
        cells=tuple(_cell(place, data, cell) for cell in data["cells"]),
    )


def _cell(place: str, series: dict[str, Any], data: dict[str, Any]) -> MeasuredCell:
    block = data.get("block", series.get("block"))
    threads = "" if block is None else f", {block}×{block} threads"
    return MeasuredCell(
        size=data["size"],
        block=block,
        value=float(data["value"]),
        unit=series["unit"],
        where=f"{place}, {data['size']}×{data['size']}{threads}",
        printed=data.get("printed", ""),
        repaired=data.get("repaired", ""),
    )
