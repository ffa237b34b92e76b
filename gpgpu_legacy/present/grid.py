"""Results and their tables, and the writers of tables."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rich.cells import cell_len

from gpgpu_legacy import serial

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable


@dataclass(frozen=True)
class Formula:
    """A formula in sympy's notation, with * and **; writers typeset it."""

    text: str


@dataclass(frozen=True)
class Numeral:
    """Text that is aligned like a number: a number as printed, or why it is missing."""

    text: str


Entry = str | int | float | bool | Formula | Numeral | None


_CAPTION = 60  # characters of a caption that a repr shows


@dataclass(frozen=True, repr=False)
class Grid:
    """A table for any writer: a caption, heads, rows as long as the heads, and notes below."""

    id: str
    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        caption = self.caption if len(self.caption) <= _CAPTION else f"{self.caption[:_CAPTION]}…"
        return f"<Grid {self.id}: {caption!r}, {len(self.rows)} rows of {', '.join(self.heads)}>"

    def _repr_html_(self) -> str:
        """The table, for a notebook."""
        return grids_html([self])

    @property
    def columns(self) -> list[tuple[Entry, ...]]:
        """The entries below each head."""
        return [*zip(*self.rows, strict=True)] or [()] * len(self.heads)

    @property
    def numeric(self) -> list[bool]:
        """Whether each column holds only numbers and gaps, and is therefore aligned right."""
        return [*map(_is_numeric, self.columns)]


def not_run_grids(cases: Iterable[tuple[str, str]]) -> list[Grid]:
    """A table of the cases that were not run, with the reasons; no table if all were."""
    rows = tuple(cases)
    return [Grid("not-run", "Not run.", ("what", "why"), rows)] if rows else []


# Results ---------------------------------------------------------------------------------------


class Shown:
    """A record that has tables. JSON, HTML for notebooks and the command line come from them."""

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """The tables. whole: all of them; otherwise the short answer."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {' '.join(grid.caption for grid in self.grids()[:1])}>"

    def as_dict(self) -> dict[str, Any]:
        """The record as dicts, lists, numbers and strings; NaN and the infinities are None."""
        fields: dict[str, Any] = serial.plain(self)
        return fields

    def as_json(self) -> str:
        """The record as JSON; NaN and the infinities are null."""
        return serial.json_text(self)

    def _repr_html_(self) -> str:
        """The tables, for a notebook."""
        return grids_html(self.grids())


class Result(Shown, serial.Record):
    """A result of a verb or a study: a record with tables."""


class RecordedResult(Shown, serial.Recorded, kw_only=True):
    """A result that is kept in a file, with who wrote it, with what, and when."""


# How entries are written -----------------------------------------------------------------------

_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def pretty(formula: str) -> str:
    """A formula for people: 8*n**3*(b + 1)/b as 8n³(b + 1)/b, n*log(n, 2)**2 as n·log₂²n."""
    text = re.sub(r"log\((\w+), 2\)((\*\*\d+)?)", r"log₂\2\1", formula)
    text = re.sub(r"\*\*(\d+)", lambda power: power.group(1).translate(_SUPERSCRIPTS), text)
    return re.sub(_BETWEEN_WORDS, "·", text).replace("*", "")


_BETWEEN_WORDS = r"(?<=\d)\*(?=\d)|(?<=[a-zA-Z_]{2})\*|\*(?=[a-zA-Z_]{2})"
"""The multiplication signs that people need: between numbers, and beside longer names."""


def plain(entry: Entry) -> str:
    """An entry as people read it."""
    match entry:
        case None:
            return "–"
        case bool():
            return "yes" if entry else "NO"
        case int():
            return f"{entry:,}".replace(",", "\u202f")
        case float():
            return f"{entry:.4g}"
        case Formula():
            return pretty(entry.text)
    return entry.text if isinstance(entry, Numeral) else entry


def _is_numeric(column: Iterable[Entry]) -> bool:
    return {
        isinstance(entry, int | float | Numeral) and not isinstance(entry, bool)
        for entry in column
        if entry is not None
    } == {True}


# Writers ---------------------------------------------------------------------------------------


def as_markdown(grids: list[Grid]) -> str:
    """GitHub's pipe tables, captions in bold above, notes below."""
    lines = []
    for grid in grids:
        rules = ["---:" if is_numeric else "---" for is_numeric in grid.numeric]
        lines += [f"**{grid.caption}**", "", _pipes(grid.heads), _pipes(rules)]
        lines += [_pipes(map(plain, row)) for row in grid.rows]
        lines += [*(f"\n{note}" for note in grid.notes), ""]
    return "\n".join(lines)


def _pipes(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def as_csv(grids: list[Grid]) -> str:
    """One CSV for all tables: each has a line of heads, and its id in the first column."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for grid in grids:
        writer.writerow(["table", *grid.heads])
        for row in grid.rows:
            writer.writerow([grid.id, *map(_csv_value, row)])
    return out.getvalue()


def _csv_value(entry: Entry) -> str:
    match entry:
        case None:
            return ""
        case bool():
            return str(entry).lower()
        case Formula() | Numeral():
            return entry.text
    return str(entry)


def as_latex(grids: list[Grid]) -> str:
    """A `table` environment for each table, with the rules of booktabs."""
    lines = []
    for grid in grids:
        layout = "".join("r" if is_numeric else "l" for is_numeric in grid.numeric)
        lines += [
            r"\begin{table}",
            rf"\caption{{{_escape(grid.caption)}}}",
            rf"\begin{{tabular}}{{{layout}}}",
            r"\toprule",
            " & ".join(map(_escape, grid.heads)) + r" \\",
            r"\midrule",
            *(" & ".join(map(_latex_entry, row)) + r" \\" for row in grid.rows),
            r"\bottomrule",
            r"\end{tabular}",
            *(rf"\par\small {_escape(note)}" for note in grid.notes),
            r"\end{table}",
            "",
        ]
    return "\n".join(lines)


def _latex_entry(entry: Entry) -> str:
    if isinstance(entry, Formula):
        from sympy import Symbol, latex, sympify

        text = re.sub(r"log\((\w+), 2\)", r"\1__log2", entry.text)
        letters = re.findall(r"\b[a-zA-Z]\b", text)  # S and N are functions of sympy's
        logarithms = set(re.findall(r"\b(\w+)__log2\b", text))
        formula = sympify(text, locals={x: Symbol(x) for x in letters})
        names = {Symbol(f"{x}__log2"): rf"(\log_2 {x})" for x in logarithms}
        return f"${latex(formula, symbol_names=names)}$"
    return _escape(plain(entry))


_LATEX_SPECIALS = str.maketrans(
    {
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
        "\u202f": r"\,",
        "–": "--",
        "³": "$^3$",
        "⁹": "$^9$",
        "×": r"$\times$",
    }
)


def _escape(text: str) -> str:
    return text.translate(_LATEX_SPECIALS)


# HTML for notebooks: their own page decides about colours, light or dark -----------------------

ROWS_SHOWN = 60
"""The most rows of a table in a notebook; a line below says how many more there are."""


def grids_html(grids: Iterable[Grid]) -> str:
    """Tables, one below the other, each with its caption and its notes."""
    return "".join(map(_grid_html, grids))


def _grid_html(grid: Grid) -> str:
    aligned = ["right" if is_numeric else "left" for is_numeric in grid.numeric]

    def line(tag: str, entries: Iterable[Entry]) -> str:
        cells = zip(entries, aligned, strict=True)
        return "".join(
            f'<{tag} style="text-align: {side}">{escape(plain(entry))}</{tag[:2]}>'
            for entry, side in cells
        )

    head = line('th scope="col"', grid.heads)
    rows = "".join(f"<tr>{line('td', row)}</tr>" for row in grid.rows[:ROWS_SHOWN])
    notes = [*grid.notes]
    if len(grid.rows) > ROWS_SHOWN:
        notes.append(f"{len(grid.rows) - ROWS_SHOWN} more rows are not shown.")
    below = "".join(f"<p><small>{escape(note)}</small></p>" for note in notes)
    return (
        f'<div style="overflow-x: auto"><table><caption style="text-align: left">'
        f"{escape(grid.caption)}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody>"
        f"</table></div>{below}"
    )


# Text ------------------------------------------------------------------------------------------


def print_text(grids: list[Grid], console: Console) -> None:
    """Print tables to a rich console, each in the first of three ways that fits its width.

    Columns stand side by side; or those with the same entry in every row move to a line below; or
    each row is a block of lines. No number and no name is broken.
    """
    for grid in grids:
        _print_grid(grid, console)


def as_text(grids: list[Grid]) -> str:
    """The text of tables as for a terminal of 160 columns."""
    from rich.console import Console

    out = io.StringIO()
    print_text(
        grids,
        Console(file=out, width=160, highlight=False, emoji=False, color_system=None),
    )
    return out.getvalue()


class _Column(NamedTuple):
    """A column as text: its head and the entries below, and the side to which they are aligned."""

    texts: tuple[str, ...]
    justify: Literal["right", "left"]


def _print_grid(grid: Grid, console: Console) -> None:
    def tell(lines: Iterable[str], style: str = "dim") -> None:
        for line in lines:
            console.print(line, style=style, markup=False, soft_wrap=True)

    width = console.width
    columns = [
        _Column((head, *map(plain, column)), "right" if is_numeric else "left")
        for head, column, is_numeric in zip(grid.heads, grid.columns, grid.numeric, strict=True)
    ]
    same = [c for c in columns if len(c.texts) > 2 and len({*c.texts[1:]}) == 1]
    if grid.caption:
        tell(wrap(grid.caption, width), "bold")
    if (table := _framed(columns, width)) is not None:
        console.print(table, soft_wrap=True)
    elif (table := _framed([c for c in columns if c not in same], width)) is not None:
        console.print(table, soft_wrap=True)
        tell(_same(same, width))
    else:
        heads, *rows = zip(*(column.texts for column in columns), strict=True)
        for block in blocks(heads, rows, width):
            tell(["", *block], "")
        tell([""])
    for note in grid.notes:
        tell(wrap(note, width))
    console.print()


def _same(columns: list[_Column], width: int) -> list[str]:
    """The lines that tell of columns with the same entry in every row."""
    told = [column.texts[:2] for column in columns if column.texts[1]]
    if not told:
        return []
    pieces = [piece for head, text in told for piece in (head, f"{text},") if piece]
    return fill(["In every row:", *pieces[:-1], f"{pieces[-1][:-1]}."], width)


def _framed(columns: list[_Column], width: int) -> RichTable | None:
    """A table with lines between its columns; None if it is wider than `width`, or has none."""
    from rich.table import Table as RichTable
    from rich.text import Text

    room = widths([column.texts for column in columns], width - 3 * len(columns) - 1)
    if room is None or not columns:
        return None
    table, cells = RichTable(), []
    for (texts, justify), share in zip(columns, room, strict=True):
        head, *below = (Text("\n".join(wrap(text, share))) for text in texts)
        table.add_column(head, justify=justify, width=share, no_wrap=True)
        cells.append(below)
    for row in zip(*cells, strict=True):
        table.add_row(*row)
    return table


# The layout of text in a width ------------------------------------------------------------------

# Text is broken only at spaces, never within a number and never within an entry of at most _SHORT
# characters. A word that is wider than its column stays whole and overflows.
_LONG = 40  # this many characters with operators between them are a formula, not one number
_SHORT = 16  # a text of this many characters is one line
_MOST_LINES = 4  # about the most lines of an entry with columns side by side
_OPERATORS = frozenset({"=", "/", "×", "x", "·", "*", "+", "-", "−", "<", ">", "≤", "≥", "≈", "~"})


def wrap(text: str, width: int) -> list[str]:
    """The lines of a text in a column of that width."""
    return [part for line in text.split("\n") for part in fill(_parts(line), width)]


def fill(
    parts: Sequence[str], width: float, length: Callable[[str], float] = cell_len
) -> list[str]:
    """Lines of at most that width with the parts in a row; only a long formula is broken.

    length: of a text, in the unit of the width.
    """
    lines: list[str] = []
    for part in parts:
        if lines and length(f"{lines[-1]} {part}") <= width:
            lines[-1] += f" {part}"
        elif length(part) > max(width, _LONG) and len(words := part.split(" ")) > 1:
            lines += fill(words, width, length)
        else:
            lines.append(part)
    return lines


def _parts(line: str) -> list[str]:
    """The parts into which a line may be broken."""
    if cell_len(line) <= _SHORT:
        return [line]
    words = line.split(" ")
    parts = words[:1]
    for before, word in pairwise(words):
        # Words of one number or formula stay together.
        if {before, word} & _OPERATORS or not any(map(str.isalpha, before + word)):
            parts[-1] += f" {word}"
        else:
            parts.append(word)
    return parts


def widths(columns: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """The width of each column, side by side in `room` characters; None if they do not fit.

    columns: the texts of each, including its head. Short texts get one line if possible.
    """
    natural = [max(map(_natural, column)) for column in columns]
    if sum(natural) <= room:
        return natural
    given = [max(map(_least, column)) for column in columns]
    if (left := room - sum(given)) < 0:
        return None
    wanting = sorted(range(len(columns)), key=lambda i: natural[i] - given[i])
    for position, i in enumerate(wanting):
        share = min(natural[i] - given[i], left // (len(wanting) - position))
        given[i] += share
        left -= share
    return given


def _natural(text: str) -> int:
    return max(map(cell_len, text.split("\n")))


def _least(text: str) -> int:
    """The least width in which a text is legible beside others."""
    return max(_unbreakable(text), _natural(text) // _MOST_LINES)


def _unbreakable(text: str) -> int:
    return max(cell_len(part) for line in text.split("\n") for part in _parts(line))


def blocks(heads: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> Iterator[list[str]]:
    """The table turned: for each row a block, with a line for each column.

    Entries without text are left out. If a head and its entry do not fit into a line, the entry
    goes below its head.
    """
    indent = max(map(cell_len, heads)) + 2
    is_stacked = any(indent + _unbreakable(text) > room for row in rows for text in row)
    for row in rows:
        lines = []
        for head, text in zip(heads, row, strict=True):
            if not text:
                continue
            if is_stacked:
                lines += [*wrap(head, room), *(f"  {line}" for line in wrap(text, room - 2))]
            else:
                first, *others = wrap(text, room - indent)
                lines.append(f"{head}{' ' * (indent - cell_len(head))}{first}")
                lines += [" " * indent + line for line in others]
        yield lines
