"""How the text of a table is laid out in a given width: the widths of columns, and lines.

Text is broken only at spaces, never within a number and never within an entry of at most 16
characters. A word that is wider than its column stays whole and overflows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rich.cells import cell_len

_LONG = 40  # this many characters with operators between them are a formula, not one number
_SHORT = 16  # a text of this many characters is one line
_MOST_LINES = 4  # about the most lines of an entry with columns side by side
_OPERATORS = frozenset({"=", "/", "×", "x", "·", "*", "+", "-", "−", "<", ">", "≤", "≥", "≈", "~"})


def wrap(text: str, width: int) -> list[str]:
    """The lines of a text in a column of that width."""
    lines = []
    for line in text.split("\n"):
        lines += [line] if cell_len(line) <= width else fill(_parts(line), width)
    return lines


def fill(parts: Sequence[str], width: int) -> list[str]:
    """Lines of at most that width with the parts in a row; only a long formula is broken."""
    lines: list[str] = []
    for part in parts:
        if lines and cell_len(f"{lines[-1]} {part}") <= width:
            lines[-1] += f" {part}"
        elif cell_len(part) > max(width, _LONG) and len(words := part.split(" ")) > 1:
            lines += fill(words, width)
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
        if _belongs(before, word):
            parts[-1] += f" {word}"
        else:
            parts.append(word)
    return parts


def _belongs(before: str, word: str) -> bool:
    """Whether two words belong to one number or formula."""
    if before in _OPERATORS or word in _OPERATORS:
        return True
    return not any(map(str.isalpha, before + word))


def widths(columns: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """The width of each column, side by side in `room` characters; None if they do not fit.

    columns: the texts of each, including its head. Short texts get one line if possible.
    """
    natural = [max(map(_natural, column), default=0) for column in columns]
    if sum(natural) <= room:
        return natural
    given = [max(map(_least, column), default=0) for column in columns]
    left = room - sum(given)
    if left < 0:
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
    """The table turned: for each row the lines of a block, which has a line for each column.

    Entries without text are left out. If a head and its entry do not fit into a line, the entry
    goes below its head.
    """
    indent = max(map(cell_len, heads), default=0) + 2
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
