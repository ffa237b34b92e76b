"""A traced fragment: its instructions in columns of text, and as a record."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass

import numpy as np

from gpgpu_legacy.api.trace import Step, Texel, Trace
from gpgpu_legacy.isa.ir import COMPONENTS
from gpgpu_legacy.plan.textures import TextureKind
from gpgpu_legacy.serial import Record, as_record

WIDTH = 120
"""Columns of a trace."""

_COLUMN = 16  # the longest float32, -1.23456789e-38, and a space
_INDENT = 6


@dataclass(frozen=True)
class Columns:
    """How wide the columns of a trace are: that of names, and each of numbers."""

    names: int = WIDTH - len(COMPONENTS) * _COLUMN
    number: int = _COLUMN


_WIDE = Columns()


def trace_as_text(trace: Trace) -> str:
    """Every instruction with its operands, after swizzle and sign, and its result."""
    lines = [head_line(f"fragment {trace.x},{trace.y}")]
    for step in trace.steps:
        lines += step_lines(step)
    if trace.discarded:
        last = trace.steps[-1]
        lines.append(f"Discarded by instruction {last.number}, {last.text}")
    elif trace.fog:
        lines.append(f"OPTION {trace.fog} then mixes the colour with state.fog.color")
    for number, pixel in enumerate(trace.pixels):
        which = f"[{number}]" if len(trace.pixels) > 1 else ""
        kept = ", as before" if trace.discarded else ""
        lines += value_lines(f"the pixel{which}{kept}", pixel, "=")
    return "\n".join([*lines, ""])


def head_line(text: str, letters: str = COMPONENTS, columns: Columns = _WIDE) -> str:
    """A text, and the heads of columns; on two lines where the text is long."""
    heads = "".join(letter.rjust(columns.number) for letter in letters)
    between = "" if len(text) <= columns.names else "\n" + " " * columns.names
    return text.ljust(columns.names) + between + heads


def step_lines(step: Step) -> list[str]:
    """An instruction, its operands and its result, each with a name and components in columns."""
    where = f"  # line {step.line}" if step.line else ""
    number = f"{step.number:>{_INDENT - 2}}  "
    indent = " " * (_INDENT + 4)
    lines = textwrap.wrap(step.text + where, WIDTH, initial_indent=number, subsequent_indent=indent)
    for operand in step.operands:
        lines += value_lines(operand.text, operand.value)
    if step.texel is not None:
        lines.append(" " * (_INDENT + 2) + _texel_text(step.texel))
    if step.discards:
        lines.append(" " * _INDENT + "! a component is negative: the fragment is discarded")
    elif step.result:
        lines += value_lines(step.destination, step.result, "→")
    return lines


def value_lines(
    name: str,
    values: tuple[float | None, ...],
    mark: str = " ",
    columns: Columns = _WIDE,
) -> list[str]:
    """A name and its components in columns; on two lines where the name is long."""
    cells = "".join(number_text(value).rjust(columns.number) for value in values)
    left = f"{' ' * _INDENT}{mark} {name}"
    if len(left) <= columns.names:
        return [left.ljust(columns.names) + cells]
    return [
        *textwrap.wrap(
            left.strip(), WIDTH, initial_indent=" " * _INDENT, subsequent_indent=" " * (_INDENT + 2)
        ),
        " " * columns.names + cells,
    ]


def number_text(value: float | None) -> str:
    """The shortest text that gives the same float32; a point where nothing was written."""
    return "." if value is None else str(np.float32(value)).removesuffix(".0")


_FACES = ("+x", "-x", "+y", "-y", "+z", "-z")


def _texel_text(texel: Texel) -> str:
    how = "a mix of the texels around" if texel.linear else "the texel"
    return f"reads {how} {texel_place(texel)} of texture[{texel.unit}], {texel.target.value}"


def texel_place(texel: Texel) -> str:
    """The column, row and layer of a texel, as in `(3, 4)` and `(3, 4) of face -x`."""
    match texel.target:
        case TextureKind.T1D:
            return f"({texel.x})"
        case TextureKind.T3D:
            return f"({texel.x}, {texel.y}, {texel.layer})"
        case TextureKind.CUBE:
            return f"({texel.x}, {texel.y}) of face {_FACES[texel.layer % len(_FACES)]}"
    return f"({texel.x}, {texel.y})"


# As a record ---------------------------------------------------------------------------------

Number = float | str | None
"""A number; the words nan, inf and -inf for what JSON has no number for; None if not written."""


class OperandRecord(Record):
    """A source operand as the text has it, and its value after swizzle and sign."""

    text: str
    value: tuple[Number, ...]


class StepRecord(Record):
    """An instruction executed on the fragment; see api/trace.py for the fields."""

    number: int
    line: int
    instruction: str
    operands: tuple[OperandRecord, ...]
    destination: str | None
    result: tuple[Number, ...] | None
    texel: Texel | None
    discards: bool


class TraceRecord(Record):
    """A traced fragment. fragment: its column and row. pixels: a colour for each target."""

    fragment: tuple[int, int]
    discarded: bool
    fog: str | None
    steps: tuple[StepRecord, ...]
    pixels: tuple[tuple[Number, ...], ...]


def trace_record(trace: Trace) -> TraceRecord:
    """A trace as it is written."""
    return as_record(
        TraceRecord,
        trace,
        fragment=(trace.x, trace.y),
        fog=trace.fog or None,
        steps=tuple(step_record(step) for step in trace.steps),
        pixels=tuple(numbers(pixel) for pixel in trace.pixels),
    )


def step_record(step: Step) -> StepRecord:
    """An instruction as it is written."""
    return as_record(
        StepRecord,
        step,
        instruction=step.text,
        operands=tuple(
            as_record(OperandRecord, operand, value=numbers(operand.value))
            for operand in step.operands
        ),
        destination=step.destination or None,
        result=numbers(step.result) if step.result else None,
    )


def numbers(values: tuple[float | None, ...]) -> tuple[Number, ...]:
    """A vector as it is written."""
    return tuple(v if v is None or math.isfinite(v) else str(v) for v in values)
