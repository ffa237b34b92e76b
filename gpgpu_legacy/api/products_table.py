"""The output of `gpgpu-legacy run`: a record, or lines of text."""

from __future__ import annotations

from math import isfinite

from gpgpu_legacy.api.follow import Follower
from gpgpu_legacy.api.products import Run, RunRecord
from gpgpu_legacy.isa.arithmetic import FP32
from gpgpu_legacy.present.grid import Grid, Numeral
from gpgpu_legacy.serial import Record, as_record


class SightingRecord(Record, rename={"pass_": "pass"}):
    """An element's value after a pass that wrote it. value: None if it is not finite."""

    pass_: int
    kind: str
    texture: str
    value: float | None


class FollowedRunRecord(RunRecord):
    """A run in which one element was followed from pass to pass."""

    follow: tuple[SightingRecord, ...]


def run_record(run: Run, follower: Follower | None = None, *, check: bool = True) -> RunRecord:
    """The run as it is written; with a follower, its element's values too.

    check: whether to compute the error against float64.
    """
    record = run.record(check=check)
    if follower is None:
        return record
    sightings = tuple(
        as_record(
            SightingRecord,
            sighting,
            pass_=sighting.number,
            value=sighting.value if isfinite(sighting.value) else None,
        )
        for sighting in follower.sightings
    )
    return as_record(FollowedRunRecord, record, follow=sightings)


def run_text(run: Run, *, check: bool = True) -> str:
    """The run in lines, each with a name. check: whether to state the error."""
    rows = run_rows(run, check=check)
    width = max(len(name) for name, _ in rows)
    return "".join(f"{name:<{width}}  {text}\n" for name, text in rows)


Rows = list[tuple[str, str]]


def run_rows(run: Run, *, check: bool = True) -> Rows:
    """Names, and what is known of a run. check: whether to state the error."""
    rows = [*_what_ran(run), *_times(run), *_counts(run)]
    if check:
        error = f"{run.max_relative_error:.3g} of the largest element (float64)"
        rows.append(("largest error", error))
    return rows


def _what_ran(run: Run) -> Rows:
    options, shape = run.options, run.shape
    accumulate = options.accumulate and options.accumulate.value
    chosen = (
        ("block", options.block),
        ("tile", options.tile),
        ("accumulate", accumulate),
        ("format", options.texture_format),
    )
    words = ", ".join(f"{name} {value}" for name, value in chosen if value is not None)
    rows = [("method", f"{run.method} ({words})")]
    if run.arithmetic != FP32.name:
        rows.append(("arithmetic", run.arithmetic))
    rows.append(("product", f"{shape.m}×{shape.l} by {shape.l}×{shape.n}"))
    rows.append(("executor", f"{run.executor} on {run.device}"))
    return rows


def _times(run: Run) -> Rows:
    seconds, gflops, rate = run.seconds, run.gflops, run.gigabytes_per_s
    compute = [
        f"{seconds.compute_s * 1e3:.4g} ms",
        *([f"{gflops:.4g} GFLOPS"] if gflops else []),
        *([f"{rate:.4g} GB/s requested"] if rate else []),
    ]
    return [
        ("prepare", f"{seconds.prepare_s * 1e3:.4g} ms, once"),
        ("compute", ", ".join(compute)),
        (
            "transfer",
            f"{seconds.upload_s * 1e3:.4g} ms up, {seconds.readback_s * 1e3:.4g} ms back",
        ),
    ]


def _counts(run: Run) -> Rows:
    counts = run.counts
    executed = {
        "arithmetic": counts.arithmetic,
        "lookups": counts.lookup,
        "global loads": counts.global_loads,
        "global stores": counts.global_stores,
        "shared loads": counts.shared_loads,
        "shared stores": counts.shared_stores,
        "barriers": counts.barriers,
    }
    rows = []
    if counts.passes:
        rows.append(("passes", f"{counts.passes:,}, with {counts.fragments:,} fragments in all"))
    if counts.dispatches:
        text = f"{counts.dispatches:,}, with {counts.invocations:,} invocations in all"
        rows.append(("dispatches", text))
    instructions = ", ".join(f"{count:,} {name}" for name, count in executed.items() if count)
    rows.append(("instructions", instructions))
    copied = f"{counts.bytes_requested:,} requested, {counts.copy_bytes:,} copied"
    return [*rows, ("bytes", copied)]


def follow_grid(follower: Follower) -> Grid:
    """The followed element's value after each pass that wrote it."""
    place = follower.place
    row, column = follower.element
    caption = (
        f"element {row},{column}: texel x {place.x}, y {place.y}, channel {'rgba'[place.channel]}"
    )
    rows = tuple(
        (str(sighting.number), sighting.kind, sighting.texture, Numeral(f"{sighting.value:.9g}"))
        for sighting in follower.sightings
    )
    return Grid("follow", caption, ("pass", "kind", "texture", "value"), rows)
