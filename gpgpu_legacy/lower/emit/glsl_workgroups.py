"""Fused passes as a GLSL compute shader: a tile of fragments a work group (lower/tiling.py).

Textures are arrays in storage buffers: a vec4 a texel, or a float. Those that are only read can be
buffer textures of the same buffers instead, which some devices read faster. What differs between
passes of one Content stands in a uniform block, whose bytes `uniform_blocks` makes of their
Arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from gpgpu_legacy.lower.analysis.rerolling import live_segments
from gpgpu_legacy.lower.analysis.staging import AT_ONCE, Staging, choose_staging
from gpgpu_legacy.lower.content import Content, refuse_unsupported
from gpgpu_legacy.lower.emit.glsl import GlslEmitter, type_name
from gpgpu_legacy.lower.emit.glsl_compute import COMPUTE, buffer, declared
from gpgpu_legacy.lower.fused_body import fused_body
from gpgpu_legacy.lower.group_code import GroupCode, block_variables
from gpgpu_legacy.lower.invocation import (
    CORNER,
    FIRST,
    INVOCATION,
    LAST,
    THREAD,
    quad_array,
    surface_fetch,
    texture_array,
)
from gpgpu_legacy.lower.ir import Array, Call, Element, Fetch, Given, Variable
from gpgpu_legacy.lower.tiling import Tiling
from gpgpu_legacy.lower.workgroups import GroupShape

BLOCK = "Run"
"""The name of the uniform block, at binding 0 of uniform buffers."""

ITERATIONS = "iterations"
"""The name of the uniform, an ivec2, that has the first iteration and the one after the last."""


@lru_cache(maxsize=256)
def emit_groups(
    content: Content, shape: GroupShape, shared_bytes: int, *, exact: bool, fetches: bool = False
) -> GroupCode:
    """The Content of fused passes as a compute shader, emitted once for equal ones.

    Raises UnsupportedError for fog and bent attributes.

    shape: what is wanted; where nothing can be staged in `shared_bytes`, it has no K-depth.
    fetches: read the surfaces that are only read as buffer textures, each at the texture unit of
    its number.
    Run it on the Arguments' width over the tile's × height over the tile's groups, rounded up, with
    the surfaces' buffers at their numbers as bindings, the uniform ITERATIONS and the uniform block
    BLOCK (std140, at binding 0): the vec4s of `vectors`, then `block_variables`. `uniform_blocks`
    gives its bytes.
    """
    refuse_unsupported(content)
    body = fused_body(content, as_level=False)
    at_once = 1 if fetches else AT_ONCE
    staging = choose_staging(content, body, shape, shared_bytes, at_once=at_once)
    fetched = [n for n, surface in enumerate(content.surfaces) if fetches and not surface.owned]
    emitter = GroupEmitter(content, fetched, exact=exact)
    lines = emitter.block(Tiling(content, body, staging).statements())
    text = _shader(content, staging, emitter, lines)
    trips = sum(s.trips for draw in content.draws for s in live_segments(draw))
    return GroupCode(text, staging.shape, tuple(emitter.given.values()), trips, tuple(fetched))


def _shader(content: Content, staging: Staging, emitter: GroupEmitter, lines: list[str]) -> str:
    """The text around the statements of main."""
    buffers = []
    for number, surface in enumerate(content.surfaces):
        array = texture_array(content, number)
        access = "restrict " if surface.owned else "readonly restrict "
        fetched = array.name in emitter.fetched
        buffers.append(
            f"layout(binding = {number}) uniform samplerBuffer {array.name};"
            if fetched
            else buffer(number, access, array)
        )
    for number in sorted(staging.surfaces_in_quads):
        buffers.append(buffer(number, "readonly restrict ", quad_array(number)))
    width, height = staging.shape.tile
    known = {
        THREAD: "ivec2(gl_LocalInvocationID.xy)",
        INVOCATION: "int(gl_LocalInvocationIndex)",
        CORNER: f"ivec2(gl_WorkGroupID.xy) * ivec2({width}, {height})",
    }
    arrays = staging.arrays().values()
    return emitter.shader(staging.shape.threads, buffers, arrays, known, lines)


class GroupEmitter(GlslEmitter):
    """Texels are elements of buffers; what passes give is in the uniform block.

    fetched: the names of the arrays that are buffer textures. iterations: the type of the
    uniform ITERATIONS. lengths: what follows the names of the block's vectors.
    """

    iterations, lengths = "ivec2", ""

    def __init__(self, content: Content, fetched: Iterable[int], *, exact: bool) -> None:
        super().__init__(COMPUTE, exact=exact)
        self.content = content
        self.fetched = {texture_array(content, number).name for number in fetched}

    def element(self, value: Element) -> str:
        if value.array.name not in self.fetched:
            return super().element(value)
        (index,) = value.operands
        texel = f"texelFetch({value.array.name}, {self.expression(index)})"
        return texel + self.suffix(tuple(range(value.type.width)), 4)

    def source(self, given: Given) -> str:
        return self.named(given)

    def named(self, given: Given) -> str:
        """The name of a vector of the block; each draw has its own."""
        return f"{super().source(given)}_of_{given.draw}"

    def fetch(self, fetch: Fetch) -> str:
        return self.expression(Call(fetch.operands, surface_fetch(self.content, fetch.texture)))

    def shader(
        self,
        threads: tuple[int, int],
        buffers: Iterable[str],
        shared: Iterable[Array],
        known: Mapping[Variable, str],
        lines: Iterable[str],
    ) -> str:
        """The text around the statements of main; known: what these begin with."""
        (uniforms, functions), (across, up) = self.head(), threads
        head = [*COMPUTE.header, *uniforms]
        head += [f"layout(local_size_x = {across}, local_size_y = {up}) in;", *buffers]
        head.append(f"uniform {self.iterations} {ITERATIONS};")
        head.append(f"layout(std140, binding = 0) uniform {BLOCK} {{")
        head += [f"    vec4 {self.named(given)}{self.lengths};" for given in self.given.values()]
        head += [f"    {declared(variable)};" for variable in block_variables(self.content)]
        head.append("};")
        for array in shared:
            lengths = "".join(f"[{length}]" for length in array.extents)
            head.append(f"shared {type_name(array.element)} {array.name}{lengths};")
        places = {FIRST: f"{ITERATIONS}.x", LAST: f"{ITERATIONS}.y", **known}
        start = [f"    {declared(variable)} = {text};" for variable, text in places.items()]
        return "\n".join([*head, *functions, "", "void main() {", *start, *lines, "}", ""])
