"""Tables, and their writers for the terminal, markdown and CSV; LaTeX has a module of its own."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula in sympy's notation, with * and **; writers typeset it."""

    text: str


@dataclass(frozen=True, slots=True)
class Numeral:
    """Text that is aligned like a number: a number as printed, or why it is missing."""

    text: str


Entry = str | int | float | bool | Formula | Numeral | None


@dataclass(frozen=True, slots=True)
class Grid:
    """A table for any writer: a caption, heads, rows as long as the heads, and notes below."""

    id: str
    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    notes: tuple[str, ...] = ()


# How entries are written -----------------------------------------------------------------------

_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def pretty(formula: str) -> str:
    """A formula for people: 8*n**3*(b + 1)/b as 8n³(b + 1)/b, n*log(n, 2)**2 as n·log₂²n."""
    text = re.sub(r"log\((\w+), 2\)((\*\*\d+)?)", r"log₂\2\1", formula)
    text = re.sub(r"\*\*(\d+)", lambda power: power.group(1).translate(_SUPERSCRIPTS), text)
    return re.sub(_BETWEEN_WORDS, "·", text).replace("*", "")


_BETWEEN_WORDS = r"(?<=\d)\*(?=\d)|(?<=[a-zA-Z_]{2})\*|\*(?=[a-zA-Z_]{2})"
"""The multiplication signs that people need: between numbers, and beside names of more letters."""


def plain(entry: Entry) -> str:
    """An entry as people read it."""
    if entry is None:
        return "–"
    if isinstance(entry, bool):
        return "yes" if entry else "NO"
    if isinstance(entry, int):
        return f"{entry:,}".replace(",", "\u2009")
    if isinstance(entry, float):
        return f"{entry:.4g}"
    if isinstance(entry, Formula):
        return pretty(entry.text)
    return entry.text if isinstance(entry, Numeral) else entry


def is_numeric(column: Iterable[Entry]) -> bool:
    """Whether a column holds only numbers and gaps, and is therefore aligned to the right."""
    entries = [entry for entry in column if entry is not None]
    numbers = [isinstance(e, int | float | Numeral) and not isinstance(e, bool) for e in entries]
    return bool(numbers) and all(numbers)


# Writers ---------------------------------------------------------------------------------------


def as_markdown(grids: list[Grid]) -> str:
    """GitHub's pipe tables, captions in bold above, notes below."""
    return "\n".join(_markdown(grid) for grid in grids)


def _markdown(grid: Grid) -> str:
    columns = list(zip(*grid.rows, strict=True))
    rules = ["---:" if is_numeric(column) else "---" for column in columns]
    lines = [f"**{grid.caption}**", "", _pipes(list(grid.heads)), _pipes(rules)]
    lines += [_pipes([plain(entry) for entry in row]) for row in grid.rows]
    lines += [f"\n{note}" for note in grid.notes]
    return "\n".join([*lines, ""])


def _pipes(cells: list[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def as_csv(grids: list[Grid]) -> str:
    """One CSV for all tables: each has a line of heads, and its id in the first column."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for grid in grids:
        writer.writerow(["table", *grid.heads])
        for row in grid.rows:
            writer.writerow([grid.id, *(_csv_value(entry) for entry in row)])
    return out.getvalue()


def _csv_value(entry: Entry) -> str:
    if isinstance(entry, bool):
        return str(entry).lower()
    if isinstance(entry, Formula | Numeral):
        return entry.text
    return "" if entry is None else str(entry)


def print_text(grids: list[Grid], console: Console) -> None:
    """Print tables to a rich console, wrapped to its width."""
    from rich.table import Table as RichTable

    for grid in grids:
        table = RichTable(title=grid.caption, title_justify="left", title_style="bold")
        cells = zip(*grid.rows, strict=True) if grid.rows else ((),) * len(grid.heads)
        columns = zip(grid.heads, cells, strict=True)
        for head, column in columns:
            numeric = is_numeric(column)
            table.add_column(head, justify="right" if numeric else "left", overflow="fold")
        for row in grid.rows:
            table.add_row(*(plain(entry) for entry in row))
        console.print(table)
        for note in grid.notes:
            console.print(note, style="dim", highlight=False)
        console.print()


def as_text(grids: list[Grid]) -> str:
    """The text of tables as for a terminal of 160 columns."""
    from rich.console import Console

    out = io.StringIO()
    print_text(grids, Console(file=out, width=160, highlight=False))
    return out.getvalue()
