"""Tables as HTML for notebooks; all text is escaped.

A notebook shows the HTML in its own page, light or dark: nothing here sets a text or background
colour.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpgpu_legacy.present.grid import Grid

ROWS_SHOWN = 60
"""The most rows of a table in a notebook; a line below says how many more there are."""


def grids_html(grids: Iterable[Grid]) -> str:
    """Tables, one below the other, each with its caption and its notes."""
    return "".join(map(_grid_html, grids))


def _grid_html(grid: Grid) -> str:
    from gpgpu_legacy.present.grid import is_numeric, plain

    aligned = [
        "right" if is_numeric(column) else "left" for column in zip(*grid.rows, strict=True)
    ] or ["left"] * len(grid.heads)
    head = "".join(
        f'<th scope="col" style="text-align: {side}">{escape(text)}</th>'
        for text, side in zip(grid.heads, aligned, strict=True)
    )
    rows = "".join(
        "<tr>"
        + "".join(
            f'<td style="text-align: {side}">{escape(plain(entry))}</td>'
            for entry, side in zip(row, aligned, strict=True)
        )
        + "</tr>"
        for row in grid.rows[:ROWS_SHOWN]
    )
    notes = [*grid.notes]
    if len(grid.rows) > ROWS_SHOWN:
        notes.append(f"{len(grid.rows) - ROWS_SHOWN} more rows are not shown.")
    below = "".join(f"<p><small>{escape(note)}</small></p>" for note in notes)
    return (
        f'<div style="overflow-x: auto"><table><caption style="text-align: left">'
        f"{escape(grid.caption)}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody>"
        f"</table></div>{below}"
    )
