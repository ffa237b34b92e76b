"""The largest block that fits a chip, as a table and as JSON."""

from __future__ import annotations

from typing import Any

from gpgpu_legacy.chips.verdict import Answer
from gpgpu_legacy.present.grid import Entry, Grid, Numeral
from gpgpu_legacy.studies.largest_block.model import Fit, Largest, What

_NO_LARGER = {
    What.BLOCK: "no larger block is of use here",
    What.SIZE: "no larger size was asked for",
}


def fit_grids(fit: Fit) -> list[Grid]:
    """The largest that loads by each side's limits, and why the next does not."""
    heads = ("program", "limits", fit.what.value, "answer", "why no more")
    rows = tuple(_fit_row(fit, largest) for largest in fit.found)
    runs = [each for each in fit.found if each.at and each.at.answer is not Answer.DOES_NOT_LOAD]
    best = ("To run it here:", *dict.fromkeys(each.command for each in runs)) if runs else ()
    unknown = sorted({row.limit for each in fit.found if each.at for row in each.at.unknown})
    if unknown:
        best += (f"Not known of this chip: {', '.join(unknown)}.",)
    size = "×".join(map(str, (fit.shape.m, fit.shape.l, fit.shape.n)))
    caption = f"{fit.method} on {fit.chip.called}, M×L×N = {size}: the largest {fit.what.value}."
    return [Grid("fit", caption, heads, rows, (*best, *fit.chip.notes))]


def _fit_row(fit: Fit, largest: Largest) -> tuple[Entry, ...]:
    return (
        _variant(largest),
        largest.side.value,
        Numeral("none" if largest.value is None else str(largest.value)),
        largest.answer.value,
        largest.why or _NO_LARGER[fit.what],
    )


def _variant(largest: Largest) -> str:
    group = largest.coordinates_first
    return largest.variant if group is None else f"{largest.variant}, {group} steps' at a time"


def fit_as_json(fit: Fit) -> dict[str, Any]:
    """The same for other programs."""
    return {
        "method": fit.method,
        "chip": fit.chip.name,
        "shape": {"m": fit.shape.m, "l": fit.shape.l, "n": fit.shape.n},
        "what": fit.what.value,
        "largest": [
            {
                "program": each.variant,
                "limits": each.side.value,
                "value": each.value,
                "coordinates_first": each.coordinates_first,
                "answer": each.answer.value,
                "why_no_more": list(each.over),
                "command": each.command,
            }
            for each in fit.found
        ],
    }
