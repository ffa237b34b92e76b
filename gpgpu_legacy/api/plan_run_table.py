"""The output of `gpgpu-legacy plan run`: tables."""

from __future__ import annotations

from gpgpu_legacy.api.plan_run import PlanRunRecord
from gpgpu_legacy.present.grid import Grid


def run_grids(run: PlanRunRecord, caption: str) -> list[Grid]:
    """A run as tables: its outputs, its times, and what was counted. caption: of the plan."""
    return [_outputs(run, caption), _times(run), _counts(run)]


def _outputs(run: PlanRunRecord, caption: str) -> Grid:
    rows = tuple(
        (name, " × ".join(map(str, output.shape)), output.min, output.max)
        for name, output in run.outputs.items()
    )
    notes = [f"Run by {run.executor} on {run.device}, in {run.arithmetic}."]
    if run.max_error is not None:
        notes.append(f"The largest error against the reference function is {run.max_error:.2g}.")
    return Grid("outputs", caption, ("output", "shape", "min", "max"), rows, tuple(notes))


def _times(run: PlanRunRecord) -> Grid:
    seconds = run.seconds
    rows = tuple(
        (name, 1e3 * value)
        for name, value in (
            ("prepare", seconds.prepare_s),
            ("upload", seconds.upload_s),
            ("compute", seconds.compute_s),
            ("read back", seconds.readback_s),
        )
    )
    return Grid("seconds", "Times", ("part", "ms"), rows)


def _counts(run: PlanRunRecord) -> Grid:
    counts = run.counts
    rows = (
        ("passes", counts.passes),
        ("fragments", counts.fragments),
        ("arithmetic instructions", counts.arithmetic),
        ("lookups", counts.lookup),
        ("bytes requested", counts.bytes_requested),
        ("dispatches", counts.dispatches),
    )
    kept = tuple(row for row in rows if row[1])
    return Grid("counts", "Counted", ("what", "number"), kept)
