"""A texel traced through a plan: pass by pass in columns of text, and as a record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpgpu_legacy.api.plan_trace import MOST_VISITS, Fate, PlanTrace, Read, Visit
from gpgpu_legacy.api.trace_table import (
    Columns,
    Number,
    StepRecord,
    head_line,
    number_text,
    numbers,
    step_lines,
    step_record,
    texel_place,
    value_lines,
)
from gpgpu_legacy.serial import Record, as_record

_WIDTH = 80  # of the columns, where no instructions are shown
_INDENT = 8


def plan_trace_text(trace: PlanTrace) -> str:
    """Each pass with the texels that it read, and the texel before and after it."""
    width, height = trace.size
    columns = _columns(trace)
    letters = "rgba"[: max((len(values) for _, values in _rows(trace)), default=0)]
    head = f"texel {trace.x},{trace.y} of {_listed(trace.textures)}, {width}×{height}"
    lines = [head_line(head, letters, columns)]
    for place, visit in enumerate(trace.visits):
        if trace.left_out and place == MOST_VISITS // 2:
            lines.append(f"… {_passes(trace.left_out)} left out …")
        lines += _visit_lines(trace, visit, columns)
    return "\n".join([*lines, *_summary(trace), ""])


def _columns(trace: PlanTrace) -> Columns:
    """As wide as its names and numbers are; with instructions, as wide as theirs."""
    if any(visit.steps for visit in trace.visits):
        return Columns()
    rows = list(_rows(trace))
    number = 1 + max((len(number_text(v)) for _, values in rows for v in values), default=0)
    most = max((len(values) for _, values in rows), default=0)
    names = _INDENT + 1 + max((len(name) for name, _ in rows), default=0)
    return Columns(names=min(names, max(_WIDTH - most * number, _INDENT)), number=number)


def _rows(trace: PlanTrace) -> Iterator[tuple[str, tuple[float, ...]]]:
    """What a trace prints in columns: names and values."""
    for visit in trace.visits:
        for read in visit.reads:
            yield _read_text(read), read.value
        for written in visit.written:
            yield f"{written.texture} before", written.before
            yield f"{written.texture} after{_by(visit)}", written.after


def _listed(names: Sequence[str], word: str = "and") -> str:
    *most, last = names
    return f"{', '.join(most)} {word} {last}" if most else last


def _by(visit: Visit) -> str:
    return f", by line {visit.line}" if visit.line and visit.fate is Fate.WRITTEN else ""


def _visit_lines(trace: PlanTrace, visit: Visit, columns: Columns) -> list[str]:
    lines = [_title(trace, visit)]
    if visit.fate is Fate.OUTSIDE:
        return [*lines, " " * 8 + "its rectangle does not cover the texel"]
    for step in visit.steps:
        lines += step_lines(step)
    for read in visit.reads if not visit.steps else ():
        lines += value_lines(_read_text(read), read.value, columns=columns)
    if visit.sources:
        lines.append(" " * 8 + f"may read {', '.join(visit.sources)}")
    if visit.fate is Fate.DISCARDED and not visit.steps:
        lines.append(" " * 8 + "a KIL discards the fragment")
    for written in visit.written:
        lines += value_lines(f"{written.texture} before", written.before, columns=columns)
        lines += value_lines(
            f"{written.texture} after{_by(visit)}", written.after, "→", columns=columns
        )
    return lines


def _title(trace: PlanTrace, visit: Visit) -> str:
    place = visit.place
    iteration = f", iteration {place.iteration} of {place.iterations}" if place.iterations else ""
    what = f"{visit.kind} {visit.program}".rstrip()
    to = "added to" if visit.blends else "to"
    targets = _listed([written.texture for written in visit.written])
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
    written = f"{trace.writing} of {_passes(trace.passes)} write {_listed(trace.textures, 'or')}"
    parts = [f"{count} {one if count == 1 else many}" for count, many, one in rest if count]
    return ["; ".join([written, *parts]) + "."]


def _passes(count: int) -> str:
    return "1 pass" if count == 1 else f"{count} passes"


# As a record ---------------------------------------------------------------------------------


class ReadRecord(Record):
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


class WrittenRecord(Record):
    """The texel in a target of a pass, before it and after it."""

    texture: str
    before: tuple[Number, ...]
    after: tuple[Number, ...]


class VisitRecord(Record, rename={"pass_": "pass"}):
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


class PlanTraceRecord(Record):
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
    return as_record(
        PlanTraceRecord,
        trace,
        texel=(trace.x, trace.y),
        visits=tuple(_visit_record(visit) for visit in trace.visits),
    )


def _visit_record(visit: Visit) -> VisitRecord:
    return as_record(
        VisitRecord,
        visit,
        visit.place,
        pass_=visit.place.number,
        program=visit.program or None,
        reads=tuple(_read_record(read) for read in visit.reads),
        written=tuple(
            as_record(WrittenRecord, w, before=numbers(w.before), after=numbers(w.after))
            for w in visit.written
        ),
        steps=tuple(step_record(step) for step in visit.steps) or None,
    )


def _read_record(read: Read) -> ReadRecord:
    return as_record(
        ReadRecord,
        read,
        read.texel,
        coordinates=None if read.coordinates is None else numbers(read.coordinates),
        value=numbers(read.value),
    )
