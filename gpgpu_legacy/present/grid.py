"""Tables as text for a terminal, markdown, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula to be set: sympy's notation, with * and **."""

    text: str


@dataclass(frozen=True, slots=True)
class Numeral:
    """Text in a column of numbers: a number as it was printed, or why there is none."""

    text: str


Entry = str | int | float | bool | Formula | Numeral | None


@dataclass(frozen=True, slots=True)
class Grid:
    """A table ready to be set: a caption, heads, rows of the same length, notes under it."""

    id: str
    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    notes: tuple[str, ...] = ()


# What stands in the tables -------------------------------------------------------------------


# How entries are written ---------------------------------------------------------------------

_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def pretty(formula: str) -> str:
    """A formula for people: 8*n**3*(b + 1)/b as 8n³(b + 1)/b."""
    text = re.sub(r"\*\*(\d+)", lambda power: power.group(1).translate(_SUPERSCRIPTS), formula)
    return re.sub(r"(?<=\d)\*(?=\d)", "·", text).replace("*", "")


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
    """Whether a column holds numbers and nothing else but gaps, and is set flush right."""
    entries = [entry for entry in column if entry is not None]
    numbers = [isinstance(e, int | float | Numeral) and not isinstance(e, bool) for e in entries]
    return bool(numbers) and all(numbers)


def as_markdown(made: list[Grid]) -> str:
    """GitHub's pipe tables, captions in bold above, notes below."""
    return "\n".join(_markdown(grid) for grid in made)


def _markdown(grid: Grid) -> str:
    columns = list(zip(*grid.rows, strict=True))
    rules = ["---:" if is_numeric(column) else "---" for column in columns]
    lines = [f"**{grid.caption}**", "", _pipes(list(grid.heads)), _pipes(rules)]
    lines += [_pipes([plain(entry) for entry in row]) for row in grid.rows]
    lines += [f"\n{note}" for note in grid.notes]
    return "\n".join([*lines, ""])


def _pipes(cells: list[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def as_csv(made: list[Grid]) -> str:
    """One CSV: a first column that names the table, and a head line for each table."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for grid in made:
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


def as_latex(made: list[Grid]) -> str:
    """A `table` environment each, with booktabs rules."""
    return "\n".join(_latex(grid) for grid in made)


def _latex(grid: Grid) -> str:
    columns = list(zip(*grid.rows, strict=True))
    layout = "".join("r" if is_numeric(column) else "l" for column in columns)
    lines = [
        r"\begin{table}",
        rf"\caption{{{_escape(grid.caption)}}}",
        rf"\begin{{tabular}}{{{layout}}}",
        r"\toprule",
        " & ".join(_escape(head) for head in grid.heads) + r" \\",
        r"\midrule",
        *(" & ".join(_latex_entry(entry) for entry in row) + r" \\" for row in grid.rows),
        r"\bottomrule",
        r"\end{tabular}",
        *(rf"\par\small {_escape(note)}" for note in grid.notes),
        r"\end{table}",
        "",
    ]
    return "\n".join(lines)


def _latex_entry(entry: Entry) -> str:
    if isinstance(entry, Formula):
        from sympy import latex, symbols, sympify

        names = {name: symbols(name, positive=True) for name in ("n", "b")}
        return f"${latex(sympify(entry.text, locals=names))}$"
    return _escape(plain(entry))


_LATEX_SPECIALS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\u2009": r"\,",
    "–": "--",
    "³": "$^3$",
    "⁹": "$^9$",
    "×": r"$\times$",
}


def _escape(text: str) -> str:
    return "".join(_LATEX_SPECIALS.get(character, character) for character in text)


def print_text(made: list[Grid], console: Any) -> None:
    """Print to a rich console, wrapped to its width."""
    from rich.table import Table as RichTable

    for grid in made:
        table = RichTable(title=grid.caption, title_justify="left", title_style="bold")
        columns = zip(grid.heads, zip(*grid.rows, strict=True), strict=True)
        for head, column in columns:
            numeric = is_numeric(column)
            table.add_column(head, justify="right" if numeric else "left", overflow="fold")
        for row in grid.rows:
            table.add_row(*(plain(entry) for entry in row))
        console.print(table)
        for note in grid.notes:
            console.print(note, style="dim", highlight=False)
        console.print()


def as_text(made: list[Grid]) -> str:
    """What `print_text` prints, 160 columns wide."""
    from rich.console import Console

    out = io.StringIO()
    print_text(made, Console(file=out, width=160, highlight=False))
    return out.getvalue()
