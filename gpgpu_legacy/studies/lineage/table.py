"""The lineage as a table."""

from __future__ import annotations

from gpgpu_legacy.measure.other_work import busy_notes
from gpgpu_legacy.present.grid import Grid
from gpgpu_legacy.studies.lineage.record import Lineage


def lineage_grid(lineage: Lineage) -> Grid:
    """A row for each method, in the order of history."""
    heads = (
        "year", "method", "from", "what it lacked then", "multiply-adds / byte", "GFLOPS here",
        "of the ceiling", "executor",
    )  # fmt: skip
    rows = tuple(
        (
            str(step.year),
            step.method,
            step.paper,
            step.lacked,
            step.multiply_adds_per_byte,
            step.gflops,
            _percent(step.fraction_of_ceiling),
            step.executor,
        )
        for step in lineage.steps
    )
    size = lineage.size
    caption = f"The product of two {size}×{size} matrices by every method, in the order of history."
    return Grid("lineage", caption, heads, rows, tuple(_notes(lineage)))


def _percent(fraction: float | None) -> str | None:
    return None if fraction is None else f"{100 * fraction:.3g} %"


def _notes(lineage: Lineage) -> list[str]:
    devices = dict.fromkeys(f"{step.executor}: {step.device}" for step in lineage.steps)
    notes = [
        *(f"Ceiling: {c.name} on {c.device}, {c.gflops:.4g} GFLOPS." for c in lineage.ceilings),
        f"Ran on {'; '.join(devices)}.",
        "Multiply-adds a byte are of the bytes that instructions ask for, before any cache.",
    ]
    notes += [
        f"{c.name} was disturbed: methods were faster, so no part of it is given."
        for c in lineage.ceilings
        if c.disturbed
    ]
    missing = [step for step in lineage.steps if step.reason]
    notes += [f"{step.method} was not run: {step.reason}." for step in missing]
    return [*notes, *busy_notes(lineage.busy_share)]
