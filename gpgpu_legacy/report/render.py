"""Tables as text for a terminal, markdown, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from gpgpu_legacy.papers.schema import papers
from gpgpu_legacy.report.tables import Cell, Measured, MethodCost, Row, Table


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


def grids(tables: list[Table], costs: list[MethodCost] | None = None) -> list[Grid]:
    """One grid a table, one of every method's costs, and one of what was measured, if anything."""
    made = [_analysis(table) for table in tables]
    if costs:
        made.append(_every_method(costs, tables[0]))
    measured = {m: table for table in tables for row in table.rows for m in row.measured}
    if measured:
        made.append(_measured(list(measured), tables[0]))
    return made


_OWN_COLUMNS: dict[str, tuple[tuple[str, Callable[[Row], Entry]], ...]] = {
    "bytes_requested": (
        ("copied, bytes", lambda row: row.counts.copy_bytes),
        ("geometry, bytes", lambda row: row.counts.geometry_bytes),
    ),
    "arithmetic": (
        ("lookups / fragment", lambda row: row.lookups_per_fragment),
        ("program with END", lambda row: row.program_length + 1),
    ),
}


def _analysis(table: Table) -> Grid:
    published = table.published
    own = _OWN_COLUMNS[published.quantity]
    heads = (
        "method",
        "passes",
        "fragments / pass",
        f"{published.unit} / fragment",
        f"total {published.unit}",
        "published total",
        "recovered total",
        "agrees",
        *(head for head, _ in own),
    )
    rows = tuple(
        (
            row.method,
            row.passes.value,
            row.fragments_per_pass.value,
            row.per_fragment.value,
            row.total.value,
            Formula(row.total.published),
            Formula(str(row.total.counted)) if row.total.counted is not None else "none found",
            row.agrees,
            *(value(row) for _, value in own),
        )
        for row in table.rows
    )
    paper = next(p for p in papers() if published.id.startswith(p.id))
    number = published.id.rsplit("-", 1)[-1]
    caption = (
        f"{paper.short}, Table {number} ({published.where}): {published.caption} "
        f"Values at n = {table.size}, b = {table.block}."
    )
    return Grid(published.id, caption, heads, rows, (published.note, *_differences(table)))


def _differences(table: Table) -> list[str]:
    """A line for every column that does not agree, with both formulas."""
    columns: tuple[tuple[str, Callable[[Row], Cell]], ...] = (
        ("passes", lambda row: row.passes),
        ("fragments / pass", lambda row: row.fragments_per_pass),
        (f"{table.published.unit} / fragment", lambda row: row.per_fragment),
        ("total", lambda row: row.total),
    )
    return [
        f"{row.method}, {name}: published {column(row).published}, counted {column(row).counted}."
        for row in table.rows
        for name, column in columns
        if not column(row).agrees
    ]


def _every_method(costs: list[MethodCost], table: Table) -> Grid:
    rules = [name for name, _ in costs[0].transacted]
    heads = (
        "method",
        "year",
        "b",
        "passes or dispatches",
        "arithmetic",
        "lookups or loads",
        "bytes requested",
        "multiply-adds / byte",
        "shared loads",
        *(f"bytes transacted, {name}" for name in rules),
    )
    rows = tuple(
        (
            cost.method.name,
            str(cost.method.year),
            cost.block,
            cost.counts.passes + cost.counts.dispatches,
            cost.counts.arithmetic,
            cost.counts.lookup + cost.counts.global_loads,
            cost.counts.bytes_requested,
            table.size**3 / cost.counts.bytes_requested,
            cost.counts.shared_loads or None,
            *(transacted for _, transacted in cost.transacted),
        )
        for cost in costs
    )
    notes = (
        "Bytes transacted are of global memory, under a chip's coalescing rule: cc1.1 is the "
        "GeForce 9400M's, fermi the Quadro 4000's. Fragment methods have none, and a single "
        "invocation is followed only where it is short.",
    )
    return Grid("every-method", f"Every method, counted at n = {table.size}.", heads, rows, notes)


def _measured(measured: list[Measured], table: Table) -> Grid:
    heads = ("method", "executor", "seconds", "GFLOPS", "GB/s requested", "device")
    rows = tuple(
        (m.method, m.executor, m.seconds, m.gflops, m.gigabytes_per_s, m.device) for m in measured
    )
    caption = f"Measured here at n = {table.size}, b = {table.block}, the framebuffer copied to F."
    notes = (
        "Seconds are of the passes alone; GFLOPS are 2n³ over them, GB/s are Table 1's bytes "
        "(10⁹) over them.",
    )
    return Grid("measured", caption, heads, rows, notes)


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
