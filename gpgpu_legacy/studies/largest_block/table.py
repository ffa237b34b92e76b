"""The largest block that fits a chip, as a table."""

from __future__ import annotations

from gpgpu_legacy.chips.profile import Profile
from gpgpu_legacy.present.grid import Entry, Grid, Numeral
from gpgpu_legacy.studies.largest_block.model import Fit, Largest, Maximised

_NO_LARGER = {
    Maximised.BLOCK: "a larger block is of no use here",
    Maximised.SIZE: "no larger size was asked for",
}


def fit_grids(fit: Fit, chip: Profile) -> list[Grid]:
    """The largest that loads by each side's limits, and why the next one does not."""
    heads = ("program", "limits", fit.what.value, "answer", "certain", "why no larger")
    rows = tuple(_fit_row(fit, largest) for largest in fit.largest)
    commands = dict.fromkeys(largest.command for largest in fit.largest if largest.command)
    notes = ("To run it here:", *commands) if commands else ()
    if any(largest.certain != largest.value for largest in fit.largest):
        notes += (f"Certain: the largest {fit.what.value} that loads whatever is not known.",)
    unknown = sorted({limit for largest in fit.largest for limit in largest.unknown})
    if unknown:
        notes += (f"Not known for this chip: {', '.join(unknown)}.",)
    size = "×".join(map(str, (fit.shape.m, fit.shape.l, fit.shape.n)))
    caption = f"{fit.method} on {chip.called}, M×L×N = {size}: the largest {fit.what.value}."
    return [Grid("fit", caption, heads, rows, (*notes, *chip.notes))]


def _fit_row(fit: Fit, largest: Largest) -> tuple[Entry, ...]:
    return (
        _variant(largest),
        largest.limits.value,
        _number(largest.value),
        largest.answer.value,
        _number(largest.certain),
        largest.why or _NO_LARGER[fit.what],
    )


def _number(value: int | None) -> Numeral:
    return Numeral("none" if value is None else str(value))


def _variant(largest: Largest) -> str:
    steps = largest.coordinates_first
    return largest.program if steps is None else f"{largest.program}, {steps} steps at a time"
