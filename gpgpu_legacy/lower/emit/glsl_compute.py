"""A fragment program as a GLSL compute shader: one invocation a fragment.

The statements are those of the fragment shader (lower/fragments.py). What a rasteriser and a
framebuffer would do stands around them: the fragment's place comes from the invocation, textures
and targets are arrays of floats in storage buffers, a discarded fragment is one that does not
store.
"""

from __future__ import annotations

from functools import lru_cache

from gpgpu_legacy.isa.execute import ALL
from gpgpu_legacy.isa.ir import Attribute, AttributeKind
from gpgpu_legacy.lower.emit.glsl import Dialect
from gpgpu_legacy.lower.emit.glsl_fragment import ORIGIN, PassEmitter
from gpgpu_legacy.lower.fragments import channel_of, fragment_statements
from gpgpu_legacy.lower.ir import (
    EVERYWHERE,
    FLOAT,
    INT,
    Array,
    Call,
    Declare,
    Element,
    Expression,
    Function,
    If,
    Kind,
    Read,
    Return,
    Statement,
    Store,
    Variable,
    compose,
    constant,
)
from gpgpu_legacy.lower.lowering import KILLED, attribute_value, blended
from gpgpu_legacy.lower.sampling import Unit
from gpgpu_legacy.lower.shader_key import ShaderKey
from gpgpu_legacy.plan.formats import Format
from gpgpu_legacy.plan.plan import Blend

COMPUTE = Dialect(("#version 430 core",))

GROUP = (8, 8)
"""Invocations of a work group across and up."""

_AT = Variable("at", INT)


@lru_cache(maxsize=256)
def compute_shader(key: ShaderKey, blend: Blend = Blend.NONE) -> str:
    """The GLSL text, made once a key; no lookup of it may be folded, as there is no rasteriser.

    Buffers, by binding: the textures of key.units in their order, then the targets in theirs. Each
    holds its texels' channels as float32, row after row and layer after layer, an 8-bit one as
    numbers of [0, 1]. Uniforms: `origin` and `size`, the rectangle in the target; `target_width` in
    texels; the rest as fragment_shader has them.
    """
    assert key.varyings == 0
    emitter = PassEmitter(COMPUTE, key.arithmetic, exact=key.exact, bent=key.bent)
    textures = _Textures()
    position = attribute_value(Attribute(AttributeKind.POSITION))
    statements = fragment_statements(key, textures.fetch, position, discards=False)
    body = emitter.block([*statements, *_killed(key)])
    stores = emitter.block(
        [store for n, target in enumerate(key.targets) for store in _stores(n, target, blend)]
    )
    uniforms, functions = emitter.head()
    lines = [*COMPUTE.header, ORIGIN]
    lines.append(f"layout(local_size_x = {GROUP[0]}, local_size_y = {GROUP[1]}) in;")
    lines += [*uniforms, "uniform vec2 origin, size;", "uniform int target_width;"]
    lines += emitter.given_uniforms()
    for binding, unit in enumerate(key.units):
        if unit.number in textures.functions:
            lines.append(_buffer(binding, "readonly ", "Texture", unit.number))
    for n in range(len(key.targets)):
        lines.append(_buffer(len(key.units) + n, "", "Target", n))
    lines += [*functions, "", "void main() {"]
    lines += [
        "    vec2 fragment = vec2(gl_GlobalInvocationID.xy) + 0.5;",
        "    if (fragment.x > size.x || fragment.y > size.y) return;",
    ]
    lines += [*emitter.side(), *body]
    lines += [
        "    ivec2 texel = ivec2(origin + fragment);",
        "    int at = texel.y * target_width + texel.x;",
    ]
    return "\n".join([*lines, *stores, "}", ""])


class _Textures:
    """The functions that fetch texels from buffers."""

    def __init__(self) -> None:
        self.functions: dict[int, Function] = {}

    def fetch(self, unit: Unit, column: Expression, row: Expression) -> Expression:
        if unit.number not in self.functions:
            self.functions[unit.number] = _fetch_function(unit)
        return Call((column, row), self.functions[unit.number])


def _fetch_function(unit: Unit) -> Function:
    array, channels = Array(f"texture{unit.number}", FLOAT), unit.format.channels
    column, row = Variable("column", INT), Variable("row", INT)
    texel = Read(row, (0,)) * constant(unit.extent.width, Kind.INT) + Read(column, (0,))
    place = texel * channels
    parts = [Element((Read(_AT, (0,)) + c,), array) for c in range(channels)]
    missing = (0.0, 0.0, 0.0, 1.0)[channels:]
    result = compose([*parts, *missing])
    return Function(f"fetch{unit.number}", (column, row), (Declare(_AT, place),), result)


def _killed(key: ShaderKey) -> list[Statement]:
    if not key.program.kills:
        return []
    return [If(Read(KILLED, (0,), EVERYWHERE) > 0.0, (Return(),))]


def _stores(number: int, target: Format, blend: Blend) -> list[Statement]:
    """The channels of a target written, or added to what is there."""
    array, stores = Array(f"target{number}", FLOAT), list[Statement]()
    for channel in ALL[: target.channels]:
        place = Element((Read(_AT, (0,)) * target.channels + channel,), array)
        value = channel_of(number, channel)
        if blend is Blend.ADD:
            value = blended(value, place, target)
        stores.append(Store(place, value))
    return stores


def _buffer(binding: int, access: str, name: str, number: int) -> str:
    layout = f"layout(std430, binding = {binding})"
    return f"{layout} {access}buffer {name}{number} {{ float {name.lower()}{number}[]; }};"
