"""What is said of a single fragment program: its counts, its resources, a run of it, a trace."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpgpu_legacy.api.trace import Step, Texel, Trace
from gpgpu_legacy.count.instructions import count_instructions
from gpgpu_legacy.count.resources import resources
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.ir import COMPONENTS, Program
from gpgpu_legacy.isa.opcodes import OPCODES
from gpgpu_legacy.plan.formats import FORMATS, RGBA32F, Format
from gpgpu_legacy.plan.plan import TextureKind
from gpgpu_legacy.present.grid import Grid
from gpgpu_legacy.runtime.executor import F32, Timings

WIDTH = 120
"""Columns of a trace."""

# Counts --------------------------------------------------------------------------------------

TARGET = "target"


@dataclass(frozen=True)
class Formats:
    """The texel formats that bytes are counted with: of the textures, by unit, and the target."""

    textures: Mapping[int, Format]
    target: Format


def formats_of(program: Program, given: Mapping[str, str]) -> Formats:
    """Formats from names: by unit ("0"), of the target ("target"), of all others ("").

    Raises InputError for a format that there is not and for a unit that the program does not look
    up.
    """
    for name in given.values():
        if name not in FORMATS:
            raise InputError(f"there is no format {name}; choose from {', '.join(FORMATS)}")
    known = {"", TARGET, *(str(unit) for unit in program.texture_units)}
    for place in given.keys() - known:
        units = ", ".join(sorted(known - {""}))
        raise InputError(f"a format is given for {place!r}; the program has {units}")
    default = given.get("", RGBA32F.name)
    textures = {u: FORMATS[given.get(str(u), default)] for u in sorted(program.texture_units)}
    return Formats(textures, FORMATS[given.get(TARGET, default)])


def counts_as_json(
    program: Program, formats: Formats, size: tuple[int, int] | None = None
) -> dict[str, Any]:
    """What one fragment executes and asks for; with a size, what all of its fragments do.

    A lookup asks for one texel of its texture's format, and each colour written for one of the
    target's.
    """
    counts = count_instructions(program)
    lookups = Counter(i.texture.unit for i in program.instructions if i.texture is not None)
    read = sum(count * formats.textures[unit].texel_bytes for unit, count in lookups.items())
    written = program.color_outputs * formats.target.texel_bytes
    fragment = {
        "arithmetic": counts.arithmetic,
        "lookup": counts.lookup,
        "kill": counts.kill,
        "instructions": counts.total,
        "bytes_looked_up": read,
        "bytes_written": written,
        "bytes_requested": read + written,
    }
    opcodes = Counter(i.mnemonic for i in program.instructions)
    data: dict[str, Any] = {
        "program": program.name,
        "per_fragment": fragment,
        "opcodes": {name: opcodes[name] for name in OPCODES if name in opcodes},
        "units": [
            {
                "unit": unit,
                "target": target.value,
                "format": formats.textures[unit].name,
                "lookups": lookups[unit],
                "bytes": lookups[unit] * formats.textures[unit].texel_bytes,
            }
            for unit, target in sorted(program.texture_units.items())
        ],
        "target_format": formats.target.name,
        "resources": resources_as_json(program),
    }
    if size is not None:
        area = size[0] * size[1]
        data["size"] = list(size)
        data["fragments"] = area
        data["total"] = {name: count * area for name, count in fragment.items()}
    return data


def counts_grids(
    program: Program, formats: Formats, size: tuple[int, int] | None = None
) -> list[Grid]:
    """The same as tables."""
    data = counts_as_json(program, formats, size)
    heads = ["", "a fragment"]
    total = data.get("total", {})
    if total:
        assert size is not None
        heads.append(f"{size[0]}×{size[1]} fragments")
    rows = tuple(
        (name.replace("_", " "), count, *([total[name]] if total else []))
        for name, count in data["per_fragment"].items()
    )
    notes = ("KIL is counted as if no fragment died." if program.kills else "",)
    grids = [
        Grid(
            "counts", f"{program.name}: instructions and bytes", tuple(heads), rows,
            tuple(note for note in notes if note),
        ),
        Grid(
            "opcodes", "By opcode", ("opcode", "cost", "a fragment"),
            tuple((name, OPCODES[name].cost.value, n) for name, n in data["opcodes"].items()),
        ),
    ]  # fmt: skip
    if data["units"]:
        unit_rows = tuple(
            (str(u["unit"]), u["target"], u["format"], u["lookups"], u["bytes"])
            for u in data["units"]
        )
        unit_heads = ("unit", "target", "format", "lookups", "bytes a fragment")
        grids.append(Grid("units", "Lookups by unit", unit_heads, unit_rows))
    return [*grids, resources_grid(program)]


def resources_as_json(program: Program) -> dict[str, int]:
    """What the program takes of everything that a chip limits."""
    taken = resources(program)
    return {usage.resource.value.lower().replace(" ", "_"): usage.count for usage in taken.usages}


def resources_grid(program: Program) -> Grid:
    """The same as a table, with what opened each node of the texture dependency chain."""
    taken = resources(program)
    rows = tuple((usage.resource.value, usage.count) for usage in taken.usages if usage.count)
    opened = [f"Node {node.number}: {node.why}." for node in taken.nodes[1:]]
    return Grid("resources", f"{program.name} takes", ("resource", "number"), rows, tuple(opened))


# Runs ----------------------------------------------------------------------------------------


def run_as_json(
    images: F32, discarded: int, executor: str, device: str, seconds: Timings
) -> dict[str, Any]:
    """What came of a run: (buffers, H, W, 4) float32, and how many fragments were discarded.

    Where a channel holds a NaN or an infinity, its numbers are those of the finite ones.
    """
    buffers, height, width, _ = images.shape
    return {
        "executor": executor,
        "device": device,
        "size": [width, height],
        "seconds": {
            "prepare": seconds.prepare_s,
            "compute": seconds.compute_s,
            "upload": seconds.upload_s,
            "readback": seconds.readback_s,
        },
        "discarded": discarded,
        "buffers": [
            {name: _channel(images[n, ..., c]) for c, name in enumerate("rgba")}
            for n in range(buffers)
        ],
    }


def _channel(values: F32) -> dict[str, Any]:
    finite = values[np.isfinite(values)].astype(np.float64)
    return {
        "min": float(finite.min()) if finite.size else None,
        "max": float(finite.max()) if finite.size else None,
        "mean": float(finite.mean()) if finite.size else None,
        "not_finite": int(values.size - finite.size),
    }


def run_grids(data: Mapping[str, Any], name: str) -> list[Grid]:
    """The same as tables, one a buffer."""
    width, height = data["size"]
    area = width * height
    notes = (
        f"Run by {data['executor']} on {data['device']} in "
        f"{data['seconds']['compute'] * 1e3:.4g} ms, prepared in "
        f"{data['seconds']['prepare'] * 1e3:.4g} ms.",
        f"{data['discarded']} of {area} fragments discarded.",
    )
    heads = ("channel", "min", "max", "mean", "not finite")
    grids = []
    for number, buffer in enumerate(data["buffers"]):
        rows = tuple(
            (channel, found["min"], found["max"], found["mean"], found["not_finite"])
            for channel, found in buffer.items()
        )
        which = f", result.color[{number}]" if len(data["buffers"]) > 1 else ""
        caption = f"{name}: {width}×{height}{which}"
        last = number == len(data["buffers"]) - 1
        grids.append(Grid(f"buffer-{number}", caption, heads, rows, notes if last else ()))
    return grids


# Traces --------------------------------------------------------------------------------------

_COLUMN = 16  # the longest float32, -1.23456789e-38, and a space
_INDENT = 6


def trace_as_text(trace: Trace) -> str:
    """Every instruction with its operands, after swizzle and sign, and what it wrote."""
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
    place = f"{texel.x}" if texel.kind is TextureKind.T1D else f"{texel.x}, {texel.y}"
    if texel.kind is TextureKind.T3D:
        place += layers[TextureKind.T3D]
    face = layers[TextureKind.CUBE] if texel.kind is TextureKind.CUBE else ""
    how = "a mix of the texels around" if texel.linear else "the texel"
    return f"reads {how} ({place}){face} of texture[{texel.unit}], {texel.kind.value}"


def trace_as_json(trace: Trace) -> dict[str, Any]:
    """The same for other programs to read; NaN and the infinities are the words nan, inf, -inf."""
    return {
        "fragment": [trace.x, trace.y],
        "discarded": trace.discarded,
        "fog": trace.fog or None,
        "steps": [
            {
                "number": step.number,
                "line": step.line,
                "instruction": step.text,
                "operands": [
                    {"text": o.text, "value": _json_vector(o.value)} for o in step.operands
                ],
                "destination": step.destination or None,
                "result": _json_vector(step.result) if step.result else None,
                "texel": _texel_as_json(step.texel) if step.texel else None,
                "discards": step.discards,
            }
            for step in trace.steps
        ],
        "pixels": [_json_vector(pixel) for pixel in trace.pixels],
    }


def _texel_as_json(texel: Texel) -> dict[str, Any]:
    return {
        "unit": texel.unit,
        "target": texel.kind.value,
        "x": texel.x,
        "y": texel.y,
        "layer": texel.layer,
        "linear": texel.linear,
    }


def _json_vector(values: tuple[float | None, ...]) -> list[float | str | None]:
    return [v if v is None or math.isfinite(v) else str(v) for v in values]
