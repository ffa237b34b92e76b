"""The output of `gpgpu-legacy exec`: a record, or tables."""

from __future__ import annotations

import numpy as np

from gpgpu_legacy.api.seconds import Seconds
from gpgpu_legacy.api.trace import Trace
from gpgpu_legacy.api.trace_table import TraceRecord, trace_record
from gpgpu_legacy.present.grid import Grid
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.prepared import F32, Timings
from gpgpu_legacy.serial import Record, as_record, fields_of


class ChannelRecord(Record):
    """Range and mean of a channel's finite values (None without any); how many are not finite."""

    min: float | None
    max: float | None
    mean: float | None
    not_finite: int


class BufferRecord(Record):
    """The four channels of a draw buffer."""

    r: ChannelRecord
    g: ChannelRecord
    b: ChannelRecord
    a: ChannelRecord


class ProgramRun(Record):
    """A run of a program.

    size: width and height in pixels. discarded: by KIL, fragments of the last pass.
    """

    executor: str
    device: str
    size: tuple[int, int]
    seconds: Seconds
    discarded: int
    buffers: tuple[BufferRecord, ...]


class TracedRun(ProgramRun):
    """A run of a program in which one fragment was traced."""

    trace: TraceRecord


def program_run(
    images: F32, discarded: int, executor: Executor, timings: Timings, traced: Trace | None = None
) -> ProgramRun:
    """A run as it is written. images: (buffers, height, width, 4)."""
    _, height, width, _ = images.shape
    run = ProgramRun(
        executor=executor.name,
        device=executor.device(),
        size=(width, height),
        seconds=as_record(Seconds, timings),
        discarded=discarded,
        buffers=tuple(_buffer(image) for image in images),
    )
    if traced is None:
        return run
    return as_record(TracedRun, run, trace=trace_record(traced))


def _buffer(image: F32) -> BufferRecord:
    r, g, b, a = (_channel(image[..., channel]) for channel in range(4))
    return BufferRecord(r=r, g=g, b=b, a=a)


def _channel(values: F32) -> ChannelRecord:
    finite = values[np.isfinite(values)].astype(np.float64)
    return ChannelRecord(
        min=float(finite.min()) if finite.size else None,
        max=float(finite.max()) if finite.size else None,
        mean=float(finite.mean()) if finite.size else None,
        not_finite=int(values.size - finite.size),
    )


def run_grids(run: ProgramRun, name: str) -> list[Grid]:
    """A run as tables, one for each draw buffer. name: of the program."""
    (width, height), seconds = run.size, run.seconds
    notes = (
        f"Run by {run.executor} on {run.device} in {seconds.compute_s * 1e3:.4g} ms, prepared in "
        f"{seconds.prepare_s * 1e3:.4g} ms.",
        f"{run.discarded} of {width * height} fragments discarded.",
    )
    heads = ("channel", "min", "max", "mean", "not finite")
    grids = []
    for number, buffer in enumerate(run.buffers):
        channels: dict[str, ChannelRecord] = fields_of(buffer)
        rows = tuple((name, *fields_of(channel).values()) for name, channel in channels.items())
        which = f", result.color[{number}]" if len(run.buffers) > 1 else ""
        is_last = number == len(run.buffers) - 1
        caption = f"{name}: {width}×{height}{which}"
        grids.append(Grid(f"buffer-{number}", caption, heads, rows, notes if is_last else ()))
    return grids
