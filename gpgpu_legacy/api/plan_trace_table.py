"""A texel traced through a plan: pass by pass in columns of text, and as a record."""

from __future__ import annotations

from gpgpu_legacy.api.plan_trace import MOST_VISITS, Fate, PlanTrace, Read, Visit
from gpgpu_legacy.api.trace_table import (
    Number,
    StepRecord,
    head_line,
    numbers,
    step_lines,
    step_record,
    texel_place,
    value_lines,
)
from gpgpu_legacy.serial import Record

_ROOM = 44  # columns for names beside values


def plan_trace_text(trace: PlanTrace) -> str:
    """Each pass with the texels that it read, and the texel before and after it."""
    width, height = trace.size
    names = " and ".join(trace.textures)
    channels = max((len(w.after) for visit in trace.visits for w in visit.written), default=0)
    head = f"texel {trace.x},{trace.y} of {names}, {width}×{height}"
    lines = [head_line(head, "rgba"[:channels], _ROOM)]
    for place, visit in enumerate(trace.visits):
        if trace.left_out and place == MOST_VISITS // 2:
            lines.append(f"… {_passes(trace.left_out)} left out …")
        lines += _visit_lines(trace, visit)
    return "\n".join([*lines, *_summary(trace), ""])


def _visit_lines(trace: PlanTrace, visit: Visit) -> list[str]:
    lines = [_title(trace, visit)]
    if visit.fate is Fate.OUTSIDE:
        return [*lines, " " * 8 + "its rectangle does not cover the texel"]
    for step in visit.steps:
        lines += step_lines(step)
    for read in visit.reads if not visit.steps else ():
        lines += value_lines(_read_text(read), read.value, room=_ROOM)
    if visit.sources:
        lines.append(" " * 8 + f"may read {', '.join(visit.sources)}")
    if visit.fate is Fate.DISCARDED and not visit.steps:
        lines.append(" " * 8 + "a KIL discards the fragment")
    by = f", by line {visit.line}" if visit.line and visit.fate is Fate.WRITTEN else ""
    for written in visit.written:
        lines += value_lines(f"{written.texture} before", written.before, room=_ROOM)
        lines += value_lines(f"{written.texture} after{by}", written.after, "→", _ROOM)
    return lines


def _title(trace: PlanTrace, visit: Visit) -> str:
    place = visit.place
    iteration = f", iteration {place.iteration} of {place.iterations}" if place.iterations else ""
    what = f"{visit.kind} {visit.program}".rstrip()
    to = "added to" if visit.blends else "to"
    targets = " and ".join(written.texture for written in visit.written)
    return f"pass {place.number} of {trace.passes}{iteration}: {what}, {to} {targets}"


def _read_text(read: Read) -> str:
    how = "around " if read.texel.linear else ""
    line = f", line {read.line}" if read.line else ""
    return f"reads {how}{read.texture} {texel_place(read.texel)}{line}"


def _summary(trace: PlanTrace) -> list[str]:
    """How many passes write the textures, and what those did that are not shown."""
    rest = (
        (trace.outside, "do not cover the texel", "does not cover the texel"),
        (trace.discarded, "discard its fragment", "discards its fragment"),
        (trace.unchanged, "leave the value and are not shown", "leaves the value and is not shown"),
    )
    written = f"{trace.writing} of {_passes(trace.passes)} write {' or '.join(trace.textures)}"
    parts = [f"{count} {one if count == 1 else many}" for count, many, one in rest if count]
    return ["; ".join([written, *parts]) + "."]


def _passes(count: int) -> str:
    return "1 pass" if count == 1 else f"{count} passes"


# As a record ---------------------------------------------------------------------------------


class ReadRecord(Record, frozen=True, kw_only=True):
    """A texel that the fragment looked up, or that a copy takes; see api/plan_trace.py."""

    texture: str
    x: int
    y: int
    layer: int
    linear: bool
    unit: int | None
    line: int | None
    coordinates: tuple[Number, ...] | None
    value: tuple[Number, ...]


class WrittenRecord(Record, frozen=True, kw_only=True):
    """The texel in a target of a pass, before it and after it."""

    texture: str
    before: tuple[Number, ...]
    after: tuple[Number, ...]


class VisitRecord(Record, frozen=True, kw_only=True, rename={"pass_": "pass"}):
    """A pass that writes one of the textures; see api/plan_trace.py.

    steps: what the fragment executed; None unless asked for.
    """

    pass_: int
    iteration: int | None
    kind: str
    program: str | None
    line: int | None
    fate: Fate
    blends: bool
    sources: tuple[str, ...]
    reads: tuple[ReadRecord, ...]
    written: tuple[WrittenRecord, ...]
    steps: tuple[StepRecord, ...] | None


class PlanTraceRecord(Record, frozen=True, kw_only=True):
    """A texel traced through a plan; see api/plan_trace.py. texel: its column and row."""

    plan: str
    executor: str
    arithmetic: str
    texel: tuple[int, int]
    textures: tuple[str, ...]
    size: tuple[int, int]
    passes: int
    writing: int
    outside: int
    discarded: int
    unchanged: int
    left_out: int
    visits: tuple[VisitRecord, ...]


def plan_trace_record(trace: PlanTrace) -> PlanTraceRecord:
    """A trace as it is written."""
    return PlanTraceRecord(
        plan=trace.plan,
        executor=trace.executor,
        arithmetic=trace.arithmetic,
        texel=(trace.x, trace.y),
        textures=trace.textures,
        size=trace.size,
        passes=trace.passes,
        writing=trace.writing,
        outside=trace.outside,
        discarded=trace.discarded,
        unchanged=trace.unchanged,
        left_out=trace.left_out,
        visits=tuple(_visit_record(visit) for visit in trace.visits),
    )


def _visit_record(visit: Visit) -> VisitRecord:
    return VisitRecord(
        pass_=visit.place.number,
        iteration=visit.place.iteration,
        kind=visit.kind,
        program=visit.program or None,
        line=visit.line,
        fate=visit.fate,
        blends=visit.blends,
        sources=visit.sources,
        reads=tuple(_read_record(read) for read in visit.reads),
        written=tuple(
            WrittenRecord(texture=w.texture, before=numbers(w.before), after=numbers(w.after))
            for w in visit.written
        ),
        steps=tuple(step_record(step) for step in visit.steps) or None,
    )


def _read_record(read: Read) -> ReadRecord:
    return ReadRecord(
        texture=read.texture,
        x=read.texel.x,
        y=read.texel.y,
        layer=read.texel.layer,
        linear=read.texel.linear,
        unit=read.texel.unit,
        line=read.line,
        coordinates=None if read.coordinates is None else numbers(read.coordinates),
        value=numbers(read.value),
    )
