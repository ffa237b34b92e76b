"""A fragment shader in GLSL, run as a program and drawn by the driver's own compiler of GLSL."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import moderngl
import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.api.programs import run_program
from gpgpu_legacy.isa.program import Attribute, AttributeKind, Program, TextureTarget
from gpgpu_legacy.languages.c.parser import parse
from gpgpu_legacy.languages.c.syntax import Declare, Number
from gpgpu_legacy.languages.glsl.fragments import compile_text, version_of
from gpgpu_legacy.languages.glsl.words import FRAGMENTS
from gpgpu_legacy.languages.language import CompilerOptions

F32 = NDArray[np.float32]

_VERSION = re.compile(r"^[^\S\n]*#[^\S\n]*version[^\S\n]+(\d+).*", re.MULTILINE)
_CORNERS = np.array([(0, 0), (1, 0), (1, 1), (0, 1)], np.float32)
_WIDTHS = {"float": "x", "vec2": "xy", "vec3": "xyz", "vec4": "xyzw"}


@dataclass(frozen=True)
class Drawn:
    """Colours, (outputs, height, width, 4), of the package and of the driver.

    again: draws those of the package once more, with each input moved by this part of itself.
    """

    ours: F32
    theirs: F32
    program: Program
    again: Callable[[float], F32]

    def apart(self, other: F32 | None = None) -> F32:
        """The package's differences from the driver's colours, or from others.

        They are relative to the range of the driver's colours, and NaN where either is not finite:
        GLSL 1.20 does not say what 1 / 0 is.
        """
        theirs = self.theirs if other is None else other
        known = self.theirs[np.isfinite(self.theirs)]
        size = max(1.0, float(np.ptp(known))) if known.size else 1.0
        with np.errstate(invalid="ignore"):
            apart = np.abs(self.ours - theirs) / np.float32(size)
        return np.where(np.isfinite(apart), apart, np.float32(np.nan))


@cache
def _context() -> Any:
    return moderngl.create_context(standalone=True, backend="egl")


def drawn(
    text: str,
    name: str = "shader.frag",
    *,
    size: tuple[int, int] = (16, 12),
    seed: int = 0,
    folder: Path | None = None,
    defines: Mapping[str, str] = {},
    values: Mapping[str, float] = {},
    executor: str = "numpy",
) -> Drawn:
    """The colours of package and driver at random inputs.

    values: of uniforms. A uniform whose name has `size` is the rectangle's size. Raises what either
    compiler raises.
    """
    options = CompilerOptions(folder=folder, root=folder, defines=defines, lenient=True)
    program = compile_text(text, name, options)
    rng = np.random.default_rng(seed)
    width, height = size
    texels = np.array([_smooth(rng, width, height) for _ in program.texture_units])
    corners = {}
    for attribute, own in program.names:
        if isinstance(attribute, Attribute) and attribute.kind is AttributeKind.TEXCOORD:
            corners[own] = np.hstack([_CORNERS, np.tile(rng.random(2, np.float32), (4, 1))])
    theirs, uniforms = _by_driver(
        text, defines, program, _Given(size, corners, texels, values, rng)
    )
    declared = {d.name for d in program.parameters}
    units = dict(zip(program.texture_units, texels, strict=True))
    own_names = {own: key for key, own in program.names}
    asked: dict[str, Any] = {
        "textures": {
            unit: (target.value, units[unit], "linear")
            for unit, target in program.texture_units.items()
        },
        "uniforms": {
            own: value for own, value in uniforms.items()
            if {own, f"{own}_0"} & declared or any(d.startswith(f"{own}_") for d in declared)
        },
        "texcoords": {own_names[own].index: at for own, at in corners.items()},
        "clear": (0, 0, 0, 0),
        "draw_buffers": program.color_outputs,
    }  # fmt: skip

    def ours(part: float) -> F32:
        own = asked
        if part:
            own = {
                **asked,
                "texcoords": {n: at * (1 + part) for n, at in asked["texcoords"].items()},
            }
            own["uniforms"] = {n: _moved(v, part) for n, v in asked["uniforms"].items()}
            own["textures"] = {
                unit: (target, _moved(texture, part), how)
                for unit, (target, texture, how) in asked["textures"].items()
            }
        made = run_program(program, width, height, executor=executor, **own)
        return np.reshape(made, theirs.shape)

    return Drawn(ours(0.0), theirs, program, ours)


def _moved(numbers: Any, part: float) -> F32:
    """Numbers, each moved by a part of itself, up or down.

    A small whole number stays, since it may be an int.
    """
    given = np.asarray(numbers, np.float32)
    signs = np.random.default_rng(int(abs(part) * 2**24)).choice((-1, 1), given.shape)
    stays = (given == np.floor(given)) & (np.abs(given) < 4)
    return np.where(stays, given, given * np.float32(1 + part * signs)).astype(np.float32)


def _smooth(rng: np.random.Generator, width: int, height: int) -> F32:
    """Texels without steps, so that a coordinate's last bit decides little."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    f, g, p = rng.random((3, 4), np.float32)
    waves = np.sin(x[..., None] * f + y[..., None] * g + 6 * p)
    return (0.5 + 0.45 * waves).astype(np.float32)


@dataclass(frozen=True)
class _Given:
    """The inputs of package and driver. values: of uniforms, which are random otherwise."""

    size: tuple[int, int]
    corners: Mapping[str, F32]
    texels: F32
    values: Mapping[str, float]
    rng: np.random.Generator


def _by_driver(
    text: str, defines: Mapping[str, str], program: Program, given: _Given
) -> tuple[F32, dict[str, Any]]:
    """The driver's colours, and the values of its uniforms by name."""
    size = given.size
    context = _context()
    found = _VERSION.search(text)
    head = found[0] if found else f"#version {version_of(text)[0]}"
    macros = "".join(f"#define {name} {value}\n" for name, value in defines.items())
    precision = "precision highp float;\n" if "version 100" in head else ""
    body = text[found.end() :] if found else text
    body = re.sub(r"#[ \t]*include", "#pragma", body)  # in comments, or branches not taken
    varyings = _varyings(text, defines)
    shader = context.program(
        vertex_shader=_vertex(head, varyings),
        fragment_shader=f"{head}\n{macros}{precision}{body}",
    )
    attributes = {"corner": 2 * _CORNERS - 1}
    for name, (_, length) in varyings.items():
        for own in _elements(name, length):
            attributes[f"a_{own}"] = _corners(own, given.corners)
    used = [name for name in attributes if name in shader]
    order = [0, 1, 3, 2]
    data = np.hstack([attributes[name][order] for name in used]).astype("f4")
    layout = " ".join(f"{attributes[name].shape[1]}f" for name in used)
    array = context.vertex_array(shader, [(context.buffer(data.tobytes()), layout, *used)])
    uniforms = {}
    by_name = {own: unit for unit, own in program.names if isinstance(unit, int)}
    made = {}
    for unit, image in zip(program.texture_units, given.texels, strict=True):
        kind = program.texture_units[unit]
        assert kind in (TextureTarget.T2D, TextureTarget.RECT), kind
        made[unit] = context.texture(size, 4, image.tobytes(), dtype="f4")
        made[unit].filter = moderngl.LINEAR, moderngl.LINEAR
        made[unit].repeat_x = made[unit].repeat_y = False
        made[unit].use(unit)
    for name in shader:
        uniform = shader[name]
        if not isinstance(uniform, moderngl.Uniform) or name.startswith("gl_"):
            continue
        own = re.sub(r"\W+", "_", name).strip("_")
        if uniform.gl_type in _SAMPLERS:
            uniform.value = by_name.get(own, 31)
            continue
        uniforms[own] = _set(uniform, name, given)
    count = program.color_outputs
    colours = [context.texture(size, 4, dtype="f4") for _ in range(count)]
    frame = context.framebuffer(colours)
    frame.use()
    frame.clear(0, 0, 0, 0)
    array.render(moderngl.TRIANGLE_STRIP, vertices=4)
    width, height = size
    read = [np.frombuffer(c.read(), "f4").reshape(height, width, 4) for c in colours]
    for thing in (*colours, frame, array, *made.values(), shader):
        thing.release()
    return np.array(read), uniforms


_SAMPLERS = {0x8B5D, 0x8B5E, 0x8B5F, 0x8B60, 0x8B61, 0x8B62, 0x8B63, 0x8B64}


def _set(uniform: Any, name: str, given: _Given) -> Any:
    """Set a uniform to a value, and return it: a vector, or one for each column or element."""
    size, values = given.size, given.values
    width, length = uniform.dimension, uniform.array_length
    numbers = given.rng.random((length, width), np.float32)
    if name in values:
        numbers[:] = values[name]
    elif "size" in name.lower() or "resolution" in name.lower():
        full = [*size, 1 / size[0], 1 / size[1]]
        numbers[:] = full[:width]
    if uniform.gl_type not in _FLOATS:
        numbers = np.floor(2 * numbers)
        uniform.write(numbers.astype("i4").tobytes())
    else:
        uniform.write(numbers.astype("f4").tobytes())
    columns = _COLUMNS.get(uniform.gl_type, 1)
    rows = numbers.reshape(length * columns, width // columns)
    padded = np.zeros((len(rows), 4), np.float32)
    padded[:, : rows.shape[1]] = rows
    return padded[0] if len(padded) == 1 else padded


_COLUMNS = {0x8B5A: 2, 0x8B5B: 3, 0x8B5C: 4}
_FLOATS = {0x1406, 0x8B50, 0x8B51, 0x8B52, 0x8B5A, 0x8B5B, 0x8B5C}


def _varyings(text: str, defines: Mapping[str, str]) -> dict[str, tuple[str, int]]:
    """The varyings that a text declares, by name: the type, and the length of an array."""
    _, own = version_of(text)
    unit = parse(text, "shader", CompilerOptions(defines=own | {**defines}), words=FRAGMENTS)
    return {
        d.name: (
            d.type.name.replace("float", "vec") if d.type.name != "float" else "float",
            sum(_length(n, text) for n in d.dimensions),
        )
        for item in unit.items
        if isinstance(item, Declare)
        for d in item.declarations
        if d.type.qualifiers & {"varying", "in"} and not d.name.startswith("gl_")
    }


def _length(x: Any, text: str) -> int:
    """The length of an array: a number, or a constant's name."""
    if isinstance(x, Number):
        return int(x.value)
    found = re.search(rf"const\s+(?:\w+\s+)?int\s+{x.name}\s*=\s*(\d+)", text)
    assert found, x
    return int(found[1])


def _corners(own: str, corners: Mapping[str, F32]) -> F32:
    """The corner values of a varying: the last two components of a set that it shares, or none."""
    for name, at in corners.items():
        if name == own or name.startswith(f"{own}_"):
            return at
        if name.endswith(f"_{own}"):
            return np.roll(at, 2, axis=1)
    return np.zeros((4, 4), np.float32)


def _elements(name: str, length: int) -> dict[str, str]:
    """A varying, or the elements of an array, by their names in a program."""
    return {f"{name}_{n}": f"{name}[{n}]" for n in range(length)} or {name: name}


def _vertex(head: str, varyings: Mapping[str, tuple[str, int]]) -> str:
    """A vertex shader that passes the varyings on."""
    new = int(re.findall(r"\d+", head)[0]) >= 130
    given, left = ("in", "out") if new else ("attribute", "varying")
    lines = [head, f"{given} vec2 corner;"]
    moved = ""
    for name, (kind, length) in varyings.items():
        lines.append(f"{left} {kind} {name}{f'[{length}]' if length else ''};")
        for own, element in _elements(name, length).items():
            lines.append(f"{given} vec4 a_{own};")
            moved += f" {element} = a_{own}.{_WIDTHS[kind]};"
    lines.append(f"void main() {{ gl_Position = vec4(corner, 0.0, 1.0);{moved} }}")
    return "\n".join(lines)
