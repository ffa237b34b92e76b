"""A fragment program as a GLSL compute shader: one invocation a fragment.

The statements are those of the fragment shader (lower/fragments.py) and what stands in for a
framebuffer (lower/stored_fragments.py): textures and targets are arrays of floats, here in storage
buffers, and a discarded fragment is one that does not store. Its place comes from the invocation.
"""

from __future__ import annotations

from functools import lru_cache

from gpgpu_legacy.lower.emit.glsl import Dialect, type_name
from gpgpu_legacy.lower.emit.glsl_fragment import ORIGIN, PassEmitter
from gpgpu_legacy.lower.fragments import fragment_statements
from gpgpu_legacy.lower.ir import Array, Call, Fetch, Variable
from gpgpu_legacy.lower.shader_key import ShaderKey
from gpgpu_legacy.lower.stored_fragments import (
    TARGET_WIDTH,
    stored_colours,
    target_array,
    unit_array,
    unit_fetch,
)
from gpgpu_legacy.plan.plan import Blend

COMPUTE = Dialect(("#version 430 core",))

GROUP = (8, 8)
"""Invocations of a work group across and up."""


@lru_cache(maxsize=256)
def compute_shader(key: ShaderKey, blend: Blend = Blend.NONE) -> str:
    """The GLSL text, made once a key; no lookup of it may be folded, as there is no rasteriser.

    Buffers, by binding: the textures of key.units in their order, then the targets in theirs. Each
    holds its texels' channels as float32, row after row and layer after layer, an 8-bit one as
    numbers of [0, 1]. Uniforms: `origin` and `size`, the rectangle in the target; `target_width` in
    texels; the rest as fragment_shader has them.
    """
    assert key.varyings == 0
    emitter = _BufferEmitter(key)
    statements = fragment_statements(key, rasterised=False)
    body = emitter.block([*statements, *stored_colours(key, blend)])
    uniforms, functions = emitter.head()
    lines = [*COMPUTE.header, ORIGIN]
    lines.append(f"layout(local_size_x = {GROUP[0]}, local_size_y = {GROUP[1]}) in;")
    lines += [*uniforms, "uniform vec2 origin, size;", f"uniform {declared(TARGET_WIDTH)};"]
    lines += emitter.given_uniforms()
    for binding, unit in enumerate(key.units):
        if unit.number in emitter.fetched:
            lines.append(buffer(binding, "readonly ", unit_array(unit)))
    for n in range(len(key.targets)):
        lines.append(buffer(len(key.units) + n, "", target_array(n)))
    lines += [*functions, "", "void main() {"]
    lines += [
        "    vec2 fragment = vec2(gl_GlobalInvocationID.xy) + 0.5;",
        "    if (fragment.x > size.x || fragment.y > size.y) return;",
    ]
    return "\n".join([*lines, *emitter.side(), *body, "}", ""])


def declared(variable: Variable) -> str:
    """A variable that the shader itself declares: its type and its name."""
    return f"{type_name(variable.type)} {variable.name}"


def buffer(binding: int, access: str, array: Array) -> str:
    """The declaration of a storage buffer that holds an array."""
    layout = f"layout(std430, binding = {binding})"
    block = f"{array.name.title()} {{ {type_name(array.element)} {array.name}[]; }};"
    return f"{layout} {access}buffer {block}"


class _BufferEmitter(PassEmitter):
    """Texels come from storage buffers."""

    def __init__(self, key: ShaderKey) -> None:
        super().__init__(COMPUTE, key.arithmetic, exact=key.exact, bent=key.bent)
        self.units = {unit.number: unit for unit in key.units}
        self.fetched: set[int] = set()

    def fetch(self, fetch: Fetch) -> str:
        self.fetched.add(fetch.texture)
        return self.expression(Call(fetch.operands, unit_fetch(self.units[fetch.texture])))
