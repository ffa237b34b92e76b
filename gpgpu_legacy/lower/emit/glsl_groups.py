"""Fused passes and temporal tiling as GLSL compute shaders: a tile of fragments per work group.

lower/groups/tiling.py and lower/temporal/tiling.py make the statements. Textures are arrays in
storage buffers: a vec4 or a float per texel. Read-only textures can instead be buffer textures of
the same buffers, which some devices read faster. The differences between passes of one Content are
in a uniform block; `uniform_blocks` makes its bytes from their Arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from gpgpu_legacy.isa.expressions import Array, Element, Fetch, Given, Variable
from gpgpu_legacy.isa.statements import Call, Statement
from gpgpu_legacy.lower.emit.glsl import GlslEmitter
from gpgpu_legacy.lower.emit.glsl_fragment import COMPUTE, buffer, declared
from gpgpu_legacy.lower.fused.body import fused_body
from gpgpu_legacy.lower.fused.content import Content, live_segments, refuse_unsupported
from gpgpu_legacy.lower.groups.invocation import (
    CORNER,
    FIRST,
    INVOCATION,
    LAST,
    THREAD,
    GroupCode,
    block_variables,
    quad_array,
    surface_fetch,
    texture_array,
)
from gpgpu_legacy.lower.groups.shape import GroupShape
from gpgpu_legacy.lower.groups.staging import choose_staging
from gpgpu_legacy.lower.groups.tiling import GroupTiling
from gpgpu_legacy.lower.temporal.content import TemporalContent, TemporalShape
from gpgpu_legacy.lower.temporal.tiling import (
    COMPLETE,
    TemporalTiling,
    shared_array,
    stored_array,
)

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

    shape: the wanted one; without a K-depth if nothing can be staged in `shared_bytes`. fetches:
    read read-only surfaces as buffer textures, each at the texture unit of its number. Run it on
    the Arguments' width over the tile's × height over the tile's groups, rounded up, with the
    surfaces' buffers at their numbers as bindings, the uniform ITERATIONS and the uniform block
    BLOCK (std140, at binding 0): the vec4s of `vectors`, then `block_variables`. `uniform_blocks`
    gives its bytes.
    """
    refuse_unsupported(content)
    body = fused_body(content, as_level=False)
    staging = choose_staging(content, body, shape, shared_bytes, in_quads=not fetches)
    fetched = [n for n, surface in enumerate(content.surfaces) if fetches and not surface.owned]
    emitter = GroupEmitter(content, fetched, exact=exact)
    buffers = []
    for number, surface in enumerate(content.surfaces):
        array = texture_array(content, number)
        access = "restrict " if surface.owned else "readonly restrict "
        buffers.append(
            f"layout(binding = {number}) uniform samplerBuffer {array.name};"
            if number in fetched
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
    statements = GroupTiling(content, body, staging).all_statements()
    return emitter.code(staging.shape, buffers, staging.arrays, known, statements)


class GroupEmitter(GlslEmitter):
    """Texels are elements of buffers; the passes' values are in the uniform block.

    fetched: the names of the arrays that are buffer textures. iterations: the type of the
    uniform ITERATIONS.
    """

    def __init__(
        self, content: Content, fetched: Iterable[int], *, exact: bool, iterations: str = "ivec2"
    ) -> None:
        super().__init__(COMPUTE, exact=exact)
        self.content, self.fetched, self.iterations = content, tuple(fetched), iterations
        self.arrays = {texture_array(content, number).name for number in self.fetched}

    def element(self, value: Element) -> str:
        if value.array.name not in self.arrays:
            return super().element(value)
        (index,) = value.operands
        texel = f"texelFetch({value.array.name}, {self.expression(index)})"
        return texel + self.suffix(tuple(range(value.type.width)), 4)

    def source(self, given: Given) -> str:
        """A vector of the block; each draw has its own."""
        return f"{super().source(given)}_of_{given.draw}"

    def fetch(self, fetch: Fetch) -> str:
        return self.expression(Call(fetch.operands, surface_fetch(self.content, fetch.texture)))

    def code(
        self,
        shape: GroupShape,
        buffers: Iterable[str],
        shared: Iterable[Array],
        known: Mapping[Variable, str],
        statements: Sequence[Statement],
    ) -> GroupCode:
        """The shader around the statements of main. known: the statements that they begin with."""
        lines = self.block(statements)
        (uniforms, functions), (across, up) = self.head(), shape.threads
        head = [*COMPUTE.header, *uniforms]
        head += [f"layout(local_size_x = {across}, local_size_y = {up}) in;", *buffers]
        head.append(f"uniform {self.iterations} {ITERATIONS};")
        head.append(f"layout(std140, binding = 0) uniform {BLOCK} {{")
        head += [f"    vec4 {self.source(given)};" for given in self.given.values()]
        head += [f"    {declared(variable)};" for variable in block_variables(self.content)]
        head.append("};")
        for array in shared:
            lengths = "".join(f"[{length}]" for length in array.extents)
            head.append(f"shared {array.element.word} {array.name}{lengths};")
        places = {FIRST: f"{ITERATIONS}.x", LAST: f"{ITERATIONS}.y", **known}
        start = [f"    {declared(variable)} = {text};" for variable, text in places.items()]
        text = "\n".join([*head, *functions, "", "void main() {", *start, *lines, "}", ""])
        trips = sum(s.trips for draw in self.content.draws for s in live_segments(draw))
        return GroupCode(text, shape, tuple(self.given.values()), trips, self.fetched)


@lru_cache(maxsize=256)
def emit_temporal(content: TemporalContent, shape: TemporalShape, *, exact: bool) -> GroupCode:
    """The iterations of passes that read neighbours as a compute shader, once for equal ones.

    Raises UnsupportedError for fog and bent attributes.

    Run it on as many groups as the rectangle has tiles of `shape.stored`, with the surfaces'
    buffers at their numbers as bindings, those that live surfaces are stored in at the bindings
    after them, in the order of `content.live`, the uniform block BLOCK, and the uniform ITERATIONS:
    the first, one past the last, of which there are at most `shape.iterations`, and whether these
    are the last of all. What a live surface has around the rectangle, its other buffer has, too.
    """
    refuse_unsupported(content.content)
    body = fused_body(content.content, as_level=False)
    emitter = GroupEmitter(content.content, (), exact=exact, iterations="ivec3")
    buffers, surfaces = [], content.content.surfaces
    for number, surface in enumerate(surfaces):
        writes = surface.written and number not in content.live
        access = "restrict " if writes else "readonly restrict "
        buffers.append(buffer(number, access, texture_array(content.content, number)))
    for place, number in enumerate(content.live):
        array = stored_array(content, number)
        buffers.append(buffer(len(surfaces) + place, "writeonly restrict ", array))
    shared = [shared_array(content, shape, number) for number in content.near]
    (left, _), (down, _) = shape.margins(content.reach)
    width, height = shape.stored(content.reach)
    corner = f"ivec2(gl_WorkGroupID.xy) * ivec2({width}, {height}) - ivec2({left}, {down})"
    known = {
        COMPLETE: f"{ITERATIONS}.z != 0",
        THREAD: "ivec2(gl_LocalInvocationID.xy)",
        CORNER: corner,
    }
    group = GroupShape(shape.threads, shape.columns, shape.rows, k_depth=0)
    statements = TemporalTiling(content, body, shape).all_statements()
    return emitter.code(group, buffers, shared, known, statements)
