"""The shape of papers/*.toml, and its reader."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


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


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper: its citation (`short` is how a text refers to it), and what it printed."""

    id: str
    short: str
    authors: str
    title: str
    source: str
    tables: tuple[PublishedTable, ...]


@cache
def papers() -> tuple[Paper, ...]:
    """All papers in the package, by the names of their files."""
    folder = files("gpgpu_legacy.papers")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".toml"))
    return tuple(_paper(tomllib.loads(folder.joinpath(n).read_text("utf-8"))) for n in names)


def _paper(data: dict[str, Any]) -> Paper:
    tables = tuple(_table(data["id"], table) for table in data["table"])
    return Paper(data["id"], data["short"], data["authors"], data["title"], data["source"], tables)


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
