"""The lineage as a table and as a chart."""

from __future__ import annotations

from gpgpu_legacy.present.grid import Grid
from gpgpu_legacy.studies.lineage.model import Step


def lineage_grid(size: int, steps: list[Step]) -> Grid:
    """The lineage as a table ready to be set."""
    heads = (
        "year",
        "method",
        "from",
        "what it lacked then",
        "multiply-adds / byte",
        "GFLOPS here",
        "of the ceiling",
        "executor",
    )
    rows = tuple(
        (
            str(step.method.year),
            step.method.name,
            step.method.paper,
            step.method.lacked,
            step.intensity,
            step.run.gflops,
            None if step.fraction is None else f"{100 * step.fraction:.3g} %",
            step.run.executor,
        )
        for step in steps
    )
    ceilings = {step.ceiling.name: step.ceiling for step in steps}
    devices = dict.fromkeys(f"{step.run.executor}: {step.run.device}" for step in steps)
    notes = (
        *(f"Ceiling: {c.name} on {c.device}, {c.gflops:.4g} GFLOPS." for c in ceilings.values()),
        f"Ran on {'; '.join(devices)}.",
        "Multiply-adds a byte are of the bytes that instructions ask for, before any cache.",
    )
    caption = f"The product of two {size}×{size} matrices by every method, in the order of history."
    return Grid("lineage", caption, heads, rows, notes)
