"""A traced fragment: its instructions in columns of text, and as a record."""

from __future__ import annotations

import math
import textwrap

import numpy as np

from gpgpu_legacy.api.trace import Step, Texel, Trace
from gpgpu_legacy.isa.ir import COMPONENTS
from gpgpu_legacy.plan.textures import TextureKind
from gpgpu_legacy.serial import Record

WIDTH = 120
"""Columns of a trace."""

_COLUMN = 16  # the longest float32, -1.23456789e-38, and a space
_INDENT = 6


def trace_as_text(trace: Trace) -> str:
    """Every instruction with its operands, after swizzle and sign, and its result."""
    head = f"fragment {trace.x},{trace.y}"
    columns = "".join(letter.rjust(_COLUMN) for letter in COMPONENTS)
    lines = [head.ljust(WIDTH - 4 * _COLUMN) + columns]
    for step in trace.steps:
        lines += _step_lines(step)
    if trace.discarded:
        last = trace.steps[-1]
        lines.append(f"Discarded by instruction {last.number}, {last.text}")
    elif trace.fog:
        lines.append(f"OPTION {trace.fog} then mixes the colour with state.fog.color")
    for number, pixel in enumerate(trace.pixels):
        which = f"[{number}]" if len(trace.pixels) > 1 else ""
        kept = ", as before" if trace.discarded else ""
        lines += _values(f"the pixel{which}{kept}", pixel, "=")
    return "\n".join([*lines, ""])


def _step_lines(step: Step) -> list[str]:
    where = f"  # line {step.line}" if step.line else ""
    number = f"{step.number:>{_INDENT - 2}}  "
    indent = " " * (_INDENT + 4)
    lines = textwrap.wrap(step.text + where, WIDTH, initial_indent=number, subsequent_indent=indent)
    for operand in step.operands:
        lines += _values(operand.text, operand.value)
    if step.texel is not None:
        lines.append(" " * (_INDENT + 2) + _texel_text(step.texel))
    if step.discards:
        lines.append(" " * _INDENT + "! a component is negative: the fragment is discarded")
    elif step.result:
        lines += _values(step.destination, step.result, "→")
    return lines


def _values(name: str, values: tuple[float | None, ...], mark: str = " ") -> list[str]:
    """A name and its components in columns; on two lines where the name is long."""
    numbers = "".join(_number(value).rjust(_COLUMN) for value in values)
    left = f"{' ' * _INDENT}{mark} {name}"
    room = WIDTH - len(numbers)
    if len(left) < room:
        return [left.ljust(room) + numbers]
    return [
        *textwrap.wrap(
            left.strip(), WIDTH, initial_indent=" " * _INDENT, subsequent_indent=" " * (_INDENT + 2)
        ),
        " " * room + numbers,
    ]


def _number(value: float | None) -> str:
    """The shortest text that gives the same float32; a point where nothing was written."""
    return "." if value is None else str(np.float32(value)).removesuffix(".0")


_FACES = ("+x", "-x", "+y", "-y", "+z", "-z")


def _texel_text(texel: Texel) -> str:
    layers = {
        TextureKind.T3D: f", {texel.layer}",
        TextureKind.CUBE: f" of face {_FACES[texel.layer % 6]}",
    }
    place = f"{texel.x}" if texel.target is TextureKind.T1D else f"{texel.x}, {texel.y}"
    if texel.target is TextureKind.T3D:
        place += layers[TextureKind.T3D]
    face = layers[TextureKind.CUBE] if texel.target is TextureKind.CUBE else ""
    how = "a mix of the texels around" if texel.linear else "the texel"
    return f"reads {how} ({place}){face} of texture[{texel.unit}], {texel.target.value}"


# As a record ---------------------------------------------------------------------------------

Number = float | str | None
"""A number; the words nan, inf and -inf for what JSON has no number for; None if not written."""


class OperandRecord(Record, frozen=True, kw_only=True):
    """A source operand as the text has it, and its value after swizzle and sign."""

    text: str
    value: tuple[Number, ...]


class StepRecord(Record, frozen=True, kw_only=True):
    """An instruction executed on the fragment; see api/trace.py for the fields."""

    number: int
    line: int
    instruction: str
    operands: tuple[OperandRecord, ...]
    destination: str | None
    result: tuple[Number, ...] | None
    texel: Texel | None
    discards: bool


class TraceRecord(Record, frozen=True, kw_only=True):
    """A traced fragment. fragment: its column and row. pixels: a colour for each target."""

    fragment: tuple[int, int]
    discarded: bool
    fog: str | None
    steps: tuple[StepRecord, ...]
    pixels: tuple[tuple[Number, ...], ...]


def trace_record(trace: Trace) -> TraceRecord:
    """A trace as it is written."""
    return TraceRecord(
        fragment=(trace.x, trace.y),
        discarded=trace.discarded,
        fog=trace.fog or None,
        steps=tuple(_step_record(step) for step in trace.steps),
        pixels=tuple(_vector(pixel) for pixel in trace.pixels),
    )


def _step_record(step: Step) -> StepRecord:
    return StepRecord(
        number=step.number,
        line=step.line,
        instruction=step.text,
        operands=tuple(
            OperandRecord(text=operand.text, value=_vector(operand.value))
            for operand in step.operands
        ),
        destination=step.destination or None,
        result=_vector(step.result) if step.result else None,
        texel=step.texel,
        discards=step.discards,
    )


def _vector(values: tuple[float | None, ...]) -> tuple[Number, ...]:
    return tuple(v if v is None or math.isfinite(v) else str(v) for v in values)
