"""A fragment program printed as a GLSL compute shader: one invocation a fragment.

The statements are those of the fragment shader (lower/body.py). What a rasteriser and a framebuffer
would do stands around them: the fragment's place comes from the invocation, textures and targets
are arrays of floats in storage buffers, a discarded fragment is one that does not store.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from gpgpu_legacy.isa.ir import COMPONENTS, Instruction
from gpgpu_legacy.lower.body import Surroundings, position, with_constants_declared
from gpgpu_legacy.lower.glsl import ORIGIN, Pieces, ShaderKey
from gpgpu_legacy.lower.sampling import (
    Unit,
    fetch_name,
    lookup_function,
    lookup_name,
    missing_channels,
)
from gpgpu_legacy.plan.formats import Format, Numeric
from gpgpu_legacy.plan.plan import Blend

VERSION = "#version 430 core"

GROUP = (8, 8)
"""Invocations of a work group across and up."""


@lru_cache(maxsize=256)
def compute_shader(key: ShaderKey, blend: Blend = Blend.NONE) -> str:
    """The GLSL text, made once a key; no lookup of it may be folded, as no rasteriser places it.

    Buffers, by binding: the textures of key.units in their order, then the targets in theirs. Each
    holds its texels' channels as float32, row after row and layer after layer, an 8-bit one as
    numbers of [0, 1]. Uniforms: `origin` and `size`, the rectangle in the target; `target_width` in
    texels; the rest as fragment_shader has them.
    """
    assert key.places == 0

    def lookup(instruction: Instruction, _: int, coordinates: str) -> str:
        assert instruction.texture is not None
        return f"{lookup_name(instruction.texture.unit)}({coordinates})"

    pieces = Pieces(key, Surroundings(lookup, "killed = true;"))
    lines = [VERSION, ORIGIN]
    lines.append(f"layout(local_size_x = {GROUP[0]}, local_size_y = {GROUP[1]}) in;")
    lines += ["uniform vec2 origin, size;", "uniform int target_width;", *pieces.uniforms()]
    missing = missing_channels(exact=key.exact)
    for binding, unit in enumerate(key.units):
        if pieces.reads(lookup_name(unit.number)):
            lines += [*_texture(binding, unit, missing), *lookup_function(unit, missing)]
    for number in range(len(key.targets)):
        lines.append(_buffer(len(key.units) + number, "", "Target", number))
    stores = [
        line
        for number, target in enumerate(key.targets)
        for line in (*pieces.colour(number), *_store(number, target, blend, pieces))
    ]
    lines += [*pieces.body.functions(), "", "void main() {"]
    lines += [
        "    vec2 fragment = vec2(gl_GlobalInvocationID.xy) + 0.5;",
        "    if (fragment.x > size.x || fragment.y > size.y) return;",
    ]
    if pieces.reads("position"):
        here = position("origin + fragment", exact=key.exact)
        lines.append(f"    vec4 position = {here};")
    if key.program.kills:
        lines.append("    bool killed = false;")
    lines += pieces.statements()
    if key.program.kills:
        lines.append("    if (killed) return;")
    lines += [
        "    ivec2 texel = ivec2(origin + fragment);",
        "    int at = texel.y * target_width + texel.x;",
    ]
    return with_constants_declared("\n".join([*lines, *stores, "}", ""]))


def _buffer(binding: int, access: str, name: str, number: int) -> str:
    layout = f"layout(std430, binding = {binding})"
    words = [layout, *([access] if access else []), "buffer", f"{name}{number}"]
    return f"{' '.join(words)} {{ float {name.lower()}{number}[]; }};"


def _texture(binding: int, unit: Unit, missing: Sequence[str]) -> list[str]:
    """A texture's buffer, and the function that fetches a texel from it."""
    name, channels = f"texture{unit.number}", unit.format.channels
    parts = [f"{name}[at + {c}]" for c in range(channels)] + [*missing[channels:]]
    place = f"(texel.y * {unit.extent.width} + texel.x) * {channels}"
    return [
        _buffer(binding, "readonly", "Texture", unit.number),
        f"vec4 {fetch_name(unit.number)}(ivec2 texel) {{",
        f"    int at = {place};",
        f"    return vec4({', '.join(parts)});",
        "}",
    ]


def _store(number: int, target: Format, blend: Blend, pieces: Pieces) -> list[str]:
    """The channels of a target written, or added to what is there."""
    lines = []
    for channel, letter in enumerate(COMPONENTS[: target.channels]):
        place = f"target{number}[at * {target.channels} + {channel}]"
        value = f"colour{number}.{letter}"
        if blend is Blend.ADD:
            value = _sum(place, value, target, pieces)
        lines.append(f"    {place} = {value};")
    return lines


def _sum(place: str, value: str, target: Format, pieces: Pieces) -> str:
    """Blended as the format adds: 8 bits saturate, 16 are rounded to."""
    total = f"{value} + {place}"
    if target.numeric is Numeric.UNORM:
        levels = f"{2**target.bits_per_channel - 1}.0"
        return f"min(floor(({total}) * {levels} + 0.5), {levels}) / {levels}"
    return pieces.as_stored(f"({total})", target)
